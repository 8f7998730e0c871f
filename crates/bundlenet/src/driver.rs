//! The one loop that knows limits, the clock, interrupts and observers. Every method runs under it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::error::EvaluationError;
use crate::master::{Proximity, QuadraticProposer, Strategy};
use crate::method::{Adam, BundleMethod, Descent, Method, Progress, Pruning, StepReport};
use crate::observe::{Observer, Record};
use crate::oracle::{Domain, Minimized, Oracle, Sense};
use crate::settings::{MethodName, ValidSettings};
use crate::status::Status;

/// The result of a run. Values are in the problem's sense.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Solution {
    /// Why the run ended.
    pub status: Status,
    /// Best value.
    pub value: f64,
    /// Point that attains it.
    pub point: Vec<f64>,
    /// Steps taken.
    pub steps: usize,
    /// Oracle calls, the one at the start included.
    pub oracle_calls: usize,
    /// Seconds of the whole run.
    pub seconds: f64,
    /// Of which in the oracle.
    pub oracle_seconds: f64,
    /// Of which in the master problem.
    pub master_seconds: f64,
    /// The stop test's gap over `max(1, |f|)`; an estimate.
    pub estimate: Option<f64>,
    /// A proved gap over `max(1, |f|)`, where there is a proof.
    pub certificate: Option<f64>,
    /// One row for the start and each step.
    pub trace: Vec<TraceRow>,
    /// Why the oracle failed, if it did.
    pub failure: Option<String>,
}

/// A row of a trace.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct TraceRow {
    /// Step, 0 for the start.
    pub step: usize,
    /// Value at the point of this step.
    pub value: f64,
    /// Best value so far.
    pub best: f64,
    /// Seconds since the start of the run.
    pub seconds: f64,
}

/// The function as methods see it: minimised, checked, and scaled by the norm of its first subgradient.
pub(crate) struct Function<'a> {
    minimized: Minimized<'a>,
    scale: f64,
    oracle_seconds: f64,
}

impl Function<'_> {
    pub(crate) fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, EvaluationError> {
        let begin = Instant::now();
        let value = self.minimized.evaluate(point, subgradient);
        self.oracle_seconds += begin.elapsed().as_secs_f64();
        let value = value?;
        subgradient.iter_mut().for_each(|entry| *entry *= self.scale);
        Ok(value * self.scale)
    }

    pub(crate) fn project(&self, point: &mut [f64]) {
        self.minimized.domain().project(point);
    }

    pub(crate) fn is_free(&self) -> bool {
        *self.minimized.domain() == Domain::Free
    }

    /// `max(1, |f|)` of the user's function, scaled: what gaps are relative to.
    pub(crate) fn magnitude(&self, value: f64) -> f64 {
        value.abs().max(self.scale)
    }
}

/// Minimises (or maximises, as the oracle says) from a start point, 0 if there is none.
///
/// ```
/// use bundlenet::{Academic, Settings, Silent, Status, solve};
///
/// let mut function = Academic::Cb2;
/// let start = function.start();
/// let settings = Settings::default().check()?;
/// let solution = solve(&mut function, Some(&start), &settings, &mut Silent, None)?;
/// assert_eq!(solution.status, Status::Optimal);
/// assert!(function.relative_gap(solution.value) < 1e-6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Setting `interrupt` ends the run after the evaluation under way, with the best point so far.
///
/// # Errors
/// If the oracle is unusable or already the evaluation at the start fails; any later failure is a [`Status`].
pub fn solve(
    oracle: &mut dyn Oracle,
    start: Option<&[f64]>,
    settings: &ValidSettings,
    observer: &mut dyn Observer,
    interrupt: Option<&AtomicBool>,
) -> Result<Solution, EvaluationError> {
    let begin = Instant::now();
    let box_of_minimizer = oracle.minimizer_box();
    let mut function = Function { minimized: Minimized::new(oracle)?, scale: 1.0, oracle_seconds: 0.0 };
    let start = start.map_or_else(|| vec![0.0; function.minimized.dim()], <[f64]>::to_vec);
    let mut subgradient = vec![0.0; function.minimized.dim()];
    let raw_value = function.evaluate(&start, &mut subgradient)?;
    let norm = subgradient.iter().map(|entry| entry * entry).sum::<f64>().sqrt();
    // A subgradient of 0 proves the start optimal; nothing has to be scaled then.
    let scale = if norm > 0.0 { 1.0 / norm } else { 1.0 };
    function.scale = scale;
    subgradient.iter_mut().for_each(|entry| *entry *= scale);
    let value = raw_value * scale;

    let mut run = Run {
        begin,
        sense: function.minimized.sense(),
        scale,
        best: value,
        best_point: start.clone(),
        steps: 0,
        trace: Vec::with_capacity(settings.limits.steps.unwrap_or(0).min(10_000) + 1),
    };
    let mut failure = None;
    let mut method = (norm > 0.0).then(|| make_method(&function, &start, value, &subgradient, settings));
    let mut flow = run.record(&function, StepReport { value, ..StepReport::default() }, observer);
    let status = loop {
        let Some(method) = &mut method else { break Status::Optimal };
        let is_interrupted = interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed)) || flow.is_break();
        if let Some(status) = run.limit(settings, &function, is_interrupted) {
            break status;
        }
        match method.step(&mut function) {
            Ok(Progress::Step(report)) => {
                run.steps += 1;
                if report.value < run.best {
                    run.best = report.value;
                    run.best_point.copy_from_slice(method.trial());
                }
                flow = run.record(&function, report, observer);
            }
            Ok(Progress::Optimal) => break Status::Optimal,
            Ok(Progress::Stalled) => break Status::Stalled,
            Err(error) => {
                failure = Some(error.to_string());
                break Status::OracleFailed;
            }
        }
    };

    let magnitude = function.magnitude(run.best);
    let corners = box_of_minimizer.as_ref().map(|(lower, upper)| (lower.as_slice(), upper.as_slice()));
    let bound = match &mut method {
        Some(method) => method.bound(corners),
        None => Some(crate::method::Bound { estimate: 0.0, proved: Some(0.0) }),
    };
    Ok(Solution {
        status,
        value: run.user_value(run.best),
        steps: run.steps,
        oracle_calls: function.minimized.evaluations(),
        seconds: begin.elapsed().as_secs_f64(),
        oracle_seconds: function.oracle_seconds,
        master_seconds: method.as_ref().map_or(0.0, |method| method.master_seconds()),
        estimate: bound.map(|bound| bound.estimate / magnitude),
        // A gap below round-off is proved no better than round-off.
        certificate: bound.and_then(|bound| bound.proved).map(|gap| gap.max(1e-15 * magnitude) / magnitude),
        trace: run.trace,
        point: run.best_point,
        failure,
    })
}

