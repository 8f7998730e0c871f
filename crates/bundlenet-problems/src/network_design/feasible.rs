//! Feasible designs from a solution of the relaxation.
//!
//! One commodity after another takes cheapest paths. An arc costs no fixed cost if an earlier commodity opened it, or
//! if its design in the relaxation is large enough. Then arcs are closed, and commodities rerouted, as long as that
//! pays.

use super::primal::{Design, Paths};
use super::{Commodity, NetworkDesign};

/// Least designs in the relaxation from which arcs count as open at first; each is tried.
const THRESHOLDS: [f64; 4] = [0.05, 0.25, 0.5, 0.75];

/// Most rounds of improving a plan. Few take more than five.
const ROUNDS: usize = 20;

/// Most orders of the commodities to try. A commodity that is blocked goes to the front of the next.
const ORDERS: usize = 20;

/// Flow, relative to the demand, that counts as zero.
const NOTHING: f64 = 1e-12;

/// The cheapest feasible design found from a primal solution and, if there is one, its repaired version.
pub(super) fn find(instance: &NetworkDesign, convex: &Design, relaxed: Option<&Design>) -> Option<Design> {
    let mut paths = Paths::new(instance.nodes(), instance.arcs());
    let relaxed = relaxed.map(|design| Plan::of_design(instance, design));
    let mut plans: Vec<Plan<'_>> = relaxed.into_iter().collect();
    plans.extend(THRESHOLDS.iter().filter_map(|&threshold| {
        let is_open = |arc: usize| convex.designs()[arc] >= threshold;
        Plan::route_all(instance, &mut paths, &is_open)
    }));
    plans.iter_mut().for_each(|plan| plan.improve(&mut paths));
    let best = plans.into_iter().min_by(|one, other| one.cost().total_cmp(&other.cost()))?;
    Some(best.into_design())
}

/// Flows within the capacities. An arc with flow is open.
#[derive(Clone, Debug)]
struct Plan<'a> {
    instance: &'a NetworkDesign,
    /// Arcs and amounts, by commodity.
    routes: Vec<Vec<(u32, f64)>>,
    /// Total flow, and the number of commodities with flow, by arc.
    loads: Vec<f64>,
    users: Vec<usize>,
}

impl<'a> Plan<'a> {
    fn new(instance: &'a NetworkDesign) -> Self {
        let (arcs, commodities) = (instance.arcs().len(), instance.commodities().len());
        Self { instance, routes: vec![vec![]; commodities], loads: vec![0.0; arcs], users: vec![0; arcs] }
    }

    /// The flows of a solution of the linear relaxation. All arcs that they use are opened.
    fn of_design(instance: &'a NetworkDesign, design: &Design) -> Self {
        let mut plan = Self::new(instance);
        for (index, commodity) in instance.commodities().iter().enumerate() {
            let flows = design.flows(index).iter().enumerate();
            let is_used =
                |arc: usize, flow: f64| flow > 0.0 && plan.instance.arcs()[arc].tail != plan.instance.arcs()[arc].head;
            let route = flows.filter(|&(arc, &flow)| commodity.demand > 0.0 && is_used(arc, flow));
            let route = route.map(|(arc, &flow)| (arc as u32, flow)).collect();
            plan.put(index, route);
        }
        plan
    }

    /// Routes all commodities, those with the greatest demand first; `None` if every order tried blocks one.
    fn route_all(instance: &'a NetworkDesign, paths: &mut Paths, is_open: &dyn Fn(usize) -> bool) -> Option<Self> {
        let demand = |commodity: usize| instance.commodities()[commodity].demand;
        let mut order: Vec<usize> = (0..instance.commodities().len()).collect();
        order.sort_by(|&one, &other| demand(other).total_cmp(&demand(one)));
        for _ in 0..ORDERS {
            let mut plan = Self::new(instance);
            match order.iter().position(|&commodity| !plan.route(paths, commodity, is_open, None)) {
                None => return Some(plan),
                // It would be blocked again.
                Some(0) => return None,
                Some(blocked) => order[..=blocked].rotate_right(1),
            }
        }
        None
    }

