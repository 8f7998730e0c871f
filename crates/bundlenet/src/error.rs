//! What can go wrong, with the data to say what, where, expected and found.

use std::fmt;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::oracle::OracleError;

/// What stopped an instance from being read, built, written or generated.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file does not hold what its format demands.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// The data do not make an instance.
    #[error(transparent)]
    Invalid(#[from] InvalidInstance),
    /// A file holds several problems and none was chosen, or one that is not there.
    #[error("{file} holds {found} problems: expected a choice from 1 to {found}, found {}",
        chosen.map_or_else(|| "none".to_string(), |number| number.to_string()))]
    ProblemNumber {
        /// The file.
        file: String,
        /// Problems in it.
        found: usize,
        /// What was asked for.
        chosen: Option<usize>,
    },
    /// The instance cannot be expressed in the format.
    #[error("the {format} format cannot hold this instance: expected {expected}, found {found}")]
    Unrepresentable {
        /// The format.
        format: crate::problems::Format,
        /// What the format needs.
        expected: &'static str,
        /// What the instance has.
        found: String,
    },
    /// A generator was given a base or a number it cannot use.
    #[error("cannot generate {family}: expected {expected}, found {found}")]
    Generate {
        /// The family.
        family: crate::problems::Family,
        /// What the generator needs.
        expected: &'static str,
        /// What it was given.
        found: String,
    },
    /// A file is no checkpoint that this version can use.
    #[error("{}: expected {expected}, found {found}", path.display())]
    Checkpoint {
        /// The file.
        path: PathBuf,
        /// What a checkpoint has.
        expected: String,
        /// What the file has.
        found: String,
    },
    /// A file is no state that this version can use.
    #[error("{}: expected {expected}, found {found}", path.display())]
    State {
        /// The file.
        path: PathBuf,
        /// What a state has.
        expected: String,
        /// What the file has.
        found: String,
    },
    /// A configuration cannot be used.
    #[error(transparent)]
    Setting(#[from] crate::settings::InvalidSetting),
    /// An oracle failed in training.
    #[error("{name}: {source}")]
    Example {
        /// The instance.
        name: String,
        /// Why.
        source: EvaluationError,
    },
    /// Training has gone wrong; what was good before is kept.
    #[error("training stopped after {after}: {reason}; {kept}")]
    Training {
        /// Where it was.
        after: String,
        /// What is wrong.
        reason: String,
        /// What is there.
        kept: String,
    },
    /// The output folder already holds another data set.
    #[error("{} already holds a data set ({found}): expected an empty folder or the same data set", path.display())]
    Occupied {
        /// The folder.
        path: PathBuf,
        /// What is there.
        found: String,
    },
}

/// A place in a file that does not hold what was expected.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{file}: line {line}: expected {expected}, found {found}")]
pub struct ParseError {
    /// Name of the file.
    pub file: String,
    /// Line, counted from 1.
    pub line: usize,
    /// What should be there.
    pub expected: String,
    /// What is there.
    pub found: String,
}

/// Data that do not make an instance.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{element}: expected {expected}, found {found}")]
pub struct InvalidInstance {
    /// The part at fault.
    pub element: Element,
    /// What it should be.
    pub expected: &'static str,
    /// What it is.
    pub found: String,
}

impl InvalidInstance {
    pub(crate) fn new(element: Element, expected: &'static str, found: impl fmt::Display) -> Self {
        Self { element, expected, found: found.to_string() }
    }
}

/// A part of an instance, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Element {
    /// The nodes of a network.
    Nodes,
    /// All the arcs of a network.
    Arcs,
    /// All the commodities.
    Commodities,
    /// The tail of an arc.
    Tail(usize),
    /// The head of an arc.
    Head(usize),
    /// The fixed cost of an arc.
    FixedCost(usize),
    /// The capacity of an arc.
    ArcCapacity(usize),
    /// The origin of a commodity.
    Origin(usize),
    /// The destination of a commodity.
    Destination(usize),
    /// The demand of a commodity.
    Demand(usize),
    /// All routing costs.
    RoutingCosts,
    /// The cost of routing a unit of a commodity on an arc.
    RoutingCost {
        /// The arc.
        arc: usize,
        /// The commodity.
        commodity: usize,
    },
    /// All the bins.
    Bins,
    /// All the items.
    Items,
    /// The capacity of a bin.
    BinCapacity(usize),
    /// All profits (or costs).
    Profits,
    /// The profit (or cost) of an item in a bin.
    Profit {
        /// The bin.
        bin: usize,
        /// The item.
        item: usize,
    },
    /// All weights.
    Weights,
    /// The weight of an item in a bin.
    Weight {
        /// The bin.
        bin: usize,
        /// The item.
        item: usize,
    },
}

impl fmt::Display for Element {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Nodes => write!(formatter, "number of nodes"),
            Self::Arcs => write!(formatter, "arcs"),
            Self::Commodities => write!(formatter, "commodities"),
            Self::Tail(arc) => write!(formatter, "tail of arc {arc}"),
            Self::Head(arc) => write!(formatter, "head of arc {arc}"),
            Self::FixedCost(arc) => write!(formatter, "fixed cost of arc {arc}"),
            Self::ArcCapacity(arc) => write!(formatter, "capacity of arc {arc}"),
            Self::Origin(commodity) => write!(formatter, "origin of commodity {commodity}"),
            Self::Destination(commodity) => {
                write!(formatter, "destination of commodity {commodity}")
            }
            Self::Demand(commodity) => write!(formatter, "demand of commodity {commodity}"),
            Self::RoutingCosts => write!(formatter, "routing costs"),
            Self::RoutingCost { arc, commodity } => {
                write!(formatter, "routing cost of commodity {commodity} on arc {arc}")
            }
            Self::Bins => write!(formatter, "bins"),
            Self::Items => write!(formatter, "items"),
            Self::BinCapacity(bin) => write!(formatter, "capacity of bin {bin}"),
            Self::Profits => write!(formatter, "profits"),
            Self::Profit { bin, item } => {
                write!(formatter, "profit of item {item} in bin {bin}")
            }
            Self::Weights => write!(formatter, "weights"),
            Self::Weight { bin, item } => write!(formatter, "weight of item {item} in bin {bin}"),
        }
    }
}

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
