//! Solutions of a block.

/// Solutions of a block, for costs that are minimised.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Solved {
    /// The best solution.
    pub(crate) values: Vec<f64>,
    /// Lower bound on the cost; `None` if the solution is optimal.
    pub(crate) bound: Option<f64>,
    /// Further solutions, the best first.
    pub(crate) more: Vec<Vec<f64>>,
}
