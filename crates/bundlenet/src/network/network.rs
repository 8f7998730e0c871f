//! The network: recurrent cell and decoders, forward and backward, for several rows at a time.
//!
//! A row is an instance. Forward writes to a [`Tape`] everything that backward needs. In use the tape has one step,
//! which is overwritten again and again. So training and use share the same code.

use super::architecture::{Affine, Architecture, Centre, Layout, Metric};
use super::features::{Schema, Transform};
use super::guard::Guard;
use super::ops::{lstm, matrix, sampling};
use super::real::Real;
use bundlenet_linalg::Stream;

/// The weights of a network, with its architecture and the statistics of its features.
#[derive(Clone, Debug)]
pub(crate) struct Network<S> {
    pub(crate) architecture: Architecture,
    pub(crate) layout: Layout,
    pub(crate) weights: Vec<S>,
    /// Mean and standard deviation of the features before standardisation.
    pub(crate) mean: Vec<f64>,
    pub(crate) deviation: Vec<f64>,
    /// Ranges of the features in training, if an exact master is to take over outside of them.
    pub(crate) guard: Option<Guard>,
}

/// Standard deviation of the initial weights of decoders.
const DECODER_DEVIATION: f64 = 0.01;

/// Initial temperature of a learned centre, in units of the step length.
const INITIAL_TEMPERATURE: f64 = 0.25;

/// Initial share of the running factors of a metric.
pub(crate) const INITIAL_MIX: f64 = 0.4;

fn inverse_softplus(number: f64) -> f64 {
    number.exp_m1().ln()
}

/// The raw output of the initial mixture.
fn initial_mix<S: Real>() -> S {
    S::of((INITIAL_MIX / (1.0 - INITIAL_MIX)).ln())
}

impl<S: Real> Network<S> {
    /// A network with initial weights. Those of the recurrent cell are uniform, bounded by one over the root of its
    /// size, with open forget gates. Those of the decoders are near zero: the first step length is the unit, the first
    /// attention uniform.
    pub(crate) fn initial(architecture: &Architecture, seed: u64) -> Self {
        let layout = Layout::new(architecture);
        let mut weights = vec![S::ZERO; layout.total];
        let mut stream = Stream::new(seed, "initial weights", 0);
        let state = architecture.state();
        let bound = 1.0 / (state as f64).sqrt();
        let lstm = &layout.lstm;
        weights[lstm.weights.clone()].iter_mut().for_each(|weight| *weight = S::of(bound * stream.symmetric()));
        let forget = lstm.bias.start + state..lstm.bias.start + 2 * state;
        weights[forget].fill(S::ONE);
        for layer in layout.decoders.iter().flatten() {
            let weights = &mut weights[layer.weights.clone()];
            weights.iter_mut().for_each(|weight| *weight = S::of(DECODER_DEVIATION * stream.normal()));
        }
        let step = &mut weights[layout.decoders[0][1].bias.clone()];
        step[0] = S::of(inverse_softplus(1.0));
        if architecture.centre == Centre::Learned {
            step[1] = S::of(inverse_softplus(INITIAL_TEMPERATURE));
        }
        if architecture.metric == Metric::Scaled {
            step[architecture.mix_output()] = initial_mix();
        }
        let inputs = architecture.inputs();
        let architecture = architecture.clone();
        let (mean, deviation) = (vec![0.0; inputs], vec![1.0; inputs]);
        Self { architecture, layout, weights, mean, deviation, guard: None }
    }

    /// The network with a metric, if it has none. The output for the mixture begins as in a new network.
    pub(crate) fn with_metric(self) -> Self {
        if self.architecture.metric == Metric::Scaled {
            return self;
        }
        let at = self.architecture.outputs()[0];
        let architecture = Architecture { metric: Metric::Scaled, ..self.architecture };
        let layout = Layout::new(&architecture);
        let mut weights = vec![S::ZERO; layout.total];
        let layers = |layout: &Layout| {
            let decoders = layout.decoders.clone().into_iter().flatten();
            [layout.lstm.clone()].into_iter().chain(decoders).chain([layout.shortcut.clone()])
        };
        for (from, to) in layers(&self.layout).zip(layers(&layout)) {
            let rows = [(&from.weights, &to.weights), (&from.bias, &to.bias)];
            for (from_range, to_range) in rows {
                let from_rows = self.weights[from_range.clone()].chunks_exact(from.outputs.max(1));
                for (row, widened) in from_rows.zip(weights[to_range.clone()].chunks_exact_mut(to.outputs.max(1))) {
                    let (before, after) = row.split_at(if from.outputs == to.outputs { row.len() } else { at });
                    widened[..before.len()].copy_from_slice(before);
                    let rest = widened.len() - after.len();
                    widened[rest..].copy_from_slice(after);
                }
            }
        }
        weights[layout.decoders[0][1].bias.start + at] = initial_mix();
        Self { architecture, layout, weights, ..self }
    }

