//! The adapter between oracles and methods.

use std::time::Instant;

use bundlenet_linalg::vectors::{Padded, all_within, scale};

use super::{
    Domain, EvaluationError, Fingerprint, Interval, Lines, Minorants, Oracle, Patience, Primal, Sense, Solutions,
    StructuredMethod,
};

/// Largest entry of a scaled subgradient. The squares of larger ones could not be added up.
const LARGEST_ENTRY: f64 = 1e150;

/// Largest ratio between the scale of an earlier run and the scale at this start, if the earlier one is to be used.
const SCALE_RANGE: f64 = 1e3;

/// Round-off by which the ends of an interval may be in the wrong order, relative to them.
const ROUND_OFF: f64 = 1e-12;

/// Work of an evaluation in nanoseconds if the oracle states none: a millisecond.
const DEAR: f64 = 1e6;

/// Scale of an earlier run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownScale {
    pub(crate) scale: f64,
    /// Whether that run had the same function, or at least some of its components.
    pub(crate) is_of_same: bool,
}

/// A function as the methods see it: checked, minimised, scaled, counted and timed.
///
/// Only this adapter checks the output of an oracle and turns it into the numbers of the methods. It multiplies every
/// number of the oracle by one factor: the sign (`1` to minimise, `-1` to maximise) times the scale of the run.
pub struct Function<'a> {
    oracle: &'a mut dyn Oracle,
    dim: usize,
    domain: Domain,
    sense: Sense,
    minimizer_box: Option<(Vec<f64>, Vec<f64>)>,
    /// Scales of the variables, if the oracle states them.
    scales: Option<Vec<f64>>,
    /// Scale of the run; 1 before [`Function::begin`].
    scale: f64,
    /// Coefficients of the linear part, minimised and scaled. `None` if the oracle is not a sum.
    linear: Option<Vec<f64>>,
    /// Number of components; 1 unless the oracle is a sum.
    components: usize,
    /// Multiplicities of the components; empty if all are 1.
    multiplicities: Vec<f64>,
    /// Number of components that were evaluated.
    component_calls: usize,
    /// Work of the oracle's own method, if it has one.
    structured_work: Option<f64>,
    keeps_solutions: bool,
    evaluations: usize,
    most_evaluations: usize,
    seconds: f64,
    patience: Patience<'a>,
}

/// Value and subgradient, or minorants, of the function at a point.
#[derive(Clone, Debug, Default)]
pub(crate) struct Evaluation {
    pub(crate) point: Vec<f64>,
    /// The value, or an upper bound on it, minimised and scaled.
    pub(crate) value: f64,
    /// The same, not scaled.
    pub(crate) unscaled: f64,
    /// Width of the interval of the value, scaled: the minorant has the value `value - width` here. 0 for exact oracles.
    pub(crate) width: f64,
    /// Whether only some components were evaluated. Then there is no value.
    pub(crate) is_partial: bool,
    /// Subgradient of the whole function.
    pub(crate) subgradient: Padded,
    /// Minorants of the components, if they were asked for.
    pub(crate) minorants: Minorants,
    /// Solutions of the subproblems, if they are kept.
    pub(crate) solutions: Option<Solutions>,
}

impl Evaluation {
    /// An evaluation that is still to be made at a point.
    pub(crate) fn at(point: &[f64]) -> Self {
        Self { point: point.to_vec(), subgradient: Padded::zeros(point.len()), ..Self::default() }
    }

    pub(crate) fn subgradient(&self) -> &[f64] {
        self.subgradient.numbers(self.point.len())
    }

    /// Value of the minorant at the point.
    pub(crate) fn cut(&self) -> f64 {
        self.value - self.width
    }

    /// The solution of the whole function: without those of further cuts.
    pub(crate) fn primal(&self) -> Option<Primal> {
        let solutions = self.solutions.as_ref()?;
        let components = if self.minorants.is_empty() { solutions.len() } else { self.minorants.len() };
        Some(Primal::of(solutions, 0..components))
    }

