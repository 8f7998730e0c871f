//! A network runs under the same driver as every method. It visits the points it visits in training, alone and in a batch, and
//! its bounds are valid for any weights.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use bundlenet::train::rollout;
use bundlenet::{
    Architecture, Attention, AutoSettings, BundleSettings, Centre, Cuts, FnOracle, HybridSettings, Interval, Limits,
    Method, Metric, Model, NetworkSettings, Oracle, OracleError, Precision, Record, Schema, Settings, Solution, Solver,
    Status, StepUnit, Told,
};
use bundlenet_problems::{Family, Generator, Problem};
use bundlenet_testing::foreign::{Covering, Median};
use bundlenet_testing::visits::visited;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};

fn problem(family: Family, index: usize) -> Problem {
    Generator::new(family, 11).instance(index).unwrap().problem
}

fn architectures() -> [Architecture; 4] {
    let own = Architecture {
        hidden: 8,
        decoder: 16,
        step_scale: Some(60.0),
        step_unit: StepUnit::One,
        ..Architecture::default()
    };
    let paper = Architecture { features: Schema::Released, centre: Centre::Softmin, shortcut: false, ..own.clone() };
    let plain = Architecture { metric: Metric::Plain, ..own.clone() };
    [own, plain, paper.clone(), Architecture { attention: Attention::Sparsemax, ..paper }]
}

fn settings(model: Model, steps: usize) -> Settings {
    let limits = Limits { steps: Some(steps), ..Limits::default() };
    let network = NetworkSettings { model: Some(Arc::new(model)), ..NetworkSettings::default() };
    Settings { method: Method::Network(network), limits, ..Settings::default() }
}

/// The model of a changed checkpoint: another centre, other numbers. Numbers may be left out.
fn changed(
    model: &Model,
    change_architecture: impl Fn(&mut serde_json::Value),
    change_tensor: impl Fn(&str, &mut Vec<f32>),
) -> Model {
    let bytes = model.to_bytes(Precision::Single).unwrap();
    let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
    let mut metadata: serde_json::Value =
        serde_json::from_str(&header.metadata().as_ref().unwrap()["bundlenet"]).unwrap();
    change_architecture(&mut metadata["architecture"]);
    let mut tensors = vec![];
    for (name, tensor) in SafeTensors::deserialize(&bytes).unwrap().iter() {
        let (mut shape, mut data) = (tensor.shape().to_vec(), tensor.data().to_vec());
        if tensor.dtype() == Dtype::F32 {
            let (chunks, _) = data.as_chunks();
            let mut numbers: Vec<f32> = chunks.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
            let width: usize = shape[1..].iter().product();
            change_tensor(name, &mut numbers);
            shape[0] = numbers.len() / width;
            data = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        }
        tensors.push((name.to_string(), tensor.dtype(), shape, data));
    }
    let views =
        tensors.iter().map(|(name, dtype, shape, data)| (name, TensorView::new(*dtype, shape.clone(), data).unwrap()));
    let metadata = HashMap::from([("bundlenet".to_string(), metadata.to_string())]);
    let bytes = safetensors::serialize(views, Some(metadata)).unwrap();
    Model::from_bytes(std::path::Path::new("changed"), &bytes).unwrap()
}

fn run(problem: &Problem, settings: &Settings) -> Solution {
    Solver::new(settings.clone()).unwrap().solve(&mut *problem.dual()).unwrap()
}

#[test]
fn training_and_use_visit_the_same_points() {
    for architecture in architectures() {
        for family in [Family::McSml40, Family::Ga10x100] {
            let model = Model::untrained(&architecture, 3);
            let problem = problem(family, 0);
            let expected = rollout(&model, &mut *problem.dual(), 12).unwrap().points;
            let visited = visited(&mut *problem.dual(), &settings(model, 12));
            assert_eq!(visited[1..], expected);
        }
    }
}

