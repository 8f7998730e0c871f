//! The proximal bundle method: one loop for exact masters and networks, in single runs, batches and training.

use std::time::Instant;

use bundlenet_linalg::simd::flat;
use bundlenet_linalg::vectors::add_scaled;

use super::horizon::Horizon;
use super::{Gap, Minimize, Progress, StepReport};
use crate::master::{Proposer, Spent};
use crate::model::{Model, Proposal, Pruning, Saved, Step, StepLength};
use crate::oracle::{Detail, Evaluation, EvaluationError, Function, Lines, Patience, Primal, crossed};

/// `m`: a step is serious if the decrease is at least this share of the predicted one.
const SERIOUS_SHARE: f64 = 0.01;

/// A proof is tried once the predicted decrease is at most this multiple of the tolerance.
const NEAR: f64 = 100.0;

/// A proof that has failed is tried again when the predicted decrease has shrunk to `CLOSER` of that at the failure, or
/// after `MOST_UNPROVED` steps. The proof of some functions is a linear program that takes longer than a step.
const CLOSER: f64 = 0.9;
const MOST_UNPROVED: usize = 10;

/// Largest number of consecutive null steps without a new cut; one more stalls the method.
const MOST_REPEATS: usize = 10;

/// Factor on a step that promises no more than the noise of the oracle, and the largest number of times that it is
/// applied before an evaluation.
const STRETCH: f64 = 10.0;
const MOST_STRETCHES: usize = 20;

/// Factor on a step whose predicted decrease is within the tolerance, for a proof.
const PROOF_STRETCH: f64 = 1e4;

/// Share of the predicted decrease that the width of a value should not exceed.
const WISHED_SHARE: f64 = 0.1;

/// An oracle is no more accurate if an interval is wider than the wish by this factor. Round-off is far below it.
const DEAF: f64 = 2.0;

/// The point of the next evaluation.
enum Aim {
    /// The trial point of the proposal. It may be the centre.
    Trial { is_at_centre: bool },
    /// The centre, again and more accurately.
    CentreAgain,
}

/// How well the predicted decrease is heard in the noise of an oracle whose values are intervals.
enum Hearing {
    /// It is larger than the noise, or a more accurate value at the trial point would tell.
    Clear,
    /// The gap may be within the noise. A more accurate value at the centre would tell.
    Vague,
    /// The gap is within the noise, and the oracle is no more accurate.
    Lost,
}

pub(crate) struct BundleMethod<P: Proposer> {
    model: P::Model,
    proposer: P,
    proposal: Proposal,
    /// Whether the proposal belongs to the present model.
    is_fresh: bool,
    /// The evaluation at the last trial point, and the parts of it that are computed.
    seen: Evaluation,
    detail: Detail,
    pruning: Pruning,
    tolerance: f64,
    /// The best value. The value of the centre may be an upper bound.
    best: f64,
    /// Length of a very long step, for the stop test.
    horizon: Horizon,
    /// Corners of a box that holds a minimiser, and the best proved lower bound on the minimum.
    minimizer_box: Option<(Vec<f64>, Vec<f64>)>,
    lower_bound: f64,
    /// Weighted sums of each component's cuts, for a proof, and whether the last proof succeeded.
    aggregates: Lines,
    is_provable: bool,
    /// Predicted decrease at the last proof, and steps since then.
    unproved: f64,
    since_proof: usize,
    /// Least length of the next very long step: the last one promised no more than the tolerance, but its proof failed.
    proof_eta: f64,
    /// Whether the last proposal is that step.
    is_stretched: bool,
    /// False if a cut contradicts the best value: round-off has spoiled it, or the function is not convex.
    is_consistent: bool,
    /// Accuracy that was wished for at the last trial point, and at the centre.
    wish: f64,
    centre_wish: f64,
    /// Consecutive null steps without a new cut.
    repeats: usize,
    /// Primal solution at a stationary point.
    optimal_primal: Option<Primal>,
    /// Wall time of proposals, and counted work of their masters.
    seconds: f64,
    work: f64,
}

