//! A solution of the strong linear relaxation from flows that almost conserve flow.
//!
//! ```text
//! min  sum_a f_a y_a + sum_(a,k) r_a^k x_a^k
//! s.t. flow conservation,   sum_k x_a^k <= c_a y_a,   0 <= x_a^k <= min(q_k, c_a) y_a,   0 <= y <= 1
//! ```
//!
//! Its optimum is that of the Lagrangian dual, so the cost of any solution bounds the dual from above. Convex
//! combinations of the arcs' solutions satisfy all constraints but flow conservation. At the dual's optimum some of
//! them satisfy flow conservation, too.
//!
//! 1. For each commodity, take the greatest flow from origin to destination within the given flow. It loses no more
//!    than the imbalance. If costs are nonnegative, it costs no more than the given flow.
//! 2. Route the rest of the demand along cheapest paths in the remaining capacity. If that is blocked, make room: mix
//!    the flow with a surplus flow, one of more than the demand.
//! 3. Take the smallest design for these flows.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::{Arc, Commodity, NetworkDesign, NetworkDesignDual};
use crate::{Recovered, Violation};
use bundlenet::Primal;
use bundlenet::{Lines, SumOracle};

/// Rest of a demand, relative to it, that counts as round-off: the flow is scaled up by it.
const ROUND_OFF: f64 = 1e-12;

/// Residual flow, relative to the demand, that counts as zero.
const NOTHING: f64 = 1e-14;

/// Most rounds of the search for a surplus flow.
const SURPLUS_ROUNDS: usize = 100;

/// Rounds between two checks of how large a surplus flow can be.
const CHECKED_ROUNDS: usize = 20;

/// How fast the price of an arc rises as it fills.
const PRICE_RATE: f64 = 1.0;

/// Surplus, relative to the demand, at which the search ends.
const LARGE_SURPLUS: f64 = 0.25;

/// Surplus, relative to the demand, below which a flow is of no use.
const SMALL_SURPLUS: f64 = 1e-6;

/// No arc, or no place in a list.
const NONE: u32 = u32::MAX;

/// Flows, and the designs `y` of the arcs that carry them. Designs of a feasible solution are 0 or 1; those of the
/// strong linear relaxation lie between. The flows of a primal solution that is not repaired may violate flow
/// conservation.
#[derive(Clone, Debug, PartialEq)]
pub struct Design {
    /// By commodity, then arc.
    flows: Vec<f64>,
    designs: Vec<f64>,
    cost: f64,
}

impl Design {
    /// Its cost.
    #[must_use]
    pub fn cost(&self) -> f64 {
        self.cost
    }

    /// Number of commodities.
    #[must_use]
    pub fn commodities(&self) -> usize {
        self.flows.len() / self.designs.len()
    }

    /// How far each arc is open, from 0 to 1.
    #[must_use]
    pub fn designs(&self) -> &[f64] {
        &self.designs
    }

    /// Flow of a commodity on every arc.
    ///
    /// # Panics
    /// If there is no such commodity.
    #[must_use]
    pub fn flows(&self, commodity: usize) -> &[f64] {
        let arcs = self.designs.len();
        &self.flows[commodity * arcs..(commodity + 1) * arcs]
    }

    /// Flows by commodity, as lists of arcs and amounts, in designs.
    pub(super) fn of_routes(
        instance: &NetworkDesign,
        routes: &[Vec<(u32, f64)>],
        designs: Vec<f64>,
        cost: f64,
    ) -> Self {
        let arcs = instance.arcs().len();
        let mut flows = vec![0.0; arcs * routes.len()];
        for (flows, route) in flows.chunks_exact_mut(arcs).zip(routes) {
            route.iter().for_each(|&(arc, amount)| flows[arc as usize] += amount);
        }
        Self { flows, designs, cost }
    }

    /// The primal solution of a run, in the problem's terms.
    fn of_primal(instance: &NetworkDesign, primal: &Primal) -> Self {
        let (arcs, commodities) = (instance.arcs().len(), instance.commodities().len());
        let mut design = Self { flows: vec![0.0; arcs * commodities], designs: vec![0.0; arcs], cost: primal.cost };
        for &(variable, value) in &primal.variables {
            let (arc, commodity) = (variable as usize / (commodities + 1), variable as usize % (commodities + 1));
            let places = if commodity < commodities { &mut design.flows } else { &mut design.designs };
            let place = if commodity < commodities { commodity * arcs + arc } else { arc };
            if let Some(place) = places.get_mut(place) {
                *place = value;
            }
        }
        design
    }

