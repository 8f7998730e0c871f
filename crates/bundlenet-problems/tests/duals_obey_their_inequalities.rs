//! Every oracle satisfies the subgradient inequality. Its components add up to its value. It agrees with the
//! straightforward evaluation. Weak duality holds against brute force.

use bundlenet::{Domain, Oracle, Sense, check, check_points};
use bundlenet_problems::{Academic, AssignmentDual, FacilityLocationDual, Family, Generator, NetworkDesignDual};
use bundlenet_testing::enumeration::{best_assignment, cheapest_design, cheapest_plan};
use bundlenet_testing::inequalities::{assert_components_add_up, assert_subgradient_inequality, evaluate};
use bundlenet_testing::reference::{PlainAssignmentDual, PlainFacilityLocationDual, PlainNetworkDesignDual};
use bundlenet_testing::{cases, sample};
use proptest::prelude::*;

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
    fn facility_location(instance in sample::location(), seed in any::<u64>(), scale in 0.1..8.0_f64) {
        let mut dual = FacilityLocationDual::new(&instance);
        let (mut x, mut y) = (sample::point(seed, dual.dim()), sample::point(!seed, dual.dim()));
        x.iter_mut().chain(&mut y).for_each(|entry| *entry *= scale);
        assert_subgradient_inequality(&mut dual, &x, &y);
        assert_components_add_up(&mut dual, &x);
        let (value, _) = evaluate(&mut dual, &x);
        let expected = PlainFacilityLocationDual::new(&instance).evaluate(&x, &mut vec![0.0; x.len()]);
        prop_assert!((-value - expected).abs() <= 1e-11 * expected.abs().max(1e3), "{} {expected}", -value);
    }

    #[test]
    fn academic_functions(seed in any::<u64>(), scale in 0.01..3.0_f64) {
        for mut function in Academic::ALL.into_iter().chain(Academic::of_dimension(23)) {
            let mut x = sample::point(seed, function.dim());
            let mut y = sample::point(!seed, function.dim());
            x.iter_mut().chain(&mut y).for_each(|entry| *entry *= scale / 10.0);
            assert_subgradient_inequality(&mut function, &x, &y);
            if function.as_sum().is_some() {
                assert_components_add_up(&mut function, &x);
            }
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

proptest! {
    #![proptest_config(cases(200))]

    /// Every plan costs at least the dual at any multipliers.
    #[test]
    fn weak_duality_for_facility_location(instance in sample::tiny_location(), seed in any::<u64>()) {
        if let Some(best) = cheapest_plan(&instance) {
            let mut dual = FacilityLocationDual::new(&instance);
            for attempt in 0..5 {
                let point = sample::point(seed.wrapping_add(attempt), dual.dim());
                let bound = -evaluate(&mut dual, &point).0;
                prop_assert!(bound <= best + 1e-9, "bound {bound} exceeds the optimum {best}");
            }
        }
    }
}

/// `check` finds no violation in any dual that the library has: generated instances, and the academic functions.
#[test]
fn the_check_passes_all_duals() {
    let pass = |oracle: &mut dyn Oracle, name: &str, size: f64, seed: u64| {
        let mut points = check_points(oracle, 20, seed);
        points.iter_mut().flatten().for_each(|entry| *entry *= size);
        let result = check(oracle, &points).unwrap();
        assert!(result.is_ok(), "{name} {seed}: {result}");
    };
    for family in Family::ALL {
        for index in 0..3 {
            let problem = Generator::new(family, 11).instance(index).unwrap().problem;
            pass(&mut *problem.dual(), family.name(), 1.0, index as u64);
        }
    }
    for seed in 0..20 {
        for mut function in Academic::ALL.into_iter().chain(Academic::of_dimension(23)) {
            let name = format!("{function:?}");
            // Some of them are exponential.
            pass(&mut function, &name, 0.003, seed);
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
