//! The Lagrangian dual: the assignment of customers dualised, one continuous knapsack for each site.
//!
//! ```text
//! LR(u) = sum_i u_i + sum_j min(0, f_j + min { sum_i (c_ij - u_i) x_i : 0 <= x_i <= 1, sum_i d_i x_i <= s_j })
//! ```
//!
//! It is maximised over free `u`; a subgradient is `1 - sum_j x_ij`. Its optimum is that of the strong linear
//! relaxation.

use rayon::prelude::*;

use super::FacilityLocation;
use super::primal::{Plan, Recovery};
use crate::knapsack::fill_from;
use bundlenet::Fingerprint;
use bundlenet::{Lines, Minorants, Oracle, OracleError, Sense, Solutions, SumOracle};
use bundlenet::{Primal, PrimalOracle};
use bundlenet_linalg::simd::{Block, LANES, Lanes, blocks_for, flat, flat_mut, multiversion};

/// Sites times customers of one task: some tens of microseconds of work.
pub(super) const CELLS_PER_TASK: usize = 1 << 14;

/// Violation of a share's bounds that counts as round-off.
const SHARE_ROUND_OFF: f64 = 1e-12;

/// The Lagrangian dual of a [`FacilityLocation`] as an oracle.
///
/// There is one free multiplier for each customer, and components are sites. Large instances are evaluated on several
/// threads of the current rayon pool; results are the same for any number of them.
#[derive(Clone, Debug)]
pub struct FacilityLocationDual {
    instance: FacilityLocation,
    tables: Tables,
    linear: Vec<f64>,
    point: Vec<Block>,
    tasks: Vec<Task>,
    /// Made at the first call of `prove`: many runs never call it.
    recovery: Option<Recovery>,
}

/// The data of an evaluation, in blocks of customers.
#[derive(Clone, Debug)]
struct Tables {
    customers: usize,
    /// Blocks for one number per customer.
    blocks: usize,
    /// Finite capacities.
    rooms: Vec<f64>,
    fixed_costs: Vec<f64>,
    demands: Vec<Block>,
    /// Reciprocals of the demands; 0 for a customer without demand.
    inverses: Vec<Block>,
    /// Customers without demand.
    light: Vec<usize>,
    /// By site.
    costs: Vec<Block>,
}

/// A fixed range of sites, its results, and the memory to solve them.
///
/// The number of tasks depends on the instance alone, so that sums run in the same order on any number of threads.
#[derive(Clone, Debug)]
struct Task {
    sites: std::ops::Range<usize>,
    value: f64,
    /// Service of each customer by all sites.
    served: Vec<Block>,
    /// Minorants of the sites, if components are asked for.
    minorants: Minorants,
    /// Solutions of the sites, if they are asked for.
    solutions: Solutions,
    scratch: Scratch,
}

#[derive(Clone, Debug)]
struct Scratch {
    reduced_costs: Vec<Block>,
    /// Reduced costs for a unit of demand.
    keys: Vec<Block>,
    shares: Vec<Block>,
}

/// Numbers in blocks, with others behind them.
fn padded(numbers: impl Iterator<Item = f64>, blocks: usize, padding: f64) -> Vec<Block> {
    let mut padded = vec![Block::splat(padding); blocks];
    flat_mut(&mut padded).iter_mut().zip(numbers).for_each(|(entry, number)| *entry = number);
    padded
}

impl FacilityLocationDual {
    /// The dual of an instance.
    #[must_use]
    pub fn new(instance: &FacilityLocation) -> Self {
        let (sites, customers) = (instance.sites().len(), instance.customers());
        let blocks = blocks_for(customers);
        let demands = instance.demands();
        // The reciprocal of a tiny demand is not infinite: infinity times 0 is not a number.
        let inverse = |demand: &f64| if *demand > 0.0 { (1.0 / demand).min(1e300) } else { 0.0 };
        let cost_rows = (0..sites).flat_map(|site| padded(instance.costs(site).iter().copied(), blocks, f64::INFINITY));
        let zeros = || vec![Block::splat(0.0); blocks];
        let sites_per_task = (CELLS_PER_TASK / (blocks * LANES)).max(1);
        let task = |start: usize| Task {
            sites: start..(start + sites_per_task).min(sites),
            value: 0.0,
            served: zeros(),
            minorants: Minorants::new(),
            solutions: Solutions::new(),
            scratch: Scratch { reduced_costs: zeros(), keys: zeros(), shares: zeros() },
        };
        Self {
            tables: Tables {
                customers,
                blocks,
                rooms: instance.rooms(),
                fixed_costs: instance.sites().iter().map(|site| site.fixed_cost).collect(),
                demands: padded(demands.iter().copied(), blocks, 0.0),
                inverses: padded(demands.iter().map(inverse), blocks, 1.0),
                light: (0..customers).filter(|&customer| demands[customer] == 0.0).collect(),
                costs: cost_rows.collect(),
            },
            linear: vec![1.0; customers],
            point: zeros(),
            tasks: (0..sites).step_by(sites_per_task).map(task).collect(),
            recovery: None,
            instance: instance.clone(),
        }
    }

