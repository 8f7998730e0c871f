//! Optima of instances, kept in a file as they are found: on large instances one takes minutes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::error::Error;
use crate::files::{Pace, write_whole};

/// Names of instances and their optima, and the file that holds them.
pub struct Optima {
    path: PathBuf,
    known: BTreeMap<String, f64>,
    pace: Pace,
}

impl Optima {
    /// None are known yet; a file that is there will be replaced.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self { path, known: BTreeMap::new(), pace: Pace::new() }
    }

    /// Those of a file, if it is there.
    ///
    /// # Errors
    /// If the file cannot be read, or holds something else.
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

    /// Adds an optimum, and writes the file unless that was done a moment ago.
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
