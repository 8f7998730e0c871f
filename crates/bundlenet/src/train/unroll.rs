//! Unrolled iterations: runs of a batch in step, and the gradient of a loss over their trial points.
//!
//! Gradients flow through step length, weights, keys, queries, the recurrent state, the centre, its value and its
//! share. The derivative of a value by its point is the subgradient. Gradients do not flow through the features, nor
//! through the change of a subgradient with its point.

use std::sync::Arc;

use bundlenet_linalg::Stream;
use bundlenet_linalg::simd::flat;
use bundlenet_linalg::vectors::Padded;

use super::example::magnitude;
use crate::method::{BundleMethod, Minimize, Progress, Terms, network_method_with, propose_together};
use crate::model::{Bundle, CentrePolicy, Model, Proposal};
use crate::network::{
    Adjoint, Architecture, Centre, FeatureSource, Network, NetworkProposer, Real, Tape, Tracker, step_length_slope,
};
use crate::oracle::{Detail, Domain, Evaluation, EvaluationError, Function, Oracle};

/// Several runs in step, with a tape of the current window.
pub(crate) struct Unroll<'a, S: Real, E: FeatureSource = Tracker> {
    network: Arc<Network<S>>,
    episodes: Vec<Episode<'a, S, E>>,
    tape: Tape<S>,
    adjoint: Adjoint<S>,
    /// Number of steps in the current window.
    steps: usize,
}

/// One run, with the data that backward needs of the current window.
struct Episode<'a, S: Real, E: FeatureSource> {
    function: Function<'a>,
    method: BundleMethod<NetworkProposer<S, E>>,
    records: Vec<Record<S>>,
    /// Weight of a value of the scaled function in the loss, and the value that counts as 0.
    weight: f64,
    origin: f64,
    is_over: bool,
    end: Option<End>,
}

/// The value at the last centre, as a part of the loss.
struct End {
    weight: f64,
    value: f64,
    subgradient: Vec<f64>,
}

/// The data of a step that backward needs.
struct Record<S> {
    centre: Vec<f64>,
    centre_value: f64,
    trial: Vec<f64>,
    value: f64,
    eta: f64,
    /// Unit of the step length, and whether the step was shortened to a bound.
    unit: f64,
    is_bounded: bool,
    /// Aggregate of the subgradients, and whether each coordinate of the trial point is at its bound.
    direction: Vec<f64>,
    is_held: Vec<bool>,
    /// Factors on the step along each variable, empty without a metric, and the share of the running ones.
    factors: Vec<f64>,
    mix: Option<f64>,
    weights: Vec<S>,
    observed: Vec<f64>,
    newest: usize,
    policy: CentrePolicy,
    is_serious: bool,
    /// Weight of the value at the trial point in the loss.
    weight: f64,
}

impl<S: Real> Record<S> {
    /// The data of a proposal before its step.
    fn before<E: FeatureSource>(episode: &Episode<'_, S, E>, weight: f64) -> Self {
        let (method, domain) = (&episode.method, episode.function.domain());
        let (bundle, proposer) = (method.model(), method.proposer());
        let Proposal { eta, direction, centre_policy, .. } = method.proposal();
        let centre = bundle.centre();
        let direction = direction.numbers(centre.point.len()).to_vec();
        let is_held = if *domain == Domain::Free {
            vec![]
        } else {
            let pairs = direction.iter().zip(&centre.point).enumerate();
            // Bounds set the direction to exactly this quotient.
            let is_at = |w: f64, c: f64, limit: f64| limit.is_finite() && w == (c - limit) / eta;
            let is_held = |(index, (&w, &c)): (usize, (&f64, &f64))| {
                let (lower, upper) = domain.limits(index);
                is_at(w, c, lower) || is_at(w, c, upper)
            };
            pairs.map(is_held).collect()
        };
        Self {
            centre: centre.point.clone(),
            centre_value: centre.value,
            trial: vec![],
            value: 0.0,
            eta: *eta,
            unit: proposer.unit(),
            is_bounded: proposer.is_bounded(),
            direction,
            is_held,
            factors: proposer.factors().to_vec(),
            mix: proposer.mix(),
            weights: proposer.weights().to_vec(),
            observed: proposer.observed().to_vec(),
            newest: bundle.newest(),
            policy: *centre_policy,
            is_serious: false,
            weight: weight * episode.weight,
        }
    }
}

