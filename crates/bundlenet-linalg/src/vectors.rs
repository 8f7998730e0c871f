//! Vectors in blocks. Products and sums are the same on every instruction set.

use crate::simd::{Block, LANES, Lanes, blocks_for, flat, flat_mut, multiversion};

/// A vector of `dim` numbers, padded with zeros to whole blocks.
#[derive(Clone, Debug, Default)]
pub struct Padded(pub Vec<Block>);

impl Padded {
    /// Zeros.
    pub fn zeros(dim: usize) -> Self {
        Self(vec![Block::splat(0.0); blocks_for(dim)])
    }

    /// A padded copy of numbers.
    pub fn of(numbers: &[f64]) -> Self {
        let mut vector = Self::zeros(numbers.len());
        vector.numbers_mut(numbers.len()).copy_from_slice(numbers);
        vector
    }

    /// The numbers without the padding.
    pub fn numbers(&self, dim: usize) -> &[f64] {
        &crate::simd::flat(&self.0)[..dim]
    }

    /// The numbers without the padding, mutable.
    pub fn numbers_mut(&mut self, dim: usize) -> &mut [f64] {
        &mut flat_mut(&mut self.0)[..dim]
    }
}

#[inline(always)]
fn dot_kernel<L: Lanes>(a: &[Block], b: &[Block]) -> f64 {
    // Two running sums hide the latency of an addition.
    let (mut even, mut odd) = (L::splat(0.0), L::splat(0.0));
    let (a_pairs, a_rest) = a.as_chunks::<2>();
    let (b_pairs, b_rest) = b.as_chunks::<2>();
    for (x, y) in a_pairs.iter().zip(b_pairs) {
        even = even.add(L::load(&x[0]).mul(L::load(&y[0])));
        odd = odd.add(L::load(&x[1]).mul(L::load(&y[1])));
    }
    for (x, y) in a_rest.iter().zip(b_rest) {
        even = even.add(L::load(x).mul(L::load(y)));
    }
    even.add(odd).sum()
}

multiversion! {
    /// The inner product.
    pub fn dot(a: &[Block], b: &[Block]) -> f64 = dot_kernel;
}

/// The inner products of four rows with a vector, whose loads they share.
#[inline(always)]
fn four_dots<L: Lanes>([a, b, c, d]: [&[Block]; 4], vector: &[Block]) -> [f64; 4] {
    let mut sums = [L::splat(0.0); 4];
    for (at, number) in vector.iter().enumerate() {
        let number = L::load(number);
        sums[0] = sums[0].add(L::load(&a[at]).mul(number));
        sums[1] = sums[1].add(L::load(&b[at]).mul(number));
        sums[2] = sums[2].add(L::load(&c[at]).mul(number));
        sums[3] = sums[3].add(L::load(&d[at]).mul(number));
    }
    // Not `map`: the compiler would not inline it.
    [sums[0].sum(), sums[1].sum(), sums[2].sum(), sums[3].sum()]
}

#[inline(always)]
fn dots_kernel<L: Lanes>(rows: &[Block], vector: &[Block], products: &mut [f64]) {
    let blocks = vector.len();
    let mut quads = rows.chunks_exact(4 * blocks);
    let (four, rest) = products.as_chunks_mut::<4>();
    for (quad, products) in quads.by_ref().zip(four) {
        let (first, second) = quad.split_at(2 * blocks);
        let ((a, b), (c, d)) = (first.split_at(blocks), second.split_at(blocks));
        *products = four_dots::<L>([a, b, c, d], vector);
    }
    for (row, product) in quads.remainder().chunks_exact(blocks).zip(rest) {
        *product = dot_kernel::<L>(row, vector);
    }
}

