//! Small instances of all families, random and by hand.

use std::io::Write;

use bundlenet::Sense;
use bundlenet_linalg::Stream;
use bundlenet_problems::facility_location::Site;
use bundlenet_problems::network_design::{Arc, Commodity};
use bundlenet_problems::{Assignment, FacilityLocation, NetworkDesign};
use proptest::prelude::*;

/// Networks with parallel arcs, loops, real data and ties.
pub fn network() -> impl Strategy<Value = NetworkDesign> {
    (2_usize..6, 1_usize..12, 1_usize..20).prop_flat_map(|(nodes, arcs, commodities)| {
        let arc = (0..nodes, 0..nodes, -5.0..60.0_f64, 0.5..40.0_f64)
            .prop_map(|(tail, head, fixed_cost, capacity)| Arc { tail, head, fixed_cost, capacity });
        let commodity = (0..nodes, 1..nodes, 0.0..20.0_f64).prop_map(move |(origin, shift, demand)| Commodity {
            origin,
            destination: (origin + shift) % nodes,
            demand,
        });
        let cost = prop_oneof![(0_i32..9).prop_map(f64::from), -2.0..15.0_f64];
        (
            prop::collection::vec(arc, arcs),
            prop::collection::vec(commodity, commodities),
            prop::collection::vec(cost, arcs * commodities),
        )
            .prop_map(move |(arcs, commodities, costs)| NetworkDesign::new(nodes, arcs, commodities, costs).unwrap())
    })
}

/// Assignments in both senses, with items that weigh nothing, too much, or are worth less than nothing.
pub fn assignment() -> impl Strategy<Value = Assignment> {
    (1_usize..5, 1_usize..30, any::<bool>()).prop_flat_map(|(bins, items, maximize)| {
        let sense = if maximize { Sense::Maximize } else { Sense::Minimize };
        let profit = prop_oneof![(0_i32..20).prop_map(f64::from), -5.0..50.0_f64];
        (
            prop::collection::vec(1_u32..60, bins),
            prop::collection::vec(profit, bins * items),
            prop::collection::vec(0_u32..25, bins * items),
        )
            .prop_map(move |(capacities, profits, weights)| {
                Assignment::new(sense, items, capacities, profits, weights).unwrap()
            })
    })
}

/// Networks with whole data, small enough to try all designs.
pub fn tiny_network() -> impl Strategy<Value = NetworkDesign> {
    let data = |(arcs, commodities): (usize, usize)| {
        (
            prop::collection::vec((0_usize..3, 1_usize..3, 0_i32..20, 1_i32..4), arcs),
            prop::collection::vec((0_usize..3, 1_usize..3, 1_i32..4), commodities),
            prop::collection::vec(0_i32..9, arcs * commodities),
        )
    };
    (1_usize..6, 1_usize..3).prop_flat_map(data).prop_map(|(arcs, demands, costs)| {
        let arc = |(tail, shift, fixed, capacity): (usize, usize, i32, i32)| Arc {
            tail,
            head: (tail + shift) % 3,
            fixed_cost: fixed.into(),
            capacity: capacity.into(),
        };
        let commodity = |(origin, shift, demand): (usize, usize, i32)| Commodity {
            origin,
            destination: (origin + shift) % 3,
            demand: demand.into(),
        };
        let arcs = arcs.into_iter().map(arc).collect();
        let commodities = demands.into_iter().map(commodity).collect();
        NetworkDesign::new(3, arcs, commodities, costs.into_iter().map(f64::from).collect()).unwrap()
    })
}

/// Assignments with whole data in both senses, small enough to try all.
pub fn tiny_assignment() -> impl Strategy<Value = Assignment> {
    let data = |(bins, items): (usize, usize)| {
        (
            prop::collection::vec(1_u32..30, bins),
            prop::collection::vec((0_i32..20).prop_map(f64::from), bins * items),
            prop::collection::vec(1_u32..15, bins * items),
        )
    };
    let sense = prop_oneof![Just(Sense::Maximize), Just(Sense::Minimize)];
    ((1_usize..4, 1_usize..6).prop_flat_map(data), sense).prop_map(|((capacities, profits, weights), sense)| {
        let items = profits.len() / capacities.len();
        Assignment::new(sense, items, capacities, profits, weights).unwrap()
    })
}

/// Facility location with sites without limit, customers without demand, real data and ties.
pub fn location() -> impl Strategy<Value = FacilityLocation> {
    (1_usize..6, 1_usize..20).prop_flat_map(|(sites, customers)| {
        let capacity = prop_oneof![8 => 0.5..60.0_f64, 1 => Just(f64::INFINITY), 1 => (1_i32..40).prop_map(f64::from)];
        let site = (capacity, -5.0..60.0_f64).prop_map(|(capacity, fixed_cost)| Site { capacity, fixed_cost });
        let demand = prop_oneof![8 => 0.0..20.0_f64, 1 => Just(0.0), 2 => (1_i32..9).prop_map(f64::from)];
        let cost = prop_oneof![(0_i32..9).prop_map(f64::from), -2.0..15.0_f64];
        (
            prop::collection::vec(site, sites),
            prop::collection::vec(demand, customers),
            prop::collection::vec(cost, sites * customers),
        )
            .prop_map(|(sites, demands, costs)| FacilityLocation::new(sites, demands, costs).unwrap())
    })
}

