//! A trained network with its card.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use super::architecture::Architecture;
use super::network::Network;

/// A network and what is known of it.
#[derive(Clone, Debug)]
pub struct Model {
    network: Arc<Network<f32>>,
    card: Card,
}

/// What is known of a network: how it was trained, and how well it does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Card {
    /// What it is called.
    pub name: String,
    /// What it was trained on, in words.
    pub data: String,
    /// Version of this crate that trained it.
    pub version: String,
    /// Updates by gradients, and generations of evolution, that it has behind it.
    pub updates: usize,
    /// As above.
    pub generations: usize,
    /// Steps after which gaps were measured on validation data, and the mean gaps in percent.
    pub validation_steps: Vec<usize>,
    /// As above.
    pub validation_gaps: Vec<f64>,
}

impl Model {
    pub(crate) fn new(network: Network<f32>, card: Card) -> Self {
        Self { network: Arc::new(network), card }
    }

    /// A network that has learned nothing: constant steps of the unit length, and nearly equal weights.
    #[must_use]
    pub fn untrained(architecture: &Architecture, seed: u64) -> Self {
        Self::new(Network::initial(architecture, seed), Card { name: "untrained".to_string(), ..Card::default() })
    }

    pub(crate) fn network(&self) -> &Arc<Network<f32>> {
        &self.network
    }

    /// Its shape.
    #[must_use]
    pub fn architecture(&self) -> &Architecture {
        &self.network.architecture
    }

    /// What is known of it.
    #[must_use]
    pub fn card(&self) -> &Card {
        &self.card
    }

    /// Number of weights.
    #[must_use]
    pub fn weight_count(&self) -> usize {
        self.network.weights.len()
    }
}

impl Model {
    /// The general model, which comes with the library: trained on instances of many kinds and sizes.
    ///
    /// # Panics
    /// Never: a test reads the model that is built in.
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

impl PartialEq for Model {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (&*self.network, &*other.network);
        self.card == other.card
            && a.architecture == b.architecture
            && a.weights == b.weights
            && a.mean == b.mean
            && a.deviation == b.deviation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_general_model_is_there() {
        assert_eq!(Model::general().card().name, "general");
    }
}
