//! A bench for own features and architectures: a [`Policy`] takes the place of the network, [`follow`] runs it, and
//! [`evolve`] trains it.

use bundlenet_linalg::Stream;
use bundlenet_linalg::simd::flat;
use bundlenet_linalg::vectors::dot;
use rayon::prelude::*;

use super::config::EvolutionSettings;
use super::example::{Example, gap_percent};
use super::optimizer::Optimizer;
use super::trainer::{centred_ranks, objective_of};
use crate::error::{Error, InvalidSetting, at_least};
use crate::master::{Proposer, Proximity};
use crate::method::{BundleMethod, Minimize, Progress};
use crate::model::{Bundle, CentrePolicy, Model, Proposal, Pruning, Step, Weighing};
use crate::oracle::{Detail, Domain, Evaluation, EvaluationError, Function, Oracle, Patience, bend};

/// A rule that takes the place of the network: weights on the cuts, and a step length. It may have any features, any
/// architecture and any memory of its run.
///
/// ```
/// use bundlenet::FnOracle;
/// use bundlenet::train::{Policy, View, follow};
///
/// /// The newest subgradient, with steps that become shorter.
/// struct Descent;
///
/// impl Policy for Descent {
///     fn propose(&mut self, view: &View<'_>, weights: &mut [f64]) -> f64 {
///         weights[view.cuts() - 1] = 1.0;
///         5.0 * view.unit() / (1.0 + view.steps() as f64).sqrt()
///     }
/// }
///
/// let mut oracle = FnOracle::new(1, |point: &[f64], subgradient: &mut [f64]| {
///     subgradient[0] = (point[0] - 3.0).signum();
///     Ok((point[0] - 3.0).abs())
/// });
/// let run = follow(&mut Descent, &mut oracle, None, 50)?;
/// assert!(run.best.last() < Some(&0.3));
/// # Ok::<(), bundlenet::EvaluationError>(())
/// ```
///
/// `examples/own_policy.rs` has features, a small network and its training.
pub trait Policy {
    /// Writes a nonnegative weight for each cut, oldest first, and returns the step length. `weights` are 0 before.
    /// They are divided by their sum. Without a positive finite sum, or with a length that is not positive and finite,
    /// the step is one along the newest subgradient, of the length [`View::unit`].
    fn propose(&mut self, view: &View<'_>, weights: &mut [f64]) -> f64;

    /// Temperature of the move of the centre: its share of the way is `sigmoid((f(centre) - f(trial)) / temperature)`.
    /// Called after each [`Policy::propose`]. It is 1 in the paper.
    fn temperature(&self) -> f64 {
        1.0
    }
}

/// The last step of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct LastStep {
    /// Step length.
    pub length: f64,
    /// Squared norm of the direction, the weighted sum of the subgradients.
    pub direction_square: f64,
    /// Decrease that the cuts predicted.
    pub predicted: f64,
    /// Decrease from the centre to the trial point; negative if the trial point is worse.
    pub decrease: f64,
    /// Share of the way by which the centre moved.
    pub share: f64,
}

/// A run so far. Values and subgradients are those of the minimised function, over the norm of its first subgradient.
#[derive(Debug)]
pub struct View<'a> {
    bundle: &'a Bundle,
    run: &'a RunSoFar,
}

/// The data of a run that its bundle does not have.
#[derive(Debug)]
struct RunSoFar {
    domain: Domain,
    scales: Option<Vec<f64>>,
    unit: f64,
    steps: usize,
    limit: usize,
    /// Point and value of each cut.
    visits: Vec<(Vec<f64>, f64)>,
    last: Option<LastStep>,
}

