//! Safe bounds against rational arithmetic, and against optima of tiny instances by enumeration.

use bundlenet::{Limits, Sense, Settings, Solver};
use bundlenet_problems::facility_location::Site;
use bundlenet_problems::network_design::{Arc, Commodity};
use bundlenet_problems::{
    Assignment, Element, FacilityLocation, Family, Generator, NetworkDesign, Problem, ReadOptions, SafeBound,
    UnsafeBound,
};
use bundlenet_testing::enumeration::{best_assignment, cheapest_design};
use bundlenet_testing::{cases, public, sample};
use num_rational::BigRational;
use proptest::prelude::*;

fn exactly(number: f64) -> BigRational {
    BigRational::from_float(number).unwrap()
}

fn zero() -> BigRational {
    exactly(0.0)
}

/// The dual by its formula, in rational numbers.
fn rational_dual(problem: &Problem, point: &[f64]) -> BigRational {
    let point: Vec<BigRational> = point.iter().map(|&number| exactly(number)).collect();
    match problem {
        Problem::NetworkDesign(instance) => network_design_dual(instance, &point),
        Problem::Assignment(instance) => assignment_dual(instance, &point),
        Problem::FacilityLocation(instance) => location_dual(instance, &point),
        Problem::UnitCommitment(_) => panic!("unit commitment has no safe bounds"),
    }
}

fn network_design_dual(instance: &NetworkDesign, point: &[BigRational]) -> BigRational {
    let at = |k: usize, node: usize| &point[k * instance.nodes() + node];
    let commodities = instance.commodities();
    let mut value = zero();
    for (k, commodity) in commodities.iter().enumerate() {
        value += exactly(commodity.demand) * (at(k, commodity.origin) - at(k, commodity.destination));
    }
    for (index, arc) in instance.arcs().iter().enumerate() {
        let mut costs: Vec<(BigRational, BigRational)> = (0..commodities.len())
            .filter(|&k| instance.is_usable(index, k))
            .map(|k| {
                let cost = exactly(instance.routing_costs(index)[k]) - at(k, arc.tail) + at(k, arc.head);
                (cost, exactly(commodities[k].demand))
            })
            .filter(|(cost, _)| *cost < zero())
            .collect();
        costs.sort();
        let (mut left, mut arc_value) = (exactly(arc.capacity), exactly(arc.fixed_cost));
        for (cost, demand) in costs {
            let amount = demand.min(left.clone());
            left -= &amount;
            arc_value += cost * amount;
        }
        value += arc_value.min(zero());
    }
    value
}

fn location_dual(instance: &FacilityLocation, point: &[BigRational]) -> BigRational {
    let mut value: BigRational = point.iter().sum();
    for (index, site) in instance.sites().iter().enumerate() {
        let reduced = |customer: usize| exactly(instance.costs(index)[customer]) - &point[customer];
        let mut total = exactly(site.fixed_cost);
        let mut paying: Vec<(BigRational, BigRational)> = vec![];
        for customer in (0..point.len()).filter(|&customer| reduced(customer) < zero()) {
            let demand = exactly(instance.demands()[customer]);
            if demand > zero() {
                paying.push((reduced(customer) / &demand, demand));
            } else {
                total += reduced(customer);
            }
        }
        paying.sort();
        let mut left = exactly(site.capacity.min(instance.total_demand()));
        for (rate, demand) in paying {
            let amount = demand.min(left.clone());
            left -= &amount;
            total += rate * amount;
        }
        value += total.min(zero());
    }
    value
}

fn assignment_dual(instance: &Assignment, point: &[BigRational]) -> BigRational {
    let mut value: BigRational = point.iter().sum();
    for bin in 0..instance.bins() {
        let sign = exactly(-instance.sense().sign());
        let profits = instance.profits(bin).iter().zip(point).map(|(&profit, price)| &sign * (exactly(profit) - price));
        let items: Vec<(BigRational, u32)> = profits.zip(instance.weights(bin).iter().copied()).collect();
        value += &sign * knapsack(&items, instance.capacities()[bin]);
    }
    value
}

