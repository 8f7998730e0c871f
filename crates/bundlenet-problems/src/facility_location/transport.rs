//! The cheapest service of all customers from given open sites: a transportation problem.
//!
//! A greedy start serves the customers who lose most without their cheapest site first. Then negative cycles are
//! cancelled: service moves from site to site, and each site of the cycle keeps its load, or the first loses what the
//! last one has room for. Without such a cycle the service is optimal.

use super::{FacilityLocation, Plan};

/// Most cycles that are cancelled. Few services need more than one for each customer.
const MOST_CYCLES: usize = 2000;

/// Load, relative to the capacity, that counts as round-off.
const ROUND_OFF: f64 = 1e-12;

/// Service of all customers from open sites.
#[derive(Clone, Debug)]
pub(super) struct Transport {
    open: Vec<bool>,
    /// By customer: sites, and the shares that they serve.
    served: Vec<Vec<(usize, f64)>>,
    left: Vec<f64>,
    cost: f64,
    /// Cycles that were cancelled, and one.
    rounds: usize,
}

/// The cheapest move of a unit of demand from one site to another.
#[derive(Clone, Copy)]
struct Shift {
    rate: f64,
    customer: usize,
}

const NO_SHIFT: Shift = Shift { rate: f64::INFINITY, customer: usize::MAX };

impl Transport {
    /// The cheapest service from a set of open sites; `None` if their capacities do not suffice.
    pub(super) fn solve(instance: &FacilityLocation, open: &[bool]) -> Option<Self> {
        let sites: Vec<usize> = (0..open.len()).filter(|&site| open[site]).collect();
        let served = vec![vec![]; instance.customers()];
        let mut transport = Self { open: open.to_vec(), served, left: instance.rooms(), cost: 0.0, rounds: 0 };
        for customer in order(instance, &sites) {
            transport.serve(instance, &sites, customer)?;
        }
        while transport.rounds < MOST_CYCLES {
            transport.rounds += 1;
            if !transport.cancel_cycle(instance, &sites) {
                break;
            }
        }
        transport.price(instance);
        Some(transport)
    }

    pub(super) fn open(&self) -> &[bool] {
        &self.open
    }

    pub(super) fn cost(&self) -> f64 {
        self.cost
    }

    /// Work of the search, in passes over all sites and customers.
    pub(super) fn rounds(&self) -> usize {
        self.rounds
    }

    /// The service as a plan.
    pub(super) fn plan(&self, instance: &FacilityLocation) -> Plan {
        let sites = self.open.len();
        let mut shares = vec![0.0; sites * instance.customers()];
        for (customer, served) in self.served.iter().enumerate() {
            served.iter().for_each(|&(site, share)| shares[customer * sites + site] += share);
        }
        let openings = self.open.iter().map(|&is_open| if is_open { 1.0 } else { 0.0 }).collect();
        Plan::new(instance, openings, shares)
    }

    fn price(&mut self, instance: &FacilityLocation) {
        let fixed = instance.sites().iter().zip(&self.open).filter(|(_, is_open)| **is_open);
        self.cost = fixed.map(|(site, _)| site.fixed_cost).sum();
        for (customer, served) in self.served.iter().enumerate() {
            self.cost += served.iter().map(|&(site, share)| share * instance.costs(site)[customer]).sum::<f64>();
        }
    }

    /// Serves a customer from the cheapest sites with room.
    fn serve(&mut self, instance: &FacilityLocation, sites: &[usize], customer: usize) -> Option<()> {
        let demand = instance.demands()[customer];
        let cost = |site: usize| instance.costs(site)[customer];
        let mut missing = 1.0;
        while missing > 0.0 {
            let roomy = |site: &&usize| demand == 0.0 || self.left[**site] > ROUND_OFF * demand;
            let best = sites.iter().filter(roomy).min_by(|one, other| cost(**one).total_cmp(&cost(**other)));
            let Some(&site) = best else {
                // The last round-off goes where the customer is served already.
                let total: f64 = self.served[customer].iter().map(|(_, share)| share).sum();
                self.served[customer].iter_mut().for_each(|(_, share)| *share /= total);
                return (missing <= ROUND_OFF * sites.len() as f64).then_some(());
            };
            let share = if demand > 0.0 { (self.left[site] / demand).min(missing) } else { missing };
            self.served[customer].push((site, share));
            self.left[site] = (self.left[site] - share * demand).max(0.0);
            missing -= share;
        }
        Some(())
    }

    /// Moves service along a cycle of negative cost; false if there is none.
    fn cancel_cycle(&mut self, instance: &FacilityLocation, sites: &[usize]) -> bool {
        let shifts = self.shifts(instance, sites);
        let largest = shifts.iter().filter(|shift| shift.rate.is_finite()).map(|shift| shift.rate.abs());
        let least = 1e-9 * largest.fold(0.0, f64::max);
        let Some(cycle) = negative_cycle(&shifts, sites.len() + 1, least) else { return false };
        self.shift_along(instance, sites, &shifts, &cycle)
    }

