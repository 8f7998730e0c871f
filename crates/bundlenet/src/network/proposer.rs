//! A network that answers the master problem.

use std::sync::Arc;

use bundlenet_linalg::simd::{flat, flat_mut};
use bundlenet_linalg::vectors::{Padded, dot, multiply};

use super::architecture::{Architecture, Centre, StepUnit};
use super::features::{FeatureSource, Tracker};
use super::guard::Watch;
use super::network::{Network, Tape};
use super::ops::decoder::step_length;
use super::real::Real;
use crate::master::{Growth, MOST_CHANGE, Proposer, Proximity, Spent, crossing, secant};
use crate::model::{Bundle, Centre as BundleCentre, CentrePolicy, FIRST_CUTS, Model, Proposal, Step};
use crate::oracle::{Domain, Evaluation, Patience, bend};

/// One run of a network: its features, its recurrent state, and the keys of the cuts.
pub(crate) struct NetworkProposer<S, E = Tracker> {
    network: Arc<Network<S>>,
    domain: Domain,
    /// Unit of the step length.
    unit: f64,
    source: E,
    features: Vec<f64>,
    /// Observations of the cuts, in the order of the places.
    observed: Vec<f64>,
    state: Vec<S>,
    cell: Vec<S>,
    /// Keys of the cuts by place.
    keys: Vec<S>,
    places: Vec<usize>,
    logits: Vec<S>,
    weights: Vec<S>,
    sorted: Vec<S>,
    weighted: Vec<(usize, f64)>,
    slopes: Vec<f64>,
    /// Factors on the step along each variable at the last proposal; empty without a metric.
    factors: Padded,
    /// Share of the running factors; `None` without a metric.
    mix: Option<f64>,
    /// Tape of a single run. Runs in step share one tape.
    tape: Option<Tape<S>>,
    calibration: Option<Calibration>,
    /// The guard of the run, if the network has one.
    watch: Option<Watch>,
    /// Whether the last step was shortened to the bound on the first one.
    is_bounded: bool,
}

impl<S: Real, E: FeatureSource> NetworkProposer<S, E> {
    /// A run from `start`. `is_limited`: a guard limits the number of steps. `budget`: the number of steps, if it is known.
    pub(crate) fn new(
        network: Arc<Network<S>>,
        source: E,
        domain: &Domain,
        start: &Evaluation,
        is_limited: bool,
        budget: Option<usize>,
    ) -> Self {
        let Architecture { hidden, .. } = network.architecture;
        let state = network.architecture.state();
        // A unit of 1 is the paper's: it stays as it is.
        let calibration = (network.architecture.step_unit == StepUnit::Start).then(|| Calibration::new(start));
        Self {
            domain: domain.clone(),
            unit: network.step_unit(&start.point, start.value),
            source,
            features: Vec::with_capacity(network.architecture.inputs()),
            observed: Vec::with_capacity(FIRST_CUTS * network.architecture.cut_features()),
            state: vec![S::ZERO; state],
            cell: vec![S::ZERO; state],
            keys: Vec::with_capacity(FIRST_CUTS * hidden),
            places: Vec::with_capacity(FIRST_CUTS),
            logits: Vec::with_capacity(FIRST_CUTS),
            weights: Vec::with_capacity(FIRST_CUTS),
            sorted: Vec::with_capacity(FIRST_CUTS),
            weighted: Vec::with_capacity(FIRST_CUTS),
            slopes: Vec::with_capacity(FIRST_CUTS),
            factors: Padded(vec![]),
            mix: None,
            tape: None,
            calibration,
            watch: network.guard.as_ref().map(|_| Watch::new(start, is_limited, budget)),
            is_bounded: false,
            network,
        }
    }

    /// Factor from the last step length to a sensible one, if the last trial point was worse than the start: then the
    /// function is unlike those in training.
    pub(crate) fn lost(&self) -> Option<f64> {
        self.calibration.as_ref()?.lost
    }

    /// Whether a guard limits the number of the network's steps.
    pub(crate) fn is_limited(&self) -> bool {
        self.watch.as_ref().is_some_and(Watch::is_limited)
    }