/// By a table over the capacity, or by enumeration of subsets if there are few.
fn knapsack(items: &[(BigRational, u32)], capacity: u32) -> BigRational {
    let useful: Vec<&(BigRational, u32)> = items.iter().filter(|(profit, _)| *profit > zero()).collect();
    if useful.len() < 13 {
        let worth = |subset: u32| {
            let chosen =
                || useful.iter().enumerate().filter(move |(item, _)| subset >> item & 1 == 1).map(|(_, item)| item);
            let weight: u64 = chosen().map(|(_, weight)| u64::from(*weight)).sum();
            (weight <= u64::from(capacity)).then(|| chosen().map(|(profit, _)| profit).sum::<BigRational>())
        };
        return (0..1 << useful.len()).filter_map(worth).max().unwrap();
    }
    let mut best = vec![zero(); capacity as usize + 1];
    for (profit, weight) in useful {
        for room in (*weight as usize..best.len()).rev() {
            let with = &best[room - *weight as usize] + profit;
            if with > best[room] {
                best[room] = with;
            }
        }
    }
    best.swap_remove(capacity as usize)
}

/// Checks that a bound is the exact value of the dual at its multipliers, and that its floating-point value is the
/// nearest one on the safe side.
#[track_caller]
fn assert_exact(problem: &Problem, bound: &SafeBound) {
    let exact = rational_dual(problem, bound.multipliers());
    let (numerator, denominator) = bound.fraction();
    assert_eq!(BigRational::new(numerator.into(), denominator.into()), exact);
    assert_eq!(bound.to_string(), exact.to_string());
    let value = bound.value();
    match problem.dual().sense() {
        Sense::Maximize => assert!(exactly(value) <= exact && exactly(value.next_up()) > exact, "{value} {bound}"),
        Sense::Minimize => assert!(exactly(value) >= exact && exactly(value.next_down()) < exact, "{value} {bound}"),
    }
}

/// Checks a bound for exactness. Data or multipliers that are too large give none.
#[track_caller]
fn assert_exact_or_refused(problem: &Problem, point: &[f64]) {
    if let Ok(bound) = problem.safe_bound(point) {
        assert_exact(problem, &bound);
    }
}

/// The same data rounded to whole numbers, with costs and amounts multiplied.
fn whole_network(instance: &NetworkDesign, cost_factor: f64, amount_factor: f64) -> NetworkDesign {
    let arcs = instance.arcs().iter().map(|arc| Arc {
        fixed_cost: arc.fixed_cost.round() * cost_factor,
        capacity: arc.capacity.round().max(1.0) * amount_factor,
        ..*arc
    });
    let commodities = instance
        .commodities()
        .iter()
        .map(|commodity| Commodity { demand: commodity.demand.round() * amount_factor, ..*commodity });
    let costs = (0..instance.arcs().len()).flat_map(|arc| instance.routing_costs(arc));
    let costs = costs.map(|cost| cost.round() * cost_factor).collect();
    NetworkDesign::new(instance.nodes(), arcs.collect(), commodities.collect(), costs).unwrap()
}

fn whole_location(instance: &FacilityLocation, cost_factor: f64, amount_factor: f64) -> FacilityLocation {
    let site = |site: &Site| Site {
        capacity: site.capacity.round().max(1.0) * amount_factor,
        fixed_cost: site.fixed_cost.round() * cost_factor,
    };
    let demands = instance.demands().iter().map(|demand| demand.round() * amount_factor).collect();
    let costs =
        (0..instance.sites().len()).flat_map(|site| instance.costs(site)).map(|cost| cost.round() * cost_factor);
    FacilityLocation::new(instance.sites().iter().map(site).collect(), demands, costs.collect()).unwrap()
}

/// Checks that a bound is below the dual at its multipliers, by less than a unit of its grid for each site.
#[track_caller]
fn assert_rounded_down(instance: &FacilityLocation, point: &[f64]) -> bool {
    let problem = Problem::FacilityLocation(instance.clone());
    let Ok(bound) = problem.safe_bound(point) else { return false };
    let exact = rational_dual(&problem, bound.multipliers());
    let (numerator, denominator) = bound.fraction();
    let found = BigRational::new(numerator.into(), denominator.into());
    assert!(found <= exact, "{found} {exact}");
    assert!(exactly(bound.value()) <= found);
    // The grid holds the multipliers, up to a thousand of them: it is at least this fine.
    let largest = point.iter().fold(1.0_f64, |most, entry| most.max(entry.abs()));
    let loss = &exact - &found;
    let most = exactly((1e-9 * largest).max(1e-9) * instance.sites().len() as f64);
    let scale = exact.clone().max(-exact.clone()) * exactly(1e-12);
    assert!(loss <= most + scale, "{found} {exact}");
    true
}

