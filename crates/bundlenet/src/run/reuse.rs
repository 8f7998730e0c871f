//! Reuse of cuts: which cuts of an earlier run are valid for the function of this run.

use std::fmt;

use bundlenet_linalg::sparse::pairs;

use super::state::State;
use crate::model::SavedCuts;
use crate::oracle::{CutsOf, Evaluation, Function};

/// Round-off by which a valid cut may exceed a component, relative to the numbers of the cut and to the whole function.
const ROUND_OFF: f64 = 1e-11;

/// Result of reusing the cuts of an earlier run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reuse {
    /// Result for each component. A single entry if the cuts are of the whole function.
    pub components: Vec<ComponentReuse>,
    /// Cuts that could not be used at all. Either only one of the two runs has cuts of components, or the method takes
    /// no cuts, or the function has another sense or another number of components.
    pub unusable: usize,
}

/// Result of reusing the cuts of a component.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ComponentReuse {
    /// Whether its data have changed, or may have changed.
    pub is_changed: bool,
    /// Number of cuts that are valid as they are.
    pub kept: usize,
    /// Number of cuts that are valid with a new constant: the solution is still feasible, but its cost has changed.
    pub repriced: usize,
    /// Number of cuts that may be invalid.
    pub dropped: usize,
}

impl Reuse {
    /// No cut can be used.
    pub(crate) fn none_of(unusable: usize) -> Self {
        Self { components: vec![], unusable }
    }

    /// Number of reused cuts, those with a new constant included.
    #[must_use]
    pub fn reused(&self) -> usize {
        self.components.iter().map(|component| component.kept + component.repriced).sum()
    }

    /// Number of cuts that are reused with a new constant.
    #[must_use]
    pub fn repriced(&self) -> usize {
        self.components.iter().map(|component| component.repriced).sum()
    }

    /// Number of all cuts.
    #[must_use]
    pub fn total(&self) -> usize {
        self.reused() + self.unusable + self.components.iter().map(|component| component.dropped).sum::<usize>()
    }

    /// Number of components whose data have changed.
    #[must_use]
    pub fn changed(&self) -> usize {
        self.components.iter().filter(|component| component.is_changed).count()
    }
}

impl fmt::Display for Reuse {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "reused {} of {} cuts", self.reused(), self.total())?;
        if self.unusable > 0 {
            return write!(formatter, ": they do not fit this run");
        }
        if self.repriced() > 0 {
            write!(formatter, ", {} of them at new costs", self.repriced())?;
        }
        match (self.components.len(), self.changed()) {
            (_, 0) => write!(formatter, ": the data are the same"),
            (1, _) => write!(formatter, ": the data have changed"),
            (all, changed) => write!(formatter, ": {changed} of {all} components have changed"),
        }
    }
}

/// The cuts of a state that are valid for a function, and the result for all cuts.
pub(crate) fn reuse(state: &State, function: &mut Function<'_>, start: &Evaluation) -> (SavedCuts, Reuse) {
    let Some(memory) = state.memory() else { return Default::default() };
    let cuts_of = if start.minorants.is_empty() { CutsOf::Whole } else { CutsOf::Components };
    let present = function.fingerprints(cuts_of);
    let is_usable =
        memory.cuts_of == cuts_of && memory.sense == function.sense() && memory.fingerprints.len() == present.len();
    if !is_usable {
        return (SavedCuts::default(), Reuse::none_of(memory.cuts.len()));
    }
    let is_same = |index: usize| present[index].is_some() && present[index] == memory.fingerprints[index];
    let mut components: Vec<ComponentReuse> = (0..present.len())
        .map(|index| ComponentReuse { is_changed: !state.is_trusted() && !is_same(index), ..Default::default() })
        .collect();
    let mut cuts = SavedCuts::default();
    for (component, constant, slope) in memory.cuts.iter() {
        let outcome = &mut components[component as usize];
        let repriced = |function: &mut Function<'_>| match cuts_of {
            CutsOf::Components => function.reprice(component as usize, slope),
            CutsOf::Whole => None,
        };
        let constant = if !outcome.is_changed {
            outcome.kept += 1;
            constant
        } else if let Some(constant) = repriced(function) {
            outcome.repriced += 1;
            constant
        } else {
            outcome.dropped += 1;
            continue;
        };
        cuts.push(component, constant, pairs(slope));
    }
    let refuted = refuted(&cuts, components.len(), function, start);
    if refuted.contains(&true) {
        let mut sound = SavedCuts::default();
        let is_sound = |(component, ..): &(u32, f64, (&[u32], &[f64]))| !refuted[*component as usize];
        cuts.iter()
            .filter(is_sound)
            .for_each(|(component, constant, slope)| sound.push(component, constant, pairs(slope)));
        cuts = sound;
        for (outcome, _) in components.iter_mut().zip(&refuted).filter(|(_, is_refuted)| **is_refuted) {
            let dropped = outcome.kept + outcome.repriced + outcome.dropped;
            *outcome = ComponentReuse { is_changed: true, dropped, ..Default::default() };
        }
    }
    (cuts, Reuse { components, unusable: 0 })
}

/// Components with a cut above the function at the start. Such a cut is invalid, so no cut of its component can be
/// trusted, even with the right fingerprint.
fn refuted(cuts: &SavedCuts, count: usize, function: &Function<'_>, start: &Evaluation) -> Vec<bool> {
    let magnitude = function.magnitude(start.value);
    let mut refuted = vec![false; count];
    for (component, constant, slope) in cuts.iter() {
        let products = pairs(slope).map(|(at, entry)| entry * start.point[at as usize]);
        let (rise, size) =
            products.fold((0.0, constant.abs()), |(sum, size), product| (sum + product, size + product.abs()));
        let value = start.minorants.bounds().get(component as usize).copied().unwrap_or(start.value);
        let error = value - (constant + rise);
        refuted[component as usize] |= error.is_nan() || error < -ROUND_OFF * (size + value.abs() + magnitude);
    }
    refuted
}
