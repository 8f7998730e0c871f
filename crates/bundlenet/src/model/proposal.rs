//! A proposal of a master problem, and what came of it.

use bundlenet_linalg::vectors::Padded;

use super::{CentrePolicy, FIRST_CUTS};
use crate::oracle::Evaluation;

/// Weights on the cuts and a step length: an answer to the master problem.
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
    /// How the centre will move.
    pub(crate) centre_policy: CentrePolicy,
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
        }
    }

    /// Decrease that the model promises, `v = eta |w|^2 + sigma`.
    pub(crate) fn decrease(&self) -> f64 {
        self.eta * self.norm_squared + self.sigma
    }

    /// `w`, whatever the metric.
    pub(crate) fn aggregate(&self) -> &Padded {
        self.aggregate.as_ref().unwrap_or(&self.direction)
    }
}

/// An evaluation beside the model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sight {
    /// Linearisation error of the new cut at the centre.
    pub(crate) error: f64,
    /// Product of the new subgradient with the direction.
    pub(crate) slope: f64,
    /// Minimum of the model with the new cut on the ray from the centre, as a multiple of the way to the trial point; `None`
    /// where the model does not say.
    pub(crate) reach: Option<f64>,
}

/// A proposal, and what came of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step<'a> {
    pub(crate) proposal: &'a Proposal,
    /// The function at the trial point.
    pub(crate) seen: &'a Evaluation,
    pub(crate) sight: Sight,
    /// Value of the centre before it moved.
    pub(crate) centre_value: f64,
    /// Share of the way to the trial point that the centre has moved.
    pub(crate) share: f64,
    pub(crate) is_serious: bool,
    /// Whether a null step brought a cut that was there already: the next proposal would be the same.
    pub(crate) is_repeated: bool,
}

impl Step<'_> {
    /// `f(centre) - f(trial)`.
    pub(crate) fn decrease(&self) -> f64 {
        self.centre_value - self.seen.value
    }

    /// The decrease that the model promised.
    pub(crate) fn promised(&self) -> f64 {
        self.proposal.decrease()
    }
}
