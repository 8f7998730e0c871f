//! `check` passes right oracles. It finds wrong ones and names the mistake.

use std::cell::Cell;

use bundlenet::{
    Check, Diagnosis, Domain, EvaluationError, FnOracle, Interval, Minorants, Oracle, OracleError, PrimalOracle, Rule,
    Sense, Solutions, SumOracle, check, check_points,
};

/// Mistakes of [`Sum`].
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mistake {
    None,
    /// The subgradient of the whole function has the wrong sign.
    Sign,
    /// The subgradients of component 1 have the wrong sign.
    ComponentSign,
    /// The function is concave for its sense, in all of its parts.
    Sense,
    /// The whole function has the linear part in its subgradient alone.
    NoLinearInValue,
    /// The whole function has the linear part in its value alone.
    NoLinearInSubgradient,
    /// The whole function has no linear part.
    NoLinear,
    /// The whole function has no component 2.
    NoComponent,
    /// The minorants of component 2 are three times too large.
    Scaled,
    /// The value of component 2 is three times too large.
    ScaledValue,
    /// The whole function has a constant of 5 more.
    Constant,
    /// The whole function has a linear term more.
    Linear,
    /// The value of the whole function depends on the number of calls.
    Drift,
    /// Fingerprints change.
    Fingerprint,
    /// `reprice` forgets a cost.
    Reprice,
    /// There is no solution of the last component.
    Solutions,
    /// Component 0 is not convex.
    NotConvex,
}

/// `scale (linear'x + sum_a w_a |c_a'x - b_a|)`, minimised; its negative, maximised.
struct Sum {
    mistake: Mistake,
    sense: Sense,
    scale: f64,
    linear: Vec<f64>,
    calls: Cell<u64>,
}

const DIM: usize = 4;
const COUNT: usize = 5;

impl Sum {
    fn new(mistake: Mistake, sense: Sense, scale: f64) -> Self {
        let sign = sense.sign() * scale;
        let linear = [0.5, -0.25, 0.0, 1.5].map(|entry| sign * entry).to_vec();
        Self { mistake, sense, scale, linear, calls: Cell::new(0) }
    }

    /// Factor on every number.
    fn factor(&self) -> f64 {
        self.sense.sign() * self.scale * if self.mistake == Mistake::Sense { -1.0 } else { 1.0 }
    }

    /// Value and subgradient of a component.
    fn component(&self, component: usize, x: &[f64]) -> (f64, [f64; DIM]) {
        let row: [f64; DIM] = std::array::from_fn(|at| ((component * 7 + at * 3) % 5) as f64 - 1.5);
        let weight = self.factor() * (1.0 + component as f64 / 3.0);
        let inside: f64 = row.iter().zip(x).map(|(a, b)| a * b).sum::<f64>() - component as f64;
        if component == 0 && self.mistake == Mistake::NotConvex {
            return (weight * inside.sin(), row.map(|entry| weight * entry * inside.cos()));
        }
        (weight * inside.abs(), row.map(|entry| weight * entry * inside.signum()))
    }
}

impl Oracle for Sum {
    fn dim(&self) -> usize {
        DIM
    }

    fn sense(&self) -> Sense {
        self.sense
    }

    fn evaluate(&mut self, x: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        let mistake = self.mistake;
        let dot: f64 = self.linear.iter().zip(x).map(|(a, b)| a * b).sum();
        let has = |mistakes: [Mistake; 2]| if mistakes.contains(&mistake) { 0.0 } else { 1.0 };
        let mut value = dot * has([Mistake::NoLinear, Mistake::NoLinearInValue]);
        let kept = has([Mistake::NoLinear, Mistake::NoLinearInSubgradient]);
        subgradient.iter_mut().zip(&self.linear).for_each(|(entry, linear)| *entry = kept * linear);
        for component in (0..COUNT).filter(|&component| component != 2 || mistake != Mistake::NoComponent) {
            let (part, slope) = self.component(component, x);
            value += part;
            subgradient.iter_mut().zip(slope).for_each(|(sum, entry)| *sum += entry);
        }
        self.calls.set(self.calls.get() + 1);
        match mistake {
            Mistake::Sign => subgradient.iter_mut().for_each(|entry| *entry = -*entry),
            Mistake::Constant => value += self.scale * 5.0,
            Mistake::Drift => value += self.scale * self.calls.get() as f64,
            Mistake::Linear => {
                value += self.scale * 2.0 * x[1];
                subgradient[1] += self.scale * 2.0;
            }
            _ => {}
        }
        Ok(value)
    }

