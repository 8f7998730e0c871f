//! The quadratic problem over a product of simplices: one for each component.
//!
//! ```text
//! min over theta of  sum_j M_j h_j(s_j) + alpha'theta / eta,   s = linear + sum_a G_a theta_a
//! ```
//!
//! `M` is the metric. `h_j(s) = s^2 / 2` for a free variable. For a variable between `l_j` and `u_j`, `h_j` is linear
//! above the cap `s = (c_j - l_j) / (eta M_j)` and below the cap `s = (c_j - u_j) / (eta M_j)`: there the trial point is
//! at a bound. The gradient of `sum M_j h_j` is the direction `M w`, where `w_j` is `s_j` clipped to the caps.
//!
//! Each round has two parts. A *sweep* solves for one component after the other, by exchanging weight between pairs of
//! its cuts. It is cheap and finds the cuts that matter. A *Newton step* then moves all weights on those cuts at once.
//! A plain Newton step would mostly end at a nearby bound. So a weight that is to leave, by its reduced cost, gets a
//! stiffness of reduced cost over weight (as in an interior-point method, or in Coleman and Li's scaling): it arrives
//! at zero and not beyond. Two to five rounds are enough; plain Newton steps needed sixty.

use bundlenet_linalg::cholesky::{Cholesky, Strips};

use super::caps::{Caps, Limits};
use super::exchange::exchange;
use super::interior::Interior;
use super::semismooth::{Semismooth, Start};
use super::ways::{
    ENTRY_WORK, Expected, FACTOR_WORK, MOST_ROWS, PRODUCT_WORK, PRODUCTS_PER_READ, WRITE_WORK, Way, Ways,
};
use crate::model::{ComponentBundle, Model};
use crate::oracle::Patience;

/// Sweeps in a round.
const SWEEPS: usize = 2;
/// Largest number of rounds. Most solves take three. One in a thousand to full accuracy, with bounds on the variables,
/// takes more than a hundred.
const MOST_ROUNDS: usize = 300;
/// Round-off of a gap, relative to the value: surely, and where rounds are in vain. The latter is so if the gap has not
/// fallen to `PROGRESS` of its least value in `VAIN_ROUNDS` of them.
const ROUND_OFF: f64 = 1e-15;
const MOST_ROUND_OFF: f64 = 1e-10;
const VAIN_ROUNDS: usize = 20;
const PROGRESS: f64 = 0.9;
/// Multiple of the gap to reach that is enough where round-off has ended interior-point steps: others would take very
/// long.
const ROUGH: f64 = 4.0;
/// Sweeps in a round where Newton's matrix is too large.
const SWEEPS_WITHOUT_NEWTON: usize = 20;
/// Addition to the diagonal of Newton's matrix, as a share of its largest entry. Dependent cuts make it singular.
const REGULARIZATION: f64 = 1e-10;
/// Newton steps in a round: `CHEAP` over the cube of the number of free weights, but at most `MOST_STEPS`.
const CHEAP: usize = 3_000_000;
const MOST_STEPS: usize = 20;
/// A Newton step shorter than `SHORT_STEP` makes the next one stiffer, one longer than `LONG_STEP` less stiff.
const SHORT_STEP: f64 = 0.3;
const LONG_STEP: f64 = 0.7;
const STIFFER: f64 = 3.0;
/// Largest number of trials of an exact search, and the share of its first slope that counts as zero.
const MOST_TRIALS: usize = 60;
const FLAT: f64 = 1e-12;
/// Weights below this count as zero.
pub(super) const LEAST_WEIGHT: f64 = 1e-13;

/// Wide components are few if they are at most one in this number.
const FEW: usize = 8;

/// Part of the gap that steps in the space of the variables may leave. The rest is for cuts that took no part.
const VARIABLES_SHARE: f64 = 0.5;

/// Result of a solve, in units of the function.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Solved {
    /// `|w|^2`.
    pub(crate) norm_squared: f64,
    /// `alpha'theta + mu'(c - bound)`.
    pub(crate) sigma: f64,
    /// Optimality gap: no weights are better by more. Infinite if it is not known.
    pub(crate) gap: f64,
}

impl Solved {
    fn promised(&self, eta: f64) -> f64 {
        eta * self.norm_squared + self.sigma
    }
}

