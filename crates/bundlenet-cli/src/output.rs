//! Results to standard output.

use std::io::{self, Write};
use std::path::Path;

use bundlenet::{Oracle, Problem, Sense};
use serde::Serialize;

use crate::failure::Failure;

/// One JSON object, on a line of its own.
pub(crate) fn json(result: &impl Serialize) -> Result<(), Failure> {
    let mut text = serde_json::to_string(result).map_err(io::Error::from)?;
    text.push('\n');
    Ok(io::stdout().lock().write_all(text.as_bytes())?)
}

/// A line of text.
pub(crate) fn line(text: &str) -> Result<(), Failure> {
    Ok(writeln!(io::stdout().lock(), "{text}")?)
}

/// A line of talk, to standard error.
pub(crate) fn note(text: &str) {
    // If even this cannot be written, the work goes on.
    let _ = writeln!(io::stderr(), "{text}");
}

/// Names and values in two columns.
pub(crate) fn table(rows: &[(&str, String)]) -> Result<(), Failure> {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let text: String = rows.iter().map(|(name, value)| format!("{name:<width$}  {value}\n")).collect();
    Ok(io::stdout().lock().write_all(text.as_bytes())?)
}

/// What a report is about; the first fields of its JSON object.
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
        Self {
            file: file.display().to_string(),
            problem: problem_name(problem),
            sense: sense_name(dual.sense()),
            dimension: dual.dim(),
        }
    }

    /// Which way the value bounds the problem.
    pub(crate) fn bound(&self) -> &'static str {
        if self.sense == "max" { "lower" } else { "upper" }
    }
}

/// What `--json` calls a problem family.
pub(crate) fn problem_name(problem: &Problem) -> &'static str {
    match problem {
        Problem::NetworkDesign(_) => "network-design",
        Problem::Assignment(_) => "assignment",
    }
}

/// What `--json` calls a sense.
pub(crate) fn sense_name(sense: Sense) -> &'static str {
    match sense {
        Sense::Minimize => "min",
        Sense::Maximize => "max",
    }
}
