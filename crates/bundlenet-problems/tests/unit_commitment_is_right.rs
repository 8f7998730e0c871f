//! Unit commitment: the dual, its proofs, its schedules and its prices, and the published values.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use bundlenet::{BundleSettings, Interrupt, Limits, Method, Oracle, Settings, Solution, Solver, Status};
use bundlenet_linalg::Stream;
use bundlenet_problems::unit_commitment::{
    CostPoint, Formulation, InitialState, RenewableUnit, Schedules, StartCategory, ThermalUnit,
};
use bundlenet_problems::{
    Family, Format, Generator, Problem, ProblemPrimal, ReadOptions, Search, Source, UnitCommitment, UnitCommitmentDual,
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

/// A schedule meets the demand.
fn assert_balanced(instance: &UnitCommitment, schedules: &Schedules) {
    for (period, demand) in instance.demand().iter().enumerate() {
        let output: f64 = (0..schedules.units()).map(|unit| schedules.at(unit, period)[1]).sum();
        let supply = output + schedules.flexible()[period];
        assert!((supply - demand).abs() <= 1e-9 * demand.max(1.0), "{supply} {demand}");
    }
}

/// The parts of the uplift are what their definitions say, and add up to the schedule's cost minus the value.
fn assert_uplift(instance: &UnitCommitment, feasible: &Schedules, solution: &Solution) {
    let (energy, reserve) = instance.split_prices(&solution.point);
    let (units, periods) = (0..feasible.units(), 0..instance.periods());
    let held =
        |unit: usize, period: usize| reserve.get(period).map_or(0.0, |price| price * feasible.at(unit, period)[2]);
    let income = |unit: usize| {
        let of = |period: usize| energy[period] * feasible.at(unit, period)[1] + held(unit, period);
        periods.clone().map(of).sum::<f64>()
    };
    let is_chp = instance.formulation() == Formulation::Chp;
    let worth = if is_chp { UnitCommitment::LOST_LOAD } else { 0.0 };
    let flexible = feasible.flexible();
    let costs = feasible.cost() - worth * flexible.iter().sum::<f64>();
    let best: f64 = units.clone().map(|unit| instance.best_response(unit, energy, reserve).profit).sum();
    let thermal = best - (units.clone().map(income).sum::<f64>() - costs);
    // Renewable units sell from their least to their greatest output; load buys at most what it is worth.
    let (least, most) =
        if is_chp { (vec![0.0; periods.len()], instance.demand().to_vec()) } else { instance.renewable_limits() };
    let profit = |period: usize, amount: f64| (energy[period] - worth) * amount;
    let lost = |period: usize| {
        let best = profit(period, least[period]).max(profit(period, most[period]));
        best - profit(period, flexible[period])
    };
    let lost: f64 = periods.clone().map(lost).sum();
    let excess = |(period, price): (usize, &f64)| {
        price * (units.clone().map(|unit| feasible.at(unit, period)[2]).sum::<f64>() - instance.reserves()[period])
    };
    let excess: f64 = reserve.iter().enumerate().map(excess).sum();
    let uplift = instance.uplift(feasible, energy, reserve);
    let (renewables, load) = if is_chp { (0.0, lost) } else { (lost, 0.0) };
    let parts =
        [(uplift.thermal, thermal), (uplift.renewables, renewables), (uplift.load, load), (uplift.reserve, excess)];
    let round_off = 1e-9 * feasible.cost();
    for (found, expected) in parts {
        assert!(found >= 0.0 && (found - expected).abs() <= round_off, "{found} {expected}");
    }
    let total = feasible.cost() - solution.value;
    assert!((uplift.total() - total).abs() <= round_off, "{} {total}", uplift.total());
}

/// The feasible schedule that belongs to a run.
fn scheduled(instance: &UnitCommitment) -> (Solution, Option<Schedules>) {
    let problem = Problem::UnitCommitment(instance.clone());
    let solution = solve(&problem, true);
    let ProblemPrimal::UnitCommitment(recovered) = problem.recover(solution.primal.as_ref().unwrap()) else {
        panic!("another problem")
    };
    (solution, recovered.feasible)
}

/// A unit that can do nothing but run at one output.
fn fixed_unit(output: f64, cost: f64, must_run: bool) -> ThermalUnit {
    ThermalUnit {
        name: "A".to_string(),
        output_minimum: output,
        output_maximum: output,
        ramp_up: output,
        ramp_down: output,
        up_minimum: 1,
        down_minimum: 1,
        must_run,
        production: vec![CostPoint { output: Some(output), cost }],
        startup: vec![StartCategory { lag: Some(1), cost: 0.0 }],
        initial: Some(InitialState {
            is_on: must_run,
            output: f64::from(u8::from(must_run)) * output,
            time_up: 5,
            time_down: 5,
        }),
        ..ThermalUnit::default()
    }
}

/// The schedule of a dispatch is found also where its dual ends before any proof.
#[test]
fn small_systems_are_scheduled() {
    let wind = |most: f64| {
        vec![RenewableUnit { name: "W".to_string(), output_minimum: vec![0.0; 2], output_maximum: vec![most; 2] }]
    };
    let system = |formulation, demand: f64, unit, renewable| {
        UnitCommitment::new(Some(formulation), vec![demand; 2], vec![], vec![unit], renewable).unwrap()
    };
    for (instance, cost) in [
        // A unit that must run, and wind for the rest.
        (system(Formulation::Pglib, 10.0, fixed_unit(6.0, 60.0, true), wind(8.0)), 120.0),
        // Wind meets the demand alone.
        (system(Formulation::Pglib, 5.0, fixed_unit(6.0, 60.0, false), wind(8.0)), 0.0),
        (system(Formulation::Pglib, 8.0, fixed_unit(6.0, 60.0, false), wind(8.0)), 0.0),
        // A unit meets the demand alone.
        (system(Formulation::Pglib, 6.0, fixed_unit(6.0, 60.0, true), vec![]), 120.0),
        // The unit is too large, so all load is lost.
        (system(Formulation::Chp, 5.0, fixed_unit(6.0, 60.0, false), vec![]), 30_000.0),
        // A unit that costs more than the load is worth.
        (system(Formulation::Chp, 6.0, fixed_unit(6.0, 4000.0, false), vec![]), 36_000.0),
    ] {
        let (solution, feasible) = scheduled(&instance);
        let Some(feasible) = feasible else { panic!("no schedule of cost {cost}") };
        assert_feasible(&instance, &feasible);
        assert!((feasible.cost() - cost).abs() <= 1e-6 * cost.max(1.0), "{} {cost}", feasible.cost());
        assert_uplift(&instance, &feasible, &solution);
    }
}

/// Answers `false` a number of times, then `true`.
struct Countdown(AtomicUsize);

impl Interrupt for Countdown {
    fn is_raised(&self) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_err()
    }
}

