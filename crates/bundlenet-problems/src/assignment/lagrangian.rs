//! The Lagrangian dual: assignment constraints dualised, one 0/1 knapsack for each bin.
//!
//! ```text
//! LR(pi) = sum_i pi_i + sum_j max { sum_i (p_ij - pi_i) x_i : sum_i w_ij x_i <= c_j, x binary },   pi >= 0
//! ```
//!
//! This is minimised, for a problem that maximises with `<= 1`. For a problem that minimises with `= 1`, the
//! knapsacks have `min`, `pi` is free, and the dual is maximised. A subgradient is `1 - sum_j x_ij`.

use rayon::prelude::*;

use super::Assignment;
use super::primal::{Placement, Recovery};
use crate::knapsack::{BinaryKnapsack, HardKnapsack};
use bundlenet::Fingerprint;
use bundlenet::{Domain, Lines, Minorants, Oracle, OracleError, Sense, Solutions, SumOracle};
use bundlenet::{Primal, PrimalOracle};

/// Difference of a share from 1 that counts as round-off.
const ROUND_OFF: f64 = 1e-9;

/// Least bins times items for several threads. Below, handing over a task costs more than the task.
pub(super) const PARALLEL_CELLS: usize = 4000;

/// The Lagrangian dual of an [`Assignment`] as an oracle.
///
/// There is one multiplier for each item, and components are bins. Large instances are evaluated on several threads
/// of the current rayon pool; results are the same for any number of them.
#[derive(Clone, Debug)]
pub struct AssignmentDual {
    instance: Assignment,
    linear: Vec<f64>,
    solved: Vec<Solved>,
    /// One for each thread.
    workers: Vec<Worker>,
    /// Made at the first call of `prove`: many runs never call it.
    recovery: Option<Recovery>,
}

/// A bin's solution.
#[derive(Clone, Debug)]
struct Solved {
    profit: Result<f64, HardKnapsack>,
    chosen: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Worker {
    profits: Vec<f64>,
    knapsack: BinaryKnapsack,
}

impl AssignmentDual {
    /// The dual of an instance.
    #[must_use]
    pub fn new(instance: &Assignment) -> Self {
        let items = instance.items();
        let solved = Solved { profit: Ok(0.0), chosen: Vec::with_capacity(items) };
        let mut dual = Self {
            linear: vec![1.0; items],
            solved: (0..instance.bins()).map(|_| solved.clone()).collect(),
            workers: vec![],
            recovery: None,
            instance: instance.clone(),
        };
        dual.hire();
        dual
    }

    /// The primal solution behind the bound that the last call of [`SumOracle::prove`] gave, if it gave one.
    #[must_use]
    pub fn proof(&self) -> Option<&Placement> {
        self.recovery.as_ref().and_then(Recovery::solution)
    }

    /// Number of threads to use.
    fn threads(&self) -> usize {
        let cells = self.instance.bins() * self.instance.items();
        if cells < PARALLEL_CELLS { 1 } else { rayon::current_num_threads().min(self.instance.bins()) }
    }

    /// Makes a worker for every thread. The thread pool may have changed since the last evaluation.
    fn hire(&mut self) {
        let (threads, items) = (self.threads(), self.instance.items());
        let capacity = self.instance.capacities().iter().copied().max().unwrap_or(0);
        if self.workers.len() < threads {
            let worker = || Worker { profits: vec![0.0; items], knapsack: BinaryKnapsack::new(items, capacity) };
            self.workers.resize_with(threads, worker);
        }
    }

    fn solve_bins(&mut self, point: &[f64]) {
        self.hire();
        let instance = &self.instance;
        let threads = self.threads();
        let per_worker = self.solved.len().div_ceil(threads);
        let work = |(part, (solved, worker)): (usize, (&mut [Solved], &mut Worker))| {
            for (offset, solved) in solved.iter_mut().enumerate() {
                worker.solve(instance, part * per_worker + offset, point, solved);
            }
        };
        if threads > 1 {
            self.solved.par_chunks_mut(per_worker).zip(&mut self.workers).enumerate().for_each(work);
        } else {
            self.solved.chunks_mut(per_worker).zip(&mut self.workers).enumerate().for_each(work);
        }
    }
}

/// Factor of the profits, 1 or -1: the knapsacks always maximise.
fn sign(instance: &Assignment) -> f64 {
    -instance.sense().sign()
}

impl Worker {
    fn solve(&mut self, instance: &Assignment, bin: usize, point: &[f64], solved: &mut Solved) {
        let sign = sign(instance);
        for ((reduced, profit), multiplier) in self.profits.iter_mut().zip(instance.profits(bin)).zip(point) {
            *reduced = sign * (profit - multiplier);
        }
        solved.profit = self.knapsack.solve(&self.profits, instance.weights(bin), instance.capacities()[bin]);
        solved.chosen.clear();
        solved.chosen.extend_from_slice(self.knapsack.chosen());
    }
}

impl Oracle for AssignmentDual {
    fn dim(&self) -> usize {
        self.instance.items()
    }

    fn domain(&self) -> Domain {
        match self.instance.sense() {
            Sense::Maximize => Domain::Nonnegative,
            Sense::Minimize => Domain::Free,
        }
    }

