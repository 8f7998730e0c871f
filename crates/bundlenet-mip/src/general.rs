//! Blocks that HiGHS solves.
//!
//! HiGHS is not exact. The bound of a linear program is computed here, from its duals. The bound of a mixed-integer
//! program is the one that HiGHS states, minus [`TOLERANCE`] times the scale of the block: the largest cost of a unit
//! of a column, or of its value if that is below 1. The tolerances of HiGHS are in the units of columns, so an error of
//! that size in a column of the solution changes the bound by as much. Columns that are 0 in the solution may have
//! large costs, as penalties have; they count with the tolerance that HiGHS is asked for. Solutions are rounded,
//! checked and priced here.

use crate::error::Error;
use crate::highs::{Ending, Found, Highs};
use crate::model::Model;
use crate::solved::Solved;
use crate::watch::Watch;

/// Part of a block's scale by which the bound of HiGHS is lowered. Rows may be violated by as much of the numbers in
/// them.
pub const TOLERANCE: f64 = 1e-6;

/// Part of a cost that counts as round-off.
const ROUND_OFF: f64 = 1e-12;

/// Feasibility and integrality that HiGHS is asked for. Its own default is the tolerance above.
const INNER_TOLERANCE: f64 = 1e-9;

/// Gap of a mixed-integer block as long as no accuracy is wished for: the default of HiGHS.
const FIRST_GAP: f64 = 1e-4;

/// A block with HiGHS.
pub(crate) struct General {
    name: String,
    part: Model,
    highs: Highs,
    is_linear: bool,
    /// The last solution. It is feasible for all costs.
    last: Option<Vec<f64>>,
    /// Costs and bound of the last call.
    bounded: Option<(Vec<f64>, f64)>,
    /// Duals of the rows in the linear relaxation of the whole model.
    duals: Option<Vec<f64>>,
}

/// By how much the bound that HiGHS states for a mixed-integer program is lowered.
fn slack_of(costs: &[f64], values: &[f64]) -> f64 {
    let used = costs.iter().zip(values).map(|(cost, value)| cost.abs() * value.abs().min(1.0));
    let largest = |numbers: &mut dyn Iterator<Item = f64>| numbers.fold(0.0, f64::max);
    let unused = largest(&mut costs.iter().map(|cost| cost.abs()));
    TOLERANCE * largest(&mut used.into_iter()) + INNER_TOLERANCE * unused + ROUND_OFF * cost_of(costs, values).abs()
}

fn cost_of(costs: &[f64], values: &[f64]) -> f64 {
    costs.iter().zip(values).map(|(cost, value)| cost * value).sum()
}

impl General {
    pub(crate) fn new(name: &str, mut part: Model, watch: Watch) -> Result<Self, Error> {
        // Costs and bounds are those of columns alone.
        part.offset = 0.0;
        let mut highs = Highs::new();
        highs.set_watch(watch);
        let is_linear = part.columns.iter().all(|column| !column.is_integer);
        highs.pass(&part, false).map_err(|found| Error::content(name, "a block that HiGHS solves", found))?;
        for option in [c"primal_feasibility_tolerance", c"dual_feasibility_tolerance", c"mip_feasibility_tolerance"] {
            highs.set_number(option, INNER_TOLERANCE);
        }
        // It takes most of the time of a small block, and other heuristics find a solution, too.
        highs.set_flag(c"mip_heuristic_run_feasibility_jump", false);
        Ok(Self { name: name.to_string(), part, highs, is_linear, last: None, bounded: None, duals: None })
    }

    /// Nanoseconds of a solution: a guess from sizes.
    pub(crate) fn work(&self) -> f64 {
        let entries: usize = self.part.rows.iter().map(|row| row.entries.len()).sum();
        let simplex = 50_000.0 + 500.0 * entries as f64;
        if self.is_linear { simplex } else { 20.0 * simplex }
    }

