//! The instance type, with the names of the published files.

use std::fmt;
use std::str::FromStr;

use super::unit::{Memory, Prices, Unit, UnitSchedule};
use crate::error::{Element, InvalidInstance};

/// Most periods. It bounds the memory of a unit's dynamic program.
const MOST_PERIODS: usize = 1 << 11;

/// Most units times periods. It keeps the numbers of primal variables within 32 bits.
const MOST_PRODUCT: usize = 1 << 27;

/// Largest number. A power or a cost of this size has a round-off of 1e-4; much larger ones leave no digits for the other
/// units, so that sums over all units and proofs have no meaning.
const MOST: f64 = 1e12;

/// The model of a file's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Formulation {
    /// The reference model of pglib-uc: initial states, reserves, renewables, piecewise linear costs, start categories.
    Pglib,
    /// The model of ConvexHullPricing.jl: free initial states, one marginal cost for each unit, demand that may be lost.
    Chp,
}

impl Formulation {
    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pglib => "pglib",
            Self::Chp => "chp",
        }
    }
}

impl fmt::Display for Formulation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Formulation {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        [Self::Pglib, Self::Chp]
            .into_iter()
            .find(|formulation| formulation.name() == name)
            .ok_or_else(|| format!("expected pglib or chp, found {name:?}"))
    }
}

/// A thermal generating unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThermalUnit {
    /// Its name.
    pub name: String,
    /// Least and greatest output when on, in MW.
    pub output_minimum: f64,
    /// As `output_minimum`.
    pub output_maximum: f64,
    /// Most increase of the output from one period to the next.
    pub ramp_up: f64,
    /// Most decrease of the output from one period to the next.
    pub ramp_down: f64,
    /// Most output in the period of a start. The least output if `None`.
    pub startup_ramp: Option<f64>,
    /// Most output in the last period before a stop. The least output if `None`.
    pub shutdown_ramp: Option<f64>,
    /// Periods that it is on after a start, at least.
    pub up_minimum: usize,
    /// Periods that it is off after a stop, at least.
    pub down_minimum: usize,
    /// Whether it is on in every period.
    pub must_run: bool,
    /// Cost of a period in which it is on, in [`Formulation::Chp`]. The minimum down time if `None`, as in that model.
    pub no_load_cost: Option<f64>,
    /// Costs of a period at outputs from the least to the greatest one. [`Formulation::Chp`] reads the cost of the first
    /// point as the marginal cost.
    pub production: Vec<CostPoint>,
    /// Costs of a start by the time off before, in ascending order.
    pub startup: Vec<StartCategory>,
    /// State before the first period.
    pub initial: Option<InitialState>,
}

/// Cost of an output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostPoint {
    /// The output, in MW.
    pub output: Option<f64>,
    /// The cost.
    pub cost: f64,
}

/// Cost of a start after a time off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StartCategory {
    /// Periods off before the start, at least.
    pub lag: Option<usize>,
    /// The cost.
    pub cost: f64,
}

/// State of a unit before the first period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InitialState {
    /// Whether it is on.
    pub is_on: bool,
    /// Its output, in MW.
    pub output: f64,
    /// Periods that it has been on.
    pub time_up: usize,
    /// Periods that it has been off.
    pub time_down: usize,
}

/// A renewable unit: any output within its limits, without cost.
#[derive(Clone, Debug, PartialEq)]
pub struct RenewableUnit {
    /// Its name.
    pub name: String,
    /// Least output in each period.
    pub output_minimum: Vec<f64>,
    /// Greatest output in each period.
    pub output_maximum: Vec<f64>,
}

/// A valid instance of unit commitment.
#[derive(Clone, Debug, PartialEq)]
pub struct UnitCommitment {
    formulation: Formulation,
    demand: Vec<f64>,
    reserves: Vec<f64>,
    thermal: Vec<ThermalUnit>,
    renewable: Vec<RenewableUnit>,
    /// The subproblems of the thermal units.
    units: Vec<Unit>,
}

impl UnitCommitment {
    /// Price of demand that is lost in [`Formulation::Chp`], for each MWh.
    pub const LOST_LOAD: f64 = 3000.0;

