//! Instances of the family `uc`: a thermal system with wind and sun, in the layout of pglib-uc.
//!
//! Units are of four technologies. Costs have three pieces and up to three start categories. Demand has a daily course
//! with a morning and an evening peak. The units with the lowest costs are on before the horizon. All data are decimals
//! with two digits.

use super::instance::{
    CostPoint, Formulation, InitialState, RenewableUnit, StartCategory, ThermalUnit, UnitCommitment,
};
use crate::Problem;
use crate::generate::Family;
use bundlenet_linalg::Stream;

/// Units and periods without a choice.
pub(crate) const SIZE: (usize, usize) = (60, 48);

/// Ranges of the data of a technology.
struct Technology {
    name: &'static str,
    /// Number of units of this kind among ten.
    share: usize,
    maximum: (f64, f64),
    /// Minimum output and hourly ramp over the maximum.
    minimum: (f64, f64),
    ramp: (f64, f64),
    times: (u32, u32),
    /// Cost of a MWh at the minimum output.
    cost: (f64, f64),
    /// Cost of a cold start for each MW.
    start: (f64, f64),
}

const TECHNOLOGIES: [Technology; 4] = [
    Technology {
        name: "nuclear",
        share: 1,
        maximum: (600.0, 1200.0),
        minimum: (0.5, 0.8),
        ramp: (0.05, 0.2),
        times: (24, 48),
        cost: (6.0, 10.0),
        start: (80.0, 120.0),
    },
    Technology {
        name: "coal",
        share: 3,
        maximum: (150.0, 600.0),
        minimum: (0.35, 0.55),
        ramp: (0.2, 0.5),
        times: (6, 12),
        cost: (18.0, 30.0),
        start: (50.0, 110.0),
    },
    Technology {
        name: "combined-cycle",
        share: 4,
        maximum: (100.0, 450.0),
        minimum: (0.3, 0.5),
        ramp: (0.4, 1.2),
        times: (3, 6),
        cost: (28.0, 45.0),
        start: (30.0, 70.0),
    },
    Technology {
        name: "gas-turbine",
        share: 2,
        maximum: (20.0, 120.0),
        minimum: (0.1, 0.4),
        ramp: (1.0, 2.0),
        times: (1, 2),
        cost: (55.0, 100.0),
        start: (10.0, 40.0),
    },
];

/// Name, group and problem of instance `index`; every instance is a group of its own.
pub(crate) fn instance(
    family: Family,
    seed: u64,
    (units, periods): (usize, usize),
    index: usize,
) -> (String, usize, Problem) {
    let group = index + 1;
    let mut stream = Stream::new(seed, family.name(), group as u64);
    let thermal: Vec<ThermalUnit> = (0..units).map(|unit| draw_unit(&mut stream, unit)).collect();
    let problem = draw_system(&mut stream, thermal, periods);
    (format!("uc-{group}"), group, Problem::UnitCommitment(problem))
}

fn uniform(stream: &mut Stream, (low, high): (f64, f64)) -> f64 {
    low + (high - low) * 0.5 * (1.0 + stream.symmetric())
}

/// A decimal with two digits.
fn decimal(number: f64) -> f64 {
    (100.0 * number).round() / 100.0
}

/// A unit without an initial state.
fn draw_unit(stream: &mut Stream, index: usize) -> ThermalUnit {
    let shares = TECHNOLOGIES.map(|technology| technology.share);
    let technology = &TECHNOLOGIES[stream.weighted(&shares)];
    let maximum = decimal(uniform(stream, technology.maximum));
    let minimum = decimal(maximum * uniform(stream, technology.minimum));
    let ramp = decimal(maximum * uniform(stream, technology.ramp));
    let time = |stream: &mut Stream| stream.between(technology.times.0, technology.times.1) as usize;
    let (up_minimum, down_minimum) = (time(stream), time(stream));
    let mut marginal = uniform(stream, technology.cost);
    let mut production = vec![CostPoint { output: Some(minimum), cost: decimal(marginal * minimum) }];
    for piece in 1..=3 {
        let output = if piece == 3 { maximum } else { decimal(minimum + (maximum - minimum) * f64::from(piece) / 3.0) };
        let last = production[production.len() - 1];
        marginal *= 1.0 + 0.08 * stream.symmetric().abs();
        let width = output - last.output.unwrap_or(0.0);
        production.push(CostPoint { output: Some(output), cost: decimal(last.cost + marginal * width) });
    }
    let cold = maximum * uniform(stream, technology.start);
    let categories = [(down_minimum, 0.5), (2 * down_minimum + 1, 0.75), (4 * down_minimum + 2, 1.0)];
    let startup = categories.map(|(lag, share)| StartCategory { lag: Some(lag), cost: decimal(share * cold) });
    ThermalUnit {
        name: format!("{}-{}", technology.name, index + 1),
        output_minimum: minimum,
        output_maximum: maximum,
        ramp_up: ramp,
        ramp_down: ramp,
        startup_ramp: Some(minimum.max(ramp)),
        shutdown_ramp: Some(minimum.max(ramp)),
        up_minimum,
        down_minimum,
        production,
        startup: startup.to_vec(),
        ..ThermalUnit::default()
    }
}

