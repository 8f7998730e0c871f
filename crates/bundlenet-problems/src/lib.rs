//! Problem families for `bundlenet`: validated instances, readers, writers, generators, and their Lagrangian duals as
//! oracles with fast exact subproblem solvers.
//!
//! ```
//! use bundlenet::{Settings, Solver};
//! use bundlenet_problems::{Family, Generator};
//!
//! let problem = Generator::new(Family::McSml40, 7).instance(0)?.problem;
//! let solution = Solver::new(Settings::default())?.solve(&mut *problem.dual())?;
//! println!("{}: lower bound {} after {} steps", solution.status, solution.value, solution.steps);
//! # assert!(solution.value > 0.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | topic | where |
//! |---|---|
//! | instances and their files | [`Problem`], [`Source`], [`Format`], [`ReadOptions`] |
//! | network design | [`NetworkDesign`], [`NetworkDesignDual`], [`network_design`] |
//! | facility location | [`FacilityLocation`], [`FacilityLocationDual`], [`facility_location`] |
//! | generalised assignment | [`Assignment`], [`AssignmentDual`], [`assignment`] |
//! | unit commitment, prices of electricity | [`UnitCommitment`], [`UnitCommitmentDual`], [`unit_commitment`] |
//! | knapsack solvers | [`BinaryKnapsack`], [`ContinuousKnapsack`] |
//! | data sets from a seed | [`Family`], [`Generator`], [`Manifest`] |
//! | examples to train and measure on | [`read_examples`], [`TrainingData`] |
//! | bounds that hold in exact arithmetic | [`Problem::safe_bound`], [`SafeBound`], [`Proof`], [`exact`] |
//! | primal and feasible solutions | [`Problem::recover`], [`Search`], [`ProblemPrimal`] |
//! | test functions with known optima | [`Academic`] |

// No panic reaches a user, and results go where the caller wants them.
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::print_stderr)]

mod academic;
pub mod assignment;
mod error;
pub mod exact;
mod examples;
pub mod facility_location;
mod format;
mod generate;
mod json;
mod knapsack;
pub mod network_design;
mod problem;
mod proof;
mod recovered;
mod safe;
mod text;
pub mod unit_commitment;

pub use academic::Academic;
pub use assignment::{Assignment, AssignmentDual};
pub use error::{Element, Error, InvalidInstance, ParseError};
pub use examples::{TrainingData, example_of, read_examples};
pub use facility_location::{FacilityLocation, FacilityLocationDual};
pub use format::Format;
pub use generate::{Family, GENERATOR_VERSION, Generated, Generator, Manifest, ManifestEntry, Split};
pub use knapsack::{BinaryKnapsack, ContinuousKnapsack, HardKnapsack};
pub use network_design::{NetworkDesign, NetworkDesignDual};
pub use problem::{Problem, ReadOptions, Source};
pub use proof::Proof;
pub use recovered::{ProblemPrimal, Recovered, Search, Violation};
pub use safe::{SafeBound, UnsafeBound};
pub use unit_commitment::{UnitCommitment, UnitCommitmentDual};
