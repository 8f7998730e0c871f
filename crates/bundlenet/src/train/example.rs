//! Training instances: oracles with their optima.

use std::fmt;
use std::sync::Arc;

use crate::error::Error;
use crate::oracle::{CutsOf, EvaluationError, Fingerprint, Function, Oracle, Sense};
use crate::run::{Limits, Settings, Solution, Solver};

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
    /// Runs the exact bundle method: to a gap of 1e-9, or as far as the limits allow.
    ///
    /// # Errors
    /// If the oracle fails at the start.
    pub fn solve(&self, limits: &Limits) -> Result<Solution, Error> {
        let mut solver = Solver::new(Settings { limits: limits.clone(), ..Settings::exact() })?;
        if let Some(start) = &self.start {
            solver = solver.start(start);
        }
        solver.solve(&mut *(self.oracle)()).map_err(|source| self.failed(source))
    }

    /// Hash of the function, its sense and its start point, as text: of all data if the oracle has
    /// [fingerprints](crate::SumOracle::fingerprint), else of the value and the subgradient at the start.
    ///
    /// # Errors
    /// If the oracle fails at the start.
    pub fn fingerprint(&self) -> Result<String, Error> {
        let mut oracle = (self.oracle)();
        let mut function = Function::new(&mut *oracle).map_err(|source| self.failed(source))?;
        let start = self.start.clone().unwrap_or_else(|| function.start());
        let is_maximized = function.sense() == Sense::Maximize;
        let hash = Fingerprint::new().whole(is_maximized.into()).whole(start.len() as u64).numbers(&start);
        let hash = if let [Some(data)] = function.fingerprints(CutsOf::Whole)[..] {
            hash.whole(data)
        } else {
            let mut subgradient = vec![0.0; function.dim()];
            let value = function.evaluate(&start, &mut subgradient).map_err(|source| self.failed(source))?;
            hash.numbers(&[value]).numbers(&subgradient)
        };
        Ok(format!("{:016x}", hash.finish()))
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