    /// As the primal solution of a run: variables are by arc, its commodities and then its design.
    pub(super) fn to_primal(&self) -> Primal {
        let commodities = self.commodities();
        let of_arc = |(arc, &design): (usize, &f64)| {
            let first = arc * (commodities + 1);
            let flows = (0..commodities).map(move |commodity| (first + commodity, self.flows(commodity)[arc]));
            flows.chain([(first + commodities, design)])
        };
        let variables = self.designs.iter().enumerate().flat_map(of_arc).filter(|(_, value)| *value != 0.0);
        Primal { cost: self.cost, variables: variables.map(|(variable, value)| (variable as u32, value)).collect() }
    }

    /// Violation of flow conservation, over all commodities and nodes.
    fn imbalance(&self, instance: &NetworkDesign) -> Violation {
        let mut excess = vec![0.0; instance.nodes()];
        let mut violation = Violation::default();
        for (index, commodity) in instance.commodities().iter().enumerate() {
            excess.fill(0.0);
            excess[commodity.origin] += commodity.demand;
            excess[commodity.destination] -= commodity.demand;
            for (arc, flow) in instance.arcs().iter().zip(self.flows(index)) {
                excess[arc.tail] -= flow;
                excess[arc.head] += flow;
            }
            excess.iter().for_each(|amount| violation.add(amount.abs()));
        }
        violation
    }

    /// The flows as the slopes of the arcs' cuts.
    fn aggregate(&self, instance: &NetworkDesign) -> Lines {
        let mut aggregate = Lines::new();
        for (index, arc) in instance.arcs().iter().enumerate() {
            let flows = (0..instance.commodities().len()).map(|commodity| (commodity, self.flows(commodity)[index]));
            let at_head = |(commodity, flow)| ((commodity * instance.nodes() + arc.head) as u32, flow);
            aggregate.push(0.0, flows.filter(|(_, flow)| *flow > 0.0).map(at_head));
        }
        aggregate
    }
}

impl NetworkDesign {
    /// The primal solution of a run on the dual: the convex combination itself, repaired, and rounded to designs of 0
    /// or 1.
    #[must_use]
    pub fn recover(&self, primal: &Primal) -> Recovered<Design> {
        let convex = Design::of_primal(self, primal);
        let mut dual = NetworkDesignDual::new(self);
        dual.prove(&convex.aggregate(self));
        let relaxed = dual.proof().cloned();
        let feasible = super::feasible::find(self, &convex, relaxed.as_ref());
        Recovered { violation: convex.imbalance(self), convex, relaxed, feasible }
    }
}

/// The data of the relaxation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Network<'a> {
    pub(super) nodes: usize,
    pub(super) arcs: &'a [Arc],
    pub(super) commodities: &'a [Commodity],
    /// Routing costs, a row of `stride` for each arc; infinite where a commodity may not use it.
    pub(super) costs: &'a [f64],
    pub(super) stride: usize,
}

impl Network<'_> {
    pub(super) fn cost(&self, arc: usize, commodity: usize) -> f64 {
        self.costs[arc * self.stride + commodity]
    }

    /// Most that an open arc carries of a commodity.
    fn limit(&self, arc: usize, commodity: usize) -> f64 {
        self.commodities[commodity].demand.min(self.arcs[arc].capacity)
    }
}

/// Makes solutions; keeps its memory from one to the next.
#[derive(Clone, Debug)]
pub(super) struct Recovery {
    solution: Design,
    is_complete: bool,
    /// Cost of the loops. No multiplier acts on them, so their part of the solution never changes.
    loops: f64,
    /// Arcs with flow, by commodity.
    support: Vec<Vec<u32>>,
    /// Flow sent from the origin, by commodity.
    routed: Vec<f64>,
    /// Flow of all commodities, by arc.
    loads: Vec<f64>,
    /// Least design that carries the flow of each commodity by itself, by arc.
    shares: Vec<f64>,
    residual: Residual,
    paths: Paths,
    surplus: Surplus,
}

