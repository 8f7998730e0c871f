//! Solutions of a problem, recovered from the primal solution of a run.

use std::fmt;
use std::time::Instant;

use super::assignment::Placement;
use super::facility_location::Plan;
use super::network_design::Design;
use super::unit_commitment::Schedules;
use bundlenet::Interrupt;

/// Start and end of a search for a feasible solution. By default it has no limit.
#[derive(Clone, Copy, Default)]
pub struct Search<'a> {
    /// Multipliers of the run. A search that solves other duals starts there.
    pub multipliers: Option<&'a [f64]>,
    /// Ends the search.
    pub interrupt: Option<&'a dyn Interrupt>,
    /// The search ends at this time.
    pub until: Option<Instant>,
}

impl fmt::Debug for Search<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { multipliers, until, .. } = self;
        formatter.debug_struct("Search").field("multipliers", multipliers).field("until", until).finish_non_exhaustive()
    }
}

impl Search<'_> {
    /// Whether the search has to end.
    pub(crate) fn is_over(&self) -> bool {
        self.interrupt.is_some_and(Interrupt::is_raised) || self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Seconds to the end, positive. `None` without one.
    pub(crate) fn seconds_left(&self) -> Option<f64> {
        let left = |until: Instant| until.saturating_duration_since(Instant::now()).as_secs_f64();
        self.until.map(|until| left(until).max(f64::MIN_POSITIVE))
    }
}

/// Three primal solutions: the convex combination, a repaired one, and a feasible one.
#[derive(Clone, Debug, PartialEq)]
pub struct Recovered<S> {
    /// The convex combination of the subproblems' solutions. It may violate the constraints that were dualised.
    pub convex: S,
    /// Its violation of the dualised constraints.
    pub violation: Violation,
    /// A solution of the convexified problem close to it, if a repair succeeds. Its value bounds that of the dual.
    pub relaxed: Option<S>,
    /// A feasible solution of the problem, by rounding and local search, if they succeed. It need not be optimal.
    pub feasible: Option<S>,
}

/// Violation of constraints.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Violation {
    /// Largest violation of one constraint.
    pub largest: f64,
    /// Sum over all constraints.
    pub total: f64,
}

impl Violation {
    /// Adds the violation of one constraint.
    pub(crate) fn add(&mut self, amount: f64) {
        self.largest = self.largest.max(amount);
        self.total += amount;
    }
}

/// The primal solutions of a [`Problem`](super::Problem).
#[derive(Clone, Debug, PartialEq)]
pub enum ProblemPrimal {
    /// Of network design.
    NetworkDesign(Recovered<Design>),
    /// Of generalised assignment.
    Assignment(Recovered<Placement>),
    /// Of facility location.
    FacilityLocation(Recovered<Plan>),
    /// Of unit commitment.
    UnitCommitment(Recovered<Schedules>),
}

impl ProblemPrimal {
    /// The value of the feasible solution, if there is one. It bounds the optimum from the other side than the dual.
    #[must_use]
    pub fn feasible_value(&self) -> Option<f64> {
        match self {
            Self::NetworkDesign(recovered) => recovered.feasible.as_ref().map(Design::cost),
            Self::Assignment(recovered) => recovered.feasible.as_ref().map(Placement::value),
            Self::FacilityLocation(recovered) => recovered.feasible.as_ref().map(Plan::cost),
            Self::UnitCommitment(recovered) => recovered.feasible.as_ref().map(Schedules::cost),
        }
    }
}
