//! The settings of a training. Each has a default.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::{InvalidSetting, at_least, positive, require};
use crate::network::Architecture;

/// The settings of a training. `bundlenet train` reads them from a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrainSettings {
    /// Name of the model.
    pub name: String,
    /// Seed of all random numbers.
    pub seed: u64,
    /// A model to start from instead of random weights. It must have the architecture `network`. Its scale of the step
    /// length is kept, unless `network` sets another one.
    pub start_from: Option<PathBuf>,
    /// Training and validation data.
    pub data: DataSettings,
    /// Architecture of the network.
    pub network: Architecture,
    /// First stage: gradients through unrolled iterations.
    pub gradient: GradientSettings,
    /// Second stage: evolution strategies on the true objective.
    pub evolution: EvolutionSettings,
    /// How and when progress is measured.
    pub validation: ValidationSettings,
}

/// Training and validation data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DataSettings {
    /// Sources: folders and files of instances, `generate:FAMILY:COUNT:SEED` (a family, or `max-affine` for random
    /// functions), `academic`. The crate `bundlenet-problems` reads them.
    pub train: Vec<String>,
    /// Sources for validation. If empty, a part of the training data is set aside: the instances that a manifest
    /// assigns to validation; otherwise groups by the number at the end of the name (3 modulo 5 as in the published
    /// data, or every eighth).
    pub validation: Vec<String>,
    /// Largest number of instances for training, spread over all.
    pub train_limit: Option<usize>,
    /// Largest number of instances for validation, spread over all.
    pub validation_limit: Option<usize>,
}

/// The loss of the first stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Loss {
    /// Sum of the scaled values at the trial points, divided by the number of subproblems.
    Paper,
    /// Mean gap of the trial points in percent of the optimum. It does not depend on units.
    #[default]
    Gap,
}

/// First stage: gradients through unrolled iterations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GradientSettings {
    /// Number of updates; 0 skips the stage.
    pub updates: usize,
    /// Instances in each update; at least 1.
    pub batch: usize,
    /// `T`: steps of a run; at least 1.
    pub horizon: usize,
    /// If set, each update draws its number of steps between this and `horizon`; at least 1.
    pub horizon_min: Option<usize>,
    /// Steps of a window: gradients flow back through one window and not into the one before; at least 1.
    pub window: usize,
    /// The loss.
    pub loss: Loss,
    /// `gamma`: weight of each step relative to the next; above 0, at most 1.
    pub discount: f64,
    /// Learning rate of Adam; positive.
    pub rate: f64,
    /// Number of updates in which the rate grows from 0.
    pub warm_up: usize,
    /// Factor on the rate after each epoch; above 0, at most 1.
    pub decay: f64,
    /// Largest norm of a gradient; a longer one is scaled down; positive.
    pub clip: f64,
}

impl Default for GradientSettings {
    fn default() -> Self {
        Self {
            updates: 0,
            batch: 16,
            horizon: 10,
            horizon_min: None,
            window: 10,
            loss: Loss::default(),
            discount: 0.999,
            rate: 3e-4,
            warm_up: 20,
            decay: 0.9,
            clip: 5.0,
        }
    }
}

/// The weights that evolve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Evolving {
    /// All weights.
    All,
    /// The weights of the decoders and of the shortcut.
    Decoders,
    /// The weights of the last layer of each decoder, and of the shortcut.
    Outputs,
    /// The weights of the shortcut. They are few, so they learn fastest.
    #[default]
    Shortcut,
}

/// The objective of evolution. Validation selects the best model by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Objective {
    /// Mean over the columns of the logarithm of the mean gap. For instances of one kind.
    #[default]
    Mean,
    /// Mean over columns and instances of the logarithm of the gap, which counts as at least 1e-3 %. For instances of
    /// many kinds.
    Each,
}

