//! The example `rule`: its generations move towards better numbers, and its result is a model.

use bundlenet::Model;
use bundlenet::train::{LearnedRule, with_rule};
use bundlenet_linalg::Stream;

#[path = "../examples/rule.rs"]
#[allow(dead_code, reason = "the program is not called")]
mod example;

#[test]
fn generations_move_towards_better_numbers() {
    let wanted: [f64; 13] = std::array::from_fn(|at| 0.1 * at as f64);
    let distance = |numbers: &[f64; 13]| numbers.iter().zip(wanted).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
    let (mut mean, mut deviations, mut stream) = ([0.0; 13], [0.3; 13], Stream::new(0, "test", 0));
    let before = distance(&mean);
    for _ in 0..40 {
        example::advance((&mut mean, &mut deviations), &mut stream, |numbers| Ok(distance(numbers))).unwrap();
    }
    assert!(distance(&mean) < 0.05 * before, "{before} {} {mean:?}", distance(&mean));
    assert!(deviations.iter().all(|deviation| *deviation < 0.3), "{deviations:?}");
}

#[test]
fn a_rule_belongs_to_a_guard() {
    let general = Model::general();
    let rule = LearnedRule { coefficients: [0.25; 12], follow: 0.5 };
    let changed = with_rule(&general, &rule).unwrap();
    assert_eq!(changed.guard_rule(), Some(rule));
    assert_eq!(with_rule(&changed, &general.guard_rule().unwrap()).unwrap(), *general);
    let plain = Model::load(bundlenet_testing::sources::workspace().join("models/mc-sml-40.safetensors")).unwrap();
    assert_eq!(plain.guard_rule(), None);
    assert!(with_rule(&plain, &rule).is_err());
    for wrong in [LearnedRule { follow: -1.0, ..rule }, LearnedRule { coefficients: [f64::NAN; 12], ..rule }] {
        assert!(with_rule(&general, &wrong).is_err(), "{wrong:?}");
    }
}
