//! The horizon of the stop test: the length of a step that is long for this run.

/// A function looks linear along a step if it decreases by at least this share of the predicted decrease.
const LINEAR: f64 = 0.9;
/// The horizon as a multiple of the longest step so far.
const AHEAD: f64 = 1e3;

/// The stop test asks for the decrease that a very long step could bring. All lengths come from the run itself, so the
/// test does not depend on the units of the variables.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Horizon {
    scale: Scale,
    /// Whether the function looked linear along the last step: then longer steps may bring more.
    is_linear: bool,
}

/// Knowledge of the scale of the function: a step length `eta`.
#[derive(Clone, Copy, Debug, Default)]
enum Scale {
    /// The function has looked linear along all steps.
    #[default]
    Unknown,
    /// Largest step length so far. The function bent, but no serious step followed.
    Tried(f64),
    /// Largest step length since the first serious step on which the scale is known.
    Found(f64),
}

impl Horizon {
    /// Records a step: its length `eta`, the decrease, the predicted decrease, and whether it is serious.
    pub(crate) fn learn(&mut self, eta: f64, decrease: f64, predicted: f64, is_serious: bool) {
        self.is_linear = decrease >= LINEAR * predicted;
        self.scale = match self.scale {
            Scale::Unknown if self.is_linear => Scale::Unknown,
            Scale::Unknown | Scale::Tried(_) if is_serious => Scale::Found(eta),
            Scale::Unknown => Scale::Tried(eta),
            Scale::Tried(longest) => Scale::Tried(longest.max(eta)),
            Scale::Found(longest) => Scale::Found(longest.max(eta)),
        };
    }

    /// Predicted decrease of a very long step: `AHEAD eta |w|^2`. `eta` is the present step length.
    pub(crate) fn decrease(&self, eta: f64, norm_squared: f64) -> f64 {
        match self.scale {
            _ if norm_squared == 0.0 => 0.0,
            Scale::Tried(longest) | Scale::Found(longest) if !self.is_linear => {
                AHEAD * longest.max(eta) * norm_squared
            }
            _ => f64::INFINITY,
        }
    }
}
