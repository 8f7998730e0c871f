//! Optima: published ones, or those of long runs, which are kept in a file of the target folder.

use std::path::PathBuf;

use bundlenet::{AutoSettings, BundleSettings, Cuts, Limits, Method, Oracle, Settings, Solver, Status};
use bundlenet_linalg::Stream;
use bundlenet_testing::foreign::{Instance, Price};
use bundlenet_testing::sources::workspace;
use serde_json::{Map, Value, json};

/// Seconds of each long run.
const SECONDS: f64 = 30.0;

fn file() -> PathBuf {
    workspace().join("target").join("generality-optima.json")
}

/// The value at a random point, which tells whether an instance has changed.
fn sample(instance: &Instance) -> f64 {
    let mut oracle = instance.oracle(Price::Dear);
    let mut stream = Stream::new(5, "sample", 0);
    let point: Vec<f64> = (0..oracle.dim()).map(|_| stream.symmetric().abs()).collect();
    oracle.evaluate(&point, &mut vec![0.0; point.len()]).unwrap()
}

/// The best value of long runs, and whether one of them ended with its stop test.
fn compute(instance: &Instance) -> (f64, bool) {
    let bundle = |cuts| Method::Bundle(BundleSettings { cuts, ..BundleSettings::default() });
    let methods = [bundle(Cuts::Component), bundle(Cuts::Aggregated), Method::Auto(AutoSettings::default())];
    let mut oracle = instance.oracle(Price::Dear);
    let sign = oracle.sense().sign();
    let origin = vec![0.0; oracle.dim()];
    let start = instance.start.as_deref().unwrap_or(&origin);
    let first = oracle.evaluate(start, &mut vec![0.0; start.len()]).unwrap();
    let mut best = f64::INFINITY;
    for method in methods {
        let limits = Limits { seconds: Some(SECONDS), ..Limits::default() };
        let tolerance = 1e-10 * first.abs().clamp(1e-300, 1.0);
        let settings = Settings { method, limits, tolerance, ..Settings::default() };
        let solution = Solver::new(settings).unwrap().start(start).solve(&mut oracle).unwrap();
        best = best.min(sign * solution.value);
        if solution.status == Status::Optimal {
            return (sign * best, true);
        }
    }
    (sign * best, false)
}

/// The optimum of an instance.
pub(crate) fn optimum(instance: &Instance) -> f64 {
    if let Some(optimum) = instance.optimum {
        return optimum;
    }
    let read = || -> Option<Map<String, Value>> { serde_json::from_str(&std::fs::read_to_string(file()).ok()?).ok() };
    let sample = sample(instance);
    if let Some(known) = read().and_then(|known| known.get(&instance.name).cloned()) {
        if known["sample"] == json!(sample) {
            return known["optimum"].as_f64().unwrap();
        }
    }
    let (optimum, is_proved) = compute(instance);
    println!("{}: optimum {optimum:.10e}{}", instance.name, if is_proved { "" } else { ", NOT to the stop test" });
    let mut all = read().unwrap_or_default();
    all.insert(instance.name.clone(), json!({ "sample": sample, "optimum": optimum, "is_proved": is_proved }));
    std::fs::write(file(), serde_json::to_string_pretty(&all).unwrap()).unwrap();
    optimum
}
