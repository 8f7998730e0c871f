//! The subproblem of a unit in each formulation.

use super::instance::{InitialState, ThermalUnit};
use super::unit::{Before, OutputCost, StartCosts, Unit};
use crate::error::{Element, InvalidInstance};

/// Difference between an end of the production costs and a limit of the output that counts as round-off, over the limit.
const ROUND_OFF: f64 = 1e-9;

impl ThermalUnit {
    fn range(&self) -> f64 {
        self.output_maximum - self.output_minimum
    }

    /// Most output above the minimum in the period of a start, and in the last period before a stop.
    fn switch_caps(&self) -> (f64, f64) {
        let above =
            |ramp: Option<f64>| ramp.unwrap_or(self.output_minimum).min(self.output_maximum) - self.output_minimum;
        (above(self.startup_ramp), above(self.shutdown_ramp))
    }

    /// The model of pglib-uc.
    pub(super) fn pglib_unit(&self, index: usize, periods: usize) -> Result<Unit, InvalidInstance> {
        let Some(initial) = self.initial else {
            return Err(InvalidInstance::new(Element::InitialState(index), "one for the formulation pglib", "none"));
        };
        let (start_cap, stop_cap) = self.switch_caps();
        let before = self.before(index, &initial, stop_cap, periods)?;
        Ok(Unit {
            minimum: self.output_minimum,
            range: self.range(),
            ramp_up: self.ramp_up,
            ramp_down: self.ramp_down,
            start_cap: start_cap.min(self.ramp_up),
            stop_cap,
            stop_output: stop_cap.min(self.ramp_down),
            cost: self.convex_cost(index)?,
            up: self.up_minimum.clamp(1, periods),
            down: self.down_minimum.clamp(1, periods),
            start_costs: self.start_categories(index, &initial, periods)?,
            before,
            must_run: self.must_run,
            can_restart: false,
            fixed: None,
        })
    }

    fn before(
        &self,
        index: usize,
        initial: &InitialState,
        stop_cap: f64,
        periods: usize,
    ) -> Result<Before, InvalidInstance> {
        if !initial.is_on {
            let earliest = self.down_minimum.saturating_sub(initial.time_down).min(periods);
            return Ok(Before::Off { earliest });
        }
        let is_inside = (self.output_minimum..=self.output_maximum).contains(&initial.output);
        if !is_inside {
            let expected = "an output from the minimum to the maximum of a unit that is on";
            return Err(InvalidInstance::new(Element::InitialState(index), expected, initial.output));
        }
        let output = initial.output - self.output_minimum;
        let stay = self.up_minimum.saturating_sub(initial.time_up).min(periods);
        Ok(Before::On { output, stay, can_stop: stay == 0 && output <= self.ramp_down && output <= stop_cap })
    }

    /// The lower convex hull of the production costs.
    fn convex_cost(&self, index: usize) -> Result<OutputCost, InvalidInstance> {
        let wrong = |expected, found: f64| Err(InvalidInstance::new(Element::Production(index), expected, found));
        let mut points = Vec::with_capacity(self.production.len());
        for point in &self.production {
            let Some(output) = point.output else {
                let expected = "an output of each point, for the formulation pglib";
                return Err(InvalidInstance::new(Element::Production(index), expected, "none"));
            };
            if points.last().is_some_and(|(last, _)| *last >= output) || !output.is_finite() {
                return wrong("ascending outputs", output);
            }
            points.push((output, point.cost));
        }
        let (first, last) = (points[0].0, points[points.len() - 1].0);
        let is_near = |one: f64, other: f64| (one - other).abs() <= ROUND_OFF * other.abs().max(1.0);
        if !is_near(first, self.output_minimum) {
            return wrong("outputs from the minimum output on", first);
        }
        if !is_near(last, self.output_maximum) {
            return wrong("outputs up to the maximum output", last);
        }
        let slope = |one: (f64, f64), other: (f64, f64)| (other.1 - one.1) / (other.0 - one.0);
        let mut hull: Vec<(f64, f64)> = vec![];
        for point in points {
            while let [.., one, other] = hull[..]
                && slope(one, other) >= slope(other, point)
            {
                hull.pop();
            }
            hull.push(point);
        }
        let slopes: Vec<f64> = hull.windows(2).map(|pair| slope(pair[0], pair[1])).collect();
        let bends = hull.iter().skip(1).zip(slopes.windows(2));
        let bends = bends.map(|(point, slopes)| (point.0 - first, slopes[1] - slopes[0]));
        Ok(OutputCost { base: hull[0].1, slope: slopes.first().copied().unwrap_or(0.0), bends: bends.collect() })
    }

