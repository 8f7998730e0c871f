//! Training of a network on any set of oracles: settings, examples, the two stages, and the folder of a training.
//!
//! The first stage uses gradients through unrolled iterations (`unroll.rs`). The second stage, evolution strategies,
//! lowers the gaps themselves (`trainer.rs`). [`train`] keeps a training in a folder and resumes it bit for bit.

mod config;
mod example;
mod folder;
mod guard;
mod optima;
mod optimizer;
mod policy;
mod rollout;
mod trainer;
mod unroll;

pub use crate::master::LearnedRule;
pub use config::{
    DataSettings, EvolutionSettings, Evolving, GradientSettings, Loss, Objective, Schedule, TrainSettings,
    ValidationSettings,
};
pub use example::{Example, MakeOracle, gap_percent, limited};
pub use folder::{Event, Finished, train};
pub use guard::{GuardSettings, guarded, with_rule};
pub use optima::{Optima, Optimum, not_proved};
pub use policy::{Followed, LastStep, MakePolicy, Policy, View, evolve, follow};
#[doc(hidden)]
pub use rollout::double_gradient;
pub use rollout::{Rollout, rollout};
pub use trainer::{Measurement, Report, Stage, Trainer};
