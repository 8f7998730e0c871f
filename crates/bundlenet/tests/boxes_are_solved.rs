//! Every method stays in a box, finds its minimum, and proves it if the box is bounded.

use bundlenet::{
    Bound, BundleSettings, Cuts, Domain, EvaluationError, FnOracle, Function, Limits, Method, Minorants, Oracle,
    OracleError, Sense, Settings, Solution, Solver, Status, SumOracle,
};
use bundlenet_linalg::Stream;
use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, NonnegativeConeT, SupportedConeT};

/// All methods for every function, and the bundle method with both kinds of cuts.
fn methods() -> Vec<(String, Method)> {
    let names = Method::NAMES.iter().filter(|name| **name != "barrier");
    let plain = names.map(|name| (name.to_string(), Method::with_options(name, []).unwrap()));
    let aggregated = Method::Bundle(BundleSettings { cuts: Cuts::Aggregated, ..BundleSettings::default() });
    plain.chain([("bundle, aggregated".to_string(), aggregated)]).collect()
}

/// Accuracy that a method has to reach, relative to the value at the start. The last ones have no model.
fn accuracy(name: &str) -> f64 {
    match name {
        "descent" | "adam" | "network" => 0.2,
        _ => 1e-6,
    }
}

fn solve(method: &Method, oracle: &mut dyn Oracle) -> Solution {
    let steps = if accuracy(method.name()) < 0.1 { 3000 } else { 200 };
    let limits = Limits { steps: Some(steps), ..Limits::default() };
    let settings = Settings { method: method.clone(), limits, ..Settings::default() };
    Solver::new(settings).unwrap().solve(oracle).unwrap()
}

/// Bounds of all kinds. With `is_bounded`, all are finite.
fn random_box(stream: &mut Stream, dim: usize, is_bounded: bool) -> Domain {
    let mut limits = || {
        let (at, width) = (stream.normal(), 3.0 * stream.normal().abs());
        match stream.below(if is_bounded { 4 } else { 8 }) {
            0 => (at, at),
            1 => (0.0, width),
            2 | 3 => (at, at + width),
            4 => (at, f64::INFINITY),
            5 => (f64::NEG_INFINITY, at),
            6 => (0.0, f64::INFINITY),
            _ => (f64::NEG_INFINITY, f64::INFINITY),
        }
    };
    Domain::between((0..dim).map(|_| limits()))
}

/// `linear'x + sum_a max_i (g_ai'x + b_ai)` on a box. A linear program finds the minimum.
struct Planes {
    linear: Vec<f64>,
    components: Vec<Vec<(Vec<f64>, f64)>>,
    domain: Domain,
    sense: Sense,
}

impl Planes {
    fn random(stream: &mut Stream, is_bounded: bool) -> Self {
        let dim = 1 + stream.below(12);
        let domain = random_box(stream, dim, is_bounded);
        let line = |stream: &mut Stream| ((0..dim).map(|_| stream.normal()).collect(), stream.normal());
        let mut components: Vec<Vec<(Vec<f64>, f64)>> =
            (0..1 + stream.below(6)).map(|_| (0..1 + stream.below(8)).map(|_| line(stream)).collect()).collect();
        // |x_j - t_j| of a weight that outweighs the other components, so that there is a minimum on any box.
        let norm = |(slope, _): &(Vec<f64>, f64)| slope.iter().fold(0.0, |sum: f64, entry| sum.max(entry.abs()));
        let weight: f64 = components.iter().map(|lines| lines.iter().map(norm).fold(0.0, f64::max)).sum();
        for at in 0..if is_bounded { 0 } else { dim } {
            let (target, mut slope) = (3.0 * stream.normal(), vec![0.0; dim]);
            slope[at] = 1.5 + weight;
            let opposite = slope.iter().map(|entry| -entry).collect();
            let height = slope[at] * target;
            components.push(vec![(slope, -height), (opposite, height)]);
        }
        let linear = (0..dim).map(|_| stream.symmetric()).collect();
        let sense = if stream.below(2) == 0 { Sense::Minimize } else { Sense::Maximize };
        Self { linear, components, domain, sense }
    }