    /// The primal solution behind the bound that the last call of [`SumOracle::prove`] gave, if it gave one.
    #[must_use]
    pub fn proof(&self) -> Option<&Plan> {
        self.recovery.as_ref().and_then(Recovery::solution)
    }

    fn load(&mut self, point: &[f64]) {
        flat_mut(&mut self.point)[..point.len()].copy_from_slice(point);
    }

    fn for_each_task(&mut self, run: fn(&Tables, &[Block], &mut Task)) {
        let (tables, point) = (&self.tables, &self.point);
        if self.tasks.len() > 1 && rayon::current_num_threads() > 1 {
            self.tasks.par_iter_mut().for_each(|task| run(tables, point, task));
        } else {
            self.tasks.iter_mut().for_each(|task| run(tables, point, task));
        }
    }
}

impl Tables {
    /// Costs of service from a site.
    #[inline(always)]
    fn site_costs(&self, site: usize) -> &[Block] {
        &self.costs[site * self.blocks..(site + 1) * self.blocks]
    }

    /// The value of a site's subproblem. If it is negative, the site is open and `scratch.shares` is its service.
    #[inline(always)]
    fn solve_site<L: Lanes>(&self, site: usize, point: &[Block], scratch: &mut Scratch) -> f64 {
        let (zero, one) = (L::splat(0.0), L::splat(1.0));
        let (mut gain, mut load) = (zero, zero);
        let rows = self.site_costs(site).iter().zip(point).zip(&self.demands);
        for (reduced, ((costs, point), demands)) in scratch.reduced_costs.iter_mut().zip(rows) {
            let cost = L::load(costs).sub(L::load(point));
            cost.store(reduced);
            gain = gain.add(cost.min(zero));
            load = load.add(cost.if_less(zero, L::load(demands), zero));
        }
        let (value, load) = (self.fixed_costs[site] + gain.sum(), load.sum());
        // Most sites stay closed: even all service that pays does not pay for them.
        if value >= 0.0 {
            return 0.0;
        }
        if load <= self.rooms[site] {
            for (shares, reduced) in scratch.shares.iter_mut().zip(&scratch.reduced_costs) {
                L::load(reduced).if_less(zero, one, zero).store(shares);
            }
            return value;
        }
        self.fill_site::<L>(site, load, scratch).min(0.0)
    }

    /// As `solve_site`, for a site whose capacity is too small for the `load` that pays.
    #[inline(always)]
    fn fill_site<L: Lanes>(&self, site: usize, load: f64, scratch: &mut Scratch) -> f64 {
        let (zero, one) = (L::splat(0.0), L::splat(1.0));
        let Scratch { reduced_costs, keys, shares } = scratch;
        let mut least = zero;
        for ((key, reduced), inverse) in keys.iter_mut().zip(&*reduced_costs).zip(&self.inverses) {
            let cost = L::load(reduced).mul(L::load(inverse));
            cost.store(key);
            least = cost.min(least);
        }
        let (least, room) = (least.least(), self.rooms[site]);
        let light: f64 = self.light.iter().map(|&customer| flat(reduced_costs)[customer].min(0.0)).sum();
        // Even the best customer up to the capacity would not pay for the site.
        if self.fixed_costs[site] + light + least * room >= 0.0 {
            return 0.0;
        }
        let filled = fill_from::<L>(keys, &self.demands, room, least, load);
        // Products that underflow could give a positive one.
        let break_cost = filled.break_cost.min(0.0);
        let mut routed = zero;
        for ((shares, key), reduced) in shares.iter_mut().zip(&*keys).zip(&*reduced_costs) {
            let is_cheaper = |yes: L| L::load(key).if_less(L::splat(break_cost), yes, zero);
            is_cheaper(one).store(shares);
            routed = routed.add(is_cheaper(L::load(reduced)));
        }
        let mut value = self.fixed_costs[site] + light + routed.sum();
        let (keys, reduced, demands) = (flat(keys), flat(reduced_costs), flat(&self.demands));
        let shares = flat_mut(shares);
        let mut left = filled.left;
        for (customer, _) in keys[..self.customers].iter().enumerate().filter(|(_, key)| **key == break_cost) {
            let demand = demands[customer];
            if reduced[customer] < 0.0 && demand > 0.0 {
                let share = (left / demand).min(1.0);
                shares[customer] = share;
                value += share * reduced[customer];
                left -= share * demand;
            }
            if left <= 0.0 {
                break;
            }
        }
        for &customer in &self.light {
            shares[customer] = if reduced[customer] < 0.0 { 1.0 } else { 0.0 };
        }
        value
    }

