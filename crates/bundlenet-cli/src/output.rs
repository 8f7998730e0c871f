//! Results to standard output.

use std::io::{self, Write};

use bundlenet::{Problem, Sense};
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

/// Names and values in two columns.
pub(crate) fn table(rows: &[(&str, String)]) -> Result<(), Failure> {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let text: String = rows.iter().map(|(name, value)| format!("{name:<width$}  {value}\n")).collect();
    Ok(io::stdout().lock().write_all(text.as_bytes())?)
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