    /// The least value of the function to minimise.
    fn minimum(&self) -> f64 {
        let (dim, count) = (self.linear.len(), self.components.len());
        let (mut rows, mut right) = (vec![], vec![]);
        for (component, (slope, height)) in
            self.components.iter().enumerate().flat_map(|(at, lines)| lines.iter().map(move |line| (at, line)))
        {
            let mut row = slope.clone();
            row.resize(dim + count, 0.0);
            row[dim + component] = -1.0;
            rows.push(row);
            right.push(-height);
        }
        for index in 0..dim {
            let (lower, upper) = self.domain.limits(index);
            for (sign, limit) in [(-1.0, -lower), (1.0, upper)] {
                if limit.is_finite() {
                    let mut row = vec![0.0; dim + count];
                    row[index] = sign;
                    rows.push(row);
                    right.push(limit);
                }
            }
        }
        let objective: Vec<f64> = self.linear.iter().copied().chain(std::iter::repeat_n(1.0, count)).collect();
        let cones: [SupportedConeT<f64>; 1] = [NonnegativeConeT(rows.len())];
        let settings = DefaultSettings { verbose: false, ..DefaultSettings::default() };
        let nothing = CscMatrix::zeros((dim + count, dim + count));
        let rows = CscMatrix::from(&rows);
        let mut solver = DefaultSolver::new(&nothing, &objective, &rows, &right, &cones, settings).unwrap();
        solver.solve();
        solver.solution.obj_val
    }

    fn best<'a>(lines: &'a [(Vec<f64>, f64)], point: &[f64]) -> (f64, &'a [f64]) {
        let value = |line: &(Vec<f64>, f64)| line.1 + line.0.iter().zip(point).map(|(g, x)| g * x).sum::<f64>();
        let best = lines.iter().max_by(|a, b| value(a).total_cmp(&value(b))).unwrap();
        (value(best), &best.0)
    }
}

impl Oracle for Planes {
    fn dim(&self) -> usize {
        self.linear.len()
    }

    fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        assert_eq!(self.domain.violation(point), None, "{point:?}");
        subgradient.copy_from_slice(&self.linear);
        let mut total: f64 = self.linear.iter().zip(point).map(|(entry, x)| entry * x).sum();
        for lines in &self.components {
            let (value, slope) = Self::best(lines, point);
            total += value;
            subgradient.iter_mut().zip(slope).for_each(|(sum, entry)| *sum += entry);
        }
        subgradient.iter_mut().for_each(|entry| *entry *= self.sense.sign());
        Ok(self.sense.sign() * total)
    }

    fn domain(&self) -> Domain {
        self.domain.clone()
    }

    fn sense(&self) -> Sense {
        self.sense
    }

    fn as_sum(&mut self) -> Option<&mut dyn SumOracle> {
        (self.sense == Sense::Minimize).then_some(self)
    }
}

impl SumOracle for Planes {
    fn component_count(&self) -> usize {
        self.components.len()
    }

    fn linear(&self) -> &[f64] {
        &self.linear
    }

    fn evaluate_components(&mut self, point: &[f64], minorants: &mut Minorants) -> Result<(), OracleError> {
        assert_eq!(self.domain.violation(point), None, "{point:?}");
        for lines in &self.components {
            let (value, slope) = Self::best(lines, point);
            minorants.push(value, (0..).zip(slope.iter().copied()));
        }
        Ok(())
    }
}

/// Checks a solution of a function to minimise: its value, its point and its proof. `start` is the value at the start.
fn check(solution: &Solution, (value, start): (f64, f64), (minimum, round_off): (f64, f64), name: &str) {
    let magnitude = value.abs().max(1.0);
    assert!(value >= minimum - round_off * magnitude, "{name}: {value} is below {minimum}");
    let gap = (value - minimum) / magnitude;
    if let Some(proved) = solution.certificate {
        assert!(proved >= gap - round_off, "{name}: proved {proved:e}, true {gap:e}");
    }
    let method = name.split(':').next().unwrap();
    let allowed = accuracy(method) * magnitude.max(if accuracy(method) > 0.1 { start - minimum } else { 0.0 });
    assert!(value - minimum <= allowed, "{name}: {value} {minimum} {}", solution.status);
}

