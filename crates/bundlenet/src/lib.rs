//! Minimise convex nonsmooth functions, above all Lagrangian duals.
//!
//! # The problem
//!
//! ```text
//! min f(x)   over x free or x >= 0,   f convex, known through an oracle: a value and one subgradient at a point
//! ```
//!
//! # Example
//!
//! ```
//! use bundlenet::{FnOracle, Settings, Solver};
//!
//! // max(x, -2 x) + |y - 1|
//! let mut oracle = FnOracle::new(2, |point: &[f64], subgradient: &mut [f64]| {
//!     let (x, y) = (point[0], point[1]);
//!     subgradient[0] = if x >= 0.0 { 1.0 } else { -2.0 };
//!     subgradient[1] = if y >= 1.0 { 1.0 } else { -1.0 };
//!     Ok(x.max(-2.0 * x) + (y - 1.0).abs())
//! });
//! let solution = Solver::new(Settings::default())?.start(&[-4.0, 7.0]).solve(&mut oracle)?;
//! assert!(solution.value < 1e-6);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where to find things
//!
//! | topic | items |
//! |---|---|
//! | the function | [`Oracle`], [`FnOracle`], [`Domain`], [`Sense`] |
//! | sums, primal solutions | [`SumOracle`], [`PrimalOracle`] |
//! | a method of the problem's own | [`StructuredOracle`], [`StructuredMethod`], [`StructuredStep`] |
//! | sums on several threads | [`Components`], [`Parallel`] |
//! | is my oracle right? | [`check()`], [`check_points`], [`Check`] |
//! | solving | [`Solver`], [`Settings`], [`Method`], [`Limits`], [`Solution`], [`Status`] |
//! | watching a run | [`Observer`], [`Record`], [`Log`], [`Interrupt`] |
//! | warm starts and saved states | [`State`], [`Journal`], [`Reuse`] |
//! | trained networks | [`Model`], [`Architecture`] |
//! | training | [`train`] |
//! | work on several processes | [`team`] |
//! | errors | [`Error`], [`EvaluationError`], [`InvalidSetting`] |
//!
//! Problem families with exact subproblem solvers are in the crate `bundlenet-problems`.

// No panic reaches a user, and nothing is printed: the caller decides about output.
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::print_stderr)]

mod error;
mod files;
mod master;
mod method;
mod model;
mod network;
mod oracle;
mod run;
pub mod team;
pub mod train;

pub use error::{Error, InvalidSetting};
pub use master::Strategy;
#[doc(hidden)]
pub use master::{Sizes, master_seconds};
pub use method::{
    AutoSettings, BundleSettings, Cuts, Evaluate, HybridSettings, Method, NetworkSettings, NoSettings, OPTIONS,
    OptionInfo, Pruning, StepSettings, Told,
};
pub use network::{
    Activation, Architecture, Attention, Card, Centre, Metric, Model, Precision, Sampling, Schema, StepUnit, Transform,
};
pub use oracle::{
    Answer, Bound, Case, Check, Components, Diagnosis, Domain, EvaluationError, Fingerprint, FnOracle, Function,
    Interrupt, Interval, Lines, Minorants, Oracle, OracleError, Parallel, Parts, Primal, PrimalOracle, Room, Rule,
    Sense, Solutions, StructuredMethod, StructuredOracle, StructuredStep, SumOracle, Violation, check, check_points,
};
pub use run::{
    ComponentReuse, Cut, Journal, Limits, Log, Observer, Record, Reuse, Settings, Solution, Solver, State, Status,
    TraceRow,
};
