//! The continuous knapsack: `min cost'x` over `0 <= x <= limit`, `sum x <= capacity`.
//!
//! Fill the most negative costs first until the capacity is used up. Only the *break cost*, the cost of the last item
//! filled, has to be found: cheaper items are full, dearer ones empty. Quickselect would move items. Here each pass
//! guesses a cost and adds up the limits below it, eight at a time: a few branch-free passes over a few cache lines.

use bundlenet_linalg::simd::{Block, Lanes, blocks_for, flat, flat_mut, multiversion};

/// The break of the filling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Filled {
    /// Items with a lower cost are full, items with a higher one empty.
    pub(crate) break_cost: f64,
    /// Capacity left for the items at the break cost, to be filled in the order of their numbers.
    pub(crate) left: f64,
}

/// The result of one pass over the items with a guessed cost.
struct Pass {
    /// Total limit of the items below the guess.
    load: f64,
    /// The highest cost below the guess.
    below: f64,
    /// The lowest cost from the guess on.
    above: f64,
}

#[inline(always)]
fn pass<L: Lanes>(costs: &[Block], limits: &[Block], guess: f64) -> Pass {
    let guess = L::splat(guess);
    let mut load = L::splat(0.0);
    let mut below = L::splat(f64::NEG_INFINITY);
    let mut above = L::splat(f64::INFINITY);
    for (costs, limits) in costs.iter().zip(limits) {
        let (cost, limit) = (L::load(costs), L::load(limits));
        load = load.add(cost.if_less(guess, limit, L::splat(0.0)));
        below = cost.if_less(guess, cost, L::splat(f64::NEG_INFINITY)).max(below);
        above = cost.if_less(guess, L::splat(f64::INFINITY), cost).min(above);
    }
    Pass { load: load.sum(), below: below.greatest(), above: above.least() }
}

/// Finds the break cost. The items of negative cost have a total limit of `load`, above the capacity; `least` is the
/// lowest cost.
///
/// The result is the highest cost whose cheaper items fit, their limits added in the fixed order of [`pass`]: it does
/// not depend on the guesses that lead there.
#[inline(always)]
pub(crate) fn fill_from<L: Lanes>(costs: &[Block], limits: &[Block], capacity: f64, least: f64, load: f64) -> Filled {
    // The break cost lies in [low, high]; both are costs of items, except for the first `high`, which is above all.
    let (mut low, mut low_load) = (least, 0.0);
    let (mut high, mut high_load) = (0.0, load);
    while low < high {
        // Loads grow roughly evenly with the cost; the margin keeps a long tail from slowing the search down.
        let share = ((capacity - low_load) / (high_load - low_load)).clamp(0.05, 0.95);
        let mut guess = low + share * (high - low);
        if !(guess > low && guess <= high) {
            guess = high;
        }
        let found = pass::<L>(costs, limits, guess);
        if found.load <= capacity {
            (low, low_load) = (found.above, found.load);
        } else {
            (high, high_load) = (found.below, found.load);
        }
    }
    Filled { break_cost: low, left: capacity - low_load }
}

/// Finds the break cost; `None` if all items of negative cost fit.
#[inline(always)]
pub(crate) fn fill<L: Lanes>(costs: &[Block], limits: &[Block], capacity: f64) -> Option<Filled> {
    let all = pass::<L>(costs, limits, 0.0);
    if all.load <= capacity {
        return None;
    }
    let least = pass::<L>(costs, limits, f64::NEG_INFINITY).above;
    Some(fill_from::<L>(costs, limits, capacity, least, all.load))
}

/// A solver for continuous knapsacks of up to a given number of items. It allocates only when it is made.
///
/// ```
/// use bundlenet_problems::ContinuousKnapsack;
///
/// let mut amounts = [0.0; 3];
/// let value = ContinuousKnapsack::new(3).solve(&[-1.0, -3.0, 2.0], &[4.0, 2.0, 5.0], 5.0, &mut amounts);
/// assert_eq!((value, amounts), (-9.0, [3.0, 2.0, 0.0]));
/// ```
#[derive(Clone, Debug)]
pub struct ContinuousKnapsack {
    costs: Vec<Block>,
    limits: Vec<Block>,
}

impl ContinuousKnapsack {
    /// A solver for up to `items` items.
    #[must_use]
    pub fn new(items: usize) -> Self {
        let blocks = blocks_for(items);
        Self { costs: vec![Block::splat(0.0); blocks], limits: vec![Block::splat(0.0); blocks] }
    }

    /// Writes the amounts of a solution of least cost and returns that cost.
    ///
    /// Ties are filled in the order of the items. Limits and capacity must be nonnegative.
    ///
    /// # Panics
    /// If the slices differ in length or have more items than the solver was made for.
    pub fn solve(&mut self, costs: &[f64], limits: &[f64], capacity: f64, amounts: &mut [f64]) -> f64 {
        let count = costs.len();
        assert!(limits.len() == count && amounts.len() == count, "costs, limits and amounts differ in length");
        assert!(count <= flat(&self.costs).len(), "more items than the solver was made for");
        let blocks = blocks_for(count);
        let (padded_costs, padded_limits) = (&mut self.costs[..blocks], &mut self.limits[..blocks]);
        flat_mut(padded_costs)[..count].copy_from_slice(costs);
        flat_mut(padded_limits)[..count].copy_from_slice(limits);
        flat_mut(padded_costs)[count..].fill(f64::INFINITY);
        flat_mut(padded_limits)[count..].fill(0.0);
        let filled =
            fill_dispatched(padded_costs, padded_limits, capacity).unwrap_or(Filled { break_cost: 0.0, left: 0.0 });
        let mut left = filled.left;
        let mut value = 0.0;
        for ((amount, &cost), &limit) in amounts.iter_mut().zip(costs).zip(limits) {
            *amount = if cost < filled.break_cost {
                limit
            } else if cost == filled.break_cost {
                let share = limit.min(left);
                left -= share;
                share
            } else {
                0.0
            };
            value += cost * *amount;
        }
        value
    }
}

multiversion! {
    fn fill_dispatched(costs: &[Block], limits: &[Block], capacity: f64) -> Option<Filled> = fill;
}
