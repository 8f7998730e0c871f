//! Exact solvers for the two kinds of knapsack that the Lagrangian subproblems are.

mod binary;
mod continuous;

pub use binary::{BinaryKnapsack, HardKnapsack};
pub use continuous::ContinuousKnapsack;
pub(crate) use continuous::{Filled, fill, fill_from};
