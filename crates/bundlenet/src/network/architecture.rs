//! The architecture of a network: its configuration, and the layout of its weights.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::features::{Schema, Transform};
use super::ops::attention::Attention;
use super::ops::decoder::Activation;
use crate::error::{InvalidSetting, positive, require};
use crate::master::Proximity;

/// The architecture of a network. A checkpoint holds it with the weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Architecture {
    /// Input features of the network.
    pub features: Schema,
    /// Transformation of the features before they enter the network.
    pub transform: Transform,
    /// Length of each of the vectors for step, query and key; at least 1.
    pub hidden: usize,
    /// Units between the two layers of a decoder; at least 1.
    pub decoder: usize,
    /// Activation between the two layers of a decoder.
    pub activation: Activation,
    /// Function from logits to weights.
    pub attention: Attention,
    /// The vectors that are random in training.
    pub sampling: Sampling,
    /// Rule for the movement of the centre.
    pub centre: Centre,
    /// Whether a linear layer connects the input directly to the step and to the coefficients of the cut observations,
    /// past the recurrent cell and the decoders.
    pub shortcut: bool,
    /// Factor on the product of query and key; positive. If `None`, one over the root of `hidden`.
    pub logit_scale: Option<f64>,
    /// Unit of the step length in each run.
    pub step_unit: StepUnit,
    /// Factor on the unit; positive. If `None`, training computes it from its data.
    pub step_scale: Option<f64>,
    /// Metric of the steps.
    pub metric: Metric,
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
            metric: Metric::default(),
        }
    }
}

impl Architecture {
    /// The network of the paper, with its sizes, features and centre.
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
            logit_scale: Some(1.0),
            step_unit: StepUnit::One,
            step_scale: Some(1.0),
            metric: Metric::Plain,
            ..Self::default()
        }
    }
}

/// The vectors that are random in training. In use they are replaced by their means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sampling {
    /// None.
    #[default]
    None,
    /// The step vector.
    Step,
    /// The vectors for step, query and key.
    Attention,
}

impl Sampling {
    /// Number of random vectors, in the order step, query, key.
    pub(crate) fn count(self) -> usize {
        match self {
            Self::None => 0,
            Self::Step => 1,
            Self::Attention => 3,
        }
    }
}

/// Rule for the movement of the centre. The share of the way of a soft centre is `sigmoid((f(centre) - f(trial)) /
/// temperature + offset)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Centre {
    /// Softmin of the two scaled values, as in the paper: temperature 1, offset 0.
    Softmin,
    /// Temperature and offset are outputs of the network.
    #[default]
    Learned,
    /// The whole way after a serious step, none after a null step, as with an exact master. For comparison.
    Hard,
}

/// Metric of the steps: a factor on the step along each variable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Metric {
    /// All factors are 1, as in the paper.
    Plain,
    /// The [scales](crate::Oracle::scales) that the oracle states. If it states none, the inverse root mean square of each
    /// entry over the cuts, mixed with 1 in a proportion that is an output of the network.
    #[default]
    Scaled,
}

/// Unit of the step length in each run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepUnit {
    /// The unit is 1 in all runs, as in the paper.
    One,
    /// Estimated from the start, as by the strategy `adaptive`: a share of the norm of the start point. If that is 0, a
    /// tenth of the value there over the norm of the subgradient. If that is 0 as well, the root of the number of
    /// variables.
    #[default]
    Start,
}

impl StepUnit {
    /// The unit in a run, from its start point and the scaled function's value there.
    pub(crate) fn of(self, start: &[f64], value: f64) -> f64 {
        match self {
            Self::One => 1.0,
            Self::Start => Proximity::adaptive(start, value).eta(),
        }
    }
}

/// Largest sizes accepted. Larger ones are most likely a mistake.
const LARGEST: usize = 8192;

impl Architecture {
    /// Checks all values.
    ///
    /// # Errors
    /// The first invalid value.
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

    /// Number of observations of a cut. They extend its key.
    pub(crate) fn cut_features(&self) -> usize {
        self.features.cut_names().len()
    }

    /// Numbers of outputs of the decoders for step, query and key.
    pub(crate) fn outputs(&self) -> [usize; 3] {
        let step = self.mix_output() + usize::from(self.metric == Metric::Scaled);
        [step, self.hidden + self.cut_features(), self.hidden]
    }

    /// Place of the metric's mixture among the outputs for the step, if there is one: after those of the centre.
    pub(crate) fn mix_output(&self) -> usize {
        match self.centre {
            Centre::Softmin | Centre::Hard => 1,
            Centre::Learned => 3,
        }
    }

    /// Number of outputs of the shortcut.
    pub(crate) fn shortcut_outputs(&self) -> usize {
        if self.shortcut { self.outputs()[0] + self.cut_features() } else { 0 }
    }

    /// Factor on the product of query and key.
    pub(crate) fn logit_factor(&self) -> f64 {
        self.logit_scale.unwrap_or(1.0 / (self.hidden as f64).sqrt())
    }
}

/// Ranges of the tensors in the vector of all weights. A matrix has one row for each input.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) lstm: Affine,
    /// The two layers of the decoders for step, query and key.
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

/// Names of the decoders in a checkpoint.
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