/// A surplus flow: all commodities send more than their demands.
#[derive(Clone, Debug)]
enum Surplus {
    Unknown,
    Impossible,
    /// Flows by commodity, then arc, of `1 + excess` times the demand, that the capacities carry.
    Known {
        flows: Vec<f64>,
        excess: f64,
    },
}

impl Recovery {
    pub(super) fn new(network: &Network<'_>) -> Self {
        let (arcs, commodities) = (network.arcs.len(), network.commodities.len());
        let mut recovery = Self {
            solution: Design { flows: vec![0.0; arcs * commodities], designs: vec![0.0; arcs], cost: 0.0 },
            is_complete: false,
            loops: 0.0,
            support: vec![vec![]; commodities],
            routed: vec![0.0; commodities],
            loads: vec![0.0; arcs],
            shares: vec![0.0; arcs],
            residual: Residual::new(network.nodes),
            paths: Paths::new(network.nodes, network.arcs),
            surplus: Surplus::Unknown,
        };
        for index in (0..arcs).filter(|&index| network.arcs[index].tail == network.arcs[index].head) {
            recovery.solve_loop(network, index);
        }
        recovery
    }

    /// The solution that the last call of `recover` found.
    pub(super) fn solution(&self) -> Option<&Design> {
        self.is_complete.then_some(&self.solution)
    }

    /// Cost of a solution close to the flows that `aggregate` carries in its entries at the heads of the arcs.
    pub(super) fn recover(&mut self, network: &Network<'_>, aggregate: &Lines) -> Option<f64> {
        self.is_complete = false;
        if aggregate.len() != network.arcs.len() {
            return None;
        }
        self.load(network, aggregate);
        self.conserve(network);
        self.is_complete = self.complete(network) && self.price(network);
        self.is_complete.then_some(self.solution.cost)
    }

    /// A loop leads nowhere. But if costs are negative, it may pay to send flow round it.
    fn solve_loop(&mut self, network: &Network<'_>, index: usize) {
        let arc = &network.arcs[index];
        let mut paying: Vec<usize> =
            (0..network.commodities.len()).filter(|&commodity| network.cost(index, commodity) < 0.0).collect();
        paying.sort_by(|&one, &other| network.cost(index, one).total_cmp(&network.cost(index, other)));
        let (mut left, mut cost) = (arc.capacity, arc.fixed_cost);
        let mut amounts = vec![];
        for commodity in paying {
            let amount = network.commodities[commodity].demand.min(left);
            left -= amount;
            cost += amount * network.cost(index, commodity);
            amounts.push((commodity, amount));
        }
        if cost < 0.0 {
            self.loops += cost;
            self.solution.designs[index] = 1.0;
            for (commodity, amount) in amounts {
                self.solution.flows[commodity * network.arcs.len() + index] = amount;
            }
        }
    }

    /// Reads the flows, within the capacities.
    fn load(&mut self, network: &Network<'_>, aggregate: &Lines) {
        let arcs = network.arcs.len();
        for (flows, support) in self.solution.flows.chunks_exact_mut(arcs).zip(&mut self.support) {
            support.drain(..).for_each(|arc| flows[arc as usize] = 0.0);
        }
        for (index, arc) in network.arcs.iter().enumerate().filter(|(_, arc)| arc.tail != arc.head) {
            let (coordinates, entries) = aggregate.slope(index);
            for (&coordinate, &entry) in coordinates.iter().zip(entries) {
                let (commodity, node) = (coordinate as usize / network.nodes, coordinate as usize % network.nodes);
                // Every flow has two entries; the one at the tail is negative.
                if node == arc.head
                    && entry > 0.0
                    && commodity < network.commodities.len()
                    && network.cost(index, commodity) < f64::INFINITY
                {
                    let flow = &mut self.solution.flows[commodity * arcs + index];
                    if *flow == 0.0 {
                        self.support[commodity].push(index as u32);
                    }
                    *flow += entry;
                }
            }
        }
        self.loads.fill(0.0);
        for (commodity, support) in self.support.iter().enumerate() {
            for &arc in support {
                let flow = &mut self.solution.flows[commodity * arcs + arc as usize];
                *flow = flow.min(network.limit(arc as usize, commodity));
                self.loads[arc as usize] += *flow;
            }
        }
    }

