//! Multicommodity capacitated fixed-charge network design (MC).
//!
//! Open arcs at a fixed cost and route commodities through their capacities:
//!
//! ```text
//! min  sum_a f_a y_a + sum_(a,k) r_a^k x_a^k
//! s.t. sum_out x^k - sum_in x^k = q_k at o_k, -q_k at d_k, 0 elsewhere     (dualised, multipliers pi[k][i])
//!      sum_k x_a^k <= c_a y_a,   0 <= x_a^k <= q_k,   y binary
//! ```
//!
//! Dualising flow conservation leaves one continuous knapsack per arc: [`NetworkDesignDual`].

mod barrier;
mod feasible;
pub(crate) mod generate;
mod instance;
mod lagrangian;
pub(crate) mod parse;
mod primal;
mod proof;
mod safe;
mod write;

pub use instance::{Arc, Commodity, NetworkDesign};
pub use lagrangian::NetworkDesignDual;
pub use primal::Design;
