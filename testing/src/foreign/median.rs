//! Capacitated p-median, assignment of customers dualised: a binary knapsack for every candidate.
//!
//! ```text
//! v_j(u) = min { sum_i (d_ij - u_i) x_i : sum_i q_i x_i <= Q, x binary }
//! max sum_i u_i + min { sum_j v_j(u) y_j : sum_j y_j = p, y binary }              the number of medians kept
//! max sum_i u_i + p t + sum_j min(0, v_j(u) - t)                                  the number of medians dualised, too
//! ```
//!
//! Both have the same optimum. The first one is one function, the second one a sum with a component for every
//! candidate.

use bundlenet::{Minorants, Oracle, OracleError, Sense, SumOracle};
use bundlenet_linalg::Stream;
use bundlenet_problems::BinaryKnapsack;

pub struct Median {
    medians: usize,
    customers: usize,
    is_sum: bool,
    linear: Vec<f64>,
    /// By candidate, then customer.
    distances: Vec<f64>,
    weights: Vec<u32>,
    capacity: u32,
    knapsack: BinaryKnapsack,
    profits: Vec<f64>,
    /// Value and customers of every candidate.
    solved: Vec<(f64, Vec<u32>)>,
}

impl Median {
    /// A random instance: every customer is a candidate. Capacities are 1.25 times the least.
    pub fn random(index: u64, customers: usize, medians: usize, is_sum: bool) -> Self {
        let mut stream = Stream::new(1, "median", index);
        let place = |stream: &mut Stream| (50.0 * stream.symmetric(), 50.0 * stream.symmetric());
        let places: Vec<(f64, f64)> = (0..customers).map(|_| place(&mut stream)).collect();
        let weights: Vec<u32> = (0..customers).map(|_| stream.between(1, 20)).collect();
        let distance = |a: &(f64, f64), b: &(f64, f64)| ((a.0 - b.0).powi(2) + (a.1 - b.1).powi(2)).sqrt().floor();
        let distances = places.iter().flat_map(|a| places.iter().map(move |b| distance(a, b))).collect();
        let capacity = (1.25 * f64::from(weights.iter().sum::<u32>()) / medians as f64).ceil() as u32;
        let mut linear = vec![1.0; customers];
        if is_sum {
            linear.push(medians as f64);
        }
        Self {
            medians,
            customers,
            is_sum,
            linear,
            distances,
            capacity,
            knapsack: BinaryKnapsack::new(customers, capacity),
            profits: vec![0.0; customers],
            solved: vec![(0.0, vec![]); customers],
            weights,
        }
    }

    fn solve(&mut self, point: &[f64]) -> Result<(), OracleError> {
        for (distances, solved) in self.distances.chunks(self.customers).zip(&mut self.solved) {
            let profits = self.profits.iter_mut().zip(point.iter().zip(distances));
            profits.for_each(|(profit, (multiplier, distance))| *profit = multiplier - distance);
            solved.0 = -self.knapsack.solve(&self.profits, &self.weights, self.capacity)?;
            solved.1.clear();
            solved.1.extend_from_slice(self.knapsack.chosen());
        }
        Ok(())
    }

    /// The candidates that are medians at the last point, with the price of a median.
    fn opened(&self, price: f64) -> Vec<usize> {
        let mut candidates: Vec<usize> = (0..self.solved.len()).collect();
        candidates.sort_by(|&a, &b| self.solved[a].0.total_cmp(&self.solved[b].0));
        if self.is_sum {
            candidates.retain(|&candidate| self.solved[candidate].0 < price);
        } else {
            candidates.truncate(self.medians);
        }
        candidates
    }

    /// The price of a median: the last variable, if there is one.
    fn price(&self, point: &[f64]) -> f64 {
        point.get(self.customers).copied().unwrap_or(0.0)
    }
}

impl Oracle for Median {
    fn dim(&self) -> usize {
        self.linear.len()
    }

    fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        self.solve(point)?;
        let price = self.price(point);
        subgradient.copy_from_slice(&self.linear);
        let mut value: f64 = self.linear.iter().zip(point).map(|(entry, at)| entry * at).sum();
        for candidate in self.opened(price) {
            let (least, customers) = &self.solved[candidate];
            value += least - price;
            customers.iter().for_each(|&customer| subgradient[customer as usize] -= 1.0);
            subgradient.iter_mut().skip(self.customers).for_each(|slope| *slope -= 1.0);
        }
        Ok(value)
    }

    fn sense(&self) -> Sense {
        Sense::Maximize
    }

    fn work(&self) -> Option<f64> {
        Some(5.0 * self.distances.len() as f64)
    }

    fn as_sum(&mut self) -> Option<&mut dyn SumOracle> {
        self.is_sum.then_some(self as _)
    }
}

impl SumOracle for Median {
    fn component_count(&self) -> usize {
        self.solved.len()
    }

    fn linear(&self) -> &[f64] {
        &self.linear
    }

    fn evaluate_components(&mut self, point: &[f64], minorants: &mut Minorants) -> Result<(), OracleError> {
        self.solve(point)?;
        let price = self.price(point);
        for (value, customers) in &self.solved {
            let is_open = *value < price;
            let places = customers.iter().copied().chain([self.customers as u32]);
            minorants.push((value - price).min(0.0), places.filter(|_| is_open).map(|place| (place, -1.0)));
        }
        Ok(())
    }
}