/// A run to unroll.
pub(crate) struct Subject<'a> {
    pub(crate) oracle: &'a mut dyn Oracle,
    pub(crate) start: Option<&'a [f64]>,
    /// Weight of a value in the loss.
    pub(crate) weight: Weight,
}

/// Weight of a value in the loss.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Weight {
    /// The value counts as its gap to this optimum, in percent.
    OfGap(f64),
    /// Weight of the value scaled by the norm of the first subgradient.
    OfScaledValue(f64),
}

impl<'a, S: Real> Unroll<'a, S> {
    /// Evaluates every function at its start. Backward goes through at most `window` steps at once.
    pub(crate) fn begin(
        network: Arc<Network<S>>,
        subjects: Vec<Subject<'a>>,
        window: usize,
    ) -> Result<Self, EvaluationError> {
        Self::with_source(network, subjects, window, |architecture, start| Tracker::new(architecture, start, None))
    }
}

/// A function with its evaluation at the start: a given point, or the origin.
pub(crate) fn begin_function<'a>(
    oracle: &'a mut dyn Oracle,
    start: Option<&[f64]>,
) -> Result<(Function<'a>, Evaluation), EvaluationError> {
    let mut function = Function::new(oracle)?;
    let mut start = start.map_or_else(|| Evaluation::at(&function.start()), Evaluation::at);
    function.begin(&mut start, Detail::Whole, None)?;
    Ok((function, start))
}

impl<'a, S: Real, E: FeatureSource> Unroll<'a, S, E> {
    /// As [`Unroll::begin`], with a given source of features for each run.
    fn with_source(
        network: Arc<Network<S>>,
        subjects: Vec<Subject<'a>>,
        window: usize,
        mut source: impl FnMut(&Architecture, &Evaluation) -> E,
    ) -> Result<Self, EvaluationError> {
        let mut episodes = Vec::with_capacity(subjects.len());
        for subject in subjects {
            let (function, start) = begin_function(subject.oracle, subject.start)?;
            let (weight, origin) = match subject.weight {
                Weight::OfGap(optimum) => (
                    100.0 / magnitude(optimum) / function.scale(),
                    function.sense().sign() * optimum * function.scale(),
                ),
                Weight::OfScaledValue(weight) => (weight, 0.0),
            };
            let source = source(&network.architecture, &start);
            let terms = Terms { cap: usize::MAX, tolerance: 0.0, budget: None, is_limited: true };
            let method = network_method_with(Arc::clone(&network), source, &function, &start, terms);
            let is_over = start.is_stationary(function.domain());
            episodes.push(Episode { function, method, records: vec![], weight, origin, is_over, end: None });
        }
        let rows = episodes.len();
        let tape = Tape::new(&network.architecture, rows, window);
        let adjoint = Adjoint::new(&network.architecture, rows, window);
        Ok(Self { network, episodes, tape, adjoint, steps: 0 })
    }

    /// Takes the next step of the window. Its values have the given weight in the loss. Without noise, random vectors
    /// are replaced by their means.
    pub(crate) fn forward(&mut self, weight: f64, noise: Option<&mut Stream>) -> Result<(), EvaluationError> {
        let step = self.steps;
        if let Some(stream) = noise {
            self.tape.noise[step].iter_mut().for_each(|entry| *entry = S::of(stream.normal()));
        } else {
            self.tape.noise[step].fill(S::ZERO);
        }
        let mut methods: Vec<_> = self.episodes.iter_mut().map(|episode| &mut episode.method).collect();
        propose_together(&self.network, &mut self.tape, step, &mut methods);
        for episode in self.episodes.iter_mut().filter(|episode| !episode.is_over) {
            let mut record = Record::before(episode, weight);
            match episode.method.step(&mut episode.function)? {
                Progress::Step(report) => {
                    record.is_serious = report.is_serious == Some(true);
                    let seen = episode.method.last_seen();
                    record.trial.extend_from_slice(&seen.point);
                    record.value = seen.value;
                    episode.records.push(record);
                }
                _ => episode.is_over = true,
            }
        }
        self.steps += 1;
        Ok(())
    }

