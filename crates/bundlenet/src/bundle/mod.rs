//! What a bundle method knows of the function: a centre, and cuts around it.
//!
//! The loop in [`crate::method`] works with any [`Cuts`]: those of the whole function ([`Bundle`]), or those of each of its
//! components ([`ComponentBundle`]).

mod aggregated;
mod components;

pub(crate) use aggregated::{Bundle, Repeats};
pub(crate) use components::{Component, ComponentBundle};

use crate::driver::Function;
use crate::error::EvaluationError;
use crate::master::Proposal;
use crate::oracle::Minorants;

/// Cuts around a centre: a model of the function, and the share of the loop that depends on how cuts are kept.
pub(crate) trait Cuts {
    fn centre(&self) -> &[f64];

    /// The function's value at the centre, or an upper bound where the centre has moved to a point not evaluated.
    fn centre_value(&self) -> f64;

    /// Number of cuts.
    fn len(&self) -> usize;

    /// Evaluates the function at a trial point. What it finds waits for [`Cuts::take`].
    fn evaluate(&mut self, function: &mut Function<'_>, trial: &[f64]) -> Result<f64, EvaluationError>;

    /// Takes in what the last evaluation found, moves the centre a share of the way to the trial point, and forgets what is
    /// too old or too much.
    fn take(&mut self, trial: &[f64], value: f64, share: f64, proposal: &Proposal, pruning: Pruning) -> Taken;

    /// Products of all subgradients with the way to the last trial point, by place, where they were needed.
    fn slopes(&self) -> &[f64] {
        &[]
    }

    /// Writes the combination of each component's cuts with the weights of the last proposal, in units of the scaled
    /// function; false where there are no components.
    fn write_aggregates(&self, _aggregates: &mut Minorants) -> bool {
        false
    }
}

/// What the last evaluation came to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    /// Linearisation error of the new cut at the centre before it moved.
    pub(crate) error: f64,
    /// Product of the new subgradient with the direction.
    pub(crate) slope: f64,
    /// Whether the model has changed by it.
    pub(crate) is_new: bool,
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

/// What becomes of the centre after a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum CentrePolicy {
    /// A serious step moves it to the trial point, a null step leaves it.
    Hard,
    /// Every step moves it towards the trial point by a share that the two values decide, their softmin:
    /// `sigmoid((f(centre) - f(trial)) / temperature + offset)`; the paper has temperature 1 and offset 0.
    Soft { temperature: f64, offset: f64 },
    /// Every step moves it to where the parabola through the two values that begins with the promised slope is least.
    Parabola,
}

impl CentrePolicy {
    /// Share of the way to the trial point, from `f(trial) - f(centre)` of the scaled function and the decrease that the
    /// model promised.
    pub(crate) fn share(self, is_serious: bool, rise: f64, promised: f64) -> f64 {
        match self {
            Self::Hard => f64::from(is_serious),
            Self::Soft { temperature, offset } => 1.0 / (1.0 + (rise / temperature - offset).exp()),
            Self::Parabola => (0.5 * promised / (promised + rise).max(0.5 * promised)).clamp(0.0, 1.0),
        }
    }
}
