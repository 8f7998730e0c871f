//! The campaign: random functions of all families and scales, every method, and a check of every status.
//!
//! A case is a function. Several methods solve it, so that the best of their values is close to the optimum. A linear
//! program adds another good point where one can be solved. Every value is attained at a point, so it is a valid bound
//! on the optimum: a certificate that excludes it is false.

mod check;
mod draw;
mod instances;
mod methods;
mod planes;
mod run;
mod scaled;
mod tally;

pub use check::{Fault, Kind, size_at};
pub use draw::{Case, draw};
pub use methods::{NAMES, method};
pub use run::{Plan, campaign, run_case};
pub use scaled::Scaled;
pub use tally::Tally;
