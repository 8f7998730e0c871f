//! The one loop that knows limits, the clock, interrupts and observers. Every method runs under it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::error::EvaluationError;
use crate::function::{Beginning, Function};
use crate::method::{Inherited, Method, Progress, Start, StepReport, make_method};
use crate::observe::{Observer, Record};
use crate::oracle::Oracle;
use crate::primal::Primal;
use crate::settings::{Granularity, MethodName, ValidSettings};
use crate::state::{Harvest, Journal, Memory, Reuse, SavedCuts, State, reuse};
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
    /// Of which in the network, its features included.
    pub network_seconds: f64,
    /// The stop test's gap over `max(1, |f|)`; an estimate.
    pub estimate: Option<f64>,
    /// A proved gap over `max(1, |f|)`, where there is a proof.
    pub certificate: Option<f64>,
    /// The primal solution that goes with the last proposal: with [`Settings::primal`](crate::Settings::primal), of an oracle that
    /// is a [`PrimalOracle`](crate::PrimalOracle). The closer the run came to the optimum, the less it violates what was dualised.
    pub primal: Option<Primal>,
    /// One row for the start and each step.
    pub trace: Vec<TraceRow>,
    /// Why the oracle failed, if it did.
    pub failure: Option<String>,
    /// What became of the cuts of an earlier run, where there were any.
    pub reuse: Option<Reuse>,
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
    let mut run = Run::begin(oracle, start, None, settings, make_method)?;
    let status = run.follow(settings, observer, interrupt, |_| ());
    Ok(run.finish(status))
}

/// As [`solve`], from the state that an earlier run has left, of the same function or of one with other data; it becomes the
/// state of this run.
///
/// The run begins at the state's point with the cuts that hold for the function as it is now ([`SumOracle::fingerprint`] and
/// [`SumOracle::reprice`] tell which, [`Solution::reuse`] says so), and with its step length. A network is of no use then: `auto`
/// and `hybrid` begin with what they would end with. `descent`, `adam` and `network` take the point alone. Cuts are of components,
/// or of the whole function, as the run was that made them ([`Granularity`](crate::Granularity)); a run of the other kind takes the
/// point alone, too, and groups of components leave no cuts. So does a run that is to give primal solutions, which a state has
/// none of.
///
/// A point outside the domain is moved to the nearest one inside.
///
/// # Errors
/// As [`solve`]; among others if the state has another number of multipliers than the oracle. The state is then as it was.
///
/// [`SumOracle::fingerprint`]: crate::SumOracle::fingerprint
/// [`SumOracle::reprice`]: crate::SumOracle::reprice
pub fn solve_from(
    oracle: &mut dyn Oracle,
    state: &mut State,
    settings: &ValidSettings,
    observer: &mut dyn Observer,
    interrupt: Option<&AtomicBool>,
) -> Result<Solution, EvaluationError> {
    go_on(oracle, state, settings, observer, interrupt, None)
}

/// As [`solve_from`], with a file that holds the state after every step: what a killed run has left.
///
/// A journal that cannot be written does not end the run: [`Journal::finish`] says so.
///
/// # Errors
/// As [`solve_from`].
pub fn solve_saving(
    oracle: &mut dyn Oracle,
    state: &mut State,
    journal: &mut Journal,
    settings: &ValidSettings,
    observer: &mut dyn Observer,
    interrupt: Option<&AtomicBool>,
) -> Result<Solution, EvaluationError> {
    go_on(oracle, state, settings, observer, interrupt, Some(journal))
}

fn go_on(
    oracle: &mut dyn Oracle,
    state: &mut State,
    settings: &ValidSettings,
    observer: &mut dyn Observer,
    interrupt: Option<&AtomicBool>,
    mut journal: Option<&mut Journal>,
) -> Result<Solution, EvaluationError> {
    let mut start = state.point().to_vec();
    oracle.domain().project(&mut start);
    let start = (!start.is_empty()).then_some(start.as_slice());
    let mut run = Run::begin(oracle, start, Some(state), settings, make_method)?;
    let status = run.follow(settings, observer, interrupt, |run| {
        if let Some(journal) = &mut journal {
            journal.record(run, state);
        }
    });
    *state = run.state(state);
    Ok(run.finish(status))
}