#[test]
fn sums_of_maxima_on_boxes_are_solved() {
    let mut stream = Stream::new(1, "boxes", 0);
    for index in 0..60 {
        let is_bounded = index % 2 == 0;
        let mut planes = Planes::random(&mut stream, is_bounded);
        let (minimum, dim, sign) = (planes.minimum(), planes.linear.len(), planes.sense.sign());
        let mut origin = vec![0.0; dim];
        planes.domain.project(&mut origin);
        let start = sign * planes.evaluate(&origin, &mut vec![0.0; dim]).unwrap();
        for (method, settings) in methods() {
            let name = format!("{method}: case {index}");
            let solution = solve(&settings, &mut planes);
            assert_eq!(planes.domain.violation(&solution.point), None, "{name}");
            let value = sign * planes.evaluate(&solution.point, &mut vec![0.0; dim]).unwrap();
            assert!((value - sign * solution.value).abs() <= 1e-12 * value.abs().max(1.0), "{name}");
            // The accuracy of Clarabel is about 1e-8.
            check(&solution, (value, start), (minimum, 1e-7), &name);
            if is_bounded && accuracy(&method) < 0.1 {
                assert_eq!(solution.status, Status::Optimal, "{name}");
            }
            assert_ne!(solution.status, Status::Unbounded, "{name}");
        }
    }
}

/// `sum_j a_j |x_j - t_j| + b_j (x_j - t_j)^2 / 2`: the minimum on a box is the projection of `t`.
fn bowl(targets: Vec<f64>, sharp: f64, round: f64, domain: Domain) -> impl Oracle {
    FnOracle::new(targets.len(), move |point: &[f64], subgradient: &mut [f64]| {
        let mut total = 0.0;
        for (at, entry) in subgradient.iter_mut().enumerate() {
            let (way, weight) = (point[at] - targets[at], 1.0 + at as f64);
            *entry = weight * (sharp * way.signum() + round * way);
            total += weight * (sharp * way.abs() + 0.5 * round * way * way);
        }
        Ok(total)
    })
    .with_domain(domain)
}

#[test]
fn bowls_on_boxes_are_solved() {
    let mut stream = Stream::new(2, "boxes", 0);
    for index in 0..30 {
        let dim = 1 + stream.below(30);
        let targets: Vec<f64> = (0..dim).map(|_| 2.0 * stream.normal()).collect();
        let is_bounded = index % 2 == 0;
        let domain = random_box(&mut stream, dim, is_bounded);
        let (sharp, round) = [(1.0, 0.0), (0.0, 1.0), (0.5, 0.1)][index % 3];
        let mut projected = targets.clone();
        domain.project(&mut projected);
        let mut oracle = bowl(targets, sharp, round, domain.clone());
        let minimum = oracle.evaluate(&projected, &mut vec![0.0; dim]).unwrap();
        let mut origin = vec![0.0; dim];
        domain.project(&mut origin);
        let start = oracle.evaluate(&origin, &mut vec![0.0; dim]).unwrap();
        for (method, settings) in methods() {
            let name = format!("{method}: bowl {index}");
            let solution = solve(&settings, &mut oracle);
            assert_eq!(domain.violation(&solution.point), None, "{name}");
            check(&solution, (solution.value, start), (minimum, 1e-11), &name);
            if is_bounded && accuracy(&method) < 0.1 {
                assert_eq!(solution.status, Status::Optimal, "{name}");
            }
        }
    }
}

