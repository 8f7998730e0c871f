//! The default beside the methods it is made of, on functions that no network was trained on: the academic functions, and the
//! public instances whose optimum is listed. Oracle calls and milliseconds to gaps of 1, 0.1 and 0.01 %, then geometric means.
//!
//! ```text
//! cargo bench --bench defaults
//! BUNDLENET_DATA=DIR cargo bench --bench defaults     # with the public instances in DIR
//! ```

use bundlenet::{
    AutoSettings, BundleSettings, Cuts, HybridSettings, Limits, Method, NetworkSettings, Oracle, Settings, Solution,
    Solver,
};
use bundlenet_problems::{Academic, Problem, ReadOptions};
use bundlenet_testing::public;
use bundlenet_testing::trial::{cases, is_trial};

const METHODS: [&str; 5] = ["aggregated", "component", "network", "hybrid", "auto"];
const GAPS: [f64; 3] = [1e-2, 1e-3, 1e-4];
/// Every run is repeated; the quickest counts, because other work on the machine only adds time.
const ROUNDS: usize = 3;
const SECONDS: f64 = 3.0;

fn method(name: &str) -> Method {
    let bundle = |cuts| Method::Bundle(BundleSettings { cuts, ..BundleSettings::default() });
    match name {
        "aggregated" => bundle(Cuts::Aggregated),
        "component" => bundle(Cuts::Component),
        "network" => Method::Network(NetworkSettings::default()),
        "hybrid" => Method::Hybrid(HybridSettings::default()),
        _ => Method::Auto(AutoSettings::default()),
    }
}

/// Steps and seconds to each gap.
type Reached = [Option<(usize, f64)>; 3];

fn reached(solution: &Solution, optimum: f64) -> Reached {
    GAPS.map(|gap| {
        let is_there = |best: f64| (best - optimum).abs() <= gap * optimum.abs().max(1.0);
        solution.trace.iter().find(|row| is_there(row.best)).map(|row| (row.step, row.seconds))
    })
}

fn measure(make: &dyn Fn() -> Box<dyn Oracle>, start: Option<&[f64]>, optimum: f64) -> Vec<Reached> {
    let of_method = |name: &&str| {
        let steps = if *name == "network" { 400 } else { 20_000 };
        let limits = Limits { steps: Some(steps), seconds: Some(SECONDS), ..Limits::default() };
        let settings = Settings { method: method(name), limits, tolerance: 1e-8, ..Settings::default() };
        let run = |_| {
            let solver = Solver::new(settings.clone()).unwrap();
            let solver = if let Some(start) = start { solver.start(start) } else { solver };
            reached(&solver.solve(&mut *make()).unwrap(), optimum)
        };
        (0..ROUNDS)
            .map(run)
            .reduce(|a, b| std::array::from_fn(|gap| a[gap].zip(b[gap]).map(|(a, b)| (a.0.min(b.0), a.1.min(b.1)))))
            .unwrap()
    };
    METHODS.iter().map(of_method).collect()
}

fn main() {
    let mut all: Vec<(String, Vec<Reached>)> = vec![];
    for function in cases(Academic::ALL) {
        let make = move || -> Box<dyn Oracle> { Box::new(function) };
        all.push((format!("{function:?}"), measure(&make, Some(&function.start()), function.optimum())));
    }
    if let Some(data) = public::data_if_present().filter(|_| !is_trial()) {
        let text = std::fs::read_to_string(data.join("exact-dual-values.json")).unwrap();
        let optima: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&text).unwrap();
        for (name, optimum) in &optima {
            let folders = ["gap", "canad", "network-design"].map(|folder| data.join(folder).join(name));
            let Some(path) = folders.into_iter().find(|path| path.exists()) else { continue };
            let problem = Problem::read(path, ReadOptions::default()).unwrap();
            let make = || -> Box<dyn Oracle> { problem.dual() };
            all.push((name.clone(), measure(&make, None, optimum.as_f64().unwrap())));
        }
    }
    for (name, methods) in &all {
        for (reached, method) in methods.iter().zip(METHODS) {
            let cell = |reached: &Option<(usize, f64)>| match reached {
                Some((steps, seconds)) => format!("{steps:>6} {:>9.2} ms", 1e3 * seconds),
                None => format!("{:>19}", "-"),
            };
            println!("{name:<10} {method:<11}{}", reached.iter().map(cell).collect::<String>());
        }
    }
    for (gap, percent) in GAPS.iter().map(|gap| 100.0 * gap).enumerate() {
        let mean = |ratios: Vec<f64>| {
            let worst = ratios.iter().copied().fold(0.0, f64::max);
            let sum: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
            format!("{:.2} (worst {worst:.2}, {} instances)", (sum / ratios.len() as f64).exp(), ratios.len())
        };
        let calls = all
            .iter()
            .filter_map(|(_, methods)| Some((methods[3][gap]?.0 + 1) as f64 / (methods[0][gap]?.0 + 1) as f64));
        let times = all.iter().filter_map(|(_, methods)| {
            let others = methods[..4].iter().filter_map(|reached| Some(reached[gap]?.1));
            Some(methods[4][gap]?.1 / others.reduce(f64::min)?)
        });
        println!("to {percent} %: calls of hybrid over aggregated {}", mean(calls.collect()));
        println!("to {percent} %: time of auto over the best of the others {}", mean(times.collect()));
    }
}
