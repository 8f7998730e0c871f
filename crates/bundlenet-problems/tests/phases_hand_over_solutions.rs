//! The default goes from the network to component cuts, to cuts of the whole function and back. Primal solutions go with the
//! cuts, and an oracle that fails in any phase costs nothing that was known before.

use bundlenet::{
    Limits, Lines, Minorants, Oracle, OracleError, Primal, PrimalOracle, Sense, Settings, Solution, Solutions, Solver,
    State, Status, SumOracle,
};
use bundlenet_problems::{Family, Generator, NetworkDesign, NetworkDesignDual, Problem};
use bundlenet_testing::stream;

fn instance() -> NetworkDesign {
    match Generator::new(Family::McSml40, 3).with_commodities(120).unwrap().instance(0).unwrap().problem {
        Problem::NetworkDesign(instance) => instance,
        _ => panic!("a network design family"),
    }
}

/// A dual that states its work so that all phases come: dear at first (the network makes way for components), then cheap (the
/// masters of components do not pay). It logs how it is evaluated, and may fail.
struct Staged {
    dual: NetworkDesignDual,
    log: String,
    fails_at: Option<usize>,
}

impl Staged {
    fn new(instance: &NetworkDesign) -> Self {
        Self { dual: NetworkDesignDual::new(instance), log: String::new(), fails_at: None }
    }

    fn note(&mut self, letter: char) -> Result<(), OracleError> {
        self.log.push(letter);
        if self.fails_at == Some(self.log.len()) { Err("out of order".into()) } else { Ok(()) }
    }
}

impl Oracle for Staged {
    fn dim(&self) -> usize {
        self.dual.dim()
    }

    fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        self.note('w')?;
        self.dual.evaluate(point, subgradient)
    }

    fn sense(&self) -> Sense {
        self.dual.sense()
    }

    fn work(&self) -> Option<f64> {
        Some(if self.log.len() < 4 { 1e9 } else { 1.0 })
    }

    fn as_sum(&mut self) -> Option<&mut dyn SumOracle> {
        Some(self)
    }

    fn as_primal(&mut self) -> Option<&mut dyn PrimalOracle> {
        Some(self)
    }
}

impl SumOracle for Staged {
    fn component_count(&self) -> usize {
        self.dual.component_count()
    }

    fn linear(&self) -> &[f64] {
        self.dual.linear()
    }

    fn evaluate_components(&mut self, point: &[f64], minorants: &mut Minorants) -> Result<(), OracleError> {
        self.note('c')?;
        self.dual.evaluate_components(point, minorants)
    }

    fn prove(&mut self, aggregate: &Lines) -> Option<f64> {
        self.dual.prove(aggregate)
    }
}

impl PrimalOracle for Staged {
    fn write_solutions(&mut self, solutions: &mut Solutions) {
        self.dual.write_solutions(solutions);
    }
}

/// A run with a limit on its steps.
fn run(oracle: &mut Staged, steps: usize, state: &mut State) -> Solution {
    let limits = Limits { steps: Some(steps), ..Limits::default() };
    let solver = Solver::new(Settings { limits, primal: true, ..Settings::default() }).unwrap();
    solver.state(state).solve(oracle).unwrap()
}

/// Evaluations after which the default goes on in another way.
fn changes(log: &str) -> Vec<usize> {
    let letters = log.as_bytes();
    (1..letters.len()).filter(|&at| letters[at] != letters[at - 1]).collect()
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

/// The combination of solutions is a combination of cuts: nowhere below the dual, and at an optimum equal to it.
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
    assert!(solution.status != Status::Optimal || gap < 1e-4, "{gap} after {} steps", solution.steps);
}

#[test]
fn primal_solutions_survive_every_change_of_phase() {
    let instance = instance();
    let mut oracle = Staged::new(&instance);
    let whole = run(&mut oracle, 1000, &mut State::new());
    assert_eq!(whole.status, Status::Optimal);
    check(&instance, &whole);
    let changes = changes(&oracle.log);
    // Components, the whole function, components again.
    assert!(changes.len() >= 2, "{}", oracle.log);
    for change in changes {
        for steps in [change - 1, change, change + 1, change + 3] {
            check(&instance, &run(&mut Staged::new(&instance), steps, &mut State::new()));
        }
    }
}

#[test]
fn a_failure_in_any_phase_costs_nothing() {
    let instance = instance();
    let mut oracle = Staged::new(&instance);
    let whole = run(&mut oracle, 1000, &mut State::new());
    for evaluation in 2..=oracle.log.len() {
        let mut failing = Staged { fails_at: Some(evaluation), ..Staged::new(&instance) };
        let mut state = State::new();
        let solution = run(&mut failing, 1000, &mut state);
        assert_eq!(solution.status, Status::OracleFailed, "{evaluation}");
        assert_eq!(
            (solution.steps, solution.value),
            (evaluation - 2, whole.trace[evaluation - 2].best),
            "{evaluation}"
        );
        let gap = (whole.value - solution.value) / whole.value.abs();
        assert!(solution.certificate.is_none_or(|proved| proved >= gap - 1e-9), "{evaluation}: {gap}");
        assert!(state.cut_count() > 0, "{evaluation}");
        check(&instance, &solution);
    }
}
