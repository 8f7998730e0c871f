//! Sums of components: every method with an exact master finds the same minimum, and proves no more than is true.

use bundlenet::{
    AutoSettings, BundleSettings, Cuts, HybridSettings, Limits, Method, Oracle, Pruning, Settings, Solution, Solver,
    Status,
};
use bundlenet_problems::{Family, Generator};
use bundlenet_testing::stream;
use bundlenet_testing::sums::Sum;

fn bundle(cuts: Cuts, pruning: Pruning) -> Method {
    Method::Bundle(BundleSettings { cuts, pruning, ..BundleSettings::default() })
}

/// Small sums of maxima of lines. `hybrid` is the aggregated bundle method for so few variables, and left out.
#[test]
fn small_sums_have_the_same_minimum() {
    let mut stream = stream(11);
    for case in 0..400 {
        let mut sum = Sum::random(&mut stream);
        let start: Vec<f64> = (0..sum.dim()).map(|_| stream.normal().abs()).collect();
        let mut run = |method| -> Solution {
            let limits = Limits { steps: Some(3000), ..Limits::default() };
            let settings = Settings { method, limits, tolerance: 1e-8, ..Settings::default() };
            Solver::new(settings).unwrap().start(&start).solve(&mut sum).unwrap()
        };
        let tight = Pruning { max_cuts: 3, max_component_cuts: 3, lifetime: 1, max_bytes: 1_000_000 };
        let runs = [
            ("component", bundle(Cuts::Component, Pruning::default())),
            ("aggregated", bundle(Cuts::Aggregated, Pruning::default())),
            ("auto", Method::Auto(AutoSettings::default())),
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

#[test]
fn instances_have_the_same_minimum() {
    for (family, index) in [(Family::McSml40, 0), (Family::McSml40, 1), (Family::Ga10x100, 0), (Family::Ga10x100, 1)] {
        let problem = Generator::new(family, 9).instance(index).unwrap().problem;
        let exact = Solver::new(Settings::exact()).unwrap().solve(&mut *problem.dual()).unwrap();
        assert!(exact.certificate.unwrap() <= 1e-9);
        for (method, has_network, has_proof) in [
            (bundle(Cuts::Component, Pruning::default()), false, true),
            (bundle(Cuts::Aggregated, Pruning::default()), false, false),
            (Method::Auto(AutoSettings::default()), true, true),
            (Method::Hybrid(HybridSettings::default()), true, false),
        ] {
            let name = method.name();
            let solver = Solver::new(Settings { method, ..Settings::default() }).unwrap();
            let solution = solver.solve(&mut *problem.dual()).unwrap();
            // Cuts of the whole function prove nothing about network design.
            let is_proved = has_proof || family == Family::Ga10x100;
            let status = if is_proved { Status::Optimal } else { Status::Converged };
            assert_eq!((solution.status, solution.network_seconds > 0.0), (status, has_network), "{name}");
            let gap = (solution.value - exact.value).abs() / exact.value.abs();
            assert!(gap <= 1e-6, "{family} {name}: {gap:e}");
            // The exact optimum itself is within 1e-9.
            assert!(solution.certificate.is_none_or(|proved| proved >= gap - 2e-9), "{family} {name}: {gap:e}");
        }
    }
}
