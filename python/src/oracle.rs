//! Python functions as oracles: `minimize` and `maximize`.

use bundlenet::{Bound as CoordinateBound, Domain, Oracle, OracleError, Sense};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::convert::{read_vector, vector};
use crate::model::Model;
use crate::run::{Keywords, check_threads, run};

/// Minimises a convex function, known through `fun(x) -> (value, subgradient)`.
///
/// `fun` gets a new array each time and is always called on the calling thread. `bounds` holds for each
/// coordinate a pair `(lower, upper)`, of which one at most is finite; a single pair is for all, and
/// `scipy.optimize.Bounds` will do, too. A start outside is moved to the nearest point inside.
///
/// `method` is `"auto"`, `"hybrid"`, `"bundle"`, `"network"`, `"descent"` or `"adam"`; `model` is the network of those
/// that have one, the general one if not given.
/// The run ends at the optimum, that is when the estimated gap over `max(1, |value|)` is at most `tolerance`,
/// after `steps` steps (10,000 if not given), after `time_limit` seconds, when `callback(progress)` returns
/// true or raises `StopIteration`, or with Ctrl-C; the result has the best point in each case.
/// `settings` is for what has no keyword, in the terms of the Rust library: `{"proximity": {"strategy": "soft"}}`.
/// `threads` is there for what a method does in parallel; no method does so today.
///
/// Raises `OracleError` if `fun` fails or returns what cannot be used: `__cause__` is what it raised, `result`
/// the best so far. What a callback raises is passed on.
#[pyfunction]
#[pyo3(signature = (fun, x0, *, method="auto", bounds=None, steps=None, time_limit=None, tolerance=1e-7, callback=None,
    threads=None, model=None, settings=None))]
#[expect(clippy::too_many_arguments, reason = "keywords")]
pub(crate) fn minimize(
    py: Python<'_>,
    fun: Py<PyAny>,
    x0: &Bound<'_, PyAny>,
    method: &str,
    bounds: Option<&Bound<'_, PyAny>>,
    steps: Option<usize>,
    time_limit: Option<f64>,
    tolerance: f64,
    callback: Option<Py<PyAny>>,
    threads: Option<usize>,
    model: Option<&Bound<'_, Model>>,
    settings: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<PyAny>> {
    let keywords = Keywords { method, model, steps, time_limit, tolerance, settings };
    check_threads(threads)?;
    optimize(py, Sense::Minimize, fun, x0, bounds, &keywords, callback.as_ref())
}

/// Maximises a concave function, such as the Lagrangian dual of a problem that is minimised; all else as `minimize`.
#[pyfunction]
#[pyo3(signature = (fun, x0, *, method="auto", bounds=None, steps=None, time_limit=None, tolerance=1e-7, callback=None,
    threads=None, model=None, settings=None))]
#[expect(clippy::too_many_arguments, reason = "keywords")]
pub(crate) fn maximize(
    py: Python<'_>,
    fun: Py<PyAny>,
    x0: &Bound<'_, PyAny>,
    method: &str,
    bounds: Option<&Bound<'_, PyAny>>,
    steps: Option<usize>,
    time_limit: Option<f64>,
    tolerance: f64,
    callback: Option<Py<PyAny>>,
    threads: Option<usize>,
    model: Option<&Bound<'_, Model>>,
    settings: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<PyAny>> {
    let keywords = Keywords { method, model, steps, time_limit, tolerance, settings };
    check_threads(threads)?;
    optimize(py, Sense::Maximize, fun, x0, bounds, &keywords, callback.as_ref())
}

fn optimize(
    py: Python<'_>,
    sense: Sense,
    function: Py<PyAny>,
    start: &Bound<'_, PyAny>,
    bounds: Option<&Bound<'_, PyAny>>,
    keywords: &Keywords<'_, '_>,
    callback: Option<&Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    if !function.bind(py).is_callable() {
        let found = function.bind(py).get_type();
        return Err(PyTypeError::new_err(format!("fun: expected something to call, found {found}")));
    }
    let settings = keywords.settings()?;
    let mut start = vector(start, "x0")?;
    let (frame, domain) = match bounds {
        Some(bounds) => Frame::new(&limits(bounds, start.len())?)?,
        None => (None, Domain::Free),
    };
    if let Some(frame) = &frame {
        frame.to_inside(&mut start);
    }
    domain.project(&mut start);
    let mut oracle = PythonOracle { function, dim: start.len(), domain, sense, frame, raised: None };
    let mut outcome = run(py, &mut oracle, Some(&start), &settings, callback, None)?;
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
    /// What the function raised, kept for its type and its traceback.
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
    fn call(&self, py: Python<'_>, point: &[f64], subgradient: &mut [f64]) -> PyResult<f64> {
        // A new array each time: the function may keep it.
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

/// The user's variables in terms of those inside, which are free or nonnegative: `origin + sign * inside`.
struct Frame {
    origins: Vec<f64>,
    signs: Vec<f64>,
}

impl Frame {
    /// The frame for given lower and upper limits, if one is needed, and the domain inside.
    fn new(limits: &[(f64, f64)]) -> PyResult<(Option<Self>, Domain)> {
        let mut frame = Self { origins: vec![], signs: vec![] };
        let mut bounds = vec![];
        for (index, &(lower, upper)) in limits.iter().enumerate() {
            let (origin, sign, bound) = match (lower.is_finite(), upper.is_finite()) {
                (false, false) if lower < upper => (0.0, 1.0, CoordinateBound::Free),
                (true, false) if lower < upper => (lower, 1.0, CoordinateBound::Nonnegative),
                (false, true) if lower < upper => (upper, -1.0, CoordinateBound::Nonnegative),
                _ => {
                    return Err(PyValueError::new_err(format!(
                        "bounds: expected coordinate {index} to be free or bounded on one side, found [{lower}, {upper}]"
                    )));
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
    // The class of that name in scipy has numbers or arrays.
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
        "bounds: expected one pair, or one for each of {expected} coordinates, found {found}"
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

/// A number, or what `None` stands for.
fn limit(side: &Bound<'_, PyAny>, missing: f64) -> Option<f64> {
    if side.is_none() { Some(missing) } else { side.extract().ok() }
}
