//! Evaluates the components of a rank and writes its answer.

use std::time::Instant;

use bundlenet::{Minorants, OracleError, Solutions, SumOracle};

use crate::answer::{Answer, FAILED, PLAIN, RECORDS};
use crate::wire::{are_plain, put_columns, put_records, put_text};

/// Components that a rank with several threads evaluates in one call, for each thread.
const PER_THREAD: usize = 8;

/// Memory for the evaluation of a share.
#[derive(Default)]
pub(crate) struct Helper {
    /// Of the whole share.
    pub(crate) minorants: Minorants,
    /// Of the components that are evaluated at once.
    pub(crate) part: Minorants,
    pub(crate) solutions: Solutions,
    pub(crate) share: Vec<usize>,
    /// Times of the components, if they are taken.
    pub(crate) seconds: Vec<f64>,
}

/// How a share is evaluated.
#[derive(Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) rank: u32,
    pub(crate) keeps_solutions: bool,
    /// Whether the time of each component is taken.
    pub(crate) is_measured: bool,
}

impl Helper {
    /// Chooses the components of a rank among all, or among the given ones.
    pub(crate) fn choose(&mut self, owners: &[u32], rank: u32, which: Option<&[usize]>) {
        self.share.clear();
        match which {
            None => self.share.extend((0..owners.len()).filter(|&component| owners[component] == rank)),
            Some(which) => self.share.extend(which.iter().copied().filter(|&component| owners[component] == rank)),
        }
    }

    /// Evaluates the share and writes the answer, but for the subgradients.
    pub(crate) fn evaluate(&mut self, oracle: &mut dyn SumOracle, point: &[f64], terms: Terms, answer: &mut Vec<u64>) {
        answer.clear();
        answer.extend([PLAIN, 0, 0]);
        self.minorants.clear();
        self.seconds.clear();
        let share = std::mem::take(&mut self.share);
        let at_once = match rayon::current_num_threads() {
            _ if !terms.is_measured => share.len().max(1),
            1 => 1,
            threads => PER_THREAD * threads,
        };
        for components in share.chunks(at_once) {
            let begin = Instant::now();
            if let Err((component, error)) = self.evaluate_some(oracle, components, point, terms) {
                answer.clear();
                answer.extend([FAILED, component as u64]);
                put_text(answer, &error.to_string());
                break;
            }
            let seconds = begin.elapsed().as_secs_f64() / components.len() as f64;
            self.take_part(terms.is_measured.then_some(seconds), answer);
        }
        self.share = share;
        match answer[0] {
            FAILED => return,
            PLAIN => put_columns(answer, &self.minorants, &self.seconds),
            _ => {}
        }
        answer[1] = self.minorants.len() as u64;
        answer[2] = self.minorants.subgradients().0.len() as u64;
    }

    /// Evaluates one component and writes the whole answer.
    pub(crate) fn evaluate_one(
        &mut self,
        oracle: &mut dyn SumOracle,
        component: usize,
        point: &[f64],
        terms: Terms,
        answer: &mut Answer,
    ) {
        self.share.clear();
        self.share.push(component);
        self.evaluate(oracle, point, terms, &mut answer.words);
        answer.coordinates.clear();
        answer.entries.clear();
        if !answer.is_failure() {
            let (coordinates, entries) = self.minorants.subgradients();
            answer.coordinates.extend_from_slice(coordinates);
            answer.entries.extend_from_slice(entries);
        }
    }

    /// Adds the components that were evaluated at once to the share. Records are written as soon as one is needed.
    pub(crate) fn take_part(&mut self, seconds: Option<f64>, answer: &mut Vec<u64>) {
        if answer[0] == PLAIN && !are_plain(&self.part, &self.solutions) {
            answer[0] = RECORDS;
            put_records(answer, &self.seconds, &self.minorants, &Solutions::new());
        }
        let first = self.seconds.len();
        if let Some(seconds) = seconds {
            self.seconds.resize(first + self.part.len(), seconds);
        }
        if answer[0] == RECORDS {
            put_records(answer, &self.seconds[first..], &self.part, &self.solutions);
        }
        if self.minorants.is_empty() {
            std::mem::swap(&mut self.minorants, &mut self.part);
        } else {
            self.minorants.append(&self.part);
        }
    }

    /// Evaluates some components; an error with the first one that failed.
    pub(crate) fn evaluate_some(
        &mut self,
        oracle: &mut dyn SumOracle,
        components: &[usize],
        point: &[f64],
        terms: Terms,
    ) -> Result<(), (usize, OracleError)> {
        self.part.clear();
        self.solutions.clear();
        if let Err(error) = oracle.evaluate_some(components, point, &mut self.part) {
            return Err(self.find_failure(oracle, components, point, error));
        }
        let (expected, found) = (components.len(), self.part.len());
        if found != expected {
            let message = format!("expected {expected} minorants, found {found} on rank {}", terms.rank);
            return Err((components[0], message.into()));
        }
        if let Some(primal) = oracle.as_primal().filter(|_| terms.keeps_solutions) {
            primal.write_solutions(&mut self.solutions);
            let further = self.part.more().count();
            let found = self.solutions.len();
            if found != expected && found != expected + further {
                let message = format!("expected {expected} primal solutions, found {found}");
                return Err((components[0], message.into()));
            }
        }
        Ok(())
    }

    /// The component that failed in a call for several.
    pub(crate) fn find_failure(
        &mut self,
        oracle: &mut dyn SumOracle,
        components: &[usize],
        point: &[f64],
        error: OracleError,
    ) -> (usize, OracleError) {
        if let [component] = components {
            return (*component, error);
        }
        for &component in components {
            self.part.clear();
            if let Err(error) = oracle.evaluate_some(&[component], point, &mut self.part) {
                return (component, error);
            }
        }
        (components[0], error)
    }
}
