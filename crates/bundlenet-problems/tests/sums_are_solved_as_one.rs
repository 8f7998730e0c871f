//! Random sums of maxima of lines: every granularity finds the same minimum, and proves no more than is true.

mod sums;

use bundlenet::{Granularity, Limits, Oracle, PruningSettings, Settings, Silent, Solution, Status, Tolerances, solve};
use sums::{Stream, Sum};

#[test]
fn every_granularity_finds_the_same_minimum() {
    let mut stream = Stream(11);
    for case in 0..400 {
        let mut sum = Sum::random(&mut stream);
        let start: Vec<f64> = (0..sum.dim()).map(|_| stream.normal().abs()).collect();
        let mut run = |cuts, pruning| -> Solution {
            let limits = Limits { steps: Some(3000), ..Limits::default() };
            let tolerances = Tolerances { gap: 1e-8 };
            let settings = Settings { limits, tolerances, cuts, pruning, ..Settings::default() }.check().unwrap();
            solve(&mut sum, Some(&start), &settings, &mut Silent, None).unwrap()
        };
        let tight = PruningSettings { max_cuts: 3, max_component_cuts: 3, lifetime: 1, max_bytes: 1_000_000 };
        let each = run(Granularity::Component, PruningSettings::default());
        assert_eq!(each.status, Status::Optimal, "case {case}");
        let others = [
            (Granularity::Auto, PruningSettings::default()),
            (Granularity::Groups(3), PruningSettings::default()),
            (Granularity::Aggregated, PruningSettings::default()),
            (Granularity::Component, tight.clone()),
            (Granularity::Groups(2), tight),
        ]
        .map(|(cuts, pruning)| run(cuts, pruning));
        let runs = [&each].into_iter().chain(&others);
        let least = runs.clone().map(|run| run.value).fold(f64::INFINITY, f64::min);
        for (index, run) in runs.enumerate() {
            let gap = (run.value - least) / run.value.abs().max(1.0);
            let certificate = run.certificate.unwrap();
            assert!(certificate >= gap - 1e-12, "case {case}, run {index}: proved {certificate:e}, true gap {gap:e}");
            // With three cuts for each component convergence may take longer than this.
            assert!(run.status == Status::Optimal || index > 3, "case {case}, run {index}: {:?}", run.status);
        }
    }
}
