//! Jobs over ranks: whoever is free gets the next one.
//!
//! Rank 0 hands out the numbers of jobs and collects results. All ranks compute, rank 0 too: other threads compute
//! while the thread that called looks for messages. As long as many jobs are left, a rank has some in hand for each slot
//! beside the one that it computes: so it need not wait for an answer, which may take as long as a short job.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bundlenet::team::{Done, Failed, Job, Team, from_bytes, to_bytes};
use mpi::datatype::traits::Equivalence;
use mpi::traits::{Communicator, Root, Source};

use crate::outbox::Outbox;
use crate::world::{World, communicator, rank_number};

/// Messages to rank 0: the number of slots of a rank, and the result of a job.
const SLOTS: i32 = 1;
const RESULT: i32 = 2;

/// Message to other ranks: the number of a job.
const NUMBER: i32 = 3;

/// The number that says that there are no more jobs.
const NO_MORE: u64 = u64::MAX;

/// Many jobs are left if there are more than these for each slot of all ranks. The last ones go to whoever is free, so
/// that all ranks end at about the same time.
const MANY: usize = 8;

/// Jobs that a rank has for each slot as long as many are left, with the one that it computes.
const IN_HAND: usize = 4;

/// Number and result of a job.
type Outcome = (usize, Result<Vec<u8>, String>);

/// Time between two looks for a message: it doubles while there is none. A look takes the processor from a job for some
/// microseconds. A rank has a job in hand meanwhile, or there are few left.
struct Pause(Duration);

impl Pause {
    const SHORTEST: Duration = Duration::from_micros(50);
    const LONGEST: Duration = Duration::from_micros(200);

    /// The next own result, waited for while there is nothing else to do.
    fn next(&mut self, own: &Receiver<Outcome>, is_idle: bool) -> Option<Outcome> {
        let pause = if is_idle { self.0 } else { Duration::ZERO };
        self.0 = if is_idle { Self::LONGEST.min(2 * self.0) } else { Self::SHORTEST };
        own.recv_timeout(pause).ok()
    }
}

impl Team for World {
    fn is_leader(&self) -> bool {
        self.rank() == 0
    }

    fn name(&self) -> String {
        format!("rank {}", self.rank())
    }

    fn spread(&self, count: usize, slots: usize, job: &Job<'_>, done: &mut Done<'_>) -> Result<Vec<Vec<u8>>, Failed> {
        if !self.is_leader() {
            help(slots, job);
            return unpacked(&self.tell(vec![]));
        }
        let led = lead(self.size(), (count, slots), job, done);
        self.tell(to_bytes(&packed(&led)));
        led
    }

    fn tell(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        let world = communicator();
        let root = world.process_at_rank(0);
        let mut count = bytes.len() as u64;
        root.broadcast_into(&mut count);
        bytes.resize(usize::try_from(count).unwrap_or(0), 0);
        // The length of a message is limited.
        bytes.chunks_mut(1 << 30).for_each(|part| root.broadcast_into(part));
        bytes
    }
}

/// Results or a failure, as data that travel.
type Packed = (Vec<Vec<u8>>, Option<(String, String)>);

fn packed(led: &Result<Vec<Vec<u8>>, Failed>) -> Packed {
    match led {
        Ok(results) => (results.clone(), None),
        Err(Failed { member, message }) => (vec![], Some((member.clone(), message.clone()))),
    }
}

fn unpacked(told: &[u8]) -> Result<Vec<Vec<u8>>, Failed> {
    match from_bytes::<Packed>(told) {
        Some((results, None)) => Ok(results),
        Some((_, Some((member, message)))) => Err(Failed { member, message }),
        None => Err(Failed { member: "rank 0".to_string(), message: "expected results, found none".to_string() }),
    }
}

/// The desk of rank 0, where jobs are handed out and results collected.
struct Desk<'a> {
    /// The next job. The threads of rank 0 take theirs from it, too.
    next: &'a AtomicUsize,
    results: Vec<Option<Vec<u8>>>,
    /// Jobs without a result, of those that were or will be handed out.
    open: usize,
    failure: Option<(usize, Failed)>,
}

