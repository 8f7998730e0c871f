//! Random numbers that are the same on every machine and in every version.
//!
//! The generator is ChaCha with 8 rounds; its specification fixes the output. All other operations are ones that IEEE
//! 754 rounds exactly, so no digit depends on a mathematical library.

use crate::chacha::ChaCha8;

/// A named stream of random numbers.
pub struct Stream(ChaCha8);

impl Stream {
    /// Stream `index` of the given name (at most 24 bytes) and seed.
    pub fn new(seed: u64, name: &str, index: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        for (byte, letter) in key[8..].iter_mut().zip(name.bytes()) {
            *byte = letter;
        }
        Self(ChaCha8::new(key, index))
    }

    /// A uniform integer below `count`.
    pub fn below(&mut self, count: usize) -> usize {
        let count = count as u64;
        // Draws beyond the last whole multiple of `count` are rejected: they would favour small numbers.
        let excess = (u64::MAX % count + 1) % count;
        loop {
            let draw = self.0.next_u64();
            if draw <= u64::MAX - excess {
                return (draw % count) as usize;
            }
        }
    }

    /// A uniform integer from `low` to `high`, both included.
    pub fn between(&mut self, low: u32, high: u32) -> u32 {
        low + self.below((high - low) as usize + 1) as u32
    }

    /// An index with probability proportional to its weight.
    pub fn weighted(&mut self, weights: &[usize]) -> usize {
        let mut left = self.below(weights.iter().sum());
        for (index, &weight) in weights.iter().enumerate() {
            if left < weight {
                return index;
            }
            left -= weight;
        }
        weights.len() - 1
    }

    /// The integers below `count` in random order.
    pub fn permutation(&mut self, count: usize) -> Vec<usize> {
        let mut numbers: Vec<usize> = (0..count).collect();
        (1..count).rev().for_each(|last| numbers.swap(last, self.below(last + 1)));
        numbers
    }

    /// A standard normal number, by Marsaglia's polar method.
    pub fn normal(&mut self) -> f64 {
        loop {
            let (u, v) = (self.symmetric(), self.symmetric());
            let square = u * u + v * v;
            if square > 0.0 && square < 1.0 {
                return u * (-2.0 * natural_logarithm(square) / square).sqrt();
            }
        }
    }

    /// `max(1, floor(mean + deviation N(0, 1)))`: the distribution of generated costs and demands.
    pub fn positive_whole(&mut self, mean: f64, deviation: f64) -> f64 {
        (mean + deviation * self.normal()).floor().max(1.0)
    }

    /// A uniform number above 0, up to 1.
    pub fn positive_unit(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
        ((self.0.next_u64() >> 11) + 1) as f64 * STEP
    }

    /// An exponential number with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -natural_logarithm(self.positive_unit())
    }

    /// A uniform number from -1 to 1.
    pub fn symmetric(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1_u64 << 52) as f64;
        (self.0.next_u64() >> 11) as f64 * STEP - 1.0
    }
}

/// The logarithm of a positive normal number, computed with IEEE operations alone.
fn natural_logarithm(x: f64) -> f64 {
    const MANTISSA: u64 = (1 << 52) - 1;
    let bits = x.to_bits();
    let mut exponent = ((bits >> 52) & 0x7ff) as i32 - 1023;
    let mut mantissa = f64::from_bits((bits & MANTISSA) | (1023 << 52));
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa *= 0.5;
        exponent += 1;
    }
    // ln m = 2 artanh((m - 1) / (m + 1)), as a series in a number below 0.172.
    let ratio = (mantissa - 1.0) / (mantissa + 1.0);
    let square = ratio * ratio;
    let series = (0..=11).rev().fold(0.0, |sum, term| sum * square + 1.0 / f64::from(2 * term + 1));
    f64::from(exponent) * std::f64::consts::LN_2 + 2.0 * ratio * series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithm_is_right() {
        for x in [1e-300, 1e-9, 0.3, 0.707, 0.99999, 1.0, 1.0001, 1.5, 2.0, 1e5] {
            let expected = f64::ln(x);
            assert!((natural_logarithm(x) - expected).abs() <= 4e-16 * expected.abs().max(1.0), "{x}");
        }
    }
}
