//! The number types of a network: `f32` in use, `f64` to check gradients.

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

use bundlenet_linalg::simd::{Lanes, multiversion};

/// A floating-point number. All elementary functions use [`Real::exp`] alone, so results in `f32` do not depend on a
/// mathematical library.
pub(crate) trait Real:
    Copy
    + Debug
    + Default
    + PartialOrd
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
{
    const ZERO: Self;
    const ONE: Self;

    fn of(number: f64) -> Self;
    fn wide(self) -> f64;
    fn exp(self) -> Self;
    /// `ln(1 + self)` for `self` from 0 to 1.
    fn log_one_plus(self) -> Self;
    fn abs(self) -> Self;

    /// Adds `row * matrix` to `sum`. The matrix has one row for each entry of `row`.
    fn row_times(row: &[Self], matrix: &[Self], sum: &mut [Self]);

    /// The inner product.
    fn dot(a: &[Self], b: &[Self]) -> Self;

    /// Applies a function to every entry, many at a time.
    fn map(input: &[Self], output: &mut [Self], function: Elementary);

    /// `c = a b + beta c` for matrices given by pointers and strides.
    ///
    /// # Safety
    /// Every entry that sizes and strides reach must lie within its matrix, and `c` must not overlap the others.
    unsafe fn multiply(
        sizes: (usize, usize, usize),
        a: (&[Self], [usize; 2]),
        b: (&[Self], [usize; 2]),
        beta: Self,
        c: (&mut [Self], [usize; 2]),
    );

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        if self > other { self } else { other }
    }

    #[inline(always)]
    fn sigmoid(self) -> Self {
        Self::ONE / (Self::ONE + (-self).exp())
    }

    #[inline(always)]
    fn tanh(self) -> Self {
        Self::of(2.0) * (self + self).sigmoid() - Self::ONE
    }

    /// `ln(1 + exp(self))`, in the form that does not overflow.
    #[inline(always)]
    fn softplus(self) -> Self {
        self.max(Self::ZERO) + (-self.abs()).exp().log_one_plus()
    }
}

/// Functions of one number that layers apply to all entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Elementary {
    Sigmoid,
    Tanh,
    Softplus,
    Relu,
}

#[inline(always)]
fn map_kernel<S: Real>(input: &[S], output: &mut [S], function: Elementary) {
    let pairs = input.iter().zip(output);
    // One loop for each function, so that the compiler vectorises each.
    match function {
        Elementary::Sigmoid => pairs.for_each(|(x, y)| *y = x.sigmoid()),
        Elementary::Tanh => pairs.for_each(|(x, y)| *y = x.tanh()),
        Elementary::Softplus => pairs.for_each(|(x, y)| *y = x.softplus()),
        Elementary::Relu => pairs.for_each(|(x, y)| *y = x.max(S::ZERO)),
    }
}

#[inline(always)]
fn row_times_kernel<S: Real>(row: &[S], matrix: &[S], sum: &mut [S]) {
    let width = sum.len();
    let (eights, rest) = row.as_chunks::<8>();
    // Eight rows of the matrix at a time: the matrix is read once from front to back, the sums once for eight rows.
    for (at, x) in eights.iter().enumerate() {
        let rows = &matrix[at * 8 * width..(at + 1) * 8 * width];
        let row = |index: usize| &rows[index * width..(index + 1) * width];
        let [a, b, c, d] = [row(0), row(1), row(2), row(3)];
        let [e, f, g, h] = [row(4), row(5), row(6), row(7)];
        for j in 0..width {
            let first = x[0] * a[j] + x[1] * b[j] + (x[2] * c[j] + x[3] * d[j]);
            let second = x[4] * e[j] + x[5] * f[j] + (x[6] * g[j] + x[7] * h[j]);
            sum[j] += first + second;
        }
    }
    let from = row.len() - rest.len();
    for (at, &x) in rest.iter().enumerate() {
        let row = &matrix[(from + at) * width..(from + at + 1) * width];
        sum.iter_mut().zip(row).for_each(|(sum, &entry)| *sum += x * entry);
    }
}

