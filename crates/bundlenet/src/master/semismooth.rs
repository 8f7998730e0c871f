//! Semismooth Newton steps for the quadratic problem over a product of simplices, in the space of the variables.
//!
//! The problem is that of `product.rs`. Its dual maximises a concave function of the step `p = M w`, with one term for
//! each component: the least cost of its cuts. A proximal term in the weights makes each term smooth
//! (Li, Sun and Toh, 2018, for other problems):
//!
//! ```text
//! max over p of  linear'p - |p|^2 / 2M + sum_a min over theta_a of (costs_a'theta_a + sigma/2 |theta_a - old_a|^2),
//! costs_i = g_i'p + alpha_i / eta
//! ```
//!
//! The inner minimum is a projection on the simplex, so most weights are exactly zero. The gradient is `s - p / M`, and
//! Newton's matrix has one row for each variable, whatever the number of cuts. Only components with several weights
//! contribute to it, by the differences of these cuts to their mean:
//!
//! ```text
//! 1/M + 1/sigma sum_a sum_i (g_i - mean_a)(g_i - mean_a)'
//! ```
//!
//! A small `sigma` is accurate, a large one takes fewer steps. The steps begin at the present weights and their point.

use bundlenet_linalg::cholesky::{Cholesky, Strips};

use super::caps::Caps;
use super::ways::{ENTRY_WORK, FACTOR_WORK, PRODUCTS_PER_READ, SOLVE_WORK};
use crate::model::{ComponentBundle, Model};
use crate::oracle::Patience;

/// Largest number of Newton steps of a call.
const MOST_STEPS: usize = 60;
/// The gap to reach in a call, as a share of the gap before. More would need a much smaller `sigma`.
const LEAST_SHARE: f64 = 0.03;
/// `sigma` for each component, as a multiple of the gap to reach.
const SOFTNESS: f64 = 5.0;
/// Factor on `sigma` after a call that has not reached its gap.
const HARDER: f64 = 0.2;
/// Number of cheapest cuts of each component that take part, besides those with weight.
const NEAR: usize = 6;
/// Largest number of trials of a line search, and the share of the first slope that counts as zero.
const MOST_TRIALS: usize = 20;
const FLAT: f64 = 0.1;
/// A call ends after this number of consecutive steps below this length. Such steps show a `sigma` that is too small:
/// the function is a chain of tiny pieces, and a Newton step sees one of them.
const MOST_SHORT_STEPS: usize = 4;
const SHORT_STEP: f64 = 0.1;

/// A cut that takes part.
#[derive(Clone, Copy, Debug)]
struct Working {
    cut: usize,
    /// `alpha_i / eta`.
    error: f64,
    /// Weight before the call, and at the present point.
    old: f64,
    weight: f64,
    /// Cost at the present point, and its change along the direction.
    cost: f64,
    slope: f64,
}

/// The cuts of a component, a range of all.
#[derive(Clone, Debug)]
struct Block {
    component: usize,
    cuts: std::ops::Range<usize>,
}

/// The point from which the steps begin: the weights of the bundle, and the prices of its cuts.
pub(super) struct Start<'a> {
    pub(super) eta: f64,
    pub(super) caps: &'a Caps,
    /// Costs of all cuts, component by component.
    pub(super) costs: &'a [f64],
    /// `M w` of the weights.
    pub(super) direction: &'a [f64],
    /// Gap of the weights, and the gap to reach, over `eta`.
    pub(super) gap: f64,
    pub(super) goal: f64,
    /// Predicted decrease of the weights, over `eta`.
    pub(super) promised: f64,
    /// Number of calls of the same solve before this one.
    pub(super) calls: usize,
}

