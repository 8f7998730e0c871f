//! The largest eigenvalue of a symmetric matrix and its eigenvector: Householder reflections to a tridiagonal matrix,
//! bisection with Sturm sequences, inverse iteration.

/// A symmetric matrix with both triangles stored.
#[derive(Clone)]
pub(super) struct Matrix {
    order: usize,
    entries: Vec<f64>,
}

impl Matrix {
    pub(super) fn new(order: usize) -> Self {
        Self { order, entries: vec![0.0; order * order] }
    }

    pub(super) fn order(&self) -> usize {
        self.order
    }

    pub(super) fn set(&mut self, row: usize, column: usize, entry: f64) {
        self.entries[row * self.order + column] = entry;
        self.entries[column * self.order + row] = entry;
    }

    /// Adds to an entry and to its mirror image.
    pub(super) fn add(&mut self, row: usize, column: usize, entry: f64) {
        let sum = self.entries[row * self.order + column] + entry;
        self.set(row, column, sum);
    }

    /// The part of a row that begins at a column.
    fn row(&self, row: usize, from: usize) -> &[f64] {
        &self.entries[row * self.order + from..(row + 1) * self.order]
    }

    fn row_mut(&mut self, row: usize, from: usize) -> &mut [f64] {
        &mut self.entries[row * self.order + from..(row + 1) * self.order]
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    for (a, b) in a.iter().zip(b) {
        (0..4).for_each(|lane| sums[lane] += a[lane] * b[lane]);
    }
    sums.iter().sum::<f64>() + a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f64>()
}

/// A tridiagonal matrix: its diagonal and the entries beside it.
struct Tridiagonal {
    diagonal: Vec<f64>,
    beside: Vec<f64>,
}

/// Reduces a matrix by reflections `I - 2 v v'`. Reflection `k` acts on the coordinates after `k`.
fn reduce(mut matrix: Matrix) -> (Tridiagonal, Vec<Vec<f64>>) {
    let order = matrix.order;
    let (mut beside, mut reflections) = (vec![], vec![]);
    for k in 0..order.saturating_sub(1) {
        let mut v = matrix.row(k, k + 1).to_vec();
        let norm = dot(&v, &v).sqrt();
        let image = if v[0] > 0.0 { -norm } else { norm };
        v[0] -= image;
        let length = dot(&v, &v).sqrt();
        if length > 0.0 {
            v.iter_mut().for_each(|entry| *entry /= length);
        }
        let mut w: Vec<f64> = (k + 1..order).map(|row| 2.0 * dot(matrix.row(row, k + 1), &v)).collect();
        let along = dot(&v, &w);
        w.iter_mut().zip(&v).for_each(|(entry, v)| *entry -= along * v);
        for row in k + 1..order {
            let (v_row, w_row) = (v[row - k - 1], w[row - k - 1]);
            let entries = matrix.row_mut(row, k + 1).iter_mut().zip(v.iter().zip(&w));
            entries.for_each(|(entry, (v, w))| *entry -= v_row * w + w_row * v);
        }
        beside.push(image);
        reflections.push(v);
    }
    let diagonal = (0..order).map(|k| matrix.row(k, k)[0]).collect();
    (Tridiagonal { diagonal, beside }, reflections)
}

impl Tridiagonal {
    /// Whether all eigenvalues are below `bound`: all pivots of the matrix less the bound are negative.
    fn is_below(&self, bound: f64) -> bool {
        let mut pivot = self.diagonal[0] - bound;
        for (diagonal, beside) in self.diagonal[1..].iter().zip(&self.beside) {
            if pivot >= 0.0 {
                return false;
            }
            pivot = diagonal - bound - beside * beside / pivot;
        }
        pivot < 0.0
    }

    fn largest(&self) -> f64 {
        let beside = |index: usize| self.beside.get(index).map_or(0.0, |entry| entry.abs());
        let radius = |index: usize| beside(index) + if index > 0 { beside(index - 1) } else { 0.0 };
        let discs = self.diagonal.iter().enumerate();
        let mut high = discs.map(|(index, entry)| entry + radius(index)).fold(f64::NEG_INFINITY, f64::max);
        let mut low = self.diagonal.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        loop {
            let middle = f64::midpoint(low, high);
            if middle <= low || middle >= high {
                return high;
            }
            if self.is_below(middle) { high = middle } else { low = middle }
        }
    }

