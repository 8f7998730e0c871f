//! Proofs of safe bounds.

use super::Assignment;
use crate::knapsack::WholeKnapsack;
use crate::proof::{Proof, Subproblems, fraction};
use crate::safe::{SafeBound, UnsafeBound};
use bundlenet::Sense;

impl Assignment {
    /// A proof of [`Assignment::safe_bound`]: for each bin an upper bound on its knapsack, and the multiplier of its
    /// capacity. With it a search among few items confirms the bound.
    ///
    /// # Errors
    /// As [`Assignment::safe_bound`].
    pub fn proof(&self, multipliers: &[f64]) -> Result<Proof, UnsafeBound> {
        let bound = self.safe_bound(multipliers)?;
        let mut knapsack = WholeKnapsack::new(self.items());
        let (mut knapsacks, mut ratios) = (vec![], vec![]);
        for bin in 0..self.bins() {
            let (weights, capacity) = (self.weights(bin), self.capacities()[bin]);
            let profits = self.reduced_profits(bin, &bound);
            knapsacks.push(fraction(knapsack.bound(&profits, weights, capacity).into(), bound.one().into()));
            let (profit, weight) = break_item(&profits, weights, capacity);
            ratios.push(fraction(profit.into(), i128::from(bound.one()) * i128::from(weight)));
        }
        let sense = if self.sense() == Sense::Maximize { "max" } else { "min" };
        Ok(Proof::new("generalised assignment", sense, &bound, Subproblems::Bins { knapsacks, ratios }))
    }

    /// Profits of the knapsack of a bin, in units of the grid.
    fn reduced_profits(&self, bin: usize, bound: &SafeBound) -> Vec<i64> {
        let sign = if self.sense() == Sense::Maximize { 1 } else { -1 };
        let prices = bound.multipliers().iter();
        let reduced = self.profits(bin).iter().zip(prices);
        reduced.map(|(&profit, &price)| sign * (bound.units(profit) - bound.units(price))).collect()
    }
}

/// Profit and weight of the item at which the capacity is full, if items are taken by profit per weight; a profit of 0 if
/// all fit.
fn break_item(profits: &[i64], weights: &[u32], capacity: u32) -> (i64, u32) {
    let pairs = profits.iter().copied().zip(weights.iter().copied());
    let mut useful: Vec<(i64, u32)> = pairs.filter(|&(profit, weight)| profit > 0 && weight <= capacity).collect();
    useful.retain(|&(_, weight)| weight > 0);
    // An order by fractions: it multiplies crosswise.
    useful.sort_by(|a, b| (i128::from(b.0) * i128::from(a.1)).cmp(&(i128::from(a.0) * i128::from(b.1))));
    let mut load = 0;
    let fills = |(_, weight): &&(i64, u32)| {
        load += u64::from(*weight);
        load > u64::from(capacity)
    };
    useful.iter().find(fills).copied().unwrap_or((0, 1))
}