impl View<'_> {
    /// Number of cuts: one more than the number of steps. The last one is the newest.
    #[must_use]
    pub fn cuts(&self) -> usize {
        self.bundle.places()
    }

    /// Number of steps so far.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.run.steps
    }

    /// Number of steps that remain, with the next one.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.run.limit - self.run.steps
    }

    /// Limits of a variable: infinite where it has none.
    #[must_use]
    pub fn limits(&self, variable: usize) -> (f64, f64) {
        self.run.domain.limits(variable)
    }

    /// Scale of each variable, if the oracle states them.
    #[must_use]
    pub fn scales(&self) -> Option<&[f64]> {
        self.run.scales.as_deref()
    }

    /// The point where a cut was made: a trial point, or the start for cut 0.
    #[must_use]
    pub fn point(&self, cut: usize) -> &[f64] {
        &self.run.visits[cut].0
    }

    /// Value at the point where a cut was made.
    #[must_use]
    pub fn value(&self, cut: usize) -> f64 {
        self.run.visits[cut].1
    }

    /// Linearisation error of a cut at the centre.
    #[must_use]
    pub fn error(&self, cut: usize) -> f64 {
        self.bundle.errors()[cut]
    }

    /// Subgradient of a cut.
    #[must_use]
    pub fn subgradient(&self, cut: usize) -> &[f64] {
        &flat(self.bundle.row(cut))[..self.bundle.dim()]
    }

    /// Inner products of the subgradient of a cut with those of all cuts. They are stored, so this is cheap.
    #[must_use]
    pub fn products(&self, cut: usize) -> &[f64] {
        self.bundle.gram_row(cut)
    }

    /// The centre.
    #[must_use]
    pub fn centre(&self) -> &[f64] {
        &self.bundle.centre().point
    }

    /// Value of the centre.
    #[must_use]
    pub fn centre_value(&self) -> f64 {
        self.bundle.centre().value
    }

    /// A step length at hand: the first one of the strategy `adaptive`.
    #[must_use]
    pub fn unit(&self) -> f64 {
        self.run.unit
    }

    /// The last step; `None` before the first.
    #[must_use]
    pub fn last(&self) -> Option<&LastStep> {
        self.run.last.as_ref()
    }
}

/// A policy in the place of a master.
struct PolicyProposer<'p> {
    policy: &'p mut dyn Policy,
    run: RunSoFar,
    weights: Vec<f64>,
}

impl Proposer for PolicyProposer<'_> {
    type Model = Bundle;

    fn propose(&mut self, bundle: &mut Bundle, proposal: &mut Proposal, _patience: &Patience<'_>) {
        let count = bundle.places();
        self.weights.clear();
        self.weights.resize(count, 0.0);
        let view = View { bundle, run: &self.run };
        let length = self.policy.propose(&view, &mut self.weights);
        let temperature = self.policy.temperature();
        let is_positive = |number: f64| number > 0.0 && number.is_finite();
        let total: f64 = self.weights.iter().sum();
        let are_valid = is_positive(total) && self.weights.iter().all(|weight| *weight >= 0.0);
        proposal.weights.clear();
        if are_valid && is_positive(length) && is_positive(temperature) {
            let weighted = self.weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0);
            proposal.weights.extend(weighted.map(|(cut, weight)| (cut, weight / total)));
            proposal.eta = length;
            proposal.centre_policy = CentrePolicy::Soft { temperature, offset: 0.0 };
        } else {
            proposal.weights.push((bundle.newest(), 1.0));
            proposal.eta = self.run.unit;
            proposal.centre_policy = CentrePolicy::Soft { temperature: 1.0, offset: 0.0 };
        }
        bundle.aggregate(&proposal.weights, &mut proposal.direction);
        proposal.sigma = proposal.weights.iter().map(|&(cut, weight)| weight * bundle.errors()[cut]).sum();
        let entries = proposal.direction.numbers_mut(bundle.dim()).iter_mut().zip(&bundle.centre().point);
        for (index, (entry, &centre)) in entries.enumerate() {
            if let Some(bent) = bend(self.run.domain.limits(index), centre, *entry, proposal.eta) {
                *entry = bent.direction;
                proposal.sigma += bent.error;
            }
        }
        proposal.norm_squared = dot(&proposal.direction.0, &proposal.direction.0);
    }

    fn learn(&mut self, _bundle: &Bundle, step: &Step<'_>) {
        self.run.steps += 1;
        self.run.visits.push((step.seen.point.clone(), step.seen.value));
        self.run.last = Some(LastStep {
            length: step.proposal.eta,
            direction_square: step.proposal.norm_squared,
            predicted: step.promised(),
            decrease: step.decrease(),
            share: step.share,
        });
    }
}

/// A run of a policy.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Followed {
    /// Best value after 0, 1, 2, ... steps, in the oracle's sense.
    pub best: Vec<f64>,
    /// The point with the best value.
    pub point: Vec<f64>,
}

