//! The value of the 0/1 knapsack with whole profits, exactly: the same steps as for real profits.
//!
//! Floating point only proposes a ratio. For every `ratio >= 0`, `ratio capacity + sum of max(0, profit - ratio
//! weight)` is an upper bound. An item is settled if changing it, at a loss of `|profit - ratio weight|`, leaves no
//! more than the lower bound. All of this is computed in integers.

use super::branch::{MAX_TABLE, Search, relaxation, table_unit};
use super::fill;
use bundlenet_linalg::simd::{Block, LANES, Lanes, blocks_for, flat_mut, multiversion};

/// A solver for 0/1 knapsacks with whole profits of up to a given number of items.
#[derive(Clone, Debug)]
pub struct WholeKnapsack {
    /// Profit and weight of the items with a profit that fit.
    profits: Vec<i64>,
    weights: Vec<i64>,
    /// The same for the choice of a ratio: weights, and minus profit per weight, padded to blocks.
    limits: Vec<Block>,
    keys: Vec<Block>,
    /// Profit and weight of the items that are not settled.
    core: Vec<(i64, u64)>,
    /// Two rows of the dynamic programming table. Earlier rows would be needed only for the choice of items.
    rows: [Vec<i64>; 2],
    search: Search,
}

impl WholeKnapsack {
    /// A solver for up to `items` items.
    #[must_use]
    pub fn new(items: usize) -> Self {
        let blocks = blocks_for(items);
        Self {
            profits: vec![0; items + 1],
            weights: vec![0; items + 1],
            limits: vec![Block::splat(0.0); blocks],
            keys: vec![Block::splat(0.0); blocks],
            core: Vec::with_capacity(items),
            rows: [vec![], vec![]],
            search: Search::new(items),
        }
    }

    /// The greatest profit, or an upper bound on it if branch and bound reaches its limit.
    ///
    /// Largest profit times the sum of the capacity and the number of items must stay within `2^62`, and profits within
    /// `2^53`.
    pub fn bound(&mut self, profits: &[i64], weights: &[u32], capacity: u32) -> i64 {
        bound_dispatched(self, profits, weights, capacity)
    }

    #[inline(always)]
    fn bound_kernel<L: Lanes>(&mut self, profits: &[i64], weights: &[u32], capacity: u32) -> i64 {
        let Useful { count, profit, weight, weightless } = self.keep_useful(profits, weights, capacity);
        let capacity = i64::from(capacity);
        if weight <= capacity {
            return weightless + profit;
        }
        let ratio = self.propose_ratio::<L>(count, capacity);
        let (lower, upper) = self.bounds(count, capacity, ratio);
        weightless + if lower < upper { self.improve(count, capacity, ratio, lower, upper) } else { lower }
    }

    /// Copies the items with a profit that fit, except for those without weight.
    #[inline(always)]
    fn keep_useful(&mut self, profits: &[i64], weights: &[u32], capacity: u32) -> Useful {
        let mut useful = Useful { count: 0, profit: 0, weight: 0, weightless: 0 };
        for (&profit, &weight) in profits.iter().zip(weights) {
            // Every item is written, but the count grows only for those kept: no branch. There is one place to spare.
            self.profits[useful.count] = profit;
            self.weights[useful.count] = i64::from(weight);
            let is_useful = (profit > 0) & (weight <= capacity) & (weight > 0);
            useful.profit += if is_useful { profit } else { 0 };
            useful.weight += if is_useful { i64::from(weight) } else { 0 };
            useful.weightless += if weight == 0 { profit.max(0) } else { 0 };
            useful.count += usize::from(is_useful);
        }
        useful
    }

    /// A ratio just above the break of the relaxation: items with a higher ratio fit.
    #[inline(always)]
    fn propose_ratio<L: Lanes>(&mut self, count: usize, capacity: i64) -> i64 {
        let blocks = blocks_for(count);
        let (keys, limits) = (flat_mut(&mut self.keys), flat_mut(&mut self.limits));
        let items = self.profits[..count].iter().zip(&self.weights);
        for ((key, limit), (&profit, &weight)) in keys.iter_mut().zip(&mut *limits).zip(items) {
            *limit = weight as f64;
            *key = -(profit as f64) / weight as f64;
        }
        keys[count..blocks * LANES].fill(f64::INFINITY);
        limits[count..blocks * LANES].fill(0.0);
        let filled = fill::<L>(&self.keys[..blocks], &self.limits[..blocks], capacity as f64);
        filled.map_or(0, |filled| (-filled.break_cost).floor() as i64 + 1)
    }

