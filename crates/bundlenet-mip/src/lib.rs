//! Lagrangian bounds of block-structured mixed-integer programs: any model file, with blocks from a `.dec` file, from a
//! pattern of row names, or from the scenarios of a stochastic program.
//!
//! ```no_run
//! use bundlenet::{Settings, Solver};
//! use bundlenet_mip::{Blocks, Model, Structure, Watch};
//!
//! let model = Model::read("model.mps")?;
//! let structure = Structure::of_pattern(&model, "^demand")?;
//! let blocks = Blocks::new(model, &structure)?;
//! let solution = Solver::new(Settings::default())?.solve(&mut blocks.dual(Watch::default())?)?;
//! println!("bound {}", solution.value);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | topic | items |
//! |---|---|
//! | model files | [`Model`], [`Column`], [`Row`] |
//! | relaxed rows and blocks | [`Structure`], [`Candidate`], [`candidates`], [`LinkingColumns`] |
//! | the dual | [`Blocks`], [`BlockDual`], [`Block`], [`Kind`], [`Relaxation`] |
//! | two-stage stochastic programs | [`TwoStage`], [`Scenario`], [`FirstStage`] |
//! | bounds in exact arithmetic | [`WholeBlocks`] |
//! | limits inside the calls of HiGHS | [`Watch`] |
//! | errors | [`Error`] |
//!
//! HiGHS reads the model files and solves the blocks that have no solver of their own. It is not exact: see
//! [`TOLERANCE`].

// No panic reaches a user, and results go where the caller wants them.
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::print_stderr)]

mod block;
mod blocks;
mod candidates;
mod communities;
mod dec;
mod dual;
mod error;
mod first_stage;
mod folder;
mod general;
mod highs;
mod jdec;
mod knapsack;
mod lines;
mod loose;
mod model;
mod mps;
mod multipliers;
mod propagate;
mod read;
mod relaxation;
mod scenario;
mod smps;
mod solved;
mod solver;
mod structure;
mod text;
mod two_stage;
mod watch;
mod whole;

pub use block::{Block, Kind};
pub use blocks::Blocks;
pub use candidates::{Candidate, LinkingColumns, candidates, linking_columns};
pub use dual::BlockDual;
pub use error::Error;
pub use first_stage::FirstStage;
pub use general::TOLERANCE;
pub use model::{Column, Model, Row};
pub use relaxation::Relaxation;
pub use scenario::Scenario;
pub use structure::Structure;
pub use two_stage::TwoStage;
pub use watch::Watch;
pub use whole::WholeBlocks;
