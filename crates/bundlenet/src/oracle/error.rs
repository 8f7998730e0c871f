//! Errors of oracles, each with its evaluation.

use thiserror::Error;

use super::OracleError;

/// What is wrong with an evaluation, or with an oracle. Evaluations are counted from 1, the one at the
/// start point; entries from 0.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EvaluationError {
    /// The oracle has dimension 0.
    #[error("the oracle has no variables: expected a dimension of at least 1, found 0")]
    NoVariables,
    /// The domain lists another number of coordinates than the oracle has.
    #[error("the oracle's domain has the wrong length: expected {expected} bounds, found {found}")]
    DomainLength {
        /// Dimension.
        expected: usize,
        /// Bounds given.
        found: usize,
    },
    /// The linear part lists another number of coefficients than the oracle has variables.
    #[error("the oracle's linear part has the wrong length: expected {expected} coefficients, found {found}")]
    LinearLength {
        /// Dimension.
        expected: usize,
        /// Coefficients given.
        found: usize,
    },
    /// Components were asked for, and the oracle is no sum of components.
    #[error("the oracle is no sum of components: expected a SumOracle")]
    NoSum,
    /// The point has the wrong length.
    #[error("evaluation {evaluation}: the point has the wrong length: expected {expected}, found {found}")]
    PointLength {
        /// Which evaluation.
        evaluation: usize,
        /// Dimension.
        expected: usize,
        /// Length given.
        found: usize,
    },
    /// The point has an entry that is not finite.
    #[error("evaluation {evaluation}: the point is unusable: expected a finite entry {coordinate}, found {found}")]
    Point {
        /// Which evaluation.
        evaluation: usize,
        /// Which entry.
        coordinate: usize,
        /// Its value.
        found: f64,
    },
    /// The point lies outside the domain.
    #[error(
        "evaluation {evaluation}: the point lies outside the domain: expected entry {coordinate} to be nonnegative, found {found}"
    )]
    OutsideDomain {
        /// Which evaluation.
        evaluation: usize,
        /// Which entry.
        coordinate: usize,
        /// Its value.
        found: f64,
    },
    /// The buffer for the subgradient has the wrong length.
    #[error("evaluation {evaluation}: the subgradient has the wrong length: expected {expected}, found {found}")]
    SubgradientLength {
        /// Which evaluation.
        evaluation: usize,
        /// Dimension.
        expected: usize,
        /// Length given.
        found: usize,
    },
    /// The oracle returned a value that is not finite.
    #[error("evaluation {evaluation}: the oracle returned an unusable value: expected a finite number, found {found}")]
    Value {
        /// Which evaluation.
        evaluation: usize,
        /// The value.
        found: f64,
    },
    /// The oracle wrote an entry that is not finite, or did not write it at all.
    #[error(
        "evaluation {evaluation}: the oracle returned an unusable subgradient: expected a finite entry {coordinate}, found {found}{}",
        if found.is_nan() { " (or it was not written)" } else { "" }
    )]
    SubgradientEntry {
        /// Which evaluation.
        evaluation: usize,
        /// Which entry.
        coordinate: usize,
        /// Its value.
        found: f64,
    },
    /// The oracle gave minorants for another number of components than it has.
    #[error("evaluation {evaluation}: wrong number of minorants: expected {expected} components, found {found}")]
    ComponentCount {
        /// Which evaluation.
        evaluation: usize,
        /// Components of the oracle.
        expected: usize,
        /// Minorants given.
        found: usize,
    },
    /// The oracle gave another number of solutions than it has subproblems.
    #[error("evaluation {evaluation}: wrong number of primal solutions: expected {expected}, found {found}")]
    SolutionCount {
        /// Which evaluation.
        evaluation: usize,
        /// Components of the oracle, or 1.
        expected: usize,
        /// Solutions given.
        found: usize,
    },
    /// The oracle gave a solution with a cost or a variable that is not finite.
    #[error(
        "evaluation {evaluation}: the oracle returned an unusable primal solution: expected finite numbers, found {found}"
    )]
    Solution {
        /// Which evaluation.
        evaluation: usize,
        /// The number.
        found: f64,
    },
    /// A minorant has an entry for a coordinate that does not exist.
    #[error("evaluation {evaluation}: a minorant has a wrong coordinate: expected one below {dim}, found {found}")]
    Coordinate {
        /// Which evaluation.
        evaluation: usize,
        /// Dimension.
        dim: usize,
        /// The coordinate.
        found: usize,
    },
    /// The evaluation is finite, but not once the function is scaled by the norm of its first subgradient, or not when
    /// squared: numbers too far apart to be added.
    #[error(
        "evaluation {evaluation}: numbers out of range: expected values and subgradients of similar size, found value {value}"
    )]
    Overflow {
        /// Which evaluation.
        evaluation: usize,
        /// The value.
        value: f64,
    },
    /// The oracle itself failed.
    #[error("evaluation {evaluation}: the oracle failed: {source}")]
    Failed {
        /// Which evaluation.
        evaluation: usize,
        /// Why.
        source: OracleError,
    },
}
