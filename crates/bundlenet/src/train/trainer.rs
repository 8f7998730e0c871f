//! Training: gradients through unrolled iterations, then evolution strategies on the true objective.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bundlenet_linalg::Stream;
use bundlenet_linalg::vectors::{Padded, multiply};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::config::{Evolving, Loss, Objective, TrainSettings, differences};
use super::example::{Example, gap_percent, limited};
use super::optimizer::{Optimizer, clip};
use super::unroll::{Subject, Unroll, Weight};
use crate::error::{Error, InvalidSetting};
use crate::method::{Method, NetworkSettings, Terms, runs_in_step};
use crate::model::Scaling;
use crate::network::{Affine, Architecture, Card, INITIAL_MIX, Layout, Metric, Model, Network, Schema};
use crate::oracle::{EvaluationError, Function, crossed};
use crate::run::{Limits, Settings, solve_in_step};
use crate::team::{Travel, Workers};

/// Instances of a batch that one task unrolls. It is fixed, so that sums do not depend on the number of threads.
const TASK: usize = 4;
/// Instances of a validation that one task runs.
const VALIDATION_TASK: usize = 16;
/// Number of instances for the statistics before training.
const SAMPLE: usize = 64;
/// Unit of the step length, as a share of the way to the minimum along the first subgradient.
const UNIT_SHARE: f64 = 0.8;
/// Smallest gap in the objective, in percent. Smaller gaps are zero up to rounding.
const LEAST_GAP: f64 = 1e-6;
/// Smallest gap of a single instance, in percent. Nearly solved instances should not outweigh the others.
const LEAST_OF_EACH: f64 = 1e-4;
/// Training stops after this number of consecutive validations with signs of collapse.
const PATIENCE: usize = 3;

/// The stages of training.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Gradients through unrolled iterations.
    Gradient,
    /// Evolution strategies on the true objective.
    Evolution,
}

/// The result of a validation: one line of the metrics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The stage of the training.
    pub stage: Stage,
    /// Updates so far.
    pub updates: usize,
    /// Generations so far.
    pub generations: usize,
    /// Mean loss since the last validation. In the second stage, mean objective.
    pub loss: Option<f64>,
    /// Norm of the last gradient before clipping.
    pub gradient_norm: Option<f64>,
    /// Learning rate.
    pub rate: f64,
    /// Mean gaps in percent, after the numbers of steps in the validation settings.
    pub gaps: Vec<f64>,
    /// The same gaps of runs that are told their number of steps: one run for each. `None` if the network has no such
    /// input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told_gaps: Option<Vec<f64>>,
    /// Mean of the logarithms of the gaps. Lower is better.
    pub score: f64,
    /// Mean step lengths at those steps.
    pub step_lengths: Vec<f64>,
    /// Mean entropy of the attention at the last step, divided by that of equal weights.
    pub entropy: f64,
}

/// Result of [`Trainer::advance`].
#[derive(Clone, Debug)]
pub struct Report {
    /// The stage.
    pub stage: Stage,
    /// Updates or generations done in this stage.
    pub done: usize,
    /// All updates or generations of this stage.
    pub total: usize,
    /// Number of runs.
    pub runs: usize,
    /// Loss of the update, or objective of the generation.
    pub loss: f64,
    /// The validation, if one was due.
    pub measurement: Option<Measurement>,
}

/// The best weights so far.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Best {
    pub(crate) weights: Vec<f32>,
    pub(crate) measurement: Measurement,
}

/// A training in progress.
#[derive(Debug)]
pub struct Trainer {
    settings: TrainSettings,
    train: Vec<Example>,
    validation: Vec<Example>,
    workers: Workers,
    pub(crate) state: State,
}

/// All data that change in training. Random numbers come from streams that are named by the counters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct State {
    pub(crate) network: NetworkState,
    pub(crate) gradient: Optimizer,
    pub(crate) evolution: Optimizer,
    pub(crate) updates: usize,
    pub(crate) generations: usize,
    /// Sum and number of losses since the last validation.
    pub(crate) losses: (f64, usize),
    pub(crate) gradient_norm: Option<f64>,
    pub(crate) best: Option<Best>,
    pub(crate) history: Vec<Measurement>,
    pub(crate) suspicious: usize,
}

/// A network without the data that follow from its architecture.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NetworkState {
    pub(crate) step_scale: f64,
    pub(crate) mean: Vec<f64>,
    pub(crate) deviation: Vec<f64>,
    pub(crate) weights: Vec<f32>,
}

impl Trainer {
    /// Begins a training: computes the unit of the step length and the statistics of the features, and draws weights.
    /// Examples need their optima. Training examples do not need them if only the paper's loss is used.
    ///
    /// # Errors
    /// If the settings are invalid or an oracle fails.
    pub fn new(settings: TrainSettings, train: Vec<Example>, validation: Vec<Example>) -> Result<Self, Error> {
        settings.check()?;
        let lacks = |examples: &[Example], needs: bool| {
            examples.is_empty() || needs && examples.iter().any(|example| example.optimum.is_none())
        };
        if lacks(&train, settings.needs_optima()) || lacks(&validation, true) {
            let expected = "at least one for training and for validation, with their optima";
            return Err(InvalidSetting::new("examples", expected, "too few, or some without optimum").into());
        }
        let sample = limited(train.clone(), Some(SAMPLE));
        let network = match &settings.start_from {
            Some(path) => start_from(path, &settings.network)?,
            None => {
                let mut architecture = settings.network.clone();
                if architecture.step_scale.is_none() {
                    architecture.step_scale = Some(step_scale(&sample, &architecture)?);
                }
                let mut network = Network::initial(&architecture, settings.seed);
                let steps = settings.validation.steps.last().copied().unwrap_or(100);
                (network.mean, network.deviation) = feature_statistics(&network, &sample, steps)?;
                network
            }
        };
        let count = network.weights.len();
        let network = NetworkState {
            step_scale: network.architecture.step_scale.unwrap_or(1.0),
            mean: network.mean,
            deviation: network.deviation,
            weights: network.weights,
        };
        let state = State {
            network,
            gradient: Optimizer::new(count),
            evolution: Optimizer::new(count),
            updates: 0,
            generations: 0,
            losses: (0.0, 0),
            gradient_norm: None,
            best: None,
            history: vec![],
            suspicious: 0,
        };
        Ok(Self { settings, train, validation, workers: Workers::new(), state })
    }

