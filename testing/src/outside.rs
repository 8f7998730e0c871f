//! Methods from the literature that the library does not have: Kelley's cutting planes and Polyak's step. Benches and
//! tests compare with them.

use bundlenet::{Minorants, Oracle, Sense, TraceRow};
use microlp::{ComparisonOp, OptimizationDirection, SolveOutcome, Variable};

use crate::clock::Stopwatch;

/// Limits of a run.
#[derive(Clone, Copy)]
pub struct Limits {
    pub calls: usize,
    pub seconds: f64,
    /// The run ends at a value at least this good.
    pub target: f64,
}

/// The calls of a run: best values and times.
struct Trace {
    watch: Stopwatch,
    sign: f64,
    limits: Limits,
    rows: Vec<TraceRow>,
}

impl Trace {
    fn new(oracle: &dyn Oracle, limits: Limits) -> Self {
        Self { watch: Stopwatch::start(), sign: oracle.sense().sign(), limits, rows: vec![] }
    }

    /// Records a value. Returns whether the run goes on.
    fn record(&mut self, value: f64) -> bool {
        let best = self
            .rows
            .last()
            .map_or(value, |row| if self.sign * value < self.sign * row.best { value } else { row.best });
        let seconds = self.watch.read();
        self.rows.push(TraceRow { step: self.rows.len(), value, best, seconds });
        let Limits { calls, seconds: most, target } = self.limits;
        self.rows.len() < calls && seconds < most && self.sign * best > self.sign * target
    }
}

/// The subgradient method with Polyak's step `(f - f*) / |g|^2`, which needs the optimum `f*`.
pub fn polyak(oracle: &mut dyn Oracle, start: &[f64], optimum: f64, limits: Limits) -> Vec<TraceRow> {
    let mut trace = Trace::new(oracle, limits);
    let domain = oracle.domain();
    let mut point = start.to_vec();
    let mut subgradient = vec![0.0; point.len()];
    while let Ok(value) = oracle.evaluate(&point, &mut subgradient) {
        let square: f64 = subgradient.iter().map(|entry| entry * entry).sum();
        if !trace.record(value) || square == 0.0 {
            break;
        }
        let length = (value - optimum) / square;
        point.iter_mut().zip(&subgradient).for_each(|(entry, slope)| *entry -= length * slope);
        domain.project(&mut point);
    }
    trace.rows
}

/// Relative gap at which Kelley's method ends.
const OPTIMAL: f64 = 1e-9;

/// Result of Kelley's method.
pub struct Cutting {
    pub trace: Vec<TraceRow>,
    /// Value of the last linear program: a bound on the optimum in the box, in the problem's sense.
    pub bound: f64,
}

/// The model of Kelley's method: a linear program with a variable for the value of each component.
struct Program {
    solution: microlp::Solution,
    point: Vec<Variable>,
    values: Vec<Variable>,
    linear: Vec<f64>,
    operator: ComparisonOp,
    minorants: Minorants,
    gradient: Vec<f64>,
}

fn solved(outcome: Result<SolveOutcome, microlp::Error>) -> Option<microlp::Solution> {
    match outcome {
        Ok(SolveOutcome::Solution(solution)) => Some(solution),
        _ => None,
    }
}

impl Program {
    /// A program without cuts over the part of the domain within `reach` of the start.
    fn new(oracle: &mut dyn Oracle, start: &[f64], reach: f64) -> Option<Self> {
        const FAR: f64 = 1e12;
        let (direction, operator) = match oracle.sense() {
            Sense::Minimize => (OptimizationDirection::Minimize, ComparisonOp::Ge),
            Sense::Maximize => (OptimizationDirection::Maximize, ComparisonOp::Le),
        };
        let domain = oracle.domain();
        let (linear, components) = match oracle.as_sum() {
            Some(sum) => (sum.linear().to_vec(), sum.component_count()),
            None => (vec![0.0; start.len()], 1),
        };
        let mut program = microlp::Problem::new(direction);
        let bounds = |index: usize, at: f64| {
            let (lower, upper) = domain.limits(index);
            (lower.max(at - reach), upper.min(at + reach))
        };
        let variables = start.iter().zip(&linear).enumerate();
        let point = variables.map(|(index, (&at, &cost))| program.add_var(cost, bounds(index, at))).collect();
        let values = (0..components).map(|_| program.add_var(1.0, (-FAR, FAR))).collect();
        let solution = solved(program.solve())?;
        let gradient = vec![0.0; start.len()];
        Some(Self { solution, point, values, linear, operator, minorants: Minorants::new(), gradient })
    }

    /// Evaluates the function and returns its value.
    fn evaluate(&mut self, oracle: &mut dyn Oracle, point: &[f64]) -> Option<f64> {
        self.minorants.clear();
        if let Some(sum) = oracle.as_sum() {
            sum.evaluate_components(point, &mut self.minorants).ok()?;
            let linear: f64 = self.linear.iter().zip(point).map(|(entry, at)| entry * at).sum();
            return Some(linear + self.minorants.values().iter().sum::<f64>());
        }
        let value = oracle.evaluate(point, &mut self.gradient).ok()?;
        self.minorants.push(value, (0..).zip(self.gradient.iter().copied()));
        Some(value)
    }

    /// Adds the cuts of the last evaluation that the model violates. `None` if there are none, or if the program fails.
    fn cut(mut self, point: &[f64]) -> Option<Self> {
        let mut is_new = false;
        for (component, &variable) in self.values.iter().enumerate() {
            let height = self.minorants.values()[component];
            if (height - self.solution[variable]).abs() <= 1e-10 * height.abs() {
                continue;
            }
            let (coordinates, entries) = self.minorants.subgradient(component);
            let mut row = vec![(variable, 1.0)];
            row.extend(coordinates.iter().zip(entries).map(|(&at, &entry)| (self.point[at as usize], -entry)));
            let product: f64 = coordinates.iter().zip(entries).map(|(&at, entry)| entry * point[at as usize]).sum();
            self.solution = solved(self.solution.add_constraint(row, self.operator, height - product))?;
            is_new = true;
        }
        is_new.then_some(self)
    }
}

/// Kelley's cutting planes with cuts of each component, over the part of the domain within `reach` of the start.
pub fn kelley(oracle: &mut dyn Oracle, start: &[f64], reach: f64, limits: Limits) -> Cutting {
    let mut trace = Trace::new(oracle, limits);
    let mut bound = -f64::INFINITY * trace.sign;
    let mut point = start.to_vec();
    let mut next = Program::new(oracle, start, reach);
    while let Some(mut program) = next.take() {
        let Some(value) = program.evaluate(oracle, &point) else { break };
        if !trace.record(value) {
            break;
        }
        next = program.cut(&point);
        if let Some(program) = &next {
            bound = program.solution.objective();
            let best = trace.rows.last().map_or(value, |row| row.best);
            if trace.sign * (best - bound) <= OPTIMAL * best.abs() {
                break;
            }
            point = program.point.iter().map(|&variable| program.solution[variable]).collect();
            oracle.domain().project(&mut point);
        }
    }
    Cutting { trace: trace.rows, bound }
}
