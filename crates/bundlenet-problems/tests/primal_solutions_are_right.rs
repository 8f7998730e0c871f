//! A primal solution is the convex combination of subproblem solutions that belongs to the last combination of cuts,
//! also after cuts were aggregated. Solutions recovered from it are feasible if they are said to be.

use bundlenet::{
    AutoSettings, BundleSettings, Cuts, EvaluationError, FnOracle, HybridSettings, Limits, Method, NetworkSettings,
    Oracle, OracleError, Primal, PrimalOracle, Pruning, Sense, Settings, Solution, Solutions, Solver, State, Status,
    StepSettings,
};
use bundlenet_problems::assignment::Placement;
use bundlenet_problems::facility_location::Plan;
use bundlenet_problems::network_design::Design;
use bundlenet_problems::{
    Assignment, AssignmentDual, FacilityLocation, FacilityLocationDual, Family, Generator, NetworkDesign,
    NetworkDesignDual, Problem, ProblemPrimal, Violation,
};
use bundlenet_testing::changes::changed;
use bundlenet_testing::sums::{Stream, Sum};
use bundlenet_testing::{cases, enumeration, sample, stream};
use proptest::prelude::*;

/// Every method with cuts, under the given pruning.
fn methods(pruning: &Pruning) -> Vec<Method> {
    let &Pruning { lifetime, max_cuts, .. } = pruning;
    let bundle = |cuts| Method::Bundle(BundleSettings { cuts, pruning: pruning.clone(), ..BundleSettings::default() });
    vec![
        bundle(Cuts::Component),
        bundle(Cuts::Aggregated),
        Method::Auto(AutoSettings { pruning: pruning.clone(), ..AutoSettings::default() }),
        Method::Hybrid(HybridSettings { lifetime, max_cuts, ..HybridSettings::default() }),
        Method::Network(NetworkSettings { max_cuts, ..NetworkSettings::default() }),
    ]
}

/// Every method with cuts, with the default pruning, and with few cuts, so that aggregates are made of aggregates.
fn ways() -> Vec<Method> {
    let few = Pruning { max_cuts: 3, max_component_cuts: 3, lifetime: 1, max_bytes: 1_000_000 };
    [methods(&Pruning::default()), methods(&few)].concat()
}

fn is_network(method: &Method) -> bool {
    matches!(method, Method::Network(_))
}

fn settings(method: &Method, steps: usize) -> Settings {
    let limits = Limits { steps: Some(steps), ..Limits::default() };
    Settings { method: method.clone(), limits, tolerance: 1e-8, ..Settings::default() }
}

fn run(oracle: &mut dyn Oracle, method: &Method, steps: usize) -> Solution {
    Solver::new(Settings { primal: true, ..settings(method, steps) }).unwrap().solve(oracle).unwrap()
}

/// Checks a primal solution, the weights of lines. The weights of each component add up to 1. Their combination is
/// below the function everywhere. If the run ended optimal, the combination proves its value.
fn check_sum(sum: &mut Sum, solution: &Solution, stream: &mut Stream, name: &str) {
    let primal = solution.primal.as_ref().unwrap();
    let mut weights = vec![0.0; sum.components.iter().map(Vec::len).sum()];
    primal.variables.iter().for_each(|&(line, weight)| weights[line as usize] = weight);
    assert!(weights.iter().all(|weight| *weight >= 0.0), "{name}");
    let mut slope = sum.linear.clone();
    let (mut cost, mut first) = (0.0, 0);
    for lines in &sum.components {
        let weights = &weights[first..first + lines.len()];
        first += lines.len();
        let total: f64 = weights.iter().sum();
        assert!((total - 1.0).abs() < 1e-9, "{name}: weights add up to {total}");
        for (line, weight) in lines.iter().zip(weights) {
            cost += weight * line.1;
            line.0.iter().for_each(|&(at, entry)| slope[at as usize] += weight * entry);
        }
    }
    let magnitude = 1.0 + sum.components.iter().flatten().map(|line| line.1.abs()).sum::<f64>();
    assert!((cost - primal.cost).abs() < 1e-9 * magnitude, "{name}: {cost} {}", primal.cost);
    let (lower, upper) = sum.minimizer_box().unwrap();
    for _ in 0..5 {
        let point: Vec<f64> =
            lower.iter().zip(&upper).map(|(low, high)| low + (high - low) * stream.below(1000) as f64 / 1e3).collect();
        let line = cost + slope.iter().zip(&point).map(|(entry, at)| entry * at).sum::<f64>();
        let value = sum.evaluate(&point, &mut vec![0.0; point.len()]).unwrap();
        assert!(line <= value + 1e-9 * (magnitude + value.abs()), "{name}: {line} above {value}");
    }
    if solution.status == Status::Optimal {
        let corners =
            slope.iter().zip(lower.iter().zip(&upper)).map(|(entry, (low, high))| (entry * low).min(entry * high));
        let least = cost + corners.sum::<f64>();
        // Up to the tolerance, and to round-off in slopes times the radius of the box.
        assert!(
            solution.value - least <= 1e-6 * (magnitude + solution.value.abs()),
            "{name}: {} {least}",
            solution.value
        );
    }
}