    #[inline(always)]
    fn run<L: Lanes>(&self, point: &[Block], task: &mut Task) {
        task.value = 0.0;
        task.served.fill(Block::splat(0.0));
        for site in task.sites.clone() {
            let value = self.solve_site::<L>(site, point, &mut task.scratch);
            if value < 0.0 {
                task.value += value;
                for (served, shares) in task.served.iter_mut().zip(&task.scratch.shares) {
                    L::load(served).add(L::load(shares)).store(served);
                }
            }
        }
    }

    /// Customers that the site solved last serves, and their shares; none if it is closed.
    #[inline(always)]
    fn service<'a>(&self, is_open: bool, scratch: &'a Scratch) -> impl Iterator<Item = (usize, f64)> + Clone + 'a {
        let shares = if is_open { &flat(&scratch.shares)[..self.customers] } else { &[] };
        shares.iter().copied().enumerate().filter(|(_, share)| *share > 0.0)
    }

    /// As `run`, site by site.
    #[inline(always)]
    fn run_components<L: Lanes>(&self, point: &[Block], task: &mut Task) {
        task.minorants.clear();
        for site in task.sites.clone() {
            let value = self.solve_site::<L>(site, point, &mut task.scratch);
            let service = self.service(value < 0.0, &task.scratch);
            task.minorants.push(value, service.map(|(customer, share)| (customer as u32, -share)));
        }
    }

    /// As `run_components`, with the service itself. Variables are by site: its customers, then its opening.
    #[inline(always)]
    fn run_solutions<L: Lanes>(&self, point: &[Block], task: &mut Task) {
        task.solutions.clear();
        for site in task.sites.clone() {
            let is_open = self.solve_site::<L>(site, point, &mut task.scratch) < 0.0;
            let service = self.service(is_open, &task.scratch);
            let costs = flat(self.site_costs(site));
            let total: f64 = service.clone().map(|(customer, share)| costs[customer] * share).sum();
            let cost = if is_open { self.fixed_costs[site] + total } else { 0.0 };
            let first = site * (self.customers + 1);
            let opening = is_open.then_some(((first + self.customers) as u32, 1.0));
            let shares = service.map(|(customer, share)| ((first + customer) as u32, share));
            task.solutions.push(cost, shares.chain(opening));
        }
    }

    /// The least cost of the service behind a slope, over openings `y` from 0 to 1 with `x_i <= y` and
    /// `sum_i d_i x_i <= s y`, which is the hull of the subproblem's solutions.
    fn cost_of_service(&self, site: usize, coordinates: &[u32], entries: &[f64]) -> Option<f64> {
        let mut shares = vec![0.0; self.customers];
        for (&customer, &entry) in coordinates.iter().zip(entries) {
            *shares.get_mut(customer as usize)? -= entry;
        }
        self.cheapest_opening(site, shares.into_iter().enumerate()).map(|(cost, _)| cost)
    }

    /// The least cost of service from a site, and the opening of that cost. `None` if no opening allows the service.
    fn cheapest_opening(&self, site: usize, service: impl Iterator<Item = (usize, f64)>) -> Option<(f64, f64)> {
        let (costs, demands) = (flat(self.site_costs(site)), flat(&self.demands));
        let (mut cost, mut load, mut opening) = (0.0, 0.0, 0.0_f64);
        for (customer, share) in service {
            if share.is_nan() || share < -SHARE_ROUND_OFF {
                return None;
            }
            cost += costs[customer] * share;
            load += demands[customer] * share;
            opening = opening.max(share);
        }
        let opening = opening.max(load / self.rooms[site]);
        let fixed_cost = self.fixed_costs[site];
        // A site with a negative fixed cost is opened entirely.
        let opened = if fixed_cost > 0.0 { opening } else { 1.0 };
        (opening <= 1.0 + SHARE_ROUND_OFF).then_some((cost + fixed_cost * opened, opened))
    }

    /// The minorant of a site that belongs to the service of a solution. The solution gets the cheapest opening.
    fn line_of_service(&self, site: usize, variables: &mut Vec<(u32, f64)>) -> Option<(f64, Vec<(u32, f64)>)> {
        let first = site * (self.customers + 1);
        let place = |variable: u32| (variable as usize).checked_sub(first).filter(|&place| place <= self.customers);
        if variables.iter().any(|&(variable, _)| place(variable).is_none()) {
            return None;
        }
        let opening = (first + self.customers) as u32;
        variables.retain(|(variable, _)| *variable != opening);
        let service = variables.iter().map(|&(variable, share)| (variable as usize - first, share));
        let (cost, opened) = self.cheapest_opening(site, service.clone())?;
        let entries = service.map(|(customer, share)| (customer as u32, -share)).collect();
        if opened > 0.0 {
            variables.push((opening, opened));
        }
        Some((cost, entries))
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

impl Oracle for FacilityLocationDual {
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
        let mut value: f64 = point.iter().sum();
        for task in &self.tasks {
            value += task.value;
            subgradient.iter_mut().zip(flat(&task.served)).for_each(|(entry, served)| *entry -= served);
        }
        Ok(value)
    }

    /// Measured along a trajectory (`cargo bench --bench oracles`): 1.2 to 2.6 nanoseconds for each customer at each
    /// site, 0.4 at a site whose capacity is no limit.
    fn work(&self) -> Option<f64> {
        let total = self.instance.total_demand();
        let each = |room: &f64| if *room < total { 2.0 } else { 0.4 };
        Some(self.tables.rooms.iter().map(each).sum::<f64>() * self.tables.customers as f64)
    }

    fn as_sum(&mut self) -> Option<&mut dyn SumOracle> {
        Some(self)
    }

    fn as_primal(&mut self) -> Option<&mut dyn PrimalOracle> {
        Some(self)
    }
}