    /// Builds an instance. `demand` has one number for each period. `reserves` has as many, or none. Without a
    /// formulation it is [`Formulation::Pglib`] if all units have initial states, else [`Formulation::Chp`].
    ///
    /// # Errors
    /// If there is no unit or no period, a number is negative or larger than 1e12, a list has the wrong length, or limits
    /// contradict each other. If a unit does not have all data of the formulation, or has no feasible schedule.
    pub fn new(
        formulation: Option<Formulation>,
        demand: Vec<f64>,
        reserves: Vec<f64>,
        thermal: Vec<ThermalUnit>,
        renewable: Vec<RenewableUnit>,
    ) -> Result<Self, InvalidInstance> {
        check_sizes(demand.len(), thermal.len())?;
        let periods = demand.len();
        if !reserves.is_empty() && reserves.len() != periods {
            return Err(InvalidInstance::new(Element::Reserves, "one for each period, or none", reserves.len()));
        }
        check_all(&demand, Element::PeriodDemand)?;
        check_all(&reserves, Element::Reserve)?;
        for (index, unit) in renewable.iter().enumerate() {
            unit.check(index, periods)?;
        }
        let has_states = thermal.iter().all(|unit| unit.initial.is_some());
        let formulation = formulation.unwrap_or(if has_states { Formulation::Pglib } else { Formulation::Chp });
        let mut memory = Memory::default();
        let units = thermal.iter().enumerate().map(|(index, data)| {
            data.check(index)?;
            let unit = match formulation {
                Formulation::Pglib => data.pglib_unit(index, periods)?,
                Formulation::Chp => data.chp_unit(index, periods)?,
            };
            check_schedule(&unit, index, periods, &mut memory)?;
            Ok(unit)
        });
        let units = units.collect::<Result<_, InvalidInstance>>()?;
        Ok(Self { formulation, demand, reserves, thermal, renewable, units })
    }

    /// The model of its data.
    #[must_use]
    pub fn formulation(&self) -> Formulation {
        self.formulation
    }

    /// Number of periods.
    #[must_use]
    pub fn periods(&self) -> usize {
        self.demand.len()
    }

    /// Demand in each period, in MW.
    #[must_use]
    pub fn demand(&self) -> &[f64] {
        &self.demand
    }

    /// Reserve required in each period, in MW. Empty if the file states none.
    #[must_use]
    pub fn reserves(&self) -> &[f64] {
        &self.reserves
    }

    /// The thermal units.
    #[must_use]
    pub fn thermal_units(&self) -> &[ThermalUnit] {
        &self.thermal
    }

    /// The renewable units.
    #[must_use]
    pub fn renewable_units(&self) -> &[RenewableUnit] {
        &self.renewable
    }

    /// Greatest output of all thermal units together.
    #[must_use]
    pub fn thermal_capacity(&self) -> f64 {
        self.thermal.iter().map(|unit| unit.output_maximum).sum()
    }

    /// Whether the formulation has a price of reserve: it has reserves, and one of them is positive.
    #[must_use]
    pub fn has_reserve_prices(&self) -> bool {
        self.formulation == Formulation::Pglib && self.reserves.iter().any(|reserve| *reserve > 0.0)
    }

    /// Whether [`Formulation::Chp`] ignores data of the units: initial states, or costs at more than one output.
    #[must_use]
    pub fn has_unused_data(&self) -> bool {
        let is_unused = |unit: &ThermalUnit| unit.initial.is_some() || unit.production.len() > 1;
        self.formulation == Formulation::Chp && self.thermal.iter().any(is_unused)
    }

    /// Least and greatest output of all renewable units together, by period. [`Formulation::Chp`] has none.
    #[must_use]
    pub fn renewable_limits(&self) -> (Vec<f64>, Vec<f64>) {
        let mut limits = (vec![0.0; self.periods()], vec![0.0; self.periods()]);
        for unit in self.renewable.iter().filter(|_| self.formulation == Formulation::Pglib) {
            limits.0.iter_mut().zip(&unit.output_minimum).for_each(|(sum, output)| *sum += output);
            limits.1.iter_mut().zip(&unit.output_maximum).for_each(|(sum, output)| *sum += output);
        }
        limits
    }

    /// The same instance, whose units are on in given periods, by unit.
    pub(super) fn with_fixed(&self, patterns: Vec<Vec<bool>>) -> Self {
        let mut fixed = self.clone();
        fixed.units.iter_mut().zip(patterns).for_each(|(unit, pattern)| unit.fixed = Some(pattern));
        fixed
    }

