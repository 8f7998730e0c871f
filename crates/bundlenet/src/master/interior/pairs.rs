//! Constraints of interior-point steps: multipliers and slacks of cuts and bounds.

/// A constraint: its multiplier and its slack, their changes, and the change of their product to aim at.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pair {
    pub(super) weight: f64,
    pub(super) slack: f64,
    /// One over the slack: a step divides by it many times.
    pub(super) inverse: f64,
    pub(super) weight_change: f64,
    pub(super) slack_change: f64,
    pub(super) aim: f64,
}

impl Pair {
    pub(super) fn new(weight: f64, slack: f64) -> Self {
        Self { weight, slack, inverse: slack.recip(), ..Self::default() }
    }

    /// Aims at a product; `is_corrected` counts the product of the last changes.
    pub(super) fn aim_at(&mut self, product: f64, is_corrected: bool) {
        let second = if is_corrected { self.second() } else { 0.0 };
        self.aim = product - self.weight * self.slack - second;
    }

    /// Sets the change of the slack and the change of the weight that goes with it.
    pub(super) fn change(&mut self, slack_change: f64) {
        self.slack_change = slack_change;
        self.weight_change = (self.aim - self.weight * slack_change) * self.inverse;
    }

    /// Moves the aim so that the product after a step is within the bounds. A product that is far too large is corrected in
    /// part.
    pub(super) fn balance(&mut self, step: f64, (least, most): (f64, f64)) {
        let product = self.product_after(step);
        self.aim += (product.clamp(least, most) - product).max(-most);
    }

    /// The greatest share of one of both that a step of length 1 takes away; negative if it takes nothing.
    pub(super) fn decrease(&self) -> f64 {
        (-self.weight_change / self.weight).max(-self.slack_change * self.inverse)
    }

    /// The weight that leads to its aim while the slack stays.
    pub(super) fn wanted(&self) -> f64 {
        self.weight + self.aim * self.inverse
    }

    /// The product of the last changes.
    pub(super) fn second(&self) -> f64 {
        self.weight_change * self.slack_change
    }

    /// Makes the slack larger.
    pub(super) fn widen(&mut self, by: f64) {
        self.slack += by;
        self.inverse = self.slack.recip();
    }

    /// Their product after a step.
    pub(super) fn product_after(&self, step: f64) -> f64 {
        (self.weight + step * self.weight_change) * (self.slack + step * self.slack_change)
    }

    pub(super) fn go(&mut self, step: f64) {
        self.weight += step * self.weight_change;
        self.slack += step * self.slack_change;
        self.inverse = self.slack.recip();
    }

    /// `v`: weight over slack.
    pub(super) fn ratio(&self) -> f64 {
        self.weight * self.inverse
    }
}

/// A cut and its constraint.
#[derive(Clone, Copy, Debug)]
pub(super) struct Working {
    pub(super) cut: usize,
    /// `alpha_i / eta`.
    pub(super) error: f64,
    pub(super) pair: Pair,
    /// Its share in the weights to return, and its product with a vector.
    pub(super) share: f64,
    pub(super) slope: f64,
    /// Its dense row.
    pub(super) row: usize,
    /// Whether it has retired before.
    pub(super) has_returned: bool,
}

impl Working {
    pub(super) fn new(cut: usize, row: usize, error: f64) -> Self {
        Self { cut, error, pair: Pair::default(), share: 0.0, slope: 0.0, row, has_returned: false }
    }

    /// Whether its weight is at most `limit` and counts for nothing beside its slack. `unit` is the mean part of a component
    /// in the predicted decrease.
    pub(super) fn is_small(&self, limit: f64, unit: f64) -> bool {
        self.pair.weight <= limit && self.pair.weight * unit < self.pair.slack
    }
}

/// The cuts of a component, a range of all.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) component: usize,
    pub(super) cuts: std::ops::Range<usize>,
}

/// A bound on a variable: the variable, the sign of its slack's change along the variable, and its constraint.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    pub(super) at: usize,
    pub(super) sign: f64,
    pub(super) pair: Pair,
}
