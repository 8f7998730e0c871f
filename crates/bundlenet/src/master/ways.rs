//! The choice between the ways to move all weights of a component master, by counted work.

use super::interior::Interior;
use super::semismooth::Semismooth;
use crate::model::ComponentBundle;

/// Work of the parts of a solve, in nanoseconds of a present-day core: for each entry of a cut that a sweep or the
/// pricing reads, for each product in Newton's matrix, for each multiplication of its factorisation, and for each of the
/// solution of a triangular system. `cargo bench --bench components` prints the work next to the measured time.
pub(super) const ENTRY_WORK: f64 = 6.0;
pub(super) const PRODUCT_WORK: f64 = 3.0;
pub(super) const FACTOR_WORK: f64 = 0.045;
pub(super) const SOLVE_WORK: f64 = 0.3;
/// Work of reading a number of a dense row, and of writing one.
pub(super) const NUMBER_WORK: f64 = 0.4;
pub(super) const WRITE_WORK: f64 = 1.0;

/// Products of a factorisation that take about as long as reading a number in a sweep.
pub(super) const PRODUCTS_PER_READ: usize = 16;

/// Expected steps of the first solves, and the share by which the expectation follows each later one.
const NEWTON_STEPS: f64 = 3.0;
const SEMISMOOTH_STEPS: f64 = 4.0;
const INTERIOR_STEPS: f64 = 15.0;
const FOLLOW: f64 = 0.3;

/// A way in the space of the variables is given up if a call has not reduced the gap to `LEAST_GAIN`. Semismooth Newton
/// steps have some calls: each has a sharper goal than the one before. Interior-point steps reach theirs in one.
const MOST_SEMISMOOTH_CALLS: usize = 3;
const LEAST_GAIN: f64 = 0.5;

/// Largest number of rows of a matrix for which its steps pay. Beyond it, there are more sweeps instead.
pub(super) const MOST_ROWS: usize = 4000;

/// A way to move all weights of a bundle at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Newton steps on the free weights.
    Newton,
    /// Semismooth Newton steps in the space of the variables.
    Semismooth,
    /// Interior-point steps in the space of the variables.
    Interior,
    /// None: sweeps alone.
    Sweeps,
}

impl Way {
    /// Whether its matrix has one row for each variable.
    pub(super) fn is_in_variables(self) -> bool {
        matches!(self, Self::Semismooth | Self::Interior)
    }
}

/// Steps of a way: those that a solve is expected to take, from the last ones, and those of the present solve.
#[derive(Clone, Copy, Debug)]
struct Steps {
    expected: f64,
    counted: f64,
}

impl Steps {
    fn new(expected: f64) -> Self {
        Self { expected, counted: 0.0 }
    }

    /// Updates the expectation at the end of a solve. `factor` is above 1 if the steps were given up.
    fn learn(&mut self, factor: f64) {
        if self.counted > 0.0 {
            self.expected += FOLLOW * (factor * self.counted - self.expected);
        }
        self.counted = 0.0;
    }
}

/// Expected and counted steps of the ways, and the choice between them. All of it follows from counts, not from a clock.
#[derive(Clone, Debug)]
pub(super) struct Ways {
    newton: Steps,
    semismooth: Steps,
    interior: Steps,
    present: Present,
    expected: Expected,
    /// Expected work of Newton steps when semismooth ones were chosen, if the last solve used these to its end.
    rejected: Option<f64>,
    /// The only way, in tests and measurements.
    forced: Option<Way>,
}

/// Work of a solve, in nanoseconds, as of the last one that was not accurate after its first round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected {
    /// Work of the first round.
    pub(super) first: f64,
    /// Expected work of the rounds that make it accurate.
    pub(super) accurate: f64,
    /// Expected work of interior-point steps; infinite where they do not pay.
    pub(super) interior: f64,
}

impl Default for Expected {
    fn default() -> Self {
        Self { first: 0.0, accurate: 0.0, interior: f64::INFINITY }
    }
}

/// The present solve.
#[derive(Clone, Debug, Default)]
struct Present {
    /// Work of Newton steps.
    newton_work: f64,
    /// Calls of the present way in the space of the variables, and the ways that are given up.
    calls: usize,
    is_semismooth_stuck: bool,
    is_interior_stuck: bool,
    /// Gap of the last round.
    gap: Option<f64>,
}

impl Default for Ways {
    fn default() -> Self {
        Self {
            newton: Steps::new(NEWTON_STEPS),
            semismooth: Steps::new(SEMISMOOTH_STEPS),
            interior: Steps::new(INTERIOR_STEPS),
            present: Present::default(),
            expected: Expected::default(),
            rejected: None,
            forced: None,
        }
    }
}

impl Ways {
    /// One way only, for tests and measurements; `None` leaves the choice.
    pub(super) fn forced(way: Option<Way>) -> Self {
        Self { forced: way, ..Self::default() }
    }

    /// Begins a solve. Returns its first way: semismooth Newton steps, if the last solve used them to its end and they are
    /// still expected to be cheaper. Sweeps spread weight over more cuts, so they do not go with these steps.
    pub(super) fn begin(&mut self, bundle: &ComponentBundle) -> Way {
        self.present = Present::default();
        for steps in [&mut self.newton, &mut self.semismooth, &mut self.interior] {
            steps.counted = 0.0;
        }
        let work = || self.semismooth.expected * Semismooth::step_work(bundle);
        let goes_on = self.rejected.is_some_and(|rejected| work() < rejected);
        if goes_on { Way::Semismooth } else { Way::Sweeps }
    }

