//! Model files with blocks, in a package with the feature `mip`.

use std::path::PathBuf;
use std::time::Instant;

use bundlenet::{Primal, Solution, State};
use bundlenet_mip::{Error, Model as Program, Relaxation, Structure, TwoStage, Watch, candidates};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};

use crate::convert::vector;
use crate::model::Model;
use crate::run::{Keywords, run};

/// Least limit of a run in seconds.
const LEAST_SECONDS: f64 = 1e-3;

/// A model with blocks, or a two-stage stochastic program.
#[pyclass(frozen, module = "bundlenet")]
pub(crate) struct Blocks {
    content: Content,
}

enum Content {
    Blocks(Box<bundlenet_mip::Blocks>),
    Stages(Box<TwoStage>),
}

/// A file that cannot be read is an `OSError`, any other fault a `ValueError`.
fn exception(error: Error) -> PyErr {
    match error {
        Error::Read { .. } => PyOSError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

/// The structure that a structure file or a pattern gives.
fn structure(model: &Program, dec: Option<PathBuf>, relax: Option<&str>) -> Result<Structure, Error> {
    let missing = |expected: &str| Error::Content {
        place: "Blocks.read".to_string(),
        expected: expected.to_string(),
        found: "none".to_string(),
    };
    match (dec, relax) {
        (Some(path), None) => Structure::read(model, path),
        (None, Some("auto")) => {
            let first = candidates(model).into_iter().next();
            first.map(|it| it.structure().clone()).ok_or_else(|| missing("rows whose removal leaves blocks"))
        }
        (None, Some(pattern)) => Structure::of_pattern(model, pattern),
        _ => Err(missing("either dec or relax (a regular expression, or \"auto\")")),
    }
}

#[pymethods]
impl Blocks {
    /// Reads a model (`.mps`, `.lp`, plain or gzip) with its structure: `dec` is a `.dec`, `.jdec` or `.blk` file,
    /// `relax` a regular expression of the rows to relax, or `"auto"`. A path that ends in `.cor` is an SMPS program, and a
    /// folder has one model for each scenario, with the first-stage columns that match `first_stage`.
    #[staticmethod]
    #[pyo3(signature = (model, dec=None, relax=None, *, first_stage=None))]
    fn read(
        py: Python<'_>,
        model: PathBuf,
        dec: Option<PathBuf>,
        relax: Option<&str>,
        first_stage: Option<&str>,
    ) -> PyResult<Self> {
        let read = || {
            let name = model.to_string_lossy().to_lowercase();
            if model.is_dir() {
                return TwoStage::read_folder(&model, first_stage).map(|it| Content::Stages(Box::new(it)));
            }
            if name.trim_end_matches(".gz").ends_with(".cor") {
                return TwoStage::read(&model).map(|it| Content::Stages(Box::new(it)));
            }
            let model = Program::read(&model)?;
            let structure = structure(&model, dec, relax)?;
            bundlenet_mip::Blocks::new(model, &structure).map(|it| Content::Blocks(Box::new(it)))
        };
        Ok(Self { content: py.detach(read).map_err(exception)? })
    }

    /// Names of the relaxed rows, in the order of the multipliers.
    #[getter]
    fn rows(&self) -> Vec<String> {
        let blocks = self.blocks();
        blocks.relaxed_rows().iter().map(|&row| blocks.model().rows[row].name.clone()).collect()
    }

    /// For each distinct block: its kind, its number of columns and of rows, and its multiplicity.
    #[getter]
    fn blocks_found(&self) -> Vec<(String, usize, usize, usize)> {
        let describe =
            |it: &bundlenet_mip::Block| (it.kind().to_string(), it.columns().len(), it.rows().len(), it.multiplicity());
        self.blocks().blocks().iter().map(describe).collect()
    }

    /// Computes the Lagrangian bound, from the duals of the linear relaxation or from `x0`. The arguments are those of
    /// `Problem.solve`. The result also has `lp_bound`, `multipliers` by row name and `columns`: the convex
    /// combination by column name. A stochastic program has `first_stage`, the best one found, and `feasible_value`.
    #[pyo3(signature = (x0=None, *, method="auto", options=None, model=None, steps=None, oracle_calls=None,
        time_limit=None, target=None, tolerance=1e-7, callback=None, threads=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords")]
    fn solve(
        &self,
        py: Python<'_>,
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
        let begin = Instant::now();
        let keywords = Keywords { method, options, model, steps, oracle_calls, time_limit, target, tolerance };
        let mut settings = keywords.settings()?;
        settings.primal = settings.method.has_primal();
        let start = x0.map(|x0| vector(x0, "x0")).transpose()?;
        let left = |share: f64| time_limit.map(|all| (share * all - begin.elapsed().as_secs_f64()).max(LEAST_SECONDS));
        let watch = |share: f64| Watch::default().seconds(left(share));
        let relaxation = py.detach(|| self.blocks().relaxation(watch(1.0))).map_err(exception)?;
        let share = if matches!(self.content, Content::Stages(_)) { 1.0 - TwoStage::SEARCH_SHARE } else { 1.0 };
        settings.limits.seconds = left(share);
        let mut dual = self.blocks().dual(watch(share)).map_err(exception)?;
        if let Some(relaxation) = &relaxation {
            dual.components().set_relaxation(relaxation);
        }
        let from = start.as_deref().or(relaxation.as_ref().map(|it| it.multipliers.as_slice()));
        let mut state = from.map_or_else(State::new, State::at);
        let outcome = run(py, &mut dual, None, settings, callback.as_ref(), threads, Some(&mut state))?;
        let solution = outcome.solution.as_ref().ok().cloned();
        let result = outcome.into_result(py, None, None)?;
        let Some(solution) = solution else { return Ok(result) };
        self.add_fields(result.bind(py), &solution, relaxation.as_ref())?;
        if let Content::Stages(stages) = &self.content {
            let of_run = (&state, solution.primal.as_ref());
            let found = py.detach(|| stages.best_first_stage(&dual, of_run, watch(1.0))).map_err(exception)?;
            let columns = found.as_ref().map(|it| it.columns.clone().into_py_dict(py)).transpose()?;
            result.bind(py).set_item("first_stage", columns)?;
            result.bind(py).set_item("feasible_value", found.map(|it| it.value))?;
        }
        Ok(result)
    }

    fn __repr__(&self) -> String {
        let blocks = self.blocks();
        let all: usize = blocks.blocks().iter().map(bundlenet_mip::Block::multiplicity).sum();
        format!("Blocks(columns={}, rows={}, blocks={all})", blocks.columns(), blocks.relaxed_rows().len())
    }
}

impl Blocks {
    fn blocks(&self) -> &bundlenet_mip::Blocks {
        match &self.content {
            Content::Blocks(blocks) => blocks,
            Content::Stages(stages) => stages.blocks(),
        }
    }

    /// Adds results by name.
    fn add_fields(
        &self,
        result: &Bound<'_, PyAny>,
        solution: &Solution,
        relaxation: Option<&Relaxation>,
    ) -> PyResult<()> {
        let (py, blocks) = (result.py(), self.blocks());
        let columns = |primal: &Primal| -> PyResult<Bound<'_, PyDict>> {
            let values = blocks.values(primal);
            let named = blocks.model().columns.iter().zip(values).map(|(column, value)| (column.name.as_str(), value));
            named.filter(|(_, value)| *value != 0.0).collect::<Vec<_>>().into_py_dict(py)
        };
        result.set_item("lp_bound", relaxation.map(|it| it.bound))?;
        result
            .set_item("multipliers", blocks.named_multipliers(&solution.point).collect::<Vec<_>>().into_py_dict(py)?)?;
        result.set_item("columns", solution.primal.as_ref().map(columns).transpose()?)
    }
}
