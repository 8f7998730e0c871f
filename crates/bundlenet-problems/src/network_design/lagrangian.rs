//! The Lagrangian dual: flow conservation dualised, one continuous knapsack for each arc.
//!
//! ```text
//! LR(pi) = sum_k q_k (pi[k][o_k] - pi[k][d_k]) + sum_a min(0, f_a + min_x sum_k w_a^k x^k),
//! w_a^k = r_a^k - pi[k][tail] + pi[k][head],   0 <= x^k <= q_k,   sum_k x^k <= c_a
//! ```
//!
//! over the commodities that may use the arc. It is maximised; a subgradient is `b - A x`.

use std::sync::Arc;

use rayon::prelude::*;

use super::NetworkDesign;
use super::barrier::{self, Barrier};
use super::primal::{Design, Network, Recovery};
use crate::knapsack::{Filled, fill_from};
use bundlenet::Fingerprint;
use bundlenet::{Lines, Minorants, Oracle, OracleError, Sense, Solutions, SumOracle};
use bundlenet::{Primal, PrimalOracle, StructuredMethod, StructuredOracle};
use bundlenet_linalg::simd::{Block, LANES, Lanes, blocks_for, flat, flat_mut, multiversion};

/// Arcs times commodities of one task: about 20 microseconds of work.
pub(super) const CELLS_PER_TASK: usize = 1 << 15;

/// Most tasks. More would not keep more threads busy.
const MAX_TASKS: usize = 32;

/// The Lagrangian dual of a [`NetworkDesign`] as an oracle.
///
/// Multipliers `pi[k][i]` are free and stored by commodity, then node. Components are arcs. Large instances are
/// evaluated on several threads of the current rayon pool; results are the same for any number of them.
#[derive(Clone, Debug)]
pub struct NetworkDesignDual {
    tables: Arc<Tables>,
    /// The supplies `b`, in the order of the multipliers.
    linear: Vec<f64>,
    /// The point, by node, then commodity.
    point: Vec<Block>,
    tasks: Vec<Task>,
    /// Made at the first call of `prove`: many runs never call it.
    recovery: Option<Box<Recovery>>,
}

/// The data of an evaluation, in blocks of commodities.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    pub(super) nodes: usize,
    pub(super) commodities: usize,
    /// Blocks for one number per commodity.
    blocks: usize,
    pub(super) arcs: Vec<super::Arc>,
    routes: Vec<super::Commodity>,
    demands: Vec<Block>,
    /// Routing costs by arc; infinite where a commodity may not use the arc.
    costs: Vec<Block>,
}

/// A fixed range of arcs, its results, and the memory to solve them.
///
/// The number of tasks depends on the instance alone, so that sums run in the same order on any number of threads.
#[derive(Clone, Debug)]
struct Task {
    arcs: std::ops::Range<usize>,
    value: f64,
    /// Net inflow by node, then commodity.
    inflow: Vec<Block>,
    /// Minorants of the arcs, if components are asked for.
    minorants: Minorants,
    /// Solutions of the arcs, if they are asked for.
    solutions: Solutions,
    scratch: Scratch,
}

#[derive(Clone, Debug)]
struct Scratch {
    reduced_costs: Vec<Block>,
    amounts: Vec<Block>,
}

impl NetworkDesignDual {
    /// The dual of an instance.
    #[must_use]
    pub fn new(instance: &NetworkDesign) -> Self {
        let (nodes, commodities) = (instance.nodes(), instance.commodities().len());
        let arc_count = instance.arcs().len();
        let blocks = blocks_for(commodities);
        let mut demands = vec![Block::splat(0.0); blocks];
        let mut linear = vec![0.0; instance.dual_dim()];
        for (k, commodity) in instance.commodities().iter().enumerate() {
            flat_mut(&mut demands)[k] = commodity.demand;
            linear[k * nodes + commodity.origin] += commodity.demand;
            linear[k * nodes + commodity.destination] -= commodity.demand;
        }
        let mut costs = vec![Block::splat(f64::INFINITY); arc_count * blocks];
        for (arc, row) in costs.chunks_exact_mut(blocks).enumerate() {
            for (k, &cost) in instance.routing_costs(arc).iter().enumerate() {
                if instance.is_usable(arc, k) {
                    flat_mut(row)[k] = cost;
                }
            }
        }
        // Every task has its own flows for all nodes. Together they take at most twice the memory of the costs.
        let most = (2 * arc_count / nodes).clamp(1, MAX_TASKS);
        let arcs_per_task = (CELLS_PER_TASK / (blocks * LANES)).max(arc_count.div_ceil(most)).max(1);
        let tasks = (0..arc_count)
            .step_by(arcs_per_task)
            .map(|start| Task {
                arcs: start..(start + arcs_per_task).min(arc_count),
                value: 0.0,
                inflow: vec![Block::splat(0.0); nodes * blocks],
                minorants: Minorants::new(),
                solutions: Solutions::new(),
                scratch: Scratch {
                    reduced_costs: vec![Block::splat(0.0); blocks],
                    amounts: vec![Block::splat(0.0); blocks],
                },
            })
            .collect();
        Self {
            tables: Arc::new(Tables {
                nodes,
                commodities,
                blocks,
                arcs: instance.arcs().to_vec(),
                routes: instance.commodities().to_vec(),
                demands,
                costs,
            }),
            linear,
            point: vec![Block::splat(0.0); nodes * blocks],
            tasks,
            recovery: None,
        }
    }

