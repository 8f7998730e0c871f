//! A mixed-integer program, as its file has it.

use std::collections::HashMap;
use std::path::Path;

use bundlenet::Sense;

use crate::error::Error;
use crate::highs::Highs;
use crate::text;

/// Bounds of at least this size count as infinite, as in HiGHS.
const INFINITE: f64 = 1e20;

/// A mixed-integer linear program.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Whether the objective is minimised or maximised.
    pub sense: Sense,
    /// Constant of the objective.
    pub offset: f64,
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows.
    pub rows: Vec<Row>,
}

/// A variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name in the file.
    pub name: String,
    /// Cost in the objective.
    pub cost: f64,
    /// Lower bound; may be infinite.
    pub lower: f64,
    /// Upper bound; may be infinite.
    pub upper: f64,
    /// Whether it takes whole values only.
    pub is_integer: bool,
}

/// A constraint `lower <= sum of entry x column <= upper`.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Name in the file.
    pub name: String,
    /// Lower bound; may be infinite.
    pub lower: f64,
    /// Upper bound; may be infinite.
    pub upper: f64,
    /// Columns and entries that are not 0.
    pub entries: Vec<(usize, f64)>,
}

impl Column {
    /// The product of a factor and the bound that makes it least.
    pub(crate) fn least(&self, factor: f64) -> f64 {
        if factor == 0.0 { 0.0 } else { factor * if factor > 0.0 { self.lower } else { self.upper } }
    }
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

    /// The model with some columns and rows only. The rows have no other columns.
    pub(crate) fn part(&self, columns: &[usize], rows: &[usize]) -> Self {
        let place: HashMap<usize, usize> = columns.iter().enumerate().map(|(at, &column)| (column, at)).collect();
        let row = |&row: &usize| {
            let row = &self.rows[row];
            let mut entries: Vec<(usize, f64)> =
                row.entries.iter().filter_map(|&(column, entry)| Some((*place.get(&column)?, entry))).collect();
            entries.sort_unstable_by_key(|(column, _)| *column);
            Row { entries, ..row.clone() }
        };
        Self {
            sense: self.sense,
            offset: 0.0,
            columns: columns.iter().map(|&column| self.columns[column].clone()).collect(),
            rows: rows.iter().map(row).collect(),
        }
    }

    /// Value of the objective.
    #[must_use]
    pub fn objective(&self, values: &[f64]) -> f64 {
        self.offset + self.columns.iter().zip(values).map(|(column, value)| column.cost * value).sum::<f64>()
    }

    /// The first bound, integrality or row that `values` violate by more than `tolerance` of the numbers that enter.
    #[must_use]
    pub fn violation(&self, values: &[f64], tolerance: f64) -> Option<String> {
        for (column, &value) in self.columns.iter().zip(values) {
            let slack = tolerance * value.abs().max(1.0);
            if !(value >= column.lower - slack && value <= column.upper + slack) {
                return Some(format!("column {} = {value} outside of its bounds", column.name));
            }
            if column.is_integer && (value - value.round()).abs() > slack {
                return Some(format!("integer column {} = {value}", column.name));
            }
        }
        for row in &self.rows {
            let terms = row.entries.iter().map(|&(column, entry)| entry * values[column]);
            let slack = tolerance * terms.clone().fold(1.0, |most: f64, term| most.max(term.abs()));
            let activity: f64 = terms.sum();
            if !(activity >= row.lower - slack && activity <= row.upper + slack) {
                return Some(format!("row {} = {activity}, not between {} and {}", row.name, row.lower, row.upper));
            }
        }
        None
    }
}
