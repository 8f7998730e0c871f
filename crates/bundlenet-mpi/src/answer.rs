//! The answer of a rank to a request: the results of its components.

use std::ops::Range;

use bundlenet::{Minorants, OracleError};
use mpi::datatype::traits::Equivalence;
use mpi::topology::Process;
use mpi::traits::Source;

use crate::board::Shelf;
use crate::wire::{Columns, Numbers, Results, Run, Words};

/// First word of an answer: its results are columns, it failed, or its results are records.
pub(crate) const PLAIN: u64 = 0;
pub(crate) const FAILED: u64 = 1;
pub(crate) const RECORDS: u64 = 2;

/// Words of an answer before its runs: its kind, and the numbers of components, of entries of all their subgradients, and
/// of runs.
const ANSWER_HEAD: usize = 4;

/// Words of a run: its first place in the plan, and the numbers of components and of entries.
const RUN: usize = 3;

/// The answer of a rank.
#[derive(Clone, Default)]
pub(crate) struct Answer {
    pub(crate) words: Vec<u64>,
    /// Of all subgradients. Those of the own share stay where they were evaluated.
    pub(crate) coordinates: Vec<u32>,
    pub(crate) entries: Vec<f64>,
}

impl Answer {
    pub(crate) fn is_failure(&self) -> bool {
        self.words.first() == Some(&FAILED)
    }

    /// The error that a failure is.
    pub(crate) fn failure(&self, rank: usize) -> OracleError {
        let (component, message) = (self.words[1], Words(&self.words[2..]).text());
        format!("rank {rank}, component {component}: {message}").into()
    }

    /// The answer with the subgradients and a memory, as one message.
    pub(crate) fn pack(&self, memory: &[f64]) -> Vec<u64> {
        let sizes = [self.words.len(), self.entries.len()].map(|size| size as u64);
        let mut message = Vec::with_capacity(sizes.len() + self.words.len() + 2 * self.entries.len() + memory.len());
        message.extend(sizes);
        message.extend_from_slice(&self.words);
        message.extend(self.coordinates.iter().map(|&coordinate| u64::from(coordinate)));
        message.extend(self.entries.iter().chain(memory).map(|number| number.to_bits()));
        message
    }

    /// Takes the answer out of such a message. Returns the memory.
    pub(crate) fn unpack(&mut self, message: &[u64]) -> Vec<f64> {
        let mut rest = message;
        let mut take = |count: usize| {
            let (part, after) = rest.split_at(count.min(rest.len()));
            rest = after;
            part
        };
        let size = |word: Option<&u64>| word.and_then(|&word| usize::try_from(word).ok()).unwrap_or(0);
        let numbers = |words: &[u64]| -> Vec<f64> { words.iter().map(|&word| f64::from_bits(word)).collect() };
        let sizes = take(2);
        let (words, entries) = (size(sizes.first()), size(sizes.get(1)));
        self.words = take(words).to_vec();
        self.coordinates = take(entries).iter().map(|&word| word as u32).collect();
        self.entries = numbers(take(entries));
        numbers(rest)
    }

    /// Receives the subgradients, run by run.
    pub(crate) fn receive_rest(&mut self, source: &mut Rest<'_>) {
        let count = self.head(2);
        self.coordinates.resize(count, 0);
        self.entries.resize(count, 0.0);
        let mut first = 0;
        for entries in self.runs().map(|(_, entries)| entries).collect::<Vec<_>>() {
            let part = first..first + entries;
            source.receive(&mut self.coordinates[part.clone()], &mut self.entries[part]);
            first += entries;
        }
    }

    /// Takes the subgradients from a list in the order of evaluation.
    pub(crate) fn copy_rest(&mut self, minorants: &Minorants, runs: &[Run]) {
        let (coordinates, entries) = minorants.subgradients();
        self.coordinates.clear();
        self.entries.clear();
        for run in runs {
            let part = run.entries(minorants);
            self.coordinates.extend_from_slice(&coordinates[part.clone()]);
            self.entries.extend_from_slice(&entries[part]);
        }
    }

