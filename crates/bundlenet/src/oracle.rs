//! The function being minimised: value and subgradient in one call.

use std::fmt;

use crate::error::EvaluationError;
use crate::primal::PrimalOracle;
use crate::vectors::{all_within, scale};

/// What an oracle may fail with: any error, or simply a message.
pub type OracleError = Box<dyn std::error::Error + Send + Sync>;

/// A convex function to minimise, or a concave one to maximise.
///
/// # Contract
///
/// For a function to minimise, `evaluate` returns `f(x)` and writes some `g` with
/// `f(y) >= f(x) + g'(y - x)` for every `y` in the domain; for one to maximise the inequality is reversed.
/// The oracle writes **every** entry of `subgradient`. It may assume that `point` and `subgradient` have length
/// `dim()` and that `point` is finite and lies in `domain()`: the methods see to that. In turn [`Minimized`]
/// checks what comes back (finite, every entry written), so neither oracles nor methods repeat the test.
///
/// Values and subgradients are in the problem's own sense; [`Minimized`] is the only place where signs flip.
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
/// Both Lagrangian duals of this crate are such sums: an arc, or a bin, is a component.
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

    /// All components in an order in which neighbours have much in common, for grouping them; their own unless overridden.
    fn component_order(&self) -> Option<Vec<u32>> {
        None
    }

    /// A number that changes, as good as certainly, when a component does: a hash of all that its function depends on, such as
    /// [`Fingerprint`](crate::Fingerprint) computes. Cuts of components whose number has not changed are used again in another
    /// run. `None` where there is no such number.
    fn fingerprint(&self, component: usize) -> Option<u64> {
        let _ = component;
        None
    }

    /// The value at the origin of a component's minorant with this slope, should there be one: a later run can use a cut made
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
    /// out: its value at the origin, and its slope, in the problem's own sense. At the optimum there are combinations
    /// that prove it: the primal solution that a bundle method finds on the way.
    fn prove(&mut self, aggregate: &Minorants) -> Option<f64> {
        let _ = aggregate;
        None
    }
}

/// Values and sparse subgradients of the components of a [`SumOracle`] at one point.
///
/// The buffers keep their memory from one evaluation to the next.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Minorants {
    values: Vec<f64>,
    ends: Vec<usize>,
    coordinates: Vec<u32>,
    entries: Vec<f64>,
}

impl Minorants {
    /// No minorants.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets all minorants and keeps the memory.
    pub fn clear(&mut self) {
        self.values.clear();
        self.ends.clear();
        self.coordinates.clear();
        self.entries.clear();
    }

    /// Appends the next component: its value, and the nonzero entries of its subgradient. A coordinate may come more than once:
    /// its entries are added up.
    pub fn push(&mut self, value: f64, subgradient: impl IntoIterator<Item = (u32, f64)>) {
        self.values.push(value);
        for (coordinate, entry) in subgradient {
            self.coordinates.push(coordinate);
            self.entries.push(entry);
        }
        self.ends.push(self.entries.len());
    }

    /// Appends all components of `other`.
    pub fn append(&mut self, other: &Self) {
        let offset = self.entries.len();
        self.values.extend_from_slice(&other.values);
        self.ends.extend(other.ends.iter().map(|end| end + offset));
        self.coordinates.extend_from_slice(&other.coordinates);
        self.entries.extend_from_slice(&other.entries);
    }

    /// Number of components held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether no component is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Value of every component.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Coordinates and entries of a component's subgradient.
    ///
    /// # Panics
    /// If `component >= len()`.
    #[must_use]
    pub fn subgradient(&self, component: usize) -> (&[u32], &[f64]) {
        let start = if component == 0 { 0 } else { self.ends[component - 1] };
        let range = start..self.ends[component];
        (&self.coordinates[range.clone()], &self.entries[range])
    }

