//! A check of an oracle: does it keep its contract at some points, and if not, which mistake explains all of the data?

use std::fmt;

use bundlenet_linalg::Stream;
use bundlenet_linalg::sparse::pairs;

use super::{CutsOf, Detail, Domain, Evaluation, EvaluationError, Function, Interval, Oracle, crossed};

/// Tolerance of all comparisons, relative to the sum of the absolute values of the numbers that enter.
const TOLERANCE: f64 = 1e-9;

/// Cases that a violation shows.
const MOST_CASES: usize = 5;

/// Points that a diagnosis of a difference needs: with fewer, everything fits.
const LEAST_POINTS: usize = 3;

/// Distance of the point near by that tells a tie from a mistake, relative to the largest entry.
const NEAR: f64 = 1e-7;

/// Result of [`check`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Check {
    /// Number of points.
    pub points: usize,
    /// Evaluations that were made, of the whole function and of its components.
    pub evaluations: usize,
    /// Rules that do not hold; empty for a right oracle.
    pub violations: Vec<Violation>,
}

/// A rule that does not hold, with the worst cases.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// The mistake that explains all data, if there is one.
    pub diagnosis: Option<Diagnosis>,
    /// Components that violate the rule. Empty if the whole function does.
    pub components: Vec<usize>,
    /// Number of cases, also of those that are not shown.
    pub count: usize,
    /// The worst cases, the worst one first.
    pub cases: Vec<Case>,
}

/// A case in which a rule does not hold.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Case {
    /// The component, or `None` for the whole function.
    pub component: Option<usize>,
    /// Indices of the points. For [`Rule::Inequality`]: the point of the subgradient, then the point of the value.
    pub points: Vec<usize>,
    /// The coordinate of a subgradient.
    pub coordinate: Option<usize>,
    /// The numbers that were expected and found, in the oracle's own sense and without multiplicities. For
    /// [`Rule::Inequality`] the value, or its bound, is expected on one side of the number: at least this to minimise,
    /// at most this to maximise. Of two intervals that do not overlap, these are the ends that face each other.
    pub amounts: Option<(f64, f64)>,
}

/// A rule for oracles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rule {
    /// `f(y) >= f(x) + g(x)'(y - x)`, reversed for a function to maximise. For values that are intervals, `f(y)` is the
    /// bound and `f(x)` the cut. Further cuts have to be minorants, too.
    Inequality,
    /// The value of the whole function is that of the linear part plus those of all components, each as often as its
    /// multiplicity says. Intervals overlap.
    SumOfValues,
    /// The subgradient of the whole function is that of the linear part plus those of all components, each as often as
    /// its multiplicity says. Points at which a value is an interval are left out: there are many right subgradients.
    SumOfSubgradients,
    /// A second evaluation at a point gives the same value, or an interval that overlaps.
    Repetition,
    /// The fingerprint of a component does not change.
    Fingerprint,
    /// [`SumOracle::reprice`](crate::SumOracle::reprice) gives a fresh minorant the value at the origin that it has.
    Reprice,
}

/// A mistake that explains all data. Those up to `FurtherCut` are for [`Rule::Inequality`], the others for sums.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Diagnosis {
    /// The inequality holds with `-g`.
    WrongSign,
    /// The inequality holds reversed: the function is concave and minimised, or convex and maximised.
    WrongSense,
    /// The subgradients are those of a convex function, and the values are not the values of that function.
    MissingTerm,
    /// The subgradients belong to no convex function.
    NotConvex,
    /// For intervals: they are too narrow. The cut at the first point of a case is too high, or the bound at the second
    /// too low (reversed for a function to maximise).
    Narrow,
    /// A further cut is no minorant.
    FurtherCut,
    /// Values differ by a constant: the whole function minus the sum.
    Constant(f64),
    /// The whole function has the linear part with this factor.
    LinearPart(f64),
    /// The whole function has a component with a factor, beside its multiplicity.
    Component {
        /// The component.
        component: usize,
        /// The factor; 0 if the component is missing.
        factor: f64,
    },
    /// The whole function has every component once. The multiplicities are missing.
    Multiplicities,
    /// The whole function and the sum differ by a linear term that is not the linear part.
    Linear,
}

