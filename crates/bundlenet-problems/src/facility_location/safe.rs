//! The dual in integers.
//!
//! By linear programming duality, `(r_k s + sum_i min(0, r_i d_k - r_k d_i)) / d_k` is a lower bound on a site's
//! knapsack for every customer `k` with a reduced cost `r_k <= 0`, and exact for the customer at the break. So floating
//! point may search for that customer: the bound is valid for any result of the search. The quotient is rounded down to
//! the grid.

use std::ops::Range;

use rayon::prelude::*;

use super::FacilityLocation;
use super::lagrangian::CELLS_PER_TASK;
use crate::error::Element;
use crate::knapsack::fill_from;
use crate::safe::{Grid, Magnitudes, Rounded, SafeBound, UnsafeBound, largest_integer};
use bundlenet::Sense;
use bundlenet_linalg::simd::{Block, Lanes, blocks_for, flat, flat_mut, multiversion};

impl FacilityLocation {
    /// A lower bound that holds in exact arithmetic: the value of the dual at multipliers, rounded to dyadic numbers.
    /// The value of each site is rounded down to the same grid.
    ///
    /// # Errors
    /// If the data are not integers, or are too large. If the multipliers are not finite, are too large, or are not one
    /// for each customer.
    pub fn safe_bound(&self, multipliers: &[f64]) -> Result<SafeBound, UnsafeBound> {
        let rounded = self.magnitudes()?.round(multipliers, self.customers(), f64::NEG_INFINITY)?;
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

    /// Magnitudes of a customer's cost times all demand, and of the cost of all customers.
    fn magnitudes(&self) -> Result<Magnitudes, UnsafeBound> {
        largest_integer(self.demands(), Element::CustomerDemand)?;
        largest_integer(&self.rooms(), Element::SiteCapacity)?;
        let fixed_costs: Vec<f64> = self.sites().iter().map(|site| site.fixed_cost).collect();
        let fixed = largest_integer(&fixed_costs, Element::SiteCost)?;
        let customers = self.customers();
        let service = |at: usize| Element::ServiceCost { site: at / customers, customer: at % customers };
        let cost = largest_integer(self.all_costs(), service)?;
        // Twice, for the two products.
        let amount = 2.0 * self.total_demand() + customers as f64;
        Magnitudes { cost, multipliers: 1.0, amount, fixed }.check()
    }
}

/// The data of all sites' subproblems, in units of a grid.
struct Tables<'a> {
    instance: &'a FacilityLocation,
    grid: Grid,
    demands: Vec<i64>,
    /// The same, padded to blocks.
    limits: Vec<Block>,
    /// Reciprocals of the demands; 0 for a customer without demand.
    inverses: Vec<f64>,
    rooms: Vec<i64>,
    prices: Vec<i64>,
}

impl<'a> Tables<'a> {
    fn new(instance: &'a FacilityLocation, rounded: &Rounded) -> Self {
        let mut limits = vec![Block::splat(0.0); blocks_for(instance.customers())];
        flat_mut(&mut limits)[..instance.customers()].copy_from_slice(instance.demands());
        Self {
            instance,
            grid: rounded.grid,
            demands: instance.demands().iter().map(|&demand| demand as i64).collect(),
            limits,
            inverses: instance.demands().iter().map(|&demand| if demand > 0.0 { 1.0 / demand } else { 0.0 }).collect(),
            rooms: instance.rooms().into_iter().map(|room| room as i64).collect(),
            prices: rounded.multipliers.iter().map(|&price| rounded.grid.units(price)).collect(),
        }
    }

    /// The value of the dual. Sums of integers do not depend on their order, nor on the number of threads.
    fn value(&self) -> i128 {
        let sites = self.rooms.len();
        let sites_per_task = (CELLS_PER_TASK / self.demands.len()).max(1);
        let sites_value: i128 = if sites > sites_per_task && rayon::current_num_threads() > 1 {
            let task = |start: usize| sites_dispatched(self, start..(start + sites_per_task).min(sites));
            (0..sites).into_par_iter().step_by(sites_per_task).map(task).sum()
        } else {
            sites_dispatched(self, 0..sites)
        };
        self.prices.iter().map(|&price| i128::from(price)).sum::<i128>() + sites_value
    }

    /// The value of a site's subproblem.
    #[inline(always)]
    fn site_value<L: Lanes>(&self, site: usize, reduced: &mut [i64], keys: &mut [Block]) -> i64 {
        let fixed = self.instance.sites()[site].fixed_cost as i64 * self.grid.units(1.0);
        let room = self.rooms[site];
        let (mut gain, mut load) = (0, 0);
        let rows = self.instance.costs(site).iter().zip(&self.prices).zip(&self.demands);
        for (reduced, ((&cost, &price), &demand)) in reduced.iter_mut().zip(rows) {
            *reduced = self.grid.units(cost) - price;
            gain += (*reduced).min(0);
            load += if *reduced < 0 { demand } else { 0 };
        }
        if fixed + gain >= 0 {
            return 0;
        }
        if load <= room {
            return fixed + gain;
        }
        let mut least = 0.0_f64;
        for ((key, &reduced), inverse) in flat_mut(keys).iter_mut().zip(&*reduced).zip(&self.inverses) {
            *key = reduced as f64 * inverse;
            least = least.min(*key);
        }
        let filled = fill_from::<L>(keys, &self.limits, room as f64, least, load as f64);
        let at = flat(keys).iter().position(|key| *key == filled.break_cost);
        let at = at.filter(|&at| at < reduced.len() && reduced[at] < 0 && self.demands[at] > 0);
        // Without the customer at the break, all service that pays is a bound.
        let Some(at) = at else { return fixed + gain };
        let (cost, demand) = (reduced[at], self.demands[at]);
        // A product is at most a reduced cost times the total demand, half of the largest sum.
        let gains = reduced.iter().zip(&self.demands);
        let gains = gains.map(|(&other, &of_other)| i128::from((other * demand - cost * of_other).min(0)));
        let total = i128::from(cost * room) + gains.sum::<i128>();
        // At least `gain`, so it fits.
        let knapsack = i64::try_from(total.div_euclid(i128::from(demand))).unwrap_or(gain);
        (fixed + knapsack.max(gain)).min(0)
    }
}

#[inline(always)]
fn value_of_sites<L: Lanes>(tables: &Tables<'_>, sites: Range<usize>) -> i128 {
    let mut reduced = vec![0; tables.demands.len()];
    let mut keys = vec![Block::splat(f64::INFINITY); tables.limits.len()];
    let mut value = 0;
    // Not a closure: a closure would be compiled without the processor's special instructions.
    for site in sites {
        value += i128::from(tables.site_value::<L>(site, &mut reduced, &mut keys));
    }
    value
}

multiversion! {
    fn sites_dispatched(tables: &Tables<'_>, sites: Range<usize>) -> i128 = value_of_sites;
}
