//! Cuts as dense rows, for passes over all of them.

use bundlenet_linalg::simd::{Block, blocks_for, flat, flat_mut};
use bundlenet_linalg::vectors::{Padded, add_combination, dots_of_rows};

use crate::oracle::Patience;

/// Rows of numbers, padded to whole blocks.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    dim: usize,
    blocks: usize,
    entries: Vec<Block>,
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

    pub(super) fn row(&self, index: usize) -> &[f64] {
        &flat(&self.entries[index * self.blocks..(index + 1) * self.blocks])[..self.dim]
    }

    /// Adds a weighted sum of rows.
    pub(super) fn add_combination(&self, weights: &[(usize, f64)], sum: &mut Padded) {
        add_combination(&self.entries, weights, &mut sum.0);
    }

    /// The products of some rows with a vector.
    pub(super) fn products(&self, places: &[usize], vector: &Padded, products: &mut [f64]) {
        dots_of_rows(&self.entries, places, &vector.0, products);
    }
}