    /// Whether the guard has ended the network's steps.
    pub(crate) fn is_over(&self) -> bool {
        self.watch.as_ref().is_some_and(Watch::is_over)
    }

    /// Best point and step-length rule for the exact master of the guard. `None` if another method is to follow, or
    /// before the first step.
    pub(crate) fn successor(&self) -> Option<(&BundleCentre, Proximity)> {
        let watch = self.watch.as_ref().filter(|watch| watch.can_hand_over())?;
        Some((watch.best(), watch.proximity(self.network.guard.as_ref()?)))
    }

    /// Compares the inputs after a step with those of the training.
    fn judge(&mut self, bundle: &Bundle) {
        let (Some(watch), Some(guard)) = (&mut self.watch, &self.network.guard) else { return };
        let inputs = self.network.architecture.inputs();
        if watch.is_watching(guard, inputs) {
            self.source.write_features(self.unit, bundle, &mut self.features);
            let mut transformed = vec![S::ZERO; inputs];
            self.network.transform(&self.features, &mut transformed);
            watch.judge(guard, transformed.into_iter().map(Real::wide));
        }
    }

    /// Proposes by the exact master, if the network's steps are over. False if the network is to propose.
    fn propose_exactly(&mut self, bundle: &mut Bundle, proposal: &mut Proposal, patience: &Patience<'_>) -> bool {
        let (Some(watch), Some(guard)) = (&mut self.watch, &self.network.guard) else { return false };
        if watch.is_over() {
            watch.propose(guard, &self.domain, bundle, proposal, patience);
        }
        watch.is_over()
    }

    /// The features before standardisation.
    pub(crate) fn features(&self) -> &[f64] {
        &self.features
    }

    /// Weights of the last proposal, in the order of [`NetworkProposer::places`].
    pub(crate) fn weights(&self) -> &[S] {
        &self.weights
    }

    /// Whether the last step was shortened to the bound on the first one.
    pub(crate) fn is_bounded(&self) -> bool {
        self.is_bounded
    }

    /// Unit of the step length.
    pub(crate) fn unit(&self) -> f64 {
        self.unit
    }

    /// Observations of the cuts at the last proposal.
    pub(crate) fn observed(&self) -> &[f64] {
        &self.observed
    }

    /// Factors on the step along each variable at the last proposal; empty without a metric.
    pub(crate) fn factors(&self) -> &[f64] {
        flat(&self.factors.0)
    }

    /// Share of the running factors at the last proposal, if there are any.
    pub(crate) fn mix(&self) -> Option<f64> {
        self.mix
    }

    pub(crate) fn keys(&self) -> &[S] {
        &self.keys
    }

    /// Writes the input of the network for this run to a row of the tape.
    pub(crate) fn prepare(&mut self, bundle: &Bundle, tape: &mut Tape<S>, step: usize, row: usize) {
        if self.is_over() {
            return;
        }
        let architecture = &self.network.architecture;
        let (inputs, size) = (architecture.inputs(), architecture.state());
        self.source.write_features(self.unit, bundle, &mut self.features);
        let input = &mut tape.input[step][row * (inputs + size)..(row + 1) * (inputs + size)];
        self.network.transform(&self.features, &mut input[..inputs]);
        input[inputs..].copy_from_slice(&self.state);
        tape.cell[step][row * size..(row + 1) * size].copy_from_slice(&self.cell);
    }