/// Checks an oracle at some points of its domain, before its first run.
///
/// The oracle is evaluated at all points, twice, as a whole and by components. [`Rule`] lists the tests. All of them
/// are independent of the unit of the function. The check finds wrong signs, a wrong sense, missing terms, components
/// that do not add up, intervals without the value, and stale data. It cannot prove an oracle right. Some ten points are
/// enough in general; pairs of close points find small mistakes. [`check_points`] makes such points.
///
/// ```
/// use bundlenet::{Diagnosis, FnOracle, check, check_points};
///
/// // x^2, with the gradient of -x^2
/// let mut oracle = FnOracle::new(1, |point: &[f64], subgradient: &mut [f64]| {
///     subgradient[0] = -2.0 * point[0];
///     Ok(point[0] * point[0])
/// });
/// let points = check_points(&oracle, 10, 1);
/// let result = check(&mut oracle, &points)?;
/// assert!(!result.is_ok());
/// assert_eq!(result.violations[0].diagnosis, Some(Diagnosis::WrongSign));
/// println!("{result}");
/// # Ok::<(), bundlenet::EvaluationError>(())
/// ```
///
/// # Errors
/// An error that would end a run as well: a point outside the domain, a wrong length, a wrong number of minorants or
/// primal solutions, a number that is not finite, or an error of the oracle itself.
pub fn check(oracle: &mut dyn Oracle, points: &[Vec<f64>]) -> Result<Check, EvaluationError> {
    let mut function = Function::new(oracle)?;
    function.keep_solutions();
    let prints = [(); 2].map(|()| function.fingerprints(CutsOf::Components));
    let samples = Samples::take(&mut function, points)?;
    let multiplicities = function.multiplicities().to_vec();
    let mut findings = Findings { sign: samples.sign, multiplicities, violations: vec![] };
    samples.check_inequalities(&mut findings);
    if function.is_sum() {
        samples.check_sum_of_values(&mut findings);
        samples.check_sum_of_subgradients(&mut function, &mut findings)?;
        samples.check_reprice(&mut function, &mut findings);
    }
    samples.check_repetition(&mut function, &mut findings)?;
    let later = function.fingerprints(CutsOf::Components);
    let has_changed = |component: &usize| prints.iter().any(|print| print[*component] != later[*component]);
    for component in (0..later.len()).filter(has_changed) {
        let case = Case { component: Some(component), points: vec![], coordinate: None, amounts: None };
        findings.add(Rule::Fingerprint, None, 1.0, case);
    }
    Ok(Check { points: points.len(), evaluations: function.evaluations(), violations: findings.finish() })
}

/// Points of the oracle's domain for [`check`], from a seed: the same on every machine.
///
/// Points at an even index have entries of up to 0.1, 1, 10, 100 and 1000, in turn. Each is followed by one close to
/// it. Scale them if your variables have other sizes. An entry outside an interval of finite length is replaced by one
/// inside.
#[must_use]
pub fn check_points(oracle: &dyn Oracle, count: usize, seed: u64) -> Vec<Vec<f64>> {
    const SIZES: [f64; 5] = [1.0, 100.0, 0.1, 1000.0, 10.0];
    const CLOSE: f64 = 1e-3;
    let (dim, domain) = (oracle.dim(), oracle.domain());
    let mut stream = Stream::new(seed, "check", 0);
    let mut points: Vec<Vec<f64>> = vec![];
    for index in 0..count {
        let size = SIZES[index / 2 % SIZES.len()];
        let mut point: Vec<f64> = match points.last() {
            Some(last) if index % 2 == 1 => last.iter().map(|at| at + CLOSE * size * stream.symmetric()).collect(),
            _ => (0..dim).map(|_| size * stream.symmetric()).collect(),
        };
        move_inside(&domain, &mut point, &mut stream);
        points.push(point);
    }
    points
}

/// Moves a point into the domain: coordinates with two limits to a random place between them, others to their limit.
fn move_inside(domain: &Domain, point: &mut [f64], stream: &mut Stream) {
    for (index, entry) in point.iter_mut().enumerate() {
        let (lower, upper) = domain.limits(index);
        if crossed((lower, upper), *entry).is_some() && (upper - lower).is_finite() {
            *entry = lower + 0.5 * (1.0 + stream.symmetric()) * (upper - lower);
        }
    }
    domain.project(point);
}

/// Collects violations by rule and diagnosis.
struct Findings {
    /// From minimised numbers to those of the oracle.
    sign: f64,
    /// Empty if all are 1.
    multiplicities: Vec<f64>,
    violations: Vec<(Violation, Vec<(f64, Case)>)>,
}

impl Findings {
    /// Adds a case. `badness` orders the cases of a violation.
    fn add(&mut self, rule: Rule, diagnosis: Option<Diagnosis>, badness: f64, case: Case) {
        let is_whole = case.component.is_none();
        let is_same = |(known, _): &(Violation, _)| {
            known.rule == rule && known.diagnosis == diagnosis && known.components.is_empty() == is_whole
        };
        let index = self.violations.iter().position(is_same).unwrap_or(self.violations.len());
        if index == self.violations.len() {
            let violation = Violation { rule, diagnosis, components: vec![], count: 0, cases: vec![] };
            self.violations.push((violation, vec![]));
        }
        let (violation, cases) = &mut self.violations[index];
        violation.count += 1;
        violation.components.extend(case.component.filter(|component| violation.components.last() != Some(component)));
        cases.push((badness, case));
        if cases.len() > 8 * MOST_CASES {
            keep_worst(cases);
        }
    }

