//! The model of the function: a stability centre, and cuts around it.
//!
//! The bundle method works with any [`Model`]: with cuts of the whole function ([`Bundle`]), or with cuts of each
//! component ([`ComponentBundle`], the disaggregated model).

mod aggregated;
mod centre;
mod components;
mod proposal;
mod saved;
mod scaling;

pub(crate) use aggregated::{Bundle, Weighing};
pub(crate) use centre::{Centre, CentrePolicy};
pub(crate) use components::{Component, ComponentBundle, Cut, SparseCut, primal_of};
pub(crate) use proposal::{Proposal, Sight, Step};
pub(crate) use saved::{Saved, SavedCut, SavedCuts, StepLength};
pub(crate) use scaling::Scaling;

use crate::oracle::{Detail, Evaluation, Lines, Primal};

/// Number of cuts for which memory is reserved at the start. Most runs need no more.
pub(crate) const FIRST_CUTS: usize = 128;

/// Cuts around a stability centre.
pub(crate) trait Model {
    /// The parts of an evaluation that the model needs.
    const DETAIL: Detail;

    fn centre(&self) -> &Centre;

    /// Number of cuts.
    fn len(&self) -> usize;

    /// Compares an evaluation at the trial point with the model.
    fn look(&mut self, seen: &Evaluation, proposal: &Proposal) -> Sight;

    /// Adds the cut of an evaluation, moves the centre a share of the way to its point, and removes cuts that are too
    /// old or too many. True if the new cut has changed the model.
    fn update(&mut self, seen: &Evaluation, sight: Sight, share: f64, proposal: &Proposal, pruning: Pruning) -> bool;

    /// Components to evaluate at the next trial point, instead of all. Empty for all of them.
    fn laggards(&mut self) -> Vec<usize> {
        vec![]
    }

    /// Adds the cuts of some components at the trial point. The centre stays. True if the model has changed.
    fn update_some(&mut self, _which: &[usize], _seen: &Evaluation) -> bool {
        false
    }

    /// The cuts with numbers above `since`.
    fn save(&self, since: u64) -> Saved;

    /// Unit of the metric, if there is one.
    fn metric_unit(&self) -> Option<f64> {
        None
    }

    /// Writes the weighted sum of each component's cuts, with the weights of the last proposal. False if there are no
    /// components.
    fn write_aggregates(&self, _aggregates: &mut Lines) -> bool {
        false
    }

    /// The weighted sum of the widths of the values behind the cuts, with the weights of the last proposal: the part of
    /// `sigma` that may be the oracle's.
    fn noise(&self, proposal: &Proposal) -> f64;

    /// The weighted sum of the cuts' primal solutions, with the weights of the last proposal, if they are kept.
    fn primal(&self, proposal: &Proposal) -> Option<Primal>;
}

/// Rule for the removal of cuts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pruning {
    /// A cut is removed after this number of steps without weight.
    pub(crate) lifetime: usize,
    /// Largest number of cuts, of the function or of each component.
    pub(crate) cap: usize,
    /// Largest memory of the cuts of all components, in bytes.
    pub(crate) bytes: usize,
}
