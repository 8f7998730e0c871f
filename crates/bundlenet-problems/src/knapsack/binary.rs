//! The 0/1 knapsack: `max profit'x` over binary `x` with `weight'x <= capacity`, real profits, whole weights.
//!
//! 1. Keep the items that have a profit and fit. If all of them fit together, take them.
//! 2. Solve the relaxation over `0 <= x <= 1`: it fills by profit per weight and breaks at one ratio. Its value is an
//!    upper bound; the full items, topped up with the best single one that still fits, are a lower bound.
//! 3. Changing an item against the relaxation costs at least `|profit - ratio weight|` (Dembo and Hammer). If that
//!    exceeds the gap between the bounds, the item is settled. The few others are the core.
//! 4. Solve the core by dynamic programming over the capacity that the settled items leave, row by row, or by branch
//!    and bound if that capacity, in units of the greatest common divisor of the weights, is too large for a table.

use super::branch::{HardKnapsack, MAX_TABLE, Search, table_unit};
use super::{Filled, fill};
use bundlenet_linalg::simd::{Block, LANES, Lanes, blocks_for, flat, flat_mut, multiversion};

/// A solver for 0/1 knapsacks of up to a given size. It allocates only when it is made.
///
/// ```
/// use bundlenet_problems::BinaryKnapsack;
///
/// let mut knapsack = BinaryKnapsack::new(3, 10);
/// assert_eq!(knapsack.solve(&[5.0, 4.0, -1.0], &[6, 4, 1], 10)?, 9.0);
/// assert_eq!(knapsack.chosen(), [0, 1]);
/// # Ok::<(), bundlenet_problems::HardKnapsack>(())
/// ```
#[derive(Clone, Debug)]
pub struct BinaryKnapsack {
    /// Items with a profit that fit: their number, profit, weight, and minus profit per weight, padded to blocks.
    items: Vec<u32>,
    profits: Vec<Block>,
    weights: Vec<Block>,
    keys: Vec<Block>,
    /// Positions of the core among those.
    core: Vec<u32>,
    /// Rows of the dynamic programming table.
    table: Vec<f64>,
    search: Search,
    chosen: Vec<u32>,
}

impl BinaryKnapsack {
    /// A solver for up to `items` items and capacities up to `capacity`.
    #[must_use]
    pub fn new(items: usize, capacity: u32) -> Self {
        let blocks = blocks_for(items);
        let table = (items + 1).saturating_mul(capacity as usize + 1).min(MAX_TABLE);
        Self {
            items: vec![0; items + 1],
            profits: vec![Block::splat(0.0); blocks],
            weights: vec![Block::splat(0.0); blocks],
            keys: vec![Block::splat(0.0); blocks],
            core: Vec::with_capacity(items),
            table: vec![0.0; table],
            search: Search::new(items),
            chosen: Vec::with_capacity(items),
        }
    }

    /// Returns the greatest profit; [`BinaryKnapsack::chosen`] then holds items that attain it.
    ///
    /// Items without profit, zero included, are never chosen.
    ///
    /// # Errors
    /// If the capacity is too large for a table and branch and bound reaches its limit.
    ///
    /// # Panics
    /// If the slices differ in length or have more items than the solver was made for.
    pub fn solve(&mut self, profits: &[f64], weights: &[u32], capacity: u32) -> Result<f64, HardKnapsack> {
        assert_eq!(profits.len(), weights.len(), "profits and weights differ in length");
        assert!(profits.len() < self.items.len(), "more items than the solver was made for");
        solve_dispatched(self, profits, weights, capacity)?;
        Ok(self.chosen.iter().map(|&item| profits[item as usize]).sum())
    }

    /// The items chosen by the last [`BinaryKnapsack::solve`], in ascending order.
    #[must_use]
    pub fn chosen(&self) -> &[u32] {
        &self.chosen
    }

