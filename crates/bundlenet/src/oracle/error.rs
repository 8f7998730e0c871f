//! Errors of oracles. Each names the number of the evaluation.

use thiserror::Error;

use super::{OracleError, Sense};

/// Error of an oracle or of an evaluation. Evaluations are counted from 1 (the one at the start point), entries from 0.
#[derive(Debug, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the variants mean")]
pub enum EvaluationError {
    #[error("the oracle has no variables: expected a dimension of at least 1, found 0")]
    NoVariables,
    #[error("the oracle's domain has the wrong length: expected {expected} bounds, found {found}")]
    DomainLength { expected: usize, found: usize },
    #[error(
        "the oracle's domain is empty: expected a number between the limits of coordinate {coordinate}, found [{lower}, {upper}]"
    )]
    DomainBound { coordinate: usize, lower: f64, upper: f64 },
    #[error("the oracle's linear part has the wrong length: expected {expected} coefficients, found {found}")]
    LinearLength { expected: usize, found: usize },
    #[error(
        "the oracle's minimizer box has the wrong length: expected {expected} entries in both corners, found {found}"
    )]
    BoxLength { expected: usize, found: usize },
    #[error("the oracle's minimizer box is empty: expected entry {coordinate} of {lower} to be at most {upper}")]
    BoxEntry { coordinate: usize, lower: f64, upper: f64 },
    #[error("the oracle's scales have the wrong length: expected {expected} numbers, found {found}")]
    ScaleLength { expected: usize, found: usize },
    #[error("the oracle has an unusable scale: expected entry {coordinate} from 1e-100 to 1e100, found {found}")]
    Scale { coordinate: usize, found: f64 },
    #[error("the oracle is not a sum of components: expected a SumOracle")]
    NoSum,
    #[error(
        "the oracle has no method of its own: method barrier expected a StructuredOracle, and a problem of moderate size"
    )]
    NoStructure,
    #[error("evaluation {evaluation}: the point has the wrong length: expected {expected}, found {found}")]
    PointLength { evaluation: usize, expected: usize, found: usize },
    #[error("evaluation {evaluation}: the point is unusable: expected a finite entry {coordinate}, found {found}")]
    Point { evaluation: usize, coordinate: usize, found: f64 },
    #[error(
        "evaluation {evaluation}: the point lies outside the domain: expected entry {coordinate} to be {}, found {found}",
        range(*lower, *upper)
    )]
    OutsideDomain { evaluation: usize, coordinate: usize, lower: f64, upper: f64, found: f64 },
    #[error("evaluation {evaluation}: the subgradient has the wrong length: expected {expected}, found {found}")]
    SubgradientLength { evaluation: usize, expected: usize, found: usize },
    #[error("evaluation {evaluation}: the oracle returned an unusable value: expected a finite number, found {found}")]
    Value { evaluation: usize, found: f64 },
    #[error(
        "evaluation {evaluation}: the oracle returned an empty interval{}: expected {}, found cut {cut} and bound {bound}",
        component.map(|component| format!(" of component {component}")).unwrap_or_default(),
        if *sense == Sense::Minimize { "cut <= bound" } else { "bound <= cut" }
    )]
    Interval { evaluation: usize, component: Option<usize>, sense: Sense, cut: f64, bound: f64 },
    #[error("component {component} has an unusable multiplicity: expected a positive finite number, found {found}")]
    Multiplicity { component: usize, found: f64 },
    #[error(
        "evaluation {evaluation}: the oracle returned an unusable subgradient: expected a finite entry {coordinate}, found {found}{}",
        if found.is_nan() { " (or it was not written)" } else { "" }
    )]
    SubgradientEntry { evaluation: usize, coordinate: usize, found: f64 },
    #[error("evaluation {evaluation}: wrong number of minorants: expected {expected} components, found {found}")]
    ComponentCount { evaluation: usize, expected: usize, found: usize },
    #[error("evaluation {evaluation}: wrong number of primal solutions: expected {expected}, found {found}")]
    SolutionCount { evaluation: usize, expected: usize, found: usize },
    #[error(
        "evaluation {evaluation}: the oracle returned an unusable primal solution: expected finite numbers, found {found}"
    )]
    Solution { evaluation: usize, found: f64 },
    #[error("evaluation {evaluation}: a minorant has a wrong coordinate: expected one below {dim}, found {found}")]
    Coordinate { evaluation: usize, dim: usize, found: usize },
    #[error(
        "evaluation {evaluation}: numbers out of range: expected values and subgradients of similar size, found value {value}"
    )]
    Overflow { evaluation: usize, value: f64 },
    #[error("evaluation {evaluation}: the oracle failed: {source}")]
    Failed { evaluation: usize, source: OracleError },
}

/// The numbers between two limits, in words.
fn range(lower: f64, upper: f64) -> String {
    match (lower.is_finite(), upper.is_finite()) {
        (true, false) if lower == 0.0 => "nonnegative".to_string(),
        (true, false) => format!("at least {lower}"),
        (false, _) => format!("at most {upper}"),
        (true, true) => format!("between {lower} and {upper}"),
    }
}
