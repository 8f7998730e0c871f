//! Python functions as oracles: `minimize` and `maximize`.

use bundlenet::{Bound as CoordinateBound, Domain, Oracle, OracleError, Sense, Settings};
use numpy::{PyArray1, PyArrayMethods};
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
/// `bounds` has a pair `(lower, upper)` for each coordinate, or one pair for all coordinates, or is a
/// `scipy.optimize.Bounds`. At most one side of a pair is finite. A start outside the bounds is moved to the nearest
/// point inside.
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
        (oracle.frame, oracle.domain) = Frame::new(&limits(bounds, start.len())?)?;
    }
    if let Some(frame) = &oracle.frame {
        frame.to_inside(&mut start);
    }
    oracle.domain.project(&mut start);
    let mut outcome = run(py, &mut oracle, Some(&start), settings, callback, None)?;
    if let (Ok(solution), Some(frame)) = (&mut outcome.solution, &oracle.frame) {
        frame.to_outside(&mut solution.point);
    }
    outcome.into_result(py, oracle.raised)
}

/// A Python function as an oracle.
struct PythonOracle {
    function: Py<PyAny>,
    dim: usize,
    domain: Domain,
    sense: Sense,
    frame: Option<Frame>,
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
        Self { function, dim: 0, domain: Domain::Free, sense, frame: None, raised: None }
    }

    fn call(&self, py: Python<'_>, point: &[f64], subgradient: &mut [f64]) -> PyResult<f64> {
        // A new array at each call, because the function may keep it.
        let array = PyArray1::from_slice(py, point);
        if let Some(frame) = &self.frame {
            frame.to_outside(array.try_readwrite()?.as_slice_mut()?);
        }
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
        if let Some(frame) = &self.frame {
            subgradient.iter_mut().zip(&frame.signs).for_each(|(entry, sign)| *entry *= sign);
        }
        Ok(value)
    }
}

/// The map from inside variables, which are free or nonnegative, to the user's: `origin + sign * inside`.
struct Frame {
    origins: Vec<f64>,
    signs: Vec<f64>,
}

impl Frame {
    /// The frame for lower and upper limits, `None` if it is the identity, and the domain of the inside variables.
    fn new(limits: &[(f64, f64)]) -> PyResult<(Option<Self>, Domain)> {
        let mut frame = Self { origins: vec![], signs: vec![] };
        let mut bounds = vec![];
        for (index, &(lower, upper)) in limits.iter().enumerate() {
            let (origin, sign, bound) = match (lower.is_finite(), upper.is_finite()) {
                (false, false) if lower < upper => (0.0, 1.0, CoordinateBound::Free),
                (true, false) if lower < upper => (lower, 1.0, CoordinateBound::Nonnegative),
                (false, true) if lower < upper => (upper, -1.0, CoordinateBound::Nonnegative),
                _ => {
                    let expected = format!("coordinate {index} to be free or bounded on one side");
                    let message = format!("bounds: expected {expected}, found [{lower}, {upper}]");
                    return Err(PyValueError::new_err(message));
                }
            };
            frame.origins.push(origin);
            frame.signs.push(sign);
            bounds.push(bound);
        }
        let is_needed = frame.origins.iter().any(|origin| *origin != 0.0) || frame.signs.contains(&-1.0);
        Ok((is_needed.then_some(frame), Domain::PerCoordinate(bounds)))
    }

    fn to_outside(&self, point: &mut [f64]) {
        let frame = self.origins.iter().zip(&self.signs);
        point.iter_mut().zip(frame).for_each(|(entry, (origin, sign))| *entry = origin + sign * *entry);
    }

    fn to_inside(&self, point: &mut [f64]) {
        let frame = self.origins.iter().zip(&self.signs);
        point.iter_mut().zip(frame).for_each(|(entry, (origin, sign))| *entry = sign * (*entry - origin));
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
    check_count(dim, items.len())?;
    items.iter().enumerate().map(|(index, item)| pair(item, index)).collect()
}

fn check_count(expected: usize, found: usize) -> PyResult<()> {
    if expected == found {
        return Ok(());
    }
    Err(PyValueError::new_err(format!(
        "bounds: expected one pair, or a pair for each of {expected} coordinates, found {found}"
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
