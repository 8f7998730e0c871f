//! Every way a run can end: the right status, the best point, a whole trace.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bundlenet::{
    Academic, Domain, Family, FnOracle, Generator, Granularity, InvalidSetting, Limits, MethodName, Oracle, Problem,
    ProximitySettings, PruningSettings, Record, Sense, Settings, Silent, Solution, Status, Strategy, Tolerances,
    ValidSettings, solve,
};

fn settings(limits: Limits) -> ValidSettings {
    Settings { limits, ..Settings::default() }.check().unwrap()
}

fn steps(count: usize) -> ValidSettings {
    settings(Limits { steps: Some(count), ..Limits::default() })
}

fn run(oracle: &mut dyn Oracle, settings: &ValidSettings) -> Solution {
    let solution = solve(oracle, None, settings, &mut Silent, None).unwrap();
    assert_whole(oracle, &solution);
    solution
}

/// The trace has a row for each step, its best values only improve, and the point attains the value.
fn assert_whole(oracle: &mut dyn Oracle, solution: &Solution) {
    let sign = oracle.sense().sign();
    assert_eq!(solution.trace.len(), solution.steps + 1);
    assert!(solution.trace.iter().enumerate().all(|(at, row)| row.step == at));
    assert!(solution.trace.windows(2).all(|rows| sign * rows[1].best <= sign * rows[0].best));
    assert!(solution.trace.windows(2).all(|rows| rows[1].seconds >= rows[0].seconds));
    let last = solution.trace.last().unwrap();
    assert_eq!(last.best, solution.value);
    assert!(oracle.domain().violation(&solution.point).is_none());
}

fn attained(oracle: &mut dyn Oracle, solution: &Solution) {
    let value = oracle.evaluate(&solution.point, &mut vec![0.0; solution.point.len()]).unwrap();
    assert!((value - solution.value).abs() <= 1e-12 * value.abs().max(1.0), "{value} {}", solution.value);
}

/// `|x - 3| + 2 |y + 1|`.
fn distance() -> impl Oracle {
    FnOracle::new(2, |point: &[f64], subgradient: &mut [f64]| {
        let (x, y) = (point[0] - 3.0, point[1] + 1.0);
        subgradient.copy_from_slice(&[x.signum(), 2.0 * y.signum()]);
        Ok(x.abs() + 2.0 * y.abs())
    })
}

#[test]
fn optimal() {
    let mut oracle = distance();
    let solution = run(&mut oracle, &steps(200));
    assert_eq!(solution.status, Status::Optimal);
    assert!(solution.value < 1e-6 && solution.steps < 200, "{}", solution.value);
    assert!(solution.estimate.unwrap() <= 1e-7);
    attained(&mut oracle, &solution);
}

#[test]
fn a_start_with_zero_subgradient_is_optimal_at_once() {
    let mut oracle = FnOracle::new(1, |point: &[f64], subgradient: &mut [f64]| {
        subgradient[0] = 2.0 * point[0];
        Ok(point[0] * point[0] + 5.0)
    });
    for method in [MethodName::Auto, MethodName::Hybrid, MethodName::Bundle, MethodName::Descent, MethodName::Adam] {
        let settings = Settings { method, ..Settings::default() }.check().unwrap();
        let solution = run(&mut oracle, &settings);
        assert_eq!((solution.status, solution.steps, solution.oracle_calls), (Status::Optimal, 0, 1));
        assert_eq!((solution.value, solution.estimate), (5.0, Some(0.0)));
    }
}