    /// Replaces the components by groups of them, each with the entries of all its components.
    pub(crate) fn gather<'a>(&mut self, groups: impl Iterator<Item = &'a [u32]>) {
        let single = std::mem::take(self);
        for group in groups {
            let value = group.iter().map(|&component| single.values[component as usize]).sum();
            let entries = group.iter().flat_map(|&component| {
                let (coordinates, entries) = single.subgradient(component as usize);
                coordinates.iter().copied().zip(entries.iter().copied())
            });
            self.push(value, entries);
        }
    }

    /// Multiplies values and subgradients.
    pub(crate) fn scale(&mut self, factor: f64) {
        self.values.iter_mut().chain(&mut self.entries).for_each(|number| *number *= factor);
    }

    /// Entries of all subgradients.
    pub(crate) fn entries(&self) -> &[f64] {
        &self.entries
    }

    /// Adds all subgradients to a vector.
    pub(crate) fn add_to(&self, sum: &mut [f64]) {
        for (&coordinate, entry) in self.coordinates.iter().zip(&self.entries) {
            sum[coordinate as usize] += entry;
        }
    }
}

/// Direction of optimisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sense {
    /// The smaller the better.
    Minimize,
    /// The larger the better.
    Maximize,
}

impl Sense {
    /// `1.0` to minimise, `-1.0` to maximise: what a value is multiplied by to be minimised.
    #[must_use]
    pub fn sign(self) -> f64 {
        match self {
            Self::Minimize => 1.0,
            Self::Maximize => -1.0,
        }
    }

    /// The other sense: a problem's Lagrangian dual is optimised the other way round.
    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            Self::Minimize => Self::Maximize,
            Self::Maximize => Self::Minimize,
        }
    }
}

impl fmt::Display for Sense {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Minimize => "minimise",
            Self::Maximize => "maximise",
        })
    }
}

/// Where the variables may lie.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Domain {
    /// Every real vector.
    #[default]
    Free,
    /// Vectors without negative entries.
    Nonnegative,
    /// For each coordinate, whether it must be nonnegative.
    PerCoordinate(Vec<Bound>),
}

/// What one coordinate of a [`Domain::PerCoordinate`] is held to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Any real number.
    Free,
    /// Zero or more.
    Nonnegative,
}

impl Domain {
    /// Whether coordinate `index` must be nonnegative.
    #[must_use]
    pub fn is_nonnegative(&self, index: usize) -> bool {
        match self {
            Self::Free => false,
            Self::Nonnegative => true,
            Self::PerCoordinate(bounds) => bounds.get(index) == Some(&Bound::Nonnegative),
        }
    }

    /// Moves `point` to the nearest point of the domain.
    pub fn project(&self, point: &mut [f64]) {
        if *self == Self::Free {
            return;
        }
        for (index, entry) in point.iter_mut().enumerate() {
            if *entry < 0.0 && self.is_nonnegative(index) {
                *entry = 0.0;
            }
        }
    }

    /// The first coordinate of `point` that lies outside the domain.
    #[must_use]
    pub fn violation(&self, point: &[f64]) -> Option<usize> {
        if *self == Self::Free {
            return None;
        }
        point.iter().enumerate().position(|(index, &entry)| entry < 0.0 && self.is_nonnegative(index))
    }
}

/// A closure as an oracle.
///
/// ```
/// use bundlenet::{FnOracle, Minimized};
///
/// // |x| + 2 |y|
/// let mut oracle = FnOracle::new(2, |point: &[f64], subgradient: &mut [f64]| {
///     subgradient.copy_from_slice(&[point[0].signum(), 2.0 * point[1].signum()]);
///     Ok(point[0].abs() + 2.0 * point[1].abs())
/// });
/// let mut subgradient = [0.0; 2];
/// let value = Minimized::new(&mut oracle)?.evaluate(&[3.0, -1.0], &mut subgradient)?;
/// assert_eq!((value, subgradient), (5.0, [1.0, -2.0]));
/// # Ok::<(), bundlenet::EvaluationError>(())
/// ```
pub struct FnOracle<F> {
    dim: usize,
    function: F,
    domain: Domain,
    sense: Sense,
}