    fn finish(self) -> Vec<Violation> {
        let finished = |(violation, mut cases): (Violation, Vec<(f64, Case)>)| {
            keep_worst(&mut cases);
            let mut components = violation.components;
            components.sort_unstable();
            components.dedup();
            Violation { components, cases: cases.into_iter().map(|(_, case)| case).collect(), ..violation }
        };
        self.violations.into_iter().map(finished).collect()
    }

    /// Numbers of the whole function or of a component as the oracle states them. Adding 0 turns -0 into 0.
    fn amounts(&self, component: Option<usize>, expected: f64, found: f64) -> Option<(f64, f64)> {
        let multiplicity = component.and_then(|component| self.multiplicities.get(component)).unwrap_or(&1.0);
        let factor = self.sign / multiplicity;
        Some((factor * expected + 0.0, factor * found + 0.0))
    }
}

fn keep_worst(cases: &mut Vec<(f64, Case)>) {
    cases.sort_by(|(first, _), (second, _)| second.total_cmp(first));
    cases.truncate(MOST_CASES);
}

/// Evaluations at all points, minimised and not scaled.
struct Samples<'a> {
    points: &'a [Vec<f64>],
    /// From minimised numbers to those of the oracle.
    sign: f64,
    /// All coordinates.
    coordinates: Vec<u32>,
    linear: Vec<f64>,
    components: usize,
    /// Empty if all are 1. The minorants are multiplied already.
    multiplicities: Vec<f64>,
    whole: Vec<Evaluation>,
    /// By components; empty if the function is not a sum.
    parts: Vec<Evaluation>,
}

/// Value and subgradient of the whole function or of a component at a point.
struct Sample<'a> {
    value: Interval,
    subgradient: (&'a [u32], &'a [f64]),
    /// Sum of the absolute values of the terms of the value, as far as they are known.
    level: f64,
}

impl Sample<'_> {
    /// Size of the numbers in the value of the linearisation at a point.
    fn size_at(&self, point: &[f64]) -> f64 {
        let product = |(coordinate, entry): (u32, f64)| (entry * point[coordinate as usize]).abs();
        size_of(self.value) + self.level + pairs(self.subgradient).map(product).sum::<f64>()
    }
}

/// The largest absolute value in an interval.
fn size_of(Interval { cut, bound }: Interval) -> f64 {
    cut.abs().max(bound.abs())
}

/// The interval of the value of an evaluation.
fn interval_of(evaluation: &Evaluation) -> Interval {
    Interval { cut: evaluation.cut(), bound: evaluation.value }
}

/// The ends of two intervals that face each other: equal if the intervals overlap.
fn facing(first: Interval, second: Interval) -> (f64, f64) {
    match () {
        () if first.cut > second.bound => (first.cut, second.bound),
        () if first.bound < second.cut => (first.bound, second.cut),
        () => (first.bound, first.bound),
    }
}

impl<'a> Samples<'a> {
    fn take(function: &mut Function<'_>, points: &'a [Vec<f64>]) -> Result<Self, EvaluationError> {
        let mut samples = Self {
            points,
            sign: function.sense().sign(),
            coordinates: (0..function.dim() as u32).collect(),
            linear: function.linear().to_vec(),
            components: if function.is_sum() { function.components() } else { 0 },
            multiplicities: function.multiplicities().to_vec(),
            whole: vec![],
            parts: vec![],
        };
        for point in points {
            samples.whole.push(evaluate(function, point, Detail::Whole)?);
            if function.is_sum() {
                samples.parts.push(evaluate(function, point, Detail::Components)?);
            }
        }
        Ok(samples)
    }

    /// Sum of the absolute values of all terms of a sum at a point.
    fn level(&self, index: usize) -> f64 {
        let linear: f64 = self.linear.iter().zip(&self.points[index]).map(|(entry, at)| (entry * at).abs()).sum();
        let sizes = (0..self.components).map(|component| size_of(self.interval(component, index)));
        linear + sizes.sum::<f64>()
    }

    /// The linear part at a point.
    fn linear_at(&self, index: usize) -> f64 {
        self.linear.iter().zip(&self.points[index]).map(|(entry, at)| entry * at).sum()
    }

