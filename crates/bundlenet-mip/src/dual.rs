//! The Lagrangian dual of a model with blocks.
//!
//! For a model to minimise, with relaxed rows `A x` and their sides `b`:
//!
//! ```text
//! max over y   b'y + sum over blocks of min { (c - A'y)'x : x in the block }
//! ```
//!
//! A multiplier is the change of the optimal value for a unit of the side of its row, as in linear programming. Its
//! sign follows from the sense of the row. A row with two finite sides is an equation with a slack, which is a block.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bundlenet::{Answer, Components, Domain, Fingerprint, OracleError, Parts, Sense};

use crate::block::{Block, Kind};
use crate::error::Error;
use crate::model::Model;
use crate::multipliers::Multipliers;
use crate::relaxation::Relaxation;
use crate::solver::Solver;
use crate::watch::Watch;

/// Part of the terms of a sum that its round-off may be.
const ROUND_OFF: f64 = 4.0 * f64::EPSILON;

/// Round-off below this part of the model's largest cost is not worth a word.
const NEGLIGIBLE: f64 = 1e-9;

/// The Lagrangian dual of a model with blocks, as components to be evaluated on several threads.
pub struct BlockDual {
    sense: Sense,
    linear: Vec<f64>,
    domain: Domain,
    components: Vec<Component>,
    /// Largest cost of a column.
    largest_cost: f64,
    work: f64,
    solved: Arc<AtomicUsize>,
}

/// A block and its solver.
struct Component {
    block: Block,
    costs: Vec<f64>,
    /// Constant of the objective, for the component that stands for it alone.
    constant: f64,
    solver: Mutex<Solver>,
    fingerprint: u64,
}

/// Hash of all numbers of a block.
fn fingerprint(part: &Model, block: &Block) -> u64 {
    let columns = part.columns.iter().zip(&block.coupling).flat_map(|(it, coupling)| {
        let own = [it.cost, it.lower, it.upper, f64::from(u8::from(it.is_integer)), coupling.len() as f64];
        own.into_iter().chain(coupling.iter().flat_map(|&(at, entry)| [f64::from(at), entry]))
    });
    let rows = part.rows.iter().flat_map(|row| {
        let own = [row.lower, row.upper, row.entries.len() as f64];
        own.into_iter().chain(row.entries.iter().flat_map(|&(at, entry)| [at as f64, entry]))
    });
    let sizes = [part.sense.sign(), part.offset, part.columns.len() as f64, part.rows.len() as f64];
    Fingerprint::new().numbers(&sizes.into_iter().chain(columns).chain(rows).collect::<Vec<f64>>()).finish()
}

impl BlockDual {
    pub(crate) fn new(model: &Model, multipliers: &Multipliers, blocks: &[Block], watch: Watch) -> Result<Self, Error> {
        // An evaluation takes half of the time that is left, at most, and every block its share of it.
        let general = blocks.iter().filter(|block| matches!(block.kind, Kind::Linear | Kind::Mixed)).count();
        let watch = watch.share(0.5 * rayon::current_num_threads() as f64 / general.max(1) as f64);
        let component = |block: &Block| -> Result<Component, Error> {
            let mut part = model.part(block.columns(), &block.rows);
            part.offset = if block.columns().is_empty() { model.offset } else { 0.0 };
            Ok(Component {
                fingerprint: fingerprint(&part, block),
                costs: block.columns().iter().map(|&column| model.columns[column].cost).collect(),
                constant: part.offset,
                solver: Mutex::new(Solver::new(model, block, watch)?),
                block: block.clone(),
            })
        };
        let components = blocks.iter().map(component).collect::<Result<Vec<Component>, Error>>()?;
        let solver = |it: &Component| it.solver.lock().unwrap_or_else(PoisonError::into_inner).work();
        Ok(Self {
            sense: model.sense,
            linear: multipliers.sides.clone(),
            domain: Domain::between(multipliers.limits.iter().copied()),
            largest_cost: model.columns.iter().map(|column| column.cost.abs()).fold(0.0, f64::max),
            work: components.iter().map(solver).sum(),
            solved: Arc::default(),
            components,
        })
    }

    /// Tells the blocks the duals of the linear relaxation. A call that is ended early then has a bound that is no worse
    /// than theirs.
    pub fn set_relaxation(&self, relaxation: &Relaxation) {
        for component in &self.components {
            let duals = component.block.rows.iter().map(|&row| relaxation.row_duals[row]).collect();
            component.solver.lock().unwrap_or_else(PoisonError::into_inner).set_duals(duals);
        }
    }