    /// The last solution; empty if there is none.
    pub(crate) fn memory(&self) -> &[f64] {
        self.last.as_deref().unwrap_or_default()
    }

    /// Takes up the last solution of another solver of the same block, or forgets all if it is empty.
    pub(crate) fn set_memory(&mut self, memory: &[f64]) {
        self.highs.clear();
        self.bounded = None;
        self.last = (memory.len() == self.part.columns.len() && !memory.is_empty()).then(|| memory.to_vec());
    }

    /// Sets the duals of the rows in the linear relaxation of the whole model.
    pub(crate) fn set_duals(&mut self, duals: Vec<f64>) {
        self.duals = Some(duals);
    }

    /// Fixes columns. Earlier solutions have other values there and are forgotten. A linear program keeps its basis.
    pub(crate) fn fix(&mut self, columns: impl Iterator<Item = (usize, f64)>) {
        for (column, value) in columns {
            (self.part.columns[column].lower, self.part.columns[column].upper) = (value, value);
            self.highs.set_bounds(column, value, value);
        }
        (self.last, self.bounded) = (None, None);
    }

    /// Solves for new costs. The bound is within `accuracy` of the cost if HiGHS gets there.
    pub(crate) fn solve(&mut self, costs: &[f64], accuracy: f64) -> Result<Solved, Error> {
        if !self.is_linear {
            // Nothing of earlier runs counts but the last solution: that is the memory of the block.
            self.highs.clear();
        }
        self.highs.set_costs(costs);
        if !self.is_linear {
            self.ask_for(accuracy, costs);
        }
        let mut found = self.highs.run();
        if found.ending == Ending::Interrupted && found.values.is_none() && self.last.is_none() {
            // There is no cut without a solution.
            found = self.highs.run_to_solution();
        }
        let wrong = |found: String| Error::content(self.name.as_str(), "a block with a finite minimum", found);
        match found.ending {
            Ending::Infeasible => return Err(wrong("an infeasible one".to_string())),
            Ending::Unbounded => return Err(wrong("an unbounded one".to_string())),
            Ending::Failed => return Err(wrong("a failure of HiGHS".to_string())),
            Ending::Optimal | Ending::Interrupted => {}
        }
        self.settle(costs, &found)
    }

    /// Sets the gap of branch and bound, and the start.
    fn ask_for(&mut self, accuracy: f64, costs: &[f64]) {
        let has_wish = accuracy.is_finite();
        self.highs.set_number(c"mip_rel_gap", if has_wish { 0.0 } else { FIRST_GAP });
        // The bound loses the tolerance anyway: much less is not needed.
        let slack = self.last.as_ref().map_or(0.0, |last| slack_of(costs, last));
        let gap = (0.5 * accuracy).max(0.1 * slack);
        self.highs.set_number(c"mip_abs_gap", if has_wish { gap } else { 0.0 });
        if let Some(last) = &self.last {
            self.highs.set_start(last);
        }
    }

    /// The checked solution and a valid bound. A call that ended early has those of an earlier solution and of the
    /// bounds of columns, if there is nothing better.
    fn settle(&mut self, costs: &[f64], found: &Found) -> Result<Solved, Error> {
        let new = found.values.as_ref().map(|values| self.checked(costs, values)).transpose()?;
        let cheaper = |values: &Vec<f64>| new.as_ref().is_none_or(|new| cost_of(costs, values) < cost_of(costs, new));
        let values = self
            .last
            .take()
            .filter(cheaper)
            .or(new)
            .ok_or_else(|| Error::content(self.name.as_str(), "a solution within the limit of time", "none"))?;
        let (cost, slack) = (cost_of(costs, &values), slack_of(costs, &values));
        let stated = match (self.is_linear, found.ending) {
            (false, _) => found.bound - slack,
            (true, Ending::Optimal) => cost - slack,
            (true, _) => f64::NEG_INFINITY,
        };
        let mut proved =
            if self.is_linear { self.bound_of_duals(costs, &found.row_duals) } else { self.box_bound(costs) };
        if found.ending == Ending::Interrupted {
            // Calls that a clock ends are not the same in two runs anyway, so they may use earlier ones.
            proved = proved.max(self.bound_of_last_call(costs)).max(self.bound_of_relaxation(costs));
        }
        // Comparisons with a number that is none are false.
        let bound = if self.is_linear && proved.is_finite() { proved } else { stated.max(proved) }.min(cost);
        if bound == f64::NEG_INFINITY || bound.is_nan() {
            return Err(Error::content(self.name.as_str(), "a bound within the limit of time", "none"));
        }
        self.last = Some(values.clone());
        self.bounded = Some((costs.to_vec(), bound));
        Ok(Solved { values, bound: Some(bound), more: vec![] })
    }

