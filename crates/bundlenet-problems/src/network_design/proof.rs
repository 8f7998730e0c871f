//! Proofs of safe bounds.

use super::NetworkDesign;
use crate::proof::{Proof, Subproblems, fraction};
use crate::safe::{SafeBound, UnsafeBound};

impl NetworkDesign {
    /// A proof of [`NetworkDesign::safe_bound`]: for each arc the multiplier of its capacity. The bound of the arc follows
    /// from it by linear programming duality.
    ///
    /// # Errors
    /// As [`NetworkDesign::safe_bound`].
    pub fn proof(&self, multipliers: &[f64]) -> Result<Proof, UnsafeBound> {
        let bound = self.safe_bound(multipliers)?;
        let of_arc = |arc: usize| fraction(self.break_cost(arc, &bound).into(), bound.one().into());
        let breaks = (0..self.arcs().len()).map(of_arc).collect();
        Ok(Proof::new("network design", "min", &bound, Subproblems::Arcs { breaks }))
    }

    /// The reduced cost at which the cheapest flow fills an arc, in units of the grid; 0 if it does not.
    fn break_cost(&self, index: usize, bound: &SafeBound) -> i64 {
        let arc = &self.arcs()[index];
        let price = |commodity: usize, node: usize| bound.units(bound.multipliers()[commodity * self.nodes() + node]);
        let paying = |commodity: usize| {
            let cost = bound.units(self.routing_costs(index)[commodity]);
            let reduced = cost - price(commodity, arc.tail) + price(commodity, arc.head);
            (self.is_usable(index, commodity) && reduced < 0).then_some((reduced, self.commodities()[commodity].demand))
        };
        let mut flows: Vec<(i64, f64)> = (0..self.commodities().len()).filter_map(paying).collect();
        flows.sort_by_key(|(reduced, _)| *reduced);
        // Demands are integers, and their sum is exact.
        let mut load = 0.0;
        let fills = |(_, demand): &&(i64, f64)| {
            load += demand;
            load > arc.capacity
        };
        flows.iter().find(fills).map_or(0, |(reduced, _)| *reduced)
    }
}
