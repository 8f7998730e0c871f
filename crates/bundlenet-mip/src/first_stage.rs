//! The search for a first-stage solution that is feasible for all scenarios.
//!
//! Candidates come from the run of the dual: the mean of its convex combination, the solutions of the scenarios behind
//! its cuts, and the quantiles of these, column by column. A candidate is first priced with the linear relaxation of
//! every second stage. That is fast, it refuses most infeasible candidates, and it bounds the value of the others.
//! Those with the best bounds are then priced in full.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bundlenet::{Parallel, Primal, State};
use rayon::prelude::*;

use crate::dual::BlockDual;
use crate::error::Error;
use crate::general::General;
use crate::scenario::Scenario;
use crate::two_stage::TwoStage;
use crate::watch::Watch;

/// Candidates that are priced with linear relaxations.
const MOST_SCREENED: usize = 60;

/// Part of the time of a search in which candidates are priced with linear relaxations, at most.
const SCREENING_SHARE: f64 = 0.3;

/// Candidates that are priced in full.
const MOST_TRIED: usize = 10;

/// Solutions of scenarios that are screened before the quantiles: those that most scenarios have.
const MOST_FIRST: usize = 10;

/// Gap of a second stage that is priced in full, over its linear relaxation.
const GAP: f64 = 1e-4;

/// Quantiles that are candidates: 0, 1/8, ..., 1.
const QUANTILES: usize = 8;

/// Scenarios that are solved between two comparisons with the best value. The number of threads does not matter.
const CHUNK: usize = 16;

/// The best first-stage solution that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct FirstStage {
    /// Expected value of the objective with the best second stage of every scenario.
    pub value: f64,
    /// Values by the names of columns.
    pub columns: Vec<(String, f64)>,
    /// Solutions that were tried.
    pub tried: usize,
}

/// First-stage values of a scenario, the newest first.
type Copies = Vec<Vec<f64>>;

/// A search over the candidates of a program. Values are to be minimised.
pub(crate) struct Search<'a> {
    stages: &'a TwoStage,
    /// The linear relaxation of each scenario. It keeps its basis.
    relaxed: Vec<Mutex<General>>,
    watch: Watch,
    best: Option<(f64, Vec<f64>)>,
    tried: usize,
}

impl TwoStage {
    /// Part of a limit of time to keep for [`TwoStage::best_first_stage`].
    pub const SEARCH_SHARE: f64 = 0.25;

    /// Searches for a first-stage solution that is feasible for all scenarios. Candidates are the mean of a convex
    /// combination, with whole columns rounded, and the solutions of the scenarios behind the cuts of the run, or at the
    /// best point if there are none. `None` if no candidate is feasible for all scenarios within the limit of time.
    ///
    /// # Errors
    /// If there are no cuts, and the dual cannot be evaluated at the point.
    pub fn best_first_stage(
        &self,
        dual: &Parallel<BlockDual>,
        (state, primal): (&State, Option<&Primal>),
        watch: Watch,
    ) -> Result<Option<FirstStage>, Error> {
        let mut copies = copies_of(self, state);
        if copies.iter().any(Vec::is_empty) {
            let values = dual.components().solutions(state.point(), self.blocks().columns())?;
            copies = self.copies(&values).map(|copy| vec![self.rounded(copy)]).collect();
        }
        let mean = primal
            .map(|primal| self.rounded(self.mean_first_stage(primal).into_iter().map(|(_, value)| value).collect()));
        let mut search = Search::new(self, watch)?;
        search.run(candidates(self, mean, &copies));
        Ok(search.found())
    }
}

/// A candidate with the bounds that the linear relaxations give for each scenario, times probabilities.
struct Screened {
    candidate: Vec<f64>,
    bounds: Vec<f64>,
}

impl Screened {
    fn value(&self) -> f64 {
        self.bounds.iter().sum()
    }
}

