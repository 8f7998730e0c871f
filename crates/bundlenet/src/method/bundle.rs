//! The bundle method: one loop for every proposer.

use std::time::Instant;

use super::{Bound, Method, Progress, Start, StepReport};
use crate::bundle::{Bundle, Repeats};
use crate::driver::Function;
use crate::error::EvaluationError;
use crate::master::{ETA_STAR, FIRST_CUTS, Outcome, Proposal, Proposer};
use crate::oracle::Domain;
use crate::vectors::{Padded, add_scaled, dot};

/// Share of the promised decrease that makes a step serious, `m`.
const SERIOUS_SHARE: f64 = 0.01;

/// Null steps in a row that bring no new cut after which nothing will change any more.
const MOST_REPEATS: usize = 10;

/// Which cuts are forgotten.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pruning {
    /// Steps without weight after which a cut goes.
    pub(crate) lifetime: usize,
    /// Most cuts ever held.
    pub(crate) cap: usize,
}

pub(crate) struct BundleMethod<P> {
    bundle: Bundle,
    proposer: P,
    proposal: Proposal,
    pruning: Pruning,
    tolerance: f64,
    trial: Vec<f64>,
    subgradient: Padded,
    slopes: Vec<f64>,
    is_free: bool,
    /// Whether the proposal is one for the bundle as it is.
    is_fresh: bool,
    /// Corners of a box that holds a minimiser, and the greatest lower bound on the minimum that it proved.
    minimizer_box: Option<(Vec<f64>, Vec<f64>)>,
    lower_bound: f64,
    /// Null steps in a row that brought no new cut.
    repeats: usize,
    master_seconds: f64,
}

impl<P: Proposer> BundleMethod<P> {
    /// `tolerance` is relative to `max(1, |f|)` in the user's units.
    pub(crate) fn new(
        function: &Function<'_>,
        start: Start<'_>,
        proposer: P,
        pruning: Pruning,
        tolerance: f64,
    ) -> Self {
        let dim = start.point.len();
        let subgradient = Padded::of(start.subgradient);
        let bundle = Bundle::new(start.point, start.value, &subgradient, pruning.cap.min(FIRST_CUTS));
        let repeats = if P::IS_NETWORK { Repeats::Keep } else { Repeats::Merge };
        Self {
            bundle: bundle.with_repeats(repeats),
            proposer,
            proposal: Proposal::new(dim),
            pruning,
            tolerance,
            trial: start.point.to_vec(),
            subgradient: Padded::zeros(dim),
            slopes: Vec::with_capacity(FIRST_CUTS),
            is_free: *function.domain() == Domain::Free,
            is_fresh: false,
            minimizer_box: function.minimizer_box().cloned(),
            lower_bound: f64::NEG_INFINITY,
            repeats: 0,
            master_seconds: 0.0,
        }
    }

    fn propose(&mut self) {
        self.propose_by(P::propose);
    }

    /// Takes a proposal in the given way: that of many runs may come from one computation.
    pub(crate) fn propose_by<T>(&mut self, propose: impl FnOnce(&mut P, &Bundle, &mut Proposal) -> T) -> T {
        let begin = Instant::now();
        let result = propose(&mut self.proposer, &self.bundle, &mut self.proposal);
        self.is_fresh = true;
        self.raise_lower_bound();
        self.master_seconds += begin.elapsed().as_secs_f64();
        result
    }

    /// Lets the proposer read the bundle before it proposes.
    pub(crate) fn read(&mut self, read: impl FnOnce(&mut P, &Bundle)) {
        read(&mut self.proposer, &self.bundle);
    }

    pub(crate) fn proposal(&self) -> &Proposal {
        &self.proposal
    }

    pub(crate) fn proposer(&self) -> &P {
        &self.proposer
    }

    pub(crate) fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// Counts time that a computation for many runs took for this one.
    pub(crate) fn add_master_seconds(&mut self, seconds: f64) {
        self.master_seconds += seconds;
    }

    /// The aggregate subgradient inequality `f(y) >= f(c) - sigma + w'(y - c)`, which holds for any weights on the cuts, at
    /// the worst corner of the box.
    fn raise_lower_bound(&mut self) {
        if let Some((lower, upper)) = &self.minimizer_box {
            let direction = self.proposal.direction.numbers(self.trial.len());
            let reach: f64 = (direction.iter().zip(self.bundle.centre()).zip(lower.iter().zip(upper)))
                .map(|((w, c), (low, high))| if *w > 0.0 { w * (c - low) } else { w * (c - high) })
                .sum();
            let bound = self.bundle.centre_value() - self.proposal.sigma - reach;
            self.lower_bound = self.lower_bound.max(bound);
        }
    }