    fn as_sum(&mut self) -> Option<&mut dyn SumOracle> {
        Some(self)
    }

    fn as_primal(&mut self) -> Option<&mut dyn PrimalOracle> {
        Some(self)
    }
}

impl SumOracle for Sum {
    fn component_count(&self) -> usize {
        COUNT
    }

    fn linear(&self) -> &[f64] {
        &self.linear
    }

    fn evaluate_components(&mut self, x: &[f64], minorants: &mut Minorants) -> Result<(), OracleError> {
        for component in 0..COUNT {
            let (value, slope) = self.component(component, x);
            let (of_value, of_slope) = match (self.mistake, component) {
                (Mistake::ComponentSign, 1) => (1.0, -1.0),
                (Mistake::Scaled, 2) => (3.0, 3.0),
                (Mistake::ScaledValue, 2) => (3.0, 1.0),
                _ => (1.0, 1.0),
            };
            let entries = slope.into_iter().enumerate().map(|(at, entry)| (at as u32, of_slope * entry));
            minorants.push(of_value * value, entries);
        }
        Ok(())
    }

    fn fingerprint(&self, component: usize) -> Option<u64> {
        let calls = if self.mistake == Mistake::Fingerprint && component == 3 { self.calls.get() } else { 0 };
        Some(component as u64 + 100 * calls)
    }

    /// The slope is plus or minus the row, so the constant is plus or minus the offset.
    fn reprice(&self, component: usize, _: &[u32], entries: &[f64]) -> Option<f64> {
        let (value, slope) = self.component(component, &[1e6; DIM]);
        let at_origin = value - slope.iter().sum::<f64>() * 1e6;
        let wrong = if self.mistake == Mistake::Reprice && component == 4 { 0.5 } else { 1.0 };
        let is_same = entries.iter().zip(slope).all(|(entry, expected)| entry * expected >= 0.0);
        Some(wrong * if is_same { at_origin } else { -at_origin })
    }
}

impl PrimalOracle for Sum {
    fn write_solutions(&mut self, solutions: &mut Solutions) {
        let count = if self.mistake == Mistake::Solutions { COUNT - 1 } else { COUNT };
        (0..count).for_each(|component| solutions.push(0.0, [(component as u32, 1.0)]));
    }
}

fn checked(mistake: Mistake, sense: Sense, scale: f64) -> Result<Check, EvaluationError> {
    let mut oracle = Sum::new(mistake, sense, scale);
    let points = check_points(&oracle, 14, 3);
    check(&mut oracle, &points)
}

/// The names of an oracle's mistakes. They are the same in both senses and at all scales.
fn the_same<T: PartialEq + std::fmt::Debug>(names: impl Fn(Sense, f64) -> T) -> T {
    let first = names(Sense::Minimize, 1.0);
    for (sense, scale) in [(Sense::Maximize, 1.0), (Sense::Minimize, 1e-40), (Sense::Maximize, 1e40)] {
        assert_eq!(names(sense, scale), first, "{sense} {scale}");
    }
    first
}

/// Checks in both senses and in several units: the rules and diagnoses are always the same.
#[track_caller]
fn named(mistake: Mistake) -> Vec<(Rule, Option<Diagnosis>, Vec<usize>)> {
    let names = |sense, scale| -> Vec<(Rule, Option<Diagnosis>, Vec<usize>)> {
        let check = checked(mistake, sense, scale).unwrap();
        println!("{mistake:?}: {check}\n");
        assert_eq!(check.is_ok(), check.violations.is_empty());
        for violation in &check.violations {
            assert!((1..=5).contains(&violation.cases.len()) && violation.count >= violation.cases.len());
        }
        let name = |violation: &bundlenet::Violation| {
            let diagnosis = match violation.diagnosis {
                Some(Diagnosis::Constant(difference)) => {
                    Some(Diagnosis::Constant((difference / scale * 1e3).round() / 1e3))
                }
                other => other,
            };
            (violation.rule, diagnosis, violation.components.clone())
        };
        check.violations.iter().map(name).collect()
    };
    the_same(names)
}

#[test]
fn a_right_oracle_passes() {
    assert_eq!(named(Mistake::None), []);
    let check = checked(Mistake::None, Sense::Minimize, 1.0).unwrap();
    assert_eq!((check.points, check.evaluations), (14, 4 * 14));
    assert_eq!(check.to_string(), "no violation at 14 points (56 evaluations)");
}

