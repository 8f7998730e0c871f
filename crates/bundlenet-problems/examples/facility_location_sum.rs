//! The dual of `facility_location.rs` as a sum with a component for each facility, evaluated on several threads.

use bundlenet::{Answer, Components, OracleError, Parallel, Sense, Settings, Solver, check, check_points};

struct FacilityLocation {
    open: Vec<f64>,
    cost: Vec<Vec<f64>>, // by facility, then customer
    ones: Vec<f64>,
}

impl Components for FacilityLocation {
    fn dim(&self) -> usize {
        self.ones.len()
    }

    fn component_count(&self) -> usize {
        self.open.len()
    }

    fn sense(&self) -> Sense {
        Sense::Maximize
    }

    fn linear(&self) -> Option<&[f64]> {
        Some(&self.ones) // sum_i u_i
    }

    fn evaluate_component(&self, j: usize, price: &[f64], answer: &mut Answer) -> Result<(), OracleError> {
        let served = (0..price.len()).filter(|&i| self.cost[j][i] < price[i]);
        let value = self.open[j] + served.clone().map(|i| self.cost[j][i] - price[i]).sum::<f64>();
        if value < 0.0 {
            answer.push(value, served.map(|i| (i as u32, -1.0)));
        } else {
            answer.push(0.0, []); // closed
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let way = |a: usize, b: usize| a.abs_diff(b).min(120 - a.abs_diff(b)) as f64;
    let cost = (0..40).map(|j| (0..120).map(|i| 5.0 + way(3 * j, i)).collect()).collect();
    let open = (0..40).map(|j| 60.0 + (j * j % 7) as f64).collect();
    let mut dual = Parallel::new(FacilityLocation { open, cost, ones: vec![1.0; 120] });
    let points = check_points(&dual, 12, 7);
    println!("{}", check(&mut dual, &points)?);
    let solution = Solver::new(Settings::default())?.solve(&mut dual)?;
    println!(
        "{}: no plan costs less than {:.4} ({} oracle calls)",
        solution.status, solution.value, solution.oracle_calls
    );
    Ok(())
}
