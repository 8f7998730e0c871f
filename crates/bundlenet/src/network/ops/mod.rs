//! Operations of the network. Each has a forward and a backward function, and a test by finite differences.

pub(crate) mod attention;
pub(crate) mod decoder;
pub(crate) mod lstm;
pub(crate) mod matrix;
pub(crate) mod sampling;

#[cfg(test)]
pub(crate) mod check {
    //! Tests by finite differences.

    /// Compares a gradient with central differences of a function.
    pub(crate) fn gradient(point: &[f64], gradient: &[f64], mut function: impl FnMut(&[f64]) -> f64) {
        assert_eq!(point.len(), gradient.len());
        let mut moved = point.to_vec();
        let largest = gradient.iter().fold(0.0_f64, |largest, entry| largest.max(entry.abs()));
        for (index, &entry) in gradient.iter().enumerate() {
            // The error of a central difference is smallest for a step of about the cube root of the rounding error.
            let step = 6e-6 * point[index].abs().max(1.0);
            moved[index] = point[index] + step;
            let above = function(&moved);
            moved[index] = point[index] - step;
            let below = function(&moved);
            moved[index] = point[index];
            let difference = (above - below) / (2.0 * step);
            let error = (difference - entry).abs();
            assert!(error <= 1e-6 * largest.max(entry.abs()), "entry {index}: {entry}, by differences {difference}");
        }
    }

    /// Pseudo-random numbers from -1 to 1.
    pub(crate) fn numbers(count: usize, seed: u64) -> Vec<f64> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
        };
        (0..count).map(|_| next()).collect()
    }

    pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(x, y)| x * y).sum()
    }
}
