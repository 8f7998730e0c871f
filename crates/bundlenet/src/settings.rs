//! What a user may set, with defaults that need no setting.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::learn::Model;
use crate::master::Strategy;

/// Everything that shapes a run.
///
/// ```
/// use bundlenet::{Limits, Settings};
///
/// let settings = Settings { limits: Limits { steps: Some(100), ..Limits::default() }, ..Settings::default() };
/// assert!(settings.check().is_ok());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Which method runs.
    pub method: MethodName,
    /// When to stop before the optimum.
    pub limits: Limits,
    /// When to call it optimal.
    pub tolerances: Tolerances,
    /// How the step length is chosen.
    pub proximity: ProximitySettings,
    /// What the bundle method has cuts of.
    pub cuts: Granularity,
    /// Which cuts are forgotten.
    pub pruning: PruningSettings,
    /// Whether to keep the primal solution that belongs to every cut, for [`Solution::primal`](crate::Solution::primal): memory for
    /// about twice the cuts. Only for methods with cuts, and of use only for a [`PrimalOracle`](crate::PrimalOracle).
    pub primal: bool,
    /// The network of the method of that name; without it, the general one.
    #[serde(skip)]
    pub model: Option<Arc<Model>>,
}

/// The methods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum MethodName {
    /// A network for the start; then the bundle method with cuts of each component as long as they pay, or with all cuts of the
    /// network where the function is no sum. Where a network does not pay at all, and where the cuts or the step length are
    /// set, the bundle method.
    #[default]
    Auto,
    /// As `Auto`, always with cuts of the whole function.
    Hybrid,
    /// The proximal bundle method.
    Bundle,
    /// Subgradient descent.
    Descent,
    /// Adam.
    Adam,
    /// The bundle method with a network in the place of the master problem.
    Network,
}

/// What the bundle method has cuts of. An oracle that is not a [`SumOracle`](crate::SumOracle) has cuts of the whole function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Granularity {
    /// Of each component as long as that pays; of the whole function from when the master takes more than a hundred times
    /// as long as a step without components would; of each component again for the end, where only they can prove it.
    /// Measured times decide, so two runs may differ.
    #[default]
    Auto,
    /// Of the whole function: the method of the paper.
    Aggregated,
    /// Of so many groups of components; at least 1.
    Groups(usize),
    /// Of each component.
    Component,
}

/// When to stop before the optimum; whichever comes first. There is no limit by default: an unbounded function is
/// followed for ever.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Most steps; a step is one oracle call after the one at the start.
    pub steps: Option<usize>,
    /// Most oracle calls, the one at the start included; at least 1.
    pub oracle_calls: Option<usize>,
    /// Most seconds; positive.
    pub seconds: Option<f64>,
    /// Stop when the value is at least as good as this, in the problem's sense.
    pub target: Option<f64>,
}

/// When to call it optimal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tolerances {
    /// Estimated gap over `max(1, |f|)`; at least 0. Symbol `eps`.
    pub gap: f64,
}

impl Default for Tolerances {
    fn default() -> Self {
        Self { gap: 1e-7 }
    }
}

/// How the step length is chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProximitySettings {
    /// How the bundle method adjusts it.
    pub strategy: Strategy,
    /// Initial step length; positive. Symbol `eta_0`; the function is scaled by the norm of its first subgradient. Without
    /// it `auto` finds its own, the other strategies begin with 100, descent with 10, Adam with 1.
    pub eta0: Option<f64>,
    /// Consecutive serious steps with the same step length before soft, hard or balancing lets it grow; at least 1.
    pub serious_steps: usize,
    /// Consecutive null steps with the same step length before soft, hard or balancing lets it shrink; at least 1.
    pub null_steps: usize,
}

impl Default for ProximitySettings {
    fn default() -> Self {
        Self { strategy: Strategy::Auto, eta0: None, serious_steps: 1, null_steps: 1 }
    }
}

/// Which cuts are forgotten.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PruningSettings {
    /// Steps without weight after which a cut goes; at least 1. Symbol `K`.
    pub lifetime: usize,
    /// Most cuts ever held of the whole function, the rest aggregated; at least 3.
    pub max_cuts: usize,
    /// Most cuts ever held of a component, the rest aggregated; at least 3.
    pub max_component_cuts: usize,
    /// Most bytes that the cuts of all components may take, the rest aggregated; at least 1,000,000.
    pub max_bytes: usize,
}