#[test]
fn step_limit_and_oracle_call_limit() {
    let problem = Generator::new(Family::McSml40, 1).instance(0).unwrap().problem;
    for method in [MethodName::Auto, MethodName::Hybrid, MethodName::Bundle, MethodName::Descent, MethodName::Adam] {
        let limits = Limits { steps: Some(7), ..Limits::default() };
        let settings = Settings { method, limits, ..Settings::default() }.check().unwrap();
        let mut dual = problem.dual();
        let solution = run(&mut *dual, &settings);
        assert_eq!((solution.status, solution.steps, solution.oracle_calls), (Status::StepLimit, 7, 8));
        attained(&mut *dual, &solution);
    }
    let limits = Limits { oracle_calls: Some(5), steps: Some(100), ..Limits::default() };
    let solution = run(&mut *problem.dual(), &settings(limits));
    assert_eq!((solution.status, solution.oracle_calls), (Status::OracleCallLimit, 5));
    let none = run(&mut *problem.dual(), &steps(0));
    assert_eq!((none.status, none.steps, none.value), (Status::StepLimit, 0, 0.0));
}

#[test]
fn time_limit_is_kept_within_one_oracle_call() {
    let mut oracle = FnOracle::new(1, |point: &[f64], subgradient: &mut [f64]| {
        std::thread::sleep(Duration::from_millis(30));
        subgradient[0] = if point[0] > 1e6 { 1.0 } else { -1.0 };
        Ok((point[0] - 1e6).abs())
    });
    let begin = Instant::now();
    let solution = run(&mut oracle, &settings(Limits { seconds: Some(0.1), ..Limits::default() }));
    assert_eq!(solution.status, Status::TimeLimit);
    assert!(solution.steps >= 1 && solution.oracle_seconds > 0.0);
    assert!(begin.elapsed() < Duration::from_secs(5));
    // Blocked past the limit in a single call: what it gave is kept.
    let solution = run(&mut oracle, &settings(Limits { seconds: Some(0.001), ..Limits::default() }));
    assert_eq!((solution.status, solution.steps), (Status::TimeLimit, 0));
}

#[test]
fn bound_reached() {
    let problem = Generator::new(Family::McSml40, 1).instance(0).unwrap().problem;
    let limits = Limits { target: Some(200_000.0), steps: Some(500), ..Limits::default() };
    let solution = run(&mut *problem.dual(), &settings(limits.clone()));
    assert_eq!(solution.status, Status::BoundReached);
    assert!(solution.value >= 200_000.0 && solution.steps < 100);
    let before = &solution.trace[solution.steps - 1];
    assert!(before.best < 200_000.0);
    // For a dual that is minimised the target lies below.
    let problem = Generator::new(Family::Ga10x100, 1).instance(0).unwrap().problem;
    let start = run(&mut *problem.dual(), &steps(0)).value;
    let limits = Limits { target: Some(start - 100.0), ..limits };
    let solution = run(&mut *problem.dual(), &settings(limits));
    assert!(solution.status == Status::BoundReached && solution.value <= start - 100.0);
}

#[test]
fn an_oracle_that_fails_later_keeps_the_best_point() {
    for failure in ["nan", "infinite", "error", "forgotten"] {
        for method in [MethodName::Auto, MethodName::Hybrid, MethodName::Bundle, MethodName::Descent, MethodName::Adam]
        {
            let mut calls = 0;
            let mut inner = distance();
            let mut oracle = FnOracle::new(2, |point: &[f64], subgradient: &mut [f64]| {
                calls += 1;
                let value = inner.evaluate(point, subgradient)?;
                match (calls, failure) {
                    (17, "nan") => Ok(f64::NAN),
                    (17, "infinite") => Ok(f64::INFINITY),
                    (17, "error") => Err("the subproblem is infeasible".into()),
                    (17, "forgotten") => {
                        subgradient[1] = f64::NAN;
                        Ok(value)
                    }
                    _ => Ok(value),
                }
            });
            let proximity = ProximitySettings { strategy: Strategy::Constant, eta0: Some(0.05), ..Default::default() };
            let settings = Settings { method, proximity, ..Settings::default() }.check().unwrap();
            let solution = solve(&mut oracle, None, &settings, &mut Silent, None).unwrap();
            assert_eq!(solution.status, Status::OracleFailed, "{failure}");
            assert_eq!((solution.oracle_calls, solution.steps, solution.trace.len()), (17, 15, 16));
            let message = solution.failure.clone().unwrap();
            assert!(message.contains("evaluation 17"), "{message}");
            assert!(solution.value < 5.0 && solution.value == solution.trace[15].best);
        }
    }
    // At the very start there is nothing to keep.
    let mut oracle = FnOracle::new(1, |_: &[f64], _: &mut [f64]| Err("no licence".into()));
    let error = solve(&mut oracle, None, &steps(3), &mut Silent, None).unwrap_err();
    assert!(error.to_string().contains("evaluation 1") && error.to_string().contains("no licence"), "{error}");
}

