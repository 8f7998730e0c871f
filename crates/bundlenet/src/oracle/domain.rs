//! Where the variables may lie, and which way the function is optimised.

use std::fmt;

/// Direction of optimisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sense {
    /// The smaller the better.
    Minimize,
    /// The larger the better.
    Maximize,
}

impl Sense {
    /// `1.0` to minimise, `-1.0` to maximise: what a value is multiplied by to be minimised.
    #[must_use]
    pub fn sign(self) -> f64 {
        match self {
            Self::Minimize => 1.0,
            Self::Maximize => -1.0,
        }
    }

    /// The other sense: a problem's Lagrangian dual is optimised the other way round.
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

/// Where the variables may lie.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Domain {
    /// Every real vector.
    #[default]
    Free,
    /// Vectors without negative entries.
    Nonnegative,
    /// For each coordinate, whether it must be nonnegative.
    PerCoordinate(Vec<Bound>),
}

/// What one coordinate of a [`Domain::PerCoordinate`] is held to.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_project_and_detect() {
        let mixed = Domain::PerCoordinate(vec![Bound::Free, Bound::Nonnegative]);
        let mut point = [-1.0, -2.0];
        assert_eq!(mixed.violation(&point), Some(1));
        mixed.project(&mut point);
        assert_eq!(point, [-1.0, 0.0]);
        assert_eq!(mixed.violation(&point), None);
        assert_eq!(Domain::Free.violation(&[-1.0]), None);
        assert_eq!(Domain::Nonnegative.violation(&[-1.0]), Some(0));
    }
}
