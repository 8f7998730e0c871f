//! Unit commitment by brute force: all states of a unit, and a linear program for the output of each.

use bundlenet_problems::UnitCommitment;
use bundlenet_problems::unit_commitment::{CostPoint, Formulation, InitialState, StartCategory, ThermalUnit};
use microlp::{ComparisonOp, OptimizationDirection, Problem, Variable};

use crate::programs::feasible;
use bundlenet_linalg::Stream;

/// Prices of energy and, if any, of reserve.
#[derive(Clone, Copy, Debug)]
pub struct Prices<'a> {
    pub energy: &'a [f64],
    pub reserve: &'a [f64],
}

/// The least cost minus income of a unit, from the text of the reference models; `None` if it has no schedule.
pub fn least_value(unit: &ThermalUnit, formulation: Formulation, prices: Prices<'_>) -> Option<f64> {
    let best = match formulation {
        Formulation::Pglib => least_pglib(unit, prices),
        Formulation::Chp => least_chp(unit, prices),
    };
    best.is_finite().then_some(best)
}

/// All ways to be on or off.
fn states(periods: usize) -> impl Iterator<Item = Vec<bool>> {
    (0_u32..1 << periods).map(move |bits| (0..periods).map(|period| bits >> period & 1 == 1).collect())
}

fn least_pglib(unit: &ThermalUnit, prices: Prices<'_>) -> f64 {
    let periods = prices.energy.len();
    let mut best = f64::INFINITY;
    for on in states(periods) {
        if let Some(starts) = pglib_start_cost(unit, &on) {
            best = best.min(starts + pglib_dispatch(unit, &on, prices));
        }
    }
    best
}

/// Whether a unit is on in a period that counts from 1; period 0 is the initial state.
fn state(unit: &ThermalUnit, on: &[bool], period: usize) -> bool {
    if period == 0 { unit.initial.unwrap().is_on } else { on[period - 1] }
}

fn starts(unit: &ThermalUnit, on: &[bool], period: usize) -> bool {
    state(unit, on, period) && !state(unit, on, period - 1)
}

fn stops(unit: &ThermalUnit, on: &[bool], period: usize) -> bool {
    !state(unit, on, period) && state(unit, on, period - 1)
}

/// Cost of all starts, if the states obey the minimum times.
fn pglib_start_cost(unit: &ThermalUnit, on: &[bool]) -> Option<f64> {
    let (periods, initial) = (on.len(), unit.initial.unwrap());
    if unit.must_run && on.contains(&false) {
        return None;
    }
    let (up, down) = (unit.up_minimum.min(periods), unit.down_minimum.min(periods));
    let stay = if initial.is_on {
        unit.up_minimum.saturating_sub(initial.time_up)
    } else {
        unit.down_minimum.saturating_sub(initial.time_down)
    };
    if on.iter().take(stay).any(|&is_on| is_on != initial.is_on) {
        return None;
    }
    for period in 1..=periods {
        let count = |length: usize, what: fn(&ThermalUnit, &[bool], usize) -> bool| {
            (period + 1 - length..=period).filter(|&other| what(unit, on, other)).count()
        };
        let is_on = usize::from(on[period - 1]);
        if period >= up.max(1) && up > 0 && count(up, starts) > is_on {
            return None;
        }
        if period >= down.max(1) && down > 0 && count(down, stops) > 1 - is_on {
            return None;
        }
    }
    let costs = (1..=periods).filter(|&period| starts(unit, on, period)).map(|period| {
        let open = (0..unit.startup.len()).filter(|&category| is_open(unit, on, period, category));
        open.map(|category| unit.startup[category].cost).fold(f64::INFINITY, f64::min)
    });
    Some(costs.sum())
}

