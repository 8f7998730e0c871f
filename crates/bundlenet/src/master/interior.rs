//! Interior-point steps for the quadratic problem over a product of simplices, in the space of the variables.
//!
//! The problem is that of `product.rs`, in the form of `semismooth.rs` without its proximal term:
//!
//! ```text
//! max over p, u of  linear'p - |p|^2 / 2M + sum_a u_a,   slack_i = g_i'p + alpha_i / eta - u_a >= 0
//! ```
//!
//! The weights are the multipliers of the slacks. A primal-dual step (Mehrotra, 1992) has one row for each variable,
//! whatever the number of cuts. With `v_i = weight_i / slack_i` and the cut `r` of the largest `v` of its component, its
//! matrix is
//!
//! ```text
//! 1/M + sum_a (sum_i v_i d_i d_i' - (sum_i v_i d_i)(sum_i v_i d_i)' / sum_i v_i),   d_i = g_i - g_r
//! ```
//!
//! Most cuts have no weight in the solution. They *retire*: they take no part in further steps (constraint reduction: Tits,
//! Absil and Woessner, 2006), only in the gap of the weights. If that shows one to be the cheapest of its component, it is
//! called back.
//!
//! Differences to a cut of the same component are sparse where cuts are. Newton steps on the weights take hundreds of
//! rounds where the step length is large and many weights are small; these steps take ten to thirty, in any case.

mod columns;
mod pairs;
mod passes;

use bundlenet_linalg::cholesky::Cholesky;
use bundlenet_linalg::simd::Block as Eight;
use bundlenet_linalg::vectors::{Padded, add_scaled, write_difference};

use self::columns::{Columns, LEFT_OUT, Sparse};
use self::pairs::{Block, Bound, Pair, Working};
use self::passes::{Combinations, Data, Scratch};
use super::rows::Rows;
use super::semismooth::Start;
use super::ways::{ENTRY_WORK, FACTOR_WORK, NUMBER_WORK, PRODUCT_WORK, PRODUCTS_PER_READ, SOLVE_WORK, WRITE_WORK};
use crate::model::{ComponentBundle, Cut, Model};
use crate::oracle::Patience;

/// Largest number of steps of a call.
const MOST_STEPS: usize = 80;
/// Share of the way to the first bound that a step takes.
const SHARE: f64 = 0.99;
/// Steps shorter than this end the call: round-off has spoiled the direction.
const SHORT: f64 = 1e-6;
/// Largest weight that is rounded to zero.
const SMALL_WEIGHT: f64 = 1e-3;
/// Share of the gap to reach from which on weights need not be rounded. The products of weights and slacks are below the
/// gap of the weights while the point does not belong to them.
const ENOUGH: f64 = 0.1;
/// Product of a weight and a slack at the start, over the mean distance of a component's costs from their minimum and
/// the mean number of its cuts. Chosen on the units of `ca/2015-06-01_reserves_5` and `ca/Scenario400_reserves_1`: 18 to
/// 21 steps, 23 to 32 with a tenth of it, 17 to 30 with ten times as much.
const START: f64 = 10.0;
/// Newton steps for the first `u` of a component, and the excess of its weights over 1 that counts as zero.
const MOST_TRIALS: usize = 30;
const NEARLY: f64 = 1e-9;
/// A step shorter than `LONG` is corrected (Gondzio, 1996): it aims at a step longer by `LONGER`, after which no product
/// of a weight and a slack is outside these multiples of the mean to reach.
const LONG: f64 = 0.9;
const LONGER: f64 = 0.3;
const BALANCED: (f64, f64) = (0.1, 10.0);
/// Passes over the cuts in a step: for the means, for the changes of the predictor and their products, and for the
/// changes of the step.
const PASSES: f64 = 4.0;
/// Passes for a correction of the step, and for the gap of weights.
const MORE_PASSES: f64 = 2.0;
/// Cuts retire whenever the gap has fallen to `RETIRING` of that at the last time: those with a weight of at most
/// `RETIRED_WEIGHT`. With ten times this weight too many are called back, and each time takes steps.
const RETIRING: f64 = 0.1;
const RETIRED_WEIGHT: f64 = 1e-4;
/// Part of all cuts that take part in a step, on average. Measured on the units of `ca` and `ferc`.
const WORKING: f64 = 0.6;
/// Work on a dense column and on the weight and slack of its cut, in numbers written for each entry.
const COLUMN_PASSES: f64 = 2.0;