#[test]
fn wrong_signs() {
    let inequality = (Rule::Inequality, Some(Diagnosis::WrongSign), vec![]);
    assert_eq!(named(Mistake::Sign)[0], inequality);
    let component = (Rule::Inequality, Some(Diagnosis::WrongSign), vec![1]);
    assert_eq!(named(Mistake::ComponentSign)[0], component);
    let text = checked(Mistake::Sign, Sense::Maximize, 1.0).unwrap().to_string();
    assert!(text.contains("wrong sign") && text.contains("from point") && text.contains("at most"), "{text}");
}

#[test]
fn a_wrong_sense() {
    let wrong = Some(Diagnosis::WrongSense);
    let all = (0..COUNT).collect();
    assert_eq!(named(Mistake::Sense), [(Rule::Inequality, wrong, vec![]), (Rule::Inequality, wrong, all)]);
}

#[test]
fn missing_terms() {
    let missing = Some(Diagnosis::LinearPart(0.0));
    let inequality = (Rule::Inequality, Some(Diagnosis::MissingTerm), vec![]);
    assert_eq!(named(Mistake::NoLinearInValue), [inequality.clone(), (Rule::SumOfValues, missing, vec![])]);
    assert_eq!(named(Mistake::NoLinearInSubgradient), [inequality, (Rule::SumOfSubgradients, missing, vec![])]);
    let both = [(Rule::SumOfValues, missing, vec![]), (Rule::SumOfSubgradients, missing, vec![])];
    assert_eq!(named(Mistake::NoLinear), both);
}

#[test]
fn components_that_do_not_add_up() {
    let sums =
        |diagnosis| [(Rule::SumOfValues, Some(diagnosis), vec![]), (Rule::SumOfSubgradients, Some(diagnosis), vec![])];
    assert_eq!(named(Mistake::NoComponent), sums(Diagnosis::Component { component: 2, factor: 0.0 }));
    // `reprice` is right, so it finds the wrong scale as well.
    let third = Diagnosis::Component { component: 2, factor: 0.333333 };
    assert_eq!(named(Mistake::Scaled)[..2], sums(third));
    let scaled = named(Mistake::ScaledValue);
    assert_eq!(scaled[0], (Rule::Inequality, Some(Diagnosis::MissingTerm), vec![2]));
    assert_eq!(scaled[1], (Rule::SumOfValues, Some(third), vec![]));
    assert_eq!(named(Mistake::Constant), [(Rule::SumOfValues, Some(Diagnosis::Constant(5.0)), vec![])]);
    assert_eq!(named(Mistake::Linear), sums(Diagnosis::Linear));
}

#[test]
fn unstable_oracles() {
    assert!(named(Mistake::Drift).contains(&(Rule::Repetition, None, vec![])));
    assert_eq!(named(Mistake::Fingerprint), [(Rule::Fingerprint, None, vec![3])]);
    assert_eq!(named(Mistake::Reprice), [(Rule::Reprice, None, vec![4])]);
}

#[test]
fn a_function_that_is_not_convex() {
    let names = named(Mistake::NotConvex);
    assert!(names.contains(&(Rule::Inequality, Some(Diagnosis::NotConvex), vec![0])), "{names:?}");
}

#[test]
fn errors_of_evaluations() {
    let result = checked(Mistake::Solutions, Sense::Minimize, 1.0);
    assert!(matches!(result, Err(EvaluationError::SolutionCount { expected: 5, found: 4, .. })), "{result:?}");
    let norm = |point: &[f64], subgradient: &mut [f64]| {
        subgradient[0] = point[0].signum();
        Ok(point[0].abs())
    };
    let mut oracle = FnOracle::new(1, norm).with_domain(Domain::Nonnegative);
    let result = check(&mut oracle, &[vec![1.0], vec![-1.0]]);
    assert!(matches!(result, Err(EvaluationError::OutsideDomain { coordinate: 0, .. })));
    assert!(check_points(&oracle, 20, 0).iter().all(|point| point[0] >= 0.0));
    assert!(check(&mut oracle, &[]).unwrap().is_ok());
}