impl<M: Method> Run<'_, M> {
    /// Takes steps until something ends the run. Every one is kept before it is shown.
    fn follow(
        &mut self,
        settings: &ValidSettings,
        observer: &mut dyn Observer,
        interrupt: Option<&AtomicBool>,
        mut keep: impl FnMut(&mut Self),
    ) -> Status {
        keep(self);
        let mut flow = self.observe(StepReport::default(), observer);
        loop {
            let is_interrupted = interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed)) || flow.is_break();
            if let Some(status) = self.limit(settings, is_interrupted) {
                return status;
            }
            match self.advance(|method, function| method.step(function)) {
                Ok(report) => {
                    keep(self);
                    flow = self.observe(report, observer);
                }
                Err(status) => return status,
            }
        }
    }
}

/// A run under way: the function, the method, and what the driver knows; values are minimised and not scaled.
pub(crate) struct Run<'a, M> {
    begin: Instant,
    function: Function<'a>,
    /// None if the start is optimal.
    method: Option<M>,
    best: f64,
    best_point: Vec<f64>,
    steps: usize,
    trace: Vec<TraceRow>,
    failure: Option<String>,
    reuse: Option<Reuse>,
}

impl<'a, M: Method> Run<'a, M> {
    /// Evaluates the function at the start and makes the method, with what an earlier run has left.
    pub(crate) fn begin(
        oracle: &'a mut dyn Oracle,
        start: Option<&[f64]>,
        state: Option<&State>,
        settings: &ValidSettings,
        make: impl FnOnce(&mut Function<'_>, Start<'_>, &ValidSettings) -> M,
    ) -> Result<Self, EvaluationError> {
        let begin = Instant::now();
        let start = start.map_or_else(|| vec![0.0; oracle.dim()], <[f64]>::to_vec);
        let memory = state.and_then(State::memory);
        let granularity = match settings.method {
            MethodName::Bundle => settings.cuts,
            MethodName::Auto => Granularity::Auto,
            _ => Granularity::Aggregated,
        };
        // A state has no primal solutions: a combination with its cuts would lack some.
        let takes_cuts =
            matches!(settings.method, MethodName::Auto | MethodName::Hybrid | MethodName::Bundle) && !settings.primal;
        let scale = memory.filter(|_| takes_cuts).map(|memory| memory.scale);
        let (mut function, beginning) = Function::begin(oracle, &start, granularity, scale, settings.primal)?;
        let Beginning { value, subgradient, minorants } = beginning;
        // A subgradient of 0 proves the start optimal.
        let is_optimal = subgradient.iter().all(|&entry| entry == 0.0);
        let mut begin_at =
            Start { point: &start, value, subgradient: &subgradient, minorants: minorants.as_ref(), inherited: None };
        let (cuts, reuse) = match (state, memory) {
            (Some(state), Some(memory)) if takes_cuts && memory.scale == function.scale() => {
                reuse(state, &mut function, begin_at)
            }
            (_, memory) => {
                let unusable = memory.map_or(0, |memory| memory.cuts.len());
                (SavedCuts::default(), Reuse { unusable, ..Reuse::default() })
            }
        };
        // Without cuts, the length of steps has to be found again.
        let memory = memory.filter(|_| cuts.len() > 0);
        begin_at.inherited = memory.map(|memory| Inherited { cuts: &cuts, step_length: memory.step_length });
        let method = (!is_optimal).then(|| make(&mut function, begin_at, settings));
        let reuse = (reuse.total() > 0).then_some(reuse);
        let trace = Vec::with_capacity(settings.limits.steps.unwrap_or(0).min(10_000) + 1);
        let best = function.latest();
        Ok(Self { begin, function, method, best, best_point: start, steps: 0, trace, failure: None, reuse })
    }

    /// What another run can go on with, after a run that began with the given state.
    pub(crate) fn state(&mut self, begun_with: &State) -> State {
        let memory = match self.harvest(0) {
            Some(Harvest { cuts_of, cuts, step_length, .. }) => Some(Memory {
                sense: self.function.sense(),
                scale: self.function.scale(),
                step_length,
                cuts_of,
                fingerprints: self.function.fingerprints(cuts_of),
                cuts,
            }),
            // What was known before is as true as ever, if it is of the function as it is now.
            None => begun_with.memory().filter(|memory| self.function.is_of(memory)).cloned(),
        };
        State::of_run(&self.best_point, self.best_value(), begun_with.steps() + self.steps, memory)
    }

    /// The cuts that came after the one with the given number, and the step length; `None` where there are no cuts to keep.
    pub(crate) fn harvest(&self, since: u64) -> Option<Harvest> {
        let mut harvest = Harvest::default();
        let method = self.method.as_ref().filter(|_| !self.function.is_grouped())?;
        method.harvest(&self.function, since, &mut harvest);
        (harvest.newest > 0).then_some(harvest)
    }

