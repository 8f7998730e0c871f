//! The oracle's own method, under the same driver as all others.

use std::time::Instant;

use super::{Gap, Minimize, Progress, StepReport};
use crate::master::Spent;
use crate::oracle::{Detail, Evaluation, EvaluationError, Function, Primal, StructuredMethod, StructuredStep};

/// Takes multipliers and primal solutions from the oracle's own method, and evaluates the multipliers. The proof is the
/// difference between the best value and the best primal solution.
pub(crate) struct Structured {
    /// `None` before the first step.
    own: Option<Box<dyn StructuredMethod>>,
    seen: Evaluation,
    tolerance: f64,
    best: f64,
    lower_bound: f64,
    seconds: f64,
}

impl Structured {
    pub(crate) fn new(start: &Evaluation, tolerance: f64) -> Self {
        let (seen, best) = (Evaluation::at(&start.point), start.value);
        Self { own: None, seen, tolerance, best, lower_bound: f64::NEG_INFINITY, seconds: 0.0 }
    }

    /// Takes over a best value and a lower bound.
    pub(crate) fn adopt_bounds(&mut self, (best, lower_bound): (f64, f64)) {
        self.best = self.best.min(best);
        self.lower_bound = self.lower_bound.max(lower_bound);
    }

    /// The best value and the lower bound.
    pub(crate) fn bounds(&self) -> (f64, f64) {
        (self.best, self.lower_bound)
    }

    /// A step of the oracle's own method.
    fn advance(&mut self, function: &mut Function<'_>) -> StructuredStep {
        if self.own.is_none() {
            self.own = function.structured(self.tolerance);
        }
        let Some(own) = &mut self.own else { return StructuredStep::Stuck };
        let patience = function.patience();
        let step = own.step(&mut self.seen.point, &|| patience.is_over());
        function.domain().project(&mut self.seen.point);
        step
    }
}

impl Minimize for Structured {
    fn step(&mut self, function: &mut Function<'_>) -> Result<Progress, EvaluationError> {
        if self.is_proved(function) {
            return Ok(Progress::Converged);
        }
        let begin = Instant::now();
        let step = self.advance(function);
        self.seconds += begin.elapsed().as_secs_f64();
        match step {
            StructuredStep::Moved => {}
            StructuredStep::Interrupted => return Ok(Progress::Interrupted),
            StructuredStep::Stuck => return Ok(Progress::Stalled),
        }
        function.visit(&mut self.seen, Detail::Whole)?;
        self.best = self.best.min(self.seen.value);
        if let Some(bound) = self.own.as_ref().and_then(|own| function.scaled_bound(own.bound()?)) {
            self.lower_bound = self.lower_bound.max(bound);
        }
        let model = self.lower_bound.is_finite().then_some(self.lower_bound);
        Ok(Progress::Step(StepReport {
            model,
            estimate: model.map(|bound| self.best - bound),
            ..StepReport::default()
        }))
    }

    fn seen(&self) -> Option<&Evaluation> {
        Some(&self.seen)
    }

    fn spent(&self) -> Spent {
        Spent { master: self.seconds, ..Spent::default() }
    }

    fn gap(&mut self, best: f64, _: &mut Function<'_>) -> Option<Gap> {
        let gap = best - self.lower_bound;
        gap.is_finite().then_some(Gap { estimate: gap, proved: Some(gap) })
    }

    fn promised_gap(&self, start_value: f64) -> f64 {
        let size = self.best.abs().max(start_value - self.best);
        if size > 0.0 { (self.best - self.lower_bound) / size } else { f64::INFINITY }
    }

    fn is_proved(&self, function: &Function<'_>) -> bool {
        self.best - self.lower_bound <= self.tolerance * function.magnitude(self.best)
    }

    fn primal(&self) -> Option<Primal> {
        self.own.as_ref()?.primal()
    }
}
