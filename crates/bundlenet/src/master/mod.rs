//! The master problem: weights on the cuts and a step length, given the model.
//!
//! ```text
//! min_d max_i (g_i'd - alpha_i) + |d|^2 / (2 eta)
//! ```
//!
//! A [`Proposer`] answers. The exact quadratic masters, with cuts of the whole function and with cuts of each component, are
//! here; the network that was trained to answer is in the room `network`. Step-length strategies are in `proximity.rs`.

mod component;
mod product;
mod proximity;
mod quadratic;
mod simplex;

pub(crate) use component::ComponentProposer;
pub use proximity::Strategy;
pub(crate) use proximity::{ETA_STAR, Proximity};
pub(crate) use quadratic::QuadraticProposer;

use crate::model::{Model, Proposal, Step};

/// Something that answers the master problem.
pub(crate) trait Proposer {
    /// The model whose cuts it puts weights on.
    type Model: Model;

    /// Writes weights, direction and step length for the model as it is.
    fn propose(&mut self, model: &mut Self::Model, proposal: &mut Proposal);

    /// Adjusts itself to what came of the last proposal; the new cut is in the model.
    fn learn(&mut self, model: &Self::Model, step: &Step<'_>);

    /// The step length of the next proposal, where it is known before.
    fn next_eta(&self) -> Option<f64> {
        None
    }

    /// Work of the last proposal, in nanoseconds of a present-day core, counted from sizes.
    fn work(&self) -> f64 {
        0.0
    }

    /// Where time spent on proposals is booked.
    fn book(&self, seconds: f64) -> Seconds {
        Seconds { master: seconds, network: 0.0 }
    }
}

/// Wall time spent on proposals, in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seconds {
    /// In master problems.
    pub(crate) master: f64,
    /// In a network, its features included.
    pub(crate) network: f64,
}

impl std::ops::Add for Seconds {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { master: self.master + other.master, network: self.network + other.network }
    }
}