/// The solver. The cuts hold the weights, so every solve starts from the last solution.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProductMaster {
    /// `s = linear + sum_a G_a theta_a`, by coordinate.
    sum: Vec<f64>,
    caps: Caps,
    /// `M w`, where `w` is `s` clipped to the caps.
    direction: Vec<f64>,
    aggregate: Vec<f64>,
    /// `g_i'M w + alpha_i / eta` of all cuts, component by component, and the minimum of each component.
    costs: Vec<f64>,
    least: Vec<f64>,
    old_weights: Vec<f64>,
    /// Factor on the stiffness; above 1 while Newton steps are short.
    stiffening: f64,
    support: Support,
    matrix: Cholesky,
    strips: Strips,
    change: Vec<f64>,
    limited: Vec<f64>,
    image: Vec<f64>,
    semismooth: Semismooth,
    interior: Interior,
    ways: Ways,
    /// Work of the last solve, in nanoseconds.
    work: f64,
}

/// Accuracy of a solve.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Accuracy {
    /// Gap, as a share of the predicted decrease.
    pub(crate) share: f64,
    /// Work to spend on it.
    pub(crate) effort: Effort,
}

/// Work to spend on the accuracy of a solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Sweeps alone.
    Sweeps,
    /// As much as it takes.
    Full,
    /// One call of interior-point steps: where these end early, others take far longer.
    OneCall,
}

/// Entries of new memory between two questions for the patience.
const NEW_ENTRIES: usize = 1 << 16;

/// Rounds of a typical solve, and cuts of each component in the first solves.
const ROUNDS: f64 = 3.0;
const FIRST_CUTS: f64 = 4.0;

/// Estimated work of the first solves, in nanoseconds, before any is counted: sweeps over the cuts. `entries` is the
/// number of entries in the subgradients of all components. If there are none yet, each of the `dim` variables is
/// expected to get one.
pub(crate) fn first_work(entries: usize, dim: usize) -> f64 {
    let entries = if entries == 0 { dim } else { entries };
    ROUNDS * (SWEEPS + 1) as f64 * ENTRY_WORK * FIRST_CUTS * entries as f64
}

/// Work of Newton's matrix from dense columns in some coordinates.
fn dense_work(columns: usize, coordinates: usize) -> f64 {
    let columns = columns as f64;
    (FACTOR_WORK * 0.5 * columns + WRITE_WORK) * columns * coordinates as f64
}

/// Result of a search along a change of the weights.
struct Found {
    step: f64,
    /// Decrease of the objective.
    decrease: f64,
    /// Whether bounds on variables made the step much shorter.
    is_cut: bool,
}

/// The cuts with weight, of components with at least two such cuts.
#[derive(Clone, Debug, Default)]
struct Support {
    cuts: Vec<SupportCut>,
    /// Ranges of `cuts`, one for each component.
    blocks: Vec<std::ops::Range<usize>>,
    /// Free weights: a position in `cuts`, and the position of its block's heaviest cut. That cut balances the others.
    columns: Vec<(usize, usize)>,
    /// Entries of the columns by coordinate: begin and end of each coordinate's entries, then columns and entries.
    starts: Vec<usize>,
    ends: Vec<usize>,
    by_coordinate: Vec<(u32, f64)>,
    right: Vec<f64>,
    /// Multiplications of the factorisation of Newton's matrix, and the first column in each coordinate.
    factor_products: f64,
    firsts: Vec<usize>,
}

