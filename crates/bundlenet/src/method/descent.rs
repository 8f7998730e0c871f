//! Subgradient descent: a step along the subgradient, halved when more than two steps brought no new best.

use super::{Method, Progress, Start, StepReport};
use crate::error::EvaluationError;
use crate::function::Function;

/// Steps without a new best after which the length is halved.
const PATIENCE: usize = 2;

pub(crate) struct Descent {
    point: Vec<f64>,
    subgradient: Vec<f64>,
    best: f64,
    length: f64,
    without_best: usize,
}

impl Descent {
    pub(crate) fn new(start: Start<'_>, length: f64) -> Self {
        let (point, subgradient) = (start.point.to_vec(), start.subgradient.to_vec());
        Self { point, subgradient, best: start.value, length, without_best: 0 }
    }
}

impl Method for Descent {
    fn step(&mut self, function: &mut Function<'_>) -> Result<Progress, EvaluationError> {
        if self.subgradient.iter().all(|&entry| entry == 0.0) {
            return Ok(Progress::Optimal);
        }
        let eta = self.length;
        self.point.iter_mut().zip(&self.subgradient).for_each(|(x, g)| *x -= eta * g);
        function.project(&mut self.point);
        let value = function.evaluate(&self.point, &mut self.subgradient)?;
        if value < self.best {
            self.best = value;
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

    fn trial(&self) -> &[f64] {
        &self.point
    }
}
