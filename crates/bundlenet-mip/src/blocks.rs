//! A model with its structure: blocks, multipliers, the dual, and results by name.

use bundlenet::{Parallel, Primal};

use crate::block::{Block, blocks_of};
use crate::dual::BlockDual;
use crate::error::Error;
use crate::highs::{Ending, Highs};
use crate::loose;
use crate::model::{Column, Model};
use crate::multipliers::{Multipliers, multipliers_of};
use crate::propagate::{fill_bounds, round_bounds};
use crate::relaxation::Relaxation;
use crate::structure::{Part, Structure};
use crate::watch::Watch;

/// A model whose relaxed rows leave blocks.
#[derive(Clone, Debug)]
pub struct Blocks {
    /// The model. Infinite bounds of columns are filled where rows imply finite ones. The slacks of relaxed rows with
    /// two sides follow its own columns.
    model: Model,
    /// Number of columns of the model itself.
    columns: usize,
    multipliers: Multipliers,
    blocks: Vec<Block>,
    filled_bounds: usize,
}

/// Refuses columns without a value between their bounds: whole ones for integer columns, and those that rows imply.
fn check_bounds(model: &Model) -> Result<(), Error> {
    match model.columns.iter().find(|column| column.lower > column.upper) {
        Some(Column { name, lower, upper, is_integer, .. }) => {
            let kind = if *is_integer { "integer column" } else { "column" };
            let expected = "a value between its bounds, its own and those that rows imply";
            Err(Error::content(format!("{kind} {name}"), expected, format!("{lower} and {upper}")))
        }
        None => Ok(()),
    }
}

impl Blocks {
    /// The blocks of a model.
    ///
    /// # Errors
    /// If a column has no value between its bounds, if an integer column, or a column without a block, stays unbounded,
    /// or if a row without entries is violated.
    pub fn new(mut model: Model, structure: &Structure) -> Result<Self, Error> {
        let columns = model.columns.len();
        round_bounds(&mut model);
        let filled_bounds = fill_bounds(&mut model, structure);
        check_bounds(&model)?;
        let empty = |(row, it): &(usize, &crate::model::Row)| !structure.is_relaxed(*row) && it.entries.is_empty();
        if let Some((_, row)) =
            model.rows.iter().enumerate().filter(empty).find(|(_, row)| row.lower > 0.0 || row.upper < 0.0)
        {
            let place = format!("row {}", row.name);
            return Err(Error::content(place, "entries", format!("none, and sides {} and {}", row.lower, row.upper)));
        }
        let mut multipliers = multipliers_of(&mut model, structure);
        let mut coupling: Vec<Vec<(u32, f64)>> = vec![vec![]; model.columns.len()];
        for (multiplier, &row) in multipliers.rows.iter().enumerate() {
            let entries = model.rows[row].entries.iter();
            entries.for_each(|&(column, entry)| coupling[column].push((multiplier as u32, entry)));
        }
        let mut parts = structure.parts(&model);
        loose::limit(&model, &parts, &coupling, &mut multipliers)?;
        if model.offset != 0.0 || parts.is_empty() {
            // A component without columns stands for the constant.
            parts.push(Part::default());
        }
        let blocks = blocks_of(&model, &parts, &coupling);
        let found = Self { model, columns, multipliers, blocks, filled_bounds };
        found.check_finite()?;
        Ok(found)
    }

    /// Refuses columns whose bounds leave a block unbounded.
    fn check_finite(&self) -> Result<(), Error> {
        for block in &self.blocks {
            for (&column, coupling) in block.columns().iter().zip(&block.coupling) {
                let column = &self.model.columns[column];
                let is_bounded = column.lower.is_finite() && column.upper.is_finite();
                let has_rows = !block.rows.is_empty() && !column.is_integer;
                if is_bounded || has_rows || (block.rows.is_empty() && loose::is_loose(column, coupling)) {
                    continue;
                }
                let thing = if column.is_integer { "integer column" } else { "column" };
                return Err(Error::content(
                    format!("{thing} {} in the {}", column.name, block.name(&self.model)),
                    "finite bounds, its own or implied by rows",
                    format!("{} and {}", column.lower, column.upper),
                ));
            }
        }
        Ok(())
    }

    /// The dual as an oracle.
    ///
    /// # Errors
    /// If HiGHS refuses a block.
    pub fn dual(&self, watch: Watch) -> Result<Parallel<BlockDual>, Error> {
        BlockDual::new(&self.model, &self.multipliers, &self.blocks, watch).map(Parallel::new)
    }