fn whole_assignment(instance: &Assignment) -> Assignment {
    let bins = 0..instance.bins();
    let profits = bins.clone().flat_map(|bin| instance.profits(bin)).map(|profit| profit.round()).collect();
    let weights = bins.flat_map(|bin| instance.weights(bin)).copied().collect();
    Assignment::new(instance.sense(), instance.items(), instance.capacities().to_vec(), profits, weights).unwrap()
}

/// Points with ties, far from and close to zero.
fn point(seed: u64, exponent: i32, problem: &Problem) -> Vec<f64> {
    let dual = problem.dual();
    let mut point = sample::point(seed, dual.dim());
    point.iter_mut().for_each(|entry| *entry *= 10.0_f64.powi(exponent));
    dual.domain().project(&mut point);
    point
}

proptest! {
    #![proptest_config(cases(600))]

    #[test]
    fn network_design_is_exact(instance in sample::network(), seed in any::<u64>(), exponent in -12..8_i32) {
        let problem = Problem::NetworkDesign(whole_network(&instance, 1.0, 1.0));
        for exponent in [0, exponent] {
            assert_exact(&problem, &problem.safe_bound(&point(seed, exponent, &problem)).unwrap());
        }
    }

    #[test]
    fn assignment_is_exact(instance in sample::assignment(), seed in any::<u64>(), exponent in -12..8_i32) {
        let problem = Problem::Assignment(whole_assignment(&instance));
        for exponent in [0, exponent] {
            assert_exact(&problem, &problem.safe_bound(&point(seed, exponent, &problem)).unwrap());
        }
    }

    #[test]
    fn facility_location_is_rounded_down(
        instance in sample::location(), seed in any::<u64>(), exponent in -12..8_i32,
    ) {
        let instance = whole_location(&instance, 1.0, 1.0);
        let problem = Problem::FacilityLocation(instance.clone());
        for exponent in [0, 1, exponent] {
            prop_assert!(assert_rounded_down(&instance, &point(seed, exponent, &problem)));
        }
    }

    #[test]
    fn facility_location_of_any_size_is_valid(
        instance in sample::location(),
        seed in any::<u64>(),
        cost in 0..46_i32,
        amount in 0..46_i32,
        exponent in 0..15_i32,
    ) {
        let instance = whole_location(&instance, 2.0_f64.powi(cost), 2.0_f64.powi(amount));
        let problem = Problem::FacilityLocation(instance.clone());
        if let Ok(bound) = problem.safe_bound(&point(seed, exponent, &problem)) {
            let (numerator, denominator) = bound.fraction();
            let found = BigRational::new(numerator.into(), denominator.into());
            prop_assert!(found <= rational_dual(&problem, bound.multipliers()));
        }
    }

    /// Up to the last numbers that fit, and no overflow on the way, which tests do not let pass.
    #[test]
    fn network_design_of_any_size_is_exact(
        instance in sample::network(),
        seed in any::<u64>(),
        cost in 0..46_i32,
        amount in 0..46_i32,
        exponent in 0..15_i32,
    ) {
        let problem = Problem::NetworkDesign(whole_network(&instance, 2.0_f64.powi(cost), 2.0_f64.powi(amount)));
        assert_exact_or_refused(&problem, &point(seed, exponent, &problem));
    }

    /// Capacities too large for a table: branch and bound.
    #[test]
    fn assignment_of_any_size_is_exact(
        profits in prop::collection::vec(0_i32..200, 12),
        weights in prop::collection::vec(1_u32..2_000_000_000, 12),
        capacity in 1_u32..4_000_000_000,
        seed in any::<u64>(),
        profit in 0..30_i32,
        exponent in 0..10_i32,
    ) {
        let profits = profits.into_iter().map(|number| f64::from(number) * 2.0_f64.powi(profit)).collect();
        let instance = Assignment::new(Sense::Maximize, 12, vec![capacity], profits, weights).unwrap();
        let problem = Problem::Assignment(instance);
        assert_exact_or_refused(&problem, &point(seed, exponent, &problem));
    }

    /// Profits in proportion to weights: all ratios are equal, and the bounds exclude no item.
    #[test]
    fn ties_are_exact(weights in prop::collection::vec(1_u32..9, 10), capacity in 1_u32..30, price in 0_u32..4) {
        let profits = weights.iter().map(|&weight| f64::from(3 * weight)).collect();
        let prices: Vec<f64> = weights.iter().map(|&weight| f64::from(price * weight) / 3.0).collect();
        let problem =
            Problem::Assignment(Assignment::new(Sense::Maximize, 10, vec![capacity], profits, weights).unwrap());
        assert_exact(&problem, &problem.safe_bound(&prices).unwrap());
    }

    #[test]
    fn no_design_is_cheaper(instance in sample::tiny_network(), seed in any::<u64>(), exponent in -3..3_i32) {
        if let Some(best) = cheapest_design(&instance) {
            let problem = Problem::NetworkDesign(instance);
            // Sums of a few small integers: the optimum is exact.
            let bound = problem.safe_bound(&point(seed, exponent, &problem)).unwrap();
            prop_assert!(bound.value() <= best, "{bound} exceeds {best}");
        }
    }

    #[test]
    fn no_assignment_is_better(instance in sample::tiny_assignment(), seed in any::<u64>(), exponent in -3..3_i32) {
        if let Some(best) = best_assignment(&instance) {
            let sense = instance.sense();
            let problem = Problem::Assignment(instance);
            let bound = problem.safe_bound(&point(seed, exponent, &problem)).unwrap();
            let is_valid = if sense == Sense::Maximize { bound.value() >= best } else { bound.value() <= best };
            prop_assert!(is_valid, "{bound} is wrong by {best}");
        }
    }
}