    /// Turns the network's output in a row of the tape into a proposal: Algorithm 2 of the paper, lines 7 to 9. `at` is
    /// step and row of the tape.
    pub(crate) fn accept(&mut self, bundle: &Bundle, tape: &Tape<S>, at: (usize, usize), proposal: &mut Proposal) {
        let network = Arc::clone(&self.network);
        let architecture = &network.architecture;
        let Output { raw, query, key } = self.read(architecture, tape, at);
        self.store_key(bundle, key);
        self.write_logits(bundle, architecture, query);
        let attention = architecture.attention;
        self.weights.resize(self.places.len(), S::ZERO);
        attention.forward(&self.logits, &mut self.weights, &mut self.sorted);
        proposal.eta = step_length(raw[0], self.unit);
        let bound = self.calibration.as_mut().and_then(|calibration| calibration.first_length.take());
        self.is_bounded = bound.is_some_and(|length| length < proposal.eta);
        proposal.eta = bound.map_or(proposal.eta, |length| proposal.eta.min(length));
        // Not in the paper: the slopes of the master at the first weights are one more observation of the cuts, so the
        // weights are computed a second time.
        if self.source.sees_slopes()
            && let Some(&coefficient) = query.last()
        {
            self.observe_slopes(bundle, proposal.eta);
            let slopes = self.observed.chunks_exact(architecture.cut_features()).filter_map(<[f64]>::last);
            self.logits.iter_mut().zip(slopes).for_each(|(logit, &slope)| *logit += coefficient * S::of(slope));
            attention.forward(&self.logits, &mut self.weights, &mut self.sorted);
        }
        proposal.centre_policy = centre_policy(architecture.centre, raw, self.unit);
        self.write_weights(bundle, proposal);
        bundle.aggregate(&proposal.weights, &mut proposal.direction);
        proposal.sigma = proposal.weights.iter().map(|&(place, weight)| weight * bundle.errors()[place]).sum();
        self.write_factors(bundle, architecture, raw);
        self.turn(proposal);
        self.source.note(proposal);
        if self.domain != Domain::Free {
            self.bend(bundle, proposal);
        }
    }

    /// As [`NetworkProposer::accept`], unless the exact master is to propose.
    pub(crate) fn accept_or_guard(
        &mut self,
        bundle: &mut Bundle,
        tape: &Tape<S>,
        at: (usize, usize),
        proposal: &mut Proposal,
    ) {
        if !self.propose_exactly(bundle, proposal, &Patience::default()) {
            self.accept(bundle, tape, at, proposal);
        }
    }

    /// Writes the factors on the step along each variable.
    fn write_factors(&mut self, bundle: &Bundle, architecture: &Architecture, raw: &[S]) {
        if let Some(scaling) = bundle.scaling() {
            let mix = raw[architecture.mix_output()].sigmoid().wide();
            self.mix = Some(mix);
            scaling.write_factors(mix, &mut self.factors);
        }
    }

    /// Turns the direction `w = G theta` into `M w`.
    fn turn(&self, proposal: &mut Proposal) {
        let direction = &mut proposal.direction;
        if !self.factors.0.is_empty() {
            let aggregate = proposal.aggregate.get_or_insert_with(|| Padded(vec![]));
            aggregate.0.clone_from(&direction.0);
            multiply(&mut direction.0, &self.factors.0);
        }
        proposal.norm_squared = dot(&proposal.aggregate().0, &proposal.direction.0);
    }

