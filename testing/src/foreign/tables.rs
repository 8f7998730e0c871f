//! Sums of maxima of affine functions, or of minima, given by tables. Duals of problems whose subproblems choose one
//! row of a table have this form.

use bundlenet::{Domain, Minorants, Oracle, OracleError, Sense, SumOracle};
use bundlenet_linalg::SparseRows;

/// `linear'x + sum_a max_i (b_ai + g_ai'x)`, minimised; with `min` instead of `max`, maximised.
#[derive(Clone)]
pub struct Tables {
    linear: Vec<f64>,
    sense: Sense,
    domain: Domain,
    /// The first line of every component, and the number of lines at the end.
    first: Vec<usize>,
    heights: Vec<f64>,
    slopes: SparseRows,
    entries: usize,
    /// The lines of the last evaluation, and their values.
    chosen: Vec<(usize, f64)>,
}

impl Tables {
    pub fn new(linear: Vec<f64>, sense: Sense, domain: Domain) -> Self {
        Self {
            linear,
            sense,
            domain,
            first: vec![0],
            heights: vec![],
            slopes: SparseRows::default(),
            entries: 0,
            chosen: vec![],
        }
    }

    /// Appends a component: heights at 0 and slopes of its lines.
    pub fn push(&mut self, lines: impl IntoIterator<Item = (f64, Vec<(u32, f64)>)>) {
        for (height, slope) in lines {
            self.entries += slope.len();
            self.heights.push(height);
            self.slopes.push(slope);
        }
        self.first.push(self.heights.len());
    }

    /// The linear part, which generators fill after the components.
    pub fn linear_mut(&mut self) -> &mut Vec<f64> {
        &mut self.linear
    }

    fn choose(&mut self, point: &[f64]) {
        let sign = self.sense.sign();
        let height = |line: usize| {
            let (coordinates, entries) = self.slopes.row(line);
            let product: f64 = coordinates.iter().zip(entries).map(|(&at, entry)| entry * point[at as usize]).sum();
            self.heights[line] + product
        };
        let best = |lines: std::ops::Range<usize>| {
            let values = lines.map(|line| (line, height(line)));
            values.reduce(|best, next| if sign * next.1 > sign * best.1 { next } else { best }).unwrap()
        };
        self.chosen.clear();
        self.chosen.extend(self.first.windows(2).map(|ends| best(ends[0]..ends[1])));
    }
}

impl Oracle for Tables {
    fn dim(&self) -> usize {
        self.linear.len()
    }

    fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        self.choose(point);
        subgradient.copy_from_slice(&self.linear);
        let mut value: f64 = self.linear.iter().zip(point).map(|(entry, at)| entry * at).sum();
        for &(line, height) in &self.chosen {
            value += height;
            let (coordinates, entries) = self.slopes.row(line);
            coordinates.iter().zip(entries).for_each(|(&at, entry)| subgradient[at as usize] += entry);
        }
        Ok(value)
    }

    fn domain(&self) -> Domain {
        self.domain.clone()
    }

    fn sense(&self) -> Sense {
        self.sense
    }

    fn work(&self) -> Option<f64> {
        Some(self.entries as f64 + 3.0 * self.heights.len() as f64)
    }

    fn as_sum(&mut self) -> Option<&mut dyn SumOracle> {
        Some(self)
    }
}

impl SumOracle for Tables {
    fn component_count(&self) -> usize {
        self.first.len() - 1
    }

    fn linear(&self) -> &[f64] {
        &self.linear
    }

    fn evaluate_components(&mut self, point: &[f64], minorants: &mut Minorants) -> Result<(), OracleError> {
        self.choose(point);
        for &(line, height) in &self.chosen {
            let (coordinates, entries) = self.slopes.row(line);
            minorants.push(height, coordinates.iter().copied().zip(entries.iter().copied()));
        }
        Ok(())
    }
}