    /// The same training with other workers. The result does not depend on them.
    #[must_use]
    pub fn with_workers(self, workers: Workers) -> Self {
        Self { workers, ..self }
    }

    /// Resumes a training from a state.
    pub(crate) fn resume(
        settings: TrainSettings,
        train: Vec<Example>,
        validation: Vec<Example>,
        state: State,
    ) -> Result<Self, Error> {
        settings.check()?;
        Ok(Self { settings, train, validation, workers: Workers::new(), state })
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &TrainSettings {
        &self.settings
    }

    /// All validations so far.
    #[must_use]
    pub fn history(&self) -> &[Measurement] {
        &self.state.history
    }

    /// The model with the present weights.
    #[must_use]
    pub fn last(&self) -> Model {
        self.model(&self.state.network.weights, self.state.history.last())
    }

    /// The best model on validation data.
    #[must_use]
    pub fn best(&self) -> Option<Model> {
        self.state.best.as_ref().map(|best| self.model(&best.weights, Some(&best.measurement)))
    }

    fn model(&self, weights: &[f32], measurement: Option<&Measurement>) -> Model {
        let TrainSettings { name, data, validation, .. } = &self.settings;
        let (train, held) = (self.train.len(), self.validation.len());
        let sources: Vec<&str> = data
            .train
            .iter()
            .map(|source| source.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or(""))
            .collect();
        let card = Card {
            name: name.clone(),
            data: format!("{train} instances for training ({}), {held} for validation", sources.join(", ")),
            version: env!("CARGO_PKG_VERSION").to_string(),
            updates: measurement.map_or(0, |measurement| measurement.updates),
            generations: measurement.map_or(0, |measurement| measurement.generations),
            validation_steps: validation.steps.clone(),
            validation_gaps: measurement.map_or_else(Vec::new, |measurement| measurement.gaps.clone()),
        };
        Model::new(self.network(weights), card)
    }

    fn network(&self, weights: &[f32]) -> Network<f32> {
        let NetworkState { step_scale, mean, deviation, .. } = &self.state.network;
        let mut architecture = self.settings.network.clone();
        architecture.step_scale = Some(*step_scale);
        let layout = Layout::new(&architecture);
        let (mean, deviation) = (mean.clone(), deviation.clone());
        Network { architecture, layout, weights: weights.to_vec(), mean, deviation, guard: None }
    }

    /// Measures the network before its first update, once. Later models are compared with it.
    ///
    /// # Errors
    /// If an oracle fails.
    pub fn begin(&mut self) -> Result<(), Error> {
        if self.state.history.is_empty() {
            let measurement = self.measure(Stage::Gradient, 0.0)?;
            self.note(measurement)?;
        }
        Ok(())
    }

    /// Does one update or one generation, and a validation if one is due. `None` when training is over.
    ///
    /// # Errors
    /// If an oracle fails, numbers are no longer finite, or the network has collapsed. The best model is kept.
    pub fn advance(&mut self) -> Result<Option<Report>, Error> {
        self.begin()?;
        self.check_collapse()?;
        if !self.is_over(Stage::Gradient) {
            return self.update().map(Some);
        }
        if !self.is_over(Stage::Evolution) {
            if self.state.generations == 0
                && let Some(best) = &self.state.best
            {
                self.state.network.weights.clone_from(&best.weights);
            }
            return self.evolve().map(Some);
        }
        Ok(None)
    }

    /// Whether a stage has done all it is to do, or has reached a plateau. The stage before another one is over.
    fn is_over(&self, stage: Stage) -> bool {
        let State { updates, generations, history, .. } = &self.state;
        let patience = self.settings.validation.patience;
        let has_plateau = patience.is_some_and(|patience| is_plateau(history, stage, patience));
        match stage {
            Stage::Gradient => {
                let is_past = patience.is_some() && *generations > 0;
                *updates >= self.settings.gradient.updates || has_plateau || is_past
            }
            Stage::Evolution => *generations >= self.settings.evolution.generations || has_plateau,
        }
    }

    /// One update of the first stage.
    fn update(&mut self) -> Result<Report, Error> {
        let settings = self.settings.gradient.clone();
        let update = self.state.updates;
        let chosen = self.batch("gradient order", update, settings.batch);
        let steps = match settings.horizon_min {
            Some(least) => least + self.stream("horizon", update).below(settings.horizon - least + 1),
            None => settings.horizon,
        };
        let network = Arc::new(self.network(&self.state.network.weights));
        let tasks: Vec<&[usize]> = chosen.chunks(TASK).collect();
        let unroll = |task: usize| {
            let noise = self.stream("noise", update * chosen.len() + task);
            self.unroll(&network, tasks[task], steps, chosen.len(), noise)
        };
        let parts: Vec<(Vec<f32>, f64)> = self.workers.map(tasks.len(), unroll, |_, _| Ok::<(), Error>(()))?;
        let mut gradient = vec![0.0; network.weights.len()];
        let mut loss = 0.0;
        for (slopes, part_loss) in parts {
            gradient.iter_mut().zip(slopes).for_each(|(sum, slope)| *sum += slope);
            loss += part_loss;
        }
        let norm = clip(&mut gradient, settings.clip);
        if !loss.is_finite() || !norm.is_finite() {
            return Err(self.stopped(format!(
                "loss {loss} and gradient norm {norm} are not finite; a lower \
                gradient.rate or network.logit_scale may help"
            )));
        }
        let rate = settings.rate_at(update, self.train.len());
        self.state.gradient.step(&mut self.state.network.weights, &gradient, rate, None);
        self.state.updates += 1;
        self.state.gradient_norm = Some(norm);
        self.add_loss(loss);
        let is_due = self.state.updates.is_multiple_of(self.settings.validation.updates)
            || self.state.updates == self.settings.gradient.updates;
        let measurement = if is_due { Some(self.validate(Stage::Gradient, rate)?) } else { None };
        let (done, total) = (self.state.updates, settings.updates);
        Ok(Report { stage: Stage::Gradient, done, total, runs: chosen.len(), loss, measurement })
    }

    /// Gradient and loss over some instances of a batch.
    fn unroll(
        &self,
        network: &Arc<Network<f32>>,
        members: &[usize],
        steps: usize,
        batch: usize,
        mut noise: Stream,
    ) -> Result<(Vec<f32>, f64), Error> {
        let settings = &self.settings.gradient;
        let mut oracles: Vec<_> = members.iter().map(|&index| (self.train[index].oracle)()).collect();
        let mut subjects = vec![];
        for (&index, oracle) in members.iter().zip(&mut oracles) {
            let example = &self.train[index];
            let weight = match (settings.loss, example.optimum) {
                (Loss::Gap, Some(optimum)) => Weight::OfGap(optimum),
                _ => {
                    let components = oracle.as_sum().map_or(1, |sum| sum.component_count());
                    Weight::OfScaledValue(1.0 / components as f64)
                }
            };
            subjects.push(Subject { oracle: &mut **oracle, start: example.start.as_deref(), weight });
        }
        let failed = |source| self.train[members[0]].failed(source);
        let window = settings.window.min(steps);
        let mut unroll = Unroll::begin(Arc::clone(network), subjects, window).map_err(failed)?;
        let mut gradient = vec![0.0; network.weights.len()];
        let mut loss = 0.0;
        for step in 0..steps {
            let power = i32::try_from(steps - 1 - step).unwrap_or(i32::MAX);
            let weight = settings.discount.powi(power) / (steps * batch) as f64;
            unroll.forward(weight, Some(&mut noise)).map_err(failed)?;
            if step + 1 == steps && settings.loss == Loss::Released {
                unroll.end(1.0 / batch as f64).map_err(failed)?;
            }
            if (step + 1) % window == 0 || step + 1 == steps {
                loss += unroll.backward(&mut gradient);
            }
        }
        Ok((gradient, loss))
    }

    /// One generation of the second stage.
    fn evolve(&mut self) -> Result<Report, Error> {
        let settings = self.settings.evolution.clone();
        let generation = self.state.generations;
        let chosen = self.batch("evolution order", generation, settings.batch);
        let examples = self.lessons(generation, &chosen);
        let weights = &self.state.network.weights;
        let network = self.network(weights);
        let scale = change_sizes(&network, settings.weights);
        let noises: Vec<Vec<f32>> = (0..settings.pairs)
            .into_par_iter()
            .map(|pair| {
                let mut stream = self.stream("evolution noise", generation * settings.pairs + pair);
                scale.iter().map(|&size| if size > 0.0 { stream.normal() as f32 } else { 0.0 }).collect()
            })
            .collect();
        let objective = |index: usize| {
            let sign = if index.is_multiple_of(2) { settings.deviation } else { -settings.deviation } as f32;
            let mut changed = network.clone();
            let noise = noises[index / 2].iter().zip(&scale);
            changed.weights.iter_mut().zip(noise).for_each(|(weight, (noise, size))| *weight += sign * size * noise);
            let outcome = evaluate(&Arc::new(changed), &examples, &self.settings.validation.steps)?;
            Ok(outcome.score(settings.objective))
        };
        let objectives = self.workers.map(2 * settings.pairs, objective, |_, _| Ok::<(), Error>(()))?;
        let runs = objectives.len() * examples.len();
        let ranks = centred_ranks(&objectives);
        let mut gradient = vec![0.0; network.weights.len()];
        for (pair, noise) in noises.iter().enumerate() {
            let pull = (ranks[2 * pair] - ranks[2 * pair + 1]) / settings.pairs as f32;
            gradient.iter_mut().zip(noise).for_each(|(sum, entry)| *sum += pull * entry);
        }
        let rate = settings.rate_at(generation);
        self.state.evolution.step(&mut self.state.network.weights, &gradient, rate, Some(&scale));
        self.state.generations += 1;
        let loss = objectives.iter().sum::<f64>() / objectives.len() as f64;
        self.add_loss(loss);
        self.state.gradient_norm = None;
        let is_due = self.state.generations.is_multiple_of(self.settings.validation.generations)
            || self.state.generations == settings.generations;
        let measurement = if is_due { Some(self.validate(Stage::Evolution, rate)?) } else { None };
        let (done, total) = (self.state.generations, settings.generations);
        Ok(Report { stage: Stage::Evolution, done, total, runs, loss, measurement })
    }

    /// The runs of a generation. If the network has an input for the number of steps, every other run is told one of
    /// the columns, each column in turn. If only the weights of that input evolve, there is a run for each column.
    fn lessons(&self, generation: usize, chosen: &[usize]) -> Vec<Lesson<'_>> {
        let columns = self.settings.validation.steps.len();
        if self.settings.evolution.weights == Evolving::Told {
            let of = |&index: &usize| (0..columns).map(move |told| (index, Some(told)));
            let lesson = |(index, told): (usize, Option<usize>)| Lesson { example: &self.train[index], told };
            return chosen.iter().flat_map(of).map(lesson).collect();
        }
        let lesson = |(position, &index): (usize, &usize)| {
            let is_told = self.hears_steps() && position % 2 == 1;
            let told = is_told.then(|| (generation + position / 2) % columns);
            Lesson { example: &self.train[index], told }
        };
        chosen.iter().enumerate().map(lesson).collect()
    }

