//! The default method: a network at the start, exact masters at the end, then a proof.
//!
//! A network decreases the function fast: it needs few evaluations and little time. But it converges slowly and proves
//! little. The exact master with cuts of each component needs far fewer evaluations, but each master problem takes
//! longer. With cuts of the whole function, many cheap steps may gain more in the same time. `phase.rs` decides which
//! method takes the next step. This file passes points, cuts and bounds from one method to the next.

use bundlenet_linalg::sparse::{pairs, sparse_dot};

use super::phase::{CONSTANTS, End, Phase, Situation, next_phase};
use super::structured::Structured;
use super::{BundleMethod, Gap, Minimize, NetworkMethod, Progress};
use crate::master::{ComponentProposer, Proposer, Proximity, QuadraticProposer, Spent, Strategy, first_work};
use crate::model::{Bundle, ComponentBundle, FIRST_CUTS, Model, Pruning, Saved, StepLength, Weighing, primal_of};
use crate::oracle::{CutsOf, Detail, Evaluation, EvaluationError, Function, Primal};

/// The methods `auto` and `hybrid`.
pub(crate) struct Auto {
    phase: Phase,
    /// The methods of the phases. Both exact methods are kept when the other one takes over.
    network: Option<NetworkMethod>,
    components: Option<BundleMethod<ComponentProposer>>,
    aggregated: Option<BundleMethod<QuadraticProposer>>,
    structured: Option<Structured>,
    /// The phase before this one.
    before: Phase,
    /// Whether the oracle's own method may be used.
    uses_structure: bool,
    /// The last evaluations by component, from which the component method begins. `None` if it has begun, or if
    /// components are not used.
    recent: Option<Recent>,
    tolerance: f64,
    start_value: f64,
    prunings: Prunings,
    /// The best value at the start and after each step of the network.
    bests: Vec<f64>,
    /// Work of a master with cuts of each component, if there are components.
    component_work: Option<f64>,
    /// The least promised gap with which components were tried.
    tried_gap: f64,
    tally: Tally,
    /// Work of the whole run, with that of all cuts that aggregated masters read.
    run_work: f64,
    /// Wall time of earlier methods.
    earlier: Spent,
}

/// Counts of the present phase.
#[derive(Default)]
struct Tally {
    steps: usize,
    /// Component steps in a row that were not worth their work.
    slow_steps: usize,
    /// Result at the end of this phase's method, and of the phase before.
    end: Option<Progress>,
    last_word: Option<Progress>,
    /// Work of this phase and of the run before it. A proof that comes closer begins to count anew.
    work: f64,
    earlier_work: f64,
}

/// Rules for the removal of cuts: those of the whole function, and those of components.
#[derive(Clone, Copy)]
pub(crate) struct Prunings {
    pub(crate) aggregated: Pruning,
    pub(crate) components: Pruning,
}

impl Auto {
    fn begin<P: Proposer>(phase: Phase, prunings: Prunings, first: &BundleMethod<P>) -> Self {
        Self {
            phase,
            tolerance: first.tolerance(),
            start_value: first.best(),
            network: None,
            components: None,
            aggregated: None,
            structured: None,
            before: phase,
            uses_structure: false,
            recent: None,
            prunings,
            bests: vec![],
            component_work: None,
            tried_gap: f64::INFINITY,
            tally: Tally::default(),
            run_work: 0.0,
            earlier: Spent::default(),
        }
    }

    /// Begins with a network. Remembers the start if it was evaluated by component: components may be used later.
    pub(crate) fn with_network(network: NetworkMethod, start: Evaluation, prunings: Prunings) -> Self {
        let (recent, bests) = (Recent::new(start), vec![network.best()]);
        let begin = Self::begin(Phase::Network, prunings, &network);
        Self { network: Some(network), recent, bests, ..begin }
    }

