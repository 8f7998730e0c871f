//! Adam (Kingma and Ba, 2015) on subgradients.

use super::{Minimize, Progress, StepReport};
use crate::oracle::{Detail, Evaluation, EvaluationError, Function};

const FIRST_DECAY: f64 = 0.9;
const SECOND_DECAY: f64 = 0.999;
const EPSILON: f64 = 1e-8;

pub(crate) struct Adam {
    seen: Evaluation,
    first: Vec<f64>,
    second: Vec<f64>,
    rate: f64,
    steps: i32,
}

impl Adam {
    pub(crate) fn new(start: Evaluation, rate: f64) -> Self {
        let zeros = vec![0.0; start.point.len()];
        Self { seen: start, first: zeros.clone(), second: zeros, rate, steps: 0 }
    }
}

impl Minimize for Adam {
    fn step(&mut self, function: &mut Function<'_>) -> Result<Progress, EvaluationError> {
        if self.seen.is_stationary(function.domain()) {
            return Ok(if self.seen.width == 0.0 { Progress::Optimal } else { Progress::Noisy });
        }
        let Evaluation { point, subgradient, .. } = &mut self.seen;
        let subgradient = subgradient.numbers(point.len());
        self.steps = self.steps.saturating_add(1);
        let first_share = 1.0 - FIRST_DECAY.powi(self.steps);
        let second_share = 1.0 - SECOND_DECAY.powi(self.steps);
        let moments = self.first.iter_mut().zip(&mut self.second);
        for ((x, g), (first, second)) in point.iter_mut().zip(subgradient).zip(moments) {
            *first = FIRST_DECAY * *first + (1.0 - FIRST_DECAY) * g;
            *second = SECOND_DECAY * *second + (1.0 - SECOND_DECAY) * g * g;
            *x -= self.rate * (*first / first_share) / ((*second / second_share).sqrt() + EPSILON);
        }
        function.domain().project(point);
        function.visit(&mut self.seen, Detail::Whole)?;
        Ok(Progress::Step(StepReport { eta: Some(self.rate), ..StepReport::default() }))
    }

    fn seen(&self) -> Option<&Evaluation> {
        Some(&self.seen)
    }
}
