//! A sum whose components are evaluated by all ranks.
//!
//! Cheap components have shares, dear ones are dealt within a call (module `deal`). This is the way of shares.
//!
//! Rank 0 runs the method. For each evaluation it sends one message to all: the request and the point. Every rank
//! evaluates its share, and takes components of ranks of its machine that are late (module `claims`). Its answer has
//! values, and the coordinates and entries of all subgradients. Ranks of the machine of rank 0 put it into shared memory
//! (module `board`), others send it by messages. Results are put together in the order of the components, so they do not
//! depend on the shares.

use bundlenet::{
    Domain, Interval, Lines, Minorants, Oracle, OracleError, Parts, Primal, PrimalOracle, Sense, Solutions,
    StructuredOracle, SumOracle,
};
use mpi::topology::{Process, SimpleCommunicator};
use mpi::traits::{Communicator, Destination, Root};

use crate::answer::{Answer, FAILED, Piece, Rest, first_failure, pieces, receive_into};
use crate::board::Board;
use crate::claims::{LAST_CALL, MOST};
use crate::deal::{deal, play};
use crate::helper::{Helper, Terms, push_one};
use crate::shares::Shares;
use crate::wire::{Columns, Gathered, Results};
use crate::world::{World, communicator, rank_number};

/// Time that an evaluation over ranks takes beside the evaluation of components, in seconds.
const OVERHEAD: f64 = 50e-6;

/// Words of a request before the point.
const HEAD: usize = 6;

/// First word of a request.
const END: u64 = 0;
const ALL: u64 = 1;
const SOME: u64 = 2;
const DEALT: u64 = 3;

/// Flags of a request.
const SOLUTIONS: u64 = 1;
const SHARES: u64 = 2;
const TIMES: u64 = 4;

/// Factor by which `ranks` ranks shorten an evaluation of a sum, as far as its stated work tells; at most 1 where ranks
/// do not pay.
pub fn gain(oracle: &dyn SumOracle, ranks: usize) -> f64 {
    if oracle.parts() == Parts::Together || ranks < 2 || oracle.component_count() < 2 {
        return 1.0;
    }
    // An oracle that states nothing counts as one of a millisecond.
    let seconds = 1e-9 * oracle.work().unwrap_or(1e6);
    let ranks = ranks.min(oracle.component_count()) as f64;
    (seconds / (seconds / ranks + OVERHEAD)).max(1.0)
}

/// A sum whose components are evaluated by all ranks; rank 0 has it.
///
/// The other ranks call [`serve`] with an oracle of the same function. They are free again when this one is dropped.
///
/// Results are the same, bit by bit, as those of the oracle alone. Shares are balanced by measured times between two
/// evaluations. Within an evaluation, a rank that has done its share goes on with components of other ranks of its
/// machine, unless components remember their evaluations. Components of a millisecond and more are dealt within an
/// evaluation, if ranks have one thread each: whoever is free gets the next one. Components that remember their
/// evaluations take their memory with them ([`Parts::WithMemory`]) or stay where they are ([`Parts::InOnePlace`]). An
/// oracle that evaluates all of its components in one call ([`Parts::Together`]) does so on rank 0 alone.
pub struct Distributed<'a> {
    world: &'a World,
    oracle: &'a mut dyn SumOracle,
    shares: Shares,
    /// Shared memory of the ranks of this machine, and the number of the last call that used it.
    board: Option<Board>,
    last_call: u64,
    /// Number of answers that each rank has given by shares.
    number: u64,
    /// Where components were before they moved, as long as the other ranks have yet to hear of it.
    before: Option<Vec<u32>>,
    /// Whether components are dealt within a call, and their answers.
    is_dealing: bool,
    dealt: Vec<Answer>,
    keeps_solutions: bool,
    /// Wished accuracy, infinite if there was no wish.
    accuracy: f64,
    request: Vec<u64>,
    answers: Vec<Answer>,
    /// Minorants of an evaluation of the whole function.
    minorants: Minorants,
    /// Solutions of the last evaluation; those of further cuts, in their order; the number of these cuts.
    solutions: Solutions,
    further: Solutions,
    further_cuts: usize,
    helper: Helper,
}