#[test]
fn solutions_follow_their_cuts() {
    let mut stream = stream(5);
    let mut optimal = 0;
    for case in 0..60 {
        let mut sum = Sum::random(&mut stream);
        for (index, method) in ways().iter().enumerate() {
            for is_whole in [false, true] {
                sum.is_whole = is_whole;
                for steps in [0, 1, 4, 30, 1000] {
                    let steps = if is_network(method) { steps.min(30) } else { steps };
                    let solution = run(&mut sum, method, steps);
                    optimal += usize::from(solution.status == Status::Optimal);
                    check_sum(
                        &mut sum,
                        &solution,
                        &mut stream,
                        &format!("case {case}, way {index} ({}), {steps} steps", method.name()),
                    );
                }
            }
        }
    }
    assert!(optimal > 1000, "{optimal}");
}

/// A run takes the same steps with and without primal solutions.
#[test]
fn recording_changes_nothing() {
    for family in [Family::McSml40, Family::Ga10x100] {
        let problem = Generator::new(family, 4).instance(0).unwrap().problem;
        for method in methods(&Pruning::default()) {
            let recorded = run(&mut *problem.dual(), &method, 40);
            let plain = Solver::new(settings(&method, 40)).unwrap().solve(&mut *problem.dual()).unwrap();
            assert_eq!((plain.value, &plain.point), (recorded.value, &recorded.point), "{family} {method:?}");
            assert!(plain.primal.is_none() && recorded.primal.is_some());
        }
    }
}

/// `cost + (b - A x)'pi` of a combination.
fn lagrangian(instance: &NetworkDesign, design: &Design, point: &[f64]) -> f64 {
    let mut value = design.cost();
    for (k, commodity) in instance.commodities().iter().enumerate() {
        let pi = &point[k * instance.nodes()..(k + 1) * instance.nodes()];
        value += commodity.demand * (pi[commodity.origin] - pi[commodity.destination]);
        value += instance
            .arcs()
            .iter()
            .zip(design.flows(k))
            .map(|(arc, flow)| flow * (pi[arc.head] - pi[arc.tail]))
            .sum::<f64>();
    }
    value
}

/// Checks capacities, the strong inequalities and the cost, but not flow conservation.
fn check_design(instance: &NetworkDesign, design: &Design) {
    let mut cost = 0.0;
    for (index, arc) in instance.arcs().iter().enumerate() {
        let open = design.designs()[index];
        assert!((0.0..=1.0 + 1e-9).contains(&open), "design {open}");
        cost += arc.fixed_cost * open;
        let mut load = 0.0;
        for (k, commodity) in instance.commodities().iter().enumerate() {
            let flow = design.flows(k)[index];
            assert!(flow >= 0.0 && (flow == 0.0 || instance.is_usable(index, k)), "flow {flow}");
            assert!(flow <= commodity.demand.min(arc.capacity) * open + 1e-9 * (1.0 + arc.capacity));
            load += flow;
            cost += instance.routing_costs(index)[k] * flow;
        }
        assert!(load <= arc.capacity * open + 1e-9 * (1.0 + arc.capacity), "load {load}");
    }
    assert!((cost - design.cost()).abs() <= 1e-9 * (1.0 + cost.abs()), "{cost} {}", design.cost());
}

