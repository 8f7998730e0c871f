//! Model files in a package without the feature `mip`: `Blocks.read` says so.

use std::convert::Infallible;
use std::path::PathBuf;

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;

use crate::model::Model;

/// A model with blocks. No object of this class exists in this package.
#[pyclass(frozen, module = "bundlenet")]
pub(crate) struct Blocks {
    never: Infallible,
}

#[pymethods]
impl Blocks {
    /// Raises an `ImportError`: the package has no HiGHS.
    #[staticmethod]
    #[pyo3(signature = (model, dec=None, relax=None, *, first_stage=None))]
    fn read(model: PathBuf, dec: Option<PathBuf>, relax: Option<&str>, first_stage: Option<&str>) -> PyResult<Self> {
        let _ = (dec, relax, first_stage);
        let message = format!(
            "{}: a model file needs a package with the feature mip (pip install ./python \
             --config-settings=build-args='--features mip', with cmake and libclang), found one without it",
            model.display()
        );
        Err(PyImportError::new_err(message))
    }

    #[getter]
    fn rows(&self) -> Vec<String> {
        match self.never {}
    }

    #[getter]
    fn blocks_found(&self) -> Vec<(String, usize, usize, usize)> {
        match self.never {}
    }

    #[pyo3(signature = (x0=None, *, method="auto", options=None, model=None, steps=None, oracle_calls=None,
        time_limit=None, target=None, tolerance=1e-7, callback=None, threads=None))]
    #[expect(clippy::too_many_arguments, unused_variables, reason = "the keywords of the other implementation")]
    fn solve(
        &self,
        x0: Option<&Bound<'_, PyAny>>,
        method: &str,
        options: Option<&Bound<'_, PyAny>>,
        model: Option<&Bound<'_, Model>>,
        steps: Option<usize>,
        oracle_calls: Option<usize>,
        time_limit: Option<f64>,
        target: Option<f64>,
        tolerance: f64,
        callback: Option<Py<PyAny>>,
        threads: Option<usize>,
    ) -> PyResult<Py<PyAny>> {
        match self.never {}
    }
}