    /// The primal solution behind the bound that the last call of [`SumOracle::prove`] gave, if it gave one.
    #[must_use]
    pub fn proof(&self) -> Option<&Design> {
        self.recovery.as_ref().and_then(|recovery| recovery.solution())
    }

    /// Lays the point out by node, then commodity.
    fn load(&mut self, point: &[f64]) {
        let Tables { nodes, commodities, blocks, .. } = *self.tables;
        for (node, row) in self.point.chunks_exact_mut(blocks).enumerate() {
            let column = point[node..].iter().step_by(nodes);
            flat_mut(row)[..commodities].iter_mut().zip(column).for_each(|(entry, &number)| *entry = number);
        }
    }

    fn for_each_task(&mut self, run: fn(&Tables, &[Block], &mut Task)) {
        let (tables, point) = (&self.tables, &self.point);
        if self.tasks.len() > 1 && rayon::current_num_threads() > 1 {
            self.tasks.par_iter_mut().for_each(|task| run(tables, point, task));
        } else {
            self.tasks.iter_mut().for_each(|task| run(tables, point, task));
        }
    }

    fn linear_value(&self, point: &[f64]) -> f64 {
        self.linear.iter().zip(point).map(|(supply, multiplier)| supply * multiplier).sum()
    }
}

/// Violation of a flow's bounds, relative to them, that counts as round-off.
const FLOW_ROUND_OFF: f64 = 1e-12;