impl<'a> Distributed<'a> {
    /// The sum over the ranks of a world.
    pub fn new(world: &'a World, oracle: &'a mut dyn SumOracle) -> Self {
        let board = board_of(oracle, world.size());
        let mut shares = shares_of(oracle, world.size(), board.as_ref());
        // Components that remember, as MIP blocks, are dear until their times are known.
        let is_dealing = oracle.parts() == Parts::WithMemory && world.size() > 1 && can_deal();
        Self {
            answers: vec![Answer::default(); world.size()],
            request: vec![],
            before: is_dealing.then(|| shares.move_to_first()),
            shares,
            board,
            last_call: 0,
            number: 0,
            is_dealing,
            dealt: vec![],
            keeps_solutions: false,
            accuracy: f64::INFINITY,
            minorants: Minorants::new(),
            solutions: Solutions::new(),
            further: Solutions::new(),
            further_cuts: 0,
            helper: Helper::default(),
            world,
            oracle,
        }
    }

    /// The same, also with the solutions of the subproblems, if the oracle has them. They travel with every evaluation.
    #[must_use]
    pub fn with_solutions(mut self) -> Self {
        self.keeps_solutions = self.oracle.as_primal().is_some();
        self
    }

    /// Whether rank 0 evaluates all components.
    fn is_local(&self) -> bool {
        self.world.size() == 1 || self.oracle.parts() == Parts::Together
    }

    /// Sends a request. New shares, or the components of a request for some, follow in a message of their own.
    fn send(&mut self, kind: u64, point: &[f64], which: Option<&[usize]>, call: u64) {
        let before = self.before.take();
        let owners = if before.is_some() { self.shares.owners() } else { &[] };
        let extra = which.map_or(0, <[usize]>::len) + owners.len();
        let flag = |flag: u64, is_set: bool| if is_set { flag } else { 0 };
        let flags = flag(SOLUTIONS, self.keeps_solutions)
            | flag(SHARES, before.is_some())
            | flag(TIMES, self.shares.is_measured());
        self.request.clear();
        self.request.extend([kind, extra as u64, flags, self.accuracy.to_bits(), call, self.shares.grain() as u64]);
        self.request.extend(point.iter().map(|entry| entry.to_bits()));
        self.request.resize(HEAD + self.oracle.dim(), 0);
        let world = communicator();
        let root = world.process_at_rank(0);
        root.broadcast_into(&mut self.request[..]);
        if extra > 0 {
            let which = which.unwrap_or(&[]).iter().map(|&component| component as u32);
            let mut words: Vec<u32> = owners.iter().copied().chain(which).collect();
            root.broadcast_into(&mut words[..]);
        }
        if let Some(before) = before {
            move_memories(self.oracle, &before, self.shares.owners(), 0);
        }
    }

    /// Evaluates all components, or the given ones, and appends their results in order.
    fn gather(&mut self, point: &[f64], which: Option<&[usize]>, minorants: &mut Minorants) -> Result<(), OracleError> {
        if self.is_dealing { self.deal(point, which, minorants) } else { self.share(point, which, minorants) }
    }

    /// Deals components to all ranks, and appends their results in order.
    fn deal(&mut self, point: &[f64], which: Option<&[usize]>, minorants: &mut Minorants) -> Result<(), OracleError> {
        self.send(DEALT, point, None, 0);
        let all: Vec<usize> = if which.is_none() { (0..self.shares.owners().len()).collect() } else { vec![] };
        let components = which.unwrap_or(&all);
        self.dealt.resize(components.len(), Answer::default());
        let terms = (self.terms(true), self.world.size());
        let answers = (&mut self.helper, &mut self.dealt[..]);
        if let Some((rank, place)) = deal(self.oracle, (components, &self.shares.seconds()), point, terms, answers) {
            return Err(self.dealt[place].failure(rank));
        }
        self.solutions.clear();
        self.further.clear();
        let mut gathered = Gathered { minorants, solutions: &mut self.solutions, further: &mut self.further };
        for (&component, answer) in components.iter().zip(&self.dealt) {
            self.shares.measure(component, answer.results().read(&mut gathered));
        }
        self.further_cuts = minorants.more().count();
        if !self.shares.are_dear() {
            self.is_dealing = false;
            self.before = self.shares.balance();
        }
        Ok(())
    }

