//! A solution of the strong linear relaxation, from one that almost serves every customer once.
//!
//! The relaxation's optimum is that of the Lagrangian dual, so the cost of any solution bounds the dual. Shares alone
//! make a solution: the least opening of a site that allows them costs least. Every site can serve every customer, so
//! the repair succeeds in any order if the total capacity suffices.

use super::{FacilityLocation, FacilityLocationDual};
use crate::{Recovered, Violation};
use bundlenet::{Lines, Primal, SumOracle};

/// Missing part of a customer that counts as round-off: its shares are scaled up by it.
const ROUND_OFF: f64 = 1e-12;

/// Least amount of service that a repair adds.
const LEAST_AMOUNT: f64 = 1e-14;

/// The opening of every site, and the share of each customer that a site serves. Openings of a feasible solution are 0
/// or 1; those of the relaxation lie between. The shares of a primal solution that is not repaired may not add up to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    openings: Vec<f64>,
    /// By customer, then site.
    shares: Vec<f64>,
    cost: f64,
}

impl Plan {
    /// Its cost.
    #[must_use]
    pub fn cost(&self) -> f64 {
        self.cost
    }

    /// The opening of every site, from 0 to 1.
    #[must_use]
    pub fn openings(&self) -> &[f64] {
        &self.openings
    }

    /// Number of customers.
    #[must_use]
    pub fn customers(&self) -> usize {
        self.shares.len() / self.openings.len()
    }

    /// The share of a customer that each site serves.
    ///
    /// # Panics
    /// If there is no such customer.
    #[must_use]
    pub fn shares(&self, customer: usize) -> &[f64] {
        let sites = self.openings.len();
        &self.shares[customer * sites..(customer + 1) * sites]
    }

    /// A plan in which nobody is served.
    fn empty(instance: &FacilityLocation) -> Self {
        let sites = instance.sites().len();
        Self { openings: vec![0.0; sites], shares: vec![0.0; sites * instance.customers()], cost: 0.0 }
    }

    /// The plan of given openings and shares, by customer, then site.
    pub(super) fn new(instance: &FacilityLocation, openings: Vec<f64>, shares: Vec<f64>) -> Self {
        let mut plan = Self { openings, shares, cost: 0.0 };
        plan.price(instance);
        plan
    }

    fn price(&mut self, instance: &FacilityLocation) {
        let opened = instance.sites().iter().zip(&self.openings).map(|(site, opening)| site.fixed_cost * opening);
        self.cost = opened.sum();
        for (customer, shares) in self.shares.chunks_exact(self.openings.len()).enumerate() {
            for (site, &share) in shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
                self.cost += share * instance.costs(site)[customer];
            }
        }
    }

    /// The primal solution of a run, in the problem's terms.
    fn of_primal(instance: &FacilityLocation, primal: &Primal) -> Self {
        let (sites, customers) = (instance.sites().len(), instance.customers());
        let mut plan = Self { cost: primal.cost, ..Self::empty(instance) };
        for &(variable, number) in &primal.variables {
            let (site, customer) = (variable as usize / (customers + 1), variable as usize % (customers + 1));
            let place = if customer == customers {
                plan.openings.get_mut(site)
            } else {
                plan.shares.get_mut(customer * sites + site)
            };
            if let Some(place) = place {
                *place = number;
            }
        }
        plan
    }

    /// Violation of "every customer is served once".
    fn violation(&self) -> Violation {
        let mut violation = Violation::default();
        for shares in self.shares.chunks_exact(self.openings.len()) {
            violation.add((shares.iter().sum::<f64>() - 1.0).abs());
        }
        violation
    }

    /// The shares as the slopes of the sites' cuts.
    fn aggregate(&self) -> Lines {
        let mut aggregate = Lines::new();
        for site in 0..self.openings.len() {
            let shares = (0..self.customers()).map(|customer| (customer as u32, -self.shares(customer)[site]));
            aggregate.push(0.0, shares.filter(|(_, share)| *share < 0.0));
        }
        aggregate
    }
}