/// The method and its memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Interior {
    cuts: Vec<Working>,
    blocks: Vec<Block>,
    /// Cuts that no longer take part, each with the number of its block, and the gap when the last ones retired.
    retired: Vec<(usize, Working)>,
    retired_at: f64,
    /// Least cost of each block's cuts, without those that have retired.
    least: Vec<f64>,
    bounds: Vec<Bound>,
    /// The linear part and the components with a single cut.
    fixed: Vec<f64>,
    /// Variables whose bounds are the same.
    is_held: Vec<bool>,
    point: Vec<f64>,
    change: Vec<f64>,
    combinations: Combinations,
    matrix: Cholesky,
    /// Work space: a difference of cuts and a sum of differences, with the coordinates of each.
    difference: Sparse,
    total: Sparse,
    columns: Columns,
    /// The cuts as dense rows, where that takes less work.
    rows: Option<Rows>,
    vector: Padded,
    scratch: Scratch,
    /// The pairs before a correction.
    before: Vec<Pair>,
    steps: usize,
    work: f64,
}

/// Work of the matrix of a step, and of its passes over all cuts.
#[derive(Clone, Copy, Debug)]
struct Work {
    matrix: f64,
    passes: f64,
}

impl Work {
    /// With cuts as they are in the bundle.
    fn sparse(bundle: &ComponentBundle) -> Self {
        let (size, cuts) = (bundle.size() as f64, bundle.len().max(1) as f64);
        let entries = 2.0 * size / cuts;
        Self { matrix: PRODUCT_WORK * 0.5 * cuts * entries * entries, passes: PASSES * ENTRY_WORK * size }
    }

    /// With cuts as dense rows.
    fn dense(bundle: &ComponentBundle) -> Self {
        let dim = bundle.linear().len() as f64;
        let numbers = bundle.len() as f64 * dim;
        let matrix = numbers * (0.5 * FACTOR_WORK * dim + COLUMN_PASSES * WRITE_WORK);
        Self { matrix, passes: PASSES * NUMBER_WORK * numbers }
    }

    fn sum(self) -> f64 {
        self.matrix + self.passes
    }
}

impl Interior {
    /// Number of steps of the last call.
    pub(super) fn steps(&self) -> usize {
        self.steps
    }

    /// Work of the last call in nanoseconds, counted from sizes.
    pub(super) fn work(&self) -> f64 {
        self.work
    }

    /// Estimated work of a step: the matrix, its factorisation and the passes over all cuts.
    pub(super) fn step_work(bundle: &ComponentBundle) -> f64 {
        let dim = bundle.linear().len() as f64;
        let of_cuts = Work::sparse(bundle).sum().min(Work::dense(bundle).sum());
        WORKING * of_cuts + FACTOR_WORK * dim.powi(3) / 6.0 + SOLVE_WORK * 2.0 * dim * dim
    }

    /// Moves the weights of the bundle until their gap is at most `goal`. `None` if the patience ends; the weights are
    /// then as before.
    pub(super) fn solve(
        &mut self,
        bundle: &mut ComponentBundle,
        start: &Start<'_>,
        patience: &Patience<'_>,
    ) -> Option<()> {
        (self.steps, self.work) = (0, 0.0);
        self.gather(bundle, start, patience)?;
        self.centre();
        self.retired_at = self.gap();
        let unit = start.promised / self.blocks.len().max(1) as f64;
        while self.steps < MOST_STEPS {
            let gap = self.gap();
            if gap <= start.goal {
                if self.round(gap <= ENOUGH * start.goal, bundle, start, patience)? {
                    return Some(());
                }
                self.call_back(bundle, gap);
            } else if gap <= RETIRING * self.retired_at {
                self.retire(unit);
                self.retired_at = gap;
            }
            self.steps += 1;
            self.write_matrix(bundle, patience)?;
            let step = self.find_step(bundle, patience)?;
            if step.is_nan() || step < SHORT {
                break;
            }
            self.go(step);
        }
        self.share_out(|_| true);
        // Round-off may have spoiled the weights. The old ones are valid.
        if self.gap_of_shares(bundle, start, patience)? < start.gap {
            self.write_shares(bundle);
        }
        Some(())
    }

