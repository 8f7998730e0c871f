//! The activation between the two layers of a decoder, and the positive step.

use serde::{Deserialize, Serialize};

use crate::network::real::{Elementary, Real};

/// Activation between the two layers of a decoder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Activation {
    /// `ln(1 + exp(x))`.
    #[default]
    Softplus,
    /// `max(0, x)`.
    Relu,
    /// Hyperbolic tangent.
    Tanh,
}

impl Activation {
    pub(crate) fn forward<S: Real>(self, input: &[S], output: &mut [S]) {
        let function = match self {
            Self::Softplus => Elementary::Softplus,
            Self::Relu => Elementary::Relu,
            Self::Tanh => Elementary::Tanh,
        };
        S::map(input, output, function);
    }

    /// Multiplies a gradient of the output by the derivative. The output alone determines it.
    pub(crate) fn backward<S: Real>(self, output: &[S], gradient: &mut [S]) {
        let pairs = output.iter().zip(gradient);
        match self {
            // The derivative of softplus is the sigmoid, 1 - exp(-softplus).
            Self::Softplus => pairs.for_each(|(&y, gradient)| *gradient *= S::ONE - (-y).exp()),
            Self::Relu => pairs.for_each(|(&y, gradient)| *gradient *= if y > S::ZERO { S::ONE } else { S::ZERO }),
            Self::Tanh => pairs.for_each(|(&y, gradient)| *gradient *= S::ONE - y * y),
        }
    }
}

/// The step length `scale * softplus(raw)`.
pub(crate) fn step_length<S: Real>(raw: S, scale: f64) -> f64 {
    scale * raw.softplus().wide()
}

/// Derivative of the step length with respect to `raw`.
pub(crate) fn step_length_slope<S: Real>(raw: S, scale: f64) -> f64 {
    scale * raw.sigmoid().wide()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::ops::check;

    #[test]
    fn activation_gradients_are_exact() {
        let input: Vec<f64> = check::numbers(9, 1).iter().map(|x| 4.0 * x).collect();
        let pull = check::numbers(9, 2);
        for activation in [Activation::Softplus, Activation::Relu, Activation::Tanh] {
            let run = |input: &[f64]| {
                let mut output = vec![0.0; 9];
                activation.forward(input, &mut output);
                output
            };
            let mut gradient = pull.clone();
            activation.backward(&run(&input), &mut gradient);
            check::gradient(&input, &gradient, |input| check::dot(&run(input), &pull));
        }
    }

    #[test]
    fn the_step_is_positive_and_its_slope_exact() {
        for raw in [-30.0, -2.0, 0.0, 1.5, 40.0] {
            assert!(step_length(raw, 7.0) > 0.0 && step_length(raw as f32, 7.0) > 0.0);
            check::gradient(&[raw], &[step_length_slope(raw, 7.0)], |raw| step_length(raw[0], 7.0));
        }
    }
}
