//! The JSON layout of the published data sets.

use std::fmt::Write;

use serde::Deserialize;

use super::text::{JsonStep, json_error, json_line};
use crate::error::{InvalidInstance, ParseError};
use bundlenet::Sense;

/// The fields of all problem families, under their published names, or ours. Other fields are ignored.
#[derive(Deserialize)]
pub(crate) struct Fields {
    #[serde(rename = "N")]
    pub(crate) nodes: Option<f64>,
    pub(crate) tail: Option<Vec<f64>>,
    pub(crate) head: Option<Vec<f64>>,
    #[serde(rename = "f")]
    pub(crate) fixed_cost: Option<Vec<f64>>,
    #[serde(rename = "c")]
    pub(crate) capacity: Option<Vec<f64>>,
    #[serde(rename = "o")]
    pub(crate) origin: Option<Vec<f64>>,
    #[serde(rename = "d")]
    pub(crate) destination: Option<Vec<f64>>,
    #[serde(rename = "q")]
    pub(crate) demand: Option<Vec<f64>>,
    #[serde(rename = "r")]
    pub(crate) routing_costs: Option<Vec<Vec<f64>>>,
    #[serde(rename = "I")]
    pub(crate) items: Option<f64>,
    #[serde(rename = "J")]
    pub(crate) bins: Option<f64>,
    #[serde(rename = "p")]
    pub(crate) profits: Option<Vec<Vec<f64>>>,
    #[serde(rename = "w")]
    pub(crate) weights: Option<Vec<Vec<f64>>>,
    pub(crate) sites: Option<f64>,
    pub(crate) customers: Option<f64>,
    /// A site without a number has no limit.
    #[serde(rename = "capacity")]
    pub(crate) site_capacity: Option<Vec<Option<f64>>>,
    #[serde(rename = "fixed_cost")]
    pub(crate) site_cost: Option<Vec<f64>>,
    #[serde(rename = "demand")]
    pub(crate) customer_demand: Option<Vec<f64>>,
    #[serde(rename = "cost")]
    pub(crate) service_cost: Option<Vec<Vec<f64>>>,
    pub(crate) thermal_generators: Option<serde::de::IgnoredAny>,
    /// Not in the published files, which all maximise.
    pub(crate) sense: Option<SenseField>,
    instance: Option<Box<Fields>>,
}

/// `"sense": "min"` or `"max"`.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SenseField {
    Min,
    Max,
}

impl From<SenseField> for Sense {
    fn from(field: SenseField) -> Self {
        match field {
            SenseField::Min => Self::Minimize,
            SenseField::Max => Self::Maximize,
        }
    }
}

/// The fields of an instance, with the file and the text for error messages.
pub(crate) struct RawInstance<'a> {
    file: &'a str,
    text: &'a str,
    wrapped: bool,
    pub(crate) fields: Fields,
}

impl<'a> RawInstance<'a> {
    /// Reads the fields from the key `instance`, as published, or from the top level.
    pub(crate) fn parse(file: &'a str, text: &'a str) -> Result<Self, ParseError> {
        let expected = "JSON as in the published data sets";
        let mut fields: Fields =
            serde_json::from_str(text).map_err(|error| json_error((file, text), expected, &error))?;
        let inner = fields.instance.take();
        let wrapped = inner.is_some();
        Ok(Self { file, text, wrapped, fields: inner.map_or(fields, |inner| *inner) })
    }

    fn error(&self, path: &[JsonStep], expected: String, found: String) -> ParseError {
        let mut whole = if self.wrapped { vec![JsonStep::Key("instance")] } else { vec![] };
        whole.extend(path);
        ParseError { file: self.file.to_string(), line: json_line(self.text, &whole), expected, found }
    }

    /// The error for data that can be read but are invalid.
    pub(crate) fn invalid(&self, path: Vec<JsonStep>, invalid: InvalidInstance) -> ParseError {
        let expected = format!("{} to be {}", invalid.element, invalid.expected);
        self.error(&path, expected, invalid.found)
    }