    /// Whether the periods on are fixed.
    pub(super) fn is_fixed(&self) -> bool {
        self.units.iter().any(|unit| unit.fixed.is_some())
    }

    /// The subproblems of the thermal units.
    pub(super) fn units(&self) -> &[Unit] {
        &self.units
    }
}

fn check_sizes(periods: usize, units: usize) -> Result<(), InvalidInstance> {
    if !(1..=MOST_PERIODS).contains(&periods) {
        return Err(InvalidInstance::new(Element::Periods, "from 1 to 2048", periods));
    }
    if units == 0 {
        return Err(InvalidInstance::new(Element::Units, "at least one", "none"));
    }
    let product = units.saturating_add(1).saturating_mul(periods);
    if product > MOST_PRODUCT {
        return Err(InvalidInstance::new(Element::Units, "units times periods within 2^27", product));
    }
    Ok(())
}

fn check_all(numbers: &[f64], element: impl Fn(usize) -> Element) -> Result<(), InvalidInstance> {
    numbers.iter().enumerate().try_for_each(|(index, number)| check_number(*number, element(index)))
}

fn check_number(number: f64, element: Element) -> Result<(), InvalidInstance> {
    if (0.0..=MOST).contains(&number) {
        return Ok(());
    }
    Err(InvalidInstance::new(element, "a nonnegative number up to 1e12", shown(number)))
}

/// A number without a row of zeros.
fn shown(number: f64) -> String {
    if number.abs() > MOST { format!("{number:e}") } else { number.to_string() }
}

/// Refuses a unit whose limits allow no schedule.
fn check_schedule(unit: &Unit, index: usize, periods: usize, memory: &mut Memory) -> Result<(), InvalidInstance> {
    let zeros = vec![0.0; periods];
    let prices = Prices { energy: &zeros, reserve: None };
    if unit.solve(prices, memory, &mut UnitSchedule::default()).is_finite() {
        return Ok(());
    }
    Err(InvalidInstance::new(Element::Unit(index), "limits that some schedule meets", "no schedule"))
}

impl ThermalUnit {
    /// Checks the data that both formulations need.
    fn check(&self, index: usize) -> Result<(), InvalidInstance> {
        check_number(self.output_minimum, Element::OutputMinimum(index))?;
        check_number(self.output_maximum, Element::OutputMaximum(index))?;
        if self.output_maximum < self.output_minimum {
            let expected = "at least the minimum output";
            return Err(InvalidInstance::new(Element::OutputMaximum(index), expected, self.output_maximum));
        }
        check_number(self.ramp_up, Element::RampUp(index))?;
        check_number(self.ramp_down, Element::RampDown(index))?;
        self.startup_ramp.map_or(Ok(()), |ramp| check_number(ramp, Element::StartupRamp(index)))?;
        self.shutdown_ramp.map_or(Ok(()), |ramp| check_number(ramp, Element::ShutdownRamp(index)))?;
        self.no_load_cost.map_or(Ok(()), |cost| check_number(cost, Element::NoLoadCost(index)))?;
        if self.production.is_empty() {
            return Err(InvalidInstance::new(Element::Production(index), "at least one point", "none"));
        }
        if let Some(point) = self.production.iter().find(|point| !(-MOST..=MOST).contains(&point.cost)) {
            return Err(InvalidInstance::new(Element::Production(index), "from -1e12 to 1e12", shown(point.cost)));
        }
        if self.startup.is_empty() {
            return Err(InvalidInstance::new(Element::Startup(index), "at least one category", "none"));
        }
        self.startup.iter().try_for_each(|category| check_number(category.cost, Element::Startup(index)))
    }
}

impl RenewableUnit {
    fn check(&self, index: usize, periods: usize) -> Result<(), InvalidInstance> {
        let element = Element::RenewableUnit(index);
        for limits in [&self.output_minimum, &self.output_maximum] {
            if limits.len() != periods {
                return Err(InvalidInstance::new(element, "one limit for each period", limits.len()));
            }
            check_all(limits, |_| element)?;
        }
        let mut limits = self.output_minimum.iter().zip(&self.output_maximum);
        match limits.find(|(minimum, maximum)| minimum > maximum) {
            Some((minimum, _)) => Err(InvalidInstance::new(element, "a minimum within the maximum", minimum)),
            None => Ok(()),
        }
    }
}