    /// Collects the cuts of all components with several.
    fn gather(&mut self, bundle: &ComponentBundle, start: &Start<'_>, patience: &Patience<'_>) -> Option<()> {
        let dim = bundle.linear().len();
        self.difference.resize(dim);
        self.total.resize(dim);
        self.cuts.clear();
        self.blocks.clear();
        self.retired.clear();
        self.fixed.clear();
        self.fixed.extend_from_slice(bundle.linear());
        let mut first = 0;
        for (index, component) in bundle.components().iter().enumerate() {
            let costs = &start.costs[first..first + component.cuts.len()];
            first += costs.len();
            match &component.cuts[..] {
                [] => {}
                [cut] => bundle.add_to(cut, 1.0, &mut self.fixed),
                cuts => self.gather_block(index, cuts, costs, start.eta),
            }
        }
        if Work::dense(bundle).sum() < Work::sparse(bundle).sum() {
            let components = self.blocks.iter().flat_map(|block| &bundle.components()[block.component].cuts);
            let rows = components.map(|cut| bundle.subgradient(cut));
            self.rows.get_or_insert_default().write(dim, rows, patience)?;
            (self.columns.small, self.columns.left_out) = (LEFT_OUT / self.cuts.len().max(1) as f64, 0.0);
            self.work += WRITE_WORK * (self.cuts.len() * dim) as f64;
        } else {
            self.rows = None;
        }
        self.place(bundle, start);
        self.vector = Padded::of(&self.point);
        self.multiply(bundle, patience)?;
        self.cuts.iter_mut().for_each(|working| working.slope += working.error);
        Some(())
    }

    /// Collects the cuts of a component. Those that had no weight in the last solve begin as retired, unless they are cheaper
    /// than all others.
    fn gather_block(&mut self, component: usize, cuts: &[Cut], costs: &[f64], eta: f64) {
        let from = self.cuts.len();
        let busy = cuts.iter().zip(costs).filter(|(cut, _)| !cut.is_idle());
        let least = busy.map(|(_, cost)| *cost).fold(f64::INFINITY, f64::min);
        for (at, (cut, cost)) in cuts.iter().zip(costs).enumerate() {
            let working = Working::new(at, self.cuts.len() + self.retired.len(), cut.error / eta);
            if cut.is_idle() && *cost >= least {
                self.retired.push((self.blocks.len(), working));
            } else {
                self.cuts.push(working);
            }
        }
        self.blocks.push(Block { component, cuts: from..self.cuts.len() });
    }

    /// Sets the first point strictly between its bounds, and the slacks of the bounds.
    fn place(&mut self, bundle: &ComponentBundle, start: &Start<'_>) {
        // The mean share of a component in the gap.
        let share = start.gap / self.blocks.len().max(1) as f64;
        self.point.clear();
        self.bounds.clear();
        self.is_held.clear();
        for (at, (&point, &metric)) in start.direction.iter().zip(bundle.metric()).enumerate() {
            let (low, high) = start.caps.limits(at);
            let (low, high) = (metric * low, metric * high);
            let is_held = high <= low;
            let margin = (share * metric).sqrt().min(0.25 * (high - low));
            let inside = if is_held { low } else { point.max(low + margin).min(high - margin) };
            self.point.push(inside);
            self.is_held.push(is_held);
            for (sign, slack) in [(-1.0, high - inside), (1.0, inside - low)] {
                if slack.is_finite() && !is_held {
                    self.bounds.push(Bound { at, sign, pair: Pair::new(0.0, slack) });
                }
            }
        }
    }

