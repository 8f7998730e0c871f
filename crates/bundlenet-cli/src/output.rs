//! Results to standard output and to files, messages to standard error.

use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use bundlenet::{Error, Oracle, Sense};
use bundlenet_problems::Problem;
use serde::Serialize;

use crate::failure::Failure;

/// Whether this process prints nothing and writes no file: another one does it for all.
static IS_SILENT: AtomicBool = AtomicBool::new(false);

/// From now on this process prints nothing and writes no file.
#[cfg(feature = "mpi")]
pub(crate) fn silence() {
    IS_SILENT.store(true, Ordering::Relaxed);
}

fn is_silent() -> bool {
    IS_SILENT.load(Ordering::Relaxed)
}

/// Prints one JSON value on a line of its own.
pub(crate) fn json(result: &impl Serialize) -> Result<(), Failure> {
    line(&serde_json::to_string(result)?)
}

/// Prints a line of text.
pub(crate) fn line(text: &str) -> Result<(), Failure> {
    if is_silent() {
        return Ok(());
    }
    Ok(io::stdout().lock().write_all(format!("{text}\n").as_bytes())?)
}

/// Prints a message to standard error.
pub(crate) fn note(text: &str) {
    if is_silent() {
        return;
    }
    // A message that cannot be written does not end the work.
    let _ = writeln!(io::stderr(), "{text}");
}

/// Prints names and values in two columns.
pub(crate) fn table(rows: &[(&str, String)]) -> Result<(), Failure> {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines: Vec<String> = rows.iter().map(|(name, value)| format!("{name:<width$}  {value}")).collect();
    line(&lines.join("\n"))
}

/// Writes a file of text.
pub(crate) fn file(path: &Path, text: &str) -> Result<(), Failure> {
    bytes(path, text.as_bytes())
}

/// Writes a file.
pub(crate) fn bytes(path: &Path, content: &[u8]) -> Result<(), Failure> {
    if is_silent() {
        return Ok(());
    }
    Ok(std::fs::write(path, content).map_err(|source| Error::Write { path: path.to_path_buf(), source })?)
}

/// Refuses an output that is a folder or an input of the command.
pub(crate) fn check_output<'a>(
    option: &str,
    out: &Path,
    inputs: impl IntoIterator<Item = &'a Path>,
) -> Result<(), Failure> {
    let expected = if out.is_dir() {
        "a regular file or a new one".to_string()
    } else if let Some(input) = inputs.into_iter().find(|input| is_same(out, input)) {
        format!("a file other than the input {}", input.display())
    } else {
        return Ok(());
    };
    Err(Failure::input(format!("{option}: expected {expected}, found {}", out.display())))
}

/// Whether two paths lead to one file or folder that exists, also through links.
pub(crate) fn is_same(first: &Path, second: &Path) -> bool {
    identity(first).is_some_and(|first| Some(first) == identity(second))
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let found = std::fs::metadata(path).ok()?;
    // A device, such as a terminal, may be both read and written to.
    (found.is_file() || found.is_dir()).then(|| (found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path) -> Option<std::path::PathBuf> {
    path.canonicalize().ok()
}

/// Says how many stored results are not used, by the words for one and for several of them.
pub(crate) fn note_outdated(count: usize, (one, several): (&str, &str)) {
    if count > 0 {
        let word = if count == 1 { one } else { several };
        note(&format!("computed again: {count} {word} of other data or of an earlier version under the same name"));
    }
}

/// The instance of a report; the first fields of its JSON object.
#[derive(Serialize)]
pub(crate) struct Subject {
    pub(crate) file: String,
    pub(crate) problem: &'static str,
    /// Sense of the dual.
    pub(crate) sense: &'static str,
    pub(crate) dimension: usize,
}

impl Subject {
    pub(crate) fn new(file: &Path, problem: &Problem, dual: &dyn Oracle) -> Self {
        Self::named(file, problem_name(problem), dual)
    }

    /// The instance of a problem with this name.
    pub(crate) fn named(file: &Path, problem: &'static str, dual: &dyn Oracle) -> Self {
        let (sense, dimension) = (sense_name(dual.sense()), dual.dim());
        Self { file: file.display().to_string(), problem, sense, dimension }
    }

    /// The kind of bound that a value of the dual is.
    pub(crate) fn bound(&self) -> &'static str {
        if self.sense == "max" { "lower" } else { "upper" }
    }
}

/// The name of a problem family in JSON.
pub(crate) fn problem_name(problem: &Problem) -> &'static str {
    match problem {
        Problem::NetworkDesign(_) => "network-design",
        Problem::Assignment(_) => "assignment",
        Problem::FacilityLocation(_) => "facility-location",
        Problem::UnitCommitment(_) => "unit-commitment",
    }
}

/// The name of a sense in JSON.
pub(crate) fn sense_name(sense: Sense) -> &'static str {
    match sense {
        Sense::Minimize => "min",
        Sense::Maximize => "max",
    }
}
