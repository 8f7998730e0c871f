//! The driver: limits, clock, interrupts, observers and the trace, for a single run or for several runs in step.

use std::ops::ControlFlow;
use std::time::Instant;

use super::observe::{Observer, Record};
use super::reuse::{Reuse, divide, reuse};
use super::runaway::Runaway;
use super::settings::{Limits, Settings};
use super::solution::{ROUND_OFF, Solution, Status, TraceRow};
use super::state::{Memory, State};
use crate::method::{Gap, Inherited, Method, Minimize, Progress, StepReport, wants_components};
use crate::model::{Saved, SavedCuts, StepLength};
use crate::oracle::{
    CutsOf, Detail, End, Evaluation, EvaluationError, Function, Interrupt, KnownScale, Oracle, Patience, Primal,
};

/// A run: the function, the method, and the data of the driver.
pub(crate) struct Run<'a, M: Minimize + ?Sized> {
    begin: Instant,
    function: Function<'a>,
    /// The method. `None` if the start is optimal.
    method: Option<Box<M>>,
    /// The best value, minimised and not scaled, and its point.
    best: f64,
    pub(super) best_point: Vec<f64>,
    /// The last value, minimised and not scaled.
    latest: f64,
    pub(super) steps: usize,
    limits: Limits,
    tolerance: f64,
    runaway: Runaway,
    /// Ray along which the function is unbounded.
    ray: Option<Vec<f64>>,
    trace: Vec<TraceRow>,
    failure: Option<String>,
    reuse: Option<Reuse>,
    keeps_solutions: bool,
    /// The valid cuts of the state, if the start is optimal: there is no method that takes them over.
    left_cuts: Option<Inherited>,
    /// The primal solution, if the start is optimal.
    primal: Option<Primal>,
}