impl PrimalOracle for FacilityLocationDual {
    /// Solves the sites again at the last point. Keeping their service would cost time in runs that do not need it.
    fn write_solutions(&mut self, solutions: &mut Solutions) {
        self.for_each_task(run_solutions_dispatched);
        self.tasks.iter().for_each(|task| solutions.append(&task.solutions));
    }

    /// Service is feasible if an opening of at most 1 allows it.
    fn line_of(&mut self, component: usize, solution: &mut Primal) -> Option<(f64, Vec<(u32, f64)>)> {
        self.tables.line_of_service(component, &mut solution.variables)
    }
}

impl SumOracle for FacilityLocationDual {
    fn component_count(&self) -> usize {
        self.tables.rooms.len()
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

    /// All data of a site's subproblem.
    fn fingerprint(&self, component: usize) -> Option<u64> {
        let site = &self.instance.sites()[component];
        let hash = Fingerprint::new().whole(self.tables.customers as u64).numbers(&[site.capacity, site.fixed_cost]);
        Some(hash.numbers(self.instance.demands()).numbers(self.instance.costs(component)).finish())
    }

    /// A slope is the service of the site. It is valid if an opening of at most 1 allows it. The least such opening
    /// costs least.
    fn reprice(&self, component: usize, coordinates: &[u32], entries: &[f64]) -> Option<f64> {
        self.tables.cost_of_service(component, coordinates, entries)
    }

    /// The combined service nearly serves every customer once. If the total capacity suffices, it can be repaired, and
    /// the cost of the repaired service in the strong linear relaxation is a bound.
    fn prove(&mut self, aggregate: &Lines) -> Option<f64> {
        let recovery = self.recovery.get_or_insert_with(|| Recovery::new(&self.instance));
        recovery.recover(&self.instance, aggregate)
    }
}
