//! The knapsack solvers against brute force and against the straightforward algorithms.

use bundlenet_problems::{BinaryKnapsack, ContinuousKnapsack};
use bundlenet_testing::reference::{SortedKnapsack, TableKnapsack};
use bundlenet_testing::{cases, sample, stream};
use proptest::prelude::*;

/// The greatest profit over all subsets.
fn brute_force(profits: &[f64], weights: &[u32], capacity: u32) -> f64 {
    (0..1_u32 << profits.len())
        .filter_map(|subset| {
            let chosen = || (0..profits.len()).filter(|item| subset >> item & 1 == 1);
            let weight: u64 = chosen().map(|item| u64::from(weights[item])).sum();
            (weight <= u64::from(capacity)).then(|| chosen().map(|item| profits[item]).sum::<f64>())
        })
        .fold(0.0, f64::max)
}

/// Solves, checks that the chosen items have the value returned, and returns it.
fn solve(knapsack: &mut BinaryKnapsack, profits: &[f64], weights: &[u32], capacity: u32) -> f64 {
    let value = knapsack.solve(profits, weights, capacity).unwrap();
    let chosen = knapsack.chosen();
    assert!(chosen.windows(2).all(|pair| pair[0] < pair[1]), "{chosen:?} is not ascending");
    let weight: u64 = chosen.iter().map(|&item| u64::from(weights[item as usize])).sum();
    assert!(weight <= u64::from(capacity), "{chosen:?} weighs {weight}, capacity {capacity}");
    let profit: f64 = chosen.iter().map(|&item| profits[item as usize]).sum();
    assert_eq!(profit, value);
    assert!(chosen.iter().all(|&item| profits[item as usize] > 0.0), "an item without profit is chosen");
    value
}

/// Sums of the same profits in another order differ by round-off.
fn assert_equal(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-12 * expected.abs().max(1.0), "found {found}, expected {expected}");
}

/// Profits: small whole numbers with many ties, zeros, negative and real numbers.
fn profit() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => (-3_i32..8).prop_map(f64::from),
        4 => -100.0..300.0_f64,
        1 => Just(0.0),
        1 => (1_i32..4).prop_map(|n| f64::from(n) * 0.1),
    ]
}

/// Costs: small whole numbers with many ties, or real numbers.
fn cost() -> impl Strategy<Value = f64> {
    prop_oneof![(-6_i32..3).prop_map(f64::from), -9.0..3.0_f64]
}

fn items(
    count: impl Into<prop::collection::SizeRange>,
    weight: std::ops::Range<u32>,
) -> impl Strategy<Value = (Vec<f64>, Vec<u32>)> {
    prop::collection::vec((profit(), weight), count).prop_map(|items| items.into_iter().unzip())
}

proptest! {
    #![proptest_config(cases(4000))]

    #[test]
    fn binary_equals_brute_force((profits, weights) in items(0..13, 0..12), capacity in 0_u32..40) {
        let mut knapsack = BinaryKnapsack::new(profits.len(), capacity);
        let found = solve(&mut knapsack, &profits, &weights, capacity);
        assert_equal(found, brute_force(&profits, &weights, capacity));
    }

    /// Profits in proportion to weights: the bounds exclude no item.
    #[test]
    fn binary_equals_brute_force_on_subset_sums(
        weights in prop::collection::vec(1_u32..30, 1..13),
        capacity in 1_u32..120,
    ) {
        let profits: Vec<f64> = weights.iter().map(|&weight| f64::from(weight) * 0.7).collect();
        let mut knapsack = BinaryKnapsack::new(profits.len(), capacity);
        let found = solve(&mut knapsack, &profits, &weights, capacity);
        assert_equal(found, brute_force(&profits, &weights, capacity));
    }

    /// Capacities too large for a table: branch and bound.
    #[test]
    fn branch_and_bound_equals_brute_force(
        (profits, weights) in items(1..13, 1..2_000_000_000),
        share in 0.05..0.95_f64,
    ) {
        let total: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
        let capacity = u32::try_from((total as f64 * share) as u64).unwrap_or(u32::MAX);
        let mut knapsack = BinaryKnapsack::new(profits.len(), capacity);
        let found = solve(&mut knapsack, &profits, &weights, capacity);
        assert_equal(found, brute_force(&profits, &weights, capacity));
    }
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn binary_equals_the_table((profits, weights) in items(1..150, 0..40), capacity in 1_u32..400) {
        let mut knapsack = BinaryKnapsack::new(profits.len(), capacity);
        let mut table = TableKnapsack::new(profits.len(), capacity as usize);
        let expected = table.solve(&profits, &weights, capacity as usize, &mut vec![]);
        // Twice: the second call reuses the buffers of the first.
        for _ in 0..2 {
            assert_equal(solve(&mut knapsack, &profits, &weights, capacity), expected);
        }
    }

    #[test]
    fn continuous_equals_sorting(
        items in prop::collection::vec((cost(), 0.0..9.0_f64), 0..90),
        share in 0.0..1.2_f64,
    ) {
        let (costs, limits): (Vec<f64>, Vec<f64>) = items.into_iter().unzip();
        let capacity = share * limits.iter().sum::<f64>();
        let (mut amounts, mut other) = (vec![f64::NAN; costs.len()], vec![0.0; costs.len()]);
        let found = ContinuousKnapsack::new(costs.len()).solve(&costs, &limits, capacity, &mut amounts);
        let expected = SortedKnapsack::new(costs.len()).solve(&costs, &limits, capacity, &mut other);
        assert_equal(found, expected);
        let used: f64 = amounts.iter().sum();
        prop_assert!(used <= capacity * (1.0 + 1e-14) + 1e-14, "{used} exceeds {capacity}");
        prop_assert!(amounts.iter().zip(&limits).all(|(amount, limit)| (0.0..=*limit).contains(amount)));
    }
}

