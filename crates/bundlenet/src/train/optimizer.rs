//! Adam, and the clipping of gradients.

/// Decay rates of the means of gradients and of their squares.
const MOMENTUM: f32 = 0.9;
const SECOND_MOMENTUM: f32 = 0.999;

/// Adam for the weights of a network.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Optimizer {
    pub(crate) mean: Vec<f32>,
    pub(crate) square: Vec<f32>,
    pub(crate) steps: usize,
}

impl Optimizer {
    pub(crate) fn new(count: usize) -> Self {
        Self { mean: vec![0.0; count], square: vec![0.0; count], steps: 0 }
    }

    /// Moves the weights against a gradient. The rate of each weight is multiplied by its `scale`, if given.
    pub(crate) fn step(&mut self, weights: &mut [f32], gradient: &[f32], rate: f64, scale: Option<&[f32]>) {
        self.steps += 1;
        let power = i32::try_from(self.steps).unwrap_or(i32::MAX);
        let correction =
            (1.0 - f64::from(SECOND_MOMENTUM).powi(power)).sqrt() / (1.0 - f64::from(MOMENTUM).powi(power));
        let rate = (rate * correction) as f32;
        for (index, &slope) in gradient.iter().enumerate() {
            let (mean, square) = (&mut self.mean[index], &mut self.square[index]);
            *mean += (1.0 - MOMENTUM) * (slope - *mean);
            *square += (1.0 - SECOND_MOMENTUM) * (slope * slope - *square);
            let size = scale.map_or(1.0, |scale| scale[index]);
            weights[index] -= size * rate * *mean / (square.sqrt() + 1e-8);
        }
    }
}

/// Scales a gradient down to a largest norm. Returns its norm before.
pub(crate) fn clip(gradient: &mut [f32], limit: f64) -> f64 {
    let norm = gradient.iter().map(|&entry| f64::from(entry) * f64::from(entry)).sum::<f64>().sqrt();
    if norm > limit {
        let factor = (limit / norm) as f32;
        gradient.iter_mut().for_each(|entry| *entry *= factor);
    }
    norm
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adam_finds_the_minimum_of_a_bowl() {
        let mut weights = vec![3.0_f32, -2.0];
        let mut optimizer = Optimizer::new(2);
        for _ in 0..2000 {
            let gradient = [weights[0] - 1.0, 10.0 * (weights[1] - 0.5)];
            optimizer.step(&mut weights, &gradient, 0.01, None);
        }
        assert!((weights[0] - 1.0).abs() < 1e-3 && (weights[1] - 0.5).abs() < 1e-3, "{weights:?}");
    }

    #[test]
    fn long_gradients_are_cut() {
        let mut gradient = vec![3.0, 4.0];
        assert_eq!(clip(&mut gradient, 10.0), 5.0);
        assert_eq!(gradient, [3.0, 4.0]);
        assert_eq!(clip(&mut gradient, 1.0), 5.0);
        assert!((gradient[1] - 0.8).abs() < 1e-6);
    }
}
