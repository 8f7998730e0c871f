//! Unit commitment: the dual, its proofs, its schedules and its prices, and the published values.

use bundlenet::{BundleSettings, Limits, Method, Oracle, Settings, Solution, Solver, Status};
use bundlenet_linalg::Stream;
use bundlenet_problems::unit_commitment::{Formulation, Schedules, ThermalUnit};
use bundlenet_problems::{
    Family, Format, Generator, Problem, ProblemPrimal, ReadOptions, Source, UnitCommitment, UnitCommitmentDual,
};
use bundlenet_testing::inequalities::{assert_components_add_up, assert_subgradient_inequality, evaluate};
use bundlenet_testing::public;
use bundlenet_testing::units::{plain_dual, random_prices, random_unit};

/// A generated instance of any size.
fn generated(seed: u64, units: usize, periods: usize) -> UnitCommitment {
    let generator = Generator::new(Family::Uc, seed).with_size(units, periods).unwrap();
    match generator.instance(0).unwrap().problem {
        Problem::UnitCommitment(instance) => instance,
        _ => panic!("another problem"),
    }
}

fn as_chp(instance: &UnitCommitment) -> UnitCommitment {
    let (demand, thermal) = (instance.demand().to_vec(), instance.thermal_units().to_vec());
    UnitCommitment::new(Some(Formulation::Chp), demand, vec![], thermal, vec![]).unwrap()
}

/// Several random units, with a demand that they can meet.
fn random_system(stream: &mut Stream, formulation: Formulation, periods: usize) -> Option<UnitCommitment> {
    let units: Vec<ThermalUnit> = (0..5).map(|_| random_unit(stream, formulation, periods)).collect();
    let demand = vec![0.5 * units.iter().map(|unit| unit.output_maximum).sum::<f64>(); periods];
    let reserves = vec![10.0; periods];
    UnitCommitment::new(Some(formulation), demand, reserves, units, vec![]).ok()
}

#[test]
fn duals_obey_their_inequalities() {
    let mut checked = 0;
    for index in 0..150 {
        let mut stream = Stream::new(2, "systems", index);
        for formulation in [Formulation::Pglib, Formulation::Chp] {
            let Some(instance) = random_system(&mut stream, formulation, 9) else { continue };
            let mut dual = UnitCommitmentDual::new(&instance);
            let mut draw = || {
                let mut point = random_prices(&mut stream, 40.0, dual.dim());
                dual.domain().project(&mut point);
                point
            };
            let (x, y) = (draw(), draw());
            assert_subgradient_inequality(&mut dual, &x, &y);
            assert_components_add_up(&mut dual, &x);
            let (value, _) = evaluate(&mut dual, &x);
            let expected = plain_dual(&instance, &x);
            assert!((-value - expected).abs() <= 1e-10 * expected.abs().max(1e3), "{} {expected}", -value);
            checked += 1;
        }
    }
    assert!(checked > 150, "{checked}");
}

/// Solves to a proved gap of 1e-7.
fn solve(problem: &Problem, primal: bool) -> Solution {
    let method = Method::Bundle(BundleSettings::default());
    let limits = Limits { steps: Some(400), ..Limits::default() };
    let settings = Settings { method, limits, primal, tolerance: 1e-7 };
    Solver::new(settings).unwrap().solve(&mut *problem.dual()).unwrap()
}

/// A schedule obeys balance, reserve and the limits of every unit.
fn assert_feasible(instance: &UnitCommitment, schedules: &Schedules) {
    for period in 0..instance.periods() {
        let sum = |which: usize| (0..schedules.units()).map(|unit| schedules.at(unit, period)[which]).sum::<f64>();
        let demand = instance.demand()[period];
        let supply = sum(1) + schedules.flexible()[period];
        assert!((supply - demand).abs() <= 1e-7 * demand.max(1.0), "{supply} {demand}");
        if instance.has_reserve_prices() {
            assert!(sum(2) >= instance.reserves()[period] - 1e-6);
        }
        for (index, unit) in instance.thermal_units().iter().enumerate() {
            let [on, output, reserve] = schedules.at(index, period);
            assert!(on == 0.0 || on == 1.0);
            assert!(output >= on * unit.output_minimum - 1e-7 && reserve >= -1e-7);
            assert!(output + reserve <= on * unit.output_maximum + 1e-6);
            if period > 0 && on == 1.0 && schedules.at(index, period - 1)[0] == 1.0 {
                let change = output - schedules.at(index, period - 1)[1];
                assert!(change <= unit.ramp_up + 1e-6 && -change <= unit.ramp_down + 1e-6, "{change}");
            }
        }
    }
}

