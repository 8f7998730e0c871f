//! Errors of oracles, each with its evaluation.

use thiserror::Error;

use super::OracleError;

/// What is wrong with an evaluation, or with an oracle. Evaluations are counted from 1, the one at the
/// start point; entries from 0.
#[derive(Debug, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum EvaluationError {
    /// The oracle has dimension 0.
    #[error("the oracle has no variables: expected a dimension of at least 1, found 0")]
    NoVariables,
    /// The domain lists another number of coordinates than the oracle has.
    #[error("the oracle's domain has the wrong length: expected {expected} bounds, found {found}")]
    DomainLength { expected: usize, found: usize },
    /// The linear part lists another number of coefficients than the oracle has variables.
    #[error("the oracle's linear part has the wrong length: expected {expected} coefficients, found {found}")]
    LinearLength { expected: usize, found: usize },
    /// Components were asked for, and the oracle is no sum of components.
    #[error("the oracle is no sum of components: expected a SumOracle")]
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
    /// The oracle wrote an entry that is not finite, or did not write it at all.
    #[error(
        "evaluation {evaluation}: the oracle returned an unusable subgradient: expected a finite entry {coordinate}, found {found}{}",
        if found.is_nan() { " (or it was not written)" } else { "" }
    )]
    SubgradientEntry { evaluation: usize, coordinate: usize, found: f64 },
    /// The oracle gave minorants for another number of components than it has.
    #[error("evaluation {evaluation}: wrong number of minorants: expected {expected} components, found {found}")]
    ComponentCount { evaluation: usize, expected: usize, found: usize },
    /// The oracle gave another number of solutions than it has subproblems.
    #[error("evaluation {evaluation}: wrong number of primal solutions: expected {expected}, found {found}")]
    SolutionCount { evaluation: usize, expected: usize, found: usize },
    /// The oracle gave a solution with a cost or a variable that is not finite.
    #[error(
        "evaluation {evaluation}: the oracle returned an unusable primal solution: expected finite numbers, found {found}"
    )]
    Solution { evaluation: usize, found: f64 },
    /// A minorant has an entry for a coordinate that does not exist.
    #[error("evaluation {evaluation}: a minorant has a wrong coordinate: expected one below {dim}, found {found}")]
    Coordinate { evaluation: usize, dim: usize, found: usize },
    /// The evaluation is finite, but not once the function is scaled by the norm of its first subgradient, or not when
    /// squared: numbers too far apart to be added.
    #[error(
        "evaluation {evaluation}: numbers out of range: expected values and subgradients of similar size, found value {value}"
    )]
    Overflow { evaluation: usize, value: f64 },
    /// The oracle itself failed.
    #[error("evaluation {evaluation}: the oracle failed: {source}")]
    Failed { evaluation: usize, source: OracleError },
}