impl Tables {
    /// The data of the strong linear relaxation.
    pub(super) fn network(&self) -> Network<'_> {
        Network {
            nodes: self.nodes,
            arcs: &self.arcs,
            commodities: &self.routes,
            costs: flat(&self.costs),
            stride: self.blocks * LANES,
        }
    }

    /// Routing costs of all commodities on an arc.
    #[inline(always)]
    fn arc_costs(&self, index: usize) -> &[Block] {
        &self.costs[index * self.blocks..(index + 1) * self.blocks]
    }

    /// The least cost on an arc of the flow behind a slope: `min f y + sum_k r^k x^k` over designs `y` from 0 to 1 with
    /// `x^k <= q_k y` and `sum_k x^k <= c y`, which is the hull of the subproblem's solutions.
    fn cost_of_flow(&self, index: usize, coordinates: &[u32], entries: &[f64]) -> Option<f64> {
        let arc = &self.arcs[index];
        // The flow on a loop has no slope.
        if arc.tail == arc.head {
            return None;
        }
        // The slope has the flow of each commodity twice: into the head and out of the tail.
        let (mut inflow, mut outflow) = (vec![0.0; self.commodities], vec![0.0; self.commodities]);
        for (&coordinate, &entry) in coordinates.iter().zip(entries) {
            let (k, node) = (coordinate as usize / self.nodes, coordinate as usize % self.nodes);
            match node {
                _ if node == arc.head => inflow[k] += entry,
                _ if node == arc.tail => outflow[k] -= entry,
                _ => return None,
            }
        }
        let is_flow = |(amount, other): (&f64, &f64)| (amount - other).abs() <= FLOW_ROUND_OFF * amount.abs();
        if !inflow.iter().zip(&outflow).all(is_flow) {
            return None;
        }
        let flows = inflow.into_iter().enumerate().filter(|(_, amount)| *amount != 0.0);
        self.cheapest_design(index, flows).map(|(cost, _)| cost)
    }

    /// The least cost of flows on an arc, and the design of that cost. `None` if no design carries the flows.
    fn cheapest_design(&self, index: usize, flows: impl Iterator<Item = (usize, f64)>) -> Option<(f64, f64)> {
        let arc = &self.arcs[index];
        let (costs, demands) = (flat(self.arc_costs(index)), flat(&self.demands));
        let (mut routing, mut load, mut design) = (0.0, 0.0, 0.0_f64);
        for (k, amount) in flows {
            let is_flow = amount > 0.0 && costs[k].is_finite();
            if !is_flow {
                return None;
            }
            routing += costs[k] * amount;
            load += amount;
            design = design.max(amount / demands[k]);
        }
        let design = design.max(load / arc.capacity);
        let is_carried = design <= 1.0 + FLOW_ROUND_OFF;
        // An arc with a negative fixed cost is opened entirely.
        let opened = if arc.fixed_cost > 0.0 { design } else { 1.0 };
        is_carried.then_some((routing + arc.fixed_cost * opened, opened))
    }

    /// The minorant of an arc that belongs to the flows of a solution. The solution gets their cheapest design.
    fn line_of_flows(&self, index: usize, variables: &mut Vec<(u32, f64)>) -> Option<(f64, Vec<(u32, f64)>)> {
        let (tail, head) = (self.arcs[index].tail, self.arcs[index].head);
        let first = index * (self.commodities + 1);
        let place = |variable: u32| (variable as usize).checked_sub(first).filter(|&place| place <= self.commodities);
        if variables.iter().any(|&(variable, _)| place(variable).is_none()) {
            return None;
        }
        let design = (first + self.commodities) as u32;
        variables.retain(|(variable, _)| *variable != design);
        let flows = variables.iter().map(|&(variable, amount)| (variable as usize - first, amount));
        let (cost, opened) = self.cheapest_design(index, flows.clone())?;
        // A loop's flow leaves and enters the same node.
        let entries = flows.filter(|_| tail != head).flat_map(|(k, amount)| {
            let node = k * self.nodes;
            [((node + tail) as u32, -amount), ((node + head) as u32, amount)]
        });
        let entries = entries.collect();
        if opened > 0.0 {
            variables.push((design, opened));
        }
        Some((cost, entries))
    }

    /// The value of an arc's subproblem. If it is negative, the arc is open and `scratch.amounts` is its flow.
    #[inline(always)]
    fn solve_arc<L: Lanes>(&self, index: usize, point: &[Block], scratch: &mut Scratch) -> f64 {
        let blocks = self.blocks;
        let arc = &self.arcs[index];
        let tail = &point[arc.tail * blocks..(arc.tail + 1) * blocks];
        let head = &point[arc.head * blocks..(arc.head + 1) * blocks];
        let costs = self.arc_costs(index);
        let demands = &self.demands[..blocks];
        let reduced = &mut scratch.reduced_costs[..blocks];
        let zero = L::splat(0.0);
        let (mut gain, mut load, mut least) = (zero, zero, zero);
        for block in 0..blocks {
            let demand = L::load(&demands[block]);
            let cost = L::load(&costs[block]).sub(L::load(&tail[block])).add(L::load(&head[block]));
            cost.store(&mut reduced[block]);
            // Zero where the cost is positive, even if it is infinite.
            gain = gain.add(cost.min(zero).mul(demand));
            load = load.add(cost.if_less(zero, demand, zero));
            least = cost.min(least);
        }
        let (gain, load, least) = (gain.sum(), load.sum(), least.least());
        // Two cheap bounds show that most arcs stay closed: all flow that pays, and the best flow up to the capacity.
        if arc.fixed_cost + gain >= 0.0 || arc.fixed_cost + least * arc.capacity >= 0.0 {
            return 0.0;
        }
        let reduced = &*reduced;
        let Filled { break_cost, mut left } = if load <= arc.capacity {
            Filled { break_cost: 0.0, left: 0.0 }
        } else {
            fill_from::<L>(reduced, demands, arc.capacity, least, load)
        };
        let limit = L::splat(break_cost);
        let mut routed = zero;
        for ((amounts, costs), demands) in scratch.amounts.iter_mut().zip(reduced).zip(demands) {
            let (cost, demand) = (L::load(costs), L::load(demands));
            cost.if_less(limit, demand, zero).store(amounts);
            routed = routed.add(cost.if_less(limit, cost.mul(demand), zero));
        }
        let mut value = arc.fixed_cost + routed.sum();
        if left > 0.0 {
            let items = flat_mut(&mut scratch.amounts).iter_mut().zip(flat(reduced)).zip(flat(demands));
            for ((amount, &cost), &demand) in items {
                if cost == break_cost {
                    *amount = demand.min(left);
                    left -= *amount;
                    value += cost * *amount;
                }
            }
        }
        value.min(0.0)
    }

    #[inline(always)]
    fn run<L: Lanes>(&self, point: &[Block], task: &mut Task) {
        let blocks = self.blocks;
        task.value = 0.0;
        task.inflow.fill(Block::splat(0.0));
        for index in task.arcs.clone() {
            let value = self.solve_arc::<L>(index, point, &mut task.scratch);
            if value < 0.0 {
                task.value += value;
                let (tail, head) = (self.arcs[index].tail, self.arcs[index].head);
                let amounts = &task.scratch.amounts[..blocks];
                let outflow = &mut task.inflow[tail * blocks..(tail + 1) * blocks];
                for (total, amount) in outflow.iter_mut().zip(amounts) {
                    L::load(total).sub(L::load(amount)).store(total);
                }
                let inflow = &mut task.inflow[head * blocks..(head + 1) * blocks];
                for (total, amount) in inflow.iter_mut().zip(amounts) {
                    L::load(total).add(L::load(amount)).store(total);
                }
            }
        }
    }

    /// As `run`, arc by arc.
    #[inline(always)]
    fn run_components<L: Lanes>(&self, point: &[Block], task: &mut Task) {
        task.minorants.clear();
        for index in task.arcs.clone() {
            let value = self.solve_arc::<L>(index, point, &mut task.scratch);
            let (tail, head) = (self.arcs[index].tail, self.arcs[index].head);
            // A loop's flow leaves and enters the same node.
            let is_open = value < 0.0 && tail != head;
            let amounts = if is_open { &flat(&task.scratch.amounts)[..self.commodities] } else { &[] };
            let entries = amounts.iter().enumerate().filter(|&(_, &amount)| amount > 0.0).flat_map(|(k, &amount)| {
                let first = k * self.nodes;
                [((first + tail) as u32, -amount), ((first + head) as u32, amount)]
            });
            task.minorants.push(value, entries);
        }
    }

    /// As `run_components`, with the flows themselves. Variables are by arc: its commodities, then its design.
    #[inline(always)]
    fn run_solutions<L: Lanes>(&self, point: &[Block], task: &mut Task) {
        task.solutions.clear();
        for index in task.arcs.clone() {
            let is_open = self.solve_arc::<L>(index, point, &mut task.scratch) < 0.0;
            let amounts = if is_open { &flat(&task.scratch.amounts)[..self.commodities] } else { &[] };
            let flows = amounts.iter().enumerate().filter(|&(_, &amount)| amount > 0.0);
            let costs = flat(&self.costs[index * self.blocks..(index + 1) * self.blocks]);
            let routing: f64 = flows.clone().map(|(k, amount)| costs[k] * amount).sum();
            let cost = if is_open { self.arcs[index].fixed_cost + routing } else { 0.0 };
            let first = index * (self.commodities + 1);
            let design = is_open.then_some(((first + self.commodities) as u32, 1.0));
            task.solutions.push(cost, flows.map(|(k, &amount)| ((first + k) as u32, amount)).chain(design));
        }
    }
}