fn second_stage(scenario: &Scenario, is_relaxed: bool, watch: Watch) -> Result<General, Error> {
    let mut model = scenario.model.clone();
    if is_relaxed {
        model.columns.iter_mut().for_each(|column| column.is_integer = false);
    }
    General::new(&format!("scenario {}", scenario.name), model, watch)
}

impl<'a> Search<'a> {
    pub(crate) fn new(stages: &'a TwoStage, watch: Watch) -> Result<Self, Error> {
        let relaxed = stages.scenarios().iter().map(|it| second_stage(it, true, watch).map(Mutex::new));
        Ok(Self { stages, relaxed: relaxed.collect::<Result<_, Error>>()?, watch, best: None, tried: 0 })
    }

    /// Tries candidates. The first ones are the best ones if there is little time.
    pub(crate) fn run(&mut self, candidates: Vec<Vec<f64>>) {
        let mut screened: Vec<Screened> = vec![];
        let screening = self.watch.part(SCREENING_SHARE);
        for candidate in candidates {
            // One feasible candidate is needed in any case.
            if self.watch.is_over() || (screening.is_over() && !screened.is_empty()) {
                break;
            }
            screened.extend(self.screen(candidate));
        }
        screened.sort_by(|a, b| a.value().total_cmp(&b.value()));
        for it in screened.into_iter().take(MOST_TRIED) {
            if self.watch.is_over() || !self.may_gain(it.value()) {
                break;
            }
            self.price(it);
        }
    }

    /// Whether a solution with this bound may be better than the best one.
    fn may_gain(&self, bound: f64) -> bool {
        self.best.as_ref().is_none_or(|(best, _)| bound < *best)
    }

    /// Prices the linear relaxations of a candidate. `None` if one of them has no solution.
    fn screen(&self, candidate: Vec<f64>) -> Option<Screened> {
        let bound = |at: usize| {
            let mut second = self.relaxed[at].lock().unwrap_or_else(PoisonError::into_inner);
            self.stages.priced(at, (&mut second, 0.0), &candidate).map(|(_, bound)| bound)
        };
        let bounds: Option<Vec<f64>> = (0..self.relaxed.len()).into_par_iter().map(bound).collect();
        Some(Screened { bounds: bounds?, candidate })
    }

    /// Prices a candidate in full. It ends as soon as the candidate is worse than the best one.
    fn price(&mut self, Screened { candidate, bounds }: Screened) {
        self.tried += 1;
        let mut value = bounds.iter().sum::<f64>();
        let scenarios: Vec<usize> = (0..bounds.len()).collect();
        for chunk in scenarios.chunks(CHUNK) {
            let left = bounds.len() - chunk[0];
            let watch = self.watch.share(rayon::current_num_threads() as f64 / left as f64);
            let price = |&at: &usize| {
                let mut second = second_stage(&self.stages.scenarios()[at], false, watch).ok()?;
                let accuracy = GAP * bounds[at].abs();
                self.stages.priced(at, (&mut second, accuracy), &candidate).map(|(cost, _)| cost)
            };
            let costs: Option<Vec<f64>> = chunk.par_iter().map(price).collect();
            let Some(costs) = costs else { return };
            value += chunk.iter().zip(costs).map(|(&at, cost)| cost - bounds[at]).sum::<f64>();
            if !self.may_gain(value) {
                return;
            }
        }
        self.best = Some((value, candidate));
    }

    /// The best solution so far.
    pub(crate) fn found(self) -> Option<FirstStage> {
        let sign = self.stages.scenarios()[0].model.sense.sign();
        let (value, candidate) = self.best?;
        let columns = self.stages.first_stage().iter().cloned().zip(candidate).collect();
        Some(FirstStage { value: sign * value, columns, tried: self.tried })
    }
}

