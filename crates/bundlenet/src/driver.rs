//! The one loop that knows limits, the clock, interrupts and observers. Every method runs under it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::bundle::{Bundle, ComponentBundle, Pruning, Repeats};
use crate::error::EvaluationError;
use crate::grouping::Grouping;
use crate::learn::{Network, NetworkProposer, Real};
use crate::master::{ComponentProposer, FIRST_CUTS, Proximity, QuadraticProposer, Strategy};
use crate::method::{Adam, BundleMethod, Descent, Granular, Method, Progress, Start, StepReport};
use crate::observe::{Observer, Record};
use crate::oracle::{Domain, Minimized, Minorants, Oracle};
use crate::settings::{Granularity, MethodName, ProximitySettings, PruningSettings, ValidSettings};
use crate::status::Status;
use crate::vectors::{Padded, all_within, scale};

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

/// Entries of a scaled subgradient beyond this could not be squared and added up.
const LARGEST_ENTRY: f64 = 1e150;

/// The function as methods see it: minimised, checked, and scaled by the norm of its first subgradient.
pub(crate) struct Function<'a> {
    minimized: Minimized<'a>,
    /// Corners of a box that holds a minimiser.
    minimizer_box: Option<(Vec<f64>, Vec<f64>)>,
    scale: f64,
    /// The last value, minimised but not scaled.
    latest: f64,
    oracle_seconds: f64,
    /// Of which for the last evaluation.
    latest_seconds: f64,
    /// Coefficients of the linear part, minimised but not scaled, where there are components.
    linear: Vec<f64>,
    grouping: Option<Grouping>,
}

/// The scaled function at the start.
pub(crate) struct Beginning {
    pub(crate) value: f64,
    pub(crate) subgradient: Vec<f64>,
    /// By component, where they are asked for and there are any.
    pub(crate) minorants: Option<Minorants>,
}

impl<'a> Function<'a> {
    /// Evaluates an oracle at the start, which gives the scale.
    pub(crate) fn begin(
        oracle: &'a mut dyn Oracle,
        start: &[f64],
        granularity: Granularity,
    ) -> Result<(Self, Beginning), EvaluationError> {
        let minimizer_box = oracle.minimizer_box();
        let mut minimized = Minimized::new(oracle)?;
        let sign = minimized.sense().sign();
        let sum = if granularity == Granularity::Aggregated { None } else { minimized.as_sum() };
        let linear = sum.as_ref().map_or_else(Vec::new, |sum| sum.linear().iter().map(|entry| sign * entry).collect());
        let grouping = match (granularity, &sum) {
            (Granularity::Groups(groups), Some(sum)) => Some(Grouping::new(&**sum, groups)),
            _ => None,
        };
        let mut minorants = sum.is_some().then(Minorants::new);
        let mut subgradient = vec![0.0; minimized.dim()];
        let mut function = Self {
            minimized,
            minimizer_box,
            scale: 1.0,
            latest: 0.0,
            oracle_seconds: 0.0,
            latest_seconds: 0.0,
            linear,
            grouping,
        };
        match &mut minorants {
            None => function.call(start, &mut subgradient)?,
            Some(minorants) => {
                function.call_components(start, minorants)?;
                subgradient.copy_from_slice(&function.linear);
                minorants.add_to(&mut subgradient);
            }
        }
        function.scale = scale_of(&subgradient);
        scale(&mut subgradient, function.scale);
        if let Some(minorants) = &mut minorants {
            minorants.scale(function.scale);
        }
        let value = function.scaled(&subgradient)?;
        Ok((function, Beginning { value, subgradient, minorants }))
    }

    pub(crate) fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, EvaluationError> {
        self.call(point, subgradient)?;
        scale(subgradient, self.scale);
        self.scaled(subgradient)
    }

