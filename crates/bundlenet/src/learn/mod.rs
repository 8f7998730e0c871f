//! The Bundle Network: a small recurrent network with attention in the place of the master problem.
//!
//! One step, in the order of the code (`proposer.rs`, then the bundle method's own loop):
//!
//! ```text
//! features of the run so far  ->  recurrent cell  ->  three vectors  ->  three decoders:
//!     step length eta > 0, query q, key k             (the key is stored with the newest cut)
//! theta = psi(q'k_i)                                  psi: softmax or sparsemax over all cuts i
//! trial = centre - eta sum_i theta_i g_i              (its positive part, for nonnegative variables)
//! centre moves towards the trial point by a share that the two values decide
//! ```

mod architecture;
mod checkpoint;
mod features;
mod model;
mod network;
mod ops;
mod proposer;
mod real;
mod rollout;
pub mod train;
mod unroll;

pub use architecture::{Architecture, Centre, Sampling, StepUnit};
pub use checkpoint::{CHECKPOINT_VERSION, Precision};
pub use features::{Schema, Transform};
pub use model::{Card, Model};
pub(crate) use network::{Network, Tape};
pub use ops::attention::Attention;
pub use ops::decoder::Activation;
pub(crate) use proposer::NetworkProposer;
pub(crate) use real::Real;
pub use rollout::{Rollout, rollout};