impl FacilityLocation {
    /// The primal solution of a run on the dual: the convex combination itself, repaired, and rounded to open and
    /// closed sites.
    #[must_use]
    pub fn recover(&self, primal: &Primal) -> Recovered<Plan> {
        let convex = Plan::of_primal(self, primal);
        let mut dual = FacilityLocationDual::new(self);
        dual.prove(&convex.aggregate());
        let relaxed = dual.proof().cloned();
        let feasible = relaxed.as_ref().and_then(|relaxed| super::feasible::find(self, relaxed.openings()));
        Recovered { violation: convex.violation(), convex, relaxed, feasible }
    }
}

/// Makes solutions; keeps its memory from one to the next.
#[derive(Clone, Debug)]
pub(super) struct Recovery {
    plan: Plan,
    is_complete: bool,
    /// Finite capacities.
    rooms: Vec<f64>,
    /// Demand that each site serves.
    loads: Vec<f64>,
    /// Sites in the order in which they serve less of a customer.
    order: Vec<usize>,
}

/// More service of a customer by a site.
#[derive(Clone, Copy)]
struct Service {
    site: usize,
    amount: f64,
    /// Cost for each unit of the amount.
    rate: f64,
}

impl Recovery {
    pub(super) fn new(instance: &FacilityLocation) -> Self {
        let rooms = instance.rooms();
        let loads = vec![0.0; rooms.len()];
        Self { plan: Plan::empty(instance), is_complete: false, order: Vec::with_capacity(rooms.len()), rooms, loads }
    }

    /// The solution that the last call of `recover` found.
    pub(super) fn solution(&self) -> Option<&Plan> {
        self.is_complete.then_some(&self.plan)
    }

    /// Cost of a solution close to the shares in `aggregate`.
    pub(super) fn recover(&mut self, instance: &FacilityLocation, aggregate: &Lines) -> Option<f64> {
        self.is_complete = false;
        if aggregate.len() != self.rooms.len() {
            return None;
        }
        self.load(instance, aggregate);
        self.fit(instance);
        (0..instance.customers()).for_each(|customer| self.reduce(instance, customer));
        self.open(instance);
        self.is_complete = (0..instance.customers()).all(|customer| self.serve(instance, customer));
        if self.is_complete {
            self.open(instance);
            self.plan.price(instance);
        }
        self.is_complete.then_some(self.plan.cost)
    }

    fn load(&mut self, instance: &FacilityLocation, aggregate: &Lines) {
        let sites = self.rooms.len();
        self.plan.shares.fill(0.0);
        for site in 0..sites {
            let (coordinates, entries) = aggregate.slope(site);
            for (&customer, &entry) in
                coordinates.iter().zip(entries).filter(|(at, _)| **at < instance.customers() as u32)
            {
                self.plan.shares[customer as usize * sites + site] += (-entry).max(0.0);
            }
        }
        self.plan.shares.iter_mut().for_each(|share| *share = share.min(1.0));
    }

    /// The demand that each site serves.
    fn weigh(&mut self, instance: &FacilityLocation) {
        self.loads.fill(0.0);
        for (shares, demand) in self.plan.shares.chunks_exact(self.rooms.len()).zip(instance.demands()) {
            self.loads.iter_mut().zip(shares).for_each(|(load, share)| *load += demand * share);
        }
    }

    /// Scales the service of each site down to its capacity. Cuts exceed it by round-off only.
    fn fit(&mut self, instance: &FacilityLocation) {
        self.weigh(instance);
        let sites = self.rooms.len();
        for (site, (load, room)) in
            self.loads.iter().zip(&self.rooms).enumerate().filter(|(_, (load, room))| load > room)
        {
            self.plan.shares[site..].iter_mut().step_by(sites).for_each(|share| *share *= room / load);
        }
    }