    /// Reduces the flows to ones that conserve flow.
    fn conserve(&mut self, network: &Network<'_>) {
        let arcs = network.arcs.len();
        // Zero up to round-off for flows of subproblems.
        for (load, arc) in self.loads.iter_mut().zip(network.arcs) {
            *load = if *load > arc.capacity { arc.capacity / *load } else { 1.0 };
        }
        for (commodity, data) in network.commodities.iter().enumerate() {
            let flows = &mut self.solution.flows[commodity * arcs..(commodity + 1) * arcs];
            let support = &mut self.support[commodity];
            support.iter().for_each(|&arc| flows[arc as usize] *= self.loads[arc as usize]);
            self.routed[commodity] = self.residual.greatest_flow(network.arcs, data, support, flows);
            support.retain(|&arc| flows[arc as usize] > 0.0);
        }
        self.add_up(network);
    }

    /// Computes the loads of the arcs.
    fn add_up(&mut self, network: &Network<'_>) {
        self.loads.fill(0.0);
        self.shares.fill(0.0);
        let arcs = network.arcs.len();
        for (commodity, support) in self.support.iter().enumerate() {
            for arc in support.iter().map(|&arc| arc as usize) {
                let flow = self.solution.flows[commodity * arcs + arc];
                self.loads[arc] += flow;
                self.shares[arc] = self.shares[arc].max(flow / network.limit(arc, commodity));
            }
        }
    }

    /// Routes the rest of all demands; false if that is impossible.
    fn complete(&mut self, network: &Network<'_>) -> bool {
        let mut may_mix = true;
        loop {
            if (0..network.commodities.len()).all(|commodity| self.top_up(network, commodity)) {
                return true;
            }
            // After mixing, only round-off remains.
            if !may_mix || !self.mix(network) {
                return false;
            }
            may_mix = false;
        }
    }

    /// Routes the rest of a demand along cheapest paths; false if they are blocked.
    fn top_up(&mut self, network: &Network<'_>, commodity: usize) -> bool {
        let Commodity { origin, destination, demand } = network.commodities[commodity];
        let arcs = network.arcs.len();
        let flows = &mut self.solution.flows[commodity * arcs..(commodity + 1) * arcs];
        loop {
            let left = demand - self.routed[commodity];
            if left <= ROUND_OFF * demand {
                return true;
            }
            let (loads, shares) = (&self.loads, &self.shares);
            let room =
                |arc: usize| (network.arcs[arc].capacity - loads[arc]).min(network.limit(arc, commodity) - flows[arc]);
            let cost = |arc: usize| {
                let data = &network.arcs[arc];
                let room = room(arc);
                if room <= NOTHING * demand {
                    return f64::INFINITY;
                }
                let amount = left.min(room);
                let design = (loads[arc] / data.capacity).max(shares[arc]);
                let grown = design
                    .max((loads[arc] + amount) / data.capacity)
                    .max((flows[arc] + amount) / network.limit(arc, commodity));
                network.cost(arc, commodity).max(0.0) + data.fixed_cost.max(0.0) * (grown - design) / amount
            };
            if !self.paths.find(network.arcs, origin, destination, cost) {
                return false;
            }
            let amount = self.paths.path.iter().map(|&arc| room(arc as usize)).fold(left, f64::min);
            for arc in self.paths.path.iter().map(|&arc| arc as usize) {
                if flows[arc] == 0.0 {
                    self.support[commodity].push(arc as u32);
                }
                flows[arc] += amount;
                self.loads[arc] += amount;
                self.shares[arc] = self.shares[arc].max(flows[arc] / network.limit(arc, commodity));
            }
            self.routed[commodity] += amount;
        }
    }

