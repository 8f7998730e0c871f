//! A linear program over weights of columns: the primal-dual interior-point method.
//!
//! ```text
//! min sum c_k w_k    s.t.  sum_k w_k = 1 for each group,   sum a_k w_k = b  (demand),   sum a_k w_k - s = b  (reserve)
//! ```
//!
//! with `w, s >= 0`. Eliminating the weights and the groups leaves a dense system with one row for each price. The
//! start is dual feasible, so the method keeps `z_k = c_k - a_k'y - sigma >= 0` exactly.

use super::balance::Column;
use bundlenet_linalg::cholesky::{Cholesky, Strips};

/// Most iterations.
const MOST_ITERATIONS: usize = 60;

/// Share of the way to the boundary that a step takes at most.
const INSIDE: f64 = 0.995;

/// Largest imbalance that counts as round-off, over the largest requirement.
const ROUND_OFF: f64 = 1e-11;

/// Gap of the linear program at which it is solved, over its value.
const SOLVED: f64 = 1e-10;

/// Weight of a group's first column at the start.
const FIRST: f64 = 0.9;

/// Memory of the method.
#[derive(Clone, Debug, Default)]
pub(super) struct Program {
    groups: Vec<Group>,
    prices: Vec<f64>,
    /// Reserve beyond the requirement.
    slacks: Vec<f64>,
    periods: usize,
    /// Shortfall of demand and reserve.
    lack: Vec<f64>,
    matrix: Cholesky,
    strips: Strips,
    right: Vec<f64>,
    scratch: Vec<f64>,
    /// The cheapest feasible weights of the present solution, by group.
    best: Option<(f64, Vec<Vec<f64>>)>,
    /// The amounts that the cheapest feasible weights of all solutions supply, by group.
    supply: Option<(f64, Vec<Vec<f64>>)>,
}

/// Columns of which weights add up to 1.
#[derive(Clone, Debug, Default)]
struct Group {
    columns: Vec<Column>,
    weights: Vec<f64>,
    /// Reduced costs, positive.
    costs: Vec<f64>,
    /// Steps of the weights and of the reduced costs.
    weight_steps: Vec<f64>,
    cost_steps: Vec<f64>,
    /// Wanted product of each weight and its reduced cost, minus the present one.
    wanted: Vec<f64>,
}

impl Group {
    fn new(columns: Vec<Column>, prices: &[f64], distance: f64) -> Self {
        let count = columns.len();
        let mut costs: Vec<f64> = columns.iter().map(|column| column.cost - column.income(prices)).collect();
        let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
        costs.iter_mut().for_each(|cost| *cost += distance - least);
        let others = (1.0 - FIRST) / (count.max(2) - 1) as f64;
        let weights = (0..count).map(|at| {
            if count == 1 {
                1.0
            } else if at == 0 {
                FIRST
            } else {
                others
            }
        });
        let zeros = || vec![0.0; count];
        Self { weights: weights.collect(), costs, weight_steps: zeros(), cost_steps: zeros(), wanted: zeros(), columns }
    }

    /// The amounts that weights supply.
    fn supply(&self, weights: &[f64], size: usize) -> Vec<f64> {
        let mut sum = vec![0.0; size];
        self.columns.iter().zip(weights).for_each(|(column, weight)| column.add_to(&mut sum, *weight));
        sum
    }

    /// Products of weights and reduced costs, after a share of the steps.
    fn products(&self, primal: f64, dual: f64) -> f64 {
        let steps = self.weight_steps.iter().zip(&self.cost_steps);
        let now = self.weights.iter().zip(&self.costs).zip(steps);
        now.map(|((weight, cost), (by, rise))| (weight + primal * by) * (cost + dual * rise)).sum()
    }
}

/// Largest share of a step that keeps numbers positive, at most 1.
fn room<'a>(numbers: impl Iterator<Item = (&'a f64, &'a f64)>) -> f64 {
    numbers.filter(|(_, step)| **step < 0.0).map(|(number, step)| -number / step).fold(1.0 / INSIDE, f64::min)
}

impl Program {
    /// The cost of feasible weights close to the best ones, if there are any. `prices` are the start, those of demand
    /// first.
    pub(super) fn solve(
        &mut self,
        groups: Vec<Vec<Column>>,
        required: &[f64],
        (prices, periods): (&[f64], usize),
        is_over: &dyn Fn() -> bool,
    ) -> Option<f64> {
        self.start(groups, prices, periods);
        let largest = required.iter().copied().fold(1.0, f64::max);
        for _ in 0..MOST_ITERATIONS {
            self.measure(required);
            let products = self.products(0.0, 0.0);
            if self.lack.iter().all(|lack| lack.abs() <= ROUND_OFF * largest) {
                let cost = self.cost();
                if self.best.as_ref().is_none_or(|(least, _)| cost < *least) {
                    let weights = self.groups.iter().map(|group| group.weights.clone()).collect();
                    self.best = Some((cost, weights));
                }
                if products <= SOLVED * cost.abs().max(1.0) {
                    break;
                }
            }
            if is_over() || !products.is_finite() {
                break;
            }
            let Some(()) = self.advance(products) else { break };
        }
        let (cost, weights) = self.best.as_ref()?;
        if self.supply.as_ref().is_none_or(|(least, _)| cost < least) {
            let groups = self.groups.iter().zip(weights);
            let supply = groups.map(|(group, weights)| group.supply(weights, required.len())).collect();
            self.supply = Some((*cost, supply));
        }
        Some(*cost)
    }

