//! The domain of the variables, and the sense of optimisation.

use std::fmt;

/// Direction of optimisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sense {
    /// Smaller values are better.
    Minimize,
    /// Larger values are better.
    Maximize,
}

impl Sense {
    /// `1.0` to minimise, `-1.0` to maximise. A value times this sign is to be minimised.
    #[must_use]
    pub fn sign(self) -> f64 {
        match self {
            Self::Minimize => 1.0,
            Self::Maximize => -1.0,
        }
    }

    /// The other sense. The Lagrangian dual of a problem has the opposite sense.
    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            Self::Minimize => Self::Maximize,
            Self::Maximize => Self::Minimize,
        }
    }
}

impl fmt::Display for Sense {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Minimize => "minimise",
            Self::Maximize => "maximise",
        })
    }
}

/// The domain of the variables: all points, or those between a lower and an upper limit for each coordinate.
///
/// ```
/// use bundlenet::Domain;
///
/// let domain = Domain::between([(0.0, 1.0), (f64::NEG_INFINITY, 5.0)]);
/// let mut point = [-1.0, -7.0];
/// domain.project(&mut point);
/// assert_eq!(point, [0.0, -7.0]);
/// assert_eq!(domain.limits(1), (f64::NEG_INFINITY, 5.0));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Domain {
    /// Every real vector.
    #[default]
    Free,
    /// Vectors without negative entries.
    Nonnegative,
    /// One bound for each coordinate.
    PerCoordinate(Vec<Bound>),
}

/// Bound on one coordinate of a [`Domain::PerCoordinate`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// Any real number.
    Free,
    /// Zero or more.
    Nonnegative,
    /// At least `lower` and at most `upper`. Either one may be infinite. If both are the same, the variable is fixed.
    Between {
        /// The smallest value.
        lower: f64,
        /// The largest value.
        upper: f64,
    },
}

impl Bound {
    /// The smallest and the largest value.
    #[must_use]
    pub fn limits(self) -> (f64, f64) {
        match self {
            Self::Free => (f64::NEG_INFINITY, f64::INFINITY),
            Self::Nonnegative => (0.0, f64::INFINITY),
            Self::Between { lower, upper } => (lower, upper),
        }
    }

    /// Whether some number is within the limits.
    fn is_possible(self) -> bool {
        let (lower, upper) = self.limits();
        lower <= upper && lower < f64::INFINITY && upper > f64::NEG_INFINITY
    }
}

impl Domain {
    /// The box between a lower and an upper limit for each coordinate. Limits may be infinite.
    #[must_use]
    pub fn between(limits: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self::PerCoordinate(limits.into_iter().map(|(lower, upper)| Bound::Between { lower, upper }).collect())
    }

    /// The smallest and the largest value of coordinate `index`. They may be infinite.
    #[must_use]
    pub fn limits(&self, index: usize) -> (f64, f64) {
        match self {
            Self::Free => Bound::Free.limits(),
            Self::Nonnegative => Bound::Nonnegative.limits(),
            Self::PerCoordinate(bounds) => bounds.get(index).map_or_else(|| Bound::Free.limits(), |it| it.limits()),
        }
    }

    /// Whether coordinate `index` must be nonnegative.
    #[must_use]
    pub fn is_nonnegative(&self, index: usize) -> bool {
        self.limits(index).0 >= 0.0
    }

    /// Moves `point` to the nearest point of the domain.
    pub fn project(&self, point: &mut [f64]) {
        match self {
            Self::Free => {}
            Self::Nonnegative => point.iter_mut().filter(|entry| **entry < 0.0).for_each(|entry| *entry = 0.0),
            Self::PerCoordinate(bounds) => {
                for (entry, bound) in point.iter_mut().zip(bounds) {
                    *entry = crossed(bound.limits(), *entry).unwrap_or(*entry);
                }
            }
        }
    }

    /// The first coordinate of `point` that lies outside the domain.
    #[must_use]
    pub fn violation(&self, point: &[f64]) -> Option<usize> {
        match self {
            Self::Free => None,
            Self::Nonnegative => point.iter().position(|&entry| entry < 0.0),
            Self::PerCoordinate(bounds) => {
                point.iter().zip(bounds).position(|(&entry, bound)| crossed(bound.limits(), entry).is_some())
            }
        }
    }

    /// The first coordinate without a possible value: a limit is not a number, or the lower one exceeds the upper one.
    pub(crate) fn impossible(&self) -> Option<usize> {
        match self {
            Self::Free | Self::Nonnegative => None,
            Self::PerCoordinate(bounds) => bounds.iter().position(|bound| !bound.is_possible()),
        }
    }

    /// The same domain as one of the simple cases, if it is one. Methods are faster on those.
    pub(crate) fn simplified(self) -> Self {
        let Self::PerCoordinate(bounds) = &self else { return self };
        let are_all = |kind: Bound| bounds.iter().all(|bound| bound.limits() == kind.limits());
        match () {
            () if are_all(Bound::Free) => Self::Free,
            () if are_all(Bound::Nonnegative) => Self::Nonnegative,
            () => self,
        }
    }

    /// Lower and upper corner of the domain of `dim` variables, if it is bounded on all sides.
    pub(crate) fn corners(&self, dim: usize) -> Option<(Vec<f64>, Vec<f64>)> {
        let is_bounded = |(lower, upper): (f64, f64)| lower.is_finite() && upper.is_finite();
        let limits = (0..dim).map(|index| self.limits(index));
        limits.clone().all(is_bounded).then(|| limits.unzip())
    }
}