/// At temperature 0 a soft centre goes the whole way to a better point and stays at a worse one. So does a hard centre,
/// except after a decrease that is too small for a serious step.
#[test]
fn a_hard_centre_is_a_soft_one_at_temperature_zero() {
    let architecture = Architecture { shortcut: false, metric: Metric::Plain, ..architectures()[0].clone() };
    let model = Model::untrained(&architecture, 3);
    let decoder = architecture.decoder;
    let cold = changed(
        &model,
        |_| (),
        |name, tensor| match name {
            "step.2.weight" => tensor[decoder..2 * decoder].fill(0.0),
            "step.2.bias" => tensor[1] = -1e4,
            _ => {}
        },
    );
    let hard = changed(
        &model,
        |architecture| architecture["centre"] = "hard".into(),
        |name, tensor| match name {
            "step.2.weight" => tensor.truncate(decoder),
            "step.2.bias" => tensor.truncate(1),
            _ => {}
        },
    );
    let mut kinds = [0, 0];
    for family in [Family::McSml40, Family::Ga10x100] {
        let problem = problem(family, 0);
        let points = |model: &Model| visited(&mut *problem.dual(), &settings(model.clone(), 30));
        let (cold_points, hard_points, soft_points) = (points(&cold), points(&hard), points(&model));
        let mut steps = vec![];
        let mut watch = |record: &Record| {
            steps.extend(record.is_serious.map(|is_serious| (is_serious, record.value)));
            ControlFlow::Continue(())
        };
        let solver = Solver::new(settings(hard.clone(), 30)).unwrap();
        solver.observe(&mut watch).solve(&mut *problem.dual()).unwrap();
        let mut dual = problem.dual();
        let sign = dual.sense().sign();
        let mut centre = sign * dual.evaluate(&hard_points[0], &mut vec![0.0; hard_points[0].len()]).unwrap();
        let is_between = |&(is_serious, value): &(bool, f64)| {
            let is_better = sign * value < centre;
            centre = if is_serious { sign * value } else { centre };
            is_better && !is_serious
        };
        let alike = steps.iter().position(is_between).unwrap_or(steps.len());
        assert!(cold_points[..=alike] == hard_points[..=alike], "{family}: not the same {alike} points");
        steps[..alike].iter().for_each(|&(is_serious, _)| kinds[usize::from(is_serious)] += 1);
        // No centre has moved before the first step; a soft one then moves a part of the way.
        assert!(soft_points[..2] == hard_points[..2] && soft_points[2] != hard_points[2], "{family}");
    }
    assert!(kinds[0] > 3 && kinds[1] > 3, "{} null and {} serious steps", kinds[0], kinds[1]);
}

/// A network that can be told its steps goes other ways if it is told other numbers. Untold, it does not know the limit.
#[test]
fn only_a_network_that_listens_is_told_its_steps() {
    let listening = Architecture { features: Schema::Told, ..architectures()[0].clone() };
    for (architecture, listens) in [(architectures()[0].clone(), false), (listening, true)] {
        let model = Model::untrained(&architecture, 3);
        let problem = problem(Family::McSml40, 0);
        let points = |steps: usize, told: Told| {
            let Settings { method: Method::Network(network), limits, .. } = settings(model.clone(), steps) else {
                unreachable!()
            };
            let method = Method::Network(NetworkSettings { told, ..network });
            visited(&mut *problem.dual(), &Settings { method, limits, ..Settings::default() })
        };
        assert_eq!(points(10, Told::Nothing), points(20, Told::Nothing)[..11]);
        assert_eq!(points(10, Told::Steps) != points(20, Told::Steps)[..11], listens);
        assert_eq!(points(10, Told::Steps) != points(10, Told::Nothing), listens);
        // The program once told the limit that ends runs on unbounded functions.
        let limits = Limits { oracle_calls: Some(11), ..Limits::default() };
        let without_steps = Settings { limits, ..settings(model.clone(), 10) }.with_default_limit();
        assert_eq!(without_steps.limits.steps, Some(Settings::MOST_STEPS));
        assert_eq!(visited(&mut *problem.dual(), &without_steps), points(10, Told::Nothing));
        let with_steps = settings(model.clone(), 10);
        assert_eq!(with_steps.clone().with_default_limit(), with_steps);
    }
}

