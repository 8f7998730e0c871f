//! Blocks of one row `<=` over bounded integer columns: 0/1 knapsacks after a change of variables.
//!
//! A column with a positive entry counts up from its lower bound, one with a negative entry counts down from its upper
//! bound. All weights are then positive. A column of up to `n` units becomes parts of 1, 2, 4, ... units.

use bundlenet_problems::exact::WholeKnapsack;
use bundlenet_problems::{BinaryKnapsack, HardKnapsack};

use crate::model::Model;
use crate::solved::Solved;

/// Largest factor that makes weights whole.
const MOST_DIGITS: i32 = 6;

/// Distance from a whole number, relative to it, that counts as round-off.
const ROUND_OFF: f64 = 1e-9;

/// Solver of a knapsack block.
#[derive(Clone, Debug)]
pub(crate) struct Knapsack {
    items: Vec<Item>,
    parts: Vec<Part>,
    capacity: u32,
    /// The 0/1 column on which the capacity depends: its item, which takes room if the column is 0.
    switch: Option<usize>,
    solver: BinaryKnapsack,
    profits: Vec<f64>,
    weights: Vec<u32>,
}

/// A column: its value is `base + step x units`.
#[derive(Clone, Copy, Debug)]
struct Item {
    base: f64,
    step: f64,
    weight: u32,
    most: u32,
}

/// Some units of an item, all or none.
#[derive(Clone, Copy, Debug)]
struct Part {
    item: usize,
    units: u32,
}

/// The factor that makes all numbers whole.
fn whole_factor(numbers: &[f64]) -> Option<f64> {
    let is_whole = |number: f64| (number - number.round()).abs() <= ROUND_OFF * number.abs();
    let fits = |factor: &f64| numbers.iter().all(|number| is_whole(number * factor));
    (0..=MOST_DIGITS).map(|digits| 10_f64.powi(digits)).find(fits)
}

/// The number as a `u32`, if it is one.
fn small(number: f64) -> Option<u32> {
    (0.0..=f64::from(u32::MAX)).contains(&number).then_some(number as u32)
}

impl Knapsack {
    /// The solver of a block, if it is a knapsack.
    pub(crate) fn new(part: &Model) -> Option<Self> {
        let [row] = &part.rows[..] else { return None };
        let (sign, side) = match (row.lower.is_finite(), row.upper.is_finite()) {
            (false, true) => (1.0, row.upper),
            (true, false) => (-1.0, -row.lower),
            _ => return None,
        };
        let is_bounded = |at: usize| {
            let column = &part.columns[at];
            let are_whole = column.lower.fract() == 0.0 && column.upper.fract() == 0.0;
            column.is_integer && column.lower.is_finite() && column.upper.is_finite() && are_whole
        };
        if row.entries.len() != part.columns.len() || !(0..part.columns.len()).all(is_bounded) {
            return None;
        }
        let factor = whole_factor(&row.entries.iter().map(|(_, entry)| entry.abs()).collect::<Vec<f64>>())?;
        let mut items = vec![Item { base: 0.0, step: 0.0, weight: 0, most: 0 }; part.columns.len()];
        let mut capacity = side;
        for &(at, entry) in &row.entries {
            let (column, entry) = (&part.columns[at], sign * entry);
            let (base, step) = if entry > 0.0 { (column.lower, 1.0) } else { (column.upper, -1.0) };
            capacity -= entry * base;
            let weight = small((entry.abs() * factor).round())?;
            items[at] = Item { base, step, weight, most: small(column.upper - column.lower)? };
        }
        let capacity = capacity * factor;
        let capacity = (capacity + ROUND_OFF * capacity.abs().max(1.0)).floor();
        let total: f64 = items.iter().map(|item| f64::from(item.weight) * f64::from(item.most)).sum();
        Some(Self::of_items(items, small(capacity.min(total))?))
    }

    fn of_items(mut items: Vec<Item>, capacity: u32) -> Self {
        let mut parts = vec![];
        for (index, item) in items.iter_mut().enumerate() {
            item.most = item.most.min(capacity / item.weight.max(1));
            let (mut left, mut units) = (item.most, 1);
            while left > 0 {
                parts.push(Part { item: index, units: units.min(left) });
                left -= units.min(left);
                units = units.saturating_mul(2);
            }
        }
        let mut counting_down = items.iter().enumerate().filter(|(_, item)| item.step < 0.0);
        let switch = match (counting_down.next(), counting_down.next()) {
            (Some((index, item)), None) if items.len() > 1 && item.most == 1 => Some(index),
            _ => None,
        };
        Self {
            solver: BinaryKnapsack::new(parts.len(), capacity),
            profits: vec![0.0; parts.len()],
            weights: parts.iter().map(|part| items[part.item].weight * part.units).collect(),
            items,
            parts,
            capacity,
            switch,
        }
    }