/// A search that is cut short has a feasible schedule or none, and ends at once.
#[test]
fn searches_end_when_told() {
    let instance = generated(1, 25, 24);
    let problem = Problem::UnitCommitment(instance.clone());
    let solution = solve(&problem, true);
    let search = |search: Search<'_>| {
        let primal = solution.primal.as_ref().unwrap();
        match problem.recover_within(primal, &Search { multipliers: Some(&solution.point), ..search }) {
            ProblemPrimal::UnitCommitment(recovered) => recovered.feasible,
            _ => panic!("another problem"),
        }
    };
    let whole = search(Search::default()).unwrap();
    assert!(search(Search { until: Some(Instant::now()), ..Search::default() }).is_none());
    let mut found = 0;
    for asked in (0..20).map(|power| (1 << power) - 1) {
        let interrupt = Countdown(AtomicUsize::new(asked));
        let feasible = search(Search { interrupt: Some(&interrupt), ..Search::default() });
        assert!(asked > 0 || feasible.is_none());
        if let Some(feasible) = feasible {
            assert_feasible(&instance, &feasible);
            assert!(feasible.cost() >= whole.cost() * (1.0 - 1e-9));
            found += 1;
        }
    }
    assert!(found > 0);
}

/// Runs end with a proof; a feasible schedule is above the bound, and its uplift is the difference.
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
            assert_uplift(&instance, &feasible, &solution);
            if let Some(relaxed) = &recovered.relaxed {
                assert_balanced(&instance, relaxed);
                let gap = relaxed.cost() / solution.value - 1.0;
                assert!((-1e-9..=1e-6).contains(&gap), "{gap}");
            }
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
