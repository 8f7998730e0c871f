//! A guard for a trained network: the ranges of starts and of its inputs on training instances.

use std::sync::Arc;

use super::example::Example;
use super::unroll::{Subject, Unroll, Weight, begin_function};
use crate::error::{Error, InvalidSetting, at_least, require};
use crate::master::LearnedRule;
use crate::network::{Guard, Model, Network, observe_start};

/// How a guard is made.
#[derive(Clone, Debug, PartialEq)]
pub struct GuardSettings {
    /// Number of first steps in which the inputs are compared; at least 1.
    pub steps: usize,
    /// Margin of each range on both sides, as a share of its width; at least 0.
    pub margin: f64,
    /// Learned numbers of the exact master.
    pub rule: LearnedRule,
}

/// The model with a guard: an exact master takes over when the start or an input is outside of its range on these
/// examples.
///
/// # Errors
/// If a setting is invalid, or an oracle fails.
pub fn guarded(model: &Model, examples: &[Example], settings: &GuardSettings) -> Result<Model, Error> {
    let GuardSettings { steps, margin, rule } = *settings;
    at_least("guard.steps", steps, 1)?;
    require(margin >= 0.0 && margin.is_finite(), "guard.margin", "a number of at least 0", margin)?;
    require(!examples.is_empty(), "guard.examples", "at least one", "none")?;
    check(&rule)?;
    let network = Arc::new(Network { guard: None, ..Network::clone(model.network()) });
    let inputs = network.architecture.inputs();
    let mut guard = Guard::empty(steps, inputs, rule);
    let mut transformed = vec![0.0_f32; inputs];
    for example in examples {
        let mut oracle = (example.oracle)();
        let (start, weight) = (example.start.as_deref(), Weight::OfScaledValue(0.0));
        let failed = |source| example.failed(source);
        let (function, first) = begin_function(&mut *oracle, start).map_err(failed)?;
        guard.extend_start(observe_start(&first, function.domain()));
        drop(function);
        let subject = Subject { oracle: &mut *oracle, start, weight };
        let mut unroll = Unroll::begin(Arc::clone(&network), vec![subject], 1).map_err(failed)?;
        for step in 0..=steps {
            unroll.forward(0.0, None).map_err(failed)?;
            // The features before the first step are constant.
            for features in unroll.features().filter(|_| step > 0) {
                network.transform(features, &mut transformed);
                let wide: Vec<f64> = transformed.iter().map(|&feature| f64::from(feature)).collect();
                guard.extend(step - 1, &wide);
            }
            unroll.forget();
        }
    }
    guard.widen(margin);
    Ok(Model::new(Network { guard: Some(guard), ..Network::clone(&network) }, model.card().clone()))
}

/// The model with other learned numbers in its guard.
///
/// # Errors
/// If a number is invalid, or the model has no guard.
pub fn with_rule(model: &Model, rule: &LearnedRule) -> Result<Model, Error> {
    check(rule)?;
    let mut network = Network::clone(model.network());
    let guard = network.guard.as_mut().ok_or_else(|| InvalidSetting::new("model", "one with a guard", "none"))?;
    guard.rule = *rule;
    Ok(Model::new(network, model.card().clone()))
}

fn check(rule: &LearnedRule) -> Result<(), InvalidSetting> {
    let is_finite = rule.coefficients.iter().all(|coefficient| coefficient.is_finite());
    require(is_finite, "guard.rule", "finite numbers", format!("{:?}", rule.coefficients))?;
    require(rule.follow >= 0.0 && rule.follow.is_finite(), "guard.follow", "a number of at least 0", rule.follow)
}