impl<'a, M: Minimize + ?Sized> Run<'a, M> {
    /// Evaluates the function at the start and makes the method, with the state of an earlier run.
    pub(crate) fn begin(
        oracle: &'a mut dyn Oracle,
        start: Option<&[f64]>,
        state: Option<&State>,
        settings: &Settings,
        interrupt: Option<&'a dyn Interrupt>,
        make: impl FnOnce(&Function<'_>, Evaluation, Option<Inherited>) -> Box<M>,
    ) -> Result<Self, EvaluationError> {
        let begin = Instant::now();
        let patience = Patience::new(begin, settings.limits.seconds, interrupt);
        let limit = settings.limits.oracle_calls;
        let mut function = Function::new(oracle)?.with_patience(patience).with_evaluations(limit);
        if matches!(settings.method, Method::Barrier(_)) && function.structured_work().is_none() {
            return Err(EvaluationError::NoStructure);
        }
        if settings.primal {
            function.keep_solutions();
        }
        let mut start = start.map_or_else(|| Evaluation::at(&function.start()), Evaluation::at);
        let detail =
            if wants_components(&settings.method) && function.is_sum() { Detail::Components } else { Detail::Whole };
        let memory = state.and_then(State::memory);
        let takes_cuts = settings.method.takes_cuts();
        let known = memory.filter(|_| takes_cuts).map(|memory| KnownScale {
            scale: memory.scale,
            is_of_same: state.is_some_and(State::is_trusted) || memory.has_part_of(&mut function),
        });
        function.begin(&mut start, detail, known)?;
        let (inherited, reuse) = match (state, memory) {
            (Some(state), Some(memory)) if takes_cuts && memory.scale == function.scale() => {
                let (cuts, reuse) = reuse(state, &mut function, &start);
                // Without cuts, the step length is found again.
                let inherited = Inherited { cuts, step_length: memory.step_length };
                (Some(inherited).filter(|inherited| inherited.cuts.len() > 0), reuse)
            }
            (_, memory) => (None, Reuse::none_of(memory.map_or(0, |memory| memory.cuts.len()))),
        };
        let keeps_solutions = start.solutions.is_some();
        let is_optimal = start.width == 0.0 && start.is_stationary(function.domain());
        let primal = start.primal().filter(|_| is_optimal);
        let (inherited, left_cuts) = if is_optimal { (None, inherited) } else { (inherited, None) };
        Ok(Self {
            begin,
            best: start.unscaled,
            best_point: start.point.clone(),
            latest: start.unscaled,
            runaway: Runaway::new(&start),
            ray: None,
            method: (!is_optimal).then(|| make(&function, start, inherited)),
            function,
            steps: 0,
            trace: Vec::with_capacity(settings.limits.steps.unwrap_or(0).min(10_000) + 1),
            limits: settings.limits.clone(),
            tolerance: settings.tolerance,
            failure: None,
            reuse: (reuse.total() > 0).then_some(reuse),
            keeps_solutions,
            left_cuts,
            primal,
        })
    }

    /// The state for a later run. `begun_with` is the state that this run began with.
    pub(crate) fn state(&mut self, begun_with: &State) -> State {
        let memory = match (self.save(0), &self.left_cuts, begun_with.memory()) {
            (Some(Saved { cuts_of, cuts, step_length, .. }), ..) => Some(self.memory(cuts_of, cuts, step_length)),
            (None, Some(Inherited { cuts, step_length }), Some(memory)) => {
                let (mut cuts, step_length) = (cuts.clone(), *step_length);
                divide(&mut cuts, memory.cuts_of, self.function.multiplicities());
                Some(self.memory(memory.cuts_of, cuts, step_length))
            }
            // Cuts of the same function stay valid.
            (None, _, memory) => memory.filter(|memory| memory.is_of(&mut self.function)).cloned(),
        };
        State::of_run(&self.best_point, self.best_value(), begun_with.steps() + self.steps, memory)
    }

    /// Cuts and step length of this function.
    fn memory(&mut self, cuts_of: CutsOf, cuts: SavedCuts, step_length: Option<StepLength>) -> Memory {
        let fingerprints = self.function.fingerprints(cuts_of);
        Memory { sense: self.function.sense(), scale: self.function.scale(), step_length, cuts_of, fingerprints, cuts }
    }

    /// The cuts with numbers above `since`, and the step length. `None` if there are no cuts.
    pub(crate) fn save(&self, since: u64) -> Option<Saved> {
        let mut saved = self.method.as_ref()?.save(since).filter(|saved| saved.newest > 0)?;
        divide(&mut saved.cuts, saved.cuts_of, self.function.multiplicities());
        Some(saved)
    }

    /// The best value so far, in the problem's sense.
    pub(crate) fn best_value(&self) -> f64 {
        self.user_value(self.best)
    }

    /// The method, unless the start is optimal.
    pub(crate) fn method(&mut self) -> Option<&mut M> {
        self.method.as_deref_mut()
    }

    /// Takes one step. A status ends the run.
    fn advance(&mut self) -> Result<StepReport, Status> {
        let Some(method) = &mut self.method else { return Err(Status::Optimal) };
        let report = match method.step(&mut self.function) {
            Ok(Progress::Step(report)) => report,
            Ok(Progress::Optimal) => return Err(Status::Optimal),
            Ok(Progress::Converged) => return Err(Status::Converged),
            Ok(Progress::Stalled) => return Err(Status::Stalled),
            Ok(Progress::Noisy) => return Err(Status::OracleAccuracy),
            Ok(Progress::Interrupted) => return Err(self.end_of_patience().unwrap_or(Status::Interrupted)),
            Err(error) => {
                self.failure = Some(error.to_string());
                return Err(Status::OracleFailed);
            }
        };
        self.steps += 1;
        if let Some(seen) = method.seen().filter(|seen| !seen.is_partial) {
            self.latest = seen.unscaled;
            if seen.unscaled < self.best {
                self.best = seen.unscaled;
                self.best_point.copy_from_slice(&seen.point);
                self.test_boundedness();
            }
        }
        Ok(report)
    }

    /// Tests whether the function is unbounded, if its best point has run away and a call is left for the test.
    fn test_boundedness(&mut self) {
        if self.function.evaluations_left() > 1 && self.runaway.is_due(&self.best_point) {
            self.ray = self.runaway.test(&mut self.function, self.best, &self.best_point);
        }
    }

    fn user_value(&self, value: f64) -> f64 {
        // Adding zero turns -0, from a flipped sign, into 0.
        self.function.sense().sign() * value + 0.0
    }

    /// The end of the run by an interrupt or by the limit in seconds.
    fn end_of_patience(&self) -> Option<Status> {
        self.function.patience().end().map(|end| match end {
            End::Interrupt => Status::Interrupted,
            End::Time => Status::TimeLimit,
        })
    }

    /// Whether a limit ends the run now.
    fn limit(&self, is_interrupted: bool) -> Option<Status> {
        let Limits { steps, oracle_calls, target, .. } = self.limits;
        let evaluations = self.function.evaluations();
        let target = target.map(|target| self.function.sense().sign() * target);
        let end = self.end_of_patience();
        match () {
            () if self.method.is_none() => Some(Status::Optimal),
            () if self.ray.is_some() => Some(Status::Unbounded),
            () if target.is_some_and(|target| self.best <= target) => Some(Status::BoundReached),
            () if is_interrupted || end == Some(Status::Interrupted) => Some(Status::Interrupted),
            () if steps.is_some_and(|most| self.steps >= most) => Some(Status::StepLimit),
            () if oracle_calls.is_some_and(|most| evaluations >= most) => Some(Status::OracleCallLimit),
            () => end,
        }
    }

    /// Adds a row to the trace and makes the record of a step.
    fn record(&mut self, report: StepReport) -> Record {
        let seconds = self.begin.elapsed().as_secs_f64();
        let scale = self.function.scale();
        let (value, best) = (self.user_value(self.latest), self.best_value());
        self.trace.push(TraceRow { step: self.steps, value, best, seconds });
        Record {
            step: self.steps,
            value,
            best,
            is_serious: report.is_serious,
            model: report.model.map(|model| self.user_value(model / scale)),
            estimate: report.estimate.map(|gap| gap / self.function.magnitude(self.best * scale)).filter(is_finite),
            norm: report.norm,
            eta: report.eta,
            cuts: report.cuts,
            oracle_calls: self.function.evaluations(),
            seconds,
        }
    }

    /// The result of the run.
    fn finish(&mut self, status: Status) -> Solution {
        let best = self.best * self.function.scale();
        let magnitude = self.function.magnitude(best);
        // A stationary point ends a method without a model, too.
        let stationary = (status == Status::Optimal).then_some(Gap { estimate: 0.0, proved: Some(0.0) });
        let gap = self.method.as_mut().and_then(|method| method.gap(best, &mut self.function)).or(stationary);
        let spent = self.method.as_ref().map(|method| method.spent()).unwrap_or_default();
        let estimate = gap.map(|gap| gap.estimate / magnitude).filter(is_finite);
        // An unbounded function has no optimum.
        let proved = gap.and_then(|gap| gap.proved).filter(|_| self.ray.is_none()).map(|gap| gap / magnitude);
        // Without the setting, cuts of the state may still have solutions, but new ones have none.
        let primal = match &self.method {
            Some(method) => method.primal().filter(|_| self.keeps_solutions),
            None => self.primal.take(),
        };
        Solution {
            status: status.with_gap(estimate, proved, self.tolerance),
            value: self.best_value(),
            steps: self.steps,
            oracle_calls: self.function.evaluations(),
            component_calls: self.function.component_calls(),
            seconds: self.begin.elapsed().as_secs_f64(),
            oracle_seconds: self.function.seconds(),
            master_seconds: spent.master,
            master_work: spent.work,
            network_seconds: spent.network,
            estimate,
            certificate: proved.map(|gap| gap.max(ROUND_OFF)),
            ray: self.ray.take(),
            primal,
            trace: std::mem::take(&mut self.trace),
            point: self.best_point.clone(),
            failure: self.failure.take(),
            reuse: self.reuse.take(),
        }
    }
}

fn is_finite(number: &f64) -> bool {
    number.is_finite()
}

/// Computes the proposals of runs, given by their indices.
type Propose<'w, 'a, M> = &'w mut dyn FnMut(&mut [Run<'a, M>], &[usize]);