    /// The network with the inputs for the steps that remain, or without them. New ones begin without influence. Other
    /// lists of features stay as they are.
    pub(crate) fn with_features(self, features: Schema) -> Self {
        let relative = [Schema::Relative, Schema::Told];
        let found = self.architecture.features;
        if found == features || !relative.contains(&found) || !relative.contains(&features) {
            return self;
        }
        let (before, state) = (self.architecture.inputs(), self.architecture.state());
        let architecture = Architecture { features, ..self.architecture };
        let layout = Layout::new(&architecture);
        let after = architecture.inputs();
        let mut weights = Vec::with_capacity(layout.total);
        // A matrix has a row for each input. Only these two read the features.
        let read = [self.layout.lstm.weights.clone(), self.layout.shortcut.weights.clone()];
        let mut from = 0;
        for range in read.into_iter().filter(|range| !range.is_empty()) {
            let width = range.len() / (before + state);
            let kept = range.start + before.min(after) * width;
            weights.extend_from_slice(&self.weights[from..kept]);
            weights.resize(weights.len() + after.saturating_sub(before) * width, S::ZERO);
            from = range.start + before * width;
        }
        weights.extend_from_slice(&self.weights[from..]);
        let (mut mean, mut deviation) = (self.mean, self.deviation);
        mean.resize(after, 0.0);
        deviation.resize(after, 1.0);
        // Its inputs are others.
        Self { architecture, layout, weights, mean, deviation, guard: None }
    }

    /// Unit of the step length in a run, from its start point and the scaled function's value there.
    pub(crate) fn step_unit(&self, start: &[f64], value: f64) -> f64 {
        self.architecture.step_unit.of(start, value) * self.architecture.step_scale.unwrap_or(1.0)
    }

    fn layer(&self, layer: &Affine) -> (&[S], &[S]) {
        (&self.weights[layer.weights.clone()], &self.weights[layer.bias.clone()])
    }

    /// Writes the transformed features.
    pub(crate) fn transform(&self, features: &[f64], input: &mut [S]) {
        for (index, (feature, input)) in features.iter().zip(input).enumerate() {
            *input = S::of(match self.architecture.transform {
                Transform::Standardised => {
                    let spread = self.deviation[index];
                    ((feature - self.mean[index]) / spread).clamp(-Transform::CLIP, Transform::CLIP)
                }
                Transform::Raw | Transform::SignedLog => *feature,
            });
        }
    }

