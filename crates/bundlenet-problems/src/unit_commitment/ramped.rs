//! Runs of a unit whose ramps bind: a convex function of the output, from period to period.
//!
//! Let `V_t(p)` be the least cost minus income of a run up to period `t` that ends with output `p`. Then
//!
//! ```text
//! V_t(p) = c(p) - lambda p + rho p + min { W(q) : p - RU <= q <= p + RD },   W(q) = V_{t-1}(q) - rho min(cap, q + RU)
//! ```
//!
//! because output and reserve together are at most `min(cap, q + RU)`, which depends on the output `q` before alone.

use super::commitments::{Commitments, End, INITIAL, Kind, Stretch};
use super::profile::Profile;
use super::unit::{Before, Prices, Unit, UnitSchedule};

/// Memory for the functions of all runs.
#[derive(Clone, Debug, Default)]
pub(super) struct RampedRuns {
    profile: Profile,
    /// The function of a stop, whose reserve has a limit of its own.
    of_stop: Profile,
    /// By run, then period: the best output if the next period does not matter.
    wanted: Vec<f64>,
    /// By period: the least that a last period can add to a run.
    least_of_stop: Vec<f64>,
    /// By period: a lower bound on the value of it and all later ones, on or off.
    least_from: Vec<f64>,
}

/// A run to follow from its first period.
#[derive(Clone, Copy, Debug)]
struct Run {
    number: usize,
    start: usize,
    /// Value before the first period.
    entry: f64,
    /// Limits of the output in the first period.
    low: f64,
    high: f64,
    /// First period after which the unit may stop.
    earliest_stop: usize,
}

/// Limits of the output in the first period of a run. The upper one holds for output and reserve together.
fn first_limits(unit: &Unit, run: usize, periods: usize) -> (f64, f64) {
    match unit.before {
        Before::On { output, .. } if run == INITIAL => {
            ((output - unit.ramp_down).max(0.0), (output + unit.ramp_up).min(unit.range))
        }
        _ if run != INITIAL && run <= periods => (0.0, unit.start_cap.min(unit.range)),
        _ => (0.0, unit.range),
    }
}

impl RampedRuns {
    pub(super) fn solve(&mut self, unit: &Unit, prices: Prices<'_>, commitments: &mut Commitments) {
        let periods = prices.periods();
        let runs = 1 + if unit.can_restart { 2 * periods } else { periods };
        if self.wanted.len() < runs * periods {
            self.wanted.resize(runs * periods, 0.0);
        }
        self.least_of_stop.clear();
        self.least_of_stop.extend((0..periods).map(|period| {
            let (energy, reserve) = (prices.energy[period], prices.reserve_at(period));
            let cheapest = unit.cost.cheapest(reserve - energy, 0.0, unit.stop_output.clamp(0.0, unit.range)).0;
            cheapest + unit.cost.base - energy * unit.minimum - reserve * unit.stop_cap.clamp(0.0, unit.range)
        }));
        self.bound_rest(unit, prices);
        if self.least_from[0] >= commitments.incumbent() {
            return;
        }
        let mut follow = |number: usize, start: usize, entry: f64, up: usize, commitments: &mut Commitments| {
            let (low, high) = first_limits(unit, number, periods);
            if entry.is_finite() && low <= high {
                let earliest_stop = start + up.saturating_sub(1);
                self.follow(unit, prices, Run { number, start, entry, low, high, earliest_stop }, commitments);
            }
        };
        match unit.before {
            Before::Free => follow(INITIAL, 0, 0.0, 1, commitments),
            Before::On { stay, .. } => follow(INITIAL, 0, 0.0, stay, commitments),
            Before::Off { .. } => {}
        }
        for start in 0..periods {
            let entry = commitments.enter(unit);
            follow(1 + start, start, entry, unit.up, commitments);
            if unit.can_restart && start > 0 {
                let entry = commitments.restart(start) + unit.start_costs.after(start, 0);
                follow(1 + periods + start, start, entry, unit.up, commitments);
            }
        }
    }

