//! Passes over the cuts: combinations of them, and their products with a vector.

use bundlenet_linalg::vectors::Padded;

use super::pairs::{Block, Working};
use crate::master::rows::Rows;
use crate::model::ComponentBundle;

/// Combinations of cuts for the right-hand sides of a step. A weight that is to become `q_i` adds
/// `q_i (g_i - mean_a)` to the sum of all means.
#[derive(Clone, Debug, Default)]
pub(super) struct Combinations {
    /// The sum of all means: the aims are products of 0.
    pub(super) means: Padded,
    /// The addition for aims of 1.
    pub(super) lift: Padded,
    /// The addition for the products of the predictor's changes.
    pub(super) second: Padded,
    /// The combination of the present aims.
    pub(super) sum: Padded,
}

impl Combinations {
    pub(super) fn reset(&mut self, dim: usize) {
        for vector in [&mut self.means, &mut self.lift, &mut self.second, &mut self.sum] {
            *vector = Padded::zeros(dim);
        }
    }
}

/// Work space of passes over the cuts of a component: rows with weights, rows, and products.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    pub(super) weights: Vec<(usize, f64)>,
    pub(super) places: Vec<usize>,
    pub(super) products: Vec<f64>,
}

impl Scratch {
    /// Sets a weight for each cut.
    pub(super) fn set(&mut self, cuts: &[Working], weight: impl FnMut(&Working) -> f64) {
        self.weights.clear();
        let mut weight = weight;
        self.weights.extend(cuts.iter().map(|cut| (cut.row, weight(cut))));
    }

    /// Sets weights `q_i` for `sum_i q_i (g_i - mean)`, with the mean by ratios of weights and slacks. Returns whether any
    /// is not 0.
    pub(super) fn set_centred(&mut self, cuts: &[Working], weight: impl FnMut(&Working) -> f64) -> bool {
        self.set(cuts, weight);
        let total: f64 = self.weights.iter().map(|(_, weight)| weight).sum();
        let mean = total / cuts.iter().map(|cut| cut.pair.ratio()).sum::<f64>();
        let is_any = self.weights.iter().any(|(_, weight)| *weight != 0.0);
        self.weights.iter_mut().zip(cuts).for_each(|((_, weight), cut)| *weight -= mean * cut.pair.ratio());
        is_any
    }
}

/// The cuts, as they are read in passes.
pub(super) struct Data<'a> {
    pub(super) bundle: &'a ComponentBundle,
    pub(super) rows: Option<&'a Rows>,
}

impl Data<'_> {
    /// Adds the cuts of a component, with the weights in the work space.
    pub(super) fn add(&self, block: &Block, cuts: &[Working], scratch: &Scratch, sum: &mut Padded) {
        if let Some(rows) = self.rows {
            return rows.add_combination(&scratch.weights, sum);
        }
        let (own, numbers) = (&self.bundle.components()[block.component].cuts, self.bundle.linear().len());
        let sum = sum.numbers_mut(numbers);
        for (working, &(_, weight)) in cuts.iter().zip(&scratch.weights).filter(|(_, (_, weight))| *weight != 0.0) {
            self.bundle.add_to(&own[working.cut], weight, sum);
        }
    }

    /// Sets the slopes of a component's cuts: their products with a vector.
    pub(super) fn multiply(&self, block: &Block, cuts: &mut [Working], vector: &Padded, scratch: &mut Scratch) {
        let Scratch { places, products, .. } = scratch;
        if let Some(rows) = self.rows {
            places.clear();
            places.extend(cuts.iter().map(|cut| cut.row));
            products.resize(places.len(), 0.0);
            rows.products(places, vector, products);
            return cuts.iter_mut().zip(products).for_each(|(cut, product)| cut.slope = *product);
        }
        let own = &self.bundle.components()[block.component].cuts;
        let vector = vector.numbers(self.bundle.linear().len());
        cuts.iter_mut().for_each(|working| working.slope = self.bundle.product(&own[working.cut], vector));
    }
}