    /// Routes a commodity along cheapest paths without the `banned` arc. If they are blocked, routes nothing; false.
    fn route(
        &mut self,
        paths: &mut Paths,
        index: usize,
        is_open: &dyn Fn(usize) -> bool,
        banned: Option<usize>,
    ) -> bool {
        let Commodity { origin, destination, demand } = self.instance.commodities()[index];
        let mut left = demand;
        while left > 0.0 {
            let arcs = self.instance.arcs();
            let room = |arc: usize| arcs[arc].capacity - self.loads[arc];
            let cost = |arc: usize| {
                let amount = left.min(room(arc));
                if amount <= NOTHING * demand || banned == Some(arc) || !self.instance.is_usable(arc, index) {
                    return f64::INFINITY;
                }
                let opening = if self.users[arc] > 0 || is_open(arc) { 0.0 } else { arcs[arc].fixed_cost / amount };
                self.instance.routing_costs(arc)[index].max(0.0) + opening.max(0.0)
            };
            if !paths.find(arcs, origin, destination, cost) {
                self.take(index);
                return false;
            }
            let amount = paths.path.iter().map(|&arc| room(arc as usize)).fold(left, f64::min);
            let mut route = self.take(index);
            for &arc in &paths.path {
                match route.iter_mut().find(|(other, _)| *other == arc) {
                    Some((_, flow)) => *flow += amount,
                    None => route.push((arc, amount)),
                }
            }
            self.put(index, route);
            left -= amount;
        }
        true
    }

    /// Removes the flow of a commodity.
    fn take(&mut self, index: usize) -> Vec<(u32, f64)> {
        let route = std::mem::take(&mut self.routes[index]);
        for &(arc, amount) in &route {
            let arc = arc as usize;
            self.users[arc] -= 1;
            // An unused arc has a load of exactly 0.
            self.loads[arc] = if self.users[arc] == 0 { 0.0 } else { self.loads[arc] - amount };
        }
        route
    }

    /// Adds the flow of a commodity that has none.
    fn put(&mut self, index: usize, route: Vec<(u32, f64)>) {
        for &(arc, amount) in &route {
            self.users[arc as usize] += 1;
            self.loads[arc as usize] += amount;
        }
        self.routes[index] = route;
    }

    /// Closes arcs and reroutes commodities as long as that pays.
    fn improve(&mut self, paths: &mut Paths) {
        let mut cost = self.cost();
        for _ in 0..ROUNDS {
            let before = cost;
            for commodity in 0..self.routes.len() {
                cost = self.reroute(paths, &[commodity], None, cost);
            }
            let mut open: Vec<usize> = (0..self.users.len()).filter(|&arc| self.users[arc] > 0).collect();
            let price = |arc: usize| self.instance.arcs()[arc].fixed_cost / self.loads[arc];
            open.sort_by(|&one, &other| price(other).total_cmp(&price(one)));
            for arc in open {
                let mut users: Vec<usize> = (0..self.routes.len())
                    .filter(|&commodity| self.routes[commodity].iter().any(|(other, _)| *other as usize == arc))
                    .collect();
                let demand = |commodity: usize| self.instance.commodities()[commodity].demand;
                users.sort_by(|&one, &other| demand(other).total_cmp(&demand(one)));
                cost = self.reroute(paths, &users, Some(arc), cost);
            }
            if cost >= before {
                break;
            }
        }
    }

    /// Reroutes commodities without the `banned` arc, unless that is not cheaper. Returns the cost afterwards.
    fn reroute(&mut self, paths: &mut Paths, commodities: &[usize], banned: Option<usize>, cost: f64) -> f64 {
        let old: Vec<_> = commodities.iter().map(|&commodity| self.take(commodity)).collect();
        let is_routed = commodities.iter().all(|&commodity| self.route(paths, commodity, &|_| false, banned));
        // A gain within round-off does not count: the search has to end.
        if is_routed && self.cost() < cost - 1e-9 * cost.abs() {
            return self.cost();
        }
        for &commodity in commodities {
            self.take(commodity);
        }
        for (&commodity, route) in commodities.iter().zip(old) {
            self.put(commodity, route);
        }
        cost
    }

    fn is_open(&self, arc: usize) -> bool {
        // An arc with a negative fixed cost is opened.
        self.users[arc] > 0 || self.instance.arcs()[arc].fixed_cost < 0.0
    }

    fn cost(&self) -> f64 {
        let open = self.instance.arcs().iter().enumerate().filter(|(index, _)| self.is_open(*index));
        let fixed: f64 = open.map(|(_, arc)| arc.fixed_cost).sum();
        let routes = self.routes.iter().enumerate().flat_map(|(k, route)| route.iter().map(move |flow| (k, flow)));
        let routing: f64 =
            routes.map(|(k, &(arc, amount))| self.instance.routing_costs(arc as usize)[k] * amount).sum();
        fixed + routing
    }

    fn into_design(self) -> Design {
        let designs = (0..self.users.len()).map(|arc| f64::from(u8::from(self.is_open(arc)))).collect();
        Design::of_routes(self.instance, &self.routes, designs, self.cost())
    }
}
