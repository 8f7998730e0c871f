//! Exact solvers for the two kinds of knapsack that the Lagrangian subproblems are.

mod binary;
mod continuous;

pub use binary::BinaryKnapsack;
pub(crate) use continuous::{Filled, fill, fill_from};
pub use continuous::ContinuousKnapsack;
