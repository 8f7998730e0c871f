//! Straightforward implementations of what the library does fast. Tests compare with them, benches measure against
//! them.

use bundlenet::Sense;
use bundlenet_problems::{Assignment, FacilityLocation, NetworkDesign};

/// `min cost'x` over `0 <= x <= limit`, `sum x <= capacity`, by sorting.
pub struct SortedKnapsack {
    order: Vec<usize>,
}

impl SortedKnapsack {
    pub fn new(items: usize) -> Self {
        Self { order: Vec::with_capacity(items) }
    }

    pub fn solve(&mut self, costs: &[f64], limits: &[f64], capacity: f64, amounts: &mut [f64]) -> f64 {
        self.order.clear();
        self.order.extend((0..costs.len()).filter(|&item| costs[item] < 0.0));
        self.order.sort_unstable_by(|&a, &b| costs[a].total_cmp(&costs[b]));
        amounts.fill(0.0);
        let (mut left, mut value) = (capacity, 0.0);
        for &item in &self.order {
            amounts[item] = limits[item].min(left);
            left -= amounts[item];
            value += costs[item] * amounts[item];
            if left <= 0.0 {
                break;
            }
        }
        value
    }
}

/// `max profit'x` over binary `x`, `weight'x <= capacity`, by a dynamic programming table over all items.
pub struct TableKnapsack {
    row: Vec<f64>,
    taken: Vec<bool>,
}

impl TableKnapsack {
    pub fn new(items: usize, capacity: usize) -> Self {
        Self { row: vec![0.0; capacity + 1], taken: vec![false; items * (capacity + 1)] }
    }

    pub fn solve(&mut self, profits: &[f64], weights: &[u32], capacity: usize, chosen: &mut Vec<usize>) -> f64 {
        let columns = capacity + 1;
        self.row[..columns].fill(0.0);
        self.taken[..profits.len() * columns].fill(false);
        for (item, (&profit, &weight)) in profits.iter().zip(weights).enumerate() {
            if profit <= 0.0 {
                continue;
            }
            for room in (weight as usize..columns).rev() {
                let with = self.row[room - weight as usize] + profit;
                if with > self.row[room] {
                    self.row[room] = with;
                    self.taken[item * columns + room] = true;
                }
            }
        }
        chosen.clear();
        let mut room = capacity;
        for item in (0..profits.len()).rev() {
            if self.taken[item * columns + room] {
                chosen.push(item);
                room -= weights[item] as usize;
            }
        }
        self.row[capacity]
    }
}

/// The dual of network design, arc by arc.
pub struct PlainNetworkDesignDual {
    instance: NetworkDesign,
    usable: Vec<Vec<usize>>,
    knapsack: SortedKnapsack,
    costs: Vec<f64>,
    limits: Vec<f64>,
    amounts: Vec<f64>,
}

impl PlainNetworkDesignDual {
    pub fn new(instance: &NetworkDesign) -> Self {
        let count = instance.commodities().len();
        Self {
            usable: (0..instance.arcs().len())
                .map(|arc| (0..count).filter(|&k| instance.is_usable(arc, k)).collect())
                .collect(),
            instance: instance.clone(),
            knapsack: SortedKnapsack::new(count),
            costs: Vec::with_capacity(count),
            limits: Vec::with_capacity(count),
            amounts: Vec::with_capacity(count),
        }
    }

    pub fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> f64 {
        let nodes = self.instance.nodes();
        let mut value = 0.0;
        subgradient.fill(0.0);
        for (k, commodity) in self.instance.commodities().iter().enumerate() {
            value +=
                commodity.demand * (point[k * nodes + commodity.origin] - point[k * nodes + commodity.destination]);
            subgradient[k * nodes + commodity.origin] += commodity.demand;
            subgradient[k * nodes + commodity.destination] -= commodity.demand;
        }
        for (index, arc) in self.instance.arcs().iter().enumerate() {
            let routing = self.instance.routing_costs(index);
            let usable = &self.usable[index];
            self.costs.clear();
            self.costs
                .extend(usable.iter().map(|&k| routing[k] - point[k * nodes + arc.tail] + point[k * nodes + arc.head]));
            self.limits.clear();
            self.limits.extend(usable.iter().map(|&k| self.instance.commodities()[k].demand));
            self.amounts.resize(usable.len(), 0.0);
            let gain = self.knapsack.solve(&self.costs, &self.limits, arc.capacity, &mut self.amounts);
            if arc.fixed_cost + gain < 0.0 {
                value += arc.fixed_cost + gain;
                for (&k, &amount) in usable.iter().zip(&self.amounts) {
                    subgradient[k * nodes + arc.tail] -= amount;
                    subgradient[k * nodes + arc.head] += amount;
                }
            }
        }
        value
    }
}

/// The dual of generalised assignment, bin by bin.
pub struct PlainAssignmentDual {
    instance: Assignment,
    knapsack: TableKnapsack,
    profits: Vec<f64>,
    chosen: Vec<usize>,
}

impl PlainAssignmentDual {
    pub fn new(instance: &Assignment) -> Self {
        let capacity = *instance.capacities().iter().max().unwrap() as usize;
        Self {
            knapsack: TableKnapsack::new(instance.items(), capacity),
            profits: vec![0.0; instance.items()],
            chosen: Vec::with_capacity(instance.items()),
            instance: instance.clone(),
        }
    }

    pub fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> f64 {
        let sign = if self.instance.sense() == Sense::Maximize { 1.0 } else { -1.0 };
        let mut value: f64 = point.iter().sum();
        subgradient.fill(1.0);
        for bin in 0..self.instance.bins() {
            for (item, profit) in self.profits.iter_mut().enumerate() {
                *profit = sign * (self.instance.profits(bin)[item] - point[item]);
            }
            let capacity = self.instance.capacities()[bin] as usize;
            value += sign * self.knapsack.solve(&self.profits, self.instance.weights(bin), capacity, &mut self.chosen);
            self.chosen.iter().for_each(|&item| subgradient[item] -= 1.0);
        }
        value
    }
}

/// The dual of facility location, site by site.
pub struct PlainFacilityLocationDual {
    instance: FacilityLocation,
    order: Vec<usize>,
    shares: Vec<f64>,
}

impl PlainFacilityLocationDual {
    pub fn new(instance: &FacilityLocation) -> Self {
        let customers = instance.customers();
        Self { instance: instance.clone(), order: Vec::with_capacity(customers), shares: vec![0.0; customers] }
    }

    pub fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> f64 {
        let mut value: f64 = point.iter().sum();
        subgradient.fill(1.0);
        for (index, site) in self.instance.sites().iter().enumerate() {
            let (costs, demands) = (self.instance.costs(index), self.instance.demands());
            let reduced = |customer: usize| costs[customer] - point[customer];
            let key = |customer: usize| reduced(customer) / demands[customer];
            self.order.clear();
            self.order.extend((0..point.len()).filter(|&customer| reduced(customer) < 0.0));
            self.order.sort_unstable_by(|&one, &other| key(one).total_cmp(&key(other)));
            self.shares.fill(0.0);
            let (mut left, mut total) = (site.capacity, site.fixed_cost);
            for &customer in &self.order {
                // A customer without demand comes first and takes nothing.
                let share = if demands[customer] > 0.0 { (left / demands[customer]).min(1.0) } else { 1.0 };
                self.shares[customer] = share;
                left = (left - share * demands[customer]).max(0.0);
                total += share * reduced(customer);
            }
            if total < 0.0 {
                value += total;
                subgradient.iter_mut().zip(&self.shares).for_each(|(entry, share)| *entry -= share);
            }
        }
        value
    }
}
