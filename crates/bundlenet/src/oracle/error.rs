//! Errors of oracles. Each names the number of the evaluation.

use thiserror::Error;

use super::OracleError;

/// Error of an oracle or of an evaluation. Evaluations are counted from 1 (the one at the start point), entries from 0.
#[derive(Debug, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum EvaluationError {
    /// The oracle has dimension 0.
    #[error("the oracle has no variables: expected a dimension of at least 1, found 0")]
    NoVariables,
    /// The domain has a wrong number of bounds.
    #[error("the oracle's domain has the wrong length: expected {expected} bounds, found {found}")]
    DomainLength { expected: usize, found: usize },
    /// The linear part has a wrong number of coefficients.
    #[error("the oracle's linear part has the wrong length: expected {expected} coefficients, found {found}")]
    LinearLength { expected: usize, found: usize },
    /// Components were asked for, but the oracle is not a sum of components.
    #[error("the oracle is not a sum of components: expected a SumOracle")]
    NoSum,
    /// The point has the wrong length.
    #[error("evaluation {evaluation}: the point has the wrong length: expected {expected}, found {found}")]
    PointLength { evaluation: usize, expected: usize, found: usize },
    /// The point has an entry that is not finite.
    #[error("evaluation {evaluation}: the point is unusable: expected a finite entry {coordinate}, found {found}")]
    Point { evaluation: usize, coordinate: usize, found: f64 },
    /// The point lies outside the domain.
    #[error(
        "evaluation {evaluation}: the point lies outside the domain: expected entry {coordinate} to be nonnegative, found {found}"
    )]
    OutsideDomain { evaluation: usize, coordinate: usize, found: f64 },
    /// The buffer for the subgradient has the wrong length.
    #[error("evaluation {evaluation}: the subgradient has the wrong length: expected {expected}, found {found}")]
    SubgradientLength { evaluation: usize, expected: usize, found: usize },
    /// The oracle returned a value that is not finite.
    #[error("evaluation {evaluation}: the oracle returned an unusable value: expected a finite number, found {found}")]
    Value { evaluation: usize, found: f64 },
    /// The oracle wrote an entry that is not finite, or did not write it.
    #[error(
        "evaluation {evaluation}: the oracle returned an unusable subgradient: expected a finite entry {coordinate}, found {found}{}",
        if found.is_nan() { " (or it was not written)" } else { "" }
    )]
    SubgradientEntry { evaluation: usize, coordinate: usize, found: f64 },
    /// The oracle returned a wrong number of minorants.
    #[error("evaluation {evaluation}: wrong number of minorants: expected {expected} components, found {found}")]
    ComponentCount { evaluation: usize, expected: usize, found: usize },
    /// The oracle returned a wrong number of primal solutions.
    #[error("evaluation {evaluation}: wrong number of primal solutions: expected {expected}, found {found}")]
    SolutionCount { evaluation: usize, expected: usize, found: usize },
    /// The oracle returned a primal solution with a cost or a variable that is not finite.
    #[error(
        "evaluation {evaluation}: the oracle returned an unusable primal solution: expected finite numbers, found {found}"
    )]
    Solution { evaluation: usize, found: f64 },
    /// A minorant has a coordinate beyond the dimension.
    #[error("evaluation {evaluation}: a minorant has a wrong coordinate: expected one below {dim}, found {found}")]
    Coordinate { evaluation: usize, dim: usize, found: usize },
    /// The numbers of the evaluation are finite, but too large after scaling by the norm of the first subgradient:
    /// their squares could not be added up.
    #[error(
        "evaluation {evaluation}: numbers out of range: expected values and subgradients of similar size, found value {value}"
    )]
    Overflow { evaluation: usize, value: f64 },
    /// The oracle returned an error.
    #[error("evaluation {evaluation}: the oracle failed: {source}")]
    Failed { evaluation: usize, source: OracleError },
}
