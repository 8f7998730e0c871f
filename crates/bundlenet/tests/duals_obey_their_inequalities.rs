//! What every oracle must satisfy: the subgradient inequality, components that add up, agreement with the
//! straightforward evaluation, and weak duality against brute force.

mod reference;
mod sample;

use bundlenet::problems::network_design::{Arc, Commodity};
use bundlenet::{
    Academic, Assignment, AssignmentDual, Domain, Minimized, Minorants, NetworkDesign, NetworkDesignDual, Oracle, Sense,
};
use proptest::prelude::*;
use reference::{PlainAssignmentDual, PlainNetworkDesignDual};

fn evaluate(oracle: &mut dyn Oracle, point: &[f64]) -> (f64, Vec<f64>) {
    let mut subgradient = vec![0.0; point.len()];
    let value = Minimized::new(oracle).unwrap().evaluate(point, &mut subgradient).unwrap();
    (value, subgradient)
}

/// `f(y) >= f(x) + g'(y - x)` both ways, up to round-off in sums of numbers of this size.
fn assert_subgradient_inequality(oracle: &mut dyn Oracle, x: &[f64], y: &[f64]) {
    let (at_x, g_x) = evaluate(oracle, x);
    let (at_y, g_y) = evaluate(oracle, y);
    let slope = |g: &[f64]| -> f64 { g.iter().zip(x.iter().zip(y)).map(|(g, (x, y))| g * (y - x)).sum() };
    let size =
        |g: &[f64]| -> f64 { g.iter().zip(x.iter().zip(y)).map(|(g, (x, y))| g.abs() * (x.abs() + y.abs())).sum() };
    let tolerance = 1e-12 * (at_x.abs() + at_y.abs() + size(&g_x) + size(&g_y)).max(1.0);
    assert!(at_y >= at_x + slope(&g_x) - tolerance, "{at_y} < {at_x} + {}", slope(&g_x));
    assert!(at_x >= at_y - slope(&g_y) - tolerance, "{at_x} < {at_y} - {}", slope(&g_y));
}

/// The linear part and the components add up to the function, in value and in subgradient.
fn assert_components_add_up(oracle: &mut dyn Oracle, point: &[f64]) {
    let (value, subgradient) = evaluate(oracle, point);
    let mut minorants = Minorants::new();
    let mut minimized = Minimized::new(oracle).unwrap();
    assert!(minimized.evaluate_components(point, &mut minorants).unwrap());
    let sign = minimized.sense().sign();
    let linear = oracle.as_sum().unwrap().linear().to_vec();
    let mut total: f64 = linear.iter().zip(point).map(|(l, x)| sign * l * x).sum();
    let mut gradient: Vec<f64> = linear.iter().map(|l| sign * l).collect();
    for component in 0..minorants.len() {
        total += minorants.values()[component];
        let (coordinates, entries) = minorants.subgradient(component);
        coordinates.iter().zip(entries).for_each(|(&at, entry)| gradient[at as usize] += entry);
    }
    let size: f64 = minorants.values().iter().map(|value| value.abs()).sum::<f64>().max(1.0);
    assert!((total - value).abs() <= 1e-12 * size, "{total} {value}");
    // Small whole numbers or sums of a few demands.
    assert!(gradient.iter().zip(&subgradient).all(|(a, b)| (a - b).abs() <= 1e-9), "{gradient:?} {subgradient:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn network_design(instance in sample::network(), seed in any::<u64>()) {
        let mut dual = NetworkDesignDual::new(&instance);
        let (x, y) = (random_point(seed, dual.dim()), random_point(!seed, dual.dim()));
        assert_subgradient_inequality(&mut dual, &x, &y);
        assert_components_add_up(&mut dual, &x);
        let (value, _) = evaluate(&mut dual, &x);
        let expected = PlainNetworkDesignDual::new(&instance).evaluate(&x, &mut vec![0.0; x.len()]);
        prop_assert!((-value - expected).abs() <= 1e-11 * expected.abs().max(1e3), "{} {expected}", -value);
    }

    #[test]
    fn generalised_assignment(instance in sample::assignment(), seed in any::<u64>()) {
        let mut dual = AssignmentDual::new(&instance);
        let (mut x, mut y) = (random_point(seed, dual.dim()), random_point(!seed, dual.dim()));
        let domain = dual.domain();
        domain.project(&mut x);
        domain.project(&mut y);
        prop_assert_eq!(domain == Domain::Nonnegative, instance.sense() == Sense::Maximize);
        assert_subgradient_inequality(&mut dual, &x, &y);
        assert_components_add_up(&mut dual, &x);
        let sign = dual.sense().sign();
        let (value, _) = evaluate(&mut dual, &x);
        let expected = PlainAssignmentDual::new(&instance).evaluate(&x, &mut vec![0.0; x.len()]);
        prop_assert!((sign * value - expected).abs() <= 1e-11 * expected.abs().max(1e2), "{} {expected}", sign * value);
    }

    #[test]
    fn academic_functions(seed in any::<u64>(), scale in 0.01..3.0_f64) {
        for mut function in Academic::ALL {
            let mut x = random_point(seed, function.dim());
            let mut y = random_point(!seed, function.dim());
            x.iter_mut().chain(&mut y).for_each(|entry| *entry *= scale / 10.0);
            assert_subgradient_inequality(&mut function, &x, &y);
            prop_assert!(function.relative_gap(evaluate(&mut function, &x).0) >= -1e-9);
        }
    }
}

