//! The exact master of a model with cuts for each component.

use bundlenet_linalg::vectors::Padded;

use super::Proposer;
use super::caps::Limits;
use super::product::{Accuracy, Effort, ProductMaster};
use super::proximity::Proximity;
use super::thrift::Thrift;
use crate::model::{CentrePolicy, ComponentBundle, Model, Proposal, Step};
use crate::oracle::{Domain, Patience};

/// Accuracy of the weights, as a share of the predicted decrease. A more exact master gives no better steps.
const ACCURACY: f64 = 0.05;
/// Accuracy for a proof. Its aggregate subgradient is to be small, and its error falls with the root of the accuracy.
const PROOF_ACCURACY: f64 = 1e-6;
/// Factor on the accuracy after a null step without a new cut, and the finest accuracy.
const SHARPER: f64 = 0.1;
const SHARPEST: f64 = 1e-12;
/// Factor on the step length after a proposal that leads nowhere.
const RETREAT: f64 = 0.1;

/// The exact master over the weights of all components' cuts, with a step-length strategy.
pub(crate) struct ComponentProposer {
    proximity: Proximity,
    /// The step lengths of inaccurate solves, whose directions allow shorter steps only.
    coarse: Option<Proximity>,
    master: ProductMaster,
    limits: Limits,
    thrift: Thrift,
    /// The best value of all steps.
    best: f64,
    accuracy: f64,
    /// Whether the last solve was that accurate.
    is_accurate: bool,
    /// Factor on the step length of the strategy.
    share: f64,
    /// Step length for a proof, and the work since the last one less the work of that one.
    stretched: Option<f64>,
    credit: f64,
    oracle_work: f64,
}

impl ComponentProposer {
    pub(crate) fn new(proximity: Proximity, domain: &Domain, dim: usize) -> Self {
        Self {
            proximity,
            master: ProductMaster::default(),
            limits: Limits::new(domain, dim),
            thrift: Thrift::default(),
            best: f64::INFINITY,
            accuracy: ACCURACY,
            is_accurate: true,
            share: 1.0,
            stretched: None,
            credit: 0.0,
            oracle_work: 0.0,
            coarse: None,
        }
    }

    /// Step length of the present proposal.
    fn eta(&self) -> f64 {
        if let Some(eta) = self.stretched {
            return eta;
        }
        let coarse = self.coarse.as_ref().filter(|_| !self.is_accurate);
        self.share * coarse.unwrap_or(&self.proximity).eta()
    }
}

impl Proposer for ComponentProposer {
    type Model = ComponentBundle;

    fn propose(&mut self, cuts: &mut ComponentBundle, proposal: &mut Proposal, patience: &Patience<'_>) {
        let is_needed = self.stretched.is_some() || self.accuracy < ACCURACY;
        self.is_accurate = is_needed || self.thrift.wants_accuracy(self.master.expected());
        proposal.eta = self.eta();
        let effort = match (self.stretched, self.is_accurate) {
            (Some(_), _) => Effort::OneCall,
            (None, true) => Effort::Full,
            (None, false) => Effort::Sweeps,
        };
        let share = if self.stretched.is_some() { PROOF_ACCURACY } else { self.accuracy };
        let accuracy = Accuracy { share, effort };
        let solved = self.master.solve(cuts, &self.limits, proposal.eta, accuracy, patience);
        let work = self.oracle_work + self.master.work();
        self.credit = if self.stretched.is_some() { (self.credit - work).min(0.0) } else { self.credit + work };
        let dim = cuts.centre().point.len();
        proposal.direction.numbers_mut(dim).copy_from_slice(self.master.direction());
        let aggregate = proposal.aggregate.get_or_insert_with(|| Padded::zeros(dim));
        aggregate.numbers_mut(dim).copy_from_slice(self.master.aggregate());
        proposal.norm_squared = solved.norm_squared;
        proposal.sigma = solved.sigma;
        proposal.is_accurate = self.is_accurate;
        proposal.inside = if self.stretched.is_some() { 1.0 } else { self.proximity.inside(proposal) };
        let is_coarse = !self.is_accurate || self.coarse.is_some();
        proposal.centre_policy = match self.proximity.centre_policy() {
            // A step for a proof is far too long for the centre to follow its null steps.
            _ if self.stretched.is_some() => CentrePolicy::Hard,
            // The centre never settles among inaccurate solves: their steps are short.
            policy if is_coarse => policy.unsettled(),
            policy => policy,
        };
    }

    fn next_eta(&self) -> Option<f64> {
        Some(self.eta())
    }

    /// With very long steps, weights that are nearly right lead nowhere.
    fn retreat(&mut self) -> bool {
        self.share *= RETREAT;
        true
    }

    fn set_eta(&mut self, eta: f64) -> bool {
        self.proximity.set_eta(eta / self.share);
        true
    }

    fn stretch(&mut self, eta: f64) -> bool {
        // At most half of the work goes into proofs.
        let can_afford = self.credit >= self.master.expected().interior;
        if can_afford {
            self.stretched = Some(eta);
        }
        can_afford
    }

    fn learn(&mut self, _cuts: &ComponentBundle, step: &Step<'_>) {
        // If the cuts are the same as before, only more accurate weights can change the proposal.
        self.accuracy = if step.is_repeated { (SHARPER * self.accuracy).max(SHARPEST) } else { ACCURACY };
        // The length of a step for a proof tells nothing of the others.
        if self.stretched.take().is_some() {
            return;
        }
        let before = self.best.min(step.centre_value);
        self.best = before.min(step.seen.value);
        self.thrift.note(self.master.work(), before - self.best);
        if self.is_accurate {
            self.proximity.update(step);
        } else {
            self.coarse.get_or_insert_with(|| self.proximity.clone()).update(step);
        }
    }

    fn set_oracle_work(&mut self, work: f64) {
        self.oracle_work = work;
        self.thrift.set_oracle_work(work);
    }

    fn work(&self) -> f64 {
        self.master.work()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The centre follows null steps, but not those of very long steps for a proof.
    #[test]
    fn the_centre_does_not_follow_the_null_steps_of_a_proof() {
        let cuts = [vec![(vec![(0, 1.0)], 0.0), (vec![(0, -1.0)], 1.0)]];
        let mut bundle = ComponentBundle::of_cuts(&[0.0], vec![0.0], &cuts);
        let mut proposer = ComponentProposer::new(Proximity::going_on_with_components(1.0), &Domain::Free, 1);
        let mut proposal = Proposal::new(1);
        let mut share_of_a_null_step = |stretched: Option<f64>| {
            proposer.stretched = stretched;
            proposer.propose(&mut bundle, &mut proposal, &Patience::default());
            proposal.centre_policy.share(false, 1.0, 1.0, None)
        };
        assert!(share_of_a_null_step(None) > 0.0);
        assert_eq!(share_of_a_null_step(Some(1e4)), 0.0);
    }
}