    /// The cheapest shifts by site, then site. The last site is none: to move there is to use the room of a site, and
    /// to move from there is to leave room in one.
    fn shifts(&self, instance: &FacilityLocation, sites: &[usize]) -> Vec<Shift> {
        let count = sites.len() + 1;
        let mut shifts = vec![NO_SHIFT; count * count];
        let mut places = vec![0; self.open.len()];
        for (place, &site) in sites.iter().enumerate() {
            places[site] = place;
            let has_room = self.left[site] > ROUND_OFF * instance.sites()[site].capacity.min(instance.total_demand());
            shifts[place * count + sites.len()].rate = if has_room { 0.0 } else { f64::INFINITY };
            shifts[sites.len() * count + place].rate = 0.0;
        }
        for (customer, served) in self.served.iter().enumerate() {
            let demand = instance.demands()[customer];
            if demand == 0.0 {
                continue;
            }
            for &(from, _) in served.iter().filter(|(_, share)| *share > ROUND_OFF) {
                let cost = instance.costs(from)[customer];
                for (place, &site) in sites.iter().enumerate().filter(|(_, site)| **site != from) {
                    let rate = (instance.costs(site)[customer] - cost) / demand;
                    let shift = &mut shifts[places[from] * count + place];
                    if rate < shift.rate {
                        *shift = Shift { rate, customer };
                    }
                }
            }
        }
        shifts
    }

    /// Shifts as much as possible along a cycle of places; false if that is nothing.
    fn shift_along(
        &mut self,
        instance: &FacilityLocation,
        sites: &[usize],
        shifts: &[Shift],
        cycle: &[(usize, usize)],
    ) -> bool {
        let (count, none) = (sites.len() + 1, sites.len());
        let share = |served: &[(usize, f64)], site: usize| {
            served.iter().filter(|(at, _)| *at == site).map(|(_, share)| share).sum::<f64>()
        };
        let mut amount = f64::INFINITY;
        for &(from, to) in cycle.iter().filter(|(from, _)| *from != none) {
            let customer = shifts[from * count + to].customer;
            amount = amount.min(if to == none {
                self.left[sites[from]]
            } else {
                share(&self.served[customer], sites[from]) * instance.demands()[customer]
            });
        }
        for &(from, to) in cycle {
            match (sites.get(from), sites.get(to)) {
                (Some(&from), None) => self.left[from] = (self.left[from] - amount).max(0.0),
                (None, Some(&to)) => self.left[to] += amount,
                (Some(&source), Some(&target)) => {
                    let customer = shifts[from * count + to].customer;
                    let moved = amount / instance.demands()[customer];
                    let served = &mut self.served[customer];
                    served.iter_mut().filter(|(at, _)| *at == source).for_each(|(_, share)| *share -= moved);
                    served.retain(|(_, share)| *share > ROUND_OFF);
                    match served.iter_mut().find(|(at, _)| *at == target) {
                        Some((_, share)) => *share += moved,
                        None => served.push((target, moved)),
                    }
                }
                (None, None) => {}
            }
        }
        amount > 0.0
    }
}

/// Customers by the loss for each unit of demand if their cheapest site is full, the greatest first.
fn order(instance: &FacilityLocation, sites: &[usize]) -> Vec<usize> {
    let loss = |customer: usize| {
        let (mut first, mut second) = (f64::INFINITY, f64::INFINITY);
        for cost in sites.iter().map(|&site| instance.costs(site)[customer]) {
            (first, second) = if cost < first { (cost, first) } else { (first, second.min(cost)) };
        }
        (second - first) / instance.demands()[customer]
    };
    let losses: Vec<f64> = (0..instance.customers()).map(loss).collect();
    let mut order: Vec<usize> = (0..instance.customers()).collect();
    order.sort_by(|&one, &other| losses[other].total_cmp(&losses[one]));
    order
}

/// The steps of a cycle whose rates add up to less than `-least`, by the method of Bellman and Ford.
fn negative_cycle(shifts: &[Shift], count: usize, least: f64) -> Option<Vec<(usize, usize)>> {
    let mut distances = vec![0.0_f64; count];
    let mut before = vec![usize::MAX; count];
    let mut last = None;
    for _ in 0..=count {
        last = None;
        for from in 0..count {
            for to in (0..count).filter(|&to| to != from) {
                let distance = distances[from] + shifts[from * count + to].rate;
                if distance < distances[to] - least {
                    distances[to] = distance;
                    before[to] = from;
                    last = Some(to);
                }
            }
        }
        last?;
    }
    // So many steps back lead into the cycle.
    let mut place = last?;
    for _ in 0..count {
        // Differences up to `least` may also end at a place without one before.
        place = *before.get(place)?;
    }
    before.get(place)?;
    let (start, mut cycle) = (place, vec![]);
    loop {
        cycle.push((before[place], place));
        place = before[place];
        if place == start {
            return Some(cycle);
        }
    }
}