    fn whole(&self, index: usize) -> Sample<'_> {
        let evaluation = &self.whole[index];
        let subgradient = (&self.coordinates[..], evaluation.subgradient());
        Sample { value: interval_of(evaluation), subgradient, level: self.level(index) }
    }

    fn part(&self, component: usize, index: usize) -> Sample<'_> {
        let subgradient = self.parts[index].minorants.subgradient(component);
        Sample { value: self.interval(component, index), subgradient, level: 0.0 }
    }

    /// The interval of a component at a point.
    fn interval(&self, component: usize, index: usize) -> Interval {
        interval_at(&self.parts[index], component)
    }

    fn check_inequalities(&self, findings: &mut Findings) {
        Table::new(self.points, |index| self.whole(index)).report(None, findings);
        for component in 0..self.components {
            Table::new(self.points, |index| self.part(component, index)).report(Some(component), findings);
        }
        // Further cuts are above a bound that is too low. That is no fault of theirs.
        let faulty: Vec<usize> =
            findings.violations.iter().flat_map(|(violation, _)| violation.components.clone()).collect();
        for (x, part) in self.parts.iter().enumerate() {
            for (component, cut, subgradient) in part.minorants.more().filter(|(owner, ..)| !faulty.contains(owner)) {
                let further = Sample { value: Interval::exact(cut), subgradient, level: 0.0 };
                self.check_further_cut((component, x), &further, findings);
            }
        }
    }

    /// Checks a further cut at a point against the bounds of its component at all points.
    fn check_further_cut(&self, (component, x): (usize, usize), further: &Sample<'_>, findings: &mut Findings) {
        let size_at_x = further.size_at(&self.points[x]);
        for (y, point) in self.points.iter().enumerate() {
            let there = self.part(component, y);
            let expected = further.value.cut + slope_between(further.subgradient, &self.points[x], point);
            let excess = expected - there.value.bound;
            let slack = TOLERANCE * (size_at_x + further.size_at(point) + there.size_at(point));
            if excess > slack {
                let amounts = findings.amounts(Some(component), expected, there.value.bound);
                let case = Case { component: Some(component), points: vec![x, y], coordinate: None, amounts };
                findings.add(Rule::Inequality, Some(Diagnosis::FurtherCut), excess / slack, case);
            }
        }
    }

    fn check_sum_of_values(&self, findings: &mut Findings) {
        let slacks: Vec<f64> = (0..self.points.len())
            .map(|index| TOLERANCE * (self.level(index) + self.whole[index].value.abs()))
            .collect();
        let differences: Vec<f64> = self.values().map(|(whole, sum)| whole - sum).collect();
        let are_exact = self.whole.iter().chain(&self.parts).all(|evaluation| evaluation.width == 0.0);
        let is_wrong = |index: &usize| differences[*index].abs() > slacks[*index];
        let wrong: Vec<usize> = (0..self.points.len()).filter(is_wrong).collect();
        if wrong.is_empty() {
            return;
        }
        // Within intervals many terms fit.
        let diagnosis = if are_exact { self.diagnose_values(&differences, &slacks) } else { None };
        for index in wrong {
            let (whole, sum) = facing(interval_of(&self.whole[index]), interval_of(&self.parts[index]));
            let amounts = findings.amounts(None, sum, whole);
            let case = Case { component: None, points: vec![index], coordinate: None, amounts };
            findings.add(Rule::SumOfValues, diagnosis, differences[index].abs() / slacks[index], case);
        }
    }

    /// Values of the whole function and of the sum: the ends of their intervals that face each other.
    fn values(&self) -> impl Iterator<Item = (f64, f64)> {
        self.whole.iter().zip(&self.parts).map(|(whole, part)| facing(interval_of(whole), interval_of(part)))
    }

    /// Share of a component that is missing if its multiplicity is.
    fn surplus(&self, component: usize) -> f64 {
        self.multiplicities.get(component).map_or(0.0, |multiplicity| 1.0 - 1.0 / multiplicity)
    }

    /// A term that explains the differences between values of the whole function and of the sum.
    fn diagnose_values(&self, differences: &[f64], slacks: &[f64]) -> Option<Diagnosis> {
        let indices = 0..self.points.len();
        if indices.len() < LEAST_POINTS {
            return None;
        }
        // Round-off of the difference and of the term.
        let is_zero = |index: usize, rest: f64| rest.abs() <= 3.0 * slacks[index];
        // The point of least round-off has the most exact constant.
        let best = indices.clone().min_by(|&first, &second| slacks[first].total_cmp(&slacks[second]))?;
        let constant = differences[best];
        if indices.clone().all(|index| is_zero(index, differences[index] - constant)) {
            return Some(Diagnosis::Constant(self.sign * constant));
        }
        let fits = |term: &dyn Fn(usize) -> f64| {
            let products: f64 = indices.clone().map(|index| differences[index] * term(index)).sum();
            let factor = products / indices.clone().map(|index| term(index).powi(2)).sum::<f64>();
            let is_all_zero = indices.clone().all(|index| is_zero(index, differences[index] - factor * term(index)));
            (factor.is_finite() && is_all_zero).then_some(1.0 + factor)
        };
        if let Some(factor) = fits(&|index| self.linear_at(index)) {
            return Some(Diagnosis::LinearPart(rounded(factor)));
        }
        let component = |component: usize| {
            let factor = fits(&|index| self.interval(component, index).bound)?;
            Some(Diagnosis::Component { component, factor: rounded(factor) })
        };
        let once = |index: usize| -> f64 {
            (0..self.components).map(|part| self.surplus(part) * self.interval(part, index).bound).sum()
        };
        if fits(&once).is_some_and(|factor| rounded(factor) == 0.0) {
            return Some(Diagnosis::Multiplicities);
        }
        if let Some(diagnosis) = only((0..self.components).filter_map(component)) {
            return Some(diagnosis);
        }
        let slope = self.common_difference()?;
        let rest = |index: usize| differences[index] - dot(&slope, &self.points[index]);
        let reach = |index: usize| {
            let sizes: f64 = slope.iter().zip(&self.points[index]).map(|(entry, at)| (entry * at).abs()).sum();
            3.0 * (slacks[index] + TOLERANCE * sizes)
        };
        let is_linear = indices.clone().all(|index| (rest(index) - rest(best)).abs() <= reach(index) + reach(best));
        is_linear.then_some(Diagnosis::Linear)
    }

    /// The difference between the subgradients of the whole function and of the sum, if it is the same at all points.
    fn common_difference(&self) -> Option<Vec<f64>> {
        let first = self.difference(0);
        let is_same = |index: usize| {
            let sizes = self.sizes(index);
            self.difference(index)
                .iter()
                .zip(&first)
                .zip(sizes)
                .all(|((entry, first), size)| (entry - first).abs() <= 3.0 * TOLERANCE * (size + first.abs()))
        };
        (0..self.points.len()).all(is_same).then_some(first)
    }

    /// Subgradient of the whole function minus that of the sum.
    fn difference(&self, index: usize) -> Vec<f64> {
        difference(&self.whole[index], &self.parts[index])
    }

    /// Sum of the absolute values that enter each coordinate of the subgradients.
    fn sizes(&self, index: usize) -> Vec<f64> {
        sizes(&self.linear, &self.whole[index], &self.parts[index])
    }

    fn check_sum_of_subgradients(
        &self,
        function: &mut Function<'_>,
        findings: &mut Findings,
    ) -> Result<(), EvaluationError> {
        let mut wrong = vec![];
        for index in 0..self.points.len() {
            if self.whole[index].width + self.parts[index].width > 0.0 {
                continue;
            }
            let Some((coordinate, badness)) = worst(&self.difference(index), &self.sizes(index)) else { continue };
            // At a point with several subgradients both may be right. A point near by has only one in general.
            let near = near(&self.points[index], function.domain(), index);
            let whole = evaluate(function, &near, Detail::Whole)?;
            let parts = evaluate(function, &near, Detail::Components)?;
            let are_exact = whole.width + parts.width == 0.0;
            if are_exact && worst(&difference(&whole, &parts), &sizes(&self.linear, &whole, &parts)).is_some() {
                wrong.push((index, coordinate, badness));
            }
        }
        if wrong.is_empty() {
            return Ok(());
        }
        let diagnosis = self.diagnose_subgradients();
        for (index, coordinate, badness) in wrong {
            let entry = |evaluation: &Evaluation| evaluation.subgradient()[coordinate];
            let amounts = findings.amounts(None, entry(&self.parts[index]), entry(&self.whole[index]));
            let case = Case { component: None, points: vec![index], coordinate: Some(coordinate), amounts };
            findings.add(Rule::SumOfSubgradients, diagnosis, badness, case);
        }
        Ok(())
    }

    /// A term that explains the differences between subgradients of the whole function and of the sum.
    fn diagnose_subgradients(&self) -> Option<Diagnosis> {
        // Relative square of the part of the differences that a term leaves unexplained.
        const UNEXPLAINED: f64 = 1e-12;
        if self.points.len() < LEAST_POINTS {
            return None;
        }
        let differences: Vec<Vec<f64>> = (0..self.points.len()).map(|index| self.difference(index)).collect();
        let total: f64 = differences.iter().map(|difference| dot(difference, difference)).sum();
        let fits = |products: f64, squares: f64| {
            let is_explained = total - products * products / squares <= UNEXPLAINED * total;
            (squares > 0.0 && is_explained).then_some(1.0 + products / squares)
        };
        let squares = self.points.len() as f64 * dot(&self.linear, &self.linear);
        if let Some(factor) = fits(differences.iter().map(|difference| dot(difference, &self.linear)).sum(), squares) {
            return Some(Diagnosis::LinearPart(rounded(factor)));
        }
        let mut once = (0.0, 0.0);
        for (part, difference) in self.parts.iter().zip(&differences) {
            let mut term = vec![0.0; difference.len()];
            for component in 0..self.components {
                let entries = pairs(part.minorants.subgradient(component));
                entries.for_each(|(at, entry)| term[at as usize] += self.surplus(component) * entry);
            }
            once = (once.0 + dot(&term, difference), once.1 + dot(&term, &term));
        }
        let component = |component: usize| {
            let (mut products, mut squares) = (0.0, 0.0);
            for (part, difference) in self.parts.iter().zip(&differences) {
                for (coordinate, entry) in pairs(part.minorants.subgradient(component)) {
                    products += entry * difference[coordinate as usize];
                    squares += entry * entry;
                }
            }
            Some(Diagnosis::Component { component, factor: rounded(fits(products, squares)?) })
        };
        if let Some(diagnosis) = only((0..self.components).filter_map(component)) {
            return Some(diagnosis);
        }
        if fits(once.0, once.1).is_some_and(|factor| rounded(factor) == 0.0) {
            return Some(Diagnosis::Multiplicities);
        }
        self.common_difference().map(|_| Diagnosis::Linear)
    }

    fn check_reprice(&self, function: &mut Function<'_>, findings: &mut Findings) {
        for component in 0..self.components {
            for (index, point) in self.points.iter().enumerate() {
                let part = self.part(component, index);
                let (coordinates, entries) = part.subgradient;
                let multiplicity = self.multiplicities.get(component).unwrap_or(&1.0);
                let entries: Vec<f64> = entries.iter().map(|entry| entry / multiplicity).collect();
                let Some(found) = function.reprice(component, (coordinates, &entries)) else { continue };
                let found = multiplicity * found;
                let products = pairs(part.subgradient).map(|(coordinate, entry)| entry * point[coordinate as usize]);
                let expected = part.value.cut - products.sum::<f64>();
                let (difference, size) = ((found - expected).abs(), part.size_at(point) + found.abs());
                if difference > TOLERANCE * size {
                    let amounts = findings.amounts(Some(component), expected, found);
                    let case = Case { component: Some(component), points: vec![index], coordinate: None, amounts };
                    findings.add(Rule::Reprice, None, difference / size, case);
                }
            }
        }
    }

    /// Evaluates again, in reverse order: an oracle that depends on its last point is found.
    fn check_repetition(&self, function: &mut Function<'_>, findings: &mut Findings) -> Result<(), EvaluationError> {
        for (index, point) in self.points.iter().enumerate().rev() {
            let mut compare = |component: Option<usize>, first: Sample<'_>, again: Interval| {
                let (expected, found) = facing(first.value, again);
                let (difference, size) = ((found - expected).abs(), first.size_at(point) + size_of(again));
                if difference > TOLERANCE * size {
                    let amounts = findings.amounts(component, expected, found);
                    let case = Case { component, points: vec![index], coordinate: None, amounts };
                    findings.add(Rule::Repetition, None, difference / size, case);
                }
            };
            compare(None, self.whole(index), interval_of(&evaluate(function, point, Detail::Whole)?));
            if function.is_sum() {
                let again = evaluate(function, point, Detail::Components)?;
                for component in 0..self.components {
                    compare(Some(component), self.part(component, index), interval_at(&again, component));
                }
            }
        }
        Ok(())
    }
}

