//! Sums, instances and trainings of bundlenet over the ranks of MPI. No result depends on the number of ranks.
//!
//! | topic | items |
//! |---|---|
//! | the ranks of a job | [`World`] |
//! | components over ranks | [`Distributed`], [`serve`], [`gain`] |
//! | instances and trainings over ranks | [`World`] is a [`Team`](bundlenet::team::Team) |
//!
//! Every rank runs the same program on the same files:
//!
//! ```no_run
//! use bundlenet::{Oracle, Settings, Solver, SumOracle};
//! use bundlenet_mpi::{Distributed, World, serve};
//!
//! fn solve(oracle: &mut dyn SumOracle) -> Result<(), Box<dyn std::error::Error>> {
//!     let Some(world) = World::start() else { return Ok(()) };
//!     if world.rank() == 0 {
//!         let solution = Solver::new(Settings::default())?.solve(&mut Distributed::new(&world, oracle))?;
//!         println!("value {}", solution.value);
//!     } else {
//!         serve(&world, oracle);
//!     }
//!     Ok(())
//! }
//! ```
//!
//! `mpirun -n 8 program` starts it. A rank that panics or dies ends the job, with a message that names it.

// No panic reaches a user but as the end of the job, and results go where the caller wants them.
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::print_stderr)]

mod answer;
mod board;
mod claims;
mod deal;
mod distributed;
mod helper;
mod jobs;
mod outbox;
mod shares;
mod wire;
mod world;

pub use distributed::{Distributed, gain, serve};
pub use world::World;
