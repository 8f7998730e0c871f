//! The stability centre, and its movement after a step.

use crate::oracle::Evaluation;

/// The stability centre: the reference point of the cuts.
#[derive(Clone, Debug)]
pub(crate) struct Centre {
    pub(crate) point: Vec<f64>,
    /// Value of the function at the centre, or an upper bound on it.
    pub(crate) value: f64,
    /// Largest width of the oracle's values that `value` is a mean of.
    pub(crate) width: f64,
    /// Whether `value` is the value that the oracle returned at the centre.
    pub(crate) is_exact: bool,
}

impl Centre {
    pub(crate) fn new(point: &[f64], value: f64, width: f64) -> Self {
        Self { point: point.to_vec(), value, width, is_exact: true }
    }

    /// Moves a share of the way to the point of an evaluation. The value of the centre is interpolated in the same way;
    /// by convexity it is an upper bound.
    pub(crate) fn move_towards(&mut self, Evaluation { point, value, width, .. }: &Evaluation, share: f64) {
        if share == 1.0 {
            self.point.copy_from_slice(point);
            (self.value, self.width) = (*value, *width);
            self.is_exact = true;
        } else if share > 0.0 {
            let stay = 1.0 - share;
            for (entry, target) in self.point.iter_mut().zip(point) {
                // Round-off must not lead out of a box that holds both points.
                let (low, high) = (entry.min(*target), entry.max(*target));
                *entry = (share * target + stay * *entry).max(low).min(high);
            }
            self.value = share * value + stay * self.value;
            self.width = self.width.max(*width);
            self.is_exact = false;
        }
    }
}

/// Rule for the movement of the centre after a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum CentrePolicy {
    /// A serious step moves it to the trial point; a null step leaves it.
    Hard,
    /// Every step moves it towards the trial point by the softmin of the two values,
    /// `sigmoid((f(centre) - f(trial)) / temperature + offset)`. The paper has temperature 1 and offset 0.
    Soft { temperature: f64, offset: f64 },
    /// Every step moves it towards the trial point, to a multiple of the minimum of a parabola: `serious` or `null`, by the
    /// kind of the step. The parabola goes through the two values and begins with the predicted slope.
    Parabola { serious: f64, null: f64 },
    /// Every step moves it to the minimum of the model with the new cut, but not beyond the trial point.
    Reach,
}

impl CentrePolicy {
    /// The same rule, but the centre follows null steps as serious ones.
    pub(crate) fn unsettled(self) -> Self {
        match self {
            Self::Parabola { serious, .. } => Self::Parabola { serious, null: serious },
            other => other,
        }
    }

    /// Share of the way to the trial point. `rise` is `f(trial) - f(centre)`, `promised` the decrease predicted by the
    /// model, `reach` the minimum of the model with the new cut, as a multiple of the way.
    pub(crate) fn share(self, is_serious: bool, rise: f64, promised: f64, reach: Option<f64>) -> f64 {
        match self {
            Self::Hard => f64::from(is_serious),
            Self::Soft { temperature, offset } => 1.0 / (1.0 + (rise / temperature - offset).exp()),
            Self::Parabola { serious, null } => {
                let factor = if is_serious { serious } else { null };
                let missing = 2.0 * (promised + rise);
                if missing > factor * promised { (factor * promised / missing).max(0.0) } else { 1.0 }
            }
            Self::Reach => reach.map_or(f64::from(is_serious), |reach| reach.clamp(0.0, 1.0)),
        }
    }
}