/// Callbacks around the steps of runs.
pub(crate) struct Watch<'w, 'a, M: Minimize + ?Sized> {
    /// Computes the proposals of all active runs before each round of steps.
    pub(crate) propose: Propose<'w, 'a, M>,
    /// Called with each run after its first evaluation and after each step, before observers.
    pub(crate) keep: &'w mut dyn FnMut(usize, &mut Run<'a, M>),
    /// Called with each run at its end, before a last proposal for its gap is made.
    pub(crate) end: &'w mut dyn FnMut(usize, &mut Run<'a, M>),
    /// Observes every step and may end all runs.
    pub(crate) observer: Option<&'w mut dyn Observer>,
}

/// Takes steps of all runs in turn until all have ended. A single run is a group of one.
pub(crate) fn drive<'a, M: Minimize + ?Sized>(runs: &mut [Run<'a, M>], mut watch: Watch<'_, 'a, M>) -> Vec<Solution> {
    let mut solutions: Vec<Option<Solution>> = runs.iter().map(|_| None).collect();
    let mut going: Vec<usize> = (0..runs.len()).collect();
    let mut is_interrupted = false;
    for (index, run) in runs.iter_mut().enumerate() {
        is_interrupted |= watch.show(index, run, StepReport::default()).is_break();
    }
    loop {
        for &index in &going {
            let limit = runs[index].limit(is_interrupted);
            solutions[index] = limit.map(|status| watch.finish(index, &mut runs[index], status));
        }
        going.retain(|&index| solutions[index].is_none());
        if going.is_empty() {
            return solutions.into_iter().flatten().collect();
        }
        (watch.propose)(runs, &going);
        for &index in &going {
            match runs[index].advance() {
                Ok(report) => is_interrupted |= watch.show(index, &mut runs[index], report).is_break(),
                Err(status) => solutions[index] = Some(watch.finish(index, &mut runs[index], status)),
            }
        }
        going.retain(|&index| solutions[index].is_none());
    }
}

impl<'a, M: Minimize + ?Sized> Watch<'_, 'a, M> {
    /// Ends a run.
    fn finish(&mut self, index: usize, run: &mut Run<'a, M>, status: Status) -> Solution {
        (self.end)(index, run);
        run.finish(status)
    }

    /// Calls `keep` and the observer after a step.
    fn show(&mut self, index: usize, run: &mut Run<'a, M>, report: StepReport) -> ControlFlow<()> {
        (self.keep)(index, run);
        let record = run.record(report);
        self.observer.as_mut().map_or(ControlFlow::Continue(()), |observer| observer.observe(&record))
    }
}
