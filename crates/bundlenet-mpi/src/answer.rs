//! The answer of a rank to a request: the results of its components.

use bundlenet::OracleError;
use mpi::datatype::traits::Equivalence;
use mpi::topology::Process;
use mpi::traits::Source;

use crate::wire::{Columns, Numbers, Results, Words};

/// First word of an answer: its results are columns, it failed, or its results are records.
pub(crate) const PLAIN: u64 = 0;
pub(crate) const FAILED: u64 = 1;
pub(crate) const RECORDS: u64 = 2;

/// Words of an answer before the results: its kind, and the numbers of components and of entries of all their
/// subgradients.
const ANSWER_HEAD: usize = 3;

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

    /// Receives the subgradients.
    pub(crate) fn receive_rest(&mut self, process: &Process<'_>) {
        let count = self.entry_count();
        self.coordinates.resize(count, 0);
        self.entries.resize(count, 0.0);
        receive_entries(process, &mut self.coordinates, &mut self.entries);
    }

    /// Whether its results are columns.
    pub(crate) fn is_plain(&self) -> bool {
        self.words.first() == Some(&PLAIN)
    }

    /// A number of its head; 0 for a failure.
    pub(crate) fn head(&self, place: usize) -> usize {
        let word = self.words.get(place).filter(|_| !self.is_failure());
        word.and_then(|&word| usize::try_from(word).ok()).unwrap_or(0)
    }

    pub(crate) fn component_count(&self) -> usize {
        self.head(1)
    }

    /// Number of entries of all subgradients.
    pub(crate) fn entry_count(&self) -> usize {
        self.head(2)
    }

    pub(crate) fn columns(&self) -> Columns<'_> {
        Columns::new(self.words.get(ANSWER_HEAD..).unwrap_or_default(), self.component_count())
    }

    pub(crate) fn results(&self) -> Results<'_> {
        let numbers = match self.is_plain() {
            true => Numbers::Columns(self.columns()),
            false => Numbers::Records(Words(self.words.get(ANSWER_HEAD..).unwrap_or_default())),
        };
        Results { numbers, coordinates: &self.coordinates, entries: &self.entries }
    }
}

/// The failure of the first component in order that failed.
pub(crate) fn first_failure(answers: &[Answer]) -> Result<(), OracleError> {
    let failed = answers.iter().enumerate().filter(|(_, answer)| answer.is_failure());
    let first = failed.min_by_key(|(_, answer)| answer.words.get(1).copied());
    first.map_or(Ok(()), |(rank, answer)| Err(answer.failure(rank)))
}

/// Receives coordinates and entries of subgradients. There is no message if there are none.
pub(crate) fn receive_entries(process: &Process<'_>, coordinates: &mut [u32], entries: &mut [f64]) {
    if !entries.is_empty() {
        process.receive_into(coordinates);
        process.receive_into(entries);
    }
}

/// Receives a message of any length.
pub(crate) fn receive_into<T: Equivalence + Clone + Default>(process: &Process<'_>, list: &mut Vec<T>) {
    let (message, status) = process.matched_probe();
    let count = usize::try_from(status.count(T::equivalent_datatype())).unwrap_or(0);
    list.resize(count, T::default());
    message.matched_receive_into(&mut list[..]);
}