impl<P: Proposer> BundleMethod<P> {
    /// `tolerance` is relative to `max(1, |f|)` in the user's units.
    pub(crate) fn new(function: &Function<'_>, model: P::Model, proposer: P, pruning: Pruning, tolerance: f64) -> Self {
        Self {
            proposer,
            proposal: Proposal::new(model.centre().point.len()),
            is_fresh: false,
            seen: Evaluation::at(&model.centre().point),
            detail: P::Model::DETAIL,
            pruning,
            tolerance,
            best: model.centre().value,
            horizon: Horizon::default(),
            model,
            minimizer_box: function.minimizer_box().cloned(),
            lower_bound: f64::NEG_INFINITY,
            aggregates: Lines::new(),
            is_provable: function.minimizer_box().is_some(),
            unproved: f64::INFINITY,
            since_proof: 0,
            proof_eta: 0.0,
            is_stretched: false,
            is_consistent: true,
            wish: f64::INFINITY,
            centre_wish: f64::INFINITY,
            repeats: 0,
            optimal_primal: None,
            seconds: 0.0,
            work: 0.0,
        }
    }

    /// Takes over the best value and the lower bound of another method.
    pub(crate) fn adopt<Q: Proposer>(&mut self, other: &BundleMethod<Q>) {
        self.adopt_bounds(other.bounds());
    }

    /// Takes over a best value and a lower bound.
    pub(crate) fn adopt_bounds(&mut self, (best, lower_bound): (f64, f64)) {
        self.best = self.best.min(best);
        self.lower_bound = self.lower_bound.max(lower_bound);
    }

    /// The best value and the lower bound.
    pub(crate) fn bounds(&self) -> (f64, f64) {
        (self.best, self.lower_bound)
    }

    /// The same method as the continuation of a run that ended with this step length.
    pub(crate) fn after(mut self, eta: Option<f64>) -> Self {
        self.horizon = Horizon::after(eta);
        self
    }

    /// Takes over the results of another method and moves the centre to its centre. Needs one evaluation.
    pub(crate) fn move_to<Q: Proposer>(
        &mut self,
        function: &mut Function<'_>,
        other: &BundleMethod<Q>,
    ) -> Result<Progress, EvaluationError> {
        self.adopt(other);
        self.go_to(function, &other.model.centre().point)
    }

    /// Evaluates at a point that no master has proposed, and moves the centre there. A second value at the centre counts
    /// if it is better than the first.
    fn go_to(&mut self, function: &mut Function<'_>, point: &[f64]) -> Result<Progress, EvaluationError> {
        self.seen.point.copy_from_slice(point);
        function.visit(&mut self.seen, self.detail)?;
        self.best = self.best.min(self.seen.value);
        let centre = self.model.centre();
        let is_kept = centre.is_exact && centre.point == point && centre.value <= self.seen.value;
        let step = Proposal::step(&centre.point, point);
        let sight = self.model.look(&self.seen, &step);
        self.model.update(&self.seen, sight, f64::from(!is_kept), &step, self.pruning);
        self.proposer.record_cut(&self.model, &self.seen);
        self.is_fresh = false;
        let (is_serious, cuts) = (Some(!is_kept), Some(self.model.len()));
        Ok(Progress::Step(StepReport { is_serious, cuts, ..StepReport::default() }))
    }

    pub(crate) fn model(&self) -> &P::Model {
        &self.model
    }

    pub(crate) fn proposer(&self) -> &P {
        &self.proposer
    }

    pub(crate) fn proposal(&self) -> &Proposal {
        &self.proposal
    }

    /// Step length of the last proposal.
    pub(crate) fn eta(&self) -> f64 {
        self.proposal.eta
    }

    /// Length of a step without metric that goes as far as the last proposal.
    pub(crate) fn plain_eta(&self) -> f64 {
        self.proposal.plain_eta()
    }

    /// The evaluation of the last step.
    pub(crate) fn last_seen(&self) -> &Evaluation {
        &self.seen
    }

    /// Whether the last try at a proof came to something.
    pub(crate) fn is_provable(&self) -> bool {
        self.is_provable
    }

    /// Whether the last proposal was a very long step, for a proof.
    pub(crate) fn is_stretched(&self) -> bool {
        self.is_stretched
    }

