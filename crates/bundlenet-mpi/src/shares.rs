//! Which rank evaluates which component, balanced by measured times.

/// Part of the best balance by which the slowest rank may exceed it before components move.
const TOLERANCE: f64 = 0.02;

/// Most calls between two looks at the balance. The pause doubles while nothing moves.
const LONGEST_PAUSE: usize = 64;

/// Calls before a look at the balance whose times are measured. To take the time of each component costs time, too.
const MEASURED: usize = 3;

/// Time of a look at the balance for each component with its measurements, in seconds; measured once. Looks take less
/// than `LITTLE` of the time of all calls.
const LOOK: f64 = 2e-7;
const LITTLE: f64 = 0.01;

/// Mean time of components in seconds from which on they are dear. To deal one takes some 10 microseconds.
const DEAR: f64 = 1e-3;

/// Time of the components that a rank evaluates in one call of the oracle, in seconds, as far as times are known. A call
/// costs less than a microsecond.
const GRAIN: f64 = 50e-6;

/// The shares of all ranks.
#[derive(Clone, Debug)]
pub(crate) struct Shares {
    /// Rank of each component.
    owners: Vec<u32>,
    /// The last times of each component in seconds, none before the first measurement. Their median counts: the clock
    /// runs on while other processes have the processor.
    times: Vec<[f64; MEASURED]>,
    ranks: usize,
    /// Whether components stay where they are.
    is_fixed: bool,
    /// Whether each rank has consecutive components, because the balance is mended within a call.
    is_in_order: bool,
    /// Number of components that take `GRAIN`.
    grain: usize,
    /// Calls until the next look at the balance, and after that.
    wait: usize,
    pause: usize,
}

impl Shares {
    /// Components in turn: neighbours often cost the same.
    pub(crate) fn new(components: usize, ranks: usize, is_fixed: bool) -> Self {
        let owners = (0..components).map(|component| (component % ranks) as u32).collect();
        Self { owners, times: vec![], ranks, is_fixed, is_in_order: false, grain: 1, wait: 0, pause: 1 }
    }

    /// The same with consecutive components of each rank.
    #[must_use]
    pub(crate) fn in_order(self) -> Self {
        let owners = in_order(&vec![1.0; self.owners.len()], self.ranks);
        Self { owners, is_in_order: true, ..self }
    }

    /// Number of components that take long enough for a call of the oracle.
    pub(crate) fn grain(&self) -> usize {
        self.grain
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
        if self.times.is_empty() {
            self.times = vec![[f64::NAN; MEASURED]; self.owners.len()];
        }
        let times = &mut self.times[component];
        if times[0].is_nan() {
            *times = [seconds; MEASURED];
        }
        times.rotate_right(1);
        times[0] = seconds;
    }

    /// Time that each component is expected to take: 0 before the first measurement.
    pub(crate) fn seconds(&self) -> Vec<f64> {
        if self.times.is_empty() {
            return vec![0.0; self.owners.len()];
        }
        let median = |times: &[f64; MEASURED]| {
            let mut times = *times;
            times.sort_by(f64::total_cmp);
            if times[0].is_nan() { 0.0 } else { times[MEASURED / 2] }
        };
        self.times.iter().map(median).collect()
    }

    /// Whether components take so long that they should be dealt within a call, as far as times are known.
    pub(crate) fn are_dear(&self) -> bool {
        let last: f64 = self.times.iter().map(|times| times[0]).sum();
        self.can_move() && !self.times.is_empty() && last >= DEAR * self.times.len() as f64
    }

    /// Moves all components to rank 0. Returns where they were.
    pub(crate) fn move_to_first(&mut self) -> Vec<u32> {
        let first = vec![0; self.owners.len()];
        std::mem::replace(&mut self.owners, first)
    }

    /// Moves components if the slowest rank would gain by it. Returns where they were, if any moved.
    pub(crate) fn balance(&mut self) -> Option<Vec<u32>> {
        if !self.can_move() || self.times.is_empty() {
            return None;
        }
        if self.wait > 0 {
            self.wait -= 1;
            return None;
        }
        let seconds = self.seconds();
        let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
        // A conversion of infinity gives the largest number.
        self.grain = ((GRAIN / mean) as usize).clamp(1, seconds.len());
        let slowest = |owners: &[u32]| slowest(owners, &seconds, self.ranks);
        let (alternative, in_order) = (longest_first(&seconds, self.ranks), in_order(&seconds, self.ranks));
        let least = slowest(&alternative);
        let is_in_order = self.is_in_order || slowest(&in_order) <= (1.0 + TOLERANCE) * least;
        let better = if is_in_order { in_order } else { alternative };
        let now = slowest(&self.owners);
        let moves = now > (1.0 + TOLERANCE) * slowest(&better) || (!self.owners.is_sorted() && better.is_sorted());
        let shortest =
            (LOOK * self.owners.len() as f64 / (LITTLE * now)).ceil().clamp(1.0, LONGEST_PAUSE as f64) as usize;
        self.pause = if moves || shortest == 1 { shortest } else { (2 * self.pause).clamp(shortest, LONGEST_PAUSE) };
        self.wait = self.pause - 1;
        moves.then(|| std::mem::replace(&mut self.owners, better))
    }
}

