//! The linear relaxation of a model: a bound, and duals to start from.

/// The linear relaxation of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Relaxation {
    /// Its value: a bound.
    pub bound: f64,
    /// Its duals of the relaxed rows. The value of the Lagrangian dual there is no worse than the bound, up to the
    /// tolerances of HiGHS.
    pub multipliers: Vec<f64>,
    /// Its duals of all rows, for an objective to be minimised.
    pub(crate) row_duals: Vec<f64>,
}