#[test]
fn interrupts_keep_the_best_point() {
    let problem = Generator::new(Family::McBig40, 1).instance(0).unwrap().problem;
    let mut dual = problem.dual();
    let mut stop_at_nine =
        |record: &Record| if record.step == 9 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let solution = solve(&mut *dual, None, &steps(100), &mut stop_at_nine, None).unwrap();
    assert_eq!((solution.status, solution.steps), (Status::Interrupted, 9));
    assert_whole(&mut *dual, &solution);
    attained(&mut *dual, &solution);
    let flag = AtomicBool::new(false);
    let mut raise = |record: &Record| {
        flag.store(record.step == 4, Ordering::Relaxed);
        ControlFlow::Continue(())
    };
    let solution = solve(&mut *problem.dual(), None, &steps(100), &mut raise, Some(&flag)).unwrap();
    assert_eq!((solution.status, solution.steps), (Status::Interrupted, 4));
}

#[test]
fn an_unbounded_function_does_not_hang_or_panic() {
    let mut oracle = FnOracle::new(2, |point: &[f64], subgradient: &mut [f64]| {
        subgradient.copy_from_slice(&[-1.0, 0.5]);
        Ok(0.5 * point[1] - point[0])
    });
    let solution = run(&mut oracle, &steps(300));
    assert_eq!(solution.status, Status::StepLimit);
    assert!(solution.value < -1e5);
}

#[test]
fn bounds_on_variables_are_kept_by_every_method() {
    // The free minimum is at (-2, 3); with x >= 0 it is at (0, 3).
    let quadratic = |point: &[f64], subgradient: &mut [f64]| {
        let (x, y) = (point[0] + 2.0, point[1] - 3.0);
        subgradient.copy_from_slice(&[2.0 * x, y.signum()]);
        Ok(x * x + y.abs())
    };
    for (method, tolerance) in [(MethodName::Bundle, 1e-6), (MethodName::Descent, 0.1), (MethodName::Adam, 0.1)] {
        let domain = Domain::PerCoordinate(vec![bundlenet::Bound::Nonnegative, bundlenet::Bound::Free]);
        let mut oracle = FnOracle::new(2, quadratic).with_domain(domain);
        let limits = Limits { steps: Some(400), ..Limits::default() };
        let settings = Settings { method, limits, ..Settings::default() }.check().unwrap();
        let solution = solve(&mut oracle, Some(&[5.0, -1.0]), &settings, &mut Silent, None).unwrap();
        assert!((solution.value - 4.0).abs() < tolerance, "{method:?} {}", solution.value);
        assert!(solution.point[0] >= 0.0);
    }
}

