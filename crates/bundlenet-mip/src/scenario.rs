//! A scenario of a stochastic program.

use crate::model::Model;

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
