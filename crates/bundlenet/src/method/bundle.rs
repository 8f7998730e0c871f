//! The bundle method: one loop for every proposer.

use std::time::Instant;

use super::{Bound, Method, Progress, StepReport};
use crate::bundle::{Cuts, Pruning};
use crate::error::EvaluationError;
use crate::function::Function;
use crate::master::{ETA_STAR, Outcome, Proposal, Proposer};
use crate::oracle::Minorants;
use crate::primal::Primal;
use crate::state::{Harvest, StepLength};
use crate::vectors::add_scaled;

/// Share of the promised decrease that makes a step serious, `m`.
const SERIOUS_SHARE: f64 = 0.01;

/// A proof is worth trying once no more than so many times the tolerance is promised.
const NEAR: f64 = 100.0;

/// Null steps in a row that bring no new cut after which nothing will change any more.
const MOST_REPEATS: usize = 10;

pub(crate) struct BundleMethod<P: Proposer> {
    cuts: P::Cuts,
    proposer: P,
    proposal: Proposal,
    pruning: Pruning,
    tolerance: f64,
    trial: Vec<f64>,
    /// The least value seen; that of the centre may be an upper bound.
    best: f64,
    /// Whether the proposal is one for the bundle as it is.
    is_fresh: bool,
    /// Corners of a box that holds a minimiser, and the greatest lower bound on the minimum that it proved.
    minimizer_box: Option<(Vec<f64>, Vec<f64>)>,
    lower_bound: f64,
    /// Combinations of each component's cuts, for a proof, and whether the last try at one came to something.
    aggregates: Minorants,
    is_provable: bool,
    /// Null steps in a row that brought no new cut.
    repeats: usize,
    proposal_seconds: f64,
}

impl<P: Proposer> BundleMethod<P> {
    /// `tolerance` is relative to `max(1, |f|)` in the user's units.
    pub(crate) fn new(function: &Function<'_>, cuts: P::Cuts, proposer: P, pruning: Pruning, tolerance: f64) -> Self {
        Self {
            proposer,
            proposal: Proposal::new(cuts.centre().len()),
            pruning,
            tolerance,
            trial: cuts.centre().to_vec(),
            best: cuts.centre_value(),
            cuts,
            is_fresh: false,
            minimizer_box: function.minimizer_box().cloned(),
            lower_bound: f64::NEG_INFINITY,
            aggregates: Minorants::new(),
            is_provable: function.minimizer_box().is_some(),
            repeats: 0,
            proposal_seconds: 0.0,
        }
    }

    /// Takes over what another method has found out about the minimum.
    pub(crate) fn adopt<Q: Proposer>(&mut self, other: &BundleMethod<Q>) {
        self.best = self.best.min(other.best);
        self.lower_bound = self.lower_bound.max(other.lower_bound);
    }

    /// Takes over what another method has found out about the minimum, and goes on from its centre: one evaluation.
    pub(crate) fn move_to<Q: Proposer>(
        &mut self,
        function: &mut Function<'_>,
        other: &BundleMethod<Q>,
    ) -> Result<Progress, EvaluationError> {
        self.adopt(other);
        self.trial.copy_from_slice(other.cuts.centre());
        let seen = self.cuts.evaluate(function, &self.trial, &self.proposal)?;
        self.best = self.best.min(seen.value);
        self.cuts.take(&self.trial, &seen, 1.0, &self.proposal, self.pruning);
        self.is_fresh = false;
        Ok(Progress::Step(StepReport { is_serious: Some(true), cuts: Some(self.cuts.len()), ..StepReport::default() }))
    }

    /// Whether the last try at a proof came to something.
    pub(crate) fn is_provable(&self) -> bool {
        self.is_provable
    }

    pub(crate) fn tolerance(&self) -> f64 {
        self.tolerance
    }

    fn propose(&mut self) {
        self.propose_by(P::propose);
    }

    /// Takes a proposal in the given way: that of many runs may come from one computation.
    pub(crate) fn propose_by<T>(&mut self, propose: impl FnOnce(&mut P, &mut P::Cuts, &mut Proposal) -> T) -> T {
        let begin = Instant::now();
        let result = propose(&mut self.proposer, &mut self.cuts, &mut self.proposal);
        self.is_fresh = true;
        self.raise_lower_bound();
        self.proposal_seconds += begin.elapsed().as_secs_f64();
        result
    }

    /// Lets the proposer read the bundle before it proposes.
    pub(crate) fn read(&mut self, read: impl FnOnce(&mut P, &P::Cuts)) {
        read(&mut self.proposer, &self.cuts);
    }

    pub(crate) fn proposal(&self) -> &Proposal {
        &self.proposal
    }

    pub(crate) fn proposer(&self) -> &P {
        &self.proposer
    }

    /// Decrease that the last proposal promised, over `max(1, |f|)`.
    pub(crate) fn gap(&self, function: &Function<'_>) -> f64 {
        self.proposal.decrease() / function.magnitude(self.best)
    }

    /// The least value seen.
    pub(crate) fn best(&self) -> f64 {
        self.best
    }

    pub(crate) fn cuts(&self) -> &P::Cuts {
        &self.cuts
    }

    /// Changes the proposer before the first step.
    pub(crate) fn with_proposer(self, change: impl FnOnce(P) -> P) -> Self {
        Self { proposer: change(self.proposer), ..self }
    }

    /// Counts time that a computation for many runs took for this one.
    pub(crate) fn add_proposal_seconds(&mut self, seconds: f64) {
        self.proposal_seconds += seconds;
    }

