//! The library's errors as Python's exceptions.

use std::io;

use bundlenet::{EvaluationError, InvalidSetting};
use bundlenet_problems::InvalidInstance;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::convert::imported;

/// The exception for an error of the library.
pub(crate) struct Failure(PyErr);

/// The exception for an error of the library: `OSError` for files, `RuntimeError` for a training that went wrong,
/// `ValueError` for everything else.
pub(crate) fn exception(error: impl Into<Failure>) -> PyErr {
    error.into().0
}

impl From<bundlenet::Error> for Failure {
    fn from(error: bundlenet::Error) -> Self {
        use bundlenet::Error;
        Self(match &error {
            Error::Read { source, .. } | Error::Write { source, .. } => file_error(source, &error),
            Error::Training { .. } | Error::Example { .. } => PyRuntimeError::new_err(error.to_string()),
            _ => PyValueError::new_err(error.to_string()),
        })
    }
}

impl From<bundlenet_problems::Error> for Failure {
    fn from(error: bundlenet_problems::Error) -> Self {
        use bundlenet_problems::Error;
        Self(match &error {
            Error::Read { source, .. } | Error::Write { source, .. } => file_error(source, &error),
            _ => PyValueError::new_err(error.to_string()),
        })
    }
}

impl From<InvalidSetting> for Failure {
    fn from(error: InvalidSetting) -> Self {
        bundlenet::Error::from(error).into()
    }
}

impl From<InvalidInstance> for Failure {
    fn from(error: InvalidInstance) -> Self {
        bundlenet_problems::Error::from(error).into()
    }
}

/// The subclass of `OSError` that fits the kind of the source.
fn file_error(source: &io::Error, error: &dyn std::error::Error) -> PyErr {
    io::Error::new(source.kind(), error.to_string()).into()
}

/// The exception for a first evaluation that failed. `raised` is the exception of a Python oracle, if there is one.
pub(crate) fn at_start(py: Python<'_>, error: &EvaluationError, raised: Option<PyErr>) -> PyErr {
    match error {
        EvaluationError::NoVariables
        | EvaluationError::DomainBound { .. }
        | EvaluationError::PointLength { .. }
        | EvaluationError::Point { .. }
        | EvaluationError::ScaleLength { .. }
        | EvaluationError::Scale { .. }
        | EvaluationError::OutsideDomain { .. } => PyValueError::new_err(error.to_string()),
        _ => oracle_failed(py, &error.to_string(), py.None(), raised),
    }
}

/// An `OracleError` with the best result so far. Its cause is the exception that the oracle raised.
pub(crate) fn oracle_failed(py: Python<'_>, message: &str, result: Py<PyAny>, raised: Option<PyErr>) -> PyErr {
    static ORACLE_ERROR: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    // An exit and Ctrl-C are no failures of the oracle.
    if let Some(raised) = raised.as_ref().filter(|raised| !raised.is_instance_of::<PyException>(py)) {
        return raised.clone_ref(py);
    }
    let made = imported(py, &ORACLE_ERROR, "bundlenet._result", "OracleError")
        .and_then(|class| class.call1((message, result)))
        .map(PyErr::from_value);
    match made {
        Ok(error) => {
            error.set_cause(py, raised);
            error
        }
        Err(error) => error,
    }
}

/// Whether an exception is Ctrl-C.
pub(crate) fn is_interrupt(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PyKeyboardInterrupt>(py)
}