/// The best point of a short run, as `solve` would report it.
fn solved(problem: &Problem) -> Vec<f64> {
    let settings = Settings { limits: Limits { steps: Some(30), ..Limits::default() }, ..Settings::default() };
    Solver::new(settings).unwrap().solve(&mut *problem.dual()).unwrap().point
}

/// Checks that the bound is exact, and that rounding the multipliers costs at most 1e-12 of the dual's value.
#[track_caller]
fn assert_tight(problem: &Problem) {
    let point = solved(problem);
    let bound = problem.safe_bound(&point).unwrap();
    assert_exact(problem, &bound);
    let promised = rational_dual(problem, &point);
    let (loss, most) = (exactly(bound.value()) - &promised, promised * exactly(1e-12));
    assert!(loss <= most && -loss <= most, "{bound}");
}

#[test]
fn generated_instances_are_exact_and_lose_nothing() {
    for family in [Family::McSml40, Family::McSmlVar, Family::McBig40, Family::McBigVar, Family::Ga10x100] {
        for index in 0..2 {
            assert_tight(&Generator::new(family, 3).instance(index).unwrap().problem);
        }
    }
    assert_tight(&Generator::new(Family::Ga20x400, 3).instance(0).unwrap().problem);
}

#[test]
#[ignore = "needs BUNDLENET_DATA"]
fn public_instances_are_exact_and_lose_nothing() {
    let data = public::data();
    for file in ["network-design/p33.dat", "network-design/pN1_3.dat", "gap/a05100", "gap/c0515_1"] {
        assert_tight(&Problem::read(data.join(file), ReadOptions::default()).unwrap());
    }
    for file in public::files(&data.join("gap")) {
        let problem = Problem::read(file, ReadOptions::default()).unwrap();
        let point = solved(&problem);
        let mut subgradient = vec![0.0; point.len()];
        let value = problem.dual().evaluate(&point, &mut subgradient).unwrap();
        let safe = problem.safe_bound(&point).unwrap().value();
        assert!((value - safe).abs() <= 1e-9 * value.abs(), "{value} {safe}");
    }
}