    /// The best value so far, in the problem's sense.
    pub(crate) fn best_value(&self) -> f64 {
        self.user_value(self.best)
    }

    /// The point that attains it.
    pub(crate) fn best_point(&self) -> &[f64] {
        &self.best_point
    }

    /// The method, unless the start is optimal.
    pub(crate) fn method(&mut self) -> Option<&mut M> {
        self.method.as_mut()
    }

    /// Steps taken.
    pub(crate) fn steps(&self) -> usize {
        self.steps
    }

    /// Does one step in the given way; a status ends the run.
    pub(crate) fn advance(
        &mut self,
        step: impl FnOnce(&mut M, &mut Function<'a>) -> Result<Progress, EvaluationError>,
    ) -> Result<StepReport, Status> {
        let Some(method) = &mut self.method else { return Err(Status::Optimal) };
        match step(method, &mut self.function) {
            Ok(Progress::Step(report)) => {
                self.steps += 1;
                if self.function.latest() < self.best {
                    self.best = self.function.latest();
                    self.best_point.copy_from_slice(method.trial());
                }
                Ok(report)
            }
            Ok(Progress::Optimal) => Err(Status::Optimal),
            Ok(Progress::Stalled) => Err(Status::Stalled),
            Err(error) => {
                self.failure = Some(error.to_string());
                Err(Status::OracleFailed)
            }
        }
    }

    fn user_value(&self, value: f64) -> f64 {
        // Adding zero turns the -0 of a flipped sign into 0.
        self.function.sense().sign() * value + 0.0
    }

    /// Whether a limit ends the run now.
    pub(crate) fn limit(&self, settings: &ValidSettings, is_interrupted: bool) -> Option<Status> {
        let limits = &settings.limits;
        let evaluations = self.function.evaluations();
        let target = limits.target.map(|target| self.function.sense().sign() * target);
        match () {
            () if self.method.is_none() => Some(Status::Optimal),
            () if target.is_some_and(|target| self.best <= target) => Some(Status::BoundReached),
            () if is_interrupted => Some(Status::Interrupted),
            () if limits.steps.is_some_and(|most| self.steps >= most) => Some(Status::StepLimit),
            () if limits.oracle_calls.is_some_and(|most| evaluations >= most) => Some(Status::OracleCallLimit),
            () if limits.seconds.is_some_and(|most| self.begin.elapsed().as_secs_f64() >= most) => {
                Some(Status::TimeLimit)
            }
            () => None,
        }
    }

    /// Adds a row to the trace and shows the step.
    pub(crate) fn observe(&mut self, report: StepReport, observer: &mut dyn Observer) -> std::ops::ControlFlow<()> {
        let seconds = self.begin.elapsed().as_secs_f64();
        let scale = self.function.scale();
        let (value, best) = (self.user_value(self.function.latest()), self.best_value());
        self.trace.push(TraceRow { step: self.steps, value, best, seconds });
        observer.observe(&Record {
            step: self.steps,
            value,
            best,
            is_serious: report.is_serious,
            model: report.model.map(|model| self.user_value(model / scale)),
            estimate: report.estimate.map(|estimate| estimate / self.function.magnitude(self.best * scale)),
            norm: report.norm,
            eta: report.eta,
            cuts: report.cuts,
            oracle_calls: self.function.evaluations(),
            seconds,
        })
    }

    /// The result of the run.
    pub(crate) fn finish(mut self, status: Status) -> Solution {
        let best = self.best * self.function.scale();
        let magnitude = self.function.magnitude(best);
        let bound = match &mut self.method {
            Some(method) => method.bound(best, &mut self.function),
            None => Some(crate::method::Bound { estimate: 0.0, proved: Some(0.0) }),
        };
        let primal = match &self.method {
            Some(method) => method.primal(),
            None => self.function.solutions().map(Primal::of_all),
        };
        Solution {
            status,
            value: self.best_value(),
            steps: self.steps,
            oracle_calls: self.function.evaluations(),
            seconds: self.begin.elapsed().as_secs_f64(),
            oracle_seconds: self.function.oracle_seconds(),
            master_seconds: self.method.as_ref().map_or(0.0, Method::master_seconds),
            network_seconds: self.method.as_ref().map_or(0.0, Method::network_seconds),
            estimate: bound.map(|bound| bound.estimate / magnitude),
            // A gap below round-off is proved no better than round-off.
            certificate: bound.and_then(|bound| bound.proved).map(|gap| gap.max(1e-15 * magnitude) / magnitude),
            primal,
            trace: self.trace,
            point: self.best_point,
            failure: self.failure,
            reuse: self.reuse,
        }
    }
}
