//! The dual in integers.
//!
//! By linear programming duality, `break c + sum_k q_k min(0, w^k - break)` is a lower bound on an arc's knapsack for
//! every `break <= 0`, and exact at the break cost. So floating point may search for the break cost: the bound is
//! valid for any result of the search.

use std::ops::Range;

use rayon::prelude::*;

use super::NetworkDesign;
use super::lagrangian::CELLS_PER_TASK;
use crate::error::Element;
use crate::knapsack::fill_from;
use crate::safe::{Grid, Magnitudes, Rounded, SafeBound, UnsafeBound, largest_integer};
use bundlenet::Sense;
use bundlenet_linalg::simd::{Block, Lanes, blocks_for, flat_mut, multiversion};

/// Cost of a commodity on an arc that it may not use. Larger than any reduced cost: those stay within `2^51`.
const BARRED: i64 = 1 << 52;

impl NetworkDesign {
    /// A lower bound that holds in exact arithmetic: the value of the dual at multipliers, by commodity, then node,
    /// rounded to dyadic numbers.
    ///
    /// # Errors
    /// If the data are not integers, or are too large. If the multipliers are not finite, are too large, or are not
    /// [`NetworkDesign::dual_dim`] many.
    pub fn safe_bound(&self, multipliers: &[f64]) -> Result<SafeBound, UnsafeBound> {
        let rounded = self.magnitudes()?.round(multipliers, self.dual_dim(), f64::NEG_INFINITY)?;
        let units = Tables::new(self, &rounded).value();
        Ok(rounded.bound(units, Sense::Maximize))
    }

    /// Checks that there are safe bounds: the data are integers, and not too large.
    ///
    /// # Errors
    /// If there are none, with the number at fault.
    pub fn check_integers(&self) -> Result<(), UnsafeBound> {
        self.magnitudes().map(|_| ())
    }

    /// Magnitudes of the cost of all flow on an arc.
    fn magnitudes(&self) -> Result<Magnitudes, UnsafeBound> {
        let demands: Vec<f64> = self.commodities().iter().map(|commodity| commodity.demand).collect();
        largest_integer(&demands, Element::Demand)?;
        let total = self.total_demand();
        // Capacity beyond the total demand does not matter.
        let capacities: Vec<f64> = self.arcs().iter().map(|arc| arc.capacity.min(total)).collect();
        largest_integer(&capacities, Element::ArcCapacity)?;
        let fixed_costs: Vec<f64> = self.arcs().iter().map(|arc| arc.fixed_cost).collect();
        let fixed = largest_integer(&fixed_costs, Element::FixedCost)?;
        let commodities = self.commodities().len();
        let routing_cost = |at: usize| Element::RoutingCost { arc: at / commodities, commodity: at % commodities };
        let cost = largest_integer(self.all_routing_costs(), routing_cost)?;
        Magnitudes { cost, multipliers: 2.0, amount: total, fixed }.check()
    }
}

/// The data of all arcs' subproblems, in units of a grid.
struct Tables<'a> {
    instance: &'a NetworkDesign,
    grid: Grid,
    demands: Vec<i64>,
    /// The same, padded to blocks.
    limits: Vec<Block>,
    total_demand: i64,
    /// Multipliers by node, then commodity, for tails and for heads. [`BARRED`] keeps a commodity from arcs out of its
    /// destination and into its origin.
    tails: Vec<i64>,
    heads: Vec<i64>,
    /// Value of the linear part.
    linear: i128,
}