#[test]
fn scaling_and_shifting_the_function_changes_nothing() {
    let problem = Generator::new(Family::McSml40, 2).instance(0).unwrap().problem;
    let mut plain = problem.dual();
    let dim = plain.dim();
    let mut inner = problem.dual();
    // A power of two, so that not a bit changes.
    let mut scaled = FnOracle::new(dim, |point: &[f64], subgradient: &mut [f64]| {
        let value = inner.evaluate(point, subgradient)?;
        subgradient.iter_mut().for_each(|entry| *entry *= 1024.0);
        Ok(1024.0 * value)
    })
    .with_sense(Sense::Maximize);
    // The other function is no sum.
    let cuts = Granularity::Aggregated;
    for method in [MethodName::Bundle, MethodName::Hybrid, MethodName::Network] {
        let limits = Limits { steps: Some(60), ..Limits::default() };
        let settings = Settings { method, limits, cuts, ..Settings::default() }.check().unwrap();
        let (reference, solution) = (run(&mut *plain, &settings), run(&mut scaled, &settings));
        assert!(solution.point == reference.point, "{method:?}");
        assert_eq!(solution.value, 1024.0 * reference.value);
    }
}

#[test]
fn certificates_are_honest_and_tight_on_assignments() {
    for index in 0..10 {
        let problem = Generator::new(Family::Ga10x100, 21).instance(index).unwrap().problem;
        let exact = Settings { tolerances: Tolerances { gap: 1e-11 }, ..Settings::default() }.check().unwrap();
        let optimum = run(&mut *problem.dual(), &exact);
        assert!(optimum.certificate.unwrap() <= 1e-9, "{:?}", optimum.certificate);
        for count in [0, 1, 5, 10, 20, 40] {
            let solution = run(&mut *problem.dual(), &steps(count));
            let gap = (solution.value - optimum.value) / solution.value.abs();
            assert!(solution.certificate.unwrap() >= gap - 1e-12, "{} {gap}", solution.certificate.unwrap());
        }
    }
}

/// Every family and sense, every granularity that proves something: never less than the true gap is proved, and at the end the
/// optimum.
#[test]
fn certificates_are_honest_with_components() {
    for (family, instances) in
        [(Family::McSml40, 4), (Family::McBig40, 2), (Family::Ga10x100, 4), (Family::Ga20x400, 1)]
    {
        for index in 0..instances {
            let problem = Generator::new(family, 22).instance(index).unwrap().problem;
            let cuts = Granularity::Component;
            let tolerances = Tolerances { gap: 1e-10 };
            let exact = Settings { tolerances, cuts, ..Settings::default() }.check().unwrap();
            let optimum = run(&mut *problem.dual(), &exact);
            assert_eq!(optimum.status, Status::Optimal);
            assert!(optimum.certificate.unwrap() <= 1e-10, "{:?}", optimum.certificate);
            for count in [0, 1, 5, 10, 20] {
                let limits = Limits { steps: Some(count), ..Limits::default() };
                let settings = Settings { limits, cuts, ..Settings::default() }.check().unwrap();
                let solution = run(&mut *problem.dual(), &settings);
                let gap = (solution.value - optimum.value).abs() / solution.value.abs().max(1.0);
                if let Some(certificate) = solution.certificate {
                    assert!(certificate >= gap - 2e-10, "{family}: {certificate} {gap}");
                }
            }
        }
    }
}

/// Groups are something between the two, and prove nothing of network design.
#[test]
fn groups_of_components_are_solved_too() {
    let problem = Generator::new(Family::McSml40, 2).instance(0).unwrap().problem;
    let solve_with = |cuts| {
        let tolerances = Tolerances { gap: 1e-6 };
        run(&mut *problem.dual(), &Settings { tolerances, cuts, ..Settings::default() }.check().unwrap())
    };
    let each = solve_with(Granularity::Component);
    let mut last = each.steps;
    for groups in [1000, 20, 1] {
        let grouped = solve_with(Granularity::Groups(groups));
        assert_eq!(grouped.status, Status::Optimal, "{groups} groups");
        assert!((grouped.value - each.value).abs() <= 1e-5 * each.value, "{groups} groups: {}", grouped.value);
        assert!(grouped.certificate.is_none());
        assert!(grouped.steps >= last, "{groups} groups: {} steps after {last}", grouped.steps);
        last = grouped.steps;
    }
}