    /// Bounds that ignore ramps, minimum times and starts.
    fn bound_rest(&mut self, unit: &Unit, prices: Prices<'_>) {
        self.least_from.clear();
        self.least_from.resize(prices.periods() + 1, 0.0);
        for period in (0..prices.periods()).rev() {
            let (energy, reserve) = (prices.energy[period], prices.reserve_at(period));
            let cheapest = unit.cost.cheapest(reserve - energy, 0.0, unit.range).0;
            let on = cheapest + unit.cost.base - energy * unit.minimum - reserve * unit.range;
            self.least_from[period] = self.least_from[period + 1] + on.min(0.0);
        }
    }

    /// The best output for fixed periods on: its value, infinite if there is none, and its schedule.
    pub(super) fn dispatch(
        &mut self,
        unit: &Unit,
        prices: Prices<'_>,
        is_on: &[bool],
        (commitments, schedule): (&mut Commitments, &mut UnitSchedule),
    ) -> f64 {
        let periods = prices.periods();
        self.wanted.resize(self.wanted.len().max((periods + 1) * periods), 0.0);
        schedule.is_on.copy_from_slice(is_on);
        schedule.start_cost = unit.start_cost_of(is_on);
        let mut value = schedule.start_cost;
        let mut start = 0;
        while let Some(first) = (start..periods).find(|&period| is_on[period]) {
            let last = (first..periods).take_while(|&period| is_on[period]).last().unwrap_or(first);
            let number = if first == 0 && !matches!(unit.before, Before::Off { .. }) { INITIAL } else { 1 + first };
            let (low, high) = first_limits(unit, number, periods);
            if low > high || high < 0.0 {
                return f64::INFINITY;
            }
            let run = Run { number, start: first, entry: 0.0, low, high, earliest_stop: first };
            (first..last).for_each(|period| self.advance(unit, prices, &run, period));
            let kind = if last + 1 < periods { Kind::Stop } else { Kind::Horizon };
            if kind == Kind::Stop {
                self.try_stop(unit, prices, (&run, last), commitments);
            } else {
                self.advance(unit, prices, &run, last);
            }
            let end = if kind == Kind::Stop { commitments.best_stop(last) } else { self.end(&run) };
            value += end.value;
            if !value.is_finite() {
                return f64::INFINITY;
            }
            let stretch = Stretch { run: number, start: first, last, start_cost: 0.0, end, kind };
            self.write(unit, prices, &stretch, schedule);
            start = last + 1;
        }
        value
    }

    fn follow(&mut self, unit: &Unit, prices: Prices<'_>, run: Run, commitments: &mut Commitments) {
        let periods = prices.periods();
        for period in run.start..periods {
            let before = run.entry + if period > run.start { self.profile.least() } else { 0.0 };
            if before + self.least_from[period] >= commitments.incumbent() {
                return;
            }
            let may_end = period + 1 < periods && period >= run.earliest_stop;
            let is_stop = may_end && unit.can_stop() && self.may_improve(before, period, commitments);
            // The limits of a stop differ from those of other periods, unless reserve has no price.
            let is_apart = period == run.start || prices.reserve_at(period) > 0.0;
            if is_stop && is_apart {
                self.try_stop(unit, prices, (&run, period), commitments);
            }
            self.advance(unit, prices, &run, period);
            if is_stop && !is_apart {
                let (value, output) = self.profile.least_up_to(unit.stop_output);
                let wanted = self.wanted[run.number * periods + period - 1];
                commitments.offer_stop(period, End { value: run.entry + value, run: run.number, output, wanted });
            }
            if may_end && unit.can_restart {
                commitments.offer_restart(period, self.end(&run));
            }
        }
        commitments.offer_horizon(self.end(&run));
    }

    /// The run up to the present period, without another limit of its end.
    fn end(&self, run: &Run) -> End {
        let value = run.entry + self.profile.least();
        End { value, run: run.number, output: self.profile.minimizer(), wanted: 0.0 }
    }

    /// Adds the cost minus the income of a period to a function of its output, without reserve.
    #[inline]
    fn add_period(profile: &mut Profile, unit: &Unit, energy: f64, reserve: f64) {
        profile.tilt(unit.cost.slope - energy + reserve);
        for &(at, change) in &unit.cost.bends {
            profile.bend_up(at, change);
        }
        profile.raise(unit.cost.base - energy * unit.minimum);
    }

