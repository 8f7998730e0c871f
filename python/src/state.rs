//! The state of a run, for warm starts.

use std::sync::{Mutex, MutexGuard, PoisonError};

use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::failure::exception;
use crate::memory::{FingerprintRows, Fingerprints, Solved};

/// The state of a run: a warm start for a later run of the same function or of one with changed data. It has the best
/// point, the step length and the cuts, with their solutions.
///
/// A new state is empty. A run with `state=` begins from it and updates it. States can be copied and pickled: in a
/// branch and bound, a copy of the parent's state is the warm start of a child. Copies share the solutions.
#[pyclass(frozen, module = "bundlenet")]
pub(crate) struct State {
    /// `None` while a run uses it.
    content: Mutex<Option<Content>>,
}

/// A state of the library, and the Python objects that belong to it.
#[derive(Default)]
pub(crate) struct Content {
    pub(crate) state: bundlenet::State,
    pub(crate) solved: Solved,
    pub(crate) fingerprints: Fingerprints,
}

impl Content {
    /// The state for a run of a function without fingerprints of this package.
    pub(crate) fn for_another_function(&mut self) -> &mut bundlenet::State {
        self.fingerprints.clear();
        &mut self.state
    }
}

/// The content of a state during a run. It returns to the state at the end.
pub(crate) struct Loan<'a> {
    lender: &'a State,
    pub(crate) content: Content,
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        self.content.solved.keep_for(&self.content.state);
        *self.lender.lock() = Some(std::mem::take(&mut self.content));
    }
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Option<Content>> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lends the content to a run.
    pub(crate) fn lend(&self) -> PyResult<Loan<'_>> {
        Ok(Loan { lender: self, content: self.lock().take().ok_or_else(in_use)? })
    }

    fn read<T>(&self, read: impl FnOnce(&Content) -> PyResult<T>) -> PyResult<T> {
        self.lock().as_ref().ok_or_else(in_use).and_then(read)
    }

    fn of(content: Content) -> Self {
        Self { content: Mutex::new(Some(content)) }
    }
}

fn in_use() -> PyErr {
    PyRuntimeError::new_err("state: expected a state that no run uses, found one in use")
}

#[pymethods]
impl State {
    #[new]
    fn new() -> Self {
        Self::of(Content::default())
    }

    /// The best point, where the next run starts. `None` for an empty state.
    #[getter]
    fn x<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
        let point = self.read(|content| Ok(content.state.point().to_vec()))?;
        Ok((!point.is_empty()).then(|| point.into_pyarray(py)))
    }

    /// Value at the best point, for the data of the last run. `None` for an empty state.
    #[getter]
    fn value(&self) -> PyResult<Option<f64>> {
        self.read(|content| Ok(content.state.value()))
    }

    /// Number of steps of all runs.
    #[getter]
    fn steps(&self) -> PyResult<usize> {
        self.read(|content| Ok(content.state.steps()))
    }

    /// Number of cuts.
    #[getter]
    fn cuts(&self) -> PyResult<usize> {
        self.read(|content| Ok(content.state.cut_count()))
    }

    /// Declares all cuts valid for the function of the next run. Use it for functions without fingerprints. A cut that
    /// contradicts the value at the start is still dropped.
    fn trust_cuts(&self) -> PyResult<()> {
        self.lock().as_mut().ok_or_else(in_use)?.state.trust_cuts();
        Ok(())
    }

    /// A copy, which shares the solutions.
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        self.read(|Content { state, solved, fingerprints }| {
            let (solved, fingerprints) = (solved.copy(py), fingerprints.copy(py));
            Ok(Self::of(Content { state: state.clone(), solved, fingerprints }))
        })
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Self> {
        self.copy(py)
    }

    #[staticmethod]
    fn _from_parts(
        state: &[u8],
        solutions: Vec<(u32, usize, Py<PyAny>)>,
        fingerprints: FingerprintRows,
    ) -> PyResult<Self> {
        let state = bundlenet::State::from_bytes(state).map_err(exception)?;
        let (solved, fingerprints) = (Solved::from_rows(solutions), Fingerprints::from_rows(fingerprints));
        Ok(Self::of(Content { state, solved, fingerprints }))
    }

    /// Pickles and deep copies go through the bytes of the state's file, and the objects.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let make = py.get_type::<Self>().getattr("_from_parts")?;
        self.read(|Content { state, solved, fingerprints }| {
            let bytes = PyBytes::new(py, &state.to_bytes());
            Ok((make, (bytes, solved.to_rows(py), fingerprints.to_rows(py)).into_pyobject(py)?))
        })
    }

    fn __repr__(&self) -> PyResult<String> {
        self.read(|Content { state, .. }| {
            let value = state.value().map_or_else(|| "None".to_string(), |value| value.to_string());
            Ok(format!("State(value={value}, steps={}, cuts={})", state.steps(), state.cut_count()))
        })
    }
}
