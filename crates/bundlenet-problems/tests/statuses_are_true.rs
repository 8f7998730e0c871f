//! A small campaign of random runs. Every status, certificate and ray is checked against the truth. The bench `campaign`
//! is the long one.

use bundlenet_testing::campaign::{Kind, Plan, campaign};
use bundlenet_testing::cases;
use proptest::test_runner::RngSeed;

#[test]
fn statuses_are_true() {
    let config = cases(600);
    let RngSeed::Fixed(seed) = config.rng_seed else { panic!("the seed is fixed") };
    // Without a limit of time the same seed gives the same runs.
    let plan = Plan { seed, runs: config.cases as usize, steps: 500, seconds: None, only: None, case: None };
    let tally = campaign(&plan, |fault| println!("{}, {}: {}", fault.kind, fault.method, fault.about));
    println!("{tally}");
    assert!(tally.runs() >= plan.runs);
    assert_eq!(tally.errors().count(), 0, "faults are listed above");
    // These methods lengthen their steps without limit: they find every unbounded function soon.
    let is_late = |kind| matches!(kind, Kind::NotFound | Kind::LateUnbounded);
    let finds_soon = |method| ["auto", "component", "aggregated", "hybrid"].contains(&method);
    assert!(!tally.faults.iter().any(|fault| is_late(fault.kind) && finds_soon(fault.method)));
}

/// Cases of the campaign that once had faults.
#[test]
fn past_faults_stay_fixed() {
    for (case, name) in [
        (126, "a component master whose weights led nowhere: stalled"),
        (209, "a bend beyond the far point of the test for rays: false unbounded"),
        (220, "a tiny step after one that was too long: converged too early"),
    ] {
        let plan = Plan { seed: 0, runs: 1, steps: 500, seconds: None, only: None, case: Some(case) };
        let tally = campaign(&plan, |_| ());
        let is_exact = |method| ["auto", "component", "aggregated", "hybrid"].contains(&method);
        let faults: Vec<_> =
            tally.faults.iter().filter(|fault| fault.kind.is_error() || is_exact(fault.method)).collect();
        assert!(faults.is_empty(), "{name}: {faults:?}");
    }
}