    /// Lower and upper bound from a ratio: the items above it, topped up with the best single one that still fits, and
    /// the relaxation.
    #[inline(always)]
    fn bounds(&self, count: usize, capacity: i64, ratio: i64) -> (i64, i64) {
        let (profits, weights) = (&self.profits[..count], &self.weights[..count]);
        let (mut excess, mut load) = (0, 0);
        for (&profit, &weight) in profits.iter().zip(weights) {
            let gain = profit - ratio * weight;
            excess += gain.max(0);
            load += if gain > 0 { weight } else { 0 };
        }
        let left = capacity - load;
        let upper = ratio * capacity + excess;
        if left < 0 {
            return (0, upper);
        }
        let mut top_up = 0;
        for (&profit, &weight) in profits.iter().zip(weights) {
            let is_candidate = (profit - ratio * weight <= 0) & (weight <= left);
            top_up = top_up.max(if is_candidate { profit } else { 0 });
        }
        // The profit of the items above the ratio: their excess, plus the ratio times the capacity that they fill.
        (excess + ratio * load + top_up, upper)
    }

    /// Settles items by the bounds and solves the rest.
    #[inline(always)]
    fn improve(&mut self, count: usize, capacity: i64, ratio: i64, lower: i64, upper: i64) -> i64 {
        self.core.clear();
        let (mut settled, mut room) = (0, capacity);
        for (&profit, &weight) in self.profits[..count].iter().zip(&self.weights) {
            let gain = profit - ratio * weight;
            if gain.abs() < upper - lower {
                self.core.push((profit, weight as u64));
            } else if gain > 0 {
                settled += profit;
                room -= weight;
            }
        }
        // A solution above the lower bound contains all items settled as chosen. If they do not fit, there is none.
        let Ok(room) = u64::try_from(room) else { return lower };
        let best = match table_unit(room, self.core.iter().map(|&(_, weight)| weight), MAX_TABLE) {
            Some(unit) => self.dynamic_programming((room / unit) as usize, unit),
            None => self.branch_and_bound(room, lower - settled),
        };
        lower.max(settled + best)
    }

    /// The greatest profit of the core, with room and weights in a common unit.
    #[inline(always)]
    fn dynamic_programming(&mut self, room: usize, unit: u64) -> i64 {
        let columns = room + 1;
        let [before, after] = &mut self.rows;
        if before.len() < columns {
            before.resize(columns, 0);
            after.resize(columns, 0);
        }
        let (mut before, mut after) = (&mut before[..columns], &mut after[..columns]);
        before.fill(0);
        for &(profit, weight) in &self.core {
            let head = ((weight / unit) as usize).min(columns);
            after[..head].copy_from_slice(&before[..head]);
            for ((new, &without), &with) in after[head..].iter_mut().zip(&before[head..]).zip(&before[..columns - head])
            {
                *new = without.max(with + profit);
            }
            std::mem::swap(&mut before, &mut after);
        }
        before[room]
    }

    /// The greatest profit of the core, or the incumbent if nothing beats it. If the search reaches its limit, the
    /// bound of the relaxation.
    fn branch_and_bound(&mut self, room: u64, incumbent: i64) -> i64 {
        // Compared as exact fractions: the relaxation is a bound only in the exact order.
        let product = |&(profit, _): &(i64, u64), &(_, weight): &(i64, u64)| i128::from(profit) * i128::from(weight);
        self.core.sort_unstable_by(|a, b| product(b, a).cmp(&product(a, b)));
        let core = &self.core;
        match self.search.run(core.len(), |depth| core[depth], room, incumbent) {
            Ok(best) => best.unwrap_or(incumbent),
            Err(_) => relaxation(core.iter().copied(), room),
        }
    }
}

/// The items with a profit that fit: their number, profit and weight, and the profit of items without weight.
struct Useful {
    count: usize,
    profit: i64,
    weight: i64,
    weightless: i64,
}

#[inline(always)]
fn bound<L: Lanes>(knapsack: &mut WholeKnapsack, profits: &[i64], weights: &[u32], capacity: u32) -> i64 {
    knapsack.bound_kernel::<L>(profits, weights, capacity)
}

multiversion! {
    fn bound_dispatched(knapsack: &mut WholeKnapsack, profits: &[i64], weights: &[u32], capacity: u32) -> i64 = bound;
}
