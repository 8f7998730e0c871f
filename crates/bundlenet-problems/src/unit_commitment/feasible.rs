//! Feasible schedules: fixed periods on, then economic dispatch.
//!
//! The shares on of a convex combination are rounded to valid periods on of each unit. With these fixed, the outputs of a
//! unit are a convex set. So a balanced combination of dispatches is a dispatch. The dual with fixed periods on finds the
//! dispatches, and one linear program after it combines them.

use super::instance::{Formulation, UnitCommitment};
use super::lagrangian::UnitCommitmentDual;
use super::primal::Schedules;
use crate::Search;
use bundlenet::{BundleSettings, Limits, Method, Settings, Solution, Solver, State, Status};

/// Shares on from which a unit is on. Lower ones commit more units.
const THRESHOLDS: [f64; 4] = [0.5, 0.3, 0.1, 0.01];

/// Shares that commit few units, or only those that must run. They are tried if the others give no schedule.
const HIGH_THRESHOLDS: [f64; 2] = [0.8, 1.1];

/// Steps of a dispatch at most.
const MOST_STEPS: usize = 150;

/// Largest gap of a dispatch.
const TOLERANCE: f64 = 1e-6;

/// The cheapest feasible schedule of some rounded ones, if there is one.
pub(super) fn find(instance: &UnitCommitment, convex: &Schedules, search: &Search<'_>) -> Option<Schedules> {
    let mut best: Option<Schedules> = None;
    let mut prices = search.multipliers.map(<[f64]>::to_vec);
    let mut last = vec![];
    for threshold in THRESHOLDS.into_iter().chain(HIGH_THRESHOLDS) {
        if search.is_over() || (threshold > THRESHOLDS[0] && best.is_some()) {
            break;
        }
        let patterns = patterns(instance, convex, threshold);
        if patterns == last {
            continue;
        }
        last.clone_from(&patterns);
        let fixed = instance.with_fixed(patterns);
        if !has_capacity(&fixed) {
            continue;
        }
        let least = best.as_ref().map(Schedules::cost);
        if let Some(found) = dispatch(&fixed, (&mut prices, least), search)
            && best.as_ref().is_none_or(|best| found.cost() < best.cost())
        {
            best = Some(found);
        }
    }
    best
}

/// Valid periods on of each unit near those in which its share on is at least `threshold`.
fn patterns(instance: &UnitCommitment, convex: &Schedules, threshold: f64) -> Vec<Vec<bool>> {
    let pattern = |unit: usize| {
        let gains: Vec<f64> = (0..instance.periods()).map(|at| convex.at(unit, at)[0] - threshold).collect();
        instance.units()[unit].best_pattern(&gains)
    };
    (0..instance.units().len()).map(pattern).collect()
}

/// Whether the units that are on can meet demand and reserve in every period, each by itself at its most or its least.
fn has_capacity(fixed: &UnitCommitment) -> bool {
    let (mut low, mut high) = fixed.renewable_limits();
    for unit in fixed.units() {
        let Some(is_on) = &unit.fixed else { continue };
        let most = unit.most_above_minimum(is_on);
        for period in (0..fixed.periods()).filter(|&period| is_on[period]) {
            low[period] += unit.minimum;
            high[period] += unit.minimum + most[period];
        }
    }
    (0..fixed.periods()).all(|period| {
        let demand = fixed.demand()[period];
        let reserve = if fixed.has_reserve_prices() { fixed.reserves()[period] } else { 0.0 };
        let may_lose = fixed.formulation() == Formulation::Chp;
        let round_off = 1e-9 * demand.max(1.0);
        low[period] <= demand + round_off && (may_lose || high[period] >= demand + reserve - round_off)
    })
}

/// The cheapest outputs for fixed periods on. `None` if they cost more than `least`, which the dual proves early.
/// `prices` are the start, and become those of this dispatch.
fn dispatch(
    fixed: &UnitCommitment,
    (prices, least): (&mut Option<Vec<f64>>, Option<f64>),
    search: &Search<'_>,
) -> Option<Schedules> {
    let mut dual = UnitCommitmentDual::new(fixed);
    let mut state = prices.as_deref().map_or_else(State::new, State::at);
    let solution = run(&mut dual, &mut state, least, search)?;
    match solution.status {
        Status::BoundReached | Status::Unbounded => return None,
        Status::Converged | Status::Optimal => *prices = Some(solution.point),
        _ => {}
    }
    let is_over = || search.is_over();
    dual.settle(&is_over);
    if dual.combination().is_none() && !is_over() {
        // The dispatches of a run may not balance. The program then guides it to some that do.
        dual.prove_dispatches();
        run(&mut dual, &mut state, least, search)?;
    }
    schedules(fixed, dual.combination()?)
}

/// Solves the dual of a dispatch, from a state.
fn run(dual: &mut UnitCommitmentDual, state: &mut State, least: Option<f64>, search: &Search<'_>) -> Option<Solution> {
    let limits = Limits { steps: Some(MOST_STEPS), seconds: search.seconds_left(), target: least, ..Limits::default() };
    let method = Method::Bundle(BundleSettings::default());
    let settings = Settings { method, limits, tolerance: TOLERANCE, ..Settings::default() };
    let mut solver = Solver::new(settings).ok()?.state(state);
    if let Some(interrupt) = search.interrupt {
        solver = solver.interrupt(interrupt);
    }
    solver.solve(dual).ok()
}

/// The schedules of units whose periods on are fixed, from their outputs and reserves.
fn schedules(fixed: &UnitCommitment, supply: &[Vec<f64>]) -> Option<Schedules> {
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
