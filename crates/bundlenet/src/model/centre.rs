//! The stability centre, and how it moves.

/// The point that the cuts are around.
#[derive(Clone, Debug)]
pub(crate) struct Centre {
    pub(crate) point: Vec<f64>,
    /// The function's value there, or an upper bound.
    pub(crate) value: f64,
    /// Whether it is the value.
    pub(crate) is_exact: bool,
}

impl Centre {
    pub(crate) fn new(point: &[f64], value: f64) -> Self {
        Self { point: point.to_vec(), value, is_exact: true }
    }

    /// Moves a share of the way to a point where the function has the given value; the centre's value moves by the same share,
    /// which is an upper bound by convexity.
    pub(crate) fn move_towards(&mut self, point: &[f64], value: f64, share: f64) {
        if share == 1.0 {
            self.point.copy_from_slice(point);
            self.value = value;
            self.is_exact = true;
        } else if share > 0.0 {
            let stay = 1.0 - share;
            self.point.iter_mut().zip(point).for_each(|(entry, target)| *entry = share * target + stay * *entry);
            self.value = share * value + stay * self.value;
            self.is_exact = false;
        }
    }
}

/// How the centre moves after a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum CentrePolicy {
    /// A serious step moves it to the trial point, a null step leaves it.
    Hard,
    /// Every step moves it towards the trial point by the softmin of the two values,
    /// `sigmoid((f(centre) - f(trial)) / temperature + offset)`; the paper has temperature 1 and offset 0.
    Soft { temperature: f64, offset: f64 },
    /// Every step moves it towards the trial point, to `factor` times the minimum of the parabola through the two values that
    /// begins with the promised slope.
    Parabola { factor: f64 },
    /// Every step moves it to the minimum of the model with the new cut, at most to the trial point.
    Reach,
}

impl CentrePolicy {
    /// Share of the way to the trial point, from `f(trial) - f(centre)`, the decrease that the model promised, and the minimum
    /// of the model with the new cut on that way.
    pub(crate) fn share(self, is_serious: bool, rise: f64, promised: f64, reach: Option<f64>) -> f64 {
        match self {
            Self::Hard => f64::from(is_serious),
            Self::Soft { temperature, offset } => 1.0 / (1.0 + (rise / temperature - offset).exp()),
            Self::Parabola { factor } => {
                let missing = 2.0 * (promised + rise);
                if missing > factor * promised { (factor * promised / missing).max(0.0) } else { 1.0 }
            }
            Self::Reach => reach.map_or(f64::from(is_serious), |reach| reach.clamp(0.0, 1.0)),
        }
    }
}
