//! Classical nonsmooth test functions with their known optima and standard start points.
//!
//! Definitions, start points and optima of the functions of fixed dimension follow L. Lukšan and J. Vlček, *Test
//! problems for nonsmooth unconstrained and linearly constrained optimization* (report 798, Institute of Computer
//! Science, Prague, 2000); MAXQUAD, Shor and CB2 optima are given to more digits than printed there. Functions of any
//! dimension follow M. Haarala, K. Miettinen and M. M. Mäkelä, *New limited memory bundle method for large-scale
//! nonsmooth optimization* (Optimization Methods and Software 19, 2004).

mod large;
mod small;

use std::fmt;

use bundlenet::{Minorants, Oracle, OracleError, SumOracle};

/// A convex test function with a known minimum.
///
/// ```
/// use bundlenet::{Function, Oracle};
/// use bundlenet_problems::Academic;
///
/// let mut function = Academic::Cb2;
/// let mut subgradient = vec![0.0; function.dim()];
/// let start = function.start();
/// let value = Function::new(&mut function)?.evaluate(&start, &mut subgradient)?;
/// assert!(function.relative_gap(value) > 1.0);
/// # Ok::<(), bundlenet::EvaluationError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Academic {
    /// Maximum of five convex quadratics in ten variables (Lemaréchal).
    Maxquad,
    /// Maximum of ten weighted squared distances in five variables (Shor).
    Shor,
    /// Maximum of a quartic, a quadratic and an exponential in two variables (Charalambous and Bandler).
    Cb2,
    /// `50 max x_i - sum x_i` in fifty variables (Goffin).
    Goffin,
    /// Largest absolute entry of a Hilbert matrix times the point, in fifty variables (Kiwiel).
    Mxhilb,
    /// As [`Cb2`](Self::Cb2), with another quartic (Charalambous and Bandler).
    Cb3,
    /// Maximum of two linear functions and a quadratic in two variables (Demyanov and Malozemov).
    Dem,
    /// A quadratic with two linear penalties in two variables.
    Ql,
    /// A linear function with a quadratic penalty in two variables.
    Lq,
    /// A linear function with a steep quadratic penalty in two variables (Mifflin).
    Mifflin1,
    /// A quadratic with three quadratic penalties in four variables (Rosen and Suzuki).
    Rosen,
    /// Largest square of an entry, in twenty variables.
    Maxq,
    /// Largest absolute entry, in twenty variables.
    Maxl,
    /// Sum of the absolute entries of a Hilbert matrix times the point, in fifty variables (Kiwiel). A sum.
    L1hilb,
    /// [`Maxq`](Self::Maxq) in any number of variables.
    MaxqOf(usize),
    /// [`Mxhilb`](Self::Mxhilb) in any number of variables.
    MxhilbOf(usize),
    /// Sum of [`Lq`](Self::Lq) over neighbouring variables.
    ChainedLq(usize),
    /// Sum of [`Cb3`](Self::Cb3) over neighbouring variables.
    ChainedCb3I(usize),
    /// Maximum of the sums of each piece of [`Cb3`](Self::Cb3) over neighbouring variables.
    ChainedCb3II(usize),
}

impl Academic {
    /// All of fixed dimension.
    pub const ALL: [Self; 14] = [
        Self::Maxquad,
        Self::Shor,
        Self::Cb2,
        Self::Goffin,
        Self::Mxhilb,
        Self::Cb3,
        Self::Dem,
        Self::Ql,
        Self::Lq,
        Self::Mifflin1,
        Self::Rosen,
        Self::Maxq,
        Self::Maxl,
        Self::L1hilb,
    ];

    /// All of any dimension, in `dim` variables.
    #[must_use]
    pub fn of_dimension(dim: usize) -> [Self; 5] {
        [Self::MaxqOf(dim), Self::MxhilbOf(dim), Self::ChainedLq(dim), Self::ChainedCb3I(dim), Self::ChainedCb3II(dim)]
    }

    /// The minimum.
    #[must_use]
    pub fn optimum(self) -> f64 {
        match self {
            Self::Maxquad => -0.841_408_334_596,
            Self::Shor => 22.600_162_095_771,
            Self::Cb2 => 1.952_224_493_870_659,
            Self::Cb3 => 2.0,
            Self::Dem => -3.0,
            Self::Ql => 7.2,
            Self::Lq => -std::f64::consts::SQRT_2,
            Self::Mifflin1 => -1.0,
            Self::Rosen => -44.0,
            Self::Goffin | Self::Mxhilb | Self::Maxq | Self::Maxl | Self::L1hilb => 0.0,
            Self::MaxqOf(_) | Self::MxhilbOf(_) => 0.0,
            Self::ChainedLq(dim) => -std::f64::consts::SQRT_2 * links(dim) as f64,
            Self::ChainedCb3I(dim) | Self::ChainedCb3II(dim) => 2.0 * links(dim) as f64,
        }
    }

    /// The standard start point.
    #[must_use]
    pub fn start(self) -> Vec<f64> {
        match self {
            Self::Shor => vec![0.0, 0.0, 0.0, 0.0, 1.0],
            Self::Cb2 => vec![1.0, -0.1],
            Self::Ql => vec![-1.0, 5.0],
            Self::Mifflin1 => vec![0.8, 0.6],
            Self::Goffin => (1..=50).map(|i| f64::from(i) - 25.5).collect(),
            Self::Maxquad | Self::Rosen => vec![0.0; self.dim()],
            Self::Dem | Self::Mxhilb | Self::L1hilb | Self::MxhilbOf(_) => vec![1.0; self.dim()],
            Self::Lq | Self::ChainedLq(_) => vec![-0.5; self.dim()],
            Self::Cb3 | Self::ChainedCb3I(_) | Self::ChainedCb3II(_) => vec![2.0; self.dim()],
            Self::Maxq | Self::Maxl | Self::MaxqOf(_) => {
                let half = self.dim() / 2;
                (1..=self.dim()).map(|i| if i <= half { i as f64 } else { -(i as f64) }).collect()
            }
        }
    }

