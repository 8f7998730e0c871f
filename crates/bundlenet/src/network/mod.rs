//! The Bundle Network: a small recurrent network with attention instead of the master problem.
//!
//! One step, in the order of the code (`proposer.rs`, then the loop of the bundle method), is Algorithm 2 of the paper:
//!
//! ```text
//! features of the run so far  ->  recurrent cell  ->  three vectors  ->  three decoders:                  lines 6, 7
//!     step length eta > 0, query q, key k             (the key is stored with the newest cut)
//! theta = psi(q'k_i)                                  psi: softmax or sparsemax over all cuts i           line 8
//! trial = centre - eta sum_i theta_i g_i              (its positive part, for nonnegative variables)      lines 9, 10
//! centre moves towards the trial point by a share that the two values decide                              line 13
//! ```

mod architecture;
mod checkpoint;
mod features;
mod guard;
mod model;
#[expect(clippy::module_inception, reason = "the network itself")]
mod network;
mod ops;
mod proposer;
mod real;

pub(crate) use architecture::{Affine, Layout};
pub use architecture::{Architecture, Centre, Metric, Sampling, StepUnit};
pub use checkpoint::Precision;
pub(crate) use checkpoint::{CHECKPOINT_VERSION, Stored, Tensors};
pub(crate) use features::{FeatureSource, Tracker};
pub use features::{Schema, Transform};
pub(crate) use guard::{FEWEST_VARIABLES, Guard, observe_start};
pub(crate) use model::network_of;
pub use model::{Card, Model};
pub(crate) use network::{Adjoint, INITIAL_MIX, Network, Tape};
pub use ops::attention::Attention;
#[cfg(test)]
pub(crate) use ops::check;
pub use ops::decoder::Activation;
pub(crate) use ops::decoder::step_length_slope;
pub(crate) use proposer::NetworkProposer;
pub(crate) use real::Real;
