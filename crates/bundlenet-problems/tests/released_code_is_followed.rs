//! The example `released_code`: its two rules on functions whose steps are known.

use bundlenet::FnOracle;

#[path = "../examples/released_code.rs"]
#[allow(dead_code, reason = "the program is not called")]
mod example;

/// The step of descent is never halved, and Adam moves by the learning rate whatever the slope. So both reach the kink of
/// `slope |x - 30|` after 30 steps of length 1. The evaluation at the start counts.
#[test]
fn steps_keep_their_length() {
    for slope in [0.5, 40.0] {
        for (_, rule) in example::RULES {
            let mut oracle = FnOracle::new(1, |point: &[f64], subgradient: &mut [f64]| {
                subgradient[0] = slope * (point[0] - 30.0).signum();
                Ok(1.0 + slope * (point[0] - 30.0).abs())
            });
            let gaps = example::gaps(&mut oracle, rule, 1.0, 1.0).unwrap();
            let expected = [21.0, 6.0, 0.0, 0.0].map(|steps| 100.0 * slope * steps);
            assert!(
                gaps.iter().zip(expected).all(|(gap, wanted)| (gap - wanted).abs() <= 1e-6 * (1.0 + wanted) + 1e-2),
                "{slope}: {gaps:?}"
            );
        }
    }
}
