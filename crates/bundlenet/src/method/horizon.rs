//! The horizon of the stop test: the length of a step that is long for this run.

/// A function looks linear along a step if it decreases by at least this share of the predicted decrease.
const LINEAR: f64 = 0.9;
/// The horizon as a multiple of the longest step so far.
const AHEAD: f64 = 1e3;

/// The stop test asks for the decrease that a very long step could bring. All lengths come from the run itself, so the
/// test does not depend on the units of the variables.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Horizon {
    /// Largest step length since the function bent along a step. Before that nothing is known of its scale.
    longest: Option<f64>,
}

impl Horizon {
    /// Records a step: its length `eta`, the decrease and the predicted decrease.
    pub(crate) fn learn(&mut self, eta: f64, decrease: f64, predicted: f64) {
        match &mut self.longest {
            Some(longest) => *longest = longest.max(eta),
            None if decrease < LINEAR * predicted => self.longest = Some(0.0),
            None => {}
        }
    }

    /// Predicted decrease of a very long step: `AHEAD eta |w|^2`. `eta` is the present step length.
    pub(crate) fn decrease(&self, eta: f64, norm_squared: f64) -> f64 {
        match self.longest {
            _ if norm_squared == 0.0 => 0.0,
            Some(longest) => AHEAD * longest.max(eta) * norm_squared,
            None => f64::INFINITY,
        }
    }
}
