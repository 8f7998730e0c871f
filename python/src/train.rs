//! Training from Python.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use bundlenet::Error;
use bundlenet::team::Workers;
use bundlenet::train::{Event, Report, Stage, TrainSettings};
use bundlenet_problems::TrainingData;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::convert::deserialized;
use crate::failure::{Failure, exception};
use crate::model::Model;
use crate::run::{Interruption, called, watched};

/// The progress of a training, as a callback sees it.
#[pyclass(frozen, get_all, module = "bundlenet")]
pub(crate) struct TrainingProgress {
    /// The stage: `"optima"` (the optima of all instances are computed first), `"gradient"` or `"evolution"`.
    stage: &'static str,
    /// Optima, updates or generations that are done.
    done: usize,
    /// Optima, updates or generations of the stage.
    total: usize,
    /// Loss of this update, or objective of this generation.
    loss: Option<f64>,
    /// Mean gaps in percent on validation data, if they were measured after this update.
    gaps: Option<Vec<f64>>,
}

#[pymethods]
impl TrainingProgress {
    fn __repr__(&self) -> String {
        let Self { stage, done, total, .. } = self;
        format!("TrainingProgress(stage={stage:?}, done={done}, total={total})")
    }
}

impl TrainingProgress {
    fn new(event: &Event<'_>) -> Option<Self> {
        match event {
            Event::Optima { done, total } => {
                Some(Self { stage: "optima", done: *done, total: *total, loss: None, gaps: None })
            }
            Event::Begin { .. } => None,
            Event::Advance(Report { stage, done, total, loss, measurement, .. }) => {
                let stage = match stage {
                    Stage::Gradient => "gradient",
                    Stage::Evolution => "evolution",
                };
                let gaps = measurement.as_ref().map(|measurement| measurement.gaps.clone());
                Some(Self { stage, done: *done, total: *total, loss: Some(*loss), gaps })
            }
        }
    }
}

/// Trains a network in the folder `out`, as `bundlenet train` does. Returns the best network on validation data.
///
/// `config` is a TOML file or a mapping of the same tables. `data` and `validation` replace its entries `data.train`
/// and `data.validation`: folders, files, or `generate:FAMILY:COUNT:SEED`. With `resume`, the training in the folder
/// continues, bit for bit. `callback(progress)` is called after every update. It ends the training by returning a true
/// value. Ctrl-C raises `KeyboardInterrupt`; the folder can then be resumed. The result does not depend on `threads`.
#[pyfunction]
#[pyo3(signature = (config=None, *, out, data=None, validation=None, resume=false, callback=None, threads=None))]
#[expect(clippy::too_many_arguments, reason = "keywords")]
pub(crate) fn train(
    py: Python<'_>,
    config: Option<&Bound<'_, PyAny>>,
    out: PathBuf,
    data: Option<&Bound<'_, PyAny>>,
    validation: Option<&Bound<'_, PyAny>>,
    resume: bool,
    callback: Option<Py<PyAny>>,
    threads: Option<usize>,
) -> PyResult<Model> {
    let stored = out.join("config.toml");
    let mut settings = match config {
        Some(config) => match config.extract::<PathBuf>() {
            Ok(path) => read(&path)?,
            Err(_) => deserialized(config, "config")?,
        },
        None if resume && stored.exists() => read(&stored)?,
        None => TrainSettings::default(),
    };
    if let Some(data) = data {
        settings.data.train = sources(data)?;
    }
    if let Some(validation) = validation {
        settings.data.validation = sources(validation)?;
    }
    let interruption = Interruption::default();
    let observe = |event: &Event<'_>| {
        if let (Some(callback), Some(progress)) = (&callback, TrainingProgress::new(event))
            && Python::attach(|py| called(py, callback, (progress,), &interruption)).is_break()
        {
            return ControlFlow::Break(());
        }
        if interruption.flag().load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let load = || {
        let TrainingData { train, validation } = TrainingData::load(&settings.data)?;
        Ok::<_, Failure>((train, validation))
    };
    let work = || bundlenet::train::train(&settings, load, &out, resume, &observe, &Workers::new());
    let finished = watched(py, threads, &interruption, work)?;
    if let Some(error) = interruption.into_raised() {
        return Err(error);
    }
    finished.map_err(exception)?;
    let best = out.join("best.safetensors");
    if !best.exists() {
        return Err(PyRuntimeError::new_err("the callback ended the training before the first network was written"));
    }
    bundlenet::Model::load(best).map(Model::new).map_err(exception)
}

fn read(path: &Path) -> PyResult<TrainSettings> {
    let text =
        std::fs::read_to_string(path).map_err(|source| exception(Error::Read { path: path.to_path_buf(), source }))?;
    toml::from_str(&text)
        .map_err(|error| PyValueError::new_err(format!("{}: {}", path.display(), error.to_string().trim_end())))
}

/// One source, or several.
fn sources(object: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let source = |object: &Bound<'_, PyAny>| Ok(object.extract::<PathBuf>()?.to_string_lossy().into_owned());
    match source(object) {
        Ok(one) => Ok(vec![one]),
        Err::<_, PyErr>(_) => object.try_iter()?.map(|item| source(&item?)).collect(),
    }
}