    /// Copies the recurrent state, and returns the outputs for this run.
    fn read<'t>(
        &mut self,
        architecture: &Architecture,
        tape: &'t Tape<S>,
        (step, row): (usize, usize),
    ) -> Output<'t, S> {
        let (size, hidden) = (architecture.state(), architecture.hidden);
        self.state.copy_from_slice(&tape.state[step][row * size..(row + 1) * size]);
        self.cell.copy_from_slice(&tape.next_cell[step][row * size..(row + 1) * size]);
        let [steps, queries, _] = architecture.outputs();
        Output {
            raw: &tape.output[0][step][row * steps..(row + 1) * steps],
            query: &tape.output[1][step][row * queries..(row + 1) * queries],
            key: &tape.output[2][step][row * hidden..(row + 1) * hidden],
        }
    }

    /// Stores the key of the newest cut.
    fn store_key(&mut self, bundle: &Bundle, key: &[S]) {
        let hidden = key.len();
        self.keys.resize(bundle.places() * hidden, S::ZERO);
        self.keys[bundle.newest() * hidden..(bundle.newest() + 1) * hidden].copy_from_slice(key);
        self.places.clear();
        self.places.extend((0..bundle.places()).filter(|&place| bundle.is_live(place)));
    }

    /// Writes the logits of all cuts: query times key, plus observations times the coefficients after the query.
    fn write_logits(&mut self, bundle: &Bundle, architecture: &Architecture, query: &[S]) {
        self.source.write_cuts(bundle, &self.places, &mut self.observed);
        let hidden = architecture.hidden;
        let factor = S::of(architecture.logit_factor());
        let (query, coefficients) = query.split_at(hidden);
        self.logits.clear();
        for (index, &place) in self.places.iter().enumerate() {
            let key = &self.keys[place * hidden..(place + 1) * hidden];
            let mut logit = factor * S::dot(query, key);
            let observed = &self.observed[index * coefficients.len()..(index + 1) * coefficients.len()];
            for (&coefficient, &observation) in coefficients.iter().zip(observed) {
                logit += coefficient * S::of(observation);
            }
            self.logits.push(logit);
        }
    }

    /// Writes the weights. They add up to 1 in double precision, so that bounds are valid. If they are not finite,
    /// writes a subgradient step of unit length instead, which is always valid.
    fn write_weights(&mut self, bundle: &Bundle, proposal: &mut Proposal) {
        proposal.weights.clear();
        let total: f64 = self.weights.iter().map(|weight| weight.wide()).sum();
        if !(total.is_finite() && total > 0.0 && proposal.eta.is_finite()) {
            self.weights.fill(S::ZERO);
            proposal.eta = self.unit;
            proposal.centre_policy = CentrePolicy::Soft { temperature: 1.0, offset: 0.0 };
            proposal.weights.push((bundle.newest(), 1.0));
        }
        let weighted = self.places.iter().zip(&self.weights).filter(|(_, weight)| **weight > S::ZERO);
        proposal.weights.extend(weighted.map(|(&place, weight)| (place, weight.wide() / total)));
    }

    /// Observes the slope of the master's objective `eta |G theta|^2 / 2 + alpha'theta` in the weight of each cut,
    /// relative to the mean. It uses a longer step than the present one, to look further ahead.
    fn observe_slopes(&mut self, bundle: &Bundle, eta: f64) {
        const AHEAD: f64 = 2.0;
        let weights = self.places.iter().zip(&self.weights).map(|(&place, weight)| (place, weight.wide()));
        self.weighted.clear();
        self.weighted.extend(weights.filter(|(_, weight)| *weight > 0.0));
        bundle.gram_combine(&self.weighted, &mut self.slopes);
        let errors = bundle.errors();
        let slope = |place: usize| AHEAD * eta * self.slopes[place] + errors[place];
        let mean: f64 = self.weighted.iter().map(|&(place, weight)| weight * slope(place)).sum();
        let width = self.network.architecture.cut_features();
        for (&place, observed) in self.places.iter().zip(self.observed.chunks_exact_mut(width)) {
            let ratio = slope(place) / mean.max(f64::MIN_POSITIVE);
            observed[width - 1] = ratio.clamp(-SLOPE_LIMIT, SLOPE_LIMIT);
        }
    }

    /// Keeps the trial point in the domain: subtracts `mu` from `G theta`, as the exact master does.
    fn bend(&self, bundle: &Bundle, proposal: &mut Proposal) {
        let Proposal { eta, direction, aggregate, sigma, .. } = proposal;
        let entries = direction.numbers_mut(bundle.dim()).iter_mut().zip(&bundle.centre().point);
        let factors = flat(&self.factors.0);
        for (index, (entry, &centre)) in entries.enumerate() {
            if let Some(bent) = bend(self.domain.limits(index), centre, *entry, *eta) {
                *entry = bent.direction;
                match aggregate {
                    Some(aggregate) => {
                        flat_mut(&mut aggregate.0)[index] = bent.direction / factors[index];
                        *sigma += bent.error / factors[index];
                    }
                    None => *sigma += bent.error,
                }
            }
        }
        proposal.norm_squared = dot(&proposal.aggregate().0, &proposal.direction.0);
    }
}

/// Output of the network for a run: raw step and centre, query with the coefficients of observations, key.
struct Output<'t, S> {
    raw: &'t [S],
    query: &'t [S],
    key: &'t [S],
}

/// Bound on the first step, as a multiple of the first step of `adaptive`.
const FIRST: f64 = 1.5;