    /// Calls the oracle and does not scale.
    fn call(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<(), EvaluationError> {
        let begin = Instant::now();
        let value = self.minimized.evaluate(point, subgradient);
        self.count(begin);
        self.latest = value?;
        Ok(())
    }

    /// As [`Self::evaluate`], by component or group. Only for oracles that are sums.
    pub(crate) fn evaluate_components(
        &mut self,
        point: &[f64],
        minorants: &mut Minorants,
    ) -> Result<f64, EvaluationError> {
        self.call_components(point, minorants)?;
        minorants.scale(self.scale);
        self.scaled(minorants.entries())
    }

    /// Calls the oracle for its components and does not scale.
    fn call_components(&mut self, point: &[f64], minorants: &mut Minorants) -> Result<(), EvaluationError> {
        let begin = Instant::now();
        let result = self.minimized.evaluate_components(point, minorants);
        self.count(begin);
        result?;
        let linear: f64 = self.linear.iter().zip(point).map(|(entry, at)| entry * at).sum();
        self.latest = linear + minorants.values().iter().sum::<f64>();
        if let Some(grouping) = &mut self.grouping {
            grouping.merge(minorants);
        }
        Ok(())
    }

    fn count(&mut self, begin: Instant) {
        self.latest_seconds = begin.elapsed().as_secs_f64();
        self.oracle_seconds += self.latest_seconds;
    }

    /// The last value, scaled; the entries of subgradients have been already.
    fn scaled(&self, entries: &[f64]) -> Result<f64, EvaluationError> {
        let value = self.latest * self.scale;
        // The squares of the entries are added up in the master.
        if value.is_finite() && all_within(entries, LARGEST_ENTRY) {
            Ok(value)
        } else {
            Err(EvaluationError::Overflow { evaluation: self.minimized.evaluations(), value: self.latest })
        }
    }

    /// The linear part, scaled.
    pub(crate) fn linear(&self) -> Vec<f64> {
        self.linear.iter().map(|entry| self.scale * entry).collect()
    }

    /// A lower bound on the scaled function that combinations of its components' minorants prove. They are changed.
    pub(crate) fn prove(&mut self, aggregates: &mut Minorants) -> Option<f64> {
        // What is known of groups says nothing of each component.
        if self.grouping.is_some() {
            return None;
        }
        aggregates.scale(1.0 / self.scale);
        self.minimized.prove(aggregates).map(|bound| self.scale * bound)
    }

    /// Seconds of the last evaluation.
    pub(crate) fn latest_seconds(&self) -> f64 {
        self.latest_seconds
    }

    pub(crate) fn project(&self, point: &mut [f64]) {
        self.minimized.domain().project(point);
    }

    pub(crate) fn domain(&self) -> &Domain {
        self.minimized.domain()
    }

    pub(crate) fn minimizer_box(&self) -> Option<&(Vec<f64>, Vec<f64>)> {
        self.minimizer_box.as_ref()
    }

    /// The last value, scaled.
    pub(crate) fn latest_scaled(&self) -> f64 {
        self.latest * self.scale
    }

    /// What values and subgradients are multiplied by.
    pub(crate) fn scale(&self) -> f64 {
        self.scale
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
    let mut run = Run::begin(oracle, start, settings, make_method)?;
    let mut flow = run.observe(StepReport::default(), observer);
    let status = loop {
        let is_interrupted = interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed)) || flow.is_break();
        if let Some(status) = run.limit(settings, is_interrupted) {
            break status;
        }
        match run.advance(|method, function| method.step(function)) {
            Ok(report) => flow = run.observe(report, observer),
            Err(status) => break status,
        }
    };
    Ok(run.finish(status))
}

fn make_method(function: &Function<'_>, start: Start<'_>, settings: &ValidSettings) -> Box<dyn Method> {
    let eta0 = settings.proximity.eta0;
    match settings.method {
        MethodName::Descent => Box::new(Descent::new(start, eta0.unwrap_or(10.0))),
        MethodName::Adam => Box::new(Adam::new(start, eta0.unwrap_or(1.0))),
        MethodName::Bundle => bundle_method(function, start, settings),
        MethodName::Network => {
            let network = Arc::clone(settings.model().network());
            Box::new(network_method(network, function, start, settings.pruning.max_cuts, settings.tolerances.gap))
        }
    }
}

fn bundle_method(function: &Function<'_>, start: Start<'_>, settings: &ValidSettings) -> Box<dyn Method> {
    let ProximitySettings { strategy, eta0, serious_steps, null_steps } = settings.proximity;
    let dim = start.point.len();
    let tolerance = settings.tolerances.gap;
    let PruningSettings { lifetime, max_cuts, max_component_cuts, max_bytes } = settings.pruning;
    let aggregated = Pruning { lifetime, cap: max_cuts, bytes: max_bytes };
    let Some(minorants) = start.minorants else {
        let proximity = match (strategy, eta0) {
            (Strategy::Auto, None) => Proximity::automatic(start.point, start.value),
            (_, eta0) => Proximity::new(strategy, eta0.unwrap_or(100.0)),
        };
        let proposer =
            QuadraticProposer::new(proximity.with_patience(serious_steps, null_steps), function.domain(), dim);
        let bundle = aggregated_bundle(function, start, max_cuts);
        return Box::new(BundleMethod::new(function, bundle, proposer, aggregated, tolerance));
    };
    let proximity = match (strategy, eta0) {
        (Strategy::Auto, eta0) => Proximity::for_components(start.point, start.value, eta0),
        (_, eta0) => Proximity::new(strategy, eta0.unwrap_or(100.0)),
    };
    let proposer = ComponentProposer::new(proximity.with_patience(serious_steps, null_steps), function.domain(), dim);
    let pruning = Pruning { cap: max_component_cuts, ..aggregated };
    let bundle = ComponentBundle::new(start.point, start.value, function.linear(), minorants);
    let bundle = if strategy == Strategy::Auto { bundle.with_metric() } else { bundle };
    let method = BundleMethod::new(function, bundle, proposer, pruning, tolerance);
    // Only where nothing says how the step length is to be chosen, and nothing what cuts are of, is there a choice.
    if settings.cuts == Granularity::Auto && strategy == Strategy::Auto {
        Box::new(Granular::new(method, aggregated))
    } else {
        Box::new(method)
    }
}

