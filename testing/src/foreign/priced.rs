//! A function with another stated work.

use bundlenet::{Domain, Oracle, OracleError, PrimalOracle, Sense, SumOracle};

/// Cost of an evaluation, as an oracle states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Price {
    /// The oracle's own work, from its sizes.
    Cheap,
    /// No statement: an evaluation counts as a millisecond.
    Dear,
}

/// A function whose oracle states its work, or does not.
pub struct Priced {
    pub oracle: Box<dyn Oracle>,
    pub price: Price,
}

impl Oracle for Priced {
    fn dim(&self) -> usize {
        self.oracle.dim()
    }

    fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        self.oracle.evaluate(point, subgradient)
    }

    fn domain(&self) -> Domain {
        self.oracle.domain()
    }

    fn sense(&self) -> Sense {
        self.oracle.sense()
    }

    fn minimizer_box(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        self.oracle.minimizer_box()
    }

    fn work(&self) -> Option<f64> {
        match self.price {
            Price::Cheap => self.oracle.work(),
            Price::Dear => None,
        }
    }

    fn scales(&self) -> Option<Vec<f64>> {
        self.oracle.scales()
    }

    fn as_sum(&mut self) -> Option<&mut dyn SumOracle> {
        self.oracle.as_sum()
    }

    fn as_primal(&mut self) -> Option<&mut dyn PrimalOracle> {
        self.oracle.as_primal()
    }
}

/// A function whose components are hidden.
pub struct Whole(pub Priced);

impl Oracle for Whole {
    fn dim(&self) -> usize {
        self.0.dim()
    }

    fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        self.0.evaluate(point, subgradient)
    }

    fn domain(&self) -> Domain {
        self.0.domain()
    }

    fn sense(&self) -> Sense {
        self.0.sense()
    }

    fn work(&self) -> Option<f64> {
        self.0.work()
    }
}
