//! The shape of a network: what its configuration says, and where each of its weights lies.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::features::{Schema, Transform};
use super::ops::attention::Attention;
use super::ops::decoder::Activation;
use crate::error::{InvalidSetting, positive, require};
use crate::master::Proximity;

/// The shape of a network; it travels with the weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Architecture {
    /// What the network sees of a run.
    pub features: Schema,
    /// What becomes of the features before they enter.
    pub transform: Transform,
    /// Length of each of the vectors for step, query and key; at least 1.
    pub hidden: usize,
    /// Units between the two layers of a decoder; at least 1.
    pub decoder: usize,
    /// What lies between the two layers.
    pub activation: Activation,
    /// How logits become weights.
    pub attention: Attention,
    /// Which vectors are drawn at random in training.
    pub sampling: Sampling,
    /// How the centre moves.
    pub centre: Centre,
    /// Whether a linear layer leads from the input past cell and decoders straight to the step and to the coefficients of what
    /// is observed of the cuts.
    pub shortcut: bool,
    /// What the product of query and key is multiplied by; positive. Without it, one over the root of `hidden`.
    pub logit_scale: Option<f64>,
    /// Unit of the step length in each run.
    pub step_unit: StepUnit,
    /// What the unit is multiplied by; positive. Without it, training takes it from its data.
    pub step_scale: Option<f64>,
}

impl Default for Architecture {
    fn default() -> Self {
        Self {
            features: Schema::default(),
            transform: Transform::default(),
            hidden: 8,
            decoder: 16,
            activation: Activation::default(),
            attention: Attention::default(),
            sampling: Sampling::default(),
            centre: Centre::default(),
            shortcut: true,
            logit_scale: None,
            step_unit: StepUnit::default(),
            step_scale: None,
        }
    }
}

impl Architecture {
    /// The network of the paper: its sizes, features and centre.
    #[must_use]
    pub fn paper() -> Self {
        Self {
            features: Schema::Released,
            transform: Transform::SignedLog,
            hidden: 128,
            decoder: 1024,
            activation: Activation::Softplus,
            centre: Centre::Softmin,
            shortcut: false,
            step_unit: StepUnit::One,
            step_scale: Some(1.0),
            ..Self::default()
        }
    }
}

/// Which vectors are drawn at random in training; in use they are their means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sampling {
    /// None.
    #[default]
    None,
    /// That of the step.
    Step,
    /// Those of step, query and key.
    Attention,
}

impl Sampling {
    /// How many of the three vectors, in the order step, query, key.
    pub(crate) fn count(self) -> usize {
        match self {
            Self::None => 0,
            Self::Step => 1,
            Self::Attention => 3,
        }
    }
}

/// How the centre moves: a share of the way to the trial point, `sigmoid((f(centre) - f(trial)) / temperature + offset)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Centre {
    /// The paper's softmin of the two scaled values: temperature 1, offset 0.
    Softmin,
    /// Temperature and offset are outputs of the network, beside the step.
    #[default]
    Learned,
}

/// Unit of the step length in each run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepUnit {
    /// 1 in all runs, as in the paper.
    One,
    /// The first length at hand, as for the strategy `auto`: the size of the start point; where that is 0, a tenth of the value
    /// there over the norm of the subgradient; where that is 0, too, the root of the number of variables.
    #[default]
    Start,
}

impl StepUnit {
    /// The unit of a run, from its start point and the scaled function's value there.
    pub(crate) fn of(self, start: &[f64], value: f64) -> f64 {
        match self {
            Self::One => 1.0,
            Self::Start => Proximity::adaptive(start, value).eta(),
        }
    }
}

/// Largest sizes accepted: beyond them a mistake is more likely than a network.
const LARGEST: usize = 8192;

impl Architecture {
    /// Makes sure that every value can be used.
    ///
    /// # Errors
    /// The first one that cannot.
    pub fn check(&self) -> Result<(), InvalidSetting> {
        for (name, size) in [("network.hidden", self.hidden), ("network.decoder", self.decoder)] {
            require((1..=LARGEST).contains(&size), name, format!("from 1 to {LARGEST}"), size)?;
        }
        positive("network.logit_scale", self.logit_scale.unwrap_or(1.0))?;
        positive("network.step_scale", self.step_scale.unwrap_or(1.0))
    }

    /// Number of features.
    pub(crate) fn inputs(&self) -> usize {
        self.features.names().len()
    }

    /// Length of the state of the recurrent cell.
    pub(crate) fn state(&self) -> usize {
        (3 + self.sampling.count()) * self.hidden
    }

    /// Observed features of a cut that extend its key.
    pub(crate) fn cut_features(&self) -> usize {
        self.features.cut_names().len()
    }

    /// Outputs of the decoders for step, query and key.
    pub(crate) fn outputs(&self) -> [usize; 3] {
        let step = match self.centre {
            Centre::Softmin => 1,
            Centre::Learned => 3,
        };
        [step, self.hidden + self.cut_features(), self.hidden]
    }

    /// Outputs of the shortcut.
    pub(crate) fn shortcut_outputs(&self) -> usize {
        if self.shortcut { self.outputs()[0] + self.cut_features() } else { 0 }
    }

    /// What the product of query and key is multiplied by.
    pub(crate) fn logit_factor(&self) -> f64 {
        self.logit_scale.unwrap_or(1.0 / (self.hidden as f64).sqrt())
    }
}

/// Where each tensor lies among all weights. Matrices have a row for each input.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) lstm: Affine,
    /// Two layers for step, query and key.
    pub(crate) decoders: [[Affine; 2]; 3],
    pub(crate) shortcut: Affine,
    pub(crate) total: usize,
}

/// Weights and bias of a layer.
#[derive(Clone, Debug)]
pub(crate) struct Affine {
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    pub(crate) weights: Range<usize>,
    pub(crate) bias: Range<usize>,
}

/// What tensors of the decoders are called.
pub(crate) const DECODERS: [&str; 3] = ["step", "query", "key"];

impl Layout {
    pub(crate) fn new(architecture: &Architecture) -> Self {
        let mut total = 0;
        let mut layer = |inputs: usize, outputs: usize| {
            let weights = total..total + inputs * outputs;
            let bias = weights.end..weights.end + outputs;
            total = bias.end;
            Affine { inputs, outputs, weights, bias }
        };
        let state = architecture.state();
        let lstm = layer(architecture.inputs() + state, 4 * state);
        let decoders = architecture
            .outputs()
            .map(|outputs| [layer(architecture.hidden, architecture.decoder), layer(architecture.decoder, outputs)]);
        let shortcut = layer(architecture.inputs() + state, architecture.shortcut_outputs());
        Self { lstm, decoders, shortcut, total }
    }
}
