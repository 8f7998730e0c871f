//! Components that a rank takes out of shares within a call: those of its own share, then those that other ranks of its
//! machine have left.
//!
//! Shares are balanced by times of earlier calls, and the speed of a core changes from call to call. So a rank that has
//! done its share goes on with that of another. The owner takes components from the front of its share, others take them
//! from the back. One word of shared memory has both ends of what is left.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// A rank takes this part of the components that are left of a share: few calls of the oracle, and the last one is short.
const PART: usize = 4;

/// Bits of a word for each end of a share. The other bits have the number of the call.
const BITS: u32 = 24;
const MASK: u64 = (1 << BITS) - 1;

/// Largest number of a call. After it the numbers begin again with 1.
pub(crate) const LAST_CALL: u64 = (1 << (64 - 2 * BITS)) - 1;

/// Components up to which ranks take those of others.
pub(crate) const MOST: usize = MASK as usize;

/// The end of a share from which a rank takes components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Front,
    Back,
}

/// The rest of a share. A word of an earlier call stands for the whole share, so no rank has to prepare a call.
fn left(word: u64, call: u64, share: &Range<usize>) -> Range<usize> {
    let end = |shift: u32| usize::try_from(word >> shift & MASK).unwrap_or(0);
    if word >> (2 * BITS) == call { end(BITS)..end(0) } else { share.clone() }
}

/// Number of components that are left of a share.
pub(crate) fn count_left(word: &AtomicU64, call: u64, share: &Range<usize>) -> usize {
    left(word.load(Ordering::Acquire), call, share).len()
}

/// Takes a part of what is left of a share, at least `least` components if there are as many. Nothing if all is taken.
pub(crate) fn claim(word: &AtomicU64, call: u64, share: &Range<usize>, end: End, least: usize) -> Option<Range<usize>> {
    let mut claimed = 0..0;
    let split = |word: u64| {
        let Range { start, end: stop } = left(word, call, share);
        let count = (stop - start).div_ceil(PART).max(least).min(stop - start);
        let rest = match end {
            End::Front => start + count..stop,
            End::Back => start..stop - count,
        };
        claimed = if end == End::Front { start..rest.start } else { rest.end..stop };
        Some(call << (2 * BITS) | (rest.start as u64) << BITS | rest.end as u64)
    };
    // The closure always has a new word.
    let _ = word.fetch_update(Ordering::AcqRel, Ordering::Acquire, split);
    Some(claimed).filter(|claimed| !claimed.is_empty())
}

/// Takes components of the share of `rank`, else of the share of which most are left. Each share with a word can be
/// taken from.
pub(crate) fn take<'a>(
    words: impl Iterator<Item = (usize, &'a AtomicU64)> + Clone,
    shares: &[Range<usize>],
    rank: usize,
    call: u64,
    least: usize,
) -> Option<Range<usize>> {
    let own = words.clone().find(|(owner, _)| *owner == rank);
    let front = own.and_then(|(_, word)| claim(word, call, &shares[rank], End::Front, least));
    if front.is_some() {
        return front;
    }
    loop {
        let left = words.clone().map(|(owner, word)| (count_left(word, call, &shares[owner]), owner, word));
        let (_, owner, word) = left.filter(|(count, ..)| *count > 0).max_by_key(|(count, ..)| *count)?;
        let back = claim(word, call, &shares[owner], End::Back, least);
        // Another rank may have been faster.
        if back.is_some() {
            return back;
        }
    }
}

/// The components of a call in the order of their ranks, and the part of each rank in it.
#[derive(Default)]
pub(crate) struct Plan {
    owners: Vec<u32>,
    /// Whether it has all components.
    is_whole: bool,
    components: Vec<usize>,
    shares: Vec<Range<usize>>,
    is_in_order: bool,
}

impl Plan {
    /// Plans an evaluation of all components, or of the given ones.
    pub(crate) fn set(&mut self, owners: &[u32], ranks: usize, which: Option<&[usize]>) {
        if which.is_none() && self.is_whole && self.owners == owners {
            return;
        }
        owners.clone_into(&mut self.owners);
        self.is_whole = which.is_none();
        self.components.clear();
        match which {
            None => self.components.extend(0..owners.len()),
            Some(which) => self.components.extend_from_slice(which),
        }
        let owner = |component: &usize| owners[*component];
        self.is_in_order = self.components.is_sorted_by_key(owner);
        self.components.sort_by_key(owner);
        let first = |rank: usize| self.components.partition_point(|component| (owner(component) as usize) < rank);
        self.shares = (0..ranks).map(|rank| first(rank)..first(rank + 1)).collect();
    }

    /// Whether the order of ranks is that of the request. Then results of a share need not be sorted.
    pub(crate) fn is_in_order(&self) -> bool {
        self.is_in_order
    }

    pub(crate) fn components(&self) -> &[usize] {
        &self.components
    }

    pub(crate) fn shares(&self) -> &[Range<usize>] {
        &self.shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_takes_from_the_front_and_others_from_the_back() {
        let (word, share) = (AtomicU64::new(0), 10..26);
        let take = |call, end, least| claim(&word, call, &share, end, least);
        assert_eq!(take(1, End::Front, 1), Some(10..14));
        assert_eq!(take(1, End::Back, 1), Some(23..26));
        assert_eq!(take(1, End::Back, 5), Some(18..23));
        assert_eq!(count_left(&word, 1, &share), 4);
        assert_eq!(take(1, End::Front, 9), Some(14..18));
        assert_eq!([End::Front, End::Back].map(|end| take(1, end, 1)), [None, None]);
        // The next call begins anew, whoever comes first.
        assert_eq!(take(2, End::Back, 1), Some(22..26));
        assert_eq!(count_left(&word, 2, &share), 12);
    }

    /// Threads stand for ranks: each component is taken once, in every call.
    #[test]
    fn each_component_is_taken_once() {
        let shares = [0..400, 400..400, 400..1000];
        let words = [const { AtomicU64::new(0) }; 3];
        for call in (1..60).chain([LAST_CALL, 1]) {
            let take_all = |rank: usize| {
                let words = words.iter().enumerate();
                std::iter::from_fn(|| take(words.clone(), &shares, rank, call, 1 + rank)).collect::<Vec<_>>()
            };
            let mut taken: Vec<Range<usize>> = std::thread::scope(|scope| {
                let threads = [0, 1, 2].map(|rank| {
                    let take_all = &take_all;
                    scope.spawn(move || take_all(rank))
                });
                threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
            });
            taken.sort_by_key(|range| range.start);
            assert!(taken.iter().flat_map(Clone::clone).eq(0..1000), "call {call}: {taken:?}");
        }
    }

    #[test]
    fn a_plan_has_the_share_of_each_rank() {
        let mut plan = Plan::default();
        plan.set(&[0, 0, 1, 1, 2], 4, None);
        assert_eq!((plan.shares(), plan.is_in_order()), (&[0..2, 2..4, 4..5, 5..5][..], true));
        plan.set(&[0, 0, 1, 1, 2], 4, Some(&[4, 3, 1]));
        assert_eq!((plan.components(), plan.is_in_order()), (&[1, 3, 4][..], false));
        plan.set(&[1, 0, 1], 2, None);
        assert_eq!((plan.components(), plan.shares()), (&[1, 0, 2][..], &[0..1, 1..3][..]));
        plan.set(&[1, 1, 1], 2, None);
        assert_eq!((plan.components(), plan.shares(), plan.is_in_order()), (&[0, 1, 2][..], &[0..0, 0..3][..], true));
    }
}
