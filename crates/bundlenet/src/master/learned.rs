//! A learned rule for the exact master with cuts of the whole function: step lengths, and moves of the centre.

use super::proximity::secant;
use crate::model::{CentrePolicy, Step};

/// Number of observations of a step.
pub(crate) const OBSERVATIONS: usize = 12;

/// Bound on the logarithm of a factor on the step length.
const LARGEST: f64 = 1.0;
/// Bounds on the number of steps of a rule. It was learned on runs of 90 steps.
const STEPS: (usize, usize) = (10, 100);

/// Number of steps of a rule on a function of `dim` variables; then `adaptive` goes on. With half as many cuts as
/// variables the model of a small function is nearly complete, and longer steps converge faster.
pub(crate) fn learned_steps(dim: usize) -> usize {
    (dim / 2).clamp(STEPS.0, STEPS.1)
}

/// Learned numbers of an exact master (`docs/checkpoint.md`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LearnedRule {
    /// Coefficients of the step length: the logarithm of the factor on `eta` after a step is a linear function of twelve
    /// observations of the step. None of them depends on units.
    pub coefficients: [f64; OBSERVATIONS],
    /// The centre follows a null step to this multiple of the minimum of a parabola, at least 0. At 0 it stays.
    pub follow: f64,
}

/// The centre moves all the way in a serious step: this multiple of the minimum of its parabola is never before the trial
/// point.
const ALL_THE_WAY: f64 = 2.0;

/// The state of a run that a rule observes beside the step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Course {
    /// Number of steps since the scale is known.
    pub(crate) steps: usize,
    /// The step length over the scale that the first steps found.
    pub(crate) relative: f64,
    /// Number of consecutive steps of the same kind, serious or null, with this one.
    pub(crate) run: usize,
}

impl LearnedRule {
    /// How the centre moves.
    pub(crate) fn centre_policy(&self) -> CentrePolicy {
        CentrePolicy::Parabola { serious: ALL_THE_WAY, null: self.follow }
    }

    /// The factor on the step length after a step.
    pub(crate) fn factor(&self, step: &Step<'_>, course: Course) -> f64 {
        let observed = observe(step, course);
        let logarithm: f64 =
            self.coefficients.iter().zip(observed).map(|(coefficient, number)| coefficient * number).sum();
        logarithm.clamp(-LARGEST, LARGEST).exp()
    }
}

/// The observations of a step.
fn observe(step: &Step<'_>, Course { steps, relative, run }: Course) -> [f64; OBSERVATIONS] {
    let promised = step.promised().max(f64::MIN_POSITIVE);
    let (serious, null) = if step.is_serious { (1.0, 0.0) } else { (0.0, 1.0) };
    let kept = (step.decrease() / promised).clamp(-1.0, 1.0);
    let error = (1.0 + step.sight.error.max(0.0) / promised).ln().min(4.0);
    let way = secant(step).clamp(0.1, 10.0).ln();
    let before = run.clamp(1, 5) as f64 - 1.0;
    [
        1.0,
        serious,
        serious * kept,
        null * error,
        null * kept,
        (step.proposal.sigma / promised).clamp(0.0, 1.0),
        (steps.max(1) as f64 / 10.0).ln(),
        relative.ln().clamp(-4.0, 4.0),
        serious * way,
        null * way,
        serious * before,
        null * before,
    ]
}