/// The method and its memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Semismooth {
    cuts: Vec<Working>,
    blocks: Vec<Block>,
    /// The linear part and the components with a single cut.
    fixed: Vec<f64>,
    sigma: f64,
    /// `p`, `s`, and the direction of a step.
    point: Vec<f64>,
    sum: Vec<f64>,
    change: Vec<f64>,
    gradient: Vec<f64>,
    is_held: Vec<bool>,
    matrix: Cholesky,
    strips: Strips,
    mean: Vec<f64>,
    column: Vec<f64>,
    order: Vec<f64>,
    /// Whether the last call found better weights, and its steps and work.
    has_gained: bool,
    steps: usize,
    work: f64,
}

impl Semismooth {
    /// Whether the last call found better weights. If not, it left the old ones.
    pub(super) fn has_gained(&self) -> bool {
        self.has_gained
    }

    /// Number of steps of the last call.
    pub(super) fn steps(&self) -> usize {
        self.steps
    }

    /// Work of the last call in nanoseconds, counted from sizes.
    pub(super) fn work(&self) -> f64 {
        self.work
    }

    /// Estimated work of a step: the matrix of as many columns as variables, and the passes over the near cuts.
    pub(super) fn step_work(bundle: &ComponentBundle) -> f64 {
        let dim = bundle.linear().len() as f64;
        let cuts = bundle.len().min(NEAR * bundle.components().len()) as f64;
        let entries = cuts * bundle.size() as f64 / bundle.len().max(1) as f64;
        let columns = 2.0 * dim.min(cuts);
        FACTOR_WORK * dim * dim * (columns / 2.0 + dim / 6.0) + 2.0 * ENTRY_WORK * entries + SOLVE_WORK * dim * dim
    }

    /// Moves the weights of the bundle until their gap is about `goal`, as far as near cuts are concerned. Leaves the weights
    /// if their gap does not become smaller. `None` if the patience ends; the weights are then as before.
    pub(super) fn solve(
        &mut self,
        bundle: &mut ComponentBundle,
        start: &Start<'_>,
        patience: &Patience<'_>,
    ) -> Option<()> {
        (self.steps, self.work) = (0, 0.0);
        self.gather(bundle, start);
        let goal = start.goal.max(LEAST_SHARE * start.gap);
        self.sigma = SOFTNESS * HARDER.powi(start.calls as i32) * goal / self.blocks.len().max(1) as f64;
        self.point.clear();
        self.point.extend_from_slice(start.direction);
        self.price(bundle, patience)?;
        self.project(0.0);
        self.add_up(bundle, patience)?;
        let mut short_steps = 0;
        let gap = loop {
            let gap = self.gap(bundle, start.caps, patience)?;
            if gap <= goal || self.steps == MOST_STEPS || short_steps == MOST_SHORT_STEPS {
                break gap;
            }
            self.steps += 1;
            self.write_gradient(bundle, start.caps);
            self.write_matrix(bundle, patience)?;
            self.find_direction(bundle, start.caps);
            let step = self.search(bundle, patience)?;
            if step == 0.0 {
                break gap;
            }
            short_steps = if step < SHORT_STEP { short_steps + 1 } else { 0 };
            self.add_up(bundle, patience)?;
        };
        // Steps that were given up may leave weights far worse than the old ones.
        self.has_gained = gap <= start.gap;
        if self.has_gained {
            self.write_weights(bundle);
        }
        Some(())
    }

    /// Collects the cuts with weight and the cheapest ones.
    fn gather(&mut self, bundle: &ComponentBundle, start: &Start<'_>) {
        self.cuts.clear();
        self.blocks.clear();
        self.fixed.clear();
        self.fixed.extend_from_slice(bundle.linear());
        let mut first = 0;
        for (index, component) in bundle.components().iter().enumerate() {
            let costs = &start.costs[first..first + component.cuts.len()];
            first += component.cuts.len();
            if let [cut] = &component.cuts[..] {
                bundle.add_to(cut, 1.0, &mut self.fixed);
            }
            if costs.len() < 2 {
                continue;
            }
            self.order.clear();
            self.order.extend_from_slice(costs);
            let near = NEAR.min(costs.len()) - 1;
            let limit = *self.order.select_nth_unstable_by(near, f64::total_cmp).1;
            let from = self.cuts.len();
            for (at, (cut, &cost)) in component.cuts.iter().zip(costs).enumerate() {
                if cut.weight > 0.0 || cost <= limit {
                    let (error, old) = (cut.error / start.eta, cut.weight);
                    self.cuts.push(Working { cut: at, error, old, weight: old, cost, slope: 0.0 });
                }
            }
            self.blocks.push(Block { component: index, cuts: from..self.cuts.len() });
        }
    }

