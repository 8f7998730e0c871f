//! What keeps a run or a training from its work, with the data to say what, where, expected and found.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::oracle::EvaluationError;

/// What keeps a run or a training from its work.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file, such as a checkpoint or a state, does not hold what this version can use.
    #[error("{}: expected {expected}, found {found}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What it should hold.
        expected: String,
        /// What it holds.
        found: String,
    },
    /// A setting cannot be used.
    #[error(transparent)]
    Setting(#[from] InvalidSetting),
    /// The oracle of an example failed.
    #[error("{name}: {source}")]
    Example {
        /// The example.
        name: String,
        /// Why.
        source: EvaluationError,
    },
    /// Training has gone wrong; what was good before is kept.
    #[error("training stopped after {after}: {reason}; {kept}")]
    Training {
        /// Updates and generations before.
        after: String,
        /// What is wrong.
        reason: String,
        /// What is there.
        kept: String,
    },
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
