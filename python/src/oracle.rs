//! Python functions as oracles: `minimize` and `maximize`.

use bundlenet::{Domain, Interval, Oracle, OracleError, Sense, Settings};
use numpy::PyArray1;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::answer::interval;
use crate::convert::{read_vector, vector};
use crate::model::Model;
use crate::run::{Keywords, check_threads, run};
use crate::state::State;
use crate::sum::{Callable, PythonSum, Space, is_sum, linear_of};

/// Functions of Python with the same keywords, one for each sense.
macro_rules! optimizers {
    ($($(#[$about:meta])* $name:ident: $sense:expr;)*) => {$(
        $(#[$about])*
        #[pyfunction]
        #[pyo3(signature = (fun, x0=None, *, method="auto", options=None, model=None, bounds=None, steps=None,
            oracle_calls=None, time_limit=None, target=None, tolerance=1e-7, callback=None, threads=None, state=None,
            executor=None, scales=None))]
        #[expect(clippy::too_many_arguments, reason = "keywords")]
        pub(crate) fn $name(
            py: Python<'_>,
            fun: &Bound<'_, PyAny>,
            x0: Option<&Bound<'_, PyAny>>,
            method: &str,
            options: Option<&Bound<'_, PyAny>>,
            model: Option<&Bound<'_, Model>>,
            bounds: Option<&Bound<'_, PyAny>>,
            steps: Option<usize>,
            oracle_calls: Option<usize>,
            time_limit: Option<f64>,
            target: Option<f64>,
            tolerance: f64,
            callback: Option<Py<PyAny>>,
            threads: Option<usize>,
            state: Option<&Bound<'_, State>>,
            executor: Option<Py<PyAny>>,
            scales: Option<&Bound<'_, PyAny>>,
        ) -> PyResult<Py<PyAny>> {
            let keywords = Keywords { method, options, model, steps, oracle_calls, time_limit, target, tolerance };
            let settings = keywords.settings()?;
            check_threads(threads)?;
            let task = Task { fun, x0, bounds, scales, sense: $sense, state: state.map(Bound::get), executor };
            optimize(py, task, settings, callback.as_ref())
        }
    )*};
}

optimizers! {
    /// Minimises a convex function. `fun(x)` returns the value and a subgradient at the point `x`.
    ///
    /// `fun` gets a new array at each call. It is called on the calling thread. It may return
    /// `((cut, bound), subgradient)` if the value is known as an interval only: `f(y) >= cut + subgradient'(y - x)` for
    /// all `y`, and `f(x) <= bound`. If it has a parameter `accuracy`, it gets the width that the interval should have
    /// at most, `inf` if any will do. `fun` may also be a `Sum`.
    ///
    /// The run starts at `x0`. With a `state` that is not empty, it starts at the point of the state instead; it uses
    /// the cuts of the state that are still valid, and updates the state. `x0` may be missing, or a number, if `fun` is
    /// a `Sum` with a linear part.
    ///
    /// `bounds` has a pair `(lower, upper)` for each coordinate, or one pair of numbers for all coordinates, or is a
    /// pair of arrays `(lower, upper)`, or a `scipy.optimize.Bounds`. `None` and infinity mean no bound. Equal sides
    /// fix a coordinate. Two arrays for two coordinates are read as a pair for each. A start outside the bounds is
    /// moved to the nearest point inside. If all sides are finite, the result has a proof.
    ///
    /// `scales` has a positive number for each coordinate: its typical size over that of its entry of a subgradient.
    /// Networks use them, exact methods do not.
    ///
    /// `method` is the name of a method and `options` a mapping of its options, such as `method="bundle"` with
    /// `options={"cuts": "aggregated"}`. `bundlenet solve --help` lists the methods and their options. An option that
    /// the method does not have raises `ValueError`. `model` is the network of a method with a network; the default is
    /// the general model.
    ///
    /// The run ends at the first of these events. The result has the best point in each case.
    ///
    /// - The gap over `max(1, |value|)` is at most `tolerance`: the proved one where a proof is possible, else the
    ///   estimated one.
    /// - The run took `steps` steps (10,000 by default), `oracle_calls` evaluations or `time_limit` seconds.
    /// - The value reached `target`.
    /// - `callback(progress)` returned a true value or raised `StopIteration`. Its other exceptions are passed on.
    /// - The user pressed Ctrl-C.
    ///
    /// `OracleError` is raised if `fun` fails or returns unusable values. Its `__cause__` is the exception of `fun`.
    /// Its `result` is the best result so far. `executor` is a `concurrent.futures.Executor`, or another object with
    /// its method `submit`, that evaluates the components of a `Sum` in parallel. `threads` has no effect.
    minimize: Sense::Minimize;

    /// Maximises a concave function, such as the Lagrangian dual of a minimisation problem. The arguments are those of
    /// `minimize`.
    maximize: Sense::Maximize;
}

