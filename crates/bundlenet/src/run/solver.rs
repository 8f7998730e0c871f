//! The solver: settings, then one call.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rayon::prelude::*;

use super::batch::solve_in_step;
use super::drive::{Run, Watch, drive};
use super::journal::Journal;
use super::observe::Observer;
use super::settings::Settings;
use super::solution::Solution;
use super::state::State;
use crate::error::InvalidSetting;
use crate::method::{Method, Minimize, make_method, runs_in_step};
use crate::oracle::{EvaluationError, Oracle};

/// Minimises functions, or maximises them, as their oracles say.
///
/// ```
/// use bundlenet::{FnOracle, Settings, Solver, Status};
///
/// // |x - 1| + 2 |y|
/// let mut oracle = FnOracle::new(2, |point: &[f64], subgradient: &mut [f64]| {
///     subgradient.copy_from_slice(&[(point[0] - 1.0).signum(), 2.0 * point[1].signum()]);
///     Ok((point[0] - 1.0).abs() + 2.0 * point[1].abs())
/// });
/// let solution = Solver::new(Settings::default())?.start(&[3.0, 5.0]).solve(&mut oracle)?;
/// assert_eq!(solution.status, Status::Optimal);
/// assert!(solution.value < 1e-6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub struct Solver<'a> {
    settings: Settings,
    start: Option<&'a [f64]>,
    state: Option<&'a mut State>,
    journal: Option<&'a mut Journal>,
    observer: Option<&'a mut dyn Observer>,
    interrupt: Option<&'a AtomicBool>,
}

impl<'a> Solver<'a> {
    /// A solver with these settings, which starts at 0.
    ///
    /// # Errors
    /// The first setting that cannot be used.
    pub fn new(settings: Settings) -> Result<Self, InvalidSetting> {
        settings.check()?;
        Ok(Self { settings, start: None, state: None, journal: None, observer: None, interrupt: None })
    }

    /// Starts at a point.
    pub fn start(self, point: &'a [f64]) -> Self {
        Self { start: Some(point), ..self }
    }

    /// Goes on from the state that an earlier run has left, of the same function or of one with other data; it becomes the
    /// state of this run.
    ///
    /// The run begins at the state's point (moved into the domain), unless there is another start, with its step length and
    /// with the cuts that hold for the function as it is now: [`SumOracle::fingerprint`](crate::SumOracle::fingerprint) and
    /// [`SumOracle::reprice`](crate::SumOracle::reprice) tell which, [`Solution::reuse`] says so. `auto` and `hybrid` then
    /// begin without a network; `network`, `descent` and `adam` take the point alone. So does a run with cuts of the whole
    /// function where the state's are of components, or the other way round, and a run that keeps primal solutions, which a
    /// state does not have.
    pub fn state(self, state: &'a mut State) -> Self {
        Self { state: Some(state), ..self }
    }

    /// Writes the state to a file after every step: a killed run leaves all but the step under way. A journal that cannot be
    /// written does not end the run: [`Journal::finish`] says so.
    pub fn journal(self, journal: &'a mut Journal) -> Self {
        Self { journal: Some(journal), ..self }
    }

    /// Shows every step to an observer, which may end the run.
    pub fn observe(self, observer: &'a mut dyn Observer) -> Self {
        Self { observer: Some(observer), ..self }
    }

    /// Ends the run once the flag is set, after the evaluation under way, with the best point so far.
    pub fn interrupt(self, flag: &'a AtomicBool) -> Self {
        Self { interrupt: Some(flag), ..self }
    }

    /// Runs the method.
    ///
    /// # Errors
    /// If the oracle is unusable, if the start point or the state is for another number of variables, or if already the
    /// evaluation at the start fails. Any later failure is a [`Status`](crate::Status). After an error the state is as it was.
    pub fn solve(self, oracle: &mut dyn Oracle) -> Result<Solution, EvaluationError> {
        let Self { settings, start, state, mut journal, observer, interrupt } = self;
        let mut fresh = State::new();
        let state: &mut State = match state {
            Some(state) => state,
            None => &mut fresh,
        };
        let mut point = start.map_or_else(|| state.point().to_vec(), <[f64]>::to_vec);
        if start.is_none() {
            oracle.domain().project(&mut point);
        }
        let start = (!point.is_empty() || start.is_some()).then_some(point.as_slice());
        let run: Run<'_, dyn Minimize> =
            Run::begin(oracle, start, Some(state), &settings, |function, start, inherited| {
                make_method(&settings.method, settings.tolerance, function, start, inherited)
            })?;
        let mut runs = [run];
        let mut keep = |_: usize, run: &mut Run<'_, dyn Minimize>| {
            if let Some(journal) = &mut journal {
                journal.record(run, state);
            }
        };
        let observer = observer.map(|observer| observer as &mut dyn Observer);
        let watch = Watch { propose: &mut |_, _| (), keep: &mut keep, observer, interrupt };
        // One run has one solution.
        let solution = drive(&mut runs, watch).swap_remove(0);
        *state = runs[0].state(state);
        Ok(solution)
    }

    /// Solves many functions on all threads, each from its start point 0. A start, a state, a journal or an observer of one
    /// run is not used.
    ///
    /// Runs of a network go in step, so a row of a trace says when the whole group had got there. Every function comes out as
    /// it would alone, up to the rounding of the network's single precision.
    pub fn solve_batch(&self, oracles: &mut [Box<dyn Oracle + Send + '_>]) -> Vec<Result<Solution, EvaluationError>> {
        let Self { settings, interrupt, .. } = self;
        let Method::Network(network) = &settings.method else {
            let solve = |oracle: &mut Box<dyn Oracle + Send + '_>| {
                let solver = Self::unobserved(settings.clone(), *interrupt);
                solver.solve(&mut **oracle)
            };
            return oracles.par_iter_mut().map(solve).collect();
        };
        let network = Arc::clone(network.model().network());
        let groups = oracles.par_chunks_mut(runs_in_step(&network)).flat_map_iter(|group| {
            let runs = group.iter_mut().map(|oracle| (&mut **oracle as &mut dyn Oracle, None)).collect();
            solve_in_step(&network, runs, settings, *interrupt).into_iter().map(|run| run.map(|run| run.solution))
        });
        groups.collect()
    }

    fn unobserved(settings: Settings, interrupt: Option<&'a AtomicBool>) -> Self {
        Self { settings, start: None, state: None, journal: None, observer: None, interrupt }
    }
}
