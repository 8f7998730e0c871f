//! Closures as oracles.

use super::{Domain, Oracle, OracleError, Sense};

/// A closure as an oracle.
///
/// ```
/// use bundlenet::{FnOracle, Function};
///
/// // |x| + 2 |y|
/// let mut oracle = FnOracle::new(2, |point: &[f64], subgradient: &mut [f64]| {
///     subgradient.copy_from_slice(&[point[0].signum(), 2.0 * point[1].signum()]);
///     Ok(point[0].abs() + 2.0 * point[1].abs())
/// });
/// let mut subgradient = [0.0; 2];
/// let value = Function::new(&mut oracle)?.evaluate(&[3.0, -1.0], &mut subgradient)?;
/// assert_eq!((value, subgradient), (5.0, [1.0, -2.0]));
/// # Ok::<(), bundlenet::EvaluationError>(())
/// ```
pub struct FnOracle<F> {
    dim: usize,
    function: F,
    domain: Domain,
    sense: Sense,
    scales: Option<Vec<f64>>,
}

impl<F> FnOracle<F>
where
    F: FnMut(&[f64], &mut [f64]) -> Result<f64, OracleError>,
{
    /// Minimises `function` over free variables.
    pub fn new(dim: usize, function: F) -> Self {
        Self { dim, function, domain: Domain::Free, sense: Sense::Minimize, scales: None }
    }

    /// Restricts the variables to `domain`.
    #[must_use]
    pub fn with_domain(mut self, domain: Domain) -> Self {
        self.domain = domain;
        self
    }

    /// Optimises in the given sense.
    #[must_use]
    pub fn with_sense(mut self, sense: Sense) -> Self {
        self.sense = sense;
        self
    }

    /// States the [scales](Oracle::scales) of the variables.
    #[must_use]
    pub fn with_scales(mut self, scales: Vec<f64>) -> Self {
        self.scales = Some(scales);
        self
    }
}

impl<F> Oracle for FnOracle<F>
where
    F: FnMut(&[f64], &mut [f64]) -> Result<f64, OracleError>,
{
    fn dim(&self) -> usize {
        self.dim
    }

    fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        (self.function)(point, subgradient)
    }

    fn domain(&self) -> Domain {
        self.domain.clone()
    }

    fn sense(&self) -> Sense {
        self.sense
    }

    fn scales(&self) -> Option<Vec<f64>> {
        self.scales.clone()
    }
}
