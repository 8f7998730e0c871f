//! The oracle: value and subgradient of the function to minimise, in one call.
//!
//! [`Oracle`] is the only trait that a problem has to implement. [`SumOracle`], [`PrimalOracle`] and
//! [`StructuredOracle`] are optional.
//! [`Parallel`] makes all three of [`Components`], which it evaluates on several threads.
//! [`Function`] is the adapter between oracles and methods: it checks numbers, flips the sense and scales.

mod check;
mod closure;
mod domain;
mod error;
mod fingerprint;
mod function;
mod minorants;
mod parallel;
mod patience;
mod primal;
mod structured;

pub use check::{Case, Check, Diagnosis, Rule, Violation, check, check_points};
pub use closure::FnOracle;
pub use domain::{Bound, Domain, Sense};
pub(crate) use domain::{bend, crossed};
pub use error::EvaluationError;
pub use fingerprint::Fingerprint;
pub use function::Function;
pub(crate) use function::{CutsOf, Detail, Evaluation, KnownScale};
pub use minorants::{Lines, Minorants, Room, Solutions};
pub use parallel::{Answer, Components, Parallel};
pub use patience::Interrupt;
#[cfg(test)]
pub(crate) use patience::tests::Counted;
pub(crate) use patience::{End, Patience};
pub use primal::{Primal, PrimalOracle};
pub use structured::{StructuredMethod, StructuredOracle, StructuredStep};

/// Error of an oracle: any error, or a message.
pub type OracleError = Box<dyn std::error::Error + Send + Sync>;

/// A convex function to minimise, or a concave one to maximise.
///
/// # Contract
///
/// For a function to minimise, `evaluate` returns `f(x)` and writes a subgradient `g`:
/// `f(y) >= f(x) + g'(y - x)` for all `y` in the domain. For a function to maximise the inequality is reversed.
/// The oracle writes **every** entry of `subgradient`. It may assume that `point` and `subgradient` have length
/// `dim()`, that `point` is finite, and that it lies in `domain()`. [`Function`] checks the result: all numbers are
/// finite and every entry is written. Neither oracles nor methods have to repeat these checks.
///
/// Values and subgradients are in the problem's own sense. Only [`Function`] flips signs.
pub trait Oracle {
    /// Number of variables.
    fn dim(&self) -> usize;

    /// Returns the value at `point` and writes a subgradient there.
    ///
    /// # Errors
    /// Any error that the oracle reports. The run then ends with its best point so far.
    fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError>;