/// A point with whole numbers, which make ties, and real ones.
fn random_point(seed: u64, dim: usize) -> Vec<f64> {
    let mut state = seed | 1;
    (0..dim)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let number = (state >> 11) as f64 / (1_u64 << 53) as f64 * 24.0 - 12.0;
            if state >> 60 & 1 == 0 { number.round() } else { number }
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Every feasible assignment is worth at most the dual at any multipliers (or at least, for costs).
    #[test]
    fn weak_duality_for_assignment(
        (capacities, profits, weights) in (1_usize..4, 1_usize..6).prop_flat_map(|(bins, items)| (
            prop::collection::vec(1_u32..30, bins),
            prop::collection::vec((0_i32..20).prop_map(f64::from), bins * items),
            prop::collection::vec(1_u32..15, bins * items),
        )),
        maximize in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let bins = capacities.len();
        let items = profits.len() / bins;
        let sense = if maximize { Sense::Maximize } else { Sense::Minimize };
        let instance = Assignment::new(sense, items, capacities, profits, weights).unwrap();
        // Each item goes into one of the bins, or nowhere where that is allowed.
        let places = if maximize { bins + 1 } else { bins };
        let mut best = None::<f64>;
        for code in 0..places.pow(items as u32) {
            let place = |item: usize| code / places.pow(item as u32) % places;
            let fits = (0..bins).all(|bin| {
                let used: u32 = (0..items).filter(|&item| place(item) == bin).map(|item| instance.weights(bin)[item]).sum();
                used <= instance.capacities()[bin]
            });
            if fits {
                let worth = (0..items).filter(|&item| place(item) < bins).map(|item| instance.profits(place(item))[item]).sum();
                best = Some(match best {
                    None => worth,
                    Some(best) if maximize => worth.max(best),
                    Some(best) => worth.min(best),
                });
            }
        }
        if let Some(best) = best {
            let mut dual = AssignmentDual::new(&instance);
            let mut point = random_point(seed, items);
            dual.domain().project(&mut point);
            let bound = dual.sense().sign() * evaluate(&mut dual, &point).0;
            let tolerance = 1e-9 * best.abs().max(1.0);
            prop_assert!(if maximize { bound >= best - tolerance } else { bound <= best + tolerance }, "{bound} {best}");
        }
    }
}

/// The cheapest design of a tiny network, by trying all sets of open arcs and all ways to send each unit along paths.
fn cheapest_design(instance: &NetworkDesign) -> Option<f64> {
    let arcs = instance.arcs().len();
    (0..1_usize << arcs)
        .filter_map(|open| {
            let fixed: f64 =
                (0..arcs).filter(|arc| open >> arc & 1 == 1).map(|arc| instance.arcs()[arc].fixed_cost).sum();
            let mut left: Vec<f64> = instance.arcs().iter().map(|arc| arc.capacity).collect();
            route(instance, open, &mut left, 0, instance.commodities()[0].demand).map(|routing| fixed + routing)
        })
        .reduce(f64::min)
}

