//! A file of optima, written while they are computed: on large instances one takes minutes.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::example::Example;
use crate::error::Error;
use crate::files::{Lock, Pace, regular, write_whole};
use crate::run::{Limits, Settings, Solution};
use crate::team::{Failed, Travel, Workers};

/// The optimum of an instance, as far as a run has found it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Optimum {
    /// [`Example::fingerprint`] of the instance. Empty in a file of an earlier version.
    #[serde(default)]
    pub fingerprint: String,
    /// Best value.
    pub value: f64,
    /// Whether a proof says that the value is optimal to 1e-9.
    #[serde(default)]
    pub is_proved: bool,
    /// Why the run ended, as `solve --json` names it.
    pub status: String,
    /// Relative gap of the stop test.
    pub estimate: Option<f64>,
    /// Proved relative gap.
    pub certificate: Option<f64>,
    /// Steps of the run.
    pub steps: usize,
    /// Duration of the run, if it is of interest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

impl Optimum {
    /// The result of a run with [`Settings::exact`].
    #[must_use]
    pub fn new(fingerprint: String, solution: &Solution) -> Self {
        let Solution { value, status, estimate, certificate, steps, .. } = *solution;
        let is_proved = certificate.is_some_and(|gap| gap <= Settings::exact().tolerance);
        let status = status.to_string().replace(' ', "-");
        Self { fingerprint, value, is_proved, status, estimate, certificate, steps, seconds: None }
    }

    /// Whether the run ended by its stop test.
    #[must_use]
    pub fn is_solved(&self) -> bool {
        matches!(self.status.as_str(), "optimal" | "converged")
    }
}

/// The message of a work that an observer ended.
const ENDED: &str = "the work was ended";

impl Travel for Optimum {
    fn write(&self, bytes: &mut Vec<u8>) {
        // A text that cannot be written arrives as one that cannot be read.
        serde_json::to_string(self).unwrap_or_default().write(bytes);
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        serde_json::from_str(&String::read(bytes)?).ok()
    }
}

/// Says how many optima have no proof, and their worst estimate: `2 of 40, worst estimate 3e-5`. `None` if all have one.
/// An optimum is given by whether it is proved and by its estimate.
pub fn not_proved(optima: impl IntoIterator<Item = (bool, Option<f64>)>) -> Option<String> {
    let (mut total, mut open, mut worst) = (0, 0, Some(0.0_f64));
    for (is_proved, estimate) in optima {
        total += 1;
        if !is_proved {
            open += 1;
            worst = worst.zip(estimate).map(|(worst, estimate)| worst.max(estimate));
        }
    }
    let worst = worst.map_or_else(|| "unknown".to_string(), |worst| format!("{worst:.0e}"));
    (open > 0).then(|| format!("{open} of {total}, worst estimate {worst}"))
}

/// Optima by the name of the instance, and their file. The file belongs to one such object at a time. In a team, the
/// file is the leader's.
pub struct Optima {
    file: Option<(PathBuf, Lock)>,
    known: BTreeMap<String, Optimum>,
    /// Number of optima that were replaced because they are of other data.
    outdated: usize,
    pace: Pace,
}

/// An entry of a file. Earlier versions wrote the value alone.
#[derive(Deserialize)]
#[serde(untagged)]
enum Entry {
    Optimum(Optimum),
    Value(f64),
}

impl From<Entry> for Optimum {
    fn from(entry: Entry) -> Self {
        match entry {
            Entry::Optimum(optimum) => optimum,
            Entry::Value(value) => Self { value, ..Self::default() },
        }
    }
}

