//! Feasible schedules: fixed periods on, then economic dispatch.
//!
//! The shares on of a convex combination are rounded to valid periods on of each unit. With these fixed, the outputs of a
//! unit are a convex set. So a balanced combination of dispatches is a dispatch, and the dual with fixed periods on
//! finds it.

use super::instance::{Formulation, UnitCommitment};
use super::lagrangian::UnitCommitmentDual;
use super::primal::Schedules;
use bundlenet::{BundleSettings, Limits, Method, Settings, Solver};

/// Shares on from which a unit is on. Lower ones commit more units.
const THRESHOLDS: [f64; 4] = [0.5, 0.3, 0.1, 0.01];

/// Steps of a dispatch at most.
const MOST_STEPS: usize = 150;

/// Largest gap of a dispatch.
const TOLERANCE: f64 = 1e-6;

/// The cheapest feasible schedule of some rounded ones, if there is one.
pub(super) fn find(instance: &UnitCommitment, convex: &Schedules) -> Option<Schedules> {
    let mut best: Option<Schedules> = None;
    let mut last = vec![];
    for threshold in THRESHOLDS {
        let pattern = |unit: usize| {
            let gains: Vec<f64> = (0..instance.periods()).map(|at| convex.at(unit, at)[0] - threshold).collect();
            instance.units()[unit].best_pattern(&gains)
        };
        let patterns: Vec<Vec<bool>> = (0..instance.units().len()).map(pattern).collect();
        if patterns == last {
            continue;
        }
        last.clone_from(&patterns);
        if let Some(found) = dispatch(instance, patterns)
            && best.as_ref().is_none_or(|best| found.cost() < best.cost())
        {
            best = Some(found);
        }
    }
    best
}

/// The cheapest outputs for given periods on.
fn dispatch(instance: &UnitCommitment, patterns: Vec<Vec<bool>>) -> Option<Schedules> {
    let fixed = instance.with_fixed(patterns);
    let mut dual = UnitCommitmentDual::new(&fixed);
    let limits = Limits { steps: Some(MOST_STEPS), ..Limits::default() };
    let method = Method::Bundle(BundleSettings::default());
    let settings = Settings { method, limits, tolerance: TOLERANCE, ..Settings::default() };
    Solver::new(settings).ok()?.solve(&mut dual).ok()?;
    let supply = dual.combination()?;
    let periods = fixed.periods();
    let mut numbers = Vec::with_capacity(fixed.units().len() * periods);
    let mut costs = vec![];
    for (unit, amounts) in fixed.units().iter().zip(supply) {
        let is_on = unit.fixed.as_deref()?;
        let mut cost = unit.start_cost_of(is_on);
        for period in 0..periods {
            let on = if is_on[period] { 1.0 } else { 0.0 };
            if is_on[period] {
                cost += unit.cost.at(amounts[period] - unit.minimum);
            }
            numbers.push([on, amounts[period], amounts.get(periods + period).copied().unwrap_or(0.0)]);
        }
        costs.push(cost);
    }
    let mut flexible = fixed.renewable_limits().0;
    for amounts in &supply[fixed.units().len()..] {
        flexible.iter_mut().zip(amounts).for_each(|(sum, amount)| *sum += amount);
    }
    let price = if fixed.formulation() == Formulation::Chp { UnitCommitment::LOST_LOAD } else { 0.0 };
    let extra = price * flexible.iter().sum::<f64>();
    Some(Schedules::feasible(periods, numbers, (flexible, extra), costs))
}
