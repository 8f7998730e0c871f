//! Models from files, by the readers of HiGHS.

use std::path::Path;

use crate::error::Error;
use crate::highs::Highs;
use crate::model::{Column, Model};
use crate::text;

/// Bounds of at least this size count as infinite, as in HiGHS.
const INFINITE: f64 = 1e20;

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
        let wrong = |source| Error::Read { path: name.to_string(), source };
        // HiGHS reads files only, and takes the format from the extension.
        let mut file = tempfile::Builder::new().suffix(&format!(".{extension}")).tempfile().map_err(wrong)?;
        std::io::Write::write_all(&mut file, bytes).map_err(wrong)?;
        let mut model = Highs::new()
            .read(file.path())
            .map_err(|found| Error::content(name, format!("a model that HiGHS reads as .{extension}"), found))?;
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