#[test]
fn continuous_equals_brute_force_on_vertices() {
    // A vertex fills a subset of items, and at most one more item in part. Try every such pair.
    let mut stream = stream(7);
    let mut draw = |count: usize| stream.below(count) as f64;
    for _ in 0..3000 {
        let count = 1 + draw(7) as usize;
        let costs: Vec<f64> = (0..count).map(|_| draw(9) - 6.0).collect();
        let limits: Vec<f64> = (0..count).map(|_| draw(5)).collect();
        let capacity = draw(12);
        let mut best = 0.0_f64;
        for subset in 0..1_usize << count {
            let full = |item: usize| subset >> item & 1 == 1;
            let (used, value) = (0..count)
                .filter(|&item| full(item))
                .fold((0.0, 0.0), |(used, value), item| (used + limits[item], value + costs[item] * limits[item]));
            if used <= capacity {
                best = best.min(value);
                for item in (0..count).filter(|&item| !full(item)) {
                    best = best.min(value + costs[item] * limits[item].min(capacity - used));
                }
            }
        }
        let found = ContinuousKnapsack::new(count).solve(&costs, &limits, capacity, &mut vec![0.0; count]);
        assert_eq!(found, best, "{costs:?} {limits:?} {capacity}");
    }
}

#[test]
fn extreme_knapsacks() {
    let mut knapsack = BinaryKnapsack::new(4, 10);
    assert_eq!(solve(&mut knapsack, &[], &[], 10), 0.0);
    assert_eq!(solve(&mut knapsack, &[-1.0, 0.0], &[1, 1], 10), 0.0);
    assert_eq!(solve(&mut knapsack, &[5.0, 7.0], &[11, 12], 10), 0.0);
    assert_eq!(solve(&mut knapsack, &[5.0, 7.0], &[0, 11], 0), 5.0);
    assert_eq!(solve(&mut knapsack, &[5.0, 7.0, 1.0], &[u32::MAX, 5, 5], 10), 8.0);
    assert_eq!(solve(&mut knapsack, &[1e-300, 1e300, 1.0], &[3, 9, 9], 10), 1e300);
    // Equal items: every choice of three is optimal.
    assert_eq!(solve(&mut knapsack, &[2.0; 4], &[3; 4], 10), 6.0);
}

#[test]
fn a_ratio_that_rounds_to_zero_is_no_reason_to_choose_nothing() {
    let mut knapsack = BinaryKnapsack::new(2, 3);
    assert_eq!(solve(&mut knapsack, &[10.0, 5e-324], &[1, 3], 3), 10.0);
}

#[test]
fn large_capacities_with_a_common_divisor_fit_a_table() {
    // Without the divisor, branch and bound would try all choices of 18 out of 36.
    let mut knapsack = BinaryKnapsack::new(36, 37_999_999);
    assert_eq!(solve(&mut knapsack, &[1.0; 36], &[2_000_000; 36], 37_999_999), 18.0);
}

#[test]
fn a_hopeless_knapsack_is_an_error_and_not_an_endless_search() {
    let (profits, weights, capacity) = sample::hopeless_knapsack();
    let mut knapsack = BinaryKnapsack::new(profits.len(), u32::MAX);
    assert!(knapsack.solve(&profits, &weights, capacity).is_err());
}