/// The candidates of a run: the mean, the solutions that most scenarios have, the quantiles of the newest ones, then
/// all other solutions.
pub(crate) fn candidates(stages: &TwoStage, mean: Option<Vec<f64>>, copies: &[Copies]) -> Vec<Vec<f64>> {
    let mut weighted: Vec<(f64, &Vec<f64>)> = vec![];
    let mut known: HashMap<Vec<u64>, usize> = HashMap::new();
    for (copies, scenario) in copies.iter().zip(stages.scenarios()) {
        for copy in copies {
            let at = *known.entry(copy.iter().map(|value| value.to_bits()).collect()).or_insert(weighted.len());
            if at == weighted.len() {
                weighted.push((0.0, copy));
            }
            weighted[at].0 += scenario.probability;
        }
    }
    weighted.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (first, others) = weighted.split_at(weighted.len().min(MOST_FIRST));
    let copied = |it: &[(f64, &Vec<f64>)]| it.iter().map(|(_, copy)| (*copy).clone()).collect::<Vec<_>>();
    let quantiles = (0..=QUANTILES).map(|at| quantile(stages, copies, at as f64 / QUANTILES as f64));
    let all = mean.into_iter().chain(copied(first)).chain(quantiles).chain(copied(others));
    let mut different: Vec<Vec<f64>> = vec![];
    for candidate in all {
        if different.len() < MOST_SCREENED && !different.contains(&candidate) {
            different.push(candidate);
        }
    }
    different
}

/// For each column, the least value such that scenarios of the given probability have no greater one.
fn quantile(stages: &TwoStage, copies: &[Copies], probability: f64) -> Vec<f64> {
    let of_column = |column: usize| {
        let newest = copies.iter().zip(stages.scenarios());
        let mut values: Vec<(f64, f64)> =
            newest.filter_map(|(copies, it)| Some((copies.first()?[column], it.probability))).collect();
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut sum = 0.0;
        let found = values.iter().find(|(_, weight)| {
            sum += weight;
            sum >= probability - 1e-9
        });
        found.or(values.last()).map_or(0.0, |(value, _)| *value)
    };
    (0..stages.first_stage().len()).map(of_column).collect()
}

/// The first-stage solutions behind the cuts of a run: for each scenario, the newest first.
pub(crate) fn copies_of(stages: &TwoStage, state: &State) -> Vec<Copies> {
    let blocks = stages.blocks().blocks();
    // For each component its solutions, with their number of identical blocks.
    let mut solutions: Vec<Vec<(Arc<Primal>, f64)>> = vec![vec![]; blocks.len()];
    for cut in state.cuts() {
        let Some(primal) = cut.primal else { continue };
        match cut.component {
            Some(component) => solutions[component].push((primal, 1.0)),
            None => solutions
                .iter_mut()
                .zip(blocks)
                .for_each(|(it, block)| it.push((primal.clone(), block.multiplicity() as f64))),
        }
    }
    // For each column its component, and the corresponding column of the first of the identical blocks.
    let mut places = vec![(0, 0); stages.blocks().model().columns.len()];
    for (component, block) in blocks.iter().enumerate() {
        for copy in &block.copies {
            copy.iter().zip(block.columns()).for_each(|(&column, &first)| places[column] = (component, first));
        }
    }
    let value = |column: usize, age: usize| {
        let (component, column) = places[column];
        let all = &solutions[component];
        let (primal, count) = all.get(all.len().checked_sub(1)? - age.min(all.len() - 1))?;
        let at = primal.variables.binary_search_by_key(&(column as u32), |(variable, _)| *variable);
        Some(at.map_or(0.0, |at| primal.variables[at].1 / count))
    };
    let copies = |scenario: usize| -> Copies {
        let columns = stages.first_stage_columns(scenario);
        let oldest = columns.iter().map(|&column| solutions[places[column].0].len()).max().unwrap_or(0);
        let copy = |age: usize| columns.iter().map(|&column| value(column, age)).collect::<Option<Vec<f64>>>();
        (0..oldest).filter_map(copy).map(|values| stages.rounded(values)).collect()
    };
    (0..stages.scenarios().len()).map(copies).collect()
}
