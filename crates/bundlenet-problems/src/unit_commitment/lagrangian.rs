//! The Lagrangian dual: demand and reserve dualised, one problem for each unit.
//!
//! ```text
//! LR(lambda, rho) = sum_t lambda_t D_t + rho_t R_t + sum_g phi_g(lambda, rho) - sum_t F_t max(0, lambda_t - m)
//! ```
//!
//! It is maximised over free prices of energy `lambda` and nonnegative prices of reserve `rho`. The last sum is the
//! *flexibility* of a period: in [`Formulation::Pglib`] the output of renewable units above their minimum, at `m = 0`; in
//! [`Formulation::Chp`] the demand that may be lost, at the price of lost load.

use std::ops::Range;

use rayon::prelude::*;

use super::balance::Balance;
use super::instance::{Formulation, UnitCommitment};
use super::merit_order;
use super::unit::{Before, Memory, OutputCost, Prices, Unit, UnitSchedule};
use bundlenet::{
    Bound, Domain, Fingerprint, Interval, Lines, Minorants, Oracle, OracleError, Parts, PrimalOracle, Sense, Solutions,
    SumOracle,
};

/// Least work of a task, in nanoseconds.
const TASK_WORK: f64 = 20_000.0;

/// Variables of a unit and period in a primal solution: on or off, output, reserve.
pub(super) const VARIABLES: usize = 3;

/// The Lagrangian dual of a [`UnitCommitment`] as an oracle.
///
/// There is one free multiplier for each period, the price of energy. If the instance has reserves, as many nonnegative
/// ones follow, the prices of reserve. Components are the thermal units, then the periods that have flexibility. Large
/// instances are evaluated on several threads of the current rayon pool; results are the same for any number of them.
#[derive(Clone, Debug)]
pub struct UnitCommitmentDual {
    instance: UnitCommitment,
    linear: Vec<f64>,
    flexibility: Flexibility,
    point: Vec<f64>,
    tasks: Vec<Task>,
    /// Tasks of an evaluation of some components, and these components. `None` after one of all.
    some: Vec<Task>,
    chosen: Option<Vec<usize>>,
    balance: Balance,
}

/// Amounts that each period may add to its supply at a price for each MWh.
#[derive(Clone, Debug)]
pub(super) struct Flexibility {
    pub(super) price: f64,
    /// Periods with a positive amount.
    pub(super) amounts: Vec<(usize, f64)>,
}

impl Flexibility {
    /// The amount that is used at a price of energy.
    fn used(&self, (period, amount): (usize, f64), energy: &[f64]) -> f64 {
        if energy[period] > self.price { amount } else { 0.0 }
    }

    /// Value and slope of the cut of a flexible period.
    fn cut(&self, flexible: (usize, f64), energy: &[f64]) -> (f64, Option<(u32, f64)>) {
        let (period, used) = (flexible.0, self.used(flexible, energy));
        (-used * (energy[period] - self.price), (used > 0.0).then_some((period as u32, -used)))
    }

    /// Cost and variable of a flexible period. `first` is the number of the variable of the first period.
    fn solution(&self, flexible: (usize, f64), energy: &[f64], first: usize) -> (f64, Option<(u32, f64)>) {
        let used = self.used(flexible, energy);
        (used * self.price, (used > 0.0).then_some(((first + flexible.0) as u32, used)))
    }
}

/// A fixed range of units, its results, and the memory to solve them.
///
/// The number of tasks depends on the instance alone, so that sums run in the same order on any number of threads.
#[derive(Clone, Debug, Default)]
struct Task {
    units: Range<usize>,
    value: f64,
    /// Output and reserve of all units.
    supply: Vec<f64>,
    minorants: Minorants,
    solutions: Solutions,
    memory: Memory,
    schedule: UnitSchedule,
}

/// The results to keep of an evaluation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    Sum,
    Components,
    Solutions,
}

