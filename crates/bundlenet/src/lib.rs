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
//! The Lagrangian dual of a generated network design instance, solved:
//!
//! ```
//! use bundlenet::{Family, Generator, Limits, Settings, Silent, solve};
//!
//! let instance = Generator::new(Family::McSml40, 7).instance(0)?;
//! let mut dual = instance.problem.dual();
//! let settings = Settings { limits: Limits { steps: Some(50), ..Limits::default() }, ..Settings::default() };
//! let solution = solve(&mut *dual, None, &settings.check()?, &mut Silent, None)?;
//! println!("{}: bound {} after {} steps", solution.status, solution.value, solution.steps);
//! # assert!(solution.value > 0.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Modules
//!
//! | what | where |
//! |---|---|
//! | the oracle interface | [`Oracle`], [`SumOracle`], [`Domain`], [`Sense`], [`FnOracle`], [`Minimized`] |
//! | primal solutions | [`PrimalOracle`], [`Primal`], [`Problem::recover`] |
//! | solving | [`solve`], [`Settings`], [`Solution`], [`Status`], [`Observer`], [`Log`] |
//! | warm starts, saved states, changed data | [`solve_from`], [`solve_saving`], [`State`], [`Journal`], [`Reuse`] |
//! | networks and their training | [`learn`], [`Model`], [`solve_batch`] |
//! | test functions with known optima | [`Academic`] |
//! | instances, readers, writers, generators | [`problems`], [`Problem`], [`Generator`] |
//! | bounds that hold in exact arithmetic | [`Problem::safe_bound`], [`SafeBound`] |
//! | what can go wrong | [`Error`], [`EvaluationError`], [`UnsafeBound`] |

// No panic reaches a user, and results go where the caller wants them.
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::print_stderr)]

mod academic;
mod batch;
mod bundle;
mod cholesky;
mod driver;
mod error;
pub mod experiment;
mod files;
mod function;
mod grouping;
pub mod learn;
mod log;
mod master;
mod method;
mod observe;
mod oracle;
mod primal;
pub mod problems;
mod settings;
mod simd;
mod state;
mod status;
mod vectors;

pub use academic::Academic;
pub use batch::solve_batch;
pub use driver::{Solution, TraceRow, solve, solve_from, solve_saving};
pub use error::{Element, Error, EvaluationError, InvalidInstance, ParseError};
pub use learn::Model;
pub use log::Log;
pub use master::Strategy;
pub use observe::{Observer, Record, Silent};
pub use oracle::{Bound, Domain, FnOracle, Minimized, Minorants, Oracle, OracleError, Sense, SumOracle};
pub use primal::{Primal, PrimalOracle};
pub use problems::{
    Assignment, AssignmentDual, Family, Format, Generator, NetworkDesign, NetworkDesignDual, Problem, ProblemPrimal,
    ReadOptions, Recovered, SafeBound, Source, UnsafeBound, Violation,
};
pub use settings::{
    Granularity, InvalidSetting, Limits, MethodName, ProximitySettings, PruningSettings, Settings, Tolerances,
    ValidSettings,
};
pub use state::{ComponentReuse, Cut, Fingerprint, Journal, Reuse, State};
pub use status::Status;

/// The examples in the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The examples in the page on training, as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/training.md")]
struct Training;

/// The program in the page on problems of one's own, as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/own-problem.md")]
struct OwnProblem;
