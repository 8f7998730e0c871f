//! Evaluates the components of a rank and writes its answer.

use std::ops::Range;
use std::time::Instant;

use bundlenet::{Minorants, OracleError, Solutions, SumOracle};

use crate::answer::{Answer, FAILED, PLAIN, RECORDS};
use crate::board::Board;
use crate::claims::{Plan, take};
use crate::wire::{Evaluated, Run, are_plain, put_columns, put_records, put_text};

/// Components that a rank with several threads evaluates in one call, for each thread.
const PER_THREAD: usize = 8;

/// Memory for the evaluation of a share.
#[derive(Default)]
pub(crate) struct Helper {
    pub(crate) plan: Plan,
    /// In the order of evaluation.
    pub(crate) evaluated: Evaluated,
    /// Which components were evaluated, in the order of the plan once the answer is written.
    pub(crate) runs: Vec<Run>,
    /// Of the components that are evaluated at once.
    part: Solutions,
}

/// How a share is evaluated.
#[derive(Clone, Copy)]
pub(crate) struct Terms<'a> {
    pub(crate) rank: usize,
    pub(crate) keeps_solutions: bool,
    /// Whether times are taken.
    pub(crate) is_measured: bool,
    /// Number of the call if ranks of a machine may take components of each other, else 0.
    pub(crate) call: u64,
    /// Components that take long enough for a call of the oracle.
    pub(crate) grain: usize,
    pub(crate) board: Option<&'a Board>,
}

impl Terms<'_> {
    /// Least number of components that are evaluated at once, while there are as many.
    fn least(&self) -> usize {
        match rayon::current_num_threads() {
            1 => self.grain.max(1),
            threads => self.grain.max(PER_THREAD) * threads,
        }
    }
}

impl Helper {
    /// Evaluates the share, and what others leave, and writes the answer, but for the subgradients.
    pub(crate) fn evaluate(
        &mut self,
        oracle: &mut dyn SumOracle,
        point: &[f64],
        terms: Terms<'_>,
        answer: &mut Vec<u64>,
    ) {
        self.clear();
        let plan = std::mem::take(&mut self.plan);
        let mut failed = Ok(());
        while failed.is_ok() {
            let Some(places) = self.next(&plan, terms) else { break };
            self.begin_run(&places);
            let at_once = if terms.is_measured { terms.least() } else { places.len() };
            let mut parts = plan.components()[places].chunks(at_once);
            failed = parts.try_for_each(|components| self.evaluate_part(oracle, components, point, terms));
        }
        self.plan = plan;
        self.write(failed, answer);
    }

    /// Evaluates one component and writes the whole answer.
    pub(crate) fn evaluate_one(
        &mut self,
        oracle: &mut dyn SumOracle,
        component: usize,
        point: &[f64],
        terms: Terms<'_>,
        answer: &mut Answer,
    ) {
        self.clear();
        self.begin_run(&(0..1));
        let failed = self.evaluate_part(oracle, &[component], point, terms);
        self.write(failed, &mut answer.words);
        answer.coordinates.clear();
        answer.entries.clear();
        if !answer.is_failure() {
            let (coordinates, entries) = self.evaluated.minorants.subgradients();
            answer.coordinates.extend_from_slice(coordinates);
            answer.entries.extend_from_slice(entries);
        }
    }

    fn clear(&mut self) {
        self.evaluated.clear();
        self.runs.clear();
    }

    /// The places of the plan that are evaluated next: the whole share, unless ranks take components of each other.
    fn next(&self, plan: &Plan, terms: Terms<'_>) -> Option<Range<usize>> {
        match terms.board.filter(|_| terms.call > 0) {
            Some(board) => take(board.words(), plan.shares(), terms.rank, terms.call, terms.least()),
            None => Some(plan.shares()[terms.rank].clone()).filter(|share| self.runs.is_empty() && !share.is_empty()),
        }
    }