impl UnitCommitmentDual {
    /// The dual of an instance.
    #[must_use]
    pub fn new(instance: &UnitCommitment) -> Self {
        let periods = instance.periods();
        let (least, most) = instance.renewable_limits();
        let (price, amounts): (f64, Vec<f64>) = match instance.formulation() {
            Formulation::Pglib => (0.0, most.iter().zip(&least).map(|(most, least)| most - least).collect()),
            Formulation::Chp => (UnitCommitment::LOST_LOAD, instance.demand().to_vec()),
        };
        let amounts = amounts.into_iter().enumerate().filter(|(_, amount)| *amount > 0.0).collect();
        let mut linear: Vec<f64> = instance.demand().iter().zip(&least).map(|(demand, least)| demand - least).collect();
        if instance.has_reserve_prices() {
            linear.extend_from_slice(instance.reserves());
        }
        let work: Vec<f64> = instance.units().iter().map(|unit| unit.work(periods, linear.len() > periods)).collect();
        let task = |units: Range<usize>| Task { units, supply: vec![0.0; linear.len()], ..Task::default() };
        let tasks = ranges(&work).into_iter().map(task).collect();
        let flexibility = Flexibility { price, amounts };
        Self {
            point: vec![0.0; linear.len()],
            tasks,
            some: vec![],
            chosen: None,
            balance: Balance::new(instance, &linear, &flexibility),
            flexibility,
            linear,
            instance: instance.clone(),
        }
    }

    /// The instance.
    #[must_use]
    pub fn instance(&self) -> &UnitCommitment {
        &self.instance
    }

    /// Balances all schedules of a run with fixed periods on.
    pub(super) fn settle(&mut self, is_over: &dyn Fn() -> bool) {
        self.balance.settle(is_over);
    }

    /// Output and reserve of every unit in the cheapest balanced combination of schedules, if one was found.
    pub(super) fn combination(&self) -> Option<&[Vec<f64>]> {
        self.balance.combination()
    }

    /// From now on, runs with fixed periods on look for balanced combinations as those of other instances do.
    pub(super) fn prove_dispatches(&mut self) {
        self.balance.prove_dispatches();
    }

    fn run(&mut self, point: &[f64], keep: Keep) {
        self.point.copy_from_slice(point);
        self.chosen = None;
        let (instance, point) = (&self.instance, &self.point);
        if self.tasks.len() > 1 && rayon::current_num_threads() > 1 {
            self.tasks.par_iter_mut().for_each(|task| task.run(instance, point, keep));
        } else {
            self.tasks.iter_mut().for_each(|task| task.run(instance, point, keep));
        }
    }

    /// Solves some components at the last point, in tasks of as many components as all have on average.
    fn run_some(&mut self, components: &[usize], keep: Keep) {
        let per_task = self.component_count().div_ceil(self.tasks.len().max(1)).max(1);
        let count = components.len().div_ceil(per_task);
        // Tasks that are not needed keep their memory: the next call may need them.
        self.some.resize_with(count.max(self.some.len()), Task::default);
        self.some.iter_mut().skip(count).for_each(Task::clear);
        let (instance, point, flexibility) = (&self.instance, &self.point, &self.flexibility);
        let first = self.first_flexible();
        let run = |(task, components): (&mut Task, &[usize])| {
            task.clear();
            for &component in components {
                match component.checked_sub(instance.units().len()) {
                    None => task.solve(instance, point, keep, component),
                    Some(place) => {
                        let flexible = flexibility.amounts[place];
                        match keep {
                            Keep::Solutions => {
                                let (cost, variable) = flexibility.solution(flexible, point, first);
                                task.solutions.push(cost, variable);
                            }
                            _ => {
                                let (value, entry) = flexibility.cut(flexible, point);
                                task.minorants.push(value, entry);
                            }
                        }
                    }
                }
            }
        };
        let tasks = self.some.iter_mut().zip(components.chunks(per_task));
        if count > 1 && rayon::current_num_threads() > 1 {
            tasks.collect::<Vec<_>>().into_par_iter().for_each(run);
        } else {
            tasks.for_each(run);
        }
    }

