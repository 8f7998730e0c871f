//! One unit against prices: its least cost minus its income, exactly.
//!
//! [`Commitments`] is a dynamic program over the starts and stops of a unit. The output between a start and a stop is a
//! *run*. If ramps do not bind, the periods of a run are independent ([`free`](super::free)). Else a convex function of
//! the output goes from period to period ([`ramped`](super::ramped)).

use super::commitments::{Commitments, Stretch};
use super::free::FreeRuns;
use super::ramped::RampedRuns;

/// The subproblem of one unit, the same for both formulations. Outputs are above the minimum, and periods count from 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Unit {
    /// Output of a unit that is on, at least.
    pub(super) minimum: f64,
    /// Greatest output above the minimum.
    pub(super) range: f64,
    pub(super) ramp_up: f64,
    pub(super) ramp_down: f64,
    /// Most output and reserve together in the period of a start. Negative if the unit cannot start.
    pub(super) start_cap: f64,
    /// Most output and reserve together in the last period before a stop. Negative if the unit cannot stop.
    pub(super) stop_cap: f64,
    /// Most output in that period; at most `stop_cap`.
    pub(super) stop_output: f64,
    pub(super) cost: OutputCost,
    /// Periods that a unit is on after a start, and off after a stop, at least; positive.
    pub(super) up: usize,
    pub(super) down: usize,
    pub(super) start_costs: StartCosts,
    pub(super) before: Before,
    pub(super) must_run: bool,
    /// A stop and a start may fall in the same period. The unit stays on, pays the start, and may change its output
    /// beyond its ramps.
    pub(super) can_restart: bool,
    /// The periods in which the unit is on, if they are fixed.
    pub(super) fixed: Option<Vec<bool>>,
}

/// A convex piecewise linear cost of the output above the minimum.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct OutputCost {
    /// Cost of a period at the minimum.
    pub(super) base: f64,
    pub(super) slope: f64,
    /// Positions, and increases of the slope there.
    pub(super) bends: Vec<(f64, f64)>,
}

impl OutputCost {
    pub(super) fn at(&self, output: f64) -> f64 {
        let bends = self.bends.iter().map(|(at, change)| change * (output - at).max(0.0));
        self.base + self.slope * output + bends.sum::<f64>()
    }

    /// Minimum of the cost without its base plus `price p` over `[low, high]`, and a minimiser.
    #[inline]
    pub(super) fn cheapest(&self, price: f64, low: f64, high: f64) -> (f64, f64) {
        let mut slope = self.slope + price;
        let mut bends = self.bends.iter();
        let (mut value, mut at) = (0.0, 0.0_f64);
        loop {
            let bend = bends.next();
            let end = bend.map_or(high, |bend| bend.0.min(high));
            if end >= low && slope >= 0.0 {
                let output = at.max(low);
                return (value + slope * (output - at), output);
            }
            value += slope * (end - at);
            at = end;
            match bend {
                Some((_, change)) if end < high => slope += change,
                _ => return (value, high),
            }
        }
    }
}

/// Costs of a start by the number of periods that the unit was off before.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct StartCosts {
    /// Category of a start after a number of periods off.
    pub(super) categories: Vec<usize>,
    /// By period of the start, then category.
    pub(super) by_start: Vec<f64>,
    /// By period: cost of the first start of a unit that was off before the horizon, or may have been.
    pub(super) first: Vec<f64>,
    /// Number of categories.
    pub(super) count: usize,
}

impl StartCosts {
    #[inline]
    pub(super) fn after(&self, start: usize, periods_off: usize) -> f64 {
        self.by_start[start * self.count + self.categories[periods_off]]
    }
}

/// The state before the first period.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Before {
    /// On or off, as it pays.
    #[default]
    Free,
    /// On at an output above the minimum. The unit stays on for some periods, or may stop at once.
    On { output: f64, stay: usize, can_stop: bool },
    /// Off. The first period in which the unit may start.
    Off { earliest: usize },
}

/// Prices of energy and, if there are any, of reserve: one for each period.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prices<'a> {
    pub(super) energy: &'a [f64],
    pub(super) reserve: Option<&'a [f64]>,
}

impl<'a> Prices<'a> {
    /// The multipliers of the dual: prices of energy, then of reserve.
    pub(super) fn new(point: &'a [f64], periods: usize) -> Self {
        let (energy, reserve) = point.split_at(periods);
        Self { energy, reserve: (!reserve.is_empty()).then_some(reserve) }
    }

    pub(super) fn periods(&self) -> usize {
        self.energy.len()
    }

    #[inline]
    pub(super) fn reserve_at(&self, period: usize) -> f64 {
        self.reserve.map_or(0.0, |reserve| reserve[period])
    }
}

/// A schedule of a unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct UnitSchedule {
    /// Total output in each period.
    pub(super) output: Vec<f64>,
    pub(super) reserve: Vec<f64>,
    pub(super) is_on: Vec<bool>,
    /// Costs of all starts.
    pub(super) start_cost: f64,
}

