//! The example of a branch and bound finds the optimum.

#[path = "../examples/branch_and_bound.rs"]
#[allow(dead_code, reason = "an example has a main function")]
mod example;

use bundlenet::Sense;
use bundlenet_problems::Assignment;
use bundlenet_testing::cases;
use proptest::prelude::*;

/// The best profit, by trying everything.
fn optimum(instance: &Assignment, item: usize, left: &mut [u32]) -> f64 {
    if item == instance.items() {
        return 0.0;
    }
    let mut best = optimum(instance, item + 1, left);
    for bin in 0..instance.bins() {
        let weight = instance.weights(bin)[item];
        if weight <= left[bin] {
            left[bin] -= weight;
            best = best.max(instance.profits(bin)[item] + optimum(instance, item + 1, left));
            left[bin] += weight;
        }
    }
    best
}

prop_compose! {
    fn instances()(bins in 1..4_usize, items in 1..8_usize)(
        capacities in prop::collection::vec(3..20_u32, bins),
        weights in prop::collection::vec(1..12_u32, bins * items),
        profits in prop::collection::vec(-3..30_i32, bins * items),
        items in Just(items),
    ) -> Assignment {
        let profits = profits.into_iter().map(f64::from).collect();
        Assignment::new(Sense::Maximize, items, capacities, profits, weights).unwrap()
    }
}

proptest! {
    #![proptest_config(cases(200))]
    #[test]
    fn small_ones_by_enumeration(instance in instances()) {
        let outcome = example::branch_and_bound(&instance).unwrap();
        prop_assert_eq!(outcome.profit, optimum(&instance, 0, &mut instance.capacities().to_vec()));
    }
}

/// The root alone does not solve it, and the tree is far smaller than complete enumeration.
#[test]
fn the_example_itself() {
    let outcome = example::branch_and_bound(&example::example().unwrap()).unwrap();
    println!("{} {} {}", outcome.profit, outcome.nodes, outcome.oracle_calls);
    assert!(outcome.nodes > 1 && outcome.nodes < 20_000, "{}", outcome.nodes);
}