/// The same with one site without limit, so that there is a solution.
pub fn feasible_location() -> impl Strategy<Value = FacilityLocation> {
    (location(), 0.5..60.0_f64).prop_map(|(instance, fixed_cost)| {
        let mut sites = instance.sites().to_vec();
        let mut costs: Vec<f64> = (0..sites.len()).flat_map(|site| instance.costs(site)).copied().collect();
        sites.push(Site { capacity: instance.total_demand().max(1.0), fixed_cost });
        costs.extend(vec![12.0; instance.customers()]);
        FacilityLocation::new(sites, instance.demands().to_vec(), costs).unwrap()
    })
}

/// Facility location with whole data, small enough to try all sets of open sites.
pub fn tiny_location() -> impl Strategy<Value = FacilityLocation> {
    let data = |(sites, customers): (usize, usize)| {
        (
            prop::collection::vec((1_i32..9, 0_i32..20), sites),
            prop::collection::vec(0_i32..4, customers),
            prop::collection::vec(0_i32..9, sites * customers),
        )
    };
    (1_usize..5, 1_usize..5).prop_flat_map(data).prop_map(|(sites, demands, costs)| {
        let site = |(capacity, cost): (i32, i32)| Site { capacity: capacity.into(), fixed_cost: cost.into() };
        let numbers = |numbers: Vec<i32>| numbers.into_iter().map(f64::from).collect();
        FacilityLocation::new(sites.into_iter().map(site).collect(), numbers(demands), numbers(costs)).unwrap()
    })
}

/// A point with entries from -12 to 12. Half of them are whole numbers, which make ties.
pub fn point(seed: u64, dim: usize) -> Vec<f64> {
    let mut stream = Stream::new(seed, "point", 0);
    let mut entry = || {
        let number = 12.0 * stream.symmetric();
        if stream.below(2) == 0 { number.round() } else { number }
    };
    (0..dim).map(|_| entry()).collect()
}

/// Profits, weights and capacity of a knapsack that no search solves: weights are even, the capacity is odd, and
/// profits are in proportion to weights, so that the linear relaxation excludes no subset.
pub fn hopeless_knapsack() -> (Vec<f64>, Vec<u32>, u32) {
    let weights: Vec<u32> = (0..60).map(|item| 2 * (50_000_000 + 7_919 * item * item)).collect();
    (weights.iter().map(|&weight| f64::from(weight)).collect(), weights, 3_000_000_001)
}

/// A text as a gzip archive.
pub fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(vec![], flate2::Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// Two nodes, two parallel arcs, two commodities, in `.dat`.
pub const DAT: &str = "\
2 2 2
2 1 10 5 2
1 3 2
2 4 1
2 1 20 9 2
1 1 2
2 2 1
1 1 -2
1 2 2
2 1 -1
2 2 1
";

/// The same graph in `.dow`.
pub const DOW: &str = "\
MULTIGEN.DAT:
2 2 2
1 2 3 5 10 1 1
1 2 1 9 20 1 2
1 2 2
1 2 1
";

/// The same instance as `DAT` in the published JSON, with fields that the reader ignores.
pub const NETWORK_JSON: &str = r#"{
"features": {"anything": [1, [2]]},
"instance": {
  "N": 2,
  "tail": [0, 0],
  "head": [1, 1],
  "f": [10, 20],
  "c": [5, 9],
  "o": [0, 0],
  "d": [1, 1],
  "q": [2, 1],
  "r": [[3, 1],
        [4, 2]],
  "K": 2
},
"labels": {"Ld": 12.5}
}
"#;

/// Two bins, three items, as assignment text.
pub const ASSIGNMENT_TEXT: &str = "\
2 3
1 2 3
4 5 6
1 1 2
2 1 1
3 2
";

/// The same, as the published JSON.
pub const ASSIGNMENT_JSON: &str = r#"{"instance": {"I": 3, "J": 2,
  "c": [3, 2],
  "p": [[1, 2, 3], [4, 5, 6]],
  "w": [[1, 1, 2],
        [2, 1, 1]]},
 "labels": {"Ld": 9.0}}
"#;

/// Two sites, three customers, one of them without demand, as facility location text.
pub const LOCATION_TEXT: &str = "\
2 3
5 10
inf 20
4
1 2
0
3 4
2
5 6
";

/// The same, as JSON.
pub const LOCATION_JSON: &str = r#"{"instance": {"sites": 2, "customers": 3,
  "capacity": [5, null],
  "fixed_cost": [10, 20],
  "demand": [4, 0, 2],
  "cost": [[1, 3, 5],
           [2, 4, 6]]}}
"#;