#[inline(always)]
fn dots_of_rows_kernel<L: Lanes>(rows: &[Block], places: &[usize], vector: &[Block], products: &mut [f64]) {
    let blocks = vector.len();
    let row = |place: usize| &rows[place * blocks..(place + 1) * blocks];
    let ((fours, last), (four, rest)) = (places.as_chunks::<4>(), products.as_chunks_mut::<4>());
    for (&[a, b, c, d], products) in fours.iter().zip(four) {
        *products = four_dots::<L>([row(a), row(b), row(c), row(d)], vector);
    }
    last.iter().zip(rest).for_each(|(&place, product)| *product = dot_kernel::<L>(row(place), vector));
}

multiversion! {
    /// The inner product of each row at some places with a vector.
    pub fn dots_of_rows(rows: &[Block], places: &[usize], vector: &[Block], products: &mut [f64]) = dots_of_rows_kernel;
}

multiversion! {
    /// The inner product of each row with a vector.
    pub fn dots(rows: &[Block], vector: &[Block], products: &mut [f64]) = dots_kernel;
}

#[inline(always)]
fn dots_of_two_kernel<L: Lanes>(rows: &[Block], [one, two]: [&[Block]; 2], [ones, twos]: [&mut [f64]; 2]) {
    let blocks = one.len();
    // Two rows at a time share the loads of both vectors. Each sum runs in the same order as in `dots`.
    let mut pairs = rows.chunks_exact(2 * blocks);
    let ((pairs_of_ones, last_one), (pairs_of_twos, last_two)) = (ones.as_chunks_mut::<2>(), twos.as_chunks_mut::<2>());
    for ((pair, ones), twos) in pairs.by_ref().zip(pairs_of_ones).zip(pairs_of_twos) {
        let (a, b) = pair.split_at(blocks);
        let mut sums = [L::splat(0.0); 4];
        for (at, (x, y)) in one.iter().zip(two).enumerate() {
            let (x, y) = (L::load(x), L::load(y));
            let (a, b) = (L::load(&a[at]), L::load(&b[at]));
            sums[0] = sums[0].add(a.mul(x));
            sums[1] = sums[1].add(b.mul(x));
            sums[2] = sums[2].add(a.mul(y));
            sums[3] = sums[3].add(b.mul(y));
        }
        *ones = [sums[0].sum(), sums[1].sum()];
        *twos = [sums[2].sum(), sums[3].sum()];
    }
    let row = pairs.remainder();
    last_one.iter_mut().for_each(|product| *product = dot_kernel::<L>(row, one));
    last_two.iter_mut().for_each(|product| *product = dot_kernel::<L>(row, two));
}

multiversion! {
    /// The inner products of each row with two vectors, in one pass over the rows.
    pub fn dots_of_two(rows: &[Block], vectors: [&[Block]; 2], products: [&mut [f64]; 2]) = dots_of_two_kernel;
}

#[inline(always)]
fn multiply_kernel<L: Lanes>(vector: &mut [Block], factors: &[Block]) {
    for (entry, factor) in vector.iter_mut().zip(factors) {
        L::load(entry).mul(L::load(factor)).store(entry);
    }
}

multiversion! {
    /// Multiplies a vector by factors, entry by entry.
    pub fn multiply(vector: &mut [Block], factors: &[Block]) = multiply_kernel;
}

#[inline(always)]
fn weighted_square_kernel<L: Lanes>(vector: &[Block], weights: &[Block]) -> f64 {
    let mut sum = L::splat(0.0);
    for (entry, weight) in vector.iter().zip(weights) {
        let entry = L::load(entry);
        sum = sum.add(entry.mul(entry).mul(L::load(weight)));
    }
    sum.sum()
}

multiversion! {
    /// The sum of `weight * entry^2`.
    pub fn weighted_square(vector: &[Block], weights: &[Block]) -> f64 = weighted_square_kernel;
}

#[inline(always)]
fn add_squares_kernel<L: Lanes>(squares: &mut [Block], vector: &[Block], weights: &[Block]) {
    for ((square, entry), weight) in squares.iter_mut().zip(vector).zip(weights) {
        let entry = L::load(entry);
        L::load(square).add(entry.mul(entry).mul(L::load(weight))).store(square);
    }
}

