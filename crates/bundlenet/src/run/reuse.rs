//! Reuse of cuts: which cuts of an earlier run are valid for the function of this run.

use std::fmt;
use std::sync::Arc;

use bundlenet_linalg::sparse::pairs;

use super::state::State;
use crate::model::{SavedCut, SavedCuts};
use crate::oracle::{CutsOf, Evaluation, Function, Primal};

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
    /// Number of cuts that are valid with a new constant, and perhaps a new slope: the solution is still feasible, but
    /// its cost or its use of the dualised constraints has changed.
    /// [`PrimalOracle::line_of`](crate::PrimalOracle::line_of) or [`SumOracle::reprice`](crate::SumOracle::reprice) has
    /// computed them.
    pub repriced: usize,
    /// Number of cuts that may be invalid.
    pub dropped: usize,
    /// Number of cuts without a primal solution, in a run that needs one for each cut
    /// ([`Settings::primal`](crate::Settings::primal)). They are not used.
    pub without_primal: usize,
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
        let dropped: usize = self.components.iter().map(|component| component.dropped).sum();
        self.reused() + self.unusable + dropped + self.without_primal()
    }

    /// Number of cuts that are not used because they have no primal solution.
    #[must_use]
    pub fn without_primal(&self) -> usize {
        self.components.iter().map(|component| component.without_primal).sum()
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
        }?;
        match self.without_primal() {
            0 => Ok(()),
            count => write!(formatter, "; {count} cuts were saved without primal solutions, which this run needs"),
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
    let needs_primal = start.solutions.is_some();
    for cut in memory.cuts.iter() {
        let outcome = &mut components[cut.component as usize];
        if needs_primal && cut.primal.is_none() {
            outcome.without_primal += 1;
        } else if !outcome.is_changed {
            outcome.kept += 1;
            cuts.push_cut(cut);
        } else if push_repriced(&mut cuts, cut, cuts_of, function).is_some() {
            outcome.repriced += 1;
        } else {
            outcome.dropped += 1;
        }
    }
    if cuts_of == CutsOf::Components {
        multiply(&mut cuts, function.multiplicities());
    }
    let refuted = refuted(&cuts, components.len(), function, start);
    if refuted.contains(&true) {
        let mut sound = SavedCuts::default();
        cuts.iter().filter(|cut| !refuted[cut.component as usize]).for_each(|cut| sound.push_cut(cut));
        cuts = sound;
        for (outcome, _) in components.iter_mut().zip(&refuted).filter(|(_, is_refuted)| **is_refuted) {
            let dropped = outcome.kept + outcome.repriced + outcome.dropped;
            *outcome = ComponentReuse { is_changed: true, kept: 0, repriced: 0, dropped, ..*outcome };
        }
    }
    (cuts, Reuse { components, unusable: 0 })
}

/// Turns cuts of single components into cuts of components with multiplicities.
fn multiply(cuts: &mut SavedCuts, multiplicities: &[f64]) {
    if !multiplicities.is_empty() {
        cuts.scale_each(|component| multiplicities[component]);
    }
}

/// Turns cuts of components with multiplicities into cuts of single components. States have these, because multiplicities
/// may change.
pub(crate) fn divide(cuts: &mut SavedCuts, cuts_of: CutsOf, multiplicities: &[f64]) {
    if !multiplicities.is_empty() && cuts_of == CutsOf::Components {
        cuts.scale_each(|component| 1.0 / multiplicities[component]);
    }
}

/// Adds the line that a cut of changed data has now. `None` if it has none, or if that is unknown.
fn push_repriced(
    cuts: &mut SavedCuts,
    SavedCut { component, slope, primal, .. }: SavedCut<'_>,
    cuts_of: CutsOf,
    function: &mut Function<'_>,
) -> Option<()> {
    // The solution of a sum as a whole is not that of a component.
    let has_line = cuts_of == CutsOf::Components || !function.is_sum();
    if let Some(mut solution) = primal.filter(|_| has_line).map(|primal| Primal::clone(primal))
        && let Some((constant, slope)) = function.line_of(component as usize, &mut solution)
    {
        cuts.push(component, constant, slope, Some(Arc::new(solution)));
        return Some(());
    }
    if cuts_of == CutsOf::Whole {
        return None;
    }
    let constant = function.reprice(component as usize, slope)?;
    let cost = function.sense().sign() * constant / function.scale();
    let primal = primal.map(|primal| Arc::new(Primal { cost, variables: primal.variables.clone() }));
    cuts.push(component, constant, pairs(slope), primal);
    Some(())
}

/// Components with a cut above the function at the start. Such a cut is invalid, so no cut of its component can be
/// trusted, even with the right fingerprint.
fn refuted(cuts: &SavedCuts, count: usize, function: &Function<'_>, start: &Evaluation) -> Vec<bool> {
    let magnitude = function.magnitude(start.value);
    let mut refuted = vec![false; count];
    for SavedCut { component, constant, slope, .. } in cuts.iter() {
        let products = pairs(slope).map(|(at, entry)| entry * start.point[at as usize]);
        let (rise, size) =
            products.fold((0.0, constant.abs()), |(sum, size), product| (sum + product, size + product.abs()));
        let value = start.minorants.bounds().get(component as usize).copied().unwrap_or(start.value);
        let error = value - (constant + rise);
        refuted[component as usize] |= error.is_nan() || error < -ROUND_OFF * (size + value.abs() + magnitude);
    }
    refuted
}