impl<F> FnOracle<F>
where
    F: FnMut(&[f64], &mut [f64]) -> Result<f64, OracleError>,
{
    /// Minimises `function` over free variables.
    pub fn new(dim: usize, function: F) -> Self {
        Self { dim, function, domain: Domain::Free, sense: Sense::Minimize }
    }

    /// Restricts the variables to `domain`.
    #[must_use]
    pub fn with_domain(mut self, domain: Domain) -> Self {
        self.domain = domain;
        self
    }

    /// Optimises in the given sense.
    #[must_use]
    pub fn with_sense(mut self, sense: Sense) -> Self {
        self.sense = sense;
        self
    }
}

impl<F> Oracle for FnOracle<F>
where
    F: FnMut(&[f64], &mut [f64]) -> Result<f64, OracleError>,
{
    fn dim(&self) -> usize {
        self.dim
    }

    fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        (self.function)(point, subgradient)
    }

    fn domain(&self) -> Domain {
        self.domain.clone()
    }

    fn sense(&self) -> Sense {
        self.sense
    }
}

/// An oracle as the methods see it: minimised, checked and counted.
///
/// This is the one place where the sense is flipped and the one place where oracle output is checked.
pub struct Minimized<'a> {
    oracle: &'a mut dyn Oracle,
    dim: usize,
    domain: Domain,
    sense: Sense,
    evaluations: usize,
}

impl<'a> Minimized<'a> {
    /// Wraps an oracle.
    ///
    /// # Errors
    /// If it has no variables, or its domain is for another number of them.
    pub fn new(oracle: &'a mut dyn Oracle) -> Result<Self, EvaluationError> {
        let (dim, domain, sense) = (oracle.dim(), oracle.domain(), oracle.sense());
        if dim == 0 {
            return Err(EvaluationError::NoVariables);
        }
        if let Domain::PerCoordinate(bounds) = &domain
            && bounds.len() != dim
        {
            return Err(EvaluationError::DomainLength { expected: dim, found: bounds.len() });
        }
        Ok(Self { oracle, dim, domain, sense, evaluations: 0 })
    }

    /// Number of variables.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Where the variables may lie.
    #[must_use]
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// The sense of the wrapped oracle, for turning values back into the user's.
    #[must_use]
    pub fn sense(&self) -> Sense {
        self.sense
    }

    /// The oracle as a sum, where it is one.
    pub(crate) fn as_sum(&mut self) -> Option<&mut dyn SumOracle> {
        self.oracle.as_sum()
    }

    /// Evaluations so far, failed ones included.
    #[must_use]
    pub fn evaluations(&self) -> usize {
        self.evaluations
    }

    /// Value and subgradient of the function to minimise.
    ///
    /// # Errors
    /// Says which evaluation went wrong, and how: a wrong length, a point outside the domain, a value or an entry that
    /// is not finite or was not written, or the oracle's own error.
    pub fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, EvaluationError> {
        let evaluation = self.begin(point)?;
        if subgradient.len() != self.dim {
            return Err(EvaluationError::SubgradientLength {
                evaluation,
                expected: self.dim,
                found: subgradient.len(),
            });
        }
        // An entry the oracle forgets to write must not pass for a number.
        subgradient.fill(f64::NAN);
        let value = self
            .oracle
            .evaluate(point, subgradient)
            .map_err(|source| EvaluationError::Failed { evaluation, source })?;
        check_value(evaluation, value)?;
        check_entries(evaluation, subgradient)?;
        if self.sense == Sense::Maximize {
            scale(subgradient, -1.0);
        }
        Ok(self.sense.sign() * value)
    }

