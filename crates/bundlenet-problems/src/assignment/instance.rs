//! The instance type.

use crate::error::{Element, InvalidInstance};
use bundlenet::Sense;

/// A valid instance of generalised assignment.
///
/// With [`Sense::Maximize`] the numbers are profits and an item goes into at most one bin; with [`Sense::Minimize`]
/// they are costs and an item goes into exactly one.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    sense: Sense,
    items: usize,
    capacities: Vec<u32>,
    profits: Vec<f64>,
    weights: Vec<u32>,
}

impl Assignment {
    /// Builds an instance; profits (or costs) and weights are by bin, then item.
    ///
    /// # Errors
    /// If there is no bin or no item, a capacity is zero, a profit is not finite, or a list has the wrong length.
    pub fn new(
        sense: Sense,
        items: usize,
        capacities: Vec<u32>,
        profits: Vec<f64>,
        weights: Vec<u32>,
    ) -> Result<Self, InvalidInstance> {
        if capacities.is_empty() {
            return Err(InvalidInstance::new(Element::Bins, "at least one", "none"));
        }
        if items == 0 {
            return Err(InvalidInstance::new(Element::Items, "at least one", "none"));
        }
        let cells = capacities.len().checked_mul(items);
        for (element, length) in [(Element::Profits, profits.len()), (Element::Weights, weights.len())] {
            if cells != Some(length) {
                return Err(InvalidInstance::new(element, "one for each bin and item", length));
            }
        }
        if let Some(bin) = capacities.iter().position(|&capacity| capacity == 0) {
            return Err(InvalidInstance::new(Element::BinCapacity(bin), "a positive whole number", 0));
        }
        if let Some(at) = profits.iter().position(|profit| !profit.is_finite()) {
            let element = Element::Profit { bin: at / items, item: at % items };
            return Err(InvalidInstance::new(element, "a finite number", profits[at]));
        }
        Ok(Self { sense, items, capacities, profits, weights })
    }

    /// Whether profits are maximised (each item at most once) or costs minimised (exactly once).
    #[must_use]
    pub fn sense(&self) -> Sense {
        self.sense
    }

    /// Number of items.
    #[must_use]
    pub fn items(&self) -> usize {
        self.items
    }

    /// Number of bins.
    #[must_use]
    pub fn bins(&self) -> usize {
        self.capacities.len()
    }

    /// Capacity of every bin.
    #[must_use]
    pub fn capacities(&self) -> &[u32] {
        &self.capacities
    }

    /// Profit (or cost) of every item in a bin.
    ///
    /// # Panics
    /// If there is no such bin.
    #[must_use]
    pub fn profits(&self, bin: usize) -> &[f64] {
        &self.profits[bin * self.items..(bin + 1) * self.items]
    }

    /// Weight of every item in a bin.
    ///
    /// # Panics
    /// If there is no such bin.
    #[must_use]
    pub fn weights(&self, bin: usize) -> &[u32] {
        &self.weights[bin * self.items..(bin + 1) * self.items]
    }

    /// Profits (or costs) by bin, then item.
    pub(crate) fn all_profits(&self) -> &[f64] {
        &self.profits
    }

    /// Mean total weight of all items in a bin, over the total capacity. Above 1, on average not every item can be
    /// placed.
    #[must_use]
    pub fn tightness(&self) -> f64 {
        let weight: f64 = self.weights.iter().map(|&weight| f64::from(weight)).sum();
        let capacity: f64 = self.capacities.iter().map(|&capacity| f64::from(capacity)).sum();
        weight / self.bins() as f64 / capacity
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_data_are_refused_by_name() {
        let build =
            |items, capacities, profits, weights| Assignment::new(Sense::Maximize, items, capacities, profits, weights);
        assert!(build(2, vec![3], vec![1.0, 2.0], vec![1, 0]).is_ok());
        let element = |result: Result<Assignment, InvalidInstance>| result.unwrap_err().element;
        assert_eq!(element(build(2, vec![], vec![], vec![])), Element::Bins);
        assert_eq!(element(build(0, vec![3], vec![], vec![])), Element::Items);
        assert_eq!(element(build(2, vec![3], vec![1.0], vec![1, 1])), Element::Profits);
        assert_eq!(element(build(2, vec![3], vec![1.0, 2.0], vec![1])), Element::Weights);
        assert_eq!(element(build(2, vec![0], vec![1.0, 2.0], vec![1, 1])), Element::BinCapacity(0));
        assert_eq!(element(build(2, vec![3], vec![1.0, f64::NAN], vec![1, 1])), Element::Profit { bin: 0, item: 1 });
        assert_eq!(element(build(usize::MAX, vec![3, 3], vec![1.0], vec![1])), Element::Profits);
    }
}