    /// Start costs by the time off. A category of a unit that was off before the horizon is closed in some first
    /// periods, as in the reference model: also after a stop inside the horizon.
    fn start_categories(
        &self,
        index: usize,
        initial: &InitialState,
        periods: usize,
    ) -> Result<StartCosts, InvalidInstance> {
        let mut lags = Vec::with_capacity(self.startup.len());
        for category in &self.startup {
            match category.lag {
                Some(lag) if lags.last().is_none_or(|last| *last < lag) => lags.push(lag),
                Some(lag) => return Err(InvalidInstance::new(Element::Startup(index), "ascending lags", lag)),
                None if self.startup.len() == 1 => lags.push(0),
                None => return Err(InvalidInstance::new(Element::Startup(index), "a lag of each category", "none")),
            }
        }
        let count = lags.len();
        let off_before = if initial.is_on { 0 } else { initial.time_down };
        let category_after = |off: usize| lags.iter().skip(1).take_while(|lag| **lag <= off).count();
        let is_closed = |start: usize, category: usize| {
            lags.get(category + 1).is_some_and(|&lag| start + 1 < lag && start + 1 + off_before > lag)
        };
        let cost = |start: usize, category: usize| {
            let open = (category..count).find(|&other| !is_closed(start, other)).unwrap_or(count - 1);
            self.startup[open].cost
        };
        let starts = 0..periods;
        Ok(StartCosts {
            categories: (0..=periods).map(category_after).collect(),
            by_start: starts
                .clone()
                .flat_map(|start| (0..count).map(move |category| (start, category)))
                .map(|(start, category)| cost(start, category))
                .collect(),
            first: starts.map(|start| cost(start, category_after(off_before + start))).collect(),
            count,
        })
    }

    /// The model of ConvexHullPricing.jl. It has the periods 0 to T + 1, and costs in 1 to T only, so the state before
    /// the first period is free. A minimum time beyond T + 1 is no limit.
    pub(super) fn chp_unit(&self, index: usize, periods: usize) -> Result<Unit, InvalidInstance> {
        let (start_cap, stop_cap) = self.switch_caps();
        let range = self.range();
        let least_time = |time: usize| if time > periods + 1 { 1 } else { time.max(1) };
        let can_restart = self.down_minimum > periods + 1;
        // The ramps of a period with a stop and a start are wider. This solver needs them to be no limit.
        let is_wide = |ramp: f64, switch: Option<f64>| ramp + switch.unwrap_or(self.output_minimum) >= range;
        if can_restart && !(is_wide(self.ramp_up, self.startup_ramp) && is_wide(self.ramp_down, self.shutdown_ramp)) {
            let expected = "within the horizon, or ramps that together with those of a start and of a stop span the \
                output, for the formulation chp";
            return Err(InvalidInstance::new(Element::DownMinimum(index), expected, self.down_minimum));
        }
        let no_load = self.no_load_cost.unwrap_or(self.down_minimum as f64);
        let slope = self.production[0].cost;
        let start_cost = self.startup[0].cost;
        Ok(Unit {
            minimum: self.output_minimum,
            range,
            ramp_up: self.ramp_up,
            ramp_down: self.ramp_down,
            start_cap,
            stop_cap,
            stop_output: stop_cap,
            cost: OutputCost { base: no_load + slope * self.output_minimum, slope, bends: vec![] },
            up: least_time(self.up_minimum),
            down: least_time(self.down_minimum),
            start_costs: StartCosts {
                categories: vec![0; periods + 1],
                by_start: vec![start_cost; periods],
                first: vec![start_cost; periods],
                count: 1,
            },
            before: Before::Free,
            must_run: false,
            can_restart,
            fixed: None,
        })
    }
}
