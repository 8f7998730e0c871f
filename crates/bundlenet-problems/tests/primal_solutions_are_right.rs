//! Primal solutions are the convex combinations that the cuts are of, whatever became of those, and what is made of them is
//! feasible where it says so.

mod enumeration;
mod sample;
mod sums;

use bundlenet::problems::assignment::Placement;
use bundlenet::problems::network_design::Design;
use bundlenet::{
    Assignment, AssignmentDual, EvaluationError, Family, FnOracle, Generator, Granularity, Limits, MethodName,
    Minorants, NetworkDesign, NetworkDesignDual, Oracle, OracleError, Primal, PrimalOracle, ProblemPrimal,
    PruningSettings, Sense, Settings, Silent, Solution, State, Status, Tolerances, Violation, solve, solve_from,
};
use proptest::prelude::*;
use sums::{Stream, Sum};

/// So few cuts that aggregates are made of aggregates.
fn few_cuts() -> PruningSettings {
    PruningSettings { max_cuts: 3, max_component_cuts: 3, lifetime: 1, max_bytes: 1_000_000 }
}

/// Every method with cuts, with cuts of everything, and many of them or few.
fn ways() -> Vec<Settings> {
    let bundle = |cuts, pruning| Settings { method: MethodName::Bundle, cuts, pruning, ..Settings::default() };
    let other = |method, pruning| Settings { method, pruning, ..Settings::default() };
    let mut ways = vec![];
    for pruning in [PruningSettings::default(), few_cuts()] {
        for cuts in [Granularity::Auto, Granularity::Component, Granularity::Groups(2), Granularity::Aggregated] {
            ways.push(bundle(cuts, pruning.clone()));
        }
        for method in [MethodName::Auto, MethodName::Hybrid, MethodName::Network] {
            ways.push(other(method, pruning.clone()));
        }
    }
    ways
}

fn run(oracle: &mut dyn Oracle, way: &Settings, steps: usize) -> Solution {
    let limits = Limits { steps: Some(steps), ..Limits::default() };
    let settings = Settings { limits, tolerances: Tolerances { gap: 1e-8 }, primal: true, ..way.clone() };
    solve(oracle, None, &settings.check().unwrap(), &mut Silent, None).unwrap()
}

/// Weights of lines: those of each component add up to 1, their combination is below the function everywhere, and where the
/// run proved its value it is the proof.
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
        // As far as the tolerance, and round-off in slopes times the radius of the box.
        assert!(
            solution.value - least <= 1e-6 * (magnitude + solution.value.abs()),
            "{name}: {} {least}",
            solution.value
        );
    }
}

#[test]
fn solutions_follow_their_cuts() {
    let mut stream = Stream(5);
    let mut optimal = 0;
    for case in 0..60 {
        let mut sum = Sum::random(&mut stream);
        for (index, way) in ways().iter().enumerate() {
            for is_whole in [false, true] {
                sum.is_whole = is_whole;
                for steps in [0, 1, 4, 30, 1000] {
                    let solution =
                        run(&mut sum, way, if way.method == MethodName::Network { steps.min(30) } else { steps });
                    optimal += usize::from(solution.status == Status::Optimal);
                    check_sum(&mut sum, &solution, &mut stream, &format!("case {case}, way {index}, {steps} steps"));
                }
            }
        }
    }
    assert!(optimal > 1000, "{optimal}");
}

