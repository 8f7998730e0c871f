//! The solver of a block, by its kind.

use crate::block::{Block, Kind};
use crate::error::Error;
use crate::general::General;
use crate::knapsack::Knapsack;
use crate::loose;
use crate::model::{Column, Model};
use crate::solved::Solved;
use crate::watch::Watch;

/// The solver of a block.
pub(crate) struct Solver {
    /// Name of the block in errors.
    name: String,
    part: Model,
    means: Means,
    watch: Watch,
}

enum Means {
    Trivial,
    Knapsack(Box<Knapsack>),
    General(Box<General>),
}

impl Solver {
    pub(crate) fn new(model: &Model, block: &Block, watch: Watch) -> Result<Self, Error> {
        let (name, part) = (block.name(model), model.part(block.columns(), &block.rows));
        let means = match (block.kind, Knapsack::new(&part)) {
            (Kind::Trivial, _) => Means::Trivial,
            (Kind::Knapsack | Kind::Switch, Some(knapsack)) => Means::Knapsack(Box::new(knapsack)),
            _ => Means::General(Box::new(General::new(&name, part.clone(), watch)?)),
        };
        Ok(Self { name, part, means, watch })
    }

    /// Nanoseconds of a solution, estimated from sizes.
    pub(crate) fn work(&self) -> f64 {
        match &self.means {
            Means::Trivial => 50.0,
            Means::Knapsack(knapsack) => knapsack.work(),
            Means::General(general) => general.work(),
        }
    }

    /// Solves the block for new costs, to be minimised. `accuracy` is the width between cost and bound that is wished
    /// for, `more` the number of further solutions that are of use.
    pub(crate) fn solve(&mut self, costs: &[f64], accuracy: f64, more: usize) -> Result<Solved, Error> {
        match &mut self.means {
            Means::Trivial => {
                let columns = self.part.columns.iter().zip(costs);
                let values = columns.map(|(column, &cost)| value(column, cost)).collect::<Option<Vec<f64>>>();
                let values = values.ok_or_else(|| {
                    Error::content(self.name.as_str(), "a block with a finite minimum", "an unbounded one")
                })?;
                Ok(Solved { values, ..Solved::default() })
            }
            Means::Knapsack(knapsack) => {
                if let Ok(solved) = knapsack.solve(costs, more) {
                    return Ok(solved);
                }
                // Too hard for a table and for our branch and bound.
                self.generalize()?;
                self.solve(costs, accuracy, more)
            }
            Means::General(general) => general.solve(costs, accuracy),
        }
    }

    /// From now on, HiGHS solves the block.
    fn generalize(&mut self) -> Result<(), Error> {
        self.means = Means::General(Box::new(General::new(&self.name, self.part.clone(), self.watch)?));
        Ok(())
    }

    /// Sets the duals of the block's rows in the linear relaxation of the model.
    pub(crate) fn set_duals(&mut self, duals: Vec<f64>) {
        if let Means::General(general) = &mut self.means {
            general.set_duals(duals);
        }
    }

    /// The memory of the block: the last solution of HiGHS. Empty if there is none.
    pub(crate) fn memory(&self) -> &[f64] {
        match &self.means {
            Means::General(general) => general.memory(),
            Means::Trivial | Means::Knapsack(_) => &[],
        }
    }

    /// Goes on where another solver of the same block, with this memory, is.
    pub(crate) fn set_memory(&mut self, memory: &[f64]) {
        let is_new = !memory.is_empty() && !matches!(self.means, Means::General(_));
        // HiGHS took the block in the other solver, so it does here.
        if is_new && self.generalize().is_err() {
            return;
        }
        if let Means::General(general) = &mut self.means {
            general.set_memory(memory);
        }
    }
}

/// The value of a column without rows. `None` if its cost is unbounded.
fn value(column: &Column, cost: f64) -> Option<f64> {
    if column.lower.is_infinite() || column.upper.is_infinite() {
        return loose::value(column, cost, column.cost.abs());
    }
    Some(match cost {
        _ if cost > 0.0 => column.lower,
        _ if cost < 0.0 => column.upper,
        // Any value is optimal.
        _ => 0.0_f64.clamp(column.lower, column.upper),
    })
}