    /// Whether the subgradient proves that the minorant is nowhere lower than here: it is 0, or points out of the domain where the point is at a bound.
    pub(crate) fn is_stationary(&self, domain: &Domain) -> bool {
        let is_blocked = |index: usize, entry: f64| {
            let (at, (lower, upper)) = (self.point[index], domain.limits(index));
            if entry > 0.0 { at == lower } else { at == upper }
        };
        self.subgradient().iter().enumerate().all(|(index, &entry)| entry == 0.0 || is_blocked(index, entry))
    }
}

/// Which parts of an evaluation are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// The subgradient of the whole function.
    Whole,
    /// The minorants of the components, too.
    Components,
}

/// Kind of the cuts: of the whole function, or of its components.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CutsOf {
    Whole,
    Components,
}

impl<'a> Function<'a> {
    /// Wraps an oracle. Values are minimised and not scaled.
    ///
    /// # Errors
    /// If it has no variables, if its domain is empty, or if its domain or its linear part has a wrong length.
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
        if let Some(coordinate) = domain.impossible() {
            let (lower, upper) = domain.limits(coordinate);
            return Err(EvaluationError::DomainBound { coordinate, lower, upper });
        }
        let domain = domain.simplified();
        let minimizer_box = minimizer_box(&domain, dim, oracle.minimizer_box())?;
        let scales = scales(dim, oracle.scales())?;
        let linear: Option<Vec<f64>> =
            oracle.as_sum().map(|sum| sum.linear().iter().map(|entry| sense.sign() * entry).collect());
        if let Some(found) = linear.as_ref().map(Vec::len).filter(|&length| length != dim) {
            return Err(EvaluationError::LinearLength { expected: dim, found });
        }
        let components = oracle.as_sum().map_or(1, |sum| sum.component_count());
        let multiplicities = multiplicities(oracle)?;
        let structured_work = oracle.as_structured().and_then(|structured| structured.method_work());
        Ok(Self {
            oracle,
            dim,
            domain,
            sense,
            minimizer_box,
            scales,
            scale: 1.0,
            linear,
            components,
            multiplicities,
            component_calls: 0,
            structured_work: structured_work.filter(|work| work.is_finite() && *work >= 0.0),
            keeps_solutions: false,
            evaluations: 0,
            most_evaluations: usize::MAX,
            seconds: 0.0,
            patience: Patience::default(),
        })
    }

    /// Asks for the solutions of the subproblems with every evaluation, if the oracle has them.
    pub(crate) fn keep_solutions(&mut self) {
        self.keeps_solutions = self.oracle.as_primal().is_some();
    }

    /// Limits the time of computations between evaluations.
    pub(crate) fn with_patience(self, patience: Patience<'a>) -> Self {
        Self { patience, ..self }
    }

    /// Limits the number of evaluations. Methods ask for it before evaluations between steps.
    pub(crate) fn with_evaluations(self, most: Option<usize>) -> Self {
        Self { most_evaluations: most.unwrap_or(usize::MAX), ..self }
    }

    /// Number of evaluations that are left.
    pub(crate) fn evaluations_left(&self) -> usize {
        self.most_evaluations.saturating_sub(self.evaluations)
    }

    /// The patience of the run.
    pub(crate) fn patience(&self) -> &Patience<'a> {
        &self.patience
    }

    /// Number of variables.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The domain of the variables.
    #[must_use]
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// The start point if none is given: that of the oracle, or 0, moved into the domain.
    pub(crate) fn start(&self) -> Vec<f64> {
        let mut point = self.oracle.start().unwrap_or_else(|| vec![0.0; self.dim]);
        self.domain.project(&mut point);
        point
    }

    /// The sense of the oracle, to turn values back into the user's.
    #[must_use]
    pub fn sense(&self) -> Sense {
        self.sense
    }

    /// Evaluations so far, failed ones included.
    #[must_use]
    pub fn evaluations(&self) -> usize {
        self.evaluations
    }

    /// Whether the function is a sum of components.
    #[must_use]
    pub fn is_sum(&self) -> bool {
        self.linear.is_some()
    }

    /// Number of components that were evaluated; a call of a function that is not a sum counts as one.
    pub(crate) fn component_calls(&self) -> usize {
        self.component_calls
    }

    /// Wishes for an accuracy of the next values, scaled.
    pub(crate) fn wish(&mut self, accuracy: f64) {
        self.oracle.wish(accuracy / self.scale);
    }

    fn multiplicity(&self, component: usize) -> f64 {
        self.multiplicities.get(component).copied().unwrap_or(1.0)
    }

    /// Multiplicities of the components; empty if all are 1.
    pub(crate) fn multiplicities(&self) -> &[f64] {
        &self.multiplicities
    }

    /// Number of components; 1 unless the function is a sum.
    pub(crate) fn components(&self) -> usize {
        self.components
    }

    /// Coefficients of the linear part, scaled. Empty if the function is not a sum.
    pub(crate) fn linear(&self) -> &[f64] {
        self.linear.as_deref().unwrap_or(&[])
    }

    pub(crate) fn minimizer_box(&self) -> Option<&(Vec<f64>, Vec<f64>)> {
        self.minimizer_box.as_ref()
    }

    /// Wall time spent in the oracle so far, in seconds.
    pub(crate) fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Scales of the variables, if the oracle states them.
    pub(crate) fn scales(&self) -> Option<&[f64]> {
        self.scales.as_deref()
    }

    /// Work of an evaluation, in nanoseconds.
    pub(crate) fn work(&self) -> f64 {
        self.oracle.work().filter(|work| work.is_finite() && *work >= 0.0).unwrap_or(DEAR)
    }

    /// Work of the oracle's own method, in nanoseconds, if it has one.
    pub(crate) fn structured_work(&self) -> Option<f64> {
        self.structured_work
    }

    /// The oracle's own method, for a relative gap of `tolerance`.
    pub(crate) fn structured(&mut self, tolerance: f64) -> Option<Box<dyn StructuredMethod>> {
        self.oracle.as_structured()?.method(tolerance)
    }

    /// A bound in the problem's own sense as a lower bound on the scaled function.
    pub(crate) fn scaled_bound(&self, bound: f64) -> Option<f64> {
        Some(self.factor() * bound).filter(|bound| bound.is_finite())
    }

    /// Scale of the run: the factor on values and subgradients, without the sign.
    pub(crate) fn scale(&self) -> f64 {
        self.scale
    }

    /// `max(1, |f|)` of the user's function, scaled. Gaps are relative to it.
    pub(crate) fn magnitude(&self, value: f64) -> f64 {
        value.abs().max(self.scale)
    }

    /// Value and subgradient of the minimised function.
    ///
    /// # Errors
    /// A wrong length, a point outside the domain, a value or an entry that is not finite or was not written, or the
    /// error of the oracle. The error names the evaluation.
    pub fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, EvaluationError> {
        let (unscaled, _) = self.call(point, subgradient)?;
        self.scaled(unscaled, subgradient)
    }

    /// Value of the minimised function, and minorants of its components.
    ///
    /// # Errors
    /// As [`Function::evaluate`], and if the oracle is not a [`SumOracle`](crate::SumOracle).
    pub fn evaluate_components(&mut self, point: &[f64], minorants: &mut Minorants) -> Result<f64, EvaluationError> {
        let (unscaled, _) = self.call_components(None, point, minorants)?;
        self.scaled(unscaled, minorants.rows().entries())
    }

    /// Evaluates at the start and sets the scale of the run: one over the norm of the subgradient there, or the known
    /// scale of an earlier run if that is close. Near the optimum of a smooth function subgradients are small; if the
    /// function is the same, they do not count.
    pub(crate) fn begin(
        &mut self,
        evaluation: &mut Evaluation,
        detail: Detail,
        known: Option<KnownScale>,
    ) -> Result<(), EvaluationError> {
        let (expected, found) = (self.dim, evaluation.point.len());
        if found != expected {
            return Err(EvaluationError::PointLength { evaluation: 1, expected, found });
        }
        self.ask(evaluation, detail)?;
        let fresh = scale_of(evaluation.subgradient());
        // The step lengths and the stop test depend on the scale. A scale of a very different function would spoil
        // them.
        let is_alike = |known: &KnownScale| {
            let least = if known.is_of_same { 0.0 } else { 1.0 / SCALE_RANGE };
            (least..=SCALE_RANGE).contains(&(known.scale / fresh))
        };
        self.scale = known.filter(is_alike).map_or(fresh, |known| known.scale);
        let dim = self.dim;
        scale(evaluation.subgradient.numbers_mut(dim), self.scale);
        evaluation.minorants.scale(self.scale);
        evaluation.width *= self.scale;
        if let Some(linear) = &mut self.linear {
            scale(linear, self.scale);
        }
        self.set_value(evaluation, detail)
    }

    /// Evaluates at the point of an evaluation and writes the other fields.
    pub(crate) fn visit(&mut self, evaluation: &mut Evaluation, detail: Detail) -> Result<(), EvaluationError> {
        self.ask(evaluation, detail)?;
        self.set_value(evaluation, detail)
    }

    /// Evaluates some components at the point of an evaluation. It gets their minorants, in the given order, and no
    /// value.
    pub(crate) fn visit_some(
        &mut self,
        components: &[usize],
        evaluation: &mut Evaluation,
    ) -> Result<(), EvaluationError> {
        let Evaluation { point, minorants, solutions, is_partial, .. } = evaluation;
        *is_partial = true;
        let begin = Instant::now();
        let result = self.call_components(Some(components), point, minorants);
        let result = result.and_then(|_| self.write_solutions(Some(components), minorants.owners(), solutions));
        self.seconds += begin.elapsed().as_secs_f64();
        result
    }

    /// Evaluates at the point of an evaluation and fills in all but the scaled value.
    fn ask(&mut self, evaluation: &mut Evaluation, detail: Detail) -> Result<(), EvaluationError> {
        let Evaluation { point, unscaled, width, is_partial, subgradient, minorants, solutions, .. } = evaluation;
        *is_partial = false;
        let dim = self.dim;
        let begin = Instant::now();
        let result = match detail {
            Detail::Whole => self.call(point, subgradient.numbers_mut(dim)),
            Detail::Components => self.call_components(None, point, minorants),
        };
        let owners = if detail == Detail::Components { minorants.owners() } else { &[] };
        let result = result.and_then(|value| self.write_solutions(None, owners, solutions).map(|()| value));
        self.seconds += begin.elapsed().as_secs_f64();
        (*unscaled, *width) = result?;
        match detail {
            Detail::Whole => minorants.clear(),
            Detail::Components => {
                let sum = subgradient.numbers_mut(dim);
                sum.copy_from_slice(self.linear());
                minorants.rows().add_to(sum);
            }
        }
        Ok(())
    }

    /// Fills in the scaled value, and checks that the numbers of an evaluation are in range.
    fn set_value(&self, evaluation: &mut Evaluation, detail: Detail) -> Result<(), EvaluationError> {
        let entries = match detail {
            Detail::Whole => evaluation.subgradient(),
            Detail::Components => evaluation.minorants.rows().entries(),
        };
        evaluation.value = self.scaled(evaluation.unscaled, entries)?;
        Ok(())
    }

    /// Calls the oracle and checks its output. Returns the upper bound of the minimised value, not scaled, and the width
    /// of its interval, scaled as the subgradient is.
    fn call(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<(f64, f64), EvaluationError> {
        let evaluation = self.count(point)?;
        let (expected, found) = (self.dim, subgradient.len());
        if found != expected {
            return Err(EvaluationError::SubgradientLength { evaluation, expected, found });
        }
        // An entry that the oracle does not write stays NaN and is found.
        subgradient.fill(f64::NAN);
        let interval = self
            .oracle
            .evaluate_within(point, subgradient)
            .map_err(|source| EvaluationError::Failed { evaluation, source })?;
        self.component_calls += self.components;
        let width = self.width(None, interval)?;
        check_entries(evaluation, subgradient)?;
        let factor = self.factor();
        if factor != 1.0 {
            scale(subgradient, factor);
        }
        Ok((self.sense.sign() * interval.cut + width, self.scale * width))
    }

    /// Width of an interval, not scaled.
    fn width(&self, component: Option<usize>, Interval { cut, bound }: Interval) -> Result<f64, EvaluationError> {
        let evaluation = self.evaluations;
        check_value(evaluation, cut)?;
        check_value(evaluation, bound)?;
        let width = self.sense.sign() * (bound - cut);
        if width < -ROUND_OFF * (cut.abs() + bound.abs()) {
            return Err(EvaluationError::Interval { evaluation, component, sense: self.sense, cut, bound });
        }
        Ok(width.max(0.0))
    }

    /// As [`Self::call`], by component: all, or the given ones. The value of some components is without meaning.
    fn call_components(
        &mut self,
        which: Option<&[usize]>,
        point: &[f64],
        minorants: &mut Minorants,
    ) -> Result<(f64, f64), EvaluationError> {
        if !self.is_sum() {
            return Err(EvaluationError::NoSum);
        }
        let evaluation = self.count(point)?;
        let (dim, factor) = (self.dim, self.factor());
        let Some(sum) = self.oracle.as_sum() else { return Err(EvaluationError::NoSum) };
        minorants.clear();
        let result = match which {
            None => sum.evaluate_components(point, minorants),
            Some(which) => sum.evaluate_some(which, point, minorants),
        };
        result.map_err(|source| EvaluationError::Failed { evaluation, source })?;
        let (expected, found) = (which.map_or(self.components, <[usize]>::len), minorants.len());
        self.component_calls += expected;
        if found != expected {
            return Err(EvaluationError::ComponentCount { evaluation, expected, found });
        }
        minorants.all_values().try_for_each(|value| check_value(evaluation, value))?;
        for rows in minorants.all_rows() {
            check_entries(evaluation, rows.entries())?;
            let outside = rows.coordinates().iter().find(|&&coordinate| coordinate as usize >= dim);
            if let Some(&coordinate) = outside {
                return Err(EvaluationError::Coordinate { evaluation, dim, found: coordinate as usize });
            }
        }
        let linear: f64 = sum.linear().iter().zip(point).map(|(entry, at)| entry * at).sum();
        let component = |index: usize| which.map_or(index, |which| which[index]);
        if !self.multiplicities.is_empty() {
            minorants.scale_each(|index| self.multiplicity(component(index)));
        }
        let mut width = 0.0;
        if !minorants.are_exact() {
            for (index, (&cut, &bound)) in minorants.values().iter().zip(minorants.bounds()).enumerate() {
                width += self.width(Some(component(index)), Interval { cut, bound })?;
            }
        }
        let value = linear + minorants.values().iter().sum::<f64>();
        if factor != 1.0 {
            minorants.scale(factor);
        }
        Ok((self.sense.sign() * value + width, self.scale * width))
    }

    /// Writes the solutions of the last evaluation, of all components or of the given ones, if they are kept. Sense and
    /// scale do not apply to them; multiplicities do.
    fn write_solutions(
        &mut self,
        which: Option<&[usize]>,
        owners: &[usize],
        solutions: &mut Option<Solutions>,
    ) -> Result<(), EvaluationError> {
        if !self.keeps_solutions {
            return Ok(());
        }
        let evaluation = self.evaluations;
        let expected = which.map_or(self.components, <[usize]>::len);
        let more = owners.len();
        let Some(primal) = self.oracle.as_primal() else {
            self.keeps_solutions = false;
            *solutions = None;
            return Ok(());
        };
        let solutions = solutions.get_or_insert_default();
        solutions.clear();
        primal.write_solutions(solutions);
        if solutions.len() != expected && solutions.len() != expected + more {
            return Err(EvaluationError::SolutionCount { evaluation, expected, found: solutions.len() });
        }
        if !self.multiplicities.is_empty() {
            let place = |index: usize| if index < expected { index } else { owners[index - expected] };
            let component = |index: usize| which.map_or(place(index), |which| which[place(index)]);
            solutions.scale_each(|index| self.multiplicity(component(index)));
        }
        let mut numbers = solutions.costs().iter().chain(solutions.rows().entries());
        match numbers.find(|number| !number.is_finite()) {
            Some(&found) => Err(EvaluationError::Solution { evaluation, found }),
            None => Ok(()),
        }
    }

    /// Checks a point and counts an evaluation.
    fn count(&mut self, point: &[f64]) -> Result<usize, EvaluationError> {
        let evaluation = self.evaluations + 1;
        if point.len() != self.dim {
            return Err(EvaluationError::PointLength { evaluation, expected: self.dim, found: point.len() });
        }
        if let Some(coordinate) = first_unusable(point) {
            return Err(EvaluationError::Point { evaluation, coordinate, found: point[coordinate] });
        }
        if let Some(coordinate) = self.domain.violation(point) {
            let ((lower, upper), found) = (self.domain.limits(coordinate), point[coordinate]);
            return Err(EvaluationError::OutsideDomain { evaluation, coordinate, lower, upper, found });
        }
        self.evaluations = evaluation;
        Ok(evaluation)
    }

    /// Factor from the numbers of the oracle to those of the methods.
    fn factor(&self) -> f64 {
        self.sense.sign() * self.scale
    }

    /// Scales a minimised value. The `entries` of subgradients are scaled already; they are only checked.
    fn scaled(&self, unscaled: f64, entries: &[f64]) -> Result<f64, EvaluationError> {
        let value = unscaled * self.scale;
        // The master adds up the squares of the entries.
        if value.is_finite() && all_within(entries, LARGEST_ENTRY) {
            Ok(value)
        } else {
            Err(EvaluationError::Overflow { evaluation: self.evaluations, value: unscaled })
        }
    }

    /// Lower bound on the scaled function, proved by convex combinations of the components' minorants. Overwrites them.
    pub(crate) fn prove(&mut self, aggregate: &mut Lines) -> Option<f64> {
        let (patience, multiplicities) = (&self.patience, &self.multiplicities);
        aggregate.scale(1.0 / self.factor());
        let sum = self.oracle.as_sum()?;
        if !multiplicities.is_empty() {
            aggregate.scale_each(|component| 1.0 / multiplicities[component]);
        }
        let bound = sum.prove_until(aggregate, &|| patience.is_over())?;
        self.scaled_bound(bound)
    }

    /// Fingerprints of all components, or one fingerprint of the whole function.
    pub(crate) fn fingerprints(&mut self, cuts_of: CutsOf) -> Vec<Option<u64>> {
        let Some(sum) = self.oracle.as_sum() else { return vec![None] };
        let mut each = (0..sum.component_count()).map(|component| sum.fingerprint(component));
        match cuts_of {
            CutsOf::Components => each.collect(),
            CutsOf::Whole => {
                let linear = Fingerprint::new().numbers(sum.linear()).numbers(&self.multiplicities);
                let all = each.try_fold(linear, |hash, next| Some(hash.whole(next?)));
                vec![all.map(Fingerprint::finish)]
            }
        }
    }

    /// Scaled value at the origin of a component's minorant with the given scaled slope, if it has one.
    pub(crate) fn reprice(&mut self, component: usize, (coordinates, entries): (&[u32], &[f64])) -> Option<f64> {
        let factor = self.factor();
        let sum = self.oracle.as_sum()?;
        let entries: Vec<f64> = entries.iter().map(|entry| entry / factor).collect();
        sum.reprice(component, coordinates, &entries)
            .map(|constant| factor * constant)
            .filter(|constant| constant.is_finite())
    }

    /// Scaled minorant of a component that belongs to a primal solution: its value at the origin, and its slope. Sets
    /// the cost of the solution.
    pub(crate) fn line_of(&mut self, component: usize, solution: &mut Primal) -> Option<(f64, Vec<(u32, f64)>)> {
        let (factor, dim) = (self.factor(), self.dim);
        let (cost, mut slope) = self.oracle.as_primal()?.line_of(component, solution)?;
        solution.cost = cost;
        slope.iter_mut().for_each(|(_, entry)| *entry *= factor);
        let is_entry = |(at, entry): &(u32, f64)| (*at as usize) < dim && entry.abs() <= LARGEST_ENTRY;
        let is_usable = cost.is_finite()
            && (factor * cost).is_finite()
            && slope.iter().all(is_entry)
            && solution.variables.iter().all(|(_, value)| value.is_finite());
        is_usable.then_some((factor * cost, slope))
    }
}