    /// One step of all rows. Reads the inputs, states and noise of the tape and writes its other fields.
    pub(crate) fn forward(&self, tape: &mut Tape<S>, step: usize) {
        let Architecture { hidden, activation, sampling, .. } = self.architecture;
        let (rows, state) = (tape.rows, self.architecture.state());
        let gates = &mut tape.gates[step];
        let (weights, bias) = self.layer(&self.layout.lstm);
        matrix::affine(&tape.input[step], weights, bias, gates);
        for row in 0..rows {
            let at = row * state..(row + 1) * state;
            lstm::cell(
                &mut gates[row * 4 * state..(row + 1) * 4 * state],
                &tape.cell[step][at.clone()],
                &mut tape.next_cell[step][at.clone()],
                &mut tape.tanh_cell[step][at.clone()],
                &mut tape.state[step][at],
            );
        }
        let sampled = sampling.count();
        for (index, [first, second]) in self.layout.decoders.iter().enumerate() {
            let latent = &mut tape.latent[index][step];
            for (row, latent) in latent.chunks_exact_mut(hidden).enumerate() {
                let vectors = &tape.state[step][row * state..(row + 1) * state];
                let mean = &vectors[index * hidden..(index + 1) * hidden];
                if index < sampled {
                    let raw = &vectors[(3 + index) * hidden..(4 + index) * hidden];
                    let noise = (row * sampled + index) * hidden;
                    sampling::sample(mean, raw, &tape.noise[step][noise..noise + hidden], latent);
                } else {
                    latent.copy_from_slice(mean);
                }
            }
            let (weights, bias) = self.layer(first);
            matrix::affine(latent, weights, bias, &mut tape.before);
            activation.forward(&tape.before, &mut tape.active[index][step]);
            let (weights, bias) = self.layer(second);
            matrix::affine(&tape.active[index][step], weights, bias, &mut tape.output[index][step]);
        }
        if self.architecture.shortcut {
            let (weights, bias) = self.layer(&self.layout.shortcut);
            matrix::affine(&tape.input[step], weights, bias, &mut tape.shortcut);
            let width = self.architecture.shortcut_outputs();
            for (row, added) in tape.shortcut.chunks_exact(width).enumerate() {
                let (first, second) = self.shortcut_targets(&mut tape.output, step, row);
                first.iter_mut().chain(second).zip(added).for_each(|(sum, &entry)| *sum += entry);
            }
        }
    }

    /// The outputs to which the shortcut adds: those of the step, and the coefficients after the query.
    fn shortcut_targets<'a>(
        &self,
        outputs: &'a mut [Steps<S>; 3],
        step: usize,
        row: usize,
    ) -> (&'a mut [S], &'a mut [S]) {
        let [steps, queries, _] = self.architecture.outputs();
        let [first, second, _] = outputs;
        let query = &mut second[step][row * queries..(row + 1) * queries];
        (&mut first[step][row * steps..(row + 1) * steps], &mut query[self.architecture.hidden..])
    }

    /// One step back: from the gradients of the step's outputs and of the next state and cell to those of the state
    /// before.
    pub(crate) fn backward(&self, tape: &Tape<S>, adjoint: &mut Adjoint<S>, step: usize) {
        let (rows, state) = (tape.rows, self.architecture.state());
        self.backward_decoders(tape, adjoint, step);
        if self.architecture.shortcut {
            let width = self.architecture.shortcut_outputs();
            for row in 0..rows {
                let (first, second) = self.shortcut_targets(&mut adjoint.output, step, row);
                let target = &mut adjoint.shortcut[step][row * width..(row + 1) * width];
                target.iter_mut().zip(first.iter().chain(&*second)).for_each(|(target, &entry)| *target = entry);
            }
        }
        let gates = &mut adjoint.gates[step];
        for row in 0..rows {
            let at = row * state..(row + 1) * state;
            let four = row * 4 * state..(row + 1) * 4 * state;
            lstm::cell_backward(
                &tape.gates[step][four.clone()],
                &tape.cell[step][at.clone()],
                &tape.tanh_cell[step][at.clone()],
                &adjoint.state[at.clone()],
                &mut adjoint.cell[at],
                &mut gates[four],
            );
        }
        let (weights, _) = self.layer(&self.layout.lstm);
        let inputs = self.architecture.inputs();
        matrix::affine_backward_input(gates, weights, 4 * state, inputs, &mut adjoint.state);
        if self.architecture.shortcut {
            let (weights, _) = self.layer(&self.layout.shortcut);
            let width = self.architecture.shortcut_outputs();
            matrix::affine_backward_input(&adjoint.shortcut[step], weights, width, inputs, &mut adjoint.through);
            adjoint.state.iter_mut().zip(&adjoint.through).for_each(|(sum, &entry)| *sum += entry);
        }
    }

    /// Propagates the gradient from the outputs of the decoders to the state.
    fn backward_decoders(&self, tape: &Tape<S>, adjoint: &mut Adjoint<S>, step: usize) {
        let Architecture { hidden, activation, sampling, .. } = self.architecture;
        let (rows, state, sampled) = (tape.rows, self.architecture.state(), sampling.count());
        for (index, [first, second]) in self.layout.decoders.iter().enumerate() {
            let before = &mut adjoint.before[index][step];
            let (weights, _) = self.layer(second);
            matrix::affine_backward_input(&adjoint.output[index][step], weights, second.outputs, 0, before);
            activation.backward(&tape.active[index][step], before);
            let (weights, _) = self.layer(first);
            matrix::affine_backward_input(before, weights, first.outputs, 0, &mut adjoint.latent);
            for row in 0..rows {
                let gradient = &adjoint.latent[row * hidden..(row + 1) * hidden];
                let at = row * state + index * hidden;
                let mean = &mut adjoint.state[at..at + hidden];
                mean.iter_mut().zip(gradient).for_each(|(sum, &entry)| *sum += entry);
                if index < sampled {
                    let at = row * state + (3 + index) * hidden;
                    let noise = (row * sampled + index) * hidden;
                    let mut raw = vec![S::ZERO; hidden];
                    sampling::sample_backward(
                        &tape.state[step][at..at + hidden],
                        &tape.noise[step][noise..noise + hidden],
                        gradient,
                        &mut raw,
                    );
                    let target = &mut adjoint.state[at..at + hidden];
                    target.iter_mut().zip(raw).for_each(|(sum, entry)| *sum += entry);
                }
            }
        }
    }

    /// Adds the gradient of all weights over the first `steps` steps.
    pub(crate) fn backward_weights(&self, tape: &Tape<S>, adjoint: &Adjoint<S>, steps: usize, gradient: &mut [S]) {
        // Inputs and gradients of all steps are consecutive, so one product for each layer is enough.
        let mut add = |layer: &Affine, input: &Steps<S>, output: &Steps<S>| {
            let (before, bias) = gradient.split_at_mut(layer.bias.start);
            let weights = &mut before[layer.weights.clone()];
            let bias = &mut bias[..layer.outputs];
            matrix::affine_backward_weights(input.first(steps), output.first(steps), weights, bias);
        };
        add(&self.layout.lstm, &tape.input, &adjoint.gates);
        for (index, [first, second]) in self.layout.decoders.iter().enumerate() {
            add(first, &tape.latent[index], &adjoint.before[index]);
            add(second, &tape.active[index], &adjoint.output[index]);
        }
        if self.architecture.shortcut {
            add(&self.layout.shortcut, &tape.input, &adjoint.shortcut);
        }
    }
}

