//! The cost of a step of a method, beside the oracle call in it.
//!
//! ```text
//! cargo bench --bench methods
//! ```
//!
//! Runs of 100 steps on one thread alternate with the bare oracle, evaluated at the points of the run. The overhead is the
//! additional time of the run over the oracle's time.

use std::hint::black_box;
use std::time::Instant;

use bundlenet::{BundleSettings, Cuts, FnOracle, Limits, Method, Settings, Solver, StepSettings};
use bundlenet_problems::{Family, Generator, Problem};

/// The points that a run evaluates.
fn points(problem: &Problem, settings: &Settings) -> Vec<Vec<f64>> {
    let mut dual = problem.dual();
    let (dim, domain, sense) = (dual.dim(), dual.domain(), dual.sense());
    let mut visited = vec![];
    let mut recording = FnOracle::new(dim, |point: &[f64], subgradient: &mut [f64]| {
        visited.push(point.to_vec());
        dual.evaluate(point, subgradient)
    })
    .with_domain(domain)
    .with_sense(sense);
    Solver::new(settings.clone()).unwrap().solve(&mut recording).unwrap();
    visited
}

fn bench(name: &str, problem: &Problem, method: Method, bar: &str) {
    let method_name = method.name();
    let limits = Limits { steps: Some(100), ..Limits::default() };
    let settings = Settings { method, limits, ..Settings::default() };
    let visited = points(problem, &settings);
    let mut dual = problem.dual();
    let mut subgradient = vec![0.0; dual.dim()];
    let (mut run, mut bare, mut master) = (f64::INFINITY, f64::INFINITY, f64::INFINITY);
    for _ in 0..30 {
        let begin = Instant::now();
        let solution = Solver::new(settings.clone()).unwrap().solve(&mut *dual).unwrap();
        run = run.min(begin.elapsed().as_secs_f64());
        master = master.min(solution.master_seconds);
        let begin = Instant::now();
        for point in &visited {
            black_box(dual.evaluate(black_box(point), &mut subgradient).unwrap());
        }
        bare = bare.min(begin.elapsed().as_secs_f64());
    }
    let calls = visited.len() as f64;
    println!(
        "{name:<28} {method_name:>8} {:>7.2} {:>7.2} {:>7.2} {:>8.2} x   {bar}",
        run / calls * 1e6,
        bare / calls * 1e6,
        master / calls * 1e6,
        (run - bare) / bare
    );
}

/// Seconds and steps of whole solves to the default tolerance.
fn bench_to_the_end(name: &str, problem: &Problem) {
    let mut best = f64::INFINITY;
    let mut steps = 0;
    for _ in 0..5 {
        let begin = Instant::now();
        let solution = Solver::new(Settings::default()).unwrap().solve(&mut *problem.dual()).unwrap();
        best = best.min(begin.elapsed().as_secs_f64());
        steps = solution.steps;
    }
    println!("{name:<28} solved to 1e-7 in {:.2} ms, {steps} steps", best * 1e3);
}

fn main() {
    // `cargo test --benches` runs this too, only to see that it starts.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        println!(
            "{:<28} {:>8} {:>7} {:>7} {:>7} {:>10}   bar",
            "microseconds per step", "method", "step", "oracle", "master", "overhead"
        );
        for (family, bar) in [
            (Family::McSml40, "at most 1"),
            (Family::McBig40, ""),
            (Family::Ga10x100, ""),
            (Family::Ga20x400, "at most 0.2"),
        ] {
            let problem = Generator::new(family, 1).instance(0).unwrap().problem;
            let bundle = BundleSettings { cuts: Cuts::Aggregated, ..BundleSettings::default() };
            bench(family.name(), &problem, Method::Bundle(bundle), bar);
            bench(family.name(), &problem, Method::Descent(StepSettings::default()), "");
            bench(family.name(), &problem, Method::Adam(StepSettings::default()), "");
        }
        for family in [Family::McSml40, Family::McBig40, Family::Ga10x100, Family::Ga20x400] {
            let problem = Generator::new(family, 1).instance(0).unwrap().problem;
            bench_to_the_end(family.name(), &problem);
        }
    });
}
