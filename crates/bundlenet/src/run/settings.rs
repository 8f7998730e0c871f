//! The settings of a run. Each has a default.

use serde::{Deserialize, Serialize};

use crate::error::{InvalidSetting, at_least, positive, require};
use crate::method::{Method, Told, listed};

/// The settings of a run.
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
    /// The method and its settings.
    pub method: Method,
    /// Limits that end the run before the optimum.
    pub limits: Limits,
    /// `eps`: largest gap over `max(1, |f|)` that counts as optimal; at least 0.
    pub tolerance: f64,
    /// Whether to keep the primal solution of every cut, for [`Solution::primal`](crate::Solution::primal). This needs
    /// about twice the memory of the cuts. The method must have cuts, and the oracle must be a
    /// [`PrimalOracle`](crate::PrimalOracle).
    pub primal: bool,
}

/// Limits that end a run before the optimum. The first one reached ends the run. By default there are none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Largest number of steps. A step is one oracle call after the one at the start.
    pub steps: Option<usize>,
    /// Largest number of oracle calls, the one at the start included; at least 1.
    pub oracle_calls: Option<usize>,
    /// Largest wall time in seconds; positive.
    pub seconds: Option<f64>,
    /// The run stops at a value at least this good, in the problem's sense.
    pub target: Option<f64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { method: Method::default(), limits: Limits::default(), tolerance: 1e-7, primal: false }
    }
}

impl Settings {
    /// Settings for reference optima: the default method, to a gap of 1e-9.
    #[must_use]
    pub fn exact() -> Self {
        Self { tolerance: 1e-9, ..Self::default() }
    }

    /// Largest number of steps of a run without a limit on them, in the program, in Python and in C. It ends a run on an
    /// unbounded function.
    pub const MOST_STEPS: usize = 10_000;

    /// The settings with a limit on the steps: [`Settings::MOST_STEPS`] if there is none. A network is not told that limit,
    /// because runs end before it.
    #[must_use]
    pub fn with_default_limit(mut self) -> Self {
        if self.limits.steps.is_none() {
            self.limits.steps = Some(Self::MOST_STEPS);
            if let Method::Network(network) = &mut self.method {
                network.told = Told::Nothing;
            }
        }
        self
    }

    /// Checks all values.
    pub(crate) fn check(&self) -> Result<(), InvalidSetting> {
        let Limits { oracle_calls, seconds, target, .. } = self.limits;
        seconds.map_or(Ok(()), |seconds| positive("limits.seconds", seconds))?;
        at_least("limits.oracle_calls", oracle_calls.unwrap_or(1), 1)?;
        let target = target.unwrap_or(0.0);
        require(target.is_finite(), "limits.target", "a finite number", target)?;
        let is_usable = self.tolerance >= 0.0 && self.tolerance.is_finite();
        require(is_usable, "tolerance", "a nonnegative finite number", self.tolerance)?;
        if self.primal && !self.method.has_primal() {
            let with_cuts = listed(&["auto", "hybrid", "bundle", "network", "barrier"]);
            let found = format!("method {}", self.method.name());
            return Err(InvalidSetting::new("primal", format!("method {with_cuts}"), found));
        }
        self.method.check()
    }
}