    /// A solution of HiGHS, rounded and checked. If rounding breaks a row, the continuous columns are solved for again.
    fn checked(&mut self, costs: &[f64], values: &[f64]) -> Result<Vec<f64>, Error> {
        let rounded = self.rounded(values);
        if self.part.violation(&rounded, TOLERANCE).is_none() {
            return Ok(rounded);
        }
        let integers: Vec<usize> = (0..rounded.len()).filter(|&at| self.part.columns[at].is_integer).collect();
        integers.iter().for_each(|&at| self.highs.set_bounds(at, rounded[at], rounded[at]));
        self.highs.set_costs(costs);
        let again = self.highs.run().values.map(|values| self.rounded(&values));
        for &at in &integers {
            let (lower, upper) = (self.part.columns[at].lower, self.part.columns[at].upper);
            self.highs.set_bounds(at, lower, upper);
        }
        let again = again.unwrap_or(rounded);
        match self.part.violation(&again, TOLERANCE) {
            None => Ok(again),
            Some(found) => Err(Error::content(self.name.as_str(), "a feasible solution of HiGHS", found)),
        }
    }

    fn rounded(&self, values: &[f64]) -> Vec<f64> {
        let columns = self.part.columns.iter().zip(values);
        let inside = columns.map(|(column, &value)| {
            (if column.is_integer { value.round() } else { value }).clamp(column.lower, column.upper)
        });
        inside.collect()
    }

    /// Lower bound from the bounds of columns alone.
    fn box_bound(&self, costs: &[f64]) -> f64 {
        self.part.columns.iter().zip(costs).map(|(column, &cost)| column.least(cost)).sum()
    }

    /// Lower bound from that of the last call, minus the most that new costs can lower it within the bounds of columns.
    fn bound_of_last_call(&self, costs: &[f64]) -> f64 {
        let Some((before, bound)) = &self.bounded else { return f64::NEG_INFINITY };
        let change: Vec<f64> = costs.iter().zip(before).map(|(cost, before)| cost - before).collect();
        bound + self.box_bound(&change)
    }

    /// Lower bound from the duals of the linear relaxation of the whole model. It is exact for the costs there.
    fn bound_of_relaxation(&self, costs: &[f64]) -> f64 {
        self.duals.as_ref().map_or(f64::NEG_INFINITY, |duals| self.bound_of_duals(costs, duals))
    }

    /// Lower bound of a linear program from any duals: weak duality. It is infinite if a column without a bound has a
    /// reduced cost of the wrong sign.
    fn bound_of_duals(&self, costs: &[f64], duals: &[f64]) -> f64 {
        let mut reduced = costs.to_vec();
        let mut bound = 0.0;
        for (row, &dual) in self.part.rows.iter().zip(duals) {
            let side = if dual > 0.0 { row.lower } else { row.upper };
            // A dual of the wrong sign is round-off.
            if dual == 0.0 || !side.is_finite() {
                continue;
            }
            bound += dual * side;
            row.entries.iter().for_each(|&(column, entry)| reduced[column] -= dual * entry);
        }
        bound + self.box_bound(&reduced)
    }
}