    /// Ends the runs: adds the value at each centre to the loss of the present window, with the given weight. Takes one
    /// evaluation.
    pub(crate) fn end(&mut self, weight: f64) -> Result<(), EvaluationError> {
        for Episode { function, method, weight: own, end, .. } in &mut self.episodes {
            let centre = &method.model().centre().point;
            let mut subgradient = vec![0.0; centre.len()];
            let value = function.evaluate(centre, &mut subgradient)?;
            *end = Some(End { weight: weight * *own, value, subgradient });
        }
        Ok(())
    }

    /// Adds the gradient of the window's loss to `gradient` and begins a new window. Returns the loss.
    pub(crate) fn backward(&mut self, gradient: &mut [S]) -> f64 {
        let steps = self.steps;
        let ends = self.episodes.iter().filter_map(|episode| Some((episode.end.as_ref()?, episode.origin)));
        let mut loss: f64 = ends.map(|(end, origin)| end.weight * (end.value - origin)).sum();
        self.adjoint.clear_state();
        let mut pulls: Vec<Pull<S>> = self.episodes.iter().map(Pull::new).collect();
        for step in (0..steps).rev() {
            for outputs in &mut self.adjoint.output {
                outputs[step].fill(S::ZERO);
            }
            for (row, (episode, pull)) in self.episodes.iter().zip(&mut pulls).enumerate() {
                if let Some(record) = episode.records.get(step) {
                    loss += record.weight * (record.value - episode.origin);
                    pull.backward(&self.network, (&self.tape, &mut self.adjoint), episode, record, (step, row));
                }
            }
            self.network.backward(&self.tape, &mut self.adjoint, step);
        }
        self.network.backward_weights(&self.tape, &self.adjoint, steps, gradient);
        self.forget();
        loss
    }

    /// Begins a new window without computing gradients.
    pub(crate) fn forget(&mut self) {
        self.steps = 0;
        for episode in &mut self.episodes {
            episode.records.clear();
            episode.end = None;
        }
    }

    /// Trial points and values of a run in the current window.
    pub(crate) fn visited(&self, row: usize) -> (Vec<Vec<f64>>, Vec<f64>) {
        self.episodes[row].records.iter().map(|record| (record.trial.clone(), record.value)).unzip()
    }

    /// Features of every run at the last step, before standardisation.
    pub(crate) fn features(&self) -> impl Iterator<Item = &[f64]> {
        let going = self.episodes.iter().filter(|episode| !episode.is_over);
        going.map(|episode| episode.method.proposer().features())
    }
}

/// Gradients of the loss with respect to the data that a run carries from step to step.
struct Pull<S> {
    centre: Vec<f64>,
    centre_value: f64,
    keys: Vec<S>,
    trial: Padded,
    products: Vec<f64>,
}

impl<S: Real> Pull<S> {
    fn new<E: FeatureSource>(episode: &Episode<'_, S, E>) -> Self {
        let dim = episode.method.model().dim();
        let by_end = |end: &End| end.subgradient.iter().map(|entry| end.weight * entry).collect();
        Self {
            centre: episode.end.as_ref().map_or_else(|| vec![0.0; dim], by_end),
            centre_value: 0.0,
            keys: vec![S::ZERO; episode.method.proposer().keys().len()],
            trial: Padded::zeros(dim),
            products: vec![],
        }
    }