    /// Sets slacks and weights whose products are all the same, so that the weights of each component add up to 1. The
    /// slopes are the costs of the cuts. The product is so large that the weights of a component are nearly equal: from
    /// there the steps are few, from weights close to the last ones they are twice as many.
    fn centre(&mut self) {
        let least = |cuts: &[Working]| cuts.iter().map(|cut| cut.slope).fold(f64::INFINITY, f64::min);
        let spread = |block: &Block| {
            let cuts = &self.cuts[block.cuts.clone()];
            cuts.iter().map(|cut| cut.slope).sum::<f64>() / cuts.len() as f64 - least(cuts)
        };
        let spreads: f64 = self.blocks.iter().map(spread).sum();
        let product = (START * spreads / self.cuts.len().max(1) as f64).max(f64::MIN_POSITIVE);
        self.bounds.iter_mut().for_each(|bound| bound.pair.weight = product / bound.pair.slack);
        for block in &self.blocks {
            let cuts = &mut self.cuts[block.cuts.clone()];
            let least = least(cuts);
            let slack = first_slack(cuts, least, product);
            for cut in cuts {
                let slack = cut.slope - least + slack;
                cut.pair = Pair::new(product / slack, slack);
            }
        }
    }

    fn pairs(&self) -> impl Iterator<Item = &Pair> {
        self.cuts.iter().map(|cut| &cut.pair).chain(self.bounds.iter().map(|bound| &bound.pair))
    }

    fn pairs_mut(&mut self) -> impl Iterator<Item = &mut Pair> {
        self.cuts.iter_mut().map(|cut| &mut cut.pair).chain(self.bounds.iter_mut().map(|bound| &mut bound.pair))
    }

    /// The sum of all products: the gap, once the point belongs to the weights.
    fn gap(&self) -> f64 {
        self.pairs().map(|pair| pair.weight * pair.slack).sum()
    }

    /// Lets cuts with small weights retire. They take no part in further steps, but in the gap of the weights.
    fn retire(&mut self, unit: f64) {
        let (mut next, mut from) = (0, 0);
        for (index, block) in self.blocks.iter_mut().enumerate() {
            let cuts = block.cuts.clone();
            for at in cuts {
                let working = self.cuts[at];
                if working.is_small(RETIRED_WEIGHT, unit) && !working.has_returned {
                    self.retired.push((index, working));
                } else {
                    self.cuts[next] = working;
                    next += 1;
                }
            }
            block.cuts = from..next;
            from = next;
        }
        self.cuts.truncate(next);
    }

    /// Calls back the cuts that are cheaper than all others of their component, by the last prices. Their products of weight
    /// and slack are the mean of all.
    fn call_back(&mut self, bundle: &ComponentBundle, gap: f64) {
        let product = gap / (self.cuts.len() + self.bounds.len()).max(1) as f64;
        let is_cheaper = |(block, cut): &(usize, Working)| cut.slope + cut.error < self.least[*block];
        let (back, retired): (Vec<_>, Vec<_>) = self.retired.drain(..).partition(is_cheaper);
        self.retired = retired;
        if back.is_empty() {
            return;
        }
        let cost = |block: &Block, cut: &Working| {
            bundle.product(&bundle.components()[block.component].cuts[cut.cut], &self.point) + cut.error
        };
        let mut cuts = Vec::with_capacity(self.cuts.len() + back.len());
        for (index, block) in self.blocks.iter_mut().enumerate() {
            let from = cuts.len();
            cuts.extend_from_slice(&self.cuts[block.cuts.clone()]);
            for (_, mut cut) in back.iter().filter(|(owner, _)| *owner == index).copied() {
                let rent = cost(block, &cuts[from]) - cuts[from].pair.slack;
                let slack = cost(block, &cut) - rent;
                // All slacks of the component grow if that one is too small for its weight.
                let missing = (product * (cuts.len() - from + 1) as f64 - slack).max(0.0);
                cuts[from..].iter_mut().for_each(|other| other.pair.widen(missing));
                (cut.pair, cut.has_returned) = (Pair::new(product / (slack + missing), slack + missing), true);
                cuts.push(cut);
            }
            block.cuts = from..cuts.len();
        }
        self.cuts = cuts;
    }