    /// How rank 0 evaluates components.
    fn terms(&self, is_measured: bool) -> Terms<'static> {
        let (keeps_solutions, grain) = (self.keeps_solutions, self.shares.grain());
        Terms { rank: 0, keeps_solutions, is_measured, call: 0, grain, board: None }
    }

    /// The number of the next call, if ranks may take components of each other in it; else 0.
    fn next_call(&mut self) -> u64 {
        let plan = &self.helper.plan;
        if self.oracle.parts() != Parts::Anywhere || !plan.is_in_order() || plan.components().len() > MOST {
            return 0;
        }
        self.last_call = self.last_call % LAST_CALL + 1;
        self.last_call
    }

    /// Evaluates components by shares, and appends their results in order.
    fn share(&mut self, point: &[f64], which: Option<&[usize]>, minorants: &mut Minorants) -> Result<(), OracleError> {
        let is_measured = self.shares.is_measured();
        self.helper.plan.set(self.shares.owners(), self.world.size(), which);
        let call = self.next_call();
        self.send(if which.is_some() { SOME } else { ALL }, point, which, call);
        let is_joined = minorants.is_empty() && self.helper.plan.is_in_order();
        if is_joined {
            // The own share is written where it may stay.
            std::mem::swap(minorants, &mut self.helper.evaluated.minorants);
        }
        let terms = Terms { call, board: self.board.as_ref(), ..self.terms(is_measured) };
        self.helper.evaluate(self.oracle, point, terms, &mut self.answers[0].words);
        let (world, board) = (communicator(), self.board.take());
        self.number += 1;
        let others = self.answers.iter_mut().enumerate().skip(1);
        let mut sources: Vec<Rest<'_>> =
            others.map(|(rank, answer)| receive_words(&world, board.as_ref(), (rank, self.number), answer)).collect();
        self.solutions.clear();
        self.further.clear();
        let received = if is_joined && self.answers.iter().all(Answer::is_plain) {
            self.join(minorants, &mut sources)
        } else {
            minorants.truncate(if is_joined { 0 } else { minorants.len() });
            self.merge(which, minorants, &mut sources, is_measured)
        };
        drop(sources);
        self.board = board;
        received?;
        self.before = self.shares.balance();
        if is_measured && self.shares.are_dear() && can_deal() {
            self.is_dealing = true;
            let owners = self.shares.move_to_first();
            self.before.get_or_insert(owners);
        }
        self.further_cuts = minorants.more().len();
        Ok(())
    }

    /// Puts plain results one after the other. The own share becomes the list, and those of other ranks are written into its
    /// end.
    fn join(&mut self, minorants: &mut Minorants, sources: &mut [Rest<'_>]) -> Result<(), OracleError> {
        std::mem::swap(minorants, &mut self.helper.evaluated.minorants);
        let kept = self.helper.set_aside(minorants);
        let taken = &self.helper.evaluated.minorants;
        let mut columns: Vec<Columns<'_>> = self.answers.iter().map(Answer::columns).collect();
        for Piece { places, rank, run, entries } in pieces(&self.answers) {
            let components = &self.helper.plan.components()[places];
            if rank > 0 {
                let is_right = minorants.push_written(components.len(), entries, |room| {
                    columns[rank].write(room.values, room.ends);
                    sources[rank - 1].receive(room.coordinates, room.entries);
                    true
                });
                is_right.then_some(()).ok_or_else(|| format!("rank {rank}: expected subgradients in order"))?;
            } else {
                let aside = self.helper.runs[run].at.clone().filter(|&place| place >= kept);
                aside.for_each(|place| push_one(minorants, taken, place - kept));
            }
            let times = columns[rank].seconds(components.len());
            components.iter().zip(times).for_each(|(&component, seconds)| self.shares.measure(component, seconds));
        }
        Ok(())
    }

    /// Puts results in the order of the components.
    fn merge(
        &mut self,
        which: Option<&[usize]>,
        minorants: &mut Minorants,
        sources: &mut [Rest<'_>],
        is_measured: bool,
    ) -> Result<(), OracleError> {
        self.answers.iter_mut().skip(1).zip(sources).for_each(|(answer, source)| answer.receive_rest(source));
        first_failure(&self.answers)?;
        self.answers[0].copy_rest(&self.helper.evaluated.minorants, &self.helper.runs);
        // The rank that evaluated each component.
        let mut ranks = self.shares.owners().to_vec();
        for (rank, answer) in self.answers.iter().enumerate() {
            let places = answer.runs().flat_map(|(places, _)| places);
            places.for_each(|place| ranks[self.helper.plan.components()[place]] = rank as u32);
        }
        let mut results: Vec<Results<'_>> = self.answers.iter().map(Answer::results).collect();
        let mut gathered = Gathered { minorants, solutions: &mut self.solutions, further: &mut self.further };
        let count = which.map_or(ranks.len(), <[usize]>::len);
        for place in 0..count {
            let component = which.map_or(place, |which| which[place]);
            let seconds = results[ranks[component] as usize].read(&mut gathered);
            if is_measured {
                self.shares.measure(component, seconds);
            }
        }
        Ok(())
    }
}

/// Receives the words of an answer of another rank. `number` counts the answers of each rank. Returns where the rest comes
/// from.
fn receive_words<'a>(
    world: &'a SimpleCommunicator,
    board: Option<&'a Board>,
    (rank, number): (usize, u64),
    answer: &mut Answer,
) -> Rest<'a> {
    if let Some(shelf) = board.and_then(|board| board.take((rank, number), &mut answer.words)) {
        return Rest::Shelf(shelf);
    }
    let process = world.process_at_rank(rank_number(rank));
    receive_into(&process, &mut answer.words);
    Rest::Messages(process)
}