    fn hears_steps(&self) -> bool {
        self.settings.network.features == Schema::Told
    }

    fn add_loss(&mut self, loss: f64) {
        self.state.losses.0 += loss;
        self.state.losses.1 += 1;
    }

    /// Measures the gaps on the validation data.
    fn measure(&self, stage: Stage, rate: f64) -> Result<Measurement, Error> {
        let network = Arc::new(self.network(&self.state.network.weights));
        let untold = self.validation_outcome(&network, &[None])?;
        let columns: Vec<Option<usize>> = (0..self.settings.validation.steps.len()).map(Some).collect();
        let told = self.hears_steps().then(|| self.validation_outcome(&network, &columns)).transpose()?;
        let objective = self.settings.evolution.objective;
        let score = untold.score(objective);
        let score = told.as_ref().map_or(score, |told| 0.5 * (score + told.score(objective)));
        let (sum, count) = self.state.losses;
        Ok(Measurement {
            stage,
            updates: self.state.updates,
            generations: self.state.generations,
            loss: (count > 0).then(|| sum / count as f64),
            gradient_norm: self.state.gradient_norm,
            rate,
            score,
            gaps: untold.gaps(),
            told_gaps: told.map(|told| told.gaps()),
            step_lengths: untold.mean_step_lengths(),
            entropy: untold.entropy / untold.runs.max(1) as f64,
        })
    }

