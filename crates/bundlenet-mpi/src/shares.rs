//! Which rank evaluates which component, balanced by measured times.

/// Part of the best balance by which the slowest rank may exceed it before components move.
const TOLERANCE: f64 = 0.02;

/// Most calls between two looks at the balance. The pause doubles while nothing moves.
const LONGEST_PAUSE: usize = 64;

/// Calls before a look at the balance whose times are measured. To take the time of each component costs time, too.
const MEASURED: usize = 3;

/// Time of a look at the balance for each component, in seconds; measured once. A look that takes less than `CHEAP` of
/// a call is taken after each.
const LOOK: f64 = 1e-7;
const CHEAP: f64 = 0.01;

/// Weight of the last measurement in the mean time of a component.
const RECENT: f64 = 0.3;

/// The shares of all ranks.
#[derive(Clone, Debug)]
pub(crate) struct Shares {
    /// Rank of each component.
    owners: Vec<u32>,
    /// Mean time of each component in seconds. Empty before the first call.
    seconds: Vec<f64>,
    ranks: usize,
    /// Whether components stay where they are.
    is_fixed: bool,
    /// Calls until the next look at the balance, and after that.
    wait: usize,
    pause: usize,
}

impl Shares {
    /// Components in turn: neighbours often cost the same.
    pub(crate) fn new(components: usize, ranks: usize, is_fixed: bool) -> Self {
        let owners = (0..components).map(|component| (component % ranks) as u32).collect();
        Self { owners, seconds: vec![], ranks, is_fixed, wait: 0, pause: 1 }
    }

    pub(crate) fn owners(&self) -> &[u32] {
        &self.owners
    }

    pub(crate) fn set_owners(&mut self, owners: &[u32]) {
        self.owners.copy_from_slice(owners);
    }

    /// Whether the next call should measure times.
    pub(crate) fn is_measured(&self) -> bool {
        self.can_move() && self.wait < MEASURED
    }

    fn can_move(&self) -> bool {
        !self.is_fixed && self.ranks > 1
    }

    /// Takes note of the time of a component.
    pub(crate) fn measure(&mut self, component: usize, seconds: f64) {
        if self.seconds.is_empty() {
            self.seconds = vec![0.0; self.owners.len()];
        }
        let mean = &mut self.seconds[component];
        *mean = if *mean == 0.0 { seconds } else { (1.0 - RECENT) * *mean + RECENT * seconds };
    }

    /// Moves components if the slowest rank would gain by it. Returns where they were, if any moved.
    pub(crate) fn balance(&mut self) -> Option<Vec<u32>> {
        if !self.can_move() || self.seconds.is_empty() {
            return None;
        }
        if self.wait > 0 {
            self.wait -= 1;
            return None;
        }
        let better = longest_first(&self.seconds, self.ranks);
        let slowest = self.slowest(&self.owners);
        let moves = slowest > (1.0 + TOLERANCE) * self.slowest(&better);
        let is_cheap = LOOK * self.owners.len() as f64 <= CHEAP * slowest;
        self.pause = if moves || is_cheap { 1 } else { (2 * self.pause).min(LONGEST_PAUSE) };
        self.wait = self.pause - 1;
        moves.then(|| std::mem::replace(&mut self.owners, better))
    }

    /// Time of the slowest rank.
    fn slowest(&self, owners: &[u32]) -> f64 {
        let mut loads = vec![0.0; self.ranks];
        owners.iter().zip(&self.seconds).for_each(|(&owner, seconds)| loads[owner as usize] += seconds);
        loads.into_iter().fold(0.0, f64::max)
    }
}

/// Each component, the longest first, goes to the rank with the least load: at most 4/3 of the best balance.
fn longest_first(seconds: &[f64], ranks: usize) -> Vec<u32> {
    let mut order: Vec<usize> = (0..seconds.len()).collect();
    order.sort_by(|&a, &b| seconds[b].total_cmp(&seconds[a]));
    let mut loads: std::collections::BinaryHeap<_> =
        (0..ranks as u32).map(|rank| std::cmp::Reverse((0, rank))).collect();
    let mut owners = vec![0; seconds.len()];
    for component in order {
        if let Some(std::cmp::Reverse((load, rank))) = loads.pop() {
            owners[component] = rank;
            // Nanoseconds have an order; numbers with a point have none.
            let nanoseconds = (1e9 * seconds[component]) as u64;
            loads.push(std::cmp::Reverse((load + nanoseconds, rank)));
        }
    }
    owners
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unequal_components_are_balanced() {
        let mut shares = Shares::new(9, 2, false);
        assert!(shares.balance().is_none());
        // All long ones are on rank 0.
        (0..9).for_each(|component| shares.measure(component, if component % 2 == 0 { 1.0 } else { 0.25 }));
        let before = shares.slowest(shares.owners());
        assert!(before == 5.0 && shares.balance().is_some());
        assert!(shares.slowest(shares.owners()) <= 3.25, "{shares:?}");
        assert!(shares.balance().is_none());
    }

    /// Cheap calls are measured shortly before a look at the balance, dear ones always.
    #[test]
    fn looks_are_rare_if_calls_are_cheap() {
        for (seconds, expected) in [(1e-6, 6 * MEASURED), (1.0, 200)] {
            let mut shares = Shares::new(100, 2, false);
            let mut measured = 0;
            for _ in 0..200 {
                if shares.is_measured() {
                    measured += 1;
                    (0..100).for_each(|component| shares.measure(component, seconds));
                }
                assert!(shares.balance().is_none());
            }
            assert!(measured == expected || (seconds < 1.0 && measured < expected + 4), "{measured}");
        }
    }

    #[test]
    fn components_in_one_place_stay() {
        let mut shares = Shares::new(4, 2, true);
        (0..4).for_each(|component| shares.measure(component, [9.0, 1.0, 9.0, 1.0][component]));
        assert!(shares.balance().is_none() && shares.owners() == [0, 1, 0, 1] && !shares.is_measured());
    }

    #[test]
    fn times_are_means() {
        let mut shares = Shares::new(1, 1, false);
        shares.measure(0, 1.0);
        shares.measure(0, 2.0);
        assert!((shares.seconds[0] - 1.3).abs() < 1e-12);
    }
}
