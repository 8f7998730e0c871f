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

use super::semismooth::{Semismooth, Start};
use crate::model::{Component, ComponentBundle, Model};
use crate::oracle::{Domain, Patience};

/// Sweeps in a round.
const SWEEPS: usize = 2;
/// Largest number of rounds. Most solves take three. One in a thousand to full accuracy, with bounds on the variables,
/// takes more than a hundred.
const MOST_ROUNDS: usize = 300;
/// Largest number of free weights for which a Newton step pays. Beyond it, a round has more sweeps instead.
const MOST_FREE: usize = 4000;
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
const LEAST_WEIGHT: f64 = 1e-13;

/// Expected steps of the first solves, and the share by which the expectation follows each later one.
const NEWTON_STEPS: f64 = 3.0;
const SEMISMOOTH_STEPS: f64 = 4.0;
const FOLLOW: f64 = 0.3;

/// Part of the gap that semismooth Newton steps may leave. The rest is for the cuts that took no part.
const SEMISMOOTH_SHARE: f64 = 0.5;
/// Semismooth Newton steps are given up after this number of calls, if the last one has not reduced the gap to this share.
const MOST_CALLS: usize = 3;
const LEAST_GAIN: f64 = 0.5;
/// An accurate solve is always worth its work up to this multiple of the work of a step without it.
const AFFORDABLE: f64 = 20.0;

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
    ways: Ways,
    /// Work of the last solve, in nanoseconds.
    work: f64,
}

/// Accuracy of a solve.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Accuracy {
    /// Gap, as a share of the predicted decrease.
    pub(crate) share: f64,
    /// Whether a less accurate solution is of no use.
    pub(crate) is_needed: bool,
}

/// A way to move all weights of a bundle at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Newton,
    Semismooth,
    /// None: sweeps alone.
    Sweeps,
}

/// Expected and counted steps of the ways to move all weights. All of it follows from counts, not from a clock.
#[derive(Clone, Debug)]
struct Ways {
    /// Steps of a typical solve, from the last ones.
    expected_newton: f64,
    expected_semismooth: f64,
    /// Steps and work of the present solve.
    newton_steps: usize,
    newton_work: f64,
    semismooth_steps: usize,
    semismooth_calls: usize,
    /// Whether Newton steps were given up in this solve, and whether semismooth Newton steps are.
    has_switched: bool,
    is_stuck: bool,
    /// Expected work of Newton steps when semismooth ones were chosen, if the last solve used these to its end.
    rejected: Option<f64>,
    /// Gap of the last round.
    gap: f64,
    /// Work of an evaluation, and the work since the last accurate solve less the work of that one.
    oracle_work: f64,
    credit: f64,
    /// Work of a step with an inaccurate solve, and the expected work that makes it accurate; as of the last solve.
    cheap: f64,
    expected: f64,
    /// The only way, in tests and measurements.
    forced: Option<Way>,
}

impl Default for Ways {
    fn default() -> Self {
        Self {
            expected_newton: NEWTON_STEPS,
            expected_semismooth: SEMISMOOTH_STEPS,
            newton_steps: 0,
            newton_work: 0.0,
            semismooth_steps: 0,
            semismooth_calls: 0,
            has_switched: false,
            is_stuck: false,
            rejected: None,
            gap: f64::INFINITY,
            oracle_work: f64::INFINITY,
            credit: 0.0,
            cheap: 0.0,
            expected: 0.0,
            forced: None,
        }
    }
}

impl Ways {
    fn begin(&mut self) {
        (self.newton_steps, self.semismooth_steps, self.semismooth_calls, self.newton_work) = (0, 0, 0, 0.0);
        (self.has_switched, self.is_stuck, self.gap) = (false, false, f64::INFINITY);
    }

    /// Gives up semismooth Newton steps that gain little, even with a sharper goal.
    fn judge(&mut self, last: Way, gap: f64) {
        self.is_stuck |= last == Way::Semismooth && gap > LEAST_GAIN * self.gap && self.semismooth_calls >= MOST_CALLS;
        self.gap = gap;
    }

