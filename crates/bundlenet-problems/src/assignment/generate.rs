//! Instances of the families `ga-10-100` and `ga-20-400`.

use super::Assignment;
use crate::Problem;
use crate::generate::Family;
use bundlenet::Sense;
use bundlenet_linalg::Stream;

/// Ranges of the profits and weights that are drawn, and the data that stay fixed.
struct Base {
    sense: Sense,
    items: usize,
    capacities: Vec<u32>,
    profits: (u32, u32),
    weights: (u32, u32),
}

impl Base {
    fn own(family: Family, seed: u64) -> Self {
        if family == Family::Ga20x400 {
            let mut stream = Stream::new(seed, family.name(), 0);
            Self {
                sense: Sense::Maximize,
                items: 400,
                capacities: (0..20).map(|_| stream.between(160, 181)).collect(),
                profits: (242, 800),
                weights: (11, 31),
            }
        } else {
            Self {
                sense: Sense::Maximize,
                items: 100,
                capacities: vec![78, 81, 109, 84, 87, 76, 94, 69, 95, 87],
                profits: (251, 824),
                weights: (11, 33),
            }
        }
    }

    fn of(instance: &Assignment) -> Self {
        let bins = 0..instance.bins();
        let profits = bins.clone().flat_map(|bin| instance.profits(bin)).map(|profit| profit.round() as u32);
        let weights = bins.flat_map(|bin| instance.weights(bin)).copied();
        Self {
            sense: instance.sense(),
            items: instance.items(),
            capacities: instance.capacities().to_vec(),
            profits: range(profits),
            weights: range(weights),
        }
    }
}

fn range(numbers: impl Iterator<Item = u32>) -> (u32, u32) {
    numbers.fold((u32::MAX, 0), |(low, high), number| (low.min(number), high.max(number)))
}

/// Name, group and problem of instance `index`; every instance is a group of its own.
pub(crate) fn instance(family: Family, seed: u64, base: Option<&Assignment>, index: usize) -> (String, usize, Problem) {
    let base = base.map_or_else(|| Base::own(family, seed), Base::of);
    let group = index + 1;
    let mut stream = Stream::new(seed, family.name(), group as u64);
    let cells = base.capacities.len() * base.items;
    let mut draw = |(low, high): (u32, u32)| stream.between(low, high);
    let profits = (0..cells).map(|_| f64::from(draw(base.profits))).collect();
    let weights = (0..cells).map(|_| draw(base.weights)).collect();
    let problem = Assignment::new(base.sense, base.items, base.capacities, profits, weights)
        .unwrap_or_else(|invalid| unreachable!("numbers drawn from a valid base are valid: {invalid}"));
    (format!("ga-{group}"), group, Problem::Assignment(problem))
}