#[test]
fn threads_do_not_change_a_bound() {
    let large = Generator::new(Family::McSml40, 1).with_commodities(400).unwrap().instance(0).unwrap().problem;
    for problem in [large, Generator::new(Family::Ga20x400, 1).instance(0).unwrap().problem] {
        let point = point(7, 0, &problem);
        let bounds = [1, 2, 3].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| problem.safe_bound(&point).unwrap())
        });
        assert!(bounds[0] == bounds[1] && bounds[0] == bounds[2]);
    }
}

/// `count` items of profit 1, all of which fit: any prices from 0 to 1 prove exactly `count`.
fn all_fit(count: usize) -> Problem {
    let instance = Assignment::new(Sense::Maximize, count, vec![count as u32], vec![1.0; count], vec![1; count]);
    Problem::Assignment(instance.unwrap())
}

/// A path of `count` arcs of cost 1: multipliers that fall by more than 1 on each arc prove exactly `count`.
fn path(count: usize) -> Problem {
    let arc = |tail| Arc { tail, head: tail + 1, fixed_cost: 0.0, capacity: 1.0 };
    let commodity = Commodity { origin: 0, destination: count, demand: 1.0 };
    let arcs = (0..count).map(arc).collect();
    let instance = NetworkDesign::with_common_costs(count + 1, arcs, vec![commodity], &vec![1.0; count]);
    Problem::NetworkDesign(instance.unwrap())
}

#[test]
fn floating_point_is_wrong_where_the_safe_bound_is_not() {
    let evaluate =
        |problem: &Problem, point: &[f64]| problem.dual().evaluate(point, &mut vec![0.0; point.len()]).unwrap();
    let (mut wrong_upper, mut wrong_lower) = (0, 0);
    for count in 2..60_usize {
        let optimum = count as f64;
        for step in 1..10 {
            let (problem, price) = (all_fit(count), f64::from(step) / 10.0);
            wrong_upper += usize::from(evaluate(&problem, &vec![price; count]) < optimum);
            let bound = problem.safe_bound(&vec![price; count]).unwrap();
            assert_eq!((bound.value(), bound.to_string()), (optimum, count.to_string()));
            let problem = path(count);
            let point: Vec<f64> = (0..=count).map(|node| -(1.0 + price) * node as f64).collect();
            wrong_lower += usize::from(evaluate(&problem, &point) > optimum);
            let bound = problem.safe_bound(&point).unwrap();
            assert_eq!((bound.value(), bound.to_string()), (optimum, count.to_string()));
        }
    }
    assert!(wrong_upper > 0 && wrong_lower > 0, "expected rounding errors, found {wrong_upper} and {wrong_lower}");
}

#[test]
fn the_value_is_rounded_to_the_safe_side() {
    for family in [Family::McSml40, Family::Ga10x100] {
        let problem = Generator::new(family, 2).instance(0).unwrap().problem;
        let bound = problem.safe_bound(&point(5, 1, &problem)).unwrap();
        assert_exact(&problem, &bound);
        // More digits than a floating-point number has.
        assert_ne!(exactly(bound.value()), rational_dual(&problem, bound.multipliers()));
    }
}

#[test]
fn tiny_multipliers_are_rounded_to_zero() {
    let problem = path(3);
    let bound = problem.safe_bound(&[1e-300, -1e-300, 5e-324, 0.0]).unwrap();
    assert_eq!((bound.multipliers(), bound.value()), (&[0.0; 4][..], 0.0));
}

#[test]
fn multipliers_that_have_to_be_nonnegative_are() {
    let instance = Assignment::new(Sense::Maximize, 2, vec![1], vec![3.0, 2.0], vec![1, 1]).unwrap();
    let bound = instance.safe_bound(&[-1e-9, -5.0]).unwrap();
    assert_eq!((bound.multipliers(), bound.value()), (&[0.0, 0.0][..], 3.0));
    // With "exactly once" they are free.
    let instance = Assignment::new(Sense::Minimize, 2, vec![1], vec![3.0, 2.0], vec![1, 1]).unwrap();
    assert_eq!(instance.safe_bound(&[-0.5, -5.0]).unwrap().to_string(), "-11/2");
}

/// If the search does not end, the bound is that of the linear relaxation.
#[test]
fn a_hopeless_knapsack_is_bounded() {
    let (profits, weights, capacity) = sample::hopeless_knapsack();
    let instance = Assignment::new(Sense::Maximize, 60, vec![capacity], profits, weights).unwrap();
    assert!((3e9..=3_000_000_002.0).contains(&instance.safe_bound(&[0.0; 60]).unwrap().value()));
}

