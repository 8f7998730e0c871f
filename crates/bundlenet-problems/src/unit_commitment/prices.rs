//! Prices of energy and reserve, and the answers of units to them.

use super::instance::UnitCommitment;
use super::unit::{Memory, Prices, UnitSchedule};

/// The schedule with which a unit earns most at given prices.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// Income minus cost.
    pub profit: f64,
    /// Cost of the schedule.
    pub cost: f64,
    /// Whether the unit is on, in each period.
    pub is_on: Vec<bool>,
    /// Output in each period, in MW.
    pub output: Vec<f64>,
    /// Reserve in each period, in MW.
    pub reserve: Vec<f64>,
}

impl UnitCommitment {
    /// Splits multipliers of the dual into prices of energy and prices of reserve. The second list is empty if the
    /// instance has none.
    ///
    /// # Panics
    /// If there are fewer multipliers than periods.
    #[must_use]
    pub fn split_prices<'a>(&self, multipliers: &'a [f64]) -> (&'a [f64], &'a [f64]) {
        multipliers.split_at(self.periods())
    }

    /// The best schedule of a thermal unit at given prices. Without prices of reserve it offers none.
    ///
    /// # Panics
    /// If there is no such unit, or if the prices are not one for each period.
    #[must_use]
    pub fn best_response(&self, unit: usize, energy: &[f64], reserve: &[f64]) -> Response {
        let periods = self.periods();
        assert_eq!(energy.len(), periods, "expected one price of energy for each period");
        assert!(reserve.is_empty() || reserve.len() == periods, "expected one price of reserve for each period");
        let prices = Prices { energy, reserve: (!reserve.is_empty()).then_some(reserve) };
        let (unit, mut schedule) = (&self.units()[unit], UnitSchedule::default());
        let value = unit.solve(prices, &mut Memory::default(), &mut schedule);
        let cost = unit.cost_of(&schedule);
        let UnitSchedule { output, reserve, is_on, .. } = schedule;
        Response { profit: -value, cost, is_on, output, reserve }
    }
}