multiversion! {
    /// Adds `weight * entry^2` to each number.
    pub fn add_squares(squares: &mut [Block], vector: &[Block], weights: &[Block]) = add_squares_kernel;
}

#[inline(always)]
fn write_roots_kernel<L: Lanes>(squares: &[Block], roots: &mut [Block]) -> (f64, f64) {
    // A plain loop: the compiler vectorises the roots.
    flat_mut(roots).iter_mut().zip(flat(squares)).for_each(|(root, square)| *root = square.sqrt());
    let (mut total, mut sum) = (L::splat(0.0), L::splat(0.0));
    for (square, root) in squares.iter().zip(&*roots) {
        total = total.add(L::load(square));
        sum = sum.add(L::load(root));
    }
    (total.sum(), sum.sum())
}

multiversion! {
    /// Writes the root of each number. Returns the sum of the numbers and that of their roots.
    pub fn write_roots(squares: &[Block], roots: &mut [Block]) -> (f64, f64) = write_roots_kernel;
}

#[inline(always)]
fn invert_kernel<L: Lanes>(numbers: &mut [f64], unit: f64, most: f64) {
    // Not a number if both are 0; the least of it and the bound is the bound.
    numbers.iter_mut().for_each(|number| *number = (unit / *number).min(most));
}

multiversion! {
    /// Replaces each number by `unit` over it, at most `most`.
    pub fn invert(numbers: &mut [f64], unit: f64, most: f64) = invert_kernel;
}

#[inline(always)]
fn mix_kernel<L: Lanes>(target: &mut [Block], mix: f64, vector: &[Block], factors: &[Block]) {
    let (rest, mix) = (L::splat(1.0 - mix), L::splat(mix));
    for ((target, entry), factor) in target.iter_mut().zip(vector).zip(factors) {
        rest.add(mix.mul(L::load(entry))).mul(L::load(factor)).store(target);
    }
}

multiversion! {
    /// Writes `factor * (1 - mix + mix * entry)`.
    pub fn write_mixture(target: &mut [Block], mix: f64, vector: &[Block], factors: &[Block]) = mix_kernel;
}

#[inline(always)]
fn combine_kernel<L: Lanes>(rows: &[Block], weights: &[(usize, f64)], sum: &mut [Block]) {
    sum.fill(Block::splat(0.0));
    add_combination_kernel::<L>(rows, weights, sum);
}

#[inline(always)]
fn add_combination_kernel<L: Lanes>(rows: &[Block], weights: &[(usize, f64)], sum: &mut [Block]) {
    let blocks = sum.len();
    // Eight rows at a time, each read from front to back. The sum stays in the first-level cache.
    let (eights, rest) = weights.as_chunks::<8>();
    for eight in eights {
        let row = |index: usize| &rows[eight[index].0 * blocks..(eight[index].0 + 1) * blocks];
        let [a, b, c, d, e, f, g, h] = [row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7)];
        let factor = |index: usize| L::splat(eight[index].1);
        let [wa, wb, wc, wd] = [factor(0), factor(1), factor(2), factor(3)];
        let [we, wf, wg, wh] = [factor(4), factor(5), factor(6), factor(7)];
        for (at, total) in sum.iter_mut().enumerate() {
            let lanes = L::load(total).add(L::load(&a[at]).mul(wa)).add(L::load(&b[at]).mul(wb));
            let lanes = lanes.add(L::load(&c[at]).mul(wc)).add(L::load(&d[at]).mul(wd));
            let lanes = lanes.add(L::load(&e[at]).mul(we)).add(L::load(&f[at]).mul(wf));
            lanes.add(L::load(&g[at]).mul(wg)).add(L::load(&h[at]).mul(wh)).store(total);
        }
    }
    for &(row, weight) in rest {
        let weight = L::splat(weight);
        for (total, entry) in sum.iter_mut().zip(&rows[row * blocks..(row + 1) * blocks]) {
            L::load(total).add(L::load(entry).mul(weight)).store(total);
        }
    }
}

