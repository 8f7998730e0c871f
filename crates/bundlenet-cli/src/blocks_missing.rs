//! Model files in a program without the feature `mip`: they are refused.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use bundlenet::{Error, Oracle, Settings, Solution};
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::input::{BlockOptions, Modes, Start};
use crate::solve_report::Report;

/// Solves a dual: its sizes in words, names and start of its multipliers, the settings. Also returns why the state
/// could not be saved. `None` on a rank that is not the first.
pub(crate) type Run<'a> = &'a mut dyn FnMut(
    &mut dyn Oracle,
    &str,
    Start<'_>,
    &Settings,
) -> Result<Option<(Solution, Option<Error>)>, Failure>;

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
