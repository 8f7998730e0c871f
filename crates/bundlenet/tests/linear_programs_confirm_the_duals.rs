//! At the multipliers that a linear program finds optimal, the oracle attains that program's optimum, and so does the
//! bundle method by itself.
//!
//! For network design the strong LP, with `x_a^k <= min(q_k, c_a) y_a`; for generalised assignment the
//! Dantzig-Wolfe master, with a column for each knapsack pattern.

mod public;
mod reference;

use bundlenet::{
    Assignment, Family, Generator, Minimized, NetworkDesign, Problem, ReadOptions, Sense, Settings, Silent, Status,
    Tolerances, solve,
};
use microlp::{ComparisonOp, OptimizationDirection, Solution, SolveOutcome, Variable};
use reference::TableKnapsack;

fn value(problem: &Problem, point: &[f64]) -> f64 {
    let mut dual = problem.dual();
    let mut function = Minimized::new(&mut *dual).unwrap();
    let sign = function.sense().sign();
    sign * function.evaluate(point, &mut vec![0.0; point.len()]).unwrap()
}

fn solved(outcome: Result<SolveOutcome, microlp::Error>) -> Solution {
    match outcome.unwrap() {
        SolveOutcome::Solution(solution) => solution,
        SolveOutcome::Interrupted(_) => panic!("there is no limit to interrupt it"),
    }
}

/// The dual of the strong LP, whose variables are the multipliers and the prices of the other constraints.
fn strong_lp(instance: &NetworkDesign) -> (f64, Vec<f64>) {
    let nodes = instance.nodes();
    let mut lp = microlp::Problem::new(OptimizationDirection::Maximize);
    let mut multipliers = vec![];
    for commodity in instance.commodities() {
        for node in 0..nodes {
            let supply = match node {
                _ if node == commodity.origin => commodity.demand,
                _ if node == commodity.destination => -commodity.demand,
                _ => 0.0,
            };
            // Only differences matter: the destination's may be 0.
            let limit = if node == commodity.destination { 0.0 } else { f64::INFINITY };
            multipliers.push(lp.add_var(supply, (-limit, limit)));
        }
    }
    for (index, arc) in instance.arcs().iter().enumerate() {
        let capacity_price = lp.add_var(0.0, (0.0, f64::INFINITY));
        let mut design = vec![(capacity_price, arc.capacity), (lp.add_var(-1.0, (0.0, f64::INFINITY)), -1.0)];
        for (k, commodity) in instance.commodities().iter().enumerate() {
            if instance.is_usable(index, k) {
                let price = lp.add_var(0.0, (0.0, f64::INFINITY));
                design.push((price, commodity.demand.min(arc.capacity)));
                let mut flow = vec![(capacity_price, -1.0), (price, -1.0)];
                if arc.tail != arc.head {
                    flow.extend([(multipliers[k * nodes + arc.tail], 1.0), (multipliers[k * nodes + arc.head], -1.0)]);
                }
                lp.add_constraint(flow, ComparisonOp::Le, instance.routing_costs(index)[k]);
            }
        }
        lp.add_constraint(design, ComparisonOp::Le, arc.fixed_cost);
    }
    let solution = solved(lp.solve());
    (solution.objective(), multipliers.iter().map(|&variable| solution[variable]).collect())
}

/// The Dantzig-Wolfe master's dual, by adding patterns until none is missing.
fn pattern_lp(instance: &Assignment) -> (f64, Vec<f64>) {
    let maximize = instance.sense() == Sense::Maximize;
    let sign = if maximize { 1.0 } else { -1.0 };
    let (items, bins) = (instance.items(), instance.bins());
    // Beyond the largest profit (or cost) no item is taken (or all are), so that the optimum lies within.
    let largest = (0..bins).flat_map(|bin| instance.profits(bin)).fold(0.0_f64, |a, &b| a.max(b));
    let limit = largest * items as f64;
    let direction = if maximize { OptimizationDirection::Minimize } else { OptimizationDirection::Maximize };
    let mut lp = microlp::Problem::new(direction);
    let multipliers: Vec<Variable> =
        (0..items).map(|_| lp.add_var(1.0, (if maximize { 0.0 } else { -limit }, limit))).collect();
    let worth: Vec<Variable> = (0..bins)
        .map(|_| lp.add_var(1.0, if maximize { (0.0, f64::INFINITY) } else { (f64::NEG_INFINITY, 0.0) }))
        .collect();
    let mut solution = solved(lp.solve());
    let capacity = *instance.capacities().iter().max().unwrap() as usize;
    let mut knapsack = TableKnapsack::new(items, capacity);
    let mut chosen = vec![];
    loop {
        let point: Vec<f64> = multipliers.iter().map(|&variable| solution[variable]).collect();
        let mut complete = true;
        for bin in 0..bins {
            let profits: Vec<f64> = instance.profits(bin).iter().zip(&point).map(|(p, pi)| sign * (p - pi)).collect();
            let best =
                knapsack.solve(&profits, instance.weights(bin), instance.capacities()[bin] as usize, &mut chosen);
            if best > sign * solution[worth[bin]] + 1e-9 {
                complete = false;
                let profit: f64 = chosen.iter().map(|&item| instance.profits(bin)[item]).sum();
                let mut row: Vec<(Variable, f64)> = chosen.iter().map(|&item| (multipliers[item], 1.0)).collect();
                row.push((worth[bin], 1.0));
                let operator = if maximize { ComparisonOp::Ge } else { ComparisonOp::Le };
                solution = solved(solution.add_constraint(row, operator, profit));
            }
        }
        if complete {
            return (solution.objective(), point);
        }
    }
}

#[track_caller]
fn assert_attained(name: &str, problem: &Problem, known: Option<f64>) {
    let (optimum, mut point) = match problem {
        Problem::NetworkDesign(instance) => strong_lp(instance),
        Problem::Assignment(instance) => pattern_lp(instance),
    };
    if let Problem::Assignment(instance) = problem
        && instance.sense() == Sense::Maximize
    {
        // The LP keeps its bounds up to a tolerance, the oracle exactly.
        point.iter_mut().for_each(|entry| *entry = entry.max(0.0));
    }
    let found = value(problem, &point);
    let scale = optimum.abs().max(1.0);
    assert!((found - optimum).abs() <= 1e-9 * scale, "{name}: the oracle gives {found}, the LP {optimum}");
    // The bundle method finds the same optimum by itself.
    let settings = Settings { tolerances: Tolerances { gap: 1e-10 }, ..Settings::default() }.check().unwrap();
    let solution = solve(&mut *problem.dual(), None, &settings, &mut Silent, None).unwrap();
    assert_eq!(solution.status, Status::Optimal, "{name}");
    let gap = (solution.value - optimum).abs() / scale;
    assert!(gap <= 1e-9, "{name}: the bundle method gives {}, the LP {optimum}", solution.value);
    if let Some(known) = known {
        assert!((optimum - known).abs() <= 1e-9 * scale, "{name}: the LP gives {optimum}, known is {known}");
    }
}

#[test]
fn public_instances() {
    let Some(data) = public::data() else { return };
    let text = std::fs::read_to_string(data.join("exact-dual-values.json")).unwrap();
    let known: serde_json::Value = serde_json::from_str(&text).unwrap();
    for (folder, name) in [
        ("canad", "r01.1.dow"),
        ("canad", "r04.1.dow"),
        ("canad", "c33.dow"),
        ("network-design", "p33.dat"),
        ("gap", "c0515_1"),
        ("gap", "c20100"),
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
