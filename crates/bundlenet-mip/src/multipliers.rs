//! The multipliers of relaxed rows.

use crate::model::{Column, Model};
use crate::structure::Structure;

/// Relaxed rows of a dual: sides and domains of the multipliers.
#[derive(Clone, Debug)]
pub(crate) struct Multipliers {
    pub(crate) rows: Vec<usize>,
    pub(crate) sides: Vec<f64>,
    pub(crate) limits: Vec<(f64, f64)>,
}

/// The sides and the limits of the multipliers of relaxed rows. Ranged rows get a slack.
pub(crate) fn multipliers_of(model: &mut Model, structure: &Structure) -> Multipliers {
    let mut found = Multipliers { rows: vec![], sides: vec![], limits: vec![] };
    let sign = model.sense.sign();
    for row in structure.relaxed() {
        let (lower, upper) = (model.rows[row].lower, model.rows[row].upper);
        let (side, limits) = match (lower.is_finite(), upper.is_finite()) {
            // A free row says nothing.
            (false, false) => continue,
            (true, true) if lower == upper => (lower, (f64::NEG_INFINITY, f64::INFINITY)),
            (true, true) => {
                let slack = model.columns.len();
                let name = format!("slack of {}", model.rows[row].name);
                model.columns.push(Column { name, cost: 0.0, lower, upper, is_integer: false });
                model.rows[row].entries.push((slack, -1.0));
                (model.rows[row].lower, model.rows[row].upper) = (0.0, 0.0);
                (0.0, (f64::NEG_INFINITY, f64::INFINITY))
            }
            (true, false) => (lower, (0.0, f64::INFINITY)),
            (false, true) => (upper, (f64::NEG_INFINITY, 0.0)),
        };
        // Limits are those of a model to minimise.
        let (low, high) = limits;
        found.rows.push(row);
        found.sides.push(side);
        found.limits.push(if sign > 0.0 { limits } else { (0.0 - high, 0.0 - low) });
    }
    found
}
