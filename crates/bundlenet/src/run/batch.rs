//! Runs of a network in step: all take their next step together.

use std::sync::Arc;

use super::drive::{Run, Watch, drive};
use super::settings::Settings;
use super::solution::Solution;
use crate::method::{NetworkMethod, Terms, network_method, propose_together};
use crate::model::Model;
use crate::network::{Network, Tape};
use crate::oracle::{EvaluationError, Interrupt, Oracle};

/// A run of a network, with its step lengths and its attention.
pub(crate) struct Observed {
    pub(crate) solution: Solution,
    /// Step length of every step.
    pub(crate) step_lengths: Vec<f64>,
    /// Entropy of the weights of the last proposal, divided by that of equal weights.
    pub(crate) entropy: f64,
}

/// Runs a network on several functions in step, on this thread.
pub(crate) fn solve_in_step<'a>(
    (network, terms): (&Arc<Network<f32>>, Terms),
    oracles: Vec<(&'a mut dyn Oracle, Option<&[f64]>)>,
    settings: &Settings,
    interrupt: Option<&'a dyn Interrupt>,
) -> Vec<Result<Observed, EvaluationError>> {
    let mut begun: Vec<Result<(), EvaluationError>> = vec![];
    let mut runs: Vec<Run<'a, NetworkMethod>> = vec![];
    for (oracle, start) in oracles {
        let run = Run::begin(oracle, start, None, settings, interrupt, |function, start, _| {
            Box::new(network_method(Arc::clone(network), function, &start, terms))
        });
        begun.push(run.map(|run| runs.push(run)));
    }
    let mut tape = Tape::new(&network.architecture, runs.len().max(1), 1);
    let mut step_lengths: Vec<Vec<f64>> = runs.iter().map(|_| vec![]).collect();
    let mut propose = |runs: &mut [Run<'a, NetworkMethod>], going: &[usize]| {
        let is_going = |index: &usize| going.binary_search(index).is_ok();
        let with_index = runs.iter_mut().enumerate().filter(|(index, _)| is_going(index));
        let mut methods: Vec<&mut NetworkMethod> = with_index.filter_map(|(_, run)| run.method()).collect();
        tape.set_rows(methods.len());
        propose_together(network, &mut tape, 0, &mut methods);
    };
    let mut keep = |index: usize, run: &mut Run<'a, NetworkMethod>| {
        if run.steps > 0
            && let Some(method) = run.method()
        {
            step_lengths[index].push(method.proposal().eta);
        }
    };
    let mut entropies = vec![0.0; runs.len()];
    let mut end = |index: usize, run: &mut Run<'a, NetworkMethod>| {
        entropies[index] = run.method().map_or(0.0, |method| entropy(method));
    };
    let watch = Watch { propose: &mut propose, keep: &mut keep, end: &mut end, observer: None };
    let solutions = drive(&mut runs, watch);
    let each = solutions.into_iter().zip(step_lengths).zip(entropies);
    let mut observed = each.map(|((solution, step_lengths), entropy)| Observed { solution, step_lengths, entropy });
    let result = |begun: Result<(), EvaluationError>| match begun {
        Ok(()) => observed.next().map(Ok),
        Err(error) => Some(Err(error)),
    };
    begun.into_iter().filter_map(result).collect()
}

/// Entropy of the weights of the last proposal, divided by that of equal weights.
fn entropy(method: &NetworkMethod) -> f64 {
    let sum: f64 = method.proposal().weights.iter().map(|&(_, weight)| -weight * weight.ln()).sum();
    sum / (method.model().len() as f64).ln().max(f64::MIN_POSITIVE)
}