/// Recorded or not, the run is the same.
#[test]
fn recording_changes_nothing() {
    for family in [Family::McSml40, Family::Ga10x100] {
        let problem = Generator::new(family, 4).instance(0).unwrap().problem;
        for cuts in [Granularity::Component, Granularity::Groups(4), Granularity::Aggregated] {
            let way = Settings { method: MethodName::Bundle, cuts, ..Settings::default() };
            let recorded = run(&mut *problem.dual(), &way, 40);
            let limits = Limits { steps: Some(40), ..Limits::default() };
            let settings = Settings { limits, tolerances: Tolerances { gap: 1e-8 }, ..way }.check().unwrap();
            let plain = solve(&mut *problem.dual(), None, &settings, &mut Silent, None).unwrap();
            assert_eq!((plain.value, &plain.point), (recorded.value, &recorded.point), "{family} {cuts:?}");
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

/// Everything but flow conservation: capacities, the strong inequalities, and the cost.
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

/// Checks all that is recovered; returns the cost of the feasible design.
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

/// Shares and their value; feasible ones have whole items within the capacities.
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

/// Checks all that is recovered; returns the value of the feasible placement.
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn networks_are_recovered(instance in sample::network(), seed in any::<u32>(), steps in 0_usize..60) {
        for way in ways() {
            let solution = run(&mut NetworkDesignDual::new(&instance), &way, steps);
            check_network(&instance, &solution, seed.into());
        }
    }

    #[test]
    fn assignments_are_recovered(instance in sample::assignment(), seed in any::<u32>(), steps in 0_usize..60) {
        for way in ways() {
            let solution = run(&mut AssignmentDual::new(&instance), &way, steps);
            check_assignment(&instance, &solution, seed.into());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_design_is_better_than_the_best(instance in sample::tiny_network()) {
        // Where no design is feasible the dual has no maximum.
        let solution = run(&mut NetworkDesignDual::new(&instance), &Settings::default(), 100);
        let optimum = enumeration::cheapest_design(&instance);
        let found = check_network(&instance, &solution, 1);
        prop_assert!(found.is_none_or(|found| optimum.is_some_and(|optimum| found >= optimum - 1e-9 * (1.0 + optimum))));
    }

    #[test]
    fn no_placement_is_better_than_the_best(instance in sample::tiny_assignment()) {
        let solution = run(&mut AssignmentDual::new(&instance), &Settings::default(), 100);
        let optimum = enumeration::best_assignment(&instance);
        let found = check_assignment(&instance, &solution, 1);
        let sign = instance.sense().sign();
        prop_assert!(found.is_none_or(|found| optimum.is_some_and(|optimum| sign * (found - optimum) >= -1e-9)));
    }
}

/// On instances as they are the violation goes to 0, and the problem is solved up to a small gap.
#[test]
fn real_instances_have_two_sided_gaps() {
    for (family, most) in [(Family::McSml40, 0.1), (Family::Ga10x100, 0.01)] {
        for index in 0..3 {
            let problem = Generator::new(family, 11).instance(index).unwrap().problem;
            for way in ways().into_iter().filter(|way| way.pruning == PruningSettings::default()) {
                let is_network = way.method == MethodName::Network;
                let solution = run(&mut *problem.dual(), &way, if is_network { 50 } else { 2000 });
                let primal = solution.primal.as_ref().unwrap();
                let recovered = problem.recover(primal);
                let feasible = recovered.feasible_value().unwrap();
                let gap = (feasible - solution.value).abs() / solution.value;
                assert!(gap < most || is_network, "{family} {index}: {gap} with {way:?}");
                let violation = match recovered {
                    bundlenet::ProblemPrimal::NetworkDesign(recovered) => recovered.violation,
                    bundlenet::ProblemPrimal::Assignment(recovered) => recovered.violation,
                };
                let is_optimal = solution.status == Status::Optimal;
                assert!(violation.largest < 0.02 || !is_optimal, "{family} {index}: {violation:?} with {way:?}");
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
    assert!(run(&mut absolute, &Settings::default(), 10).primal.is_none());
    for method in [MethodName::Descent, MethodName::Adam] {
        let error = Settings { method, primal: true, ..Settings::default() }.check().unwrap_err();
        assert_eq!(error.name, "primal");
    }
}

/// Says of itself that a start of 0 is optimal, or gives solutions that cannot be used.
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
    fn write_solutions(&mut self, solutions: &mut Minorants) {
        self.0.iter().for_each(|&value| solutions.push(7.0, [(3, value)]));
    }
}

#[test]
fn an_optimal_start_has_its_solution_and_bad_solutions_are_named() {
    let solution = run(&mut Odd(vec![2.0]), &Settings::default(), 10);
    assert_eq!(solution.primal, Some(Primal { cost: 7.0, variables: vec![(3, 2.0)] }));
    let settings = Settings { primal: true, ..Settings::default() }.check().unwrap();
    let error = |values: Vec<f64>| solve(&mut Odd(values), None, &settings, &mut Silent, None).unwrap_err();
    assert!(matches!(error(vec![]), EvaluationError::SolutionCount { evaluation: 1, expected: 1, found: 0 }));
    assert!(matches!(error(vec![f64::NAN]), EvaluationError::Solution { evaluation: 1, .. }));
}

/// A state has cuts without solutions: a run that is to give them takes the point alone, and gives whole ones.
#[test]
fn cuts_of_an_earlier_run_are_left_out() {
    let problem = Generator::new(Family::Ga10x100, 5).instance(0).unwrap().problem;
    let mut state = State::new();
    let settings = Settings::default().check().unwrap();
    solve_from(&mut *problem.dual(), &mut state, &settings, &mut Silent, None).unwrap();
    let settings = Settings { primal: true, ..Settings::default() }.check().unwrap();
    let solution = solve_from(&mut *problem.dual(), &mut state, &settings, &mut Silent, None).unwrap();
    let reuse = solution.reuse.unwrap();
    assert_eq!((reuse.reused(), reuse.unusable), (0, reuse.total()));
    let ProblemPrimal::Assignment(recovered) = problem.recover(&solution.primal.unwrap()) else { panic!("assignment") };
    assert!(recovered.violation.largest < 1e-2, "{:?}", recovered.violation);
}