fn imbalance(instance: &NetworkDesign, design: &Design) -> Violation {
    let (mut largest, mut total) = (0.0_f64, 0.0);
    for (k, commodity) in instance.commodities().iter().enumerate() {
        for node in 0..instance.nodes() {
            let flows = || instance.arcs().iter().zip(design.flows(k));
            let out: f64 = flows().filter(|(arc, _)| arc.tail == node).map(|(_, flow)| flow).sum();
            let into: f64 = flows().filter(|(arc, _)| arc.head == node).map(|(_, flow)| flow).sum();
            let supply = if node == commodity.origin { commodity.demand } else { 0.0 }
                - if node == commodity.destination { commodity.demand } else { 0.0 };
            largest = largest.max((out - into - supply).abs());
            total += (out - into - supply).abs();
        }
    }
    Violation { largest, total }
}

/// Checks all recovered solutions; returns the cost of the feasible design.
fn check_network(instance: &NetworkDesign, solution: &Solution, seed: u64) -> Option<f64> {
    let recovered = instance.recover(solution.primal.as_ref().unwrap());
    check_design(instance, &recovered.convex);
    let violation = imbalance(instance, &recovered.convex);
    assert!((violation.largest - recovered.violation.largest).abs() < 1e-9 * (1.0 + violation.largest));
    assert!((violation.total - recovered.violation.total).abs() < 1e-9 * (1.0 + violation.total));
    let mut dual = NetworkDesignDual::new(instance);
    for seed in seed..seed + 5 {
        let point = sample::point(seed, dual.dim());
        let value = dual.evaluate(&point, &mut vec![0.0; point.len()]).unwrap();
        let line = lagrangian(instance, &recovered.convex, &point);
        assert!(line >= value - 1e-9 * (1.0 + value.abs()), "{line} below {value}");
    }
    for design in recovered.relaxed.iter().chain(&recovered.feasible) {
        check_design(instance, design);
        let left = imbalance(instance, design);
        assert!(left.largest <= 1e-9 * (1.0 + instance.total_demand()), "{left:?}");
        assert!(design.cost() >= solution.value - 1e-9 * (1.0 + solution.value.abs()));
    }
    let feasible = recovered.feasible?;
    assert!(feasible.designs().iter().all(|open| [0.0, 1.0].contains(open)));
    Some(feasible.cost())
}

/// Checks shares, loads and the value; returns by how much items are assigned too often, or too rarely.
fn check_placement(instance: &Assignment, placement: &Placement, is_whole: bool) -> Violation {
    let (mut value, mut largest, mut total) = (0.0, 0.0_f64, 0.0);
    for item in 0..instance.items() {
        let shares = placement.shares(item);
        assert!(shares.iter().all(|share| (0.0..=1.0 + 1e-9).contains(share)));
        assert!(!is_whole || shares.iter().all(|share| [0.0, 1.0].contains(share)));
        value += shares.iter().enumerate().map(|(bin, share)| share * instance.profits(bin)[item]).sum::<f64>();
        let excess = shares.iter().sum::<f64>() - 1.0;
        let violation = if instance.sense() == Sense::Maximize { excess.max(0.0) } else { excess.abs() };
        largest = largest.max(violation);
        total += violation;
    }
    for bin in 0..instance.bins() {
        let weights = instance.weights(bin).iter().enumerate();
        let load: f64 = weights.map(|(item, &weight)| f64::from(weight) * placement.shares(item)[bin]).sum();
        assert!(load <= f64::from(instance.capacities()[bin]) * (1.0 + 1e-9), "{load}");
    }
    assert!((value - placement.value()).abs() <= 1e-9 * (1.0 + value.abs()), "{value} {}", placement.value());
    Violation { largest, total }
}

/// Checks all recovered solutions; returns the value of the feasible placement.
fn check_assignment(instance: &Assignment, solution: &Solution, seed: u64) -> Option<f64> {
    let recovered = instance.recover(solution.primal.as_ref().unwrap());
    let violation = check_placement(instance, &recovered.convex, false);
    assert!((violation.largest - recovered.violation.largest).abs() < 1e-9);
    assert!((violation.total - recovered.violation.total).abs() < 1e-9 * (1.0 + violation.total));
    let sign = instance.sense().sign();
    let mut dual = AssignmentDual::new(instance);
    for seed in seed..seed + 5 {
        let mut point = sample::point(seed, dual.dim());
        dual.domain().project(&mut point);
        let value = dual.evaluate(&point, &mut vec![0.0; point.len()]).unwrap();
        let slopes =
            point.iter().enumerate().map(|(item, pi)| pi * (1.0 - recovered.convex.shares(item).iter().sum::<f64>()));
        let line = recovered.convex.value() + slopes.sum::<f64>();
        assert!(sign * (line - value) >= -1e-9 * (1.0 + value.abs()), "{line} and {value}");
    }
    for (placement, is_whole) in
        recovered.relaxed.iter().map(|one| (one, false)).chain(recovered.feasible.iter().map(|one| (one, true)))
    {
        assert!(check_placement(instance, placement, is_whole).largest <= 1e-9);
        assert!(sign * (placement.value() - solution.value) >= -1e-9 * (1.0 + solution.value.abs()));
    }
    recovered.feasible.map(|placement| placement.value())
}