#[inline(always)]
fn dot_kernel<S: Real>(a: &[S], b: &[S]) -> S {
    const WIDTH: usize = 32;
    let mut lanes = [S::ZERO; WIDTH];
    let ((a_arrays, a_rest), (b_arrays, b_rest)) = (a.as_chunks::<WIDTH>(), b.as_chunks::<WIDTH>());
    for (x, y) in a_arrays.iter().zip(b_arrays) {
        for lane in 0..WIDTH {
            lanes[lane] += x[lane] * y[lane];
        }
    }
    let mut half = WIDTH / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] += lanes[lane + half];
        }
        half /= 2;
    }
    a_rest.iter().zip(b_rest).fold(lanes[0], |sum, (&x, &y)| sum + x * y)
}

#[inline(always)]
fn map_single<L: Lanes>(input: &[f32], output: &mut [f32], function: Elementary) {
    map_kernel(input, output, function);
}

multiversion! {
    fn map_f32(input: &[f32], output: &mut [f32], function: Elementary) = map_single;
}

#[inline(always)]
fn row_times_single<L: Lanes>(row: &[f32], matrix: &[f32], sum: &mut [f32]) {
    row_times_kernel(row, matrix, sum);
}

multiversion! {
    fn row_times_f32(row: &[f32], matrix: &[f32], sum: &mut [f32]) = row_times_single;
}

#[inline(always)]
fn dot_single<L: Lanes>(a: &[f32], b: &[f32]) -> f32 {
    dot_kernel(a, b)
}

multiversion! {
    fn dot_f32(a: &[f32], b: &[f32]) -> f32 = dot_single;
}

/// Implements the matrix product with a function of `matrixmultiply`.
macro_rules! multiply_by {
    ($gemm:ident) => {
        unsafe fn multiply(
            (m, k, n): (usize, usize, usize),
            (a, a_strides): (&[Self], [usize; 2]),
            (b, b_strides): (&[Self], [usize; 2]),
            beta: Self,
            (c, c_strides): (&mut [Self], [usize; 2]),
        ) {
            let [[ar, ac], [br, bc], [cr, cc]] = [a_strides, b_strides, c_strides].map(|pair| pair.map(|s| s as isize));
            // SAFETY: the contract of the caller is that of the function.
            unsafe {
                matrixmultiply::$gemm(
                    m,
                    k,
                    n,
                    1.0,
                    a.as_ptr(),
                    ar,
                    ac,
                    b.as_ptr(),
                    br,
                    bc,
                    beta,
                    c.as_mut_ptr(),
                    cr,
                    cc,
                );
            }
        }
    };
}

