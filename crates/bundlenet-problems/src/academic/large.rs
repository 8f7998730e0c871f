//! The functions of any dimension.

use bundlenet::Minorants;

use super::small::{cb3_gradients, cb3_piece, cb3_values, largest, lq_piece};

pub(super) fn maxq(x: &[f64], subgradient: &mut [f64]) -> f64 {
    let (index, value) = largest(x.iter().map(|entry| entry * entry));
    subgradient.fill(0.0);
    subgradient[index] = 2.0 * x[index];
    value
}

/// Inner product. Four sums, so that the processor need not wait for one.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (quads, rest) = a.as_chunks::<4>();
    let (others, other_rest) = b.as_chunks::<4>();
    for (a, b) in quads.iter().zip(others) {
        (0..4).for_each(|lane| sums[lane] += a[lane] * b[lane]);
    }
    sums.iter().sum::<f64>() + rest.iter().zip(other_rest).map(|(a, b)| a * b).sum::<f64>()
}

/// `1, 1/2, 1/3, ...`: all entries of a Hilbert matrix. Row `i` begins at entry `i`.
fn reciprocals(dim: usize) -> Vec<f64> {
    (1..2 * dim).map(|number| 1.0 / number as f64).collect()
}

pub(super) fn mxhilb(x: &[f64], subgradient: &mut [f64]) -> f64 {
    let hilbert = reciprocals(x.len());
    let products: Vec<f64> = hilbert.windows(x.len()).map(|row| dot(row, x)).collect();
    let (row, value) = largest(products.iter().map(|product| product.abs()));
    let sign = if products[row] < 0.0 { -1.0 } else { 1.0 };
    subgradient.iter_mut().zip(&hilbert[row..]).for_each(|(entry, hilbert)| *entry = sign * hilbert);
    value
}

/// Calls `push` with the absolute value of every row of a Hilbert matrix times `x`, and with a subgradient of it.
pub(super) fn l1hilb_rows(x: &[f64], mut push: impl FnMut(f64, Vec<(u32, f64)>)) {
    for row in reciprocals(x.len()).windows(x.len()) {
        let product = dot(row, x);
        let sign = if product < 0.0 { -1.0 } else { 1.0 };
        push(product.abs(), (0..).zip(row).map(|(j, entry)| (j, sign * entry)).collect());
    }
}

pub(super) fn l1hilb(x: &[f64], subgradient: &mut [f64]) -> f64 {
    subgradient.fill(0.0);
    let mut value = 0.0;
    for row in reciprocals(x.len()).windows(x.len()) {
        let product = dot(row, x);
        let sign = if product < 0.0 { -1.0 } else { 1.0 };
        value += product.abs();
        subgradient.iter_mut().zip(row).for_each(|(entry, hilbert)| *entry += sign * hilbert);
    }
    value
}

/// Value and subgradient of a function of two variables.
type Piece = fn(f64, f64) -> (f64, [f64; 2]);

fn chained(x: &[f64], piece: Piece, subgradient: &mut [f64]) -> f64 {
    subgradient.fill(0.0);
    let mut sum = 0.0;
    for (link, pair) in x.windows(2).enumerate() {
        let (value, [left, right]) = piece(pair[0], pair[1]);
        sum += value;
        subgradient[link] += left;
        subgradient[link + 1] += right;
    }
    sum
}

/// One minorant for each pair of neighbours.
pub(super) fn push_links(x: &[f64], piece: Piece, minorants: &mut Minorants) {
    for (link, pair) in (0..).zip(x.windows(2)) {
        let (value, [left, right]) = piece(pair[0], pair[1]);
        minorants.push(value, [(link, left), (link + 1, right)]);
    }
}

pub(super) fn chained_lq(x: &[f64], subgradient: &mut [f64]) -> f64 {
    chained(x, lq_piece, subgradient)
}

pub(super) fn chained_cb3_first(x: &[f64], subgradient: &mut [f64]) -> f64 {
    chained(x, cb3_piece, subgradient)
}

pub(super) fn chained_cb3_second(x: &[f64], subgradient: &mut [f64]) -> f64 {
    let mut sums = [0.0; 3];
    for pair in x.windows(2) {
        let values = cb3_values(pair[0], pair[1]);
        sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
    }
    let (index, value) = largest(sums);
    subgradient.fill(0.0);
    for (link, pair) in x.windows(2).enumerate() {
        let [left, right] = cb3_gradients(pair[0], pair[1])[index];
        subgradient[link] += left;
        subgradient[link + 1] += right;
    }
    value
}
