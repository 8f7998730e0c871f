//! A sum whose components are evaluated by all ranks.
//!
//! Cheap components have shares, dear ones are dealt within a call (module `deal`). This is the way of shares.
//!
//! Rank 0 runs the method. For each evaluation it sends one message to all: the request and the point. Every rank
//! evaluates its share and sends three messages back: values, and the coordinates and entries of all subgradients. The
//! latter two are sent and received as they lie in memory. Results are put together in the order of the components, so
//! they do not depend on the shares.

use bundlenet::{
    Domain, Interval, Lines, Minorants, Oracle, OracleError, Parts, Primal, PrimalOracle, Sense, Solutions,
    StructuredOracle, SumOracle,
};
use mpi::traits::{Communicator, Destination, Root};

use crate::answer::{Answer, FAILED, first_failure, receive_entries, receive_into};
use crate::deal::{deal, play};
use crate::helper::{Helper, Terms};
use crate::shares::Shares;
use crate::wire::{Gathered, Results};
use crate::world::{World, communicator, rank_number};

/// Time that an evaluation over ranks takes beside the evaluation of components, in seconds.
const OVERHEAD: f64 = 50e-6;

/// Words of a request before the point.
const HEAD: usize = 4;

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
/// evaluations. Components of a millisecond and more are dealt within an evaluation, if ranks have one thread each:
/// whoever is free gets the next one. Components that remember their evaluations take their memory with them
/// ([`Parts::WithMemory`]) or stay where they are ([`Parts::InOnePlace`]). An oracle that evaluates all of its components
/// in one call ([`Parts::Together`]) does so on rank 0 alone.
pub struct Distributed<'a> {
    world: &'a World,
    oracle: &'a mut dyn SumOracle,
    shares: Shares,
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
        let mut shares = Shares::new(oracle.component_count(), world.size(), oracle.parts() == Parts::InOnePlace);
        // Components that remember, as MIP blocks, are dear until their times are known.
        let is_dealing = oracle.parts() == Parts::WithMemory && world.size() > 1 && can_deal();
        Self {
            answers: vec![Answer::default(); world.size()],
            request: vec![],
            before: is_dealing.then(|| shares.move_to_first()),
            shares,
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
    fn send(&mut self, kind: u64, point: &[f64], which: Option<&[usize]>) {
        let before = self.before.take();
        let owners = if before.is_some() { self.shares.owners() } else { &[] };
        let extra = which.map_or(0, <[usize]>::len) + owners.len();
        let flag = |flag: u64, is_set: bool| if is_set { flag } else { 0 };
        let flags = flag(SOLUTIONS, self.keeps_solutions)
            | flag(SHARES, before.is_some())
            | flag(TIMES, self.shares.is_measured());
        self.request.clear();
        self.request.extend([kind, extra as u64, flags, self.accuracy.to_bits()]);
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
        self.send(DEALT, point, None);
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
    fn terms(&self, is_measured: bool) -> Terms {
        Terms { rank: 0, keeps_solutions: self.keeps_solutions, is_measured }
    }

    /// Evaluates components by shares, and appends their results in order.
    fn share(&mut self, point: &[f64], which: Option<&[usize]>, minorants: &mut Minorants) -> Result<(), OracleError> {
        let is_measured = self.shares.is_measured();
        self.send(if which.is_some() { SOME } else { ALL }, point, which);
        self.helper.choose(self.shares.owners(), 0, which);
        let terms = self.terms(is_measured);
        let is_in_order = which.is_none() && self.shares.owners().is_sorted() && minorants.is_empty();
        if is_in_order {
            // The own share is written where it may stay.
            std::mem::swap(minorants, &mut self.helper.part);
            minorants.clear();
        }
        self.helper.evaluate(self.oracle, point, terms, &mut self.answers[0].words);
        let world = communicator();
        for (rank, answer) in self.answers.iter_mut().enumerate().skip(1) {
            receive_into(&world.process_at_rank(rank_number(rank)), &mut answer.words);
        }
        self.solutions.clear();
        self.further.clear();
        if is_in_order && self.answers.iter().all(Answer::is_plain) {
            self.join(minorants)?;
        } else {
            self.merge(which, minorants, is_measured)?;
        }
        self.before = self.shares.balance();
        if is_measured && self.shares.are_dear() && can_deal() {
            self.is_dealing = true;
            let owners = self.shares.move_to_first();
            self.before.get_or_insert(owners);
        }
        self.further_cuts = minorants.more().count();
        Ok(())
    }

    /// Puts plain results of consecutive components one after the other. Nothing is copied: the own share becomes the
    /// list, and MPI writes into its end.
    fn join(&mut self, minorants: &mut Minorants) -> Result<(), OracleError> {
        std::mem::swap(minorants, &mut self.helper.minorants);
        let (world, mut first) = (communicator(), 0);
        for (rank, answer) in self.answers.iter().enumerate() {
            let (count, columns) = (answer.component_count(), answer.columns());
            if rank > 0 && count > 0 {
                let process = world.process_at_rank(rank_number(rank));
                let is_right = minorants.push_written(count, answer.entry_count(), |room| {
                    columns.write(room.values, room.ends);
                    receive_entries(&process, room.coordinates, room.entries);
                    true
                });
                is_right.then_some(()).ok_or_else(|| format!("rank {rank}: expected subgradients in order"))?;
            }
            columns.seconds().enumerate().for_each(|(place, seconds)| self.shares.measure(first + place, seconds));
            first += count;
        }
        Ok(())
    }

    /// Puts results in the order of the components.
    fn merge(
        &mut self,
        which: Option<&[usize]>,
        minorants: &mut Minorants,
        is_measured: bool,
    ) -> Result<(), OracleError> {
        let world = communicator();
        for (rank, answer) in self.answers.iter_mut().enumerate().skip(1) {
            answer.receive_rest(&world.process_at_rank(rank_number(rank)));
        }
        first_failure(&self.answers)?;
        let mut results: Vec<Results<'_>> = self.answers.iter().map(Answer::results).collect();
        (results[0].coordinates, results[0].entries) = self.helper.minorants.subgradients();
        let mut gathered = Gathered { minorants, solutions: &mut self.solutions, further: &mut self.further };
        let count = which.map_or(self.shares.owners().len(), <[usize]>::len);
        for place in 0..count {
            let component = which.map_or(place, |which| which[place]);
            let owner = self.shares.owners()[component] as usize;
            let seconds = results[owner].read(&mut gathered);
            if is_measured {
                self.shares.measure(component, seconds);
            }
        }
        Ok(())
    }
}

/// Whether ranks can have components dealt to them: one at a time, on one thread.
fn can_deal() -> bool {
    rayon::current_num_threads() == 1
}

/// Sends what components remember from where they were to where they are, if they do. All ranks call it. They send and
/// receive in the order of the components, so no two wait for each other.
fn move_memories(oracle: &mut dyn SumOracle, before: &[u32], after: &[u32], rank: u32) {
    if oracle.parts() != Parts::WithMemory {
        return;
    }
    let world = communicator();
    let process = |rank: u32| world.process_at_rank(rank_number(rank as usize));
    let mut memory: Vec<f64> = vec![];
    for (component, (&from, &to)) in before.iter().zip(after).enumerate().filter(|(_, (from, to))| from != to) {
        if from == rank {
            process(to).send(&oracle.memory(component)[..]);
        } else if to == rank {
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
    let rank = u32::try_from(world.rank()).unwrap_or(u32::MAX);
    let mut shares = Shares::new(oracle.component_count(), world.size(), true);
    let (mut request, mut helper, mut words) = (vec![0; HEAD + dim], Helper::default(), vec![]);
    let mut point = vec![0.0; dim];
    loop {
        root.broadcast_into(&mut request[..]);
        let [kind, extra, flags, accuracy] = [0, 1, 2, 3].map(|place| request[place]);
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
            move_memories(oracle, &before, shares.owners(), rank);
        }
        let which: Vec<usize> = numbers[owners..].iter().map(|&component| component as usize).collect();
        let accuracy = f64::from_bits(accuracy);
        if accuracy.is_finite() {
            oracle.wish(accuracy);
        }
        point.iter_mut().zip(&request[HEAD..]).for_each(|(entry, &bits)| *entry = f64::from_bits(bits));
        let is_measured = is_set(TIMES) || kind == DEALT;
        let terms = Terms { rank, keeps_solutions: is_set(SOLUTIONS), is_measured };
        if kind == DEALT {
            play(oracle, &point, terms, &mut helper);
            continue;
        }
        helper.choose(shares.owners(), rank, (kind == SOME).then_some(&which));
        helper.evaluate(oracle, &point, terms, &mut words);
        root.send(&words[..]);
        let (coordinates, entries) = helper.minorants.subgradients();
        if words[0] != FAILED && !entries.is_empty() {
            root.send(coordinates);
            root.send(entries);
        }
    }
}

impl Drop for Distributed<'_> {
    fn drop(&mut self) {
        self.before = None;
        self.send(END, &[], None);
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
