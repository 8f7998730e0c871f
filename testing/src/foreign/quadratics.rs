//! Maxima of convex quadratics: smooth pieces with kinks between them.

use bundlenet::{Oracle, OracleError};
use bundlenet_linalg::Stream;

/// `max_i |R_i x|^2 / 2 + b_i'x + c_i`. The `b_i` add up to 0, so the maximum is bounded below.
#[derive(Clone)]
pub struct Quadratics {
    dim: usize,
    pieces: Vec<Piece>,
}

#[derive(Clone)]
struct Piece {
    /// `R`, row by row.
    rows: Vec<Vec<f64>>,
    slope: Vec<f64>,
    constant: f64,
}

impl Quadratics {
    /// A random instance. Ranks are from 1 to the number of variables, curvatures between 0.03 and 30.
    pub fn random(index: u64, dim: usize, pieces: usize) -> Self {
        let mut stream = Stream::new(1, "maximum of quadratics", index);
        let mut pieces: Vec<Piece> = (0..pieces)
            .map(|_| {
                let (rank, size) = (1 + stream.below(dim), 10.0_f64.powf(1.5 * stream.symmetric()));
                let factor = (size / dim as f64).sqrt();
                let mut row = || (0..dim).map(|_| factor * stream.normal()).collect();
                Piece { rows: (0..rank).map(|_| row()).collect(), slope: row(), constant: stream.normal() }
            })
            .collect();
        for at in 0..dim {
            let mean = pieces.iter().map(|piece| piece.slope[at]).sum::<f64>() / pieces.len() as f64;
            pieces.iter_mut().for_each(|piece| piece.slope[at] -= mean);
        }
        Self { dim, pieces }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

impl Piece {
    fn value(&self, point: &[f64]) -> f64 {
        let squares: f64 = self.rows.iter().map(|row| dot(row, point).powi(2)).sum();
        squares / 2.0 + dot(&self.slope, point) + self.constant
    }
}

impl Oracle for Quadratics {
    fn dim(&self) -> usize {
        self.dim
    }

    fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        let values = self.pieces.iter().map(|piece| piece.value(point));
        let (at, value) = values.enumerate().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        let piece = &self.pieces[at];
        subgradient.copy_from_slice(&piece.slope);
        for row in &piece.rows {
            let product = dot(row, point);
            subgradient.iter_mut().zip(row).for_each(|(slope, entry)| *slope += product * entry);
        }
        Ok(value)
    }

    fn work(&self) -> Option<f64> {
        let rows: usize = self.pieces.iter().map(|piece| piece.rows.len() + 1).sum();
        Some((rows * self.dim) as f64)
    }
}