/// The interval of a component in an evaluation.
fn interval_at(evaluation: &Evaluation, component: usize) -> Interval {
    let minorants = &evaluation.minorants;
    Interval { cut: minorants.values()[component], bound: minorants.bounds()[component] }
}

/// Change of a linear function between two points.
fn slope_between(subgradient: (&[u32], &[f64]), from: &[f64], to: &[f64]) -> f64 {
    pairs(subgradient).map(|(at, entry)| entry * (to[at as usize] - from[at as usize])).sum()
}

/// Linearisations from each point to each other, of the whole function or of a component.
struct Table {
    values: Vec<Interval>,
    /// `g(x)'(y - x)`, by `x`, then `y`.
    slopes: Vec<f64>,
    /// Size of the numbers in a linearisation, in the same order.
    sizes: Vec<f64>,
}

impl Table {
    fn new<'a>(points: &[Vec<f64>], sample: impl Fn(usize) -> Sample<'a>) -> Self {
        let count = points.len();
        let samples: Vec<Sample<'a>> = (0..count).map(sample).collect();
        let of_pairs = |number: &dyn Fn(usize, usize) -> f64| -> Vec<f64> {
            (0..count * count).map(|pair| number(pair / count, pair % count)).collect()
        };
        let slope = |x: usize, y: usize| slope_between(samples[x].subgradient, &points[x], &points[y]);
        let sizes = of_pairs(&|x, y| samples[x].size_at(&points[x]) + samples[x].size_at(&points[y]));
        // The value at the other point has round-off, too.
        let sizes = of_pairs(&|x, y| sizes[x * count + y] + sizes[y * count + x]);
        Self { values: samples.iter().map(|sample| sample.value).collect(), slopes: of_pairs(&slope), sizes }
    }

    fn count(&self) -> usize {
        self.values.len()
    }

    fn slope(&self, x: usize, y: usize) -> f64 {
        self.slopes[x * self.count() + y]
    }

    fn slack(&self, x: usize, y: usize) -> f64 {
        TOLERANCE * self.sizes[x * self.count() + y]
    }

    /// Amount by which the linearisation at `x`, with a factor on its slope, exceeds the bound at `y`.
    fn excess(&self, x: usize, y: usize, factor: f64) -> f64 {
        self.values[x].cut + factor * self.slope(x, y) - self.values[y].bound
    }

    /// Width of the interval at a point.
    fn width(&self, index: usize) -> f64 {
        self.values[index].bound - self.values[index].cut
    }

    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let count = self.count();
        (0..count).flat_map(move |x| (0..count).filter(move |&y| y != x).map(move |y| (x, y)))
    }

    /// Reports all pairs that violate the subgradient inequality.
    fn report(&self, component: Option<usize>, findings: &mut Findings) {
        let is_wrong = |&(x, y): &(usize, usize)| self.excess(x, y, 1.0) > self.slack(x, y);
        let mut wrong = self.pairs().filter(is_wrong).peekable();
        if wrong.peek().is_none() {
            return;
        }
        let diagnosis = self.diagnose();
        for (x, y) in wrong {
            let amounts = findings.amounts(component, self.values[x].cut + self.slope(x, y), self.values[y].bound);
            let case = Case { component, points: vec![x, y], coordinate: None, amounts };
            findings.add(Rule::Inequality, Some(diagnosis), self.excess(x, y, 1.0) / self.slack(x, y), case);
        }
    }

    fn diagnose(&self) -> Diagnosis {
        if self.pairs().all(|(x, y)| self.excess(x, y, -1.0) <= self.slack(x, y)) {
            Diagnosis::WrongSign
        } else if self.pairs().all(|(x, y)| self.excess(x, y, 1.0) >= -self.slack(x, y)) {
            Diagnosis::WrongSense
        } else if self.is_narrow() {
            Diagnosis::Narrow
        } else if self.is_monotone() {
            Diagnosis::MissingTerm
        } else {
            Diagnosis::NotConvex
        }
    }

    /// Whether wider intervals explain all data: no case exceeds some widths of the widest one. A missing term is larger
    /// in general.
    fn is_narrow(&self) -> bool {
        const WIDTHS: f64 = 10.0;
        let reach = WIDTHS * (0..self.count()).map(|index| self.width(index)).fold(0.0, f64::max);
        reach > 0.0 && self.pairs().all(|(x, y)| self.excess(x, y, 1.0) <= reach)
    }

    /// Whether the subgradients are those of a convex function: no cycle of points has slopes with a positive sum
    /// (cyclic monotonicity; Rockafellar 1970, theorem 24.8). Otherwise the longest paths grow without end. With
    /// intervals, the sum may be that of their widths.
    fn is_monotone(&self) -> bool {
        const ROUND_OFF: f64 = 1e-12;
        let mut longest = vec![0.0_f64; self.count()];
        for _ in 0..=self.count() {
            let mut has_changed = false;
            for (x, y) in self.pairs() {
                let path = longest[x] + self.slope(x, y) - self.width(y) - self.slack(x, y);
                if path - longest[y] > ROUND_OFF * (path.abs() + longest[y].abs()) {
                    longest[y] = path;
                    has_changed = true;
                }
            }
            if !has_changed {
                return true;
            }
        }
        false
    }
}