/// The least cost of routing what is left of commodity `k` and all later ones, unit by unit.
fn route(instance: &NetworkDesign, open: usize, left: &mut Vec<f64>, k: usize, demand: f64) -> Option<f64> {
    if demand <= 0.0 {
        return match instance.commodities().get(k + 1) {
            None => Some(0.0),
            Some(next) => route(instance, open, left, k + 1, next.demand),
        };
    }
    let mut best = None::<f64>;
    for path in paths(instance, open, k) {
        if path.iter().all(|&arc| left[arc] >= 1.0) {
            path.iter().for_each(|&arc| left[arc] -= 1.0);
            let cost: f64 = path.iter().map(|&arc| instance.routing_costs(arc)[k]).sum();
            if let Some(rest) = route(instance, open, left, k, demand - 1.0) {
                best = Some(best.map_or(cost + rest, |best| best.min(cost + rest)));
            }
            path.iter().for_each(|&arc| left[arc] += 1.0);
        }
    }
    best
}

/// All simple paths of a commodity over open arcs.
fn paths(instance: &NetworkDesign, open: usize, k: usize) -> Vec<Vec<usize>> {
    fn extend(
        instance: &NetworkDesign,
        open: usize,
        goal: usize,
        nodes: &mut Vec<usize>,
        path: &mut Vec<usize>,
        all: &mut Vec<Vec<usize>>,
    ) {
        let at = nodes[nodes.len() - 1];
        if at == goal {
            all.push(path.clone());
            return;
        }
        for (index, arc) in instance.arcs().iter().enumerate() {
            if open >> index & 1 == 1 && arc.tail == at && !nodes.contains(&arc.head) {
                nodes.push(arc.head);
                path.push(index);
                extend(instance, open, goal, nodes, path, all);
                path.pop();
                nodes.pop();
            }
        }
    }
    let commodity = &instance.commodities()[k];
    let mut all = vec![];
    extend(instance, open, commodity.destination, &mut vec![commodity.origin], &mut vec![], &mut all);
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Every design that routes all demands costs at least the dual at any multipliers.
    #[test]
    fn weak_duality_for_network_design(
        (arcs, demands, costs) in (1_usize..6, 1_usize..3).prop_flat_map(|(arcs, commodities)| (
            prop::collection::vec((0_usize..3, 1_usize..3, 0_i32..20, 1_i32..4), arcs),
            prop::collection::vec((0_usize..3, 1_usize..3, 1_i32..4), commodities),
            prop::collection::vec(0_i32..9, arcs * commodities),
        )),
        seed in any::<u64>(),
    ) {
        let arcs = arcs.into_iter().map(|(tail, shift, fixed, capacity)| Arc {
            tail, head: (tail + shift) % 3, fixed_cost: fixed.into(), capacity: capacity.into(),
        }).collect();
        let commodities = demands.into_iter().map(|(origin, shift, demand)| Commodity {
            origin, destination: (origin + shift) % 3, demand: demand.into(),
        }).collect();
        let instance = NetworkDesign::new(3, arcs, commodities, costs.into_iter().map(f64::from).collect()).unwrap();
        if let Some(best) = cheapest_design(&instance) {
            let mut dual = NetworkDesignDual::new(&instance);
            for attempt in 0..5 {
                let point = random_point(seed.wrapping_add(attempt), dual.dim());
                let bound = -evaluate(&mut dual, &point).0;
                prop_assert!(bound <= best + 1e-9, "bound {bound} exceeds the optimum {best}");
            }
        }
    }
}

#[test]
fn the_dual_of_network_design_is_zero_at_zero() {
    let generated = bundlenet::Generator::new(bundlenet::Family::McSml40, 3).instance(0).unwrap();
    let mut dual = generated.problem.dual();
    let origin = vec![0.0; dual.dim()];
    assert_eq!(evaluate(&mut *dual, &origin).0, 0.0);
}
