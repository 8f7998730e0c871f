//! Loose columns: continuous columns that are in no block, with an infinite bound.
//!
//! Slacks with a penalty are of this kind. Such a column is a block with a finite minimum only while its reduced cost has
//! the right sign. If it is in one relaxed row, that is a limit of the row's multiplier. The column is then at its
//! finite bound.

use crate::error::Error;
use crate::model::{Column, Model};
use crate::multipliers::Multipliers;
use crate::structure::Part;

/// Part of a reduced cost's terms that counts as round-off.
const ROUND_OFF: f64 = 1e-9;

/// Whether a column without rows of its own has an infinite bound that a limit of a multiplier takes the place of.
pub(crate) fn is_loose(column: &Column, coupling: &[(u32, f64)]) -> bool {
    let is_bounded = column.lower.is_finite() && column.upper.is_finite();
    !is_bounded && !column.is_integer && coupling.len() <= 1
}

/// The value of a loose column at a reduced cost, to be minimised: its finite bound, or 0. `None` if the block is
/// unbounded, which limits of multipliers exclude but for round-off. `size` is that of the terms of the reduced cost.
pub(crate) fn value(column: &Column, reduced: f64, size: f64) -> Option<f64> {
    let is_right = |reduced: f64| reduced >= -ROUND_OFF * size;
    match (column.lower.is_finite(), column.upper.is_finite()) {
        (true, _) => is_right(reduced).then_some(column.lower),
        (false, true) => is_right(-reduced).then_some(column.upper),
        (false, false) => (is_right(reduced) && is_right(-reduced)).then_some(0.0),
    }
}

/// Limits multipliers such that the reduced costs of loose columns have the right signs.
///
/// # Errors
/// If a row has no such multiplier, or if the cost of a column without any row has the wrong sign: the linear relaxation
/// is then infeasible or unbounded.
pub(crate) fn limit(
    model: &Model,
    parts: &[Part],
    coupling: &[Vec<(u32, f64)>],
    multipliers: &mut Multipliers,
) -> Result<(), Error> {
    let alone = parts.iter().filter(|part| part.rows.is_empty()).flat_map(|part| &part.columns);
    for &at in alone.filter(|&&at| is_loose(&model.columns[at], &coupling[at])) {
        let (column, sign) = (&model.columns[at], model.sense.sign());
        let wrong = |place: String, found: String| {
            let expected = format!("a bounded linear relaxation, also in column {}", column.name);
            Err(Error::content(place, expected, found))
        };
        let Some(&(multiplier, entry)) = coupling[at].first() else {
            if value(column, sign * column.cost, 0.0).is_none() {
                return wrong(format!("column {}", column.name), format!("the cost {} and no row", column.cost));
            }
            continue;
        };
        let (low, high) = &mut multipliers.limits[multiplier as usize];
        let limit = column.cost / entry;
        // The sign of `cost - entry x multiplier` in a model to minimise, and the side on which the limit is.
        let is_above = sign * entry > 0.0;
        if column.upper.is_infinite() {
            *(if is_above { &mut *high } else { &mut *low }) = if is_above { high.min(limit) } else { low.max(limit) };
        }
        if column.lower.is_infinite() {
            *(if is_above { &mut *low } else { &mut *high }) = if is_above { low.max(limit) } else { high.min(limit) };
        }
        if low > high {
            let row = &model.rows[multipliers.rows[multiplier as usize]].name;
            return wrong(format!("row {row}"), format!("a multiplier of at least {low} and at most {high}"));
        }
    }
    Ok(())
}