/// Time of the slowest rank.
fn slowest(owners: &[u32], seconds: &[f64], ranks: usize) -> f64 {
    let mut loads = vec![0.0; ranks];
    owners.iter().zip(seconds).for_each(|(&owner, seconds)| loads[owner as usize] += seconds);
    loads.into_iter().fold(0.0, f64::max)
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

/// Each rank has consecutive components, so that results need not be put in order: the rank whose part of the whole time
/// has the middle of the component.
fn in_order(seconds: &[f64], ranks: usize) -> Vec<u32> {
    let sum: f64 = seconds.iter().sum();
    let mut before = 0.0;
    let rank = |&time: &f64| {
        let middle = before + 0.5 * time;
        before += time;
        ((middle / sum * ranks as f64) as u32).min(ranks as u32 - 1)
    };
    seconds.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(shares: &Shares) -> f64 {
        slowest(shares.owners(), &shares.seconds(), shares.ranks)
    }

    #[test]
    fn unequal_components_are_balanced() {
        let mut shares = Shares::new(9, 2, false);
        assert!(shares.balance().is_none());
        // All long ones are on rank 0.
        (0..9).for_each(|component| shares.measure(component, if component % 2 == 0 { 1.0 } else { 0.25 }));
        assert!(load(&shares) == 5.0 && shares.balance().is_some());
        assert!(load(&shares) <= 3.25, "{shares:?}");
        assert!(shares.balance().is_none());
    }

    #[test]
    fn components_are_in_order_if_that_is_as_good() {
        let mut shares = Shares::new(100, 3, false);
        (0..100).for_each(|component| shares.measure(component, 0.01));
        assert_eq!(shares.balance(), Some(Shares::new(100, 3, false).owners));
        assert!(shares.owners().is_sorted() && load(&shares) < 0.345, "{shares:?}");
        assert!(shares.balance().is_none());
    }

    #[test]
    fn shares_in_order_stay_in_order() {
        let mut shares = Shares::new(5, 2, false).in_order();
        assert_eq!((shares.owners(), shares.grain()), (&[0, 0, 1, 1, 1][..], 1));
        // In order the slowest rank has 5 at best, else 3.
        [1e-6, 4e-6, 1e-6, 1e-6, 0.0].into_iter().enumerate().for_each(|(at, time)| shares.measure(at, time));
        assert!(shares.balance().is_none() && shares.owners() == [0, 0, 1, 1, 1]);
        assert_eq!(shares.grain(), 5);
    }

    /// Cheap calls are measured shortly before a look at the balance, dear ones always.
    #[test]
    fn looks_are_rare_if_calls_are_cheap() {
        for (seconds, is_rare) in [(1e-6, true), (1.0, false)] {
            let mut shares = Shares::new(100, 2, false);
            let mut measured = 0;
            for _ in 0..400 {
                if shares.is_measured() {
                    measured += 1;
                    (0..100).for_each(|component| shares.measure(component, seconds));
                }
                shares.balance();
            }
            assert!(if is_rare { measured < 40 } else { measured == 400 }, "{measured}");
        }
    }

    #[test]
    fn components_in_one_place_stay() {
        let mut shares = Shares::new(4, 2, true);
        (0..4).for_each(|component| shares.measure(component, [9.0, 1.0, 9.0, 1.0][component]));
        assert!(shares.balance().is_none() && shares.owners() == [0, 1, 0, 1] && !shares.is_measured());
    }

    #[test]
    fn dear_components_are_dealt() {
        for (time, is_fixed, are_dear) in [(1e-4, false, false), (1e-2, false, true), (1e-2, true, false)] {
            let mut shares = Shares::new(4, 2, is_fixed);
            assert!(!shares.are_dear());
            (0..4).for_each(|component| shares.measure(component, time));
            assert_eq!(shares.are_dear(), are_dear);
            assert_eq!((shares.move_to_first(), shares.owners()), (vec![0, 1, 0, 1], &[0; 4][..]));
        }
    }

    #[test]
    fn one_wrong_time_does_not_count() {
        let mut shares = Shares::new(1, 1, false);
        for (time, expected) in [(1.0, 1.0), (9.0, 1.0), (1.2, 1.2), (1.5, 1.5)] {
            shares.measure(0, time);
            assert_eq!(shares.seconds(), [expected]);
        }
    }
}
