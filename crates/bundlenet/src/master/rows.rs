//! Cuts as dense rows, for passes over all of them.

use bundlenet_linalg::simd::{Block, blocks_for, flat, flat_mut};
use bundlenet_linalg::vectors::{Padded, combine, dots};

use crate::oracle::Patience;

/// Rows of numbers, padded to whole blocks, with the work space of their products and combinations.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    dim: usize,
    blocks: usize,
    entries: Vec<Block>,
    vector: Padded,
    weights: Vec<(usize, f64)>,
    products: Vec<f64>,
}

impl Rows {
    /// Writes sparse rows. `None` if the patience ends before.
    pub(super) fn write<'a>(
        &mut self,
        dim: usize,
        rows: impl Iterator<Item = (&'a [u32], &'a [f64])>,
        patience: &Patience<'_>,
    ) -> Option<()> {
        (self.dim, self.blocks) = (dim, blocks_for(dim));
        self.vector = Padded::zeros(dim);
        self.entries.clear();
        for (coordinates, entries) in rows {
            let begin = self.entries.len();
            self.entries.resize(begin + self.blocks, Block::splat(0.0));
            let row = flat_mut(&mut self.entries[begin..]);
            coordinates.iter().zip(entries).for_each(|(&at, entry)| row[at as usize] += entry);
            if patience.is_over_after(dim) {
                return None;
            }
        }
        Some(())
    }

    /// Number of all numbers.
    pub(super) fn len(&self) -> usize {
        self.entries.len() / self.blocks.max(1) * self.dim
    }

    pub(super) fn row(&self, index: usize) -> &[f64] {
        &flat(&self.entries[index * self.blocks..(index + 1) * self.blocks])[..self.dim]
    }

    /// The weighted sum of all rows.
    pub(super) fn combination(&mut self, weights: impl Iterator<Item = f64>) -> &[f64] {
        self.weights.clear();
        self.weights.extend(weights.enumerate());
        combine(&self.entries, &self.weights, &mut self.vector.0);
        self.vector.numbers(self.dim)
    }

    /// The products of all rows with a vector.
    pub(super) fn products(&mut self, vector: &[f64]) -> &[f64] {
        self.vector.numbers_mut(self.dim).copy_from_slice(vector);
        self.products.resize(self.entries.len() / self.blocks.max(1), 0.0);
        dots(&self.entries, &self.vector.0, &mut self.products);
        &self.products
    }
}
