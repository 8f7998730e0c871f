//! Bounds on the variables of a component master, as bounds on the aggregate subgradient.

use crate::model::{ComponentBundle, Model};
use crate::oracle::Domain;

/// The values of `s` between which `h` is quadratic, by coordinate.
#[derive(Clone, Debug, Default)]
pub(super) struct Caps {
    upper: Vec<f64>,
    /// Empty if no variable has an upper bound.
    lower: Vec<f64>,
    /// Whether any variable has a bound.
    are_any: bool,
}

impl Caps {
    pub(super) fn set(&mut self, limits: &Limits, bundle: &ComponentBundle, eta: f64) {
        let Self { upper, lower, are_any } = self;
        let units = || bundle.centre().point.iter().zip(bundle.metric().iter().map(|metric| eta * metric));
        // A lower bound on a variable caps `s` from above.
        let cap = |((centre, unit), limit): ((&f64, f64), &f64)| (centre - limit) / unit;
        upper.clear();
        upper.extend(units().zip(&limits.lower).map(cap));
        lower.clear();
        if limits.has_upper {
            lower.extend(units().zip(&limits.upper).map(cap));
        }
        *are_any = limits.has_upper || limits.has_lower;
    }

    /// The values between which `h` is quadratic at a coordinate.
    pub(super) fn limits(&self, at: usize) -> (f64, f64) {
        (self.lower.get(at).map_or(f64::NEG_INFINITY, |lower| *lower), self.upper[at])
    }

    /// Whether any variable has a bound.
    pub(super) fn are_any(&self) -> bool {
        self.are_any
    }

    /// `w` at a value of `s`.
    pub(super) fn clip(&self, at: usize, sum: f64) -> f64 {
        let below = sum.min(self.upper[at]);
        self.lower.get(at).map_or(below, |lower| below.max(*lower))
    }

    /// `w` at values of `s`.
    pub(super) fn clip_all(&self, sums: &[f64], clipped: &mut [f64]) {
        let uppers = sums.iter().zip(&self.upper);
        clipped.iter_mut().zip(uppers).for_each(|(clipped, (sum, upper))| *clipped = sum.min(*upper));
        clipped.iter_mut().zip(&self.lower).for_each(|(clipped, lower)| *clipped = clipped.max(*lower));
    }

    /// Whether `h` is quadratic at a value of `s`.
    pub(super) fn is_within(&self, at: usize, sum: f64) -> bool {
        sum <= self.upper[at] && self.lower.get(at).is_none_or(|lower| sum >= *lower)
    }
}

/// Lower and upper limits of all variables.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    lower: Vec<f64>,
    upper: Vec<f64>,
    has_lower: bool,
    has_upper: bool,
}

impl Limits {
    pub(super) fn new(domain: &Domain, dim: usize) -> Self {
        let (lower, upper): (Vec<f64>, Vec<f64>) = (0..dim).map(|index| domain.limits(index)).unzip();
        let has = |limits: &[f64]| limits.iter().any(|limit| limit.is_finite());
        Self { has_lower: has(&lower), has_upper: has(&upper), lower, upper }
    }
}
