//! The functions of fixed dimension.

/// Index and value of the largest of `values`; the first one in a tie.
pub(super) fn largest(values: impl IntoIterator<Item = f64>) -> (usize, f64) {
    let mut best = (0, f64::NEG_INFINITY);
    for (index, value) in values.into_iter().enumerate() {
        if value > best.1 {
            best = (index, value);
        }
    }
    best
}

/// Row `i` of the `k`-th matrix of MAXQUAD times `x`; `i` and `k` count from 1.
fn maxquad_row(k: f64, i: usize, x: &[f64]) -> f64 {
    let row = i as f64;
    let mut off_diagonal = 0.0;
    let mut product = 0.0;
    for (j, &entry) in (1..).zip(x) {
        if i != j {
            let column = j as f64;
            let coefficient = (row.min(column) / row.max(column)).exp() * (row * column).cos() * k.sin();
            off_diagonal += coefficient.abs();
            product += coefficient * entry;
        }
    }
    product + (row / 10.0 * k.sin().abs() + off_diagonal) * x[i - 1]
}

fn maxquad_linear(k: f64, i: usize) -> f64 {
    let row = i as f64;
    (row / k).exp() * (row * k).sin()
}

pub(super) fn maxquad(x: &[f64], subgradient: &mut [f64]) -> f64 {
    let piece =
        |k: f64| -> f64 { (1..).zip(x).map(|(i, &entry)| entry * (maxquad_row(k, i, x) - maxquad_linear(k, i))).sum() };
    let (index, value) = largest((1..=5).map(|k| piece(f64::from(k))));
    let k = (index + 1) as f64;
    for (i, entry) in (1..).zip(subgradient) {
        *entry = 2.0 * maxquad_row(k, i, x) - maxquad_linear(k, i);
    }
    value
}

pub(super) fn shor(x: &[f64], subgradient: &mut [f64]) -> f64 {
    const CENTRES: [[f64; 5]; 10] = [
        [0.0, 0.0, 0.0, 0.0, 0.0],
        [2.0, 1.0, 1.0, 1.0, 3.0],
        [1.0, 2.0, 1.0, 1.0, 2.0],
        [1.0, 4.0, 1.0, 2.0, 2.0],
        [3.0, 2.0, 1.0, 0.0, 1.0],
        [0.0, 2.0, 1.0, 0.0, 1.0],
        [1.0, 1.0, 1.0, 1.0, 1.0],
        [1.0, 0.0, 1.0, 2.0, 1.0],
        [0.0, 0.0, 2.0, 1.0, 0.0],
        [1.0, 1.0, 2.0, 0.0, 0.0],
    ];
    const WEIGHTS: [f64; 10] = [1.0, 5.0, 10.0, 2.0, 4.0, 3.0, 1.7, 2.5, 6.0, 3.5];
    let distance = |centre: &[f64; 5]| -> f64 { x.iter().zip(centre).map(|(a, b)| (a - b) * (a - b)).sum() };
    let (index, value) = largest(CENTRES.iter().zip(WEIGHTS).map(|(centre, weight)| weight * distance(centre)));
    for ((entry, a), b) in subgradient.iter_mut().zip(x).zip(&CENTRES[index]) {
        *entry = 2.0 * WEIGHTS[index] * (a - b);
    }
    value
}

/// The largest of several smooth functions of two variables, each with its gradient.
fn largest_piece<const PIECES: usize>(values: [f64; PIECES], gradients: [[f64; 2]; PIECES]) -> (f64, [f64; 2]) {
    let (index, value) = largest(values);
    (value, gradients[index])
}

/// Writes the gradient of a piece.
fn written((value, gradient): (f64, [f64; 2]), subgradient: &mut [f64]) -> f64 {
    subgradient.copy_from_slice(&gradient);
    value
}

pub(super) fn cb2(x: &[f64], subgradient: &mut [f64]) -> f64 {
    let (a, b) = (x[0], x[1]);
    let exponential = 2.0 * (b - a).exp();
    let values = [a * a + b.powi(4), (2.0 - a).powi(2) + (2.0 - b).powi(2), exponential];
    let gradients = [[2.0 * a, 4.0 * b.powi(3)], [-2.0 * (2.0 - a), -2.0 * (2.0 - b)], [-exponential, exponential]];
    written(largest_piece(values, gradients), subgradient)
}

/// The three functions of CB3.
pub(super) fn cb3_values(a: f64, b: f64) -> [f64; 3] {
    [a.powi(4) + b * b, (2.0 - a).powi(2) + (2.0 - b).powi(2), 2.0 * (b - a).exp()]
}