    #[inline(always)]
    fn solve_kernel<L: Lanes>(&mut self, profits: &[f64], weights: &[u32], capacity: u32) -> Result<(), HardKnapsack> {
        self.chosen.clear();
        let (count, total) = self.keep_useful(profits, weights, capacity);
        let capacity = f64::from(capacity);
        if total <= capacity {
            self.chosen.extend_from_slice(&self.items[..count]);
            self.chosen.sort_unstable();
            return Ok(());
        }
        let weightless = self.chosen.len();
        let blocks = blocks_for(count);
        self.compute_keys::<L>(count, blocks);
        // If all items fit, the ratio of the last one was rounded to zero.
        let filled = fill::<L>(&self.keys[..blocks], &self.weights[..blocks], capacity).unwrap_or_else(|| {
            let items = flat(&self.keys).iter().zip(flat(&self.weights)).take(count);
            let load: f64 = items.filter(|(key, _)| **key < 0.0).map(|(_, weight)| weight).sum();
            Filled { break_cost: 0.0, left: capacity - load }
        });
        let bounds = self.bound::<L>(blocks, filled);
        let (settled_profit, settled_weight) = self.settle(count, filled, &bounds);
        let room = capacity - settled_weight;
        let incumbent = bounds.lower - settled_profit;
        let improved = bounds.lower < bounds.upper && self.solve_core(room, incumbent)?;
        if !improved {
            // The lower bound is optimal: the full items, and the one that tops them up.
            self.chosen.truncate(weightless);
            let keys = &flat(&self.keys)[..count];
            self.chosen.extend((0..count).filter(|&at| keys[at] < filled.break_cost).map(|at| self.items[at]));
            if let Some(profit) = bounds.top_up {
                let (profits, weights) = (flat(&self.profits), flat(&self.weights));
                let fits =
                    |&at: &usize| profits[at] == profit && weights[at] <= filled.left && keys[at] >= filled.break_cost;
                self.chosen.extend((0..count).find(fits).map(|at| self.items[at]));
            }
        }
        self.chosen.sort_unstable();
        Ok(())
    }

    /// Chooses from the core; false if nothing beats the incumbent.
    #[inline(always)]
    fn solve_core(&mut self, room: f64, incumbent: f64) -> Result<bool, HardKnapsack> {
        let weights = flat(&self.weights);
        let core = self.core.iter().map(|&at| weights[at as usize] as u64);
        match table_unit(room as u64, core, self.table.len()) {
            Some(unit) => Ok(self.dynamic_programming((room as u64 / unit) as usize, unit as usize, incumbent)),
            None => self.branch_and_bound(room as u64, incumbent),
        }
    }

    /// Copies the items with a profit that fit, except for those without weight, which are chosen at once; returns how
    /// many there are and their weight.
    #[inline(always)]
    fn keep_useful(&mut self, profits: &[f64], weights: &[u32], capacity: u32) -> (usize, f64) {
        let (kept_profits, kept_weights) = (flat_mut(&mut self.profits), flat_mut(&mut self.weights));
        let mut count = 0;
        let mut total = 0.0;
        for (item, (&profit, &weight)) in profits.iter().zip(weights).enumerate() {
            // Every item is written, but `count` grows only for those kept: no branch. `items` has one place to spare,
            // and `count` never exceeds the item at hand.
            let useful = (profit > 0.0) & (weight <= capacity) & (weight > 0);
            if weight == 0 && profit > 0.0 {
                self.chosen.push(item as u32);
            }
            self.items[count] = item as u32;
            kept_profits[count] = profit;
            kept_weights[count] = f64::from(weight);
            total += if useful { f64::from(weight) } else { 0.0 };
            count += usize::from(useful);
        }
        (count, total)
    }

    /// Minus profit per weight, so that the best are the lowest. Pads the blocks with items that weigh nothing and
    /// come last.
    #[inline(always)]
    fn compute_keys<L: Lanes>(&mut self, count: usize, blocks: usize) {
        flat_mut(&mut self.profits)[count..blocks * LANES].fill(0.0);
        flat_mut(&mut self.weights)[count..blocks * LANES].fill(0.0);
        for ((key, profit), weight) in self.keys.iter_mut().zip(&self.profits).zip(&self.weights).take(blocks) {
            L::splat(0.0).sub(L::load(profit)).div(L::load(weight)).store(key);
        }
        flat_mut(&mut self.keys)[count..blocks * LANES].fill(f64::INFINITY);
    }

