//! Own features and an own architecture, trained without a change of the library.
//!
//! ```sh
//! cargo run --release -p bundlenet --example own_policy
//! ```

use std::error::Error;
use std::sync::Arc;

use bundlenet::FnOracle;
use bundlenet::train::{EvolutionSettings, Example, Policy, View, evolve, follow, gap_percent};

/// Columns of the objective: numbers of steps.
const COLUMNS: [usize; 2] = [10, 30];

/// A policy with six parameters. The logit of a cut is linear in its features: age, error, and cosine with the newest
/// subgradient. The logarithm of the step length is linear in the last decrease over the predicted one.
struct Linear {
    parameters: [f64; 6],
}

impl Linear {
    fn new(parameters: &[f64]) -> Self {
        let mut own = Self { parameters: [0.0; 6] };
        own.parameters.copy_from_slice(parameters);
        own
    }
}

impl Policy for Linear {
    fn propose(&mut self, view: &View<'_>, weights: &mut [f64]) -> f64 {
        let [by_age, by_error, by_cosine, constant, by_ratio, _] = self.parameters;
        let newest = view.cuts() - 1;
        let products = view.products(newest);
        let mean_error = (0..=newest).map(|cut| view.error(cut)).sum::<f64>() / view.cuts() as f64;
        for (cut, weight) in weights.iter_mut().enumerate() {
            let age = (1.0 + (newest - cut) as f64).ln();
            let error = view.error(cut) / mean_error.max(1e-12);
            let norms = (products[newest] * view.products(cut)[cut]).sqrt();
            let cosine = products[cut] / norms.max(1e-12);
            *weight = (by_age * age + by_error * error + by_cosine * cosine).clamp(-50.0, 50.0).exp();
        }
        let ratio = view.last().map_or(0.0, |last| (last.decrease / last.predicted.max(1e-12)).clamp(-1.0, 1.0));
        view.unit() * (constant + by_ratio * ratio).clamp(-10.0, 10.0).exp()
    }

    fn temperature(&self) -> f64 {
        self.parameters[5].clamp(-10.0, 10.0).exp()
    }
}

/// `1 + sum_j w_j |x_j - c_j|` with random weights and centres. Its minimum is 1.
fn tents(seed: u64) -> Example {
    let number = move |index: u64| {
        let mixed = (seed * 1000 + index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((mixed ^ (mixed >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 11) as f64 / (1_u64 << 53) as f64
    };
    let (weights, centres): (Vec<f64>, Vec<f64>) =
        (0..20).map(|j| (10.0_f64.powf(number(2 * j) - 0.5), 10.0 * number(2 * j + 1) - 5.0)).unzip();
    let oracle = Arc::new(move || {
        let (weights, centres) = (weights.clone(), centres.clone());
        let evaluate = move |point: &[f64], subgradient: &mut [f64]| {
            let mut value = 1.0;
            for (j, x) in point.iter().enumerate() {
                value += weights[j] * (x - centres[j]).abs();
                subgradient[j] = weights[j] * (x - centres[j]).signum();
            }
            Ok(value)
        };
        Box::new(FnOracle::new(20, evaluate)) as _
    });
    Example { name: format!("tents-{seed}"), oracle, start: None, optimum: Some(1.0) }
}

/// Mean gap in percent after each of the columns.
fn gaps(parameters: &[f64], examples: &[Example]) -> Result<Vec<f64>, Box<dyn Error>> {
    let mut means = vec![0.0; COLUMNS.len()];
    for example in examples {
        let run = follow(&mut Linear::new(parameters), &mut *(example.oracle)(), None, COLUMNS[1])?;
        for (mean, steps) in means.iter_mut().zip(COLUMNS) {
            let best = run.best[steps.min(run.best.len() - 1)];
            *mean += gap_percent(best, 1.0) / examples.len() as f64;
        }
    }
    Ok(means)
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let (train, test): (Vec<Example>, Vec<Example>) = ((0..64).map(tents).collect(), (64..96).map(tents).collect());
    // Equal weights, and steps of a first length at hand.
    let mut parameters = vec![0.0; 6];
    let before = gaps(&parameters, &test)?;
    let settings = EvolutionSettings {
        generations: 60,
        pairs: 16,
        batch: 16,
        deviation: 0.1,
        rate: 0.1,
        ..EvolutionSettings::default()
    };
    evolve(&mut parameters, &|parameters| Box::new(Linear::new(parameters)), &train, &COLUMNS, (&settings, 1))?;
    let after = gaps(&parameters, &test)?;
    println!("parameters {parameters:.2?}");
    println!(
        "mean gap in % after {COLUMNS:?} steps on functions not trained on: {before:.1?} before, {after:.1?} after"
    );
    Ok(())
}
