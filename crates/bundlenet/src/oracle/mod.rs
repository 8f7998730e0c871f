//! The function to minimise: value and subgradient in one call.
//!
//! [`Oracle`] is all that is needed. [`SumOracle`] and [`PrimalOracle`] are abilities that an oracle may have besides.
//! [`Function`] is the one adapter between oracles and methods: it checks, flips the sense and scales.

mod closure;
mod domain;
mod error;
mod fingerprint;
mod function;
mod minorants;
mod primal;

pub use closure::FnOracle;
pub use domain::{Bound, Domain, Sense};
pub use error::EvaluationError;
pub use fingerprint::Fingerprint;
pub use function::Function;
pub(crate) use function::{CutsOf, Detail, Evaluation};
pub use minorants::{Lines, Minorants, Solutions};
pub use primal::{Primal, PrimalOracle};

/// The error of an oracle: any error, or simply a message.
pub type OracleError = Box<dyn std::error::Error + Send + Sync>;

/// A convex function to minimise, or a concave one to maximise.
///
/// # Contract
///
/// For a function to minimise, `evaluate` returns `f(x)` and writes some `g` with
/// `f(y) >= f(x) + g'(y - x)` for every `y` in the domain; for one to maximise the inequality is reversed.
/// The oracle writes **every** entry of `subgradient`. It may assume that `point` and `subgradient` have length
/// `dim()` and that `point` is finite and lies in `domain()`: the methods see to that. In turn [`Function`]
/// checks what comes back (finite, every entry written), so neither oracles nor methods repeat the test.
///
/// Values and subgradients are in the problem's own sense; [`Function`] is the only place where signs flip.
pub trait Oracle {
    /// Number of variables.
    fn dim(&self) -> usize;

    /// Returns the value at `point` and writes a subgradient there.
    ///
    /// # Errors
    /// Whatever keeps the oracle from giving a value; the run ends with its best point so far.
    fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError>;

    /// Where the variables may lie. Free unless overridden.
    fn domain(&self) -> Domain {
        Domain::Free
    }

    /// Whether the function is minimised (convex) or maximised (concave).
    fn sense(&self) -> Sense {
        Sense::Minimize
    }

    /// Lower and upper corner of a box known to hold an optimal point, where there is one: it turns the stop test's
    /// estimate into a proof.
    fn minimizer_box(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        None
    }

    /// Work of one evaluation on one thread, in nanoseconds of a present-day core, estimated from the sizes of the problem.
    /// The default method weighs evaluations against master problems by it, never by a clock, so that two runs take the
    /// same steps. An oracle that states nothing counts as dear: a millisecond.
    fn work(&self) -> Option<f64> {
        None
    }

    /// The function as a sum of components, for oracles that also implement [`SumOracle`].
    fn as_sum(&mut self) -> Option<&mut dyn SumOracle> {
        None
    }

    /// The oracle as one that hands back the solutions of its subproblems, for those that also implement [`PrimalOracle`].
    fn as_primal(&mut self) -> Option<&mut dyn PrimalOracle> {
        None
    }
}

/// An oracle whose function is `linear'x + sum_a f_a(x)`, with a value and a sparse subgradient for each `f_a`.
///
/// A Lagrangian dual is such a sum: every subproblem is a component.
pub trait SumOracle: Oracle {
    /// Number of components.
    fn component_count(&self) -> usize;

    /// Coefficients of the linear part, `dim()` of them.
    fn linear(&self) -> &[f64];

    /// Evaluates every component at `point` and pushes one minorant each, in order, onto the cleared `minorants`.
    ///
    /// # Errors
    /// As [`Oracle::evaluate`].
    fn evaluate_components(&mut self, point: &[f64], minorants: &mut Minorants) -> Result<(), OracleError>;

    /// A hash of all data that a component depends on, such as [`Fingerprint`] computes. A later run uses the cuts of a
    /// component again if its fingerprint is the same. `None` where there is none.
    fn fingerprint(&self, component: usize) -> Option<u64> {
        let _ = component;
        None
    }

    /// The value at the origin of a component's minorant with this slope, if there is one. A later run can use a cut made
    /// before the component changed if the solution behind it is still feasible, whatever it costs now. In the problem's own
    /// sense; entries may be off by round-off, and a coordinate may come more than once. `None` where nothing is known.
    fn reprice(&self, component: usize, coordinates: &[u32], entries: &[f64]) -> Option<f64> {
        let _ = (component, coordinates, entries);
        None
    }

    /// A bound on the optimal value that `aggregate` proves: from below for a function to minimise, from above for
    /// one to maximise. `None` where it proves nothing.
    ///
    /// `aggregate` has for each component, in order, a convex combination of minorants that this oracle has handed
    /// out, in the problem's own sense. At the optimum there are combinations that prove it: the primal solution that a
    /// bundle method finds on the way.
    fn prove(&mut self, aggregate: &Lines) -> Option<f64> {
        let _ = aggregate;
        None
    }
}
