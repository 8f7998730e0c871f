//! A run under the eyes of Python: signals, callbacks, settings and results.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bundlenet::{
    EvaluationError, MethodName, Observer, Oracle, Record, Settings, Solution, Status, ValidSettings, solve,
};
use numpy::IntoPyArray;
use pyo3::call::PyCallArgs;
use pyo3::exceptions::{PyRecursionError, PyRuntimeError, PyStopIteration, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{IntoPyDict, PyDict};

use crate::convert::{deserialized, imported};
use crate::failure::{at_start, invalid, is_interrupt, oracle_failed};
use crate::model::Model;

/// Time between two looks for signals: short for whoever presses Ctrl-C, long for whoever waits for the lock.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// Most steps where nothing is said, as in the program: an unbounded function is not followed for ever.
const MOST_STEPS: usize = 10_000;

/// Most runs inside each other: Python does not see the stack that each of them takes.
const DEEPEST: usize = 50;

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// A run that an oracle or a callback may have begun.
struct Nested;

impl Nested {
    fn begin() -> PyResult<Self> {
        let depth = DEPTH.get();
        if depth == DEEPEST {
            let message = format!("expected at most {DEEPEST} runs inside each other, found one more");
            return Err(PyRecursionError::new_err(message));
        }
        DEPTH.set(depth + 1);
        Ok(Self)
    }
}

impl Drop for Nested {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// What ends a run from Python's side: a signal, or an exception of a callback.
#[derive(Default)]
pub(crate) struct Interruption {
    flag: AtomicBool,
    raised: Mutex<Option<PyErr>>,
}

impl Interruption {
    /// What the library looks at.
    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.flag
    }

    /// Runs the handlers of signals that have come; they run on the main thread only.
    fn look(&self) {
        if let Err(error) = Python::attach(|py| py.check_signals()) {
            self.end(error);
        }
    }

    /// Ends the run because of an exception.
    pub(crate) fn end(&self, error: PyErr) {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.flag.store(true, Ordering::Relaxed);
    }

    /// The exception, if there is one.
    pub(crate) fn into_raised(self) -> Option<PyErr> {
        self.raised.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Does some work on other threads, as many as asked for or all cores, while this one looks for signals.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    interruption: &Interruption,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    // A pool of its own: the global one does not survive a fork. Without a number it has all cores.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(check_threads(threads)?.unwrap_or(0)).build();
    let pool = pool.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    Ok(py.detach(|| {
        let (sender, receiver) = channel::<()>();
        std::thread::scope(|scope| {
            let worker = scope.spawn(move || {
                // The end of the channel says that the work is done, or has panicked.
                let _sender = sender;
                pool.install(work)
            });
            while receiver.recv_timeout(BETWEEN_LOOKS) == Err(RecvTimeoutError::Timeout) {
                interruption.look();
            }
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }))
}

/// A number of threads that can be used.
pub(crate) fn check_threads(threads: Option<usize>) -> PyResult<Option<usize>> {
    match threads {
        Some(0) => Err(PyValueError::new_err("threads: expected at least 1, found 0")),
        threads => Ok(threads),
    }
}

/// What a callback sees of a step.
#[pyclass(frozen, get_all, module = "bundlenet")]
pub(crate) struct Progress {
    /// Step, 0 for the evaluation at the start.
    step: usize,
    /// Value at the point of this step.
    value: f64,
    /// Best value so far.
    best: f64,
    /// Whether the centre moved, for methods that have one.
    is_serious: Option<bool>,
    /// Estimated gap over `max(1, |best|)`.
    estimate: Option<f64>,
    /// Step length.
    eta: Option<f64>,
    /// Number of cuts.
    cuts: Option<usize>,
    /// Evaluations so far.
    nfev: usize,
    /// Seconds since the start of the run.
    seconds: f64,
}

#[pymethods]
impl Progress {
    fn __repr__(&self) -> String {
        let Self { step, best, nfev, seconds, .. } = self;
        format!("Progress(step={step}, best={best}, nfev={nfev}, seconds={seconds:.3})")
    }
}

impl From<&Record> for Progress {
    fn from(record: &Record) -> Self {
        let Record { step, value, best, is_serious, estimate, eta, cuts, oracle_calls, seconds, .. } = *record;
        Self { step, value, best, is_serious, estimate, eta, cuts, nfev: oracle_calls, seconds }
    }
}

/// Shows steps to a callback, and looks for signals now and then.
struct Watcher<'a> {
    callback: Option<&'a Py<PyAny>>,
    interruption: &'a Interruption,
    latest_look: Instant,
}

impl Observer for Watcher<'_> {
    fn observe(&mut self, record: &Record) -> ControlFlow<()> {
        if let Some(callback) = self.callback
            && Python::attach(|py| called(py, callback, (Progress::from(record),), self.interruption)).is_break()
        {
            return ControlFlow::Break(());
        }
        if self.latest_look.elapsed() >= BETWEEN_LOOKS {
            self.interruption.look();
            self.latest_look = Instant::now();
        }
        ControlFlow::Continue(())
    }
}

/// Calls a callback, which ends the run by returning a true value, by `StopIteration`, or by failing.
pub(crate) fn called<'py>(
    py: Python<'py>,
    callback: &Py<PyAny>,
    progress: impl PyCallArgs<'py>,
    interruption: &Interruption,
) -> ControlFlow<()> {
    match callback.bind(py).call1(progress).and_then(|returned| returned.is_truthy()) {
        Ok(false) => return ControlFlow::Continue(()),
        Ok(true) => {}
        Err(error) if error.is_instance_of::<PyStopIteration>(py) => {}
        Err(error) => interruption.end(error),
    }
    ControlFlow::Break(())
}

/// The keywords that shape a run.
pub(crate) struct Keywords<'a, 'py> {
    pub(crate) method: &'a str,
    pub(crate) model: Option<&'a Bound<'py, Model>>,
    pub(crate) steps: Option<usize>,
    pub(crate) time_limit: Option<f64>,
    pub(crate) tolerance: f64,
    pub(crate) settings: Option<&'a Bound<'py, PyAny>>,
}

impl Keywords<'_, '_> {
    /// The library's settings; what has a keyword is taken from there.
    pub(crate) fn settings(&self) -> PyResult<ValidSettings> {
        let mut settings: Settings = match self.settings {
            Some(settings) => deserialized(settings, "settings")?,
            None => Settings::default(),
        };
        let default = Settings::default();
        if settings.method != default.method || settings.tolerances != default.tolerances {
            let message = "settings: expected what has no keyword, found \"method\" or \"tolerances\"";
            return Err(PyValueError::new_err(message));
        }
        settings.method = method(self.method)?;
        settings.model = self.model.map(|model| model.borrow().shared());
        if settings.model.is_some()
            && matches!(settings.method, MethodName::Bundle | MethodName::Descent | MethodName::Adam)
        {
            let found = self.method;
            return Err(PyValueError::new_err(format!("model: expected a method with a network, found {found:?}")));
        }
        settings.limits.steps = self.steps.or(settings.limits.steps).or(Some(MOST_STEPS));
        settings.limits.seconds = self.time_limit.or(settings.limits.seconds);
        settings.tolerances.gap = self.tolerance;
        settings.check().map_err(invalid)
    }
}

/// The method of a name; the library knows which there are.
fn method(name: &str) -> PyResult<MethodName> {
    serde_json::from_value(name.into()).map_err(|error| PyValueError::new_err(format!("method: {error}")))
}

/// How a run ended, before Python's side of it is looked at.
pub(crate) struct Outcome {
    pub(crate) solution: Result<Solution, EvaluationError>,
    pub(crate) interruption: Interruption,
}

/// Runs a method: on this thread, or on as many others as asked for.
pub(crate) fn run(
    py: Python<'_>,
    oracle: &mut (dyn Oracle + Send),
    start: Option<&[f64]>,
    settings: &ValidSettings,
    callback: Option<&Py<PyAny>>,
    threads: Option<usize>,
) -> PyResult<Outcome> {
    let _nested = Nested::begin()?;
    let interruption = Interruption::default();
    let work = || {
        let mut watcher = Watcher { callback, interruption: &interruption, latest_look: Instant::now() };
        solve(oracle, start, settings, &mut watcher, Some(interruption.flag()))
    };
    let solution = match threads {
        None => py.detach(work),
        threads => watched(py, threads, &interruption, work)?,
    };
    Ok(Outcome { solution, interruption })
}

impl Outcome {
    /// The result, or the exception that there is instead. `raised` is what a Python oracle raised, if it did.
    pub(crate) fn into_result(self, py: Python<'_>, raised: Option<PyErr>) -> PyResult<Py<PyAny>> {
        // Ctrl-C gives the best point, wherever it struck.
        match self.interruption.into_raised() {
            Some(error) if !(is_interrupt(py, &error) && self.solution.is_ok()) => return Err(error),
            _ => {}
        }
        let mut solution =
            self.solution.map_err(|error| at_start(py, &error, raised.as_ref().map(|e| e.clone_ref(py))))?;
        if solution.status != Status::OracleFailed {
            return result(py, solution);
        }
        if raised.as_ref().is_some_and(|error| is_interrupt(py, error)) {
            (solution.status, solution.failure) = (Status::Interrupted, None);
            return result(py, solution);
        }
        let message = solution.failure.clone().unwrap_or_default();
        let result = result(py, solution)?;
        Err(oracle_failed(py, &message, result, raised))
    }
}

/// A solution as Python sees it.
fn result(py: Python<'_>, solution: Solution) -> PyResult<Py<PyAny>> {
    static RESULT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    static TRACE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let Solution { status, ref trace, .. } = solution;
    let column = |of: &dyn Fn(&bundlenet::TraceRow) -> f64| trace.iter().map(of).collect::<Vec<f64>>().into_pyarray(py);
    let steps: Vec<i64> = trace.iter().map(|row| row.step as i64).collect();
    let (value, best, seconds) = (column(&|row| row.value), column(&|row| row.best), column(&|row| row.seconds));
    let trace = imported(py, &TRACE, "bundlenet._result", "Trace")?;
    let trace = trace.call1((steps.into_pyarray(py), value, best, seconds))?;
    let name = serde_json::to_value(status).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    let message = match &solution.failure {
        Some(failure) => failure.clone(),
        None => explanation(status).to_string(),
    };
    let fields: Bound<'_, PyDict> = [
        ("x", solution.point.into_pyarray(py).into_any()),
        ("fun", solution.value.into_pyobject(py)?.into_any()),
        ("success", matches!(status, Status::Optimal | Status::BoundReached).into_pyobject(py)?.to_owned().into_any()),
        ("status", name.as_str().unwrap_or_default().into_pyobject(py)?.into_any()),
        ("message", message.into_pyobject(py)?.into_any()),
        ("nit", solution.steps.into_pyobject(py)?.into_any()),
        ("nfev", solution.oracle_calls.into_pyobject(py)?.into_any()),
        ("estimate", solution.estimate.into_pyobject(py)?.into_any()),
        ("certificate", solution.certificate.into_pyobject(py)?.into_any()),
        ("seconds", solution.seconds.into_pyobject(py)?.into_any()),
        ("oracle_seconds", solution.oracle_seconds.into_pyobject(py)?.into_any()),
        ("trace", trace),
    ]
    .into_py_dict(py)?;
    Ok(imported(py, &RESULT, "bundlenet._result", "Result")?.call((), Some(&fields))?.unbind())
}

/// A status in a sentence.
fn explanation(status: Status) -> &'static str {
    match status {
        Status::Optimal => "optimal: the estimated gap is within the tolerance",
        Status::StepLimit => "the number of steps is used up",
        Status::TimeLimit => "the time is used up",
        Status::OracleCallLimit => "the number of evaluations is used up",
        Status::BoundReached => "the value is as good as the target",
        Status::Interrupted => "interrupted, or ended by the callback",
        Status::OracleFailed => "the oracle failed",
        Status::Stalled => "no step makes a difference any more, although the stop test does not hold",
        _ => "ended",
    }
}

/// Results of many runs, or the first exception.
pub(crate) fn results(
    py: Python<'_>,
    solutions: Vec<Result<Solution, EvaluationError>>,
    interruption: Interruption,
) -> PyResult<Vec<Py<PyAny>>> {
    match interruption.into_raised() {
        Some(error) if !is_interrupt(py, &error) => return Err(error),
        _ => {}
    }
    let each = solutions
        .into_iter()
        .map(|solution| Outcome { solution, interruption: Interruption::default() }.into_result(py, None));
    each.collect()
}