/// Share of the peak in an hour of a day.
fn course(hour: f64) -> f64 {
    let bump = |at: f64, width: f64| (-((hour - at) / width).powi(2)).exp();
    0.62 + 0.22 * bump(9.0, 3.5) + 0.12 * bump(14.0, 4.0) + 0.34 * bump(19.0, 2.8)
}

fn draw_system(stream: &mut Stream, mut thermal: Vec<ThermalUnit>, periods: usize) -> UnitCommitment {
    let capacity: f64 = thermal.iter().map(|unit| unit.output_maximum).sum();
    let peak = capacity * uniform(stream, (0.75, 0.9));
    let demand: Vec<f64> = (0..periods)
        .map(|period| decimal(peak * course((period % 24) as f64) * (1.0 + 0.01 * stream.normal().clamp(-3.0, 3.0))))
        .collect();
    let reserves = demand.iter().map(|demand| decimal(0.03 * demand)).collect();
    let renewable = vec![wind(stream, 0.15 * peak, periods), sun(stream, 0.1 * peak, periods)];
    begin(stream, &mut thermal, 0.9 * demand[0]);
    UnitCommitment::new(Some(Formulation::Pglib), demand, reserves, thermal, renewable)
        .unwrap_or_else(|invalid| unreachable!("numbers in these ranges are valid: {invalid}"))
}

/// Sets the initial states: units in the order of their costs are on until they can meet the demand.
fn begin(stream: &mut Stream, thermal: &mut [ThermalUnit], demand: f64) {
    let mean_cost = |unit: &ThermalUnit| unit.production[0].cost / unit.output_minimum;
    let mut order: Vec<usize> = (0..thermal.len()).collect();
    order.sort_by(|&one, &other| mean_cost(&thermal[one]).total_cmp(&mean_cost(&thermal[other])));
    let mut capacity = 0.0;
    let mut on = vec![];
    for &unit in &order {
        let is_on = capacity < demand || on.is_empty();
        if is_on {
            capacity += thermal[unit].output_maximum;
            on.push(unit);
        }
        let time = stream.between(1, 40) as usize;
        let (time_up, time_down) = if is_on { (time, 0) } else { (0, time) };
        thermal[unit].initial = Some(InitialState { is_on, output: 0.0, time_up, time_down });
    }
    let load = (demand / capacity).min(1.0);
    for unit in on {
        let data = &mut thermal[unit];
        let output = decimal((load * data.output_maximum).clamp(data.output_minimum, data.output_maximum));
        data.initial.iter_mut().for_each(|state| state.output = output);
    }
}

fn wind(stream: &mut Stream, capacity: f64, periods: usize) -> RenewableUnit {
    let mut level = uniform(stream, (0.2, 0.6));
    let mut next = || {
        level = (level + 0.06 * stream.normal()).clamp(0.02, 0.98);
        decimal(capacity * level)
    };
    let output_maximum = (0..periods).map(|_| next()).collect();
    RenewableUnit { name: "wind".to_string(), output_minimum: vec![0.0; periods], output_maximum }
}

fn sun(stream: &mut Stream, capacity: f64, periods: usize) -> RenewableUnit {
    let clear = uniform(stream, (0.4, 1.0));
    let height = |period: usize| (std::f64::consts::PI * ((period % 24) as f64 - 6.0) / 12.0).sin().max(0.0);
    let output_maximum = (0..periods).map(|period| decimal(capacity * clear * height(period))).collect();
    RenewableUnit { name: "sun".to_string(), output_minimum: vec![0.0; periods], output_maximum }
}
