//! What a model leaves to a later run.

use crate::oracle::{CutsOf, Lines};

/// The step length of the scaled function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum StepLength {
    /// A step is the direction times this.
    Plain(f64),
    /// Times the unit of the metric: the same for metrics of any unit.
    Metric(f64),
}

impl StepLength {
    /// In a metric of the given unit, or none. A length that was found in a metric means nothing without.
    pub(crate) fn eta(self, metric_unit: Option<f64>) -> Option<f64> {
        match (self, metric_unit) {
            (Self::Plain(eta), _) => Some(eta),
            (Self::Metric(length), Some(unit)) => Some(length / unit),
            (Self::Metric(_), None) => None,
        }
    }
}

/// Cuts as affine functions, each with its component (0 for the whole function).
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
    /// The number of the newest cut; cuts are numbered as they come.
    pub(crate) newest: u64,
    /// Changes when the numbers begin anew.
    pub(crate) epoch: u32,
}

impl Saved {
    pub(crate) fn new(cuts_of: CutsOf, newest: u64) -> Self {
        Self { cuts_of, cuts: SavedCuts::default(), step_length: None, newest, epoch: 0 }
    }
}
