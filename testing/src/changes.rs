//! Changes of the data of an instance, for warm starts.

use bundlenet_problems::facility_location::Site;
use bundlenet_problems::network_design::{Arc, Commodity};
use bundlenet_problems::{Assignment, FacilityLocation, NetworkDesign, Problem, UnitCommitment};

use crate::sums::Stream;

/// Changes a share of the arcs, bins or sites, at least one, in several ways.
#[must_use]
pub fn changed(problem: &Problem, share: f64, stream: &mut Stream) -> Problem {
    match problem {
        Problem::NetworkDesign(instance) => {
            let mut arcs: Vec<Arc> = instance.arcs().to_vec();
            let mut commodities: Vec<Commodity> = instance.commodities().to_vec();
            let mut costs: Vec<f64> = (0..arcs.len()).flat_map(|arc| instance.routing_costs(arc).to_vec()).collect();
            let count = ((share * arcs.len() as f64).round() as usize).max(1);
            for _ in 0..count {
                let arc = stream.below(arcs.len());
                match stream.below(5) {
                    // The arc is free, it is too expensive to open, or its capacity or one of its costs changes.
                    0 => arcs[arc].fixed_cost = 0.0,
                    1 => arcs[arc].fixed_cost = 1e7,
                    2 => arcs[arc].capacity *= 0.7,
                    3 => arcs[arc].capacity *= 1.4,
                    _ => costs[arc * commodities.len() + stream.below(commodities.len())] *= 1.5,
                }
            }
            if stream.below(4) == 0 {
                commodities[0].demand *= 0.9;
            }
            let nodes = instance.nodes();
            Problem::NetworkDesign(NetworkDesign::new(nodes, arcs, commodities, costs).unwrap())
        }
        Problem::Assignment(instance) => {
            let (bins, items) = (instance.bins(), instance.items());
            let mut capacities = instance.capacities().to_vec();
            let mut profits: Vec<f64> = (0..bins).flat_map(|bin| instance.profits(bin).to_vec()).collect();
            let mut weights: Vec<u32> = (0..bins).flat_map(|bin| instance.weights(bin).to_vec()).collect();
            for _ in 0..((share * bins as f64).round() as usize).max(1) {
                let (bin, item) = (stream.below(bins), stream.below(items));
                match stream.below(4) {
                    // The bin cannot take an item, the profit of an item changes, or the capacity of the bin does.
                    0 => weights[bin * items + item] = capacities[bin] + 1,
                    1 => profits[bin * items + item] += 10.0 * stream.normal().round(),
                    2 => capacities[bin] -= capacities[bin] / 20,
                    _ => capacities[bin] += 5,
                }
            }
            Problem::Assignment(Assignment::new(instance.sense(), items, capacities, profits, weights).unwrap())
        }
        Problem::FacilityLocation(instance) => {
            let customers = instance.customers();
            let mut sites: Vec<Site> = instance.sites().to_vec();
            let mut costs: Vec<f64> = (0..sites.len()).flat_map(|site| instance.costs(site).to_vec()).collect();
            for _ in 0..((share * sites.len() as f64).round() as usize).max(1) {
                let site = stream.below(sites.len());
                match stream.below(4) {
                    0 => sites[site].fixed_cost *= 1.5,
                    1 => sites[site].capacity *= 0.9,
                    2 => sites[site].capacity *= 1.2,
                    _ => costs[site * customers + stream.below(customers)] *= 0.5,
                }
            }
            Problem::FacilityLocation(FacilityLocation::new(sites, instance.demands().to_vec(), costs).unwrap())
        }
        Problem::UnitCommitment(instance) => {
            let mut units = instance.thermal_units().to_vec();
            for _ in 0..((share * units.len() as f64).round() as usize).max(1) {
                let unit = stream.below(units.len());
                let unit = &mut units[unit];
                match stream.below(3) {
                    0 => unit.startup.iter_mut().for_each(|category| category.cost *= 1.5),
                    1 => unit.production.iter_mut().for_each(|point| point.cost *= 0.9),
                    _ => unit.ramp_up *= 1.2,
                }
            }
            let (demand, reserves) = (instance.demand().to_vec(), instance.reserves().to_vec());
            let (formulation, renewable) = (Some(instance.formulation()), instance.renewable_units().to_vec());
            Problem::UnitCommitment(UnitCommitment::new(formulation, demand, reserves, units, renewable).unwrap())
        }
    }
}