    /// The best value.
    pub(crate) fn best(&self) -> f64 {
        self.best
    }

    pub(crate) fn tolerance(&self) -> f64 {
        self.tolerance
    }

    /// Sets the parts of the next evaluations that are computed.
    pub(crate) fn set_detail(&mut self, detail: Detail) {
        self.detail = detail;
    }

    /// Lets the proposer read the model, before proposals of many runs are computed together.
    pub(crate) fn prepare(&mut self, read: impl FnOnce(&mut P, &P::Model)) {
        read(&mut self.proposer, &self.model);
    }

    /// Makes a proposal, unless there is one for the present model.
    fn propose(&mut self, patience: &Patience<'_>) {
        if !self.is_fresh {
            self.propose_by(0.0, |proposer, model, proposal| proposer.propose(model, proposal, patience));
        }
    }

    /// Makes a proposal by a given function. `before` is the time in seconds that was already spent on it.
    pub(crate) fn propose_by(&mut self, before: f64, propose: impl FnOnce(&mut P, &mut P::Model, &mut Proposal)) {
        let begin = Instant::now();
        propose(&mut self.proposer, &mut self.model, &mut self.proposal);
        self.is_stretched = false;
        self.is_fresh = true;
        self.raise_lower_bound();
        self.seconds += before + begin.elapsed().as_secs_f64();
        self.work += self.proposer.work();
    }

    /// Raises the lower bound by the aggregate subgradient inequality `f(y) >= f(c) - sigma + w'(y - c)`, at the worst
    /// corner of the box. The inequality holds for any weights on the cuts.
    fn raise_lower_bound(&mut self) {
        if let Some((lower, upper)) = &self.minimizer_box {
            let centre = self.model.centre();
            let aggregate = self.proposal.aggregate().numbers(centre.point.len());
            let reach: f64 = (aggregate.iter().zip(&centre.point).zip(lower.iter().zip(upper)))
                .map(|((w, c), (low, high))| if *w > 0.0 { w * (c - low) } else { w * (c - high) })
                .sum();
            self.lower_bound = self.lower_bound.max(centre.value - self.proposal.sigma - reach);
        }
        // An aggregate subgradient of 0 needs no box.
        if self.proposal.norm_squared == 0.0 && self.is_consistent {
            self.lower_bound = self.lower_bound.max(self.model.centre().value - self.proposal.sigma);
        }
    }

    /// Lets the oracle prove a lower bound from the weighted sums of each component's cuts. They represent a primal
    /// solution.
    pub(crate) fn prove(&mut self, function: &mut Function<'_>) {
        if !self.model.write_aggregates(&mut self.aggregates) {
            return;
        }
        let bound = function.prove(&mut self.aggregates);
        // A proof that was cut short says nothing about others.
        if bound.is_none() && function.patience().is_over() {
            return;
        }
        self.is_provable = bound.is_some() || self.minimizer_box.is_some();
        self.lower_bound = bound.map_or(self.lower_bound, |bound| self.lower_bound.max(bound));
    }

    /// Estimate of the gap: the aggregate's error, and the decrease that a very long step could bring.
    fn estimate(&self) -> f64 {
        let Proposal { eta, norm_squared, sigma, .. } = self.proposal;
        sigma + self.horizon.decrease(eta, norm_squared)
    }

    /// The stop test: a proved gap within the tolerance or, if no proof is possible, an estimated one.
    fn has_converged(&mut self, function: &mut Function<'_>) -> bool {
        let allowed = self.tolerance * function.magnitude(self.best);
        let decrease = self.proposal.decrease();
        self.since_proof += 1;
        let is_time = decrease <= CLOSER * self.unproved || self.since_proof >= MOST_UNPROVED;
        if decrease <= NEAR * allowed && is_time && !self.is_proved(function) {
            self.prove(function);
            self.stretch(function, allowed);
            (self.unproved, self.since_proof) = (decrease, 0);
        }
        self.is_proved(function) || (!self.is_provable && self.estimate() <= allowed && self.is_confirmed(function))
    }