/// Multipliers of any size give an exact bound, or a clear refusal.
#[test]
fn huge_multipliers_are_exact_or_refused() {
    for problem in [path(5), all_fit(6), Generator::new(Family::Ga10x100, 1).instance(0).unwrap().problem] {
        let mut refused = 0;
        for exponent in 0..300 {
            match problem.safe_bound(&point(3, exponent, &problem)) {
                Ok(bound) if exponent < 25 => assert_exact(&problem, &bound),
                Ok(bound) => panic!("found {bound} at 1e{exponent}"),
                Err(UnsafeBound::MultiplierRange { .. }) => refused += 1,
                Err(error) => panic!("{error}"),
            }
        }
        assert!((280..295).contains(&refused), "{refused} refused");
    }
}

#[test]
fn data_without_a_safe_bound_are_named() {
    let arc = Arc { tail: 0, head: 1, fixed_cost: 1.0, capacity: 2.0 };
    let commodity = Commodity { origin: 0, destination: 1, demand: 3.0 };
    let message = |arc: Arc, commodity: Commodity, cost: f64| {
        let instance = NetworkDesign::new(2, vec![arc], vec![commodity], vec![cost]).unwrap();
        let error = instance.safe_bound(&[0.0, 0.0]).unwrap_err();
        assert_eq!(Problem::NetworkDesign(instance).check_integers(), Err(error.clone()));
        error.to_string()
    };
    let expected = "safe bounds need integer data: capacity of arc 0: expected an integer within 2^50, found 1.5";
    assert_eq!(message(Arc { capacity: 1.5, ..arc }, commodity, 1.0), expected);
    assert!(message(Arc { fixed_cost: 0.1, ..arc }, commodity, 1.0).contains("fixed cost of arc 0"));
    assert!(message(Arc { fixed_cost: 1e18, ..arc }, commodity, 1.0).contains("found 1000000000000000000"));
    assert!(message(arc, Commodity { demand: 0.5, ..commodity }, 1.0).contains("demand of commodity 0"));
    assert!(message(arc, commodity, -1e-3).contains("routing cost of commodity 0 on arc 0"));
    assert!(message(arc, Commodity { demand: 1e15, ..commodity }, 1e15).contains("need smaller data"));
    let two = vec![Commodity { demand: 1e15, ..commodity }; 2];
    let instance = NetworkDesign::new(2, vec![arc], two, vec![0.0; 2]).unwrap();
    assert_eq!(instance.check_integers(), Err(UnsafeBound::DataRange { found: 2e15 }));
    // Capacity beyond the total demand does not matter.
    let roomy = Arc { capacity: 1e20, ..arc };
    let instance = NetworkDesign::new(2, vec![roomy], vec![commodity], vec![1.0]).unwrap();
    assert_eq!(instance.safe_bound(&[3.0, 0.0]).unwrap().to_string(), "4");

    let instance = Assignment::new(Sense::Maximize, 2, vec![1], vec![3.0, 2.5], vec![1, 1]).unwrap();
    let UnsafeBound::Data(error) = instance.safe_bound(&[0.0, 0.0]).unwrap_err() else { panic!("not about the data") };
    assert_eq!(error.element, Element::Profit { bin: 0, item: 1 });
    let instance = Assignment::new(Sense::Maximize, 2, vec![1], vec![3.0, 2.0], vec![1, 1]).unwrap();
    let message = |multipliers: &[f64]| instance.safe_bound(multipliers).unwrap_err().to_string();
    assert_eq!(message(&[1.0]), "the multipliers have the wrong length: expected 2, found 1");
    assert_eq!(message(&[1.0, f64::NAN]), "multiplier 1: expected a finite number, found NaN");
    assert_eq!(message(&[f64::NEG_INFINITY, 1.0]), "multiplier 0: expected a finite number, found -inf");
    let expected =
        "safe bounds need smaller multipliers: expected 64 bits to hold their products with the data, found 1e300";
    assert_eq!(message(&[1e300, 1.0]), expected);
}