    pub(crate) fn has_switch(&self) -> bool {
        self.switch.is_some()
    }

    /// Units of a column that fit.
    pub(crate) fn most(&self, column: usize) -> f64 {
        f64::from(self.items[column].most)
    }

    /// Number of 0/1 items.
    pub(crate) fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Number of 0/1 items and capacity: times the largest profit, no sum is larger.
    pub(crate) fn size(&self) -> f64 {
        self.parts.len() as f64 + f64::from(self.capacity)
    }

    /// The least cost for whole costs, in integers, or a lower bound on it if the knapsack is too hard.
    pub(crate) fn whole_minimum(&self, solver: &mut WholeKnapsack, costs: &[i64]) -> i128 {
        let base = self.items.iter().zip(costs).map(|(item, &cost)| i128::from(cost) * item.base as i128);
        let profit = |part: &Part| -costs[part.item] * self.items[part.item].step as i64 * i64::from(part.units);
        let profits: Vec<i64> = self.parts.iter().map(profit).collect();
        base.sum::<i128>() - i128::from(solver.bound(&profits, &self.weights, self.capacity))
    }

    /// Nanoseconds of a solution, estimated.
    pub(crate) fn work(&self) -> f64 {
        1000.0 + 100.0 * self.parts.len() as f64
    }

    /// Solves for new costs. `more` is the number of further solutions that are of use.
    pub(crate) fn solve(&mut self, costs: &[f64], more: usize) -> Result<Solved, HardKnapsack> {
        for (profit, part) in self.profits.iter_mut().zip(&self.parts) {
            *profit = -costs[part.item] * self.items[part.item].step * f64::from(part.units);
        }
        let mut found = vec![self.solve_with(None)?];
        if let Some(switch) = self.switch {
            // The item of the switch either takes its room or not. Both solutions are of use.
            let place = self.parts.iter().position(|part| part.item == switch);
            if let Some(place) = place {
                let other =
                    if found[0].1[switch] > 0 { self.solve_without(place)? } else { self.solve_with(Some(place))? };
                found.push(other);
            }
        }
        if more > found.len() {
            // For each item the best solution that has it.
            for place in 0..self.parts.len() {
                if self.parts[place].units == 1 {
                    found.push(self.solve_with(Some(place))?);
                }
            }
        }
        Ok(self.solved(found, more))
    }

    /// Orders solutions by profit and drops repetitions.
    fn solved(&self, mut found: Vec<(f64, Vec<u32>)>, more: usize) -> Solved {
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        found.dedup_by(|next, kept| next.1 == kept.1);
        let values = |(_, units): (f64, Vec<u32>)| -> Vec<f64> {
            self.items.iter().zip(units).map(|(item, units)| item.base + item.step * f64::from(units)).collect()
        };
        let mut solutions = found.into_iter().map(values);
        Solved { values: solutions.next().unwrap_or_default(), bound: None, more: solutions.take(more).collect() }
    }

    /// Profit and units of the best solution, or of the best one that has a part.
    fn solve_with(&mut self, forced: Option<usize>) -> Result<(f64, Vec<u32>), HardKnapsack> {
        let taken = forced.map_or(0, |place| self.weights[place]);
        // The part takes its room in advance.
        let kept = forced.map(|place| std::mem::replace(&mut self.profits[place], 0.0));
        let best = self.solver.solve(&self.profits, &self.weights, self.capacity - taken);
        if let (Some(place), Some(profit)) = (forced, kept) {
            self.profits[place] = profit;
        }
        let mut units = vec![0; self.items.len()];
        let chosen = self.solver.chosen().iter().map(|&place| place as usize);
        chosen.chain(forced).for_each(|place| units[self.parts[place].item] += self.parts[place].units);
        Ok((best? + kept.unwrap_or(0.0), units))
    }

    /// As [`Knapsack::solve_with`], without a part.
    fn solve_without(&mut self, place: usize) -> Result<(f64, Vec<u32>), HardKnapsack> {
        let kept = std::mem::replace(&mut self.profits[place], 0.0);
        let best = self.solve_with(None);
        self.profits[place] = kept;
        best
    }
}