    /// From the function of the period before to that of this period.
    #[inline]
    fn advance(&mut self, unit: &Unit, prices: Prices<'_>, run: &Run, period: usize) {
        let (energy, reserve) = (prices.energy[period], prices.reserve_at(period));
        let profile = &mut self.profile;
        if period == run.start {
            profile.reset(run.low, run.high);
            profile.raise(-reserve * run.high);
        } else {
            limit_reserve(profile, unit, reserve, unit.range);
            self.wanted[run.number * prices.periods() + period - 1] = profile.minimizer();
            profile.spread(unit.ramp_down, unit.ramp_up, unit.range);
        }
        Self::add_period(profile, unit, energy, reserve);
    }

    /// Whether a stop after a period can be better than those known, given the least value before it.
    #[inline]
    fn may_improve(&self, before: f64, period: usize, commitments: &Commitments) -> bool {
        let least = before + self.least_of_stop[period];
        least < commitments.stop_after(period) && least + self.least_from[period + 1] < commitments.incumbent()
    }

    /// Offers a stop after a period, given the function of the period before.
    fn try_stop(
        &mut self,
        unit: &Unit,
        prices: Prices<'_>,
        (run, period): (&Run, usize),
        commitments: &mut Commitments,
    ) {
        let (energy, reserve) = (prices.energy[period], prices.reserve_at(period));
        let fixed = unit.cost.base - energy * unit.minimum;
        let (value, output, wanted) = if period == run.start {
            let cap = run.high.min(unit.stop_cap);
            let high = cap.min(unit.stop_output);
            if high < run.low {
                return;
            }
            let (value, output) = unit.cost.cheapest(reserve - energy, run.low, high);
            (run.entry + value + fixed - reserve * cap, output, 0.0)
        } else if unit.stop_cap == 0.0 {
            let (value, wanted) = self.profile.least_up_to(unit.ramp_down);
            (run.entry + value + fixed, 0.0, wanted)
        } else {
            self.of_stop.copy(&self.profile);
            limit_reserve(&mut self.of_stop, unit, reserve, unit.stop_cap.min(unit.range));
            let wanted = self.of_stop.minimizer();
            self.of_stop.spread(unit.ramp_down, unit.ramp_up, unit.range);
            Self::add_period(&mut self.of_stop, unit, energy, reserve);
            let (value, output) = self.of_stop.least_up_to(unit.stop_output);
            (run.entry + value, output, wanted)
        };
        commitments.offer_stop(period, End { value, run: run.number, output, wanted });
    }

    pub(super) fn write(&self, unit: &Unit, prices: Prices<'_>, stretch: &Stretch, schedule: &mut UnitSchedule) {
        let mut output = stretch.end.output;
        for period in (stretch.start..=stretch.last).rev() {
            let is_stop = stretch.kind == Kind::Stop && period == stretch.last;
            let cap = if is_stop { unit.stop_cap.min(unit.range) } else { unit.range };
            schedule.output[period] = unit.minimum + output;
            let (most, before) = if period == stretch.start {
                (first_limits(unit, stretch.run, prices.periods()).1, output)
            } else {
                let place = stretch.run * prices.periods() + period - 1;
                let wanted = if is_stop { stretch.end.wanted } else { self.wanted[place] };
                // An output beyond a ramp is moved to its limit: the function is convex.
                let before = wanted.clamp(output - unit.ramp_up, output + unit.ramp_down);
                (before + unit.ramp_up, before)
            };
            if prices.reserve_at(period) > 0.0 {
                schedule.reserve[period] = (cap.min(most) - output).max(0.0);
            }
            output = before;
        }
    }
}

/// Subtracts the income of output and reserve together, `reserve min(cap, q + RU)`, from a function of the output `q`.
#[inline]
fn limit_reserve(profile: &mut Profile, unit: &Unit, reserve: f64, cap: f64) {
    if reserve > 0.0 {
        profile.bend_down(cap - unit.ramp_up, reserve);
        profile.raise(-reserve * cap);
    }
}