fn make_method(
    function: &Function<'_>,
    start: &[f64],
    value: f64,
    subgradient: &[f64],
    settings: &ValidSettings,
) -> Box<dyn Method> {
    let eta0 = settings.proximity.eta0;
    match settings.method {
        MethodName::Descent => Box::new(Descent::new(start, value, subgradient, eta0.unwrap_or(10.0))),
        MethodName::Adam => Box::new(Adam::new(start, subgradient, eta0.unwrap_or(1.0))),
        MethodName::Bundle => {
            let strategy = settings.proximity.strategy;
            let proximity = match (strategy, eta0) {
                (Strategy::Auto, None) => Proximity::automatic(start, value),
                (_, eta0) => Proximity::new(strategy, eta0.unwrap_or(100.0)),
            };
            let proposer = QuadraticProposer::new(proximity, function.minimized.domain(), start.len());
            let pruning = Pruning { lifetime: settings.pruning.lifetime, cap: settings.pruning.max_cuts };
            let tolerance = settings.tolerances.gap;
            Box::new(BundleMethod::new(function, start, value, subgradient, proposer, pruning, tolerance))
        }
    }
}

/// What the driver knows of a run, in units of the scaled function.
struct Run {
    begin: Instant,
    sense: Sense,
    scale: f64,
    best: f64,
    best_point: Vec<f64>,
    steps: usize,
    trace: Vec<TraceRow>,
}

impl Run {
    fn user_value(&self, value: f64) -> f64 {
        // Adding zero turns the -0 of a flipped sign into 0.
        self.sense.sign() * value / self.scale + 0.0
    }

    /// Whether a limit ends the run now.
    fn limit(&self, settings: &ValidSettings, function: &Function<'_>, is_interrupted: bool) -> Option<Status> {
        let limits = &settings.limits;
        let seconds = self.begin.elapsed().as_secs_f64();
        let target = limits.target.map(|target| self.sense.sign() * target * self.scale);
        match () {
            () if target.is_some_and(|target| self.best <= target) => Some(Status::BoundReached),
            () if is_interrupted => Some(Status::Interrupted),
            () if limits.steps.is_some_and(|most| self.steps >= most) => Some(Status::StepLimit),
            () if limits.oracle_calls.is_some_and(|most| function.minimized.evaluations() >= most) => {
                Some(Status::OracleCallLimit)
            }
            () if limits.seconds.is_some_and(|most| seconds >= most) => Some(Status::TimeLimit),
            () => None,
        }
    }

    fn record(
        &mut self,
        function: &Function<'_>,
        report: StepReport,
        observer: &mut dyn Observer,
    ) -> std::ops::ControlFlow<()> {
        let seconds = self.begin.elapsed().as_secs_f64();
        let (value, best) = (self.user_value(report.value), self.user_value(self.best));
        self.trace.push(TraceRow { step: self.steps, value, best, seconds });
        observer.observe(&Record {
            step: self.steps,
            value,
            best,
            is_serious: report.is_serious,
            model: report.model.map(|model| self.user_value(model)),
            estimate: report.estimate.map(|estimate| estimate / function.magnitude(self.best)),
            norm: report.norm,
            eta: report.eta,
            cuts: report.cuts,
            oracle_calls: function.minimized.evaluations(),
            seconds,
        })
    }
}
