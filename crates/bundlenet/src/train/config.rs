//! The settings of a training. Each has a default.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::{InvalidSetting, at_least, positive, require};
use crate::network::{Architecture, Schema};

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
    /// As `paper`, plus the value at the last centre with the weight of all trial points together. The released code of
    /// the paper has this loss.
    Released,
    /// Mean gap of the trial points in percent of the optimum. It does not depend on units.
    #[default]
    Gap,
}

/// How the learning rate of the first stage changes after the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Schedule {
    /// It stays.
    Constant,
    /// It is multiplied by `decay` after every `decay_epochs` epochs.
    #[default]
    Decay,
    /// It falls along a cosine, to 0 after the last update.
    Cosine,
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
    /// How the rate changes after that.
    pub schedule: Schedule,
    /// Factor on the rate after every `decay_epochs` epochs, with the schedule `decay`; above 0, at most 1.
    pub decay: f64,
    /// Epochs from one such factor to the next; at least 1.
    pub decay_epochs: usize,
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
            schedule: Schedule::default(),
            decay: 0.9,
            decay_epochs: 1,
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
    /// The weights of the shortcut on the inputs for the steps that remain. All runs are told their steps. Runs that are
    /// not told stay as they are.
    Told,
}

/// The objective of evolution. Validation selects the best model by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Objective {
    /// Mean over the columns of the logarithm of the mean gap. For instances of one kind.
    #[default]
    Mean,
    /// Mean over columns and instances of the logarithm of the gap, which counts as at least 1e-4 %. For instances of
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
    /// A stage ends early after this number of validations without a new best one; at least 1. `None`: it never does.
    pub patience: Option<usize>,
}

impl Default for ValidationSettings {
    fn default() -> Self {
        Self { steps: vec![10, 25, 50, 100], updates: 50, generations: 10, patience: None }
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
    /// Whether training examples need their optima. The paper's loss does without.
    pub(crate) fn needs_optima(&self) -> bool {
        let measures_gaps = self.gradient.updates > 0 && self.gradient.loss == Loss::Gap;
        measures_gaps || self.evolution.generations > 0
    }

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
        self.check_evolving()?;
        evolution.check()?;
        let columns = &validation.steps;
        let is_increasing = !columns.is_empty() && columns[0] > 0 && columns.is_sorted_by(|a, b| a < b);
        require(is_increasing, "validation.steps", "positive increasing numbers", format!("{columns:?}"))?;
        at_least("validation.updates", validation.updates, 1)?;
        at_least("validation.generations", validation.generations, 1)?;
        at_least("validation.patience", validation.patience.unwrap_or(1), 1)
    }

    /// Checks that the network has the weights that evolve.
    fn check_evolving(&self) -> Result<(), InvalidSetting> {
        let Self { network, evolution, .. } = self;
        let (needs, found) = match evolution.weights {
            _ if evolution.generations == 0 => return Ok(()),
            Evolving::Told => (network.shortcut && network.features == Schema::Told, "told"),
            Evolving::Shortcut => (network.shortcut, "shortcut"),
            Evolving::All | Evolving::Decoders | Evolving::Outputs => (true, ""),
        };
        let expected = "weights that the network has (shortcut: network.shortcut is on; told: and \
            network.features is relative-2)";
        require(needs, "evolution.weights", expected, found)
    }
}

/// The settings in which two tables differ, as `name = value`: those of the first, and those of the second.
pub(crate) fn differences(table: &str, first: &impl Serialize, second: &impl Serialize) -> [String; 2] {
    let mut different = [vec![], vec![]];
    let [first, second] = [toml::Value::try_from(first), toml::Value::try_from(second)].map(Result::ok);
    collect_differences(table, [first.as_ref(), second.as_ref()], &mut different);
    different.map(|settings| settings.join(", "))
}

fn collect_differences(name: &str, values: [Option<&toml::Value>; 2], different: &mut [Vec<String>; 2]) {
    if values[0] == values[1] {
        return;
    }
    let tables = values.map(|value| value.and_then(toml::Value::as_table));
    if tables == [None, None] {
        let shown = values.map(|value| value.map_or_else(|| "not set".to_string(), ToString::to_string));
        shown.into_iter().zip(different).for_each(|(value, settings)| settings.push(format!("{name} = {value}")));
        return;
    }
    let keys: BTreeSet<&String> = tables.into_iter().flatten().flat_map(toml::Table::keys).collect();
    for key in keys {
        let inner = tables.map(|table| table.and_then(|table| table.get(key)));
        let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
        collect_differences(&name, inner, different);
    }
}