/// Checks openings, loads and the cost; returns by how much customers are served too much, or too little.
fn check_plan(instance: &FacilityLocation, plan: &Plan) -> Violation {
    let (mut cost, mut size, mut largest, mut total) = (0.0, 1.0, 0.0_f64, 0.0);
    let mut loads = vec![0.0; instance.sites().len()];
    for customer in 0..instance.customers() {
        let shares = plan.shares(customer);
        for (site, &share) in shares.iter().enumerate() {
            assert!(share >= 0.0 && share <= plan.openings()[site] + 1e-9, "{share}");
            loads[site] += share * instance.demands()[customer];
            cost += share * instance.costs(site)[customer];
            size += share * instance.costs(site)[customer].abs();
        }
        let violation = (shares.iter().sum::<f64>() - 1.0).abs();
        largest = largest.max(violation);
        total += violation;
    }
    for ((site, load), opening) in instance.sites().iter().zip(loads).zip(plan.openings()) {
        assert!((0.0..=1.0 + 1e-9).contains(opening));
        let capacity = site.capacity.min(instance.total_demand());
        assert!(load <= capacity * opening + 1e-9 * (1.0 + capacity), "{site:?} {load} {opening}");
        cost += site.fixed_cost * opening;
        size += site.fixed_cost.abs();
    }
    assert!((cost - plan.cost()).abs() <= 1e-9 * size, "{cost} {}", plan.cost());
    Violation { largest, total }
}

/// Checks all recovered solutions; returns the cost of the feasible plan.
fn check_location(instance: &FacilityLocation, solution: &Solution, seed: u64) -> Option<f64> {
    let recovered = instance.recover(solution.primal.as_ref().unwrap());
    let violation = check_plan(instance, &recovered.convex);
    assert!((violation.largest - recovered.violation.largest).abs() < 1e-9);
    assert!((violation.total - recovered.violation.total).abs() < 1e-9 * (1.0 + violation.total));
    let mut dual = FacilityLocationDual::new(instance);
    for seed in seed..seed + 5 {
        let point = sample::point(seed, dual.dim());
        let value = dual.evaluate(&point, &mut vec![0.0; point.len()]).unwrap();
        let missing = |customer: usize| 1.0 - recovered.convex.shares(customer).iter().sum::<f64>();
        let slopes = point.iter().enumerate().map(|(customer, price)| price * missing(customer));
        let line = recovered.convex.cost() + slopes.sum::<f64>();
        assert!(line >= value - 1e-9 * (1.0 + value.abs()), "{line} below {value}");
    }
    for plan in recovered.relaxed.iter().chain(&recovered.feasible) {
        assert!(check_plan(instance, plan).largest <= 1e-9);
        assert!(plan.cost() >= solution.value - 1e-9 * (1.0 + solution.value.abs()));
    }
    let feasible = recovered.feasible?;
    assert!(feasible.openings().iter().all(|opening| [0.0, 1.0].contains(opening)));
    Some(feasible.cost())
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn locations_are_recovered(
        instance in prop_oneof![sample::location(), sample::feasible_location()],
        seed in any::<u32>(), steps in 0_usize..60,
    ) {
        for method in ways() {
            let solution = run(&mut FacilityLocationDual::new(&instance), &method, steps);
            check_location(&instance, &solution, seed.into());
        }
    }

    #[test]
    fn networks_are_recovered(instance in sample::network(), seed in any::<u32>(), steps in 0_usize..60) {
        for method in ways() {
            let solution = run(&mut NetworkDesignDual::new(&instance), &method, steps);
            check_network(&instance, &solution, seed.into());
        }
    }

    #[test]
    fn assignments_are_recovered(instance in sample::assignment(), seed in any::<u32>(), steps in 0_usize..60) {
        for method in ways() {
            let solution = run(&mut AssignmentDual::new(&instance), &method, steps);
            check_assignment(&instance, &solution, seed.into());
        }
    }
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn no_design_is_better_than_the_best(instance in sample::tiny_network()) {
        // If no design is feasible, the dual is unbounded.
        let solution = run(&mut NetworkDesignDual::new(&instance), &Method::default(), 100);
        let optimum = enumeration::cheapest_design(&instance);
        let found = check_network(&instance, &solution, 1);
        let is_possible = |found: f64| optimum.is_some_and(|optimum| found >= optimum - 1e-9 * (1.0 + optimum));
        prop_assert!(found.is_none_or(is_possible));
    }

    /// With so few sites, opening and closing them finds the best plan almost always.
    #[test]
    fn no_plan_is_better_than_the_best(instance in sample::tiny_location()) {
        let solution = run(&mut FacilityLocationDual::new(&instance), &Method::default(), 100);
        let optimum = enumeration::cheapest_plan(&instance);
        let found = check_location(&instance, &solution, 1);
        match (found, optimum) {
            (Some(found), Some(optimum)) => {
                prop_assert!(found >= optimum - 1e-9 * (1.0 + optimum), "{found} {optimum}");
                prop_assert!(found <= 1.5 * optimum + 1e-9, "{found} {optimum}");
            }
            (found, optimum) => prop_assert!(found.is_none() == optimum.is_none(), "{found:?} {optimum:?}"),
        }
    }

    #[test]
    fn no_placement_is_better_than_the_best(instance in sample::tiny_assignment()) {
        let solution = run(&mut AssignmentDual::new(&instance), &Method::default(), 100);
        let optimum = enumeration::best_assignment(&instance);
        let found = check_assignment(&instance, &solution, 1);
        let sign = instance.sense().sign();
        prop_assert!(found.is_none_or(|found| optimum.is_some_and(|optimum| sign * (found - optimum) >= -1e-9)));
    }
}

