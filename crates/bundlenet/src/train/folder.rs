//! A training in a folder. It survives a kill at any moment and resumes bit for bit.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::config::{TrainSettings, differences};
use super::example::Example;
use super::optima::{Optima, not_proved};
use super::optimizer::Optimizer;
use super::trainer::{Best, Measurement, NetworkState, Report, State, Trainer};
use crate::error::{Error, InvalidSetting};
use crate::files::{Lock, Pace, write_whole};
use crate::network::{CHECKPOINT_VERSION, Layout, Precision, Stored, Tensors};
use crate::run::Limits;
use crate::team::Workers;

/// Largest number of steps for the optimum of an instance. On the largest instances its gap is then 1e-3, which is
/// enough.
const MOST_STEPS: usize = 3000;

/// An event of a training.
#[derive(Debug)]
pub enum Event<'a> {
    /// The optima of instances are computed; `done` of `total` are ready.
    Optima {
        /// Number of optima that are ready.
        done: usize,
        /// Number of instances.
        total: usize,
    },
    /// Training begins or resumes.
    Begin {
        /// The training.
        trainer: &'a Trainer,
        /// Numbers of instances for training and for validation.
        instances: (usize, usize),
        /// The number of computed optima that have no proof, and their worst estimate, if there are any.
        not_proved: Option<&'a str>,
    },
    /// An update or a generation is done.
    Advance(&'a Report),
}

/// How a training ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finished {
    /// Training is complete.
    Completely,
    /// Training was interrupted and can be resumed.
    Interrupted,
}

/// Metadata of the stored state.
#[derive(Serialize, Deserialize)]
struct StoredState {
    version: u32,
    settings: TrainSettings,
    step_scale: f64,
    updates: usize,
    generations: usize,
    steps: (usize, usize),
    losses: (f64, usize),
    gradient_norm: Option<f64>,
    best: Option<Measurement>,
    history: Vec<Measurement>,
    suspicious: usize,
}

