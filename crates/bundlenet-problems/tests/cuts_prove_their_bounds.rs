//! Convex combinations of the cuts of each component prove bounds: never past the optimum; the optimum itself where they are
//! optimal; and close to it where they are nearly optimal.

use std::cell::Cell;
use std::collections::BTreeMap;

use bundlenet::{Domain, Lines, Minorants, Sense, SumOracle};
use bundlenet_problems::network_design::Arc;
use bundlenet_problems::{
    Assignment, AssignmentDual, FacilityLocation, FacilityLocationDual, NetworkDesign, NetworkDesignDual,
};
use bundlenet_testing::programs::{location_lp, pattern_lp_shares, strong_lp_flows};
use bundlenet_testing::{cases, sample};
use proptest::prelude::*;

/// Pseudorandom numbers from 0 to 1.
fn numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Convex combinations of cuts at random points, with different weights for each component, in the problem's own sense.
fn combination(oracle: &mut dyn SumOracle, points: usize, size: f64, seed: u64) -> Lines {
    let mut next = numbers(seed);
    let is_nonnegative = oracle.domain() == Domain::Nonnegative;
    let mut cuts: Vec<(f64, BTreeMap<u32, f64>)> = vec![];
    let mut totals: Vec<f64> = vec![];
    for _ in 0..points {
        let point: Vec<f64> =
            (0..oracle.dim()).map(|_| size * (next() - if is_nonnegative { 0.0 } else { 0.5 })).collect();
        let mut minorants = Minorants::new();
        oracle.evaluate_components(&point, &mut minorants).unwrap();
        cuts.resize(minorants.len(), (0.0, BTreeMap::new()));
        totals.resize(minorants.len(), 0.0);
        for (component, (value, slope)) in cuts.iter_mut().enumerate() {
            let weight = next().powi(3);
            totals[component] += weight;
            *value += weight * minorants.values()[component];
            let (coordinates, entries) = minorants.subgradient(component);
            for (&coordinate, entry) in coordinates.iter().zip(entries) {
                *value -= weight * entry * point[coordinate as usize];
                *slope.entry(coordinate).or_default() += weight * entry;
            }
        }
    }
    let mut aggregate = Lines::new();
    for ((value, slope), total) in cuts.into_iter().zip(totals) {
        aggregate.push(value / total, slope.into_iter().map(|(coordinate, entry)| (coordinate, entry / total)));
    }
    aggregate
}

/// Flows, by arc, then commodity, as the slopes of the arcs' cuts. The constants are not read.
fn flow_aggregate(instance: &NetworkDesign, flows: &[f64]) -> Lines {
    let count = instance.commodities().len();
    let mut aggregate = Lines::new();
    for (arc, flows) in instance.arcs().iter().zip(flows.chunks_exact(count)) {
        let entries = flows.iter().enumerate().filter(|(_, flow)| **flow != 0.0 && arc.tail != arc.head);
        let first = |k: usize| k * instance.nodes();
        aggregate.push(
            0.0,
            entries
                .flat_map(|(k, &flow)| [((first(k) + arc.tail) as u32, -flow), ((first(k) + arc.head) as u32, flow)]),
        );
    }
    aggregate
}

/// Shares, by component, then variable, as the slopes of cuts.
fn share_aggregate(variables: usize, shares: &[f64]) -> Lines {
    let mut aggregate = Lines::new();
    for shares in shares.chunks_exact(variables) {
        aggregate.push(0.0, shares.iter().enumerate().map(|(item, &share)| (item as u32, -share)));
    }
    aggregate
}

/// The proof rests on a solution of the strong relaxation with the claimed cost.
fn assert_solution(instance: &NetworkDesign, dual: &NetworkDesignDual, cost: f64) {
    let proof = dual.proof().unwrap();
    assert_eq!(proof.cost(), cost);
    let tolerance = 1e-11 * (1.0 + instance.total_demand());
    let (mut total, mut size) = (0.0, 1.0);
    let mut loads = vec![0.0; instance.arcs().len()];
    for (k, commodity) in instance.commodities().iter().enumerate() {
        let mut balance = vec![0.0; instance.nodes()];
        balance[commodity.origin] -= commodity.demand;
        balance[commodity.destination] += commodity.demand;
        for (index, (arc, &flow)) in instance.arcs().iter().zip(proof.flows(k)).enumerate() {
            assert!(flow >= 0.0 && (flow == 0.0 || instance.is_usable(index, k)));
            assert!(flow <= commodity.demand.min(arc.capacity) * proof.designs()[index] + tolerance);
            balance[arc.tail] += flow;
            balance[arc.head] -= flow;
            loads[index] += flow;
            total += flow * instance.routing_costs(index)[k];
            size += flow * instance.routing_costs(index)[k].abs();
        }
        assert!(balance.iter().all(|balance| balance.abs() <= tolerance), "{k}: {balance:?}");
    }
    for ((arc, load), design) in instance.arcs().iter().zip(loads).zip(proof.designs()) {
        assert!((0.0..=1.0).contains(design) && load <= arc.capacity * design + tolerance, "{arc:?} {load} {design}");
        total += arc.fixed_cost * design;
        size += arc.fixed_cost.abs();
    }
    assert!((total - cost).abs() <= 1e-11 * size, "{total} {cost}");
}

