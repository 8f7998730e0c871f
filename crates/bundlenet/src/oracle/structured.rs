//! Oracles with a method of their own, which uses the structure of the problem.

use super::{Oracle, Primal};

/// An oracle with a method of its own to the optimum: an interior-point method for a linear program that has the value of
/// the dual, for example.
///
/// The method [`Method::Barrier`](crate::Method::Barrier) is that method alone. The default uses it as its last phase,
/// where its work is less than that of the others.
pub trait StructuredOracle: Oracle {
    /// Work of the whole method on one thread, in nanoseconds of a present-day core, estimated from the sizes of the
    /// problem. `None` if the method does not suit this problem: it may take too much memory.
    fn method_work(&self) -> Option<f64>;

    /// The method, at its start. It aims at a proved relative gap of `tolerance`. `None` as in
    /// [`StructuredOracle::method_work`].
    fn method(&self, tolerance: f64) -> Option<Box<dyn StructuredMethod>>;
}

/// A method that uses the structure of a problem. Each step gives multipliers, and at times a primal solution.
pub trait StructuredMethod {
    /// Takes a step and writes multipliers of the domain, all of them. The run evaluates them: their value is one bound on
    /// the optimum. Once `is_over()` is true the step ends soon.
    fn step(&mut self, point: &mut [f64], is_over: &dyn Fn() -> bool) -> StructuredStep;

    /// The other bound: the best value of a primal solution so far, in the problem's own sense. It must hold for certain:
    /// a proof rests on it.
    fn bound(&self) -> Option<f64>;

    /// The primal solution of that value, with the variables of [`PrimalOracle`](crate::PrimalOracle).
    fn primal(&self) -> Option<Primal> {
        None
    }
}

/// Result of a step of a [`StructuredMethod`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StructuredStep {
    /// There are new multipliers.
    Moved,
    /// `is_over` ended the step. The next one repeats it.
    Interrupted,
    /// The method has no further step: it has come as far as its arithmetic allows.
    Stuck,
}
