//! Subgradient descent. The step length is halved after more than two steps without a new best value.

use super::{Minimize, Progress, StepReport};
use crate::oracle::{Detail, Evaluation, EvaluationError, Function};

/// Steps without a new best value after which the step length is halved.
const PATIENCE: usize = 2;

pub(crate) struct Descent {
    seen: Evaluation,
    best: f64,
    length: f64,
    without_best: usize,
}

impl Descent {
    pub(crate) fn new(start: Evaluation, length: f64) -> Self {
        Self { best: start.value, seen: start, length, without_best: 0 }
    }
}

impl Minimize for Descent {
    fn step(&mut self, function: &mut Function<'_>) -> Result<Progress, EvaluationError> {
        if self.seen.is_stationary(function.domain()) {
            return Ok(if self.seen.width == 0.0 { Progress::Optimal } else { Progress::Noisy });
        }
        let Evaluation { point, subgradient, .. } = &mut self.seen;
        let subgradient = subgradient.numbers(point.len());
        let eta = self.length;
        point.iter_mut().zip(subgradient).for_each(|(x, g)| *x -= eta * g);
        function.domain().project(point);
        function.visit(&mut self.seen, Detail::Whole)?;
        if self.seen.value < self.best {
            self.best = self.seen.value;
            self.without_best = 0;
        } else {
            self.without_best += 1;
            if self.without_best > PATIENCE {
                self.length /= 2.0;
                self.without_best = 0;
            }
        }
        Ok(Progress::Step(StepReport { eta: Some(eta), ..StepReport::default() }))
    }

    fn seen(&self) -> Option<&Evaluation> {
        Some(&self.seen)
    }
}