    /// Begins with components.
    pub(crate) fn with_components(components: BundleMethod<ComponentProposer>, prunings: Prunings) -> Self {
        let begin = Self::begin(Phase::Components, prunings, &components);
        Self { components: Some(components), component_work: Some(0.0), ..begin }
    }

    /// Begins with cuts of the whole function. Components may be used later.
    pub(crate) fn with_aggregated(
        aggregated: BundleMethod<QuadraticProposer>,
        start: Evaluation,
        prunings: Prunings,
    ) -> Self {
        let recent = Recent::new(start);
        let begin = Self::begin(Phase::Aggregated, prunings, &aggregated);
        Self { aggregated: Some(aggregated), component_work: recent.as_ref().map(Recent::first_work), recent, ..begin }
    }

    /// Lets the oracle's own method take over where it pays.
    pub(crate) fn with_structure(self) -> Self {
        Self { uses_structure: true, ..self }
    }

    fn situation(&self, function: &Function<'_>) -> Situation {
        let last = self.bests.len().saturating_sub(1);
        let since = |step: usize| self.bests.get(step).zip(self.bests.last()).map_or(0.0, |(first, last)| first - last);
        let by_components = self.components.as_ref().is_some_and(BundleMethod::is_provable);
        let without = self.aggregated.as_ref().is_some_and(BundleMethod::is_provable);
        Situation {
            phase: self.phase,
            steps: self.tally.steps,
            end: self.tally.end.map(|_| self.kind_of_end(function)),
            decrease: since(0),
            recent_decrease: since(last.saturating_sub(CONSTANTS.window)),
            dim: function.dim(),
            components: function.components(),
            gap: self.gap_now(),
            tried_gap: self.tried_gap,
            tolerance: self.tolerance,
            oracle_work: function.work(),
            component_work: self.component_work,
            slow_steps: self.tally.slow_steps,
            can_prove: by_components && !without,
            is_limited: self.network.as_ref().is_some_and(|network| network.proposer().is_limited()),
            is_over: self.network.as_ref().is_some_and(|network| network.proposer().is_over()),
            is_lost: self.network.as_ref().is_some_and(|network| network.proposer().lost().is_some()),
            phase_work: self.tally.work,
            earlier_work: self.tally.earlier_work,
            run_work: self.run_work,
            structured_work: function.structured_work().filter(|_| self.uses_structure && self.structured.is_none()),
            before: self.before,
        }
    }

    fn kind_of_end(&self, function: &Function<'_>) -> End {
        if self.active().is_some_and(|method| method.is_proved(function)) { End::Proved } else { End::Unproved }
    }

    /// The end of the run: the stop test holds if it held in this phase, or in the one before a proof.
    fn outcome(&self) -> Progress {
        let ends = [self.tally.end, self.tally.last_word].into_iter().flatten();
        let has_converged = ends.clone().any(|end| matches!(end, Progress::Converged));
        let is_noisy = ends.clone().any(|end| matches!(end, Progress::Noisy));
        match (has_converged, is_noisy) {
            (true, _) => Progress::Converged,
            (false, true) => Progress::Noisy,
            (false, false) => Progress::Stalled,
        }
    }

    /// The promised gap of the present method.
    fn gap_now(&self) -> f64 {
        self.active().map_or(f64::INFINITY, |method| method.promised_gap(self.start_value))
    }

    /// The method of this phase.
    fn active(&self) -> Option<&dyn Minimize> {
        self.active_of(self.phase)
    }

    /// The method of a phase.
    fn active_of(&self, phase: Phase) -> Option<&dyn Minimize> {
        match phase {
            Phase::Network => self.network.as_ref().map(|method| method as _),
            Phase::Aggregated => self.aggregated.as_ref().map(|method| method as _),
            Phase::Components | Phase::Proof => self.components.as_ref().map(|method| method as _),
            Phase::Structured => self.structured.as_ref().map(|method| method as _),
        }
    }