    /// Minorants of the components of the function to minimise, where the oracle is a [`SumOracle`]; `false` where
    /// it is not. Counts as one evaluation.
    ///
    /// # Errors
    /// As [`Minimized::evaluate`].
    pub fn evaluate_components(&mut self, point: &[f64], minorants: &mut Minorants) -> Result<bool, EvaluationError> {
        if self.oracle.as_sum().is_none() {
            return Ok(false);
        }
        let evaluation = self.begin(point)?;
        let dim = self.dim;
        let Some(sum) = self.oracle.as_sum() else { return Ok(false) };
        minorants.clear();
        sum.evaluate_components(point, minorants).map_err(|source| EvaluationError::Failed { evaluation, source })?;
        let expected = sum.component_count();
        if minorants.len() != expected {
            return Err(EvaluationError::ComponentCount { evaluation, expected, found: minorants.len() });
        }
        minorants.values.iter().try_for_each(|&value| check_value(evaluation, value))?;
        check_entries(evaluation, &minorants.entries)?;
        if let Some(&coordinate) = minorants.coordinates.iter().find(|&&coordinate| coordinate as usize >= dim) {
            return Err(EvaluationError::Coordinate { evaluation, dim, found: coordinate as usize });
        }
        if self.sense == Sense::Maximize {
            minorants.scale(-1.0);
        }
        Ok(true)
    }

    /// Whether the oracle is a [`PrimalOracle`].
    pub(crate) fn is_primal(&mut self) -> bool {
        self.oracle.as_primal().is_some()
    }

    /// The solutions of the last evaluation, where the oracle is a [`PrimalOracle`]; they are the problem's, and are not flipped.
    pub(crate) fn write_solutions(&mut self, solutions: &mut Minorants) -> Result<(), EvaluationError> {
        let evaluation = self.evaluations;
        let expected = self.oracle.as_sum().map_or(1, |sum| sum.component_count());
        solutions.clear();
        if let Some(primal) = self.oracle.as_primal() {
            primal.write_solutions(solutions);
        }
        if solutions.len() != expected {
            return Err(EvaluationError::SolutionCount { evaluation, expected, found: solutions.len() });
        }
        let mut numbers = solutions.values.iter().chain(&solutions.entries);
        match numbers.find(|number| !number.is_finite()) {
            Some(&found) => Err(EvaluationError::Solution { evaluation, found }),
            None => Ok(()),
        }
    }

    /// A lower bound on the function to minimise, from convex combinations of minorants of its components:
    /// [`SumOracle::prove`] for what [`Minimized::evaluate_components`] gives. `aggregate` is left as it was.
    pub fn prove(&mut self, aggregate: &mut Minorants) -> Option<f64> {
        let sum = self.oracle.as_sum()?;
        if self.sense == Sense::Maximize {
            aggregate.scale(-1.0);
        }
        let bound = sum.prove(aggregate);
        if self.sense == Sense::Maximize {
            aggregate.scale(-1.0);
        }
        bound.map(|bound| self.sense.sign() * bound).filter(|bound| bound.is_finite())
    }

    fn begin(&mut self, point: &[f64]) -> Result<usize, EvaluationError> {
        let evaluation = self.evaluations + 1;
        if point.len() != self.dim {
            return Err(EvaluationError::PointLength { evaluation, expected: self.dim, found: point.len() });
        }
        if let Some(coordinate) = first_unusable(point) {
            return Err(EvaluationError::Point { evaluation, coordinate, found: point[coordinate] });
        }
        if let Some(coordinate) = self.domain.violation(point) {
            return Err(EvaluationError::OutsideDomain { evaluation, coordinate, found: point[coordinate] });
        }
        self.evaluations = evaluation;
        Ok(evaluation)
    }
}

/// The first number that is not finite.
fn first_unusable(numbers: &[f64]) -> Option<usize> {
    // Looking whether there is one is much faster than looking for it.
    if all_within(numbers, f64::MAX) { None } else { numbers.iter().position(|number| !number.is_finite()) }
}