/// Numbers of several steps, step by step.
#[derive(Clone, Debug)]
pub(crate) struct Steps<S> {
    numbers: Vec<S>,
    /// Count of numbers in one step.
    length: usize,
}

impl<S: Real> Steps<S> {
    fn new(steps: usize, length: usize) -> Self {
        Self { numbers: vec![S::ZERO; steps * length], length }
    }

    /// The numbers of the first `steps` steps.
    fn first(&self, steps: usize) -> &[S] {
        &self.numbers[..steps * self.length]
    }
}

impl<S> std::ops::Index<usize> for Steps<S> {
    type Output = [S];

    fn index(&self, step: usize) -> &[S] {
        &self.numbers[step * self.length..(step + 1) * self.length]
    }
}

impl<S> std::ops::IndexMut<usize> for Steps<S> {
    fn index_mut(&mut self, step: usize) -> &mut [S] {
        &mut self.numbers[step * self.length..(step + 1) * self.length]
    }
}

/// All results of forward.
#[derive(Clone, Debug)]
pub(crate) struct Tape<S> {
    pub(crate) rows: usize,
    /// Transformed features, then the state before the step.
    pub(crate) input: Steps<S>,
    pub(crate) cell: Steps<S>,
    pub(crate) noise: Steps<S>,
    gates: Steps<S>,
    pub(crate) next_cell: Steps<S>,
    tanh_cell: Steps<S>,
    pub(crate) state: Steps<S>,
    latent: [Steps<S>; 3],
    before: Vec<S>,
    active: [Steps<S>; 3],
    shortcut: Vec<S>,
    /// Raw step, query, key.
    pub(crate) output: [Steps<S>; 3],
}