    /// The method of this phase, mutable.
    fn active_mut(&mut self) -> Option<&mut dyn Minimize> {
        match self.phase {
            Phase::Network => self.network.as_mut().map(|method| method as _),
            Phase::Aggregated => self.aggregated.as_mut().map(|method| method as _),
            Phase::Components | Phase::Proof => self.components.as_mut().map(|method| method as _),
            Phase::Structured => self.structured.as_mut().map(|method| method as _),
        }
    }

    /// Enters another phase. If the centre moves to another point, the evaluation there is a step.
    fn enter(&mut self, next: Phase, function: &mut Function<'_>) -> Result<Option<Progress>, EvaluationError> {
        if Phase::Components == self.phase || Phase::Components == next {
            self.tried_gap = self.tried_gap.min(self.gap_now());
        }
        self.tally = Tally {
            last_word: self.tally.end,
            earlier_work: self.tally.earlier_work + self.tally.work,
            ..Tally::default()
        };
        self.before = std::mem::replace(&mut self.phase, next);
        match (self.before, next) {
            (_, Phase::Structured) => Ok(self.begin_structured()),
            (Phase::Structured, _) => Ok(self.leave_structured()),
            (Phase::Network, _) => self.leave_network(function),
            (Phase::Components, _) => self.leave_components(function),
            _ => self.return_to_components(function),
        }
    }

    /// Begins the oracle's own method, with the bounds found so far.
    fn begin_structured(&mut self) -> Option<Progress> {
        let of = |bounds: Option<(f64, f64)>| bounds.unwrap_or((f64::INFINITY, f64::NEG_INFINITY));
        let components = of(self.components.as_ref().map(BundleMethod::bounds));
        let aggregated = of(self.aggregated.as_ref().map(BundleMethod::bounds));
        let seen = self.active_of(self.before).and_then(Minimize::seen)?;
        let mut structured = Structured::new(seen, self.tolerance);
        structured.adopt_bounds(components);
        structured.adopt_bounds(aggregated);
        self.structured = Some(structured);
        None
    }

    /// Goes on with the method before, which takes over the bounds.
    fn leave_structured(&mut self) -> Option<Progress> {
        let bounds = self.structured.as_ref()?.bounds();
        self.components.iter_mut().for_each(|components| components.adopt_bounds(bounds));
        self.aggregated.iter_mut().for_each(|aggregated| aggregated.adopt_bounds(bounds));
        None
    }

    /// Passes the results of the network to the next method.
    fn leave_network(&mut self, function: &mut Function<'_>) -> Result<Option<Progress>, EvaluationError> {
        let Some(network) = self.network.take() else { return Ok(None) };
        self.earlier = self.earlier + network.spent();
        // A lost network has not found the scale of the function. The next method finds it.
        let found = network.proposer().lost().map(|factor| factor * network.plain_eta());
        if self.phase == Phase::Components {
            let proximity = match found {
                Some(eta) => Proximity::for_components(&[], 0.0, Some(eta)),
                None => Proximity::going_on_with_components(CONSTANTS.component_eta * network.plain_eta()),
            };
            let Some(components) = self.begin_components(proximity, function) else { return Ok(None) };
            // If the best point is not among the remembered ones, the first step evaluates at the network's centre.
            let is_behind = components.model().centre().value > network.best();
            components.adopt(&network);
            return if is_behind { components.move_to(function, &network).map(Some) } else { Ok(None) };
        }
        let mut cuts = network.model().clone();
        let proximity = match (network.proposer().successor(), found) {
            // A guarded network knows the best point and a rule for the step length.
            (Some((best, proximity)), _) => {
                cuts.hand_over(best);
                proximity
            }
            (None, Some(eta)) => Proximity::new(Strategy::Adaptive, eta),
            (None, None) => Proximity::going_on(network.plain_eta()),
        };
        let proposer = QuadraticProposer::new(proximity, function.domain(), function.dim());
        let cuts = cuts.weighed_by(Weighing::Master).scaled_by(None);
        let mut aggregated = BundleMethod::new(function, cuts, proposer, self.prunings.aggregated, self.tolerance);
        aggregated.adopt(&network);
        self.aggregated = Some(aggregated);
        Ok(None)
    }