/// Whether a start in a period may be of a category.
fn is_open(unit: &ThermalUnit, on: &[bool], period: usize, category: usize) -> bool {
    let Some(next) = unit.startup.get(category + 1).and_then(|next| next.lag) else { return true };
    let lag = unit.startup[category].lag.unwrap();
    let initial = unit.initial.unwrap();
    let off_before = initial.time_down as i64;
    let (at, next_at) = (period as i64, next as i64);
    if at > next_at - off_before && at < next_at {
        return false;
    }
    period < next || (lag..next).any(|back| stops(unit, on, period - back))
}

/// Least cost of production minus income.
fn pglib_dispatch(unit: &ThermalUnit, on: &[bool], prices: Prices<'_>) -> f64 {
    let (minimum, maximum) = (unit.output_minimum, unit.output_maximum);
    let (startup, shutdown) = (unit.startup_ramp.unwrap_or(minimum), unit.shutdown_ramp.unwrap_or(minimum));
    let (periods, initial) = (on.len(), unit.initial.unwrap());
    let before = if initial.is_on { initial.output - minimum } else { 0.0 };
    if stops(unit, on, 1) && (before > unit.ramp_down || maximum - initial.output < (maximum - shutdown).max(0.0)) {
        return f64::INFINITY;
    }
    let mut lp = Problem::new(OptimizationDirection::Minimize);
    let mut fixed = 0.0;
    let mut last: Option<Variable> = None;
    for period in 1..=periods {
        let energy = prices.energy[period - 1];
        let is_on = on[period - 1];
        let mut cap = if is_on { maximum - minimum } else { 0.0 };
        if starts(unit, on, period) {
            cap -= (maximum - startup).max(0.0);
        }
        if is_on && period < periods && stops(unit, on, period + 1) {
            cap = cap.min(maximum - minimum - (maximum - shutdown).max(0.0));
        }
        if cap < 0.0 {
            return f64::INFINITY;
        }
        let output = lp.add_var(-energy, (0.0, f64::INFINITY));
        let reserve = lp.add_var(-prices.reserve.get(period - 1).copied().unwrap_or(0.0), (0.0, f64::INFINITY));
        if is_on {
            fixed += unit.production[0].cost - energy * minimum;
        }
        let shares: Vec<Variable> =
            unit.production.iter().map(|point| lp.add_var(point.cost - unit.production[0].cost, (0.0, 1.0))).collect();
        let outputs =
            shares.iter().zip(&unit.production).map(|(&share, point)| (share, minimum - point.output.unwrap()));
        lp.add_constraint(outputs.chain([(output, 1.0)]).collect::<Vec<_>>(), ComparisonOp::Eq, 0.0);
        let all: Vec<_> = shares.iter().map(|&share| (share, 1.0)).collect();
        lp.add_constraint(all, ComparisonOp::Eq, f64::from(u8::from(is_on)));
        lp.add_constraint([(output, 1.0), (reserve, 1.0)], ComparisonOp::Le, cap);
        match last {
            None => {
                lp.add_constraint([(output, 1.0), (reserve, 1.0)], ComparisonOp::Le, unit.ramp_up + before);
                lp.add_constraint([(output, -1.0)], ComparisonOp::Le, unit.ramp_down - before);
            }
            Some(last) => {
                let rise = [(output, 1.0), (reserve, 1.0), (last, -1.0)];
                lp.add_constraint(rise, ComparisonOp::Le, unit.ramp_up);
                lp.add_constraint([(last, 1.0), (output, -1.0)], ComparisonOp::Le, unit.ramp_down);
            }
        }
        last = Some(output);
    }
    feasible(lp.solve()).map_or(f64::INFINITY, |solution| fixed + solution.objective())
}

fn least_chp(unit: &ThermalUnit, prices: Prices<'_>) -> f64 {
    let periods = prices.energy.len();
    let mut best = f64::INFINITY;
    // States of the periods 0 to T + 1, and periods with a stop and a start at once.
    for on in states(periods + 2) {
        let stays: Vec<usize> = (1..periods + 2).filter(|&period| on[period] && on[period - 1]).collect();
        let subsets = if unit.down_minimum > periods + 1 { 1_u32 << stays.len() } else { 1 };
        for bits in 0..subsets {
            let both: Vec<usize> = (0..stays.len()).filter(|at| bits >> at & 1 == 1).map(|at| stays[at]).collect();
            best = best.min(chp_value(unit, &on, &both, prices));
        }
    }
    best
}