/// The proof rests on a solution of the strong relaxation with the claimed cost.
fn assert_plan(instance: &FacilityLocation, dual: &FacilityLocationDual, cost: f64) {
    let proof = dual.proof().unwrap();
    assert_eq!(proof.cost(), cost);
    let tolerance = 1e-11 * (1.0 + instance.total_demand());
    let (mut total, mut size) = (0.0, 1.0);
    let mut loads = vec![0.0; instance.sites().len()];
    for customer in 0..instance.customers() {
        let shares = proof.shares(customer);
        assert!((shares.iter().sum::<f64>() - 1.0).abs() <= 1e-11, "{shares:?}");
        for (site, &share) in shares.iter().enumerate() {
            assert!(share >= 0.0 && share <= proof.openings()[site] + 1e-11, "{share} {:?}", proof.openings());
            loads[site] += share * instance.demands()[customer];
            total += share * instance.costs(site)[customer];
            size += share * instance.costs(site)[customer].abs();
        }
    }
    for ((site, load), opening) in instance.sites().iter().zip(loads).zip(proof.openings()) {
        let capacity = site.capacity.min(instance.total_demand());
        assert!((0.0..=1.0).contains(opening) && load <= capacity * opening + tolerance, "{site:?} {load} {opening}");
        total += site.fixed_cost * opening;
        size += site.fixed_cost.abs();
    }
    assert!((total - cost).abs() <= 1e-11 * size, "{total} {cost}");
}

/// Networks in which every commodity has an expensive arc of its own, so that a solution exists.
fn feasible_network() -> impl Strategy<Value = NetworkDesign> {
    (sample::network(), 0.0..3.0_f64).prop_map(|(instance, roominess)| {
        let count = instance.commodities().len();
        let nonnegative = |cost: &f64| cost.max(0.0);
        let mut costs: Vec<f64> =
            (0..instance.arcs().len()).flat_map(|arc| instance.routing_costs(arc).iter().map(nonnegative)).collect();
        let mut arcs = instance.arcs().to_vec();
        arcs.iter_mut().for_each(|arc| arc.fixed_cost = arc.fixed_cost.max(0.0));
        for commodity in instance.commodities() {
            let (tail, head) = (commodity.origin, commodity.destination);
            arcs.push(Arc { tail, head, fixed_cost: 90.0, capacity: commodity.demand * (1.0 + roominess) + 1.0 });
            costs.extend(vec![20.0; count]);
        }
        NetworkDesign::new(instance.nodes(), arcs, instance.commodities().to_vec(), costs).unwrap()
    })
}

