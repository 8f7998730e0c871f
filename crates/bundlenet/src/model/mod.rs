//! The model of the function: a stability centre, and cuts around it.
//!
//! The loop of the bundle method works with any [`Model`]: cuts of the whole function ([`Bundle`]), or cuts of each of its
//! components ([`ComponentBundle`]).

mod aggregated;
mod centre;
mod components;
mod proposal;
mod saved;

pub(crate) use aggregated::{Bundle, Weighing};
pub(crate) use centre::{Centre, CentrePolicy};
#[cfg(test)]
pub(crate) use components::SparseCut;
pub(crate) use components::{Component, ComponentBundle};
pub(crate) use proposal::{Proposal, Sight, Step};
pub(crate) use saved::{Saved, SavedCuts, StepLength};

use crate::oracle::{Detail, Evaluation, Lines, Primal};

/// Cuts that memory is taken for in advance: as many as most runs ever hold.
pub(crate) const FIRST_CUTS: usize = 128;

/// Cuts around a stability centre.
pub(crate) trait Model {
    /// What it needs to know of the function at a point.
    const DETAIL: Detail;

    fn centre(&self) -> &Centre;

    /// Number of cuts.
    fn len(&self) -> usize;

    /// Compares an evaluation at the trial point of a proposal with the model.
    fn look(&mut self, seen: &Evaluation, proposal: &Proposal) -> Sight;

    /// Takes in the cut of an evaluation, moves the centre a share of the way to its point, and forgets cuts that are too old
    /// or too many. True if the model has changed by the new cut.
    fn update(&mut self, seen: &Evaluation, sight: Sight, share: f64, proposal: &Proposal, pruning: Pruning) -> bool;

    /// The cuts that came after the one with the given number.
    fn save(&self, since: u64) -> Saved;

    /// The unit of the metric, where there is one.
    fn metric_unit(&self) -> Option<f64> {
        None
    }

    /// Writes the combination of each component's cuts with the weights of the last proposal; false where there are no
    /// components.
    fn write_aggregates(&self, _aggregates: &mut Lines) -> bool {
        false
    }

    /// The combination of the primal solutions of all cuts with the weights of the last proposal, where they are kept.
    fn primal(&self, proposal: &Proposal) -> Option<Primal>;
}

/// Which cuts are forgotten.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pruning {
    /// Steps without weight after which a cut goes.
    pub(crate) lifetime: usize,
    /// Most cuts ever held, of the function or of each component.
    pub(crate) cap: usize,
    /// Most bytes that the cuts of all components may take.
    pub(crate) bytes: usize,
}
