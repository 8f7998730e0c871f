//! One unrolled run with its gradient, for comparison with other implementations and for inspection.

use std::sync::Arc;

use super::unroll::{Subject, Unroll, Weight};
use crate::network::{Card, Model, Network};
use crate::oracle::{EvaluationError, Oracle};

/// A run of a network, and the gradient of its loss.
#[derive(Clone, Debug)]
pub struct Rollout {
    /// The trial points.
    pub points: Vec<Vec<f64>>,
    /// Values at the trial points, minimised and scaled by the norm of the first subgradient.
    pub values: Vec<f64>,
    /// Mean of the values.
    pub loss: f64,
    /// Gradient of the loss, in the form of a model: each weight is a derivative. Saved, it has the names and shapes of
    /// a checkpoint. The gradient of both recurrent biases is in `lstm.bias_ih_l0`.
    pub gradient: Model,
}

/// Runs a network for `steps` steps from the start point 0, then back through all of them.
///
/// # Errors
/// If the oracle fails.
pub fn rollout(model: &Model, oracle: &mut dyn Oracle, steps: usize) -> Result<Rollout, EvaluationError> {
    // Gradients are those of the network alone.
    let network = Arc::new(Network { guard: None, ..Network::clone(model.network()) });
    let subject = Subject { oracle, start: None, weight: Weight::OfScaledValue(1.0) };
    let mut unroll = Unroll::begin(Arc::clone(&network), vec![subject], steps)?;
    for _ in 0..steps {
        unroll.forward(1.0 / steps as f64, None)?;
    }
    let (points, values) = unroll.visited(0);
    let mut gradient = vec![0.0; network.weights.len()];
    let loss = unroll.backward(&mut gradient);
    let card = Card { name: "gradient".to_string(), ..Card::default() };
    let gradient = Model::new(Network { weights: gradient, ..Network::clone(&network) }, card);
    Ok(Rollout { points, values, loss, gradient })
}

/// The gradient of [`rollout`] by a network in double precision. It shows the round-off of the other one.
///
/// # Errors
/// If the oracle fails.
#[doc(hidden)]
pub fn double_gradient(model: &Model, oracle: &mut dyn Oracle, steps: usize) -> Result<Model, EvaluationError> {
    let Network { architecture, layout, weights, mean, deviation, .. } = Network::clone(model.network());
    let weights = weights.iter().map(|&weight| f64::from(weight)).collect();
    let double = Network { architecture, layout, weights, mean, deviation, guard: None };
    let subject = Subject { oracle, start: None, weight: Weight::OfScaledValue(1.0) };
    let mut gradient = vec![0.0; double.weights.len()];
    let mut unroll = Unroll::begin(Arc::new(double), vec![subject], steps)?;
    for _ in 0..steps {
        unroll.forward(1.0 / steps as f64, None)?;
    }
    unroll.backward(&mut gradient);
    let weights = gradient.iter().map(|&entry| entry as f32).collect();
    let card = Card { name: "gradient".to_string(), ..Card::default() };
    Ok(Model::new(Network { weights, guard: None, ..Network::clone(model.network()) }, card))
}