impl UnitSchedule {
    fn reset(&mut self, periods: usize) {
        for numbers in [&mut self.output, &mut self.reserve] {
            numbers.clear();
            numbers.resize(periods, 0.0);
        }
        self.is_on.clear();
        self.is_on.resize(periods, false);
        self.start_cost = 0.0;
    }
}

/// Memory of the solver.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    commitments: Commitments,
    free: FreeRuns,
    ramped: RampedRuns,
    stretches: Vec<Stretch>,
}

impl Unit {
    /// Whether no ramp ever binds between two periods in which the unit is on.
    pub(super) fn is_free(&self) -> bool {
        self.ramp_up >= self.range && self.ramp_down >= self.range
    }

    /// Whether the unit can stop.
    #[inline]
    pub(super) fn can_stop(&self) -> bool {
        !self.must_run && self.stop_cap >= 0.0 && self.stop_output >= 0.0
    }

    /// Whether the unit may have been off before the horizon.
    pub(super) fn may_begin_off(&self) -> bool {
        !self.must_run && matches!(self.before, Before::Free | Before::Off { .. })
    }

    /// The least cost minus income over all schedules, and a schedule that has it. Infinite if there is no schedule.
    pub(super) fn solve(&self, prices: Prices<'_>, memory: &mut Memory, schedule: &mut UnitSchedule) -> f64 {
        let periods = prices.periods();
        schedule.reset(periods);
        let Memory { commitments, free, ramped, stretches } = memory;
        commitments.reset(self, periods);
        if let Some(is_on) = &self.fixed {
            return ramped.dispatch(self, prices, is_on, (commitments, schedule));
        }
        if self.is_free() {
            free.solve(self, prices, commitments);
        } else {
            ramped.solve(self, prices, commitments);
        }
        let value = commitments.finish(self, stretches);
        for stretch in stretches.iter() {
            schedule.start_cost += stretch.start_cost;
            schedule.is_on[stretch.start..=stretch.last].fill(true);
            if self.is_free() {
                free.write(self, prices, stretch, schedule);
            } else {
                ramped.write(self, prices, stretch, schedule);
            }
        }
        value
    }

    /// Valid periods on with nearly the greatest sum of `gains`.
    pub(super) fn best_pattern(&self, gains: &[f64]) -> Vec<bool> {
        // Beside such a minimum, the output above it is worth nothing.
        let minimum = 1e6 * self.range.max(1.0);
        let mut unit = Self { minimum, cost: OutputCost::default(), fixed: None, ..self.clone() };
        unit.start_costs.by_start.fill(0.0);
        unit.start_costs.first.fill(0.0);
        let mut schedule = UnitSchedule::default();
        unit.solve(Prices { energy: gains, reserve: None }, &mut Memory::default(), &mut schedule);
        schedule.is_on
    }

    /// Most output and reserve together above the minimum, in each of fixed periods on: what starts, stops and upward
    /// ramps allow.
    pub(super) fn most_above_minimum(&self, is_on: &[bool]) -> Vec<f64> {
        let mut most: Vec<f64> = Vec::with_capacity(is_on.len());
        for (period, &now) in is_on.iter().enumerate() {
            let start = match (most.last(), self.before) {
                _ if period > 0 && !is_on[period - 1] => self.start_cap,
                (Some(before), _) => before + self.ramp_up,
                (None, Before::On { output, .. }) => output + self.ramp_up,
                (None, Before::Off { .. }) => self.start_cap,
                (None, Before::Free) => self.range,
            };
            let is_stop = is_on.get(period + 1).is_some_and(|next| !next);
            let stop = if is_stop { self.stop_cap } else { self.range };
            most.push(if now { start.min(stop).min(self.range) } else { 0.0 });
        }
        most
    }

    /// Cost of all starts of fixed periods on.
    pub(super) fn start_cost_of(&self, is_on: &[bool]) -> f64 {
        let mut cost = 0.0;
        // First period of the present time off; `None` if the unit was off before the horizon.
        let mut off_since = None;
        let mut was_on = !matches!(self.before, Before::Off { .. });
        for (period, &is_on) in is_on.iter().enumerate() {
            if was_on && !is_on {
                off_since = Some(period);
            }
            if is_on && !was_on {
                let after = off_since.map(|since| self.start_costs.after(period, period - since));
                cost += after.unwrap_or(self.start_costs.first[period]);
            }
            was_on = is_on;
        }
        cost
    }

    /// Cost of a schedule.
    pub(super) fn cost_of(&self, schedule: &UnitSchedule) -> f64 {
        let periods = schedule.is_on.iter().zip(&schedule.output).filter(|(is_on, _)| **is_on);
        schedule.start_cost + periods.map(|(_, output)| self.cost.at(output - self.minimum)).sum::<f64>()
    }
}
