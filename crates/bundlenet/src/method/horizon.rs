//! The horizon of the stop test: the length of a step that is long for this run.

/// A function looks linear along a step if it decreases by at least this share of the predicted decrease.
const LINEAR: f64 = 0.9;
/// A predicted decrease below this share of the value is lost in round-off. Such a step tells nothing.
const ROUND_OFF: f64 = 1e-14;
/// The horizon as a multiple of the longest step so far.
const AHEAD: f64 = 1e3;

/// The stop test asks for the decrease that a very long step could bring. All lengths come from the run itself, so the
/// test does not depend on the units of the variables.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Horizon {
    /// Largest step length since the function bent along a step: that of the bend, and those of later steps. Before the
    /// bend nothing is known of the function's scale.
    longest: Option<f64>,
    /// Whether the function looked linear along the last step. Then the next steps grow, and no length is long yet.
    is_linear: bool,
}

impl Horizon {
    /// The horizon of a run that goes on where another one with this step length ended. That run has seen the function
    /// bend; if it did not, the evaluation that confirms an estimate will tell.
    pub(crate) fn after(eta: Option<f64>) -> Self {
        Self { longest: eta, is_linear: false }
    }

    /// Records a step: its length `eta`, the decrease, the predicted decrease and the value at the centre.
    pub(crate) fn learn(&mut self, eta: f64, decrease: f64, predicted: f64, value: f64) {
        if Self::is_lost(predicted, value) {
            return;
        }
        self.is_linear = decrease >= LINEAR * predicted;
        match &mut self.longest {
            Some(longest) => *longest = longest.max(eta),
            // A first step may be far too long. The parabola through both values, with the predicted slope, has its
            // minimum where the function bends.
            None if !self.is_linear => {
                self.longest = Some(eta * predicted / (2.0 * (predicted - decrease)));
            }
            None => {}
        }
    }

    /// Predicted decrease of a very long step: `eta* |w|^2`. `eta` is the present step length.
    pub(crate) fn decrease(&self, eta: f64, norm_squared: f64) -> f64 {
        if norm_squared == 0.0 { 0.0 } else { self.length(eta) * norm_squared }
    }

    /// Length `eta*` of a very long step. `eta` is the present step length.
    pub(crate) fn length(&self, eta: f64) -> f64 {
        let ahead = if self.is_linear { AHEAD * AHEAD } else { AHEAD };
        self.longest.map_or(f64::INFINITY, |longest| ahead * longest.max(eta))
    }

    /// Records a very long step of length `eta*`. Returns whether the function bent along it. If not, the horizon was
    /// too near.
    pub(crate) fn is_behind(&mut self, length: f64, decrease: f64, predicted: f64) -> bool {
        let is_bent = decrease < LINEAR * predicted;
        if !is_bent {
            self.longest = Some(length);
        }
        is_bent
    }

    /// Whether a predicted decrease is lost in the round-off of a value.
    pub(crate) fn is_lost(predicted: f64, value: f64) -> bool {
        predicted <= Self::round_off(value)
    }

    /// The largest decrease of a value that is lost in its round-off.
    pub(crate) fn round_off(value: f64) -> f64 {
        ROUND_OFF * value.abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A first step that is too long shows where the function bends. A tiny next step does not hide that.
    #[test]
    fn the_first_bend_counts() {
        let mut horizon = Horizon::default();
        assert_eq!(horizon.decrease(1.0, 0.5), f64::INFINITY);
        // Round-off is no bend.
        horizon.learn(1e-15, 0.0, 1e-15, 10.0);
        assert_eq!(horizon.decrease(1.0, 0.5), f64::INFINITY);
        horizon.learn(2.0, 4.0, 4.0, 10.0);
        assert_eq!(horizon.decrease(1.0, 0.5), f64::INFINITY);
        horizon.learn(400.0, -4.0, 4.0, 10.0);
        assert_eq!(horizon.decrease(1e-9, 0.5), AHEAD * 100.0 * 0.5);
        horizon.learn(300.0, 0.5, 1.0, 10.0);
        assert_eq!(horizon.decrease(1e-9, 0.5), AHEAD * 300.0 * 0.5);
        // The steps grow again.
        horizon.learn(300.0, 1.0, 1.0, 10.0);
        assert_eq!(horizon.decrease(1e-9, 0.5), AHEAD * AHEAD * 300.0 * 0.5);
        assert_eq!(horizon.decrease(1.0, 0.0), 0.0);
    }
}
