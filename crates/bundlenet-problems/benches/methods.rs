//! The cost of a step of a method, beside the oracle call in it.
//!
//! ```text
//! cargo bench --bench methods
//! ```
//!
//! Runs of 100 steps on one thread alternate with the bare oracle, evaluated at the points of the run. The overhead is the
//! additional time of the run over the oracle's time.

use std::time::Instant;

use bundlenet::{BundleSettings, Cuts, Limits, Method, Settings, Solver, StepSettings};
use bundlenet_problems::{Family, Generator, Problem};
use bundlenet_testing::trial::cases;
use bundlenet_testing::visits::{beside_bare, visited};

fn bench(name: &str, problem: &Problem, method: Method, bar: &str) {
    let method_name = method.name();
    let limits = Limits { steps: Some(100), ..Limits::default() };
    let settings = Settings { method, limits, ..Settings::default() };
    let calls = visited(&mut *problem.dual(), &settings).len() as f64;
    let [run, bare, master] = beside_bare(&mut *problem.dual(), &settings, 30, |solution| solution.master_seconds);
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
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        println!(
            "{:<28} {:>8} {:>7} {:>7} {:>7} {:>10}   bar",
            "microseconds per step", "method", "step", "oracle", "master", "overhead"
        );
        for (family, bar) in cases([
            (Family::McSml40, "at most 1"),
            (Family::McBig40, ""),
            (Family::Ga10x100, ""),
            (Family::Ga20x400, "at most 0.2"),
        ]) {
            let problem = Generator::new(family, 1).instance(0).unwrap().problem;
            let bundle = BundleSettings { cuts: Cuts::Aggregated, ..BundleSettings::default() };
            bench(family.name(), &problem, Method::Bundle(bundle), bar);
            bench(family.name(), &problem, Method::Descent(StepSettings::default()), "");
            bench(family.name(), &problem, Method::Adam(StepSettings::default()), "");
        }
        for family in cases([Family::McSml40, Family::McBig40, Family::Ga10x100, Family::Ga20x400]) {
            let problem = Generator::new(family, 1).instance(0).unwrap().problem;
            bench_to_the_end(family.name(), &problem);
        }
    });
}
