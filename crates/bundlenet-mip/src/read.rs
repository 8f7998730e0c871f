//! Models from files, by the readers of HiGHS.

use std::collections::HashSet;
use std::path::Path;

use bundlenet::Sense;

use crate::error::{Error, at_line};
use crate::highs::Highs;
use crate::model::{Column, Model};
use crate::mps;
use crate::text;

/// Bounds of at least this size count as infinite, as in HiGHS.
const INFINITE: f64 = 1e20;

/// Lines of a `.lp` file that one statement takes, as a rule.
const LINES_OF_STATEMENT: usize = 20;

/// The model of a text, or the objection of HiGHS.
fn by_highs(name: &str, bytes: &[u8], extension: &str) -> Result<Result<Model, String>, Error> {
    let wrong = |source| Error::Read { path: name.to_string(), source };
    // HiGHS reads files only, and takes the format from the extension.
    let mut file = tempfile::Builder::new().suffix(&format!(".{extension}")).tempfile().map_err(wrong)?;
    std::io::Write::write_all(&mut file, bytes).map_err(wrong)?;
    Ok(Highs::new().read(file.path()))
}

/// The first line that HiGHS objects to. HiGHS does not tell it, so it is searched for: the lines before it, and an end
/// after them, are the longest beginning of the text that HiGHS reads. In a `.lp` file it is the line where the wrong
/// statement begins.
fn first_wrong_line(name: &str, bytes: &[u8], extension: &str) -> Result<usize, Error> {
    let lines: Vec<&[u8]> = bytes.split_inclusive(|&byte| byte == b'\n').collect();
    let is_read = |count: usize| {
        let end: &[u8] = if extension == "mps" { b"\nENDATA\n" } else { b"\nEnd\n" };
        by_highs(name, &[&lines[..count].concat(), end].concat(), extension).map(|it| it.is_ok())
    };
    let (mut right, mut wrong) = (0, lines.len());
    while wrong - right > 1 {
        let middle = right.midpoint(wrong);
        // A beginning that ends within a statement is not read, but a longer one is.
        let longest = if extension == "mps" { middle } else { (middle + LINES_OF_STATEMENT).min(wrong - 1) };
        let mut found = None;
        for count in middle..=longest {
            if is_read(count)? {
                found = Some(count);
                break;
            }
        }
        match found {
            Some(count) => right = count,
            None => wrong = middle,
        }
    }
    Ok(right + 1)
}

