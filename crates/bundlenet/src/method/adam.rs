//! Adam (Kingma and Ba, 2015) on subgradients.

use super::{Method, Progress, Start, StepReport};
use crate::error::EvaluationError;
use crate::function::Function;

const FIRST_DECAY: f64 = 0.9;
const SECOND_DECAY: f64 = 0.999;
const EPSILON: f64 = 1e-8;

pub(crate) struct Adam {
    point: Vec<f64>,
    subgradient: Vec<f64>,
    first: Vec<f64>,
    second: Vec<f64>,
    rate: f64,
    steps: i32,
}

impl Adam {
    pub(crate) fn new(start: Start<'_>, rate: f64) -> Self {
        Self {
            point: start.point.to_vec(),
            subgradient: start.subgradient.to_vec(),
            first: vec![0.0; start.point.len()],
            second: vec![0.0; start.point.len()],
            rate,
            steps: 0,
        }
    }
}

impl Method for Adam {
    fn step(&mut self, function: &mut Function<'_>) -> Result<Progress, EvaluationError> {
        if self.subgradient.iter().all(|&entry| entry == 0.0) {
            return Ok(Progress::Optimal);
        }
        self.steps = self.steps.saturating_add(1);
        let first_share = 1.0 - FIRST_DECAY.powi(self.steps);
        let second_share = 1.0 - SECOND_DECAY.powi(self.steps);
        let moments = self.first.iter_mut().zip(&mut self.second);
        for ((x, g), (first, second)) in self.point.iter_mut().zip(&self.subgradient).zip(moments) {
            *first = FIRST_DECAY * *first + (1.0 - FIRST_DECAY) * g;
            *second = SECOND_DECAY * *second + (1.0 - SECOND_DECAY) * g * g;
            *x -= self.rate * (*first / first_share) / ((*second / second_share).sqrt() + EPSILON);
        }
        function.project(&mut self.point);
        function.evaluate(&self.point, &mut self.subgradient)?;
        Ok(Progress::Step(StepReport { eta: Some(self.rate), ..StepReport::default() }))
    }

    fn trial(&self) -> &[f64] {
        &self.point
    }
}