    /// Takes note of the first round: the work so far, and that of a Newton step on the free weights.
    pub(super) fn note_first_round(&mut self, bundle: &ComponentBundle, work: f64, newton_step: f64) {
        let other = self.in_variables(bundle).map_or(f64::INFINITY, |(_, work)| work);
        self.expected = Expected {
            first: work,
            accurate: other.min(self.newton.expected * newton_step),
            interior: self.interior_work(bundle).unwrap_or(f64::INFINITY),
        };
    }

    /// Expected work of a solve.
    pub(super) fn expected(&self) -> Expected {
        self.expected
    }

    /// Number of calls of semismooth Newton steps in this solve.
    pub(super) fn calls(&self) -> usize {
        self.present.calls
    }

    /// Whether interior-point steps are given up: round-off has ended them.
    pub(super) fn has_met_round_off(&self) -> bool {
        self.present.is_interior_stuck
    }

    /// Gives up semismooth Newton steps for this solve.
    pub(super) fn give_up(&mut self) {
        self.present.is_semismooth_stuck = true;
    }

    /// Counts steps of a way.
    pub(super) fn count(&mut self, way: Way, steps: usize) {
        self.present.calls += usize::from(way == Way::Semismooth);
        match way {
            Way::Newton => self.newton.counted += steps as f64,
            Way::Semismooth => self.semismooth.counted += steps as f64,
            Way::Interior => self.interior.counted += steps as f64,
            Way::Sweeps => {}
        }
    }

    /// Expected work of semismooth Newton steps, where they are of use. Where components outnumber variables, most have
    /// weight on one cut, and projections on simplices find that soon. With fewer components, a solution has weight on
    /// many cuts of each.
    fn semismooth_work(&self, bundle: &ComponentBundle) -> Option<f64> {
        let dim = bundle.linear().len();
        let is_of_use = dim <= MOST_ROWS && dim <= bundle.components().len() && !self.present.is_semismooth_stuck;
        is_of_use.then(|| self.semismooth.expected * Semismooth::step_work(bundle))
    }

    /// Expected work of interior-point steps, where they are of use.
    fn interior_work(&self, bundle: &ComponentBundle) -> Option<f64> {
        let is_of_use = bundle.linear().len() <= MOST_ROWS && !self.present.is_interior_stuck;
        is_of_use.then(|| self.interior.expected * Interior::step_work(bundle))
    }

    /// The cheapest way in the space of the variables, and its expected work.
    fn in_variables(&self, bundle: &ComponentBundle) -> Option<(Way, f64)> {
        match (self.semismooth_work(bundle), self.interior_work(bundle)) {
            (Some(work), Some(other)) if work > other => Some((Way::Interior, other)),
            (Some(work), _) => Some((Way::Semismooth, work)),
            (None, work) => work.map(|work| (Way::Interior, work)),
        }
    }

    /// Whether a way is given up for this solve.
    fn is_stuck(&self, way: Way) -> bool {
        match way {
            Way::Semismooth => self.present.is_semismooth_stuck,
            Way::Interior => self.present.is_interior_stuck,
            Way::Newton | Way::Sweeps => false,
        }
    }

    /// The way of the next round, after a round that went the way `last` and left a gap. `newton_step` is the work of a
    /// Newton step, if it is possible.
    pub(super) fn next(&mut self, bundle: &ComponentBundle, last: Way, gap: f64, newton_step: Option<f64>) -> Way {
        let gains_little = self.present.gap.is_some_and(|before| gap > LEAST_GAIN * before);
        let is_tried = self.present.calls >= MOST_SEMISMOOTH_CALLS;
        self.present.is_semismooth_stuck |= last == Way::Semismooth && gains_little && is_tried;
        self.present.is_interior_stuck |= last == Way::Interior && gains_little && self.interior.counted > 0.0;
        self.present.gap = Some(gap);
        if last.is_in_variables() && !self.is_stuck(last) {
            return last;
        }
        let newton = newton_step.map_or(f64::INFINITY, |step| self.newton.expected * step);
        // Once Newton steps have taken as much work, a wrong choice costs at most twice the right one.
        let is_cheaper = |work: f64| work < newton || work <= self.present.newton_work;
        let other = self.in_variables(bundle).filter(|(_, work)| is_cheaper(*work)).map(|(way, _)| way);
        let chosen = self.forced.or(other).filter(|way| way.is_in_variables() && !self.is_stuck(*way));
        if let Some(way) = chosen {
            self.rejected = (way == Way::Semismooth).then_some(newton);
            return way;
        }
        self.present.newton_work += newton_step.unwrap_or(0.0);
        if newton_step.is_some() { Way::Newton } else { Way::Sweeps }
    }

    /// Updates the expectations at the end of a solve.
    pub(super) fn learn(&mut self) {
        let Present { is_semismooth_stuck, is_interior_stuck, .. } = self.present;
        if self.newton.counted > 0.0 || self.interior.counted > 0.0 || is_semismooth_stuck {
            self.rejected = None;
        }
        // Steps that were given up are half of those that it would have taken, or fewer.
        let has_ended = |steps: &Steps, is_stuck: bool| steps.counted > 0.0 && !is_stuck;
        let is_given_up =
            has_ended(&self.semismooth, is_semismooth_stuck) || has_ended(&self.interior, is_interior_stuck);
        self.newton.learn(if is_given_up { 2.0 } else { 1.0 });
        if is_semismooth_stuck {
            // They are tried again when other steps are expected to take twice as much work.
            self.semismooth.expected = 2.0 * self.semismooth.expected.max(self.semismooth.counted);
            self.semismooth.counted = 0.0;
        }
        self.semismooth.learn(1.0);
        self.interior.learn(1.0);
    }
}