/// The function of a run, and what belongs to it.
struct Task<'a, 'py> {
    fun: &'a Bound<'py, PyAny>,
    x0: Option<&'a Bound<'py, PyAny>>,
    bounds: Option<&'a Bound<'py, PyAny>>,
    scales: Option<&'a Bound<'py, PyAny>>,
    sense: Sense,
    state: Option<&'a State>,
    executor: Option<Py<PyAny>>,
}

fn optimize(
    py: Python<'_>,
    Task { fun, x0, bounds, scales, sense, state, executor }: Task<'_, '_>,
    mut settings: Settings,
    callback: Option<&Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    let is_sum = is_sum(fun)?;
    if !is_sum && !fun.is_callable() {
        let found = fun.get_type();
        return Err(PyTypeError::new_err(format!("fun: expected a function, found {found}")));
    }
    if !is_sum && executor.is_some() {
        return Err(PyTypeError::new_err("executor: expected a Sum as fun, found a function"));
    }
    let mut loan = state.map(State::lend).transpose()?;
    let linear = if is_sum { linear_of(fun)? } else { None };
    let known = loan.as_ref().map_or(&[][..], |loan| loan.content.state.point());
    let mut start = start_point(x0, known, linear.as_deref())?;
    let domain = match bounds {
        Some(bounds) => Domain::between(limits(bounds, start.len())?),
        None => Domain::Free,
    };
    domain.project(&mut start);
    let scales = scales.map(|scales| vector(scales, "scales")).transpose()?;
    let space = Space { dim: start.len(), domain, sense, scales };
    if !is_sum {
        let mut oracle = PythonOracle::new(fun, space)?;
        let state = loan.as_mut().map(|loan| loan.content.for_another_function());
        let outcome = run(py, &mut oracle, Some(&start), settings, callback, None, state)?;
        return outcome.into_result(py, oracle.raised, None);
    }
    settings.primal = settings.method.has_primal();
    let mut oracle = PythonSum::new(fun, space, executor, settings.primal)?;
    if let Some(loan) = &mut loan {
        oracle.begin_with(&mut loan.content, fun)?;
    }
    let state = loan.as_mut().map(|loan| &mut loan.content.state);
    let outcome = run(py, &mut oracle, Some(&start), settings, callback, None, state);
    let solution = outcome.as_ref().ok().and_then(|outcome| outcome.solution.as_ref().ok());
    let primal = solution.and_then(|solution| solution.primal.as_ref()).map(|primal| oracle.rows(py, primal));
    let (primal, has_begun) = (primal.transpose(), solution.is_some());
    if let Some(loan) = &mut loan {
        oracle.end_with(&mut loan.content, has_begun);
    }
    outcome?.into_result(py, oracle.raised, primal?)
}

/// The start of a run: the point of the state, else `x0`, else 0. `x0` may be a number for all variables of a sum with
/// a linear part.
fn start_point(x0: Option<&Bound<'_, PyAny>>, known: &[f64], linear: Option<&[f64]>) -> PyResult<Vec<f64>> {
    let given = match (x0, linear) {
        (Some(x0), Some(linear)) => match x0.extract::<f64>() {
            Ok(number) => Some(vec![number; linear.len()]),
            Err(_) => Some(vector(x0, "x0")?),
        },
        (Some(x0), None) => Some(vector(x0, "x0")?),
        (None, linear) => linear.map(|linear| vec![0.0; linear.len()]),
    };
    match given {
        Some(given) if known.is_empty() => Ok(given),
        Some(given) if given.len() != known.len() => {
            let (expected, found) = (given.len(), known.len());
            Err(PyValueError::new_err(format!("state: expected {expected} variables, found {found}")))
        }
        None if known.is_empty() => Err(PyTypeError::new_err(
            "x0: expected real numbers, because there is no state and no linear part, found None",
        )),
        _ => Ok(known.to_vec()),
    }
}

/// A Python function as an oracle.
pub(crate) struct PythonOracle {
    function: Callable,
    space: Space,
    /// Wished width of the interval of the value.
    accuracy: f64,
    /// The exception that the function raised.
    pub(crate) raised: Option<PyErr>,
}

impl Oracle for PythonOracle {
    fn dim(&self) -> usize {
        self.space.dim
    }

    fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        self.evaluate_within(point, subgradient).map(|interval| interval.bound)
    }

    fn evaluate_within(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<Interval, OracleError> {
        let called = Python::attach(|py| self.call(py, point, subgradient));
        called.map_err(|error| {
            let message = error.to_string();
            self.raised = Some(error);
            message.into()
        })
    }

    fn wish(&mut self, accuracy: f64) {
        self.accuracy = accuracy;
    }

    fn domain(&self) -> Domain {
        self.space.domain.clone()
    }

    fn sense(&self) -> Sense {
        self.space.sense
    }

    fn scales(&self) -> Option<Vec<f64>> {
        self.space.scales.clone()
    }
}

impl PythonOracle {
    pub(crate) fn new(fun: &Bound<'_, PyAny>, space: Space) -> PyResult<Self> {
        Ok(Self { function: Callable::new(fun)?, space, accuracy: f64::INFINITY, raised: None })
    }

    fn call(&self, py: Python<'_>, point: &[f64], subgradient: &mut [f64]) -> PyResult<Interval> {
        // A new array at each call, because the function may keep it.
        let returned = self.function.call(&PyArray1::from_slice(py, point), self.accuracy)?;
        let pair = returned.cast::<PyTuple>().ok().filter(|pair| pair.len() == 2).ok_or_else(|| {
            let found = returned.get_type();
            PyTypeError::new_err(format!("expected a tuple (value, subgradient), found {found}"))
        })?;
        read_vector(&pair.get_item(1)?, subgradient, "subgradient")?;
        interval(&pair.get_item(0)?)
    }
}

/// Lower and upper limit of each coordinate.
fn limits(bounds: &Bound<'_, PyAny>, dim: usize) -> PyResult<Vec<(f64, f64)>> {
    // `scipy.optimize.Bounds` has numbers or arrays.
    if let (Ok(lower), Ok(upper)) = (bounds.getattr("lb"), bounds.getattr("ub")) {
        let spread = |limits: &Bound<'_, PyAny>| match limits.extract::<f64>() {
            Ok(limit) => Ok(vec![limit; dim]),
            Err(_) => vector(limits, "bounds"),
        };
        let (lower, upper) = (spread(&lower)?, spread(&upper)?);
        check_count(dim, lower.len())?;
        check_count(dim, upper.len())?;
        return Ok(lower.into_iter().zip(upper).collect());
    }
    let items: Vec<Bound<'_, PyAny>> = bounds.try_iter()?.collect::<PyResult<_>>()?;
    if let [lower, upper] = &items[..]
        && let (Some(lower), Some(upper)) = (limit(lower, f64::NEG_INFINITY), limit(upper, f64::INFINITY))
    {
        return Ok(vec![(lower, upper); dim]);
    }
    // Two arrays, unless there are two coordinates: then there is a pair for each.
    if let [lower, upper] = &items[..]
        && dim != 2
        && let (Some(lower), Some(upper)) = (side(lower, f64::NEG_INFINITY)?, side(upper, f64::INFINITY)?)
    {
        check_count(dim, lower.len())?;
        check_count(dim, upper.len())?;
        return Ok(lower.into_iter().zip(upper).collect());
    }
    check_count(dim, items.len())?;
    items.iter().enumerate().map(|(index, item)| pair(item, index)).collect()
}

/// The limits of all coordinates on one side. `None` if it is not a sequence of limits.
fn side(limits: &Bound<'_, PyAny>, missing: f64) -> PyResult<Option<Vec<f64>>> {
    let Ok(items) = limits.try_iter() else { return Ok(None) };
    let items: Vec<Bound<'_, PyAny>> = items.collect::<PyResult<_>>()?;
    Ok(items.iter().map(|item| limit(item, missing)).collect())
}

fn check_count(expected: usize, found: usize) -> PyResult<()> {
    if expected == found {
        return Ok(());
    }
    Err(PyValueError::new_err(format!(
        "bounds: expected one pair, a pair for each of {expected} coordinates, or two arrays of that length, \
         found {found}"
    )))
}

fn pair(item: &Bound<'_, PyAny>, index: usize) -> PyResult<(f64, f64)> {
    let wrong = || {
        PyValueError::new_err(format!("bounds: expected a pair (lower, upper) for coordinate {index}, found {item}"))
    };
    let sides: Vec<Bound<'_, PyAny>> = item.try_iter().map_err(|_| wrong())?.collect::<PyResult<_>>()?;
    let [lower, upper] = &sides[..] else { return Err(wrong()) };
    limit(lower, f64::NEG_INFINITY).zip(limit(upper, f64::INFINITY)).ok_or_else(wrong)
}

/// A number, or `missing` for `None`.
fn limit(side: &Bound<'_, PyAny>, missing: f64) -> Option<f64> {
    if side.is_none() { Some(missing) } else { side.extract().ok() }
}
