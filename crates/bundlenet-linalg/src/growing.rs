//! A Cholesky factor that gains and loses rows.

use crate::vectors::{solve_lower, solve_upper};

/// The lower triangular factor `F` of a symmetric positive definite matrix `F F'`. A row is appended at the end and
/// removed anywhere, each in a number of operations in proportion to the square of the size.
#[derive(Clone, Debug, Default)]
pub struct GrowingFactor {
    size: usize,
    /// Entries by rows of length `stride`.
    entries: Vec<f64>,
    stride: usize,
    /// Cosines and sines of the rotations of a removal.
    rotations: Vec<(f64, f64)>,
}

impl GrowingFactor {
    /// Number of rows.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Removes all rows. Memory is kept.
    pub fn clear(&mut self) {
        self.size = 0;
    }

    /// Makes room for a number of rows.
    pub fn reserve(&mut self, rows: usize) {
        if rows <= self.stride {
            return;
        }
        let mut entries = vec![0.0; rows * rows];
        for row in 0..self.size {
            let old = &self.entries[row * self.stride..row * self.stride + row + 1];
            entries[row * rows..row * rows + row + 1].copy_from_slice(old);
        }
        self.entries = entries;
        self.stride = rows;
    }

    /// Solves `F y = vector` in place. The entries before `from` are already solved.
    pub fn forward(&self, vector: &mut [f64], from: usize) {
        solve_lower(&self.entries, self.stride, vector, from);
    }

    /// Solves `F' x = vector` in place.
    pub fn backward(&self, vector: &mut [f64]) {
        solve_upper(&self.entries, self.stride, vector);
    }

    /// Appends a row of the matrix. `solved` is the solution of `F y = entries left of the diagonal`, and `pivot` is the
    /// diagonal entry less the square of `solved`; positive.
    pub fn append(&mut self, solved: &[f64], pivot: f64) {
        if self.size >= self.stride {
            self.reserve(2 * self.size + 8);
        }
        let start = self.size * self.stride;
        self.entries[start..start + self.size].copy_from_slice(&solved[..self.size]);
        self.entries[start + self.size] = pivot.sqrt();
        self.size += 1;
    }

    /// Removes a row and its column of the matrix, and repairs the factor by rotations.
    pub fn remove(&mut self, position: usize) {
        self.rotations.clear();
        self.size -= 1;
        for row in position..self.size {
            let (start, below) = (row * self.stride, (row + 1) * self.stride);
            self.entries.copy_within(below..below + row + 2, start);
            let entries = &mut self.entries[start..start + row + 2];
            // Rotations of columns `at` and `at + 1`, so that the entry right of the diagonal vanishes in each row above.
            for (at, &(cosine, sine)) in (position..).zip(&self.rotations) {
                let (x, y) = (entries[at], entries[at + 1]);
                (entries[at], entries[at + 1]) = (cosine * x + sine * y, cosine * y - sine * x);
            }
            let (a, b) = (entries[row], entries[row + 1]);
            let length = a.hypot(b);
            entries[row] = length;
            self.rotations.push((a / length, b / length));
        }
    }
}
