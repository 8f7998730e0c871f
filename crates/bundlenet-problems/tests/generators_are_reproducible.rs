//! The same seed gives the same instances in every version. They have the stated statistics and are split by group.

use std::collections::{HashMap, HashSet};

use bundlenet_problems::{Error, Family, Format, Generator, Manifest, NetworkDesign, Problem, Split};

fn network(problem: &Problem) -> &NetworkDesign {
    match problem {
        Problem::NetworkDesign(instance) => instance,
        _ => panic!("another problem"),
    }
}

/// FNV-1a of an instance's JSON.
fn digest(problem: &Problem) -> u64 {
    let text = problem.to_text(Format::Json).unwrap();
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn moments(numbers: &[f64]) -> (f64, f64) {
    let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
    let variance = numbers.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / numbers.len() as f64;
    (mean, variance.sqrt())
}

/// If this fails, a seed gives other instances than before: raise `GENERATOR_VERSION`.
#[test]
fn instances_are_fixed() {
    let found: Vec<(&str, u64)> = Family::ALL
        .into_iter()
        .map(|family| (family.name(), digest(&Generator::new(family, 42).instance(7).unwrap().problem)))
        .collect();
    assert_eq!(
        found,
        [
            ("mc-sml-40", 6_518_857_128_910_087_448),
            ("mc-sml-var", 11_247_014_867_581_125_805),
            ("mc-big-40", 8_901_796_852_114_040_447),
            ("mc-big-var", 3_062_613_459_038_758_693),
            ("ga-10-100", 14_265_967_870_380_603_712),
            ("ga-20-400", 7_700_184_851_838_795_736),
            ("ga-yagiura-c", 8_930_856_506_248_383_061),
            ("ga-yagiura-d", 6_448_359_558_790_367_472),
            ("ga-yagiura-e", 538_049_750_542_666_830),
            ("cfl-20-50", 8_227_310_871_951_714_947),
            ("cfl-100-1000", 16_088_204_893_201_227_020),
            ("uc", 7_820_711_547_854_091_020),
        ]
    );
}

#[test]
fn small_networks_have_the_stated_statistics() {
    let generator = Generator::new(Family::McSml40, 9);
    let (mut costs, mut demands) = (vec![], vec![]);
    for index in (0..80).step_by(4) {
        let generated = generator.instance(index).unwrap();
        let instance = network(&generated.problem);
        assert_eq!((instance.nodes(), instance.arcs().len(), instance.commodities().len()), (20, 226, 40));
        costs.extend((0..226).flat_map(|arc| instance.routing_costs(arc)).copied());
        demands.extend(instance.commodities().iter().map(|commodity| commodity.demand));
    }
    // 180,800 costs and 800 demands. The floor lowers the means by 0.5, the bound at 1 raises them a little.
    let (mean, deviation) = moments(&costs);
    assert!((mean - 26.6).abs() < 0.2 && (deviation - 12.95).abs() < 0.2, "{mean} {deviation}");
    let (mean, deviation) = moments(&demands);
    assert!((mean - 447.5).abs() < 24.0 && (deviation - 168.0).abs() < 17.0, "{mean} {deviation}");
}

#[test]
fn groups_share_demands_and_costs_and_differ_in_fixed_costs_and_capacities() {
    for (family, factors) in [
        (Family::McSml40, [(1.0, 1.0), (4.0, 1.0), (0.5, 0.5), (2.0, 0.5)]),
        (Family::McBig40, [(1.0, 1.0), (5.0, 1.0), (0.66, 0.667), (3.3, 0.667)]),
    ] {
        let generator = Generator::new(family, 5);
        let group: Vec<_> = (4..8).map(|index| generator.instance(index).unwrap()).collect();
        let base = network(&group[0].problem);
        for (generated, (fixed, capacity)) in group.iter().zip(factors) {
            assert_eq!((generated.group, generated.split), (2, Split::Train));
            assert!(generated.name.ends_with("-2"), "{}", generated.name);
            let instance = network(&generated.problem);
            assert_eq!(instance.commodities(), base.commodities());
            for arc in 0..base.arcs().len() {
                assert_eq!(instance.routing_costs(arc), base.routing_costs(arc));
                let (ours, theirs) = (instance.arcs()[arc], base.arcs()[arc]);
                assert!((ours.fixed_cost - fixed * theirs.fixed_cost).abs() <= 0.5);
                assert!((ours.capacity - capacity * theirs.capacity).abs() <= 0.5);
            }
        }
        let next = generator.instance(8).unwrap();
        assert_ne!(network(&next.problem).commodities(), base.commodities());
    }
}

#[test]
fn facility_locations_have_the_stated_statistics() {
    for (family, sizes) in [(Family::Cfl20x50, (20, 50)), (Family::Cfl100x1000, (100, 1000))] {
        for index in 0..5 {
            let generated = Generator::new(family, 3).instance(index).unwrap();
            let Problem::FacilityLocation(instance) = &generated.problem else { panic!("another problem") };
            assert_eq!((instance.sites().len(), instance.customers()), sizes);
            assert!(instance.demands().iter().all(|demand| (5.0..=35.0).contains(demand) && demand.fract() == 0.0));
            // Capacities are rounded up, and one beyond the total demand counts as that.
            let ratio = instance.capacity_ratio();
            assert!((2.5..=10.1).contains(&ratio), "{ratio}");
            for site in instance.sites() {
                let root = 100.0 * site.capacity.sqrt();
                assert!((100.0 * root - 1.0..=110.0 * root + 9001.0).contains(&site.fixed_cost), "{site:?}");
            }
            generated.problem.check_integers().unwrap();
        }
    }
    let base = Generator::new(Family::Cfl20x50, 3).instance(0).unwrap().problem;
    let error = Generator::new(Family::Cfl20x50, 4).with_base("base", base.clone()).unwrap_err().to_string();
    assert!(error.contains("no base") && error.contains("a facility location instance"), "{error}");
    assert!(Generator::new(Family::McSml40, 4).with_base("base", base.clone()).is_err());
    assert!(Generator::new(Family::Ga10x100, 4).with_base("base", base).is_err());
    assert!(Generator::new(Family::Cfl20x50, 4).with_commodities(3).is_err());
}

#[test]
fn big_networks_have_one_destination() {
    let generated = Generator::new(Family::McBig40, 6).instance(0).unwrap();
    let instance = network(&generated.problem);
    assert_eq!((instance.nodes(), instance.arcs().len(), instance.commodities().len()), (30, 519, 40));
    assert!(instance.commodities().iter().all(|commodity| commodity.destination == 0));
}

#[test]
fn variable_families_mix_sizes_and_keep_total_demand() {
    let mut sizes: HashMap<(usize, usize), usize> = HashMap::new();
    let generator = Generator::new(Family::McBigVar, 8);
    for index in (0..1200).step_by(4) {
        let generated = generator.instance(index).unwrap();
        let instance = network(&generated.problem);
        let count = instance.commodities().len();
        *sizes.entry((instance.nodes(), count)).or_default() += 1;
        let mean = if instance.nodes() == 20 { 448.0 } else { 52.0 };
        // Forty demands with a deviation of 0.4 times the mean. Shrunk demands are rounded up.
        let total = instance.total_demand() / (40.0 * mean);
        assert!((0.7..1.5).contains(&total), "{total}");
    }
    let expected: HashSet<_> =
        [40, 80, 120, 160, 200].map(|k| (20, k)).into_iter().chain([40, 80, 120].map(|k| (30, k))).collect();
    assert_eq!(sizes.keys().copied().collect::<HashSet<_>>(), expected);
    let big: usize = sizes.iter().filter(|((nodes, _), _)| *nodes == 30).map(|(_, count)| count).sum();
    // 28.2 % of 300 with a standard error of 7.8.
    assert!((50..120).contains(&big), "{big}");
}

#[test]
fn assignments_have_the_stated_ranges() {
    for (family, bins, items, profits, weights) in
        [(Family::Ga10x100, 10, 100, 251..=824, 11..=33), (Family::Ga20x400, 20, 400, 242..=800, 11..=31)]
    {
        let Problem::Assignment(instance) = Generator::new(family, 3).instance(0).unwrap().problem else {
            panic!("another problem")
        };
        assert_eq!((instance.bins(), instance.items()), (bins, items));
        for bin in 0..bins {
            assert!(
                instance.profits(bin).iter().all(|&profit| profits.contains(&(profit as u32)) && profit.fract() == 0.0)
            );
            assert!(instance.weights(bin).iter().all(|weight| weights.contains(weight)));
        }
    }
}

#[test]
fn yagiura_assignments_have_their_definition() {
    for (family, weights, costs) in [
        (Family::GaYagiuraC, 5..=25, 10..=50),
        (Family::GaYagiuraD, 1..=100, 1..=120),
        (Family::GaYagiuraE, 1..=500, -10..=1000),
    ] {
        let generator = Generator::new(family, 3).with_size(10, 200).unwrap();
        let Problem::Assignment(instance) = generator.instance(0).unwrap().problem else { panic!("another problem") };
        assert_eq!((instance.bins(), instance.items()), (10, 200));
        for bin in 0..10 {
            let cells = || instance.weights(bin).iter().zip(instance.profits(bin));
            assert!(cells().all(|(weight, cost)| weights.contains(weight) && costs.contains(&(*cost as i32))));
            let is_near = |weight: u32, cost: f64| match family {
                Family::GaYagiuraD => (cost - 111.0 + f64::from(weight)).abs() <= 10.0,
                Family::GaYagiuraE => (cost + 5.0 - 1000.0 / f64::from(weight)).abs() <= 5.5,
                _ => true,
            };
            assert!(cells().all(|(weight, cost)| is_near(*weight, *cost) && cost.fract() == 0.0));
            let load: u32 = instance.weights(bin).iter().sum();
            assert_eq!(instance.capacities()[bin], (0.8 * f64::from(load) / 10.0).floor() as u32);
        }
    }
    assert!(Generator::new(Family::Ga10x100, 1).with_size(5, 100).is_err());
    assert!(Generator::new(Family::GaYagiuraC, 1).with_size(0, 100).is_err());
}

#[test]
fn a_base_instance_is_perturbed() {
    let base = Generator::new(Family::McBig40, 77).instance(0).unwrap().problem;
    let generator =
        Generator::new(Family::McBig40, 1).with_base("base.json", base.clone()).unwrap().with_commodities(90).unwrap();
    let generated = generator.instance(0).unwrap();
    let (instance, base) = (network(&generated.problem), network(&base));
    assert_eq!(instance.arcs(), base.arcs());
    assert_eq!(instance.commodities().len(), 90);
    assert!(instance.commodities().iter().all(|commodity| commodity.destination == 0));
    let shrunk = instance.total_demand() / base.total_demand();
    assert!((0.75..1.3).contains(&shrunk), "{shrunk}");
    let assignment = Generator::new(Family::Ga10x100, 1).instance(0).unwrap().problem;
    let error = Generator::new(Family::McSml40, 1).with_base("ga", assignment).unwrap_err();
    assert!(matches!(error, Error::Generate { .. }) && error.to_string().contains("mc-sml-40"), "{error}");
    assert!(Generator::new(Family::Ga10x100, 1).with_commodities(3).is_err());
    assert!(Generator::new(Family::McSml40, 1).with_commodities(0).is_err());
}

#[test]
fn too_many_commodities_are_an_error_and_not_a_panic() {
    for family in [Family::McSml40, Family::McBigVar] {
        for count in [usize::MAX, 1 << 40, 1_000_000] {
            let error = Generator::new(family, 1).with_commodities(count).unwrap().instance(0).unwrap_err();
            assert!(matches!(error, Error::Invalid(_)) && error.to_string().contains("commodities"), "{error}");
        }
    }
}

#[test]
fn a_base_without_room_is_an_error_and_not_an_endless_search() {
    use bundlenet_problems::network_design::{Arc, Commodity};
    // The second node cannot be left, and half of all demands start there.
    let arc = Arc { tail: 0, head: 1, fixed_cost: 1.0, capacity: 1000.0 };
    let commodity = Commodity { origin: 0, destination: 1, demand: 3.0 };
    let base = NetworkDesign::new(2, vec![arc], vec![commodity; 30], vec![1.0; 30]).unwrap();
    let base = Problem::NetworkDesign(base);
    // All demands share a destination, which is kept: fine.
    Generator::new(Family::McSml40, 1).with_base("fine", base).unwrap().instance(0).unwrap();
    let back = Commodity { origin: 1, destination: 0, demand: 3.0 };
    let base = NetworkDesign::new(2, vec![arc], vec![commodity, back], vec![1.0; 2]).unwrap();
    let generator = Generator::new(Family::McSml40, 1).with_base("tight", Problem::NetworkDesign(base)).unwrap();
    let error = generator.with_commodities(40).unwrap().instance(0).unwrap_err();
    assert!(error.to_string().contains("routable"), "{error}");
}

#[test]
fn folders_hold_a_manifest_and_a_longer_set_begins_with_the_shorter() {
    let folder = tempfile::tempdir().unwrap();
    let (short, long) = (folder.path().join("short"), folder.path().join("long"));
    let generator = Generator::new(Family::Ga10x100, 11);
    let written = generator.write(6, &short, |_| ()).unwrap();
    generator.write(11, &long, |_| ()).unwrap();
    assert_eq!(Manifest::read(&short).unwrap(), written);
    let splits: Vec<Split> = Manifest::read(&long).unwrap().instances.iter().map(|entry| entry.split).collect();
    use Split::{Test, Train, Validation};
    let cycle = [Train, Train, Validation, Test, Train];
    assert_eq!(splits, [&cycle[..], &cycle[..], &cycle[..1]].concat());
    for entry in &written.instances {
        let read = |path: &std::path::Path| std::fs::read(path.join(&entry.file)).unwrap();
        assert_eq!(read(&short), read(&long));
    }
    // Writing the same set again is fine, another one into its folder is not.
    generator.write(7, &short, |_| ()).unwrap();
    let other = Generator::new(Family::Ga10x100, 12).write(1, &short, |_| ()).unwrap_err();
    assert!(matches!(other, Error::Occupied { .. }), "{other}");
}