    /// Whether an accurate solve is worth its work. It is if a step without it is not much cheaper, or if the steps since
    /// the last one have taken as much work.
    fn can_afford(&self) -> bool {
        self.expected <= AFFORDABLE * self.cheap || self.expected <= self.credit
    }

    /// Whether semismooth Newton steps are expected to take less work than Newton steps, if these are possible. Also true
    /// once Newton steps have taken as much work: a wrong choice costs at most twice the right one.
    fn is_semismooth_better(&self, newton_step: Option<f64>, semismooth_step: f64) -> bool {
        let semismooth = self.expected_semismooth * semismooth_step;
        let newton = newton_step.map_or(f64::INFINITY, |work| self.expected_newton * work);
        !self.is_stuck && (semismooth < newton || semismooth <= self.newton_work)
    }

    /// Updates the expectations at the end of a solve.
    fn learn(&mut self, work: f64) {
        self.credit = (self.credit - work).min(0.0);
        if self.newton_steps > 0 || self.is_stuck {
            self.rejected = None;
        }
        let follow = |expected: &mut f64, steps: f64| *expected += FOLLOW * (steps - *expected);
        if self.newton_steps > 0 {
            // Steps that were given up are half of those that it would have taken, or fewer.
            let factor = if self.has_switched && !self.is_stuck { 2.0 } else { 1.0 };
            follow(&mut self.expected_newton, factor * self.newton_steps as f64);
        }
        if self.is_stuck {
            // They are tried again when Newton steps are expected to take twice as much work.
            self.expected_semismooth = 2.0 * self.expected_semismooth.max(self.semismooth_steps as f64);
        } else if self.semismooth_steps > 0 {
            follow(&mut self.expected_semismooth, self.semismooth_steps as f64);
        }
    }
}

/// The values of `s` between which `h` is quadratic, by coordinate.
#[derive(Clone, Debug, Default)]
pub(super) struct Caps {
    upper: Vec<f64>,
    /// Empty if no variable has an upper bound.
    lower: Vec<f64>,
    /// Whether any variable has a bound.
    are_any: bool,
}

impl Caps {
    fn set(&mut self, limits: &Limits, bundle: &ComponentBundle, eta: f64) {
        let Self { upper, lower, are_any } = self;
        let units = || bundle.centre().point.iter().zip(bundle.metric().iter().map(|metric| eta * metric));
        // A lower bound on a variable caps `s` from above.
        let cap = |((centre, unit), limit): ((&f64, f64), &f64)| (centre - limit) / unit;
        upper.clear();
        upper.extend(units().zip(&limits.lower).map(cap));
        lower.clear();
        if limits.has_upper {
            lower.extend(units().zip(&limits.upper).map(cap));
        }
        *are_any = limits.has_upper || limits.has_lower;
    }

    /// The values between which `h` is quadratic at a coordinate.
    pub(super) fn limits(&self, at: usize) -> (f64, f64) {
        (self.lower.get(at).map_or(f64::NEG_INFINITY, |lower| *lower), self.upper[at])
    }

    /// Whether any variable has a bound.
    pub(super) fn are_any(&self) -> bool {
        self.are_any
    }

    /// `w` at a value of `s`.
    fn clip(&self, at: usize, sum: f64) -> f64 {
        let below = sum.min(self.upper[at]);
        self.lower.get(at).map_or(below, |lower| below.max(*lower))
    }

    /// `w` at values of `s`.
    pub(super) fn clip_all(&self, sums: &[f64], clipped: &mut [f64]) {
        let uppers = sums.iter().zip(&self.upper);
        clipped.iter_mut().zip(uppers).for_each(|(clipped, (sum, upper))| *clipped = sum.min(*upper));
        clipped.iter_mut().zip(&self.lower).for_each(|(clipped, lower)| *clipped = clipped.max(*lower));
    }

    /// Whether `h` is quadratic at a value of `s`.
    fn is_within(&self, at: usize, sum: f64) -> bool {
        sum <= self.upper[at] && self.lower.get(at).is_none_or(|lower| sum >= *lower)
    }
}

