//! The check of a solution against the truth.

use std::fmt;

use bundlenet::{Minorants, Oracle, Solution, Status};

use super::draw::Case;

/// Share of the largest number met that round-off may add to a value. Values are sums of at most some thousand terms,
/// each with an error of 1e-16.
const ROUND_OFF: f64 = 1e-12;

/// A `converged` run with a true gap above this, and above this multiple of its tolerance, has misjudged itself.
const MISJUDGED: (f64, f64) = (1e-3, 100.0);

/// Kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The library panicked, or refused the function.
    Panic,
    /// A reported number is not finite.
    NotFinite,
    /// The value is not attained at the point, or the point lies outside the domain.
    NotAttained,
    /// `optimal` without a certificate within the tolerance.
    NotProved,
    /// A certificate excludes a point that exists.
    FalseCertificate,
    /// `unbounded`, but the function is bounded, or does not decrease along the ray.
    FalseUnbounded,
    /// The same run took other steps.
    NotRepeated,
    /// `converged`, but the function is unbounded.
    MissedUnbounded,
    /// `unbounded` after more than five times the calls of a bounded function of the same size.
    LateUnbounded,
    /// A limit, or `stalled`, but the function is unbounded.
    NotFound,
    /// `converged` with a large true gap.
    Misjudged,
    /// `stalled` with a large true gap.
    Stalled,
    /// The oracle failed: a point or a value is out of range.
    OracleFailed,
    /// The limit of time.
    Slow,
}

impl Kind {
    /// Whether no run may have this fault, whatever its method.
    pub fn is_error(self) -> bool {
        self <= Self::NotRepeated
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            Self::Panic => "panic",
            Self::NotFinite => "number not finite",
            Self::NotAttained => "value not attained",
            Self::NotProved => "optimal without proof",
            Self::FalseCertificate => "false certificate",
            Self::FalseUnbounded => "false unbounded",
            Self::MissedUnbounded => "unbounded taken for converged",
            Self::NotRepeated => "not repeated",
            Self::LateUnbounded => "unbounded found late",
            Self::NotFound => "unbounded not found",
            Self::Misjudged => "converged too early",
            Self::Stalled => "stalled too early",
            Self::OracleFailed => "oracle failed",
            Self::Slow => "slow",
        };
        formatter.write_str(words)
    }
}

/// A fault of a run.
#[derive(Clone, Debug)]
pub struct Fault {
    pub kind: Kind,
    pub method: &'static str,
    /// The case, its scales and the numbers of the run.
    pub about: String,
}

/// A run to be checked.
pub(super) struct Finished {
    pub(super) method: &'static str,
    pub(super) tolerance: f64,
    pub(super) solution: Solution,
}

/// The truth about a case.
pub(super) struct Truth {
    /// The best value that is attained, minimised.
    pub(super) best: f64,
    /// The largest number met in evaluations at best points.
    pub(super) size: f64,
    /// Known, or shown by the ray of a run.
    pub(super) is_unbounded: bool,
}

/// The sum of the absolute values of all terms of the function at a point. Of a function that is no sum, the slopes at
/// the start tell the size of the terms.
pub fn size_at(oracle: &mut dyn Oracle, start: &[f64], point: &[f64]) -> f64 {
    let Some(sum) = oracle.as_sum() else {
        let mut slopes = vec![0.0; point.len()];
        let value = oracle.evaluate(start, &mut slopes).map_or(0.0, f64::abs);
        return value + slopes.iter().zip(point).map(|(slope, at)| (slope * at).abs()).sum::<f64>();
    };
    let linear: f64 = sum.linear().iter().zip(point).map(|(entry, at)| (entry * at).abs()).sum();
    let mut minorants = Minorants::new();
    match sum.evaluate_components(point, &mut minorants) {
        Ok(()) => linear + minorants.values().iter().map(|value| value.abs()).sum::<f64>(),
        Err(_) => linear,
    }
}

