//! The master problem: weights on the cuts and a step length, given the model.
//!
//! ```text
//! min_d max_i (g_i'd - alpha_i) + |d|^2 / (2 eta)
//! ```
//!
//! A [`Proposer`] answers it. This room has the exact quadratic masters: one with cuts of the whole function, one with
//! cuts of each component. The network that is trained to answer is in the room `network`. The step-length strategies
//! are in `proximity.rs`.

#[cfg(test)]
mod boxes;
mod caps;
mod component;
mod exchange;
mod interior;
mod learned;
mod measure;
mod product;
mod proximity;
mod quadratic;
mod rows;
mod semismooth;
mod simplex;
mod thrift;
mod ways;

pub(crate) use component::ComponentProposer;
pub use learned::LearnedRule;
pub(crate) use learned::OBSERVATIONS;
#[doc(hidden)]
pub use measure::{Sizes, master_seconds};
pub(crate) use product::first_work;
pub use proximity::Strategy;
pub(crate) use proximity::{Growth, MOST_CHANGE, Proximity, crossing, first_scale, secant};
pub(crate) use quadratic::QuadraticProposer;

use crate::model::{Model, Proposal, Step};
use crate::oracle::{Evaluation, Patience};

/// Source of proposals: an exact master or a network.
pub(crate) trait Proposer {
    /// The model whose cuts it puts weights on.
    type Model: Model;

    /// Writes weights, direction and step length for the present model. At the end of the patience it writes the
    /// weights that it has: they are valid, but not optimal.
    fn propose(&mut self, model: &mut Self::Model, proposal: &mut Proposal, patience: &Patience<'_>);

    /// Adjusts the proposer to the result of its last proposal. The model already has the new cut.
    fn learn(&mut self, model: &Self::Model, step: &Step<'_>);

    /// Takes note of an evaluation that was not at its trial point. The model already has the cut.
    fn record_cut(&mut self, _model: &Self::Model, _seen: &Evaluation) {}

    /// Step length of the next proposal, if it is known in advance.
    fn next_eta(&self) -> Option<f64> {
        None
    }

    /// Shortens the next step, after a proposal that stays at the centre. False if it cannot.
    fn retreat(&mut self) -> bool {
        false
    }

    /// Sets the step length of the next proposal. False if it cannot.
    fn set_eta(&mut self, _eta: f64) -> bool {
        false
    }

    /// Makes the next proposal accurate, with the given step length, for a proof. False if it cannot, or if that is not
    /// worth its work.
    fn stretch(&mut self, _eta: f64) -> bool {
        false
    }

    /// Takes note of the work of an evaluation, in nanoseconds.
    fn set_oracle_work(&mut self, _work: f64) {}

    /// Work of the last proposal in nanoseconds of a present-day core, counted from sizes.
    fn work(&self) -> f64 {
        0.0
    }

    /// Books the wall time of proposals.
    fn book(&self, seconds: f64) -> Spent {
        Spent { master: seconds, ..Spent::default() }
    }
}

/// Time and work spent on proposals.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    /// Wall time in master problems, in seconds.
    pub(crate) master: f64,
    /// Wall time in a network, with its features, in seconds.
    pub(crate) network: f64,
    /// Counted work of component masters, in nanoseconds.
    pub(crate) work: f64,
}

impl std::ops::Add for Spent {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let (master, network) = (self.master + other.master, self.network + other.network);
        Self { master, network, work: self.work + other.work }
    }
}
