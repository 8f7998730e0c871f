//! Training instances: oracles with their optima.

use std::fmt;
use std::sync::Arc;

use crate::error::Error;
use crate::oracle::{EvaluationError, Oracle};
use crate::run::{Limits, Settings, Solver};

/// Makes a new oracle of an example at each call. Several threads run at the same time, each with its own oracle.
pub type MakeOracle = Arc<dyn Fn() -> Box<dyn Oracle + Send> + Send + Sync>;

/// A training instance: any function.
#[derive(Clone)]
pub struct Example {
    /// Its name; unique within its data.
    pub name: String,
    /// Its oracle.
    pub oracle: MakeOracle,
    /// Start point of runs; 0 if `None`.
    pub start: Option<Vec<f64>>,
    /// The optimal value in the problem's sense, if it is known.
    pub optimum: Option<f64>,
}

impl fmt::Debug for Example {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Example").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Example {
    /// Computes the optimum with the exact bundle method, unless it is known: to 1e-9, or as far as the limits allow.
    ///
    /// # Errors
    /// If the oracle fails at the start.
    pub fn with_optimum(mut self, limits: &Limits) -> Result<Self, Error> {
        if self.optimum.is_none() {
            let mut solver = Solver::new(Settings { limits: limits.clone(), ..Settings::exact() })?;
            if let Some(start) = &self.start {
                solver = solver.start(start);
            }
            let solution = solver.solve(&mut *(self.oracle)()).map_err(|source| self.failed(source))?;
            self.optimum = Some(solution.value);
        }
        Ok(self)
    }

    pub(crate) fn failed(&self, source: EvaluationError) -> Error {
        Error::Example { name: self.name.clone(), source }
    }
}

/// The denominator of gaps.
pub(crate) fn magnitude(optimum: f64) -> f64 {
    if optimum == 0.0 { 1.0 } else { optimum.abs() }
}

/// Gap of a value in percent of the optimum.
#[must_use]
pub fn gap_percent(value: f64, optimum: f64) -> f64 {
    100.0 * (value - optimum).abs() / magnitude(optimum)
}

/// At most `limit` of the examples, spread over all.
#[must_use]
pub fn limited(examples: Vec<Example>, limit: Option<usize>) -> Vec<Example> {
    let count = examples.len();
    match limit {
        Some(limit) if limit < count => {
            let is_chosen = |index: usize| (index + 1) * limit / count > index * limit / count;
            examples
                .into_iter()
                .enumerate()
                .filter(|(index, _)| is_chosen(*index))
                .map(|(_, example)| example)
                .collect()
        }
        _ => examples,
    }
}