    /// Takes service from a customer with more than 1, the dearest first.
    fn reduce(&mut self, instance: &FacilityLocation, customer: usize) {
        let sites = self.rooms.len();
        let shares = &mut self.plan.shares[customer * sites..(customer + 1) * sites];
        let mut excess = shares.iter().sum::<f64>() - 1.0;
        if excess <= 0.0 {
            return;
        }
        self.order.clear();
        self.order.extend((0..sites).filter(|&site| shares[site] > 0.0));
        let cost = |site: usize| instance.costs(site)[customer];
        self.order.sort_unstable_by(|&one, &other| cost(other).total_cmp(&cost(one)).then(one.cmp(&other)));
        for &site in self.order.iter() {
            let taken = shares[site].min(excess.max(0.0));
            shares[site] -= taken;
            excess -= taken;
        }
    }

    /// The least opening of each site that allows its service. A site with a negative fixed cost is opened entirely.
    fn open(&mut self, instance: &FacilityLocation) {
        self.weigh(instance);
        let Plan { openings, shares, .. } = &mut self.plan;
        for ((opening, load), room) in openings.iter_mut().zip(&self.loads).zip(&self.rooms) {
            *opening = load / room;
        }
        for shares in shares.chunks_exact(openings.len()) {
            openings.iter_mut().zip(shares).for_each(|(opening, share)| *opening = opening.max(*share));
        }
        for (opening, site) in openings.iter_mut().zip(instance.sites()) {
            // Beyond 1 there is only round-off.
            *opening = if site.fixed_cost < 0.0 { 1.0 } else { opening.min(1.0) };
        }
    }

    /// Adds service to a customer with less than 1, the cheapest first; false if the capacities do not suffice.
    fn serve(&mut self, instance: &FacilityLocation, customer: usize) -> bool {
        let sites = self.rooms.len();
        let place = |site: usize| customer * sites + site;
        let mut missing = 1.0 - self.plan.shares(customer).iter().sum::<f64>();
        while missing > ROUND_OFF {
            let services = (0..sites).flat_map(|site| self.services(instance, customer, site, missing));
            let best = services.reduce(|best, next| if next.rate < best.rate { next } else { best });
            let Some(Service { site, amount, .. }) = best else { return false };
            self.plan.shares[place(site)] += amount;
            self.loads[site] += amount * instance.demands()[customer];
            let opening = self.plan.shares[place(site)].max(self.loads[site] / self.rooms[site]).min(1.0);
            self.plan.openings[site] = self.plan.openings[site].max(opening);
            missing -= amount;
        }
        // Only round-off remains.
        let shares = &mut self.plan.shares[place(0)..place(sites)];
        let total: f64 = shares.iter().sum();
        shares.iter_mut().for_each(|share| *share /= total);
        true
    }

    /// Two ways to serve more of a customer: within the present opening of a site, and by opening it further.
    fn services(
        &self,
        instance: &FacilityLocation,
        customer: usize,
        site: usize,
        missing: f64,
    ) -> impl Iterator<Item = Service> + use<> {
        let demand = instance.demands()[customer];
        let (share, load, room) = (self.plan.shares(customer)[site], self.loads[site], self.rooms[site]);
        let (opening, fixed_cost) = (self.plan.openings[site], instance.sites()[site].fixed_cost);
        let cost = instance.costs(site)[customer];
        let most = |opening: f64| {
            let by_load = if demand > 0.0 { (room * opening - load) / demand } else { f64::INFINITY };
            missing.min(opening - share).min(by_load)
        };
        let (within, beyond) = (most(opening), most(1.0));
        let opened = (share + beyond).max((load + beyond * demand) / room).min(1.0) - opening;
        let further = Service { site, amount: beyond, rate: cost + fixed_cost * opened.max(0.0) / beyond };
        [Service { site, amount: within, rate: cost }, further]
            .into_iter()
            .filter(|service| service.amount > LEAST_AMOUNT)
    }
}
