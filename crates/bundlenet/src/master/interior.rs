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
//! Differences to a cut of the same component are sparse where cuts are. Newton steps on the weights take hundreds of
//! rounds where the step length is large and many weights are small; these steps take ten to thirty, in any case.

use bundlenet_linalg::cholesky::{Cholesky, Strips};
use bundlenet_linalg::vectors::{Padded, add_scaled, weighted_square, write_difference};

use super::rows::Rows;
use super::semismooth::Start;
use super::ways::{ENTRY_WORK, FACTOR_WORK, NUMBER_WORK, PRODUCT_WORK, PRODUCTS_PER_READ, SOLVE_WORK, WRITE_WORK};
use crate::model::{ComponentBundle, Model};
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
/// Bisections for the first `u` of a component.
const BISECTIONS: usize = 60;
/// A step shorter than `LONG` is corrected (Gondzio, 1996): it aims at a step longer by `LONGER`, after which no product
/// of a weight and a slack is outside these multiples of the mean to reach.
const LONG: f64 = 0.9;
const LONGER: f64 = 0.3;
const BALANCED: (f64, f64) = (0.1, 10.0);
/// Passes over all cuts for the changes of a step, and for those of a step and its predictor.
const PASSES_FOR_CHANGES: f64 = 2.0;
const PASSES: f64 = 2.0 * PASSES_FOR_CHANGES;
/// Columns of the matrix of a step may be left out while their squares, over the matrix `1/M`, add up to at most this: up
/// to half of all columns. The sum of the matrices that they make is between 0 and this multiple of `1/M`.
/// Half of it is added to `1/M` instead. Then a step leaves at most half of the residual of the point, in any direction:
/// `0.5 LEFT_OUT / (1 + 0.5 LEFT_OUT)`.
const LEFT_OUT: f64 = 2.0;
/// Passes over the entries of a dense column.
const COLUMN_PASSES: f64 = 4.0;

/// A constraint: its multiplier and its slack, their changes, and the change of their product to aim at.
#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    weight: f64,
    slack: f64,
    /// One over the slack: a step divides by it many times.
    inverse: f64,
    weight_change: f64,
    slack_change: f64,
    aim: f64,
}

impl Pair {
    fn new(weight: f64, slack: f64) -> Self {
        Self { weight, slack, inverse: slack.recip(), ..Self::default() }
    }

    /// Aims at a product; `is_corrected` counts the product of the last changes.
    fn aim_at(&mut self, product: f64, is_corrected: bool) {
        let second = if is_corrected { self.weight_change * self.slack_change } else { 0.0 };
        self.aim = product - self.weight * self.slack - second;
    }

    /// Sets the change of the slack and the change of the weight that goes with it.
    fn change(&mut self, slack_change: f64) {
        self.slack_change = slack_change;
        self.weight_change = (self.aim - self.weight * slack_change) * self.inverse;
    }

    /// Moves the aim so that the product after a step is within the bounds. A product that is far too large is corrected in
    /// part.
    fn balance(&mut self, step: f64, (least, most): (f64, f64)) {
        let product = self.product_after(step);
        self.aim += (product.clamp(least, most) - product).max(-most);
    }

    /// The greatest share of one of both that a step of length 1 takes away; negative if it takes nothing.
    fn decrease(&self) -> f64 {
        (-self.weight_change / self.weight).max(-self.slack_change * self.inverse)
    }

    /// The change of the weight that leads to its aim while the slack stays.
    fn lead(&self) -> f64 {
        self.aim * self.inverse
    }

    /// Their product after a step.
    fn product_after(&self, step: f64) -> f64 {
        (self.weight + step * self.weight_change) * (self.slack + step * self.slack_change)
    }

    fn go(&mut self, step: f64) {
        self.weight += step * self.weight_change;
        self.slack += step * self.slack_change;
        self.inverse = self.slack.recip();
    }

    /// `v`: weight over slack.
    fn ratio(&self) -> f64 {
        self.weight * self.inverse
    }
}

/// A cut and its constraint.
#[derive(Clone, Copy, Debug)]
struct Working {
    cut: usize,
    /// `alpha_i / eta`.
    error: f64,
    pair: Pair,
    /// Its factor in the right-hand side, and its product with a vector.
    factor: f64,
    slope: f64,
}

/// The cuts of a component, a range of all.
#[derive(Clone, Debug)]
struct Block {
    component: usize,
    cuts: std::ops::Range<usize>,
}

/// A bound on a variable: the variable, the sign of its slack's change along the variable, and its constraint.
#[derive(Clone, Copy, Debug)]
struct Bound {
    at: usize,
    sign: f64,
    pair: Pair,
}

