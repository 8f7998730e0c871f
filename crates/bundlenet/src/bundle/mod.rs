//! What a bundle method knows of the function: a centre, and cuts around it.
//!
//! The loop in [`crate::method`] works with any [`Cuts`]: those of the whole function ([`Bundle`]), or those of each of its
//! components ([`ComponentBundle`]).

mod aggregated;
mod components;

pub(crate) use aggregated::{Bundle, Repeats};
#[cfg(test)]
pub(crate) use components::SparseCut;
pub(crate) use components::{Component, ComponentBundle};

use crate::error::EvaluationError;
use crate::function::Function;
use crate::master::Proposal;
use crate::oracle::Minorants;
use crate::primal::Primal;
use crate::state::Harvest;

/// Cuts around a centre: a model of the function, and the share of the loop that depends on how cuts are kept.
pub(crate) trait Cuts {
    fn centre(&self) -> &[f64];

    /// The function's value at the centre, or an upper bound where the centre has moved to a point not evaluated.
    fn centre_value(&self) -> f64;

    /// Whether that is the value. Only asked where another evaluation of the centre would help: it does not help a network,
    /// whose centre is never quite a point that was evaluated.
    fn is_exact(&self) -> bool {
        true
    }

    /// Number of cuts.
    fn len(&self) -> usize;

    /// Evaluates the function at a trial point. What it finds waits for [`Cuts::take`].
    fn evaluate(
        &mut self,
        function: &mut Function<'_>,
        trial: &[f64],
        proposal: &Proposal,
    ) -> Result<Seen, EvaluationError>;

    /// Takes in what the last evaluation found, moves the centre a share of the way to the trial point, and forgets what is
    /// too old or too much. True if the model has changed by the new cut.
    fn take(&mut self, trial: &[f64], seen: &Seen, share: f64, proposal: &Proposal, pruning: Pruning) -> bool;

    /// Products of all subgradients with the way to the last trial point, by place, where they were needed.
    fn slopes(&self) -> &[f64] {
        &[]
    }

    /// Hands over the cuts that came after the one with the given number.
    fn harvest(&self, since: u64, harvest: &mut Harvest);

    /// What the metric is a multiple of, where there is one.
    fn metric_unit(&self) -> Option<f64> {
        None
    }

    /// Writes the combination of each component's cuts with the weights of the last proposal, in units of the scaled
    /// function; false where there are no components.
    fn write_aggregates(&self, _aggregates: &mut Minorants) -> bool {
        false
    }

    /// The combination of the primal solutions of all cuts with the weights of the last proposal, where they are kept.
    fn primal(&self, proposal: &Proposal) -> Option<Primal>;
}

/// The point that the cuts are around.
#[derive(Clone, Debug)]
pub(crate) struct Centre {
    pub(crate) point: Vec<f64>,
    /// The function's value there, or an upper bound.
    pub(crate) value: f64,
    /// Whether it is the value.
    pub(crate) is_exact: bool,
}

impl Centre {
    fn new(point: &[f64], value: f64) -> Self {
        Self { point: point.to_vec(), value, is_exact: true }
    }

    /// Moves a share of the way to a point where the function has the given value; the centre's value moves by the same share,
    /// which is an upper bound by convexity.
    fn move_towards(&mut self, point: &[f64], value: f64, share: f64) {
        if share == 1.0 {
            self.point.copy_from_slice(point);
            self.value = value;
            self.is_exact = true;
        } else if share > 0.0 {
            let stay = 1.0 - share;
            self.point.iter_mut().zip(point).for_each(|(entry, target)| *entry = share * target + stay * *entry);
            self.value = share * value + stay * self.value;
            self.is_exact = false;
        }
    }
}

/// What an evaluation came to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// Value at the trial point.
    pub(crate) value: f64,
    /// Linearisation error of the new cut at the centre.
    pub(crate) error: f64,
    /// Product of the new subgradient with the direction.
    pub(crate) slope: f64,
    /// Where the model with the new cut is least on the ray from the centre: 1 is the trial point. Not a number where the model
    /// does not say.
    pub(crate) reach: f64,
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
    /// Every step moves it beyond where the parabola through the two values that begins with the promised slope is least, by
    /// so much, but not beyond the trial point.
    Parabola { factor: f64 },
    /// Every step moves it to where the model with the new cut is least, but not beyond the trial point.
    Reach,
}

impl CentrePolicy {
    /// Share of the way to the trial point, from `f(trial) - f(centre)` of the scaled function, the decrease that the model
    /// promised, and where it is least now.
    pub(crate) fn share(self, is_serious: bool, rise: f64, promised: f64, reach: f64) -> f64 {
        match self {
            Self::Hard => f64::from(is_serious),
            Self::Soft { temperature, offset } => 1.0 / (1.0 + (rise / temperature - offset).exp()),
            Self::Parabola { factor } => {
                let missing = 2.0 * (promised + rise);
                if missing > factor * promised { (factor * promised / missing).max(0.0) } else { 1.0 }
            }
            Self::Reach => reach.clamp(0.0, 1.0),
        }
    }
}
