//! A file of optima, written while they are computed: on large instances one takes minutes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::error::Error;
use crate::files::{Pace, write_whole};

/// Optima by the name of the instance, and their file.
pub struct Optima {
    path: PathBuf,
    known: BTreeMap<String, f64>,
    pace: Pace,
}

impl Optima {
    /// No optima yet. An existing file will be replaced.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self { path, known: BTreeMap::new(), pace: Pace::new() }
    }

    /// The optima of a file; empty if there is no file.
    ///
    /// # Errors
    /// If the file cannot be read or has a wrong format.
    pub fn read(path: PathBuf) -> Result<Self, Error> {
        let mut optima = Self::new(path);
        let path = &optima.path;
        match std::fs::read_to_string(path) {
            Ok(text) => {
                optima.known = serde_json::from_str(&text).map_err(|error| {
                    let expected = "an object of names and optima".to_string();
                    Error::Content { path: path.clone(), expected, found: error.to_string() }
                })?;
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => (),
            Err(source) => return Err(Error::Read { path: path.clone(), source }),
        }
        Ok(optima)
    }

    /// The optimum of an instance.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<f64> {
        self.known.get(name).copied()
    }

    /// Adds an optimum. Writes the file unless it was written a moment ago.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn insert(&mut self, name: &str, optimum: f64) -> Result<(), Error> {
        if self.known.insert(name.to_string(), optimum) != Some(optimum) && self.pace.is_due() {
            self.write()?;
        }
        Ok(())
    }

    /// Writes the file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&mut self) -> Result<(), Error> {
        let Self { path, known, pace } = self;
        pace.time(|| {
            let text = serde_json::to_string_pretty(known);
            let text = text.map_err(|error| Error::Write { path: path.clone(), source: error.into() })?;
            write_whole(path, text.as_bytes())
        })
    }
}