#[test]
fn a_batch_gives_what_each_would_give_alone() {
    // Large enough for its runs to go in step.
    let architecture = Architecture {
        hidden: 64,
        decoder: 256,
        step_scale: Some(60.0),
        step_unit: StepUnit::One,
        features: Schema::Told,
        ..Architecture::default()
    };
    let settings = settings(Model::untrained(&architecture, 3), 30);
    let mut problems: Vec<Problem> = (0..5).map(|index| problem(Family::McSml40, index)).collect();
    problems.extend((0..4).map(|index| problem(Family::Ga10x100, index)));
    let mut duals: Vec<Box<dyn Oracle + Send>> = problems.iter().map(Problem::dual).collect();
    let together = Solver::new(settings.clone()).unwrap().solve_batch(&mut duals);
    assert_eq!(together.len(), problems.len());
    for (solution, problem) in together.into_iter().zip(&problems) {
        let solution = solution.unwrap();
        let alone = run(problem, &settings);
        assert_eq!((solution.status, solution.steps), (alone.status, alone.steps));
        // Sums of the network in another order: single precision, over thirty steps.
        for (a, b) in solution.trace.iter().zip(&alone.trace) {
            assert!((a.best - b.best).abs() <= 1e-4 * b.best.abs(), "{a:?} {b:?}");
        }
        assert!(solution.network_seconds > 0.0 && solution.oracle_seconds > 0.0 && solution.master_seconds == 0.0);
    }
}

#[test]
fn one_failing_function_does_not_cost_the_others() {
    let settings = settings(Model::untrained(&architectures()[0], 3), 20);
    let good = problem(Family::Ga10x100, 0);
    let mut calls = 0;
    let failing = FnOracle::new(3, move |point: &[f64], subgradient: &mut [f64]| {
        calls += 1;
        subgradient.copy_from_slice(&[1.0, point[1].signum(), 0.0]);
        if calls > 5 { Err("out of paper".into()) } else { Ok(point[0] + point[1].abs()) }
    });
    let unusable = FnOracle::new(2, |_: &[f64], _: &mut [f64]| Err("never".into()));
    let mut oracles: Vec<Box<dyn Oracle + Send>> =
        vec![good.dual(), Box::new(failing), Box::new(unusable), good.dual()];
    let mut results = Solver::new(settings).unwrap().solve_batch(&mut oracles).into_iter();
    let mut next = || results.next().unwrap();
    let first = next().unwrap();
    assert_eq!(first.steps, 20);
    let failed = next().unwrap();
    assert_eq!((failed.status, failed.steps), (Status::OracleFailed, 4));
    assert!(failed.failure.unwrap().contains("out of paper"));
    assert!(next().is_err());
    assert_eq!(next().unwrap().value, first.value);
}

#[test]
fn a_cap_on_the_cuts_is_kept() {
    for architecture in architectures() {
        for family in [Family::McSml40, Family::Ga10x100] {
            let model = Some(Arc::new(Model::untrained(&architecture, 3)));
            let limits = Limits { steps: Some(60), ..Limits::default() };
            let method = Method::Network(NetworkSettings { model, max_cuts: 7, ..NetworkSettings::default() });
            let solver = Solver::new(Settings { method, limits, ..Settings::default() }).unwrap();
            let mut most = 0;
            let mut watch = |record: &Record| {
                most = most.max(record.cuts.unwrap_or(0));
                ControlFlow::Continue(())
            };
            let problem = problem(family, 1);
            let solution = solver.observe(&mut watch).solve(&mut *problem.dual()).unwrap();
            assert_eq!((solution.steps, most), (60, 7));
        }
    }
}

#[test]
fn proved_gaps_are_never_below_the_true_ones() {
    for index in 0..6 {
        let problem = problem(Family::Ga10x100, index);
        let exact = run(&problem, &Settings::exact());
        for architecture in architectures() {
            for scale in [5.0, 600.0, 1e4] {
                let model = Model::untrained(
                    &Architecture { step_scale: Some(scale), step_unit: StepUnit::One, ..architecture.clone() },
                    2,
                );
                let solution = run(&problem, &settings(model, 40));
                let gap = (solution.value - exact.value) / solution.value;
                // The reference itself is within 1e-9.
                assert!(solution.certificate.unwrap() >= gap - 2e-9, "{:?} {gap}", solution.certificate);
            }
        }
    }
}

#[test]
fn extreme_step_lengths_end_with_the_best_point() {
    for scale in [1e-300, 1e300] {
        for architecture in architectures() {
            let model = Model::untrained(
                &Architecture { step_scale: Some(scale), step_unit: StepUnit::One, ..architecture },
                2,
            );
            let problem = problem(Family::McSml40, 0);
            let solution = run(&problem, &settings(model, 40));
            assert!(solution.value >= 0.0 && solution.point.iter().all(|entry| entry.is_finite()));
        }
    }
}