/// On instances of ordinary size the violation goes to 0, and the feasible solution has a small gap.
#[test]
fn real_instances_have_two_sided_gaps() {
    for (family, most) in [(Family::McSml40, 0.1), (Family::Ga10x100, 0.01), (Family::Cfl20x50, 0.1)] {
        for index in 0..3 {
            let problem = Generator::new(family, 11).instance(index).unwrap().problem;
            for method in methods(&Pruning::default()) {
                let is_network = is_network(&method);
                let solution = run(&mut *problem.dual(), &method, if is_network { 50 } else { 2000 });
                let primal = solution.primal.as_ref().unwrap();
                let recovered = problem.recover(primal);
                let feasible = recovered.feasible_value().unwrap();
                let gap = (feasible - solution.value).abs() / solution.value;
                assert!(gap < most || is_network, "{family} {index}: {gap} with {method:?}");
                let violation = match recovered {
                    ProblemPrimal::NetworkDesign(recovered) => recovered.violation,
                    ProblemPrimal::Assignment(recovered) => recovered.violation,
                    ProblemPrimal::FacilityLocation(recovered) => recovered.violation,
                    ProblemPrimal::UnitCommitment(recovered) => recovered.violation,
                };
                let is_optimal = solution.status == Status::Optimal;
                assert!(violation.largest < 0.02 || !is_optimal, "{family} {index}: {violation:?} with {method:?}");
            }
        }
    }
}

#[test]
fn without_solutions_there_is_no_primal() {
    let mut absolute = FnOracle::new(1, |point: &[f64], subgradient: &mut [f64]| {
        subgradient[0] = if point[0] < 1.0 { -1.0 } else { 1.0 };
        Ok((point[0] - 1.0).abs())
    });
    assert!(run(&mut absolute, &Method::default(), 10).primal.is_none());
    for method in [Method::Descent(StepSettings::default()), Method::Adam(StepSettings::default())] {
        let error = Solver::new(Settings { method, primal: true, ..Settings::default() }).err().unwrap();
        assert_eq!(error.name, "primal");
    }
}

/// A constant function with the given solutions, all of cost 7: the start is optimal, but the solutions may be
/// unusable.
struct Odd(Vec<f64>);

impl Oracle for Odd {
    fn dim(&self) -> usize {
        1
    }