    /// The model, with filled bounds and with slacks after its own columns.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The blocks. Identical ones are one.
    #[must_use]
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Number of columns of the model, without slacks.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Infinite bounds of columns that were replaced by bounds that rows imply.
    #[must_use]
    pub fn filled_bounds(&self) -> usize {
        self.filled_bounds
    }

    /// Relaxed rows with a multiplier, in the order of the multipliers.
    #[must_use]
    pub fn relaxed_rows(&self) -> &[usize] {
        &self.multipliers.rows
    }

    /// Sides of the relaxed rows, in the order of the multipliers.
    pub(crate) fn sides(&self) -> &[f64] {
        &self.multipliers.sides
    }

    /// Least and greatest value of each multiplier.
    pub(crate) fn limits(&self) -> &[(f64, f64)] {
        &self.multipliers.limits
    }

    /// Multipliers by the names of their rows.
    pub fn named_multipliers<'a>(&'a self, point: &'a [f64]) -> impl Iterator<Item = (&'a str, f64)> {
        let names = self.multipliers.rows.iter().map(|&row| self.model.rows[row].name.as_str());
        names.zip(point.iter().copied())
    }

    /// The value of each column in a convex combination. Identical blocks get equal shares. Columns without a bound that
    /// limit a multiplier make up for the violation of its row.
    #[must_use]
    pub fn values(&self, primal: &Primal) -> Vec<f64> {
        let mut values = vec![0.0; self.model.columns.len()];
        for &(column, value) in &primal.variables {
            values[column as usize] = value;
        }
        for block in self.blocks.iter().filter(|block| block.multiplicity() > 1) {
            for (at, &column) in block.columns().iter().enumerate() {
                let share = values[column] / block.multiplicity() as f64;
                block.copies.iter().for_each(|copy| values[copy[at]] = share);
            }
        }
        let loose = self.blocks.iter().filter(|block| block.rows.is_empty());
        loose.for_each(|block| self.make_up(block, &mut values));
        values.truncate(self.columns);
        values
    }

    /// Moves a loose column as far as its row is violated.
    fn make_up(&self, block: &Block, values: &mut [f64]) {
        let (&[at], [coupling]) = (block.columns(), &block.coupling[..]) else { return };
        let column = &self.model.columns[at];
        let (true, &[(multiplier, entry)]) = (loose::is_loose(column, coupling), &coupling[..]) else { return };
        let row = &self.model.rows[self.multipliers.rows[multiplier as usize]];
        let activity: f64 = row.entries.iter().map(|&(column, entry)| entry * values[column]).sum();
        let missing = activity.clamp(row.lower, row.upper) - activity;
        values[at] = (values[at] + missing / entry).clamp(column.lower, column.upper);
    }

    /// Largest violation of a relaxed row.
    #[must_use]
    pub fn largest_violation(&self, values: &[f64]) -> f64 {
        let violation = |&row: &usize| {
            let row = &self.model.rows[row];
            let slack = row.entries.iter().find(|(column, _)| *column >= self.columns);
            let (lower, upper) = slack.map_or((row.lower, row.upper), |(column, _)| {
                (self.model.columns[*column].lower, self.model.columns[*column].upper)
            });
            let own = row.entries.iter().filter(|(column, _)| *column < self.columns);
            let activity: f64 = own.map(|&(column, entry)| entry * values[column]).sum();
            (lower - activity).max(activity - upper).max(0.0)
        };
        self.multipliers.rows.iter().map(violation).fold(0.0, f64::max)
    }

    /// The linear relaxation of the whole model, by HiGHS. `None` if it is not solved within the limit of time.
    ///
    /// # Errors
    /// If HiGHS refuses the model.
    pub fn relaxation(&self, watch: Watch) -> Result<Option<Relaxation>, Error> {
        let mut highs = Highs::new();
        highs.set_watch(watch);
        highs.pass(&self.model, true).map_err(|found| Error::content("model", "a linear relaxation", found))?;
        let found = highs.run();
        if found.ending != Ending::Optimal {
            return Ok(None);
        }
        let sign = self.model.sense.sign();
        let rows = self.multipliers.rows.iter().zip(&self.multipliers.limits);
        // Round-off may have the wrong sign.
        let multiplier = |(&row, &(low, high)): (&usize, &(f64, f64))| (sign * found.row_duals[row]).clamp(low, high);
        let multipliers = rows.map(multiplier).collect();
        Ok(Some(Relaxation { bound: sign * highs.objective() + 0.0, multipliers, row_duals: found.row_duals }))
    }
}