impl Support {
    /// Counts the multiplications of a factorisation. Two columns have a product if they share a coordinate. The factor
    /// is zero left of the first product of each row, up to a panel.
    fn count_products(&mut self, bundle: &ComponentBundle) {
        let Self { cuts, columns, firsts, .. } = self;
        self.factor_products = (columns.len() as f64).powi(3) / 6.0;
        if columns.len() <= Strips::MOST {
            return;
        }
        firsts.clear();
        firsts.resize(bundle.linear().len(), usize::MAX);
        self.factor_products = 0.0;
        for (column, &(at, heaviest)) in columns.iter().enumerate() {
            let mut start = column;
            for SupportCut { component, cut, .. } in [cuts[at], cuts[heaviest]] {
                for &coordinate in bundle.subgradient(&bundle.components()[component].cuts[cut]).0 {
                    let first = &mut firsts[coordinate as usize];
                    *first = column.min(*first);
                    start = start.min(*first);
                }
            }
            let length = (column - start + Strips::MOST).min(column) as f64;
            self.factor_products += 0.5 * length * length;
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct SupportCut {
    component: usize,
    cut: usize,
    weight: f64,
    cost: f64,
    /// Reduced cost over weight.
    stiffness: f64,
}

impl SupportCut {
    /// Share of a change at which its weight becomes zero; at most 1.
    fn stop(&self, change: f64) -> f64 {
        if self.weight + change < 0.0 { self.weight / -change } else { 1.0 }
    }
}

impl ProductMaster {
    /// The direction `M w` of the last solve.
    pub(crate) fn direction(&self) -> &[f64] {
        &self.direction
    }

    /// Work of the last solve in nanoseconds, counted from sizes. It is the same in every run.
    pub(crate) fn work(&self) -> f64 {
        self.work
    }

    /// A master that moves all weights in one way; in the cheapest one if `None`.
    pub(super) fn forced(way: Option<Way>) -> Self {
        Self { ways: Ways::forced(way), ..Self::default() }
    }

    /// Expected work of a solve, in nanoseconds.
    pub(super) fn expected(&self) -> Expected {
        self.ways.expected()
    }

    /// `w` of the last solve.
    pub(crate) fn aggregate(&self) -> &[f64] {
        &self.aggregate
    }

    /// Solves for the weights of all cuts until the gap is at most a share of the predicted decrease. If that takes much
    /// more work than a step without it, and is not needed, only some solves are that accurate.
    /// At the end of the patience it returns the present weights.
    pub(crate) fn solve(
        &mut self,
        bundle: &mut ComponentBundle,
        limits: &Limits,
        eta: f64,
        accuracy: Accuracy,
        patience: &Patience<'_>,
    ) -> Solved {
        self.begin(bundle, limits, eta);
        let mut way = self.ways.begin(bundle);
        let mut least = (f64::INFINITY, 0);
        for round in 0..MOST_ROUNDS {
            if !way.is_in_variables() {
                self.sweep_often(bundle, eta, patience);
            }
            let solved = self.price(bundle, eta, patience);
            if patience.is_over() {
                return self.result(bundle, eta, f64::INFINITY);
            }
            let promised = solved.promised(eta);
            if solved.gap <= PROGRESS * least.0 {
                least = (solved.gap, round);
            }
            let is_vain = round - least.1 >= VAIN_ROUNDS;
            let round_off = if is_vain { MOST_ROUND_OFF } else { ROUND_OFF } * (bundle.centre().value.abs() + promised);
            let is_solved = solved.gap <= accuracy.share * promised || solved.gap <= round_off;
            if is_solved || round + 1 == MOST_ROUNDS {
                self.ways.learn();
                return solved;
            }
            self.gather(bundle);
            let newton_step = self.newton_work(bundle);
            if round == 0 {
                self.ways.note_first_round(bundle, self.work, newton_step);
            }
            let is_enough = match accuracy.effort {
                Effort::Sweeps => true,
                Effort::Full => false,
                Effort::OneCall => way == Way::Interior,
            };
            if is_enough {
                return solved;
            }
            let can_use_newton = self.support.columns.len() <= MOST_ROWS;
            way = if accuracy.effort == Effort::OneCall { Way::Interior } else { way };
            way = self.ways.next(bundle, way, solved.gap, can_use_newton.then_some(newton_step));
            if self.ways.has_met_round_off() && solved.gap <= ROUGH * accuracy.share * promised {
                self.ways.learn();
                return solved;
            }
            match way {
                Way::Semismooth | Way::Interior => self.approach(way, bundle, (eta, accuracy, solved), patience),
                Way::Newton => self.newton(bundle, eta, patience),
                Way::Sweeps => {}
            }
        }
        Solved::default()
    }

    /// Estimated work of a Newton step: products of the columns with each other, and the factorisation.
    fn newton_work(&self, bundle: &ComponentBundle) -> f64 {
        let free = self.support.columns.len() as f64;
        let cuts = bundle.len().max(1) as f64;
        // Entries of the columns in each variable, if they are spread evenly. A column has those of two cuts.
        let entries = 2.0 * free * bundle.size() as f64 / cuts / self.sum.len().max(1) as f64;
        let products = 0.5 * entries * entries * self.sum.len() as f64;
        (PRODUCT_WORK * products).min(dense_work(self.support.columns.len(), self.sum.len()))
            + FACTOR_WORK * self.support.factor_products
            + ENTRY_WORK * bundle.size() as f64
    }

    /// Moves the weights by steps in the space of the variables.
    fn approach(
        &mut self,
        way: Way,
        bundle: &mut ComponentBundle,
        (eta, accuracy, solved): (f64, Accuracy, Solved),
        patience: &Patience<'_>,
    ) {
        let Self { caps, costs, direction, semismooth, interior, ways, .. } = self;
        let promised = solved.promised(eta) / eta;
        let goal = VARIABLES_SHARE * accuracy.share * promised;
        let start = Start { eta, caps, costs, direction, gap: solved.gap / eta, goal, promised, calls: ways.calls() };
        let (end, steps, work) = if way == Way::Interior {
            (interior.solve(bundle, &start, patience), interior.steps(), interior.work())
        } else {
            (semismooth.solve(bundle, &start, patience), semismooth.steps(), semismooth.work())
        };
        self.work += work;
        self.ways.count(way, steps);
        if end.is_some() {
            if way == Way::Semismooth && !self.semismooth.has_gained() {
                self.ways.give_up();
            }
            self.add_up(bundle);
        }
    }

    /// Sweeps as often as a round needs.
    fn sweep_often(&mut self, bundle: &mut ComponentBundle, eta: f64, patience: &Patience<'_>) {
        let sweeps = if self.support.columns.len() <= MOST_ROWS { SWEEPS } else { SWEEPS_WITHOUT_NEWTON };
        for _ in 0..sweeps {
            self.sweep(bundle, eta, patience);
        }
    }

    fn begin(&mut self, bundle: &ComponentBundle, limits: &Limits, eta: f64) {
        let dim = bundle.centre().point.len();
        self.caps.set(limits, bundle, eta);
        self.direction.resize(dim, 0.0);
        self.image.resize(dim, 0.0);
        self.support.columns.clear();
        self.stiffening = 1.0;
        self.work = ENTRY_WORK * bundle.size() as f64;
        self.add_up(bundle);
    }

    /// Computes `s` and `w` from the weights.
    fn add_up(&mut self, bundle: &ComponentBundle) {
        self.sum.clear();
        self.sum.extend_from_slice(bundle.linear());
        for cut in bundle.components().iter().flat_map(|component| &component.cuts) {
            if cut.weight > 0.0 {
                bundle.add_to(cut, cut.weight, &mut self.sum);
            }
        }
        self.caps.clip_all(&self.sum, &mut self.direction);
        self.direction.iter_mut().zip(bundle.metric()).for_each(|(direction, metric)| *direction *= metric);
    }

    /// Solves for the weights of one component after the other.
    fn sweep(&mut self, bundle: &mut ComponentBundle, eta: f64, patience: &Patience<'_>) {
        let work = bundle.size() / bundle.components().len().max(1);
        self.work += ENTRY_WORK * bundle.size() as f64;
        for index in 0..bundle.components().len() {
            let component = &bundle.components()[index];
            let count = component.cuts.len();
            if patience.is_over_after(work) {
                return;
            }
            if count < 2 {
                continue;
            }
            self.costs.clear();
            let costs = component.cuts.iter().map(|cut| bundle.product(cut, &self.direction) + cut.error / eta);
            self.costs.extend(costs);
            self.old_weights.clear();
            self.old_weights.extend(component.cuts.iter().map(|cut| cut.weight));
            let mut weights = std::mem::take(&mut self.old_weights);
            let is_changed = exchange(component, &mut self.costs, &mut weights);
            if is_changed {
                for (at, &weight) in weights.iter().enumerate() {
                    let change = weight - bundle.components()[index].cuts[at].weight;
                    if change != 0.0 {
                        self.shift(bundle, index, at, change);
                        bundle.cuts_mut(index)[at].weight = weight;
                    }
                }
            }
            self.old_weights = weights;
        }
    }

    /// Adds a multiple of a cut to `s` and updates `w`.
    fn shift(&mut self, bundle: &ComponentBundle, component: usize, cut: usize, change: f64) {
        let (coordinates, entries) = bundle.subgradient(&bundle.components()[component].cuts[cut]);
        let metric = bundle.metric();
        for (&coordinate, entry) in coordinates.iter().zip(entries) {
            let at = coordinate as usize;
            self.sum[at] += change * entry;
            self.direction[at] = metric[at] * self.caps.clip(at, self.sum[at]);
        }
    }

    /// Computes the costs of all cuts and the result of the present weights. Not complete if the patience ends.
    fn price(&mut self, bundle: &ComponentBundle, eta: f64, patience: &Patience<'_>) -> Solved {
        self.costs.clear();
        self.least.clear();
        let mut gap = 0.0;
        let work = bundle.size() / bundle.components().len().max(1);
        self.work += ENTRY_WORK * bundle.size() as f64;
        for component in bundle.components() {
            if patience.is_over_after(work) {
                break;
            }
            let (mut mean, mut least) = (0.0, f64::INFINITY);
            for cut in &component.cuts {
                let cost = bundle.product(cut, &self.direction) + cut.error / eta;
                mean += cut.weight * cost;
                least = cost.min(least);
                self.costs.push(cost);
            }
            self.least.push(least);
            if !component.cuts.is_empty() {
                gap += (mean - least).max(0.0);
            }
        }
        self.result(bundle, eta, gap)
    }

    /// The result of the present weights. `gap` is the sum of the components' gaps over `eta`.
    fn result(&mut self, bundle: &ComponentBundle, eta: f64, gap: f64) -> Solved {
        let cuts = bundle.components().iter().flat_map(|component| &component.cuts);
        let mut sigma: f64 = cuts.map(|cut| cut.weight * cut.error).sum();
        self.aggregate.resize(self.sum.len(), 0.0);
        self.caps.clip_all(&self.sum, &mut self.aggregate);
        let norm_squared = self.direction.iter().zip(&self.aggregate).map(|(direction, entry)| direction * entry).sum();
        if self.caps.are_any() {
            // At a cap, the step `eta M w` is `c - bound`.
            let held = self.sum.iter().zip(&self.aggregate).zip(&self.direction);
            sigma += held.map(|((sum, aggregate), direction)| (sum - aggregate) * (eta * direction)).sum::<f64>();
        }
        Solved { norm_squared, sigma, gap: eta * gap }
    }

    /// The objective at the present weights.
    fn value(&self, bundle: &ComponentBundle, eta: f64) -> f64 {
        let term = |(at, (&sum, metric)): (usize, (&f64, &f64))| {
            let clipped = self.caps.clip(at, sum);
            metric * clipped * (sum - 0.5 * clipped)
        };
        let quadratic: f64 = self.sum.iter().zip(bundle.metric()).enumerate().map(term).sum();
        let cuts = bundle.components().iter().flat_map(|component| &component.cuts);
        quadratic + cuts.map(|cut| cut.weight * cut.error).sum::<f64>() / eta
    }

    /// Collects the cuts that a Newton step moves. If a few components are wide, they come last: the factor of Newton's
    /// matrix is zero left of the first product of each row, and wide components have products with all others.
    fn gather(&mut self, bundle: &ComponentBundle) {
        let Support { cuts, blocks, columns, .. } = &mut self.support;
        cuts.clear();
        blocks.clear();
        columns.clear();
        let count = bundle.components().iter().filter(|component| bundle.is_wide(component)).count();
        let are_few = FEW * count <= bundle.components().len();
        for wants_last in [false, true] {
            let mut first = 0;
            for (index, component) in bundle.components().iter().enumerate() {
                let costs = &self.costs[first..first + component.cuts.len()];
                first += component.cuts.len();
                if (are_few && bundle.is_wide(component)) != wants_last {
                    continue;
                }
                let start = cuts.len();
                for (at, cut) in component.cuts.iter().enumerate().filter(|(_, cut)| cut.weight > 0.0) {
                    let cost = costs[at];
                    let stiffness = self.stiffening * (cost - self.least[index]).max(0.0) / cut.weight;
                    cuts.push(SupportCut { component: index, cut: at, weight: cut.weight, cost, stiffness });
                }
                if cuts.len() < start + 2 {
                    cuts.truncate(start);
                    continue;
                }
                let block = start..cuts.len();
                let heavier = |a: usize, b: usize| if cuts[b].weight > cuts[a].weight { b } else { a };
                let heaviest = block.clone().fold(start, heavier);
                columns.extend(block.clone().filter(|&at| at != heaviest).map(|at| (at, heaviest)));
                blocks.push(block);
            }
        }
        self.support.count_products(bundle);
    }

    /// Moves the weights of the support by scaled Newton steps. If a bound stops a step, another one follows without
    /// the weight that is now zero, as long as that is cheap. The same holds for bounds on the variables.
    fn newton(&mut self, bundle: &mut ComponentBundle, eta: f64, patience: &Patience<'_>) {
        let mut limited = std::mem::take(&mut self.limited);
        let size = self.support.columns.len();
        let most = (CHEAP / size.saturating_pow(3).max(1)).clamp(1, MOST_STEPS);
        for attempt in 0..most {
            if attempt > 0 {
                self.price(bundle, eta, patience);
                if patience.is_over() {
                    break;
                }
                self.gather(bundle);
            }
            self.ways.count(Way::Newton, 1);
            if self.support.columns.is_empty() || !self.find_change(bundle, patience) {
                break;
            }
            let (step, is_stopped) = self.find_step(bundle, &mut limited);
            if most == 1 && step < SHORT_STEP {
                self.stiffening *= STIFFER;
            } else if step > LONG_STEP {
                self.stiffening = (self.stiffening / STIFFER).max(1.0);
            }
            if step > 0.0 {
                self.go(bundle, eta, (&limited, step), patience);
            }
            if !is_stopped || step == 0.0 {
                break;
            }
        }
        self.limited = limited;
    }

    /// Finds the better of two steps within the bounds: each component goes as far as it can, or all go as far as the
    /// first that is stopped. Returns the step, and whether a bound stops it.
    fn find_step(&mut self, bundle: &ComponentBundle, limited: &mut Vec<f64>) -> (f64, bool) {
        limited.clone_from(&self.change);
        let mut first_stop: f64 = 1.0;
        for block in &self.support.blocks {
            let cuts = self.support.cuts[block.clone()].iter().zip(&self.change[block.clone()]);
            let stop = cuts.map(|(cut, &change)| cut.stop(change)).fold(1.0, f64::min);
            limited[block.clone()].iter_mut().for_each(|change| *change *= stop);
            first_stop = first_stop.min(stop);
        }
        let by_component = self.search(bundle, limited, 1.0);
        if first_stop == 1.0 {
            return (by_component.step, by_component.is_cut);
        }
        let change = std::mem::take(&mut self.change);
        let together = self.search(bundle, &change, first_stop);
        self.change = change;
        if together.decrease > by_component.decrease {
            limited.clone_from(&self.change);
            return (together.step, true);
        }
        (by_component.step, true)
    }

    /// Solves `(D'D + stiffness) change = -cost` over the free weights. `D` has the differences between cuts. False if
    /// the patience ends before.
    fn find_change(&mut self, bundle: &ComponentBundle, patience: &Patience<'_>) -> bool {
        if !self.write_columns(bundle, patience) || !self.write_matrix(patience) {
            return false;
        }
        let Support { cuts, columns, right, factor_products, .. } = &mut self.support;
        let largest = (0..columns.len()).map(|column| self.matrix.diagonal(column)).fold(0.0, f64::max);
        let largest = if largest > 0.0 { largest } else { 1.0 };
        let mut first = 0;
        for column in 0..columns.len() {
            let (at, heaviest) = columns[column];
            // Columns of the same component are consecutive.
            if columns[first].1 != heaviest {
                first = column;
            }
            let row = self.matrix.row_mut(column);
            row[first..=column].iter_mut().for_each(|entry| *entry += cuts[heaviest].stiffness);
            row[column] += cuts[at].stiffness + REGULARIZATION * largest;
        }
        let is_over = |products: usize| patience.is_over_after(products / PRODUCTS_PER_READ);
        if self.matrix.factor(1e-15 * largest, &is_over).is_none() {
            return false;
        }
        self.work += FACTOR_WORK * *factor_products;
        right.clear();
        right.extend(columns.iter().map(|&(at, heaviest)| cuts[heaviest].cost - cuts[at].cost));
        self.matrix.solve(right);
        self.change.clear();
        self.change.resize(cuts.len(), 0.0);
        for (&(at, heaviest), change) in columns.iter().zip(&*right) {
            self.change[at] += change;
            self.change[heaviest] -= change;
        }
        true
    }

    /// Writes `D'D`. False if the patience ends before.
    fn write_matrix(&mut self, patience: &Patience<'_>) -> bool {
        let Support { columns, starts, ends, by_coordinate, .. } = &self.support;
        let is_over = |products: usize| patience.is_over_after(products / PRODUCTS_PER_READ);
        if self.matrix.reset(columns.len(), &is_over).is_none() {
            return false;
        }
        let lengths = || starts.iter().zip(ends).map(|(start, end)| end - start).filter(|length| *length > 0);
        let sparse = PRODUCT_WORK * 0.5 * lengths().map(|length| (length * length) as f64).sum::<f64>();
        let dense = dense_work(columns.len(), lengths().count());
        self.work += sparse.min(dense);
        if dense < sparse {
            return self.add_dense_products(patience);
        }
        for (&start, &end) in starts.iter().zip(ends) {
            let entries = &by_coordinate[start..end];
            for (at, &(column, entry)) in entries.iter().enumerate() {
                if patience.is_over_after(at) {
                    return false;
                }
                let row = self.matrix.row_mut(column as usize);
                entries[..=at].iter().for_each(|&(other, value)| row[other as usize] += entry * value);
            }
        }
        true
    }

    /// Adds `D'D` to a zero matrix, with zeros where a column has no entry. False if the patience ends before.
    fn add_dense_products(&mut self, patience: &Patience<'_>) -> bool {
        let Support { columns, starts, ends, by_coordinate, .. } = &self.support;
        let is_over = |products: usize| patience.is_over_after(products / PRODUCTS_PER_READ);
        let ranges: Vec<_> = starts.iter().zip(ends).filter(|(start, end)| start < end).collect();
        let mut numbers = vec![0.0; columns.len()];
        for ranges in ranges.chunks(Strips::MOST) {
            self.strips.reset(columns.len(), ranges.len());
            for (place, &(&start, &end)) in ranges.iter().enumerate() {
                numbers.fill(0.0);
                by_coordinate[start..end].iter().for_each(|&(column, entry)| numbers[column as usize] = entry);
                self.strips.set_column(place, &numbers);
            }
            if self.matrix.subtract_products(&self.strips, &is_over).is_none() {
                return false;
            }
        }
        for row in 0..columns.len() {
            self.matrix.row_mut(row)[..=row].iter_mut().for_each(|entry| *entry = -*entry);
        }
        true
    }

    /// Writes the columns of `D` by coordinate. Coordinates at a bound have no curvature. False if the patience ends.
    fn write_columns(&mut self, bundle: &ComponentBundle, patience: &Patience<'_>) -> bool {
        let Support { cuts, columns, starts, ends, by_coordinate, .. } = &mut self.support;
        let cut_at = |at: usize| &bundle.components()[cuts[at].component].cuts[cuts[at].cut];
        let dim = self.sum.len();
        starts.clear();
        starts.resize(dim, 0);
        for &(at, heaviest) in &*columns {
            for cut in [cut_at(at), cut_at(heaviest)] {
                bundle.subgradient(cut).0.iter().for_each(|&coordinate| starts[coordinate as usize] += 1);
            }
        }
        let mut total = 0;
        for start in &mut *starts {
            total += std::mem::replace(start, total);
        }
        ends.clone_from(starts);
        // Old entries are written over before they are read. New memory takes its time.
        by_coordinate.reserve(total.saturating_sub(by_coordinate.len()));
        while by_coordinate.len() < total {
            let more = (total - by_coordinate.len()).min(NEW_ENTRIES);
            by_coordinate.resize(by_coordinate.len() + more, (0, 0.0));
            if patience.is_over_after(more) {
                return false;
            }
        }
        for (column, &(at, heaviest)) in columns.iter().enumerate() {
            for (cut, sign) in [(cut_at(at), 1.0), (cut_at(heaviest), -1.0)] {
                let (coordinates, entries) = bundle.subgradient(cut);
                if patience.is_over_after(coordinates.len()) {
                    return false;
                }
                for (&coordinate, entry) in coordinates.iter().zip(entries) {
                    let coordinate = coordinate as usize;
                    if !self.caps.is_within(coordinate, self.sum[coordinate]) {
                        continue;
                    }
                    let entry = sign * entry * bundle.metric()[coordinate].sqrt();
                    let end = ends[coordinate];
                    if end > starts[coordinate] && by_coordinate[end - 1].0 == column as u32 {
                        by_coordinate[end - 1].1 += entry;
                    } else {
                        by_coordinate[end] = (column as u32, entry);
                        ends[coordinate] += 1;
                    }
                }
            }
        }
        true
    }

    /// The best step along a change of the weights, at most `most`.
    fn search(&mut self, bundle: &ComponentBundle, change: &[f64], most: f64) -> Found {
        self.image.fill(0.0);
        let mut slope = 0.0;
        for (at, &change) in self.support.cuts.iter().zip(change) {
            slope += at.cost * change;
            if change != 0.0 {
                bundle.add_to(&bundle.components()[at.component].cuts[at.cut], change, &mut self.image);
            }
        }
        let images = self.image.iter().zip(bundle.metric()).zip(&self.sum).enumerate();
        let free = images.filter(|(at, (_, sum))| self.caps.is_within(*at, **sum));
        let curvature: f64 = free.map(|(_, ((image, metric), _))| metric * image * image).sum();
        if slope >= 0.0 {
            return Found { step: 0.0, decrease: 0.0, is_cut: false };
        }
        let step = if curvature > 0.0 { (-slope / curvature).min(most) } else { most };
        if self.caps.are_any() {
            return self.search_exactly(bundle, slope, step, most);
        }
        Found { step, decrease: -step * (slope + 0.5 * step * curvature), is_cut: false }
    }

    /// As [`Self::search`], for variables with bounds. The step `local` would be right if no variable came to its bound or left
    /// it. The slope along the way is piecewise linear and increasing. Newton's method finds its zero, within an
    /// interval that always holds it.
    fn search_exactly(&self, bundle: &ComponentBundle, slope: f64, local: f64, most: f64) -> Found {
        let images = || self.image.iter().zip(bundle.metric()).zip(&self.sum).enumerate();
        let at = |step: f64| {
            let (mut slope, mut curvature) = (slope, 0.0);
            for (at, ((image, metric), &sum)) in images() {
                let moved = sum + step * image;
                slope += metric * image * (self.caps.clip(at, moved) - self.caps.clip(at, sum));
                curvature += if self.caps.is_within(at, moved) { metric * image * image } else { 0.0 };
            }
            (slope, curvature)
        };
        let (mut low, mut high, mut step) = (0.0, most, local);
        for _ in 0..MOST_TRIALS {
            let (here, curvature) = at(step);
            if here.abs() <= FLAT * -slope || (step == most && here <= 0.0) {
                break;
            }
            *(if here < 0.0 { &mut low } else { &mut high }) = step;
            let next = step - here / curvature;
            step = if next > low && next < high { next } else { 0.5 * (low + high) };
        }
        let rise = |(at, ((image, metric), &sum)): (usize, ((&f64, &f64), &f64))| {
            let (here, there) = (self.caps.clip(at, sum), self.caps.clip(at, sum + step * image));
            // `h(there) - h(here)`, less the part that is in the slope.
            metric * (there - here) * (sum + step * image - 0.5 * (there + here))
        };
        let decrease = -(step * slope + images().map(rise).sum::<f64>());
        Found { step, decrease, is_cut: step < LONG_STEP * local }
    }

    /// Takes a step along a change of the weights. Shortens it while bounds on the variables make the objective worse.
    fn go(&mut self, bundle: &mut ComponentBundle, eta: f64, (change, step): (&[f64], f64), patience: &Patience<'_>) {
        let before = if self.caps.are_any() { self.value(bundle, eta) } else { f64::INFINITY };
        let mut step = step;
        loop {
            for block in &self.support.blocks {
                let mut total = 0.0;
                for at in block.clone() {
                    let SupportCut { component, cut, weight, .. } = self.support.cuts[at];
                    let weight = weight + step * change[at];
                    let weight = if weight < LEAST_WEIGHT { 0.0 } else { weight };
                    bundle.cuts_mut(component)[cut].weight = weight;
                    total += weight;
                }
                for at in block.clone() {
                    let SupportCut { component, cut, .. } = self.support.cuts[at];
                    bundle.cuts_mut(component)[cut].weight /= total;
                }
            }
            self.add_up(bundle);
            if !self.caps.are_any() || step == 0.0 || self.value(bundle, eta) <= before {
                return;
            }
            step = if step > 1e-6 && !patience.is_over() { 0.5 * step } else { 0.0 };
        }
    }
}

#[cfg(test)]
mod tests;
