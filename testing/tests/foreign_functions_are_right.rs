//! The functions of the bench `generality`: inequalities, components, optima by linear programs, and the two halves.

use std::collections::{BTreeMap, BTreeSet};

use bundlenet::{Oracle, Settings, Solver};
use bundlenet_linalg::Stream;
use bundlenet_testing::foreign::{Covering, Half, Instance, Location, Median, Price, Whole, instances, rule_instances};
use bundlenet_testing::inequalities::{assert_components_add_up, assert_subgradient_inequality};
use bundlenet_testing::outside::{Limits, kelley, polyak};
use microlp::{ComparisonOp, OptimizationDirection, SolveOutcome};

fn named(name: &str) -> Instance {
    instances().into_iter().find(|instance| instance.name == name).unwrap()
}

/// A point of the domain whose coordinates are within `reach` of the start.
fn point_near(instance: &Instance, oracle: &dyn Oracle, reach: f64, stream: &mut Stream) -> Vec<f64> {
    let mut point = instance.start();
    point.iter_mut().for_each(|entry| *entry += reach * stream.symmetric());
    oracle.domain().project(&mut point);
    point
}

#[test]
fn subgradients_and_components_are_right() {
    let mut stream = Stream::new(7, "foreign", 0);
    for instance in instances().into_iter().chain(rule_instances(0..1)) {
        let mut oracle = instance.oracle(Price::Cheap);
        assert!(oracle.work().is_some_and(|work| work > 0.0), "{}", instance.name);
        // Distances of all sizes: a dual has optimal multipliers of the size of its costs.
        for reach in [1e-3, 0.3, 3.0, 100.0] {
            let x = point_near(&instance, &oracle, reach, &mut stream);
            let y = point_near(&instance, &oracle, reach, &mut stream);
            // The exponentials of CB3 are beyond all numbers at large distances.
            if reach < 100.0 || !instance.name.contains("CB") {
                assert_subgradient_inequality(&mut oracle, &x, &y);
                if oracle.as_sum().is_some() {
                    assert_components_add_up(&mut oracle, &x);
                }
            }
        }
    }
}

/// A function whose components are hidden has the same values.
#[test]
fn components_are_hidden() {
    let instance = named("median 40 sum");
    let (mut oracle, mut whole) = (instance.oracle(Price::Cheap), Whole(instance.oracle(Price::Cheap)));
    assert!(oracle.as_sum().is_some() && whole.as_sum().is_none());
    let (x, mut subgradients) = (instance.start(), [vec![0.0; oracle.dim()], vec![0.0; oracle.dim()]]);
    let [first, second] = &mut subgradients;
    assert_eq!(oracle.evaluate(&x, first).unwrap(), whole.evaluate(&x, second).unwrap());
    assert_eq!(first, second);
}

/// Asserts that two values agree to 1e-7.
fn assert_equal(a: f64, b: f64, name: &str) {
    assert!((a - b).abs() <= 1e-7 * a.abs().max(b.abs()), "{name}: {a} {b}");
}

/// The optimum by the bundle method, confirmed by the lower bound of Kelley's linear programs.
fn confirmed_optimum(oracle: &mut dyn Oracle, start: &[f64], name: &str) -> f64 {
    let solution = Solver::new(Settings::exact()).unwrap().start(start).solve(oracle).unwrap();
    let distance = solution.point.iter().zip(start).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    let limits = Limits { calls: 2000, seconds: 60.0, target: -oracle.sense().sign() * f64::INFINITY };
    let cutting = kelley(oracle, start, 4.0 * distance, limits);
    assert_equal(cutting.bound, solution.value, name);
    assert_equal(cutting.trace.last().unwrap().best, solution.value, name);
    solution.value
}

#[test]
fn cutting_planes_confirm_optima() {
    let names = [
        "maxima 12 f 1e6 x 1e0",
        "maxima 12 f 1e0 x 1e-3",
        "two-stage 5x4",
        "knapsack 5x100",
        "path 3 resources",
        "path 10 resources",
        "units 24x10",
    ];
    for name in names {
        let instance = named(name);
        confirmed_optimum(&mut instance.oracle(Price::Dear), &instance.start(), name);
    }
    let [without, with] = [false, true].map(|has_capacities| {
        confirmed_optimum(&mut Location::random(9, 6, 12, has_capacities), &[0.0; 12], "location")
    });
    assert!(with >= without);
}

/// Whether the number of medians is dualised makes no difference to the optimum.
#[test]
fn both_duals_of_medians_have_one_optimum() {
    let [kept, dualised] = [false, true].map(|is_sum| {
        let mut dual = Median::random(9, 12, 3, is_sum);
        let start = vec![0.0; dual.dim()];
        confirmed_optimum(&mut dual, &start, "median")
    });
    assert_equal(kept, dualised, "median");
}

/// The subproblem of covering has the integrality property: the optimum of its dual is that of the linear program.
#[test]
fn a_linear_program_confirms_covering() {
    let mut dual = Covering::random(9, 12, 40, 0.15);
    let mut program = microlp::Problem::new(OptimizationDirection::Minimize);
    let mut rows = vec![vec![]; dual.dim()];
    for (cost, members) in dual.columns() {
        let variable = program.add_var(cost, (0.0, 1.0));
        members.iter().for_each(|&row| rows[row as usize].push((variable, 1.0)));
    }
    rows.into_iter().for_each(|row| program.add_constraint(row, ComparisonOp::Ge, 1.0));
    let Ok(SolveOutcome::Solution(solution)) = program.solve() else { panic!("it has a solution") };
    let found = Solver::new(Settings::exact()).unwrap().solve(&mut dual).unwrap();
    assert_equal(found.value, solution.objective(), "covering");
}

#[test]
fn polyak_steps_reach_a_known_optimum() {
    let instance = named("academic MAXQ");
    let optimum = instance.optimum.unwrap();
    let limits = Limits { calls: 5000, seconds: 60.0, target: optimum + 1e-6 };
    let trace = polyak(&mut instance.oracle(Price::Dear), &instance.start(), optimum, limits);
    assert!(trace.last().unwrap().best <= optimum + 1e-6);
    assert!(trace.iter().enumerate().all(|(index, row)| row.step == index && row.best <= row.value));
}

/// Functions are the same in every run, and dear ones state no work.
#[test]
fn functions_are_fixed() {
    let values = || -> Vec<f64> {
        let value = |instance: Instance| {
            let mut oracle = instance.oracle(Price::Dear);
            assert_eq!(oracle.work(), None);
            let start = instance.start();
            oracle.evaluate(&start, &mut vec![0.0; start.len()]).unwrap()
        };
        instances().into_iter().map(value).collect()
    };
    assert_eq!(values(), values());
}

#[test]
fn families_are_in_both_halves() {
    let all = instances();
    let names: BTreeSet<&str> = all.iter().map(|instance| instance.name.as_str()).collect();
    assert_eq!(names.len(), all.len());
    let mut halves: BTreeMap<&str, Vec<Half>> = BTreeMap::new();
    all.iter().for_each(|instance| halves.entry(instance.family()).or_default().push(instance.half));
    for (family, halves) in halves {
        let is_held_back = family == "cover" || family == "two-stage";
        assert!(halves.contains(&Half::Judge), "{family}");
        assert_eq!(halves.contains(&Half::Choose), !is_held_back, "{family}");
    }
}
