//! Exact solvers for the Lagrangian subproblems: continuous and 0/1 knapsacks.

mod binary;
mod branch;
mod continuous;
mod whole;

pub use binary::BinaryKnapsack;
pub use branch::HardKnapsack;
pub use continuous::ContinuousKnapsack;
pub(crate) use continuous::{Filled, fill, fill_from};
pub use whole::WholeKnapsack;
