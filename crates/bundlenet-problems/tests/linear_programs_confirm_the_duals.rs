//! A linear program has the same optimum as each dual. The oracle attains it at the program's multipliers, and the
//! bundle method and the default find it without them.
//!
//! The program is the strong LP for network design, with `x_a^k <= min(q_k, c_a) y_a`, and for facility location, with
//! `x_ij <= y_j`. For generalised assignment it is the Dantzig-Wolfe master, with a column for each knapsack pattern.

use bundlenet::{BundleSettings, Function, Method, Sense, Settings, Solver, Status};
use bundlenet_problems::{Assignment, Family, Generator, Problem, ReadOptions};
use bundlenet_testing::programs::{location_dual_lp, pattern_lp, strong_lp};
use bundlenet_testing::public;

fn value(problem: &Problem, point: &[f64]) -> f64 {
    let mut dual = problem.dual();
    let mut function = Function::new(&mut *dual).unwrap();
    let sign = function.sense().sign();
    sign * function.evaluate(point, &mut vec![0.0; point.len()]).unwrap()
}

#[track_caller]
fn assert_attained(name: &str, problem: &Problem, known: Option<f64>) {
    let (optimum, mut point) = match problem {
        Problem::NetworkDesign(instance) => strong_lp(instance),
        Problem::Assignment(instance) => pattern_lp(instance),
        Problem::FacilityLocation(instance) => location_dual_lp(instance),
        Problem::UnitCommitment(_) => panic!("its convex hull has no linear program here"),
    };
    if let Problem::Assignment(instance) = problem
        && instance.sense() == Sense::Maximize
    {
        // The LP satisfies its bounds up to a tolerance; the oracle wants them exactly.
        point.iter_mut().for_each(|entry| *entry = entry.max(0.0));
    }
    let found = value(problem, &point);
    let scale = optimum.abs().max(1.0);
    assert!((found - optimum).abs() <= 1e-9 * scale, "{name}: the oracle gives {found}, the LP {optimum}");
    let bundle = Method::Bundle(BundleSettings::default());
    for settings in [Settings { method: bundle, ..Settings::default() }, Settings::default()] {
        let method = settings.method.name();
        let solver = Solver::new(Settings { tolerance: 1e-10, ..settings }).unwrap();
        let solution = solver.solve(&mut *problem.dual()).unwrap();
        assert_eq!(solution.status, Status::Optimal, "{name} {method}");
        let gap = (solution.value - optimum).abs() / scale;
        assert!(gap <= 1e-9, "{name}: {method} gives {}, the LP {optimum}", solution.value);
    }
    if let Some(known) = known {
        assert!((optimum - known).abs() <= 1e-9 * scale, "{name}: the LP gives {optimum}, known is {known}");
    }
}

#[test]
#[ignore = "needs BUNDLENET_DATA"]
fn public_instances() {
    let data = public::data();
    let text = std::fs::read_to_string(data.join("exact-dual-values.json")).unwrap();
    let known: serde_json::Value = serde_json::from_str(&text).unwrap();
    for (folder, name) in [
        ("canad", "r01.1.dow"),
        ("canad", "r04.1.dow"),
        ("canad", "c33.dow"),
        ("network-design", "p33.dat"),
        ("gap", "c0515_1"),
        ("gap", "c20100"),
        ("facility-location", "cap41.txt"),
        ("facility-location", "cap93.txt"),
        ("facility-location", "cap124.txt"),
    ] {
        let problem = Problem::read(data.join(folder).join(name), ReadOptions::default()).unwrap();
        assert_attained(name, &problem, known[name].as_f64());
    }
}

#[test]
fn generated_network_design() {
    for index in [0, 3] {
        assert_attained("generated", &Generator::new(Family::McSml40, 31).instance(index).unwrap().problem, None);
    }
    let few = Generator::new(Family::McBig40, 31).with_commodities(10).unwrap();
    assert_attained("generated", &few.instance(1).unwrap().problem, None);
}

#[test]
fn generated_facility_location() {
    for index in 0..3 {
        assert_attained("generated", &Generator::new(Family::Cfl20x50, 31).instance(index).unwrap().problem, None);
    }
}

#[test]
fn generated_assignment() {
    assert_attained("generated", &Generator::new(Family::Ga10x100, 17).instance(0).unwrap().problem, None);
    for (sense, capacity) in [(Sense::Maximize, 30), (Sense::Minimize, 60)] {
        let cells = 5 * 20;
        let profits = (0..cells).map(|at| f64::from(at * 37 % 71 + 10)).collect();
        let weights = (0..cells).map(|at| at * 13 % 17 + 3).collect();
        let base = Assignment::new(sense, 20, vec![capacity; 5], profits, weights).unwrap();
        let generator = Generator::new(Family::Ga10x100, 17).with_base("base", Problem::Assignment(base)).unwrap();
        for index in 0..3 {
            assert_attained("generated", &generator.instance(index).unwrap().problem, None);
        }
    }
}