impl<'a> Tables<'a> {
    fn new(instance: &'a NetworkDesign, rounded: &Rounded) -> Self {
        let (nodes, commodities) = (instance.nodes(), instance.commodities());
        let demands: Vec<i64> = commodities.iter().map(|commodity| commodity.demand as i64).collect();
        let mut limits = vec![Block::splat(0.0); blocks_for(demands.len())];
        flat_mut(&mut limits).iter_mut().zip(commodities).for_each(|(limit, commodity)| *limit = commodity.demand);
        let mut tails = Vec::with_capacity(instance.dual_dim());
        for node in 0..nodes {
            let column = rounded.multipliers[node..].iter().step_by(nodes);
            tails.extend(column.map(|&multiplier| rounded.grid.units(multiplier)));
        }
        let mut heads = tails.clone();
        let mut linear = 0;
        for (k, (commodity, &demand)) in commodities.iter().zip(&demands).enumerate() {
            let place = |node: usize| node * commodities.len() + k;
            let (origin, destination) = (place(commodity.origin), place(commodity.destination));
            linear += i128::from(demand * (tails[origin] - tails[destination]));
            heads[origin] += BARRED;
            tails[destination] -= BARRED;
        }
        let total_demand = demands.iter().sum();
        Self { instance, grid: rounded.grid, demands, limits, total_demand, tails, heads, linear }
    }

    /// The value of the dual. Sums of integers do not depend on their order, nor on the number of threads.
    fn value(&self) -> i128 {
        let arcs = self.instance.arcs().len();
        let arcs_per_task = (CELLS_PER_TASK / self.demands.len()).max(1);
        let arcs_value: i128 = if arcs > arcs_per_task && rayon::current_num_threads() > 1 {
            let task = |start: usize| arcs_dispatched(self, start..(start + arcs_per_task).min(arcs));
            (0..arcs).into_par_iter().step_by(arcs_per_task).map(task).sum()
        } else {
            arcs_dispatched(self, 0..arcs)
        };
        self.linear + arcs_value
    }

    /// The value of an arc's subproblem.
    #[inline(always)]
    fn arc_value<L: Lanes>(&self, index: usize, reduced: &mut [i64], keys: &mut [Block]) -> i64 {
        let count = self.demands.len();
        let arc = &self.instance.arcs()[index];
        let fixed = arc.fixed_cost as i64 * self.grid.units(1.0);
        let capacity = (arc.capacity as i64).min(self.total_demand);
        let tails = &self.tails[arc.tail * count..(arc.tail + 1) * count];
        let heads = &self.heads[arc.head * count..(arc.head + 1) * count];
        let (mut gain, mut load, mut least) = (0, 0, 0);
        let rows = self.instance.routing_costs(index).iter().zip(tails).zip(heads).zip(&self.demands);
        for (reduced, (((&cost, &tail), &head), &demand)) in reduced.iter_mut().zip(rows) {
            *reduced = self.grid.units(cost) - tail + head;
            gain += (*reduced).min(0) * demand;
            load += if *reduced < 0 { demand } else { 0 };
            least = least.min(*reduced);
        }
        // Two cheap bounds show that most arcs stay closed: all flow that pays, and the best flow up to the capacity.
        if fixed + gain >= 0 || fixed + least * capacity >= 0 {
            return 0;
        }
        if load <= capacity {
            return fixed + gain;
        }
        flat_mut(keys).iter_mut().zip(&*reduced).for_each(|(key, &cost)| *key = cost as f64);
        let filled = fill_from::<L>(keys, &self.limits, capacity as f64, least as f64, load as f64);
        let break_cost = (filled.break_cost as i64).clamp(least, 0);
        let costs = reduced.iter().zip(&self.demands);
        let routed: i64 = costs.map(|(&cost, &demand)| (cost - break_cost).min(0) * demand).sum();
        (fixed + break_cost * capacity + routed).min(0)
    }
}

#[inline(always)]
fn value_of_arcs<L: Lanes>(tables: &Tables<'_>, arcs: Range<usize>) -> i128 {
    let mut reduced = vec![0; tables.demands.len()];
    let mut keys = vec![Block::splat(f64::INFINITY); tables.limits.len()];
    let mut value = 0;
    // Not a closure: a closure would be compiled without the processor's special instructions.
    for arc in arcs {
        value += i128::from(tables.arc_value::<L>(arc, &mut reduced, &mut keys));
    }
    value
}

multiversion! {
    fn arcs_dispatched(tables: &Tables<'_>, arcs: Range<usize>) -> i128 = value_of_arcs;
}