/// The solution, and the most cuts that the run ever held.
fn run_and_count(problem: &Problem, settings: &ValidSettings) -> (Solution, usize) {
    let mut most = 0;
    let mut count = |record: &Record| {
        most = most.max(record.cuts.unwrap_or(0));
        ControlFlow::Continue(())
    };
    let solution = solve(&mut *problem.dual(), None, settings, &mut count, None).unwrap();
    (solution, most)
}

/// A cap on the cuts of each component, and on the bytes of all, is kept and keeps convergence.
#[test]
fn caps_on_components_keep_convergence() {
    let problem = Generator::new(Family::McSml40, 2).instance(0).unwrap().problem;
    let solve_with = |pruning: PruningSettings| {
        let limits = Limits { steps: Some(300), ..Limits::default() };
        let cuts = Granularity::Component;
        let settings = Settings { pruning, limits, cuts, ..Settings::default() }.check().unwrap();
        run_and_count(&problem, &settings)
    };
    let (free, _) = solve_with(PruningSettings::default());
    assert_eq!(free.status, Status::Optimal);
    for (max_component_cuts, bar) in [(3, 0.02), (8, 1e-4)] {
        let (capped, most) = solve_with(PruningSettings { max_component_cuts, ..PruningSettings::default() });
        assert!(most <= 226 * max_component_cuts, "{most}");
        let gap = (free.value - capped.value) / free.value;
        assert!(gap < bar, "{max_component_cuts} cuts: {gap}");
    }
    // A megabyte is less than a run of this size wants.
    let (small, _) = solve_with(PruningSettings { max_bytes: 1_000_000, lifetime: 1000, ..PruningSettings::default() });
    assert!((free.value - small.value) / free.value < 1e-4, "{} {}", free.value, small.value);
}

#[test]
fn a_cap_on_the_cuts_keeps_convergence() {
    let problem = Generator::new(Family::Ga10x100, 2).instance(0).unwrap().problem;
    let free = run(&mut *problem.dual(), &steps(3000));
    for max_cuts in [3, 10, 40] {
        let pruning = PruningSettings { max_cuts, ..Default::default() };
        let limits = Limits { steps: Some(3000), ..Limits::default() };
        let cuts = Granularity::Aggregated;
        let settings = Settings { pruning, limits, cuts, ..Settings::default() }.check().unwrap();
        let (solution, most) = run_and_count(&problem, &settings);
        assert!(most <= max_cuts, "{most} cuts");
        let gap = (solution.value - free.value) / free.value;
        assert!(gap < if max_cuts == 3 { 1e-3 } else { 1e-5 }, "{max_cuts} cuts: {gap}");
    }
}

#[test]
fn steps_are_the_same_on_any_number_of_threads() {
    let problem = Generator::new(Family::Ga20x400, 3).instance(0).unwrap().problem;
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| run(&mut *problem.dual(), &steps(60)))
    };
    let (one, three) = (on(1), on(3));
    assert_eq!(one.point, three.point);
    assert!(one.trace.iter().zip(&three.trace).all(|(a, b)| (a.value, a.best) == (b.value, b.best)));
}

#[test]
fn unusable_settings_are_named() {
    let name = |settings: Settings| -> &'static str {
        let InvalidSetting { name, .. } = settings.check().unwrap_err();
        name
    };
    let default = Settings::default;
    let limits = |limits: Limits| Settings { limits, ..default() };
    assert_eq!(name(limits(Limits { seconds: Some(0.0), ..Limits::default() })), "limits.seconds");
    assert_eq!(name(limits(Limits { seconds: Some(f64::NAN), ..Limits::default() })), "limits.seconds");
    assert_eq!(name(limits(Limits { oracle_calls: Some(0), ..Limits::default() })), "limits.oracle_calls");
    assert_eq!(name(limits(Limits { target: Some(f64::NAN), ..Limits::default() })), "limits.target");
    assert_eq!(name(Settings { tolerances: Tolerances { gap: -1.0 }, ..default() }), "tolerances.gap");
    let proximity = ProximitySettings { eta0: Some(-1.0), ..Default::default() };
    assert_eq!(name(Settings { proximity, ..default() }), "proximity.eta0");
    let pruning = PruningSettings { max_cuts: 2, ..Default::default() };
    assert_eq!(name(Settings { pruning, ..default() }), "pruning.max_cuts");
}