impl Default for PruningSettings {
    fn default() -> Self {
        Self { lifetime: 20, max_cuts: 1000, max_component_cuts: 200, max_bytes: 1 << 30 }
    }
}

/// Settings that cannot be used.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("setting {name}: expected {expected}, found {found}")]
pub struct InvalidSetting {
    /// The setting.
    pub name: &'static str,
    /// What it should be.
    pub expected: &'static str,
    /// What it is.
    pub found: String,
}

/// Settings that have been checked; all that a run accepts.
#[derive(Clone, Debug, PartialEq)]
pub struct ValidSettings(Settings);

impl std::ops::Deref for ValidSettings {
    type Target = Settings;

    fn deref(&self) -> &Settings {
        &self.0
    }
}

impl ValidSettings {
    /// The model of a run of a network.
    pub(crate) fn model(&self) -> Arc<Model> {
        self.model.clone().unwrap_or_else(Model::general)
    }
}

impl Settings {
    /// Makes sure that every value can be used.
    ///
    /// # Errors
    /// The first one that cannot.
    pub fn check(self) -> Result<ValidSettings, InvalidSetting> {
        let wrong = |name, expected, found: String| Err(InvalidSetting { name, expected, found });
        let positive = |number: f64| number > 0.0 && number.is_finite();
        match &self {
            Self { limits: Limits { seconds: Some(seconds), .. }, .. } if !positive(*seconds) => {
                wrong("limits.seconds", "a positive finite number", seconds.to_string())
            }
            Self { limits: Limits { oracle_calls: Some(0), .. }, .. } => {
                wrong("limits.oracle_calls", "at least 1", "0".to_string())
            }
            Self { limits: Limits { target: Some(target), .. }, .. } if !target.is_finite() => {
                wrong("limits.target", "a finite number", target.to_string())
            }
            Self { tolerances: Tolerances { gap }, .. } if !(*gap >= 0.0 && gap.is_finite()) => {
                wrong("tolerances.gap", "a nonnegative finite number", gap.to_string())
            }
            Self { proximity: ProximitySettings { eta0: Some(eta), .. }, .. } if !positive(*eta) => {
                wrong("proximity.eta0", "a positive finite number", eta.to_string())
            }
            Self { proximity: ProximitySettings { serious_steps: 0, .. }, .. } => {
                wrong("proximity.serious_steps", "at least 1", "0".to_string())
            }
            Self { proximity: ProximitySettings { null_steps: 0, .. }, .. } => {
                wrong("proximity.null_steps", "at least 1", "0".to_string())
            }
            Self { pruning: PruningSettings { lifetime: 0, .. }, .. } => {
                wrong("pruning.lifetime", "at least 1", "0".to_string())
            }
            Self { pruning: PruningSettings { max_cuts, .. }, .. } if *max_cuts < 3 => {
                wrong("pruning.max_cuts", "at least 3", max_cuts.to_string())
            }
            Self { pruning: PruningSettings { max_component_cuts, .. }, .. } if *max_component_cuts < 3 => {
                wrong("pruning.max_component_cuts", "at least 3", max_component_cuts.to_string())
            }
            Self { pruning: PruningSettings { max_bytes, .. }, .. } if *max_bytes < 1_000_000 => {
                wrong("pruning.max_bytes", "at least 1,000,000", max_bytes.to_string())
            }
            Self { cuts: Granularity::Groups(0), .. } => wrong("cuts.groups", "at least 1", "0".to_string()),
            Self { primal: true, method: MethodName::Descent | MethodName::Adam, .. } => {
                let found = if self.method == MethodName::Adam { "adam" } else { "descent" };
                wrong("primal", "a method with cuts: auto, hybrid, bundle or network", found.to_string())
            }
            // Who sets something of the bundle method asks for it.
            Self { method: MethodName::Auto, cuts, proximity, .. }
                if *cuts != Granularity::default() || *proximity != ProximitySettings::default() =>
            {
                Ok(ValidSettings(Self { method: MethodName::Bundle, ..self }))
            }
            _ => Ok(ValidSettings(self)),
        }
    }
}
