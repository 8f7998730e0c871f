//! Which cuts of an earlier run hold for the function of this one.

use std::fmt;

use super::{CutsOf, SavedCuts, State};
use crate::function::Function;
use crate::method::Start;

/// How far above a component, relative to the numbers it is computed from and to the whole function, round-off can put a cut.
const ROUND_OFF: f64 = 1e-11;

/// What became of the cuts of an earlier run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reuse {
    /// By component; a single one where the cuts are of the whole function.
    pub components: Vec<ComponentReuse>,
    /// Cuts that could not be taken up at all: they are of the whole function and the run's of its components, or the other way
    /// round, or the method has none, or the function has another sense or another number of components.
    pub unusable: usize,
}

/// What became of the cuts of a component.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ComponentReuse {
    /// Whether its data have changed, or it is not known that they have not.
    pub is_changed: bool,
    /// Cuts that hold as they are.
    pub kept: usize,
    /// Cuts that hold with a new constant: a solution that is still feasible and costs something else.
    pub repriced: usize,
    /// Cuts that may not hold any more.
    pub dropped: usize,
}

impl Reuse {
    /// Cuts that were taken up, some of them with a new constant.
    #[must_use]
    pub fn reused(&self) -> usize {
        self.components.iter().map(|component| component.kept + component.repriced).sum()
    }

    /// Cuts that were taken up with a new constant.
    #[must_use]
    pub fn repriced(&self) -> usize {
        self.components.iter().map(|component| component.repriced).sum()
    }

    /// All cuts there were.
    #[must_use]
    pub fn total(&self) -> usize {
        self.reused() + self.unusable + self.components.iter().map(|component| component.dropped).sum::<usize>()
    }

    /// Components whose data have changed.
    #[must_use]
    pub fn changed(&self) -> usize {
        self.components.iter().filter(|component| component.is_changed).count()
    }
}

impl fmt::Display for Reuse {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "reused {} of {} cuts", self.reused(), self.total())?;
        if self.unusable > 0 {
            return write!(formatter, ": this run has cuts of something else");
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

/// The cuts of a state that hold for a function, with their linearisation errors at the start, and what became of all.
pub(crate) fn reuse(state: &State, function: &mut Function<'_>, start: Start<'_>) -> (SavedCuts, Reuse) {
    let Some(memory) = state.memory() else { return Default::default() };
    let cuts_of = if start.minorants.is_some() { CutsOf::Components } else { CutsOf::Whole };
    let present = function.fingerprints(cuts_of);
    let is_usable = memory.cuts_of == cuts_of
        && memory.sense == function.sense()
        && memory.fingerprints.len() == present.len()
        && !function.is_grouped();
    if !is_usable {
        return (SavedCuts::default(), Reuse { components: vec![], unusable: memory.cuts.len() });
    }
    let is_same = |index: usize| present[index].is_some() && present[index] == memory.fingerprints[index];
    let mut components: Vec<ComponentReuse> = (0..present.len())
        .map(|index| ComponentReuse { is_changed: !state.is_trusted() && !is_same(index), ..Default::default() })
        .collect();
    let magnitude = function.magnitude(start.value);
    let mut cuts = SavedCuts::default();
    let mut refuted = vec![false; components.len()];
    for (component, height, (coordinates, entries)) in memory.cuts.iter() {
        let index = component as usize;
        let outcome = &mut components[index];
        let height = if !outcome.is_changed {
            outcome.kept += 1;
            height
        } else if let Some(height) = function.reprice(cuts_of, index, coordinates, entries) {
            outcome.repriced += 1;
            height
        } else {
            outcome.dropped += 1;
            continue;
        };
        let slope = coordinates.iter().copied().zip(entries.iter().copied());
        let products = slope.clone().map(|(at, entry)| entry * start.point[at as usize]);
        let (rise, size) =
            products.fold((0.0, height.abs()), |(sum, size), product| (sum + product, size + product.abs()));
        let value = start.minorants.map_or(start.value, |minorants| minorants.values()[index]);
        let error = value - (height + rise);
        // What has one false cut was not made for this function, whatever its fingerprint says.
        refuted[index] |= error.is_nan() || error < -ROUND_OFF * (size + value.abs() + magnitude);
        cuts.push(component, error.max(0.0), slope);
    }
    if refuted.contains(&true) {
        let mut sound = SavedCuts::default();
        for (component, error, (coordinates, entries)) in cuts.iter() {
            if !refuted[component as usize] {
                sound.push(component, error, coordinates.iter().copied().zip(entries.iter().copied()));
            }
        }
        cuts = sound;
        for (outcome, _) in components.iter_mut().zip(&refuted).filter(|(_, is_refuted)| **is_refuted) {
            let dropped = outcome.kept + outcome.repriced + outcome.dropped;
            *outcome = ComponentReuse { is_changed: true, dropped, ..Default::default() };
        }
    }
    (cuts, Reuse { components, unusable: 0 })
}
