//! Reparameterised sampling: `mean + exp(v / 2) noise`. A smooth function bounds the log-variance `v`.

use crate::network::real::Real;

/// Bound on the absolute value of log-variances.
const RANGE: f64 = 8.0;

fn deviation<S: Real>(raw: S) -> (S, S) {
    let bent = (raw * S::of(1.0 / RANGE)).tanh();
    ((bent * S::of(RANGE / 2.0)).exp(), bent)
}

pub(crate) fn sample<S: Real>(mean: &[S], raw: &[S], noise: &[S], output: &mut [S]) {
    for (k, output) in output.iter_mut().enumerate() {
        *output = mean[k] + deviation(raw[k]).0 * noise[k];
    }
}

/// Writes the gradient of `raw`. The gradient of `mean` is that of the output.
pub(crate) fn sample_backward<S: Real>(raw: &[S], noise: &[S], gradient: &[S], gradient_raw: &mut [S]) {
    for (k, result) in gradient_raw.iter_mut().enumerate() {
        let (deviation, bent) = deviation(raw[k]);
        *result = gradient[k] * noise[k] * deviation * S::of(0.5) * (S::ONE - bent * bent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::ops::check;

    #[test]
    fn sampling_gradients_are_exact() {
        let (mean, noise, pull) = (check::numbers(6, 1), check::numbers(6, 2), check::numbers(6, 3));
        let raw: Vec<f64> = check::numbers(6, 4).iter().map(|x| 9.0 * x).collect();
        let value = |mean: &[f64], raw: &[f64]| {
            let mut output = vec![0.0; 6];
            sample(mean, raw, &noise, &mut output);
            check::dot(&output, &pull)
        };
        let mut gradient_raw = vec![0.0; 6];
        sample_backward(&raw, &noise, &pull, &mut gradient_raw);
        check::gradient(&raw, &gradient_raw, |raw| value(&mean, raw));
        check::gradient(&mean, &pull, |mean| value(mean, &raw));
        assert!(deviation(1e9_f32).0 < 55.0 && deviation(-1e9_f32).0 > 0.018);
    }
}
