//! Classical nonsmooth test functions with their known optima and standard start points.
//!
//! Definitions, start points and optima follow L. Lukšan and J. Vlček, *Test problems for nonsmooth unconstrained and
//! linearly constrained optimization* (report 798, Institute of Computer Science, Prague, 2000); MAXQUAD, Shor and
//! CB2 optima are given to more digits than printed there.

use std::fmt;

use bundlenet::{Oracle, OracleError};

/// A convex test function with a known minimum.
///
/// ```
/// use bundlenet::{Function, Oracle};
/// use bundlenet_problems::Academic;
///
/// let mut function = Academic::Cb2;
/// let mut subgradient = vec![0.0; function.dim()];
/// let start = function.start();
/// let value = Function::new(&mut function)?.evaluate(&start, &mut subgradient)?;
/// assert!(function.relative_gap(value) > 1.0);
/// # Ok::<(), bundlenet::EvaluationError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Academic {
    /// Maximum of five convex quadratics in ten variables (Lemaréchal).
    Maxquad,
    /// Maximum of ten weighted squared distances in five variables (Shor).
    Shor,
    /// Maximum of a quartic, a quadratic and an exponential in two variables (Charalambous and Bandler).
    Cb2,
    /// `50 max x_i - sum x_i` in fifty variables (Goffin).
    Goffin,
    /// Largest absolute entry of a Hilbert matrix times the point, in fifty variables (Kiwiel).
    Mxhilb,
}

impl Academic {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Maxquad, Self::Shor, Self::Cb2, Self::Goffin, Self::Mxhilb];

    /// The minimum.
    #[must_use]
    pub fn optimum(self) -> f64 {
        match self {
            Self::Maxquad => -0.841_408_334_596,
            Self::Shor => 22.600_162_095_771,
            Self::Cb2 => 1.952_224_493_870_659,
            Self::Goffin | Self::Mxhilb => 0.0,
        }
    }

    /// The standard start point.
    #[must_use]
    pub fn start(self) -> Vec<f64> {
        match self {
            Self::Maxquad => vec![0.0; 10],
            Self::Shor => vec![0.0, 0.0, 0.0, 0.0, 1.0],
            Self::Cb2 => vec![1.0, -0.1],
            Self::Goffin => (1..=50).map(|i| f64::from(i) - 25.5).collect(),
            Self::Mxhilb => vec![1.0; 50],
        }
    }

    /// Distance of `value` from the minimum, over `max(1, |minimum|)`.
    #[must_use]
    pub fn relative_gap(self, value: f64) -> f64 {
        (value - self.optimum()) / self.optimum().abs().max(1.0)
    }
}

impl fmt::Display for Academic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Maxquad => "MAXQUAD",
            Self::Shor => "Shor",
            Self::Cb2 => "CB2",
            Self::Goffin => "Goffin",
            Self::Mxhilb => "MXHILB",
        })
    }
}

impl Oracle for Academic {
    fn dim(&self) -> usize {
        match self {
            Self::Maxquad => 10,
            Self::Shor => 5,
            Self::Cb2 => 2,
            Self::Goffin | Self::Mxhilb => 50,
        }
    }

    fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        Ok(match self {
            Self::Maxquad => maxquad(point, subgradient),
            Self::Shor => shor(point, subgradient),
            Self::Cb2 => cb2(point, subgradient),
            Self::Goffin => goffin(point, subgradient),
            Self::Mxhilb => mxhilb(point, subgradient),
        })
    }
}

