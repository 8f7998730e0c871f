//! Every oracle satisfies the subgradient inequality. Its components add up to its value. It agrees with the
//! straightforward evaluation. Weak duality holds against brute force.

use bundlenet::{Domain, Function, Minorants, Oracle, Sense};
use bundlenet_problems::{Academic, AssignmentDual, Family, Generator, NetworkDesignDual};
use bundlenet_testing::enumeration::{best_assignment, cheapest_design};
use bundlenet_testing::reference::{PlainAssignmentDual, PlainNetworkDesignDual};
use bundlenet_testing::{cases, sample};
use proptest::prelude::*;

fn evaluate(oracle: &mut dyn Oracle, point: &[f64]) -> (f64, Vec<f64>) {
    let mut subgradient = vec![0.0; point.len()];
    let value = Function::new(oracle).unwrap().evaluate(point, &mut subgradient).unwrap();
    (value, subgradient)
}

/// `f(y) >= f(x) + g'(y - x)`, and the same with `x` and `y` exchanged. The tolerance allows for round-off.
fn assert_subgradient_inequality(oracle: &mut dyn Oracle, x: &[f64], y: &[f64]) {
    let (at_x, g_x) = evaluate(oracle, x);
    let (at_y, g_y) = evaluate(oracle, y);
    let slope = |g: &[f64]| -> f64 { g.iter().zip(x.iter().zip(y)).map(|(g, (x, y))| g * (y - x)).sum() };
    let size =
        |g: &[f64]| -> f64 { g.iter().zip(x.iter().zip(y)).map(|(g, (x, y))| g.abs() * (x.abs() + y.abs())).sum() };
    let tolerance = 1e-12 * (at_x.abs() + at_y.abs() + size(&g_x) + size(&g_y)).max(1.0);
    assert!(at_y >= at_x + slope(&g_x) - tolerance, "{at_y} < {at_x} + {}", slope(&g_x));
    assert!(at_x >= at_y - slope(&g_y) - tolerance, "{at_x} < {at_y} - {}", slope(&g_y));
}

/// The linear part and the components add up to the function, in value and in subgradient.
fn assert_components_add_up(oracle: &mut dyn Oracle, point: &[f64]) {
    let (value, subgradient) = evaluate(oracle, point);
    let mut minorants = Minorants::new();
    let mut function = Function::new(oracle).unwrap();
    let by_components = function.evaluate_components(point, &mut minorants).unwrap();
    let sign = function.sense().sign();
    let linear = oracle.as_sum().unwrap().linear().to_vec();
    let mut total: f64 = linear.iter().zip(point).map(|(l, x)| sign * l * x).sum();
    let mut gradient: Vec<f64> = linear.iter().map(|l| sign * l).collect();
    for component in 0..minorants.len() {
        total += minorants.values()[component];
        let (coordinates, entries) = minorants.subgradient(component);
        coordinates.iter().zip(entries).for_each(|(&at, entry)| gradient[at as usize] += entry);
    }
    let size: f64 = minorants.values().iter().map(|value| value.abs()).sum::<f64>().max(1.0);
    assert!((total - value).abs() <= 1e-12 * size, "{total} {value}");
    assert!((by_components - value).abs() <= 1e-12 * size, "{by_components} {value}");
    // Entries are small whole numbers or sums of a few demands.
    assert!(gradient.iter().zip(&subgradient).all(|(a, b)| (a - b).abs() <= 1e-9), "{gradient:?} {subgradient:?}");
}

proptest! {
    #![proptest_config(cases(600))]

    #[test]
    fn network_design(instance in sample::network(), seed in any::<u64>()) {
        let mut dual = NetworkDesignDual::new(&instance);
        let (x, y) = (sample::point(seed, dual.dim()), sample::point(!seed, dual.dim()));
        assert_subgradient_inequality(&mut dual, &x, &y);
        assert_components_add_up(&mut dual, &x);
        let (value, _) = evaluate(&mut dual, &x);
        let expected = PlainNetworkDesignDual::new(&instance).evaluate(&x, &mut vec![0.0; x.len()]);
        prop_assert!((-value - expected).abs() <= 1e-11 * expected.abs().max(1e3), "{} {expected}", -value);
    }

    #[test]
    fn generalised_assignment(instance in sample::assignment(), seed in any::<u64>()) {
        let mut dual = AssignmentDual::new(&instance);
        let (mut x, mut y) = (sample::point(seed, dual.dim()), sample::point(!seed, dual.dim()));
        let domain = dual.domain();
        domain.project(&mut x);
        domain.project(&mut y);
        prop_assert_eq!(domain == Domain::Nonnegative, instance.sense() == Sense::Maximize);
        assert_subgradient_inequality(&mut dual, &x, &y);
        assert_components_add_up(&mut dual, &x);
        let sign = dual.sense().sign();
        let (value, _) = evaluate(&mut dual, &x);
        let expected = PlainAssignmentDual::new(&instance).evaluate(&x, &mut vec![0.0; x.len()]);
        prop_assert!((sign * value - expected).abs() <= 1e-11 * expected.abs().max(1e2), "{} {expected}", sign * value);
    }

    #[test]
    fn academic_functions(seed in any::<u64>(), scale in 0.01..3.0_f64) {
        for mut function in Academic::ALL {
            let mut x = sample::point(seed, function.dim());
            let mut y = sample::point(!seed, function.dim());
            x.iter_mut().chain(&mut y).for_each(|entry| *entry *= scale / 10.0);
            assert_subgradient_inequality(&mut function, &x, &y);
            prop_assert!(function.relative_gap(evaluate(&mut function, &x).0) >= -1e-9);
        }
    }
}

proptest! {
    #![proptest_config(cases(150))]

    /// The dual at any multipliers bounds the value of every feasible assignment: from above for profits, from below
    /// for costs.
    #[test]
    fn weak_duality_for_assignment(instance in sample::tiny_assignment(), seed in any::<u64>()) {
        if let Some(best) = best_assignment(&instance) {
            let mut dual = AssignmentDual::new(&instance);
            let mut point = sample::point(seed, instance.items());
            dual.domain().project(&mut point);
            let bound = dual.sense().sign() * evaluate(&mut dual, &point).0;
            let tolerance = 1e-9 * best.abs().max(1.0);
            let is_valid = match instance.sense() {
                Sense::Maximize => bound >= best - tolerance,
                Sense::Minimize => bound <= best + tolerance,
            };
            prop_assert!(is_valid, "{bound} {best}");
        }
    }
}

proptest! {
    #![proptest_config(cases(200))]

    /// Every design that routes all demands costs at least the dual at any multipliers.
    #[test]
    fn weak_duality_for_network_design(instance in sample::tiny_network(), seed in any::<u64>()) {
        if let Some(best) = cheapest_design(&instance) {
            let mut dual = NetworkDesignDual::new(&instance);
            for attempt in 0..5 {
                let point = sample::point(seed.wrapping_add(attempt), dual.dim());
                let bound = -evaluate(&mut dual, &point).0;
                prop_assert!(bound <= best + 1e-9, "bound {bound} exceeds the optimum {best}");
            }
        }
    }
}

#[test]
fn the_dual_of_network_design_is_zero_at_zero() {
    let generated = Generator::new(Family::McSml40, 3).instance(0).unwrap();
    let mut dual = generated.problem.dual();
    let origin = vec![0.0; dual.dim()];
    assert_eq!(evaluate(&mut *dual, &origin).0, 0.0);
}
