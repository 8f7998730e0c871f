//! Runs: limits, clock, interrupts, observers, states. The driver in `drive.rs` runs every method.

mod batch;
mod drive;
mod journal;
mod log;
mod observe;
mod reuse;
mod runaway;
mod settings;
mod solution;
mod solver;
mod state;

pub(crate) use batch::solve_in_step;
pub use journal::Journal;
pub use log::Log;
pub use observe::{Observer, Record};
pub use reuse::{ComponentReuse, Reuse};
pub use settings::{Limits, Settings};
pub use solution::{Solution, Status, TraceRow};
pub use solver::Solver;
pub use state::{Cut, State};
