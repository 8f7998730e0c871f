//! Everything that shapes a run, with defaults that need no setting.

use serde::{Deserialize, Serialize};

use crate::error::{InvalidSetting, at_least, positive, require};
use crate::method::{BundleSettings, Method, listed};

/// Everything that shapes a run.
///
/// ```
/// use bundlenet::{Limits, Settings, Solver};
///
/// let settings = Settings { limits: Limits { steps: Some(100), ..Limits::default() }, ..Settings::default() };
/// assert!(Solver::new(settings).is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// The method, with its own settings.
    pub method: Method,
    /// When to stop before the optimum.
    pub limits: Limits,
    /// Largest gap over `max(1, |f|)` that counts as optimal; at least 0. Symbol `eps`.
    pub tolerance: f64,
    /// Whether to keep the primal solution that belongs to every cut, for [`Solution::primal`](crate::Solution::primal): memory for
    /// about twice the cuts. Only for methods with cuts, and of use only for a [`PrimalOracle`](crate::PrimalOracle).
    pub primal: bool,
}

/// When to stop before the optimum; whichever comes first. There is no limit by default.
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

impl Default for Settings {
    fn default() -> Self {
        Self { method: Method::default(), limits: Limits::default(), tolerance: 1e-7, primal: false }
    }
}

impl Settings {
    /// The settings for optima that others are measured by: the bundle method with cuts of each component, to 1e-9.
    #[must_use]
    pub fn exact() -> Self {
        Self { method: Method::Bundle(BundleSettings::default()), tolerance: 1e-9, ..Self::default() }
    }

    /// Makes sure that every value can be used.
    pub(crate) fn check(&self) -> Result<(), InvalidSetting> {
        let Limits { oracle_calls, seconds, target, .. } = self.limits;
        seconds.map_or(Ok(()), |seconds| positive("limits.seconds", seconds))?;
        at_least("limits.oracle_calls", oracle_calls.unwrap_or(1), 1)?;
        let target = target.unwrap_or(0.0);
        require(target.is_finite(), "limits.target", "a finite number", target)?;
        let is_usable = self.tolerance >= 0.0 && self.tolerance.is_finite();
        require(is_usable, "tolerance", "a nonnegative finite number", self.tolerance)?;
        if self.primal && !self.method.has_cuts() {
            let with_cuts = listed(&["auto", "hybrid", "bundle", "network"]);
            let found = format!("method {}", self.method.name());
            return Err(InvalidSetting::new("primal", format!("method {with_cuts}"), found));
        }
        self.method.check()
    }
}