/// Shared memory for components that ranks of a machine take of each other, and for their answers. All ranks call it.
fn board_of(oracle: &dyn SumOracle, ranks: usize) -> Option<Board> {
    // A rank seldom has more than twice its part of the components. A component has at most a number and a coordinate for
    // each variable, and a few words.
    let components = 2 * oracle.component_count().div_ceil(ranks);
    let bytes = components.saturating_mul(12 * oracle.dim() + 64).saturating_add(4096);
    if oracle.parts() == Parts::Anywhere { Board::new(bytes) } else { None }
}

/// The first shares, the same on every rank.
fn shares_of(oracle: &dyn SumOracle, ranks: usize, board: Option<&Board>) -> Shares {
    let shares = Shares::new(oracle.component_count(), ranks, oracle.parts() == Parts::InOnePlace);
    // If all ranks are on one machine, no share has to be exact.
    if board.is_some_and(|board| board.size() == ranks) { shares.in_order() } else { shares }
}

/// Whether ranks can have components dealt to them: one at a time, on one thread.
fn can_deal() -> bool {
    rayon::current_num_threads() == 1
}

/// Sends what components remember from where they were to where they are, if they do. All ranks call it. They send and
/// receive in the order of the components, so no two wait for each other.
fn move_memories(oracle: &mut dyn SumOracle, before: &[u32], after: &[u32], rank: usize) {
    if oracle.parts() != Parts::WithMemory {
        return;
    }
    let world = communicator();
    let process = |rank: u32| world.process_at_rank(rank_number(rank as usize));
    let mut memory: Vec<f64> = vec![];
    for (component, (&from, &to)) in before.iter().zip(after).enumerate().filter(|(_, (from, to))| from != to) {
        if from as usize == rank {
            process(to).send(&oracle.memory(component)[..]);
        } else if to as usize == rank {
            receive_into(&process(from), &mut memory);
            oracle.set_memory(component, &memory);
        }
    }
}