/// Their gradients.
pub(super) fn cb3_gradients(a: f64, b: f64) -> [[f64; 2]; 3] {
    let exponential = 2.0 * (b - a).exp();
    [[4.0 * a.powi(3), 2.0 * b], [-2.0 * (2.0 - a), -2.0 * (2.0 - b)], [-exponential, exponential]]
}

/// Value and subgradient of CB3.
pub(super) fn cb3_piece(a: f64, b: f64) -> (f64, [f64; 2]) {
    largest_piece(cb3_values(a, b), cb3_gradients(a, b))
}

pub(super) fn cb3(x: &[f64], subgradient: &mut [f64]) -> f64 {
    written(cb3_piece(x[0], x[1]), subgradient)
}

pub(super) fn dem(x: &[f64], subgradient: &mut [f64]) -> f64 {
    let (a, b) = (x[0], x[1]);
    let values = [5.0 * a + b, -5.0 * a + b, a * a + b * b + 4.0 * b];
    let gradients = [[5.0, 1.0], [-5.0, 1.0], [2.0 * a, 2.0 * b + 4.0]];
    written(largest_piece(values, gradients), subgradient)
}

pub(super) fn ql(x: &[f64], subgradient: &mut [f64]) -> f64 {
    let (a, b) = (x[0], x[1]);
    let square = a * a + b * b;
    let values = [square, square + 10.0 * (4.0 - 4.0 * a - b), square + 10.0 * (6.0 - a - 2.0 * b)];
    let gradients = [[2.0 * a, 2.0 * b], [2.0 * a - 40.0, 2.0 * b - 10.0], [2.0 * a - 10.0, 2.0 * b - 20.0]];
    written(largest_piece(values, gradients), subgradient)
}

/// Value and subgradient of LQ.
pub(super) fn lq_piece(a: f64, b: f64) -> (f64, [f64; 2]) {
    let values = [-a - b, -a - b + a * a + b * b - 1.0];
    largest_piece(values, [[-1.0, -1.0], [2.0 * a - 1.0, 2.0 * b - 1.0]])
}

pub(super) fn lq(x: &[f64], subgradient: &mut [f64]) -> f64 {
    written(lq_piece(x[0], x[1]), subgradient)
}

pub(super) fn mifflin1(x: &[f64], subgradient: &mut [f64]) -> f64 {
    let (a, b) = (x[0], x[1]);
    let values = [-a, -a + 20.0 * (a * a + b * b - 1.0)];
    written(largest_piece(values, [[-1.0, 0.0], [40.0 * a - 1.0, 40.0 * b]]), subgradient)
}

pub(super) fn rosen(x: &[f64], subgradient: &mut [f64]) -> f64 {
    /// Diagonals of the quadratic parts, linear parts and constants: the objective, then three penalties.
    const SQUARES: [[f64; 4]; 4] =
        [[1.0, 1.0, 2.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 2.0, 1.0, 2.0], [2.0, 1.0, 1.0, 0.0]];
    const SLOPES: [[f64; 4]; 4] =
        [[-5.0, -5.0, -21.0, 7.0], [1.0, -1.0, 1.0, -1.0], [-1.0, 0.0, 0.0, -1.0], [2.0, -1.0, 0.0, -1.0]];
    const CONSTANTS: [f64; 4] = [0.0, -8.0, -10.0, -5.0];
    let part =
        |k: usize| -> f64 { CONSTANTS[k] + (0..4).map(|i| (SQUARES[k][i] * x[i] + SLOPES[k][i]) * x[i]).sum::<f64>() };
    let (penalty, value) = largest((0..4).map(|k| if k == 0 { 0.0 } else { 10.0 * part(k) }));
    let weight = if penalty == 0 { 0.0 } else { 10.0 };
    for (i, entry) in subgradient.iter_mut().enumerate() {
        let slope = |k: usize| 2.0 * SQUARES[k][i] * x[i] + SLOPES[k][i];
        *entry = slope(0) + weight * slope(penalty);
    }
    part(0) + value
}

pub(super) fn maxl(x: &[f64], subgradient: &mut [f64]) -> f64 {
    let (index, value) = largest(x.iter().map(|entry| entry.abs()));
    subgradient.fill(0.0);
    subgradient[index] = if x[index] < 0.0 { -1.0 } else { 1.0 };
    value
}

pub(super) fn goffin(x: &[f64], subgradient: &mut [f64]) -> f64 {
    let (index, value) = largest(x.iter().copied());
    subgradient.fill(-1.0);
    subgradient[index] += 50.0;
    50.0 * value - x.iter().sum::<f64>()
}
