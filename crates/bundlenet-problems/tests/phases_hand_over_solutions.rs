//! The default goes from the network to component cuts, to cuts of the whole function and back. Primal solutions go with the
//! cuts: whichever phase a run ends in, its primal solution is a combination of subproblem solutions.

use std::ops::ControlFlow;

use bundlenet::{Limits, Primal, Record, Settings, Solution, Solver};
use bundlenet_problems::{Family, Generator, NetworkDesign, Problem};
use bundlenet_testing::stream;

/// An instance whose masters with component cuts soon take longer than many steps without.
fn instance() -> NetworkDesign {
    match Generator::new(Family::McBigVar, 3).instance(1).unwrap().problem {
        Problem::NetworkDesign(instance) => instance,
        Problem::Assignment(_) => panic!("a network design family"),
    }
}

/// A run of some steps, and the number of cuts after each.
fn run(instance: &NetworkDesign, steps: usize) -> (Solution, Vec<usize>) {
    let mut cuts = vec![];
    let mut observer = |record: &Record| {
        cuts.push(record.cuts.unwrap_or(0));
        ControlFlow::Continue(())
    };
    let limits = Limits { steps: Some(steps), ..Limits::default() };
    let solver = Solver::new(Settings { limits, primal: true, ..Settings::default() }).unwrap();
    let mut dual = Problem::NetworkDesign(instance.clone()).dual();
    let solution = solver.observe(&mut observer).solve(&mut *dual).unwrap();
    (solution, cuts)
}

/// The violation `b - A x` of flow conservation: the slope of the combination of cuts.
fn slope(instance: &NetworkDesign, primal: &Primal) -> Vec<f64> {
    let (nodes, commodities) = (instance.nodes(), instance.commodities().len());
    let mut slope = vec![0.0; nodes * commodities];
    for (k, commodity) in instance.commodities().iter().enumerate() {
        slope[k * nodes + commodity.origin] += commodity.demand;
        slope[k * nodes + commodity.destination] -= commodity.demand;
    }
    for &(variable, value) in &primal.variables {
        let (arc, k) = (variable as usize / (commodities + 1), variable as usize % (commodities + 1));
        if k < commodities {
            slope[k * nodes + instance.arcs()[arc].tail] -= value;
            slope[k * nodes + instance.arcs()[arc].head] += value;
        }
    }
    slope
}

/// The combination of solutions is a combination of cuts: nowhere below the dual, and close to it at the best point.
fn check(instance: &NetworkDesign, solution: &Solution) {
    let primal = solution.primal.as_ref().unwrap();
    let slope = slope(instance, primal);
    let line = |point: &[f64]| primal.cost + slope.iter().zip(point).map(|(entry, at)| entry * at).sum::<f64>();
    let mut dual = Problem::NetworkDesign(instance.clone()).dual();
    let mut stream = stream(1);
    let mut subgradient = vec![0.0; dual.dim()];
    for size in [0.0, 0.01, 0.1, 1.0] {
        let point: Vec<f64> = solution.point.iter().map(|at| at * (1.0 + size * stream.normal())).collect();
        let value = dual.evaluate(&point, &mut subgradient).unwrap();
        assert!(line(&point) >= value - 1e-9 * value.abs(), "{} {value} at {size}", line(&point));
    }
    let gap = (line(&solution.point) - solution.value) / solution.value;
    assert!(gap < 0.05, "{gap} after {} steps", solution.steps);
}

#[test]
fn primal_solutions_survive_every_change_of_phase() {
    let instance = instance();
    let arcs = instance.arcs().len();
    let (_, cuts) = run(&instance, 600);
    // Component cuts are as many as there are arcs, at least; the network and the aggregated phase begin with few.
    let changes: Vec<usize> =
        (1..cuts.len()).filter(|&step| (cuts[step] >= arcs) != (cuts[step - 1] >= arcs)).collect();
    assert!(changes.len() >= 3, "{changes:?}");
    for &change in &changes[..3] {
        for steps in [change, change + 1, change + 3] {
            check(&instance, &run(&instance, steps).0);
        }
    }
}