/// Evaluates components for the [`Distributed`] oracle on rank 0, until that one is dropped. `oracle` is the same
/// function there and here.
pub fn serve(world: &World, oracle: &mut dyn SumOracle) {
    let communicator = communicator();
    let root = communicator.process_at_rank(0);
    let dim = oracle.dim();
    let board = board_of(oracle, world.size());
    let mut number = 0;
    let mut shares = shares_of(oracle, world.size(), board.as_ref());
    let (mut request, mut helper, mut words) = (vec![0; HEAD + dim], Helper::default(), vec![]);
    let mut point = vec![0.0; dim];
    loop {
        root.broadcast_into(&mut request[..]);
        let [kind, extra, flags, accuracy, call, grain] = [0, 1, 2, 3, 4, 5].map(|place| request[place]);
        if kind == END {
            return;
        }
        let mut numbers = vec![0_u32; usize::try_from(extra).unwrap_or(0)];
        if extra > 0 {
            root.broadcast_into(&mut numbers[..]);
        }
        let is_set = |flag: u64| flags & flag != 0;
        let owners = if is_set(SHARES) { shares.owners().len() } else { 0 };
        if owners > 0 {
            let before = shares.owners().to_vec();
            shares.set_owners(&numbers[..owners]);
            move_memories(oracle, &before, shares.owners(), world.rank());
        }
        let which: Vec<usize> = numbers[owners..].iter().map(|&component| component as usize).collect();
        let accuracy = f64::from_bits(accuracy);
        if accuracy.is_finite() {
            oracle.wish(accuracy);
        }
        point.iter_mut().zip(&request[HEAD..]).for_each(|(entry, &bits)| *entry = f64::from_bits(bits));
        let is_measured = is_set(TIMES) || kind == DEALT;
        let (keeps_solutions, grain) = (is_set(SOLUTIONS), usize::try_from(grain).unwrap_or(1));
        let terms = Terms { rank: world.rank(), keeps_solutions, is_measured, call, grain, board: board.as_ref() };
        if kind == DEALT {
            play(oracle, &point, terms, &mut helper);
            continue;
        }
        helper.plan.set(shares.owners(), world.size(), (kind == SOME).then_some(&which));
        helper.evaluate(oracle, &point, terms, &mut words);
        number += 1;
        send_answer(&root, board.as_ref(), (world.rank(), number), &words, &helper);
    }
}

/// Puts an answer on the shelf of the rank, with the coordinates and entries of subgradients run by run. If that is not
/// possible, sends it by messages. There is no message if there are no entries. No message waits for the one before.
fn send_answer(root: &Process<'_>, board: Option<&Board>, at: (usize, u64), words: &[u64], helper: &Helper) {
    let minorants = &helper.evaluated.minorants;
    let (coordinates, entries) = minorants.subgradients();
    let runs = if words[0] == FAILED { &[] } else { &helper.runs[..] };
    let parts = runs.iter().map(|run| run.entries(minorants)).filter(|part| !part.is_empty());
    let lists = parts.map(|part| (&coordinates[part.clone()], &entries[part]));
    if board.is_some_and(|board| board.put(at, words, lists.clone())) {
        return;
    }
    mpi::request::scope(|scope| {
        let answer = root.immediate_send(scope, words);
        let send =
            |(coordinates, entries)| (root.immediate_send(scope, coordinates), root.immediate_send(scope, entries));
        let rest: Vec<_> = lists.map(send).collect();
        answer.wait();
        for (coordinates, entries) in rest {
            coordinates.wait();
            entries.wait();
        }
    });
}

impl Drop for Distributed<'_> {
    fn drop(&mut self) {
        self.before = None;
        self.send(END, &[], None, 0);
    }
}

