//! Bounds of columns that follow from rows, and whole bounds of integer columns.
//!
//! Only infinite bounds are filled, so that the blocks stay those of the model. The rows of the blocks come first:
//! relaxed rows bound a column only if nothing else does.

use crate::model::{Column, Model, Row};
use crate::structure::Structure;

/// Part of a whole number that counts as round-off.
const ROUND_OFF: f64 = 1e-9;

/// Rounds the bounds of integer columns to whole numbers between them.
pub(crate) fn round_bounds(model: &mut Model) {
    for column in model.columns.iter_mut().filter(|column| column.is_integer) {
        (column.lower, column.upper) = (whole_above(column.lower, 0.0), whole_below(column.upper, 0.0));
    }
}

/// The greatest whole number that is not above a number, but for the round-off of numbers of some size.
fn whole_below(number: f64, size: f64) -> f64 {
    if number.is_finite() { (number + ROUND_OFF * number.abs().max(size).max(1.0)).floor() } else { number }
}

/// The least whole number that is not below a number, but for the round-off of numbers of some size.
fn whole_above(number: f64, size: f64) -> f64 {
    -whole_below(-number, size)
}

/// Fills infinite bounds. Returns their number.
pub(crate) fn fill_bounds(model: &mut Model, structure: &Structure) -> usize {
    let (kept, relaxed): (Vec<usize>, Vec<usize>) = (0..model.rows.len()).partition(|&row| !structure.is_relaxed(row));
    let inner = fill_by(model, &kept);
    let all: Vec<usize> = kept.into_iter().chain(relaxed).collect();
    inner + fill_by(model, &all)
}

/// Fills by some rows, again and again until nothing changes. Each round fills a bound, so it ends.
fn fill_by(model: &mut Model, rows: &[usize]) -> usize {
    let mut filled = 0;
    loop {
        let before = filled;
        for &row in rows {
            filled += fill_by_row(model, row);
        }
        if filled == before {
            return filled;
        }
    }
}

/// The number of terms of a row, each with a sign, whose least value is infinite.
fn infinite_terms(model: &Model, row: &Row, sign: f64) -> usize {
    row.entries.iter().filter(|&&(column, entry)| model.columns[column].least(sign * entry).is_infinite()).count()
}

/// The least sum of the terms of a row but for one. It is not the difference of two sums: if that term is far larger than
/// the others, nothing would be left of them.
fn least_rest(model: &Model, row: &Row, sign: f64, left_out: usize) -> f64 {
    let others = row.entries.iter().enumerate().filter(|(at, _)| *at != left_out);
    others.map(|(_, &(column, entry))| model.columns[column].least(sign * entry)).sum()
}

fn fill_by_row(model: &mut Model, index: usize) -> usize {
    let mut filled = 0;
    for (side, sign) in [(model.rows[index].upper, 1.0), (-model.rows[index].lower, -1.0)] {
        // In both cases: sum of sign x entry x column <= side.
        if side.is_infinite() || infinite_terms(model, &model.rows[index], sign) > 1 {
            continue;
        }
        for at in 0..model.rows[index].entries.len() {
            let (column, entry) = model.rows[index].entries[at];
            let factor = sign * entry;
            // The bound that makes the term greatest.
            if model.columns[column].least(-factor).is_finite() {
                continue;
            }
            let rest = least_rest(model, &model.rows[index], sign, at);
            let limit = (side - rest) / factor;
            if limit.is_finite() {
                fill(&mut model.columns[column], factor, limit, (side / factor).abs());
                filled += 1;
            }
        }
    }
    filled
}

/// Fills the bound that `factor x column <= factor x limit` gives. The limit has the round-off of numbers of some size.
fn fill(column: &mut Column, factor: f64, limit: f64, size: f64) {
    let Column { lower, upper, is_integer, .. } = column;
    // A bound beyond the other one by round-off is equal to it.
    let is_close = |other: f64| (limit - other).abs() <= ROUND_OFF * other.abs().max(1.0);
    match (factor > 0.0, *is_integer) {
        (true, true) => *upper = whole_below(limit, size),
        (true, false) => *upper = if is_close(*lower) { limit.max(*lower) } else { limit },
        (false, true) => *lower = whole_above(limit, size),
        (false, false) => *lower = if is_close(*upper) { limit.min(*upper) } else { limit },
    }
}
