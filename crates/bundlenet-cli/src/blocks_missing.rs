//! Model files in a program without the feature `mip`: they are refused.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use bundlenet::{Oracle, Settings};
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::input::{BlockOptions, Modes};
use crate::run::Run;
use crate::solve_report::Report;

/// The description of a model file.
pub(crate) struct Description {
    pub(crate) rows: Vec<(&'static str, String)>,
    pub(crate) json: Map<String, Value>,
    /// The dual, if the structure is known.
    pub(crate) dual: Option<Box<dyn Oracle>>,
}

fn refusal(file: &Path) -> Failure {
    let expected = "a program with the feature mip (cargo build --release --features mip)";
    Failure::input(format!("{}: a model file needs {expected}, found one without it", file.display()))
}

/// Refuses to solve a model file.
pub(crate) fn solve(
    file: &Path,
    _options: &BlockOptions,
    _how: (&Settings, &'static AtomicBool, Modes),
    _run: Run<'_>,
) -> Result<Option<Report>, Failure> {
    Err(refusal(file))
}

/// Refuses to describe a model file.
pub(crate) fn describe(file: &Path, _options: &BlockOptions) -> Result<Description, Failure> {
    Err(refusal(file))
}