    /// Writes and factors the matrix, and the combinations of cuts that go with it.
    fn write_matrix(&mut self, bundle: &ComponentBundle, patience: &Patience<'_>) -> Option<()> {
        let dim = self.point.len();
        let is_over = |products: usize| patience.is_over_after(products / PRODUCTS_PER_READ);
        self.matrix.reset(dim, &is_over)?;
        self.combinations.reset(dim);
        self.work += PASSES * self.pass_work(bundle, self.cuts.len());
        if let Some(rows) = self.rows.take() {
            let is_complete = self.add_dense_differences(&rows, bundle, &is_over);
            self.rows = Some(rows);
            is_complete?;
        } else {
            self.add_sparse_differences(bundle, patience)?;
        }
        let more = 1.0 + 0.5 * if self.rows.is_some() { self.columns.left_out } else { 0.0 };
        for at in 0..dim {
            self.matrix.row_mut(at)[at] += more / bundle.metric()[at];
        }
        for bound in &self.bounds {
            self.matrix.row_mut(bound.at)[bound.at] += bound.pair.ratio();
        }
        let size = dim as f64;
        self.work += FACTOR_WORK * size.powi(3) / 6.0 + SOLVE_WORK * 2.0 * size * size;
        self.matrix.factor(0.0, &is_over)?;
        Some(())
    }

    /// Adds the products of differences to a zero matrix, entry by entry.
    fn add_sparse_differences(&mut self, bundle: &ComponentBundle, patience: &Patience<'_>) -> Option<()> {
        let data = Data { bundle, rows: None };
        let Combinations { means, lift, .. } = &mut self.combinations;
        let mut products = 0;
        for block in &self.blocks {
            let component = &bundle.components()[block.component];
            let cuts = &self.cuts[block.cuts.clone()];
            let heaviest = heaviest(cuts);
            let (origin, origins) = bundle.subgradient(&component.cuts[cuts[heaviest].cut]);
            for working in cuts.iter().filter(|working| working.cut != cuts[heaviest].cut) {
                let (coordinates, entries) = bundle.subgradient(&component.cuts[working.cut]);
                let ratio = working.pair.ratio();
                self.difference.add(coordinates, entries.iter().copied(), 1.0);
                self.difference.add(origin, origins.iter().copied(), -1.0);
                self.difference.sort(&self.is_held);
                let own = self.difference.add_square(ratio, &mut self.matrix);
                let Sparse { entries, coordinates, .. } = &self.difference;
                self.total.add(coordinates, coordinates.iter().map(|&at| entries[at as usize]), ratio);
                self.difference.clear();
                products += own;
                if patience.is_over_after(own) {
                    self.total.clear();
                    return None;
                }
            }
            self.total.sort(&self.is_held);
            let sum: f64 = cuts.iter().map(|cut| cut.pair.ratio()).sum();
            products += self.total.add_square(-1.0 / sum, &mut self.matrix);
            self.total.clear();
            self.scratch.set(cuts, |cut| cut.pair.ratio() / sum);
            data.add(block, cuts, &self.scratch, means);
            self.scratch.set_centred(cuts, |cut| cut.pair.inverse);
            data.add(block, cuts, &self.scratch, lift);
        }
        self.work += PRODUCT_WORK * products as f64;
        Some(())
    }

    /// Adds the same products to a zero matrix by dense columns, where most coordinates have entries. The sum of a
    /// component is that of `v_i (g_i - m)(g_i - m)'` with the mean `m = sum_i v_i g_i / sum_i v_i`.
    fn add_dense_differences(
        &mut self,
        rows: &Rows,
        bundle: &ComponentBundle,
        is_over: &dyn Fn(usize) -> bool,
    ) -> Option<()> {
        let dim = self.point.len();
        let Self { blocks, cuts, columns, matrix, combinations, scratch, .. } = self;
        columns.reset(bundle.metric());
        let held: Vec<usize> = (0..dim).filter(|&at| self.is_held[at]).collect();
        for block in &*blocks {
            let cuts = &cuts[block.cuts.clone()];
            let sum: f64 = cuts.iter().map(|cut| cut.pair.ratio()).sum();
            columns.mean.0.fill(Eight::splat(0.0));
            scratch.set(cuts, |cut| cut.pair.ratio() / sum);
            rows.add_combination(&scratch.weights, &mut columns.mean);
            add_scaled(combinations.means.numbers_mut(dim), 1.0, columns.mean.numbers(dim));
            if cuts.len() == 1 {
                continue;
            }
            scratch.set_centred(cuts, |cut| cut.pair.inverse);
            rows.add_combination(&scratch.weights, &mut combinations.lift);
            for cut in cuts {
                let numbers = columns.numbers.numbers_mut(dim);
                write_difference(numbers, cut.pair.ratio().sqrt(), rows.row(cut.row), columns.mean.numbers(dim));
                held.iter().for_each(|&at| numbers[at] = 0.0);
                columns.push(matrix, is_over)?;
            }
        }
        columns.subtract(matrix, is_over)?;
        for row in 0..dim {
            matrix.row_mut(row)[..=row].iter_mut().for_each(|entry| *entry = -*entry);
        }
        let (numbers, size) = ((self.cuts.len() * dim) as f64, (dim * dim) as f64);
        self.work += COLUMN_PASSES * WRITE_WORK * numbers + FACTOR_WORK * 0.5 * size * self.columns.used as f64;
        Some(())
    }

