//! A run started from Python: settings, signals, callbacks and results.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bundlenet::{
    EvaluationError, Interrupt, InvalidSetting, Limits, Method, Observer, Oracle, Record, Reuse, Settings, Solution,
    Solver, State, Status,
};
use numpy::IntoPyArray;
use pyo3::call::PyCallArgs;
use pyo3::exceptions::{PyRecursionError, PyRuntimeError, PyStopIteration, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{IntoPyDict, PyDict, PyList};
use serde_json::{Map, Value};

use crate::convert::{deserialized, imported};
use crate::failure::{at_start, exception, is_interrupt, oracle_failed};
use crate::model::Model;

/// Time between two checks for signals. Ctrl-C acts within this time; each check takes the interpreter's lock.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// Most runs inside each other. Python's own recursion limit does not see the stack that they take.
const DEEPEST: usize = 50;

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Counts a run that an oracle or a callback may have started.
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

/// A request of Python to end a run: a signal, or an exception of a callback.
#[derive(Default)]
pub(crate) struct Interruption {
    flag: AtomicBool,
    raised: Mutex<Option<PyErr>>,
}

impl Interruption {
    /// The flag that the library checks.
    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.flag
    }

    /// Runs the handlers of pending signals. Python runs them on the main thread only.
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

/// Checks for signals from time to time on the thread of a run: between steps and inside master problems.
struct OnThisThread<'a> {
    interruption: &'a Interruption,
    latest_look: Mutex<Instant>,
}

impl<'a> OnThisThread<'a> {
    fn new(interruption: &'a Interruption) -> Self {
        Self { interruption, latest_look: Mutex::new(Instant::now()) }
    }
}

impl Interrupt for OnThisThread<'_> {
    fn is_raised(&self) -> bool {
        let mut latest_look = self.latest_look.lock().unwrap_or_else(PoisonError::into_inner);
        if latest_look.elapsed() >= BETWEEN_LOOKS {
            self.interruption.look();
            *latest_look = Instant::now();
        }
        self.interruption.flag.load(Ordering::Relaxed)
    }
}

