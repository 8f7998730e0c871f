//! Instances of types C, D and E of the literature (Chu and Beasley, 1997; Yagiura, Ibaraki and Glover, 2006).

use super::Assignment;
use crate::Problem;
use crate::generate::Family;
use bundlenet::Sense;
use bundlenet_linalg::Stream;

/// Default numbers of bins and items.
pub(crate) const SIZE: (usize, usize) = (20, 400);

/// Share of the mean load that fits into a bin.
const ROOM: f64 = 0.8;

/// Weight and cost of an item in a bin.
fn cell(family: Family, stream: &mut Stream) -> (u32, f64) {
    match family {
        Family::GaYagiuraD => {
            let weight = stream.between(1, 100);
            (weight, 101.0 + f64::from(stream.between(0, 20)) - f64::from(weight))
        }
        Family::GaYagiuraE => {
            let weight = (1.0 + 10.0 * stream.exponential()).round();
            (weight as u32, (1000.0 / weight - 10.0 * stream.positive_unit()).round())
        }
        _ => (stream.between(5, 25), f64::from(stream.between(10, 50))),
    }
}

/// Name, group and problem of instance `index`; every instance is a group of its own.
pub(crate) fn instance(
    family: Family,
    seed: u64,
    (bins, items): (usize, usize),
    index: usize,
) -> (String, usize, Problem) {
    let group = index + 1;
    let mut stream = Stream::new(seed, family.name(), group as u64);
    let (weights, costs): (Vec<u32>, Vec<f64>) = (0..bins * items).map(|_| cell(family, &mut stream)).unzip();
    let load = |weights: &[u32]| weights.iter().map(|weight| f64::from(*weight)).sum::<f64>();
    let capacity = |weights: &[u32]| (ROOM * load(weights) / bins as f64).floor().max(1.0) as u32;
    let capacities = weights.chunks_exact(items).map(capacity).collect();
    let problem = Assignment::new(Sense::Minimize, items, capacities, costs, weights)
        .unwrap_or_else(|invalid| unreachable!("the numbers are finite and as many as the cells: {invalid}"));
    (format!("{}-{bins}-{items}-{group}", family.name()), group, Problem::Assignment(problem))
}
