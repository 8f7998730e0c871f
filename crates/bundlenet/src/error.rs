//! Errors of runs, files and settings; each message names the thing, what was expected and what was found.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::oracle::EvaluationError;

/// What keeps a run or a training from its work.
#[derive(Debug, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum Error {
    /// A file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// A file could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    /// A file, such as a checkpoint or a state, does not hold what this version can use.
    #[error("{}: expected {expected}, found {found}", path.display())]
    Content { path: PathBuf, expected: String, found: String },
    /// A setting cannot be used.
    #[error(transparent)]
    Setting(#[from] InvalidSetting),
    /// The oracle of an example failed.
    #[error("{name}: {source}")]
    Example { name: String, source: EvaluationError },
    /// Training has gone wrong; what was good before is kept.
    #[error("training stopped after {after}: {reason}; {kept}")]
    Training { after: String, reason: String, kept: String },
}

/// A setting that cannot be used.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("setting {name}: expected {expected}, found {found}")]
pub struct InvalidSetting {
    /// The setting.
    pub name: &'static str,
    /// What it should be.
    pub expected: String,
    /// What it is.
    pub found: String,
}

impl InvalidSetting {
    pub(crate) fn new(name: &'static str, expected: impl Into<String>, found: impl ToString) -> Self {
        Self { name, expected: expected.into(), found: found.to_string() }
    }
}

/// Refuses a setting unless a condition holds.
pub(crate) fn require(
    holds: bool,
    name: &'static str,
    expected: impl Into<String>,
    found: impl ToString,
) -> Result<(), InvalidSetting> {
    if holds { Ok(()) } else { Err(InvalidSetting::new(name, expected, found)) }
}

/// Refuses a number that is too small.
pub(crate) fn at_least(name: &'static str, found: usize, least: usize) -> Result<(), InvalidSetting> {
    require(found >= least, name, format!("at least {least}"), found)
}

/// Refuses a number that is not positive and finite.
pub(crate) fn positive(name: &'static str, found: f64) -> Result<(), InvalidSetting> {
    require(found > 0.0 && found.is_finite(), name, "a positive finite number", found)
}
