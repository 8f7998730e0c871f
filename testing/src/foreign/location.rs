//! Facility location, assignment of customers dualised: every facility is a component.
//!
//! ```text
//! max sum_i u_i + sum_j min(0, f_j + min { sum_i (c_ij - u_i) x_i : x in X_j })
//! ```
//!
//! Without capacities `X_j` is the unit box; with them, also `sum_i d_i x_i <= s_j`. `u` is free: every customer is
//! served exactly once.

use bundlenet::{Minorants, Oracle, OracleError, Sense, SumOracle};
use bundlenet_linalg::Stream;

#[derive(Clone)]
pub struct Location {
    ones: Vec<f64>,
    fixed: Vec<f64>,
    /// By facility, then customer.
    costs: Vec<f64>,
    demands: Vec<f64>,
    /// Capacities, if there are any.
    capacities: Option<Vec<f64>>,
    order: Vec<usize>,
    /// The amounts of an open facility.
    amounts: Vec<(u32, f64)>,
}

impl Location {
    /// A random instance: points in a square, costs in proportion to distance and demand.
    pub fn random(index: u64, facilities: usize, customers: usize, has_capacities: bool) -> Self {
        let mut stream = Stream::new(1, "location", index);
        let places = |count: usize, stream: &mut Stream| -> Vec<(f64, f64)> {
            (0..count).map(|_| (stream.symmetric(), stream.symmetric())).collect()
        };
        let (sites, homes) = (places(facilities, &mut stream), places(customers, &mut stream));
        let demands: Vec<f64> = (0..customers).map(|_| f64::from(stream.between(5, 35))).collect();
        let mut costs = vec![];
        for site in &sites {
            for (home, demand) in homes.iter().zip(&demands) {
                let distance = ((site.0 - home.0).powi(2) + (site.1 - home.1).powi(2)).sqrt();
                costs.push((10.0 * distance * demand).round());
            }
        }
        let share = demands.iter().sum::<f64>() / facilities as f64;
        let capacities: Vec<f64> = (0..facilities).map(|_| share * (3.0 + 2.0 * stream.symmetric())).collect();
        let fixed = capacities.iter().map(|capacity| (20.0 * capacity.sqrt() * (2.0 + stream.symmetric())).round());
        Self {
            ones: vec![1.0; customers],
            fixed: fixed.collect(),
            costs,
            demands,
            capacities: has_capacities.then_some(capacities),
            order: vec![],
            amounts: vec![],
        }
    }

    /// Solves the subproblem of a facility and returns its value, 0 if it stays closed.
    fn serve(&mut self, facility: usize, point: &[f64]) -> f64 {
        let customers = self.ones.len();
        let costs = &self.costs[facility * customers..(facility + 1) * customers];
        self.order.clear();
        self.order.extend((0..customers).filter(|&customer| costs[customer] < point[customer]));
        let mut left = f64::INFINITY;
        if let Some(capacities) = &self.capacities {
            left = capacities[facility];
            let worth = |&customer: &usize| (costs[customer] - point[customer]) / self.demands[customer];
            self.order.sort_by(|a, b| worth(a).total_cmp(&worth(b)));
        }
        let mut value = self.fixed[facility];
        self.amounts.clear();
        for &customer in &self.order {
            let amount = (left / self.demands[customer]).min(1.0);
            if amount <= 0.0 {
                break;
            }
            left -= amount * self.demands[customer];
            value += amount * (costs[customer] - point[customer]);
            self.amounts.push((customer as u32, -amount));
        }
        if value >= 0.0 {
            self.amounts.clear();
        }
        value.min(0.0)
    }
}

impl Oracle for Location {
    fn dim(&self) -> usize {
        self.ones.len()
    }

    fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        subgradient.fill(1.0);
        let mut value: f64 = point.iter().sum();
        for facility in 0..self.fixed.len() {
            value += self.serve(facility, point);
            self.amounts.iter().for_each(|&(customer, amount)| subgradient[customer as usize] += amount);
        }
        Ok(value)
    }

    fn sense(&self) -> Sense {
        Sense::Maximize
    }

    fn work(&self) -> Option<f64> {
        Some(if self.capacities.is_some() { 4.0 } else { 2.0 } * self.costs.len() as f64)
    }

    fn as_sum(&mut self) -> Option<&mut dyn SumOracle> {
        Some(self)
    }
}

impl SumOracle for Location {
    fn component_count(&self) -> usize {
        self.fixed.len()
    }

    fn linear(&self) -> &[f64] {
        &self.ones
    }

    fn evaluate_components(&mut self, point: &[f64], minorants: &mut Minorants) -> Result<(), OracleError> {
        for facility in 0..self.fixed.len() {
            let value = self.serve(facility, point);
            minorants.push(value, self.amounts.iter().copied());
        }
        Ok(())
    }
}