    /// Finds the changes of a step by a predictor and up to two correctors. Returns the length of the step.
    fn find_step(&mut self, bundle: &ComponentBundle, patience: &Patience<'_>) -> Option<f64> {
        let dim = self.point.len();
        let count = (self.cuts.len() + self.bounds.len()).max(1) as f64;
        let mean = self.gap() / count;
        self.pairs_mut().for_each(|pair| pair.aim_at(0.0, false));
        self.combinations.sum.0.clone_from(&self.combinations.means.0);
        let step = self.find_changes(bundle, true, patience)?.min(1.0);
        let after: f64 = self.pairs().map(|pair| pair.product_after(step)).sum::<f64>() / count;
        let aim = mean * (after / mean).powi(3);
        self.pairs_mut().for_each(|pair| pair.aim_at(aim, true));
        let Combinations { lift, second, sum, .. } = &mut self.combinations;
        add_scaled(sum.numbers_mut(dim), aim, lift.numbers(dim));
        add_scaled(sum.numbers_mut(dim), 1.0, second.numbers(dim));
        let step = (SHARE * self.find_changes(bundle, false, patience)?).min(1.0);
        if step >= LONG { Some(step) } else { self.lengthen(bundle, step, aim, patience) }
    }

    /// Corrects the changes of a step that is short because some products of weights and slacks are far from the others.
    /// Keeps the changes if the step does not become longer. Returns the length of the step.
    fn lengthen(&mut self, bundle: &ComponentBundle, step: f64, aim: f64, patience: &Patience<'_>) -> Option<f64> {
        let dim = self.point.len();
        let mut before = std::mem::take(&mut self.before);
        before.clear();
        before.extend(self.pairs());
        let change = self.change.clone();
        let target = (step + LONGER).min(1.0);
        self.pairs_mut().for_each(|pair| pair.balance(target, (BALANCED.0 * aim, BALANCED.1 * aim)));
        self.work += MORE_PASSES * self.pass_work(bundle, self.cuts.len());
        let Self { cuts, blocks, rows, scratch, combinations, .. } = self;
        let data = Data { bundle, rows: rows.as_ref() };
        for block in &*blocks {
            let (cuts, before) = (&cuts[block.cuts.clone()], &before[block.cuts.clone()]);
            let mut old = before.iter();
            let by = |cut: &Working| old.next().map_or(0.0, |old| (cut.pair.aim - old.aim) * cut.pair.inverse);
            if scratch.set_centred(cuts, by) {
                data.add(block, cuts, scratch, &mut combinations.sum);
            }
            if patience.is_over_after(cuts.len() * dim) {
                return None;
            }
        }
        let longer = (SHARE * self.find_changes(bundle, false, patience)?).min(1.0);
        if longer < step {
            self.change = change;
            self.pairs_mut().zip(&before).for_each(|(pair, old)| *pair = *old);
        }
        self.before = before;
        Some(longer.max(step))
    }

    /// Work of a pass over some cuts, as they are stored here.
    fn pass_work(&self, bundle: &ComponentBundle, cuts: usize) -> f64 {
        let cuts = cuts as f64;
        match &self.rows {
            Some(_) => NUMBER_WORK * cuts * self.point.len() as f64,
            None => ENTRY_WORK * bundle.size() as f64 * cuts / bundle.len().max(1) as f64,
        }
    }

