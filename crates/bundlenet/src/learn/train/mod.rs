//! Training a network: settings, data, the two stages, and the folder that a training lives in.

mod config;
mod data;
mod folder;
mod optima;
mod optimizer;
mod plot;
mod trainer;

pub use config::{
    DataSettings, EvolutionSettings, Evolving, GradientSettings, Loss, Objective, TrainSettings, ValidationSettings,
};
pub(crate) use data::gap_percent;
pub use data::{Example, MakeOracle, limited, read_examples};
pub use folder::{Event, Finished, train};
pub use optima::Optima;
pub use trainer::{Measurement, Report, Stage, Trainer};