impl GradientSettings {
    /// Learning rate of an update, on `count` training instances.
    pub(crate) fn rate_at(&self, update: usize, count: usize) -> f64 {
        let growth = ((update + 1) as f64 / self.warm_up.max(1) as f64).min(1.0);
        let factor = match self.schedule {
            Schedule::Constant => 1.0,
            Schedule::Decay => {
                let epochs = update * self.batch / count.max(1);
                self.decay.powi(i32::try_from(epochs / self.decay_epochs).unwrap_or(i32::MAX))
            }
            Schedule::Cosine => {
                let turn = update as f64 / self.updates.max(1) as f64 * std::f64::consts::PI;
                0.5 * (1.0 + turn.cos())
            }
        };
        self.rate * growth * factor
    }

    fn check(&self) -> Result<(), InvalidSetting> {
        let Self { batch, horizon, horizon_min, window, discount, rate, decay, decay_epochs, clip, .. } = *self;
        at_least("gradient.batch", batch, 1)?;
        at_least("gradient.decay_epochs", decay_epochs, 1)?;
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
    /// Learning rate of a generation. It falls along a cosine.
    pub(crate) fn rate_at(&self, generation: usize) -> f64 {
        let turn = generation as f64 / self.generations as f64 * std::f64::consts::PI;
        self.rate * (self.final_rate + (1.0 - self.final_rate) * 0.5 * (1.0 + turn.cos()))
    }

    pub(crate) fn check(&self) -> Result<(), InvalidSetting> {
        at_least("evolution.pairs", self.pairs, 1)?;
        at_least("evolution.batch", self.batch, 1)?;
        positive("evolution.deviation", self.deviation)?;
        positive("evolution.rate", self.rate)?;
        require((0.0..=1.0).contains(&self.final_rate), "evolution.final_rate", "from 0 to 1", self.final_rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_named_as_in_the_config() {
        let first = TrainSettings::default();
        let mut second = first.clone();
        (second.seed, second.network.hidden, second.validation.patience) = (7, 4, Some(3));
        let [expected, found] = differences("", &first, &second);
        let hidden = first.network.hidden;
        assert_eq!(expected, format!("network.hidden = {hidden}, seed = 1, validation.patience = not set"));
        assert_eq!(found, "network.hidden = 4, seed = 7, validation.patience = 3");
        let [expected, _] = differences("network", &first.network, &second.network);
        assert_eq!(expected, format!("network.hidden = {hidden}"));
    }

    #[test]
    fn rates_follow_their_schedule() {
        let base = GradientSettings { updates: 100, batch: 2, rate: 1.0, warm_up: 0, ..GradientSettings::default() };
        let rates = |settings: &GradientSettings| [0, 4, 5, 50, 99].map(|update| settings.rate_at(update, 10));
        // Five updates are an epoch. Two ways to a power differ by round-off.
        let powers = [0, 0, 1, 10, 19].map(|epoch| 0.9_f64.powi(epoch));
        assert!(rates(&base).iter().zip(powers).all(|(rate, power)| (rate - power).abs() < 1e-12));
        let slow = GradientSettings { decay_epochs: 10, ..base.clone() };
        assert_eq!(rates(&slow), [1.0, 1.0, 1.0, 0.9, 0.9]);
        assert_eq!(rates(&GradientSettings { schedule: Schedule::Constant, ..base.clone() }), [1.0; 5]);
        let cosine = GradientSettings { schedule: Schedule::Cosine, ..base.clone() };
        let [first, .., half, last] = rates(&cosine);
        assert!(first == 1.0 && (half - 0.5).abs() < 1e-12 && last > 0.0 && last < 1e-3, "{half} {last}");
        let warm = GradientSettings { warm_up: 10, schedule: Schedule::Constant, ..base };
        assert_eq!(rates(&warm), [0.1, 0.5, 0.6, 1.0, 1.0]);
    }
}
