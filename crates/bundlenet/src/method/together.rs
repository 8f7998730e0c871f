//! Proposals of a network for many runs in one pass, which reads its weights once.

use std::time::Instant;

use super::BundleMethod;
use crate::network::{FeatureSource, Network, NetworkProposer, Real, Tape};

/// Number of runs that go in step. For a large network one pass over its weights serves many runs. For a small network
/// the bundles of many runs would only compete for the cache.
pub(crate) fn runs_in_step(network: &Network<f32>) -> usize {
    const WEIGHTS_FOR_EACH: usize = 1 << 15;
    (network.weights.len() / WEIGHTS_FOR_EACH).clamp(1, 16)
}

/// Computes the proposals of all methods in one pass, at a step of the tape.
pub(crate) fn propose_together<S: Real, E: FeatureSource>(
    network: &Network<S>,
    tape: &mut Tape<S>,
    step: usize,
    methods: &mut [&mut BundleMethod<NetworkProposer<S, E>>],
) {
    let begin = Instant::now();
    for (row, method) in methods.iter_mut().enumerate() {
        method.prepare(|proposer, bundle| proposer.prepare(bundle, tape, step, row));
    }
    network.forward(tape, step);
    let share = begin.elapsed().as_secs_f64() / methods.len() as f64;
    for (row, method) in methods.iter_mut().enumerate() {
        method.propose_by(share, |proposer, bundle, proposal| {
            proposer.accept_or_guard(bundle, tape, (step, row), proposal)
        });
    }
}