/// The method and its memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Interior {
    cuts: Vec<Working>,
    blocks: Vec<Block>,
    bounds: Vec<Bound>,
    /// The linear part and the components with a single cut.
    fixed: Vec<f64>,
    /// Variables whose bounds are the same.
    is_held: Vec<bool>,
    point: Vec<f64>,
    change: Vec<f64>,
    sum: Vec<f64>,
    matrix: Cholesky,
    /// Work space: a difference of cuts and a sum of differences, with the coordinates of each.
    difference: Sparse,
    total: Sparse,
    columns: Columns,
    /// The cuts as dense rows, where that takes less work.
    rows: Option<Rows>,
    rounded: Vec<f64>,
    /// The pairs before a correction.
    before: Vec<Pair>,
    steps: usize,
    work: f64,
}

/// A sparse vector: entries by coordinate, and the coordinates in order.
#[derive(Clone, Debug, Default)]
struct Sparse {
    entries: Vec<f64>,
    marks: Vec<bool>,
    coordinates: Vec<u32>,
}

impl Sparse {
    fn resize(&mut self, dim: usize) {
        self.entries.resize(dim, 0.0);
        self.marks.resize(dim, false);
    }

    fn add(&mut self, coordinates: &[u32], entries: impl Iterator<Item = f64>, factor: f64) {
        for (&at, entry) in coordinates.iter().zip(entries) {
            self.entries[at as usize] += factor * entry;
            if !std::mem::replace(&mut self.marks[at as usize], true) {
                self.coordinates.push(at);
            }
        }
    }

    /// Sorts the coordinates and leaves out those with a zero or a mark in `is_held`.
    fn sort(&mut self, is_held: &[bool]) {
        let Self { entries, marks, coordinates } = self;
        coordinates.retain(|&at| {
            let is_kept = entries[at as usize] != 0.0 && !is_held[at as usize];
            if !is_kept {
                (entries[at as usize], marks[at as usize]) = (0.0, false);
            }
            is_kept
        });
        coordinates.sort_unstable();
    }

    /// Adds a multiple of its square to a matrix. Returns the number of products.
    fn add_square(&self, factor: f64, matrix: &mut Cholesky) -> usize {
        for (count, &at) in self.coordinates.iter().enumerate() {
            let row = matrix.row_mut(at as usize);
            let entry = factor * self.entries[at as usize];
            for &other in &self.coordinates[..=count] {
                row[other as usize] += entry * self.entries[other as usize];
            }
        }
        self.coordinates.len() * (self.coordinates.len() + 1) / 2
    }

    fn clear(&mut self) {
        for at in self.coordinates.drain(..) {
            (self.entries[at as usize], self.marks[at as usize]) = (0.0, false);
        }
    }
}

/// Dense columns, collected for products with each other, and the work space to write one.
#[derive(Clone, Debug, Default)]
struct Columns {
    strips: Strips,
    count: usize,
    mean: Vec<f64>,
    numbers: Padded,
    metric: Padded,
    /// Square of the largest column that may be left out.
    small: f64,
    /// Sum of the squares of those that were left out.
    left_out: f64,
}

impl Columns {
    /// Begins a matrix. The limit of small columns follows the last matrix, so that they add up to nearly `LEFT_OUT`.
    fn reset(&mut self, metric: &[f64]) {
        self.small *= if self.left_out + self.small > LEFT_OUT { 0.5 } else { 2.0 };
        self.left_out = 0.0;
        self.strips.reset(metric.len(), Strips::MOST);
        self.count = 0;
        self.mean.resize(metric.len(), 0.0);
        self.numbers = Padded::zeros(metric.len());
        self.metric = Padded::of(metric);
    }

    /// Takes the numbers as a column, or leaves them out. Subtracts the squares of all columns from the matrix when they
    /// are many enough.
    fn push(&mut self, matrix: &mut Cholesky, is_over: &dyn Fn(usize) -> bool) -> Option<()> {
        let square = weighted_square(&self.numbers.0, &self.metric.0);
        if square <= self.small && self.left_out + square <= LEFT_OUT {
            self.left_out += square;
            return Some(());
        }
        self.strips.set_column(self.count, self.numbers.numbers(self.mean.len()));
        self.count += 1;
        if self.count == Strips::MOST { self.subtract(matrix, is_over) } else { Some(()) }
    }