    /// Computes the costs of all cuts at the point.
    fn price(&mut self, bundle: &ComponentBundle, patience: &Patience<'_>) -> Option<()> {
        let (blocks, cuts, point) = (&self.blocks, &mut self.cuts, &self.point);
        let entries = for_each(bundle, blocks, cuts, patience, |cut, product| cut.cost = product(point) + cut.error)?;
        self.work += ENTRY_WORK * entries as f64;
        Some(())
    }

    /// Writes the weights at a step along the direction. Returns the slope of the smooth function there, without the
    /// part of the point alone.
    fn project(&mut self, step: f64) -> f64 {
        let mut slope = 0.0;
        for block in &self.blocks {
            let cuts = &mut self.cuts[block.cuts.clone()];
            self.order.clear();
            for cut in &mut *cuts {
                cut.weight = cut.old - (cut.cost + step * cut.slope) / self.sigma;
                self.order.push(cut.weight);
            }
            let threshold = threshold(&mut self.order);
            for cut in cuts {
                cut.weight = (cut.weight - threshold).max(0.0);
                slope += cut.weight * cut.slope;
            }
        }
        slope
    }

    /// Computes `s` of the weights.
    fn add_up(&mut self, bundle: &ComponentBundle, patience: &Patience<'_>) -> Option<()> {
        self.sum.clone_from(&self.fixed);
        for block in &self.blocks {
            let component = &bundle.components()[block.component];
            let mut entries = 0;
            for working in self.cuts[block.cuts.clone()].iter().filter(|working| working.weight > 0.0) {
                let cut = &component.cuts[working.cut];
                bundle.add_to(cut, working.weight, &mut self.sum);
                entries += bundle.subgradient(cut).0.len();
            }
            if patience.is_over_after(entries) {
                return None;
            }
        }
        Some(())
    }

    /// The gap of the weights among the near cuts. Overwrites the gradient.
    fn gap(&mut self, bundle: &ComponentBundle, caps: &Caps, patience: &Patience<'_>) -> Option<f64> {
        self.gradient.resize(self.sum.len(), 0.0);
        caps.clip_all(&self.sum, &mut self.gradient);
        self.gradient.iter_mut().zip(bundle.metric()).for_each(|(entry, metric)| *entry *= metric);
        let (blocks, cuts, point) = (&self.blocks, &mut self.cuts, &self.gradient);
        let entries = for_each(bundle, blocks, cuts, patience, |cut, product| cut.slope = product(point) + cut.error)?;
        self.work += ENTRY_WORK * entries as f64;
        let gap_of = |block: &Block| {
            let cuts = &self.cuts[block.cuts.clone()];
            let mean: f64 = cuts.iter().map(|cut| cut.weight * cut.slope).sum();
            (mean - cuts.iter().map(|cut| cut.slope).fold(f64::INFINITY, f64::min)).max(0.0)
        };
        Some(self.blocks.iter().map(gap_of).sum())
    }

    /// Writes the gradient `s - p / M`. A variable at a bound that it wants to cross is held there.
    fn write_gradient(&mut self, bundle: &ComponentBundle, caps: &Caps) {
        let dim = self.sum.len();
        self.gradient.clear();
        self.is_held.clear();
        for at in 0..dim {
            let metric = bundle.metric()[at];
            let gradient = self.sum[at] - self.point[at] / metric;
            let (low, high) = caps.limits(at);
            let is_held = (gradient > 0.0 && self.point[at] >= metric * high)
                || (gradient < 0.0 && self.point[at] <= metric * low);
            self.gradient.push(if is_held { 0.0 } else { gradient });
            self.is_held.push(is_held);
        }
    }

