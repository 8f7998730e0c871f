//! What a run's primal solution comes to, in the terms of a problem.

use super::assignment::Placement;
use super::network_design::Design;

/// Primal solutions, from the one that the weights of the cuts give to one that is feasible.
#[derive(Clone, Debug, PartialEq)]
pub struct Recovered<S> {
    /// The combination of the subproblems' solutions. It satisfies all but the constraints that were dualised.
    pub convex: S,
    /// How far it violates those.
    pub violation: Violation,
    /// A solution of the convexified problem close to it, where it can be repaired: its value bounds that of the dual.
    pub relaxed: Option<S>,
    /// A solution of the problem itself, by rounding and improving it; not the best one, and none where that fails.
    pub feasible: Option<S>,
}

/// By how much constraints are violated.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Violation {
    /// The most that one of them is.
    pub largest: f64,
    /// All of them together.
    pub total: f64,
}

impl Violation {
    /// Counts one more constraint.
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
}

impl ProblemPrimal {
    /// The value of the feasible solution, where there is one: it bounds the optimum from the other side than the dual does.
    #[must_use]
    pub fn feasible_value(&self) -> Option<f64> {
        match self {
            Self::NetworkDesign(recovered) => recovered.feasible.as_ref().map(Design::cost),
            Self::Assignment(recovered) => recovered.feasible.as_ref().map(Placement::value),
        }
    }
}
