//! Optima: published ones, or those of long runs, which are kept in a file of the target folder.

use std::path::PathBuf;

use bundlenet::{AutoSettings, BundleSettings, Cuts, Limits, Method, Oracle, Settings, Solver, Status};
use bundlenet_linalg::Stream;
use bundlenet_testing::foreign::{Instance, Price};
use bundlenet_testing::sources::workspace;
use serde_json::{Map, Value, json};

/// Estimated gap at which a long run ends.
const TOLERANCE: f64 = 1e-9;
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

/// An optimum, and where it is.
#[derive(Clone, Copy)]
pub(crate) struct Optimum {
    pub(crate) value: f64,
    /// Largest distance of a coordinate of an optimal point from the start.
    pub(crate) reach: f64,
    /// Estimated gap of the run that found it.
    estimate: f64,
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// The best result of long runs, up to one that ends with its stop test.
fn compute(instance: &Instance) -> Optimum {
    let bundle = |cuts| Method::Bundle(BundleSettings { cuts, ..BundleSettings::default() });
    let methods = [bundle(Cuts::Component), bundle(Cuts::Aggregated), Method::Auto(AutoSettings::default())];
    let mut oracle = instance.oracle(Price::Dear);
    let sign = oracle.sense().sign();
    let start = instance.start();
    let first = oracle.evaluate(&start, &mut vec![0.0; start.len()]).unwrap();
    let tolerance = TOLERANCE * instance.gap_unit(first).min(1.0);
    let mut best = Optimum { value: sign * f64::INFINITY, reach: 0.0, estimate: f64::INFINITY };
    for method in methods {
        let limits = Limits { seconds: Some(SECONDS), ..Limits::default() };
        let settings = Settings { method, limits, tolerance, ..Settings::default() };
        let solution = Solver::new(settings).unwrap().start(&start).solve(&mut oracle).unwrap();
        if sign * solution.value < sign * best.value {
            let estimate = solution.estimate.unwrap_or(f64::INFINITY) / instance.gap_unit(solution.value).min(1.0);
            best = Optimum { value: solution.value, reach: distance(&start, &solution.point), estimate };
        }
        if solution.status == Status::Optimal {
            break;
        }
    }
    best
}

/// The optimum of an instance: the published one, if there is one.
pub(crate) fn optimum(instance: &Instance) -> Optimum {
    let read = || -> Option<Map<String, Value>> { serde_json::from_str(&std::fs::read_to_string(file()).ok()?).ok() };
    let sample = sample(instance);
    let kept = || -> Option<Optimum> {
        let known = read()?.get(&instance.name).filter(|known| known["sample"] == sample)?.clone();
        let number = |field: &str| known[field].as_f64();
        Some(Optimum { value: number("value")?, reach: number("reach")?, estimate: number("estimate")? })
    };
    if let Some(kept) = kept() {
        return kept;
    }
    let mut optimum = compute(instance);
    let Optimum { value, reach, estimate } = optimum;
    eprintln!("{}: optimum {value:.10e}, estimated gap {estimate:.1e}, distance {reach:.1e}", instance.name);
    if let Some(published) = instance.optimum {
        let gap = (value - published).abs() / instance.gap_unit(published);
        eprintln!("{}: published {published:.10e}, gap {gap:.1e}", instance.name);
        optimum.value = published;
    }
    let mut all = read().unwrap_or_default();
    let record = json!({ "sample": sample, "value": optimum.value, "reach": reach, "estimate": estimate });
    all.insert(instance.name.clone(), record);
    std::fs::write(file(), serde_json::to_string_pretty(&all).unwrap()).unwrap();
    optimum
}
