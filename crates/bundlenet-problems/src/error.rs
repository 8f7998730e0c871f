//! Errors of instances and their files. Each says where it is, what was expected and what was found.

use std::fmt;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::{Family, Format};

/// The reason why an instance could not be read, built, written or generated.
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
    /// The content of a file is not in its format.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// The data are no valid instance.
    #[error(transparent)]
    Invalid(#[from] InvalidInstance),
    /// A file holds several problems and none was chosen, or the chosen one does not exist.
    #[error("{file} holds {found} problems: expected a choice from 1 to {found}, found {}",
        chosen.map_or_else(|| "none".to_string(), |number| number.to_string()))]
    ProblemNumber {
        /// The file.
        file: String,
        /// Problems in it.
        found: usize,
        /// The number asked for.
        chosen: Option<usize>,
    },
    /// The instance cannot be expressed in the format.
    #[error("the {format} format cannot hold this instance: expected {expected}, found {found}")]
    Unrepresentable {
        /// The format.
        format: Format,
        /// The format's condition.
        expected: &'static str,
        /// The instance's data against it.
        found: String,
    },
    /// A generator was given a base or a number it cannot use.
    #[error("cannot generate {family}: expected {expected}, found {found}")]
    Generate {
        /// The family.
        family: Family,
        /// The generator's condition.
        expected: &'static str,
        /// The argument against it.
        found: String,
    },
    /// The output folder already holds another data set.
    #[error("{} already holds a data set ({found}): expected an empty folder or the same data set", path.display())]
    Occupied {
        /// The folder.
        path: PathBuf,
        /// The data set in it.
        found: String,
    },
    /// A source of examples is neither a folder, a file nor a recipe of a generator.
    #[error("{source_name}: expected a folder, a file, academic, or generate:FAMILY:COUNT:SEED")]
    Source {
        /// The source as it was given.
        source_name: String,
    },
    /// No example is left for training or for validation.
    #[error("data.{part}: expected at least one instance, found 0")]
    NoExamples {
        /// `train` or `validation`.
        part: &'static str,
    },
}

/// A place in a file with wrong content.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{file}: line {line}: expected {expected}, found {found}")]
pub struct ParseError {
    /// Name of the file.
    pub file: String,
    /// Line, counted from 1.
    pub line: usize,
    /// The content expected there.
    pub expected: String,
    /// The content found there.
    pub found: String,
}

/// Data that are no valid instance.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{element}: expected {expected}, found {found}")]
pub struct InvalidInstance {
    /// The part at fault.
    pub element: Element,
    /// The condition on it.
    pub expected: &'static str,
    /// Its value.
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