    /// Tries a very long step if the predicted decrease is within the tolerance and that is not proved. Such a step nearly
    /// minimises the model itself: its aggregate subgradient is small, and its proof is tight. If it promises more than
    /// the tolerance, it is the next step.
    fn stretch(&mut self, function: &mut Function<'_>, allowed: f64) {
        if self.proposal.decrease() > allowed || !self.is_provable || self.is_proved(function) {
            return;
        }
        let eta = (PROOF_STRETCH * self.proposal.eta).max(self.proof_eta);
        if !self.proposer.stretch(eta) {
            return;
        }
        self.is_fresh = false;
        self.propose(function.patience());
        self.is_stretched = true;
        if function.patience().is_over() {
            return;
        }
        self.prove(function);
        if self.proposal.decrease() <= allowed {
            self.proof_eta = STRETCH * eta;
        }
    }

    /// Confirms the estimate by an evaluation at the end of a very long step. If the function has not bent up to there,
    /// the estimate is worthless. A variable that would reach a bound stays at the centre: the estimate has all of its
    /// decrease.
    fn is_confirmed(&mut self, function: &mut Function<'_>) -> bool {
        let centre = self.model.centre();
        let length = self.horizon.length(self.proposal.eta);
        let mut far = Evaluation::at(&centre.point);
        let ways = self.proposal.direction.numbers(centre.point.len()).iter().zip(flat(&self.proposal.aggregate().0));
        let mut predicted = 0.0;
        for (index, (entry, (direction, w))) in far.point.iter_mut().zip(ways).enumerate() {
            let to = *entry - length * direction;
            if *direction != 0.0 && crossed(function.domain().limits(index), to).is_none() {
                *entry = to;
                predicted += length * direction * w;
            }
        }
        if predicted == 0.0 || Horizon::is_lost(predicted, centre.value) {
            return true;
        }
        // One evaluation for this test, and one for the step if the test fails.
        if function.evaluations_left() < 2 {
            return false;
        }
        let centre_value = centre.value;
        // A function that cannot be evaluated there is not linear.
        let is_seen = function.visit(&mut far, Detail::Whole).is_ok();
        !is_seen || self.horizon.is_behind(length, centre_value - far.value, predicted)
    }

    /// Accuracy to wish for at the next trial point: a share of the predicted decrease, so that the serious test means
    /// something.
    fn accuracy(&self, function: &Function<'_>) -> f64 {
        WISHED_SHARE * self.proposal.decrease().max(self.tolerance * function.magnitude(self.best))
    }

    /// The part of the predicted decrease that may be the oracle's: the value of the centre may be too high, and the cuts
    /// too low.
    fn noise(&self) -> f64 {
        self.model.centre().width + self.model.noise(&self.proposal)
    }

    /// The part of the value at the centre that round-off may change.
    fn round_off(&self) -> f64 {
        Horizon::round_off(self.model.centre().value)
    }

    /// Tries longer steps until one promises more than a noise. False if none up to `longest` does.
    fn lengthen(&mut self, longest: f64, noise: fn(&Self) -> f64, function: &Function<'_>) -> bool {
        for _ in 0..MOST_STRETCHES {
            if self.proposal.decrease() > noise(self) {
                return true;
            }
            if self.proposal.eta >= longest || !self.proposer.set_eta(STRETCH * self.proposal.eta) {
                break;
            }
            self.is_fresh = false;
            self.propose(function.patience());
        }
        false
    }

    /// Whether every step up to a very long one promises less than the round-off of the value. A short step whose promise
    /// is lost in round-off tells nothing: a longer one is tried.
    fn is_exhausted(&mut self, function: &Function<'_>) -> bool {
        let longest = self.horizon.length(self.proposal.eta);
        !self.lengthen(longest, Self::round_off, function) && self.proposal.eta >= longest
    }

