//! Python functions as oracles: `minimize` and `maximize`.

use bundlenet::{Domain, Oracle, OracleError, Sense, Settings};
use numpy::PyArray1;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::convert::{read_vector, vector};
use crate::model::Model;
use crate::run::{Keywords, check_threads, run};

/// Minimises a convex function. `fun(x)` returns the value and a subgradient at the point `x`.
///
/// `fun` gets a new array at each call. It is called on the calling thread.
///
/// `bounds` has a pair `(lower, upper)` for each coordinate, or one pair of numbers for all coordinates, or is a pair
/// of arrays `(lower, upper)`, or a `scipy.optimize.Bounds`. `None` and infinity mean no bound. Equal sides fix a
/// coordinate. Two arrays for two coordinates are read as a pair for each. A start outside the bounds is moved to the
/// nearest point inside. If all sides are finite, the result has a proof.
///
/// `method` is the name of a method and `options` a mapping of its options, such as `method="bundle"` with
/// `options={"cuts": "aggregated"}`. `bundlenet solve --help` lists the methods and their options. An option that the
/// method does not have raises `ValueError`. `model` is the network of a method with a network; the default is the
/// general model.
///
/// The run ends at the first of these events. The result has the best point in each case.
///
/// - The gap over `max(1, |value|)` is at most `tolerance`: the proved one where a proof is possible, else the estimated one.
/// - The run took `steps` steps (10,000 by default), `oracle_calls` evaluations or `time_limit` seconds.
/// - The value reached `target`.
/// - `callback(progress)` returned a true value or raised `StopIteration`. Its other exceptions are passed on.
/// - The user pressed Ctrl-C.
///
/// `OracleError` is raised if `fun` fails or returns unusable values. Its `__cause__` is the exception of `fun`. Its
/// `result` is the best result so far. `threads` has no effect: no method calls `fun` in parallel.
#[pyfunction]
#[pyo3(signature = (fun, x0, *, method="auto", options=None, model=None, bounds=None, steps=None, oracle_calls=None,
    time_limit=None, target=None, tolerance=1e-7, callback=None, threads=None))]
#[expect(clippy::too_many_arguments, reason = "keywords")]
pub(crate) fn minimize(
    py: Python<'_>,
    fun: Py<PyAny>,
    x0: &Bound<'_, PyAny>,
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
) -> PyResult<Py<PyAny>> {
    let keywords = Keywords { method, options, model, steps, oracle_calls, time_limit, target, tolerance };
    let settings = keywords.settings()?;
    check_threads(threads)?;
    optimize(py, PythonOracle::new(fun, Sense::Minimize), x0, bounds, settings, callback.as_ref())
}

/// Maximises a concave function, such as the Lagrangian dual of a minimisation problem. The arguments are those of
/// `minimize`.
#[pyfunction]
#[pyo3(signature = (fun, x0, *, method="auto", options=None, model=None, bounds=None, steps=None, oracle_calls=None,
    time_limit=None, target=None, tolerance=1e-7, callback=None, threads=None))]
#[expect(clippy::too_many_arguments, reason = "keywords")]
pub(crate) fn maximize(
    py: Python<'_>,
    fun: Py<PyAny>,
    x0: &Bound<'_, PyAny>,
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
) -> PyResult<Py<PyAny>> {
    let keywords = Keywords { method, options, model, steps, oracle_calls, time_limit, target, tolerance };
    let settings = keywords.settings()?;
    check_threads(threads)?;
    optimize(py, PythonOracle::new(fun, Sense::Maximize), x0, bounds, settings, callback.as_ref())
}

fn optimize(
    py: Python<'_>,
    mut oracle: PythonOracle,
    start: &Bound<'_, PyAny>,
    bounds: Option<&Bound<'_, PyAny>>,
    settings: Settings,
    callback: Option<&Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    let function = oracle.function.bind(py);
    if !function.is_callable() {
        let found = function.get_type();
        return Err(PyTypeError::new_err(format!("fun: expected a function, found {found}")));
    }
    let mut start = vector(start, "x0")?;
    oracle.dim = start.len();
    if let Some(bounds) = bounds {
        oracle.domain = Domain::between(limits(bounds, start.len())?);
    }
    oracle.domain.project(&mut start);
    let outcome = run(py, &mut oracle, Some(&start), settings, callback, None)?;
    outcome.into_result(py, oracle.raised)
}

/// A Python function as an oracle.
struct PythonOracle {
    function: Py<PyAny>,
    dim: usize,
    domain: Domain,
    sense: Sense,
    /// The exception that the function raised.
    raised: Option<PyErr>,
}

impl Oracle for PythonOracle {
    fn dim(&self) -> usize {
        self.dim
    }

    fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        let called = Python::attach(|py| self.call(py, point, subgradient));
        called.map_err(|error| {
            let message = error.to_string();
            self.raised = Some(error);
            message.into()
        })
    }

    fn domain(&self) -> Domain {
        self.domain.clone()
    }

    fn sense(&self) -> Sense {
        self.sense
    }
}

impl PythonOracle {
    /// An oracle without variables, to which `optimize` adds them and their bounds.
    fn new(function: Py<PyAny>, sense: Sense) -> Self {
        Self { function, dim: 0, domain: Domain::Free, sense, raised: None }
    }

    fn call(&self, py: Python<'_>, point: &[f64], subgradient: &mut [f64]) -> PyResult<f64> {
        // A new array at each call, because the function may keep it.
        let array = PyArray1::from_slice(py, point);
        let returned = self.function.bind(py).call1((array,))?;
        let pair = returned.cast::<PyTuple>().ok().filter(|pair| pair.len() == 2).ok_or_else(|| {
            let found = returned.get_type();
            PyTypeError::new_err(format!("expected a tuple (value, subgradient), found {found}"))
        })?;
        let value = pair.get_item(0)?;
        let value: f64 = value.extract().map_err(|_| {
            let found = value.get_type();
            PyTypeError::new_err(format!("value: expected a number, found {found}"))
        })?;
        read_vector(&pair.get_item(1)?, subgradient, "subgradient")?;
        Ok(value)
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
        "bounds: expected one pair, a pair for each of {expected} coordinates, or two arrays of that length, found {found}"
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