    /// Makes the component method, with the cuts of the remembered evaluations.
    fn begin_components(
        &mut self,
        proximity: Proximity,
        function: &Function<'_>,
    ) -> Option<&mut BundleMethod<ComponentProposer>> {
        let cuts = self.recent.take()?.into_cuts(function);
        let proposer = ComponentProposer::new(proximity, function.domain(), function.dim());
        let components = BundleMethod::new(function, cuts, proposer, self.prunings.components, self.tolerance);
        Some(self.components.insert(components))
    }

    /// Continues an earlier aggregated phase from the centre of the components, or begins the first one.
    fn leave_components(&mut self, function: &mut Function<'_>) -> Result<Option<Progress>, EvaluationError> {
        let Some(components) = &mut self.components else { return Ok(None) };
        components.prove(function);
        if let Some(aggregated) = &mut self.aggregated {
            return aggregated.move_to(function, components).map(Some);
        }
        self.aggregate(function);
        Ok(None)
    }

    /// Begins the first aggregated phase with two cuts of the whole function: the weighted sum of all cuts, and the
    /// newest one.
    fn aggregate(&mut self, function: &Function<'_>) {
        let Some(components) = &self.components else { return };
        let eta = CONSTANTS.aggregated_eta * components.proposal().eta;
        let proximity = Proximity::new(Strategy::Adaptive, eta.max(f64::MIN_POSITIVE));
        let proposer = QuadraticProposer::new(proximity, function.domain(), function.dim());
        let model = components.model();
        let (combination, error) = model.aggregate_all();
        let centre = model.centre();
        let cap = self.prunings.aggregated.cap.min(FIRST_CUTS);
        let bundle = Bundle::new(centre.clone(), function.domain(), cap);
        let bundle = bundle.with_cut(&combination, error, model.primal(components.proposal()));
        let seen = components.last_seen();
        let way = centre.point.iter().zip(&seen.point).map(|(to, from)| to - from);
        let rise: f64 = seen.subgradient().iter().zip(way).map(|(entry, way)| entry * way).sum();
        let error = centre.value - (seen.cut() + rise);
        let bundle = bundle.with_cut(&seen.subgradient, error, seen.primal());
        let (pruning, tolerance) = (self.prunings.aggregated, components.tolerance());
        let mut aggregated = BundleMethod::new(function, bundle, proposer, pruning, tolerance);
        aggregated.adopt(components);
        self.aggregated = Some(aggregated);
    }

    /// Begins or continues the component method, from the centre of the aggregated phase.
    fn return_to_components(&mut self, function: &mut Function<'_>) -> Result<Option<Progress>, EvaluationError> {
        self.provide_components(function);
        let (Some(components), Some(aggregated)) = (&mut self.components, &self.aggregated) else { return Ok(None) };
        components.move_to(function, aggregated).map(Some)
    }

    /// Makes the component method of an aggregated phase, if there are components and it has not begun.
    fn provide_components(&mut self, function: &Function<'_>) {
        let Some(aggregated) = &self.aggregated else { return };
        let proximity = aggregated.proposer().proximity().with_components(aggregated.eta());
        self.begin_components(proximity, function);
    }

    /// Takes one step in this phase.
    fn advance(&mut self, function: &mut Function<'_>) -> Result<Progress, EvaluationError> {
        if self.phase == Phase::Network {
            let keeps_components = self.recent.is_some() && CONSTANTS.keeps_components(&self.situation(function));
            let detail = if keeps_components { Detail::Components } else { Detail::Whole };
            self.network.iter_mut().for_each(|network| network.set_detail(detail));
        }
        let progress = self.active_mut().map_or(Ok(Progress::Stalled), |method| method.step(function))?;
        if matches!(progress, Progress::Interrupted) {
            return Ok(progress);
        }
        self.tally.steps += 1;
        self.note(progress, function);
        Ok(progress)
    }