    /// Whether its results are columns.
    pub(crate) fn is_plain(&self) -> bool {
        self.words.first() == Some(&PLAIN)
    }

    /// A number of its head; 0 for a failure.
    fn head(&self, place: usize) -> usize {
        let word = self.words.get(place).filter(|_| !self.is_failure());
        word.and_then(|&word| usize::try_from(word).ok()).unwrap_or(0)
    }

    /// The places of each run in the plan, and the number of entries of its subgradients; in the order of the plan.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (Range<usize>, usize)> {
        let words = self.words.get(ANSWER_HEAD..self.results_begin()).unwrap_or_default();
        words.chunks_exact(RUN).map(|run| {
            let [first, count, entries] = [0, 1, 2].map(|at| usize::try_from(run[at]).unwrap_or(0));
            (first..first + count, entries)
        })
    }

    /// Place of the results in the words.
    fn results_begin(&self) -> usize {
        ANSWER_HEAD + RUN * self.head(3)
    }

    pub(crate) fn columns(&self) -> Columns<'_> {
        Columns::new(self.words.get(self.results_begin()..).unwrap_or_default(), self.head(1))
    }

    pub(crate) fn results(&self) -> Results<'_> {
        let numbers = match self.is_plain() {
            true => Numbers::Columns(self.columns()),
            false => Numbers::Records(Words(self.words.get(self.results_begin()..).unwrap_or_default())),
        };
        Results { numbers, coordinates: &self.coordinates, entries: &self.entries }
    }
}

/// Consecutive components that a rank evaluated.
pub(crate) struct Piece {
    /// In the plan.
    pub(crate) places: Range<usize>,
    pub(crate) rank: usize,
    /// Number of the run in the answer of the rank.
    pub(crate) run: usize,
    /// Number of entries of the subgradients.
    pub(crate) entries: usize,
}

/// All that ranks evaluated, in the order of the plan. It is that of the results of each rank, too.
pub(crate) fn pieces(answers: &[Answer]) -> Vec<Piece> {
    let mut all = vec![];
    for (rank, answer) in answers.iter().enumerate() {
        let runs = answer.runs().enumerate();
        all.extend(runs.map(|(run, (places, entries))| Piece { places, rank, run, entries }));
    }
    all.sort_by_key(|piece| piece.places.start);
    all
}

/// The failure of the first component in order that failed.
pub(crate) fn first_failure(answers: &[Answer]) -> Result<(), OracleError> {
    let failed = answers.iter().enumerate().filter(|(_, answer)| answer.is_failure());
    let first = failed.min_by_key(|(_, answer)| answer.words.get(1).copied());
    first.map_or(Ok(()), |(rank, answer)| Err(answer.failure(rank)))
}

/// Where the subgradients of another rank come from, after the words of its answer.
pub(crate) enum Rest<'a> {
    Messages(Process<'a>),
    Shelf(Shelf<'a>),
}

impl Rest<'_> {
    /// Receives coordinates and entries of a run. There is no message if there are none.
    pub(crate) fn receive(&mut self, coordinates: &mut [u32], entries: &mut [f64]) {
        match self {
            Self::Messages(process) if !entries.is_empty() => {
                process.receive_into(coordinates);
                process.receive_into(entries);
            }
            Self::Messages(_) => {}
            Self::Shelf(shelf) => {
                shelf.read(coordinates);
                shelf.read(entries);
            }
        }
    }
}

/// Receives a message of any length.
pub(crate) fn receive_into<T: Equivalence + Clone + Default>(process: &Process<'_>, list: &mut Vec<T>) {
    let (message, status) = process.matched_probe();
    let count = usize::try_from(status.count(T::equivalent_datatype())).unwrap_or(0);
    list.resize(count, T::default());
    message.matched_receive_into(&mut list[..]);
}