/// At a kink, the whole function and the components may choose different subgradients.
#[test]
fn ties_are_no_violations() {
    struct Tie(Domain);
    impl Oracle for Tie {
        fn dim(&self) -> usize {
            1
        }

        fn domain(&self) -> Domain {
            self.0.clone()
        }

        fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
            subgradient[0] = if point[0] >= 0.0 { 1.0 } else { -1.0 };
            Ok(point[0].abs())
        }

        fn as_sum(&mut self) -> Option<&mut dyn SumOracle> {
            Some(self)
        }
    }
    impl SumOracle for Tie {
        fn component_count(&self) -> usize {
            1
        }

        fn linear(&self) -> &[f64] {
            &[0.0]
        }

        fn evaluate_components(&mut self, point: &[f64], minorants: &mut Minorants) -> Result<(), OracleError> {
            minorants.push(point[0].abs(), [(0, if point[0] > 0.0 { 1.0 } else { -1.0 })]);
            Ok(())
        }
    }
    let points = [0.0, 1.0, -1.0].map(|entry| vec![entry]);
    for (lower, upper) in [(-1.0, 0.0), (0.0, 1e-9), (-1e-9, 0.0), (f64::NEG_INFINITY, 0.0)] {
        let mut tie = Tie(Domain::between([(lower, upper)]));
        assert!(check(&mut tie, &points[..1]).unwrap().is_ok(), "{lower} {upper}");
    }
    assert_eq!(
        check(&mut Tie(Domain::Free), &points).unwrap().to_string(),
        "no violation at 3 points (14 evaluations)"
    );
}

/// Mistakes of [`Wide`].
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    /// Bounds of component 1 are below the value.
    Bounds,
    /// Cuts of component 1 are above the value.
    Cuts,
    /// The bound of the whole function is below the value.
    WholeBounds,
    /// The further cut of component 3 is too high.
    FurtherCut,
    /// The further cut of component 3 is right at the origin and has a wrong slope.
    FurtherSlope,
    /// The interval of the whole function is that of another function.
    Apart,
    /// The intervals of component 4 do not stay where they are.
    Drift,
    /// The whole function has every component once. All values are exact.
    Once,
    /// As it should be, with exact values.
    Exact,
    /// `reprice` multiplies by the multiplicity. All values are exact.
    Reprice,
}

/// The function of [`Sum`], with multiplicities, random intervals and further cuts.
struct Wide {
    sum: Sum,
    fault: Fault,
    calls: u64,
}

impl Wide {
    /// A number between 0 and 1 for each call.
    fn random(&mut self) -> f64 {
        self.calls += 1;
        (self.calls as f64 * 0.618_033_988_749_895).fract()
    }

    /// An interval around a value. A fault leaves the value outside.
    fn interval(&mut self, value: f64, is_low: bool, is_high: bool) -> Interval {
        let is_exact = matches!(self.fault, Fault::Once | Fault::Exact | Fault::Reprice);
        let sense = self.sum.sense.sign();
        let width = sense * if is_exact { 0.0 } else { 0.01 * (self.sum.scale + value.abs()) };
        let (below, above) = (self.random() * width, self.random() * width);
        let (shift, below) = if is_low || is_high { (0.7 * width, 0.1 * below) } else { (0.0, below) };
        let shift = if is_low { -shift } else { shift };
        match () {
            () if is_low => Interval { cut: value + shift - below, bound: value + shift },
            () if is_high => Interval { cut: value + shift, bound: value + shift + above },
            () => Interval { cut: value - below, bound: value + above },
        }
    }
}

impl Oracle for Wide {
    fn dim(&self) -> usize {
        DIM
    }

    fn sense(&self) -> Sense {
        self.sum.sense
    }

    fn domain(&self) -> Domain {
        Domain::between([(-1.0, 1.0), (2.0, 50.0), (0.5, 0.5), (f64::NEG_INFINITY, 7.0)])
    }

    fn evaluate(&mut self, x: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        self.evaluate_within(x, subgradient).map(|interval| interval.bound)
    }

    fn evaluate_within(&mut self, x: &[f64], subgradient: &mut [f64]) -> Result<Interval, OracleError> {
        let mut value: f64 = self.sum.linear.iter().zip(x).map(|(a, b)| a * b).sum();
        subgradient.copy_from_slice(&self.sum.linear);
        for component in 0..COUNT {
            let (part, slope) = self.sum.component(component, x);
            let factor = if self.fault == Fault::Once { 1.0 } else { self.multiplicity(component) };
            value += factor * part;
            subgradient.iter_mut().zip(slope).for_each(|(sum, entry)| *sum += factor * entry);
        }
        value += if self.fault == Fault::Apart { 1e4 * self.sum.scale } else { 0.0 };
        Ok(self.interval(value, self.fault == Fault::WholeBounds, false))
    }

    fn as_sum(&mut self) -> Option<&mut dyn SumOracle> {
        Some(self)
    }
}

impl SumOracle for Wide {
    fn component_count(&self) -> usize {
        COUNT
    }

    fn linear(&self) -> &[f64] {
        &self.sum.linear
    }

