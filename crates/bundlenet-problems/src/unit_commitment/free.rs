//! Runs of a unit whose ramps do not bind: the periods are independent of each other.

use super::commitments::{Commitments, End, INITIAL, Kind, Stretch};
use super::unit::{Before, Prices, Unit, UnitSchedule};

/// Limits of a period: in the middle of a run, at its start, at its stop, at both.
const PLACES: usize = 4;
const MIDDLE: usize = 0;
const START: usize = 1;
const STOP: usize = 2;
const BOTH: usize = START + STOP;

/// Values of all periods, and sums over them.
#[derive(Clone, Debug, Default)]
pub(super) struct FreeRuns {
    /// Value and output of each period, by place.
    values: [Vec<f64>; PLACES],
    outputs: [Vec<f64>; PLACES],
    /// Values of the middle of a run, added up from the first period.
    sums: Vec<f64>,
}

/// Most output and reserve together, and most output, at a place.
fn caps(unit: &Unit, place: usize) -> (f64, f64) {
    let start = if place & START > 0 { unit.start_cap } else { f64::INFINITY };
    let (stop, output) = if place & STOP > 0 { (unit.stop_cap, unit.stop_output) } else { (start, start) };
    let cap = start.min(stop).min(unit.range);
    (cap, cap.min(output))
}

impl FreeRuns {
    pub(super) fn solve(&mut self, unit: &Unit, prices: Prices<'_>, commitments: &mut Commitments) {
        self.evaluate(unit, prices, MIDDLE);
        // No plan is better than the gains of all periods with one.
        let middle = &self.values[MIDDLE];
        if commitments.incumbent() == 0.0 && middle.iter().all(|value| *value >= 0.0) {
            return;
        }
        if !matches!(unit.before, Before::Off { .. }) && middle.iter().all(|value| *value <= 0.0) {
            let value = middle.iter().sum();
            commitments.offer_horizon(End { value, run: INITIAL, output: 0.0, wanted: 0.0 });
            return;
        }
        (START..PLACES).for_each(|place| self.evaluate(unit, prices, place));
        self.sums.clear();
        self.sums.push(0.0);
        let mut sum = 0.0;
        for value in &self.values[MIDDLE] {
            sum += value;
            self.sums.push(sum);
        }
        let periods = prices.periods();
        let stay = match unit.before {
            Before::Free => Some(0),
            Before::On { stay, .. } => Some(stay),
            Before::Off { .. } => None,
        };
        // The best start that may stop in the present period, and its value before the sums of the middle.
        let mut best = (f64::INFINITY, INITIAL);
        let end = |value: f64, run: usize| End { value, run, output: 0.0, wanted: 0.0 };
        for period in 0..periods {
            let entry = commitments.enter(unit);
            if let Some(start) = (period + 1).checked_sub(unit.up.max(2)) {
                let value = commitments.entry(start) + self.values[START][start] - self.sums[start + 1];
                if value < best.0 {
                    best = (value, 1 + start);
                }
            }
            if unit.can_stop() && period + 1 < periods {
                let middle = self.sums[period] + self.values[STOP][period];
                commitments.offer_stop(period, end(best.0 + middle, best.1));
                if unit.up <= 1 {
                    commitments.offer_stop(period, end(entry + self.values[BOTH][period], 1 + period));
                }
                if stay.is_some_and(|stay| period + 1 >= stay) {
                    commitments.offer_stop(period, end(middle, INITIAL));
                }
            }
            let rest = self.sums[periods] - self.sums[period + 1];
            commitments.offer_horizon(end(entry + self.values[START][period] + rest, 1 + period));
        }
        if stay.is_some() {
            commitments.offer_horizon(end(self.sums[periods], INITIAL));
        }
    }

    /// Writes values and outputs of a place, or copies them from a place with the same limits.
    fn evaluate(&mut self, unit: &Unit, prices: Prices<'_>, place: usize) {
        let (cap, most) = caps(unit, place);
        if let Some(same) = (0..place).find(|&other| caps(unit, other) == (cap, most)) {
            for numbers in [&mut self.values, &mut self.outputs] {
                let (before, others) = numbers.split_at_mut(place);
                others[0].clone_from(&before[same]);
            }
            return;
        }
        let (values, outputs) = (&mut self.values[place], &mut self.outputs[place]);
        values.clear();
        outputs.clear();
        if most < 0.0 {
            values.resize(prices.periods(), f64::INFINITY);
            outputs.resize(prices.periods(), 0.0);
            return;
        }
        for (period, &energy) in prices.energy.iter().enumerate() {
            let reserve = prices.reserve_at(period);
            let (value, output) = if unit.cost.bends.is_empty() {
                // One slope: all or nothing, and no branch that a processor has to guess.
                let slope = unit.cost.slope + (reserve - energy);
                (slope.min(0.0) * most, if slope < 0.0 { most } else { 0.0 })
            } else {
                unit.cost.cheapest(reserve - energy, 0.0, most)
            };
            values.push(value + unit.cost.base - energy * unit.minimum - reserve * cap);
            outputs.push(output);
        }
    }

    pub(super) fn write(&self, unit: &Unit, prices: Prices<'_>, stretch: &Stretch, schedule: &mut UnitSchedule) {
        for period in stretch.start..=stretch.last {
            let is_start = stretch.run != INITIAL && period == stretch.start;
            let is_stop = stretch.kind == Kind::Stop && period == stretch.last;
            let place = if is_start { START } else { MIDDLE } + if is_stop { STOP } else { MIDDLE };
            let output = self.outputs[place][period];
            schedule.output[period] = unit.minimum + output;
            if prices.reserve_at(period) > 0.0 {
                schedule.reserve[period] = caps(unit, place).0 - output;
            }
        }
    }
}