    /// The amounts that the cheapest feasible weights of all solutions supply, by group.
    pub(super) fn best_supply(&self) -> Option<&[Vec<f64>]> {
        self.supply.as_ref().map(|(_, supply)| &supply[..])
    }

    fn start(&mut self, groups: Vec<Vec<Column>>, prices: &[f64], periods: usize) {
        self.periods = periods;
        self.best = None;
        self.right.clear();
        self.scratch.clear();
        self.prices.clear();
        self.prices.extend_from_slice(prices);
        let typical = prices[..periods].iter().map(|price| price.abs()).sum::<f64>() / periods as f64;
        self.prices[periods..].iter_mut().for_each(|price| *price = price.max(1e-3 * typical.max(1e-3)));
        // A distance from the boundary like a thousandth of what the units cost.
        let total: f64 = groups.iter().filter_map(|columns| columns.first()).map(|column| column.cost.abs()).sum();
        let distance = (1e-3 * total / groups.len() as f64).max(1e-6);
        self.groups = groups.into_iter().map(|columns| Group::new(columns, &self.prices, distance)).collect();
        self.slacks.clear();
        self.slacks.extend(self.prices[periods..].iter().map(|price| distance / price));
    }

    fn cost(&self) -> f64 {
        let costs = self.groups.iter().flat_map(|group| group.columns.iter().zip(&group.weights));
        costs.map(|(column, weight)| column.cost * weight).sum()
    }

    /// Sets what demand and reserve lack.
    fn measure(&mut self, required: &[f64]) {
        self.lack.clear();
        self.lack.extend_from_slice(required);
        self.lack[self.periods..].iter_mut().zip(&self.slacks).for_each(|(lack, slack)| *lack += slack);
        for group in &self.groups {
            let parts = group.columns.iter().zip(&group.weights);
            parts.for_each(|(column, weight)| column.add_to(&mut self.lack, -weight));
        }
    }

    /// Sum of all products of a variable and its reduced cost, after shares of the steps.
    fn products(&self, primal: f64, dual: f64) -> f64 {
        let steps = self.right.get(self.periods..).unwrap_or(&[]);
        let reserve = self.slacks.iter().zip(&self.prices[self.periods..]).enumerate().map(|(at, (slack, price))| {
            let (by, rise) = (self.scratch.get(at).copied().unwrap_or(0.0), steps.get(at).copied().unwrap_or(0.0));
            (slack + primal * by) * (price + dual * rise)
        });
        self.groups.iter().map(|group| group.products(primal, dual)).sum::<f64>() + reserve.sum::<f64>()
    }

    /// One iteration: a step towards the optimum, then one that corrects its error and stays away from the boundary.
    fn advance(&mut self, products: f64) -> Option<()> {
        self.factor()?;
        let count = self.slacks.len() + self.groups.iter().map(|group| group.weights.len()).sum::<usize>();
        let mean = products / count as f64;
        self.aim(0.0, false);
        self.direct();
        let (primal, dual) = self.rooms();
        let left = (self.products(primal.min(1.0), dual.min(1.0)) / products).clamp(0.0, 1.0);
        self.aim(left * left * left * mean, true);
        self.direct();
        let (primal, dual) = self.rooms();
        let (primal, dual) = ((INSIDE * primal).min(1.0), (INSIDE * dual).min(1.0));
        for group in &mut self.groups {
            group.weights.iter_mut().zip(&group.weight_steps).for_each(|(weight, step)| *weight += primal * step);
            group.costs.iter_mut().zip(&group.cost_steps).for_each(|(cost, step)| *cost += dual * step);
            let sum: f64 = group.weights.iter().sum();
            group.weights.iter_mut().for_each(|weight| *weight /= sum);
        }
        self.slacks.iter_mut().zip(&self.scratch).for_each(|(slack, step)| *slack += primal * step);
        self.prices.iter_mut().zip(&self.right).for_each(|(price, step)| *price += dual * step);
        self.prices.iter().all(|price| price.is_finite()).then_some(())
    }

    /// The matrix of the system for the prices.
    fn factor(&mut self) -> Option<()> {
        let size = self.prices.len();
        self.matrix.reset(size, &|_| false)?;
        self.subtract_columns()?;
        for row in 0..size {
            let slack = row.checked_sub(self.periods).map_or(0.0, |at| self.slacks[at] / self.prices[row]);
            let numbers = &mut self.matrix.row_mut(row)[..=row];
            numbers.iter_mut().for_each(|number| *number = -*number);
            let number = &mut numbers[row];
            // A period in which nothing can change would make the matrix singular.
            *number += slack + 1e-14 * *number + 1e-14;
        }
        self.matrix.factor(0.0, &|_| false).map(|_| ())
    }

