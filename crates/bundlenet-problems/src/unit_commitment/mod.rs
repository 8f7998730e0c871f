//! Unit commitment (UC): the prices of electricity.
//!
//! Thermal units are switched on and off and produce, so that demand and reserve are met in every period at the least
//! cost. Dualising demand and reserve leaves one problem for each unit, which [`UnitCommitmentDual`] solves exactly. The
//! optimal multipliers are the *convex hull prices* of energy and reserve.
//!
//! ```text
//! max over lambda free, rho >= 0:   sum_t lambda_t D_t + rho_t R_t + sum_g phi_g(lambda, rho)
//! phi_g = min { cost of the schedule - lambda'output - rho'reserve : schedules of unit g }
//! ```

mod balance;
mod commitments;
mod feasible;
mod formulation;
mod free;
pub(crate) mod generate;
mod instance;
mod lagrangian;
mod merit_order;
pub(crate) mod parse;
mod prices;
mod primal;
mod profile;
mod program;
mod ramped;
mod unit;
mod write;

pub use instance::{CostPoint, Formulation, InitialState, RenewableUnit, StartCategory, ThermalUnit, UnitCommitment};
pub use lagrangian::UnitCommitmentDual;
pub use prices::Response;
pub use primal::{Schedules, Uplift};

use crate::UnsafeBound;

/// Costs between two points have slopes that are fractions of decimals, and ramps multiply them with outputs.
pub(crate) const NO_SAFE_BOUND: UnsafeBound = UnsafeBound::Family {
    family: "unit commitment",
    reason: "the slopes of its production costs are no integers, and no decimals",
};