    fn evaluate_components(&mut self, x: &[f64], minorants: &mut Minorants) -> Result<(), OracleError> {
        for component in 0..COUNT {
            let (value, slope) = self.sum.component(component, x);
            let is_first = component == 1;
            let drift = if self.fault == Fault::Drift && component == 4 { self.calls as f64 } else { 0.0 };
            let moved = value + drift * self.sum.factor();
            let faults = [Fault::Bounds, Fault::Cuts].map(|fault| is_first && self.fault == fault);
            let Interval { cut, bound } = self.interval(moved, faults[0], faults[1]);
            let entries = |factor: f64| slope.into_iter().enumerate().map(move |(at, it)| (at as u32, factor * it));
            minorants.push_within(cut, bound, entries(1.0));
            // The other side of the absolute value.
            let (factor, more) = match (self.fault, component) {
                (Fault::FurtherCut, 3) => (-1.0, value + self.sum.factor()),
                (Fault::FurtherSlope, 3) => (-1.5, -value),
                _ => (-1.0, -value),
            };
            minorants.push_more(more, entries(factor));
        }
        Ok(())
    }

    fn multiplicity(&self, component: usize) -> f64 {
        [1.0, 3.0, 50.0, 0.5, 2.0][component]
    }

    fn reprice(&self, component: usize, coordinates: &[u32], entries: &[f64]) -> Option<f64> {
        if !matches!(self.fault, Fault::Exact | Fault::Reprice) {
            return None;
        }
        let wrong = if self.fault == Fault::Reprice { self.multiplicity(component) } else { 1.0 };
        self.sum.reprice(component, coordinates, entries).map(|constant| wrong * constant)
    }
}

/// As [`named`], for [`Wide`].
#[track_caller]
fn wide(fault: Fault) -> Vec<(Rule, Option<Diagnosis>, Vec<usize>)> {
    let names = |sense: Sense, scale: f64| -> Vec<(Rule, Option<Diagnosis>, Vec<usize>)> {
        let mut oracle = Wide { sum: Sum::new(Mistake::None, sense, scale), fault, calls: 0 };
        let points = check_points(&oracle, 14, 5);
        let check = check(&mut oracle, &points).unwrap();
        println!("{fault:?}: {check}\n");
        let name =
            |violation: &bundlenet::Violation| (violation.rule, violation.diagnosis, violation.components.clone());
        check.violations.iter().map(name).collect()
    };
    the_same(names)
}

#[test]
fn right_intervals_pass() {
    assert_eq!(wide(Fault::None), []);
    assert_eq!(wide(Fault::Exact), []);
}

#[test]
fn intervals_without_the_value() {
    let narrow = Some(Diagnosis::Narrow);
    assert_eq!(wide(Fault::Bounds), [(Rule::Inequality, narrow, vec![1])]);
    assert_eq!(wide(Fault::Cuts), [(Rule::Inequality, narrow, vec![1])]);
    assert_eq!(wide(Fault::WholeBounds)[0], (Rule::Inequality, narrow, vec![]));
    assert_eq!(wide(Fault::Apart), [(Rule::SumOfValues, None, vec![])]);
    assert!(wide(Fault::Drift).contains(&(Rule::Repetition, None, vec![4])));
}

#[test]
fn further_cuts_above_the_function() {
    let further = [(Rule::Inequality, Some(Diagnosis::FurtherCut), vec![3])];
    assert_eq!(wide(Fault::FurtherCut), further);
    assert_eq!(wide(Fault::FurtherSlope), further);
}

#[test]
fn missing_multiplicities() {
    let missing = Some(Diagnosis::Multiplicities);
    assert_eq!(wide(Fault::Once), [Rule::SumOfValues, Rule::SumOfSubgradients].map(|rule| (rule, missing, vec![])));
    let repriced = wide(Fault::Reprice);
    assert_eq!(repriced.last(), Some(&(Rule::Reprice, None, vec![1, 2, 3, 4])));
}

/// A tie at the corner of a box, and points inside a box that does not contain the origin.
#[test]
fn points_are_inside_boxes() {
    let norm = |point: &[f64], subgradient: &mut [f64]| {
        subgradient.copy_from_slice(&[point[0].signum(), 0.0]);
        Ok(point[0].abs())
    };
    let oracle = FnOracle::new(2, norm).with_domain(Domain::between([(10.0, 11.0), (3.0, 3.0)]));
    let points = check_points(&oracle, 12, 0);
    assert!(points.iter().all(|point| (10.0..=11.0).contains(&point[0]) && point[1] == 3.0));
    assert!(points.iter().any(|point| (10.1..10.9).contains(&point[0])));
}
