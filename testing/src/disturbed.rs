//! Functions whose oracles say all that an oracle can say: values that are intervals, further cuts, multiplicities.

use bundlenet::{Domain, Interval, Lines, Minorants, Oracle, OracleError, Sense, SumOracle};
use bundlenet_linalg::Stream;
use bundlenet_linalg::sparse::{pairs, sparse_dot};

/// The answers of a disturbed oracle.
#[derive(Clone, Debug, Default)]
pub struct Disturbance {
    /// Largest width of the intervals.
    pub width: f64,
    /// Whether it follows a wish for accuracy.
    pub hears: bool,
    /// Whether it returns the cuts of the evaluation before, too.
    pub has_more: bool,
    /// Multiplicity of each component; empty for 1.
    pub multiplicities: Vec<f64>,
    /// A domain instead of its own.
    pub domain: Option<Domain>,
}

/// A function with random errors within stated intervals. The function itself is `linear'x + sum_a m_a f_a(x)`.
pub struct Disturbed {
    oracle: Box<dyn Oracle>,
    disturbance: Disturbance,
    sense: Sense,
    linear: Option<Vec<f64>>,
    components: usize,
    wish: f64,
    stream: Stream,
    /// The evaluation before.
    point: Vec<f64>,
    minorants: Minorants,
    latest: Minorants,
}

impl Disturbed {
    pub fn new(mut oracle: Box<dyn Oracle>, disturbance: Disturbance, seed: u64) -> Self {
        let linear = oracle.as_sum().map(|sum| sum.linear().to_vec());
        let components = oracle.as_sum().map_or(1, |sum| sum.component_count());
        Self {
            sense: oracle.sense(),
            oracle,
            disturbance,
            linear,
            components,
            wish: f64::INFINITY,
            stream: Stream::new(seed, "disturbed", 0),
            point: vec![],
            minorants: Minorants::new(),
            latest: Minorants::new(),
        }
    }

    fn of(&self, component: usize) -> f64 {
        self.disturbance.multiplicities.get(component).copied().unwrap_or(1.0)
    }

    /// A random interval of at most a given width around a value.
    fn interval(&mut self, value: f64, width: f64) -> Interval {
        let width = width.min(if self.disturbance.hears { self.wish } else { f64::INFINITY });
        let width = self.sense.sign() * width * self.uniform();
        let share = [0.0, 1.0, self.uniform()][self.stream.below(3)];
        Interval { cut: value - share * width, bound: value + (1.0 - share) * width }
    }

    fn uniform(&mut self) -> f64 {
        0.5 * (1.0 + self.stream.symmetric())
    }

    /// Exact minorants, in `self.latest`, and the value of the whole function.
    fn visit(&mut self, point: &[f64]) -> Result<f64, OracleError> {
        let (latest, linear) = (&mut self.latest, self.linear.as_ref().unwrap());
        latest.clear();
        self.oracle.as_sum().unwrap().evaluate_components(point, latest)?;
        let sum: f64 = self.latest.values().iter().enumerate().map(|(index, value)| self.of(index) * value).sum();
        Ok(sum + linear.iter().zip(point).map(|(entry, at)| entry * at).sum::<f64>())
    }
}

impl Oracle for Disturbed {
    fn dim(&self) -> usize {
        self.oracle.dim()
    }

    /// The exact value.
    fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        let Some(linear) = self.linear.clone() else { return self.oracle.evaluate(point, subgradient) };
        let value = self.visit(point)?;
        subgradient.copy_from_slice(&linear);
        for component in 0..self.components {
            let factor = self.of(component);
            let entries = pairs(self.latest.subgradient(component));
            entries.for_each(|(at, entry)| subgradient[at as usize] += factor * entry);
        }
        Ok(value)
    }

    fn evaluate_within(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<Interval, OracleError> {
        let value = self.evaluate(point, subgradient)?;
        Ok(self.interval(value, self.disturbance.width))
    }

    fn wish(&mut self, accuracy: f64) {
        self.wish = accuracy;
    }

    fn domain(&self) -> Domain {
        self.disturbance.domain.clone().unwrap_or_else(|| self.oracle.domain())
    }

    fn sense(&self) -> Sense {
        self.sense
    }

    fn minimizer_box(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        let is_its_own = self.disturbance.multiplicities.is_empty() && self.disturbance.domain.is_none();
        if is_its_own { self.oracle.minimizer_box() } else { None }
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

impl SumOracle for Disturbed {
    fn component_count(&self) -> usize {
        self.components
    }

    fn linear(&self) -> &[f64] {
        self.linear.as_deref().unwrap()
    }

    fn evaluate_components(&mut self, point: &[f64], minorants: &mut Minorants) -> Result<(), OracleError> {
        self.visit(point)?;
        let count: f64 = (0..self.components).map(|component| self.of(component)).sum();
        let latest = std::mem::take(&mut self.latest);
        let way: Vec<f64> = point.iter().zip(&self.point).map(|(to, from)| to - from).collect();
        for component in 0..self.components {
            let width = self.disturbance.width / count;
            let Interval { cut, bound } = self.interval(latest.values()[component], width);
            minorants.push_within(cut, bound, pairs(latest.subgradient(component)));
            if self.disturbance.has_more && !way.is_empty() {
                let subgradient = self.minorants.subgradient(component);
                let value = self.minorants.values()[component] + sparse_dot(subgradient, &way);
                minorants.push_more(value, pairs(subgradient));
            }
        }
        self.point = point.to_vec();
        self.latest = std::mem::replace(&mut self.minorants, latest);
        Ok(())
    }

    fn multiplicity(&self, component: usize) -> f64 {
        self.of(component)
    }

    fn prove(&mut self, aggregate: &Lines) -> Option<f64> {
        // A smaller domain has a bound that is at least as good. Other multiplicities are another function.
        let is_its_own = self.disturbance.multiplicities.is_empty();
        is_its_own.then(|| self.oracle.as_sum()?.prove(aggregate)).flatten()
    }
}