/// Runs end with a proof; a feasible schedule is above the bound, and its side payments are the difference and the value
/// of reserve that is not needed.
#[test]
fn generated_systems_are_solved_and_scheduled() {
    let mut scheduled = 0;
    for seed in 0..4 {
        for instance in [generated(seed, 25, 24), as_chp(&generated(seed, 25, 24))] {
            let problem = Problem::UnitCommitment(instance.clone());
            let solution = solve(&problem, true);
            assert_eq!(solution.status, Status::Optimal, "{seed} {}", instance.formulation());
            let primal = solution.primal.as_ref().unwrap();
            let ProblemPrimal::UnitCommitment(recovered) = problem.recover(primal) else { panic!("another problem") };
            let total: f64 = instance.demand().iter().sum();
            assert!(recovered.violation.total <= 1e-3 * total, "{:?}", recovered.violation);
            let Some(feasible) = recovered.feasible else { continue };
            assert_feasible(&instance, &feasible);
            assert!(feasible.cost() >= solution.value * (1.0 - 1e-7), "{} {}", feasible.cost(), solution.value);
            let (energy, reserve) = instance.split_prices(&solution.point);
            let uplift: f64 = instance.side_payments(&feasible, energy, reserve).iter().sum();
            assert!(uplift <= feasible.cost() - solution.value + 1e-6 * total, "{uplift}");
            scheduled += 1;
        }
    }
    assert!(scheduled >= 6, "{scheduled}");
}

/// Proofs are above the dual everywhere.
#[test]
fn proofs_bound_the_dual() {
    let instance = generated(5, 12, 12);
    let problem = Problem::UnitCommitment(instance.clone());
    let solution = solve(&problem, false);
    let bound = solution.value + solution.certificate.unwrap() * solution.value.abs().max(1.0);
    let mut dual = UnitCommitmentDual::new(&instance);
    for index in 0..200 {
        let mut stream = Stream::new(3, "points", index);
        let mut point = solution.point.clone();
        point.iter_mut().for_each(|price| *price += 10.0_f64.powi(-(index as i32 % 8)) * stream.normal());
        dual.domain().project(&mut point);
        assert!(-evaluate(&mut dual, &point).0 <= bound + 1e-12 * bound.abs());
    }
}

/// Prices in merit order are a far better start than 0, and no dearer than the dearest unit.
#[test]
fn runs_start_in_merit_order() {
    for seed in 0..8 {
        let instance = generated(seed, 20, 24);
        for instance in [as_chp(&instance), instance] {
            let mut dual = UnitCommitmentDual::new(&instance);
            let start = dual.start().unwrap();
            let (energy, reserve) = start.split_at(instance.periods());
            assert!(energy.iter().all(|&price| price >= 0.0) && reserve.iter().all(|&price| price == 0.0));
            let mut subgradient = vec![0.0; start.len()];
            let at_zero = dual.evaluate(&vec![0.0; start.len()], &mut subgradient).unwrap();
            let at_start = dual.evaluate(&start, &mut subgradient).unwrap();
            let solution = solve(&Problem::UnitCommitment(instance), false);
            assert!(solution.value - at_start < 0.5 * (solution.value - at_zero), "{seed}: {at_zero} {at_start}");
            let first = solution.trace[0].value;
            assert!((first - at_start).abs() <= 1e-12 * at_start.abs(), "{seed}: {first} {at_start}");
        }
    }
}

#[test]
fn files_round_trip() {
    for instance in [generated(1, 7, 13), as_chp(&generated(2, 4, 6))] {
        let problem = Problem::UnitCommitment(instance);
        let text = problem.to_text(Format::Json).unwrap();
        let read = Source::parse("a.json", text.clone().into_bytes(), None).unwrap().choose(None).unwrap();
        assert!(read == problem);
        assert_eq!(read.to_text(Format::Json).unwrap(), text);
        assert!(problem.to_text(Format::Dat).is_err());
        assert!(problem.check_integers().is_err());
    }
}

#[test]
#[ignore = "needs BUNDLENET_DATA"]
fn published_values_hold() {
    let folder = public::data().join("unit-commitment");
    for (file, formulation, expected) in [
        ("ca/2014-09-01_reserves_0", Formulation::Chp, 7_432_084.063),
        ("ca/2015-06-01_reserves_0", Formulation::Chp, 5_862_412.676),
        ("ca/Scenario400_reserves_1", Formulation::Chp, 12_881_734.783),
        ("belgian/belgian-autumnwd", Formulation::Chp, 22_992_291.049),
        ("belgian/belgian-springwd", Formulation::Chp, 19_716_084.942),
        ("belgian/belgian-summerwe", Formulation::Chp, 13_676_343.185),
        ("belgian/belgian-winterwd", Formulation::Chp, 25_025_614.861),
        ("ca/2014-09-01_reserves_0", Formulation::Pglib, 48_225.093_8),
    ] {
        let options = ReadOptions { formulation: Some(formulation), ..ReadOptions::default() };
        let problem = Problem::read(folder.join(format!("{file}.json.gz")), options).unwrap();
        let solution = Solver::new(Settings::default()).unwrap().solve(&mut *problem.dual()).unwrap();
        assert_eq!(solution.status, Status::Optimal, "{file}");
        assert!((solution.value - expected).abs() <= 1e-7 * expected, "{file}: {} {expected}", solution.value);
        assert!(solution.certificate.is_some_and(|gap| gap <= 1e-7), "{file}");
    }
}