/// Does some work on other threads while this one checks for signals. Without a number there is a thread for each core.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    interruption: &Interruption,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    // A new pool, because the global one does not survive a fork. 0 stands for all cores.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(check_threads(threads)?.unwrap_or(0)).build();
    let pool = pool.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    Ok(py.detach(|| {
        let (sender, receiver) = channel::<()>();
        std::thread::scope(|scope| {
            let worker = scope.spawn(move || {
                // The channel closes when the work is done or has panicked.
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

/// Refuses 0 threads.
pub(crate) fn check_threads(threads: Option<usize>) -> PyResult<Option<usize>> {
    match threads {
        Some(0) => Err(PyValueError::new_err("threads: expected at least 1, found 0")),
        threads => Ok(threads),
    }
}

/// A step of a run, as a callback sees it.
#[pyclass(frozen, get_all, module = "bundlenet")]
pub(crate) struct Progress {
    /// Step, 0 for the evaluation at the start.
    step: usize,
    /// Value at the point of this step.
    value: f64,
    /// Best value so far.
    best: f64,
    /// Whether the stability centre moved, for methods that have one.
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

/// Shows steps to a callback.
struct Watcher<'a> {
    callback: Option<&'a Py<PyAny>>,
    interruption: &'a Interruption,
}

impl Observer for Watcher<'_> {
    fn observe(&mut self, record: &Record) -> ControlFlow<()> {
        if let Some(callback) = self.callback
            && Python::attach(|py| called(py, callback, (Progress::from(record),), self.interruption)).is_break()
        {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

/// Calls a callback. It ends the run if it returns a true value or raises an exception.
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

/// The keywords that choose a method and its limits.
pub(crate) struct Keywords<'a, 'py> {
    pub(crate) method: &'a str,
    pub(crate) options: Option<&'a Bound<'py, PyAny>>,
    pub(crate) model: Option<&'a Bound<'py, Model>>,
    pub(crate) steps: Option<usize>,
    pub(crate) oracle_calls: Option<usize>,
    pub(crate) time_limit: Option<f64>,
    pub(crate) target: Option<f64>,
    pub(crate) tolerance: f64,
}

impl Keywords<'_, '_> {
    /// The settings of the library.
    pub(crate) fn settings(&self) -> PyResult<Settings> {
        let limits = Limits {
            steps: self.steps,
            oracle_calls: self.oracle_calls,
            seconds: self.time_limit,
            target: self.target,
        };
        let settings = Settings { method: self.method()?, limits, tolerance: self.tolerance, ..Settings::default() };
        Ok(settings.with_default_limit())
    }

    fn method(&self) -> PyResult<Method> {
        let options: Map<String, Value> = match self.options {
            Some(options) => deserialized(options, "options")?,
            None => Map::new(),
        };
        let method = Method::with_options(self.method, options).map_err(exception)?;
        match self.model {
            Some(model) => method.with_model(model.borrow().shared()).map_err(exception),
            None => Ok(method),
        }
    }
}

/// How a run ended, before its exceptions are raised.
pub(crate) struct Outcome {
    pub(crate) solution: Result<Solution, EvaluationError>,
    pub(crate) interruption: Interruption,
}

/// Runs a method: on this thread, or on as many others as asked for.
pub(crate) fn run(
    py: Python<'_>,
    oracle: &mut (dyn Oracle + Send),
    start: Option<&[f64]>,
    settings: Settings,
    callback: Option<&Py<PyAny>>,
    threads: Option<usize>,
    state: Option<&mut State>,
) -> PyResult<Outcome> {
    let _nested = Nested::begin()?;
    let interruption = Interruption::default();
    let here = OnThisThread::new(&interruption);
    let interrupt: &dyn Interrupt = if threads.is_none() { &here } else { interruption.flag() };
    let work = || {
        let mut watcher = Watcher { callback, interruption: &interruption };
        let mut solver = Solver::new(settings)?.observe(&mut watcher).interrupt(interrupt);
        if let Some(start) = start {
            solver = solver.start(start);
        }
        if let Some(state) = state {
            solver = solver.state(state);
        }
        Ok::<_, InvalidSetting>(solver.solve(oracle))
    };
    let solution = match threads {
        None => py.detach(work),
        threads => watched(py, threads, &interruption, work)?,
    };
    Ok(Outcome { solution: solution.map_err(exception)?, interruption })
}

impl Outcome {
    /// The result, or the exception to raise instead. `raised` is the exception of a Python oracle, if there is one;
    /// `primal` has the rows of the primal solution.
    pub(crate) fn into_result(
        self,
        py: Python<'_>,
        raised: Option<PyErr>,
        primal: Option<Bound<'_, PyList>>,
    ) -> PyResult<Py<PyAny>> {
        // A run that Ctrl-C ended has a result, its best point, unless it ended in the first evaluation.
        match self.interruption.into_raised() {
            Some(error) if !(is_interrupt(py, &error) && self.solution.is_ok()) => return Err(error),
            _ => {}
        }
        let mut solution =
            self.solution.map_err(|error| at_start(py, &error, raised.as_ref().map(|e| e.clone_ref(py))))?;
        if solution.status != Status::OracleFailed {
            return result(py, solution, primal);
        }
        if raised.as_ref().is_some_and(|error| is_interrupt(py, error)) {
            (solution.status, solution.failure) = (Status::Interrupted, None);
            return result(py, solution, primal);
        }
        let message = solution.failure.clone().unwrap_or_default();
        let result = result(py, solution, primal)?;
        Err(oracle_failed(py, &message, result, raised))
    }
}

/// A solution as a `Result` of Python.
fn result(py: Python<'_>, solution: Solution, primal: Option<Bound<'_, PyList>>) -> PyResult<Py<PyAny>> {
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
        ("success", is_success(status).into_pyobject(py)?.to_owned().into_any()),
        ("status", name.as_str().unwrap_or_default().into_pyobject(py)?.into_any()),
        ("message", message.into_pyobject(py)?.into_any()),
        ("nit", solution.steps.into_pyobject(py)?.into_any()),
        ("nfev", solution.oracle_calls.into_pyobject(py)?.into_any()),
        ("component_calls", solution.component_calls.into_pyobject(py)?.into_any()),
        ("estimate", solution.estimate.into_pyobject(py)?.into_any()),
        ("certificate", solution.certificate.into_pyobject(py)?.into_any()),
        ("ray", solution.ray.map(|ray| ray.into_pyarray(py)).into_pyobject(py)?.into_any()),
        ("primal", primal.into_pyobject(py)?.into_any()),
        ("reuse", solution.reuse.as_ref().map(|reuse| counts(py, reuse)).transpose()?.into_pyobject(py)?.into_any()),
        ("seconds", solution.seconds.into_pyobject(py)?.into_any()),
        ("oracle_seconds", solution.oracle_seconds.into_pyobject(py)?.into_any()),
        ("trace", trace),
    ]
    .into_py_dict(py)?;
    Ok(imported(py, &RESULT, "bundlenet._result", "Result")?.call((), Some(&fields))?.unbind())
}

/// How many cuts of an earlier run were used as they were, used with a new line, and dropped.
fn counts<'py>(py: Python<'py>, reuse: &Reuse) -> PyResult<Bound<'py, PyDict>> {
    let (reused, repriced) = (reuse.reused(), reuse.repriced());
    [("kept", reused - repriced), ("repriced", repriced), ("dropped", reuse.total() - reused)].into_py_dict(py)
}

/// Whether a run reached the optimum, as far as it can know, or the target.
fn is_success(status: Status) -> bool {
    matches!(status, Status::Optimal | Status::Converged | Status::BoundReached)
}

/// A status in a sentence.
fn explanation(status: Status) -> &'static str {
    match status {
        Status::Optimal => "The gap is proved to be within the tolerance.",
        Status::Converged => "The estimated gap is within the tolerance. There is no proof.",
        Status::Unbounded => "The function is unbounded along the ray.",
        Status::StepLimit => "The run took all its steps.",
        Status::TimeLimit => "The time limit was reached.",
        Status::OracleCallLimit => "The run used all its evaluations.",
        Status::BoundReached => "The value reached the target.",
        Status::Interrupted => "The user or the callback ended the run.",
        Status::OracleFailed => "The oracle failed.",
        Status::OracleAccuracy => "The gap is within the accuracy of the oracle. It is not within the tolerance.",
        Status::Stalled => "The steps no longer change the point, and the gap is above the tolerance.",
        _ => "The run ended.",
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
        .map(|solution| Outcome { solution, interruption: Interruption::default() }.into_result(py, None, None));
    each.collect()
}
