//! The interior-point method of network design: its bounds hold on both sides, its flows are a solution, limits end it in
//! time, and the default uses it where component cuts take too long.

use std::cell::Cell;

use bundlenet::{Domain, FnOracle, Limits, Method, Oracle, Settings, Solution, Solver, Status, StructuredStep};
use bundlenet_problems::network_design::{Arc, Commodity};
use bundlenet_problems::{Family, Generator, NetworkDesign, NetworkDesignDual, Problem, ProblemPrimal};
use bundlenet_testing::programs::strong_lp_flows;
use bundlenet_testing::{cases, sample};
use proptest::prelude::*;

fn barrier() -> Method {
    Method::with_options("barrier", []).unwrap()
}

fn solve(instance: &NetworkDesign, method: Method, tolerance: f64) -> Solution {
    let settings = Settings { method, tolerance, primal: true, ..Settings::default() };
    Solver::new(settings).unwrap().solve(&mut NetworkDesignDual::new(instance)).unwrap()
}

fn generated(family: Family, index: u64) -> NetworkDesign {
    match Generator::new(family, 7).instance(index as usize).unwrap().problem {
        Problem::NetworkDesign(instance) => instance,
        _ => panic!("expected network design"),
    }
}

/// Checks that the repaired flows of a run cost what its proof says.
#[track_caller]
fn assert_primal(instance: &NetworkDesign, solution: &Solution) {
    let primal = solution.primal.as_ref().unwrap();
    let ProblemPrimal::NetworkDesign(recovered) = Problem::NetworkDesign(instance.clone()).recover(primal) else {
        panic!("expected network design");
    };
    let (gap, size) = (solution.certificate.unwrap(), solution.value.abs().max(1.0));
    let cost = recovered.convex.cost();
    assert!((cost - solution.value - gap * size).abs() <= 1e-9 * size, "{cost} {} {gap}", solution.value);
    assert!(recovered.violation.largest <= 1e-8 * instance.total_demand(), "{:?}", recovered.violation);
}

proptest! {
    #![proptest_config(cases(150))]

    /// Networks with loops, parallel arcs, negative costs, unreachable nodes and commodities without demand.
    #[test]
    fn bounds_hold_on_both_sides(instance in sample::network()) {
        let solution = solve(&instance, barrier(), 1e-7);
        let size = solution.value.abs().max(1.0);
        match strong_lp_flows(&instance) {
            Some((optimum, _)) => {
                prop_assert!(solution.value <= optimum + 1e-9 * size, "{} {optimum}", solution.value);
                if let Some(gap) = solution.certificate {
                    prop_assert!(solution.value + gap * size >= optimum - 1e-9 * size);
                }
                prop_assert!(solution.status != Status::Unbounded);
            }
            // Without a solution the dual is unbounded.
            None => prop_assert!(solution.status != Status::Optimal, "{solution:?}"),
        }
    }

    #[test]
    fn feasible_networks_are_proved(instance in sample::tiny_network()) {
        if let Some((optimum, _)) = strong_lp_flows(&instance) {
            let solution = solve(&instance, barrier(), 1e-7);
            prop_assert_eq!(solution.status, Status::Optimal);
            prop_assert!((solution.value - optimum).abs() <= 2e-7 * optimum.abs().max(1.0));
        }
    }
}

#[test]
fn generated_instances_are_proved_to_1e_8() {
    for (family, index) in [(Family::McSml40, 0), (Family::McSml40, 1), (Family::McBig40, 0)] {
        let instance = generated(family, index);
        let exact = solve(&instance, Method::default(), 1e-9);
        let solution = solve(&instance, barrier(), 1e-8);
        assert_eq!((exact.status, solution.status), (Status::Optimal, Status::Optimal));
        assert!((exact.value - solution.value).abs() <= 2e-8 * exact.value, "{} {}", exact.value, solution.value);
        assert_primal(&instance, &solution);
    }
}

/// Costs and demands in other units give the same steps, up to round-off.
#[test]
fn units_do_not_matter() {
    let instance = generated(Family::McSml40, 2);
    let expected = solve(&instance, barrier(), 1e-7);
    for (cost, flow) in [(1e6, 1e-3), (1e-5, 1e5)] {
        let arc = |arc: &Arc| Arc { fixed_cost: cost * flow * arc.fixed_cost, capacity: flow * arc.capacity, ..*arc };
        let arcs: Vec<Arc> = instance.arcs().iter().map(arc).collect();
        let commodity = |other: &Commodity| Commodity { demand: flow * other.demand, ..*other };
        let commodities = instance.commodities().iter().map(commodity).collect();
        let costs = (0..arcs.len()).flat_map(|arc| instance.routing_costs(arc)).map(|other| cost * other).collect();
        let scaled = NetworkDesign::new(instance.nodes(), arcs, commodities, costs).unwrap();
        let found = solve(&scaled, barrier(), 1e-7);
        assert_eq!(found.status, Status::Optimal);
        let ratio = found.value / (cost * flow * expected.value);
        assert!((ratio - 1.0).abs() <= 2e-7, "{ratio}");
    }
}