    /// Number of the variable that stands for the flexibility of the first period.
    fn first_flexible(&self) -> usize {
        VARIABLES * self.instance.units().len() * self.instance.periods()
    }
}

/// Ranges of units with enough work for a task each.
fn ranges(work: &[f64]) -> Vec<Range<usize>> {
    let (mut ranges, mut start, mut sum) = (vec![], 0, 0.0);
    for (unit, work) in work.iter().enumerate() {
        sum += work;
        if sum >= TASK_WORK {
            ranges.push(start..unit + 1);
            (start, sum) = (unit + 1, 0.0);
        }
    }
    if start < work.len() {
        ranges.push(start..work.len());
    }
    ranges
}

impl Task {
    fn run(&mut self, instance: &UnitCommitment, point: &[f64], keep: Keep) {
        self.clear();
        self.units.clone().for_each(|index| self.solve(instance, point, keep, index));
    }

    fn clear(&mut self) {
        self.value = 0.0;
        self.supply.fill(0.0);
        self.minorants.clear();
        self.solutions.clear();
    }

    fn solve(&mut self, instance: &UnitCommitment, point: &[f64], keep: Keep, index: usize) {
        let (unit, prices) = (&instance.units()[index], Prices::new(point, instance.periods()));
        let value = unit.solve(prices, &mut self.memory, &mut self.schedule);
        match keep {
            Keep::Sum => self.add(value, instance.periods()),
            Keep::Components => self.minorants.push(value, slope(&self.schedule, prices.reserve.is_some())),
            Keep::Solutions => {
                let variables = variables(&self.schedule, index * instance.periods());
                self.solutions.push(unit.cost_of(&self.schedule), variables);
            }
        }
    }

    fn add(&mut self, value: f64, periods: usize) {
        self.value += value;
        let (output, reserve) = self.supply.split_at_mut(periods);
        output.iter_mut().zip(&self.schedule.output).for_each(|(sum, amount)| *sum += amount);
        reserve.iter_mut().zip(&self.schedule.reserve).for_each(|(sum, amount)| *sum += amount);
    }
}

/// The slope of a schedule's cut: its output and reserve, negative.
fn slope(schedule: &UnitSchedule, has_reserve: bool) -> impl Iterator<Item = (u32, f64)> {
    let periods = schedule.output.len();
    let reserve = if has_reserve { &schedule.reserve[..] } else { &[] };
    let entries = schedule.output.iter().chain(reserve).enumerate().filter(|(_, amount)| **amount != 0.0);
    debug_assert!(reserve.is_empty() || reserve.len() == periods);
    entries.map(|(place, amount)| (place as u32, -amount))
}

/// The variables of a schedule that are not 0. `first` is the unit times the number of periods.
fn variables(schedule: &UnitSchedule, first: usize) -> impl Iterator<Item = (u32, f64)> {
    let on = schedule.is_on.iter().enumerate().filter(|(_, is_on)| **is_on);
    let numbers = on.flat_map(move |(period, _)| {
        let place = (VARIABLES * (first + period)) as u32;
        [(place, 1.0), (place + 1, schedule.output[period]), (place + 2, schedule.reserve[period])]
    });
    numbers.filter(|(_, number)| *number != 0.0)
}

impl Unit {
    /// Work of a solution in nanoseconds, measured along trajectories (`cargo bench --bench oracles`).
    fn work(&self, periods: usize, has_reserve: bool) -> f64 {
        let periods = periods as f64;
        let pieces = (self.cost.bends.len() + 1) as f64;
        let categories = if self.start_costs.count > 1 { 0.7 * periods * periods } else { 0.0 };
        let runs = if self.fixed.is_some() {
            periods * (12.0 + 6.0 * pieces)
        } else if self.is_free() {
            periods * (15.0 + 6.0 * pieces)
        } else {
            // Of all periods of all runs, bounds leave about half.
            let steps = 0.25 * periods * periods * if self.can_restart { 2.0 } else { 1.0 };
            steps * (12.0 + 6.0 * pieces + if has_reserve { 8.0 } else { 0.0 })
        };
        categories + runs
    }