    /// As [`Oracle::evaluate`], for a value that is known as an interval: a minorant and a bound. Methods call this one.
    ///
    /// # Errors
    /// As [`Oracle::evaluate`].
    fn evaluate_within(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<Interval, OracleError> {
        self.evaluate(point, subgradient).map(Interval::exact)
    }

    /// Wishes for an accuracy: the next intervals should not be wider, for the whole function. A method wishes for a share
    /// of the decrease that its model predicts. An oracle may ignore the wish.
    fn wish(&mut self, accuracy: f64) {
        let _ = accuracy;
    }

    /// The domain of the variables; free by default.
    fn domain(&self) -> Domain {
        Domain::Free
    }

    /// Whether the function is minimised (convex) or maximised (concave).
    fn sense(&self) -> Sense {
        Sense::Minimize
    }

    /// Lower and upper corner of a box that holds an optimal point, if one is known. With it the stop test gives a
    /// proof instead of an estimate. A domain that is bounded on all sides is such a box; it need not be repeated here.
    fn minimizer_box(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        None
    }

    /// A point to start from, if the data tell a better one than 0. A run without a start and without a state begins
    /// there, or at the nearest point of the domain.
    fn start(&self) -> Option<Vec<f64>> {
        None
    }

    /// Work of one evaluation on one thread, in nanoseconds of a present-day core, estimated from the sizes of the
    /// problem. The default method compares it with the work of master problems. It never uses a clock, so two runs
    /// take the same steps. `None` counts as one millisecond.
    fn work(&self) -> Option<f64> {
        None
    }

    /// Typical size of each variable over the typical size of its entry of a subgradient, up to a common factor; positive.
    /// The steps of a network in each variable are in proportion to it. It depends on the data alone. A network estimates
    /// it from the subgradients if it is `None`.
    fn scales(&self) -> Option<Vec<f64>> {
        None
    }

    /// The function as a sum of components, for oracles that also implement [`SumOracle`].
    fn as_sum(&mut self) -> Option<&mut dyn SumOracle> {
        None
    }

    /// The oracle as a [`PrimalOracle`], for oracles that also return the solutions of their subproblems.
    /// An oracle that knows only after its first evaluation that it has none returns `None` from then on.
    fn as_primal(&mut self) -> Option<&mut dyn PrimalOracle> {
        None
    }

    /// The oracle as a [`StructuredOracle`], for oracles that have a method of their own.
    fn as_structured(&mut self) -> Option<&mut dyn StructuredOracle> {
        None
    }
}

/// The value of a function at a point, known as an interval.
///
/// A function `f` to minimise has `f(y) >= cut + g'(y - x)` for all `y`, and `cut <= f(x) <= bound`. All inequalities are
/// reversed for a function to maximise. An exact value has both numbers equal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Value of the minorant at the point.
    pub cut: f64,
    /// Bound on the value at the point.
    pub bound: f64,
}

impl Interval {
    /// The interval of an exact value.
    #[must_use]
    pub fn exact(value: f64) -> Self {
        Self { cut: value, bound: value }
    }
}

/// Where the components of a [`SumOracle`] can be evaluated, if there are several copies of the oracle: one in each
/// process, for example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parts {
    /// One call evaluates all components. Some of them cost as much as all.
    Together,
    /// Each component is evaluated by itself. The result depends on the component, the point and the wished accuracy
    /// alone, so any copy can evaluate it at any time.
    Anywhere,
    /// Each component is evaluated by itself, and remembers its earlier evaluations: a solver that starts from its last
    /// solution, for example. [`SumOracle::memory`] has all that the next result depends on beside the point and the
    /// wished accuracy, so another copy can go on with it.
    WithMemory,
    /// Each component is evaluated by itself, and remembers its earlier evaluations in a way that cannot be moved. One
    /// copy evaluates it throughout a run.
    InOnePlace,
}

/// An oracle for a sum `linear'x + sum_a m_a f_a(x)`, with a value and a sparse subgradient of each component `f_a`.
/// The multiplicities `m_a` are 1 unless the oracle states others.
///
/// A Lagrangian dual is such a sum: each subproblem is a component.
pub trait SumOracle: Oracle {
    /// Number of components.
    fn component_count(&self) -> usize;

    /// Coefficients of the linear part; `dim()` numbers.
    fn linear(&self) -> &[f64];

    /// Evaluates every component at `point` and pushes one minorant for each, in order. `minorants` is empty before.
    /// [`Minorants`] also takes values that are intervals, and further cuts.
    ///
    /// # Errors
    /// As [`Oracle::evaluate`].
    fn evaluate_components(&mut self, point: &[f64], minorants: &mut Minorants) -> Result<(), OracleError>;

    /// Evaluates some components only, in the given order, and appends their minorants. By default it evaluates all.
    ///
    /// # Errors
    /// As [`Oracle::evaluate`].
    fn evaluate_some(
        &mut self,
        components: &[usize],
        point: &[f64],
        minorants: &mut Minorants,
    ) -> Result<(), OracleError> {
        let mut all = Minorants::new();
        self.evaluate_components(point, &mut all)?;
        minorants.select(&all, components);
        Ok(())
    }

    /// Where components can be evaluated. An oracle with an [`SumOracle::evaluate_some`] of its own states it.
    fn parts(&self) -> Parts {
        Parts::Together
    }