    /// Writes and factors Newton's matrix.
    fn write_matrix(&mut self, bundle: &ComponentBundle, patience: &Patience<'_>) -> Option<()> {
        let dim = self.point.len();
        let is_over = |products: usize| patience.is_over_after(products / PRODUCTS_PER_READ);
        self.matrix.reset(dim, &is_over)?;
        self.subtract_columns(bundle, patience)?;
        for row in 0..dim {
            let entries = self.matrix.row_mut(row);
            for (column, entry) in entries[..=row].iter_mut().enumerate() {
                *entry = if self.is_held[row] || self.is_held[column] { 0.0 } else { -*entry };
            }
            entries[row] += 1.0 / bundle.metric()[row];
        }
        self.work += (FACTOR_WORK * dim as f64 / 6.0 + SOLVE_WORK) * (dim * dim) as f64;
        self.matrix.factor(0.0, &is_over)?;
        Some(())
    }

    /// Subtracts the part of the components with several weights.
    fn subtract_columns(&mut self, bundle: &ComponentBundle, patience: &Patience<'_>) -> Option<()> {
        let dim = self.point.len();
        let is_over = |products: usize| patience.is_over_after(products / PRODUCTS_PER_READ);
        let is_several =
            |block: &&Block| self.cuts[block.cuts.clone()].iter().filter(|cut| cut.weight > 0.0).count() > 1;
        let blocks: Vec<&Block> = self.blocks.iter().filter(is_several).collect();
        let count = |block: &&Block| self.cuts[block.cuts.clone()].iter().filter(|cut| cut.weight > 0.0).count();
        let mut left: usize = blocks.iter().map(count).sum();
        self.work += FACTOR_WORK * 0.5 * (left * dim * dim) as f64;
        self.column.resize(dim, 0.0);
        self.mean.clear();
        self.mean.resize(dim, 0.0);
        self.strips.reset(dim, left);
        let (mut used, root) = (0, (1.0 / self.sigma).sqrt());
        for block in blocks {
            let component = &bundle.components()[block.component];
            let weighted = || self.cuts[block.cuts.clone()].iter().filter(|cut| cut.weight > 0.0);
            let share = root / weighted().count() as f64;
            self.mean.fill(0.0);
            weighted().for_each(|cut| bundle.add_to(&component.cuts[cut.cut], -share, &mut self.mean));
            for working in weighted() {
                self.column.copy_from_slice(&self.mean);
                bundle.add_to(&component.cuts[working.cut], root, &mut self.column);
                self.strips.set_column(used, &self.column);
                (used, left) = (used + 1, left - 1);
                if used == Strips::MOST || left == 0 {
                    self.matrix.subtract_products(&self.strips, &is_over)?;
                    self.strips.reset(dim, left);
                    used = 0;
                }
            }
        }
        Some(())
    }

    /// Solves for the direction, which ends within the bounds of the variables.
    fn find_direction(&mut self, bundle: &ComponentBundle, caps: &Caps) {
        self.change.clone_from(&self.gradient);
        self.matrix.solve(&mut self.change);
        if !caps.are_any() {
            return;
        }
        let bounded = |at: usize, point: f64, change: f64| {
            let (low, high) = caps.limits(at);
            let metric = bundle.metric()[at];
            (point + change).max(metric * low).min(metric * high) - point
        };
        let slope = |change: &[f64], gradient: &[f64]| -> f64 { change.iter().zip(gradient).map(|(a, b)| a * b).sum() };
        for (at, (change, &point)) in self.change.iter_mut().zip(&self.point).enumerate() {
            *change = bounded(at, point, *change);
        }
        // A bound may spoil the direction. The gradient stays a direction of ascent.
        if slope(&self.change, &self.gradient) <= 0.0 {
            for (at, change) in self.change.iter_mut().enumerate() {
                *change = bounded(at, self.point[at], bundle.metric()[at] * self.gradient[at]);
            }
        }
    }

