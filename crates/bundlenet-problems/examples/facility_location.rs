//! The Lagrangian dual of your own problem: facility location, with the constraint "one delivery each" dualised.
//!
//! ```text
//! min sum_j open_j y_j + sum_ij cost_ij x_ij   where sum_j x_ij = 1 for each customer i, x_ij <= y_j, y binary
//! max_u sum_i u_i + sum_j min(0, open_j + sum_i min(0, cost_ij - u_i))
//! ```

use bundlenet::{Oracle, OracleError, Sense, Settings, Solver};

struct FacilityLocation {
    open: Vec<f64>,
    cost: Vec<Vec<f64>>, // by facility, then customer
}

impl Oracle for FacilityLocation {
    fn dim(&self) -> usize {
        self.cost[0].len()
    }

    fn sense(&self) -> Sense {
        Sense::Maximize
    }

    fn evaluate(&mut self, price: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        let mut value: f64 = price.iter().sum();
        subgradient.fill(1.0); // deliveries that each customer still lacks
        for (open, cost) in self.open.iter().zip(&self.cost) {
            let gain: f64 = cost.iter().zip(price).map(|(cost, price)| (cost - price).min(0.0)).sum();
            if open + gain < 0.0 {
                value += open + gain;
                let served = subgradient.iter_mut().zip(cost.iter().zip(price));
                served.filter(|(_, (cost, price))| cost < price).for_each(|(lacks, _)| *lacks -= 1.0);
            }
        }
        Ok(value)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // 40 facilities and 120 customers around a lake. A delivery costs 5 and the way along the shore.
    let way = |a: usize, b: usize| a.abs_diff(b).min(120 - a.abs_diff(b)) as f64;
    let cost = (0..40).map(|j| (0..120).map(|i| 5.0 + way(3 * j, i)).collect()).collect();
    let mut dual = FacilityLocation { open: (0..40).map(|j| 60.0 + (j * j % 7) as f64).collect(), cost };
    let solution = Solver::new(Settings::default())?.solve(&mut dual)?;
    println!(
        "{}: no plan costs less than {:.4} ({} oracle calls)",
        solution.status, solution.value, solution.oracle_calls
    );
    Ok(())
}
