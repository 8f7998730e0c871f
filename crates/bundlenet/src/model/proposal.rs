//! A proposal of a master problem, and its result.

use bundlenet_linalg::vectors::{Padded, dot};

use super::{CentrePolicy, FIRST_CUTS};
use crate::oracle::Evaluation;

/// An answer to the master problem: weights on the cuts and a step length.
#[derive(Clone, Debug)]
pub(crate) struct Proposal {
    /// Step length, `eta`.
    pub(crate) eta: f64,
    /// Places and weights `theta` of the cuts with weight. They add up to 1. Empty for cuts of components: those store
    /// their own weights.
    pub(crate) weights: Vec<(usize, f64)>,
    /// Direction `w = sum theta_i g_i - mu`; the trial point is `centre - eta w`, or on the way to it. With a metric `M`
    /// it is `M w`.
    pub(crate) direction: Padded,
    /// `w`, if there is a metric.
    pub(crate) aggregate: Option<Padded>,
    /// `|w|^2`; with a metric, `w'M w`.
    pub(crate) norm_squared: f64,
    /// Aggregate linearisation error `sigma = alpha'theta + mu'(centre - bound)`, at least 0.
    pub(crate) sigma: f64,
    /// Whether the weights are as accurate as the master wants them. Inaccurate ones leave out cuts that matter.
    pub(crate) is_accurate: bool,
    /// Share of the way `eta w` at which the trial point is.
    pub(crate) inside: f64,
    /// Rule for the movement of the centre.
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
            is_accurate: true,
            inside: 1.0,
            centre_policy: CentrePolicy::Hard,
        }
    }

    /// The step from one point to another. It is no weighted sum of cuts.
    pub(crate) fn step(from: &[f64], to: &[f64]) -> Self {
        let mut proposal = Self { eta: 1.0, ..Self::new(from.len()) };
        let entries = proposal.direction.numbers_mut(from.len()).iter_mut().zip(from.iter().zip(to));
        entries.for_each(|(entry, (from, to))| *entry = from - to);
        proposal
    }

    /// Decrease that the model predicts at the end of the way, `v = eta |w|^2 + sigma`.
    pub(crate) fn decrease(&self) -> f64 {
        self.eta * self.norm_squared + self.sigma
    }

    /// Decrease that the model predicts at the trial point, or less: the model is convex.
    pub(crate) fn promised(&self) -> f64 {
        self.inside * self.decrease()
    }

    /// Length of a step without metric that goes as far as this one.
    pub(crate) fn plain_eta(&self) -> f64 {
        let Self { eta, direction, aggregate, .. } = self;
        let Some(aggregate) = aggregate else { return *eta };
        let ratio = (dot(&direction.0, &direction.0) / dot(&aggregate.0, &aggregate.0)).sqrt();
        if ratio.is_finite() && ratio > 0.0 { eta * ratio } else { *eta }
    }

    /// `w`, with or without a metric.
    pub(crate) fn aggregate(&self) -> &Padded {
        self.aggregate.as_ref().unwrap_or(&self.direction)
    }
}

/// Comparison of an evaluation with the model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sight {
    /// Linearisation error of the new cut at the centre.
    pub(crate) error: f64,
    /// Inner product of the new subgradient with the direction.
    pub(crate) slope: f64,
    /// Minimum of the model with the new cut on the ray from the centre, as a multiple of the step to the trial point.
    /// `None` if the model does not compute it.
    pub(crate) reach: Option<f64>,
}

/// A proposal and its result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step<'a> {
    pub(crate) proposal: &'a Proposal,
    /// The function at the trial point.
    pub(crate) seen: &'a Evaluation,
    pub(crate) sight: Sight,
    /// Value of the centre before its move.
    pub(crate) centre_value: f64,
    /// Share of the way to the trial point by which the centre moved.
    pub(crate) share: f64,
    pub(crate) is_serious: bool,
    /// Whether a null step repeated an existing cut. The next proposal would then be the same.
    pub(crate) is_repeated: bool,
}

impl Step<'_> {
    /// `f(centre) - f(trial)`.
    pub(crate) fn decrease(&self) -> f64 {
        self.centre_value - self.seen.value
    }

    /// The decrease that the model predicted.
    pub(crate) fn promised(&self) -> f64 {
        self.proposal.promised()
    }
}
