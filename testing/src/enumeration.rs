//! Optima of tiny instances, by enumeration.

use bundlenet::Sense;
use bundlenet_problems::facility_location::Site;
use bundlenet_problems::{Assignment, FacilityLocation, NetworkDesign};

use crate::programs::location_lp;

/// The value of the best assignment, if there is one.
pub fn best_assignment(instance: &Assignment) -> Option<f64> {
    let (bins, items) = (instance.bins(), instance.items());
    // Each item goes into one of the bins, or nowhere where that is allowed.
    let places = if instance.sense() == Sense::Maximize { bins + 1 } else { bins };
    (0..places.pow(items as u32))
        .filter_map(|code| {
            let place = |item: usize| code / places.pow(item as u32) % places;
            let fits = (0..bins).all(|bin| {
                let inside = (0..items).filter(|&item| place(item) == bin);
                inside.map(|item| instance.weights(bin)[item]).sum::<u32>() <= instance.capacities()[bin]
            });
            let placed = (0..items).filter(|&item| place(item) < bins);
            fits.then(|| placed.map(|item| instance.profits(place(item))[item]).sum())
        })
        .reduce(if instance.sense() == Sense::Maximize { f64::max } else { f64::min })
}

/// The cheapest design of a tiny network, by trying all sets of open arcs and all ways to send each unit along paths.
pub fn cheapest_design(instance: &NetworkDesign) -> Option<f64> {
    let arcs = instance.arcs().len();
    (0..1_usize << arcs)
        .filter_map(|open| {
            let fixed: f64 =
                (0..arcs).filter(|arc| open >> arc & 1 == 1).map(|arc| instance.arcs()[arc].fixed_cost).sum();
            let mut left: Vec<f64> = instance.arcs().iter().map(|arc| arc.capacity).collect();
            route(instance, open, &mut left, 0, instance.commodities()[0].demand).map(|routing| fixed + routing)
        })
        .reduce(f64::min)
}

/// The least cost of routing the remaining `demand` of commodity `k` and all later commodities, unit by unit.
fn route(instance: &NetworkDesign, open: usize, left: &mut Vec<f64>, k: usize, demand: f64) -> Option<f64> {
    if demand <= 0.0 {
        return match instance.commodities().get(k + 1) {
            None => Some(0.0),
            Some(next) => route(instance, open, left, k + 1, next.demand),
        };
    }
    let mut best = None::<f64>;
    for path in paths(instance, open, k) {
        if path.iter().all(|&arc| left[arc] >= 1.0) {
            path.iter().for_each(|&arc| left[arc] -= 1.0);
            let cost: f64 = path.iter().map(|&arc| instance.routing_costs(arc)[k]).sum();
            if let Some(rest) = route(instance, open, left, k, demand - 1.0) {
                best = Some(best.map_or(cost + rest, |best| best.min(cost + rest)));
            }
            path.iter().for_each(|&arc| left[arc] += 1.0);
        }
    }
    best
}

/// All simple paths of a commodity over open arcs.
fn paths(instance: &NetworkDesign, open: usize, k: usize) -> Vec<Vec<usize>> {
    fn extend(
        instance: &NetworkDesign,
        open: usize,
        goal: usize,
        nodes: &mut Vec<usize>,
        path: &mut Vec<usize>,
        all: &mut Vec<Vec<usize>>,
    ) {
        let at = nodes[nodes.len() - 1];
        if at == goal {
            all.push(path.clone());
            return;
        }
        for (index, arc) in instance.arcs().iter().enumerate() {
            if open >> index & 1 == 1 && arc.tail == at && !nodes.contains(&arc.head) {
                nodes.push(arc.head);
                path.push(index);
                extend(instance, open, goal, nodes, path, all);
                path.pop();
                nodes.pop();
            }
        }
    }
    let commodity = &instance.commodities()[k];
    let mut all = vec![];
    extend(instance, open, commodity.destination, &mut vec![commodity.origin], &mut vec![], &mut all);
    all
}

/// The cheapest plan of tiny facility location, by trying all sets of open sites. A linear program serves the customers
/// from each.
pub fn cheapest_plan(instance: &FacilityLocation) -> Option<f64> {
    let (sites, customers) = (instance.sites().len(), instance.customers());
    (1..1_usize << sites)
        .filter_map(|set| {
            let open = || (0..sites).filter(|site| set >> site & 1 == 1);
            let fixed: f64 = open().map(|site| instance.sites()[site].fixed_cost).sum();
            let free = |site: usize| Site { fixed_cost: 0.0, ..instance.sites()[site] };
            let costs: Vec<f64> = open().flat_map(|site| instance.costs(site)).copied().collect();
            debug_assert_eq!(costs.len(), open().count() * customers);
            let rest = FacilityLocation::new(open().map(free).collect(), instance.demands().to_vec(), costs).unwrap();
            location_lp(&rest).map(|(service, _)| fixed + service)
        })
        .reduce(f64::min)
}
