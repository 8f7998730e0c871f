//! Columns of the matrix of a step, sparse and dense.

use bundlenet_linalg::cholesky::{Cholesky, Strips};
use bundlenet_linalg::vectors::{Padded, weighted_square};

/// Columns of the matrix of a step may be left out while their squares, over the matrix `1/M`, add up to at most this: up
/// to half of all columns. The sum of the matrices that they make is between 0 and this multiple of `1/M`.
/// Half of it is added to `1/M` instead. Then a step leaves at most half of the residual of the point, in any direction:
/// `0.5 LEFT_OUT / (1 + 0.5 LEFT_OUT)`.
pub(super) const LEFT_OUT: f64 = 2.0;

/// A sparse vector: entries by coordinate, and the coordinates in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Sparse {
    pub(super) entries: Vec<f64>,
    pub(super) marks: Vec<bool>,
    pub(super) coordinates: Vec<u32>,
}

impl Sparse {
    pub(super) fn resize(&mut self, dim: usize) {
        self.entries.resize(dim, 0.0);
        self.marks.resize(dim, false);
    }

    pub(super) fn add(&mut self, coordinates: &[u32], entries: impl Iterator<Item = f64>, factor: f64) {
        for (&at, entry) in coordinates.iter().zip(entries) {
            self.entries[at as usize] += factor * entry;
            if !std::mem::replace(&mut self.marks[at as usize], true) {
                self.coordinates.push(at);
            }
        }
    }

    /// Sorts the coordinates and leaves out those with a zero or a mark in `is_held`.
    pub(super) fn sort(&mut self, is_held: &[bool]) {
        let Self { entries, marks, coordinates } = self;
        coordinates.retain(|&at| {
            let is_kept = entries[at as usize] != 0.0 && !is_held[at as usize];
            if !is_kept {
                (entries[at as usize], marks[at as usize]) = (0.0, false);
            }
            is_kept
        });
        coordinates.sort_unstable();
    }

    /// Adds a multiple of its square to a matrix. Returns the number of products.
    pub(super) fn add_square(&self, factor: f64, matrix: &mut Cholesky) -> usize {
        for (count, &at) in self.coordinates.iter().enumerate() {
            let row = matrix.row_mut(at as usize);
            let entry = factor * self.entries[at as usize];
            for &other in &self.coordinates[..=count] {
                row[other as usize] += entry * self.entries[other as usize];
            }
        }
        self.coordinates.len() * (self.coordinates.len() + 1) / 2
    }

    pub(super) fn clear(&mut self) {
        for at in self.coordinates.drain(..) {
            (self.entries[at as usize], self.marks[at as usize]) = (0.0, false);
        }
    }
}

/// Dense columns, collected for products with each other, and the work space to write one.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns {
    pub(super) strips: Strips,
    pub(super) count: usize,
    /// Number of columns of the matrix.
    pub(super) used: usize,
    pub(super) dim: usize,
    /// The mean of a component's cuts, by ratios of weights and slacks.
    pub(super) mean: Padded,
    pub(super) numbers: Padded,
    pub(super) metric: Padded,
    /// Square of the largest column that may be left out.
    pub(super) small: f64,
    /// Sum of the squares of those that were left out.
    pub(super) left_out: f64,
}

impl Columns {
    /// Begins a matrix. The limit of small columns follows the last matrix, so that they add up to nearly `LEFT_OUT`.
    pub(super) fn reset(&mut self, metric: &[f64]) {
        self.small *= if self.left_out + self.small > LEFT_OUT { 0.5 } else { 2.0 };
        self.left_out = 0.0;
        self.strips.reset(metric.len(), Strips::MOST);
        (self.count, self.used, self.dim) = (0, 0, metric.len());
        self.mean = Padded::zeros(metric.len());
        self.numbers = Padded::zeros(metric.len());
        self.metric = Padded::of(metric);
    }

    /// Takes the numbers as a column, or leaves them out. Subtracts the squares of all columns from the matrix when they
    /// are many enough.
    pub(super) fn push(&mut self, matrix: &mut Cholesky, is_over: &dyn Fn(usize) -> bool) -> Option<()> {
        let square = weighted_square(&self.numbers.0, &self.metric.0);
        if square <= self.small && self.left_out + square <= LEFT_OUT {
            self.left_out += square;
            return Some(());
        }
        self.strips.set_column(self.count, self.numbers.numbers(self.dim));
        self.count += 1;
        self.used += 1;
        if self.count == Strips::MOST { self.subtract(matrix, is_over) } else { Some(()) }
    }

    /// Subtracts the squares of the columns from the matrix.
    pub(super) fn subtract(&mut self, matrix: &mut Cholesky, is_over: &dyn Fn(usize) -> bool) -> Option<()> {
        matrix.subtract_products(&self.strips, is_over)?;
        self.strips.reset(self.dim, Strips::MOST);
        self.count = 0;
        Some(())
    }
}
