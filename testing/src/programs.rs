//! The linear programs whose optima are those of the Lagrangian duals.

use bundlenet::Sense;
use bundlenet_problems::{Assignment, FacilityLocation, NetworkDesign};
use microlp::{ComparisonOp, OptimizationDirection, Solution, SolveOutcome, Variable};

use crate::reference::TableKnapsack;

fn solved(outcome: Result<SolveOutcome, microlp::Error>) -> Solution {
    match outcome.unwrap() {
        SolveOutcome::Solution(solution) => solution,
        SolveOutcome::Interrupted(_) => panic!("there is no limit to interrupt it"),
    }
}

/// The dual of the strong LP, whose variables are the multipliers and the prices of the other constraints.
pub fn strong_lp(instance: &NetworkDesign) -> (f64, Vec<f64>) {
    let nodes = instance.nodes();
    let mut lp = microlp::Problem::new(OptimizationDirection::Maximize);
    let mut multipliers = vec![];
    for commodity in instance.commodities() {
        for node in 0..nodes {
            let supply = match node {
                _ if node == commodity.origin => commodity.demand,
                _ if node == commodity.destination => -commodity.demand,
                _ => 0.0,
            };
            // Only differences matter: the destination's may be 0.
            let limit = if node == commodity.destination { 0.0 } else { f64::INFINITY };
            multipliers.push(lp.add_var(supply, (-limit, limit)));
        }
    }
    for (index, arc) in instance.arcs().iter().enumerate() {
        let capacity_price = lp.add_var(0.0, (0.0, f64::INFINITY));
        let mut design = vec![(capacity_price, arc.capacity), (lp.add_var(-1.0, (0.0, f64::INFINITY)), -1.0)];
        for (k, commodity) in instance.commodities().iter().enumerate() {
            if instance.is_usable(index, k) {
                let price = lp.add_var(0.0, (0.0, f64::INFINITY));
                design.push((price, commodity.demand.min(arc.capacity)));
                let mut flow = vec![(capacity_price, -1.0), (price, -1.0)];
                if arc.tail != arc.head {
                    flow.extend([(multipliers[k * nodes + arc.tail], 1.0), (multipliers[k * nodes + arc.head], -1.0)]);
                }
                lp.add_constraint(flow, ComparisonOp::Le, instance.routing_costs(index)[k]);
            }
        }
        lp.add_constraint(design, ComparisonOp::Le, arc.fixed_cost);
    }
    let solution = solved(lp.solve());
    (solution.objective(), multipliers.iter().map(|&variable| solution[variable]).collect())
}

/// The Dantzig-Wolfe master's dual, by adding patterns until none is missing.
pub fn pattern_lp(instance: &Assignment) -> (f64, Vec<f64>) {
    let maximize = instance.sense() == Sense::Maximize;
    let sign = if maximize { 1.0 } else { -1.0 };
    let (items, bins) = (instance.items(), instance.bins());
    // Beyond the largest profit (or cost) no item is taken (or all are), so that the optimum lies within.
    let largest = (0..bins).flat_map(|bin| instance.profits(bin)).fold(0.0_f64, |a, &b| a.max(b));
    let limit = largest * items as f64;
    let direction = if maximize { OptimizationDirection::Minimize } else { OptimizationDirection::Maximize };
    let mut lp = microlp::Problem::new(direction);
    let multipliers: Vec<Variable> =
        (0..items).map(|_| lp.add_var(1.0, (if maximize { 0.0 } else { -limit }, limit))).collect();
    let worth: Vec<Variable> = (0..bins)
        .map(|_| lp.add_var(1.0, if maximize { (0.0, f64::INFINITY) } else { (f64::NEG_INFINITY, 0.0) }))
        .collect();
    let mut solution = solved(lp.solve());
    let capacity = *instance.capacities().iter().max().unwrap() as usize;
    let mut knapsack = TableKnapsack::new(items, capacity);
    let mut chosen = vec![];
    loop {
        let point: Vec<f64> = multipliers.iter().map(|&variable| solution[variable]).collect();
        let mut complete = true;
        for bin in 0..bins {
            let profits: Vec<f64> = instance.profits(bin).iter().zip(&point).map(|(p, pi)| sign * (p - pi)).collect();
            let best =
                knapsack.solve(&profits, instance.weights(bin), instance.capacities()[bin] as usize, &mut chosen);
            if best > sign * solution[worth[bin]] + 1e-9 {
                complete = false;
                let profit: f64 = chosen.iter().map(|&item| instance.profits(bin)[item]).sum();
                let mut row: Vec<(Variable, f64)> = chosen.iter().map(|&item| (multipliers[item], 1.0)).collect();
                row.push((worth[bin], 1.0));
                let operator = if maximize { ComparisonOp::Ge } else { ComparisonOp::Le };
                solution = solved(solution.add_constraint(row, operator, profit));
            }
        }
        if complete {
            return (solution.objective(), point);
        }
    }
}