fn small_assignment() -> impl Strategy<Value = Assignment> {
    (1_usize..4, 1_usize..7, any::<bool>(), 1_u32..30).prop_flat_map(|(bins, items, maximize, room)| {
        let sense = if maximize { Sense::Maximize } else { Sense::Minimize };
        let profit = prop_oneof![(0_i32..20).prop_map(f64::from), -5.0..50.0_f64];
        (
            prop::collection::vec(room..room + 10, bins),
            prop::collection::vec(profit, bins * items),
            prop::collection::vec(0_u32..15, bins * items),
        )
            .prop_map(move |(capacities, profits, weights)| {
                Assignment::new(sense, items, capacities, profits, weights).unwrap()
            })
    })
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn flows_never_prove_too_much(
        instance in prop_oneof![sample::network(), feasible_network()],
        points in 1_usize..6, size in 0.0..80.0_f64, seed in any::<u64>(),
    ) {
        let mut dual = NetworkDesignDual::new(&instance);
        let aggregate = combination(&mut dual, points, size, seed);
        if let Some(bound) = dual.prove(&aggregate) {
            assert_solution(&instance, &dual, bound);
            let Some((optimum, _)) = strong_lp_flows(&instance) else { panic!("there is no solution") };
            prop_assert!(bound >= optimum - 1e-8 * optimum.abs().max(1.0), "{bound} < {optimum}");
        } else {
            prop_assert!(dual.proof().is_none());
        }
    }

    /// Flows may be arbitrary, even negative.
    #[test]
    fn wrong_flows_prove_nothing_wrong(
        instance in prop_oneof![sample::network(), feasible_network()], seed in any::<u64>(),
    ) {
        let mut next = numbers(seed);
        let cells = instance.arcs().len() * instance.commodities().len();
        let flows: Vec<f64> = (0..cells).map(|_| if next() < 0.5 { 0.0 } else { 30.0 * next() - 5.0 }).collect();
        let mut dual = NetworkDesignDual::new(&instance);
        if let Some(bound) = dual.prove(&flow_aggregate(&instance, &flows)) {
            assert_solution(&instance, &dual, bound);
        }
    }

    #[test]
    fn optimal_flows_prove_the_optimum(instance in feasible_network(), seed in any::<u64>()) {
        let (optimum, flows) = strong_lp_flows(&instance).unwrap();
        let mut dual = NetworkDesignDual::new(&instance);
        let scale = optimum.abs().max(1.0);
        let bound = dual.prove(&flow_aggregate(&instance, &flows)).unwrap();
        assert_solution(&instance, &dual, bound);
        prop_assert!((bound - optimum).abs() <= 1e-9 * scale, "{bound} {optimum}");
        for exponent in [-3, -6, -9] {
            let change = 10_f64.powi(exponent);
            let mut next = numbers(seed);
            // In proportion to the demand, as designs are.
            let demands = instance.commodities().iter().map(|commodity| commodity.demand).cycle();
            let disturbed: Vec<f64> =
                flows.iter().zip(demands).map(|(flow, demand)| flow + change * demand * (next() - 0.5)).collect();
            let bound = dual.prove(&flow_aggregate(&instance, &disturbed)).unwrap();
            assert_solution(&instance, &dual, bound);
            // A disturbed cell costs at most a path of five arcs: 90 each, and 20 for each of 20 units.
            let most = change * flows.len() as f64 * 5.0 * (90.0 + 20.0 * 20.0);
            prop_assert!(bound >= optimum - 1e-9 * scale && bound <= optimum + most + 1e-9 * scale,
                "{bound} {optimum} at {change}");
        }
    }

    /// The repair succeeds if and only if there is a solution, up to round-off.
    #[test]
    fn services_never_prove_too_much(
        instance in prop_oneof![sample::location(), sample::feasible_location(), sample::tiny_location()],
        points in 1_usize..6, size in 0.0..80.0_f64, seed in any::<u64>(),
    ) {
        let mut dual = FacilityLocationDual::new(&instance);
        let aggregate = combination(&mut dual, points, size, seed);
        let total = instance.total_demand();
        let capacity: f64 = instance.sites().iter().map(|site| site.capacity.min(total)).sum();
        match dual.prove(&aggregate) {
            Some(bound) => {
                assert_plan(&instance, &dual, bound);
                let Some((optimum, _)) = location_lp(&instance) else { panic!("there is no solution") };
                prop_assert!(bound >= optimum - 1e-8 * optimum.abs().max(1.0), "{bound} < {optimum}");
            }
            None => prop_assert!(capacity <= total * (1.0 + 1e-9) && dual.proof().is_none(), "{capacity} {total}"),
        }
    }

    /// Shares may be arbitrary, even negative.
    #[test]
    fn wrong_services_prove_nothing_wrong(
        instance in prop_oneof![sample::location(), sample::feasible_location()], seed in any::<u64>(),
    ) {
        let mut next = numbers(seed);
        let cells = instance.sites().len() * instance.customers();
        let shares: Vec<f64> = (0..cells).map(|_| if next() < 0.5 { 0.0 } else { 1.4 * next() - 0.2 }).collect();
        let mut dual = FacilityLocationDual::new(&instance);
        if let Some(bound) = dual.prove(&share_aggregate(instance.customers(), &shares)) {
            assert_plan(&instance, &dual, bound);
        }
    }

    #[test]
    fn optimal_services_prove_the_optimum(instance in sample::feasible_location(), seed in any::<u64>()) {
        let (optimum, shares) = location_lp(&instance).unwrap();
        let mut dual = FacilityLocationDual::new(&instance);
        let scale = optimum.abs().max(1.0);
        let bound = dual.prove(&share_aggregate(instance.customers(), &shares)).unwrap();
        assert_plan(&instance, &dual, bound);
        prop_assert!((bound - optimum).abs() <= 1e-9 * scale, "{bound} {optimum}");
        for exponent in [-3, -6, -9] {
            let change = 10_f64.powi(exponent);
            let mut next = numbers(seed);
            let disturbed: Vec<f64> = shares.iter().map(|share| share + change * (next() - 0.5)).collect();
            let bound = dual.prove(&share_aggregate(instance.customers(), &disturbed)).unwrap();
            assert_plan(&instance, &dual, bound);
            // A disturbed cell costs at most an opening of 60 and a service of 15, here and elsewhere.
            let most = change * shares.len() as f64 * 150.0;
            prop_assert!(bound >= optimum - 1e-9 * scale && bound <= optimum + most + 1e-9 * scale,
                "{bound} {optimum} at {change}");
        }
    }

    #[test]
    fn patterns_never_prove_too_much(
        instance in small_assignment(), points in 1_usize..6, size in 0.0..80.0_f64, seed in any::<u64>(),
    ) {
        let mut dual = AssignmentDual::new(&instance);
        let aggregate = combination(&mut dual, points, size, seed);
        let bound = dual.prove(&aggregate);
        prop_assert!(bound.is_some() || instance.sense() == Sense::Minimize);
        if let Some(bound) = bound {
            let Some((optimum, _)) = pattern_lp_shares(&instance) else { panic!("there is no solution") };
            let excess = instance.sense().sign() * (optimum - bound);
            prop_assert!(excess <= 1e-8 * optimum.abs().max(1.0), "{bound} is past {optimum}");
            let proof = dual.proof().unwrap();
            for item in 0..instance.items() {
                let total: f64 = proof.shares(item).iter().sum();
                prop_assert!(total <= 1.0 + 1e-12);
                prop_assert!(instance.sense() == Sense::Maximize || total >= 1.0 - 1e-12);
            }
        }
    }

    /// A proof that is cut short after some questions never proves too much, and later proofs do not depend on it.
    #[test]
    fn proofs_cut_short_are_valid(
        instance in small_assignment(), points in 1_usize..6, most in 0_usize..8, seed in any::<u64>(),
    ) {
        let (mut dual, mut other) = (AssignmentDual::new(&instance), AssignmentDual::new(&instance));
        let aggregate = combination(&mut dual, points, 40.0, seed);
        let questions = Cell::new(0);
        let is_over = || {
            questions.set(questions.get() + 1);
            questions.get() > most
        };
        if let Some(bound) = dual.prove_until(&aggregate, &is_over) {
            let Some((optimum, _)) = pattern_lp_shares(&instance) else { panic!("there is no solution") };
            let excess = instance.sense().sign() * (optimum - bound);
            prop_assert!(excess <= 1e-8 * optimum.abs().max(1.0), "{bound} is past {optimum}");
        }
        prop_assert!(questions.get() <= most.max(4) + 1, "{} questions", questions.get());
        prop_assert_eq!(dual.prove(&aggregate), other.prove(&aggregate));
    }

    #[test]
    fn optimal_patterns_prove_the_optimum(instance in small_assignment(), seed in any::<u64>()) {
        if let Some((optimum, shares)) = pattern_lp_shares(&instance) {
            let mut dual = AssignmentDual::new(&instance);
            let scale = optimum.abs().max(1.0);
            let bound = dual.prove(&share_aggregate(instance.items(), &shares));
            if let Some(bound) = bound {
                prop_assert!((bound - optimum).abs() <= 1e-9 * scale, "{bound} {optimum}");
            } else {
                // The LP's round-off exceeds ours, and the instance leaves no room to repair it.
                prop_assert!(instance.sense() == Sense::Minimize);
            }
            for exponent in [-3, -6] {
                let change = 10_f64.powi(exponent);
                let mut next = numbers(seed);
                // Smaller shares are still in the convex hull.
                let disturbed: Vec<f64> = shares.iter().map(|share| share * (1.0 - change * next())).collect();
                if let Some(bound) = dual.prove(&share_aggregate(instance.items(), &disturbed)) {
                    let loss = instance.sense().sign() * (bound - optimum);
                    prop_assert!(loss >= -1e-9 * scale, "{bound} is past {optimum}");
                    if instance.sense() == Sense::Maximize {
                        prop_assert!(loss <= change * 50.0 * shares.len() as f64 + 1e-9 * scale, "{bound} {optimum}");
                    }
                }
            }
        }
    }
}