    /// Subtracts the squares of the columns from the matrix.
    fn subtract(&mut self, matrix: &mut Cholesky, is_over: &dyn Fn(usize) -> bool) -> Option<()> {
        matrix.subtract_products(&self.strips, is_over)?;
        self.strips.reset(self.mean.len(), Strips::MOST);
        self.count = 0;
        Some(())
    }
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
        of_cuts + FACTOR_WORK * dim.powi(3) / 6.0 + SOLVE_WORK * 2.0 * dim * dim
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
        while self.steps < MOST_STEPS {
            let gap = self.gap();
            if gap <= start.goal && self.round(gap <= ENOUGH * start.goal, bundle, start, patience)? {
                return Some(());
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
        self.fixed.clear();
        self.fixed.extend_from_slice(bundle.linear());
        for (index, component) in bundle.components().iter().enumerate() {
            if let [cut] = &component.cuts[..] {
                bundle.add_to(cut, 1.0, &mut self.fixed);
            }
            if component.cuts.len() < 2 {
                continue;
            }
            let from = self.cuts.len();
            self.cuts.extend(component.cuts.iter().enumerate().map(|(at, cut)| {
                let error = cut.error / start.eta;
                Working { cut: at, error, pair: Pair::default(), factor: 0.0, slope: 0.0 }
            }));
            self.blocks.push(Block { component: index, cuts: from..self.cuts.len() });
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
        self.multiply(bundle, |interior| &interior.point, patience)?;
        self.cuts.iter_mut().for_each(|working| working.slope += working.error);
        Some(())
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
        let spread = |block: &Block| {
            let slopes = || self.cuts[block.cuts.clone()].iter().map(|cut| cut.slope);
            slopes().sum::<f64>() / block.cuts.len() as f64 - slopes().fold(f64::INFINITY, f64::min)
        };
        let spreads: f64 = self.blocks.iter().map(spread).sum();
        let product = (START * spreads / self.cuts.len().max(1) as f64).max(f64::MIN_POSITIVE);
        self.bounds.iter_mut().for_each(|bound| bound.pair.weight = product / bound.pair.slack);
        for block in &self.blocks {
            let cuts = &mut self.cuts[block.cuts.clone()];
            let least = cuts.iter().map(|cut| cut.slope).fold(f64::INFINITY, f64::min);
            let (mut near, mut far) = (product, product * cuts.len() as f64);
            for _ in 0..BISECTIONS {
                let middle = 0.5 * (near + far);
                let total: f64 = cuts.iter().map(|cut| product / (cut.slope - least + middle)).sum();
                *(if total > 1.0 { &mut near } else { &mut far }) = middle;
            }
            for cut in cuts {
                let slack = cut.slope - least + far;
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

    /// Writes and factors the matrix.
    fn write_matrix(&mut self, bundle: &ComponentBundle, patience: &Patience<'_>) -> Option<()> {
        let dim = self.point.len();
        let is_over = |products: usize| patience.is_over_after(products / PRODUCTS_PER_READ);
        self.matrix.reset(dim, &is_over)?;
        if let Some(rows) = self.rows.take() {
            self.work += Work::dense(bundle).sum();
            let is_complete = self.add_dense_differences(&rows, bundle.metric(), &is_over);
            self.rows = Some(rows);
            is_complete?;
        } else {
            self.work += Work::sparse(bundle).passes;
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
        }
        self.work += PRODUCT_WORK * products as f64;
        Some(())
    }

    /// Adds the same products to a zero matrix by dense columns, where most coordinates have entries. The sum of a
    /// component is that of `v_i (g_i - m)(g_i - m)'` with the mean `m = sum_i v_i g_i / sum_i v_i`.
    fn add_dense_differences(&mut self, rows: &Rows, metric: &[f64], is_over: &dyn Fn(usize) -> bool) -> Option<()> {
        let dim = metric.len();
        let Self { blocks, cuts, columns, matrix, .. } = self;
        columns.reset(metric);
        let held: Vec<usize> = (0..dim).filter(|&at| self.is_held[at]).collect();
        for block in &*blocks {
            let sum: f64 = cuts[block.cuts.clone()].iter().map(|cut| cut.pair.ratio()).sum();
            columns.mean.fill(0.0);
            for at in block.cuts.clone() {
                add_scaled(&mut columns.mean, cuts[at].pair.ratio() / sum, rows.row(at));
            }
            for at in block.cuts.clone() {
                let numbers = columns.numbers.numbers_mut(dim);
                write_difference(numbers, cuts[at].pair.ratio().sqrt(), rows.row(at), &columns.mean);
                held.iter().for_each(|&at| numbers[at] = 0.0);
                columns.push(matrix, is_over)?;
            }
        }
        columns.subtract(matrix, is_over)?;
        for row in 0..dim {
            matrix.row_mut(row)[..=row].iter_mut().for_each(|entry| *entry = -*entry);
        }
        Some(())
    }

    /// Finds the changes of a step by a predictor and up to two correctors. Returns the length of the step.
    fn find_step(&mut self, bundle: &ComponentBundle, patience: &Patience<'_>) -> Option<f64> {
        let count = (self.cuts.len() + self.bounds.len()).max(1) as f64;
        let mean = self.gap() / count;
        self.pairs_mut().for_each(|pair| pair.aim_at(0.0, false));
        let step = self.find_changes(bundle, patience)?.min(1.0);
        let after: f64 = self.pairs().map(|pair| pair.product_after(step)).sum::<f64>() / count;
        let aim = mean * (after / mean).powi(3);
        self.pairs_mut().for_each(|pair| pair.aim_at(aim, true));
        let step = (SHARE * self.find_changes(bundle, patience)?).min(1.0);
        if step >= LONG { Some(step) } else { self.lengthen(bundle, step, aim, patience) }
    }

    /// Corrects the changes of a step that is short because some products of weights and slacks are far from the others.
    /// Keeps the changes if the step does not become longer. Returns the length of the step.
    fn lengthen(&mut self, bundle: &ComponentBundle, step: f64, aim: f64, patience: &Patience<'_>) -> Option<f64> {
        let mut before = std::mem::take(&mut self.before);
        before.clear();
        before.extend(self.pairs());
        let change = self.change.clone();
        let target = (step + LONGER).min(1.0);
        self.pairs_mut().for_each(|pair| pair.balance(target, (BALANCED.0 * aim, BALANCED.1 * aim)));
        self.work += PASSES_FOR_CHANGES / PASSES * self.work_on(bundle).passes;
        let longer = (SHARE * self.find_changes(bundle, patience)?).min(1.0);
        if longer < step {
            self.change = change;
            self.pairs_mut().zip(&before).for_each(|(pair, old)| *pair = *old);
        }
        self.before = before;
        Some(longer.max(step))
    }

    /// Work of a step, with cuts as they are stored here.
    fn work_on(&self, bundle: &ComponentBundle) -> Work {
        if self.rows.is_some() { Work::dense(bundle) } else { Work::sparse(bundle) }
    }

    /// Solves for the changes that lead to the aims of all pairs. Returns the longest step within the bounds.
    fn find_changes(&mut self, bundle: &ComponentBundle, patience: &Patience<'_>) -> Option<f64> {
        for block in &self.blocks {
            let missing = self.missing(block);
            for working in &mut self.cuts[block.cuts.clone()] {
                working.factor = working.pair.lead() + working.pair.ratio() * missing;
            }
        }
        self.add_up(bundle, |cut| cut.pair.weight + cut.factor, patience)?;
        let residual = self.sum.iter().zip(&self.point).zip(bundle.metric());
        self.change.clear();
        self.change.extend(residual.map(|((sum, point), metric)| sum - point / metric));
        for bound in &self.bounds {
            self.change[bound.at] += bound.sign * (bound.pair.weight + bound.pair.lead());
        }
        self.change.iter_mut().zip(&self.is_held).filter(|(_, held)| **held).for_each(|(entry, _)| *entry = 0.0);
        self.matrix.solve(&mut self.change);
        self.follow(bundle, patience)?;
        // The first pair with a bound at zero ends the step.
        Some(self.pairs().map(Pair::decrease).fold(0.0, f64::max).recip())
    }

    /// The change of a component's `u`, without the part of the point: it makes its weights add up to 1.
    fn missing(&self, block: &Block) -> f64 {
        let cuts = &self.cuts[block.cuts.clone()];
        let weights: f64 = cuts.iter().map(|cut| cut.pair.weight + cut.pair.lead()).sum();
        (1.0 - weights) / cuts.iter().map(|cut| cut.pair.ratio()).sum::<f64>()
    }

    /// Computes the changes of all pairs from the change of the point.
    fn follow(&mut self, bundle: &ComponentBundle, patience: &Patience<'_>) -> Option<()> {
        self.multiply(bundle, |interior| &interior.change, patience)?;
        for block in &self.blocks {
            let missing = self.missing(block);
            let cuts = &mut self.cuts[block.cuts.clone()];
            let ratios: f64 = cuts.iter().map(|cut| cut.pair.ratio()).sum();
            let mean = cuts.iter().map(|cut| cut.pair.ratio() * cut.slope).sum::<f64>() / ratios;
            cuts.iter_mut().for_each(|cut| cut.pair.change(cut.slope - mean - missing));
        }
        self.bounds.iter_mut().for_each(|bound| bound.pair.change(bound.sign * self.change[bound.at]));
        Some(())
    }

    fn go(&mut self, step: f64) {
        self.pairs_mut().for_each(|pair| pair.go(step));
        self.point.iter_mut().zip(&self.change).for_each(|(point, change)| *point += step * change);
    }

    /// Computes `s` of some weights.
    fn add_up(
        &mut self,
        bundle: &ComponentBundle,
        weight: impl Fn(&Working) -> f64,
        patience: &Patience<'_>,
    ) -> Option<()> {
        self.sum.clone_from(&self.fixed);
        if let Some(rows) = &mut self.rows {
            add_scaled(&mut self.sum, 1.0, rows.combination(self.cuts.iter().map(weight)));
            return (!patience.is_over_after(rows.len())).then_some(());
        }
        for block in &self.blocks {
            let component = &bundle.components()[block.component];
            let mut entries = 0;
            for working in &self.cuts[block.cuts.clone()] {
                let cut = &component.cuts[working.cut];
                bundle.add_to(cut, weight(working), &mut self.sum);
                entries += bundle.subgradient(cut).0.len();
            }
            if patience.is_over_after(entries) {
                return None;
            }
        }
        Some(())
    }

    /// Computes the slopes of all cuts: their products with a vector.
    fn multiply(
        &mut self,
        bundle: &ComponentBundle,
        vector: impl Fn(&Self) -> &Vec<f64>,
        patience: &Patience<'_>,
    ) -> Option<()> {
        if let Some(mut rows) = self.rows.take() {
            let products = rows.products(vector(self));
            self.cuts.iter_mut().zip(products).for_each(|(working, product)| working.slope = *product);
            let is_over = patience.is_over_after(rows.len());
            self.rows = Some(rows);
            return (!is_over).then_some(());
        }
        for block in 0..self.blocks.len() {
            let Block { component, cuts } = self.blocks[block].clone();
            let component = &bundle.components()[component];
            let mut entries = 0;
            for at in cuts {
                let cut = &component.cuts[self.cuts[at].cut];
                self.cuts[at].slope = bundle.product(cut, vector(self));
                entries += bundle.subgradient(cut).0.len();
            }
            if patience.is_over_after(entries) {
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
        self.share_out(|pair| pair.weight > SMALL_WEIGHT || pair.weight * unit >= pair.slack);
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

    /// Sets the factors to shares that add up to 1 in each component: the weights of kept pairs, and 0 for the others.
    fn share_out(&mut self, is_kept: impl Fn(&Pair) -> bool) {
        for block in &self.blocks {
            let cuts = &mut self.cuts[block.cuts.clone()];
            let total: f64 = cuts.iter().filter(|cut| is_kept(&cut.pair)).map(|cut| cut.pair.weight).sum();
            cuts.iter_mut().for_each(|cut| cut.factor = if is_kept(&cut.pair) { cut.pair.weight / total } else { 0.0 });
        }
    }

    /// The gap of the shares.
    fn gap_of_shares(&mut self, bundle: &ComponentBundle, start: &Start<'_>, patience: &Patience<'_>) -> Option<f64> {
        self.work += PASSES_FOR_CHANGES / PASSES * self.work_on(bundle).passes;
        self.add_up(bundle, |cut| cut.factor, patience)?;
        self.rounded.resize(self.sum.len(), 0.0);
        start.caps.clip_all(&self.sum, &mut self.rounded);
        self.rounded.iter_mut().zip(bundle.metric()).for_each(|(entry, metric)| *entry *= metric);
        self.multiply(bundle, |interior| &interior.rounded, patience)?;
        let mut gap = 0.0;
        for block in &self.blocks {
            let (mut mean, mut least) = (0.0, f64::INFINITY);
            for working in &self.cuts[block.cuts.clone()] {
                let cost = working.slope + working.error;
                mean += working.factor * cost;
                least = cost.min(least);
            }
            gap += mean - least;
        }
        Some(gap)
    }

    /// Writes the shares to the bundle.
    fn write_shares(&self, bundle: &mut ComponentBundle) {
        for block in &self.blocks {
            let cuts = bundle.cuts_mut(block.component);
            self.cuts[block.cuts.clone()].iter().for_each(|cut| cuts[cut.cut].weight = cut.factor);
        }
    }
}

/// The cut with the largest ratio of weight to slack.
fn heaviest(cuts: &[Working]) -> usize {
    let heavier = |a: usize, b: usize| if cuts[b].pair.ratio() > cuts[a].pair.ratio() { b } else { a };
    (0..cuts.len()).fold(0, heavier)
}
