//! Random sums of maxima of affine functions, bounded or not, with the linear programs that know their optima.

use bundlenet::{Bound, Domain, Sense};
use bundlenet_linalg::Stream;
use microlp::{ComparisonOp, OptimizationDirection, SolveOutcome};

use crate::foreign::Tables;
use crate::sums::{Line, Sum};

/// `linear'x + sum_a max_i (g_ai'x + b_ai)`, minimised. `sense` is the sense of the function that is offered.
#[derive(Clone)]
pub(super) struct Planes {
    pub linear: Vec<f64>,
    pub components: Vec<Vec<Line>>,
    pub domain: Domain,
    pub sense: Sense,
}

/// Most negative slope of a bounded function in the linear program, and least negative slope of an unbounded one.
const FLAT: f64 = 1e-9;
const STEEP: f64 = 1e-6;

/// Kinds of numbers in the data.
#[derive(Clone, Copy)]
enum Numbers {
    Normal,
    /// Small whole numbers make ties and zeros.
    Whole,
    /// Six orders of magnitude.
    Wide,
}

impl Numbers {
    fn draw(self, stream: &mut Stream) -> f64 {
        match self {
            Self::Normal => stream.normal(),
            Self::Whole => stream.below(5) as f64 - 2.0,
            Self::Wide => stream.normal() * 10_f64.powf(3.0 * stream.symmetric()),
        }
    }
}

impl Planes {
    /// A function bounded below: slopes of a component average to zero. If it is to be unbounded, a linear part is
    /// added that outweighs the components along one direction.
    pub(super) fn random(stream: &mut Stream, is_unbounded: bool) -> Self {
        let most = if stream.below(4) == 0 { 40 } else { 8 };
        let dim = 1 + stream.below(most);
        let numbers = [Numbers::Normal, Numbers::Whole, Numbers::Wide][stream.below(3)];
        let domain = random_domain(stream, dim);
        let components = (0..1 + stream.below(10)).map(|_| random_component(stream, dim, numbers)).collect();
        let sense = if stream.below(2) == 0 { Sense::Minimize } else { Sense::Maximize };
        let mut planes = Self { linear: vec![0.0; dim], components, domain, sense };
        let mut direction: Vec<f64> = (0..dim).map(|_| stream.normal()).collect();
        let excess = 1.0 + 0.01 * 10_f64.powf(2.0 * (1.0 + stream.symmetric()));
        if is_unbounded {
            let is_bounded = |index: usize| planes.domain.is_nonnegative(index);
            direction.iter_mut().enumerate().filter(|(at, _)| is_bounded(*at)).for_each(|(_, e)| *e = e.abs());
            let square: f64 = direction.iter().map(|entry| entry * entry).sum();
            let slope = planes.slope_along(&direction).max(0.1);
            planes.linear = direction.iter().map(|entry| -excess * slope / square * entry).collect();
        }
        planes
    }

    /// The sum of another module, whose minimum lies in a known box.
    pub(super) fn of_sum(sum: &Sum, domain: Domain) -> Self {
        let (linear, components) = (sum.linear.clone(), sum.components.clone());
        Self { linear, components, domain, sense: Sense::Minimize }
    }

    /// Slope of the components along a direction, far away.
    fn slope_along(&self, direction: &[f64]) -> f64 {
        let slope = |line: &Line| -> f64 { line.0.iter().map(|(at, entry)| entry * direction[*at as usize]).sum() };
        self.components.iter().map(|lines| lines.iter().map(slope).fold(f64::NEG_INFINITY, f64::max)).sum()
    }

    /// The function as an oracle.
    pub(super) fn tables(&self) -> Tables {
        let sign = self.sense.sign();
        let linear = self.linear.iter().map(|entry| sign * entry).collect();
        let mut tables = Tables::new(linear, self.sense, self.domain.clone());
        for lines in &self.components {
            let signed = |row: &[(u32, f64)]| row.iter().map(|(at, entry)| (*at, sign * entry)).collect();
            tables.push(lines.iter().map(|(row, height)| (sign * height, signed(row))));
        }
        tables
    }

    /// The linear program: the function itself, or its slope far away over directions in a unit box.
    fn program(&self, is_slope: bool) -> Option<(f64, Vec<f64>)> {
        let far = if is_slope { 1.0 } else { f64::INFINITY };
        let mut program = microlp::Problem::new(OptimizationDirection::Minimize);
        let lower = |index: usize| if self.domain.is_nonnegative(index) { 0.0 } else { -far };
        let entries = self.linear.iter().enumerate();
        let point: Vec<_> = entries.map(|(index, &cost)| program.add_var(cost, (lower(index), far))).collect();
        for lines in &self.components {
            let height = program.add_var(1.0, (f64::NEG_INFINITY, f64::INFINITY));
            for (row, constant) in lines {
                let mut entries = vec![0.0; point.len()];
                row.iter().for_each(|(at, entry)| entries[*at as usize] -= entry);
                let mut constraint = vec![(height, 1.0)];
                constraint.extend(point.iter().copied().zip(entries));
                program.add_constraint(constraint, ComparisonOp::Ge, if is_slope { 0.0 } else { *constant });
            }
        }
        match program.solve() {
            Ok(SolveOutcome::Solution(solution)) => {
                Some((solution.objective(), point.iter().map(|&variable| solution[variable]).collect()))
            }
            _ => None,
        }
    }

    /// Whether the function is unbounded; `None` if round-off leaves that open.
    pub(super) fn is_unbounded(&self) -> Option<bool> {
        let (slope, _) = self.program(true)?;
        match slope {
            _ if slope > -FLAT => Some(false),
            _ if slope < -STEEP => Some(true),
            _ => None,
        }
    }

    /// A minimiser, by a linear program.
    pub(super) fn minimizer(&self) -> Option<Vec<f64>> {
        self.program(false).map(|(_, point)| point)
    }
}

fn random_domain(stream: &mut Stream, dim: usize) -> Domain {
    match stream.below(3) {
        0 => Domain::Free,
        1 => Domain::Nonnegative,
        _ => {
            let bound = |stream: &mut Stream| if stream.below(2) == 0 { Bound::Free } else { Bound::Nonnegative };
            Domain::PerCoordinate((0..dim).map(|_| bound(stream)).collect())
        }
    }
}

/// Lines over a few variables whose slopes average to zero. Some components have the same line twice.
fn random_component(stream: &mut Stream, dim: usize, numbers: Numbers) -> Vec<Line> {
    let mut places = stream.permutation(dim);
    places.truncate(1 + stream.below(6));
    let count = 1 + stream.below(6);
    let mut slopes: Vec<Vec<f64>> = (0..count).map(|_| places.iter().map(|_| numbers.draw(stream)).collect()).collect();
    for place in 0..places.len() {
        // Whole slopes stay whole: the last line balances the others.
        let others: f64 = slopes[1..].iter().map(|slope| slope[place]).sum();
        slopes[0][place] = -others;
    }
    let line = |slope: Vec<f64>| places.iter().map(|&at| at as u32).zip(slope).collect::<Vec<_>>();
    let mut lines: Vec<Line> = slopes.into_iter().map(|slope| (line(slope), numbers.draw(stream))).collect();
    if stream.below(3) == 0 {
        let copy = lines[stream.below(count)].clone();
        lines.push(copy);
    }
    lines
}