/// A step that is interrupted at any of its questions changes nothing: the next one is the same.
#[test]
fn interrupted_steps_are_repeated() {
    let instance = generated(Family::McSml40, 3);
    let mut dual = NetworkDesignDual::new(&instance);
    let method = |dual: &mut NetworkDesignDual| dual.as_structured().unwrap().method(1e-6).unwrap();
    let (mut whole, mut cut) = (method(&mut dual), method(&mut dual));
    let (mut expected, mut found) = (vec![0.0; dual.dim()], vec![0.0; dual.dim()]);
    for step in 0..6 {
        assert_eq!(whole.step(&mut expected, &|| false), StructuredStep::Moved);
        for most in 0.. {
            let asked = Cell::new(0);
            let is_over = || asked.replace(asked.get() + 1) >= most * (1 + step);
            match cut.step(&mut found, &is_over) {
                StructuredStep::Interrupted => assert!(most < 100_000, "no end"),
                end => {
                    assert_eq!(end, StructuredStep::Moved);
                    break;
                }
            }
        }
        assert_eq!(expected, found, "step {step}");
    }
}

#[test]
fn limits_end_a_run() {
    let instance = generated(Family::McBig40, 1);
    let limits = [
        (Limits { steps: Some(3), ..Limits::default() }, Status::StepLimit),
        (Limits { oracle_calls: Some(4), ..Limits::default() }, Status::OracleCallLimit),
        (Limits { seconds: Some(1e-9), ..Limits::default() }, Status::TimeLimit),
    ];
    for (limits, status) in limits {
        let settings = Settings { method: barrier(), limits, ..Settings::default() };
        let solution = Solver::new(settings).unwrap().solve(&mut NetworkDesignDual::new(&instance)).unwrap();
        assert_eq!(solution.status, status);
    }
}

/// Component cuts would take seconds here.
#[test]
fn the_default_ends_with_it() {
    let arc = |tail, head, fixed_cost, capacity| Arc { tail, head, fixed_cost, capacity };
    let mut stream = bundlenet_testing::stream(5);
    let mut below = |limit: usize| stream.below(limit);
    let nodes = 12;
    let mut arcs: Vec<Arc> = (0..nodes).map(|node| arc(node, (node + 1) % nodes, 60.0, 1e4)).collect();
    for _ in 0..60 {
        let (tail, shift) = (below(nodes), 1 + below(nodes - 1));
        arcs.push(arc(tail, (tail + shift) % nodes, (200 + below(1000)) as f64, (40 + below(60)) as f64));
    }
    let commodity = |_: usize| {
        let (origin, shift) = (below(nodes), 1 + below(nodes - 1));
        Commodity { origin, destination: (origin + shift) % nodes, demand: (3 + below(9)) as f64 }
    };
    let commodities: Vec<Commodity> = (0..120).map(commodity).collect();
    let costs = (0..arcs.len() * commodities.len()).map(|_| (5 + below(40)) as f64).collect();
    let instance = NetworkDesign::new(nodes, arcs, commodities, costs).unwrap();
    let (auto, alone) = (solve(&instance, Method::default(), 1e-7), solve(&instance, barrier(), 1e-7));
    assert_eq!((auto.status, alone.status), (Status::Optimal, Status::Optimal));
    assert!((auto.value - alone.value).abs() <= 2e-7 * alone.value, "{} {}", auto.value, alone.value);
    assert_primal(&instance, &auto);
    // Both end with the same method and the same bound, so they have the same primal solution.
    assert_eq!(auto.primal, alone.primal);
}

#[test]
fn other_functions_have_no_such_method() {
    let mut assignment = Generator::new(Family::Ga10x100, 7).instance(0).unwrap().problem.dual();
    let mut function = FnOracle::new(1, |point: &[f64], subgradient: &mut [f64]| {
        subgradient[0] = 2.0 * point[0];
        Ok(point[0] * point[0])
    })
    .with_domain(Domain::Free);
    for oracle in [&mut *assignment as &mut dyn Oracle, &mut function] {
        let settings = Settings { method: barrier(), ..Settings::default() };
        let error = Solver::new(settings).unwrap().solve(oracle).unwrap_err().to_string();
        assert!(error.contains("expected a StructuredOracle"), "{error}");
    }
}