impl Model {
    /// Reads a model by HiGHS: `.mps` (free or fixed) or `.lp`, plain or gzip.
    ///
    /// # Errors
    /// If the file cannot be read, or HiGHS does not understand it.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let extension = text::extension(path);
        if !["mps", "lp"].contains(&extension.as_str()) {
            let expected = "a model file .mps or .lp, plain or gzip";
            return Err(Error::content(path.display().to_string(), expected, format!("extension {extension:?}")));
        }
        Self::parse(&path.display().to_string(), &text::bytes(path)?, &extension)
    }

    /// Reads the text of a model by HiGHS. `name` is the name of the file in errors, `extension` is `mps` or `lp`.
    ///
    /// # Errors
    /// As [`Model::read`].
    pub fn parse(name: &str, bytes: &[u8], extension: &str) -> Result<Self, Error> {
        let text = String::from_utf8_lossy(bytes);
        match extension {
            "mps" => mps::check(name, &text)?,
            _ => check_numbers(name, &text)?,
        }
        let mut model = by_highs(name, bytes, extension)?.or_else(|found| {
            if extension == "lp" && !text.lines().any(|line| line.trim().eq_ignore_ascii_case("end")) {
                return Err(at_line(name, text.lines().count().max(1), "End", "the end of the file"));
            }
            let expected = format!("a model that HiGHS reads as .{extension}");
            Err(at_line(name, first_wrong_line(name, bytes, extension)?, expected, found))
        })?;
        if extension == "mps" && mps::is_maximised_by_comment(&text) {
            model.sense = Sense::Maximize;
        }
        model.tidy();
        model.check(name, &text)?;
        Ok(model)
    }

    /// Makes large bounds infinite and drops entries that are 0.
    fn tidy(&mut self) {
        let bounds = self.columns.iter_mut().map(|it| (&mut it.lower, &mut it.upper));
        for (lower, upper) in bounds.chain(self.rows.iter_mut().map(|it| (&mut it.lower, &mut it.upper))) {
            for bound in [lower, upper] {
                if bound.abs() >= INFINITE {
                    *bound = f64::INFINITY.copysign(*bound);
                }
            }
        }
        self.rows.iter_mut().for_each(|row| row.entries.retain(|(_, entry)| *entry != 0.0));
    }

    /// Refuses models without columns, names that occur twice, numbers that are no numbers, and bounds without a value
    /// between them.
    fn check(&self, name: &str, text: &str) -> Result<(), Error> {
        if self.columns.is_empty() {
            return Err(at_line(name, text.lines().count().max(1), "a model with columns", "the end of the file"));
        }
        for column in &self.columns {
            let Column { lower, upper, .. } = column;
            if !column.cost.is_finite() {
                let line = lines_with(text, &column.name).next().unwrap_or(1);
                let expected = format!("a finite cost of column {}", column.name);
                return Err(at_line(name, line, expected, format!("{}", column.cost)));
            }
            if lower > upper || lower.is_nan() || upper.is_nan() {
                let expected = format!("bounds of column {} with a value between them", column.name);
                return Err(at_line(
                    name,
                    line_of_bounds(text, &column.name),
                    expected,
                    format!("{lower} and {upper}"),
                ));
            }
        }
        let mut known = HashSet::new();
        for row in &self.rows {
            // The line that names the row, the second one if it is there twice.
            let line = |at: usize| lines_with(text, &row.name).take(at).last().unwrap_or(1);
            if !known.insert(row.name.as_str()) {
                return Err(at_line(name, line(2), "a name that no other row has", format!("{:?}", row.name)));
            }
            if let Some((_, entry)) = row.entries.iter().find(|(_, entry)| !entry.is_finite()) {
                return Err(at_line(name, line(1), format!("finite entries of row {}", row.name), format!("{entry}")));
            }
            if row.lower > row.upper || row.lower.is_nan() || row.upper.is_nan() {
                let expected = format!("sides of row {} with a value between them", row.name);
                return Err(at_line(name, line(1), expected, format!("{} and {}", row.lower, row.upper)));
            }
        }
        Ok(())
    }
}

/// The names and numbers of a line of a `.mps` or `.lp` file.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let is_between = |letter: char| letter.is_whitespace() || "+-*<>=:^[]".contains(letter);
    line.split(is_between).filter(|word| !word.is_empty())
}

/// The numbers of the lines with a word.
fn lines_with<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let has_word = move |line: &&str| line.split_whitespace().chain(words(line)).any(|it| it == word);
    text.lines().zip(1..).filter(move |(line, _)| has_word(line)).map(|(_, number)| number)
}

/// The line that sets the bounds of a column: the last bound that names it, or the first line with its name.
fn line_of_bounds(text: &str, column: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let is_heading = |line: &&str| line.trim().to_ascii_lowercase().starts_with("bound");
    let heading = lines.iter().position(is_heading).unwrap_or(0);
    // The types of integer columns may follow the bounds of a `.lp` file.
    let is_bound = |line: &str| line.contains(['<', '>', '=']) || mps::is_bound(line);
    let mut all = lines_with(text, column);
    let first = all.next().unwrap_or(1);
    let bounds = std::iter::once(first).chain(all).filter(|line| line - 1 > heading && is_bound(lines[line - 1]));
    bounds.last().unwrap_or(first)
}

/// The line of a `.lp` file with a number that is none. HiGHS drops its entry.
fn check_numbers(file: &str, text: &str) -> Result<(), Error> {
    let is_wrong = |line: &str| words(line.split('\\').next().unwrap_or("")).any(|it| it.eq_ignore_ascii_case("nan"));
    match text.lines().position(is_wrong) {
        Some(at) => Err(at_line(file, at + 1, "names and numbers", "nan")),
        None => Ok(()),
    }
}