impl Real for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;

    #[inline(always)]
    fn of(number: f64) -> Self {
        number as Self
    }

    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }

    /// `2^n p(r)` with `self = n ln 2 + r`, `|r| <= ln 2 / 2`: within two units in the last place.
    #[inline(always)]
    fn exp(self) -> Self {
        // Adding this number rounds to an integer and leaves it in the low bits.
        const ROUND: f32 = 12_582_912.0;
        let x = if self > 88.0 { 88.0 } else { self };
        let x = if x < -87.0 { -87.0 } else { x };
        let shifted = x * std::f32::consts::LOG2_E + ROUND;
        let n = shifted - ROUND;
        // ln 2 in two parts; the product with the first is exact.
        let r = (x - n * 0.693_359_4) + n * 2.121_944_4e-4;
        let p = 1.987_569_1e-4;
        let p = p * r + 1.398_199_9e-3;
        let p = p * r + 8.333_452e-3;
        let p = p * r + 4.166_579_6e-2;
        let p = p * r + 0.166_666_65;
        let p = p * r + 0.5;
        let p = p * (r * r) + r + 1.0;
        let power = (shifted.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32).wrapping_add(127) << 23;
        p * f32::from_bits(power as u32)
    }

    /// `2 artanh(x / (2 + x))`, as a series in a number of at most 1/3.
    #[inline(always)]
    fn log_one_plus(self) -> Self {
        let z = self / (2.0 + self);
        let square = z * z;
        let series = 1.0 / 13.0;
        let series = series * square + 1.0 / 11.0;
        let series = series * square + 1.0 / 9.0;
        let series = series * square + 1.0 / 7.0;
        let series = series * square + 1.0 / 5.0;
        let series = series * square + 1.0 / 3.0;
        2.0 * z * (series * square + 1.0)
    }

    #[inline(always)]
    fn abs(self) -> Self {
        f32::abs(self)
    }

    fn row_times(row: &[Self], matrix: &[Self], sum: &mut [Self]) {
        row_times_f32(row, matrix, sum);
    }

    fn dot(a: &[Self], b: &[Self]) -> Self {
        dot_f32(a, b)
    }

    fn map(input: &[Self], output: &mut [Self], function: Elementary) {
        map_f32(input, output, function);
    }

    multiply_by!(sgemm);
}

impl Real for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;

    #[inline(always)]
    fn of(number: f64) -> Self {
        number
    }

    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }

    #[inline(always)]
    fn exp(self) -> Self {
        f64::exp(self)
    }

    #[inline(always)]
    fn log_one_plus(self) -> Self {
        self.ln_1p()
    }

    #[inline(always)]
    fn abs(self) -> Self {
        f64::abs(self)
    }

    fn row_times(row: &[Self], matrix: &[Self], sum: &mut [Self]) {
        row_times_kernel(row, matrix, sum);
    }

    fn dot(a: &[Self], b: &[Self]) -> Self {
        dot_kernel(a, b)
    }

    fn map(input: &[Self], output: &mut [Self], function: Elementary) {
        map_kernel(input, output, function);
    }

    multiply_by!(dgemm);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_precision_functions_agree_with_double() {
        let close = |x: f64, found: f32, expected: f64| {
            // A few units in the last place of the result, or of 1.
            assert!((found.wide() - expected).abs() <= 4e-7 * expected.abs().max(1.0), "{x}: {found} {expected}");
        };
        for step in -8700..=8700 {
            let x = f64::from(step) * 0.01;
            let single = x as f32;
            let x = f64::from(single);
            let relative = f64::from(Real::exp(single)) / x.exp();
            assert!((relative - 1.0).abs() < 3e-7, "{x}: {relative}");
            close(x, single.sigmoid(), 1.0 / (1.0 + (-x).exp()));
            close(x, Real::tanh(single), x.tanh());
            close(x, single.softplus(), x.max(0.0) + (-x.abs()).exp().ln_1p());
        }
        assert_eq!(Real::exp(f32::NEG_INFINITY), Real::exp(-87.0_f32));
        assert!(Real::exp(1e9_f32).is_finite() && Real::exp(f32::NAN).is_nan());
    }

    #[test]
    fn kernels_agree_with_plain_sums() {
        for (rows, width) in [(1, 1), (3, 5), (8, 16), (37, 129)] {
            let row: Vec<f32> = (0..rows).map(|i| (i % 7) as f32 - 3.0).collect();
            let matrix: Vec<f32> = (0..rows * width).map(|i| (i % 11) as f32 - 5.0).collect();
            let mut sum = vec![1.0; width];
            f32::row_times(&row, &matrix, &mut sum);
            for (j, &found) in sum.iter().enumerate() {
                let plain: f32 = (0..rows).map(|i| row[i] * matrix[i * width + j]).sum();
                assert_eq!(found, 1.0 + plain);
            }
            let plain: f32 = matrix.iter().map(|x| x * x).sum();
            assert_eq!(f32::dot(&matrix, &matrix), plain);
        }
    }
}