    /// The aggregate subgradient inequality `f(y) >= f(c) - sigma + w'(y - c)`, which holds for any weights on the cuts, at
    /// the worst corner of the box.
    fn raise_lower_bound(&mut self) {
        if let Some((lower, upper)) = &self.minimizer_box {
            let aggregate = self.proposal.aggregate.as_ref().unwrap_or(&self.proposal.direction);
            let aggregate = aggregate.numbers(self.trial.len());
            let reach: f64 = (aggregate.iter().zip(self.cuts.centre()).zip(lower.iter().zip(upper)))
                .map(|((w, c), (low, high))| if *w > 0.0 { w * (c - low) } else { w * (c - high) })
                .sum();
            let bound = self.cuts.centre_value() - self.proposal.sigma - reach;
            self.lower_bound = self.lower_bound.max(bound);
        }
    }

    /// What the oracle can prove from the combinations of each component's cuts: from the primal solution that they are.
    pub(crate) fn prove(&mut self, function: &mut Function<'_>) {
        if !self.cuts.write_aggregates(&mut self.aggregates) {
            return;
        }
        let bound = function.prove(&mut self.aggregates);
        self.is_provable = bound.is_some() || self.minimizer_box.is_some();
        self.lower_bound = bound.map_or(self.lower_bound, |bound| self.lower_bound.max(bound));
    }

    fn estimate(&self) -> f64 {
        ETA_STAR * self.proposal.norm_squared + self.proposal.sigma
    }

    /// `centre - eta w`, in bounds.
    fn write_trial(&mut self, function: &Function<'_>) {
        self.trial.copy_from_slice(self.cuts.centre());
        let direction = self.proposal.direction.numbers(self.trial.len());
        add_scaled(&mut self.trial, -self.proposal.eta, direction);
        function.project(&mut self.trial);
    }
}

impl<P: Proposer> BundleMethod<P> {
    /// Everything of a step that comes after the proposal.
    pub(crate) fn follow(&mut self, function: &mut Function<'_>) -> Result<Progress, EvaluationError> {
        let centre_value = self.cuts.centre_value();
        let promised = self.proposal.decrease();
        let allowed = self.tolerance * function.magnitude(self.best);
        if promised <= NEAR * allowed && self.best - self.lower_bound > allowed {
            self.prove(function);
        }
        // The stop test eta* |w|^2 + sigma <= eps max(1, |f|) is an estimate: where a proof can be had, it is asked for.
        let is_optimal = self.best - self.lower_bound <= allowed || (!self.is_provable && self.estimate() <= allowed);
        if is_optimal {
            return Ok(Progress::Optimal);
        }
        self.write_trial(function);
        let is_at_centre = self.trial == self.cuts.centre();
        if (is_at_centre && self.cuts.is_exact()) || self.repeats > MOST_REPEATS {
            return Ok(Progress::Stalled);
        }
        let seen = self.cuts.evaluate(function, &self.trial, &self.proposal)?;
        self.is_fresh = false;
        let value = seen.value;
        self.best = self.best.min(value);
        let is_serious = value <= centre_value - SERIOUS_SHARE * promised;
        let share = if is_at_centre {
            // The value of the centre was an upper bound, and is no longer.
            1.0
        } else {
            self.proposal.centre_policy.share(is_serious, value - centre_value, promised, seen.reach)
        };
        let is_new = self.cuts.take(&self.trial, &seen, share, &self.proposal, self.pruning);
        let is_repeated = !is_serious && !is_new;
        self.repeats = if is_repeated { self.repeats + 1 } else { 0 };
        let Proposal { eta, norm_squared, sigma, .. } = self.proposal;
        let outcome = Outcome {
            trial: &self.trial,
            value,
            share,
            is_serious,
            is_repeated,
            decrease: centre_value - value,
            promised,
            norm_squared,
            sigma,
            error: seen.error,
            slope: seen.slope,
            reach: seen.reach,
            slopes: self.cuts.slopes(),
        };
        self.proposer.learn(&self.cuts, &outcome);
        Ok(Progress::Step(StepReport {
            is_serious: Some(is_serious),
            model: Some(centre_value - promised),
            estimate: Some(self.estimate()),
            norm: Some(norm_squared.sqrt()),
            eta: Some(eta),
            cuts: Some(self.cuts.len()),
        }))
    }
}

impl<P: Proposer> Method for BundleMethod<P> {
    fn step(&mut self, function: &mut Function<'_>) -> Result<Progress, EvaluationError> {
        self.propose();
        self.follow(function)
    }

    fn trial(&self) -> &[f64] {
        &self.trial
    }

    fn master_seconds(&self) -> f64 {
        if P::IS_NETWORK { 0.0 } else { self.proposal_seconds }
    }

    fn network_seconds(&self) -> f64 {
        if P::IS_NETWORK { self.proposal_seconds } else { 0.0 }
    }

    fn harvest(&self, _function: &Function<'_>, since: u64, harvest: &mut Harvest) {
        self.cuts.harvest(since, harvest);
        let eta = self.proposer.next_eta().unwrap_or(self.proposal.eta);
        harvest.step_length = (eta > 0.0).then(|| match self.cuts.metric_unit() {
            Some(unit) => StepLength::Metric(eta * unit),
            None => StepLength::Plain(eta),
        });
    }

    fn bound(&mut self, best: f64, function: &mut Function<'_>) -> Option<Bound> {
        if !self.is_fresh {
            self.propose();
        }
        if best - self.lower_bound > self.tolerance * function.magnitude(best) {
            self.prove(function);
        }
        let proved = self.lower_bound.is_finite().then_some(best - self.lower_bound);
        Some(Bound { estimate: self.estimate(), proved })
    }

    fn primal(&self) -> Option<Primal> {
        self.cuts.primal(&self.proposal)
    }
}
