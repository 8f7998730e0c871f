//! The part of a model that a later run can start from.

use std::sync::Arc;

use bundlenet_linalg::sparse::pairs;

use crate::oracle::{CutsOf, Lines, Primal};

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

/// Cuts as affine functions, each with the number of its component (0 for the whole function) and, if it is known, its
/// primal solution.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SavedCuts {
    components: Vec<u32>,
    lines: Lines,
    /// Shared with the model and with clones of a state: solutions may be large, and they do not change.
    primals: Vec<Option<Arc<Primal>>>,
}

/// A saved cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SavedCut<'a> {
    pub(crate) component: u32,
    pub(crate) constant: f64,
    pub(crate) slope: (&'a [u32], &'a [f64]),
    /// In the user's units.
    pub(crate) primal: Option<&'a Arc<Primal>>,
}

impl SavedCuts {
    pub(crate) fn push(
        &mut self,
        component: u32,
        constant: f64,
        slope: impl IntoIterator<Item = (u32, f64)>,
        primal: Option<Arc<Primal>>,
    ) {
        self.components.push(component);
        self.lines.push(constant, slope);
        self.primals.push(primal);
    }

    /// Appends a copy of a cut. The copy shares the primal solution.
    pub(crate) fn push_cut(&mut self, cut: SavedCut<'_>) {
        self.push(cut.component, cut.constant, pairs(cut.slope), cut.primal.cloned());
    }

    /// Sets the primal solution of a cut. `None` if there is no such cut.
    pub(crate) fn set_primal(&mut self, index: usize, primal: Primal) -> Option<()> {
        *self.primals.get_mut(index)? = Some(Arc::new(primal));
        Some(())
    }

    pub(crate) fn len(&self) -> usize {
        self.components.len()
    }

    /// Multiplies the cuts and the solutions of each component by its own factor.
    pub(crate) fn scale_each(&mut self, factor: impl Fn(usize) -> f64) {
        let components = &self.components;
        let factor = |index: usize| factor(components[index] as usize);
        self.lines.scale_each(factor);
        for (index, primal) in self.primals.iter_mut().enumerate() {
            if let Some(primal) = primal {
                *primal = Arc::new(primal.scaled(factor(index)));
            }
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = SavedCut<'_>> + Clone {
        (0..self.len()).map(|index| SavedCut {
            component: self.components[index],
            constant: self.lines.constants()[index],
            slope: self.lines.slope(index),
            primal: self.primals[index].as_ref(),
        })
    }

    pub(crate) fn append(&mut self, other: &Self) {
        self.components.extend_from_slice(&other.components);
        self.lines.append(&other.lines);
        self.primals.extend_from_slice(&other.primals);
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
