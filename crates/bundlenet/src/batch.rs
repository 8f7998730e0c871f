//! Many runs at once: over threads, and with a network also in step, so that its weights are read once for many.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rayon::prelude::*;

use crate::driver::{Run, Solution, solve};
use crate::error::EvaluationError;
use crate::learn::{Network, NetworkProposer, Tape};
use crate::method::{BundleMethod, StepReport, network_method};
use crate::observe::Silent;
use crate::oracle::Oracle;
use crate::settings::{MethodName, ValidSettings};
use crate::status::Status;

/// Runs that go in step: reading the weights of a large network once for many of them pays; with a small one, the bundles of
/// several runs would only drive each other out of the cache.
pub(crate) fn runs_in_step(network: &Network<f32>) -> usize {
    const WEIGHTS_FOR_EACH: usize = 1 << 15;
    (network.weights.len() / WEIGHTS_FOR_EACH).clamp(1, 16)
}

/// Solves many functions, each as [`solve`] would from its start point 0, on all threads.
///
/// Runs of a network go in step, so a row of a trace says when the whole group had got there. Every function comes out as it
/// would alone, up to the rounding of the network's single precision.
pub fn solve_batch(
    oracles: &mut [Box<dyn Oracle + Send + '_>],
    settings: &ValidSettings,
    interrupt: Option<&AtomicBool>,
) -> Vec<Result<Solution, EvaluationError>> {
    if settings.method != MethodName::Network {
        let each = oracles.par_iter_mut();
        return each.map(|oracle| solve(&mut **oracle, None, settings, &mut Silent, interrupt)).collect();
    }
    let network = Arc::clone(settings.model().network());
    let groups = oracles.par_chunks_mut(runs_in_step(&network)).flat_map_iter(|group| {
        let runs = group.iter_mut().map(|oracle| (&mut **oracle as &mut dyn Oracle, None)).collect();
        solve_in_step(&network, runs, settings, interrupt, &mut |_, _| ())
    });
    groups.collect()
}

/// A run of a network.
pub(crate) type NetworkRun<'a> = Run<'a, BundleMethod<NetworkProposer<f32>>>;

/// Runs a network on several functions in step, on this thread. `watch` sees every run after each of its steps.
pub(crate) fn solve_in_step<'a>(
    network: &Arc<Network<f32>>,
    oracles: Vec<(&'a mut dyn Oracle, Option<&[f64]>)>,
    settings: &ValidSettings,
    interrupt: Option<&AtomicBool>,
    watch: &mut dyn FnMut(usize, &mut NetworkRun<'a>),
) -> Vec<Result<Solution, EvaluationError>> {
    let count = oracles.len();
    let mut results: Vec<Option<Result<Solution, EvaluationError>>> = (0..count).map(|_| None).collect();
    let mut going: Vec<(usize, NetworkRun<'a>)> = vec![];
    for (index, (oracle, start)) in oracles.into_iter().enumerate() {
        let network = Arc::clone(network);
        let run = Run::begin(oracle, start, None, settings, |function, start, settings| {
            network_method(network, function, start, settings.pruning.max_cuts, settings.tolerances.gap)
        });
        match run {
            Ok(mut run) => {
                let _ = run.observe(StepReport::default(), &mut Silent);
                going.push((index, run));
            }
            Err(error) => results[index] = Some(Err(error)),
        }
    }
    let mut tape = Tape::new(&network.architecture, count.max(1), 1);
    let mut ended: Vec<(usize, Status)> = vec![];
    loop {
        let is_interrupted = interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed));
        let limits =
            going.iter().enumerate().filter_map(|(row, (_, run))| Some((row, run.limit(settings, is_interrupted)?)));
        ended.extend(limits);
        // From the back, so that the rows before stay where they are.
        ended.sort_unstable_by_key(|(row, _)| std::cmp::Reverse(*row));
        for (row, status) in ended.drain(..) {
            let (index, run) = going.remove(row);
            results[index] = Some(Ok(run.finish(status)));
        }
        if going.is_empty() {
            break;
        }
        let begin = Instant::now();
        tape.set_rows(going.len());
        for (row, (_, run)) in going.iter_mut().enumerate() {
            if let Some(method) = run.method() {
                method.read(|proposer, bundle| proposer.prepare(bundle, &mut tape, 0, row));
            }
        }
        network.forward(&mut tape, 0);
        let share = begin.elapsed().as_secs_f64() / going.len() as f64;
        for (row, (index, run)) in going.iter_mut().enumerate() {
            let progress = run.advance(|method, function| {
                method.add_proposal_seconds(share);
                method.propose_by(|proposer, bundle, proposal| proposer.accept(bundle, &tape, 0, row, proposal));
                method.follow(function)
            });
            match progress {
                Ok(report) => {
                    let _ = run.observe(report, &mut Silent);
                    watch(*index, run);
                }
                Err(status) => ended.push((row, status)),
            }
        }
    }
    results.into_iter().flatten().collect()
}