impl Desk<'_> {
    /// The next job for another rank.
    fn number(&self) -> Option<u64> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        (index < self.results.len()).then_some(index as u64)
    }

    /// Number of jobs that are yet to be handed out.
    fn left(&self) -> usize {
        self.results.len().saturating_sub(self.next.load(Ordering::Relaxed))
    }

    /// Takes a result. After a failure no further job is handed out.
    fn take(&mut self, rank: usize, (index, result): Outcome, done: &mut Done<'_>) {
        self.open -= 1;
        let result = result.and_then(|bytes| done(index, &bytes).map(|()| bytes));
        match result {
            Ok(bytes) => self.results[index] = Some(bytes),
            Err(message) => {
                let count = self.results.len();
                let begun = self.next.swap(count, Ordering::Relaxed).min(count);
                self.open -= count - begun;
                let failed = Failed { member: format!("rank {rank}"), message };
                // The first job in order counts, if several fail at the same time.
                if self.failure.as_ref().is_none_or(|(first, _)| index < *first) {
                    self.failure = Some((index, failed));
                }
            }
        }
    }

    fn finish(self) -> Result<Vec<Vec<u8>>, Failed> {
        match self.failure {
            Some((_, failed)) => Err(failed),
            None => Ok(self.results.into_iter().flatten().collect()),
        }
    }
}

/// Another rank, as rank 0 sees it.
#[derive(Clone, Copy, Default)]
struct Hand {
    /// Jobs that it can compute at once. 0 before it has said so.
    slots: usize,
    /// Jobs that it has no result of yet.
    jobs: usize,
    /// Whether it knows that there are no more jobs.
    is_dismissed: bool,
}

impl Hand {
    /// Sends the numbers of further jobs, or that there are no more. `all` is the number of slots of all ranks.
    fn fill(&mut self, desk: &Desk<'_>, all: usize, mut send: impl FnMut(u64)) {
        while self.jobs < if desk.left() > MANY * all { IN_HAND * self.slots } else { self.slots } {
            let Some(number) = desk.number() else { break };
            self.jobs += 1;
            send(number);
        }
        if self.jobs == 0 && !self.is_dismissed {
            self.is_dismissed = true;
            send(NO_MORE);
        }
    }
}

