//! Products of matrices, stored by rows.

use crate::network::real::Real;

/// `output = bias + input * weights`, for each row of the input.
pub(crate) fn affine<S: Real>(input: &[S], weights: &[S], bias: &[S], output: &mut [S]) {
    let columns = bias.len();
    let rows = output.len() / columns;
    let inner = weights.len() / columns;
    assert!(input.len() == rows * inner && weights.len() == inner * columns && output.len() == rows * columns);
    output.chunks_exact_mut(columns).for_each(|row| row.copy_from_slice(bias));
    if rows <= 2 {
        // A general matrix product would first copy the weights.
        for (row, sum) in input.chunks_exact(inner).zip(output.chunks_exact_mut(columns)) {
            S::row_times(row, weights, sum);
        }
        return;
    }
    // SAFETY: the lengths have just been checked; the output is borrowed exclusively.
    unsafe {
        S::multiply(
            (rows, inner, columns),
            (input, [inner, 1]),
            (weights, [columns, 1]),
            S::ONE,
            (output, [columns, 1]),
        );
    }
}

/// Writes the gradient of the first `columns` inputs, `gradient_input = gradient_output * weights'`. Uses only the rows
/// of the weights from `from` on.
pub(crate) fn affine_backward_input<S: Real>(
    gradient_output: &[S],
    weights: &[S],
    columns: usize,
    from: usize,
    gradient_input: &mut [S],
) {
    let inner = weights.len() / columns - from;
    let rows = gradient_output.len() / columns;
    assert!(gradient_output.len() == rows * columns && gradient_input.len() == rows * inner);
    let weights = &weights[from * columns..];
    // SAFETY: the lengths have just been checked; the result is borrowed exclusively.
    unsafe {
        let (output, result) = ((gradient_output, [columns, 1]), (gradient_input, [inner, 1]));
        S::multiply((rows, columns, inner), output, (weights, [1, columns]), S::ZERO, result);
    }
}

/// Adds the gradients of weights and bias: `input' * gradient_output`, and the sum of the rows of `gradient_output`.
pub(crate) fn affine_backward_weights<S: Real>(
    input: &[S],
    gradient_output: &[S],
    gradient_weights: &mut [S],
    gradient_bias: &mut [S],
) {
    let columns = gradient_bias.len();
    let rows = gradient_output.len() / columns;
    let inner = gradient_weights.len() / columns;
    assert!(input.len() == rows * inner && gradient_output.len() == rows * columns);
    assert!(gradient_weights.len() == inner * columns);
    // SAFETY: the lengths have just been checked; the result is borrowed exclusively.
    unsafe {
        let (output, result) = ((gradient_output, [columns, 1]), (gradient_weights, [columns, 1]));
        S::multiply((inner, rows, columns), (input, [1, inner]), output, S::ONE, result);
    }
    for row in gradient_output.chunks_exact(columns) {
        gradient_bias.iter_mut().zip(row).for_each(|(sum, &entry)| *sum += entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::ops::check;

    #[test]
    fn affine_gradients_are_exact() {
        for (rows, inner, columns) in [(1, 3, 2), (2, 5, 3), (4, 9, 7)] {
            let input = check::numbers(rows * inner, 1);
            let weights = check::numbers(inner * columns, 2);
            let bias = check::numbers(columns, 3);
            let pull = check::numbers(rows * columns, 4);
            let value = |input: &[f64], weights: &[f64], bias: &[f64]| {
                let mut output = vec![0.0; rows * columns];
                affine(input, weights, bias, &mut output);
                check::dot(&output, &pull)
            };
            let mut gradient_input = vec![0.0; input.len()];
            affine_backward_input(&pull, &weights, columns, 0, &mut gradient_input);
            check::gradient(&input, &gradient_input, |input| value(input, &weights, &bias));
            let (mut gradient_weights, mut gradient_bias) = (vec![0.0; weights.len()], vec![0.0; columns]);
            affine_backward_weights(&input, &pull, &mut gradient_weights, &mut gradient_bias);
            check::gradient(&weights, &gradient_weights, |weights| value(&input, weights, &bias));
            check::gradient(&bias, &gradient_bias, |bias| value(&input, &weights, bias));
        }
    }
}
