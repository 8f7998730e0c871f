//! A check of `.mps` files before HiGHS reads them.
//!
//! HiGHS takes words that are no numbers as 0, adds columns that only bounds name, and does not return from files without
//! an end, or with names that have blanks outside of their columns. It tells no lines.

use std::collections::HashSet;

use crate::error::Error;
use crate::lines::{Line, check_end, lines, number};

/// Most words after the name of a column or a vector: two rows and their numbers.
const MOST_WORDS: usize = 4;

/// Types of bounds with a value.
const BOUNDS: [&str; 7] = ["UP", "LO", "FX", "LI", "UI", "SC", "SI"];

/// Types of bounds without a value.
const FIXED_BOUNDS: [&str; 4] = ["FR", "MI", "PL", "BV"];

/// Whether a line begins with the type of a bound.
pub(crate) fn is_bound(line: &str) -> bool {
    let kind = line.split_whitespace().next().unwrap_or("").to_ascii_uppercase();
    BOUNDS.contains(&kind.as_str()) || FIXED_BOUNDS.contains(&kind.as_str())
}

/// Names that the lines so far have defined.
#[derive(Default)]
struct Names<'a> {
    rows: HashSet<&'a str>,
    columns: HashSet<&'a str>,
    /// Whether words are names: there are no blanks in names.
    has_words: bool,
}

/// Refuses a file whose lines are not those of a model.
pub(crate) fn check(file: &str, text: &str) -> Result<(), Error> {
    check_end(file, text)?;
    let mut names = Names { has_words: true, ..Names::default() };
    let mut section = String::new();
    for line in lines(file, text) {
        if let Some(heading) = heading(&line)? {
            if heading != "NAME" && rank(&heading) < rank(&section) {
                return Err(line.wrong(format!("no such section after {section}")));
            }
            section = heading;
        } else if names.has_words || section == "ROWS" {
            names.check(&section, &line)?;
        } else if !line.is_fixed(section != "BOUNDS" && !line.words.contains(&"MARKER")) {
            return Err(line.wrong("the columns of the fixed format, because names have blanks"));
        }
    }
    Ok(())
}

/// Whether a comment says that the model is to be maximised, and no section says anything. PuLP writes such files:
/// `*SENSE:Maximize` before the name, and costs with the signs of the user.
pub(crate) fn is_maximised_by_comment(text: &str) -> bool {
    let mut head = text.lines().take_while(|line| !line.trim_end().eq_ignore_ascii_case("ROWS"));
    let is_told = |line: &str| line.to_ascii_uppercase().starts_with("*SENSE:MAX");
    let is_section = |line: &str| line.to_ascii_uppercase().starts_with("OBJSENSE");
    head.clone().any(is_told) && !head.any(is_section)
}

/// Sections stand in the order of their ranks. Those of the same rank may stand in any order.
fn rank(section: &str) -> usize {
    match section {
        "ROWS" => 1,
        "COLUMNS" => 2,
        "RHS" | "RANGES" | "BOUNDS" => 3,
        _ => 0,
    }
}

/// The section that a line begins, if it begins one.
fn heading(line: &Line<'_>) -> Result<Option<String>, Error> {
    if !line.is_heading {
        return Ok(None);
    }
    let name = line.words[0].to_ascii_uppercase();
    match name.as_str() {
        "NAME" | "OBJSENSE" | "ROWS" | "COLUMNS" | "RHS" | "RANGES" | "BOUNDS" => Ok(Some(name)),
        _ if line.words.len() > 1 || name.starts_with("MAX") || name.starts_with("MIN") => Ok(None),
        _ => Err(line.wrong("NAME, OBJSENSE, ROWS, COLUMNS, RHS, RANGES, BOUNDS or ENDATA")),
    }
}

impl<'a> Names<'a> {
    fn check(&mut self, section: &str, line: &Line<'a>) -> Result<(), Error> {
        let words = &line.words[..];
        match section {
            "ROWS" => self.row(line),
            // Markers have three words, too.
            "COLUMNS" if line.is(1, "MARKER") => Ok(()),
            "COLUMNS" => {
                self.columns.insert(words[0]);
                self.entries(line, &words[1..])
            }
            // The name of a vector may be missing.
            "RHS" | "RANGES" => self.entries(line, &words[words.len() % 2..]),
            "BOUNDS" => self.bound(line),
            _ => Ok(()),
        }
    }

    fn row(&mut self, line: &Line<'a>) -> Result<(), Error> {
        match line.words[..] {
            ["N" | "L" | "G" | "E", name] if self.rows.insert(name) => Ok(()),
            ["N" | "L" | "G" | "E", _] => Err(line.wrong("a name that no other row has")),
            ["N" | "L" | "G" | "E", _, ..] => {
                self.has_words = false;
                Ok(())
            }
            _ => Err(line.wrong("N, L, G or E and the name of a row")),
        }
    }

    /// Rows and numbers, in turn.
    fn entries(&mut self, line: &Line<'_>, words: &[&str]) -> Result<(), Error> {
        let is_row = words.first().is_some_and(|word| self.rows.contains(word));
        if line.words.len().is_multiple_of(2) && !is_row {
            self.has_words = false;
            return Ok(());
        }
        if !words.len().is_multiple_of(2) {
            return Err(line.wrong("rows, each with a number"));
        }
        // HiGHS does not read the others.
        if words.len() > MOST_WORDS {
            return Err(line.wrong("no more than two rows with their numbers"));
        }
        for pair in words.chunks_exact(2) {
            if !self.rows.contains(pair[0]) {
                return Err(line.wrong(format!("the name of a row in ROWS, not {:?}", pair[0])));
            }
            line.number(pair[1], "rows and finite numbers")?;
        }
        Ok(())
    }

    /// A type, perhaps the name of a vector, a column, a number.
    fn bound(&self, line: &Line<'_>) -> Result<(), Error> {
        let kind = line.words[0].to_ascii_uppercase();
        let (column, value) = match (&line.words[1..], FIXED_BOUNDS.contains(&kind.as_str())) {
            _ if !BOUNDS.contains(&kind.as_str()) && !FIXED_BOUNDS.contains(&kind.as_str()) => {
                let known = [&BOUNDS[..], &FIXED_BOUNDS].concat().join(", ");
                return Err(line.wrong(format!("a bound of the type {known}")));
            }
            ([column], true) => (column, None),
            ([first, _], true) if self.columns.contains(first) => (first, None),
            ([_, column] | [_, column, _], true) => (column, None),
            ([column, value] | [_, column, value], false) => (column, Some(value)),
            _ => return Err(line.wrong("a type of bound, a vector, a column and a number")),
        };
        if !self.columns.contains(column) {
            return Err(line.wrong(format!("the name of a column in COLUMNS, not {column:?}")));
        }
        // Bounds may be infinite.
        let is_right = value.is_none_or(|value| number(value).is_some());
        if is_right { Ok(()) } else { Err(line.wrong("a number as the bound")) }
    }
}
