//! Errors of runs, files and settings. Each message names the object, the expected value and the value found.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::oracle::EvaluationError;

/// Error of a run or of a training.
#[derive(Debug, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the variants mean")]
pub enum Error {
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("{}: expected {expected}, found {found}", path.display())]
    Content { path: PathBuf, expected: String, found: String },
    #[error("{} is in use by another run", path.display())]
    InUse { path: PathBuf },
    #[error(transparent)]
    Setting(#[from] InvalidSetting),
    #[error("{name}: {source}")]
    Example { name: String, source: EvaluationError },
    #[error("training stopped after {after}: {reason}; {kept}")]
    Training { after: String, reason: String, kept: String },
    #[error("{member}: {message}")]
    Elsewhere { member: String, message: String },
}

/// A setting that cannot be used.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("setting {name}: expected {expected}, found {found}")]
pub struct InvalidSetting {
    /// Name of the setting.
    pub name: &'static str,
    /// Expected value.
    pub expected: String,
    /// Value found.
    pub found: String,
}

impl InvalidSetting {
    pub(crate) fn new(name: &'static str, expected: impl Into<String>, found: impl ToString) -> Self {
        Self { name, expected: expected.into(), found: found.to_string() }
    }
}

/// Returns an error unless the condition holds.
pub(crate) fn require(
    holds: bool,
    name: &'static str,
    expected: impl Into<String>,
    found: impl ToString,
) -> Result<(), InvalidSetting> {
    if holds { Ok(()) } else { Err(InvalidSetting::new(name, expected, found)) }
}

/// Returns an error if a number is too small.
pub(crate) fn at_least(name: &'static str, found: usize, least: usize) -> Result<(), InvalidSetting> {
    require(found >= least, name, format!("at least {least}"), found)
}

/// Returns an error if a number is not positive and finite.
pub(crate) fn positive(name: &'static str, found: f64) -> Result<(), InvalidSetting> {
    require(found > 0.0 && found.is_finite(), name, "a positive finite number", found)
}