    /// Runs a network on all validation data, once for each of the columns that it is told.
    fn validation_outcome(&self, network: &Arc<Network<f32>>, told: &[Option<usize>]) -> Result<Outcome, Error> {
        let columns = &self.settings.validation.steps;
        let lessons: Vec<Lesson<'_>> =
            told.iter().flat_map(|&told| self.validation.iter().map(move |example| Lesson { example, told })).collect();
        let groups: Vec<&[Lesson<'_>]> = lessons.chunks(VALIDATION_TASK).collect();
        let evaluate = |group: usize| evaluate(network, groups[group], columns);
        let outcomes = self.workers.map(groups.len(), evaluate, |_, _| Ok::<(), Error>(()))?;
        let mut total = Outcome::new(columns.len());
        outcomes.iter().for_each(|outcome| total.add(outcome));
        Ok(total)
    }

    fn validate(&mut self, stage: Stage, rate: f64) -> Result<Measurement, Error> {
        let measurement = self.measure(stage, rate)?;
        self.state.losses = (0.0, 0);
        self.note(measurement.clone())?;
        Ok(measurement)
    }

    /// Records a validation, keeps the weights if they are the best, and detects a collapse of the network.
    fn note(&mut self, measurement: Measurement) -> Result<(), Error> {
        self.state.history.push(measurement.clone());
        let Some(best) = &self.state.best else {
            self.state.best = Some(Best { weights: self.state.network.weights.clone(), measurement });
            return Ok(());
        };
        let ends = |gaps: &[f64]| (gaps.first().copied().unwrap_or(0.0), gaps.last().copied().unwrap_or(0.0));
        let ((first, last), (best_first, best_last)) = (ends(&measurement.gaps), ends(&best.measurement.gaps));
        let is_collapsed = !measurement.score.is_finite()
            || (first > 1.5 * best_first && last > 10.0 * best_last.max(LEAST_GAP) && last > 0.5 * best_first);
        self.state.suspicious = if is_collapsed { self.state.suspicious + 1 } else { 0 };
        if measurement.score < best.measurement.score {
            self.state.best = Some(Best { weights: self.state.network.weights.clone(), measurement });
            self.state.suspicious = 0;
        }
        self.check_collapse()
    }

    /// An error if the network has collapsed. So a collapsed training ends in the same way when it is resumed.
    fn check_collapse(&self) -> Result<(), Error> {
        let State { suspicious, history, best, .. } = &self.state;
        let (Some(last), Some(best), true) = (history.last(), best, *suspicious >= PATIENCE) else { return Ok(()) };
        let Measurement { gaps, step_lengths, entropy, .. } = last;
        Err(self.stopped(format!(
            "the network has collapsed, with gaps {gaps:.3?} % in {PATIENCE} validations in a row (best: {:.3?}), \
             step lengths {step_lengths:.3?} and entropy of the attention {entropy:.2}; a lower gradient.rate or \
             network.logit_scale may help",
            best.measurement.gaps
        )))
    }

    fn stopped(&self, reason: String) -> Error {
        let State { updates, generations, best, .. } = &self.state;
        let kept = match best {
            Some(Best { measurement, .. }) => format!(
                "the best weights, after {} updates and {} generations, are kept",
                measurement.updates, measurement.generations
            ),
            None => "there were no good weights before".to_string(),
        };
        Error::Training { after: format!("{updates} updates and {generations} generations"), reason, kept }
    }

    fn stream(&self, name: &str, index: usize) -> Stream {
        Stream::new(self.settings.seed, name, index as u64)
    }

    /// The instances of a batch. Each epoch goes through all of them in a new random order.
    fn batch(&self, name: &str, number: usize, size: usize) -> Vec<usize> {
        let count = self.train.len();
        let range: Range<usize> = number * size..(number + 1) * size;
        let mut order = (usize::MAX, vec![]);
        range
            .map(|position| {
                let epoch = position / count;
                if order.0 != epoch {
                    order = (epoch, self.stream(name, epoch).permutation(count));
                }
                order.1[position % count]
            })
            .collect()
    }
}

/// Whether the last `patience` validations are all of this stage and brought no new best score.
fn is_plateau(history: &[Measurement], stage: Stage, patience: usize) -> bool {
    let Some(before) = history.len().checked_sub(patience) else { return false };
    let (earlier, last) = history.split_at(before);
    let best = |part: &[Measurement]| part.iter().map(|line| line.score).fold(f64::INFINITY, f64::min);
    !earlier.is_empty() && last.iter().all(|line| line.stage == stage) && best(last) >= best(earlier)
}

/// The network of a checkpoint. It must have the given architecture. Its scale of the step length is used unless the
/// architecture sets another one.
fn start_from(path: &Path, wanted: &Architecture) -> Result<Network<f32>, Error> {
    let model = Model::load(path)?;
    // A guard belongs to the weights with which it was made.
    let mut network = Network { guard: None, ..Network::clone(model.network()) };
    if wanted.metric == Metric::Scaled {
        network = network.with_metric();
    }
    network = network.with_features(wanted.features);
    let step_scale = wanted.step_scale.or(network.architecture.step_scale);
    let found = Architecture { step_scale, ..network.architecture.clone() };
    let wanted = Architecture { step_scale, ..wanted.clone() };
    if found != wanted {
        let [expected, found] = differences("network", &wanted, &found);
        return Err(Error::Content { path: path.to_path_buf(), expected: format!("{expected} (settings)"), found });
    }
    network.architecture = found;
    Ok(network)
}

/// Ranks from -1/2 to 1/2. Equal numbers share their mean rank.
pub(crate) fn centred_ranks(numbers: &[f64]) -> Vec<f32> {
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_by(|&a, &b| numbers[a].total_cmp(&numbers[b]));
    let mut ranks = vec![0.0; numbers.len()];
    let last = (numbers.len() - 1).max(1) as f32;
    let mut from = 0;
    for group in order.chunk_by(|&a, &b| numbers[a] == numbers[b]) {
        let rank = from as f32 + (group.len() - 1) as f32 / 2.0;
        group.iter().for_each(|&index| ranks[index] = rank / last - 0.5);
        from += group.len();
    }
    ranks
}

/// Size of a unit change of each weight: the root mean square of its tensor, bounded from below. 0 for weights that do
/// not evolve.
fn change_sizes(network: &Network<f32>, evolving: Evolving) -> Vec<f32> {
    const LEAST: f64 = 0.05;
    const LEAST_OF_SHORTCUT: f64 = 0.3;
    let mut sizes = vec![0.0; network.weights.len()];
    let layout = &network.layout;
    if evolving == Evolving::Told {
        sizes[told_weights(network)].fill(LEAST_OF_SHORTCUT as f32);
        return sizes;
    }
    let mut layers = vec![(&layout.shortcut, LEAST_OF_SHORTCUT)];
    if evolving != Evolving::Shortcut {
        layers.extend(layout.decoders.iter().map(|[_, second]| (second, LEAST)));
    }
    if matches!(evolving, Evolving::All | Evolving::Decoders) {
        layers.extend(layout.decoders.iter().map(|[first, _]| (first, LEAST)));
    }
    if evolving == Evolving::All {
        layers.push((&layout.lstm, LEAST));
    }
    for (layer, least) in layers {
        for at in [&layer.weights, &layer.bias] {
            let weights = &network.weights[at.clone()];
            let square = weights.iter().map(|&weight| f64::from(weight) * f64::from(weight)).sum::<f64>();
            let size = (square / weights.len().max(1) as f64).sqrt().max(least);
            sizes[at.clone()].fill(size as f32);
        }
    }
    sizes
}

/// The weights of the shortcut on the inputs for the steps that remain, which follow all others.
fn told_weights(network: &Network<f32>) -> Range<usize> {
    let Affine { outputs, weights, .. } = &network.layout.shortcut;
    let row = |input: usize| weights.start + input * outputs;
    row(Schema::Relative.names().len())..row(Schema::Told.names().len())
}

/// A run of an evaluation.
#[derive(Clone, Copy)]
struct Lesson<'a> {
    example: &'a Example,
    /// Index of the column whose steps the network is told. The run ends there, and only that column counts.
    told: Option<usize>,
}

