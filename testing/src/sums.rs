//! Random sums of maxima of affine functions. A subproblem chooses one of them, a line.

use bundlenet::{Domain, Fingerprint, Minorants, Oracle, OracleError, Primal, PrimalOracle, Solutions, SumOracle};
pub use bundlenet_linalg::Stream;

/// A subgradient and a height at 0.
pub type Line = (Vec<(u32, f64)>, f64);

/// `linear'x + sum_a max_i (g_ai'x + b_ai)`. The last components are multiples of `|x_j|`: they keep the minimum in a
/// box.
#[derive(Clone)]
pub struct Sum {
    pub linear: Vec<f64>,
    pub components: Vec<Vec<Line>>,
    is_nonnegative: bool,
    radius: f64,
    /// Whether the oracle hides that it is a sum.
    pub is_whole: bool,
    /// The stated work of an evaluation.
    work: Option<f64>,
    /// The lines of the last evaluation.
    chosen: Vec<usize>,
}

impl Sum {
    pub fn random(stream: &mut Stream) -> Self {
        // One in four has enough variables for a network.
        let dim = if stream.below(4) == 0 { 32 + stream.below(16) } else { 1 + stream.below(12) };
        let work = [None, Some(1.0), Some(1e5)][stream.below(3)];
        let number = |stream: &mut Stream| {
            if stream.below(2) == 0 { stream.below(7) as f64 - 3.0 } else { stream.normal() }
        };
        let linear: Vec<f64> = (0..dim).map(|_| number(stream)).collect();
        let mut components: Vec<Vec<Line>> = vec![];
        for _ in 0..stream.below(10) {
            let lines = (0..1 + stream.below(5)).map(|_| {
                // Sometimes no entry at all, sometimes the same coordinate twice.
                let entries = (0..stream.below(4)).map(|_| (stream.below(dim) as u32, number(stream))).collect();
                (entries, number(stream))
            });
            components.push(lines.collect());
        }
        let slope: f64 = linear.iter().map(|entry| entry.abs()).sum::<f64>()
            + components.iter().flatten().flat_map(|line| &line.0).map(|(_, entry)| entry.abs()).sum::<f64>();
        let height: f64 = components.iter().flatten().map(|line| line.1.abs()).sum();
        for index in 0..dim as u32 {
            components.push(vec![(vec![(index, slope + 1.0)], 0.0), (vec![(index, -slope - 1.0)], 0.0)]);
        }
        Self {
            work,
            linear,
            components,
            is_nonnegative: stream.below(2) == 0,
            radius: 2.0 * height + 1.0,
            is_whole: false,
            chosen: vec![],
        }
    }

    /// The height and the number of the highest line of a component.
    fn highest(&self, component: usize, point: &[f64]) -> (f64, usize) {
        let height = |line: &Line| line.1 + line.0.iter().map(|(at, entry)| entry * point[*at as usize]).sum::<f64>();
        let heights = self.components[component].iter().map(height).enumerate();
        heights.map(|(line, height)| (height, line)).max_by(|a, b| a.0.total_cmp(&b.0)).unwrap()
    }

    fn choose(&mut self, point: &[f64]) -> Vec<f64> {
        let (heights, chosen) = (0..self.components.len()).map(|component| self.highest(component, point)).unzip();
        self.chosen = chosen;
        heights
    }

    /// The slopes of the lines chosen last, by component.
    fn slopes(&self) -> impl Iterator<Item = &[(u32, f64)]> {
        self.components.iter().zip(&self.chosen).map(|(lines, &line)| lines[line].0.as_slice())
    }
}

impl Oracle for Sum {
    fn dim(&self) -> usize {
        self.linear.len()
    }

    fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        subgradient.copy_from_slice(&self.linear);
        let mut value: f64 = self.linear.iter().zip(point).map(|(entry, at)| entry * at).sum();
        value += self.choose(point).iter().sum::<f64>();
        self.slopes().flatten().for_each(|(at, entry)| subgradient[*at as usize] += entry);
        Ok(value)
    }

    fn domain(&self) -> Domain {
        if self.is_nonnegative { Domain::Nonnegative } else { Domain::Free }
    }

    fn minimizer_box(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        let lower = if self.is_nonnegative { 0.0 } else { -self.radius };
        Some((vec![lower; self.dim()], vec![self.radius; self.dim()]))
    }

    fn work(&self) -> Option<f64> {
        self.work
    }

    fn as_sum(&mut self) -> Option<&mut dyn SumOracle> {
        (!self.is_whole).then_some(self as _)
    }

    fn as_primal(&mut self) -> Option<&mut dyn PrimalOracle> {
        Some(self)
    }
}

impl SumOracle for Sum {
    fn component_count(&self) -> usize {
        self.components.len()
    }

    fn linear(&self) -> &[f64] {
        &self.linear
    }

    fn evaluate_components(&mut self, point: &[f64], minorants: &mut Minorants) -> Result<(), OracleError> {
        let heights = self.choose(point);
        self.slopes().zip(heights).for_each(|(slope, height)| minorants.push(height, slope.iter().copied()));
        Ok(())
    }

    fn fingerprint(&self, component: usize) -> Option<u64> {
        let hash = |hash: Fingerprint, (slope, height): &Line| {
            let places = slope.iter().fold(hash, |hash, (at, _)| hash.whole(u64::from(*at)));
            slope.iter().fold(places, |hash, (_, entry)| hash.numbers(&[*entry])).numbers(&[*height])
        };
        Some(self.components[component].iter().fold(Fingerprint::new(), hash).finish())
    }
}

/// Every line has a variable: 1 if the line is chosen. Its cost is the height of the line at 0.
impl PrimalOracle for Sum {
    fn write_solutions(&mut self, solutions: &mut Solutions) {
        let mut first = 0;
        let mut single = vec![];
        for (lines, &line) in self.components.iter().zip(&self.chosen) {
            single.push((lines[line].1, ((first + line) as u32, 1.0)));
            first += lines.len();
        }
        if self.is_whole {
            let cost = single.iter().map(|(cost, _)| cost).sum();
            solutions.push(cost, single.into_iter().map(|(_, variable)| variable));
        } else {
            single.into_iter().for_each(|(cost, variable)| solutions.push(cost, [variable]));
        }
    }

    /// A convex combination of lines is always a minorant.
    fn line_of(&mut self, component: usize, solution: &mut Primal) -> Option<(f64, Vec<(u32, f64)>)> {
        let count = |component: usize| self.components[component].len();
        let first: usize = (0..component).map(count).sum();
        let lines: Vec<&Line> = if self.is_whole {
            self.components.iter().flatten().collect()
        } else {
            self.components[component].iter().collect()
        };
        let linear = if self.is_whole { &*self.linear } else { &[] };
        let mut slope: Vec<(u32, f64)> = linear.iter().zip(0..).map(|(&entry, at)| (at, entry)).collect();
        let mut height = 0.0;
        for &(variable, weight) in &solution.variables {
            let line = lines.get((variable as usize).checked_sub(first)?)?;
            height += weight * line.1;
            slope.extend(line.0.iter().map(|&(at, entry)| (at, weight * entry)));
        }
        Some((height, slope))
    }
}