/// Bounds that are far away do not keep a run from its end.
#[test]
fn vast_boxes_are_no_harm() {
    let targets = vec![0.7, -3.0, 11.0, 0.1, 2.0];
    for size in [1e3, 1e6, 1e10] {
        for (sharp, round) in [(1.0, 0.0), (0.0, 1.0), (0.5, 0.1)] {
            let mut oracle = bowl(targets.clone(), sharp, round, Domain::between([(-size, size); 5]));
            for method in ["auto", "hybrid", "bundle"] {
                let solution = solve(&Method::with_options(method, []).unwrap(), &mut oracle);
                let name = format!("{method}, {sharp} {round} in {size:e}: {solution:?}");
                assert!(solution.value <= 1e-6, "{name}");
                assert!(matches!(solution.status, Status::Optimal | Status::Converged), "{name}");
            }
        }
    }
}

/// A point at a corner is optimal if the subgradient points out of the box there. Fixed variables are always blocked.
#[test]
fn corners_are_stationary() {
    let domain = Domain::between([(1.0, 2.0), (-2.0, -1.0), (5.0, 5.0), (5.0, 5.0)]);
    let linear = |point: &[f64], subgradient: &mut [f64]| {
        let slope = [1.0, -3.0, 7.0, -7.0];
        subgradient.copy_from_slice(&slope);
        Ok(point.iter().zip(slope).map(|(x, g)| x * g).sum())
    };
    for (name, method) in methods() {
        let mut oracle = FnOracle::new(4, linear).with_domain(domain.clone());
        let settings = Settings { method, ..Settings::default() };
        let corner = [2.0, -2.0, 5.0, 5.0];
        // Without a start, 0 is moved into the box.
        for start in [None, Some(&corner)] {
            let solver = Solver::new(settings.clone()).unwrap();
            let solver = if let Some(start) = start { solver.start(start) } else { solver };
            let solution = solver.solve(&mut oracle).unwrap();
            assert_eq!((solution.point, solution.status), (vec![1.0, -1.0, 5.0, 5.0], Status::Optimal), "{name}");
            assert!(solution.certificate.unwrap() < 1e-12, "{name}");
        }
        let solver = Solver::new(settings).unwrap().start(&[1.0, -3.0, 5.0, 5.0]);
        let outside = solver.solve(&mut oracle).unwrap_err().to_string();
        assert!(outside.contains("expected entry 1 to be between -2 and -1, found -3"), "{outside}");
    }
}

/// Along a coordinate without an upper bound, a function may be unbounded; between two bounds it is not.
#[test]
fn rays_stay_in_the_domain() {
    let falling = |point: &[f64], subgradient: &mut [f64]| {
        subgradient.fill(-1.0);
        Ok(-point.iter().sum::<f64>())
    };
    let infinity = f64::INFINITY;
    let mut oracle =
        FnOracle::new(3, falling).with_domain(Domain::between([(-infinity, 4.0), (1.0, infinity), (0.0, 9.0)]));
    for (name, method) in methods().into_iter().filter(|(name, _)| accuracy(name) < 0.1) {
        let solution = solve(&method, &mut oracle);
        assert_eq!(solution.status, Status::Unbounded, "{name}");
        assert_eq!(solution.ray, Some(vec![0.0, 1.0, 0.0]), "{name}");
    }
}

#[test]
fn impossible_bounds_are_refused() {
    let nothing = |_: &[f64], _: &mut [f64]| Ok(0.0);
    for (lower, upper) in [(2.0, 1.0), (f64::NAN, 1.0), (f64::INFINITY, f64::INFINITY)] {
        let domain = Domain::PerCoordinate(vec![Bound::Free, Bound::Between { lower, upper }]);
        let mut oracle = FnOracle::new(2, nothing).with_domain(domain);
        let error = Function::new(&mut oracle).err().unwrap();
        assert!(matches!(error, EvaluationError::DomainBound { coordinate: 1, .. }), "{error}");
        let message = error.to_string();
        assert!(message.contains(&format!("coordinate 1, found [{lower}, {upper}]")), "{message}");
    }
    let short = Domain::between([(0.0, 1.0)]);
    let mut oracle = FnOracle::new(2, nothing).with_domain(short);
    assert!(matches!(Function::new(&mut oracle), Err(EvaluationError::DomainLength { expected: 2, found: 1 })));
}