    /// The error for a file with the fields of no family.
    pub(crate) fn unknown(&self) -> ParseError {
        let expected = "the fields N, tail, head, f, c, o, d, q, r (network design), I, J, c, p, w (assignment), \
            sites, customers, capacity, fixed_cost, demand, cost (facility location) or time_periods, demand, \
            thermal_generators (unit commitment)";
        self.error(&[], expected.to_string(), "none of them".to_string())
    }

    fn present<T>(&self, key: &'static str, field: Option<T>) -> Result<T, ParseError> {
        field.ok_or_else(|| self.error(&[], format!("a field {key:?}"), "none".to_string()))
    }

    pub(crate) fn list<'b, T>(&self, key: &'static str, field: Option<&'b [T]>) -> Result<&'b [T], ParseError> {
        self.present(key, field)
    }

    pub(crate) fn count(&self, key: &'static str, field: Option<f64>) -> Result<usize, ParseError> {
        let number = self.present(key, field)?;
        whole(number, u64::MAX as f64)
            .map(|number| number as usize)
            .ok_or_else(|| self.error(&[JsonStep::Key(key)], format!("a whole number {key}"), number.to_string()))
    }

    /// A list of indices counted from 0.
    pub(crate) fn indices(&self, key: &'static str, field: Option<&[f64]>) -> Result<Vec<usize>, ParseError> {
        let list = self.present(key, field)?;
        self.whole_numbers(&[JsonStep::Key(key)], list).map(|list| list.map(|number| number as usize).collect())
    }

    /// Whole numbers below 2^32.
    pub(crate) fn whole_numbers<'b>(
        &self,
        path: &[JsonStep],
        list: &'b [f64],
    ) -> Result<impl Iterator<Item = u32> + use<'b>, ParseError> {
        match list.iter().position(|&number| whole(number, f64::from(u32::MAX)).is_none()) {
            None => Ok(list.iter().map(|&number| number as u32)),
            Some(at) => {
                let mut path = path.to_vec();
                path.push(JsonStep::Index(at));
                Err(self.error(&path, "a whole number below 2^32".to_string(), list[at].to_string()))
            }
        }
    }

    pub(crate) fn same_length(&self, key: &'static str, expected: usize, found: usize) -> Result<(), ParseError> {
        if expected == found {
            return Ok(());
        }
        Err(self.error(&[JsonStep::Key(key)], format!("{expected} entries in {key:?}"), found.to_string()))
    }

    /// A matrix stored as a list of rows.
    pub(crate) fn matrix<'b>(
        &self,
        key: &'static str,
        field: Option<&'b [Vec<f64>]>,
        rows: usize,
        columns: usize,
    ) -> Result<&'b [Vec<f64>], ParseError> {
        let matrix = self.present(key, field)?;
        self.same_length(key, rows, matrix.len())?;
        match matrix.iter().position(|row| row.len() != columns) {
            None => Ok(matrix),
            Some(row) => Err(self.error(
                &[JsonStep::Key(key), JsonStep::Index(row)],
                format!("{columns} entries in row {row} of {key:?}"),
                matrix[row].len().to_string(),
            )),
        }
    }
}

fn whole(number: f64, most: f64) -> Option<f64> {
    (number >= 0.0 && number <= most && number.fract() == 0.0).then_some(number)
}

/// Appends a list of numbers to a JSON text: whole numbers as published, without a decimal point.
pub(crate) fn write_list(text: &mut String, numbers: impl IntoIterator<Item = f64>) {
    text.push('[');
    for (index, number) in numbers.into_iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        // Without the point, `-0` would read back as the integer 0.
        let point = if number == 0.0 && number.is_sign_negative() { ".0" } else { "" };
        let _ = write!(text, "{number}{point}");
    }
    text.push(']');
}
