//! A guard: the exact master takes over from a network, for one of two reasons.
//!
//! A network is better than an exact master on functions like those of its training, and worse on others. Its inputs tell
//! both apart within a few steps. The guard holds their ranges in training. When an input is outside, the exact master
//! goes on with the same cuts, around the best point, with a learned rule for the step length.
//!
//! A network does not converge. An exact master does, and it gains on the network as its model fills. So the exact master
//! also takes over after a number of steps in proportion to the number of variables.

use crate::master::{OBSERVATIONS, Proposer, Proximity, QuadraticProposer, StepRule, first_scale};
use crate::model::{Bundle, Centre, CentrePolicy, Proposal, Step};
use crate::oracle::{Domain, Evaluation, Patience};

/// Smallest width of a range to which its margin belongs, in standard deviations.
const LEAST_WIDTH: f64 = 0.3;

/// The ranges of a network's inputs in training, and the step-length rule of the exact master.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Guard {
    /// Least and greatest transformed features, `[step][feature]`, from the first step on. Margins are included.
    pub(crate) least: Vec<f64>,
    pub(crate) greatest: Vec<f64>,
    pub(crate) rule: StepRule,
}

impl Guard {
    /// A guard for `steps` steps of `inputs` features that has seen nothing.
    pub(crate) fn empty(steps: usize, inputs: usize, rule: [f64; OBSERVATIONS]) -> Self {
        let count = steps * inputs;
        Self { least: vec![f64::INFINITY; count], greatest: vec![f64::NEG_INFINITY; count], rule: StepRule(rule) }
    }

    /// Extends the ranges of a step by its features.
    pub(crate) fn extend(&mut self, step: usize, features: &[f64]) {
        let at = step * features.len()..(step + 1) * features.len();
        let ranges = self.least[at.clone()].iter_mut().zip(&mut self.greatest[at]);
        for ((least, greatest), &feature) in ranges.zip(features) {
            (*least, *greatest) = (least.min(feature), greatest.max(feature));
        }
    }

    /// Widens all ranges by a share of their widths on both sides.
    pub(crate) fn widen(&mut self, share: f64) {
        for (least, greatest) in self.least.iter_mut().zip(&mut self.greatest) {
            let margin = share * (*greatest - *least).max(LEAST_WIDTH);
            (*least, *greatest) = (*least - margin, *greatest + margin);
        }
    }

    /// Whether the features of a step are within their ranges. Later steps have no ranges.
    fn holds(&self, step: usize, features: impl ExactSizeIterator<Item = f64>) -> bool {
        let at = step * features.len();
        let ranges = self.least.iter().zip(&self.greatest).skip(at);
        ranges.zip(features).all(|((least, greatest), feature)| (*least..=*greatest).contains(&feature))
    }
}

/// Largest number of steps of a network that no other method follows, for each variable; chosen on validation data
/// (`docs/experiments.md`).
const STEPS_PER_VARIABLE: f64 = 0.1;

/// The guard of a run.
pub(crate) struct Watch {
    /// The best point so far.
    best: Centre,
    steps: usize,
    /// Largest number of steps of the network.
    most_steps: usize,
    /// Step length for an exact master: from the first two steps, or that of the last one.
    scale: f64,
    /// Whether the network's steps are over.
    is_over: bool,
    exact: Option<QuadraticProposer>,
}

/// Number of first steps that tell the scale of the function.
const SCALE_STEPS: usize = 2;

impl Watch {
    /// `is_alone`: no other method follows the network, so its number of steps has a limit.
    pub(crate) fn new(start: &Evaluation, is_alone: bool) -> Self {
        let best = Centre::new(&start.point, start.value, start.width);
        let limit = (STEPS_PER_VARIABLE * start.point.len() as f64).ceil() as usize;
        let most_steps = if is_alone { limit } else { usize::MAX };
        Self { best, steps: 0, most_steps, scale: 0.0, is_over: false, exact: None }
    }

    /// Whether the exact master takes the next steps.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Records a step of the network.
    pub(crate) fn note(&mut self, step: &Step<'_>) {
        self.steps += 1;
        let Evaluation { point, value, width, .. } = step.seen;
        if *value < self.best.value {
            self.best.point.copy_from_slice(point);
            (self.best.value, self.best.width) = (*value, *width);
        }
        let length = step.proposal.plain_eta();
        self.is_over = self.steps >= self.most_steps;
        if self.steps <= SCALE_STEPS {
            self.scale = first_scale(step, length);
        } else if self.is_over {
            self.scale = length;
        }
    }

    /// Compares the features after the last step with the ranges of training.
    pub(crate) fn judge(&mut self, guard: &Guard, features: impl ExactSizeIterator<Item = f64>) {
        self.is_over |= !guard.holds(self.steps - 1, features);
    }

    /// Whether the guard has ranges for the last step.
    pub(crate) fn is_watching(&self, guard: &Guard, inputs: usize) -> bool {
        !self.is_over && self.steps * inputs <= guard.least.len()
    }

    /// The step length rule of an exact master that goes on from here.
    pub(crate) fn proximity(&self, guard: &Guard) -> Proximity {
        let proximity = match self.steps {
            0..=SCALE_STEPS => Proximity::new(crate::master::Strategy::Adaptive, self.scale),
            _ => Proximity::going_on(self.scale),
        };
        proximity.with_rule(guard.rule)
    }

    /// The best point so far.
    pub(crate) fn best(&self) -> &Centre {
        &self.best
    }

    /// Proposes by the exact master.
    pub(crate) fn propose(
        &mut self,
        guard: &Guard,
        domain: &Domain,
        bundle: &mut Bundle,
        proposal: &mut Proposal,
        patience: &Patience<'_>,
    ) {
        let exact = match self.exact.take() {
            Some(exact) => exact,
            None => {
                bundle.hand_over(&self.best);
                (proposal.aggregate, proposal.centre_policy) = (None, CentrePolicy::Hard);
                QuadraticProposer::new(self.proximity(guard), domain, bundle.dim())
            }
        };
        self.exact.insert(exact).propose(bundle, proposal, patience);
    }

    /// Lets the exact master learn from a step. False if the network proposed it.
    pub(crate) fn learn(&mut self, bundle: &Bundle, step: &Step<'_>) -> bool {
        let Some(exact) = &mut self.exact else { return false };
        exact.learn(bundle, step);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_margins() {
        let mut guard = Guard::empty(2, 2, [0.0; OBSERVATIONS]);
        for features in [[1.0, 5.0], [3.0, 5.0]] {
            (0..2).for_each(|step| guard.extend(step, &features));
        }
        guard.widen(0.5);
        for (features, is_inside) in
            [([0.1, 5.1], true), ([3.9, 4.9], true), ([4.1, 5.0], false), ([2.0, 5.2], false), ([f64::NAN, 5.0], false)]
        {
            assert_eq!(guard.holds(1, features.into_iter()), is_inside, "{features:?}");
        }
        // There is no range for later steps.
        assert!(guard.holds(2, [100.0, 100.0].into_iter()));
    }
}
