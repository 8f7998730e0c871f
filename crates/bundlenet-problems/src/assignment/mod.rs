//! Generalised assignment (GA).
//!
//! Put items into bins without exceeding any capacity, each item at most once for the greatest profit, or exactly
//! once at the least cost:
//!
//! ```text
//! max sum p_ij x_ij,  sum_j x_ij <= 1   or   min sum p_ij x_ij,  sum_j x_ij = 1     (dualised, multipliers pi_i)
//! s.t. sum_i w_ij x_ij <= c_j,   x binary
//! ```
//!
//! Dualising the assignment constraints leaves one 0/1 knapsack per bin: [`AssignmentDual`].

mod feasible;
pub(crate) mod generate;
mod instance;
mod lagrangian;
pub(crate) mod parse;
mod primal;
mod proof;
mod safe;
mod write;
pub(crate) mod yagiura;

pub use instance::Assignment;
pub use lagrangian::AssignmentDual;
pub use primal::Placement;