    fn estimate(&self) -> f64 {
        ETA_STAR * self.proposal.norm_squared + self.proposal.sigma
    }

    /// `centre - eta w`, in bounds.
    fn write_trial(&mut self, function: &Function<'_>) {
        self.trial.copy_from_slice(self.bundle.centre());
        let direction = self.proposal.direction.numbers(self.trial.len());
        add_scaled(&mut self.trial, -self.proposal.eta, direction);
        function.project(&mut self.trial);
    }

    /// Products of all subgradients with the step from the centre to the trial point. They are in the Gram matrix, unless
    /// bounds bend the direction or a cut with weight has just been forgotten.
    fn write_slopes(&mut self, are_weights_whole: bool) {
        let eta = self.proposal.eta;
        if self.is_free && are_weights_whole {
            self.bundle.gram_combine(&self.proposal.weights, &mut self.slopes);
        } else {
            self.bundle.products(&self.proposal.direction, &mut self.slopes);
        }
        self.slopes.iter_mut().for_each(|slope| *slope *= -eta);
    }
}

impl<P: Proposer> BundleMethod<P> {
    /// Everything of a step that comes after the proposal.
    pub(crate) fn follow(&mut self, function: &mut Function<'_>) -> Result<Progress, EvaluationError> {
        let centre_value = self.bundle.centre_value();
        let promised = self.proposal.decrease();
        let allowed = self.tolerance * function.magnitude(centre_value);
        // The stop test eta* |w|^2 + sigma <= eps max(1, |f|) is an estimate: where a proof can be had, it is asked for.
        let is_optimal = match self.minimizer_box {
            Some(_) => centre_value - self.lower_bound <= allowed,
            None => self.estimate() <= allowed,
        };
        if is_optimal {
            return Ok(Progress::Optimal);
        }
        self.write_trial(function);
        if self.trial == self.bundle.centre() || self.repeats > MOST_REPEATS {
            return Ok(Progress::Stalled);
        }
        let value = function.evaluate(&self.trial, self.subgradient.numbers_mut(self.trial.len()))?;
        self.is_fresh = false;
        let is_serious = value <= centre_value - SERIOUS_SHARE * promised;

        let slope = dot(&self.subgradient.0, &self.proposal.direction.0);
        let error = centre_value - value - self.proposal.eta * slope;
        let is_thinned = if P::IS_NETWORK {
            self.bundle.forget_lightest(self.pruning.cap, &self.proposal.weights)
        } else {
            self.bundle.make_room(self.pruning.cap, &self.proposal.weights)
        };
        let taken = self.bundle.taken();
        let share = self.proposal.centre_policy.share(is_serious, value - centre_value);
        // A network sees the slopes even where the centre stays.
        if share > 0.0 || P::IS_NETWORK {
            self.write_slopes(!is_thinned);
            self.bundle.move_towards(&self.trial, value, share, &self.slopes);
        }
        let newest = self.bundle.insert(&self.subgradient, (1.0 - share) * error);
        let is_repeated = !is_serious && self.bundle.taken() == taken;
        self.repeats = if is_repeated { self.repeats + 1 } else { 0 };
        self.bundle.age(&self.proposal.weights, newest, self.pruning.lifetime);
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
            error,
            slope,
            slopes: &self.slopes,
        };
        self.proposer.learn(&self.bundle, &outcome);
        Ok(Progress::Step(StepReport {
            is_serious: Some(is_serious),
            model: Some(centre_value - promised),
            estimate: Some(self.estimate()),
            norm: Some(norm_squared.sqrt()),
            eta: Some(eta),
            cuts: Some(self.bundle.len()),
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
        self.master_seconds
    }

    fn is_network(&self) -> bool {
        P::IS_NETWORK
    }

    fn bound(&mut self, best: f64) -> Option<Bound> {
        if !self.is_fresh {
            self.propose();
        }
        let proved = self.lower_bound.is_finite().then_some(best - self.lower_bound);
        Some(Bound { estimate: self.estimate(), proved })
    }
}