fn evaluate(function: &mut Function<'_>, point: &[f64], detail: Detail) -> Result<Evaluation, EvaluationError> {
    let mut evaluation = Evaluation::at(point);
    function.visit(&mut evaluation, detail)?;
    Ok(evaluation)
}

/// A random point of the domain near a point. No coordinate stays, unless it is fixed.
fn near(point: &[f64], domain: &Domain, index: usize) -> Vec<f64> {
    let largest = point.iter().fold(0.0_f64, |largest, entry| largest.max(entry.abs()));
    let distance = NEAR * if largest > 0.0 { largest } else { 1.0 };
    let mut stream = Stream::new(0, "near", index as u64);
    let mut moved = |(index, &at): (usize, &f64)| {
        let (lower, upper) = domain.limits(index);
        let step = distance * (1.5 + 0.5 * stream.symmetric());
        // Upwards if there is room: a lower bound of 0 stays kept.
        match upper - at >= at - lower || upper - at >= step {
            true => at + step.min(0.5 * (upper - at)),
            false => at - step.min(0.5 * (at - lower)),
        }
    };
    let mut near: Vec<f64> = point.iter().enumerate().map(&mut moved).collect();
    domain.project(&mut near);
    near
}

/// Subgradient of the whole function minus that of the sum.
fn difference(whole: &Evaluation, parts: &Evaluation) -> Vec<f64> {
    whole.subgradient().iter().zip(parts.subgradient()).map(|(whole, sum)| whole - sum).collect()
}