    /// Finds the best step along the direction, at most 1, and goes there. The slope along the way is decreasing. Returns
    /// the step.
    fn search(&mut self, bundle: &ComponentBundle, patience: &Patience<'_>) -> Option<f64> {
        let (blocks, cuts, change) = (&self.blocks, &mut self.cuts, &self.change);
        let entries = for_each(bundle, blocks, cuts, patience, |cut, product| cut.slope = product(change))?;
        self.work += ENTRY_WORK * entries as f64;
        let (mut constant, mut curvature) = (0.0, 0.0);
        for (at, change) in self.change.iter().enumerate() {
            let inverse = 1.0 / bundle.metric()[at];
            constant += (self.fixed[at] - inverse * self.point[at]) * change;
            curvature += inverse * change * change;
        }
        let mut slope_at = |step: f64| constant - step * curvature + self.project(step);
        let first = slope_at(0.0);
        if first.is_nan() || first <= 0.0 {
            return Some(0.0);
        }
        let (mut low, mut high, mut step) = ((0.0, first), (f64::INFINITY, 0.0), 1.0);
        for _ in 0..MOST_TRIALS {
            let slope = slope_at(step);
            if slope.abs() <= FLAT * first || (step == 1.0 && slope >= 0.0) {
                break;
            }
            *(if slope > 0.0 { &mut low } else { &mut high }) = (step, slope);
            // A secant step, kept away from both ends.
            let secant = low.0 + (high.0 - low.0) * low.1 / (low.1 - high.1);
            let margin = 0.1 * (high.0 - low.0);
            step = secant.clamp(low.0 + margin, high.0 - margin);
        }
        for (point, change) in self.point.iter_mut().zip(&self.change) {
            *point += step * change;
        }
        self.cuts.iter_mut().for_each(|cut| cut.cost += step * cut.slope);
        Some(step)
    }

    /// Writes the weights to the bundle. They add up to 1.
    fn write_weights(&self, bundle: &mut ComponentBundle) {
        for block in &self.blocks {
            let working = &self.cuts[block.cuts.clone()];
            let total: f64 = working.iter().map(|cut| cut.weight).sum();
            // Round-off may have spoiled the weights. The old ones are valid.
            if !total.is_finite() || total <= 0.0 {
                continue;
            }
            let cuts = bundle.cuts_mut(block.component);
            working.iter().for_each(|cut| cuts[cut.cut].weight = cut.weight / total);
        }
    }
}

/// Visits all cuts, each with the function that multiplies it by a vector. Returns the number of their entries; `None` if
/// the patience ends.
fn for_each(
    bundle: &ComponentBundle,
    blocks: &[Block],
    cuts: &mut [Working],
    patience: &Patience<'_>,
    mut visit: impl FnMut(&mut Working, &dyn Fn(&[f64]) -> f64),
) -> Option<usize> {
    let mut total = 0;
    for block in blocks {
        let component = &bundle.components()[block.component];
        let mut entries = 0;
        for working in &mut cuts[block.cuts.clone()] {
            let cut = &component.cuts[working.cut];
            visit(working, &|vector| bundle.product(cut, vector));
            entries += bundle.subgradient(cut).0.len();
        }
        total += entries;
        if patience.is_over_after(entries) {
            return None;
        }
    }
    Some(total)
}

/// The number whose subtraction from all entries, with a minimum of zero, makes their sum 1: the projection on the
/// simplex (Held, Wolfe and Crowder, 1974). Sorts the entries.
fn threshold(entries: &mut [f64]) -> f64 {
    entries.sort_unstable_by(|a, b| b.total_cmp(a));
    let (mut sum, mut found) = (0.0, 0.0);
    for (count, entry) in (1..).zip(&*entries) {
        sum += entry;
        let threshold = (sum - 1.0) / f64::from(count);
        if *entry <= threshold {
            break;
        }
        found = threshold;
    }
    found
}
