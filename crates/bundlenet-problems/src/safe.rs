//! Bounds that hold in exact arithmetic.
//!
//! Any multipliers give a valid bound, so they may be rounded to multiples of `2^-bits`. Integer data and such
//! multipliers, multiplied by `2^bits`, give subproblems in integers. [`Grid::finest`] chooses `bits` so that 64 bits
//! suffice. Only the last step, from a fraction to a floating-point number, rounds, and it rounds to the safe side.

use std::fmt;

use thiserror::Error;

use crate::error::{Element, InvalidInstance};
use bundlenet::Sense;
use bundlenet_linalg::simd::{LANES, Lanes, multiversion};

/// Largest data, and largest number on the grid in its units: `2^50`. Sums of a few such numbers are exact also in
/// floating point.
const MOST_NUMBER: f64 = (1_u64 << 50) as f64;

/// Largest sum in a subproblem, in units of the grid: `2^61`, a quarter of the range of 64 bits. The margin covers the
/// rounding of the multipliers and of the choice of the grid.
const MOST_SUM: f64 = (1_u64 << 61) as f64;

/// The finest grid.
const MOST_BITS: u32 = 50;

/// Added to a number within `2^51`, it leaves no bits for a fraction: the last bits then hold the integer.
const ROUNDING: f64 = 1.5 * (1_u64 << 52) as f64;

/// A bound on the optimum of a problem that holds in exact arithmetic: the exact value of the Lagrangian dual at
/// [`SafeBound::multipliers`]. The linear relaxation replaces a 0/1 knapsack that is too hard to solve.
///
/// It is a lower bound if the problem minimises, an upper bound if it maximises. As text it is an exact fraction,
/// such as `-7/4`.
///
/// ```
/// use bundlenet::Sense;
/// use bundlenet_problems::Assignment;
///
/// // One bin holds one of the two items; at a price of a third each, the better one is worth 3 - 1/3.
/// let problem = Assignment::new(Sense::Maximize, 2, vec![1], vec![3.0, 2.0], vec![1, 1])?;
/// let bound = problem.safe_bound(&[1.0 / 3.0, 1.0 / 3.0])?;
/// assert!((bound.value() - (3.0 + 1.0 / 3.0)).abs() < 1e-12);
/// assert_eq!(problem.safe_bound(&[0.25, 0.5])?.to_string(), "7/2");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SafeBound {
    numerator: i128,
    bits: u32,
    dual_sense: Sense,
    multipliers: Vec<f64>,
}

impl SafeBound {
    /// The bound as a floating-point number, itself a valid bound: a lower bound is rounded down, an upper bound up.
    #[must_use]
    pub fn value(&self) -> f64 {
        let nearest = self.numerator as f64;
        // Far below 2^127: the conversion back is exact.
        let back = nearest as i128;
        let safe = match self.dual_sense {
            Sense::Maximize if back > self.numerator => nearest.next_down(),
            Sense::Minimize if back < self.numerator => nearest.next_up(),
            _ => nearest,
        };
        safe / power(self.bits)
    }

    /// Numerator and denominator of the bound in lowest terms; the denominator is a power of two.
    #[must_use]
    pub fn fraction(&self) -> (i128, i128) {
        let common = self.numerator.trailing_zeros().min(self.bits);
        (self.numerator >> common, 1 << (self.bits - common))
    }

    /// A number on the grid of the bound, in its units.
    pub(super) fn units(&self, number: f64) -> i64 {
        Grid { bits: self.bits, scale: power(self.bits) }.units(number)
    }

    /// Units of the grid in 1.
    pub(super) fn one(&self) -> i64 {
        1 << self.bits
    }

    /// The multipliers whose dual value the bound is: the given ones, rounded to dyadic numbers.
    #[must_use]
    pub fn multipliers(&self) -> &[f64] {
        &self.multipliers
    }
}

impl fmt::Display for SafeBound {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.fraction() {
            (numerator, 1) => write!(formatter, "{numerator}"),
            (numerator, denominator) => write!(formatter, "{numerator}/{denominator}"),
        }
    }
}

/// Why there is no safe bound.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum UnsafeBound {
    /// The family has none.
    #[error("{family} has no safe bounds: {reason}")]
    Family {
        /// Name of the family.
        family: &'static str,
        /// Why it has none.
        reason: &'static str,
    },
    /// The family has no proofs.
    #[error("{family} has no proofs: expected network design or generalised assignment")]
    Proof {
        /// Name of the family.
        family: &'static str,
    },
    /// A number of the instance is not whole, or too large.
    #[error("safe bounds need integer data: {0}")]
    Data(InvalidInstance),
    /// Sums of the instance's numbers, or of their products, do not fit into 64 bits.
    #[error("safe bounds need smaller data: expected sums that 64 bits hold, found up to {found:e}")]
    DataRange {
        /// The largest sum.
        found: f64,
    },
    /// There are more or fewer multipliers than the dual has.
    #[error("the multipliers have the wrong length: expected {expected}, found {found}")]
    Length {
        /// Dimension of the dual.
        expected: usize,
        /// Multipliers given.
        found: usize,
    },
    /// A multiplier is not finite.
    #[error("multiplier {index}: expected a finite number, found {found}")]
    NotFinite {
        /// Which one, counted from 0.
        index: usize,
        /// Its value.
        found: f64,
    },
    /// A multiplier is too large: sums of its products with the data do not fit into 64 bits.
    #[error(
        "safe bounds need smaller multipliers: expected 64 bits to hold their products with the data, found {found:e}"
    )]
    MultiplierRange {
        /// The greatest magnitude.
        found: f64,
    },
}

