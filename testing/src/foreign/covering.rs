//! Set covering, all rows dualised: `max sum_i u_i + sum_j min(0, c_j - sum_{i in j} u_i)`, `u >= 0`.

use bundlenet::{Domain, Oracle, OracleError, Sense};
use bundlenet_linalg::{SparseRows, Stream};

/// The dual of set covering. It is offered as one function, not as a sum.
#[derive(Clone)]
pub struct Covering {
    rows: usize,
    costs: Vec<f64>,
    columns: SparseRows,
    entries: usize,
}

impl Covering {
    /// A random instance as of Beasley: costs from 1 to 100, every column has a row, every row two columns.
    pub fn random(index: u64, rows: usize, columns: usize, density: f64) -> Self {
        let mut stream = Stream::new(1, "set covering", index);
        let mut members: Vec<Vec<u32>> = (0..columns).map(|_| vec![stream.below(rows) as u32]).collect();
        for row in 0..rows as u32 {
            (0..2).for_each(|_| members[stream.below(columns)].push(row));
        }
        let wanted = (density * (rows * columns) as f64) as usize;
        for _ in members.iter().map(Vec::len).sum()..wanted {
            members[stream.below(columns)].push(stream.below(rows) as u32);
        }
        let mut sparse = SparseRows::default();
        let mut entries = 0;
        for mut column in members {
            column.sort_unstable();
            column.dedup();
            entries += column.len();
            sparse.push(column.into_iter().map(|row| (row, 1.0)));
        }
        let costs = (0..columns).map(|_| f64::from(stream.between(1, 100))).collect();
        Self { rows, costs, columns: sparse, entries }
    }

    /// Cost and rows of every column.
    pub fn columns(&self) -> impl Iterator<Item = (f64, &[u32])> {
        self.costs.iter().enumerate().map(|(column, &cost)| (cost, self.columns.row(column).0))
    }
}

impl Oracle for Covering {
    fn dim(&self) -> usize {
        self.rows
    }

    fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        subgradient.fill(1.0);
        let mut value: f64 = point.iter().sum();
        for (cost, rows) in self.columns() {
            let reduced = cost - rows.iter().map(|&row| point[row as usize]).sum::<f64>();
            if reduced < 0.0 {
                value += reduced;
                rows.iter().for_each(|&row| subgradient[row as usize] -= 1.0);
            }
        }
        Ok(value)
    }

    fn domain(&self) -> Domain {
        Domain::Nonnegative
    }

    fn sense(&self) -> Sense {
        Sense::Maximize
    }

    fn work(&self) -> Option<f64> {
        Some(2.0 * self.entries as f64 + 8.0 * self.costs.len() as f64)
    }
}