    fn evaluate(&mut self, _: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        subgradient[0] = 0.0;
        Ok(7.0)
    }

    fn as_primal(&mut self) -> Option<&mut dyn PrimalOracle> {
        Some(self)
    }
}

impl PrimalOracle for Odd {
    fn write_solutions(&mut self, solutions: &mut Solutions) {
        self.0.iter().for_each(|&value| solutions.push(7.0, [(3, value)]));
    }
}

#[test]
fn an_optimal_start_has_its_solution_and_bad_solutions_are_named() {
    let solution = run(&mut Odd(vec![2.0]), &Method::default(), 10);
    assert_eq!(solution.primal, Some(Primal { cost: 7.0, variables: vec![(3, 2.0)] }));
    let settings = Settings { primal: true, ..Settings::default() };
    let error = |values: Vec<f64>| Solver::new(settings.clone()).unwrap().solve(&mut Odd(values)).unwrap_err();
    assert!(matches!(error(vec![]), EvaluationError::SolutionCount { evaluation: 1, expected: 1, found: 0 }));
    assert!(matches!(error(vec![f64::NAN]), EvaluationError::Solution { evaluation: 1, .. }));
}

/// A run from a state. Afterwards the state has the cuts of the run.
fn go_on(oracle: &mut dyn Oracle, state: &mut State, settings: &Settings) -> Solution {
    Solver::new(settings.clone()).unwrap().state(state).solve(oracle).unwrap()
}

fn wants_components(method: &Method) -> bool {
    match method {
        Method::Auto(_) => true,
        Method::Bundle(settings) => settings.cuts == Cuts::Component,
        _ => false,
    }
}

/// Checks that every cut of a state is the line of its primal solution.
fn check_cuts(oracle: &mut dyn Oracle, state: &State, name: &str) {
    let dense = |slope: &[(u32, f64)]| {
        let mut dense = vec![0.0; state.point().len()];
        slope.iter().for_each(|&(at, entry)| dense[at as usize] += entry);
        dense
    };
    for cut in state.cuts() {
        let primal = cut.primal.as_ref().unwrap();
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-8 * (1.0 + a.abs() + b.abs());
        assert!(close(primal.cost, cut.constant), "{name}: {} {}", primal.cost, cut.constant);
        // The oracle knows the line of a solution of a component, or of a function that is not a sum.
        if cut.component.is_none() && oracle.as_sum().is_some() {
            continue;
        }
        let mut solution = Primal::clone(primal);
        // A combination of sets is one of feasible sets, but an oracle may not know it.
        let line = oracle.as_primal().unwrap().line_of(cut.component.unwrap_or(0), &mut solution);
        if let Some((_, slope)) = line {
            let pairs = dense(&slope).into_iter().zip(dense(&cut.slope));
            pairs.for_each(|(a, b)| assert!(close(a, b), "{name}: {a} {b}"));
        }
    }
}

/// Lines of all components change: their heights and, every other time, their slopes. The cuts of the state are used
/// with their new lines, and combine to solutions of the new function.
#[test]
fn warm_solutions_follow_their_cuts() {
    let mut stream = stream(15);
    let (mut optimal, mut repriced, mut kept) = (0, 0, 0);
    for case in 0..40 {
        let before = Sum::random(&mut stream);
        let mut after = before.clone();
        // Smaller numbers, so that the minimum stays in its box, and none in the components that keep it there.
        let own = after.components.len() - after.dim();
        for (slope, height) in after.components[..own].iter_mut().flatten() {
            let mut factor = || 1.0 - 0.2 * (stream.below(3) as f64);
            *height *= factor();
            slope.iter_mut().filter(|_| case % 2 == 0).for_each(|(_, entry)| *entry *= factor());
        }
        for (index, method) in ways().iter().enumerate().filter(|(_, method)| !is_network(method)) {
            for is_whole in [false, true] {
                let (mut before, mut after) = (before.clone(), after.clone());
                (before.is_whole, after.is_whole) = (is_whole, is_whole);
                let settings = |steps| Settings { primal: true, ..settings(method, steps) };
                let mut state = State::new();
                go_on(&mut before, &mut state, &settings(12));
                let name = format!("case {case}, way {index} ({}), whole {is_whole}", method.name());
                check_cuts(&mut before, &state, &name);
                for steps in [0, 1, 4, 1000] {
                    let mut state = state.clone();
                    let total = state.cut_count();
                    let solution = go_on(&mut after, &mut state, &settings(steps));
                    optimal += usize::from(solution.status == Status::Optimal);
                    check_sum(&mut after, &solution, &mut stream, &format!("{name}, {steps} steps"));
                    let has_components = wants_components(method);
                    if let Some(reuse) = solution.reuse {
                        assert_eq!((reuse.total(), reuse.without_primal()), (total, 0), "{name}");
                        assert!(!(is_whole || has_components) || reuse.reused() == total, "{name}: {reuse}");
                        repriced += reuse.repriced();
                        kept += reuse.reused() - reuse.repriced();
                    }
                    check_cuts(&mut after, &state, &name);
                }
            }
        }
    }
    assert!(optimal > 100 && repriced > 1000 && kept > 1000, "{optimal} {repriced} {kept}");
}