    /// Solves `(T - shift I) x = right` by elimination with row exchanges; tiny pivots are replaced.
    fn solve(&self, shift: f64, right: &mut [f64]) {
        let order = right.len();
        let least = 1e-15 * self.diagonal.iter().fold(shift.abs(), |most, entry| most.max(entry.abs())).max(1e-280);
        // The rows of the upper factor: entries at the diagonal and at the next two columns.
        let mut rows = vec![[0.0; 3]; order];
        let mut current = [self.diagonal[0] - shift, self.beside.first().copied().unwrap_or(0.0), 0.0];
        for k in 0..order.saturating_sub(1) {
            let beyond = self.beside.get(k + 1).copied().unwrap_or(0.0);
            let mut next = [self.beside[k], self.diagonal[k + 1] - shift, beyond];
            if next[0].abs() > current[0].abs() {
                std::mem::swap(&mut current, &mut next);
                right.swap(k, k + 1);
            }
            if current[0].abs() < least {
                current[0] = least;
            }
            let factor = next[0] / current[0];
            right[k + 1] -= factor * right[k];
            rows[k] = current;
            current = [next[1] - factor * current[1], next[2] - factor * current[2], 0.0];
        }
        rows[order - 1] = [if current[0].abs() < least { least } else { current[0] }, 0.0, 0.0];
        for k in (0..order).rev() {
            let later = |offset: usize| right.get(k + offset).map_or(0.0, |entry| rows[k][offset] * entry);
            right[k] = (right[k] - later(1) - later(2)) / rows[k][0];
        }
    }

    /// An eigenvector of length 1.
    fn vector(&self, value: f64) -> Vec<f64> {
        let mut vector: Vec<f64> = (0..self.diagonal.len()).map(|index| 1.0 + 0.1 * (index % 7) as f64).collect();
        for _ in 0..3 {
            self.solve(value, &mut vector);
            // A large vector would overflow when squared.
            let most = vector.iter().fold(0.0, |most: f64, entry| most.max(entry.abs()));
            vector.iter_mut().for_each(|entry| *entry /= most);
            let length = dot(&vector, &vector).sqrt();
            vector.iter_mut().for_each(|entry| *entry /= length);
        }
        vector
    }
}

/// The largest eigenvalue, and an eigenvector of length 1.
pub(super) fn largest_pair(matrix: Matrix) -> (f64, Vec<f64>) {
    let (tridiagonal, reflections) = reduce(matrix);
    let value = tridiagonal.largest();
    let mut vector = tridiagonal.vector(value);
    for (k, v) in reflections.iter().enumerate().rev() {
        let product = 2.0 * dot(v, &vector[k + 1..]);
        vector[k + 1..].iter_mut().zip(v).for_each(|(entry, v)| *entry -= product * v);
    }
    (value, vector)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bundlenet_linalg::Stream;

    /// A graph without edges has this matrix.
    #[test]
    fn a_zero_matrix_has_a_pair() {
        let (value, vector) = largest_pair(Matrix::new(4));
        assert!(value == 0.0 && (dot(&vector, &vector) - 1.0).abs() < 1e-12, "{value} {vector:?}");
    }

    #[test]
    fn pairs_are_eigenpairs_and_largest() {
        for order in [1, 2, 3, 7, 20, 60] {
            let mut stream = Stream::new(3, "symmetric", order as u64);
            let mut matrix = Matrix::new(order);
            for row in 0..order {
                (0..=row).for_each(|column| matrix.set(row, column, stream.below(5) as f64 - 2.0));
            }
            let (value, vector) = largest_pair(matrix.clone());
            assert!((dot(&vector, &vector) - 1.0).abs() < 1e-12);
            for row in 0..order {
                let image = dot(matrix.row(row, 0), &vector);
                assert!((image - value * vector[row]).abs() < 1e-11 * order as f64, "{order}");
            }
            for _ in 0..100 {
                let other: Vec<f64> = (0..order).map(|_| stream.normal()).collect();
                let image: f64 = (0..order).map(|row| other[row] * dot(matrix.row(row, 0), &other)).sum();
                assert!(image <= value * dot(&other, &other) + 1e-9, "{order}");
            }
        }
    }
}
