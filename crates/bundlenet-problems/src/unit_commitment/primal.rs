//! Schedules of all units.

use super::instance::UnitCommitment;
use super::lagrangian::VARIABLES;
use crate::{Recovered, Violation};
use bundlenet::Primal;

/// The schedule of every unit. In a feasible schedule a unit is on (1) or off (0); a convex combination lies between.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedules {
    periods: usize,
    /// By unit, then period: share on, output, reserve.
    numbers: Vec<[f64; VARIABLES]>,
    /// By period.
    flexible: Vec<f64>,
    cost: f64,
    /// Costs of the thermal units of a feasible schedule; empty for a combination.
    unit_costs: Vec<f64>,
}

impl Schedules {
    /// Its cost.
    #[must_use]
    pub fn cost(&self) -> f64 {
        self.cost
    }

    /// Number of periods.
    #[must_use]
    pub fn periods(&self) -> usize {
        self.periods
    }

    /// Number of units.
    #[must_use]
    pub fn units(&self) -> usize {
        self.numbers.len() / self.periods
    }

    /// Share on, output and reserve of a unit in a period.
    ///
    /// # Panics
    /// If there is no such unit or period.
    #[must_use]
    pub fn at(&self, unit: usize, period: usize) -> [f64; 3] {
        assert!(period < self.periods, "expected a period below {}, found {period}", self.periods);
        self.numbers[unit * self.periods + period]
    }

    /// In each period: the output of all renewable units in [`Formulation::Pglib`](super::Formulation::Pglib), the demand that is lost in
    /// [`Formulation::Chp`](super::Formulation::Chp).
    #[must_use]
    pub fn flexible(&self) -> &[f64] {
        &self.flexible
    }

    /// A feasible schedule, with the cost of each thermal unit and of the flexible amounts.
    pub(super) fn feasible(
        periods: usize,
        numbers: Vec<[f64; VARIABLES]>,
        flexible: (Vec<f64>, f64),
        unit_costs: Vec<f64>,
    ) -> Self {
        Self { periods, numbers, cost: unit_costs.iter().sum::<f64>() + flexible.1, flexible: flexible.0, unit_costs }
    }

    /// The primal solution of a run, in the problem's terms.
    fn of_primal(instance: &UnitCommitment, primal: &Primal) -> Self {
        let (periods, units) = (instance.periods(), instance.units().len());
        let mut numbers = vec![[0.0; VARIABLES]; units * periods];
        let mut flexible = instance.renewable_limits().0;
        for &(variable, number) in &primal.variables {
            let (place, which) = (variable as usize / VARIABLES, variable as usize % VARIABLES);
            if let Some(numbers) = numbers.get_mut(place) {
                numbers[which] = number;
            } else if let Some(flexible) = flexible.get_mut(variable as usize - VARIABLES * units * periods) {
                *flexible += number;
            }
        }
        Self { periods, numbers, flexible, cost: primal.cost, unit_costs: vec![] }
    }

    /// Violation of demand and reserve.
    fn violation(&self, instance: &UnitCommitment) -> Violation {
        let mut violation = Violation::default();
        for (period, demand) in instance.demand().iter().enumerate() {
            let sum = |which: usize| (0..self.units()).map(|unit| self.at(unit, period)[which]).sum::<f64>();
            violation.add((demand - sum(1) - self.flexible[period]).abs());
            if instance.has_reserve_prices() {
                violation.add((instance.reserves()[period] - sum(2)).max(0.0));
            }
        }
        violation
    }
}

impl UnitCommitment {
    /// The primal solution of a run on the dual: the convex combination itself, and a feasible schedule by fixing the
    /// periods on and economic dispatch. There is no repair between the two.
    #[must_use]
    pub fn recover(&self, primal: &Primal) -> Recovered<Schedules> {
        let convex = Schedules::of_primal(self, primal);
        let feasible = super::feasible::find(self, &convex);
        Recovered { violation: convex.violation(self), convex, relaxed: None, feasible }
    }

    /// The side payment that each thermal unit needs to accept a schedule at given prices: the profit of its best
    /// schedule minus that of this one. Their sum is the *uplift*.
    ///
    /// # Panics
    /// If the prices are not one for each period, or the schedules are those of another instance.
    #[must_use]
    pub fn side_payments(&self, schedules: &Schedules, energy: &[f64], reserve: &[f64]) -> Vec<f64> {
        let payment = |unit: usize| {
            let prices = energy.iter().enumerate().map(|(period, energy)| {
                let [_, output, held] = schedules.at(unit, period);
                energy * output + reserve.get(period).copied().unwrap_or(0.0) * held
            });
            let profit = prices.sum::<f64>() - schedules.unit_costs[unit];
            // Below 0 there is only round-off.
            (self.best_response(unit, energy, reserve).profit - profit).max(0.0)
        };
        (0..schedules.units()).map(payment).collect()
    }
}