impl Optima {
    /// The optima of a file, on all workers; empty if there is no file.
    ///
    /// # Errors
    /// If the file is in use by another run, cannot be read or has a wrong format.
    pub fn open(path: &Path, workers: &Workers) -> Result<Self, Error> {
        let mut file = None;
        let text = workers.tell(|| {
            let path = regular(path)?;
            file = Some((path.clone(), Lock::of_file(&path)?));
            match std::fs::read_to_string(&path) {
                Ok(text) => Ok(text),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok("{}".to_string()),
                Err(source) => Err(Error::Read { path, source }),
            }
        })?;
        let known: BTreeMap<String, Entry> = serde_json::from_str(&text).map_err(|error| {
            let expected = "an object of names and optima".to_string();
            Error::Content { path: path.to_path_buf(), expected, found: error.to_string() }
        })?;
        let known = known.into_iter().map(|(name, entry)| (name, entry.into())).collect();
        Ok(Self { file, known, outdated: 0, pace: Pace::new() })
    }

    /// The optimum under a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Optimum> {
        self.known.get(name)
    }

    /// The optimum under a name, if it is of data with this fingerprint.
    #[must_use]
    pub fn of_data(&self, name: &str, fingerprint: &str) -> Option<&Optimum> {
        self.known.get(name).filter(|found| found.fingerprint == fingerprint)
    }

    /// Number of optima that were replaced because they are of other data or of an earlier version.
    #[must_use]
    pub fn outdated(&self) -> usize {
        self.outdated
    }

    /// Number of optima.
    #[must_use]
    pub fn count(&self) -> usize {
        self.known.len()
    }

    /// Adds an optimum. Writes the file unless it was written a moment ago.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn insert(&mut self, name: &str, optimum: Optimum) -> Result<(), Error> {
        let fingerprint = optimum.fingerprint.clone();
        let before = self.known.insert(name.to_string(), optimum);
        self.outdated += usize::from(before.is_some_and(|before| before.fingerprint != fingerprint));
        if self.pace.is_due() { self.write() } else { Ok(()) }
    }

    /// The optima of examples by their names: from the file, or from a run within the limits. The workers share the
    /// runs. `seen` is called after each example and may end the work; with a team, only that of the leader is called.
    /// `None` if it ended the work.
    ///
    /// # Errors
    /// If an oracle fails at the start, or if the file cannot be written.
    pub fn find_all(
        shared: &Mutex<Self>,
        workers: &Workers,
        examples: &[(String, &Example)],
        limits: &Limits,
        mut seen: impl FnMut() -> ControlFlow<()> + Send,
    ) -> Result<Option<Vec<Optimum>>, Error> {
        let lock = || shared.lock().unwrap_or_else(PoisonError::into_inner);
        let find = |index: usize| {
            let (name, example) = &examples[index];
            let fingerprint = example.fingerprint()?;
            if let Some(found) = lock().of_data(name, &fingerprint) {
                return Ok((found.clone(), false));
            }
            Ok((Optimum::new(fingerprint, &example.solve(limits)?), true))
        };
        let done = |index: usize, (optimum, is_new): &(Optimum, bool)| {
            if *is_new {
                lock().insert(&examples[index].0, optimum.clone())?;
            }
            // Ends the work of all workers.
            let ended = Failed { member: String::new(), message: ENDED.to_string() };
            if seen().is_break() { Err(ended.into()) } else { Ok(()) }
        };
        let found: Vec<(Optimum, bool)> = match workers.map(examples.len(), find, done) {
            Err(Error::Elsewhere { message, .. }) if message.ends_with(ENDED) => return Ok(None),
            found => found?,
        };
        for ((name, _), (optimum, is_new)) in examples.iter().zip(&found) {
            if *is_new && !workers.is_leader() {
                lock().insert(name, optimum.clone())?;
            }
        }
        Ok(Some(found.into_iter().map(|(optimum, _)| optimum).collect()))
    }

    /// Writes the file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&mut self) -> Result<(), Error> {
        let Self { file, known, pace, .. } = self;
        let Some((path, _)) = file else { return Ok(()) };
        pace.time(|| {
            let text = serde_json::to_string_pretty(known);
            let text = text.map_err(|error| Error::Write { path: path.clone(), source: error.into() })?;
            write_whole(path, (text + "\n").as_bytes())
        })
    }
}
