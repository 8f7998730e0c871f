//! Dear components are dealt within a call: whoever is free gets the next one, the longest first.
//!
//! Times of such components, as MIP blocks, vary from call to call, so shares that are balanced by earlier times are not
//! balanced by these. Rank 0 deals between its own components. Another rank has some in hand beside the one that it
//! evaluates, so it does not wait; the fewer are left, the fewer it has. Memories of components are on rank 0 between
//! calls: each travels with its component there and back.

use std::collections::VecDeque;

use bundlenet::{Parts, SumOracle};
use mpi::traits::{Communicator, Destination, Source};

use crate::answer::{Answer, receive_into};
use crate::helper::{Helper, Terms};
use crate::world::{communicator, rank_number};

/// The number that ends a call.
const NO_MORE: u64 = u64::MAX;

/// Components that another rank has at least, while there are some: the one that it evaluates, and one in hand.
const LEAST: usize = 2;

/// A call in progress on rank 0.
pub(crate) struct Deal<'a> {
    /// The components of the call.
    components: &'a [usize],
    /// Their places in the order in which they are dealt, and the next one.
    order: Vec<usize>,
    next: usize,
    /// Places that each rank has.
    hands: Vec<VecDeque<usize>>,
    answers: &'a mut [Answer],
}

/// A component that failed: the rank, and the place.
pub(crate) type Failed = Option<(usize, usize)>;

impl<'a> Deal<'a> {
    pub(crate) fn new(
        components: &'a [usize],
        seconds: impl Fn(usize) -> f64,
        ranks: usize,
        answers: &'a mut [Answer],
    ) -> Self {
        let mut order: Vec<usize> = (0..components.len()).collect();
        order.sort_by(|&a, &b| seconds(components[b]).total_cmp(&seconds(components[a])));
        Self { components, order, next: 0, hands: vec![VecDeque::new(); ranks], answers }
    }

    /// Evaluates all components on all ranks. Returns the first one that failed.
    pub(crate) fn run(
        mut self,
        oracle: &mut dyn SumOracle,
        point: &[f64],
        terms: Terms,
        helper: &mut Helper,
    ) -> Failed {
        let (ranks, mut failed) = (self.hands.len(), None);
        (1..ranks).for_each(|rank| self.fill(rank, oracle));
        loop {
            while let Some(rank) = arrived(self.next == self.order.len() && self.is_waiting()) {
                self.take(rank, oracle, &mut failed);
                self.fill(rank, oracle);
            }
            let Some(place) = self.following() else { break };
            let answer = &mut self.answers[place];
            helper.evaluate_one(oracle, self.components[place], point, terms, answer);
            self.note(0, place, &mut failed);
        }
        for rank in 1..ranks {
            communicator().process_at_rank(rank_number(rank)).send(&[NO_MORE][..]);
        }
        failed
    }

    /// Whether other ranks have components.
    fn is_waiting(&self) -> bool {
        self.hands.iter().any(|hand| !hand.is_empty())
    }

    fn following(&mut self) -> Option<usize> {
        let place = self.order.get(self.next).copied();
        self.next += usize::from(place.is_some());
        place
    }

    /// Components that another rank may have: half of its part of those that are left, and a few. By a simulation with
    /// random times no other rule that we tried was better, for 2 and 4 ranks.
    fn most(&self) -> usize {
        LEAST + (self.order.len() - self.next) / (2 * self.hands.len())
    }

    /// Sends components to a rank, each with its memory.
    fn fill(&mut self, rank: usize, oracle: &mut dyn SumOracle) {
        while self.hands[rank].len() < self.most() {
            let Some(place) = self.following() else { return };
            let component = self.components[place];
            let mut words = vec![component as u64];
            if oracle.parts() == Parts::WithMemory {
                words.extend(oracle.memory(component).iter().map(|number| number.to_bits()));
            }
            communicator().process_at_rank(rank_number(rank)).send(&words[..]);
            self.hands[rank].push_back(place);
        }
    }

    /// Receives the answer of a rank to its first component.
    fn take(&mut self, rank: usize, oracle: &mut dyn SumOracle, failed: &mut Failed) {
        let world = communicator();
        let Some(place) = self.hands[rank].pop_front() else { return };
        let (process, answer) = (world.process_at_rank(rank_number(rank)), &mut self.answers[place]);
        answer.receive(&process);
        if oracle.parts() == Parts::WithMemory && !answer.is_failure() {
            let mut memory: Vec<f64> = vec![];
            receive_into(&process, &mut memory);
            oracle.set_memory(self.components[place], &memory);
        }
        self.note(rank, place, failed);
    }

    /// Takes note of a failure. No further component is dealt after it.
    fn note(&mut self, rank: usize, place: usize, failed: &mut Failed) {
        if self.answers[place].is_failure() {
            self.next = self.order.len();
            if failed.is_none_or(|(_, first)| place < first) {
                *failed = Some((rank, place));
            }
        }
    }
}

/// The rank of an answer that has arrived, or that arrives if it is waited for.
fn arrived(waits: bool) -> Option<usize> {
    let world = communicator();
    let status = if waits { Some(world.any_process().probe()) } else { world.any_process().immediate_probe() };
    status.and_then(|status| usize::try_from(status.source_rank()).ok())
}

/// Evaluates the components that rank 0 deals to this one, until there are no more.
pub(crate) fn play(oracle: &mut dyn SumOracle, point: &[f64], terms: Terms, helper: &mut Helper) {
    let world = communicator();
    let root = world.process_at_rank(0);
    let (mut words, mut answer): (Vec<u64>, Answer) = (vec![], Answer::default());
    loop {
        receive_into(&root, &mut words);
        let Some((component, memory)) = words.split_first().filter(|(first, _)| **first != NO_MORE) else { return };
        let component = usize::try_from(*component).unwrap_or(0);
        let has_memory = oracle.parts() == Parts::WithMemory;
        if has_memory {
            let memory: Vec<f64> = memory.iter().map(|&bits| f64::from_bits(bits)).collect();
            oracle.set_memory(component, &memory);
        }
        helper.evaluate_one(oracle, component, point, terms, &mut answer);
        answer.send(&root);
        if has_memory && !answer.is_failure() {
            root.send(&oracle.memory(component)[..]);
        }
    }
}