    #[inline(always)]
    fn bound<L: Lanes>(&self, blocks: usize, filled: Filled) -> Bounds {
        let (break_cost, left, zero) = (L::splat(filled.break_cost), L::splat(filled.left), L::splat(0.0));
        let mut full = zero;
        let mut top_up = zero;
        for ((key, profit), weight) in self.keys.iter().zip(&self.profits).zip(&self.weights).take(blocks) {
            let (key, profit, weight) = (L::load(key), L::load(profit), L::load(weight));
            full = full.add(key.if_less(break_cost, profit, zero));
            let fits = left.if_less(weight, zero, profit);
            top_up = key.if_less(break_cost, zero, fits).max(top_up);
        }
        let (full, top_up) = (full.sum(), top_up.greatest());
        Bounds {
            lower: full + top_up,
            upper: full - filled.break_cost * filled.left,
            top_up: (top_up > 0.0).then_some(top_up),
        }
    }

    /// Puts the items that the bounds settle among the chosen or drops them, and the others into the core; returns
    /// the profit and weight of those chosen.
    #[inline(always)]
    fn settle(&mut self, count: usize, filled: Filled, bounds: &Bounds) -> (f64, f64) {
        self.core.clear();
        let gap = bounds.upper - bounds.lower;
        let (profits, weights, keys) = (flat(&self.profits), flat(&self.weights), flat(&self.keys));
        let (mut settled_profit, mut settled_weight) = (0.0, 0.0);
        for at in 0..count {
            let loss = (profits[at] + filled.break_cost * weights[at]).abs();
            if loss < gap || keys[at] == filled.break_cost {
                self.core.push(at as u32);
            } else if keys[at] < filled.break_cost {
                self.chosen.push(self.items[at]);
                settled_profit += profits[at];
                settled_weight += weights[at];
            }
        }
        (settled_profit, settled_weight)
    }

    /// Chooses from the core by dynamic programming, with room and weights in a common unit; false if nothing beats the
    /// incumbent.
    #[inline(always)]
    fn dynamic_programming(&mut self, room: usize, unit: usize, incumbent: f64) -> bool {
        let columns = room + 1;
        let (profits, weights) = (flat(&self.profits), flat(&self.weights));
        self.table[..columns].fill(0.0);
        for (row, &at) in self.core.iter().enumerate() {
            let (profit, weight) = (profits[at as usize], weights[at as usize] as usize / unit);
            let (before, after) = self.table[row * columns..(row + 2) * columns].split_at_mut(columns);
            let head = weight.min(columns);
            after[..head].copy_from_slice(&before[..head]);
            for ((new, &without), &with) in after[head..].iter_mut().zip(&before[head..]).zip(&before[..columns - head])
            {
                let with = with + profit;
                *new = if with > without { with } else { without };
            }
        }
        if self.table[self.core.len() * columns + room] <= incumbent {
            return false;
        }
        let mut column = room;
        for (row, &at) in self.core.iter().enumerate().rev() {
            if self.table[(row + 1) * columns + column] > self.table[row * columns + column] {
                self.chosen.push(self.items[at as usize]);
                column -= weights[at as usize] as usize / unit;
            }
        }
        true
    }

    /// Chooses from the core by branch and bound; false if nothing beats the incumbent.
    fn branch_and_bound(&mut self, room: u64, incumbent: f64) -> Result<bool, HardKnapsack> {
        let (profits, weights, keys) = (flat(&self.profits), flat(&self.weights), flat(&self.keys));
        self.core.sort_unstable_by(|&a, &b| keys[a as usize].total_cmp(&keys[b as usize]).then(a.cmp(&b)));
        let core = &self.core;
        let item = |depth: usize| (profits[core[depth] as usize], weights[core[depth] as usize] as u64);
        let improved = self.search.run(core.len(), item, room, incumbent)?.is_some();
        if improved {
            let taken = core.iter().zip(self.search.taken()).filter(|&(_, &taken)| taken);
            self.chosen.extend(taken.map(|(&at, _)| self.items[at as usize]));
        }
        Ok(improved)
    }
}

struct Bounds {
    lower: f64,
    upper: f64,
    /// Profit of the item that tops up the full ones, if one does.
    top_up: Option<f64>,
}

#[inline(always)]
fn solve<L: Lanes>(
    knapsack: &mut BinaryKnapsack,
    profits: &[f64],
    weights: &[u32],
    capacity: u32,
) -> Result<(), HardKnapsack> {
    knapsack.solve_kernel::<L>(profits, weights, capacity)
}

multiversion! {
    fn solve_dispatched(
        knapsack: &mut BinaryKnapsack, profits: &[f64], weights: &[u32], capacity: u32
    ) -> Result<(), HardKnapsack> = solve;
}