/// Lower and upper limits of all variables.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    lower: Vec<f64>,
    upper: Vec<f64>,
    has_lower: bool,
    has_upper: bool,
}

impl Limits {
    pub(super) fn new(domain: &Domain, dim: usize) -> Self {
        let (lower, upper): (Vec<f64>, Vec<f64>) = (0..dim).map(|index| domain.limits(index)).unzip();
        let has = |limits: &[f64]| limits.iter().any(|limit| limit.is_finite());
        Self { has_lower: has(&lower), has_upper: has(&upper), lower, upper }
    }
}

/// Work of the parts of a solve, in nanoseconds of a present-day core: for each entry of a cut that a sweep or the
/// pricing reads, for each product in Newton's matrix, and for each multiplication of its factorisation. `cargo bench
/// --bench components` prints the work next to the measured time.
pub(super) const ENTRY_WORK: f64 = 6.0;
pub(super) const PRODUCT_WORK: f64 = 3.0;
pub(super) const FACTOR_WORK: f64 = 0.045;
/// Work of writing an entry of a dense column.
const WRITE_WORK: f64 = 1.0;

/// Products of a factorisation that take about as long as reading a number in a sweep.
pub(super) const PRODUCTS_PER_READ: usize = 16;

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

    /// A master that moves all weights by semismooth Newton steps, or by Newton steps, whatever takes less work.
    pub(super) fn forced(is_semismooth: bool) -> Self {
        let forced = Some(if is_semismooth { Way::Semismooth } else { Way::Newton });
        Self { ways: Ways { forced, ..Ways::default() }, ..Self::default() }
    }

    /// Whether the next solve should be accurate, by counted work.
    pub(crate) fn can_afford(&self) -> bool {
        self.ways.can_afford()
    }

    /// Sets the work of an evaluation, in nanoseconds: the alternative to a more accurate solve.
    pub(crate) fn set_oracle_work(&mut self, work: f64) {
        self.ways.oracle_work = work;
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
        // Sweeps spread weight over more cuts, so they do not go with semismooth Newton steps.
        let mut way = if self.goes_on(bundle) { Way::Semismooth } else { Way::Sweeps };
        for round in 0..MOST_ROUNDS {
            if way != Way::Semismooth {
                self.sweep_often(bundle, eta, patience);
            }
            let solved = self.price(bundle, eta, patience);
            if patience.is_over() {
                return self.result(bundle, eta, f64::INFINITY);
            }
            let promised = solved.promised(eta);
            let round_off = 1e-15 * (bundle.centre().value.abs() + promised);
            let is_solved = solved.gap <= accuracy.share * promised || solved.gap <= round_off;
            if is_solved || round + 1 == MOST_ROUNDS {
                self.ways.learn(self.work);
                return solved;
            }
            self.gather(bundle);
            if round == 0 {
                self.ways.cheap = self.ways.oracle_work + self.work;
                self.ways.credit += self.ways.cheap;
                self.ways.expected = self.expected_work(bundle);
            }
            self.ways.judge(way, solved.gap);
            if round == 0 && !accuracy.is_needed {
                return solved;
            }
            way = if way == Way::Semismooth && !self.ways.is_stuck { way } else { self.choose(bundle) };
            match way {
                Way::Semismooth => {
                    let goal = SEMISMOOTH_SHARE * accuracy.share * promised;
                    self.approach(bundle, eta, (solved.gap / eta, goal / eta), patience);
                }
                Way::Newton => self.newton(bundle, eta, patience),
                Way::Sweeps => {}
            }
        }
        Solved::default()
    }

    /// Whether a solve begins with semismooth Newton steps, as the last one did.
    fn goes_on(&self, bundle: &ComponentBundle) -> bool {
        let work = || self.ways.expected_semismooth * Semismooth::step_work(bundle);
        self.ways.rejected.is_some_and(|rejected| work() < rejected)
    }

    /// Expected work of the steps that move all weights at once, in the cheaper way.
    fn expected_work(&self, bundle: &ComponentBundle) -> f64 {
        let newton = self.ways.expected_newton * self.newton_work(bundle);
        newton.min(self.ways.expected_semismooth * Semismooth::step_work(bundle))
    }

    /// The way of the next moves, by counted work.
    fn choose(&mut self, bundle: &ComponentBundle) -> Way {
        let can_use_newton = self.support.columns.len() <= MOST_FREE;
        let newton = self.newton_work(bundle);
        let is_semismooth = match self.ways.forced {
            Some(way) => way == Way::Semismooth && !self.ways.is_stuck,
            // With fewer components, a solution has weight on many cuts of each, and steps on the weights are better.
            None if bundle.components().len() < self.sum.len() => false,
            None => self.ways.is_semismooth_better(can_use_newton.then_some(newton), Semismooth::step_work(bundle)),
        };
        if is_semismooth {
            self.ways.rejected = Some(self.ways.expected_newton * newton);
            self.ways.has_switched = true;
            Way::Semismooth
        } else if can_use_newton {
            self.ways.newton_work += newton;
            Way::Newton
        } else {
            Way::Sweeps
        }
    }

    /// Estimated work of a Newton step: products of the columns with each other, and the factorisation.
    fn newton_work(&self, bundle: &ComponentBundle) -> f64 {
        let free = self.support.columns.len() as f64;
        let cuts = bundle.len().max(1) as f64;
        // Entries of the columns in each variable, if they are spread evenly. A column has those of two cuts.
        let entries = 2.0 * free * bundle.size() as f64 / cuts / self.sum.len().max(1) as f64;
        let products = 0.5 * entries * entries * self.sum.len() as f64;
        (PRODUCT_WORK * products).min(dense_work(self.support.columns.len(), self.sum.len()))
            + FACTOR_WORK * free.powi(3) / 6.0
            + ENTRY_WORK * bundle.size() as f64
    }

    /// Moves the weights by semismooth Newton steps.
    fn approach(&mut self, bundle: &mut ComponentBundle, eta: f64, (gap, goal): (f64, f64), patience: &Patience<'_>) {
        let Self { caps, costs, direction, semismooth, ways, .. } = self;
        let start = Start { eta, caps, costs, direction, gap, goal, calls: ways.semismooth_calls };
        ways.semismooth_calls += 1;
        let is_complete = semismooth.solve(bundle, &start, patience).is_some();
        self.work += semismooth.work();
        self.ways.semismooth_steps += semismooth.steps();
        if is_complete {
            self.ways.is_stuck |= !self.semismooth.has_gained();
            self.add_up(bundle);
        }
    }

    /// Sweeps as often as a round needs.
    fn sweep_often(&mut self, bundle: &mut ComponentBundle, eta: f64, patience: &Patience<'_>) {
        let sweeps = if self.support.columns.len() <= MOST_FREE { SWEEPS } else { SWEEPS_WITHOUT_NEWTON };
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
        self.ways.begin();
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
        if self.caps.are_any {
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

    /// Collects the cuts that a Newton step moves.
    fn gather(&mut self, bundle: &ComponentBundle) {
        let Support { cuts, blocks, columns, .. } = &mut self.support;
        cuts.clear();
        blocks.clear();
        columns.clear();
        let mut first = 0;
        for (index, component) in bundle.components().iter().enumerate() {
            let start = cuts.len();
            for (at, cut) in component.cuts.iter().enumerate().filter(|(_, cut)| cut.weight > 0.0) {
                let cost = self.costs[first + at];
                let stiffness = self.stiffening * (cost - self.least[index]).max(0.0) / cut.weight;
                cuts.push(SupportCut { component: index, cut: at, weight: cut.weight, cost, stiffness });
            }
            first += component.cuts.len();
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
            self.ways.newton_steps += 1;
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
        let Support { cuts, columns, right, .. } = &mut self.support;
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
        self.work += FACTOR_WORK * (columns.len() as f64).powi(3) / 6.0;
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
        if self.caps.are_any {
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
        let before = if self.caps.are_any { self.value(bundle, eta) } else { f64::INFINITY };
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
            if !self.caps.are_any || step == 0.0 || self.value(bundle, eta) <= before {
                return;
            }
            step = if step > 1e-6 && !patience.is_over() { 0.5 * step } else { 0.0 };
        }
    }
}

/// Exchanges weight between pairs of a component's cuts, from expensive to cheap ones. True if any weight changed.
fn exchange(component: &Component, costs: &mut [f64], weights: &mut [f64]) -> bool {
    let mut is_changed = false;
    for _ in 0..3 * costs.len() {
        let (mut low, mut high) = ((f64::INFINITY, 0), (f64::NEG_INFINITY, 0));
        for (at, (&cost, &weight)) in costs.iter().zip(&*weights).enumerate() {
            if cost < low.0 {
                low = (cost, at);
            }
            if weight > 0.0 && cost > high.0 {
                high = (cost, at);
            }
        }
        let difference = high.0 - low.0;
        if difference.is_nan() || difference <= 1e-14 * (high.0.abs() + low.0.abs()) {
            break;
        }
        let (to, from) = (low.1, high.1);
        let (gains, losses) = (component.gram_row(to), component.gram_row(from));
        let curvature = gains[to] + losses[from] - 2.0 * gains[from];
        let most = weights[from];
        let wanted = if curvature > 0.0 { difference / curvature } else { most };
        if wanted < LEAST_WEIGHT {
            break;
        }
        let step = if wanted > most - LEAST_WEIGHT { most } else { wanted };
        weights[to] += step;
        weights[from] = if step == most { 0.0 } else { most - step };
        for ((cost, gain), loss) in costs.iter_mut().zip(gains).zip(losses) {
            *cost += step * (gain - loss);
        }
        is_changed = true;
    }
    is_changed
}

#[cfg(test)]
mod tests {
    use clarabel::algebra::CscMatrix;
    use clarabel::solver::SupportedConeT::NonnegativeConeT;
    use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SupportedConeT};

    use super::*;
    use crate::master::boxes::{random_domain, reaches};
    use crate::model::SparseCut;
    use crate::oracle::Counted;
    use bundlenet_linalg::Stream;

    struct Case {
        centre: Vec<f64>,
        domain: Domain,
        linear: Vec<f64>,
        cuts: Vec<Vec<SparseCut>>,
        eta: f64,
    }

    fn sparse_cut(stream: &mut Stream, dim: usize, scale: f64) -> SparseCut {
        let coordinates: Vec<u32> = (0..dim as u32).filter(|_| stream.below(3) == 0).collect();
        let entries = coordinates.into_iter().map(|at| (at, scale * stream.normal())).collect();
        (entries, stream.normal().abs() * f64::from(u8::from(stream.below(4) > 0)))
    }

    impl Case {
        /// A degenerate case: cuts that differ in their error only or are multiples of each other, components without a
        /// gradient, identical components, few variables for many cuts.
        fn random(stream: &mut Stream, index: usize) -> Self {
            let dim = 1 + stream.below(if index.is_multiple_of(3) { 4 } else { 20 });
            let count = 1 + stream.below(12);
            let mut cuts: Vec<Vec<SparseCut>> = vec![];
            for component in 0..count {
                if component > 0 && stream.below(5) == 0 {
                    cuts.push(cuts[component - 1].clone());
                    continue;
                }
                let mut own = vec![(vec![], stream.normal().abs())];
                for _ in 0..stream.below(7) {
                    let kind = stream.below(6);
                    let scale = 10.0_f64.powi(stream.below(3) as i32 - 1);
                    let mut cut = sparse_cut(stream, dim, scale);
                    if let Some(last) = own.last().filter(|_| kind == 0) {
                        cut = (last.0.iter().map(|(at, entry)| (*at, 2.0 * entry)).collect(), cut.1);
                    } else if kind == 1 {
                        cut.0.clear();
                    }
                    own.push(cut);
                }
                cuts.push(own);
            }
            let domain = random_domain(stream, dim);
            let mut centre: Vec<f64> =
                (0..dim).map(|_| stream.normal() * f64::from(u8::from(stream.below(3) > 0))).collect();
            domain.project(&mut centre);
            let linear = (0..dim).map(|_| stream.normal()).collect();
            Self { centre, domain, linear, cuts, eta: 10.0_f64.powi(stream.below(5) as i32 - 2) }
        }

        fn limits(&self) -> Limits {
            Limits::new(&self.domain, self.centre.len())
        }

        fn bundle(&self) -> ComponentBundle {
            ComponentBundle::of_cuts(&self.centre, self.linear.clone(), &self.cuts)
        }

        /// Size of the numbers of the problem.
        fn size(&self) -> f64 {
            let square = |cut: &SparseCut| cut.1 + self.eta * cut.0.iter().map(|(_, entry)| entry * entry).sum::<f64>();
            let largest = self.cuts.iter().map(|cuts| cuts.iter().map(square).fold(0.0, f64::max)).sum::<f64>();
            largest + self.eta * self.linear.iter().map(|entry| entry * entry).sum::<f64>() + 1e-3
        }

        /// Value of the master problem at a step.
        fn value(&self, step: &[f64]) -> f64 {
            let product = |cut: &SparseCut| cut.0.iter().map(|(at, entry)| entry * step[*at as usize]).sum::<f64>();
            let model =
                |cuts: &Vec<SparseCut>| cuts.iter().map(|cut| product(cut) - cut.1).fold(f64::NEG_INFINITY, f64::max);
            self.cuts.iter().map(model).sum::<f64>()
                + self.linear.iter().zip(step).map(|(entry, step)| entry * step).sum::<f64>()
                + step.iter().map(|step| step * step).sum::<f64>() / (2.0 * self.eta)
        }

        /// The minimum by an interior-point method, over `step / sqrt(eta)` and a bound on each component.
        fn reference(&self) -> f64 {
            let (dim, count) = (self.centre.len(), self.cuts.len());
            let root = self.eta.sqrt();
            let mut quadratic = vec![vec![0.0; dim + count]; dim + count];
            (0..dim).for_each(|index| quadratic[index][index] = 1.0);
            let mut objective: Vec<f64> = self.linear.iter().map(|entry| root * entry).collect();
            objective.resize(dim + count, 1.0);
            let (mut rows, mut right) = (vec![], vec![]);
            for (component, cuts) in self.cuts.iter().enumerate() {
                for (subgradient, error) in cuts {
                    let mut row = vec![0.0; dim + count];
                    subgradient.iter().for_each(|(at, entry)| row[*at as usize] = root * entry);
                    row[dim + component] = -1.0;
                    rows.push(row);
                    right.push(*error);
                }
            }
            for (index, sign, reach) in reaches(&self.domain, &self.centre) {
                let mut row = vec![0.0; dim + count];
                row[index] = sign * root;
                rows.push(row);
                right.push(reach);
            }
            let cones: [SupportedConeT<f64>; 1] = [NonnegativeConeT(rows.len())];
            let settings = DefaultSettings {
                verbose: false,
                tol_gap_abs: 1e-11,
                tol_gap_rel: 1e-11,
                tol_feas: 1e-11,
                ..DefaultSettings::default()
            };
            let (quadratic, rows) = (CscMatrix::from(&quadratic), CscMatrix::from(&rows));
            let mut solver = DefaultSolver::new(&quadratic, &objective, &rows, &right, &cones, settings).unwrap();
            solver.solve();
            solver.solution.obj_val
        }

        /// A case with Newton steps of more than a panel of the factorisation.
        fn large(stream: &mut Stream) -> Self {
            let (dim, count) = (300, 150);
            let mut cuts = || (0..4).map(|_| sparse_cut(stream, dim, 1.0)).collect::<Vec<_>>();
            let cuts: Vec<Vec<SparseCut>> = (0..count).map(|_| cuts()).collect();
            let linear = (0..dim).map(|_| stream.normal()).collect();
            let limits = |index: usize| (if index.is_multiple_of(2) { 0.0 } else { f64::NEG_INFINITY }, f64::INFINITY);
            let domain = Domain::between((0..dim).map(limits));
            Self { centre: vec![1.0; dim], domain, linear, cuts, eta: 0.1 }
        }

        /// Solves until the patience ends, and checks that the proposal is valid: weights on simplices, and the
        /// direction, the norm and the aggregate error that belong to them.
        fn check_proposal(
            &self,
            bundle: &mut ComponentBundle,
            master: &mut ProductMaster,
            patience: &Patience<'_>,
            name: &str,
        ) -> Solved {
            let solved =
                master.solve(bundle, &self.limits(), self.eta, Accuracy { share: 1e-11, is_needed: true }, patience);
            let (mut sum, mut sigma) = (self.linear.clone(), 0.0);
            for (component, cuts) in bundle.components().iter().zip(&self.cuts) {
                let total: f64 = component.cuts.iter().map(|cut| cut.weight).sum();
                assert!((total - 1.0).abs() < 1e-12 && component.cuts.iter().all(|cut| cut.weight >= 0.0), "{name}");
                assert!(component.cuts.len() <= cuts.len(), "{name}");
                for cut in &component.cuts {
                    bundle.add_to(cut, cut.weight, &mut sum);
                    sigma += cut.weight * cut.error;
                }
            }
            let mut norm_squared = 0.0;
            assert!(solved.sigma >= 0.0, "{name}: {}", solved.sigma);
            for (index, ((&sum, &centre), &direction)) in
                sum.iter().zip(&self.centre).zip(master.direction()).enumerate()
            {
                let (lower, upper) = self.domain.limits(index);
                let trial = (centre - self.eta * sum).clamp(lower, upper);
                let expected = if trial == centre - self.eta * sum { sum } else { (centre - trial) / self.eta };
                assert!((direction - expected).abs() <= 1e-11 * self.size(), "{name}: {direction} {expected}");
                let (reached, slack) = (centre - self.eta * direction, 1e-12 * (1.0 + centre.abs()));
                assert!(reached >= lower - slack && reached <= upper + slack, "{name}");
                sigma += (sum - expected) * (centre - trial);
                norm_squared += expected * expected;
            }
            assert_eq!(master.direction(), master.aggregate(), "{name}");
            assert!((solved.norm_squared - norm_squared).abs() <= 1e-11 * (1.0 + norm_squared), "{name}");
            assert!((solved.sigma - sigma).abs() <= 1e-11 * self.size(), "{name}");
            solved
        }

        /// Solves and checks everything except for the accuracy of the weights. Returns the gap over the size.
        fn check(&self, bundle: &mut ComponentBundle, master: &mut ProductMaster, name: &str) -> f64 {
            let solved = self.check_proposal(bundle, master, &Patience::default(), name);
            let step: Vec<f64> = master.direction().iter().map(|entry| -self.eta * entry).collect();
            // The reported gap is the true one: primal value minus dual value.
            let size = self.size();
            let (primal, dual) = (self.value(&step), -(0.5 * self.eta * solved.norm_squared + solved.sigma));
            assert!((primal - dual - solved.gap).abs() <= 1e-11 * size, "{name}: {primal} {dual} {}", solved.gap);
            (primal - dual) / size
        }
    }

    /// A master that moves all weights in one way only, or in the way that it chooses.
    fn master_of(way: Option<Way>) -> ProductMaster {
        let mut master = ProductMaster::default();
        master.ways.forced = way;
        master
    }

    const WAYS: [Option<Way>; 3] = [None, Some(Way::Newton), Some(Way::Semismooth)];

    #[test]
    fn masters_agree_with_an_interior_point_method() {
        let mut stream = Stream::new(7, "product masters", 0);
        for index in 0..5000 {
            let mut case = Case::random(&mut stream, index);
            if index % 5 == 4 {
                case.eta = 10.0_f64.powi(stream.below(11) as i32 - 5);
            }
            // Clarabel fails in some cases with a step length of 1e5. The gap is a proof without it.
            let reference = (index % 5 < 4).then(|| case.reference());
            for way in WAYS {
                let name = format!("case {index}, {way:?}");
                let mut master = master_of(way);
                let gap = case.check(&mut case.bundle(), &mut master, &name);
                assert!(gap <= 1e-9, "{name}: {gap}");
                let step: Vec<f64> = master.direction().iter().map(|entry| -case.eta * entry).collect();
                let value = case.value(&step);
                // The accuracy of Clarabel is about 1e-8 here.
                let is_near = |reference: f64| (value - reference).abs() <= 1e-7 * case.size();
                assert!(reference.is_none_or(is_near), "{name}: {value} {reference:?}");
            }
        }
    }

    /// A master that is cut short at any of its questions leaves a valid proposal. Afterwards it solves as before.
    #[test]
    fn masters_cut_short_are_valid() {
        let mut stream = Stream::new(9, "product masters", 0);
        for index in 0..60 {
            let case = if index == 0 { Case::large(&mut stream) } else { Case::random(&mut stream, index) };
            let way = WAYS[index % WAYS.len()];
            let counted = Counted::after(usize::MAX);
            case.check_proposal(&mut case.bundle(), &mut master_of(way), &counted.asked_often(), "endless");
            let questions = counted.questions();
            for most in (0..questions).step_by(1 + questions / 300) {
                let name = format!("case {index}, cut after {most} of {questions} questions");
                let (mut bundle, mut master) = (case.bundle(), master_of(way));
                let counted = Counted::after(most);
                let solved = case.check_proposal(&mut bundle, &mut master, &counted.asked_often(), &name);
                // No question follows the end.
                assert!(solved.gap == f64::INFINITY && counted.questions() == most + 1, "{name}");
                if most % 7 == 0 {
                    let gap = case.check(&mut bundle, &mut master, &name);
                    assert!(gap <= 1e-9, "{name}: {gap}");
                }
            }
        }
    }

    /// In every part of a large master the questions follow each other within 200 microseconds of counted work. They
    /// change nothing.
    #[test]
    fn large_masters_ask_often() {
        let mut stream = Stream::new(10, "product masters", 0);
        let case = Case::large(&mut stream);
        for way in WAYS {
            let solve = |patience: &Patience<'_>| {
                let (mut bundle, mut master) = (case.bundle(), master_of(way));
                let accuracy = Accuracy { share: 1e-11, is_needed: true };
                master.solve(&mut bundle, &case.limits(), case.eta, accuracy, patience);
                (master.direction().to_vec(), master.work(), master.support.columns.len())
            };
            let counted = Counted::after(usize::MAX);
            let (direction, work, columns) = solve(&counted.asked());
            assert!(columns > 150, "{way:?}: {columns}");
            let each = work / counted.questions() as f64;
            assert!(work > 5e6 && each < 2e5, "{way:?}: {work} {each}");
            assert_eq!((direction, work, columns), solve(&Patience::default()), "{way:?}");
        }
    }

    /// Warm starts work after jumps of `eta` by 10^3 and with a growing number of cuts.
    #[test]
    fn warm_starts_survive_jumps() {
        let mut stream = Stream::new(8, "product masters", 0);
        for round in 0..150 {
            let mut case = Case::random(&mut stream, round);
            let mut bundle = case.bundle();
            let mut master = master_of(WAYS[round % WAYS.len()]);
            for step in 0..12 {
                case.eta = if step % 2 == 0 { 1e-1 } else { 1e2 };
                let gap = case.check(&mut bundle, &mut master, &format!("round {round}, step {step}"));
                assert!(gap <= 1e-9, "round {round}, step {step}: {gap}");
                let component = stream.below(case.cuts.len());
                let cut = sparse_cut(&mut stream, case.centre.len(), 1.0);
                bundle.insert_cut(component, &cut);
                case.cuts[component].push(cut);
            }
        }
    }
}
