//! The solver: settings, optional parts, then one call.

use rayon::prelude::*;

use super::batch::solve_in_step;
use super::drive::{Run, Watch, drive};
use super::journal::Journal;
use super::observe::Observer;
use super::settings::Settings;
use super::solution::Solution;
use super::state::State;
use crate::error::InvalidSetting;
use crate::method::{Method, Minimize, Terms, make_method, runs_in_step};
use crate::network::network_of;
use crate::oracle::{EvaluationError, Interrupt, Oracle};

/// Solves problems given by oracles: minimises or maximises, by the sense of the oracle.
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
/// assert_eq!(solution.status, Status::Converged); // a function without a proof to offer
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
    interrupt: Option<&'a dyn Interrupt>,
}

impl<'a> Solver<'a> {
    /// A solver with the given settings. It starts where the oracle says ([`Oracle::start`]), else at 0, or at the nearest
    /// point of the domain.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn new(settings: Settings) -> Result<Self, InvalidSetting> {
        settings.check()?;
        Ok(Self { settings, start: None, state: None, journal: None, observer: None, interrupt: None })
    }

    /// Starts at a point.
    pub fn start(self, point: &'a [f64]) -> Self {
        Self { start: Some(point), ..self }
    }

    /// Warm start: continues from the state of an earlier run, of the same function or of one with changed data. The
    /// run then updates the state.
    ///
    /// The run begins at the point of the state (moved into the domain), unless [`Solver::start`] sets another one. It
    /// takes over the step length and all cuts that are still valid.
    /// [`SumOracle::fingerprint`](crate::SumOracle::fingerprint), [`PrimalOracle::line_of`](crate::PrimalOracle::line_of)
    /// and [`SumOracle::reprice`](crate::SumOracle::reprice) decide which; [`Solution::reuse`] reports it. `auto` and
    /// `hybrid` then begin without a network.
    ///
    /// A run with [`Settings::primal`](crate::Settings::primal) leaves a state whose cuts have primal solutions, and
    /// takes over only cuts that have one. A run without it takes over all cuts. It keeps the solutions of those cuts,
    /// but new cuts and repeated cuts may have none afterwards. So use the same setting for all runs of a sequence.
    ///
    /// Some runs take over the point alone: those of `network`, `descent` and `adam`, and those whose cuts are of another
    /// kind (of components instead of the whole function, or the reverse).
    pub fn state(self, state: &'a mut State) -> Self {
        Self { state: Some(state), ..self }
    }

    /// Writes the state to a file after every step. A killed run loses at most the step in progress. A failed write
    /// does not end the run; [`Journal::finish`] reports it.
    pub fn journal(self, journal: &'a mut Journal) -> Self {
        Self { journal: Some(journal), ..self }
    }

    /// Passes every step to an observer, which may end the run.
    pub fn observe(self, observer: &'a mut dyn Observer) -> Self {
        Self { observer: Some(observer), ..self }
    }

    /// Ends the run when a flag is set, after the evaluation in progress. A master problem in progress is cut short.
    /// The best point is kept.
    pub fn interrupt(self, interrupt: &'a dyn Interrupt) -> Self {
        Self { interrupt: Some(interrupt), ..self }
    }

    /// Runs the method on a function.
    ///
    /// # Errors
    /// If the oracle is unusable, if the start point or the state has a wrong number of variables, or if the evaluation
    /// at the start fails. Any later failure is a [`Status`](crate::Status). After an error the state is unchanged.
    pub fn solve(self, oracle: &mut dyn Oracle) -> Result<Solution, EvaluationError> {
        let Self { settings, start, state, mut journal, observer, interrupt } = self;
        let unknown = State::new();
        let begun_with = state.as_deref().unwrap_or(&unknown);
        let (expected, found) = (oracle.dim(), begun_with.point().len());
        if found != 0 && found != expected {
            return Err(EvaluationError::PointLength { evaluation: 1, expected, found });
        }
        let mut point = start.map_or_else(|| begun_with.point().to_vec(), <[f64]>::to_vec);
        if start.is_none() {
            oracle.domain().project(&mut point);
        }
        let start = (!point.is_empty() || start.is_some()).then_some(point.as_slice());
        let run: Run<'_, dyn Minimize> =
            Run::begin(oracle, start, Some(begun_with), &settings, interrupt, |function, start, inherited| {
                make_method(&settings.method, (settings.tolerance, settings.limits.steps), function, start, inherited)
            })?;
        let mut runs = [run];
        let has_state = state.is_some();
        let mut left = None;
        let mut end = |_: usize, run: &mut Run<'_, dyn Minimize>| left = has_state.then(|| run.state(begun_with));
        let mut keep = |_: usize, run: &mut Run<'_, dyn Minimize>| {
            if let Some(journal) = &mut journal {
                journal.record(run, begun_with);
            }
        };
        let observer = observer.map(|observer| observer as &mut dyn Observer);
        let watch = Watch { propose: &mut |_, _| (), keep: &mut keep, end: &mut end, observer };
        // A single run has a single solution.
        let solution = drive(&mut runs, watch).swap_remove(0);
        if let (Some(state), Some(left)) = (state, left) {
            *state = left;
        }
        Ok(solution)
    }

    /// Solves many functions on all threads, each from the start of [`Solver::new`]. It ignores a start, a state, a journal
    /// and an observer.
    ///
    /// Runs of a network go in step, so the times in a trace are those of the whole group. Every function has the same
    /// result as alone, up to the rounding of the network's single precision.
    pub fn solve_batch(&self, oracles: &mut [Box<dyn Oracle + Send + '_>]) -> Vec<Result<Solution, EvaluationError>> {
        let Self { settings, interrupt, .. } = self;
        let Method::Network(network) = &settings.method else {
            let solve = |oracle: &mut Box<dyn Oracle + Send + '_>| {
                let (settings, interrupt) = (settings.clone(), *interrupt);
                Solver { settings, start: None, state: None, journal: None, observer: None, interrupt }
                    .solve(&mut **oracle)
            };
            return oracles.par_iter_mut().map(solve).collect();
        };
        let (cap, budget) = (network.max_cuts, network.told.budget(settings.limits.steps));
        let network = network_of(network.model.as_ref());
        let terms = Terms { cap, tolerance: settings.tolerance, budget, is_limited: true };
        let groups = oracles.par_chunks_mut(runs_in_step(&network)).flat_map_iter(|group| {
            let runs = group.iter_mut().map(|oracle| (&mut **oracle as &mut dyn Oracle, None)).collect();
            solve_in_step((&network, terms), runs, settings, *interrupt)
                .into_iter()
                .map(|run| run.map(|run| run.solution))
        });
        groups.collect()
    }
}