/// Sum of the absolute values that enter each coordinate of the subgradients of the whole function and of the sum.
fn sizes(linear: &[f64], whole: &Evaluation, parts: &Evaluation) -> Vec<f64> {
    let mut sizes: Vec<f64> =
        linear.iter().zip(whole.subgradient()).map(|(entry, whole)| entry.abs() + whole.abs()).collect();
    let rows = parts.minorants.rows();
    rows.coordinates().iter().zip(rows.entries()).for_each(|(&at, entry)| sizes[at as usize] += entry.abs());
    sizes
}

/// The coordinate with the largest difference relative to its size, if that is not round-off.
fn worst(differences: &[f64], sizes: &[f64]) -> Option<(usize, f64)> {
    let relative = |(difference, size): (&f64, &f64)| difference.abs() / size;
    let badness = differences.iter().zip(sizes).map(relative).enumerate().filter(|(_, badness)| *badness > TOLERANCE);
    badness.max_by(|(_, first), (_, second)| first.total_cmp(second))
}

fn dot(first: &[f64], second: &[f64]) -> f64 {
    first.iter().zip(second).map(|(a, b)| a * b).sum()
}

/// The only element of an iterator.
fn only<T>(mut elements: impl Iterator<Item = T>) -> Option<T> {
    let first = elements.next();
    if elements.next().is_none() { first } else { None }
}

