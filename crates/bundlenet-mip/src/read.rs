//! Models from files, by the readers of HiGHS.

use std::path::Path;

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
        if extension == "mps" {
            mps::check(name, &String::from_utf8_lossy(bytes))?;
        }
        let mut model = by_highs(name, bytes, extension)?.or_else(|found| {
            let expected = format!("a model that HiGHS reads as .{extension}");
            Err(at_line(name, first_wrong_line(name, bytes, extension)?, expected, found))
        })?;
        model.tidy();
        model.check(name)?;
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

    /// Refuses numbers that are no numbers, and bounds without a value between them.
    fn check(&self, name: &str) -> Result<(), Error> {
        for column in &self.columns {
            let Column { lower, upper, .. } = column;
            if !column.cost.is_finite() {
                return Err(Error::content(
                    format!("{name}: column {}", column.name),
                    "a finite cost",
                    format!("{}", column.cost),
                ));
            }
            if lower > upper || lower.is_nan() || upper.is_nan() {
                let place = format!("{name}: column {}", column.name);
                return Err(Error::content(place, "bounds with a value between them", format!("{lower} and {upper}")));
            }
        }
        for row in &self.rows {
            let place = || format!("{name}: row {}", row.name);
            if let Some((_, entry)) = row.entries.iter().find(|(_, entry)| !entry.is_finite()) {
                return Err(Error::content(place(), "finite entries", format!("{entry}")));
            }
            if row.lower > row.upper || row.lower.is_nan() || row.upper.is_nan() {
                let found = format!("{} and {}", row.lower, row.upper);
                return Err(Error::content(place(), "bounds with a value between them", found));
            }
        }
        Ok(())
    }
}
