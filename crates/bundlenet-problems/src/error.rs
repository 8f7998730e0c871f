//! Errors of instances and their files. Each says where it is, what was expected and what was found.

use std::fmt;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::{Family, Format};

/// The reason why an instance could not be read, built, written or generated.
#[derive(Debug, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the variants mean")]
pub enum Error {
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("extension of {}: {reason}", path.display())]
    Extension { path: PathBuf, reason: String },
    #[error(transparent)]
    Parse(#[from] ParseError),
    #[error(transparent)]
    Invalid(#[from] InvalidInstance),
    #[error("{file} holds {found} problems: expected a choice from 1 to {found}, found {}",
        chosen.map_or_else(|| "none".to_string(), |number| number.to_string()))]
    ProblemNumber { file: String, found: usize, chosen: Option<usize> },
    #[error("the {format} format cannot hold this instance: expected {expected}, found {found}")]
    Unrepresentable { format: Format, expected: &'static str, found: String },
    #[error("cannot generate {family}: expected {expected}, found {found}")]
    Generate { family: Family, expected: &'static str, found: String },
    #[error("{} already holds a data set ({found}): expected an empty folder or the same data set", path.display())]
    Occupied { path: PathBuf, found: String },
    #[error("{source_name}: expected a folder, a file, academic, or generate:FAMILY:COUNT:SEED")]
    Source { source_name: String },
    #[error("data.{part}: expected at least one instance, found 0")]
    NoExamples { part: &'static str },
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
#[expect(missing_docs, reason = "every element displays its name")]
#[non_exhaustive]
pub enum Element {
    Nodes,
    Arcs,
    Commodities,
    Tail(usize),
    Head(usize),
    FixedCost(usize),
    ArcCapacity(usize),
    Origin(usize),
    Destination(usize),
    Demand(usize),
    RoutingCosts,
    RoutingCost { arc: usize, commodity: usize },
    Bins,
    Items,
    BinCapacity(usize),
    Profits,
    Profit { bin: usize, item: usize },
    Weights,
    Weight { bin: usize, item: usize },
    Sites,
    Customers,
    SiteCapacity(usize),
    SiteCost(usize),
    CustomerDemand(usize),
    ServiceCosts,
    ServiceCost { site: usize, customer: usize },
    Periods,
    Units,
    PeriodDemand(usize),
    Reserves,
    Reserve(usize),
    Unit(usize),
    OutputMinimum(usize),
    OutputMaximum(usize),
    RampUp(usize),
    RampDown(usize),
    StartupRamp(usize),
    ShutdownRamp(usize),
    DownMinimum(usize),
    NoLoadCost(usize),
    Production(usize),
    Startup(usize),
    InitialState(usize),
    RenewableUnit(usize),
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
            Self::Sites => write!(formatter, "sites"),
            Self::Customers => write!(formatter, "customers"),
            Self::SiteCapacity(site) => write!(formatter, "capacity of site {site}"),
            Self::SiteCost(site) => write!(formatter, "fixed cost of site {site}"),
            Self::CustomerDemand(customer) => write!(formatter, "demand of customer {customer}"),
            Self::ServiceCosts => write!(formatter, "costs of service"),
            Self::ServiceCost { site, customer } => {
                write!(formatter, "cost of serving customer {customer} from site {site}")
            }
            Self::Periods => write!(formatter, "number of periods"),
            Self::Units => write!(formatter, "thermal units"),
            Self::PeriodDemand(period) => write!(formatter, "demand of period {period}"),
            Self::Reserves => write!(formatter, "reserves"),
            Self::Reserve(period) => write!(formatter, "reserve of period {period}"),
            Self::Unit(unit) => write!(formatter, "thermal unit {unit}"),
            Self::OutputMinimum(unit) => write!(formatter, "minimum output of thermal unit {unit}"),
            Self::OutputMaximum(unit) => write!(formatter, "maximum output of thermal unit {unit}"),
            Self::RampUp(unit) => write!(formatter, "upward ramp of thermal unit {unit}"),
            Self::RampDown(unit) => write!(formatter, "downward ramp of thermal unit {unit}"),
            Self::StartupRamp(unit) => write!(formatter, "startup ramp of thermal unit {unit}"),
            Self::ShutdownRamp(unit) => write!(formatter, "shutdown ramp of thermal unit {unit}"),
            Self::DownMinimum(unit) => write!(formatter, "minimum down time of thermal unit {unit}"),
            Self::NoLoadCost(unit) => write!(formatter, "no-load cost of thermal unit {unit}"),
            Self::Production(unit) => write!(formatter, "production costs of thermal unit {unit}"),
            Self::Startup(unit) => write!(formatter, "startup costs of thermal unit {unit}"),
            Self::InitialState(unit) => write!(formatter, "initial state of thermal unit {unit}"),
            Self::RenewableUnit(unit) => write!(formatter, "output limits of renewable unit {unit}"),
        }
    }
}