    /// Goes one step back and writes the gradient of the network's outputs.
    fn backward<E: FeatureSource>(
        &mut self,
        network: &Network<S>,
        (tape, adjoint): (&Tape<S>, &mut Adjoint<S>),
        episode: &Episode<'_, S, E>,
        record: &Record<S>,
        (step, row): (usize, usize),
    ) {
        let bundle = episode.method.model();
        let dim = bundle.dim();
        let Record { centre, trial, .. } = record;

        // centre' = r trial + (1 - r) centre, also for the values, with r = sigmoid(-rise / temperature + offset).
        let rise = record.value - record.centre_value;
        let share = record.policy.share(record.is_serious, rise, 0.0, None);
        let (temperature, slope) = match record.policy {
            CentrePolicy::Soft { temperature, .. } => (temperature, share * (1.0 - share)),
            CentrePolicy::Hard | CentrePolicy::Parabola { .. } | CentrePolicy::Reach => (1.0, 0.0),
        };
        let way = self.centre.iter().zip(trial.iter().zip(centre)).map(|(pull, (x, c))| pull * (x - c));
        let by_logit = (way.sum::<f64>() + self.centre_value * rise) * slope;
        let by_value = record.weight + self.centre_value * share - by_logit / temperature;
        self.centre_value = self.centre_value * (1.0 - share) + by_logit / temperature;

        // Cuts are in the order of the steps: the cut of this step follows the newest one before it.
        let subgradient = &flat(bundle.row(record.newest + 1))[..dim];
        let pull_trial = self.trial.numbers_mut(dim);
        for j in 0..dim {
            let by_trial = share * self.centre[j] + by_value * subgradient[j];
            // A coordinate at its bound does not move.
            pull_trial[j] = if record.is_held.get(j) == Some(&true) { 0.0 } else { by_trial };
            self.centre[j] = (1.0 - share) * self.centre[j] + pull_trial[j];
        }

        // trial = centre - eta M G theta. With stated scales S and running factors R, M = (1 - mix) S + mix R S.
        let by_eta = -pull_trial.iter().zip(&record.direction).map(|(pull, w)| pull * w).sum::<f64>();
        let by_mix = self.by_mix(bundle, record);
        let pull_trial = self.trial.numbers_mut(dim);
        pull_trial.iter_mut().zip(&record.factors).for_each(|(pull, factor)| *pull *= factor);
        bundle.products(&self.trial, &mut self.products);
        let unit = record.unit;
        let [steps, ..] = network.architecture.outputs();
        let raw = &tape.output[0][step][row * steps..(row + 1) * steps];
        let pull_raw = &mut adjoint.output[0][step][row * steps..(row + 1) * steps];
        // A step at its bound does not change with the output.
        let slope = if record.is_bounded { 0.0 } else { step_length_slope(raw[0], unit) };
        pull_raw[0] = S::of(by_eta * slope);
        if let Some(mix) = record.mix {
            pull_raw[steps - 1] = S::of(by_mix * (1.0 - mix));
        }
        if network.architecture.centre == Centre::Learned {
            let by_temperature = by_logit * rise / (temperature * temperature);
            pull_raw[1] = S::of(by_temperature * step_length_slope(raw[1], unit));
            pull_raw[2] = S::of(by_logit);
        }

        self.backward_attention(network, (tape, adjoint), episode, record, (step, row));
    }

    /// Derivative of the loss by `mix`, times `mix`. That of `M` is `M - S`.
    fn by_mix(&self, bundle: &Bundle, record: &Record<S>) -> f64 {
        let Some(scaling) = bundle.scaling() else { return 0.0 };
        let directions = record.direction.iter().zip(&record.factors).enumerate();
        let turns = directions.map(|(index, (w, factor))| w * (1.0 - scaling.scale(index) / factor));
        -record.eta * self.trial.numbers(bundle.dim()).iter().zip(turns).map(|(pull, turn)| pull * turn).sum::<f64>()
    }