// Free functions: `multiversion` takes no others.
#[inline(always)]
fn run<L: Lanes>(tables: &Tables, point: &[Block], task: &mut Task) {
    tables.run::<L>(point, task);
}

multiversion! {
    fn run_dispatched(tables: &Tables, point: &[Block], task: &mut Task) = run;
}

#[inline(always)]
fn run_components<L: Lanes>(tables: &Tables, point: &[Block], task: &mut Task) {
    tables.run_components::<L>(point, task);
}

multiversion! {
    fn run_components_dispatched(tables: &Tables, point: &[Block], task: &mut Task) = run_components;
}

#[inline(always)]
fn run_solutions<L: Lanes>(tables: &Tables, point: &[Block], task: &mut Task) {
    tables.run_solutions::<L>(point, task);
}

multiversion! {
    fn run_solutions_dispatched(tables: &Tables, point: &[Block], task: &mut Task) = run_solutions;
}

/// Scale of a multiplier by the demand of its commodity. A commodity without demand moves nothing.
fn scale_of(demand: f64) -> f64 {
    if demand > 0.0 { (1.0 / demand).clamp(1e-100, 1e100) } else { 1.0 }
}

impl Oracle for NetworkDesignDual {
    fn dim(&self) -> usize {
        self.linear.len()
    }