/// Checks the recovered solutions of a problem; returns the violation of the primal solution, relative to its size.
fn check_problem(problem: &Problem, solution: &Solution) -> f64 {
    match problem {
        Problem::NetworkDesign(instance) => {
            check_network(instance, solution, 5);
            imbalance(instance, &instance.recover(solution.primal.as_ref().unwrap()).convex).total
                / instance.total_demand()
        }
        Problem::Assignment(instance) => {
            check_assignment(instance, solution, 5);
            instance.recover(solution.primal.as_ref().unwrap()).violation.total / instance.items() as f64
        }
        Problem::FacilityLocation(instance) => {
            check_location(instance, solution, 5);
            instance.recover(solution.primal.as_ref().unwrap()).violation.total / instance.customers() as f64
        }
        Problem::UnitCommitment(instance) => {
            let recovered = instance.recover(solution.primal.as_ref().unwrap());
            recovered.violation.total / instance.demand().iter().sum::<f64>()
        }
    }
}

/// After a change of the data the combination of old and new cuts is a solution of the new problem, also in the middle
/// of a run. At the optimum its violation is small, and steps are saved.
#[test]
fn warm_instances_have_solutions_of_their_own() {
    let mut stream = stream(31);
    for family in [Family::McSml40, Family::Ga10x100, Family::Cfl20x50] {
        // Steps of cold starts and of warm starts.
        let (mut steps, mut reused) = ([0, 0], [0, 0]);
        for index in 0..3 {
            let problem = Generator::new(family, 5).instance(index).unwrap().problem;
            let settings = |steps: usize| {
                let limits = Limits { steps: Some(steps), ..Limits::default() };
                let method = Method::Bundle(BundleSettings::default());
                Settings { method, primal: true, limits, ..Settings::default() }
            };
            let mut state = State::new();
            go_on(&mut *problem.dual(), &mut state, &settings(3000));
            check_cuts(&mut *problem.dual(), &state, "before");
            for share in [0.01, 0.1, 0.5] {
                let changed = changed(&problem, share, &mut stream);
                for steps in [0, 1, 3] {
                    check_problem(&changed, &go_on(&mut *changed.dual(), &mut state.clone(), &settings(steps)));
                }
                let scratch = go_on(&mut *changed.dual(), &mut State::new(), &settings(3000));
                let mut state = State::from_bytes(&state.to_bytes()).unwrap();
                let warm = go_on(&mut *changed.dual(), &mut state, &settings(3000));
                check_cuts(&mut *changed.dual(), &state, "after");
                let (violation, cold) = (check_problem(&changed, &warm), check_problem(&changed, &scratch));
                assert!(violation < 1e-3 + 2.0 * cold, "{family:?}: {violation} {cold}");
                steps = [steps[0] + scratch.steps, steps[1] + warm.steps];
                let reuse = warm.reuse.unwrap();
                assert_eq!(reuse.without_primal(), 0);
                reused = [reused[0] + reuse.reused(), reused[1] + reuse.total()];
            }
        }
        assert!(3 * steps[1] < 2 * steps[0] && 2 * reused[0] > reused[1], "{family:?}: {steps:?}, {reused:?}");
    }
}

