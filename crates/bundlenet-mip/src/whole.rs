//! Bounds in exact arithmetic: models with integer data whose blocks all have solvers of this crate.
//!
//! Multipliers are rounded to a grid, as in [`bundlenet_problems::exact`]. Reduced costs are then whole numbers of its
//! units, and so are the minima of the blocks. HiGHS has no part in it.

use bundlenet::Sense;
use bundlenet_problems::exact::{Grid, Magnitudes, WholeKnapsack};
use bundlenet_problems::{SafeBound, UnsafeBound};

use crate::block::{Block, Kind};
use crate::blocks::Blocks;
use crate::error::Error;
use crate::knapsack::Knapsack;
use crate::model::{Column, Model};

/// Largest number of the data, and largest sum in a row: `2^50`. Floating point is exact up to `2^53`.
const MOST_NUMBER: f64 = (1_u64 << 50) as f64;

/// A model in integers. It has bounds that hold in exact arithmetic.
#[derive(Clone, Debug)]
pub struct WholeBlocks<'a> {
    model: &'a Model,
    blocks: &'a Blocks,
    /// Solver of each block; `None` if it has no rows.
    knapsacks: Vec<Option<Knapsack>>,
    magnitudes: Magnitudes,
}

/// A number of the data, which has to be whole. `place` names it.
fn whole(number: f64, place: impl Fn() -> String) -> Result<f64, Error> {
    if number.fract() == 0.0 && number.abs() <= MOST_NUMBER {
        return Ok(number);
    }
    Err(Error::content(place(), "an integer within 2^50, for a safe bound", format!("{number}")))
}

impl Blocks {
    /// The model in integers.
    ///
    /// # Errors
    /// If a block needs HiGHS, if a column is continuous, or if a number is not whole or too large.
    pub fn whole(&self) -> Result<WholeBlocks<'_>, Error> {
        let model = self.model();
        whole(model.offset, || "constant of the objective".to_string())?;
        let sides = self.relaxed_rows().iter().zip(self.sides());
        sides.clone().try_for_each(|(&row, &side)| {
            whole(side, || format!("right side of row {}", model.rows[row].name)).map(|_| ())
        })?;
        let mut magnitudes = Magnitudes { cost: 1.0, multipliers: 1.0, amount: 1.0, fixed: 0.0 };
        let mut knapsacks = vec![];
        for block in self.blocks() {
            let knapsack = self.knapsack(block)?;
            for (at, &column) in block.columns().iter().enumerate() {
                let most = knapsack.as_ref().map_or(1.0, |knapsack| knapsack.most(at).max(1.0));
                let (cost, multipliers) = self.sizes(&model.columns[column], column, &block.coupling[at])?;
                magnitudes.cost = magnitudes.cost.max(most * cost);
                magnitudes.multipliers = magnitudes.multipliers.max(most * multipliers);
            }
            magnitudes.amount = magnitudes.amount.max(knapsack.as_ref().map_or(1.0, Knapsack::size));
            knapsacks.push(knapsack);
        }
        let fits = magnitudes.check();
        let magnitudes =
            fits.map_err(|error| Error::content("model", "numbers for a safe bound", error.to_string()))?;
        Ok(WholeBlocks { model, blocks: self, knapsacks, magnitudes })
    }

    /// The solver of a block; `None` if it has no rows.
    fn knapsack(&self, block: &Block) -> Result<Option<Knapsack>, Error> {
        let model = self.model();
        for &row in &block.rows {
            let row = &model.rows[row];
            let terms = row.entries.iter().map(|&(column, entry)| {
                let Column { lower, upper, .. } = &model.columns[column];
                entry.abs() * lower.abs().max(upper.abs()).max(1.0)
            });
            let place = || format!("row {}", row.name);
            row.entries.iter().try_for_each(|(_, entry)| whole(*entry, place).map(|_| ()))?;
            let sides = [row.lower, row.upper].into_iter().filter(|side| side.is_finite());
            sides.clone().try_for_each(|side| whole(side, place).map(|_| ()))?;
            whole(terms.chain(sides.map(f64::abs)).sum(), place)?;
        }
        let found = Knapsack::new(&model.part(block.columns(), &block.rows));
        match block.kind {
            Kind::Trivial => Ok(None),
            Kind::Knapsack | Kind::Switch if found.is_some() => Ok(found),
            kind => {
                let expected = "a knapsack or bounds, for a safe bound: HiGHS is not exact";
                Err(Error::content(block.name(model), expected, format!("a {kind}")))
            }
        }
    }

    /// The size of the cost of a column, and of the sum of its relaxed entries.
    fn sizes(&self, it: &Column, column: usize, coupling: &[(u32, f64)]) -> Result<(f64, f64), Error> {
        let place = || format!("column {}", it.name);
        // The slack of a row is continuous, with the sides of the row as bounds.
        if !it.is_integer && column < self.columns() {
            return Err(Error::content(place(), "an integer column, for a safe bound", "a continuous one"));
        }
        for number in [it.cost, it.lower, it.upper] {
            whole(number, place)?;
        }
        let entries = coupling.iter().map(|(_, entry)| whole(entry.abs(), place));
        Ok((it.cost.abs(), entries.sum::<Result<f64, Error>>()?))
    }
}