    fn sense(&self) -> Sense {
        self.instance.sense().opposite()
    }

    fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        self.solve_bins(point);
        subgradient.copy_from_slice(&self.linear);
        let mut value: f64 = point.iter().sum();
        for solved in &self.solved {
            value += sign(&self.instance) * solved.profit?;
            solved.chosen.iter().for_each(|&item| subgradient[item as usize] -= 1.0);
        }
        Ok(value)
    }

    /// Above the greatest profit of its item, a multiplier only adds to the value: no bin takes the item.
    fn minimizer_box(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        let items = self.instance.items();
        let greatest =
            |item: usize| (0..self.instance.bins()).map(|bin| self.instance.profits(bin)[item]).fold(0.0, f64::max);
        (self.instance.sense() == Sense::Maximize).then(|| (vec![0.0; items], (0..items).map(greatest).collect()))
    }

    /// Measured along a trajectory (`cargo bench --bench oracles`): 12 to 13 nanoseconds for each item in each bin.
    fn work(&self) -> Option<f64> {
        Some(13.0 * (self.instance.bins() * self.instance.items()) as f64)
    }

    fn as_sum(&mut self) -> Option<&mut dyn SumOracle> {
        Some(self)
    }

    fn as_primal(&mut self) -> Option<&mut dyn PrimalOracle> {
        Some(self)
    }
}

impl PrimalOracle for AssignmentDual {
    /// Variables are by bin, then item.
    fn write_solutions(&mut self, solutions: &mut Solutions) {
        for (bin, solved) in self.solved.iter().enumerate() {
            let first = bin * self.instance.items();
            let profit = solved.chosen.iter().map(|&item| self.instance.profits(bin)[item as usize]).sum();
            solutions.push(profit, solved.chosen.iter().map(|&item| (first as u32 + item, 1.0)));
        }
    }

    /// A combination of sets is feasible if all of its items fit together. If they do not, that is unknown.
    fn line_of(&mut self, component: usize, solution: &mut Primal) -> Option<(f64, Vec<(u32, f64)>)> {
        let instance = &self.instance;
        let (profits, weights) = (instance.profits(component), instance.weights(component));
        let first = component * instance.items();
        let (mut profit, mut weight, mut entries) = (0.0, 0_u64, vec![]);
        for &(variable, share) in &solution.variables {
            let item = (variable as usize).checked_sub(first).filter(|&item| item < instance.items())?;
            if !(0.0..=1.0 + ROUND_OFF).contains(&share) {
                return None;
            }
            profit += share * profits[item];
            weight += u64::from(weights[item]);
            entries.push((item as u32, -share));
        }
        (weight <= u64::from(instance.capacities()[component])).then_some((profit, entries))
    }
}

impl SumOracle for AssignmentDual {
    fn component_count(&self) -> usize {
        self.instance.bins()
    }

    fn linear(&self) -> &[f64] {
        &self.linear
    }

    fn evaluate_components(&mut self, point: &[f64], minorants: &mut Minorants) -> Result<(), OracleError> {
        self.solve_bins(point);
        for solved in &self.solved {
            minorants.push(sign(&self.instance) * solved.profit?, solved.chosen.iter().map(|&item| (item, -1.0)));
        }
        Ok(())
    }

    /// All data of a bin's knapsack.
    fn fingerprint(&self, component: usize) -> Option<u64> {
        let instance = &self.instance;
        let sense = u64::from(instance.sense() == Sense::Maximize);
        let hash = Fingerprint::new().whole(sense).whole(u64::from(instance.capacities()[component]));
        let weights = instance.weights(component).iter().fold(hash, |hash, &weight| hash.whole(u64::from(weight)));
        Some(weights.numbers(instance.profits(component)).finish())
    }

    /// A slope is a set of items. It is valid if they fit. A combination of several sets cannot be checked.
    fn reprice(&self, component: usize, coordinates: &[u32], entries: &[f64]) -> Option<f64> {
        let (profits, weights) = (self.instance.profits(component), self.instance.weights(component));
        let mut items = coordinates.to_vec();
        items.sort_unstable();
        let is_set = items.is_sorted_by(|a, b| a < b) && entries.iter().all(|entry| (entry + 1.0).abs() < ROUND_OFF);
        let weight: u64 = items.iter().map(|&item| u64::from(weights[item as usize])).sum();
        let fits = weight <= u64::from(self.instance.capacities()[component]);
        (is_set && fits).then(|| items.iter().map(|&item| profits[item as usize]).sum())
    }

    /// The combined patterns assign every item nearly once. If they can be repaired, the repaired profit is a bound.
    /// With "exactly once", a repair needs some room in the capacities.
    fn prove(&mut self, aggregate: &Lines) -> Option<f64> {
        self.prove_until(aggregate, &|| false)
    }

    fn prove_until(&mut self, aggregate: &Lines, is_over: &dyn Fn() -> bool) -> Option<f64> {
        self.hire();
        let recovery = self.recovery.get_or_insert_with(|| Recovery::new(&self.instance));
        recovery.recover(&self.instance, &mut self.workers.first_mut()?.knapsack, aggregate, is_over)
    }
}