/// A sequence as in a branch and bound: each node forbids pairs of items and bins, and begins with a clone of its
/// parent's state.
#[test]
fn children_of_a_node_take_few_steps() {
    let Problem::Assignment(root) = Generator::new(Family::Ga10x100, 5).instance(1).unwrap().problem else {
        panic!("assignment")
    };
    let settings = Settings { primal: true, ..Settings::default() };
    let (mut nodes, mut steps, mut cold_steps) = (vec![(root, State::new(), 0)], 0, 0);
    while let Some((instance, mut state, depth)) = nodes.pop() {
        let warm = go_on(&mut AssignmentDual::new(&instance), &mut state, &settings);
        check_assignment(&instance, &warm, 3);
        if depth > 0 {
            let cold = go_on(&mut AssignmentDual::new(&instance), &mut State::new(), &settings);
            assert!((warm.value - cold.value).abs() <= 2e-7 * cold.value.abs(), "{} {}", warm.value, cold.value);
            (steps, cold_steps) = (steps + warm.steps, cold_steps + cold.steps);
            assert_eq!(warm.reuse.as_ref().unwrap().without_primal(), 0);
        }
        if depth == 3 {
            continue;
        }
        // The most fractional share: one child forbids the pair, the other forbids the item in all other bins.
        let placement = instance.recover(warm.primal.as_ref().unwrap()).convex;
        let pairs = (0..instance.items()).flat_map(|item| (0..instance.bins()).map(move |bin| (item, bin)));
        let distance = |(item, bin): &(usize, usize)| (placement.shares(*item)[*bin] - 0.5).abs();
        let (item, bin) = pairs.min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap();
        for is_forbidden in [false, true] {
            let closed = |other: usize| (other == bin) == is_forbidden;
            let weights = (0..instance.bins()).flat_map(|other| {
                let mut weights = instance.weights(other).to_vec();
                if closed(other) {
                    weights[item] = instance.capacities()[other] + 1;
                }
                weights
            });
            let profits = (0..instance.bins()).flat_map(|bin| instance.profits(bin).to_vec()).collect();
            let (capacities, items) = (instance.capacities().to_vec(), instance.items());
            let child = Assignment::new(instance.sense(), items, capacities, profits, weights.collect()).unwrap();
            nodes.push((child, state.clone(), depth + 1));
        }
    }
    assert!(4 * steps < cold_steps, "{steps} steps, from scratch {cold_steps}");
}

/// A run that keeps primal solutions takes over exactly the cuts that have one. A run that keeps none takes over all.
#[test]
fn only_cuts_with_solutions_are_taken_over() {
    let problem = Generator::new(Family::Ga10x100, 5).instance(1).unwrap().problem;
    let solve = |state: &mut State, primal, steps| {
        let limits = Limits { steps: Some(steps), ..Limits::default() };
        go_on(&mut *problem.dual(), state, &Settings { primal, limits, ..Settings::default() })
    };
    let mut plain = State::new();
    solve(&mut plain, false, 3000);
    assert!(plain.cuts().all(|cut| cut.primal.is_none()));
    let solution = solve(&mut plain, true, 3000);
    let reuse = solution.reuse.unwrap();
    assert_eq!((reuse.reused(), reuse.without_primal()), (0, reuse.total()));
    let said = format!("; {} cuts were saved without primal solutions, which this run needs", reuse.total());
    assert!(reuse.to_string().ends_with(&said), "{reuse}");
    let ProblemPrimal::Assignment(recovered) = problem.recover(&solution.primal.unwrap()) else { panic!("assignment") };
    assert!(recovered.violation.largest < 1e-2, "{:?}", recovered.violation);
    // With solutions, then without, then with them.
    let mut state = State::new();
    solve(&mut state, true, 10);
    assert!(state.cuts().all(|cut| cut.primal.is_some()));
    let total = state.cut_count();
    let without = solve(&mut state, false, 5);
    assert_eq!(without.reuse.map(|reuse| (reuse.reused(), reuse.total())), Some((total, total)));
    assert!(without.primal.is_none());
    let solved = state.cuts().filter(|cut| cut.primal.is_some()).count();
    assert!(solved > 0 && solved < state.cut_count(), "{solved} of {}", state.cut_count());
    let (total, solution) = (state.cut_count(), solve(&mut state, true, 3000));
    let reuse = solution.reuse.as_ref().unwrap();
    assert_eq!((reuse.reused(), reuse.without_primal()), (solved, total - solved), "{reuse}");
    assert!(check_problem(&problem, &solution) < 1e-3);
    check_cuts(&mut *problem.dual(), &state, "mixed");
}
