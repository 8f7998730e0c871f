//! Random instances of both problem families, with degenerate and with infeasible data.

use bundlenet::Sense;
use bundlenet_linalg::Stream;
use bundlenet_problems::network_design::{Arc, Commodity};
use bundlenet_problems::{Assignment, NetworkDesign};

/// Kinds of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Whole numbers from 1 to 20.
    Plain,
    Zero,
    /// The same number everywhere.
    Equal,
    /// Seven orders of magnitude.
    Wide,
    /// Real numbers, some of them negative.
    Real,
}

const KINDS: [Kind; 5] = [Kind::Plain, Kind::Zero, Kind::Equal, Kind::Wide, Kind::Real];

impl Kind {
    fn draw(self, stream: &mut Stream) -> f64 {
        match self {
            Self::Plain => f64::from(stream.between(1, 20)),
            Self::Zero => 0.0,
            Self::Equal => 7.0,
            Self::Wide => 10_f64.powf(3.5 * (1.0 + stream.symmetric())).round(),
            Self::Real => 20.0 * stream.symmetric() + 15.0,
        }
    }
}

/// Factors on the data of a network: on costs, and on demands and capacities.
#[derive(Clone, Copy, Debug)]
pub(super) struct Units {
    pub cost: f64,
    pub flow: f64,
}

/// A network with a ring through all nodes that can carry all demands, parallel arcs and loops. If it is to be
/// infeasible, all arcs together are too small, or those at the origin of the largest demand.
pub(super) fn network(stream: &mut Stream, is_infeasible: bool, units: Units) -> NetworkDesign {
    let is_small = stream.below(3) > 0;
    let (nodes, more, count) = if is_small { (3, 6, 4) } else { (8, 18, 10) };
    let (nodes, more, count) = (2 + stream.below(nodes), stream.below(more), 1 + stream.below(count));
    let [fixed, routing] = [0, 1].map(|_| KINDS[stream.below(5)]);
    let demand = [Kind::Plain, Kind::Plain, Kind::Equal, Kind::Wide][stream.below(4)];
    let commodities: Vec<Commodity> = (0..count)
        .map(|_| {
            let (origin, shift) = (stream.below(nodes), 1 + stream.below(nodes - 1));
            let amount = if stream.below(8) == 0 { 0.0 } else { demand.draw(stream).max(0.0) };
            Commodity { origin, destination: (origin + shift) % nodes, demand: units.flow * amount }
        })
        .collect();
    let total: f64 = commodities.iter().map(|commodity| commodity.demand).sum();
    let is_roomy = stream.below(2) == 0;
    let arcs = (0..nodes + more).map(|index| {
        let (tail, head) =
            if index < nodes { (index, (index + 1) % nodes) } else { (stream.below(nodes), stream.below(nodes)) };
        let share = 0.05 + 0.6 * (1.0 + stream.symmetric());
        let capacity = match () {
            () if is_roomy || index < nodes => total,
            () => share * total,
        };
        // A capacity is positive, even if all demands are zero.
        let capacity = if capacity > 0.0 { capacity } else { units.flow };
        Arc { tail, head, fixed_cost: units.cost * units.flow * fixed.draw(stream), capacity }
    });
    let mut arcs: Vec<Arc> = arcs.collect();
    if is_infeasible && total > 0.0 {
        tighten(stream, &mut arcs, &commodities);
    }
    let costs = (0..arcs.len() * count).map(|_| units.cost * routing.draw(stream)).collect();
    NetworkDesign::new(nodes, arcs, commodities, costs).unwrap()
}

/// Makes arcs too small: all of them, or by a small margin those at the origin of the largest demand.
fn tighten(stream: &mut Stream, arcs: &mut [Arc], commodities: &[Commodity]) {
    let largest = commodities.iter().max_by(|a, b| a.demand.total_cmp(&b.demand)).unwrap();
    let share = [0.1, 0.5, 0.9, 0.99][stream.below(4)] / arcs.len() as f64;
    let is_everywhere = stream.below(2) == 0;
    for arc in arcs.iter_mut().filter(|arc| is_everywhere || arc.tail == largest.origin) {
        arc.capacity = share * largest.demand;
    }
}

/// An assignment whose first bin takes all items. If it is to be infeasible, no bin takes any item, or one is left.
pub(super) fn assignment(stream: &mut Stream, sense: Sense, is_infeasible: bool, cost: f64) -> Assignment {
    let (bins, items) = (1 + stream.below(4), 1 + stream.below(8));
    let profit = KINDS[stream.below(5)];
    let profits: Vec<f64> = (0..bins * items).map(|_| cost * profit.draw(stream)).collect();
    let most = [1, 3, 15][stream.below(3)];
    let weights: Vec<u32> = (0..bins * items).map(|_| stream.between(0, most)).collect();
    let is_roomy = stream.below(2) == 0;
    let capacities = (0..bins).map(|bin| {
        let of_bin = &weights[bin * items..(bin + 1) * items];
        let total: u32 = of_bin.iter().sum();
        let tight = stream.between(1, total.max(1));
        // All items fit into the first bin, so that there is a solution.
        if !is_infeasible && (is_roomy || bin == 0) { total.max(1) } else { tight }
    });
    let mut capacities: Vec<u32> = capacities.collect();
    let mut weights = weights.clone();
    if is_infeasible {
        let is_close = items > bins && stream.below(2) == 0;
        weights.fill(if is_close { 1 } else { 2 });
        capacities.fill(1);
        capacities[0] = if is_close { (items - bins) as u32 } else { 1 };
    }
    Assignment::new(sense, items, capacities, profits, weights).unwrap()
}