    /// Propagates the gradient from the weights `theta = psi(factor q'k_i)` to query, keys and observation
    /// coefficients.
    fn backward_attention<E: FeatureSource>(
        &mut self,
        network: &Network<S>,
        (tape, adjoint): (&Tape<S>, &mut Adjoint<S>),
        episode: &Episode<'_, S, E>,
        record: &Record<S>,
        (step, row): (usize, usize),
    ) {
        let products = &self.products[..record.weights.len()];
        let mut pull_logits: Vec<S> = products.iter().map(|product| S::of(-record.eta * product)).collect();
        network.architecture.attention.backward(&record.weights, &mut pull_logits);
        let [_, queries, hidden] = network.architecture.outputs();
        let factor = S::of(network.architecture.logit_factor());
        let query = &tape.output[1][step][row * queries..(row + 1) * queries];
        let pull_query = &mut adjoint.output[1][step][row * queries..(row + 1) * queries];
        let keys = episode.method.proposer().keys();
        let (pull_query, pull_observation) = pull_query.split_at_mut(hidden);
        for (place, &pull) in pull_logits.iter().enumerate() {
            let at = place * hidden..(place + 1) * hidden;
            let (key, pull_key) = (&keys[at.clone()], &mut self.keys[at]);
            for k in 0..hidden {
                pull_query[k] += factor * pull * key[k];
                pull_key[k] += factor * pull * query[k];
            }
            let observed = &record.observed[place * pull_observation.len()..(place + 1) * pull_observation.len()];
            for (coefficient, &observation) in pull_observation.iter_mut().zip(observed) {
                *coefficient += pull * S::of(observation);
            }
        }
        let at = record.newest * hidden..(record.newest + 1) * hidden;
        adjoint.output[2][step][row * hidden..(row + 1) * hidden].copy_from_slice(&self.keys[at]);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::model::Step;
    use crate::network::{Activation, Attention, Metric, Sampling, Schema, StepUnit, check};
    use crate::oracle::FnOracle;

    /// Features, and observations of the cuts.
    type Recorded = (Vec<f64>, Vec<f64>);
    /// Point, value, subgradient.
    type Visit = (Vec<f64>, f64, Vec<f64>);

    /// A run in which everything is frozen that gradients do not flow through: the features, and each value as the
    /// linear function given by its subgradient.
    struct Frozen {
        dim: usize,
        terrain: Terrain,
        cuts: Vec<Visit>,
        features: VecDeque<Recorded>,
    }

    /// Domain and stated scales of the functions.
    #[derive(Clone)]
    struct Terrain {
        domain: Domain,
        scales: Option<Vec<f64>>,
    }

    impl Terrain {
        fn plain(domain: Domain) -> Self {
            Self { domain, scales: None }
        }

        /// The same with stated scales from 1/8 to 8.
        fn scaled(&self) -> Self {
            let scales = (0..DIM).map(|index| 2.0_f64.powi(index as i32 % 7 - 3)).collect();
            Self { scales: Some(scales), ..self.clone() }
        }
    }

    impl<F> FnOracle<F>
    where
        F: FnMut(&[f64], &mut [f64]) -> Result<f64, crate::oracle::OracleError>,
    {
        fn on(self, terrain: &Terrain) -> Self {
            let oracle = self.with_domain(terrain.domain.clone());
            match &terrain.scales {
                Some(scales) => oracle.with_scales(scales.clone()),
                None => oracle,
            }
        }
    }

    /// Features that were recorded before.
    struct Replay(VecDeque<Recorded>);

    impl FeatureSource for Replay {
        fn write_features(&mut self, _unit: f64, _bundle: &Bundle, features: &mut Vec<f64>) {
            features.clone_from(&self.0.front().unwrap().0);
        }

        fn write_cuts(&mut self, _bundle: &Bundle, _places: &[usize], observed: &mut Vec<f64>) {
            *observed = self.0.pop_front().unwrap().1;
        }

        fn sees_slopes(&self) -> bool {
            false
        }

        fn note(&mut self, _proposal: &Proposal) {}

        fn learn(&mut self, _bundle: &Bundle, _step: &Step<'_>) {}
    }

    /// `sum_a max_i (g_ai'x + b_ai)` of 60 components with three lines each, in 40 variables.
    fn function(seed: u64) -> impl FnMut(&[f64], &mut [f64]) -> Result<f64, crate::oracle::OracleError> {
        let mut stream = Stream::new(seed, "function", 0);
        let mut line = || {
            let slope = (0..DIM).map(|_| if stream.below(4) == 0 { stream.normal() } else { 0.0 }).collect();
            (slope, 30.0 * stream.normal())
        };
        let components: Vec<[(Vec<f64>, f64); 3]> = (0..60).map(|_| [line(), line(), line()]).collect();
        move |point, subgradient| {
            subgradient.fill(0.0);
            let mut total = 0.0;
            for lines in &components {
                let value = |(slope, constant): &(Vec<f64>, f64)| {
                    constant + slope.iter().zip(point).map(|(g, x)| g * x).sum::<f64>()
                };
                let best = lines.iter().max_by(|a, b| value(a).total_cmp(&value(b))).unwrap();
                total += value(best);
                subgradient.iter_mut().zip(&best.0).for_each(|(sum, g)| *sum += g);
            }
            Ok(total)
        }
    }

    const DIM: usize = 40;

    /// Weight of the value at the last centre.
    const END: f64 = 0.7;

    fn small(architecture: Architecture) -> Network<f64> {
        let architecture =
            Architecture { hidden: 3, decoder: 4, step_unit: StepUnit::One, step_scale: Some(20.0), ..architecture };
        let mut network = Network::initial(&architecture, 5);
        // Decoders start near zero, where most gradients vanish.
        let numbers = check::numbers(network.weights.len(), 8);
        network.weights.iter_mut().zip(numbers).for_each(|(weight, number)| *weight += 0.4 * number);
        network
    }

    fn loss(network: &Network<f64>, frozen: &[Frozen], (steps, window): (usize, usize), gradient: &mut [f64]) -> f64 {
        let mut oracles = oracles(frozen);
        let mut unroll = begin(network, frozen, &mut oracles, window);
        run(&mut unroll, steps, window, gradient, &mut |_| ())
    }

    /// The linear functions of a frozen run, step by step.
    fn oracles(frozen: &[Frozen]) -> Vec<Box<dyn Oracle + '_>> {
        frozen.iter().map(linear).collect()
    }

    fn linear(run: &Frozen) -> Box<dyn Oracle + '_> {
        let mut calls = run.cuts.iter();
        let linear = move |point: &[f64], subgradient: &mut [f64]| {
            let (at, value, slope) = calls.next().unwrap();
            subgradient.copy_from_slice(slope);
            let way = point.iter().zip(at).zip(slope).map(|((x, y), g)| g * (x - y)).sum::<f64>();
            Ok(value + way)
        };
        Box::new(FnOracle::new(run.dim, linear).on(&run.terrain))
    }