fn check_value(evaluation: usize, found: f64) -> Result<(), EvaluationError> {
    if found.is_finite() { Ok(()) } else { Err(EvaluationError::Value { evaluation, found }) }
}

fn check_entries(evaluation: usize, entries: &[f64]) -> Result<(), EvaluationError> {
    match first_unusable(entries) {
        None => Ok(()),
        Some(coordinate) => {
            Err(EvaluationError::SubgradientEntry { evaluation, coordinate, found: entries[coordinate] })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(error: EvaluationError) -> String {
        error.to_string()
    }

    #[test]
    fn a_concave_function_is_flipped() {
        let mut oracle = FnOracle::new(1, |point, subgradient| {
            subgradient[0] = -2.0 * point[0];
            Ok(-point[0] * point[0])
        })
        .with_sense(Sense::Maximize);
        let mut minimized = Minimized::new(&mut oracle).unwrap();
        let mut subgradient = [0.0];
        assert_eq!(minimized.evaluate(&[3.0], &mut subgradient).unwrap(), 9.0);
        assert_eq!(subgradient, [6.0]);
        assert_eq!(minimized.evaluations(), 1);
    }

    #[test]
    fn bad_output_is_named_with_its_evaluation() {
        let mut calls = 0;
        let mut oracle = FnOracle::new(2, move |_, subgradient| {
            calls += 1;
            subgradient[0] = 1.0;
            if calls != 2 {
                subgradient[1] = 0.0;
            }
            match calls {
                3 => Ok(f64::INFINITY),
                4 => Err("the subproblem is infeasible".into()),
                _ => Ok(0.0),
            }
        });
        let mut minimized = Minimized::new(&mut oracle).unwrap();
        let mut subgradient = [0.0; 2];
        let mut evaluate = |point: &[f64]| minimized.evaluate(point, &mut subgradient);
        evaluate(&[0.0, 0.0]).unwrap();
        let forgotten = message(evaluate(&[0.0, 0.0]).unwrap_err());
        assert!(forgotten.contains("evaluation 2") && forgotten.contains("entry 1"), "{forgotten}");
        let infinite = message(evaluate(&[0.0, 0.0]).unwrap_err());
        assert!(infinite.contains("evaluation 3") && infinite.contains("inf"), "{infinite}");
        let failed = message(evaluate(&[0.0, 0.0]).unwrap_err());
        assert!(failed.contains("evaluation 4") && failed.contains("the subproblem is infeasible"), "{failed}");
        let short = message(evaluate(&[0.0]).unwrap_err());
        assert!(short.contains("expected 2") && short.contains("found 1"), "{short}");
        let nan = message(evaluate(&[0.0, f64::NAN]).unwrap_err());
        assert!(nan.contains("NaN"), "{nan}");
    }

    #[test]
    fn bad_oracles_are_refused() {
        let nothing = |_: &[f64], _: &mut [f64]| Ok(0.0);
        assert!(matches!(Minimized::new(&mut FnOracle::new(0, nothing)), Err(EvaluationError::NoVariables)));
        let domain = Domain::PerCoordinate(vec![Bound::Free]);
        let mut oracle = FnOracle::new(2, nothing).with_domain(domain);
        assert!(matches!(Minimized::new(&mut oracle), Err(EvaluationError::DomainLength { expected: 2, found: 1 })));
    }

    #[test]
    fn domains_project_and_detect() {
        let mixed = Domain::PerCoordinate(vec![Bound::Free, Bound::Nonnegative]);
        let mut point = [-1.0, -2.0];
        assert_eq!(mixed.violation(&point), Some(1));
        mixed.project(&mut point);
        assert_eq!(point, [-1.0, 0.0]);
        assert_eq!(mixed.violation(&point), None);
        assert_eq!(Domain::Free.violation(&[-1.0]), None);
        assert_eq!(Domain::Nonnegative.violation(&[-1.0]), Some(0));
    }
}