/// The limit beyond which a number lies, if it does.
pub(crate) fn crossed((lower, upper): (f64, f64), number: f64) -> Option<f64> {
    match number {
        _ if number < lower => Some(lower),
        _ if number > upper => Some(upper),
        _ => None,
    }
}

/// An entry of the direction that keeps the trial point within its limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bent {
    /// Entry `w` of the direction. The trial point `centre - eta w` is at the limit.
    pub(crate) direction: f64,
    /// Addition to the aggregate linearisation error: `mu (centre - limit) >= 0`, where `mu = sum - w`.
    pub(crate) error: f64,
}

/// Bends a step from `centre` to `centre - eta sum`, if it leads beyond a limit.
pub(crate) fn bend(limits: (f64, f64), centre: f64, sum: f64, eta: f64) -> Option<Bent> {
    let way = centre - crossed(limits, centre - eta * sum)?;
    let direction = way / eta;
    // The product is nonnegative. Round-off may say otherwise.
    Some(Bent { direction, error: ((sum - direction) * way).max(0.0) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bundlenet_linalg::Stream;

    const INFINITE: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

    fn random_limits(stream: &mut Stream) -> (f64, f64) {
        let (a, b) = (stream.normal(), stream.normal());
        match stream.below(6) {
            0 => INFINITE,
            1 => (0.0, f64::INFINITY),
            2 => (a, f64::INFINITY),
            3 => (f64::NEG_INFINITY, a),
            4 => (a, a),
            _ => (a.min(b), a.max(b)),
        }
    }

    /// The projection is inside, is the nearest point, and leaves points inside alone.
    #[test]
    fn projections_are_nearest_points() {
        let mut stream = Stream::new(1, "domains", 0);
        for _ in 0..500 {
            let limits: Vec<(f64, f64)> = (0..1 + stream.below(5)).map(|_| random_limits(&mut stream)).collect();
            let domain = Domain::between(limits.iter().copied());
            let point: Vec<f64> = limits.iter().map(|_| 2.0 * stream.normal()).collect();
            let mut moved = point.clone();
            domain.project(&mut moved);
            assert_eq!(domain.violation(&moved), None);
            assert_eq!(domain.violation(&point), point.iter().zip(&moved).position(|(a, b)| a != b));
            for ((&(lower, upper), &from), &to) in limits.iter().zip(&point).zip(&moved) {
                assert_eq!(to, from.clamp(lower, upper));
            }
            let simple = domain.clone().simplified();
            let mut again = point.clone();
            simple.project(&mut again);
            assert_eq!((again, simple.violation(&point)), (moved, domain.violation(&point)));
            (0..limits.len()).for_each(|index| assert_eq!(simple.limits(index), limits[index]));
        }
    }

    #[test]
    fn simple_domains_are_recognised() {
        assert_eq!(Domain::between([INFINITE; 3]).simplified(), Domain::Free);
        assert_eq!(Domain::PerCoordinate(vec![Bound::Nonnegative; 2]).simplified(), Domain::Nonnegative);
        assert_eq!(Domain::between([(0.0, f64::INFINITY)]).simplified(), Domain::Nonnegative);
        let mixed = Domain::between([INFINITE, (0.0, f64::INFINITY)]);
        assert_eq!(mixed.clone().simplified(), mixed);
        assert_eq!(mixed.corners(2), None);
        assert_eq!(Domain::between([(1.0, 2.0), (3.0, 3.0)]).corners(2), Some((vec![1.0, 3.0], vec![2.0, 3.0])));
    }

    #[test]
    fn impossible_bounds_are_found() {
        let infinity = f64::INFINITY;
        for (lower, upper) in
            [(f64::NAN, 1.0), (1.0, f64::NAN), (2.0, 1.0), (infinity, infinity), (-infinity, -infinity)]
        {
            assert_eq!(Domain::between([INFINITE, (lower, upper)]).impossible(), Some(1), "{lower} {upper}");
        }
        assert_eq!(Domain::between([INFINITE, (1.0, 1.0), (0.0, infinity), (-infinity, 0.0)]).impossible(), None);
    }

    /// A bent step ends at its limit, and its aggregate inequality holds in the whole interval.
    #[test]
    fn bent_steps_end_at_limits() {
        let mut stream = Stream::new(2, "domains", 0);
        for _ in 0..2000 {
            let (lower, upper) = random_limits(&mut stream);
            let (centre, sum) = (stream.normal().clamp(lower, upper), stream.normal());
            let eta = 10_f64.powi(stream.below(5) as i32 - 2);
            let Some(Bent { direction, error }) = bend((lower, upper), centre, sum, eta) else {
                assert!((lower..=upper).contains(&(centre - eta * sum)));
                continue;
            };
            let limit = if sum > 0.0 { lower } else { upper };
            assert!((centre - eta * direction - limit).abs() <= 1e-15 * (centre.abs() + limit.abs()));
            assert!(error >= 0.0);
            // sum (y - centre) >= direction (y - centre) - error for all y in the interval.
            for y in [lower.max(-9.0), upper.min(9.0), 0.5 * (lower.max(-9.0) + upper.min(9.0))] {
                let way = y - centre;
                assert!(sum * way >= direction * way - error - 1e-13 * (1.0 + error), "{limit} {centre} {sum} {eta}");
            }
        }
    }
}