impl<S: Real> Tape<S> {
    pub(crate) fn new(architecture: &Architecture, rows: usize, steps: usize) -> Self {
        let state = architecture.state();
        let numbers = |length: usize| Steps::new(steps, rows * length);
        let three = |length: usize| [numbers(length), numbers(length), numbers(length)];
        Self {
            rows,
            input: numbers(architecture.inputs() + state),
            cell: numbers(state),
            noise: numbers(architecture.sampling.count() * architecture.hidden),
            gates: numbers(4 * state),
            next_cell: numbers(state),
            tanh_cell: numbers(state),
            state: numbers(state),
            latent: three(architecture.hidden),
            before: vec![S::ZERO; rows * architecture.decoder],
            active: three(architecture.decoder),
            shortcut: vec![S::ZERO; rows * architecture.shortcut_outputs()],
            output: architecture.outputs().map(numbers),
        }
    }

    /// Uses only the first rows from now on. The tape must have been made for at least as many.
    pub(crate) fn set_rows(&mut self, rows: usize) {
        let Self {
            rows: old,
            input,
            cell,
            noise,
            gates,
            next_cell,
            tanh_cell,
            state,
            latent,
            before,
            active,
            shortcut,
            output,
        } = self;
        let single = [input, cell, noise, gates, next_cell, tanh_cell, state];
        for steps in single.into_iter().chain(latent).chain(active).chain(output) {
            let steps_held = steps.numbers.len().checked_div(steps.length).unwrap_or(1);
            steps.length = steps.length / *old * rows;
            steps.numbers.truncate(steps_held * steps.length);
        }
        before.truncate(before.len() / *old * rows);
        shortcut.truncate(shortcut.len() / *old * rows);
        *old = rows;
    }
}

/// Gradients of the results of forward.
#[derive(Clone, Debug)]
pub(crate) struct Adjoint<S> {
    /// Gradients of raw step, query and key. Written before a step back.
    pub(crate) output: [Steps<S>; 3],
    before: [Steps<S>; 3],
    gates: Steps<S>,
    shortcut: Steps<S>,
    through: Vec<S>,
    latent: Vec<S>,
    /// Gradients of the state and the cell between two steps.
    state: Vec<S>,
    cell: Vec<S>,
}

impl<S: Real> Adjoint<S> {
    pub(crate) fn new(architecture: &Architecture, rows: usize, steps: usize) -> Self {
        let state = architecture.state();
        let numbers = |length: usize| Steps::new(steps, rows * length);
        Self {
            output: architecture.outputs().map(numbers),
            before: [(); 3].map(|()| numbers(architecture.decoder)),
            gates: numbers(4 * state),
            shortcut: numbers(architecture.shortcut_outputs()),
            through: vec![S::ZERO; rows * state],
            latent: vec![S::ZERO; rows * architecture.hidden],
            state: vec![S::ZERO; rows * state],
            cell: vec![S::ZERO; rows * state],
        }
    }

    /// Sets the gradient after the last step to zero.
    pub(crate) fn clear_state(&mut self) {
        self.state.fill(S::ZERO);
        self.cell.fill(S::ZERO);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::ops::check;

    #[test]
    fn inputs_for_the_steps_begin_without_influence() {
        for shortcut in [true, false] {
            let architecture = Architecture { hidden: 3, decoder: 4, shortcut, ..Architecture::default() };
            let mut network = Network::<f64>::initial(&architecture, 2);
            network.weights = check::numbers(network.weights.len(), 4);
            let widened = network.clone().with_features(Schema::Told);
            let (inputs, more) = (architecture.inputs(), widened.architecture.inputs());
            assert!(more > inputs && widened.weights.len() == widened.layout.total);
            let outputs = |network: &Network<f64>, extra: usize| {
                let mut tape = Tape::new(&network.architecture, 1, 1);
                let mut input = check::numbers(inputs, 5);
                input.extend(vec![7.0; extra]);
                input.extend(check::numbers(architecture.state(), 6));
                tape.input[0].copy_from_slice(&input);
                network.forward(&mut tape, 0);
                tape.output.iter().flat_map(|output| output[0].to_vec()).collect::<Vec<f64>>()
            };
            // Sums of products are in another order.
            for (found, expected) in outputs(&widened, more - inputs).into_iter().zip(outputs(&network, 0)) {
                assert!((found - expected).abs() <= 1e-12 * (1.0 + expected.abs()), "{found} {expected}");
            }
        }
    }
}