    /// Solves for the changes that lead to the aims of all pairs, from the combination of these aims. Returns the longest
    /// step within the bounds. A predictor also combines the products of the changes.
    fn find_changes(&mut self, bundle: &ComponentBundle, is_predictor: bool, patience: &Patience<'_>) -> Option<f64> {
        let dim = self.point.len();
        let sums = self.fixed.iter().zip(self.combinations.sum.numbers(dim)).zip(&self.point).zip(bundle.metric());
        self.change.clear();
        self.change.extend(sums.map(|(((fixed, sum), point), metric)| fixed + sum - point / metric));
        for bound in &self.bounds {
            self.change[bound.at] += bound.sign * bound.pair.wanted();
        }
        self.change.iter_mut().zip(&self.is_held).filter(|(_, held)| **held).for_each(|(entry, _)| *entry = 0.0);
        self.matrix.solve(&mut self.change);
        self.vector.numbers_mut(dim).copy_from_slice(&self.change);
        self.follow(bundle, is_predictor, patience)?;
        // The first pair with a bound at zero ends the step.
        Some(self.pairs().map(Pair::decrease).fold(0.0, f64::max).recip())
    }

    /// Computes the changes of all pairs from the change of the point.
    fn follow(&mut self, bundle: &ComponentBundle, is_predictor: bool, patience: &Patience<'_>) -> Option<()> {
        let dim = self.point.len();
        let Self { cuts, blocks, rows, scratch, combinations, vector, .. } = self;
        let data = Data { bundle, rows: rows.as_ref() };
        for block in &*blocks {
            let cuts = &mut cuts[block.cuts.clone()];
            data.multiply(block, cuts, vector, scratch);
            // The change of `u` makes the weights add up to 1.
            let (mut missing, mut ratios) = (1.0, 0.0);
            for cut in &*cuts {
                let ratio = cut.pair.ratio();
                missing += ratio * cut.slope - cut.pair.wanted();
                ratios += ratio;
            }
            let rise = missing / ratios;
            cuts.iter_mut().for_each(|cut| cut.pair.change(cut.slope - rise));
            if is_predictor {
                scratch.set_centred(cuts, |cut| -cut.pair.second() * cut.pair.inverse);
                data.add(block, cuts, scratch, &mut combinations.second);
            }
            if patience.is_over_after(cuts.len() * dim) {
                return None;
            }
        }
        self.bounds.iter_mut().for_each(|bound| bound.pair.change(bound.sign * self.change[bound.at]));
        Some(())
    }

    fn go(&mut self, step: f64) {
        self.pairs_mut().for_each(|pair| pair.go(step));
        self.point.iter_mut().zip(&self.change).for_each(|(point, change)| *point += step * change);
    }

    /// Computes the slopes of all cuts: their products with the vector.
    fn multiply(&mut self, bundle: &ComponentBundle, patience: &Patience<'_>) -> Option<()> {
        let dim = self.point.len();
        let Self { cuts, blocks, rows, scratch, vector, retired, .. } = self;
        let data = Data { bundle, rows: rows.as_ref() };
        for block in &*blocks {
            data.multiply(block, &mut cuts[block.cuts.clone()], vector, scratch);
            if patience.is_over_after(block.cuts.len() * dim) {
                return None;
            }
        }
        for (block, cut) in retired {
            data.multiply(&blocks[*block], std::slice::from_mut(cut), vector, scratch);
            if patience.is_over_after(dim) {
                return None;
            }
        }
        Some(())
    }

    /// Rounds weights of cuts far from their component's minimum to zero. If the gap is then at most the goal, writes the
    /// weights to the bundle and returns true. At the end these weights vanish in any case. Cuts without weight can
    /// leave the bundle. `or_all` also allows weights that are not rounded.
    fn round(
        &mut self,
        or_all: bool,
        bundle: &mut ComponentBundle,
        start: &Start<'_>,
        patience: &Patience<'_>,
    ) -> Option<bool> {
        let unit = start.promised / self.blocks.len().max(1) as f64;
        self.share_out(|cut| !cut.is_small(SMALL_WEIGHT, unit));
        let mut is_solved = self.gap_of_shares(bundle, start, patience)? <= start.goal;
        if !is_solved && or_all {
            self.share_out(|_| true);
            is_solved = self.gap_of_shares(bundle, start, patience)? <= start.goal;
        }
        if is_solved {
            self.write_shares(bundle);
        }
        Some(is_solved)
    }