impl Oracle for Distributed<'_> {
    fn dim(&self) -> usize {
        self.oracle.dim()
    }

    fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        self.evaluate_within(point, subgradient).map(|interval| interval.bound)
    }

    fn evaluate_within(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<Interval, OracleError> {
        if self.is_local() {
            return self.oracle.evaluate_within(point, subgradient);
        }
        let mut minorants = std::mem::take(&mut self.minorants);
        minorants.clear();
        let gathered = self.gather(point, None, &mut minorants);
        self.minorants = minorants;
        gathered?;
        // An evaluation of the whole function has no further cuts.
        (self.further_cuts, self.further) = (0, Solutions::new());
        Ok(self.oracle.add_up(point, &self.minorants, subgradient))
    }

    fn wish(&mut self, accuracy: f64) {
        self.accuracy = accuracy;
        self.oracle.wish(accuracy);
    }

    fn domain(&self) -> Domain {
        self.oracle.domain()
    }

    fn sense(&self) -> Sense {
        self.oracle.sense()
    }

    fn minimizer_box(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        self.oracle.minimizer_box()
    }

    fn start(&self) -> Option<Vec<f64>> {
        self.oracle.start()
    }

    /// The work on one thread, as without ranks: no decision depends on their number.
    fn work(&self) -> Option<f64> {
        self.oracle.work()
    }

    fn scales(&self) -> Option<Vec<f64>> {
        self.oracle.scales()
    }

    fn as_sum(&mut self) -> Option<&mut dyn SumOracle> {
        Some(self)
    }

    fn as_primal(&mut self) -> Option<&mut dyn PrimalOracle> {
        if self.keeps_solutions && self.oracle.as_primal().is_some() { Some(self) } else { None }
    }

    fn as_structured(&mut self) -> Option<&mut dyn StructuredOracle> {
        self.oracle.as_structured()
    }
}

impl SumOracle for Distributed<'_> {
    fn component_count(&self) -> usize {
        self.oracle.component_count()
    }

    fn linear(&self) -> &[f64] {
        self.oracle.linear()
    }

    fn evaluate_components(&mut self, point: &[f64], minorants: &mut Minorants) -> Result<(), OracleError> {
        if self.is_local() {
            return self.oracle.evaluate_components(point, minorants);
        }
        self.gather(point, None, minorants)?;
        self.oracle.gathered(point, minorants);
        Ok(())
    }

    fn evaluate_some(
        &mut self,
        components: &[usize],
        point: &[f64],
        minorants: &mut Minorants,
    ) -> Result<(), OracleError> {
        if self.is_local() {
            return self.oracle.evaluate_some(components, point, minorants);
        }
        self.gather(point, Some(components), minorants)
    }

    fn multiplicity(&self, component: usize) -> f64 {
        self.oracle.multiplicity(component)
    }

    fn fingerprint(&self, component: usize) -> Option<u64> {
        self.oracle.fingerprint(component)
    }

    fn reprice(&self, component: usize, coordinates: &[u32], entries: &[f64]) -> Option<f64> {
        self.oracle.reprice(component, coordinates, entries)
    }

    fn prove(&mut self, aggregate: &Lines) -> Option<f64> {
        self.oracle.prove(aggregate)
    }

    fn prove_until(&mut self, aggregate: &Lines, is_over: &dyn Fn() -> bool) -> Option<f64> {
        self.oracle.prove_until(aggregate, is_over)
    }
}

impl PrimalOracle for Distributed<'_> {
    fn write_solutions(&mut self, solutions: &mut Solutions) {
        if self.is_local() {
            if let Some(primal) = self.oracle.as_primal() {
                primal.write_solutions(solutions);
            }
            return;
        }
        solutions.append(&self.solutions);
        if self.further.len() == self.further_cuts {
            solutions.append(&self.further);
        }
    }

    fn line_of(&mut self, component: usize, solution: &mut Primal) -> Option<(f64, Vec<(u32, f64)>)> {
        self.oracle.as_primal()?.line_of(component, solution)
    }
}
