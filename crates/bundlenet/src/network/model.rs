//! A trained network and its description.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use super::architecture::Architecture;
use super::checkpoint::CHECKPOINT_VERSION;
use super::network::Network;
use crate::master::LearnedRule;

/// A network and its description.
#[derive(Clone, Debug)]
pub struct Model {
    network: Arc<Network<f32>>,
    card: Card,
    format: u32,
}

/// Description of a network: its training, and its quality on validation data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Card {
    /// Name of the model.
    pub name: String,
    /// Training data, in words.
    pub data: String,
    /// Version of this crate at the training.
    pub version: String,
    /// Number of updates by gradients.
    pub updates: usize,
    /// Number of generations of evolution.
    pub generations: usize,
    /// Numbers of steps after which gaps were measured on validation data.
    pub validation_steps: Vec<usize>,
    /// Mean gaps after these steps, in percent.
    pub validation_gaps: Vec<f64>,
}

impl Model {
    pub(crate) fn new(network: Network<f32>, card: Card) -> Self {
        Self { network: Arc::new(network), card, format: CHECKPOINT_VERSION }
    }

    /// The same, as a checkpoint of this version of the format.
    pub(crate) fn with_format(self, format: u32) -> Self {
        Self { format, ..self }
    }

    /// A network without training. Its steps have the unit length, and its weights are nearly equal.
    #[must_use]
    pub fn untrained(architecture: &Architecture, seed: u64) -> Self {
        Self::new(Network::initial(architecture, seed), Card { name: "untrained".to_string(), ..Card::default() })
    }

    pub(crate) fn network(&self) -> &Arc<Network<f32>> {
        &self.network
    }

    /// The architecture.
    #[must_use]
    pub fn architecture(&self) -> &Architecture {
        &self.network.architecture
    }

    /// The description.
    #[must_use]
    pub fn card(&self) -> &Card {
        &self.card
    }

    /// Version of the checkpoint format that the model was read from. A model that was not read has the newest.
    #[must_use]
    pub fn format(&self) -> u32 {
        self.format
    }

    /// Number of weights.
    #[must_use]
    pub fn weight_count(&self) -> usize {
        self.network.weights.len()
    }

    /// Learned numbers of the exact master, if the model has a guard.
    #[must_use]
    pub fn guard_rule(&self) -> Option<LearnedRule> {
        self.network.guard.as_ref().map(|guard| guard.rule)
    }
}

impl Model {
    /// The general model, part of this library. It was trained on instances of many kinds and sizes.
    ///
    /// # Panics
    /// Never: a test reads the built-in model.
    #[must_use]
    pub fn general() -> Arc<Self> {
        static GENERAL: OnceLock<Arc<Model>> = OnceLock::new();
        let bytes = include_bytes!("../../models/general.safetensors");
        let load = || match Self::from_bytes(Path::new("general"), bytes) {
            Ok(model) => Arc::new(model),
            Err(error) => unreachable!("the built-in model cannot be read: {error}"),
        };
        Arc::clone(GENERAL.get_or_init(load))
    }
}

/// The network of a model, or of the general one.
pub(crate) fn network_of(model: Option<&Arc<Model>>) -> Arc<Network<f32>> {
    Arc::clone(&model.map_or_else(Model::general, Arc::clone).network)
}

impl PartialEq for Model {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (&*self.network, &*other.network);
        self.card == other.card
            && a.architecture == b.architecture
            && a.weights == b.weights
            && a.mean == b.mean
            && a.deviation == b.deviation
            && a.guard == b.guard
    }
}
