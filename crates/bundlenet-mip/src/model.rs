//! A mixed-integer program, as its file has it.

use std::collections::HashMap;

use bundlenet::Sense;

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