impl WholeBlocks<'_> {
    /// A bound on the optimum that holds in exact arithmetic: the value of the dual at multipliers, rounded to dyadic
    /// numbers. Multipliers outside of their limits are moved to them. A knapsack that is too hard counts with its
    /// linear relaxation.
    ///
    /// # Errors
    /// If the multipliers are not finite, are too large, or are not one for each relaxed row.
    pub fn safe_bound(&self, multipliers: &[f64]) -> Result<SafeBound, UnsafeBound> {
        let limits = self.blocks.limits();
        let inside = multipliers.iter().zip(limits).map(|(multiplier, &(low, high))| multiplier.clamp(low, high));
        let inside: Vec<f64> = inside.chain(multipliers.iter().skip(limits.len()).copied()).collect();
        let rounded = self.magnitudes.round(&inside, limits.len(), f64::NEG_INFINITY)?;
        let units: Vec<i64> = rounded.multipliers.iter().map(|&it| rounded.grid.units(it)).collect();
        let terms = self.blocks.sides().iter().zip(&units);
        let linear: i128 = terms.map(|(&side, &unit)| side as i128 * i128::from(unit)).sum();
        let constant = self.model.offset as i128 * i128::from(rounded.grid.units(1.0));
        let mut total = linear + constant;
        for (block, knapsack) in self.blocks.blocks().iter().zip(&self.knapsacks) {
            total += block.multiplicity() as i128 * self.value(block, knapsack.as_ref(), rounded.grid, &units);
        }
        Ok(rounded.bound(total, self.model.sense.opposite()))
    }

    /// The value of a block in units of the grid.
    fn value(&self, block: &Block, knapsack: Option<&Knapsack>, grid: Grid, multipliers: &[i64]) -> i128 {
        let sign = if self.model.sense == Sense::Minimize { 1 } else { -1 };
        let columns = || block.columns().iter().map(|&column| &self.model.columns[column]);
        let reduced = |(column, coupling): (&Column, &Vec<(u32, f64)>)| {
            let relaxed: i64 = coupling.iter().map(|&(at, entry)| entry as i64 * multipliers[at as usize]).sum();
            sign * (column.cost as i64 * grid.units(1.0) - relaxed)
        };
        let costs: Vec<i64> = columns().zip(&block.coupling).map(reduced).collect();
        let minimum = match knapsack {
            Some(knapsack) => knapsack.whole_minimum(&mut WholeKnapsack::new(knapsack.parts()), &costs),
            None => {
                let at_bound = |(column, &cost): (&Column, &i64)| {
                    if cost > 0 { column.lower as i128 } else { column.upper as i128 }
                };
                columns().zip(&costs).map(|(column, cost)| i128::from(*cost) * at_bound((column, cost))).sum()
            }
        };
        i128::from(sign) * minimum
    }
}
