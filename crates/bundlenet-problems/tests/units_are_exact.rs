//! The solver of one unit against brute force over the text of the reference models.

use bundlenet_linalg::Stream;
use bundlenet_problems::UnitCommitment;
use bundlenet_problems::unit_commitment::{Formulation, ThermalUnit};
use bundlenet_testing::units::{Prices, least_value, random_prices, random_unit};

/// Units of each formulation.
const UNITS: usize = 500;

fn instance(unit: &ThermalUnit, formulation: Formulation, periods: usize) -> Option<UnitCommitment> {
    let (demand, reserves) = (vec![1.0; periods], vec![1.0; periods]);
    UnitCommitment::new(Some(formulation), demand, reserves, vec![unit.clone()], vec![]).ok()
}

/// Checks a unit at random prices; returns whether it has a schedule.
fn check(unit: &ThermalUnit, formulation: Formulation, periods: usize, stream: &mut Stream) -> bool {
    let level = 10.0 + 60.0 * stream.symmetric().abs();
    let energy = random_prices(stream, level, periods);
    let has_reserve = formulation == Formulation::Pglib && stream.below(4) > 0;
    let price = |stream: &mut Stream| (0.2 * level * stream.normal()).max(0.0);
    let reserve: Vec<f64> = if has_reserve { (0..periods).map(|_| price(stream)).collect() } else { vec![] };
    let prices = Prices { energy: &energy, reserve: &reserve };
    let expected = least_value(unit, formulation, prices);
    let Some(instance) = instance(unit, formulation, periods) else {
        // The formulation chp refuses some units with schedules: `docs/formats.md` says which.
        let is_refused = formulation == Formulation::Chp && unit.down_minimum > periods + 1;
        assert!(expected.is_none() || is_refused, "{unit:?}");
        return false;
    };
    let Some(expected) = expected else { panic!("expected no schedule: {unit:?}") };
    let found = instance.best_response(0, &energy, &reserve);
    let tolerance = 1e-9 * expected.abs().max(1.0);
    assert!((expected + found.profit).abs() <= tolerance, "{expected} {} {unit:?} {prices:?}", -found.profit);
    let income = |prices: &[f64], amounts: &[f64]| prices.iter().zip(amounts).map(|(p, a)| p * a).sum::<f64>();
    let profit = income(&energy, &found.output) + income(&reserve, &found.reserve) - found.cost;
    assert!((profit - found.profit).abs() <= tolerance, "{profit} {} {unit:?}", found.profit);
    assert!(found.reserve.iter().all(|reserve| *reserve >= 0.0));
    true
}

#[test]
fn pglib_units_are_exact() {
    let periods = 7;
    let mut solved = 0;
    for index in 0..UNITS {
        let mut stream = Stream::new(1, "pglib units", index as u64);
        let unit = random_unit(&mut stream, Formulation::Pglib, periods);
        solved += usize::from(check(&unit, Formulation::Pglib, periods, &mut stream));
    }
    assert!(solved > 9 * UNITS / 10, "{solved}");
}

#[test]
fn chp_units_are_exact() {
    let periods = 5;
    let mut solved = 0;
    for index in 0..UNITS {
        let mut stream = Stream::new(1, "chp units", index as u64);
        let unit = random_unit(&mut stream, Formulation::Chp, periods);
        solved += usize::from(check(&unit, Formulation::Chp, periods, &mut stream));
    }
    assert!(solved > 7 * UNITS / 10, "{solved}");
}
