//! Which rank evaluates which component, balanced by measured times.

/// Part of the best balance by which the slowest rank may exceed it before components move.
const TOLERANCE: f64 = 0.02;

/// Most calls between two looks at the balance. The pause doubles while nothing moves.
const LONGEST_PAUSE: usize = 64;

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

    /// Takes note of the time of a component.
    pub(crate) fn measure(&mut self, component: usize, seconds: f64) {
        if self.seconds.is_empty() {
            self.seconds = vec![0.0; self.owners.len()];
        }
        let mean = &mut self.seconds[component];
        *mean = if *mean == 0.0 { seconds } else { (1.0 - RECENT) * *mean + RECENT * seconds };
    }

    /// Moves components if the slowest rank would gain by it. Returns whether any moved.
    pub(crate) fn balance(&mut self) -> bool {
        if self.is_fixed || self.seconds.is_empty() || self.ranks == 1 {
            return false;
        }
        if self.wait > 0 {
            self.wait -= 1;
            return false;
        }
        let better = longest_first(&self.seconds, self.ranks);
        let moves = self.slowest(&self.owners) > (1.0 + TOLERANCE) * self.slowest(&better);
        self.pause = if moves { 1 } else { (2 * self.pause).min(LONGEST_PAUSE) };
        self.wait = self.pause - 1;
        if moves {
            self.owners = better;
        }
        moves
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
        assert!(!shares.balance());
        // All long ones are on rank 0.
        (0..9).for_each(|component| shares.measure(component, if component % 2 == 0 { 1.0 } else { 0.25 }));
        let before = shares.slowest(shares.owners());
        assert!(before == 5.0 && shares.balance());
        assert!(shares.slowest(shares.owners()) <= 3.25, "{shares:?}");
        assert!(!shares.balance());
    }

    #[test]
    fn components_with_a_memory_stay() {
        let mut shares = Shares::new(4, 2, true);
        (0..4).for_each(|component| shares.measure(component, [9.0, 1.0, 9.0, 1.0][component]));
        assert!(!shares.balance() && shares.owners() == [0, 1, 0, 1]);
    }

    #[test]
    fn times_are_means() {
        let mut shares = Shares::new(1, 1, false);
        shares.measure(0, 1.0);
        shares.measure(0, 2.0);
        assert!((shares.seconds[0] - 1.3).abs() < 1e-12);
    }
}