    /// Distance of `value` from the minimum, over `max(1, |minimum|)`.
    #[must_use]
    pub fn relative_gap(self, value: f64) -> f64 {
        (value - self.optimum()) / self.optimum().abs().max(1.0)
    }

    /// Number of components, if the function is a sum.
    fn components(self) -> Option<usize> {
        match self {
            Self::L1hilb => Some(self.dim()),
            Self::ChainedLq(dim) | Self::ChainedCb3I(dim) => Some(links(dim)),
            _ => None,
        }
    }
}

/// Pairs of neighbours in a chain.
fn links(dim: usize) -> usize {
    dim.saturating_sub(1)
}

impl fmt::Display for Academic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Maxquad => "MAXQUAD",
            Self::Shor => "Shor",
            Self::Cb2 => "CB2",
            Self::Goffin => "Goffin",
            Self::Mxhilb => "MXHILB",
            Self::Cb3 => "CB3",
            Self::Dem => "DEM",
            Self::Ql => "QL",
            Self::Lq => "LQ",
            Self::Mifflin1 => "Mifflin1",
            Self::Rosen => "Rosen",
            Self::Maxq => "MAXQ",
            Self::Maxl => "MAXL",
            Self::L1hilb => "L1HILB",
            Self::MaxqOf(_) => "Generalised MAXQ",
            Self::MxhilbOf(_) => "Generalised MXHILB",
            Self::ChainedLq(_) => "Chained LQ",
            Self::ChainedCb3I(_) => "Chained CB3 I",
            Self::ChainedCb3II(_) => "Chained CB3 II",
        })
    }
}

impl Oracle for Academic {
    fn dim(&self) -> usize {
        match *self {
            Self::Cb2 | Self::Cb3 | Self::Dem | Self::Ql | Self::Lq | Self::Mifflin1 => 2,
            Self::Rosen => 4,
            Self::Shor => 5,
            Self::Maxquad => 10,
            Self::Maxq | Self::Maxl => 20,
            Self::Goffin | Self::Mxhilb | Self::L1hilb => 50,
            Self::MaxqOf(dim) | Self::MxhilbOf(dim) => dim,
            Self::ChainedLq(dim) | Self::ChainedCb3I(dim) | Self::ChainedCb3II(dim) => dim,
        }
    }

    fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        let evaluate = match self {
            Self::Maxquad => small::maxquad,
            Self::Shor => small::shor,
            Self::Cb2 => small::cb2,
            Self::Goffin => small::goffin,
            Self::Cb3 => small::cb3,
            Self::Dem => small::dem,
            Self::Ql => small::ql,
            Self::Lq => small::lq,
            Self::Mifflin1 => small::mifflin1,
            Self::Rosen => small::rosen,
            Self::Maxl => small::maxl,
            Self::Maxq | Self::MaxqOf(_) => large::maxq,
            Self::Mxhilb | Self::MxhilbOf(_) => large::mxhilb,
            Self::L1hilb => large::l1hilb,
            Self::ChainedLq(_) => large::chained_lq,
            Self::ChainedCb3I(_) => large::chained_cb3_first,
            Self::ChainedCb3II(_) => large::chained_cb3_second,
        };
        Ok(evaluate(point, subgradient))
    }

    /// Measured at random points by `cargo bench --bench generality`, which prints both numbers.
    fn work(&self) -> Option<f64> {
        let dim = self.dim() as f64;
        Some(match self {
            Self::Maxquad => 9000.0,
            Self::Shor => 70.0,
            Self::Cb2 | Self::Cb3 | Self::Dem | Self::Ql | Self::Lq | Self::Mifflin1 | Self::Rosen => 40.0,
            Self::Goffin | Self::Maxq | Self::Maxl | Self::MaxqOf(_) => 1.5 * dim + 20.0,
            Self::Mxhilb | Self::MxhilbOf(_) | Self::L1hilb => 0.2 * dim * dim + 5.0 * dim,
            Self::ChainedLq(_) => 3.0 * dim,
            Self::ChainedCb3I(_) | Self::ChainedCb3II(_) => 10.0 * dim,
        })
    }

    fn as_sum(&mut self) -> Option<&mut dyn SumOracle> {
        (self.components().is_some() && self.dim() <= ZEROS.len()).then_some(self as _)
    }
}

/// The linear part of the sums. A longer chain is not offered as a sum.
static ZEROS: [f64; 10_000] = [0.0; 10_000];

impl SumOracle for Academic {
    fn component_count(&self) -> usize {
        self.components().unwrap_or(0)
    }

    fn linear(&self) -> &[f64] {
        &ZEROS[..self.dim().min(ZEROS.len())]
    }

    fn evaluate_components(&mut self, point: &[f64], minorants: &mut Minorants) -> Result<(), OracleError> {
        match self {
            Self::L1hilb => large::l1hilb_rows(point, |value, row| minorants.push(value, row)),
            Self::ChainedLq(_) => large::push_links(point, small::lq_piece, minorants),
            Self::ChainedCb3I(_) => large::push_links(point, small::cb3_piece, minorants),
            _ => {}
        }
        Ok(())
    }
}