multiversion! {
    /// The weighted sum of rows.
    pub fn combine(rows: &[Block], weights: &[(usize, f64)], sum: &mut [Block]) = combine_kernel;
}

multiversion! {
    /// Adds a weighted sum of rows.
    pub fn add_combination(rows: &[Block], weights: &[(usize, f64)], sum: &mut [Block]) = add_combination_kernel;
}

#[inline(always)]
fn add_scaled_kernel<L: Lanes>(target: &mut [f64], factor: f64, vector: &[f64]) {
    for (entry, number) in target.iter_mut().zip(vector) {
        *entry += factor * number;
    }
}

multiversion! {
    /// Adds `factor * vector` to `target`.
    pub fn add_scaled(target: &mut [f64], factor: f64, vector: &[f64]) = add_scaled_kernel;
}

#[inline(always)]
fn write_difference_kernel<L: Lanes>(target: &mut [f64], factor: f64, vector: &[f64], other: &[f64]) {
    for ((entry, number), other) in target.iter_mut().zip(vector).zip(other) {
        *entry = factor * (number - other);
    }
}

multiversion! {
    /// Writes `factor * (vector - other)`.
    pub fn write_difference(target: &mut [f64], factor: f64, vector: &[f64], other: &[f64]) = write_difference_kernel;
}

#[inline(always)]
fn dot_slices<L: Lanes>(a: &[f64], b: &[f64]) -> f64 {
    let ((a_arrays, a_rest), (b_arrays, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sum = L::splat(0.0);
    for (x, y) in a_arrays.iter().zip(b_arrays) {
        sum = sum.add(L::load_array(x).mul(L::load_array(y)));
    }
    sum.sum() + a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum::<f64>()
}

#[inline(always)]
fn solve_lower_kernel<L: Lanes>(factor: &[f64], stride: usize, vector: &mut [f64], from: usize) {
    for row in from..vector.len() {
        let entries = &factor[row * stride..row * stride + row + 1];
        let (known, rest) = vector.split_at_mut(row);
        rest[0] = (rest[0] - dot_slices::<L>(&entries[..row], known)) / entries[row];
    }
}

multiversion! {
    /// Solves `F y = vector` in place. `F` is lower triangular, stored by rows of length `stride`. The entries before
    /// `from` are already solved.
    pub fn solve_lower(factor: &[f64], stride: usize, vector: &mut [f64], from: usize) = solve_lower_kernel;
}

#[inline(always)]
fn solve_upper_kernel<L: Lanes>(factor: &[f64], stride: usize, vector: &mut [f64]) {
    for row in (0..vector.len()).rev() {
        let entries = &factor[row * stride..row * stride + row + 1];
        let solved = vector[row] / entries[row];
        vector[row] = solved;
        add_scaled_kernel::<L>(&mut vector[..row], -solved, &entries[..row]);
    }
}

multiversion! {
    /// Solves `F' x = vector` in place. `F` is lower triangular, stored by rows of length `stride`.
    pub fn solve_upper(factor: &[f64], stride: usize, vector: &mut [f64]) = solve_upper_kernel;
}

#[inline(always)]
fn scale_kernel<L: Lanes>(vector: &mut [f64], factor: f64) {
    vector.iter_mut().for_each(|entry| *entry *= factor);
}

multiversion! {
    /// Multiplies a vector by a number.
    pub fn scale(vector: &mut [f64], factor: f64) = scale_kernel;
}

#[inline(always)]
fn all_within_kernel<L: Lanes>(numbers: &[f64], limit: f64) -> bool {
    // Without branches, so that the compiler vectorises it.
    numbers.iter().fold(true, |all, number| all & (number.abs() <= limit))
}

multiversion! {
    /// Whether the absolute value of every number is at most `limit`; false if one is NaN.
    pub fn all_within(numbers: &[f64], limit: f64) -> bool = all_within_kernel;
}
