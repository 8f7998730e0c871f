//! A function at another scale.

use bundlenet::{Domain, Lines, Minorants, Oracle, OracleError, Sense, SumOracle};

/// `value F(x / variable)`, as a sum if `F` is one and `is_whole` is false.
pub struct Scaled {
    oracle: Box<dyn Oracle>,
    value: f64,
    variable: f64,
    linear: Option<Vec<f64>>,
    components: usize,
    point: Vec<f64>,
    minorants: Minorants,
}

impl Scaled {
    pub fn new(mut oracle: Box<dyn Oracle>, value: f64, variable: f64, is_whole: bool) -> Self {
        let factor = value / variable;
        let linear = oracle.as_sum().map(|sum| sum.linear().iter().map(|entry| factor * entry).collect());
        let linear = linear.filter(|_| !is_whole);
        let components = oracle.as_sum().map_or(1, |sum| sum.component_count());
        Self { oracle, value, variable, linear, components, point: vec![], minorants: Minorants::new() }
    }

    fn set_point(&mut self, point: &[f64]) {
        self.point.clear();
        self.point.extend(point.iter().map(|entry| entry / self.variable));
    }
}

impl Oracle for Scaled {
    fn dim(&self) -> usize {
        self.oracle.dim()
    }

    fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        self.set_point(point);
        let value = self.oracle.evaluate(&self.point, subgradient)?;
        let factor = self.value / self.variable;
        subgradient.iter_mut().for_each(|entry| *entry *= factor);
        Ok(self.value * value)
    }

    fn domain(&self) -> Domain {
        match self.oracle.domain() {
            Domain::PerCoordinate(bounds) => Domain::between(bounds.into_iter().map(|bound| {
                let (lower, upper) = bound.limits();
                (self.variable * lower, self.variable * upper)
            })),
            simple => simple,
        }
    }

    fn sense(&self) -> Sense {
        self.oracle.sense()
    }

    fn minimizer_box(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        let scaled = |corner: Vec<f64>| corner.iter().map(|entry| self.variable * entry).collect();
        self.oracle.minimizer_box().map(|(lower, upper)| (scaled(lower), scaled(upper)))
    }

    fn work(&self) -> Option<f64> {
        self.oracle.work()
    }

    fn scales(&self) -> Option<Vec<f64>> {
        self.oracle.scales()
    }

    fn as_sum(&mut self) -> Option<&mut dyn SumOracle> {
        self.linear.is_some().then_some(self as _)
    }
}

impl SumOracle for Scaled {
    fn component_count(&self) -> usize {
        self.components
    }

    fn linear(&self) -> &[f64] {
        self.linear.as_deref().unwrap()
    }

    fn evaluate_components(&mut self, point: &[f64], minorants: &mut Minorants) -> Result<(), OracleError> {
        self.set_point(point);
        self.minorants.clear();
        self.oracle.as_sum().unwrap().evaluate_components(&self.point, &mut self.minorants)?;
        let factor = self.value / self.variable;
        for (component, value) in self.minorants.values().iter().enumerate() {
            let (coordinates, entries) = self.minorants.subgradient(component);
            minorants.push(self.value * value, coordinates.iter().copied().zip(entries.iter().map(|e| factor * e)));
        }
        Ok(())
    }

    fn prove(&mut self, aggregate: &Lines) -> Option<f64> {
        let factor = self.variable / self.value;
        let mut inner = Lines::new();
        for (component, constant) in aggregate.constants().iter().enumerate() {
            let (coordinates, entries) = aggregate.slope(component);
            inner.push(constant / self.value, coordinates.iter().copied().zip(entries.iter().map(|e| factor * e)));
        }
        self.oracle.as_sum()?.prove(&inner).map(|bound| self.value * bound)
    }
}