/// Corrects the unit of the step length on functions unlike those in training. It belongs to networks whose unit comes
/// from the start: that of the paper is 1.
struct Calibration {
    start_value: f64,
    /// Bound on the first step; `None` after that step.
    first_length: Option<f64>,
    growth: Growth,
    /// Steps in which the unit has been compared with the way to the minimum along the direction.
    compared: usize,
    /// Factor from the last step length to a sensible one, if the last trial point was worse than the start.
    lost: Option<f64>,
}

impl Calibration {
    fn new(start: &Evaluation) -> Self {
        // A nonzero value gives a length that suits any function.
        let length = || FIRST * Proximity::adaptive(&start.point, start.value).eta();
        let first_length = (start.value != 0.0).then(length);
        Self { start_value: start.value, first_length, growth: Growth::default(), compared: 0, lost: None }
    }

    /// The unit after a step.
    fn unit(&mut self, unit: f64, step: &Step<'_>) -> f64 {
        let is_lost = step.seen.value > self.start_value;
        self.lost = is_lost.then(|| crossing(step).clamp(1.0 / MOST_CHANGE, 1.0));
        let growth = self.growth.factor(step);
        if growth > 1.0 {
            return growth * unit;
        }
        if self.compared == COMPARED {
            return unit;
        }
        self.compared += 1;
        // A step that is far too long shows by the crossing of the two cuts, which is close to the centre.
        let least = SECANT_FACTORS.0.min(2.0 * crossing(step)).max(1.0 / MOST_CHANGE);
        let way = step.proposal.eta * secant(step).clamp(least, SECANT_FACTORS.1);
        unit.clamp(way / BAND, way * BAND)
    }
}

/// Number of first steps in which the unit is compared with the way to the minimum along the direction.
const COMPARED: usize = 2;
/// Bounds on that way, as a multiple of the step.
const SECANT_FACTORS: (f64, f64) = (0.3, 3.0);
/// The unit stays within the way over this factor, and times it. It is so on the data sets of the training.
const BAND: f64 = 3.0;

/// Largest observed slope of the master, relative to the mean.
const SLOPE_LIMIT: f64 = 5.0;

/// Rule for the movement of the centre, from the outputs after the raw step.
fn centre_policy<S: Real>(centre: Centre, raw: &[S], scale: f64) -> CentrePolicy {
    match centre {
        Centre::Softmin => CentrePolicy::Soft { temperature: 1.0, offset: 0.0 },
        Centre::Hard => CentrePolicy::Hard,
        Centre::Learned => CentrePolicy::Soft { temperature: step_length(raw[1], scale), offset: raw[2].wide() },
    }
}

impl<S: Real, E: FeatureSource> Proposer for NetworkProposer<S, E> {
    type Model = Bundle;

    fn propose(&mut self, bundle: &mut Bundle, proposal: &mut Proposal, patience: &Patience<'_>) {
        if self.propose_exactly(bundle, proposal, patience) {
            return;
        }
        let mut tape = self.tape.take().unwrap_or_else(|| Tape::new(&self.network.architecture, 1, 1));
        self.prepare(bundle, &mut tape, 0, 0);
        self.network.forward(&mut tape, 0);
        self.accept(bundle, &tape, (0, 0), proposal);
        self.tape = Some(tape);
    }

    fn learn(&mut self, bundle: &Bundle, step: &Step<'_>) {
        if self.watch.as_mut().is_some_and(|watch| watch.learn(bundle, step)) {
            return;
        }
        if let Some(calibration) = &mut self.calibration {
            self.unit = calibration.unit(self.unit, step);
        }
        self.source.learn(bundle, step);
        self.watch.iter_mut().for_each(|watch| watch.note(step));
        self.judge(bundle);
    }

    fn set_eta(&mut self, eta: f64) -> bool {
        self.watch.as_mut().is_some_and(|watch| watch.set_eta(eta))
    }

    fn record_cut(&mut self, bundle: &Bundle, seen: &Evaluation) {
        self.source.record_cut(bundle, seen);
        self.watch.iter_mut().for_each(|watch| watch.see(seen));
    }

    fn book(&self, seconds: f64) -> Spent {
        Spent { network: seconds, ..Spent::default() }
    }
}