/// Sums over the runs of a network.
struct Outcome {
    runs: usize,
    /// By column: gaps, their number, step lengths.
    gaps: Vec<f64>,
    counts: Vec<usize>,
    step_lengths: Vec<f64>,
    /// Logarithms of the gaps, over all columns and runs.
    logarithm: f64,
    entropy: f64,
}

impl Outcome {
    fn new(columns: usize) -> Self {
        let zeros = vec![0.0; columns];
        let counts = vec![0; columns];
        Self { runs: 0, gaps: zeros.clone(), counts, step_lengths: zeros, logarithm: 0.0, entropy: 0.0 }
    }

    fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.gaps.iter_mut().zip(&other.gaps).for_each(|(sum, gap)| *sum += gap);
        self.counts.iter_mut().zip(&other.counts).for_each(|(sum, count)| *sum += count);
        self.step_lengths.iter_mut().zip(&other.step_lengths).for_each(|(sum, length)| *sum += length);
        self.logarithm += other.logarithm;
        self.entropy += other.entropy;
    }

    /// Adds the gap of a run at a column, with its step length there.
    fn note(&mut self, column: usize, gap: f64, step_length: f64) {
        self.gaps[column] += gap;
        self.counts[column] += 1;
        self.step_lengths[column] += step_length;
        self.logarithm += gap.max(LEAST_OF_EACH).ln();
    }

    /// Means over the runs that have the column.
    fn means<'a>(&'a self, sums: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        sums.iter().zip(&self.counts).map(|(sum, &count)| sum / count.max(1) as f64)
    }

    fn gaps(&self) -> Vec<f64> {
        self.means(&self.gaps).collect()
    }

    fn mean_step_lengths(&self) -> Vec<f64> {
        self.means(&self.step_lengths).collect()
    }

    /// Value of the objective; lower is better.
    fn score(&self, objective: Objective) -> f64 {
        match objective {
            Objective::Mean => {
                let seen = self.means(&self.gaps).zip(&self.counts).filter(|(_, count)| **count > 0);
                mean_logarithm(&seen.map(|(gap, _)| gap).collect::<Vec<f64>>())
            }
            Objective::Each => self.logarithm / self.counts.iter().sum::<usize>().max(1) as f64,
        }
    }
}

