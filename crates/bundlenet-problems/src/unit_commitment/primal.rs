//! Schedules of all units.

use super::instance::{Formulation, UnitCommitment};
use super::lagrangian::VARIABLES;
use crate::{Recovered, Search, Violation};
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

    /// Output and cost of all units times the largest share at which no period has more than its demand. The rest of the
    /// demand is lost. Units may be off in [`Formulation::Chp`], so this is a combination of schedules, too.
    fn scaled(&self, instance: &UnitCommitment) -> Self {
        let output = |period: usize| (0..self.units()).map(|unit| self.at(unit, period)[1]).sum::<f64>();
        let output: Vec<f64> = (0..self.periods).map(output).collect();
        let shares = instance.demand().iter().zip(&output).filter(|(_, output)| **output > 0.0);
        let share = shares.map(|(demand, output)| demand / output).fold(1.0, f64::min);
        let lost = instance.demand().iter().zip(&output).map(|(demand, output)| (demand - share * output).max(0.0));
        let flexible: Vec<f64> = lost.collect();
        let price = UnitCommitment::LOST_LOAD;
        let units = self.cost - price * self.flexible.iter().sum::<f64>();
        Self {
            numbers: self.numbers.iter().map(|numbers| numbers.map(|number| share * number)).collect(),
            cost: share * units + price * flexible.iter().sum::<f64>(),
            flexible,
            ..self.clone()
        }
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
    /// periods on and economic dispatch. Between the two there is a balanced combination in [`Formulation::Chp`] only.
    #[must_use]
    pub fn recover(&self, primal: &Primal) -> Recovered<Schedules> {
        self.recover_within(primal, &Search::default())
    }

    /// As [`UnitCommitment::recover`], with a start and an end of the search for a feasible schedule.
    #[must_use]
    pub fn recover_within(&self, primal: &Primal, search: &Search<'_>) -> Recovered<Schedules> {
        let convex = Schedules::of_primal(self, primal);
        let feasible = super::feasible::find(self, &convex, search);
        let relaxed = (self.formulation() == Formulation::Chp).then(|| convex.scaled(self));
        Recovered { violation: convex.violation(self), convex, relaxed, feasible }
    }

    /// The side payment that each thermal unit needs to accept a schedule at given prices: the profit of its best
    /// schedule minus that of this one.
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

    /// The parts of the uplift of a feasible schedule at given prices.
    ///
    /// # Panics
    /// As [`UnitCommitment::side_payments`].
    #[must_use]
    pub fn uplift(&self, schedules: &Schedules, energy: &[f64], reserve: &[f64]) -> Uplift {
        let is_chp = self.formulation() == Formulation::Chp;
        let price = if is_chp { Self::LOST_LOAD } else { 0.0 };
        let (least, most) =
            if is_chp { (vec![0.0; self.periods()], self.demand().to_vec()) } else { self.renewable_limits() };
        let flexible = (0..self.periods()).map(|period| {
            let margin = energy[period] - price;
            (most[period] - least[period]) * margin.max(0.0) - (schedules.flexible[period] - least[period]) * margin
        });
        let excess = reserve.iter().enumerate().map(|(period, price)| {
            let held: f64 = (0..schedules.units()).map(|unit| schedules.at(unit, period)[2]).sum();
            price * (held - self.reserves()[period])
        });
        let flexible = flexible.sum::<f64>().max(0.0);
        Uplift {
            thermal: self.side_payments(schedules, energy, reserve).iter().sum(),
            renewables: if is_chp { 0.0 } else { flexible },
            load: if is_chp { flexible } else { 0.0 },
            reserve: excess.sum::<f64>().max(0.0),
        }
    }
}

/// The parts of the *uplift*: the cost of a feasible schedule minus the value of the dual at the prices. None is
/// negative.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Uplift {
    /// Side payments to all thermal units: for each, its best profit at the prices minus the profit of its schedule.
    pub thermal: f64,
    /// The same of renewable units: the profit that they lose because the schedule does not use all of their output, or
    /// uses it at negative prices.
    pub renewables: f64,
    /// In [`Formulation::Chp`] the same of the demand, which is worth [`UnitCommitment::LOST_LOAD`] for each MWh.
    pub load: f64,
    /// Value of the reserve that the schedule has beyond the requirement.
    pub reserve: f64,
}

impl Uplift {
    /// The sum of all parts.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.thermal + self.renewables + self.load + self.reserve
    }
}