/// Trains a network in a folder. Writes `config.toml`, `metrics.jsonl`, `best.safetensors`, `last.safetensors`,
/// `optima.json` and `state.safetensors`. A training resumes from the state bit for bit. The first model is written
/// before the first update. `load` reads the examples for training and for validation. The workers share the work; the
/// result does not depend on them. In a team, the leader alone writes files and calls the observer, which may end the
/// training.
///
/// # Errors
/// If data or settings are invalid, if the folder holds another training and `is_resumed` is false, or if training
/// fails.
pub fn train<E: From<Error>>(
    settings: &TrainSettings,
    load: impl FnOnce() -> Result<(Vec<Example>, Vec<Example>), E>,
    folder: &Path,
    is_resumed: bool,
    observer: &(dyn Fn(&Event<'_>) -> ControlFlow<()> + Sync),
    workers: &Workers,
) -> Result<Finished, E> {
    settings.check().map_err(Error::from)?;
    let run = Folder { path: folder.to_path_buf(), workers: workers.clone() };
    let mut lock = None;
    let stored = workers.tell(|| {
        std::fs::create_dir_all(folder).map_err(|source| Error::Write { path: folder.to_path_buf(), source })?;
        lock = Some(Lock::of_folder(folder)?);
        run.stored_state(is_resumed)
    })?;
    let state = stored.map(|bytes| run.read_state(settings, &bytes)).transpose()?;
    let (train, validation) = load()?;
    Ok(run.train(settings, (train, validation), state, observer)?)
}

/// The folder of a training, and those who work on it.
struct Folder {
    path: PathBuf,
    workers: Workers,
}

impl Folder {
    fn train(
        &self,
        settings: &TrainSettings,
        (mut train, mut validation): (Vec<Example>, Vec<Example>),
        state: Option<State>,
        observer: &(dyn Fn(&Event<'_>) -> ControlFlow<()> + Sync),
    ) -> Result<Finished, Error> {
        let text = toml::to_string(settings).map_err(std::io::Error::other);
        let text = text.map_err(|source| Error::Write { path: self.path("config.toml"), source })?;
        if self.workers.is_leader() {
            write_whole(&self.path("config.toml"), text.as_bytes())?;
        }
        let needing = if settings.needs_optima() { &mut train[..] } else { &mut [] };
        let (flow, not_proved) = self.find_optima(needing, &mut validation, observer)?;
        if flow.is_break() {
            return Ok(Finished::Interrupted);
        }
        let instances = (train.len(), validation.len());
        let mut trainer = match state {
            Some(state) => Trainer::resume(settings.clone(), train, validation, state)?,
            None => Trainer::new(settings.clone(), train, validation)?,
        }
        .with_workers(self.workers.clone());
        trainer.begin()?;
        self.write(&trainer)?;
        let begin = Event::Begin { trainer: &trainer, instances, not_proved: not_proved.as_deref() };
        let mut flow = self.ask(observer, &begin)?;
        let mut pace = Pace::new();
        let finished = loop {
            if flow.is_break() {
                break Finished::Interrupted;
            }
            let report = match trainer.advance() {
                Ok(Some(report)) => report,
                Ok(None) => break Finished::Completely,
                Err(error) => {
                    self.workers.tell(|| self.write(&trainer))?;
                    return Err(error);
                }
            };
            if report.measurement.is_some() {
                pace.time(|| self.write(&trainer))?;
            } else if self.workers.is_leader() && pace.is_due() {
                pace.time(|| self.write_state(&trainer))?;
            }
            flow = self.ask(observer, &Event::Advance(&report))?;
        };
        // Nobody goes on before the last files are there.
        self.workers.tell(|| self.write(&trainer))?;
        Ok(finished)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The answer of the leader's observer.
    fn ask(
        &self,
        observer: &(dyn Fn(&Event<'_>) -> ControlFlow<()> + Sync),
        event: &Event<'_>,
    ) -> Result<ControlFlow<()>, Error> {
        let ends = self.workers.tell(|| Ok::<bool, Error>(observer(event).is_break()))?;
        Ok(if ends { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    /// Writes all files. The state comes first: a resumed training writes all other files again.
    fn write(&self, trainer: &Trainer) -> Result<(), Error> {
        if !self.workers.is_leader() {
            return Ok(());
        }
        self.write_state(trainer)?;
        let lines: Result<Vec<String>, _> = trainer.history().iter().map(serde_json::to_string).collect();
        let path = self.path("metrics.jsonl");
        let lines = lines.map_err(|error| Error::Write { path: path.clone(), source: error.into() })?;
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        write_whole(&path, text.as_bytes())?;
        trainer.last().save(self.path("last.safetensors"), Precision::Single)?;
        if let Some(best) = trainer.best() {
            best.save(self.path("best.safetensors"), Precision::Single)?;
        }
        Ok(())
    }

    fn write_state(&self, trainer: &Trainer) -> Result<(), Error> {
        let State {
            network,
            gradient,
            evolution,
            updates,
            generations,
            losses,
            gradient_norm,
            best,
            history,
            suspicious,
        } = &trainer.state;
        let mut tensors = Tensors::new();
        let mut push = |name: &str, numbers: &[f32]| tensors.push(name, &[numbers.len()], numbers, Precision::Single);
        push("weights", &network.weights);
        push("gradient.mean", &gradient.mean);
        push("gradient.square", &gradient.square);
        push("evolution.mean", &evolution.mean);
        push("evolution.square", &evolution.square);
        if let Some(best) = best {
            push("best", &best.weights);
        }
        tensors.push_wide("features.mean", &network.mean);
        tensors.push_wide("features.deviation", &network.deviation);
        let metadata = StoredState {
            version: CHECKPOINT_VERSION,
            settings: trainer.settings().clone(),
            step_scale: network.step_scale,
            updates: *updates,
            generations: *generations,
            steps: (gradient.steps, evolution.steps),
            losses: *losses,
            gradient_norm: *gradient_norm,
            best: best.as_ref().map(|best| best.measurement.clone()),
            history: history.clone(),
            suspicious: *suspicious,
        };
        let path = self.path("state.safetensors");
        let bytes = tensors.to_bytes(&metadata).map_err(|source| Error::Write { path: path.clone(), source })?;
        write_whole(&path, &bytes)
    }

    /// The bytes of the stored state, if there is one and it is to be resumed.
    fn stored_state(&self, is_resumed: bool) -> Result<Option<Vec<u8>>, Error> {
        let path = self.path("state.safetensors");
        if !path.exists() {
            return Ok(None);
        }
        if !is_resumed {
            let expected = "an empty folder, or a request to resume the training in it";
            return Err(InvalidSetting::new("out", expected, self.path.display()).into());
        }
        std::fs::read(&path).map(Some).map_err(|source| Error::Read { path, source })
    }

    /// The stored state of the training.
    fn read_state(&self, settings: &TrainSettings, bytes: &[u8]) -> Result<State, Error> {
        let path = self.path("state.safetensors");
        let (stored, metadata): (_, StoredState) = Stored::read(&path, bytes)?;
        // More updates, generations or patience are allowed: they do not change the steps done so far.
        let comparable = |settings: &TrainSettings| {
            let mut settings = settings.clone();
            settings.gradient.updates = 0;
            settings.evolution.generations = 0;
            settings.validation.patience = None;
            settings
        };
        let (begun, settings) = (comparable(&metadata.settings), comparable(settings));
        if begun != settings {
            let [expected, found] = differences("", &begun, &settings);
            return Err(Error::Content { path, expected: format!("{expected}, as the training began"), found });
        }
        let count = Layout::new(&settings.network).total;
        let inputs = settings.network.inputs();
        let read = |name: &str| stored.singles(name, &[count]);
        let optimizer = |name: &str, steps: usize| {
            let (mean, square) = (read(&format!("{name}.mean"))?, read(&format!("{name}.square"))?);
            Ok::<_, Error>(Optimizer { mean, square, steps })
        };
        let best = match metadata.best {
            Some(measurement) => Some(Best { weights: read("best")?, measurement }),
            None => None,
        };
        Ok(State {
            network: NetworkState {
                step_scale: metadata.step_scale,
                mean: stored.numbers("features.mean", &[inputs])?,
                deviation: stored.numbers("features.deviation", &[inputs])?,
                weights: read("weights")?,
            },
            gradient: optimizer("gradient", metadata.steps.0)?,
            evolution: optimizer("evolution", metadata.steps.1)?,
            updates: metadata.updates,
            generations: metadata.generations,
            losses: metadata.losses,
            gradient_norm: metadata.gradient_norm,
            best,
            history: metadata.history,
            suspicious: metadata.suspicious,
        })
    }

    /// Sets the optima of instances, from `optima.json` if it is there. Also says which of them are not proved.
    fn find_optima(
        &self,
        train: &mut [Example],
        validation: &mut [Example],
        observer: &(dyn Fn(&Event<'_>) -> ControlFlow<()> + Sync),
    ) -> Result<(ControlFlow<()>, Option<String>), Error> {
        let optima = Mutex::new(Optima::open(&self.path("optima.json"), &self.workers)?);
        let total = train.len() + validation.len();
        let all = || train.iter().chain(validation.iter());
        let missing: Vec<(String, &Example)> =
            all().filter(|example| example.optimum.is_none()).map(|example| (example.name.clone(), example)).collect();
        let limits = Limits { steps: Some(MOST_STEPS), ..Limits::default() };
        let mut done = total - missing.len();
        let seen = || {
            done += 1;
            observer(&Event::Optima { done, total })
        };
        let found = Optima::find_all(&optima, &self.workers, &missing, &limits, seen);
        optima.into_inner().unwrap_or_else(PoisonError::into_inner).write()?;
        let Some(found) = found? else { return Ok((ControlFlow::Break(()), None)) };
        let qualities: Vec<_> = found.iter().map(|optimum| (optimum.is_proved, optimum.estimate)).collect();
        let known = std::iter::repeat_n((true, None), total - missing.len());
        let mut found = found.into_iter();
        for example in train.iter_mut().chain(validation) {
            if example.optimum.is_none() {
                example.optimum = found.next().map(|optimum| optimum.value);
            }
        }
        Ok((ControlFlow::Continue(()), not_proved(known.chain(qualities))))
    }
}