/// Evaluations to 1e-6 (MXHILB: 1e-4), the one at the start included. ConicBundle needs 46, 29, 13 and 53.
#[test]
fn academic_functions_take_few_evaluations() {
    for (mut function, most, gap) in [
        (Academic::Maxquad, 46, 1e-6),
        (Academic::Shor, 29, 1e-6),
        (Academic::Cb2, 13, 1e-6),
        (Academic::Goffin, 53, 1e-6),
        (Academic::Mxhilb, 100, 1e-4),
    ] {
        let start = function.start();
        let settings = Settings::default().check().unwrap();
        let solution = solve(&mut function, Some(&start), &settings, &mut Silent, None).unwrap();
        let reached = solution.trace.iter().find(|row| function.relative_gap(row.best) <= gap).map(|row| row.step + 1);
        assert!(reached.is_some_and(|reached| reached <= most), "{function}: {reached:?}");
        assert_eq!(solution.status, Status::Optimal, "{function}");
        assert!(function.relative_gap(solution.value) <= 1e-7, "{function}: {}", solution.value);
    }
}

/// A maximum of random affine functions over a box, with its minimum by a linear program, as an oracle that knows the box.
struct Boxed {
    slopes: Vec<Vec<f64>>,
    offsets: Vec<f64>,
    radius: f64,
    is_nonnegative: bool,
}

impl Boxed {
    fn random(random: &mut impl FnMut() -> f64) -> Self {
        let dim = 1 + (random() * 7.0) as usize;
        let pieces = 2 + (random() * 10.0) as usize;
        let radius = 1.0 + 5.0 * random();
        let is_nonnegative = random() < 0.5;
        let mut slopes: Vec<Vec<f64>> = (0..pieces).map(|_| (0..dim).map(|_| 2.0 * random() - 1.0).collect()).collect();
        let offsets = (0..pieces).map(|_| random()).collect();
        // The last pieces make sure that the minimum lies in the box: far out, they are above all others.
        for at in 0..dim {
            for sign in [-1.0, 1.0] {
                let mut slope = vec![0.0; dim];
                slope[at] = sign * 50.0;
                slopes.push(slope);
            }
        }
        let mut offsets: Vec<f64> = offsets;
        offsets.extend(std::iter::repeat_n(-40.0 * radius, 2 * dim));
        Self { slopes, offsets, radius, is_nonnegative }
    }

    fn minimum(&self) -> f64 {
        let mut lp = microlp::Problem::new(microlp::OptimizationDirection::Minimize);
        let lower = if self.is_nonnegative { 0.0 } else { f64::NEG_INFINITY };
        let point: Vec<_> = (0..self.dim()).map(|_| lp.add_var(0.0, (lower, f64::INFINITY))).collect();
        let height = lp.add_var(1.0, (f64::NEG_INFINITY, f64::INFINITY));
        for (slope, offset) in self.slopes.iter().zip(&self.offsets) {
            let mut row: Vec<_> = point.iter().copied().zip(slope.iter().map(|entry| -entry)).collect();
            row.push((height, 1.0));
            lp.add_constraint(row, microlp::ComparisonOp::Ge, *offset);
        }
        match lp.solve().unwrap() {
            microlp::SolveOutcome::Solution(solution) => solution.objective(),
            microlp::SolveOutcome::Interrupted(_) => panic!("there is no limit to interrupt it"),
        }
    }
}

impl Oracle for Boxed {
    fn dim(&self) -> usize {
        self.slopes[0].len()
    }

    fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, bundlenet::OracleError> {
        let height = |(slope, offset): (&Vec<f64>, &f64)| -> f64 {
            offset + slope.iter().zip(point).map(|(a, x)| a * x).sum::<f64>()
        };
        let heights: Vec<f64> = self.slopes.iter().zip(&self.offsets).map(height).collect();
        let top = (0..heights.len()).max_by(|&a, &b| heights[a].total_cmp(&heights[b])).unwrap();
        subgradient.copy_from_slice(&self.slopes[top]);
        Ok(heights[top])
    }

    fn domain(&self) -> Domain {
        if self.is_nonnegative { Domain::Nonnegative } else { Domain::Free }
    }

    fn minimizer_box(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        let lower = if self.is_nonnegative { 0.0 } else { -self.radius };
        Some((vec![lower; self.dim()], vec![self.radius; self.dim()]))
    }
}

/// The proved gap is never below the true one, the model never above the function, and runs that say optimal are: with
/// many cuts and with caps so tight that every step aggregates.
#[test]
fn certificates_models_and_optima_hold_under_every_cap() {
    let mut state = 17_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let mut solved = 0;
    for round in 0..2000 {
        let mut oracle = Boxed::random(&mut random);
        let minimum = oracle.minimum();
        let max_cuts = [3, 4, 5, 8, 1000][round % 5];
        let steps = [3, 10, 40, 400][round % 4];
        let start: Vec<f64> = (0..oracle.dim()).map(|_| random() * oracle.radius).collect();
        let pruning = PruningSettings { max_cuts, ..Default::default() };
        let limits = Limits { steps: Some(steps), ..Limits::default() };
        let settings = Settings { pruning, limits, ..Settings::default() }.check().unwrap();
        let mut model_is_below = |record: &Record| {
            if let (Some(model), Some(norm)) = (record.model, record.norm) {
                // The model at the trial point, below the function there.
                assert!(
                    model <= record.value + 1e-9 * (1.0 + norm),
                    "round {round}, step {}: {model} {}",
                    record.step,
                    record.value
                );
            }
            ControlFlow::Continue(())
        };
        let solution = solve(&mut oracle, Some(&start), &settings, &mut model_is_below, None).unwrap();
        let gap = (solution.value - minimum) / solution.value.abs().max(1.0);
        let proved = solution.certificate.unwrap();
        assert!(gap >= -1e-9, "round {round}: {} is below the minimum {minimum}", solution.value);
        assert!(proved >= gap - 1e-9, "round {round}: proved {proved:e}, true {gap:e}");
        if solution.status == Status::Optimal {
            assert!(gap <= 1e-6, "round {round}: optimal with a gap of {gap:e}");
            solved += 1;
        }
    }
    assert!(solved > 500, "{solved}");
}

#[test]
fn functions_of_extreme_size_are_solved_or_refused() {
    for factor in [1e-280, 1e-160, 1e150, 1e290] {
        let mut oracle = FnOracle::new(2, move |point: &[f64], subgradient: &mut [f64]| {
            let (x, y) = (point[0] - 3.0, point[1] + 1.0);
            subgradient.copy_from_slice(&[factor * x.signum(), 2.0 * factor * y.signum()]);
            Ok(factor * (x.abs() + 2.0 * y.abs()))
        });
        let solution = run(&mut oracle, &steps(200));
        assert!(solution.value / factor < 1e-3 || solution.value < 1e-7, "{factor:e}: {}", solution.value);
    }
    // A value that is out of range beside the slope.
    let mut oracle = FnOracle::new(1, |point: &[f64], subgradient: &mut [f64]| {
        subgradient[0] = 1e-20 * point[0].signum();
        Ok(1e300 + 1e-20 * point[0].abs())
    });
    let error = solve(&mut oracle, Some(&[1.0]), &steps(5), &mut Silent, None).unwrap_err();
    assert!(error.to_string().contains("out of range"), "{error}");
}