/// Index and value of the largest of `values`; the first one in a tie.
fn largest(values: impl IntoIterator<Item = f64>) -> (usize, f64) {
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

fn maxquad(x: &[f64], subgradient: &mut [f64]) -> f64 {
    let piece =
        |k: f64| -> f64 { (1..).zip(x).map(|(i, &entry)| entry * (maxquad_row(k, i, x) - maxquad_linear(k, i))).sum() };
    let (index, value) = largest((1..=5).map(|k| piece(f64::from(k))));
    let k = (index + 1) as f64;
    for (i, entry) in (1..).zip(subgradient) {
        *entry = 2.0 * maxquad_row(k, i, x) - maxquad_linear(k, i);
    }
    value
}

fn shor(x: &[f64], subgradient: &mut [f64]) -> f64 {
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

fn cb2(x: &[f64], subgradient: &mut [f64]) -> f64 {
    let (a, b) = (x[0], x[1]);
    let exponential = 2.0 * (b - a).exp();
    let pieces = [a * a + b.powi(4), (2.0 - a).powi(2) + (2.0 - b).powi(2), exponential];
    let gradients = [[2.0 * a, 4.0 * b.powi(3)], [-2.0 * (2.0 - a), -2.0 * (2.0 - b)], [-exponential, exponential]];
    let (index, value) = largest(pieces);
    subgradient.copy_from_slice(&gradients[index]);
    value
}

fn goffin(x: &[f64], subgradient: &mut [f64]) -> f64 {
    let (index, value) = largest(x.iter().copied());
    subgradient.fill(-1.0);
    subgradient[index] += 50.0;
    50.0 * value - x.iter().sum::<f64>()
}

fn mxhilb(x: &[f64], subgradient: &mut [f64]) -> f64 {
    let product = |row: usize| -> f64 { x.iter().enumerate().map(|(j, entry)| entry / (row + j + 1) as f64).sum() };
    let (row, value) = largest((0..x.len()).map(|row| product(row).abs()));
    let sign = if product(row) < 0.0 { -1.0 } else { 1.0 };
    for (j, entry) in subgradient.iter_mut().enumerate() {
        *entry = sign / (row + j + 1) as f64;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(mut function: Academic, point: &[f64]) -> f64 {
        let mut subgradient = vec![0.0; function.dim()];
        function.evaluate(point, &mut subgradient).unwrap()
    }

    #[test]
    fn start_values_are_the_published_ones() {
        // Lukšan and Vlček; MAXQUAD at (1, ..., 1) from Lemaréchal and Mifflin (1978).
        assert_eq!(value(Academic::Maxquad, &[0.0; 10]), 0.0);
        assert!((value(Academic::Maxquad, &[1.0; 10]) - 5_337.066_429_311_36).abs() < 1e-8);
        assert_eq!(value(Academic::Shor, &Academic::Shor.start()), 80.0);
        assert!((value(Academic::Cb2, &Academic::Cb2.start()) - 5.41).abs() < 1e-12);
        assert_eq!(value(Academic::Goffin, &Academic::Goffin.start()), 1225.0);
        assert!((value(Academic::Mxhilb, &Academic::Mxhilb.start()) - 4.499_205_338).abs() < 1e-8);
    }

    #[test]
    fn optima_are_attained() {
        let cb2 = [1.139_037_651_989, 0.899_559_938_395];
        let shor = [1.124_351_01, 0.979_461_60, 1.477_707_74, 0.920_233_48, 1.124_291_59];
        let maxquad = [
            -0.126_256_59,
            -0.034_378_31,
            -0.006_857_20,
            0.026_360_65,
            0.067_294_91,
            -0.278_399_51,
            0.074_218_66,
            0.138_524_04,
            0.084_031_22,
            0.038_580_31,
        ];
        // The points are given to 8 digits. Near a kink the error of the value is in proportion to theirs.
        for (function, point) in
            [(Academic::Cb2, &cb2[..]), (Academic::Shor, &shor[..]), (Academic::Maxquad, &maxquad[..])]
        {
            let gap = function.relative_gap(value(function, point));
            assert!((-1e-12..1e-6).contains(&gap), "{function}: {gap}");
        }
        assert_eq!(value(Academic::Goffin, &[0.0; 50]), 0.0);
        assert_eq!(value(Academic::Mxhilb, &[0.0; 50]), 0.0);
    }
}