fn chp_value(unit: &ThermalUnit, on: &[bool], both: &[usize], prices: Prices<'_>) -> f64 {
    let periods = prices.energy.len();
    let minimum = unit.output_minimum;
    let is_start = |period: usize| period > 0 && (on[period] && !on[period - 1] || both.contains(&period));
    let is_stop = |period: usize| period > 0 && (!on[period] && on[period - 1] || both.contains(&period));
    for (period, &is_on) in on.iter().enumerate() {
        let count = |length: usize, what: &dyn Fn(usize) -> bool| {
            if length > periods + 1 || period < length || length == 0 {
                return 0;
            }
            (period + 1 - length..=period).filter(|&other| what(other)).count()
        };
        let is_on = usize::from(is_on);
        if count(unit.up_minimum, &is_start) > is_on || count(unit.down_minimum, &is_stop) > 1 - is_on {
            return f64::INFINITY;
        }
    }
    let no_load = unit.no_load_cost.unwrap_or(unit.down_minimum as f64);
    let inside = 1..=periods;
    let mut fixed: f64 = inside.clone().filter(|&period| on[period]).map(|_| no_load).sum();
    fixed += inside.clone().filter(|&period| is_start(period)).map(|_| unit.startup[0].cost).sum::<f64>();
    let mut lp = Problem::new(OptimizationDirection::Minimize);
    let flag = |flag: bool| if flag { 1.0 } else { 0.0 };
    let outputs: Vec<Variable> = (0..periods + 2)
        .map(|period| {
            let price =
                if inside.contains(&period) { unit.production[0].cost - prices.energy[period - 1] } else { 0.0 };
            lp.add_var(price, (minimum * flag(on[period]), unit.output_maximum * flag(on[period])))
        })
        .collect();
    for period in 1..periods + 2 {
        let (last, next) = (outputs[period - 1], outputs[period]);
        let (startup, shutdown) = (unit.startup_ramp.unwrap_or(minimum), unit.shutdown_ramp.unwrap_or(minimum));
        let rise = unit.ramp_up * flag(on[period - 1]) + startup * flag(is_start(period));
        let fall = unit.ramp_down * flag(on[period]) + shutdown * flag(is_stop(period));
        lp.add_constraint([(next, 1.0), (last, -1.0)], ComparisonOp::Le, rise);
        lp.add_constraint([(last, 1.0), (next, -1.0)], ComparisonOp::Le, fall);
    }
    feasible(lp.solve()).map_or(f64::INFINITY, |solution| fixed + solution.objective())
}

