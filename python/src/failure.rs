//! The library's errors as Python's exceptions.

use std::io;

use bundlenet::{Error, EvaluationError, InvalidSetting};
use pyo3::exceptions::{PyException, PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::convert::imported;

/// An error from reading, writing, building or training.
pub(crate) fn exception(error: Error) -> PyErr {
    match &error {
        // The kind chooses the subclass of OSError.
        Error::Read { source, .. } | Error::Write { source, .. } => {
            io::Error::new(source.kind(), error.to_string()).into()
        }
        Error::Training { .. } | Error::Example { .. } => PyRuntimeError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

/// A setting that cannot be used.
pub(crate) fn invalid(error: InvalidSetting) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// An error of the very first evaluation. `raised` is what a Python oracle raised, if it did.
pub(crate) fn at_start(py: Python<'_>, error: &EvaluationError, raised: Option<PyErr>) -> PyErr {
    match error {
        EvaluationError::NoVariables
        | EvaluationError::PointLength { .. }
        | EvaluationError::Point { .. }
        | EvaluationError::OutsideDomain { .. } => PyValueError::new_err(error.to_string()),
        _ => oracle_failed(py, &error.to_string(), py.None(), raised),
    }
}

/// The exception for an oracle that failed, with the best result so far, and what it raised as the cause.
pub(crate) fn oracle_failed(py: Python<'_>, message: &str, result: Py<PyAny>, raised: Option<PyErr>) -> PyErr {
    static ORACLE_ERROR: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    // An exit, or Ctrl-C, is no failure of the oracle.
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