    /// Mixes in the least portion of a surplus flow that meets every demand; false if there is no surplus flow.
    fn mix(&mut self, network: &Network<'_>) -> bool {
        if matches!(self.surplus, Surplus::Unknown) {
            self.surplus = self.find_surplus(network);
        }
        let Surplus::Known { flows: surplus, excess } = &self.surplus else { return false };
        let portion = network
            .commodities
            .iter()
            .zip(&self.routed)
            .filter(|(commodity, routed)| commodity.demand > **routed)
            .map(|(commodity, routed)| {
                (commodity.demand - routed) / (commodity.demand - routed + excess * commodity.demand)
            })
            .fold(0.0, f64::max);
        let arcs = network.arcs.len();
        for (commodity, data) in network.commodities.iter().enumerate() {
            let total = (1.0 - portion) * self.routed[commodity] + portion * (1.0 + excess) * data.demand;
            if total <= 0.0 {
                continue;
            }
            // Commodities that would send too much are scaled down.
            let scale = (data.demand / total).min(1.0);
            self.support[commodity].clear();
            for index in (0..arcs).filter(|&index| network.arcs[index].tail != network.arcs[index].head) {
                let flow = &mut self.solution.flows[commodity * arcs + index];
                *flow = scale * ((1.0 - portion) * *flow + portion * surplus[commodity * arcs + index]);
                if *flow > 0.0 {
                    self.support[commodity].push(index as u32);
                }
            }
            self.routed[commodity] = scale * total;
        }
        self.add_up(network);
        true
    }

    /// Searches for a surplus flow. One commodity after another takes its cheapest path, and the prices on that path
    /// rise. The mean prices bound the largest surplus, which ends the search early.
    fn find_surplus(&mut self, network: &Network<'_>) -> Surplus {
        let arcs = network.arcs.len();
        let mut flows = vec![0.0; arcs * network.commodities.len()];
        let mut congestions = vec![0.0_f64; arcs];
        let mut prices = vec![0.0; arcs];
        let mut mean_prices = vec![0.0; arcs];
        for round in 1..=SURPLUS_ROUNDS {
            let worst = congestions.iter().copied().fold(0.0, f64::max);
            let price =
                |arc: usize, congestion: f64| (PRICE_RATE * (congestion - worst)).exp() / network.arcs[arc].capacity;
            (0..arcs).for_each(|arc| prices[arc] = price(arc, congestions[arc]));
            let total: f64 = prices.iter().zip(network.arcs).map(|(price, arc)| price * arc.capacity).sum();
            mean_prices.iter_mut().zip(&prices).for_each(|(mean, price)| *mean += price / total);
            for (commodity, data) in network.commodities.iter().enumerate().filter(|(_, data)| data.demand > 0.0) {
                if self.paths.find_usable(network, commodity, &prices).is_none() {
                    return Surplus::Impossible;
                }
                for arc in self.paths.path.iter().map(|&arc| arc as usize) {
                    flows[commodity * arcs + arc] += data.demand;
                    congestions[arc] += data.demand / network.arcs[arc].capacity;
                    prices[arc] = price(arc, congestions[arc]);
                }
            }
            let worst = congestions.iter().copied().fold(0.0, f64::max);
            let excess = round as f64 / worst - 1.0;
            if excess >= LARGE_SURPLUS
                || (round % CHECKED_ROUNDS == 0 && excess >= 0.5 * self.most_surplus(network, &mean_prices, round))
                || round == SURPLUS_ROUNDS
            {
                if excess < SMALL_SURPLUS {
                    break;
                }
                flows.iter_mut().for_each(|flow| *flow /= worst);
                return Surplus::Known { flows, excess };
            }
        }
        Surplus::Impossible
    }

    /// An upper bound on the surplus of any flow, from prices at which the whole capacity costs `rounds`.
    fn most_surplus(&mut self, network: &Network<'_>, prices: &[f64], rounds: usize) -> f64 {
        let demands = network.commodities.iter().enumerate().filter(|(_, data)| data.demand > 0.0);
        let spent: f64 = demands
            .map(|(commodity, data)| {
                self.paths.find_usable(network, commodity, prices).map_or(f64::INFINITY, |price| price * data.demand)
            })
            .sum();
        rounds as f64 / spent - 1.0
    }