    /// Tries longer steps until one promises more than the noise of the oracle (Kiwiel, 2006). If a very long one does not,
    /// the gap is within the noise. `docs/oracle.md` has the theory.
    fn listen(&mut self, function: &Function<'_>) -> Hearing {
        let eta = self.proposal.eta;
        let longest = self.horizon.length(eta);
        if self.lengthen(longest, Self::noise, function) {
            return Hearing::Clear;
        }
        let is_far = self.proposal.eta >= longest;
        let is_small = self.estimate() <= self.tolerance * function.magnitude(self.best) + self.noise();
        if !is_far && !is_small {
            return Hearing::Clear;
        }
        if self.seen.width > DEAF * self.wish {
            return Hearing::Lost;
        }
        if self.proposer.set_eta(eta) {
            self.is_fresh = false;
            self.propose(function.patience());
        }
        let accuracy = self.accuracy(function);
        let is_vague = self.model.centre().width > accuracy && self.centre_wish > 2.0 * accuracy;
        if is_vague { Hearing::Vague } else { Hearing::Clear }
    }

    /// Proposes until there is a trial point to evaluate. Returns the point to evaluate, or the end of the method.
    /// An inexact master may promise a decrease and stay at the centre: then a shorter step is tried.
    fn aim(&mut self, function: &mut Function<'_>) -> Result<Aim, Progress> {
        self.proposer.set_oracle_work(function.work());
        for _ in 0..=MOST_REPEATS {
            self.propose(function.patience());
            if function.patience().is_over() {
                return Err(Progress::Interrupted);
            }
            if self.has_converged(function) {
                return Err(Progress::Converged);
            }
            if self.noise() > 0.0 {
                match self.listen(function) {
                    Hearing::Clear => {}
                    Hearing::Vague => return Ok(Aim::CentreAgain),
                    Hearing::Lost => return Err(Progress::Noisy),
                }
            }
            if self.is_exhausted(function) {
                break;
            }
            let is_at_centre = self.write_trial(function);
            let is_known = is_at_centre && self.model.centre().is_exact;
            if !is_known && self.repeats <= MOST_REPEATS {
                return Ok(Aim::Trial { is_at_centre });
            }
            if !is_known || !self.proposer.retreat() {
                break;
            }
            self.is_fresh = false;
        }
        let is_noisy = self.proposal.decrease() <= self.noise();
        Err(if is_noisy { Progress::Noisy } else { Progress::Stalled })
    }

    /// Evaluates some components at the trial point. They improve the model; the centre stays.
    fn step_of_some(&mut self, which: &[usize], function: &mut Function<'_>) -> Result<Progress, EvaluationError> {
        function.visit_some(which, &mut self.seen)?;
        self.is_fresh = false;
        self.model.update_some(which, &self.seen);
        Ok(Progress::Step(StepReport { is_serious: Some(false), ..self.report(self.model.centre().value) }))
    }

    /// Data of the last proposal for the log.
    fn report(&self, centre_value: f64) -> StepReport {
        StepReport {
            is_serious: None,
            model: Some(centre_value - self.proposal.decrease()),
            estimate: Some(self.estimate()),
            norm: Some(self.proposal.norm_squared.sqrt()),
            eta: Some(self.proposal.eta),
            cuts: Some(self.model.len()),
        }
    }

    /// Writes the trial point `centre - eta w`, or the one inside of it, within bounds. True if it is the centre.
    fn write_trial(&mut self, function: &Function<'_>) -> bool {
        let centre = &self.model.centre().point;
        let trial = &mut self.seen.point;
        trial.copy_from_slice(centre);
        add_scaled(trial, -self.proposal.inside * self.proposal.eta, self.proposal.direction.numbers(centre.len()));
        function.domain().project(trial);
        trial == centre
    }
}