/// Sizes of the data, from which the largest number and sum of a subproblem follow.
#[derive(Clone, Copy, Debug)]
pub struct Magnitudes {
    /// Largest cost or profit.
    pub cost: f64,
    /// Number of multipliers added to it, each as often as its factor says.
    pub multipliers: f64,
    /// Largest factor of this sum.
    pub amount: f64,
    /// Largest constant added to the product.
    pub fixed: f64,
}

impl Magnitudes {
    /// The greatest number, and the greatest sum, for multipliers up to a size.
    fn extremes(&self, multiplier: f64) -> (f64, f64) {
        let number = self.cost + self.multipliers * multiplier;
        (number, self.fixed + number * self.amount)
    }

    /// Refuses data that fit on no grid, even with multipliers of 0.
    ///
    /// # Errors
    /// If they do.
    pub fn check(self) -> Result<Self, UnsafeBound> {
        if self.amount > MOST_NUMBER {
            return Err(UnsafeBound::DataRange { found: self.amount });
        }
        let (number, sum) = self.extremes(0.0);
        Grid::finest(number, sum).map(|_| self).ok_or(UnsafeBound::DataRange { found: sum })
    }

    /// Rounds multipliers to the finest grid, and up to `least`.
    ///
    /// # Errors
    /// If multipliers are not finite, are too large, or are not as many as `expected`.
    pub fn round(&self, multipliers: &[f64], expected: usize, least: f64) -> Result<Rounded, UnsafeBound> {
        if multipliers.len() != expected {
            return Err(UnsafeBound::Length { expected, found: multipliers.len() });
        }
        if let Some(index) = multipliers.iter().position(|multiplier| !multiplier.is_finite()) {
            return Err(UnsafeBound::NotFinite { index, found: multipliers[index] });
        }
        let largest = extent(multipliers).largest;
        let (number, sum) = self.extremes(largest);
        let grid = Grid::finest(number, sum).ok_or(UnsafeBound::MultiplierRange { found: largest })?;
        let multipliers = multipliers.iter().map(|multiplier| grid.round(multiplier.max(least))).collect();
        Ok(Rounded { grid, multipliers })
    }
}

/// Multipliers on a grid.
#[derive(Clone, Debug)]
pub struct Rounded {
    /// The grid.
    pub grid: Grid,
    /// The multipliers.
    pub multipliers: Vec<f64>,
}

impl Rounded {
    /// A bound in units of the grid. `dual_sense` is the sense of the dual.
    #[must_use]
    pub fn bound(self, units: i128, dual_sense: Sense) -> SafeBound {
        SafeBound { numerator: units, bits: self.grid.bits, dual_sense, multipliers: self.multipliers }
    }
}

/// The multiples of a power of two.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    bits: u32,
    /// Units of the grid in 1.
    scale: f64,
}

impl Grid {
    /// The finest grid on which numbers and sums of these sizes fit, if there is one.
    fn finest(number: f64, sum: f64) -> Option<Self> {
        (0..=MOST_BITS)
            .rev()
            .map(|bits| Self { bits, scale: power(bits) })
            .find(|grid| number * grid.scale <= MOST_NUMBER && sum * grid.scale <= MOST_SUM)
    }

    /// The nearest number on the grid.
    fn round(self, number: f64) -> f64 {
        // Adding zero turns -0 into 0.
        (number * self.scale + ROUNDING - ROUNDING) / self.scale + 0.0
    }

    /// A number on the grid, in its units.
    #[must_use]
    #[inline(always)]
    pub fn units(self, number: f64) -> i64 {
        ((number * self.scale + ROUNDING).to_bits() as i64).wrapping_sub(ROUNDING.to_bits() as i64)
    }
}

fn power(bits: u32) -> f64 {
    (1_u64 << bits) as f64
}

/// The greatest magnitude of the data. They have to be whole and within `2^50`.
pub(super) fn largest_integer(data: &[f64], element: impl Fn(usize) -> Element) -> Result<f64, UnsafeBound> {
    let Extent { largest, fraction } = extent(data);
    if largest <= MOST_NUMBER && fraction == 0.0 {
        return Ok(largest);
    }
    let is_wrong = |number: &f64| number.abs() > MOST_NUMBER || number.fract() != 0.0;
    match data.iter().position(is_wrong) {
        Some(at) => Err(UnsafeBound::Data(InvalidInstance::new(element(at), "an integer within 2^50", data[at]))),
        None => Ok(largest),
    }
}

/// The greatest magnitude of numbers, and their greatest distance from whole numbers.
struct Extent {
    largest: f64,
    fraction: f64,
}

#[inline(always)]
fn extent_kernel<L: Lanes>(numbers: &[f64]) -> Extent {
    let (zero, rounding) = (L::splat(0.0), L::splat(ROUNDING));
    let (mut largest, mut fraction) = (zero, zero);
    let (chunks, rest) = numbers.as_chunks();
    let mut last = [0.0; LANES];
    last[..rest.len()].copy_from_slice(rest);
    for chunk in chunks.iter().chain([&last]) {
        let number = L::load_array(chunk);
        let difference = number.add(rounding).sub(rounding).sub(number);
        largest = number.max(zero.sub(number)).max(largest);
        fraction = difference.max(zero.sub(difference)).max(fraction);
    }
    Extent { largest: largest.greatest(), fraction: fraction.greatest() }
}

multiversion! {
    fn extent(numbers: &[f64]) -> Extent = extent_kernel;
}
