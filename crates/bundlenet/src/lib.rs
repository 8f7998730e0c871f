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
//! The Lagrangian dual of a generated network design instance, evaluated at a point:
//!
//! ```
//! use bundlenet::{Family, Generator, Minimized, Oracle};
//!
//! let generator = Generator::new(Family::McSml40, 7);
//! let instance = generator.instance(0)?;
//! let mut dual = instance.problem.dual();
//! let point = vec![0.5; dual.dim()];
//! let mut subgradient = vec![0.0; dual.dim()];
//! let mut function = Minimized::new(&mut *dual)?;
//! // The dual is maximised; methods see it minimised.
//! let value = function.evaluate(&point, &mut subgradient)?;
//! println!("bound {:.1} after {} evaluation", -value, function.evaluations());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Modules
//!
//! | what | where |
//! |---|---|
//! | the oracle interface | [`Oracle`], [`SumOracle`], [`Domain`], [`Sense`], [`FnOracle`], [`Minimized`] |
//! | test functions with known optima | [`Academic`] |
//! | instances, readers, writers, generators | [`problems`], [`Problem`], [`Generator`] |
//! | what can go wrong | [`Error`], [`EvaluationError`] |

// No panic reaches a user, and results go where the caller wants them.
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::print_stderr)]

mod academic;
mod bundle;
mod driver;
mod error;
mod log;
mod master;
mod method;
mod observe;
mod oracle;
pub mod problems;
mod settings;
mod simd;
mod status;
mod vectors;

pub use academic::Academic;
pub use driver::{Solution, TraceRow, solve};
pub use error::{Element, Error, EvaluationError, InvalidInstance, ParseError};
pub use log::Log;
pub use master::Strategy;
pub use observe::{Observer, Record, Silent};
pub use oracle::{Bound, Domain, FnOracle, Minimized, Minorants, Oracle, OracleError, Sense, SumOracle};
pub use problems::{
    Assignment, AssignmentDual, Family, Format, Generator, NetworkDesign, NetworkDesignDual, Problem, ReadOptions,
    Source,
};
pub use settings::{
    InvalidSetting, Limits, MethodName, ProximitySettings, PruningSettings, Settings, Tolerances, ValidSettings,
};
pub use status::Status;

/// The examples in the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
