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

/// The domain of the variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Any real number.
    Free,
    /// Zero or more.
    Nonnegative,
}

impl Domain {
    /// Whether coordinate `index` must be nonnegative.
    #[must_use]
    pub fn is_nonnegative(&self, index: usize) -> bool {
        match self {
            Self::Free => false,
            Self::Nonnegative => true,
            Self::PerCoordinate(bounds) => bounds.get(index) == Some(&Bound::Nonnegative),
        }
    }

    /// Moves `point` to the nearest point of the domain.
    pub fn project(&self, point: &mut [f64]) {
        if *self == Self::Free {
            return;
        }
        for (index, entry) in point.iter_mut().enumerate() {
            if *entry < 0.0 && self.is_nonnegative(index) {
                *entry = 0.0;
            }
        }
    }

    /// The first coordinate of `point` that lies outside the domain.
    #[must_use]
    pub fn violation(&self, point: &[f64]) -> Option<usize> {
        if *self == Self::Free {
            return None;
        }
        point.iter().enumerate().position(|(index, &entry)| entry < 0.0 && self.is_nonnegative(index))
    }
}