    fn fingerprint(&self, hash: Fingerprint) -> Fingerprint {
        let OutputCost { base, slope, bends } = &self.cost;
        let whole = |flag: bool| u64::from(flag);
        let limits = [self.minimum, self.range, self.ramp_up, self.ramp_down];
        let caps = [self.start_cap, self.stop_cap, self.stop_output, *base, *slope];
        let bends: Vec<f64> = bends.iter().flat_map(|(at, change)| [*at, *change]).collect();
        let hash = hash.numbers(&limits).numbers(&caps).whole(bends.len() as u64).numbers(&bends);
        let hash = self.fixed.iter().flatten().fold(hash, |hash, is_on| hash.whole(whole(*is_on)));
        let hash = hash.whole(self.up as u64).whole(self.down as u64);
        let hash = hash.whole(whole(self.must_run)).whole(whole(self.can_restart));
        let costs = &self.start_costs;
        let hash = costs.categories.iter().fold(hash, |hash, category| hash.whole(*category as u64));
        let hash = hash.numbers(&costs.by_start).numbers(&costs.first);
        match self.before {
            Before::Free => hash.whole(0),
            Before::On { output, stay, can_stop } => {
                hash.whole(1).numbers(&[output]).whole(stay as u64).whole(whole(can_stop))
            }
            Before::Off { earliest } => hash.whole(2).whole(earliest as u64),
        }
    }
}

impl Oracle for UnitCommitmentDual {
    fn dim(&self) -> usize {
        self.linear.len()
    }

    fn sense(&self) -> Sense {
        Sense::Maximize
    }

    fn domain(&self) -> Domain {
        let periods = self.instance.periods();
        if self.linear.len() == periods {
            return Domain::Free;
        }
        let bounds = [Bound::Free, Bound::Nonnegative];
        Domain::PerCoordinate(bounds.into_iter().flat_map(|bound| std::iter::repeat_n(bound, periods)).collect())
    }

    fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        self.run(point, Keep::Sum);
        subgradient.copy_from_slice(&self.linear);
        let mut value: f64 = self.linear.iter().zip(point).map(|(amount, price)| amount * price).sum();
        for task in &self.tasks {
            value += task.value;
            subgradient.iter_mut().zip(&task.supply).for_each(|(entry, amount)| *entry -= amount);
        }
        for &flexible in &self.flexibility.amounts {
            let (period, used) = (flexible.0, self.flexibility.used(flexible, point));
            value -= used * (point[period] - self.flexibility.price);
            subgradient[period] -= used;
        }
        Ok(value)
    }

    /// Prices of energy in merit order (`merit_order.rs`), and none of reserve.
    fn start(&self) -> Option<Vec<f64>> {
        let mut start = merit_order::prices(&self.instance);
        start.resize(self.linear.len(), 0.0);
        Some(start)
    }

    fn work(&self) -> Option<f64> {
        let (periods, has_reserve) = (self.instance.periods(), self.linear.len() > self.instance.periods());
        Some(self.instance.units().iter().map(|unit| unit.work(periods, has_reserve)).sum())
    }

    fn as_sum(&mut self) -> Option<&mut dyn SumOracle> {
        Some(self)
    }

    fn as_primal(&mut self) -> Option<&mut dyn PrimalOracle> {
        Some(self)
    }
}

impl PrimalOracle for UnitCommitmentDual {
    /// Solves the units again at the last point. Keeping their schedules would cost time in runs that do not need them.
    fn write_solutions(&mut self, solutions: &mut Solutions) {
        if let Some(chosen) = self.chosen.take() {
            self.run_some(&chosen, Keep::Solutions);
            self.some.iter().for_each(|task| solutions.append(&task.solutions));
            self.chosen = Some(chosen);
            return;
        }
        let point = self.point.clone();
        self.run(&point, Keep::Solutions);
        self.tasks.iter().for_each(|task| solutions.append(&task.solutions));
        for &flexible in &self.flexibility.amounts {
            let (cost, variable) = self.flexibility.solution(flexible, &point, self.first_flexible());
            solutions.push(cost, variable);
        }
    }
}

