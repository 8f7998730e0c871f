//! Feasible plans from the openings of a solution of the relaxation.
//!
//! Sites are ranked by their openings. Sets of the first few of them are tried, each with its cheapest transport. Then
//! single sites are opened or closed as long as that pays.

use super::transport::Transport;
use super::{FacilityLocation, Plan};

/// Most sets of open sites in the ranking.
const SETS: usize = 12;

/// Most sites times customers, over all passes of all transports: about a second of work.
const MOST_CELLS: usize = 100_000_000;

/// A feasible plan close to the given openings, if the capacities suffice.
pub(super) fn find(instance: &FacilityLocation, openings: &[f64]) -> Option<Plan> {
    let mut search = Search::new(instance);
    let sites = openings.len();
    let mut ranking: Vec<usize> = (0..sites).collect();
    ranking.sort_by(|&one, &other| openings[other].total_cmp(&openings[one]));
    // From the sites that are more than half open, one by one to all that are open at all; then all.
    let half = openings.iter().filter(|opening| **opening > 0.5).count();
    let some = openings.iter().filter(|opening| **opening > 1e-6).count();
    let step = some.saturating_sub(half).div_ceil(SETS).max(1);
    for count in (half..=some).step_by(step).chain([sites]) {
        let mut set = vec![false; sites];
        ranking[..count].iter().for_each(|&site| set[site] = true);
        search.extend(&ranking, &mut set);
        search.attempt(&set);
    }
    search.improve();
    search.best.map(|best| best.plan(instance))
}

/// The best set of open sites so far.
struct Search<'a> {
    instance: &'a FacilityLocation,
    best: Option<Transport>,
    left: usize,
}

impl<'a> Search<'a> {
    fn new(instance: &'a FacilityLocation) -> Self {
        Self { instance, best: None, left: MOST_CELLS / (instance.sites().len() * instance.customers()) }
    }

    /// Opens sites in the order of the ranking until the capacities suffice. A site with a negative fixed cost is
    /// always open, and one site is.
    fn extend(&self, ranking: &[usize], set: &mut [bool]) {
        let sites = self.instance.sites();
        set.iter_mut().zip(sites).for_each(|(is_open, site)| *is_open |= site.fixed_cost < 0.0);
        for &site in ranking {
            let capacity: f64 = (0..sites.len()).filter(|&at| set[at]).map(|at| sites[at].capacity).sum();
            if capacity >= self.instance.total_demand() && set.contains(&true) {
                break;
            }
            set[site] = true;
        }
    }

    /// Takes a set if it is better than the best so far.
    fn attempt(&mut self, set: &[bool]) -> bool {
        self.left = self.left.saturating_sub(1);
        let Some(found) = Transport::solve(self.instance, set) else { return false };
        self.left = self.left.saturating_sub(found.rounds());
        let is_better = self.best.as_ref().is_none_or(|best| found.cost() < best.cost() - 1e-9 * best.cost().abs());
        if is_better {
            self.best = Some(found);
        }
        is_better
    }

    /// Opens, closes and exchanges sites as long as that pays.
    fn improve(&mut self) {
        let sites = self.instance.sites().len();
        let mut is_better = true;
        while is_better {
            is_better = false;
            let singles = (0..sites).map(|site| (site, site));
            let pairs = (0..sites).flat_map(|one| (0..one).map(move |other| (one, other)));
            for (one, other) in singles.chain(pairs) {
                let Some(best) = &self.best else { return };
                let mut set = best.open().to_vec();
                // A pair is exchanged, a single site opened or closed.
                if one != other && set[one] == set[other] {
                    continue;
                }
                set[one] = !set[one];
                if one != other {
                    set[other] = !set[other];
                }
                if self.left == 0 {
                    return;
                }
                is_better |= self.attempt(&set);
            }
        }
    }
}
