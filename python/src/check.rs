//! `check`: does a function keep its contract at some points?

use bundlenet::{Diagnosis, Domain, Interval, Oracle, OracleError, Rule, Sense, SumOracle};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::convert::vector;
use crate::failure::at_start;
use crate::oracle::PythonOracle;
use crate::problems::sense_of;
use crate::sum::{PythonSum, Space, is_sum};

/// The result of `check`.
#[pyclass(frozen, module = "bundlenet")]
pub(crate) struct Check {
    /// Whether all rules hold.
    #[pyo3(get)]
    ok: bool,
    /// The rules that do not hold.
    #[pyo3(get)]
    violations: Vec<Py<Violation>>,
    /// Number of evaluations.
    #[pyo3(get)]
    nfev: usize,
    text: String,
}

#[pymethods]
impl Check {
    fn __bool__(&self) -> bool {
        self.ok
    }

    fn __repr__(&self) -> &str {
        &self.text
    }
}

/// A rule that does not hold.
#[pyclass(frozen, get_all, module = "bundlenet")]
pub(crate) struct Violation {
    /// The mistake, such as `"wrong-sign"`, or the rule, such as `"subgradient-inequality"`.
    kind: &'static str,
    /// The mistake in a sentence, and the worst cases.
    message: String,
    /// The component, or `None` for the whole function.
    component: Option<usize>,
    /// Indices of the points of the worst case.
    points: Vec<usize>,
}

#[pymethods]
impl Violation {
    fn __repr__(&self) -> &str {
        &self.message
    }
}

/// Checks a function at some points before its first run. It finds a wrong sign, a wrong sense, a missing term, a value
/// that changes, and a component that is wrong. `points` are some ten vectors; pairs of close ones find small mistakes.
/// `sense` is `"min"` for a convex function, `"max"` for a concave one. If `fun` is a `Sum`, `whole` may be a plain
/// function that should be equal to it.
///
/// The result has `ok` and `violations`. It is printed as a text with the numbers that were expected and found.
#[pyfunction]
#[pyo3(signature = (fun, points, *, sense="min", whole=None))]
pub(crate) fn check(
    py: Python<'_>,
    fun: &Bound<'_, PyAny>,
    points: &Bound<'_, PyAny>,
    sense: &str,
    whole: Option<&Bound<'_, PyAny>>,
) -> PyResult<Check> {
    let points: Vec<Vec<f64>> = points.try_iter()?.map(|point| vector(&point?, "points")).collect::<PyResult<_>>()?;
    let dim = points.first().map(Vec::len);
    let dim = dim.ok_or_else(|| PyValueError::new_err("points: expected at least one point, found none"))?;
    let space = Space { dim, domain: Domain::Free, sense: sense_of(sense)?, scales: None };
    let (checked, raised) = if !is_sum(fun)? {
        if whole.is_some() {
            return Err(PyTypeError::new_err("whole: expected a Sum as fun, found a function"));
        }
        let mut oracle = PythonOracle::new(fun, space)?;
        (py.detach(|| bundlenet::check(&mut oracle, &points)), oracle.raised)
    } else {
        let whole = whole.map(|whole| PythonOracle::new(whole, space.clone())).transpose()?;
        let sum = PythonSum::new(fun, space, None, false)?;
        let mut oracle = Compared { sum, whole };
        let checked = py.detach(|| bundlenet::check(&mut oracle, &points));
        (checked, oracle.sum.raised.or(oracle.whole.and_then(|whole| whole.raised)))
    };
    let checked = checked.map_err(|error| at_start(py, &error, raised))?;
    let violations = checked.violations.iter().map(|violation| Py::new(py, Violation::from(violation)));
    Ok(Check {
        ok: checked.is_ok(),
        violations: violations.collect::<PyResult<_>>()?,
        nfev: checked.evaluations,
        text: checked.to_string(),
    })
}

/// A sum, and perhaps another function in the place of its value.
struct Compared {
    sum: PythonSum,
    whole: Option<PythonOracle>,
}

impl Oracle for Compared {
    fn dim(&self) -> usize {
        self.sum.dim()
    }

    fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        self.evaluate_within(point, subgradient).map(|interval| interval.bound)
    }

    fn evaluate_within(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<Interval, OracleError> {
        match &mut self.whole {
            Some(whole) => whole.evaluate_within(point, subgradient),
            None => self.sum.evaluate_within(point, subgradient),
        }
    }

    fn sense(&self) -> Sense {
        self.sum.sense()
    }

    fn as_sum(&mut self) -> Option<&mut dyn SumOracle> {
        Some(self)
    }
}

impl SumOracle for Compared {
    fn component_count(&self) -> usize {
        self.sum.component_count()
    }

    fn linear(&self) -> &[f64] {
        self.sum.linear()
    }

    fn evaluate_components(&mut self, point: &[f64], minorants: &mut bundlenet::Minorants) -> Result<(), OracleError> {
        self.sum.evaluate_components(point, minorants)
    }

    fn multiplicity(&self, component: usize) -> f64 {
        self.sum.multiplicity(component)
    }
}

impl From<&bundlenet::Violation> for Violation {
    fn from(violation: &bundlenet::Violation) -> Self {
        let named = match violation.diagnosis {
            Some(Diagnosis::Component { component, .. }) => Some(component),
            _ => None,
        };
        let worst = violation.cases.first();
        Self {
            kind: kind(violation),
            message: violation.to_string(),
            component: named.or_else(|| worst.and_then(|case| case.component)),
            points: worst.map_or_else(Vec::new, |case| case.points.clone()),
        }
    }
}

/// The name of a mistake, or of the rule if there is no diagnosis.
fn kind(violation: &bundlenet::Violation) -> &'static str {
    match (violation.diagnosis, violation.rule) {
        (Some(Diagnosis::WrongSign), _) => "wrong-sign",
        (Some(Diagnosis::WrongSense), _) => "wrong-sense",
        (Some(Diagnosis::MissingTerm), _) => "missing-term",
        (Some(Diagnosis::NotConvex), _) => "not-convex",
        (Some(Diagnosis::Constant(_)), _) => "constant-difference",
        (Some(Diagnosis::LinearPart(_)), _) => "linear-part",
        (Some(Diagnosis::Component { .. }), _) => "component",
        (Some(Diagnosis::Linear), _) => "linear-difference",
        (_, Rule::Inequality) => "subgradient-inequality",
        (_, Rule::SumOfValues) => "sum-of-values",
        (_, Rule::SumOfSubgradients) => "sum-of-subgradients",
        (_, Rule::Repetition) => "repetition",
        _ => "other",
    }
}
