//! Random functions made of tables.

use bundlenet::{Domain, Sense};
use bundlenet_linalg::Stream;

use super::tables::Tables;

/// Entries of a dense vector with their coordinates.
fn dense(entries: impl IntoIterator<Item = f64>) -> Vec<(u32, f64)> {
    (0..).zip(entries).collect()
}

/// A uniform number from 0 to 1.
fn uniform(stream: &mut Stream) -> f64 {
    (stream.symmetric() + 1.0) / 2.0
}

/// Sizes of a sum of maxima.
#[derive(Clone, Copy)]
pub struct Sizes {
    pub dim: usize,
    pub components: usize,
    pub lines: usize,
}

/// `v F(x / s)` with `F` a sum of maxima of affine functions. Slopes of a component average to zero, so that `F` is
/// bounded below. Every component depends on at most eight variables.
pub fn sum_of_maxima(index: u64, sizes: Sizes, value_scale: f64, variable_scale: f64) -> Tables {
    let mut stream = Stream::new(1, "sum of maxima", index);
    let Sizes { dim, components, lines } = sizes;
    let mut tables = Tables::new(vec![0.0; dim], Sense::Minimize, Domain::Free);
    for component in 0..components {
        let mut places = stream.permutation(dim);
        places.truncate(8);
        // Every variable is in some component.
        places[0] = component % dim;
        places.sort_unstable();
        places.dedup();
        let mut slopes: Vec<Vec<f64>> = (0..lines).map(|_| places.iter().map(|_| stream.normal()).collect()).collect();
        for place in 0..places.len() {
            let mean = slopes.iter().map(|slope| slope[place]).sum::<f64>() / lines as f64;
            slopes.iter_mut().for_each(|slope| slope[place] -= mean);
        }
        let factor = value_scale / variable_scale;
        tables.push(slopes.into_iter().map(|slope| {
            let entries = places.iter().zip(slope).map(|(&at, entry)| (at as u32, factor * entry)).collect();
            (value_scale * (1.0 + stream.normal()), entries)
        }));
    }
    tables
}

/// The dual of a multidimensional knapsack, capacities dualised: `min u'b + sum_j max(0, p_j - u'a_j)`, `u >= 0`.
/// Weights and profits as of Chu and Beasley: `a` from 1 to 1000, `b` half of the sum, `p` correlated.
pub fn knapsack(index: u64, constraints: usize, items: usize) -> Tables {
    let mut stream = Stream::new(1, "knapsack", index);
    let mut capacities = vec![0.0; constraints];
    let mut tables = Tables::new(vec![], Sense::Minimize, Domain::Nonnegative);
    for _ in 0..items {
        let weights: Vec<f64> = (0..constraints).map(|_| f64::from(stream.between(1, 1000))).collect();
        capacities.iter_mut().zip(&weights).for_each(|(capacity, weight)| *capacity += weight / 2.0);
        let profit = weights.iter().sum::<f64>() / constraints as f64 + 500.0 * uniform(&mut stream);
        tables.push([(0.0, vec![]), (profit, dense(weights.iter().map(|weight| -weight)))]);
    }
    *tables.linear_mut() = capacities;
    tables
}

/// The dual of a two-stage problem, nonanticipativity dualised. A first-stage decision is a row `x` of integers, the
/// recourse cost of each scenario is tabulated: `max sum_s min_x (p_s c_s(x) + lambda_s'x)` with `sum_s lambda_s = 0`.
/// The multipliers of the last scenario are eliminated.
pub fn two_stage(index: u64, scenarios: usize, columns: usize) -> Tables {
    const ROWS: usize = 40;
    let mut stream = Stream::new(1, "two-stage", index);
    let decisions: Vec<Vec<f64>> =
        (0..ROWS).map(|_| (0..columns).map(|_| f64::from(stream.between(0, 5))).collect()).collect();
    let costs: Vec<f64> = (0..columns).map(|_| f64::from(stream.between(5, 20))).collect();
    let blocks = scenarios - 1;
    let mut tables = Tables::new(vec![0.0; blocks * columns], Sense::Maximize, Domain::Free);
    for scenario in 0..scenarios {
        let demands: Vec<f64> = (0..columns).map(|_| f64::from(stream.between(0, 5))).collect();
        let penalties: Vec<f64> = (0..columns).map(|_| f64::from(stream.between(10, 60))).collect();
        let cost = |decision: &[f64]| -> f64 {
            let of_column =
                |at: usize| costs[at] * decision[at] + penalties[at] * (demands[at] - decision[at]).max(0.0);
            (0..columns).map(of_column).sum::<f64>() / scenarios as f64
        };
        let slope = |decision: &[f64]| -> Vec<(u32, f64)> {
            let of_block = |block: usize, sign: f64| {
                let first = (block * columns) as u32;
                (first..).zip(decision).filter(|(_, entry)| **entry != 0.0).map(move |(at, entry)| (at, sign * entry))
            };
            if scenario < blocks {
                of_block(scenario, 1.0).collect()
            } else {
                (0..blocks).flat_map(|block| of_block(block, -1.0)).collect()
            }
        };
        tables.push(decisions.iter().map(|decision| (cost(decision), slope(decision))));
    }
    tables
}

/// Units with tabulated schedules, demand dualised: `max u'd + sum_a min_i (c_ai - u'g_ai)`, `u >= 0`. Schedules are
/// blocks of periods in which a unit runs.
pub fn units(index: u64, periods: usize, units: usize, schedules: usize) -> Tables {
    let mut stream = Stream::new(1, "units", index);
    let mut demand = vec![0.0; periods];
    let mut tables = Tables::new(vec![], Sense::Maximize, Domain::Nonnegative);
    for _ in 0..units {
        let size = 50.0 + 250.0 * uniform(&mut stream);
        let price = 10.0 + 40.0 * uniform(&mut stream);
        let start_up = size * (20.0 + 80.0 * uniform(&mut stream));
        let mut lines = vec![(0.0, vec![])];
        for _ in 1..schedules {
            let (begin, length) = (stream.below(periods), 4 + stream.below(periods));
            let level = size * (0.4 + 0.6 * uniform(&mut stream));
            let running = begin..(begin + length).min(periods);
            // Every schedule has an equal share in a plan that meets the demand.
            running.clone().for_each(|period| demand[period] += level / schedules as f64);
            let cost = start_up + price * level * running.len() as f64 * (0.9 + 0.2 * uniform(&mut stream));
            lines.push((cost, running.map(|period| (period as u32, -level)).collect()));
        }
        tables.push(lines);
    }
    *tables.linear_mut() = demand;
    tables
}