    fn begin<'a>(
        network: &Network<f64>,
        frozen: &[Frozen],
        oracles: &'a mut [Box<dyn Oracle + '_>],
        window: usize,
    ) -> Unroll<'a, f64, Replay> {
        let subjects = oracles
            .iter_mut()
            .map(|oracle| Subject { oracle: &mut **oracle, start: None, weight: Weight::OfScaledValue(0.01) })
            .collect();
        let mut features = frozen.iter().map(|run| run.features.clone());
        let source = |_: &Architecture, _: &Evaluation| Replay(features.next().unwrap());
        Unroll::with_source(Arc::new(network.clone()), subjects, window, source).unwrap()
    }

    /// The derivative at 0 by a formula of fourth order.
    fn central(value: &mut dyn FnMut(f64) -> f64) -> f64 {
        let step = 2e-4;
        (8.0 * (value(step) - value(-step)) - (value(2.0 * step) - value(-2.0 * step))) / (12.0 * step)
    }

    fn run<'a, E: FeatureSource>(
        unroll: &mut Unroll<'a, f64, E>,
        steps: usize,
        window: usize,
        gradient: &mut [f64],
        observe: &mut dyn FnMut(&Unroll<'a, f64, E>),
    ) -> f64 {
        let mut noise = Stream::new(3, "noise", 0);
        let mut loss = 0.0;
        for step in 0..steps {
            unroll.forward(0.9_f64.powi((steps - step) as i32), Some(&mut noise)).unwrap();
            observe(unroll);
            if step + 1 == steps {
                unroll.end(END).unwrap();
            }
            if (step + 1) % window == 0 || step + 1 == steps {
                loss += unroll.backward(gradient);
            }
        }
        loss
    }

    /// Runs a network on functions and freezes the parts that gradients do not flow through.
    fn freeze(network: &Network<f64>, terrain: &Terrain, steps: usize) -> Vec<Frozen> {
        let mut visited: Vec<Vec<Visit>> = vec![vec![]; 2];
        let mut features: Vec<VecDeque<Recorded>> = vec![VecDeque::new(); 2];
        {
            let mut oracles: Vec<_> = (3..)
                .zip(&mut visited)
                .map(|(seed, visited)| {
                    let mut function = function(seed);
                    let visit = move |point: &[f64], subgradient: &mut [f64]| {
                        let value = function(point, subgradient)?;
                        visited.push((point.to_vec(), value, subgradient.to_vec()));
                        Ok(value)
                    };
                    FnOracle::new(DIM, visit).on(terrain)
                })
                .collect();
            let subjects = oracles
                .iter_mut()
                .map(|oracle| Subject { oracle, start: None, weight: Weight::OfScaledValue(1.0) })
                .collect();
            let mut unroll = Unroll::begin(Arc::new(network.clone()), subjects, steps).unwrap();
            run(&mut unroll, steps, steps, &mut vec![0.0; network.weights.len()], &mut |unroll| {
                for (recorded, episode) in features.iter_mut().zip(&unroll.episodes) {
                    let proposer = episode.method.proposer();
                    recorded.push_back((proposer.features().to_vec(), proposer.observed().to_vec()));
                }
            });
        }
        let frozen = visited.into_iter().zip(features);
        frozen.map(|(cuts, features)| Frozen { dim: DIM, terrain: terrain.clone(), cuts, features }).collect()
    }

    /// Compares the gradient with differences, weight by weight.
    fn check_rollout(network: &Network<f64>, terrain: &Terrain, steps: usize) {
        let frozen = freeze(network, terrain, steps);
        let mut gradient = vec![0.0; network.weights.len()];
        loss(network, &frozen, (steps, steps), &mut gradient);
        assert!(gradient.iter().any(|&entry| entry != 0.0));
        let largest = gradient.iter().fold(0.0_f64, |largest, entry| largest.max(entry.abs()));
        // Each tensor has weights among these.
        let stride = (gradient.len() / 90).max(1);
        for index in (0..gradient.len()).step_by(stride) {
            let mut value = |shift: f64| {
                let mut moved = network.clone();
                moved.weights[index] += shift;
                loss(&moved, &frozen, (steps, steps), &mut vec![0.0; gradient.len()])
            };
            let difference = central(&mut value);
            let error = (difference - gradient[index]).abs();
            assert!(error <= 1e-6 * largest, "weight {index}: {} by differences {difference}", gradient[index]);
        }
    }

    /// A box with bounds on one side, on both sides, and fixed variables. Some do not contain 0.
    fn random_box() -> Domain {
        let mut stream = Stream::new(4, "box", 0);
        Domain::between((0..DIM).map(|index| {
            let (at, width) = (2.0 * stream.normal(), 5.0 * stream.normal().abs());
            match index % 5 {
                0 => (f64::NEG_INFINITY, at),
                1 => (at, f64::INFINITY),
                2 => (at, at),
                _ => (at, at + width),
            }
        }))
    }

    /// Trial points stay in the box and reach bounds on both sides.
    #[test]
    fn rollouts_stay_in_their_box() {
        let (network, domain) = (small(Architecture::default()), random_box());
        let frozen = freeze(&network, &Terrain::plain(domain.clone()).scaled(), 10);
        let (mut lowest, mut highest) = (0, 0);
        for (point, ..) in frozen.iter().flat_map(|run| &run.cuts) {
            assert_eq!(domain.violation(point), None);
            for (index, &entry) in point.iter().enumerate() {
                let (lower, upper) = domain.limits(index);
                lowest += usize::from(entry == lower && lower < upper);
                highest += usize::from(entry == upper && lower < upper);
            }
        }
        assert!(lowest > 50 && highest > 50, "{lowest} {highest}");
    }

    #[test]
    fn rollout_gradients_are_exact() {
        let metric = Architecture { features: Schema::Released, centre: Centre::Softmin, ..Architecture::default() };
        let plain = Architecture { metric: Metric::Plain, ..metric.clone() };
        let [free, bounded, boxed] = [Domain::Free, Domain::Nonnegative, random_box()].map(Terrain::plain);
        let (free, bounded, boxed) = (&free, &bounded, &boxed);
        for (architecture, domain, steps) in [
            (plain.clone(), free, 1),
            (plain.clone(), free, 2),
            (plain.clone(), free, 10),
            (plain.clone(), bounded, 10),
            (Architecture { attention: Attention::Sparsemax, ..plain.clone() }, free, 10),
            (Architecture { attention: Attention::Sparsemax, ..plain.clone() }, bounded, 2),
            (Architecture { sampling: Sampling::Step, ..plain.clone() }, bounded, 10),
            (Architecture { sampling: Sampling::Attention, ..plain.clone() }, free, 10),
            (Architecture { activation: Activation::Tanh, ..Architecture::default() }, free, 10),
            (Architecture::default(), bounded, 10),
            (plain.clone(), boxed, 2),
            (plain.clone(), boxed, 10),
            (Architecture { attention: Attention::Sparsemax, ..plain.clone() }, boxed, 10),
            (Architecture::default(), boxed, 10),
            (Architecture { metric: Metric::Plain, ..Architecture::default() }, bounded, 10),
            (metric.clone(), free, 10),
            (Architecture { centre: Centre::Hard, ..Architecture::default() }, bounded, 10),
            (metric.clone(), &free.scaled(), 10),
            (Architecture::default(), &bounded.scaled(), 10),
            (Architecture { attention: Attention::Sparsemax, ..metric.clone() }, &boxed.scaled(), 10),
        ] {
            check_rollout(&small(architecture), domain, steps);
        }
    }

    #[test]
    fn gradients_of_windows_are_exact() {
        // A window contributes its gradient with all steps before it held constant.
        let network = small(Architecture::default());
        let (steps, window) = (6, 3);
        let frozen = freeze(&network, &Terrain::plain(Domain::Free), steps);
        let mut gradient = vec![0.0; network.weights.len()];
        loss(&network, &frozen, (steps, window), &mut gradient);
        let largest = gradient.iter().fold(0.0_f64, |largest, entry| largest.max(entry.abs()));
        let ignored = &mut vec![0.0; gradient.len()];
        for index in (0..gradient.len()).step_by(gradient.len() / 40) {
            let mut value = |shift: f64| {
                let mut moved = network.clone();
                moved.weights[index] += shift;
                let moved = Arc::new(moved);
                // The loss of each window, with the weight changed in that window alone.
                (0..steps / window)
                    .map(|which| {
                        let mut oracles = oracles(&frozen);
                        let mut unroll = begin(&network, &frozen, &mut oracles, window);
                        let original = Arc::clone(&unroll.network);
                        let mut noise = Stream::new(3, "noise", 0);
                        let mut total = 0.0;
                        for step in 0..=which * window + window - 1 {
                            let is_moved = step / window == which;
                            unroll.network = Arc::clone(if is_moved { &moved } else { &original });
                            unroll.forward(0.9_f64.powi((steps - step) as i32), Some(&mut noise)).unwrap();
                            if step + 1 == steps {
                                unroll.end(END).unwrap();
                            }
                            if (step + 1) % window == 0 {
                                total = unroll.backward(ignored);
                            }
                        }
                        total
                    })
                    .sum::<f64>()
            };
            let difference = central(&mut value);
            let error = (difference - gradient[index]).abs();
            assert!(error <= 1e-6 * largest, "weight {index}: {} by differences {difference}", gradient[index]);
        }
    }
}