impl SumOracle for UnitCommitmentDual {
    fn component_count(&self) -> usize {
        self.instance.units().len() + self.flexibility.amounts.len()
    }

    fn linear(&self) -> &[f64] {
        &self.linear
    }

    fn evaluate_components(&mut self, point: &[f64], minorants: &mut Minorants) -> Result<(), OracleError> {
        self.run(point, Keep::Components);
        self.tasks.iter().for_each(|task| minorants.append(&task.minorants));
        for &flexible in &self.flexibility.amounts {
            let (value, entry) = self.flexibility.cut(flexible, point);
            minorants.push(value, entry);
        }
        self.balance.learn(point, minorants);
        Ok(())
    }

    fn evaluate_some(
        &mut self,
        components: &[usize],
        point: &[f64],
        minorants: &mut Minorants,
    ) -> Result<(), OracleError> {
        self.point.copy_from_slice(point);
        self.run_some(components, Keep::Components);
        self.some.iter().for_each(|task| minorants.append(&task.minorants));
        let mut chosen = self.chosen.take().unwrap_or_default();
        chosen.clear();
        chosen.extend_from_slice(components);
        self.chosen = Some(chosen);
        Ok(())
    }

    fn parts(&self) -> Parts {
        Parts::Anywhere
    }

    /// The schedules are columns of the proof.
    fn gathered(&mut self, point: &[f64], minorants: &Minorants) {
        self.balance.learn(point, minorants);
    }

    /// In the order of [`Oracle::evaluate`]: each task for itself, then all tasks.
    fn add_up(&self, point: &[f64], minorants: &Minorants, subgradient: &mut [f64]) -> Interval {
        subgradient.copy_from_slice(&self.linear);
        let mut value: f64 = self.linear.iter().zip(point).map(|(amount, price)| amount * price).sum();
        let mut supply = vec![0.0; self.linear.len()];
        for task in &self.tasks {
            supply.fill(0.0);
            let mut sum = 0.0;
            for unit in task.units.clone() {
                sum += minorants.values()[unit];
                let (coordinates, entries) = minorants.subgradient(unit);
                coordinates.iter().zip(entries).for_each(|(&at, entry)| supply[at as usize] -= entry);
            }
            value += sum;
            subgradient.iter_mut().zip(&supply).for_each(|(entry, amount)| *entry -= amount);
        }
        for (place, &(period, _)) in self.flexibility.amounts.iter().enumerate() {
            let index = self.instance.units().len() + place;
            value += minorants.values()[index];
            subgradient[period] += minorants.subgradient(index).1.first().copied().unwrap_or(0.0);
        }
        Interval::exact(value)
    }

    /// All data of a unit's subproblem, or the flexibility of a period.
    fn fingerprint(&self, component: usize) -> Option<u64> {
        let periods = self.instance.periods();
        let hash = Fingerprint::new().whole(periods as u64).whole(self.linear.len() as u64);
        let hash = match component.checked_sub(self.instance.units().len()) {
            None => self.instance.units()[component].fingerprint(hash.whole(0)),
            Some(place) => {
                let (period, amount) = self.flexibility.amounts[place];
                hash.whole(1).whole(period as u64).numbers(&[amount, self.flexibility.price])
            }
        };
        Some(hash.finish())
    }

    /// The combined schedules nearly meet demand and reserve. If they can be balanced, their cost is a bound.
    fn prove(&mut self, aggregate: &Lines) -> Option<f64> {
        self.balance.prove(aggregate, &|| false)
    }

    fn prove_until(&mut self, aggregate: &Lines, is_over: &dyn Fn() -> bool) -> Option<f64> {
        self.balance.prove(aggregate, is_over)
    }
}