impl Travel for Outcome {
    fn write(&self, bytes: &mut Vec<u8>) {
        let Self { runs, gaps, counts, step_lengths, logarithm, entropy } = self;
        runs.write(bytes);
        gaps.write(bytes);
        counts.write(bytes);
        step_lengths.write(bytes);
        logarithm.write(bytes);
        entropy.write(bytes);
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        Some(Self {
            runs: Travel::read(bytes)?,
            gaps: Travel::read(bytes)?,
            counts: Travel::read(bytes)?,
            step_lengths: Travel::read(bytes)?,
            logarithm: Travel::read(bytes)?,
            entropy: Travel::read(bytes)?,
        })
    }
}

/// Mean over columns of the logarithm of mean gaps.
fn mean_logarithm(gaps: &[f64]) -> f64 {
    gaps.iter().map(|gap| gap.max(LEAST_GAP).ln()).sum::<f64>() / gaps.len().max(1) as f64
}

/// Value of an objective, from the gaps of each instance by column; lower is better.
pub(crate) fn objective_of(gaps: &[Vec<f64>], objective: Objective) -> f64 {
    let columns = gaps.first().map_or(0, Vec::len);
    let mean = |column: usize| gaps.iter().map(|gaps| gaps[column]).sum::<f64>() / gaps.len() as f64;
    match objective {
        Objective::Mean => mean_logarithm(&(0..columns).map(mean).collect::<Vec<f64>>()),
        Objective::Each => {
            let logarithms = gaps.iter().flatten().map(|gap| gap.max(LEAST_OF_EACH).ln());
            logarithms.sum::<f64>() / (gaps.len() * columns) as f64
        }
    }
}

