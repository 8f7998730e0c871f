//! Random sums of maxima of lines: every method with exact masters finds the same minimum, and proves no more than is true.

use bundlenet::{AutoSettings, BundleSettings, Cuts, HybridSettings, Limits, Method, Oracle, Pruning, Settings};
use bundlenet::{Solution, Solver, Status};
use bundlenet_testing::stream;
use bundlenet_testing::sums::Sum;

#[test]
fn every_method_finds_the_same_minimum() {
    let mut stream = stream(11);
    for case in 0..400 {
        let mut sum = Sum::random(&mut stream);
        let start: Vec<f64> = (0..sum.dim()).map(|_| stream.normal().abs()).collect();
        let mut run = |method| -> Solution {
            let limits = Limits { steps: Some(3000), ..Limits::default() };
            let settings = Settings { method, limits, tolerance: 1e-8, ..Settings::default() };
            Solver::new(settings).unwrap().start(&start).solve(&mut sum).unwrap()
        };
        let bundle = |cuts, pruning| Method::Bundle(BundleSettings { cuts, pruning, ..BundleSettings::default() });
        let tight = Pruning { max_cuts: 3, max_component_cuts: 3, lifetime: 1, max_bytes: 1_000_000 };
        let runs = [
            ("component", bundle(Cuts::Component, Pruning::default())),
            ("aggregated", bundle(Cuts::Aggregated, Pruning::default())),
            ("auto", Method::Auto(AutoSettings::default())),
            ("hybrid", Method::Hybrid(HybridSettings::default())),
            ("component, few cuts", bundle(Cuts::Component, tight.clone())),
            ("aggregated, few cuts", bundle(Cuts::Aggregated, tight)),
        ]
        .map(|(name, method)| (name, run(method)));
        let least = runs.iter().map(|(_, run)| run.value).fold(f64::INFINITY, f64::min);
        for (name, run) in runs {
            let gap = (run.value - least) / run.value.abs().max(1.0);
            let certificate = run.certificate.unwrap();
            assert!(certificate >= gap - 1e-12, "case {case}, {name}: proved {certificate:e}, true gap {gap:e}");
            // With three cuts convergence may take more steps than the limit.
            let is_limited = run.status == Status::StepLimit && name.ends_with("few cuts");
            assert!(run.status == Status::Optimal || is_limited, "case {case}, {name}: {:?}", run.status);
        }
    }
}