#[test]
fn weights_beyond_all_bounds_prove_nothing() {
    // Logits that are not finite once left no weight at all, and that counted as a proof.
    let model = Model::untrained(&architectures()[0], 2);
    let huge = changed(
        &model,
        |_| (),
        |name, tensor| {
            if name == "query.2.bias" || name == "key.2.bias" {
                tensor.fill(3e38);
            }
        },
    );
    for family in [Family::Ga10x100, Family::McSml40] {
        let problem = problem(family, 0);
        let exact = run(&problem, &Settings::exact());
        let solution = run(&problem, &settings(huge.clone(), 20));
        assert_ne!(solution.status, Status::Optimal);
        let gap = (solution.value - exact.value).abs() / solution.value.abs();
        assert!(solution.certificate.is_none_or(|proved| proved >= gap - 2e-9), "{:?} {gap}", solution.certificate);
    }
}

/// A network does not converge. Where no other method follows, its guard lets an exact master end the run.
#[test]
fn the_general_network_converges_alone() {
    for index in 0..4 {
        let problem = problem(Family::Ga10x100, index);
        let exact = run(&problem, &Settings::exact());
        let limits = Limits { steps: Some(150), ..Limits::default() };
        let method = Method::Network(NetworkSettings::default());
        let solution = run(&problem, &Settings { method, limits, ..Settings::default() });
        let gap = (solution.value - exact.value).abs() / exact.value.abs();
        assert!(gap <= 1e-8, "{index}: {gap}");
    }
}

/// On functions unlike those of the network's training `hybrid` is the bundle method with cuts of the whole function. On
/// those of the training the network takes the first steps.
#[test]
fn hybrid_is_the_bundle_method_on_unknown_functions() {
    let bests = |oracle: &mut dyn Oracle, method: Method| {
        let limits = Limits { oracle_calls: Some(60), ..Limits::default() };
        let settings = Settings { method, limits, tolerance: 0.0, ..Settings::default() };
        let solution = Solver::new(settings).unwrap().solve(oracle).unwrap();
        solution.trace.iter().map(|row| row.best).collect::<Vec<f64>>()
    };
    let methods = || {
        let bundle = BundleSettings { cuts: Cuts::Aggregated, ..BundleSettings::default() };
        [Method::Hybrid(HybridSettings::default()), Method::Bundle(bundle)]
    };
    let unknown: [&dyn Fn() -> Box<dyn Oracle>; 3] =
        [&|| Box::new(Covering::random(7, 100, 800, 0.04)), &|| Box::new(Median::random(7, 40, 6, false)), &|| {
            Box::new(Median::random(7, 40, 6, true))
        }];
    for make in unknown {
        let [hybrid, bundle] = methods().map(|method| bests(&mut *make(), method));
        assert_eq!(hybrid, bundle);
    }
    for family in Family::PAPER {
        let problem = problem(family, 0);
        let [hybrid, bundle] = methods().map(|method| bests(&mut *problem.dual(), method));
        assert_ne!(hybrid[1], bundle[1], "{family}");
    }
}

/// The values of a run of `steps` steps.
fn values(oracle: &mut dyn Oracle, method: &Method, start: f64, steps: usize) -> Vec<f64> {
    let limits = Limits { steps: Some(steps), ..Limits::default() };
    let settings = Settings { method: method.clone(), limits, tolerance: 0.0, ..Settings::default() };
    let start = vec![start; oracle.dim()];
    let solution = Solver::new(settings).unwrap().start(&start).solve(oracle).unwrap();
    solution.trace.iter().map(|row| row.value).collect()
}

fn untold() -> Method {
    Method::Network(NetworkSettings { told: Told::Nothing, ..NetworkSettings::default() })
}

fn aggregated() -> Method {
    Method::Bundle(BundleSettings { cuts: Cuts::Aggregated, ..BundleSettings::default() })
}

