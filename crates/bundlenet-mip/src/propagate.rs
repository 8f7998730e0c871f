//! Bounds of columns that follow from rows.
//!
//! Only infinite bounds are filled, so that the blocks stay those of the model. The rows of the blocks come first:
//! relaxed rows bound a column only if nothing else does.

use crate::model::{Model, Row};
use crate::structure::Structure;

/// Part of a whole number that counts as round-off.
const ROUND_OFF: f64 = 1e-9;

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

/// The least sum of the terms of a row but for infinite ones, and the number of those. Times -1: the greatest.
fn least_sum(model: &Model, row: &Row, sign: f64) -> (f64, usize) {
    let terms = row.entries.iter().map(|&(column, entry)| model.columns[column].least(sign * entry));
    terms.fold(
        (0.0, 0),
        |(sum, infinite), term| if term.is_finite() { (sum + term, infinite) } else { (sum, infinite + 1) },
    )
}

fn fill_by_row(model: &mut Model, index: usize) -> usize {
    let mut filled = 0;
    for (side, sign) in [(model.rows[index].upper, 1.0), (-model.rows[index].lower, -1.0)] {
        // In both cases: sum of sign x entry x column <= side.
        if side.is_infinite() {
            continue;
        }
        let (sum, infinite) = least_sum(model, &model.rows[index], sign);
        if infinite > 1 {
            continue;
        }
        for at in 0..model.rows[index].entries.len() {
            let (column, entry) = model.rows[index].entries[at];
            let factor = sign * entry;
            let own = model.columns[column].least(factor);
            if infinite == 1 && own.is_finite() {
                continue;
            }
            let rest = if own.is_finite() { sum - own } else { sum };
            filled += usize::from(fill(model, column, factor, (side - rest) / factor));
        }
    }
    filled
}

/// Fills the bound that `factor x column <= factor x limit` gives, if it is infinite.
fn fill(model: &mut Model, column: usize, factor: f64, limit: f64) -> bool {
    let column = &mut model.columns[column];
    let bound = if factor > 0.0 { &mut column.upper } else { &mut column.lower };
    if bound.is_finite() || !limit.is_finite() {
        return false;
    }
    let slack = ROUND_OFF * limit.abs().max(1.0);
    *bound = match (column.is_integer, factor > 0.0) {
        (false, _) => limit,
        (true, true) => (limit + slack).floor(),
        (true, false) => (limit - slack).ceil(),
    };
    true
}
