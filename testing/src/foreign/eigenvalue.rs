//! The largest eigenvalue of an affine matrix function, and the bound of a maximum cut.

use bundlenet::{Oracle, OracleError};
use bundlenet_linalg::Stream;

use super::symmetric::{Matrix, largest_pair};

/// `lambda_max(A_0 + sum_i x_i A_i)`.
#[derive(Clone)]
pub struct Eigenvalue {
    constant: Matrix,
    /// Entries `(row, column, entry)` of every matrix, `row >= column`.
    matrices: Vec<Vec<(usize, usize, f64)>>,
}

impl Eigenvalue {
    /// A random instance. The matrices have trace 0, so that the largest eigenvalue is at least the mean of the
    /// eigenvalues of `A_0`.
    pub fn random(index: u64, order: usize, dim: usize) -> Self {
        let mut stream = Stream::new(1, "eigenvalue", index);
        let mut constant = Matrix::new(order);
        for row in 0..order {
            (0..=row).for_each(|column| constant.set(row, column, stream.normal()));
            constant.add(row, row, 10.0);
        }
        let matrices = (0..dim).map(|_| {
            let mut entries = vec![];
            for _ in 0..order {
                let (row, column) = (stream.below(order), stream.below(order));
                if row != column {
                    entries.push((row.max(column), row.min(column), stream.normal()));
                }
            }
            let (one, other) = (stream.below(order), stream.below(order));
            entries.extend([(one, one, 1.0), (other, other, -1.0)]);
            entries
        });
        let matrices = matrices.collect();
        Self { constant, matrices }
    }
}

impl Oracle for Eigenvalue {
    fn dim(&self) -> usize {
        self.matrices.len()
    }

    fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        let mut matrix = self.constant.clone();
        for (factor, entries) in point.iter().zip(&self.matrices) {
            entries.iter().for_each(|&(row, column, entry)| matrix.add(row, column, factor * entry));
        }
        let (value, vector) = largest_pair(matrix);
        for (slope, entries) in subgradient.iter_mut().zip(&self.matrices) {
            let product = |&(row, column, entry): &(usize, usize, f64)| {
                let both = if row == column { 1.0 } else { 2.0 };
                both * entry * vector[row] * vector[column]
            };
            *slope = entries.iter().map(product).sum();
        }
        Ok(value)
    }

    fn work(&self) -> Option<f64> {
        let order = self.constant.order() as f64;
        Some(work_of_pair(order) + 4.0 * order * self.dim() as f64)
    }
}

/// Nanoseconds of an eigenvalue.
fn work_of_pair(order: f64) -> f64 {
    0.12 * order.powi(3) + 12.0 * order.powi(2)
}

/// `n lambda_max(C + diag(x)) - sum x` with `C` a quarter of the Laplacian of a graph: the semidefinite bound of its
/// maximum cut.
#[derive(Clone)]
pub struct Cut {
    laplacian: Matrix,
}

impl Cut {
    /// A random graph with weights from 1 to 10 on a third of all edges.
    pub fn random(index: u64, nodes: usize) -> Self {
        let mut stream = Stream::new(1, "maximum cut", index);
        let mut laplacian = Matrix::new(nodes);
        for row in 0..nodes {
            for column in 0..row {
                if stream.below(3) == 0 {
                    let weight = f64::from(stream.between(1, 10)) / 4.0;
                    laplacian.add(row, column, -weight);
                    laplacian.add(row, row, weight);
                    laplacian.add(column, column, weight);
                }
            }
        }
        Self { laplacian }
    }
}

impl Oracle for Cut {
    fn dim(&self) -> usize {
        self.laplacian.order()
    }

    fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        let nodes = self.dim() as f64;
        let mut matrix = self.laplacian.clone();
        point.iter().enumerate().for_each(|(node, &entry)| matrix.add(node, node, entry));
        let (value, vector) = largest_pair(matrix);
        subgradient.iter_mut().zip(vector).for_each(|(slope, entry)| *slope = nodes * entry * entry - 1.0);
        Ok(nodes * value - point.iter().sum::<f64>())
    }

    fn work(&self) -> Option<f64> {
        Some(work_of_pair(self.dim() as f64))
    }
}