/// Without components the guard decides how long the network goes on in `auto`, as if the network were alone. Only the
/// removal of cuts differs, and none is removed in so few steps.
#[test]
fn the_default_takes_the_steps_of_the_network_on_functions_that_are_no_sums() {
    for (variables, start) in [(100, 0.0), (100, 0.3), (15, 0.0), (10, 0.3)] {
        let run = |method| values(&mut Covering::random(7, variables, 8 * variables, 0.04), &method, start, 20);
        assert_eq!(run(Method::default()), run(untold()), "{variables} {start}");
    }
    // With fewer variables the exact master begins, as it does if the network has no guard and the start is not 0.
    let run = |method| values(&mut Covering::random(7, 9, 72, 0.3), &method, 0.0, 20);
    assert_eq!(run(Method::default()), run(aggregated()));
    let plain = Model::load(bundlenet_testing::sources::workspace().join("models/mc-sml-40.safetensors")).unwrap();
    let unguarded = Method::Auto(AutoSettings { model: Some(Arc::new(plain)), ..AutoSettings::default() });
    let run = |method| values(&mut Covering::random(7, 100, 800, 0.04), &method, 0.3, 20);
    assert_eq!(run(unguarded), run(aggregated()));
}

/// `hybrid`, as `auto`, does not let a network go on for longer than in its training.
#[test]
fn a_network_that_others_follow_takes_a_hundred_steps() {
    let problem = problem(Family::McBig40, 0);
    assert!(problem.dual().dim() > 1000);
    let run = |method| values(&mut *problem.dual(), &method, 0.0, 103);
    let (hybrid, network) = (run(Method::Hybrid(HybridSettings::default())), run(untold()));
    // Sums of many entries are rounded in the order of the cuts in memory.
    let differs = |step: usize| (hybrid[step] - network[step]).abs() > 1e-9 * hybrid[step].abs();
    assert_eq!((0..=103).find(|&step| differs(step)), Some(101), "{hybrid:?} {network:?}");
}

/// On functions like those of the training `hybrid` takes the steps of the network, and leaves it when its guard says so.
#[test]
fn hybrid_takes_the_steps_of_the_network_on_known_functions() {
    for family in [Family::Ga10x100, Family::Ga20x400, Family::McSml40] {
        let problem = problem(family, 1);
        let run = |method| values(&mut *problem.dual(), &method, 0.0, 20);
        assert_eq!(run(Method::Hybrid(HybridSettings::default())), run(untold()), "{family}");
    }
}

/// `sum_i |x_i - i|`, as an interval of the width that is wished for, at most 20. Counts evaluations at a point once more.
struct Vague {
    wish: f64,
    seen: HashMap<Vec<u64>, usize>,
}

impl Oracle for Vague {
    fn dim(&self) -> usize {
        12
    }

    fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        let distances = point.iter().zip(0..).map(|(entry, wanted)| entry - f64::from(wanted));
        subgradient.iter_mut().zip(distances.clone()).for_each(|(entry, distance)| *entry = distance.signum());
        Ok(distances.map(f64::abs).sum())
    }

    fn evaluate_within(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<Interval, OracleError> {
        *self.seen.entry(point.iter().map(|entry| entry.to_bits()).collect()).or_default() += 1;
        let value = self.evaluate(point, subgradient)?;
        Ok(Interval { cut: value, bound: value + self.wish.min(20.0) })
    }

    fn wish(&mut self, accuracy: f64) {
        self.wish = accuracy;
    }
}

/// If the oracle gives intervals, the centre is evaluated again, and its cut is no result of a proposal.
#[test]
fn networks_meet_inexact_oracles() {
    for max_cuts in [3, 1000] {
        let network = NetworkSettings { max_cuts, ..NetworkSettings::default() };
        let limits = Limits { steps: Some(200), ..Limits::default() };
        let settings = Settings { method: Method::Network(network), limits, ..Settings::default() };
        let mut oracle = Vague { wish: f64::INFINITY, seen: HashMap::new() };
        let solution = Solver::new(settings).unwrap().solve(&mut oracle).unwrap();
        assert!(oracle.seen.values().any(|&times| times > 1), "{max_cuts}");
        assert!((0.0..1.0).contains(&solution.value), "{max_cuts} {}", solution.value);
    }
}

#[test]
fn without_a_model_the_general_one_runs() {
    for family in Family::PAPER {
        let problem = problem(family, 0);
        let limits = Limits { steps: Some(100), ..Limits::default() };
        let of = |method| {
            let solution = run(&problem, &Settings { method, limits: limits.clone(), ..Settings::default() });
            (solution.value, solution.network_seconds > 0.0)
        };
        let (network, is_network) = of(Method::Network(NetworkSettings::default()));
        let (exact, is_other) = of(Method::Bundle(BundleSettings::default()));
        assert!(is_network && !is_other);
        assert!((network - exact).abs() <= 0.05 * exact.abs(), "{family}: {network} {exact}");
    }
}