/// The work of rank 0.
fn lead(
    ranks: usize,
    (count, slots): (usize, usize),
    job: &Job<'_>,
    done: &mut Done<'_>,
) -> Result<Vec<Vec<u8>>, Failed> {
    let next = AtomicUsize::new(0);
    let mut desk = Desk { next: &next, results: vec![None; count], open: count, failure: None };
    std::thread::scope(|scope| {
        let (send, receive) = channel::<Outcome>();
        for _ in 0..slots.min(count) {
            let (send, next) = (send.clone(), &next);
            scope.spawn(move || {
                let mut index = next.fetch_add(1, Ordering::Relaxed);
                // The receiver outlives the thread.
                while index < count && send.send((index, job(index))).is_ok() {
                    index = next.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let (mut hands, mut outbox) = (vec![Hand::default(); ranks], Outbox::new());
        let (mut pause, mut is_idle) = (Pause(Pause::SHORTEST), false);
        while desk.open > 0 || hands[1..].iter().any(|hand| !hand.is_dismissed) {
            let outcome = pause.next(&receive, is_idle);
            is_idle = outcome.is_none();
            for outcome in outcome.into_iter().chain(receive.try_iter()) {
                desk.take(0, outcome, done);
            }
            while let Some((rank, tag, bytes)) = look(None) {
                is_idle = false;
                if tag == SLOTS {
                    hands[rank].slots = from_bytes(&bytes).unwrap_or(1).max(1);
                } else if let Some((index, (result, message))) =
                    from_bytes::<(usize, (Option<Vec<u8>>, String))>(&bytes)
                {
                    hands[rank].jobs -= 1;
                    desk.take(rank, (index, result.ok_or(message)), done);
                }
                let all = slots + hands.iter().map(|hand| hand.slots).sum::<usize>();
                hands[rank].fill(&desk, all, |number| {
                    outbox.send(&communicator().process_at_rank(rank_number(rank)), to_bytes(&number), NUMBER);
                });
            }
        }
    });
    desk.finish()
}

/// Rank, tag and bytes of a message that has arrived: from rank 0, or from any rank with a result.
fn look(source: Option<usize>) -> Option<(usize, i32, Vec<u8>)> {
    let world = communicator();
    let (message, status) = match source {
        Some(rank) => world.process_at_rank(rank_number(rank)).immediate_matched_probe()?,
        None => world.any_process().immediate_matched_probe()?,
    };
    let mut bytes = vec![0_u8; usize::try_from(status.count(u8::equivalent_datatype())).unwrap_or(0)];
    message.matched_receive_into(&mut bytes[..]);
    Some((usize::try_from(status.source_rank()).unwrap_or(0), status.tag(), bytes))
}

/// The work of another rank.
fn help(slots: usize, job: &Job<'_>) {
    let world = communicator();
    let (root, mut outbox) = (world.process_at_rank(0), Outbox::new());
    outbox.send(&root, to_bytes(&slots), SLOTS);
    std::thread::scope(|scope| {
        let (give, given): (Sender<usize>, Receiver<usize>) = channel();
        let (send, receive) = channel::<Outcome>();
        let given = std::sync::Arc::new(Mutex::new(given));
        for _ in 0..slots {
            let (send, given) = (send.clone(), std::sync::Arc::clone(&given));
            scope.spawn(move || {
                let next = || given.lock().unwrap_or_else(PoisonError::into_inner).recv();
                // The channel closes when there are no more jobs.
                while let Ok(index) = next() {
                    if send.send((index, job(index))).is_err() {
                        return;
                    }
                }
            });
        }
        let (mut pause, mut is_idle, mut is_over) = (Pause(Pause::SHORTEST), false, false);
        while !is_over {
            let outcome = pause.next(&receive, is_idle);
            is_idle = outcome.is_none();
            for (index, result) in outcome.into_iter().chain(receive.try_iter()) {
                let (result, message) = match result {
                    Ok(bytes) => (Some(bytes), String::new()),
                    Err(message) => (None, message),
                };
                outbox.send(&root, to_bytes(&(index, (result, message))), RESULT);
            }
            while let Some((_, _, bytes)) = look(Some(0)) {
                is_idle = false;
                match from_bytes::<u64>(&bytes).filter(|number| *number != NO_MORE) {
                    // The threads live as long as the channel.
                    Some(number) => drop(give.send(usize::try_from(number).unwrap_or(0))),
                    None => is_over = true,
                }
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rank has jobs in hand beside those that it computes, but for the last jobs. It is dismissed once, when it has
    /// none any more.
    #[test]
    fn the_last_jobs_go_to_whoever_is_free() {
        let next = AtomicUsize::new(0);
        let desk = Desk { next: &next, results: vec![None; 40], open: 40, failure: None };
        let mut hand = Hand { slots: 2, ..Hand::default() };
        let (mut sent, mut most) = (vec![], vec![]);
        while !hand.is_dismissed {
            hand.fill(&desk, 3, |number| sent.push(number));
            most.push(hand.jobs);
            hand.jobs = hand.jobs.saturating_sub(1);
        }
        let mut expected: Vec<u64> = (0..40).collect();
        expected.push(NO_MORE);
        assert_eq!(sent, expected);
        assert!(most[..8].iter().all(|&jobs| jobs == 8) && most[20..].iter().all(|&jobs| jobs <= 2), "{most:?}");
        hand.fill(&desk, 3, |number| panic!("{number} after the end"));
    }
}