    /// Number of blocks that were solved so far, for a display of progress.
    #[must_use]
    pub fn solved(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.solved)
    }

    /// Costs of a component at a point, to be minimised.
    fn costs_at(&self, component: &Component, point: &[f64]) -> Vec<f64> {
        let sign = self.sense.sign();
        let columns = component.costs.iter().zip(&component.block.coupling);
        let cost = |(cost, coupling): (&f64, &Vec<(u32, f64)>)| {
            sign * coupling.iter().fold(*cost, |cost, &(at, entry)| cost - entry * point[at as usize])
        };
        columns.map(cost).collect()
    }

    /// The round-off of a component's value at a point, 0 where it is negligible. Far from the origin the terms of
    /// multipliers cancel, and nothing of the costs may be left. The first component also has that of the linear term.
    fn round_off(&self, component: usize, values: &[f64], point: &[f64]) -> f64 {
        let it = &self.components[component];
        let of_column = |coupling: &Vec<(u32, f64)>| {
            coupling.iter().map(|&(at, entry)| (entry * point[at as usize]).abs()).sum::<f64>()
        };
        let columns = it.block.coupling.iter().zip(values);
        let mut terms: f64 = columns.map(|(coupling, value)| of_column(coupling) * value.abs()).sum();
        if component == 0 {
            terms += self.linear.iter().zip(point).map(|(side, multiplier)| (side * multiplier).abs()).sum::<f64>();
        }
        let round_off = ROUND_OFF * terms;
        if round_off > NEGLIGIBLE * self.largest_cost { round_off } else { 0.0 }
    }

    fn solver(&self, component: usize) -> MutexGuard<'_, Solver> {
        self.components[component].solver.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The solution of each block at a point, by column. Identical blocks have the same. No block remembers its earlier
    /// evaluations, because other processes may have made them, unless it has no solution in time without them.
    pub(crate) fn solutions(&self, point: &[f64], columns: usize) -> Result<Vec<f64>, Error> {
        let mut all = vec![0.0; columns];
        for component in &self.components {
            let costs = self.costs_at(component, point);
            let mut solver = component.solver.lock().unwrap_or_else(PoisonError::into_inner);
            let memory = solver.memory().to_vec();
            solver.set_memory(&[]);
            let solved = solver.solve(&costs, f64::INFINITY, 0).or_else(|_| {
                solver.set_memory(&memory);
                solver.solve(&costs, f64::INFINITY, 0)
            })?;
            for copy in &component.block.copies {
                let values = copy.iter().zip(&solved.values);
                values.filter(|(at, _)| **at < columns).for_each(|(&at, &value)| all[at] = value);
            }
        }
        Ok(all)
    }
}

impl Component {
    /// Slope of the cut of a solution.
    fn slope(&self, values: &[f64]) -> impl Iterator<Item = (u32, f64)> {
        let terms = self.block.coupling.iter().zip(values).filter(|(_, value)| **value != 0.0);
        terms.flat_map(|(coupling, value)| coupling.iter().map(move |&(at, entry)| (at, -entry * value)))
    }

    /// Cost in the objective, and variables of a solution.
    fn primal(&self, values: &[f64]) -> (f64, impl Iterator<Item = (u32, f64)>) {
        let cost = self.costs.iter().zip(values).map(|(cost, value)| cost * value).sum::<f64>() + self.constant;
        let named = self.block.columns().iter().zip(values).filter(|(_, value)| **value != 0.0);
        (cost, named.map(|(&column, &value)| (column as u32, value)))
    }
}

fn product(costs: &[f64], values: &[f64]) -> f64 {
    costs.iter().zip(values).map(|(cost, value)| cost * value).sum()
}

impl Components for BlockDual {
    fn dim(&self) -> usize {
        self.linear.len()
    }

    fn component_count(&self) -> usize {
        self.components.len()
    }

    fn evaluate_component(&self, component: usize, point: &[f64], answer: &mut Answer) -> Result<(), OracleError> {
        let (it, sign) = (&self.components[component], self.sense.sign());
        let costs = self.costs_at(it, point);
        let mut solver = it.solver.lock().unwrap_or_else(PoisonError::into_inner);
        // As many cuts as the identical blocks would give.
        let solved = solver.solve(&costs, answer.accuracy(), it.block.multiplicity() - 1)?;
        drop(solver);
        self.solved.fetch_add(1, Ordering::Relaxed);
        let value = |values: &[f64]| it.constant + sign * product(&costs, values);
        let cut = value(&solved.values);
        let round_off = self.round_off(component, &solved.values, point);
        match solved.bound {
            None if round_off == 0.0 => answer.push(cut, it.slope(&solved.values)),
            bound => {
                let bound = bound.map_or(cut, |bound| it.constant + sign * bound) - sign * round_off;
                answer.push_within(cut, bound, it.slope(&solved.values));
            }
        }
        let (cost, variables) = it.primal(&solved.values);
        answer.solution(cost, variables);
        for values in &solved.more {
            answer.push_more(value(values), it.slope(values));
            let (cost, variables) = it.primal(values);
            answer.solution(cost, variables);
        }
        Ok(())
    }

    fn linear(&self) -> Option<&[f64]> {
        Some(&self.linear)
    }

    fn domain(&self) -> Domain {
        self.domain.clone()
    }

    fn sense(&self) -> Sense {
        self.sense.opposite()
    }

    fn work(&self) -> Option<f64> {
        Some(self.work)
    }

    fn multiplicity(&self, component: usize) -> f64 {
        self.components[component].block.multiplicity() as f64
    }

    fn fingerprint(&self, component: usize) -> Option<u64> {
        Some(self.components[component].fingerprint)
    }

    fn has_solutions(&self) -> bool {
        true
    }

    /// HiGHS starts a mixed-integer block from its last solution, which can be moved, and a linear one from a basis.
    fn parts(&self) -> Parts {
        let has_linear = self.components.iter().any(|component| component.block.kind == Kind::Linear);
        if has_linear { Parts::InOnePlace } else { Parts::WithMemory }
    }

    fn memory(&self, component: usize) -> Vec<f64> {
        self.solver(component).memory().to_vec()
    }

    fn set_memory(&self, component: usize, memory: &[f64]) {
        self.solver(component).set_memory(memory);
    }
}
