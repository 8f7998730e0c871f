//! The cell of a long short-term memory.
//!
//! ```text
//! i, f, o = sigmoid(..)   g = tanh(..)   of the four parts of  bias + (x, h) W
//! c' = f c + i g          h' = o tanh(c')
//! ```
//!
//! Gates are stored in the order i, f, g, o, as in PyTorch.

use crate::network::real::{Elementary, Real};

/// Turns the pre-activations of a row into gates, in place. Writes the next cell, its tanh and the next state.
pub(crate) fn cell<S: Real>(gates: &mut [S], cell: &[S], next_cell: &mut [S], tanh_cell: &mut [S], state: &mut [S]) {
    let size = cell.len();
    activate(gates, size);
    let (input, rest) = gates.split_at(size);
    let (forget, rest) = rest.split_at(size);
    let (candidate, output) = rest.split_at(size);
    for k in 0..size {
        next_cell[k] = forget[k] * cell[k] + input[k] * candidate[k];
    }
    S::map(next_cell, tanh_cell, Elementary::Tanh);
    for k in 0..size {
        state[k] = output[k] * tanh_cell[k];
    }
}

fn activate<S: Real>(gates: &mut [S], size: usize) {
    // A buffer on the stack: the map reads one slice and writes another.
    let mut buffer = [S::ZERO; 64];
    let functions = [Elementary::Sigmoid, Elementary::Sigmoid, Elementary::Tanh, Elementary::Sigmoid];
    for (part, function) in gates.chunks_exact_mut(size).zip(functions) {
        for chunk in part.chunks_mut(buffer.len()) {
            let copy = &mut buffer[..chunk.len()];
            copy.copy_from_slice(chunk);
            S::map(copy, chunk, function);
        }
    }
}

/// Turns the gradients of the next state and the next cell into that of the pre-activations. `gradient_cell` becomes
/// the gradient of the cell before.
pub(crate) fn cell_backward<S: Real>(
    gates: &[S],
    cell: &[S],
    tanh_cell: &[S],
    gradient_state: &[S],
    gradient_cell: &mut [S],
    gradient_gates: &mut [S],
) {
    let size = cell.len();
    for k in 0..size {
        let (i, f, g, o) = (gates[k], gates[size + k], gates[2 * size + k], gates[3 * size + k]);
        let through = gradient_cell[k] + gradient_state[k] * o * (S::ONE - tanh_cell[k] * tanh_cell[k]);
        gradient_gates[k] = through * g * i * (S::ONE - i);
        gradient_gates[size + k] = through * cell[k] * f * (S::ONE - f);
        gradient_gates[2 * size + k] = through * i * (S::ONE - g * g);
        gradient_gates[3 * size + k] = gradient_state[k] * tanh_cell[k] * o * (S::ONE - o);
        gradient_cell[k] = through * f;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::ops::check;

    #[test]
    fn cell_gradients_are_exact() {
        let size = 5;
        let before = check::numbers(4 * size, 1);
        let old = check::numbers(size, 2);
        let (pull_state, pull_cell) = (check::numbers(size, 3), check::numbers(size, 4));
        let run = |pre: &[f64], old: &[f64]| {
            let mut gates = pre.to_vec();
            let (mut next, mut tanh, mut state) = (vec![0.0; size], vec![0.0; size], vec![0.0; size]);
            cell(&mut gates, old, &mut next, &mut tanh, &mut state);
            (gates, next, tanh, state)
        };
        let value = |pre: &[f64], old: &[f64]| {
            let (_, next, _, state) = run(pre, old);
            check::dot(&state, &pull_state) + check::dot(&next, &pull_cell)
        };
        let (gates, _, tanh, _) = run(&before, &old);
        let (mut gradient_cell, mut gradient_gates) = (pull_cell.clone(), vec![0.0; 4 * size]);
        cell_backward(&gates, &old, &tanh, &pull_state, &mut gradient_cell, &mut gradient_gates);
        check::gradient(&before, &gradient_gates, |pre| value(pre, &old));
        check::gradient(&old, &gradient_cell, |old| value(&before, old));
    }
}