/// Second stage: antithetic evolution strategies on the true objective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EvolutionSettings {
    /// Number of generations; 0 skips the stage.
    pub generations: usize,
    /// Pairs of opposite changes in each generation; at least 1.
    pub pairs: usize,
    /// Instances on which each change is tried; at least 1.
    pub batch: usize,
    /// Size of a change, relative to the weights of its tensor; positive.
    pub deviation: f64,
    /// Learning rate of Adam on the estimated gradient, relative to the weights; positive.
    pub rate: f64,
    /// Factor on the rate at the end. The rate falls along a cosine; from 0 to 1.
    pub final_rate: f64,
    /// The weights that evolve.
    pub weights: Evolving,
    /// The objective to lower.
    pub objective: Objective,
}

impl Default for EvolutionSettings {
    fn default() -> Self {
        Self {
            generations: 300,
            pairs: 64,
            batch: 8,
            deviation: 0.03,
            rate: 0.03,
            final_rate: 0.1,
            weights: Evolving::default(),
            objective: Objective::default(),
        }
    }
}

/// How and when progress is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ValidationSettings {
    /// Numbers of steps after which gaps are measured: the columns, increasing.
    pub steps: Vec<usize>,
    /// Updates between two validations; at least 1.
    pub updates: usize,
    /// Generations between two validations; at least 1.
    pub generations: usize,
}

impl Default for ValidationSettings {
    fn default() -> Self {
        Self { steps: vec![10, 25, 50, 100], updates: 50, generations: 10 }
    }
}

impl Default for TrainSettings {
    fn default() -> Self {
        Self {
            name: "model".to_string(),
            seed: 1,
            start_from: None,
            data: DataSettings::default(),
            network: Architecture::default(),
            gradient: GradientSettings::default(),
            evolution: EvolutionSettings::default(),
            validation: ValidationSettings::default(),
        }
    }
}

impl TrainSettings {
    /// Checks all values.
    ///
    /// # Errors
    /// The first invalid value.
    pub fn check(&self) -> Result<(), InvalidSetting> {
        self.network.check()?;
        let Self { data, gradient, evolution, validation, .. } = self;
        require(!data.train.is_empty(), "data.train", "at least one folder or file", "none")?;
        at_least("data.train_limit", data.train_limit.unwrap_or(1), 1)?;
        at_least("data.validation_limit", data.validation_limit.unwrap_or(1), 1)?;
        gradient.check()?;
        let evolves_nothing = !self.network.shortcut && evolution.weights == Evolving::Shortcut;
        let expected = "weights that the network has (network.shortcut is off)";
        require(!evolves_nothing || evolution.generations == 0, "evolution.weights", expected, "shortcut")?;
        evolution.check()?;
        let columns = &validation.steps;
        let is_increasing = !columns.is_empty() && columns[0] > 0 && columns.is_sorted_by(|a, b| a < b);
        require(is_increasing, "validation.steps", "positive increasing numbers", format!("{columns:?}"))?;
        at_least("validation.updates", validation.updates, 1)?;
        at_least("validation.generations", validation.generations, 1)
    }
}

impl GradientSettings {
    fn check(&self) -> Result<(), InvalidSetting> {
        let Self { batch, horizon, horizon_min, window, discount, rate, decay, clip, .. } = *self;
        at_least("gradient.batch", batch, 1)?;
        require((1..=100_000).contains(&horizon), "gradient.horizon", "from 1 to 100000", horizon)?;
        let least = horizon_min.unwrap_or(1);
        require((1..=horizon).contains(&least), "gradient.horizon_min", "from 1 to gradient.horizon", least)?;
        at_least("gradient.window", window, 1)?;
        for (name, share) in [("gradient.discount", discount), ("gradient.decay", decay)] {
            require(share > 0.0 && share <= 1.0, name, "above 0 and at most 1", share)?;
        }
        positive("gradient.rate", rate)?;
        positive("gradient.clip", clip)
    }
}

impl EvolutionSettings {
    fn check(&self) -> Result<(), InvalidSetting> {
        at_least("evolution.pairs", self.pairs, 1)?;
        at_least("evolution.batch", self.batch, 1)?;
        positive("evolution.deviation", self.deviation)?;
        positive("evolution.rate", self.rate)?;
        require((0.0..=1.0).contains(&self.final_rate), "evolution.final_rate", "from 0 to 1", self.final_rate)
    }
}