    /// Computes the smallest design and the cost; false if no design carries the flows, which should not happen.
    fn price(&mut self, network: &Network<'_>) -> bool {
        let arcs = network.arcs.len();
        let mut cost = self.loops;
        for (commodity, support) in self.support.iter().enumerate() {
            if support.is_empty() {
                continue;
            }
            let scale = network.commodities[commodity].demand / self.routed[commodity];
            for arc in support.iter().map(|&arc| arc as usize) {
                let flow = &mut self.solution.flows[commodity * arcs + arc];
                *flow *= scale;
                cost += network.cost(arc, commodity) * *flow;
            }
        }
        self.add_up(network);
        for (index, arc) in network.arcs.iter().enumerate().filter(|(_, arc)| arc.tail != arc.head) {
            // An arc with a negative fixed cost is opened entirely.
            let least = (self.loads[index] / arc.capacity).max(self.shares[index]);
            if least > 1.0 + 4.0 * ROUND_OFF {
                return false;
            }
            self.solution.designs[index] = if arc.fixed_cost < 0.0 { 1.0 } else { least.min(1.0) };
            cost += arc.fixed_cost * self.solution.designs[index];
        }
        self.solution.cost = cost;
        true
    }
}

/// Greatest flows of one commodity, by shortest augmenting paths. Their number is bounded for real data, too.
#[derive(Clone, Debug)]
struct Residual {
    /// First place in the list of arcs out of, and into, each node.
    first_out: Vec<u32>,
    first_in: Vec<u32>,
    /// The next place in the list, for each place.
    next_out: Vec<u32>,
    next_in: Vec<u32>,
    /// Flow sent over each arc of the list.
    sent: Vec<f64>,
    /// The search that last reached each node, and its last arc: twice the place, plus 1 if against the arc.
    seen: Vec<u32>,
    search: u32,
    reached_by: Vec<u32>,
    queue: Vec<u32>,
}

impl Residual {
    fn new(nodes: usize) -> Self {
        Self {
            first_out: vec![NONE; nodes],
            first_in: vec![NONE; nodes],
            next_out: vec![],
            next_in: vec![],
            sent: vec![],
            seen: vec![0; nodes],
            search: 0,
            reached_by: vec![0; nodes],
            queue: vec![],
        }
    }

    /// Reduces `flows` on the arcs of `support` to a greatest flow of at most the demand, and returns its amount.
    fn greatest_flow(&mut self, arcs: &[Arc], commodity: &Commodity, support: &[u32], flows: &mut [f64]) -> f64 {
        self.next_out.clear();
        self.next_in.clear();
        for (place, &arc) in support.iter().enumerate() {
            let Arc { tail, head, .. } = arcs[arc as usize];
            self.next_out.push(std::mem::replace(&mut self.first_out[tail], place as u32));
            self.next_in.push(std::mem::replace(&mut self.first_in[head], place as u32));
        }
        self.sent.clear();
        self.sent.resize(support.len(), 0.0);
        let mut routed = 0.0;
        while commodity.demand - routed > NOTHING * commodity.demand
            && let amount = self.augment(arcs, commodity, support, flows, commodity.demand - routed)
            && amount > 0.0
        {
            routed += amount;
        }
        for (&arc, &sent) in support.iter().zip(&self.sent) {
            flows[arc as usize] = sent;
            self.first_out[arcs[arc as usize].tail] = NONE;
            self.first_in[arcs[arc as usize].head] = NONE;
        }
        routed
    }

    /// Marks only the origin as seen.
    fn begin_search(&mut self, origin: usize) {
        if self.search == u32::MAX {
            self.seen.fill(0);
            self.search = 0;
        }
        self.search += 1;
        self.seen[origin] = self.search;
        self.queue.clear();
        self.queue.push(origin as u32);
    }

    /// Sends up to `most` along a shortest path and returns the amount: 0 if there is no path.
    fn augment(
        &mut self,
        arcs: &[Arc],
        &Commodity { origin, destination, demand }: &Commodity,
        support: &[u32],
        flows: &[f64],
        most: f64,
    ) -> f64 {
        let least = NOTHING * demand;
        let arc = |place: u32| &arcs[support[place as usize] as usize];
        let room = |place: u32, sent: &[f64]| flows[support[place as usize] as usize] - sent[place as usize];
        self.begin_search(origin);
        let mut done = 0;
        while self.seen[destination] != self.search {
            let Some(&node) = self.queue.get(done) else { return 0.0 };
            done += 1;
            let mut place = self.first_out[node as usize];
            while place != NONE {
                let head = arc(place).head;
                if self.seen[head] != self.search && room(place, &self.sent) > least {
                    self.seen[head] = self.search;
                    self.reached_by[head] = 2 * place;
                    self.queue.push(head as u32);
                }
                place = self.next_out[place as usize];
            }
            let mut place = self.first_in[node as usize];
            while place != NONE {
                let tail = arc(place).tail;
                if self.seen[tail] != self.search && self.sent[place as usize] > least {
                    self.seen[tail] = self.search;
                    self.reached_by[tail] = 2 * place + 1;
                    self.queue.push(tail as u32);
                }
                place = self.next_in[place as usize];
            }
        }
        let mut amount = most;
        for is_second in [false, true] {
            let mut node = destination;
            while node != origin {
                let (place, backward) = (self.reached_by[node] / 2, self.reached_by[node] % 2 == 1);
                let sent = self.sent[place as usize];
                if is_second {
                    self.sent[place as usize] = if backward { sent - amount } else { sent + amount };
                } else {
                    amount = amount.min(if backward { sent } else { room(place, &self.sent) });
                }
                node = if backward { arc(place).head } else { arc(place).tail };
            }
        }
        amount
    }
}