    /// Records a step.
    fn note(&mut self, progress: Progress, function: &mut Function<'_>) {
        let is_step = matches!(progress, Progress::Step(_));
        if !is_step {
            self.tally.end = Some(progress);
        }
        let mut cut_work = 0.0;
        let mut master_work =
            CONSTANTS.aggregated_work + CONSTANTS.aggregated_work_per_variable * function.dim() as f64;
        match self.phase {
            Phase::Network => {
                let Some(network) = &self.network else { return };
                self.bests.push(network.best());
                if let Some(recent) = self.recent.as_mut() {
                    if is_step && !network.last_seen().minorants.is_empty() {
                        recent.push(function.evaluations(), network.last_seen());
                    }
                    self.component_work = Some(recent.first_work());
                }
            }
            Phase::Aggregated => {
                // The proof phase needs components that prove a bound which cuts of the whole function cannot prove.
                let cuts = self.aggregated.as_ref().map_or(0, |aggregated| aggregated.model().len());
                cut_work = CONSTANTS.aggregated_work_per_entry * (cuts * function.dim()) as f64;
                let is_provable = self.aggregated.as_ref().is_some_and(BundleMethod::is_provable);
                if !is_step && !is_provable {
                    self.provide_components(function);
                    self.components.iter_mut().for_each(|components| components.prove(function));
                }
            }
            Phase::Components | Phase::Proof => {
                let Some(components) = &self.components else { return };
                master_work = components.proposer().work();
                // A very long step is a try at a proof and has its own limit.
                if !components.is_stretched() {
                    self.component_work = Some(master_work);
                    let is_worth = self.situation(function).is_worth(&CONSTANTS);
                    self.tally.slow_steps = if is_worth { 0 } else { self.tally.slow_steps + 1 };
                }
                if self.phase == Phase::Proof && self.tally.steps == 1 {
                    self.tried_gap = self.gap_now();
                }
            }
            Phase::Structured => {}
        }
        self.tally.work += function.work() + master_work;
        self.run_work += function.work() + master_work + cut_work;
        self.renew_proof(function);
    }

    /// Gives a proof as much work again if it has used up its own and comes closer.
    fn renew_proof(&mut self, function: &Function<'_>) {
        let situation = self.situation(function);
        if situation.phase == Phase::Proof && situation.is_proof_long(&CONSTANTS) && situation.is_closer(&CONSTANTS) {
            self.tally.earlier_work += std::mem::take(&mut self.tally.work);
            self.tried_gap = situation.gap;
        }
    }
}

impl Minimize for Auto {
    fn step(&mut self, function: &mut Function<'_>) -> Result<Progress, EvaluationError> {
        loop {
            let Some(next) = next_phase(&self.situation(function), &CONSTANTS) else { return Ok(self.outcome()) };
            if next != self.phase
                && let Some(progress) = self.enter(next, function)?
            {
                self.tally.work += function.work();
                return Ok(progress);
            }
            if let progress @ (Progress::Step(_) | Progress::Interrupted) = self.advance(function)? {
                return Ok(progress);
            }
        }
    }

    fn seen(&self) -> Option<&Evaluation> {
        self.active()?.seen()
    }

    fn spent(&self) -> Spent {
        let of = |method: Option<&dyn Minimize>| method.map(Minimize::spent).unwrap_or_default();
        let exact = of(self.aggregated.as_ref().map(|method| method as _))
            + of(self.components.as_ref().map(|method| method as _))
            + of(self.structured.as_ref().map(|method| method as _));
        self.earlier + of(self.network.as_ref().map(|method| method as _)) + exact
    }

