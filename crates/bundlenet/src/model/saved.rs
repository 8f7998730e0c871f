//! The part of a model that a later run can start from.

use crate::oracle::{CutsOf, Lines};

/// Step length `eta` of the scaled function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum StepLength {
    /// `eta` without a metric.
    Plain(f64),
    /// `eta` times the unit of the metric. This product does not depend on the unit.
    Metric(f64),
}

impl StepLength {
    /// `eta` in a metric of the given unit, or without a metric. `None` if a length with a metric is asked for without
    /// one.
    pub(crate) fn eta(self, metric_unit: Option<f64>) -> Option<f64> {
        match (self, metric_unit) {
            (Self::Plain(eta), _) => Some(eta),
            (Self::Metric(length), Some(unit)) => Some(length / unit),
            (Self::Metric(_), None) => None,
        }
    }
}

/// Cuts as affine functions, each with the number of its component (0 for the whole function).
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SavedCuts {
    pub(crate) components: Vec<u32>,
    pub(crate) lines: Lines,
}

impl SavedCuts {
    pub(crate) fn push(&mut self, component: u32, constant: f64, slope: impl IntoIterator<Item = (u32, f64)>) {
        self.components.push(component);
        self.lines.push(constant, slope);
    }

    pub(crate) fn len(&self) -> usize {
        self.components.len()
    }

    /// Component, constant, and slope of each cut.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, f64, (&[u32], &[f64]))> {
        let cut = |index| (self.components[index], self.lines.constants()[index], self.lines.slope(index));
        (0..self.len()).map(cut)
    }

    pub(crate) fn append(&mut self, other: &Self) {
        self.components.extend_from_slice(&other.components);
        self.lines.append(&other.lines);
    }
}

/// The cuts of a method, in units of the scaled function.
#[derive(Clone, Debug)]
pub(crate) struct Saved {
    pub(crate) cuts_of: CutsOf,
    pub(crate) cuts: SavedCuts,
    pub(crate) step_length: Option<StepLength>,
    /// Number of the newest cut. Cuts are numbered in the order of their arrival.
    pub(crate) newest: u64,
    /// Changes whenever the numbers start again.
    pub(crate) epoch: u32,
}

impl Saved {
    pub(crate) fn new(cuts_of: CutsOf, newest: u64) -> Self {
        Self { cuts_of, cuts: SavedCuts::default(), step_length: None, newest, epoch: 0 }
    }
}
