//! The starts and stops of a unit: a dynamic program over periods.

use super::unit::{Before, Unit};

/// Number of a run: that of the initial state is 0, that of a start in period `s` is `1 + s`, and that of a stop and a
/// start in the same period `s` is `1 + periods + s`.
pub(super) const INITIAL: usize = 0;

/// The best way to end a run in a period.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    /// Cost minus income up to that period.
    pub(super) value: f64,
    pub(super) run: usize,
    /// Output in the last period, and the best output in the period before it if ramps do not bind.
    pub(super) output: f64,
    pub(super) wanted: f64,
}

const NONE: End = End { value: f64::INFINITY, run: INITIAL, output: 0.0, wanted: 0.0 };

/// The cheapest way to start in a period.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// With the cost of the start.
    value: f64,
    start_cost: f64,
    /// First period off before the start; `None` if the unit was off from the beginning.
    off_since: Option<usize>,
}

/// Consecutive periods in which the unit is on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    pub(super) run: usize,
    pub(super) start: usize,
    pub(super) last: usize,
    pub(super) start_cost: f64,
    pub(super) end: End,
    pub(super) kind: Kind,
}

/// How a stretch ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Horizon,
    Stop,
    Restart,
}

/// The best ends of runs, by period.
#[derive(Clone, Debug, Default)]
pub(super) struct Commitments {
    periods: usize,
    /// Stops by the first period off.
    stops: Vec<End>,
    /// Ends before a stop and a start in the same period, by that period.
    restarts: Vec<End>,
    entries: Vec<Entry>,
    /// On in the last period.
    horizon: Option<End>,
    /// Value of the best plan for all periods known so far.
    incumbent: f64,
    /// The best stop after which the unit has been off for long enough, if all starts cost the same.
    ready: Option<usize>,
}

impl Commitments {
    pub(super) fn reset(&mut self, unit: &Unit, periods: usize) {
        self.periods = periods;
        self.stops.clear();
        self.stops.resize(periods, NONE);
        self.restarts.clear();
        self.restarts.resize(if unit.can_restart { periods } else { 0 }, NONE);
        self.entries.clear();
        (self.horizon, self.ready) = (None, None);
        self.incumbent = if unit.may_begin_off() { 0.0 } else { f64::INFINITY };
        if let Before::On { can_stop: true, .. } = unit.before
            && !unit.must_run
        {
            (self.stops[0].value, self.incumbent) = (0.0, 0.0);
        }
    }

    /// Value of the best plan that starts in the next period. Periods come in order, and stops before it are known.
    pub(super) fn enter(&mut self, unit: &Unit) -> f64 {
        let start = self.entries.len();
        let costs = &unit.start_costs;
        let mut best = Entry { value: f64::INFINITY, start_cost: 0.0, off_since: None };
        let is_open = match unit.before {
            Before::Free => true,
            Before::Off { earliest } => start >= earliest && (!unit.must_run || start == 0),
            Before::On { .. } => false,
        };
        if is_open {
            best = Entry { value: costs.first[start], start_cost: costs.first[start], off_since: None };
        }
        let mut offer = |stops: &[End], off_since: usize| {
            let start_cost = costs.after(start, start - off_since);
            let value = stops[off_since].value + start_cost;
            if value < best.value {
                best = Entry { value, start_cost, off_since: Some(off_since) };
            }
        };
        if let Some(latest) = start.checked_sub(unit.down) {
            if costs.count == 1 {
                let is_better = |ready: usize| self.stops[latest].value < self.stops[ready].value;
                if self.ready.is_none_or(is_better) {
                    self.ready = Some(latest);
                }
                self.ready.into_iter().for_each(|ready| offer(&self.stops, ready));
            } else {
                (0..=latest).for_each(|off_since| offer(&self.stops, off_since));
            }
        }
        if unit.start_cap < 0.0 {
            best.value = f64::INFINITY;
        }
        self.entries.push(best);
        best.value
    }

    /// Value of the best plan that starts in a period, after [`Commitments::enter`].
    #[inline]
    pub(super) fn entry(&self, start: usize) -> f64 {
        self.entries[start].value
    }

    /// Value of the best plan known so far that stops after a period.
    #[inline]
    pub(super) fn stop_after(&self, period: usize) -> f64 {
        self.stops[period + 1].value
    }

    /// Value of the best plan for all periods known so far. A plan that cannot become better need not be followed.
    #[inline]
    pub(super) fn incumbent(&self) -> f64 {
        self.incumbent
    }

    /// Value of the best plan that ends before a stop and a start in the same period.
    pub(super) fn restart(&self, period: usize) -> f64 {
        self.restarts[period].value
    }

    /// The best plan that stops after a period.
    pub(super) fn best_stop(&self, period: usize) -> End {
        self.stops[period + 1]
    }

    /// Offers a plan that stops after a period; not after the last one.
    #[inline]
    pub(super) fn offer_stop(&mut self, period: usize, end: End) {
        if end.value < self.stops[period + 1].value {
            self.stops[period + 1] = end;
            // It may stay off.
            self.incumbent = self.incumbent.min(end.value);
        }
    }

    /// Offers a plan that restarts after a period.
    pub(super) fn offer_restart(&mut self, period: usize, end: End) {
        if end.value < self.restarts[period + 1].value {
            self.restarts[period + 1] = end;
        }
    }

    /// Offers a plan that is on in the last period.
    pub(super) fn offer_horizon(&mut self, end: End) {
        if self.horizon.is_none_or(|best| end.value < best.value) {
            self.horizon = Some(end);
            self.incumbent = self.incumbent.min(end.value);
        }
    }

    /// The value of the best plan, and its stretches from the last to the first.
    pub(super) fn finish(&self, unit: &Unit, stretches: &mut Vec<Stretch>) -> f64 {
        stretches.clear();
        let on = self.horizon.unwrap_or(NONE);
        let (mut value, mut next) = (on.value, on.value.is_finite().then_some((on, self.periods, Kind::Horizon)));
        for (off_since, stop) in self.stops.iter().enumerate().filter(|_| !unit.must_run) {
            if stop.value < value {
                value = stop.value;
                next = (off_since > 0).then_some((*stop, off_since, Kind::Stop));
            }
        }
        if unit.may_begin_off() && value > 0.0 {
            (value, next) = (0.0, None);
        }
        while let Some((end, after, kind)) = next {
            let stretch = self.stretch(unit, end, after, kind);
            next = self.previous(&stretch);
            stretches.push(stretch);
        }
        value
    }

    fn stretch(&self, unit: &Unit, end: End, after: usize, kind: Kind) -> Stretch {
        let (start, start_cost) = match end.run.checked_sub(1) {
            None => (0, 0.0),
            Some(start) if start < self.periods => (start, self.entries[start].start_cost),
            Some(restart) => (restart - self.periods, unit.start_costs.after(restart - self.periods, 0)),
        };
        Stretch { run: end.run, start, last: after - 1, start_cost, end, kind }
    }

    fn previous(&self, stretch: &Stretch) -> Option<(End, usize, Kind)> {
        if stretch.run == INITIAL {
            return None;
        }
        if stretch.run > self.periods {
            return Some((self.restarts[stretch.start], stretch.start, Kind::Restart));
        }
        let off_since = self.entries[stretch.start].off_since.filter(|&period| period > 0)?;
        Some((self.stops[off_since], off_since, Kind::Stop))
    }
}