/// A random unit with ramps that bind or do not, limits of starts and stops, and costs with several pieces.
pub fn random_unit(stream: &mut Stream, formulation: Formulation, periods: usize) -> ThermalUnit {
    let mut uniform = |low: f64, high: f64| low + (high - low) * 0.5 * (1.0 + stream.symmetric());
    let minimum = [0.0, 10.0, 50.0, 100.0][uniform(0.0, 4.0) as usize % 4];
    let range: f64 = [0.0, 20.0, 80.0, 200.0, 200.0][uniform(0.0, 5.0) as usize % 5];
    let is_wide = uniform(0.0, 1.0) < 0.2;
    let mut ramp = || if is_wide { 5.0 * range + 1.0 } else { uniform(0.05, 1.3) * range.max(1.0) };
    let (ramp_up, ramp_down) = (ramp(), ramp());
    let mut switch = || minimum + [0.0, uniform(0.0, 1.0) * range, range + 5.0][uniform(0.0, 3.0) as usize % 3];
    let (startup, shutdown) = (switch(), switch());
    let mut time = || [1, 2, 3, 5, periods + 4][uniform(0.0, 5.0) as usize % 5];
    let (up_minimum, down_minimum) = (time(), time());
    let marginal = uniform(10.0, 60.0);
    let is_on = uniform(0.0, 1.0) < 0.55;
    let pieces = if range > 0.0 { 1 + uniform(0.0, 4.0) as usize } else { 0 };
    let mut slopes: Vec<f64> = (0..pieces).map(|_| marginal * uniform(0.6, 1.5)).collect();
    slopes.sort_by(f64::total_cmp);
    let mut production =
        vec![CostPoint { output: Some(minimum), cost: marginal * minimum * 1.2 + uniform(0.0, 300.0) }];
    for (piece, slope) in slopes.iter().enumerate() {
        let (width, last) = (range / pieces as f64, production[piece]);
        let output = if piece + 1 == pieces { minimum + range } else { minimum + (piece + 1) as f64 * width };
        production.push(CostPoint { output: Some(output), cost: last.cost + slope * (output - last.output.unwrap()) });
    }
    let lags = [1, 2 + uniform(0.0, 3.0) as usize, 5 + uniform(0.0, 3.0) as usize];
    let count = 1 + uniform(0.0, 3.0) as usize % 3;
    let mut costs: Vec<f64> = (0..count).map(|_| uniform(0.0, 6000.0)).collect();
    costs.sort_by(f64::total_cmp);
    let category = |(lag, cost): (&usize, &f64)| StartCategory { lag: Some(*lag), cost: *cost };
    let initial = InitialState {
        is_on,
        output: if is_on { minimum + uniform(0.0, 1.0) * range } else { 0.0 },
        time_up: if is_on { 1 + uniform(0.0, 6.0) as usize } else { 0 },
        time_down: if is_on { 0 } else { 1 + uniform(0.0, 6.0) as usize },
    };
    if formulation == Formulation::Chp {
        production[0].cost = marginal;
    }
    ThermalUnit {
        name: "unit".to_string(),
        output_minimum: minimum,
        output_maximum: minimum + range,
        ramp_up,
        ramp_down,
        startup_ramp: Some(startup),
        shutdown_ramp: Some(shutdown),
        up_minimum,
        down_minimum,
        must_run: is_on && uniform(0.0, 1.0) < 0.1,
        no_load_cost: Some(uniform(0.0, 300.0)),
        production,
        startup: lags.iter().zip(&costs).map(category).collect(),
        initial: Some(initial),
    }
}

/// Prices around a level, with a wave and noise.
pub fn random_prices(stream: &mut Stream, level: f64, periods: usize) -> Vec<f64> {
    let (phase, noise) = (stream.symmetric(), [0.02, 0.2, 0.8][stream.below(3)]);
    let wave = |period: usize| (std::f64::consts::TAU * (period as f64 / periods as f64 + phase)).sin();
    (0..periods).map(|period| level * (1.0 + 0.6 * wave(period) + noise * stream.normal())).collect()
}

/// The value of the dual, from the answers of the units.
pub fn plain_dual(instance: &UnitCommitment, point: &[f64]) -> f64 {
    let (energy, reserve) = instance.split_prices(point);
    let income = |prices: &[f64], amounts: &[f64]| prices.iter().zip(amounts).map(|(p, a)| p * a).sum::<f64>();
    let units = 0..instance.thermal_units().len();
    let profits: f64 = units.map(|unit| instance.best_response(unit, energy, reserve).profit).sum();
    let consumers: f64 = match instance.formulation() {
        Formulation::Pglib => income(energy, instance.demand()),
        Formulation::Chp => energy.iter().zip(instance.demand()).map(|(price, load)| load * price.min(3000.0)).sum(),
    };
    let (least, most) = instance.renewable_limits();
    let renewables = energy.iter().enumerate().map(|(t, price)| price * if *price > 0.0 { most[t] } else { least[t] });
    consumers + income(reserve, instance.reserves()) - profits - renewables.sum::<f64>()
}
