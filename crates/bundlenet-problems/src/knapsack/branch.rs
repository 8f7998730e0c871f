//! The core of a 0/1 knapsack, with real or whole profits: whether a table is small enough, and depth-first branch
//! and bound if it is not.

use std::ops::{Add, Sub};

use thiserror::Error;

/// Most numbers a dynamic programming table may have (32 MiB); larger cores go to branch and bound.
pub(super) const MAX_TABLE: usize = 1 << 22;

/// Most nodes of branch and bound: some seconds.
const MAX_NODES: u64 = 100_000_000;

/// A 0/1 knapsack that cannot be solved in reasonable time: its capacity is too large for a table, and branch and bound
/// prunes too little.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error(
    "a 0/1 knapsack is too hard: expected a solution within {MAX_NODES} nodes, \
     found none with {open} items undecided and room {room}"
)]
pub struct HardKnapsack {
    open: usize,
    room: u64,
}

/// The unit of capacity and weights in which a table has at most `cells` numbers, if there is one.
#[inline(always)]
pub(super) fn table_unit(room: u64, weights: impl ExactSizeIterator<Item = u64>, cells: usize) -> Option<u64> {
    let rows = weights.len() as u64 + 1;
    let fits = |unit: u64| (room / unit + 1).saturating_mul(rows) <= cells as u64;
    if fits(1) {
        return Some(1);
    }
    let unit = weights.fold(0, greatest_common_divisor).max(1);
    fits(unit).then_some(unit)
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// The type of profits.
pub(super) trait Profit: Copy + PartialOrd + Add<Output = Self> + Sub<Output = Self> {
    const ZERO: Self;
    /// Upper bound on the profit of a part of an item, the part that fits.
    fn part(self, weight: u64, room: u64) -> Self;
}

impl Profit for f64 {
    const ZERO: Self = 0.0;
    fn part(self, weight: u64, room: u64) -> Self {
        self / weight as f64 * room as f64
    }
}

impl Profit for i64 {
    const ZERO: Self = 0;
    /// Rounded down. This is still a bound, since sums of whole profits are whole.
    fn part(self, weight: u64, room: u64) -> Self {
        // Less than the profit, since the room is less than the weight.
        (i128::from(self) * i128::from(room) / i128::from(weight)) as Self
    }
}

/// Upper bound on the profit of items in the order of profit per weight.
pub(super) fn relaxation<P: Profit>(items: impl Iterator<Item = (P, u64)>, mut room: u64) -> P {
    let mut value = P::ZERO;
    for (profit, weight) in items {
        if weight > room {
            return value + profit.part(weight, room);
        }
        value = value + profit;
        room -= weight;
    }
    value
}

/// Depth-first branch and bound; allocates only when it is made.
#[derive(Clone, Debug)]
pub(super) struct Search {
    path: Vec<bool>,
    best_path: Vec<bool>,
}

impl Search {
    pub(super) fn new(items: usize) -> Self {
        Self { path: Vec::with_capacity(items), best_path: Vec::with_capacity(items) }
    }

    /// Whether each item is taken in the best solution of the last search that found one.
    pub(super) fn taken(&self) -> &[bool] {
        &self.best_path
    }

    /// The greatest profit of `count` items, if it exceeds the incumbent. Items, profit and weight by number, come in
    /// the order of profit per weight, so that the relaxation of any tail is one pass.
    pub(super) fn run<P: Profit>(
        &mut self,
        count: usize,
        item: impl Fn(usize) -> (P, u64),
        room: u64,
        incumbent: P,
    ) -> Result<Option<P>, HardKnapsack> {
        let mut best = None;
        let (mut value, mut left) = (P::ZERO, room);
        self.path.clear();
        let mut nodes = 0;
        loop {
            nodes += 1;
            if nodes > MAX_NODES / count.max(1) as u64 {
                return Err(HardKnapsack { open: count, room });
            }
            // Take items that fit as long as the relaxation exceeds the incumbent.
            let to_beat = best.unwrap_or(incumbent);
            while self.path.len() < count && value + relaxation((self.path.len()..count).map(&item), left) > to_beat {
                let (profit, weight) = item(self.path.len());
                let fits = weight <= left;
                if fits {
                    value = value + profit;
                    left -= weight;
                }
                self.path.push(fits);
            }
            if self.path.len() == count && value > to_beat {
                best = Some(value);
                self.best_path.clone_from(&self.path);
            }
            // Go back to the last item taken, and leave it out.
            loop {
                match self.path.pop() {
                    None => return Ok(best),
                    Some(false) => {}
                    Some(true) => {
                        let (profit, weight) = item(self.path.len());
                        value = value - profit;
                        left += weight;
                        self.path.push(false);
                        break;
                    }
                }
            }
        }
    }
}
