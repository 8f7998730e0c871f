//! Attention: weights on the cuts from the products of a query with their keys.

use serde::{Deserialize, Serialize};

use crate::network::real::Real;

/// `psi`: the function from logits to weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Attention {
    /// `exp(logit)`, normalised. Every cut has a weight.
    #[default]
    Softmax,
    /// The point of the simplex nearest to the logits. Most weights are zero.
    Sparsemax,
}

impl Attention {
    /// Writes weights that add up to 1. `sorted` is work space.
    pub(crate) fn forward<S: Real>(self, logits: &[S], weights: &mut [S], sorted: &mut Vec<S>) {
        let largest = logits.iter().copied().fold(logits[0], Real::max);
        match self {
            Self::Softmax => {
                let mut total = S::ZERO;
                for (weight, &logit) in weights.iter_mut().zip(logits) {
                    *weight = (logit - largest).exp();
                    total += *weight;
                }
                weights.iter_mut().for_each(|weight| *weight = *weight / total);
            }
            Self::Sparsemax => {
                sorted.clear();
                sorted.extend(logits.iter().map(|&logit| logit - largest));
                sorted.sort_unstable_by(|a, b| b.partial_cmp(a).unwrap_or(std::cmp::Ordering::Equal));
                // The threshold is the sum of the logits above it, minus 1, divided by their number.
                let (mut sum, mut threshold) = (S::ZERO, S::ZERO);
                for (count, &logit) in sorted.iter().enumerate() {
                    sum += logit;
                    let next = (sum - S::ONE) / S::of(count as f64 + 1.0);
                    if count > 0 && logit <= next {
                        break;
                    }
                    threshold = next;
                }
                for (weight, &logit) in weights.iter_mut().zip(logits) {
                    *weight = (logit - largest - threshold).max(S::ZERO);
                }
            }
        }
    }

    /// Turns the gradient of the weights into the gradient of the logits, in place.
    pub(crate) fn backward<S: Real>(self, weights: &[S], gradient: &mut [S]) {
        match self {
            Self::Softmax => {
                let mean = weights.iter().zip(&*gradient).fold(S::ZERO, |sum, (&w, &g)| sum + w * g);
                gradient.iter_mut().zip(weights).for_each(|(g, &w)| *g = w * (*g - mean));
            }
            Self::Sparsemax => {
                let mut count = 0;
                let mut sum = S::ZERO;
                for (&w, &g) in weights.iter().zip(&*gradient) {
                    if w > S::ZERO {
                        count += 1;
                        sum += g;
                    }
                }
                let mean = sum / S::of(f64::from(count.max(1)));
                for (g, &w) in gradient.iter_mut().zip(weights) {
                    *g = if w > S::ZERO { *g - mean } else { S::ZERO };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::ops::check;

    fn weights(attention: Attention, logits: &[f64]) -> Vec<f64> {
        let mut weights = vec![0.0; logits.len()];
        attention.forward(logits, &mut weights, &mut vec![]);
        weights
    }

    #[test]
    fn attention_gradients_are_exact() {
        for attention in [Attention::Softmax, Attention::Sparsemax] {
            for (count, scale) in [(1, 1.0), (2, 0.3), (7, 1.0), (7, 0.1), (12, 30.0)] {
                let logits: Vec<f64> = check::numbers(count, 5).iter().map(|x| scale * x).collect();
                let pull = check::numbers(count, 6);
                let found = weights(attention, &logits);
                assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-12 && found.iter().all(|&w| w >= 0.0));
                let mut gradient = pull.clone();
                attention.backward(&found, &mut gradient);
                check::gradient(&logits, &gradient, |logits| check::dot(&weights(attention, logits), &pull));
            }
        }
    }

    #[test]
    fn sparsemax_is_the_projection_onto_the_simplex() {
        for seed in 1..50 {
            let logits: Vec<f64> = check::numbers(6, seed).iter().map(|x| 2.0 * x).collect();
            let found = weights(Attention::Sparsemax, &logits);
            // Optimality: logit - weight is the same on the support and not larger off it.
            let level = (0..6).filter(|&i| found[i] > 0.0).map(|i| logits[i] - found[i]).next().unwrap();
            for i in 0..6 {
                let residual = logits[i] - found[i];
                assert!(if found[i] > 0.0 { (residual - level).abs() < 1e-12 } else { residual <= level + 1e-12 });
            }
        }
        assert_eq!(weights(Attention::Sparsemax, &[0.0, 5.0]), [0.0, 1.0]);
        assert_eq!(weights(Attention::Softmax, &[800.0, 0.0])[0], 1.0);
    }
}