    fn sense(&self) -> Sense {
        Sense::Maximize
    }

    fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        self.load(point);
        self.for_each_task(run_dispatched);
        subgradient.copy_from_slice(&self.linear);
        let Tables { nodes, commodities, blocks, .. } = *self.tables;
        let mut value = self.linear_value(point);
        for task in &self.tasks {
            value += task.value;
            for (node, row) in task.inflow.chunks_exact(blocks).enumerate() {
                let column = subgradient[node..].iter_mut().step_by(nodes);
                column.zip(&flat(row)[..commodities]).for_each(|(entry, &inflow)| *entry += inflow);
            }
        }
        Ok(value)
    }

    /// Measured along a trajectory (`cargo bench --bench oracles`): 0.9 to 1.2 nanoseconds for each commodity on each
    /// arc.
    fn work(&self) -> Option<f64> {
        Some(1.0 * (self.tables.arcs.len() * self.tables.commodities) as f64)
    }

    /// A multiplier is a cost for a unit of flow, alike for all commodities. An entry of a subgradient is a flow of the
    /// commodity, in proportion to its demand.
    fn scales(&self) -> Option<Vec<f64>> {
        let nodes = self.tables.nodes;
        let demands = self.tables.routes.iter().map(|route| route.demand);
        Some(demands.flat_map(|demand| std::iter::repeat_n(scale_of(demand), nodes)).collect())
    }

    fn as_sum(&mut self) -> Option<&mut dyn SumOracle> {
        Some(self)
    }

    fn as_primal(&mut self) -> Option<&mut dyn PrimalOracle> {
        Some(self)
    }

    fn as_structured(&mut self) -> Option<&mut dyn StructuredOracle> {
        Some(self)
    }
}

impl StructuredOracle for NetworkDesignDual {
    fn method_work(&self) -> Option<f64> {
        barrier::work(&self.tables)
    }

    fn method(&self, tolerance: f64) -> Option<Box<dyn StructuredMethod>> {
        Some(Box::new(Barrier::new(self.tables.clone(), tolerance)?))
    }
}

impl PrimalOracle for NetworkDesignDual {
    /// Solves the arcs again at the last point. Keeping their flows would cost time in runs that do not need them.
    fn write_solutions(&mut self, solutions: &mut Solutions) {
        self.for_each_task(run_solutions_dispatched);
        self.tasks.iter().for_each(|task| solutions.append(&task.solutions));
    }

    /// Flows are feasible if a design of at most 1 carries them.
    fn line_of(&mut self, component: usize, solution: &mut Primal) -> Option<(f64, Vec<(u32, f64)>)> {
        self.tables.line_of_flows(component, &mut solution.variables)
    }
}

impl SumOracle for NetworkDesignDual {
    fn component_count(&self) -> usize {
        self.tables.arcs.len()
    }

    fn linear(&self) -> &[f64] {
        &self.linear
    }

    fn evaluate_components(&mut self, point: &[f64], minorants: &mut Minorants) -> Result<(), OracleError> {
        self.load(point);
        self.for_each_task(run_components_dispatched);
        self.tasks.iter().for_each(|task| minorants.append(&task.minorants));
        Ok(())
    }

    /// All data of an arc's subproblem, and the places of its multipliers.
    fn fingerprint(&self, component: usize) -> Option<u64> {
        let tables = &self.tables;
        let arc = &tables.arcs[component];
        let sizes = [tables.nodes, tables.commodities, arc.tail, arc.head];
        let hash = sizes.iter().fold(Fingerprint::new(), |hash, &size| hash.whole(size as u64));
        let hash = hash.numbers(&[arc.fixed_cost, arc.capacity]).numbers(&flat(&tables.demands)[..tables.commodities]);
        Some(hash.numbers(&flat(tables.arc_costs(component))[..tables.commodities]).finish())
    }

    /// A slope is a flow on the arc. It is valid if a design of at most 1 carries it. The least such design costs
    /// least.
    fn reprice(&self, component: usize, coordinates: &[u32], entries: &[f64]) -> Option<f64> {
        self.tables.cost_of_flow(component, coordinates, entries)
    }

    /// The combined flows nearly conserve flow. If the capacities allow a repair, the cost of the repaired flows in the
    /// strong linear relaxation is a bound.
    fn prove(&mut self, aggregate: &Lines) -> Option<f64> {
        let network = self.tables.network();
        let recovery = self.recovery.get_or_insert_with(|| Box::new(Recovery::new(&network)));
        recovery.recover(&network, aggregate)
    }
}
