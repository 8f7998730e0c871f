//! The cost of a network beside the oracle, and the time of an epoch of training.
//!
//! ```text
//! cargo bench --bench networks
//! ```
//!
//! Runs of 100 steps on one thread alternate with the bare oracle at the points of the run. Then one epoch of the first stage of
//! training runs on all threads, beside its bare oracle calls on one thread.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use bundlenet::train::{
    DataSettings, EvolutionSettings, Example, GradientSettings, Loss, TrainSettings, Trainer, ValidationSettings,
};
use bundlenet::{Architecture, Limits, Method, Model, NetworkSettings, Settings, StepUnit};
use bundlenet_problems::{Family, Generator, Problem, example_of};
use bundlenet_testing::trial::{cases, is_trial};
use bundlenet_testing::visits::beside_bare;

fn bench(family: Family, name: &str, architecture: &Architecture, bar: &str) {
    let problem: Problem = Generator::new(family, 1).instance(0).unwrap().problem;
    let scale = if family == Family::Ga20x400 { 600.0 } else { 60.0 };
    let model = Model::untrained(
        &Architecture { step_scale: Some(scale), step_unit: StepUnit::One, ..architecture.clone() },
        1,
    );
    let limits = Limits { steps: Some(100), ..Limits::default() };
    let weights = model.weight_count();
    let network = NetworkSettings { model: Some(Arc::new(model)), ..NetworkSettings::default() };
    let settings = Settings { method: Method::Network(network), limits, ..Settings::default() };
    let [run, bare, network] = beside_bare(&mut *problem.dual(), &settings, 20, |solution| solution.network_seconds);
    println!(
        "{:<11} {name:<18} {weights:>8} {:>8.2} {:>8.2} {:>8.2} {:>7.2} x   {bar}",
        family.name(),
        run * 1e3,
        bare * 1e3,
        network * 1e3,
        (run - bare) / bare
    );
}

fn epoch(name: &str, architecture: &Architecture, bar: &str) {
    const BATCH: usize = 16;
    let count = if is_trial() { BATCH } else { 1000 };
    let generator = Generator::new(Family::McSml40, 1);
    let problems: Vec<Problem> = (0..count).map(|index| generator.instance(index).unwrap().problem).collect();
    let examples: Vec<Example> =
        problems.iter().enumerate().map(|(index, problem)| example_of(&index.to_string(), problem.clone())).collect();
    let updates = count / BATCH;
    let settings = TrainSettings {
        data: DataSettings { train: vec!["generated".to_string()], ..DataSettings::default() },
        network: architecture.clone(),
        gradient: GradientSettings { updates, batch: BATCH, loss: Loss::Paper, ..GradientSettings::default() },
        evolution: EvolutionSettings { generations: 0, ..EvolutionSettings::default() },
        validation: ValidationSettings { steps: vec![1], updates: usize::MAX, ..ValidationSettings::default() },
        ..TrainSettings::default()
    };
    let validation = vec![Example { optimum: Some(1.0), ..examples[0].clone() }];
    let mut trainer = Trainer::new(settings, examples, validation).unwrap();
    trainer.begin().unwrap();
    let begin = Instant::now();
    for _ in 0..updates {
        trainer.advance().unwrap();
    }
    let seconds = begin.elapsed().as_secs_f64() * count as f64 / (updates * BATCH) as f64;
    let mut subgradient = vec![0.0; problems[0].dual().dim()];
    let point = vec![1.0; subgradient.len()];
    let begin = Instant::now();
    for problem in &problems {
        let mut dual = problem.dual();
        for _ in 0..11 {
            black_box(dual.evaluate(black_box(&point), &mut subgradient).unwrap());
        }
    }
    let bare = begin.elapsed().as_secs_f64();
    println!("{name:<30} {seconds:>8.2} {bare:>8.2} {:>7.1} x   {bar}", seconds / bare);
}

fn main() {
    println!(
        "{:<30} {:>8} {:>8} {:>8} {:>8} {:>9}   bar for the run",
        "milliseconds for 100 steps", "weights", "run", "oracle", "network", "overhead"
    );
    let larger = Architecture { hidden: 32, decoder: 128, ..Architecture::default() };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        for (family, bar) in cases([(Family::McSml40, "at most 30"), (Family::Ga20x400, "at most 45")]) {
            bench(family, "paper, hidden 128", &Architecture::paper(), bar);
            bench(family, "hidden 32", &larger, "");
            bench(family, "default, hidden 8", &Architecture::default(), "");
        }
    });
    println!("\n{:<30} {:>8} {:>8} {:>9}", "seconds for an epoch", "epoch", "oracle", "ratio");
    epoch("1000 mc-sml-40, paper", &Architecture::paper(), "at most 5 on two cores");
    epoch("1000 mc-sml-40, default", &Architecture::default(), "at most 5 on two cores");
}