impl<P: Proposer> Minimize for BundleMethod<P> {
    /// Algorithm 1 of the paper with an exact master, Algorithm 2 with a network. `A1:5` is line 5 of Algorithm 1.
    fn step(&mut self, function: &mut Function<'_>) -> Result<Progress, EvaluationError> {
        // Propose: weights theta on the cuts, direction w = sum_i theta_i g_i, step length eta. Equations (3) and (4),
        // A1:5, A2:6-9.
        let aim = match self.aim(function) {
            Ok(aim) => aim,
            Err(end) => return Ok(end),
        };
        // Evaluate at the trial point centre - eta w. A1:6-7, A2:10-11.
        self.wish = self.accuracy(function);
        function.wish(self.wish);
        let Aim::Trial { is_at_centre } = aim else {
            self.centre_wish = self.wish;
            return self.go_to(function, &self.model.centre().point.clone());
        };
        let laggards = self.model.laggards();
        if !laggards.is_empty() {
            return self.step_of_some(&laggards, function);
        }
        function.visit(&mut self.seen, self.detail)?;
        self.is_fresh = false;
        self.best = self.best.min(self.seen.value);
        // A stationary point has the best value. If it has not, round-off has spoiled its value: it is far away.
        if self.seen.value <= self.best && self.seen.is_stationary(function.domain()) {
            self.lower_bound = self.lower_bound.max(self.seen.cut());
            self.optimal_primal = self.seen.primal();
        }
        // Judge: serious or null step, A1:9; share of the way by which the centre moves, A2:13. `sight` compares the new
        // cut with the model. An evaluation at the centre makes its value exact.
        let (proposal, seen, centre_value) = (&self.proposal, &self.seen, self.model.centre().value);
        let sight = self.model.look(seen, proposal);
        self.is_consistent &= sight.error >= -self.tolerance * function.magnitude(self.best);
        let is_enough = seen.value <= centre_value - SERIOUS_SHARE * proposal.promised();
        let is_serious = is_enough && seen.value < centre_value;
        let rise = seen.value - centre_value;
        let soft_share = proposal.centre_policy.share(is_serious, rise, proposal.promised(), sight.reach);
        let share = if is_at_centre { 1.0 } else { soft_share };
        if share > 0.0 {
            self.centre_wish = if share < 1.0 { self.centre_wish.max(self.wish) } else { self.wish };
        }
        // In the noise of the oracle the function may have decreased by more.
        let decrease = self.model.centre().width + seen.width - rise;
        if !self.is_stretched {
            self.horizon.learn(proposal.inside * proposal.eta, decrease, proposal.promised(), centre_value);
        }
        // Update bundle, centre and linearisation errors, A1:8, 10, 14, A2:12-14; then the step length, A1:10, 12.
        let is_new = self.model.update(seen, sight, share, proposal, self.pruning);
        let is_repeated = !is_serious && !is_new;
        self.repeats = if is_repeated { self.repeats + 1 } else { 0 };
        self.proposer.learn(&self.model, &Step { proposal, seen, sight, centre_value, share, is_serious, is_repeated });
        Ok(Progress::Step(StepReport { is_serious: Some(is_serious), ..self.report(centre_value) }))
    }

    fn seen(&self) -> Option<&Evaluation> {
        Some(&self.seen)
    }

    fn spent(&self) -> Spent {
        Spent { work: self.work, ..self.proposer.book(self.seconds) }
    }

    fn save(&self, since: u64) -> Option<Saved> {
        let mut saved = self.model.save(since);
        let eta = self.proposer.next_eta().unwrap_or(self.proposal.eta);
        saved.step_length = (eta > 0.0).then(|| match self.model.metric_unit() {
            Some(unit) => StepLength::Metric(eta * unit),
            None => StepLength::Plain(eta),
        });
        Some(saved)
    }

    fn gap(&mut self, best: f64, function: &mut Function<'_>) -> Option<Gap> {
        self.propose(function.patience());
        if best - self.lower_bound > self.tolerance * function.magnitude(best) {
            self.prove(function);
        }
        let proved = self.lower_bound.is_finite().then_some(best - self.lower_bound);
        Some(Gap { estimate: self.estimate(), proved })
    }

    fn promised_gap(&self, start_value: f64) -> f64 {
        let size = self.best.abs().max(start_value - self.best);
        let has_proposal = self.proposal.eta > 0.0 && size > 0.0;
        if has_proposal { self.proposal.decrease() / size } else { f64::INFINITY }
    }

    fn is_proved(&self, function: &Function<'_>) -> bool {
        self.best - self.lower_bound <= self.tolerance * function.magnitude(self.best)
    }

    fn primal(&self) -> Option<Primal> {
        self.optimal_primal.clone().or_else(|| self.model.primal(&self.proposal))
    }
}