    /// Saves cuts of components if there are any: after a change of the data, cuts of the whole function are useless.
    fn save(&self, since: u64) -> Option<Saved> {
        let (network, aggregated) = (self.network.as_ref(), self.aggregated.as_ref());
        if let Some(recent) = &self.recent {
            let eta = network.map(BundleMethod::plain_eta).or_else(|| aggregated.map(BundleMethod::eta))?;
            let step_length = (eta > 0.0).then_some(StepLength::Plain(CONSTANTS.component_eta * eta));
            return Some(Saved { step_length, ..recent.save(since) });
        }
        if let Some(network) = network {
            return network.save(since);
        }
        let components = self.components.as_ref().and_then(|components| components.save(since));
        let saved = components.or_else(|| aggregated?.save(since))?;
        Some(Saved { epoch: 1, ..saved })
    }

    fn gap(&mut self, best: f64, function: &mut Function<'_>) -> Option<Gap> {
        if let (Some(aggregated), Some(components)) = (&mut self.aggregated, &self.components) {
            aggregated.adopt(components);
        }
        self.active_mut()?.gap(best, function)
    }

    fn primal(&self) -> Option<Primal> {
        let before = || self.active_of(self.before)?.primal();
        self.active()?.primal().or_else(before)
    }
}

/// Number of remembered evaluations. More cuts make the first masters slower, not better (`docs/experiments.md`).
const REMEMBERED: usize = 8;

/// The last evaluations by component, and the best one if it is older, each with its number.
struct Recent {
    evaluations: Vec<(usize, Evaluation)>,
    /// Largest number of entries in the subgradients of an evaluation.
    entries: usize,
}

impl Recent {
    /// Remembers the start. `None` if it was not evaluated by component.
    fn new(start: Evaluation) -> Option<Self> {
        let entries = start.minorants.rows().entries().len();
        (!start.minorants.is_empty()).then(|| Self { evaluations: vec![(1, start)], entries })
    }

    /// Remembers an evaluation. If there are too many, removes the oldest that is not the best.
    fn push(&mut self, number: usize, evaluation: &Evaluation) {
        self.entries = self.entries.max(evaluation.minorants.rows().entries().len());
        let all = &mut self.evaluations;
        if all.len() >= REMEMBERED {
            let (_, first) = &all[0];
            let is_best_first = all[1..].iter().all(|(_, other)| first.value <= other.value);
            all.remove(usize::from(is_best_first));
        }
        all.push((number, evaluation.clone()));
    }

    /// Estimated work of the first component masters.
    fn first_work(&self) -> f64 {
        first_work(self.entries, self.evaluations.first().map_or(0, |(_, first)| first.point.len()))
    }

    /// The cuts of evaluations with numbers above `since`.
    fn save(&self, since: u64) -> Saved {
        let all = &self.evaluations;
        let newest = all.iter().map(|(number, _)| *number as u64).max();
        let mut saved = Saved::new(CutsOf::Components, newest.unwrap_or(0));
        for (index, (number, Evaluation { point, minorants, solutions, .. })) in all.iter().enumerate() {
            for component in (0..minorants.len()).filter(|_| *number as u64 > since) {
                let slope = minorants.subgradient(component);
                // Most evaluations repeat the cut of a component.
                let is_same = |(_, other): &(usize, Evaluation)| other.minorants.subgradient(component) == slope;
                if !all[..index].iter().any(is_same) {
                    let constant = minorants.values()[component] - sparse_dot(slope, point);
                    let primal = primal_of(solutions.as_ref(), component);
                    saved.cuts.push(component as u32, constant, pairs(slope), primal);
                }
            }
        }
        saved
    }

    /// The cuts of all evaluations, around the best of them.
    fn into_cuts(mut self, function: &Function<'_>) -> ComponentBundle {
        let value = |index: &usize| self.evaluations[*index].1.value;
        let best = (0..self.evaluations.len()).min_by(|a, b| value(a).total_cmp(&value(b)));
        let (_, best) = self.evaluations.remove(best.unwrap_or(0));
        let mut cuts = ComponentBundle::around(&best, function.linear());
        self.evaluations.iter().for_each(|(_, other)| cuts.insert_all(other));
        cuts.with_metric()
    }
}
