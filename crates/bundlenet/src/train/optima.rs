//! A file of optima, written while they are computed: on large instances one takes minutes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::example::Example;
use crate::error::Error;
use crate::files::{Lock, Pace, regular, write_whole};
use crate::run::{Limits, Settings, Solution};

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

/// Optima by the name of the instance, and their file. The file belongs to one such object at a time.
pub struct Optima {
    path: PathBuf,
    _lock: Lock,
    known: BTreeMap<String, Optimum>,
    /// Number of optima that were asked for, and are of other data.
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
    /// The optima of a file; empty if there is no file.
    ///
    /// # Errors
    /// If the file is in use by another run, cannot be read or has a wrong format.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let path = regular(path)?;
        let lock = Lock::of_file(&path)?;
        let known: BTreeMap<String, Entry> = match std::fs::read_to_string(&path) {
            Ok(text) => serde_json::from_str(&text).map_err(|error| {
                let expected = "an object of names and optima".to_string();
                Error::Content { path: path.clone(), expected, found: error.to_string() }
            })?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
            Err(source) => return Err(Error::Read { path, source }),
        };
        let known = known.into_iter().map(|(name, entry)| (name, entry.into())).collect();
        Ok(Self { path, _lock: lock, known, outdated: 0, pace: Pace::new() })
    }

    /// The optimum under a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Optimum> {
        self.known.get(name)
    }

    /// The optimum under a name, if it is of data with this fingerprint.
    pub fn of_data(&mut self, name: &str, fingerprint: &str) -> Option<&Optimum> {
        let found = self.known.get(name)?;
        if found.fingerprint != fingerprint {
            self.outdated += 1;
            return None;
        }
        Some(found)
    }

    /// Number of optima that were asked for, and are of other data or of an earlier version.
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
        self.known.insert(name.to_string(), optimum);
        if self.pace.is_due() { self.write() } else { Ok(()) }
    }

    /// Finds the optimum of an instance: in the file, or by a run within the limits.
    ///
    /// # Errors
    /// If the oracle fails at the start, or if the file cannot be written.
    pub fn find(shared: &Mutex<Self>, name: &str, example: &Example, limits: &Limits) -> Result<Optimum, Error> {
        let lock = || shared.lock().unwrap_or_else(PoisonError::into_inner);
        let fingerprint = example.fingerprint()?;
        if let Some(found) = lock().of_data(name, &fingerprint) {
            return Ok(found.clone());
        }
        let optimum = Optimum::new(fingerprint, &example.solve(limits)?);
        lock().insert(name, optimum.clone())?;
        Ok(optimum)
    }

    /// Writes the file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&mut self) -> Result<(), Error> {
        let Self { path, known, pace, .. } = self;
        pace.time(|| {
            let text = serde_json::to_string_pretty(known);
            let text = text.map_err(|error| Error::Write { path: path.clone(), source: error.into() })?;
            write_whole(path, (text + "\n").as_bytes())
        })
    }
}
