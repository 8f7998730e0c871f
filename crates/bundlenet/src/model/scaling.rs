//! The metric of a network's steps: a positive factor for each variable.
//!
//! A step goes along `M w` instead of `w`, where `M` is diagonal. Variables whose subgradient entries are large get small
//! factors, so that all variables move by similar amounts in their own units. A factor is the product of two:
//!
//! - the scale that the oracle states, or 1. It is constant, so inner products of subgradients are `g'S h`.
//! - a mixture of 1 and of a running factor, in inverse proportion to the root mean square of the entry over the cuts.
//!   It changes from step to step and is no part of the inner products.

use bundlenet_linalg::simd::{Block, flat, flat_mut};
use bundlenet_linalg::vectors::{Padded, add_squares, dot, invert, weighted_square, write_mixture, write_roots};

/// Largest running factor. It bounds the steps along a variable that has hardly changed the function so far.
const MOST: f64 = 10.0;

/// The factors of a run.
#[derive(Clone, Debug)]
pub(crate) struct Scaling {
    /// The scales that the oracle states, or 1. They leave the norm of the first subgradient as it is, so that a step
    /// length means the same with and without them.
    scales: Padded,
    inverses: Padded,
    is_stated: bool,
    /// Sum of squares of each entry over all cuts so far, in stated scales.
    squares: Padded,
    running: Padded,
}

impl Scaling {
    pub(crate) fn new(stated: Option<&[f64]>, first: &Padded) -> Self {
        let all = |number: f64| Padded(vec![Block::splat(number); first.0.len()]);
        let scales = stated.map_or_else(|| all(1.0), |scales| normalised(scales, first));
        let mut inverses = scales.clone();
        flat_mut(&mut inverses.0).iter_mut().for_each(|scale| *scale = 1.0 / *scale);
        let is_stated = stated.is_some();
        let mut scaling = Self { scales, inverses, is_stated, squares: all(0.0), running: all(0.0) };
        scaling.learn(first);
        scaling
    }

    /// The scales that the oracle states.
    pub(crate) fn stated(&self) -> Option<&Padded> {
        self.is_stated.then_some(&self.scales)
    }

    /// The scale of a variable that the oracle states, or 1.
    pub(crate) fn scale(&self, index: usize) -> f64 {
        flat(&self.scales.0)[index]
    }

    /// Squared length of a step in stated scales: the sum of `d_j^2 / s_j`.
    pub(crate) fn square(&self, step: &Padded) -> f64 {
        weighted_square(&step.0, &self.inverses.0)
    }

    /// Takes a new cut into account. The running factors leave the mean of `g'S g` over the cuts as it is.
    pub(crate) fn learn(&mut self, subgradient: &Padded) {
        add_squares(&mut self.squares.0, &subgradient.0, &self.scales.0);
        let (total, roots) = write_roots(&self.squares.0, &mut self.running.0);
        let unit = if roots > 0.0 { total / roots } else { 1.0 };
        invert(flat_mut(&mut self.running.0), unit, MOST);
    }

    /// Writes the factors, with a share `mix` of the running ones.
    pub(crate) fn write_factors(&self, mix: f64, factors: &mut Padded) {
        factors.0.resize(self.scales.0.len(), Block::splat(0.0));
        write_mixture(&mut factors.0, mix, &self.running.0, &self.scales.0);
    }
}

/// Scales that leave the norm of a subgradient as it is. Those beyond the last variable are 1.
fn normalised(scales: &[f64], first: &Padded) -> Padded {
    let mut factors = Padded(vec![Block::splat(1.0); first.0.len()]);
    flat_mut(&mut factors.0)[..scales.len()].copy_from_slice(scales);
    let ratio = dot(&first.0, &first.0) / weighted_square(&first.0, &factors.0);
    if ratio.is_finite() && ratio > 0.0 {
        flat_mut(&mut factors.0).iter_mut().for_each(|factor| *factor *= ratio);
    }
    factors
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean of `g'M g` with all of the running factors, over the mean of `g'g`.
    #[test]
    fn factors_keep_the_size_of_subgradients() {
        let cuts = [Padded::of(&[3.0, 0.1, -2.0, 0.0]), Padded::of(&[-1.0, 0.2, 4.0, 0.0])];
        let mut scaling = Scaling::new(Some(&[1.0, 50.0, 0.1, 7.0]), &cuts[0]);
        let mut factors = Padded::zeros(4);
        let square = |vector: &Padded, factors: &Padded| weighted_square(&vector.0, &factors.0);
        scaling.write_factors(0.0, &mut factors);
        let (found, expected) = (square(&cuts[0], &factors), dot(&cuts[0].0, &cuts[0].0));
        assert!((found - expected).abs() < 1e-12 * expected, "{found} {expected}");
        scaling.learn(&cuts[1]);
        let means = [0.0, 1.0].map(|mix| {
            scaling.write_factors(mix, &mut factors);
            cuts.iter().map(|cut| square(cut, &factors)).sum::<f64>()
        });
        assert!((means[0] - means[1]).abs() < 1e-12 * means[0], "{means:?}");
        // Nothing is known of the last variable.
        assert_eq!(factors.numbers(4)[3], MOST * scaling.scale(3));
    }
}
