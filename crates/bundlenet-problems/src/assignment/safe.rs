//! The dual in integers.

use rayon::prelude::*;

use super::Assignment;
use super::lagrangian::PARALLEL_CELLS;
use crate::error::Element;
use crate::knapsack::WholeKnapsack;
use crate::safe::{Grid, Magnitudes, SafeBound, UnsafeBound, largest_integer};
use bundlenet::Sense;

impl Assignment {
    /// A bound that holds in exact arithmetic: the value of the dual at multipliers, rounded to dyadic numbers.
    /// Negative multipliers become 0 if the domain is nonnegative.
    ///
    /// # Errors
    /// If the profits are not integers, or numbers are too large. If the multipliers are not finite, are too large,
    /// or are not one for each item.
    pub fn safe_bound(&self, multipliers: &[f64]) -> Result<SafeBound, UnsafeBound> {
        let least = match self.sense() {
            Sense::Maximize => 0.0,
            Sense::Minimize => f64::NEG_INFINITY,
        };
        let rounded = self.magnitudes()?.round(multipliers, self.items(), least)?;
        let prices: Vec<i64> = rounded.multipliers.iter().map(|&price| rounded.grid.units(price)).collect();
        let linear: i128 = prices.iter().map(|&price| i128::from(price)).sum();
        let knapsacks = self.knapsacks(rounded.grid, &prices);
        let units = match self.sense() {
            Sense::Maximize => linear + knapsacks,
            Sense::Minimize => linear - knapsacks,
        };
        Ok(rounded.bound(units, self.sense().opposite()))
    }

    /// Checks that there are safe bounds: profits are integers, and no number is too large.
    ///
    /// # Errors
    /// If there are none, with the number at fault.
    pub fn check_integers(&self) -> Result<(), UnsafeBound> {
        self.magnitudes().map(|_| ())
    }

    /// Magnitudes of the profit of all items in a bin, and of its capacity times the best ratio.
    fn magnitudes(&self) -> Result<Magnitudes, UnsafeBound> {
        let (items, capacity) = (self.items(), self.capacities().iter().copied().max().unwrap_or(0));
        let profit = |at: usize| Element::Profit { bin: at / items, item: at % items };
        let cost = largest_integer(self.all_profits(), profit)?;
        Magnitudes { cost, multipliers: 1.0, amount: items as f64 + f64::from(capacity), fixed: 0.0 }.check()
    }

    /// The sum of all knapsacks, in units of a grid. Integers add up to the same on any number of threads.
    fn knapsacks(&self, grid: Grid, prices: &[i64]) -> i128 {
        let (items, bins) = (self.items(), self.bins());
        let worker = || (vec![0; items], WholeKnapsack::new(items));
        let solve = |(profits, knapsack): &mut (Vec<i64>, WholeKnapsack), bin: usize| {
            for ((reduced, &profit), &price) in profits.iter_mut().zip(self.profits(bin)).zip(prices) {
                let difference = grid.units(profit) - price;
                *reduced = if self.sense() == Sense::Maximize { difference } else { -difference };
            }
            i128::from(knapsack.bound(profits, self.weights(bin), self.capacities()[bin]))
        };
        if bins * items >= PARALLEL_CELLS && rayon::current_num_threads() > 1 {
            (0..bins).into_par_iter().map_init(worker, solve).sum()
        } else {
            let mut worker = worker();
            (0..bins).map(|bin| solve(&mut worker, bin)).sum()
        }
    }
}