    /// Takes note of places that are evaluated next.
    fn begin_run(&mut self, places: &Range<usize>) {
        let first = self.evaluated.minorants.len();
        match self.runs.last_mut().filter(|run| run.first + run.at.len() == places.start) {
            Some(run) => run.at.end += places.len(),
            None => self.runs.push(Run { first: places.start, at: first..first + places.len() }),
        }
    }

    /// Writes the answer.
    fn write(&mut self, failed: Result<(), (usize, OracleError)>, answer: &mut Vec<u64>) {
        answer.clear();
        if let Err((component, error)) = failed {
            answer.extend([FAILED, component as u64]);
            return put_text(answer, &error.to_string());
        }
        self.runs.sort_by_key(|run| run.first);
        let is_plain = are_plain(&self.evaluated);
        let minorants = &self.evaluated.minorants;
        let sizes = [minorants.len(), minorants.subgradients().0.len(), self.runs.len()];
        answer.push(if is_plain { PLAIN } else { RECORDS });
        answer.extend(sizes.map(|size| size as u64));
        for run in &self.runs {
            answer.extend([run.first, run.at.len(), run.entries(minorants).len()].map(|size| size as u64));
        }
        if is_plain {
            put_columns(answer, &self.runs, &self.evaluated);
        } else {
            put_records(answer, &self.runs, &self.evaluated);
        }
    }

    /// Keeps the components of a list of plain results that come first in the plan, and puts the others aside: in the
    /// order of the plan, those of other ranks are before them. Returns the number of those that are kept.
    pub(crate) fn set_aside(&mut self, minorants: &mut Minorants) -> usize {
        let first = self.runs.first().filter(|run| run.first == 0 && run.at.start == 0);
        let kept = first.map_or(0, |run| run.at.end);
        let aside = &mut self.evaluated.minorants;
        aside.clear();
        (kept..minorants.len()).for_each(|place| push_one(aside, minorants, place));
        minorants.truncate(kept);
        kept
    }

    /// Evaluates some components and appends their results; an error with the first one that failed.
    fn evaluate_part(
        &mut self,
        oracle: &mut dyn SumOracle,
        components: &[usize],
        point: &[f64],
        terms: Terms<'_>,
    ) -> Result<(), (usize, OracleError)> {
        let begin = terms.is_measured.then(Instant::now);
        let Evaluated { minorants, seconds, .. } = &mut self.evaluated;
        let before = (minorants.len(), minorants.more().len());
        if let Err(error) = oracle.evaluate_some(components, point, minorants) {
            return Err(find_failure(oracle, components, point, error));
        }
        let (expected, found) = (components.len(), minorants.len() - before.0);
        if found != expected {
            let message = format!("expected {expected} minorants, found {found} on rank {}", terms.rank);
            return Err((components[0], message.into()));
        }
        let further = minorants.more().len() - before.1;
        if let Some(begin) = begin {
            seconds.resize(seconds.len() + expected, begin.elapsed().as_secs_f64() / expected as f64);
        }
        if let Some(primal) = oracle.as_primal().filter(|_| terms.keeps_solutions) {
            self.part.clear();
            primal.write_solutions(&mut self.part);
            let found = self.part.len();
            if found != expected && found != expected + further {
                let message = format!("expected {expected} primal solutions, found {found}");
                return Err((components[0], message.into()));
            }
            self.evaluated.push_solutions(&self.part, expected);
        }
        Ok(())
    }
}

/// Appends a component of a list of plain results.
pub(crate) fn push_one(minorants: &mut Minorants, list: &Minorants, place: usize) {
    let (coordinates, entries) = list.subgradient(place);
    minorants.push_slices(list.values()[place], coordinates, entries);
}

/// The component that failed in a call for several.
fn find_failure(
    oracle: &mut dyn SumOracle,
    components: &[usize],
    point: &[f64],
    error: OracleError,
) -> (usize, OracleError) {
    if let [component] = components {
        return (*component, error);
    }
    let mut minorants = Minorants::new();
    for &component in components {
        minorants.clear();
        if let Err(error) = oracle.evaluate_some(&[component], point, &mut minorants) {
            return (component, error);
        }
    }
    (components[0], error)
}
