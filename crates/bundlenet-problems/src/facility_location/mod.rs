//! Capacitated facility location (CFL).
//!
//! Open sites at fixed costs, and serve every customer from open sites within their capacities, at the least cost. A
//! customer may be served by several sites:
//!
//! ```text
//! min sum_j f_j y_j + sum_ij c_ij x_ij
//! s.t. sum_j x_ij = 1 for each customer i               (dualised, multipliers u_i)
//!      sum_i d_i x_ij <= s_j y_j,   0 <= x_ij <= y_j,   y binary
//! ```
//!
//! Dualising the assignment of customers leaves one continuous knapsack for each site: [`FacilityLocationDual`].

mod feasible;
pub(crate) mod generate;
mod instance;
mod lagrangian;
pub(crate) mod parse;
mod primal;
mod safe;
mod transport;
mod write;

pub use instance::{FacilityLocation, Site};
pub use lagrangian::FacilityLocationDual;
pub use primal::Plan;