/// Runs a network on examples. Measures the gaps of the best values after the numbers of steps in `columns`. Runs with
/// the same knowledge go in step.
fn evaluate(network: &Arc<Network<f32>>, lessons: &[Lesson<'_>], columns: &[usize]) -> Result<Outcome, Error> {
    let mut total = Outcome::new(columns.len());
    let mut sorted = lessons.to_vec();
    sorted.sort_by_key(|lesson| lesson.told);
    let alike = sorted.chunk_by(|a, b| a.told == b.told);
    for group in alike.flat_map(|alike| alike.chunks(runs_in_step(network))) {
        run_group(network, group, columns, &mut total)?;
    }
    Ok(total)
}

/// Runs a network on examples in step. All are told the same.
fn run_group(
    network: &Arc<Network<f32>>,
    group: &[Lesson<'_>],
    columns: &[usize],
    total: &mut Outcome,
) -> Result<(), Error> {
    let told = group.first().and_then(|lesson| lesson.told);
    let budget = told.map(|column| columns[column]);
    let settings = run_settings(budget.or(columns.last().copied()).unwrap_or(1));
    let cap = NetworkSettings::default().max_cuts;
    let terms = Terms { cap, tolerance: settings.tolerance, budget, is_limited: true };
    let mut oracles: Vec<_> = group.iter().map(|lesson| (lesson.example.oracle)()).collect();
    let runs =
        oracles.iter_mut().zip(group).map(|(oracle, lesson)| (&mut **oracle as _, lesson.example.start.as_deref()));
    let runs = solve_in_step((network, terms), runs.collect(), &settings, None);
    for (run, Lesson { example, .. }) in runs.into_iter().zip(group) {
        let run = run.map_err(|source| example.failed(source))?;
        let trace = run.solution.trace;
        let optimum = example.optimum.unwrap_or(0.0);
        for (index, &column) in columns.iter().enumerate().filter(|(index, _)| told.is_none_or(|told| told == *index)) {
            // A run that ended early keeps its best value.
            let best = trace[column.min(trace.len() - 1)].best;
            let step_length = run.step_lengths.get(column - 1).copied().unwrap_or(0.0);
            total.note(index, gap_percent(best, optimum), step_length);
        }
        total.runs += 1;
        total.entropy += run.entropy;
    }
    Ok(())
}

fn run_settings(steps: usize) -> Settings {
    let limits = Limits { steps: Some(steps), ..Limits::default() };
    Settings { method: Method::Network(NetworkSettings::default()), limits, tolerance: 0.0, primal: false }
}

/// Factor on the unit of the step length. With it, a step is a share of the way to the minimum along the first
/// direction, in the median over examples.
fn step_scale(examples: &[Example], architecture: &Architecture) -> Result<f64, Error> {
    let ways: Vec<Result<f64, Error>> = examples
        .par_iter()
        .map(|example| way_to_minimum(example, architecture).map_err(|source| example.failed(source)))
        .collect();
    let mut ways: Vec<f64> = ways.into_iter().collect::<Result<_, _>>()?;
    ways.sort_unstable_by(f64::total_cmp);
    Ok(UNIT_SHARE * ways[ways.len() / 2])
}

/// Step length of the scaled function's minimum along the first direction of a new network, in units of the run.
fn way_to_minimum(example: &Example, architecture: &Architecture) -> Result<f64, EvaluationError> {
    let mut oracle = (example.oracle)();
    let mut function = Function::new(&mut *oracle)?;
    let dim = function.dim();
    let start = example.start.clone().unwrap_or_else(|| function.start());
    let (mut first, mut subgradient, mut point) = (vec![0.0; dim], vec![0.0; dim], start.clone());
    let value = function.evaluate(&start, &mut first)?;
    let norm = first.iter().map(|entry| entry * entry).sum::<f64>().sqrt();
    if norm == 0.0 {
        return Ok(1.0);
    }
    let way = match architecture.metric {
        Metric::Plain => first,
        Metric::Scaled => scaled(&first, function.scales()),
    };
    let domain = function.domain().clone();
    let mut is_held = vec![false; dim];
    let mut slope_at = |length: f64| {
        for ((entry, origin), slope) in point.iter_mut().zip(&start).zip(&way) {
            *entry = origin - length * slope / norm;
        }
        // A coordinate at its bound does not move any more.
        is_held.iter_mut().zip(&point).enumerate().for_each(|(index, (is_held, entry))| {
            *is_held = crossed(domain.limits(index), *entry).is_some();
        });
        domain.project(&mut point);
        function.evaluate(&point, &mut subgradient)?;
        let moving = subgradient.iter().zip(&way).zip(&is_held).filter(|(_, is_held)| !**is_held);
        Ok::<f64, EvaluationError>(-moving.map(|((a, b), _)| a * b).sum::<f64>())
    };
    // The slope increases along the way. Double until it is positive, then bisect.
    let (mut low, mut high) = (0.0, 1.0);
    while high < 1e9 && slope_at(high)? < 0.0 {
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..12 {
        let middle = 0.5 * (low + high);
        if slope_at(middle)? < 0.0 { low = middle } else { high = middle }
    }
    Ok(0.5 * (low + high) / architecture.step_unit.of(&start, value / norm))
}

/// The first direction of a new network with a metric.
fn scaled(first: &[f64], scales: Option<&[f64]>) -> Vec<f64> {
    let mut direction = Padded::of(first);
    let mut factors = Padded(vec![]);
    Scaling::new(scales, &direction).write_factors(INITIAL_MIX, &mut factors);
    multiply(&mut direction.0, &factors.0);
    direction.numbers(first.len()).to_vec()
}

/// Mean and standard deviation of the features along runs of a network.
fn feature_statistics(
    network: &Network<f32>,
    examples: &[Example],
    steps: usize,
) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let inputs = network.architecture.inputs();
    let network = Arc::new(network.clone());
    let parts: Vec<Result<Sums, Error>> = examples
        .par_chunks(TASK)
        .map(|group| {
            let mut sums = Sums { count: 0, sum: vec![0.0; inputs], square: vec![0.0; inputs] };
            let mut oracles: Vec<_> = group.iter().map(|example| (example.oracle)()).collect();
            let subjects = oracles.iter_mut().zip(group).map(|(oracle, example)| Subject {
                oracle: &mut **oracle,
                start: example.start.as_deref(),
                weight: Weight::OfScaledValue(0.0),
            });
            let failed = |source| group[0].failed(source);
            let mut unroll = Unroll::begin(Arc::clone(&network), subjects.collect(), 1).map_err(failed)?;
            for _ in 0..steps {
                unroll.forward(0.0, None).map_err(failed)?;
                unroll.features().for_each(|features| sums.add(features));
                unroll.forget();
            }
            Ok(sums)
        })
        .collect();
    let mut total = Sums { count: 0, sum: vec![0.0; inputs], square: vec![0.0; inputs] };
    for part in parts {
        let part = part?;
        total.count += part.count;
        total.sum.iter_mut().zip(&part.sum).for_each(|(sum, entry)| *sum += entry);
        total.square.iter_mut().zip(&part.square).for_each(|(sum, entry)| *sum += entry);
    }
    let count = total.count.max(1) as f64;
    let mean: Vec<f64> = total.sum.iter().map(|sum| sum / count).collect();
    let spread = total.square.iter().zip(&mean).map(|(square, mean)| (square / count - mean * mean).max(0.0).sqrt());
    // A constant feature is not scaled.
    let deviation = spread.map(|spread| if spread > 1e-9 { spread } else { 1.0 }).collect();
    Ok((mean, deviation))
}

struct Sums {
    count: usize,
    sum: Vec<f64>,
    square: Vec<f64>,
}

impl Sums {
    fn add(&mut self, features: &[f64]) {
        self.count += 1;
        self.sum.iter_mut().zip(features).for_each(|(sum, feature)| *sum += feature);
        self.square.iter_mut().zip(features).for_each(|(sum, feature)| *sum += feature * feature);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::StepUnit;
    use crate::oracle::{Domain, FnOracle, Sense};
    use crate::train::rollout;

    /// `|x - 3| + |y - 4|` from 0. The bounded case has a third variable that tends to negative values.
    #[test]
    fn the_way_to_the_minimum_ends_at_bounds() {
        let way = |dim: usize, domain: Domain| {
            let oracle: super::super::MakeOracle = Arc::new(move || {
                let targets = [3.0, 4.0, -2.0];
                let distance = move |point: &[f64], subgradient: &mut [f64]| {
                    let ways = point.iter().zip(targets).map(|(x, target)| x - target);
                    subgradient.iter_mut().zip(ways.clone()).for_each(|(g, way)| *g = way.signum());
                    Ok(ways.map(f64::abs).sum())
                };
                Box::new(FnOracle::new(dim, distance).with_domain(domain.clone()))
            });
            let example = Example { name: "distance".to_string(), oracle, start: None, optimum: None };
            let plain = Architecture { step_unit: StepUnit::One, metric: Metric::Plain, ..Architecture::default() };
            way_to_minimum(&example, &plain).unwrap()
        };
        // Along (1, 1) / sqrt(2) the slope vanishes between 3 and 4; a bound holds the third variable at 0.
        let (free, bounded) = (way(2, Domain::Free), way(3, Domain::Nonnegative));
        let root = |number: f64| number.sqrt();
        assert!(free >= 3.0 * root(2.0) - 0.01 && free <= 4.0 * root(2.0) + 0.01, "{free}");
        assert!(bounded >= 3.0 * root(3.0) - 0.01 && bounded <= 4.0 * root(3.0) + 0.01, "{bounded}");
    }

    /// `offset` plus or minus the distance to a target, and its best value.
    fn distance(sense: Sense, offset: f64, target: f64) -> Example {
        let oracle: super::super::MakeOracle = Arc::new(move || {
            let evaluate = move |point: &[f64], subgradient: &mut [f64]| {
                subgradient[0] = sense.sign() * (point[0] - target).signum();
                Ok(offset + sense.sign() * (point[0] - target).abs())
            };
            Box::new(FnOracle::new(1, evaluate).with_sense(sense))
        });
        Example { name: format!("{target}"), oracle, start: None, optimum: Some(offset) }
    }

    fn small_training() -> TrainSettings {
        let mut settings = TrainSettings::default();
        settings.data.train = vec!["distances".to_string()];
        settings.validation.steps = vec![4];
        (settings.network.hidden, settings.network.decoder) = (2, 2);
        (settings.gradient.updates, settings.gradient.batch, settings.gradient.discount) = (9, 2, 1.0);
        (settings.gradient.horizon, settings.gradient.window, settings.evolution.generations) = (4, 2, 0);
        settings
    }

    #[test]
    fn the_loss_of_gaps_is_their_mean() {
        for (sense, offset) in [(Sense::Minimize, 200.0), (Sense::Maximize, 200.0), (Sense::Maximize, -50.0)] {
            let examples = [3.0, 11.0].map(|target| distance(sense, offset, target)).to_vec();
            let mut trainer = Trainer::new(small_training(), examples.clone(), examples.clone()).unwrap();
            trainer.begin().unwrap();
            let model = trainer.last();
            let gaps = examples.iter().flat_map(|example| {
                let points = rollout(&model, &mut *(example.oracle)(), 4).unwrap().points;
                points.into_iter().map(|point| {
                    let value = (example.oracle)().evaluate(&point, &mut [0.0]).unwrap();
                    gap_percent(value, offset)
                })
            });
            let mean = gaps.sum::<f64>() / 8.0;
            let loss = trainer.advance().unwrap().unwrap().loss;
            // Both follow the same points in single precision.
            assert!(mean > 0.0 && (loss - mean).abs() < 1e-6 * mean, "{loss} {mean}");
        }
    }

    #[test]
    fn a_collapsed_training_stays_collapsed() {
        let examples = [3.0, 11.0].map(|target| distance(Sense::Minimize, 200.0, target)).to_vec();
        let mut trainer = Trainer::new(small_training(), examples.clone(), examples.clone()).unwrap();
        trainer.begin().unwrap();
        let mut bad = trainer.history()[0].clone();
        (bad.gaps, bad.score) = (vec![1e3], 7.0);
        assert!(trainer.note(bad.clone()).is_ok() && trainer.note(bad.clone()).is_ok());
        let first = trainer.note(bad).unwrap_err().to_string();
        assert!(first.contains("the network has collapsed") && first.ends_with("are kept"), "{first}");
        let state = trainer.state.clone();
        let mut resumed = Trainer::resume(small_training(), examples.clone(), examples, state).unwrap();
        assert_eq!(resumed.advance().unwrap_err().to_string(), first);
    }

    #[test]
    fn a_start_of_another_architecture_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        let small = small_training().network;
        Model::untrained(&small, 1).save(&path, crate::network::Precision::Single).unwrap();
        let wanted = Architecture { hidden: 5, shortcut: false, ..small };
        let message = start_from(&path, &wanted).unwrap_err().to_string();
        let differences = "expected network.hidden = 5, network.shortcut = false (settings), \
            found network.hidden = 2, network.shortcut = true";
        assert!(message.ends_with(differences), "{message}");
    }

    #[test]
    fn a_plateau_needs_validations_of_one_stage_without_a_new_best() {
        let line = |stage: Stage, score: f64| Measurement {
            stage,
            updates: 0,
            generations: 0,
            loss: None,
            gradient_norm: None,
            rate: 0.0,
            gaps: vec![],
            told_gaps: None,
            score,
            step_lengths: vec![],
            entropy: 1.0,
        };
        let scores = |scores: &[f64]| scores.iter().map(|score| line(Stage::Gradient, *score)).collect::<Vec<_>>();
        let ends = |history: &[Measurement], patience: usize| is_plateau(history, Stage::Gradient, patience);
        assert!(ends(&scores(&[3.0, 1.0, 2.0, 1.0]), 2) && ends(&scores(&[1.0, 1.0]), 1));
        assert!(!ends(&scores(&[3.0, 1.0, 2.0, 0.9]), 2) && !ends(&scores(&[3.0, 1.0, 2.0]), 2));
        // The validations before the first do not exist.
        assert!(!ends(&scores(&[1.0, 2.0]), 2) && !ends(&[], 1));
        let mut mixed = scores(&[1.0, 2.0]);
        mixed.push(line(Stage::Evolution, 2.0));
        assert!(!is_plateau(&mixed, Stage::Evolution, 2) && is_plateau(&mixed, Stage::Evolution, 1));
    }

    #[test]
    fn ranks_are_centred() {
        assert_eq!(centred_ranks(&[5.0, 1.0, 3.0]), [0.5, -0.5, 0.0]);
        assert_eq!(centred_ranks(&[2.0, 2.0, 7.0]), [-0.25, -0.25, 0.5]);
        assert_eq!(centred_ranks(&[4.0]), [-0.5]);
    }
}