    /// Sets shares that add up to 1 in each component: the weights of kept cuts, and 0 for the others.
    fn share_out(&mut self, is_kept: impl Fn(&Working) -> bool) {
        for block in &self.blocks {
            let cuts = &mut self.cuts[block.cuts.clone()];
            let total: f64 = cuts.iter().filter(|cut| is_kept(cut)).map(|cut| cut.pair.weight).sum();
            cuts.iter_mut().for_each(|cut| cut.share = if is_kept(cut) { cut.pair.weight / total } else { 0.0 });
        }
    }

    /// The gap of the shares, among all cuts.
    fn gap_of_shares(&mut self, bundle: &ComponentBundle, start: &Start<'_>, patience: &Patience<'_>) -> Option<f64> {
        let dim = self.point.len();
        self.work += MORE_PASSES * self.pass_work(bundle, self.cuts.len()) + self.pass_work(bundle, self.retired.len());
        let Self { cuts, blocks, rows, scratch, combinations, .. } = self;
        let data = Data { bundle, rows: rows.as_ref() };
        let sum = &mut combinations.sum;
        *sum = Padded::of(&self.fixed);
        for block in &*blocks {
            let cuts = &cuts[block.cuts.clone()];
            scratch.set(cuts, |cut| cut.share);
            data.add(block, cuts, scratch, sum);
            if patience.is_over_after(cuts.len() * dim) {
                return None;
            }
        }
        let rounded = self.vector.numbers_mut(dim);
        start.caps.clip_all(sum.numbers(dim), rounded);
        rounded.iter_mut().zip(bundle.metric()).for_each(|(entry, metric)| *entry *= metric);
        self.multiply(bundle, patience)?;
        let cost = |cut: &Working| cut.slope + cut.error;
        let of = |block: &Block| self.cuts[block.cuts.clone()].iter();
        let mean: f64 = self.blocks.iter().flat_map(of).map(|cut| cut.share * cost(cut)).sum();
        self.least.clear();
        self.least.extend(self.blocks.iter().map(|block| of(block).map(cost).fold(f64::INFINITY, f64::min)));
        let mut least = self.least.clone();
        self.retired.iter().for_each(|(block, cut)| least[*block] = least[*block].min(cost(cut)));
        Some(mean - least.iter().sum::<f64>())
    }

    /// Writes the shares to the bundle.
    fn write_shares(&self, bundle: &mut ComponentBundle) {
        for (index, cut) in &self.retired {
            bundle.cuts_mut(self.blocks[*index].component)[cut.cut].weight = 0.0;
        }
        for block in &self.blocks {
            let cuts = bundle.cuts_mut(block.component);
            self.cuts[block.cuts.clone()].iter().for_each(|cut| cuts[cut.cut].weight = cut.share);
        }
    }
}

/// The slack of the cheapest cut with which the weights `product / slack` of a component add up to 1. Newton's method on
/// their sum, which is convex and decreasing, never goes beyond it.
fn first_slack(cuts: &[Working], least: f64, product: f64) -> f64 {
    let mut slack = product;
    for _ in 0..MOST_TRIALS {
        let (mut total, mut slope) = (0.0, 0.0);
        for cut in cuts {
            let inverse = (cut.slope - least + slack).recip();
            total += product * inverse;
            slope += product * inverse * inverse;
        }
        slack += (total - 1.0) / slope;
        if total - 1.0 <= NEARLY {
            break;
        }
    }
    slack
}

/// The cut with the largest ratio of weight to slack.
fn heaviest(cuts: &[Working]) -> usize {
    let heavier = |a: usize, b: usize| if cuts[b].pair.ratio() > cuts[a].pair.ratio() { b } else { a };
    (0..cuts.len()).fold(0, heavier)
}