/// Runs a policy in the loop of the bundle method, from a start point or from 0. It ends early at an optimal point.
///
/// # Errors
/// If the oracle fails.
pub fn follow(
    policy: &mut dyn Policy,
    oracle: &mut dyn Oracle,
    start: Option<&[f64]>,
    steps: usize,
) -> Result<Followed, EvaluationError> {
    let mut function = Function::new(oracle)?;
    let mut start = start.map_or_else(|| Evaluation::at(&function.start()), Evaluation::at);
    function.begin(&mut start, Detail::Whole, None)?;
    let unit = Proximity::adaptive(&start.point, start.value).eta();
    let (domain, scales) = (function.domain().clone(), function.scales().map(<[f64]>::to_vec));
    let bundle = Bundle::around(&start, &domain, usize::MAX).weighed_by(Weighing::Network);
    let visits = vec![(start.point.clone(), start.value)];
    let run = RunSoFar { domain, scales, unit, steps: 0, limit: steps, visits, last: None };
    let proposer = PolicyProposer { policy, run, weights: vec![] };
    let pruning = Pruning { lifetime: usize::MAX, cap: usize::MAX, bytes: usize::MAX };
    let mut method = BundleMethod::new(&function, bundle, proposer, pruning, 0.0);
    let factor = function.sense().sign() / function.scale();
    let (mut least, mut run) = (start.value, Followed { best: vec![factor * start.value], point: start.point.clone() });
    if start.is_stationary(function.domain()) {
        return Ok(run);
    }
    for _ in 0..steps {
        let Progress::Step(_) = method.step(&mut function)? else { break };
        let seen = method.last_seen();
        if seen.value < least {
            least = seen.value;
            run.point.clone_from(&seen.point);
        }
        run.best.push(factor * least);
    }
    Ok(run)
}

/// Makes a policy from its parameters.
pub type MakePolicy<'a> = dyn Fn(&[f64]) -> Box<dyn Policy> + Sync + 'a;

/// Trains the parameters of a policy by evolution strategies, as the second stage of a training does. Each generation
/// changes all parameters by normal numbers times `deviation` and moves them by at most about `rate`. The objective is
/// the mean over `columns`, numbers of steps, of the logarithm of the mean gap. Returns the mean objective of each
/// generation. `weights` of the settings has no meaning here.
///
/// # Errors
/// If a setting is invalid, an example has no optimum, or an oracle fails.
pub fn evolve(
    parameters: &mut [f64],
    make: &MakePolicy<'_>,
    examples: &[Example],
    columns: &[usize],
    (settings, seed): (&EvolutionSettings, u64),
) -> Result<Vec<f64>, Error> {
    settings.check()?;
    at_least("columns", columns.len(), 1)?;
    if examples.is_empty() || examples.iter().any(|example| example.optimum.is_none()) {
        return Err(InvalidSetting::new("examples", "at least one, all with optima", "none, or one without").into());
    }
    let mut optimizer = Optimizer::new(parameters.len());
    let mut objectives = vec![];
    for generation in 0..settings.generations {
        let mut order = Stream::new(seed, "policy order", generation as u64).permutation(examples.len());
        order.truncate(settings.batch);
        let noises: Vec<Vec<f64>> = (0..settings.pairs)
            .map(|pair| {
                let mut stream = Stream::new(seed, "policy noise", (generation * settings.pairs + pair) as u64);
                parameters.iter().map(|_| stream.normal()).collect()
            })
            .collect();
        let tried: Result<Vec<f64>, Error> = (0..2 * settings.pairs)
            .into_par_iter()
            .map(|index| {
                let sign = if index % 2 == 0 { settings.deviation } else { -settings.deviation };
                let noise = noises[index / 2].iter();
                let changed: Vec<f64> =
                    parameters.iter().zip(noise).map(|(number, noise)| number + sign * noise).collect();
                objective(&|| make(&changed), order.iter().map(|&index| &examples[index]), columns, settings)
            })
            .collect();
        let tried = tried?;
        let ranks = centred_ranks(&tried);
        let mut gradient = vec![0.0; parameters.len()];
        for (pair, noise) in noises.iter().enumerate() {
            let pull = (ranks[2 * pair] - ranks[2 * pair + 1]) / settings.pairs as f32;
            gradient.iter_mut().zip(noise).for_each(|(sum, entry)| *sum += pull * *entry as f32);
        }
        let mut moved = vec![0.0; parameters.len()];
        optimizer.step(&mut moved, &gradient, settings.rate_at(generation), None);
        parameters.iter_mut().zip(moved).for_each(|(number, way)| *number += f64::from(way));
        objectives.push(tried.iter().sum::<f64>() / tried.len() as f64);
    }
    Ok(objectives)
}

/// The objective of a policy on examples.
fn objective<'e>(
    make: &dyn Fn() -> Box<dyn Policy>,
    examples: impl Iterator<Item = &'e Example>,
    columns: &[usize],
    settings: &EvolutionSettings,
) -> Result<f64, Error> {
    let last = columns.iter().max().copied().unwrap_or(1);
    let mut gaps: Vec<Vec<f64>> = vec![];
    for example in examples {
        let run = follow(&mut *make(), &mut *(example.oracle)(), example.start.as_deref(), last);
        let run = run.map_err(|source| example.failed(source))?;
        let optimum = example.optimum.unwrap_or(0.0);
        // A run that ended early keeps its best value.
        gaps.push(columns.iter().map(|&at| gap_percent(run.best[at.min(run.best.len() - 1)], optimum)).collect());
    }
    Ok(objective_of(&gaps, settings.objective))
}
