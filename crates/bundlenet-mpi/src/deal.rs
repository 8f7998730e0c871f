//! Dear components are dealt within a call: whoever is free gets the next one, the longest first.
//!
//! Times of such components, as MIP blocks, vary from call to call, so shares that are balanced by earlier times are not
//! balanced by these. On rank 0 the thread that called evaluates components, and another one deals to the other ranks.
//! Each of those has one component in hand beside the one that it evaluates, so it need not wait. Memories of components
//! are on rank 0 between calls: each travels with its component there and back.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bundlenet::{Parts, SumOracle};
use mpi::traits::{Communicator, Source};

use crate::answer::{Answer, receive_into};
use crate::helper::{Helper, Terms};
use crate::outbox::Outbox;
use crate::world::{communicator, rank_number};

/// The number that ends a call.
const NO_MORE: u64 = u64::MAX;

/// Components that another rank has, while there are some: the one that it evaluates, and one in hand.
const IN_HAND: usize = 2;

/// All messages of a deal have this tag.
const TAG: i32 = 0;

/// Time between two looks for answers: short after one has come, then longer. A component takes a millisecond and more.
const SHORTEST: Duration = Duration::from_micros(50);
const LONGEST: Duration = Duration::from_micros(400);

/// The places of a call's components in the order in which they are dealt, and the next one.
struct Stack {
    order: Vec<usize>,
    next: usize,
}

/// A stack that the threads of rank 0 share.
struct Shared(Mutex<Stack>);

impl Shared {
    fn following(&self) -> Option<usize> {
        let mut stack = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = stack.order.get(stack.next).copied();
        stack.next += usize::from(place.is_some());
        place
    }

    /// No further component is dealt.
    fn end(&self) {
        let mut stack = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stack.next = stack.order.len();
    }
}

/// An answer: its place, its rank, and the memory of the component afterwards.
struct Dealt {
    place: usize,
    rank: usize,
    answer: Answer,
    memory: Vec<f64>,
}

/// A component that failed: the rank, and the place.
pub(crate) type Failed = Option<(usize, usize)>;

/// Evaluates components on all ranks. `seconds` are their expected times. Returns the first one that failed.
pub(crate) fn deal(
    oracle: &mut dyn SumOracle,
    (components, seconds): (&[usize], &[f64]),
    point: &[f64],
    (terms, ranks): (Terms<'_>, usize),
    (helper, answers): (&mut Helper, &mut [Answer]),
) -> Failed {
    let mut order: Vec<usize> = (0..components.len()).collect();
    order.sort_by(|&a, &b| seconds[components[b]].total_cmp(&seconds[components[a]]));
    let stack = Shared(Mutex::new(Stack { order, next: 0 }));
    let has_memory = oracle.parts() == Parts::WithMemory;
    // The message of a component: its number, and its memory. The thread that deals has no access to the oracle.
    let message = |&component: &usize| {
        let memory = if has_memory { oracle.memory(component) } else { vec![] };
        std::iter::once(component as u64).chain(memory.iter().map(|number| number.to_bits())).collect()
    };
    let messages: Vec<Vec<u64>> = components.iter().map(message).collect();
    let mut failed: Failed = None;
    let mut note = |rank: usize, place: usize| {
        stack.end();
        if failed.is_none_or(|(_, first)| place < first) {
            failed = Some((rank, place));
        }
    };
    let others = std::thread::scope(|scope| {
        let dealer = scope.spawn(|| Dealer::new(&stack, messages, ranks).run());
        while let Some(place) = stack.following() {
            helper.evaluate_one(oracle, components[place], point, terms, &mut answers[place]);
            if answers[place].is_failure() {
                note(0, place);
            }
        }
        dealer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    for Dealt { place, rank, answer, memory } in others {
        if answer.is_failure() {
            note(rank, place);
        } else if has_memory {
            oracle.set_memory(components[place], &memory);
        }
        answers[place] = answer;
    }
    failed
}

/// The thread of rank 0 that deals to the others.
struct Dealer<'a> {
    stack: &'a Shared,
    /// By place.
    messages: Vec<Vec<u64>>,
    /// Places that each rank has.
    hands: Vec<VecDeque<usize>>,
    outbox: Outbox<u64>,
    dealt: Vec<Dealt>,
}

impl<'a> Dealer<'a> {
    fn new(stack: &'a Shared, messages: Vec<Vec<u64>>, ranks: usize) -> Self {
        Self { stack, messages, hands: vec![VecDeque::new(); ranks], outbox: Outbox::new(), dealt: vec![] }
    }

    /// Deals until all answers are there.
    fn run(mut self) -> Vec<Dealt> {
        let ranks = self.hands.len();
        (1..ranks).for_each(|rank| self.fill(rank));
        let mut pause = SHORTEST;
        while self.hands.iter().any(|hand| !hand.is_empty()) {
            match communicator().any_process().immediate_probe() {
                Some(status) => {
                    let rank = usize::try_from(status.source_rank()).unwrap_or(0);
                    self.take(rank);
                    self.fill(rank);
                    pause = SHORTEST;
                }
                None => {
                    std::thread::sleep(pause);
                    pause = LONGEST.min(2 * pause);
                }
            }
        }
        (1..ranks).for_each(|rank| self.send(rank, vec![NO_MORE]));
        self.dealt
    }

    fn send(&mut self, rank: usize, words: Vec<u64>) {
        self.outbox.send(&communicator().process_at_rank(rank_number(rank)), words, TAG);
    }

    /// Sends components to a rank.
    fn fill(&mut self, rank: usize) {
        while self.hands[rank].len() < IN_HAND {
            let Some(place) = self.stack.following() else { return };
            let words = std::mem::take(&mut self.messages[place]);
            self.send(rank, words);
            self.hands[rank].push_back(place);
        }
    }

    /// Receives the answer of a rank to its first component.
    fn take(&mut self, rank: usize) {
        let (mut words, mut answer) = (vec![], Answer::default());
        receive_into(&communicator().process_at_rank(rank_number(rank)), &mut words);
        let memory = answer.unpack(&words);
        if answer.is_failure() {
            self.stack.end();
        }
        let place = self.hands[rank].pop_front();
        self.dealt.extend(place.map(|place| Dealt { place, rank, answer, memory }));
    }
}

/// Evaluates the components that rank 0 deals to this one, until there are no more.
pub(crate) fn play(oracle: &mut dyn SumOracle, point: &[f64], terms: Terms<'_>, helper: &mut Helper) {
    let world = communicator();
    let root = world.process_at_rank(0);
    let (mut words, mut answer, mut outbox): (Vec<u64>, Answer, _) = (vec![], Answer::default(), Outbox::new());
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
        let memory = if has_memory && !answer.is_failure() { oracle.memory(component) } else { vec![] };
        outbox.send(&root, answer.pack(&memory), TAG);
    }
}
