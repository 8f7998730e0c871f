//! The Cholesky factorisation against the textbook's, in sizes around all borders, with dependent and unusable columns.

use std::cell::Cell;

use bundlenet_linalg::{Cholesky, Stream};

/// Sizes on both sides of the borders of blocks, pairs of strips, panels and kept strips.
const SIZES: [usize; 26] =
    [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 50, 63, 64, 65, 100, 119, 127, 128, 129, 136, 137, 255, 257, 300, 389, 521];

fn number(source: &mut Stream) -> f64 {
    0.5 * source.symmetric()
}

fn never(_products: usize) -> bool {
    false
}

/// A random matrix with eigenvalues from about 0.1 to a few.
fn random(size: usize, seed: u64) -> Vec<Vec<f64>> {
    let mut source = Stream::new(seed, "matrix", 0);
    let rows: Vec<Vec<f64>> = (0..size).map(|_| (0..size).map(|_| number(&mut source)).collect()).collect();
    let scale = 4.0 / size as f64;
    let entry = |row: usize, column: usize| {
        let product: f64 = rows[row].iter().zip(&rows[column]).map(|(a, b)| a * b).sum();
        scale * product + if row == column { 0.1 } else { 0.0 }
    };
    (0..size).map(|row| (0..=row).map(|column| entry(row, column)).collect()).collect()
}

fn at(lower: &[Vec<f64>], row: usize, column: usize) -> f64 {
    lower[row.max(column)][row.min(column)]
}

fn naive(lower: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut factor = lower.to_vec();
    for row in 0..lower.len() {
        for column in 0..=row {
            let product: f64 = (0..column).map(|inner| factor[row][inner] * factor[column][inner]).sum();
            let rest = lower[row][column] - product;
            factor[row][column] = if row == column { rest.sqrt() } else { rest / factor[column][column] };
        }
    }
    factor
}

fn fill(cholesky: &mut Cholesky, lower: &[Vec<f64>]) {
    assert!(cholesky.reset(lower.len(), &never).is_some());
    for (row, entries) in lower.iter().enumerate() {
        cholesky.row_mut(row).copy_from_slice(entries);
    }
}

fn rows(cholesky: &mut Cholesky, size: usize) -> Vec<Vec<f64>> {
    (0..size).map(|row| cholesky.row_mut(row).to_vec()).collect()
}

/// The largest absolute entry of `matrix * solution - right`.
fn residual(lower: &[Vec<f64>], solution: &[f64], right: &[f64]) -> f64 {
    let row = |row: usize| solution.iter().enumerate().map(|(column, x)| at(lower, row, column) * x).sum::<f64>();
    right.iter().enumerate().map(|(index, number)| (row(index) - number).abs()).fold(0.0, f64::max)
}

#[test]
fn factors_and_solves() {
    // The same object and memory for all sizes, with the numbers of earlier ones.
    let mut cholesky = Cholesky::default();
    for (seed, size) in SIZES.into_iter().chain(SIZES.into_iter().rev()).enumerate() {
        let matrix = random(size, seed as u64);
        fill(&mut cholesky, &matrix);
        assert_eq!(cholesky.diagonal(size - 1), matrix[size - 1][size - 1]);
        assert_eq!(cholesky.factor(1e-9, &never), Some(0));
        let factor = rows(&mut cholesky, size);
        for (row, (entries, expected)) in factor.iter().zip(naive(&matrix)).enumerate() {
            for column in 0..=row {
                let difference = (entries[column] - expected[column]).abs();
                assert!(difference < 1e-12, "{size} {row} {column}: {difference}");
                let product: f64 = entries.iter().zip(&factor[column]).map(|(a, b)| a * b).sum();
                let difference = (product - matrix[row][column]).abs();
                assert!(difference < 1e-13, "{size} {row} {column}: {difference}");
            }
        }
        let mut source = Stream::new(size as u64, "right", 0);
        let right: Vec<f64> = (0..size).map(|_| number(&mut source)).collect();
        let mut solution = right.clone();
        cholesky.solve(&mut solution);
        let residual = residual(&matrix, &solution, &right);
        assert!(residual < 1e-12, "{size}: {residual}");
    }
}

#[test]
fn dependent_columns_are_left_out() {
    for (size, copies) in [(2, [(1, 0)].as_slice()), (20, &[(9, 3), (19, 8)]), (300, &[(130, 5), (131, 129), (299, 7)])]
    {
        let matrix = random(size, 3);
        let origin = |row: usize| copies.iter().find(|copy| copy.0 == row).map_or(row, |copy| copy.1);
        let singular: Vec<Vec<f64>> =
            (0..size).map(|row| (0..=row).map(|column| at(&matrix, origin(row), origin(column))).collect()).collect();
        let mut cholesky = Cholesky::default();
        fill(&mut cholesky, &singular);
        assert_eq!(cholesky.factor(1e-10, &never), Some(copies.len()));
        let right: Vec<f64> = (0..size).map(|row| (origin(row) as f64).sin()).collect();
        let mut solution = right.clone();
        cholesky.solve(&mut solution);
        assert!(copies.iter().all(|copy| solution[copy.0].abs() < 1e-60));
        let residual = residual(&singular, &solution, &right);
        assert!(residual < 1e-12, "{size}: {residual}");
    }
}

#[test]
fn empty_matrices_and_entries_that_are_no_numbers() {
    let mut cholesky = Cholesky::default();
    assert!(cholesky.reset(0, &never).is_some());
    assert_eq!(cholesky.factor(0.0, &never), Some(0));
    cholesky.solve(&mut []);
    fill(&mut cholesky, &[vec![f64::NAN], vec![0.0, -1.0], vec![0.0, 0.0, 4.0]]);
    assert_eq!(cholesky.factor(-2.0, &never), Some(2));
    // A zero matrix has no usable pivot.
    assert!(cholesky.reset(40, &never).is_some());
    assert_eq!(cholesky.factor(0.0, &never), Some(40));
    let mut right = vec![1.0; 40];
    cholesky.solve(&mut right);
    assert!(right.iter().all(|number| number.abs() < 1e-60));
}

/// A factorisation asks before each pair of strips below a panel, and ends at any of these questions.
#[test]
fn factorisations_end_when_they_are_told() {
    let size = 521;
    let matrix = random(size, 1);
    let mut cholesky = Cholesky::default();
    let factor_until = |cholesky: &mut Cholesky, most: usize| {
        let (asked, announced) = (Cell::new(0), Cell::new(0));
        let is_over = |products: usize| {
            asked.set(asked.get() + 1);
            announced.set(announced.get() + products);
            asked.get() > most
        };
        fill(cholesky, &matrix);
        (cholesky.factor(1e-9, &is_over), asked.get(), announced.get())
    };
    let (factored, questions, products) = factor_until(&mut cholesky, usize::MAX);
    assert_eq!(factored, Some(0));
    // The panels themselves are factored without a question.
    let all = size * size * size / 6;
    assert!(products > all / 2 && products < 2 * all, "{products} {all}");
    assert!(products / questions < 1_000_000, "{products} {questions}");
    for most in 0..questions {
        assert_eq!(factor_until(&mut cholesky, most).0, None);
    }
    assert_eq!(cholesky.reset(2000, &|_| true), None);
    // The object can be used again.
    assert_eq!(factor_until(&mut cholesky, usize::MAX).0, Some(0));
}