/// A factor without its last digits, which are round-off.
fn rounded(factor: f64) -> f64 {
    const DIGITS: f64 = 1e6;
    if factor.abs() < DIGITS { (factor * DIGITS).round() / DIGITS + 0.0 } else { factor }
}

impl Check {
    /// Whether all rules hold.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.violations.is_empty()
    }
}

impl fmt::Display for Check {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { points, evaluations, violations } = self;
        let verdict = match violations.len() {
            0 => "no violation".to_string(),
            1 => "1 violation".to_string(),
            count => format!("{count} violations"),
        };
        write!(formatter, "{verdict} at {points} points ({evaluations} evaluations)")?;
        violations.iter().try_for_each(|violation| write!(formatter, "\n{violation}"))
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: ", self.rule)?;
        if let Some(diagnosis) = self.diagnosis {
            write!(formatter, "{diagnosis}; ")?;
        }
        match self.components[..] {
            [] => {}
            [component] => write!(formatter, "component {component}, ")?,
            _ => write!(formatter, "{} components, ", self.components.len())?,
        }
        write!(formatter, "{} {}", self.count, if self.count == 1 { "case" } else { "cases" })?;
        for case in &self.cases {
            write!(formatter, "\n  ")?;
            case.write(self.rule, formatter)?;
        }
        Ok(())
    }
}

impl Case {
    fn write(&self, rule: Rule, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let component = self.component.map(|component| format!("component {component}"));
        let point = match self.points[..] {
            [x, y] => Some(format!("value at point {y}, from point {x}")),
            [x] => Some(format!("point {x}")),
            _ => None,
        };
        let coordinate = self.coordinate.map(|coordinate| format!("entry {coordinate}"));
        let place: Vec<String> = [component, point, coordinate].into_iter().flatten().collect();
        formatter.write_str(&place.join(", "))?;
        let Some((expected, found)) = self.amounts else { return Ok(()) };
        let side = match rule {
            Rule::Inequality if found < expected => "at least ",
            Rule::Inequality => "at most ",
            _ => "",
        };
        write!(formatter, ": expected {side}{expected:?}, found {found:?}")
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Inequality => "subgradient inequality",
            Self::SumOfValues => "value of the whole function and sum of the components",
            Self::SumOfSubgradients => "subgradient of the whole function and sum of the components",
            Self::Repetition => "same value at a second evaluation",
            Self::Fingerprint => "same fingerprint at a second call",
            Self::Reprice => "reprice of a fresh minorant",
        })
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::WrongSign => formatter.write_str("wrong sign: it holds with the negative subgradients"),
            Self::WrongSense => formatter
                .write_str("wrong sense: it holds reversed (a concave function minimised, or a convex one maximised)"),
            Self::MissingTerm => formatter.write_str(
                "missing term: the subgradients fit a convex function, but the values do not fit them \
                 (a term or a factor is missing in one of the two)",
            ),
            Self::NotConvex => formatter.write_str(
                "not convex: the subgradients fit no convex function (or belong to other points, \
                 or a subproblem is not solved to optimality)",
            ),
            Self::Narrow => formatter.write_str(
                "intervals too narrow: the cut at the point of the subgradient is too high, or the bound at the other \
                 point too low (reversed for a function to maximise)",
            ),
            Self::FurtherCut => formatter.write_str("a further cut of the component is no minorant"),
            Self::Multiplicities => {
                formatter.write_str("the whole function has every component once: the multiplicities are missing")
            }
            Self::Constant(difference) => write!(formatter, "they differ by the constant {difference}"),
            Self::LinearPart(factor) => write_factor(formatter, "the linear part", factor),
            Self::Component { component, factor } => write_factor(formatter, &format!("component {component}"), factor),
            Self::Linear => formatter.write_str("they differ by a linear term"),
        }
    }
}

fn write_factor(formatter: &mut fmt::Formatter<'_>, term: &str, factor: f64) -> fmt::Result {
    if factor == 0.0 {
        write!(formatter, "{term} is missing in the whole function")
    } else {
        write!(formatter, "{term} has the factor {factor} in the whole function")
    }
}