    /// The memory of a component, if the components are [`Parts::WithMemory`].
    fn memory(&self, component: usize) -> Vec<f64> {
        let _ = component;
        vec![]
    }

    /// Gives a component the memory that another copy of it has.
    fn set_memory(&mut self, component: usize, memory: &[f64]) {
        let _ = (component, memory);
    }

    /// Takes note of an evaluation of all components that copies of the oracle made. An oracle that keeps something of
    /// its evaluations, for proofs, keeps it here too.
    fn gathered(&mut self, point: &[f64], minorants: &Minorants) {
        let _ = (point, minorants);
    }

    /// Writes the subgradient of the whole function and returns its value, from the minorants of all components at
    /// `point`: the same numbers, bit by bit, as those of [`Oracle::evaluate_within`]. By default components are added
    /// up in order, as [`Parallel`] does it.
    fn add_up(&self, point: &[f64], minorants: &Minorants, subgradient: &mut [f64]) -> Interval {
        let linear = self.linear();
        subgradient.copy_from_slice(linear);
        let at_point: f64 = linear.iter().zip(point).map(|(entry, at)| entry * at).sum();
        for component in 0..minorants.len() {
            let (factor, (coordinates, entries)) = (self.multiplicity(component), minorants.subgradient(component));
            coordinates.iter().zip(entries).for_each(|(&at, entry)| subgradient[at as usize] += factor * entry);
        }
        let sum = |numbers: &[f64]| -> f64 {
            numbers.iter().enumerate().map(|(component, number)| self.multiplicity(component) * number).sum()
        };
        Interval { cut: at_point + sum(minorants.values()), bound: at_point + sum(minorants.bounds()) }
    }

    /// Number of equal components that this one stands for: 50 for 50 equal bins. It is evaluated once, and its value and
    /// subgradient count that many times. [`Oracle::evaluate`] returns the whole sum, with all multiplicities.
    fn multiplicity(&self, component: usize) -> f64 {
        let _ = component;
        1.0
    }

    /// Hash of all data that a component depends on; [`Fingerprint`] computes one. A later run reuses the cuts of a
    /// component if its fingerprint has not changed. `None` if there is no fingerprint.
    fn fingerprint(&self, component: usize) -> Option<u64> {
        let _ = component;
        None
    }

    /// Value at the origin of the component's minorant with this slope, if there is one. After a change of the data a
    /// later run can reuse a cut whose solution is still feasible: its slope is the same, its cost may be new. All
    /// numbers are in the problem's own sense. Entries may have round-off, and a coordinate may occur more than once.
    ///
    /// If the cut has a primal solution, [`PrimalOracle::line_of`] is asked before. If that has no answer, the solution
    /// keeps its variables and gets the value at the origin as its cost.
    fn reprice(&self, component: usize, coordinates: &[u32], entries: &[f64]) -> Option<f64> {
        let _ = (component, coordinates, entries);
        None
    }

    /// Bound on the optimal value that `aggregate` proves: a lower bound for a function to minimise, an upper bound for
    /// one to maximise. `None` if it proves nothing.
    ///
    /// `aggregate` has one line for each component, in order: a convex combination of minorants that this oracle
    /// returned, in the problem's own sense and without multiplicities. The combination represents a primal solution. In the limit of the bundle
    /// method it proves the optimum.
    fn prove(&mut self, aggregate: &Lines) -> Option<f64> {
        let _ = aggregate;
        None
    }

    /// As [`SumOracle::prove`], for a proof that may take more than some milliseconds. Once `is_over()` is true it ends
    /// soon, with a weaker bound or none. Methods call this one.
    fn prove_until(&mut self, aggregate: &Lines, is_over: &dyn Fn() -> bool) -> Option<f64> {
        let _ = is_over;
        self.prove(aggregate)
    }
}