/// The bundle method with a network in the place of the master problem, and at most `cap` cuts.
pub(crate) fn network_method<S: Real>(
    network: Arc<Network<S>>,
    function: &Function<'_>,
    start: Start<'_>,
    cap: usize,
    tolerance: f64,
) -> BundleMethod<NetworkProposer<S>> {
    let proposer = NetworkProposer::new(network, function.domain(), start);
    // A network was trained with all cuts: they go only when there is no room for them.
    let pruning = Pruning { lifetime: usize::MAX, cap, bytes: usize::MAX };
    let bundle = aggregated_bundle(function, start, cap).with_repeats(Repeats::Keep);
    BundleMethod::new(function, bundle, proposer, pruning, tolerance)
}

/// Cuts of the whole function around the start.
fn aggregated_bundle(function: &Function<'_>, start: Start<'_>, cap: usize) -> Bundle {
    Bundle::new(start.point, start.value, function.domain(), cap.min(FIRST_CUTS))
        .with_cut(&Padded::of(start.subgradient), 0.0)
}

/// What a subgradient is multiplied by to have norm 1; 1 for a subgradient of 0. Safe for entries whose squares are out of
/// range.
fn scale_of(subgradient: &[f64]) -> f64 {
    let largest = subgradient.iter().fold(0.0_f64, |largest, entry| largest.max(entry.abs()));
    if largest == 0.0 {
        return 1.0;
    }
    let relative: f64 = subgradient.iter().map(|entry| (entry / largest) * (entry / largest)).sum();
    1.0 / relative.sqrt() / largest
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
}

impl<'a, M: Method> Run<'a, M> {
    /// Evaluates the function at the start and makes the method.
    pub(crate) fn begin(
        oracle: &'a mut dyn Oracle,
        start: Option<&[f64]>,
        settings: &ValidSettings,
        make: impl FnOnce(&Function<'_>, Start<'_>, &ValidSettings) -> M,
    ) -> Result<Self, EvaluationError> {
        let begin = Instant::now();
        let start = start.map_or_else(|| vec![0.0; oracle.dim()], <[f64]>::to_vec);
        let granularity = if settings.method == MethodName::Bundle { settings.cuts } else { Granularity::Aggregated };
        let (function, beginning) = Function::begin(oracle, &start, granularity)?;
        let Beginning { value, subgradient, minorants } = beginning;
        // A subgradient of 0 proves the start optimal.
        let is_optimal = subgradient.iter().all(|&entry| entry == 0.0);
        let begin_at = Start { point: &start, value, subgradient: &subgradient, minorants: minorants.as_ref() };
        let method = (!is_optimal).then(|| make(&function, begin_at, settings));
        let trace = Vec::with_capacity(settings.limits.steps.unwrap_or(0).min(10_000) + 1);
        let best = function.latest;
        Ok(Self { begin, function, method, best, best_point: start, steps: 0, trace, failure: None })
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
                if self.function.latest < self.best {
                    self.best = self.function.latest;
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
        self.function.minimized.sense().sign() * value + 0.0
    }

    /// Whether a limit ends the run now.
    pub(crate) fn limit(&self, settings: &ValidSettings, is_interrupted: bool) -> Option<Status> {
        let limits = &settings.limits;
        let evaluations = self.function.minimized.evaluations();
        let target = limits.target.map(|target| self.function.minimized.sense().sign() * target);
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
        let scale = self.function.scale;
        let (value, best) = (self.user_value(self.function.latest), self.user_value(self.best));
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
            oracle_calls: self.function.minimized.evaluations(),
            seconds,
        })
    }

    /// The result of the run.
    pub(crate) fn finish(mut self, status: Status) -> Solution {
        let best = self.best * self.function.scale;
        let magnitude = self.function.magnitude(best);
        let bound = match &mut self.method {
            Some(method) => method.bound(best, &mut self.function),
            None => Some(crate::method::Bound { estimate: 0.0, proved: Some(0.0) }),
        };
        let seconds = self.method.as_ref().map_or(0.0, Method::master_seconds);
        let is_network = self.method.as_ref().is_some_and(Method::is_network);
        Solution {
            status,
            value: self.user_value(self.best),
            steps: self.steps,
            oracle_calls: self.function.minimized.evaluations(),
            seconds: self.begin.elapsed().as_secs_f64(),
            oracle_seconds: self.function.oracle_seconds,
            master_seconds: if is_network { 0.0 } else { seconds },
            network_seconds: if is_network { seconds } else { 0.0 },
            estimate: bound.map(|bound| bound.estimate / magnitude),
            // A gap below round-off is proved no better than round-off.
            certificate: bound.and_then(|bound| bound.proved).map(|gap| gap.max(1e-15 * magnitude) / magnitude),
            trace: self.trace,
            point: self.best_point,
            failure: self.failure,
        }
    }
}