/// All faults of a run.
pub(super) fn faults(case: &Case, run: &Finished, truth: &Truth) -> Vec<Kind> {
    let mut oracle = case.oracle();
    let sign = oracle.sense().sign();
    let Finished { tolerance, solution, .. } = run;
    let largest = solution.trace.iter().fold(truth.size, |largest, row| largest.max(row.value.abs()));
    let allowed = ROUND_OFF * largest;
    let value = sign * solution.value;
    let gap = (value - truth.best) / value.abs().max(1.0);
    let misjudged = gap > MISJUDGED.0 && gap > MISJUDGED.1 * tolerance;
    let is_unbounded = truth.is_unbounded;
    let is_end = matches!(solution.status, Status::Optimal | Status::Converged);
    let is_certificate_false = solution
        .certificate
        .is_some_and(|certificate| is_unbounded || value - certificate * value.abs().max(1.0) > truth.best + allowed);
    let is_proved = solution.certificate.is_some_and(|certificate| certificate <= *tolerance);
    let found = [
        (Kind::NotFinite, !is_finite(solution)),
        (Kind::NotAttained, !is_attained(&mut *oracle, solution, allowed)),
        (Kind::NotProved, solution.status == Status::Optimal && !is_proved),
        (Kind::FalseCertificate, is_certificate_false),
        (Kind::FalseUnbounded, solution.status == Status::Unbounded && !is_ray(case, &mut *oracle, solution)),
        (Kind::MissedUnbounded, is_unbounded && is_end),
        (Kind::NotFound, is_unbounded && !is_end && solution.status != Status::Unbounded),
        (Kind::Misjudged, !is_unbounded && solution.status == Status::Converged && misjudged),
        (Kind::Stalled, !is_unbounded && solution.status == Status::Stalled && misjudged),
        (Kind::OracleFailed, solution.status == Status::OracleFailed),
        (Kind::Slow, solution.status == Status::TimeLimit),
    ];
    found.into_iter().filter(|(_, is_found)| *is_found).map(|(kind, _)| kind).collect()
}

fn is_finite(solution: &Solution) -> bool {
    let gaps = solution.estimate.iter().chain(&solution.certificate);
    let rows = solution.trace.iter().flat_map(|row| [row.value, row.best]);
    let numbers = solution.point.iter().chain(solution.ray.iter().flatten()).chain(gaps);
    solution.value.is_finite() && numbers.copied().chain(rows).all(f64::is_finite)
}

fn is_attained(oracle: &mut dyn Oracle, solution: &Solution, allowed: f64) -> bool {
    let point = &solution.point;
    let is_inside = oracle.domain().violation(point).is_none();
    let value = oracle.evaluate(point, &mut vec![0.0; point.len()]);
    is_inside && value.is_ok_and(|value| (value - solution.value).abs() <= allowed)
}

/// Whether the function still decreases at points far along the ray.
pub(super) fn is_ray(case: &Case, oracle: &mut dyn Oracle, solution: &Solution) -> bool {
    let Some(ray) = &solution.ray else { return false };
    let sign = oracle.sense().sign();
    let length = |numbers: &[f64]| numbers.iter().map(|entry| entry * entry).sum::<f64>().sqrt();
    let domain = oracle.domain();
    let is_open = |(index, &entry): (usize, &f64)| {
        let (lower, upper) = domain.limits(index);
        entry == 0.0 || if entry < 0.0 { lower.is_infinite() } else { upper.is_infinite() }
    };
    let is_inside = ray.iter().enumerate().all(is_open);
    let far = 1e3 * length(&solution.point).max(case.variable);
    let mut value = |reach: f64| {
        let point: Vec<f64> = solution.point.iter().zip(ray).map(|(at, entry)| at + reach * entry).collect();
        oracle.evaluate(&point, &mut vec![0.0; point.len()]).map_or(f64::NAN, |value| sign * value)
    };
    let values = [0.0, 1.0, 10.0, 1000.0].map(|multiple| value(multiple * far));
    let is_decreasing = values.windows(2).all(|pair| pair[1] < pair[0]);
    case.is_unbounded != Some(false) && (length(ray) - 1.0).abs() < 1e-9 && is_inside && is_decreasing
}
