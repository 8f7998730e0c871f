//! The master problem: where to go next, given the bundle.
//!
//! ```text
//! min_d max_i (g_i'd - alpha_i) + |d|^2 / (2 eta)
//! ```
//!
//! A [`Proposer`] answers with weights on the cuts and a step length. The exact quadratic master is one; a network that
//! was trained to answer is another.

mod component;
mod product;
mod proximity;
mod quadratic;
mod simplex;

pub(crate) use component::ComponentProposer;
pub use proximity::Strategy;
pub(crate) use proximity::{ETA_STAR, Proximity};
pub(crate) use quadratic::QuadraticProposer;

use crate::bundle::{CentrePolicy, Cuts};
use crate::vectors::Padded;

/// Cuts that memory is taken for in advance: as many as most runs ever hold.
pub(crate) const FIRST_CUTS: usize = 128;

/// An answer to the master problem.
#[derive(Clone, Debug)]
pub(crate) struct Proposal {
    /// Step length, `eta`.
    pub(crate) eta: f64,
    /// Places and weights `theta` of the cuts that have one; they add up to 1. Empty where cuts are of components: those
    /// carry their weights themselves.
    pub(crate) weights: Vec<(usize, f64)>,
    /// Direction `w = sum theta_i g_i - mu`; the trial point is `centre - eta w`. With a metric `M` it is `M w`.
    pub(crate) direction: Padded,
    /// `w` itself, where there is a metric.
    pub(crate) aggregate: Option<Padded>,
    /// `|w|^2`, or `w'M w`.
    pub(crate) norm_squared: f64,
    /// Aggregate linearisation error `sigma = alpha'theta + mu'centre`.
    pub(crate) sigma: f64,
    /// What becomes of the centre.
    pub(crate) centre_policy: CentrePolicy,
    /// How far the answer may be from solving the master, in units of the function.
    pub(crate) master_gap: f64,
}

impl Proposal {
    pub(crate) fn new(dim: usize) -> Self {
        Self {
            eta: 0.0,
            weights: Vec::with_capacity(FIRST_CUTS),
            direction: Padded::zeros(dim),
            aggregate: None,
            norm_squared: 0.0,
            sigma: 0.0,
            centre_policy: CentrePolicy::Hard,
            master_gap: 0.0,
        }
    }

    /// Decrease that the model promises, `v = eta |w|^2 + sigma`.
    pub(crate) fn decrease(&self) -> f64 {
        self.eta * self.norm_squared + self.sigma
    }
}

/// What came of a proposal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome<'a> {
    pub(crate) trial: &'a [f64],
    /// `f(trial)`.
    pub(crate) value: f64,
    /// Share of the way to the trial point that the centre has moved.
    pub(crate) share: f64,
    pub(crate) is_serious: bool,
    /// Whether a null step brought a cut that was there already: the next proposal would be the same.
    pub(crate) is_repeated: bool,
    /// `f(centre) - f(trial)` before the centre moves.
    pub(crate) decrease: f64,
    /// What the model promised of it, `v`.
    pub(crate) promised: f64,
    /// `|w|^2`.
    pub(crate) norm_squared: f64,
    pub(crate) sigma: f64,
    /// Linearisation error of the new cut at the centre before it moves.
    pub(crate) error: f64,
    /// Product of the new subgradient with the direction.
    pub(crate) slope: f64,
    /// Where the model with the new cut is least on the ray to the trial point, which is 1.
    pub(crate) reach: f64,
    /// Products of all other subgradients with the way to the trial point, by place, where they were needed.
    pub(crate) slopes: &'a [f64],
}

/// Something that answers the master problem.
pub(crate) trait Proposer {
    /// Whether a network makes the proposals: weights that do not come from the model.
    const IS_NETWORK: bool;

    /// The cuts it puts weights on.
    type Cuts: Cuts;

    /// Writes weights, direction and step length for the cuts as they are.
    fn propose(&mut self, cuts: &mut Self::Cuts, proposal: &mut Proposal);

    /// The step length of the next proposal, where it is known before.
    fn next_eta(&self) -> Option<f64> {
        None
    }

    /// Hears what came of the last proposal; the new cut is there.
    fn learn(&mut self, cuts: &Self::Cuts, outcome: &Outcome<'_>);
}