/// The multiplicities of the components; empty if all are 1.
fn multiplicities(oracle: &mut dyn Oracle) -> Result<Vec<f64>, EvaluationError> {
    let Some(sum) = oracle.as_sum() else { return Ok(vec![]) };
    let all: Vec<f64> = (0..sum.component_count()).map(|component| sum.multiplicity(component)).collect();
    match all.iter().position(|&number| !(number > 0.0 && number.is_finite())) {
        Some(component) => Err(EvaluationError::Multiplicity { component, found: all[component] }),
        None if all.iter().all(|&number| number == 1.0) => Ok(vec![]),
        None => Ok(all),
    }
}

/// Lower and upper corner of a box.
type Corners = (Vec<f64>, Vec<f64>);

/// A box that holds a minimiser: the part of the oracle's own box in the domain, or the domain if it is bounded.
fn minimizer_box(domain: &Domain, dim: usize, own: Option<Corners>) -> Result<Option<Corners>, EvaluationError> {
    let Some(mut corners) = own else { return Ok(domain.corners(dim)) };
    check_box(dim, &corners)?;
    for (index, (low, high)) in corners.0.iter_mut().zip(&mut corners.1).enumerate() {
        let (lower, upper) = domain.limits(index);
        (*low, *high) = (low.max(lower), high.min(upper));
    }
    check_box(dim, &corners)?;
    Ok(Some(corners))
}

