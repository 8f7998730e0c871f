//! Errors of models, structures and blocks.

use std::io;
use std::path::Path;

use thiserror::Error;

/// An error of a model, its structure or one of its blocks. Its text names the thing, then what was expected and found.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder cannot be read.
    #[error("{path}: {source}")]
    Read {
        /// The file or folder.
        path: String,
        /// Cause.
        source: io::Error,
    },
    /// The content of a file, or of a model, is not usable.
    #[error("{place}: expected {expected}, found {found}")]
    Content {
        /// A file, a line of it, a row, a column or a block.
        place: String,
        /// The rule.
        expected: String,
        /// The violation.
        found: String,
    },
}

impl Error {
    pub(crate) fn content(place: impl Into<String>, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self::Content { place: place.into(), expected: expected.into(), found: found.into() }
    }

    /// The same error, with the file that the thing is in.
    #[must_use]
    pub fn in_file(self, path: &Path) -> Self {
        match self {
            Self::Content { place, expected, found } => {
                Self::Content { place: format!("{}: {place}", path.display()), expected, found }
            }
            Self::Read { .. } => self,
        }
    }
}

/// An error in a line of a file.
pub(crate) fn at_line(file: &str, line: usize, expected: impl Into<String>, found: impl Into<String>) -> Error {
    Error::content(format!("{file}, line {line}"), expected, found)
}

/// A few names, and the number of the others.
pub(crate) fn few<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 4;
    let others = names.len().saturating_sub(SHOWN);
    let shown: Vec<&str> = names.take(SHOWN).collect();
    let rest = if others > 0 { format!(" and {others} more") } else { String::new() };
    format!("{}{rest}", shown.join(", "))
}
