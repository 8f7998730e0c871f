//! A scenario of a stochastic program.

use crate::model::Model;

/// Largest distance of the sum of probabilities from 1 that is corrected.
const ROUNDED: f64 = 1e-4;

/// A scenario: its probability and its model.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Name in the file.
    pub name: String,
    /// Probability.
    pub probability: f64,
    /// The model of both stages.
    pub model: Model,
}

/// The sum of the probabilities, or the expected and the found ones if it is not nearly 1.
pub(crate) fn check_probabilities(scenarios: &[Scenario]) -> Result<f64, (String, String)> {
    let total = scenarios.iter().fold(0.0, |total, it| total + it.probability);
    // A sum that is no number is not near to 1.
    if (total - 1.0).abs() < ROUNDED {
        return Ok(total);
    }
    let expected = "one or more scenarios, with probabilities that add up to 1".to_string();
    Err((expected, format!("{} with the sum {total}", scenarios.len())))
}