    /// Subtracts the products of all columns with themselves from the matrix: of their differences to the mean of their
    /// group, with the ratio of weight and reduced cost as a factor.
    fn subtract_columns(&mut self) -> Option<()> {
        let size = self.prices.len();
        let (mut mean, mut difference) = (vec![0.0; size], vec![0.0; size]);
        let groups = || self.groups.iter().filter(|group| group.columns.len() > 1);
        let mut left: usize = groups().map(|group| group.columns.len()).sum();
        let mut used = 0;
        self.strips.reset(size, left);
        for group in groups() {
            let ratios = || group.weights.iter().zip(&group.costs).map(|(weight, cost)| weight / cost);
            let sum: f64 = ratios().sum();
            mean.fill(0.0);
            group.columns.iter().zip(ratios()).for_each(|(column, ratio)| column.add_to(&mut mean, ratio / sum));
            for (column, ratio) in group.columns.iter().zip(ratios()) {
                let root = ratio.sqrt();
                difference.iter_mut().zip(&mean).for_each(|(entry, mean)| *entry = -root * mean);
                column.add_to(&mut difference, root);
                self.strips.set_column(used, &difference);
                (used, left) = (used + 1, left - 1);
                if used == Strips::MOST || left == 0 {
                    self.matrix.subtract_products(&self.strips, &|_| false)?;
                    self.strips.reset(size, left);
                    used = 0;
                }
            }
        }
        Some(())
    }

    /// Sets the wanted products: `target`, corrected by the products of the present steps if asked.
    fn aim(&mut self, target: f64, is_corrected: bool) {
        let factor = if is_corrected { 1.0 } else { 0.0 };
        for group in &mut self.groups {
            let steps = group.weight_steps.iter().zip(&group.cost_steps);
            let now = group.weights.iter().zip(&group.costs).zip(steps);
            for (wanted, ((weight, cost), (by, rise))) in group.wanted.iter_mut().zip(now) {
                *wanted = target - weight * cost - factor * by * rise;
            }
        }
        let periods = self.periods;
        let wanted = (0..self.slacks.len()).map(|at| {
            let error = if is_corrected { self.scratch[at] * self.right[periods + at] } else { 0.0 };
            target - self.slacks[at] * self.prices[periods + at] - error
        });
        self.scratch = wanted.collect();
    }

    /// Solves the system for the wanted products. `right` becomes the step of the prices, `scratch` that of the slacks.
    fn direct(&mut self) {
        let Self { groups, prices, slacks, periods, lack, matrix, right, scratch, .. } = self;
        right.clear();
        right.extend_from_slice(lack);
        for (at, wanted) in scratch.iter().enumerate() {
            right[*periods + at] += wanted / prices[*periods + at];
        }
        for group in groups.iter() {
            let (sum, moved) = group.sums();
            let parts = group.columns.iter().zip(&group.weights).zip(group.costs.iter().zip(&group.wanted));
            for ((column, weight), (cost, wanted)) in parts {
                column.add_to(right, -(wanted / cost - weight / cost / sum * moved));
            }
        }
        matrix.solve(right);
        for group in groups.iter_mut() {
            let (sum, moved) = group.sums();
            let incomes: Vec<f64> = group.columns.iter().map(|column| column.income(right)).collect();
            let ratios = group.weights.iter().zip(&group.costs).map(|(weight, cost)| weight / cost);
            let mean = ratios.zip(&incomes).map(|(ratio, income)| ratio * income).sum::<f64>() / sum;
            let rent = -moved / sum - mean;
            for (at, income) in incomes.iter().enumerate() {
                let (weight, cost) = (group.weights[at], group.costs[at]);
                group.cost_steps[at] = -income - rent;
                group.weight_steps[at] = weight / cost * (income + rent) + group.wanted[at] / cost;
            }
        }
        for (at, step) in scratch.iter_mut().enumerate() {
            *step = (*step - slacks[at] * right[*periods + at]) / prices[*periods + at];
        }
    }

    /// The longest steps of the weights and of the prices that stay feasible.
    fn rooms(&self) -> (f64, f64) {
        let weights = self.groups.iter().flat_map(|group| group.weights.iter().zip(&group.weight_steps));
        let costs = self.groups.iter().flat_map(|group| group.costs.iter().zip(&group.cost_steps));
        let reserve = self.prices[self.periods..].iter().zip(&self.right[self.periods..]);
        (room(weights.chain(self.slacks.iter().zip(&self.scratch))), room(costs.chain(reserve)))
    }
}

impl Group {
    /// Sum of the ratios of weights and reduced costs, and of the weights that the wanted products add.
    fn sums(&self) -> (f64, f64) {
        let ratios = self.weights.iter().zip(&self.costs).map(|(weight, cost)| weight / cost);
        (ratios.sum(), self.wanted.iter().zip(&self.costs).map(|(wanted, cost)| wanted / cost).sum())
    }
}