/// Range of usable scales. Ratios of them stay finite.
const SCALES: (f64, f64) = (1e-100, 1e100);

/// Checks the scales of the variables: one for each, positive and finite.
fn scales(expected: usize, scales: Option<Vec<f64>>) -> Result<Option<Vec<f64>>, EvaluationError> {
    let Some(scales) = scales else { return Ok(None) };
    if scales.len() != expected {
        return Err(EvaluationError::ScaleLength { expected, found: scales.len() });
    }
    match scales.iter().position(|scale| !(SCALES.0..=SCALES.1).contains(scale)) {
        Some(coordinate) => Err(EvaluationError::Scale { coordinate, found: scales[coordinate] }),
        None => Ok(Some(scales)),
    }
}

/// Checks the corners of a box: as many entries as variables, the lower ones not above the upper ones.
fn check_box(expected: usize, (lower, upper): &(Vec<f64>, Vec<f64>)) -> Result<(), EvaluationError> {
    if let Some(found) = [lower.len(), upper.len()].into_iter().find(|&length| length != expected) {
        return Err(EvaluationError::BoxLength { expected, found });
    }
    match lower.iter().zip(upper).position(|(low, high)| low.is_nan() || high.is_nan() || low > high) {
        Some(coordinate) => {
            Err(EvaluationError::BoxEntry { coordinate, lower: lower[coordinate], upper: upper[coordinate] })
        }
        None => Ok(()),
    }
}

/// The factor that gives a subgradient the norm 1, or 1 for a zero subgradient. Does not overflow for large entries.
fn scale_of(subgradient: &[f64]) -> f64 {
    let largest = subgradient.iter().fold(0.0_f64, |largest, entry| largest.max(entry.abs()));
    if largest == 0.0 {
        return 1.0;
    }
    let relative: f64 = subgradient.iter().map(|entry| (entry / largest) * (entry / largest)).sum();
    1.0 / relative.sqrt() / largest
}

/// Index of the first number that is not finite.
fn first_unusable(numbers: &[f64]) -> Option<usize> {
    // The check of all numbers is vectorised; the search is not.
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