pub(crate) fn feasible(outcome: Result<SolveOutcome, microlp::Error>) -> Option<Solution> {
    match outcome {
        Err(microlp::Error::Infeasible) => None,
        outcome => Some(solved(outcome)),
    }
}

/// Optimum and flows, by arc, then commodity, of the strong LP; `None` if it has no solution.
pub fn strong_lp_flows(instance: &NetworkDesign) -> Option<(f64, Vec<f64>)> {
    let nodes = instance.nodes();
    let mut lp = microlp::Problem::new(OptimizationDirection::Minimize);
    let mut conservation = vec![vec![]; instance.dual_dim()];
    let mut flows = vec![];
    for (index, arc) in instance.arcs().iter().enumerate() {
        let design = lp.add_var(arc.fixed_cost, (0.0, 1.0));
        let mut load = vec![(design, -arc.capacity)];
        for (k, commodity) in instance.commodities().iter().enumerate() {
            let most = if instance.is_usable(index, k) { commodity.demand.min(arc.capacity) } else { 0.0 };
            let flow = lp.add_var(instance.routing_costs(index)[k], (0.0, most));
            flows.push(flow);
            load.push((flow, 1.0));
            lp.add_constraint([(flow, 1.0), (design, -most)], ComparisonOp::Le, 0.0);
            if arc.tail != arc.head {
                conservation[k * nodes + arc.tail].push((flow, 1.0));
                conservation[k * nodes + arc.head].push((flow, -1.0));
            }
        }
        lp.add_constraint(load, ComparisonOp::Le, 0.0);
    }
    for (at, row) in conservation.into_iter().enumerate() {
        let commodity = &instance.commodities()[at / nodes];
        let supply = match at % nodes {
            node if node == commodity.origin => commodity.demand,
            node if node == commodity.destination => -commodity.demand,
            _ => 0.0,
        };
        if row.is_empty() {
            if supply != 0.0 {
                return None;
            }
        } else {
            lp.add_constraint(row, ComparisonOp::Eq, supply);
        }
    }
    let solution = feasible(lp.solve())?;
    Some((solution.objective(), flows.iter().map(|&flow| solution[flow]).collect()))
}

