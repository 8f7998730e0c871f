//! Observers of a run. They may end it.

use std::ops::ControlFlow;

/// A step for observers. Values are in the problem's sense. A field without meaning for the method is `None`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Record {
    /// Number of the step; 0 for the evaluation at the start.
    pub step: usize,
    /// Value at the point of this step.
    pub value: f64,
    /// Best value so far.
    pub best: f64,
    /// Whether the step was serious.
    pub is_serious: Option<bool>,
    /// Value of the model at the point of this step.
    pub model: Option<f64>,
    /// Estimated gap over `max(1, |f|)`.
    pub estimate: Option<f64>,
    /// Norm of the direction, for the function scaled by the norm of its first subgradient.
    pub norm: Option<f64>,
    /// Step length `eta`.
    pub eta: Option<f64>,
    /// Number of cuts.
    pub cuts: Option<usize>,
    /// Oracle calls so far.
    pub oracle_calls: usize,
    /// Spent since the start of the run.
    pub seconds: f64,
}

/// Receives every step of a run and may end it.
pub trait Observer {
    /// Called after the evaluation at the start and after every step.
    fn observe(&mut self, record: &Record) -> ControlFlow<()>;
}

impl<F: FnMut(&Record) -> ControlFlow<()>> Observer for F {
    fn observe(&mut self, record: &Record) -> ControlFlow<()> {
        self(record)
    }
}