/// Cheapest paths.
#[derive(Clone, Debug)]
pub(super) struct Paths {
    /// Arcs by tail: those of a node are between its start and that of the next node.
    leaving: Vec<u32>,
    starts: Vec<u32>,
    distances: Vec<f64>,
    reached_by: Vec<u32>,
    heap: BinaryHeap<Reverse<Reached>>,
    /// The arcs of the last path found, backwards.
    pub(super) path: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Reached {
    distance: f64,
    node: u32,
}

impl Ord for Reached {
    fn cmp(&self, other: &Self) -> Ordering {
        self.distance.total_cmp(&other.distance).then(self.node.cmp(&other.node))
    }
}

impl PartialOrd for Reached {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Reached {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Reached {}

impl Paths {
    pub(super) fn new(nodes: usize, arcs: &[Arc]) -> Self {
        let mut leaving: Vec<u32> = (0..arcs.len() as u32).collect();
        leaving.sort_by_key(|&arc| arcs[arc as usize].tail);
        let mut starts = vec![0; nodes + 1];
        arcs.iter().for_each(|arc| starts[arc.tail + 1] += 1);
        (0..nodes).for_each(|node| starts[node + 1] += starts[node]);
        Self {
            leaving,
            starts,
            distances: vec![f64::INFINITY; nodes],
            reached_by: vec![NONE; nodes],
            heap: BinaryHeap::new(),
            path: vec![],
        }
    }

    /// Finds a cheapest path for a commodity on the arcs that it may use, and returns its price.
    fn find_usable(&mut self, network: &Network<'_>, commodity: usize, prices: &[f64]) -> Option<f64> {
        let Commodity { origin, destination, .. } = network.commodities[commodity];
        let price = |arc: usize| if network.cost(arc, commodity) < f64::INFINITY { prices[arc] } else { f64::INFINITY };
        self.find(network.arcs, origin, destination, price).then(|| self.distances[destination])
    }

    /// Finds a cheapest path; false if there is none. Costs are nonnegative, and infinite on arcs that cannot be used.
    pub(super) fn find(
        &mut self,
        arcs: &[Arc],
        origin: usize,
        destination: usize,
        cost: impl Fn(usize) -> f64,
    ) -> bool {
        self.distances.fill(f64::INFINITY);
        self.heap.clear();
        self.distances[origin] = 0.0;
        self.heap.push(Reverse(Reached { distance: 0.0, node: origin as u32 }));
        while let Some(Reverse(Reached { distance, node })) = self.heap.pop() {
            let node = node as usize;
            if node == destination {
                break;
            }
            if distance > self.distances[node] {
                continue;
            }
            for &arc in &self.leaving[self.starts[node] as usize..self.starts[node + 1] as usize] {
                let head = arcs[arc as usize].head;
                if self.distances[head] <= distance {
                    continue;
                }
                let through = distance + cost(arc as usize);
                if through < self.distances[head] {
                    self.distances[head] = through;
                    self.reached_by[head] = arc;
                    self.heap.push(Reverse(Reached { distance: through, node: head as u32 }));
                }
            }
        }
        self.path.clear();
        if self.distances[destination] == f64::INFINITY {
            return false;
        }
        let mut node = destination;
        while node != origin {
            self.path.push(self.reached_by[node]);
            node = arcs[self.reached_by[node] as usize].tail;
        }
        true
    }
}