/// Optimum and shares, by bin, then item, of the LP over all knapsack patterns of a small instance; `None` if it has
/// no solution.
pub fn pattern_lp_shares(instance: &Assignment) -> Option<(f64, Vec<f64>)> {
    let maximize = instance.sense() == Sense::Maximize;
    let direction = if maximize { OptimizationDirection::Maximize } else { OptimizationDirection::Minimize };
    let mut lp = microlp::Problem::new(direction);
    let (items, bins) = (instance.items(), instance.bins());
    let mut assigned = vec![vec![]; items];
    let mut patterns = vec![];
    for bin in 0..bins {
        let chosen = |pattern: u32| (0..items).filter(move |item| pattern >> item & 1 == 1);
        let mut used = vec![];
        for pattern in 0..1_u32 << items {
            let weight: u32 = chosen(pattern).map(|item| instance.weights(bin)[item]).sum();
            if weight <= instance.capacities()[bin] {
                let profit: f64 = chosen(pattern).map(|item| instance.profits(bin)[item]).sum();
                let part = lp.add_var(profit, (0.0, 1.0));
                used.push((part, 1.0));
                chosen(pattern).for_each(|item| assigned[item].push((part, 1.0)));
                patterns.push((bin, pattern, part));
            }
        }
        lp.add_constraint(used, ComparisonOp::Eq, 1.0);
    }
    for row in assigned {
        match (row.is_empty(), maximize) {
            (true, true) => {}
            (true, false) => return None,
            (false, _) => {
                lp.add_constraint(row, if maximize { ComparisonOp::Le } else { ComparisonOp::Eq }, 1.0);
            }
        }
    }
    let solution = feasible(lp.solve())?;
    let mut shares = vec![0.0; items * bins];
    for (bin, pattern, part) in patterns {
        (0..items)
            .filter(|item| pattern >> item & 1 == 1)
            .for_each(|item| shares[bin * items + item] += solution[part]);
    }
    Some((solution.objective(), shares))
}

/// Optimum and shares, by site, then customer, of the strong LP of facility location; `None` if it has no
/// solution.
pub fn location_lp(instance: &FacilityLocation) -> Option<(f64, Vec<f64>)> {
    let mut lp = microlp::Problem::new(OptimizationDirection::Minimize);
    let customers = instance.customers();
    let total = instance.total_demand();
    let mut served = vec![vec![]; customers];
    let mut shares = vec![];
    for (index, site) in instance.sites().iter().enumerate() {
        let opening = lp.add_var(site.fixed_cost, (0.0, 1.0));
        let mut load = vec![(opening, -site.capacity.min(total))];
        for (customer, row) in served.iter_mut().enumerate() {
            let share = lp.add_var(instance.costs(index)[customer], (0.0, 1.0));
            shares.push(share);
            row.push((share, 1.0));
            load.push((share, instance.demands()[customer]));
            lp.add_constraint([(share, 1.0), (opening, -1.0)], ComparisonOp::Le, 0.0);
        }
        lp.add_constraint(load, ComparisonOp::Le, 0.0);
    }
    for row in served {
        lp.add_constraint(row, ComparisonOp::Eq, 1.0);
    }
    let solution = feasible(lp.solve())?;
    Some((solution.objective(), shares.iter().map(|&share| solution[share]).collect()))
}

/// Optimum and multipliers of the dual of the strong LP of facility location.
pub fn location_dual_lp(instance: &FacilityLocation) -> (f64, Vec<f64>) {
    let mut lp = microlp::Problem::new(OptimizationDirection::Maximize);
    let customers = instance.customers();
    let total = instance.total_demand();
    let multipliers: Vec<Variable> =
        (0..customers).map(|_| lp.add_var(1.0, (f64::NEG_INFINITY, f64::INFINITY))).collect();
    for (index, site) in instance.sites().iter().enumerate() {
        let price = lp.add_var(0.0, (0.0, f64::INFINITY));
        let mut opening = vec![(price, site.capacity.min(total)), (lp.add_var(-1.0, (0.0, f64::INFINITY)), -1.0)];
        for (customer, &multiplier) in multipliers.iter().enumerate() {
            let rent = lp.add_var(0.0, (0.0, f64::INFINITY));
            opening.push((rent, 1.0));
            let row = [(multiplier, 1.0), (price, -instance.demands()[customer]), (rent, -1.0)];
            lp.add_constraint(row, ComparisonOp::Le, instance.costs(index)[customer]);
        }
        lp.add_constraint(opening, ComparisonOp::Le, site.fixed_cost);
    }
    let solution = solved(lp.solve());
    (solution.objective(), multipliers.iter().map(|&variable| solution[variable]).collect())
}
