//! `min 1/2 theta'Q theta + a'theta` over the simplex, by a warm-started active-set method.
//!
//! On the support `S` of `theta` the problem is a linear system with the matrix `Q_S + c 1 1'`. The matrix is positive
//! definite if the cuts are affinely independent, for any `a`. Its Cholesky factor gets a row when a cut enters and is
//! repaired by rotations when one leaves. A cut that depends affinely on the support enters in exchange for another.

use bundlenet_linalg::GrowingFactor;
use bundlenet_linalg::vectors::add_scaled;

use crate::oracle::Patience;

/// A pivot below this share of the diagonal counts as dependent: a solve with it would lose most digits.
const DEPENDENT: f64 = 1e-15;

/// Round-off of a sum, as a share of its terms.
const ROUND_OFF: f64 = 1e-14;

/// Rounds without a decrease after which the remaining gap counts as round-off.
const MOST_IDLE: usize = 5;

/// Result of pricing the present weights with `Q theta + a`.
struct Priced {
    /// `theta'(Q theta + a) - min (Q theta + a)`: no feasible point is better by more.
    gap: f64,
    /// Place of the minimum.
    entering: usize,
    /// The objective.
    value: f64,
    /// The part of the gap that is round-off.
    round_off: f64,
}

/// The active set, kept from one solve to the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct SimplexMaster {
    support: Vec<usize>,
    /// Numbers of the cuts in the support, to recognise a reused place.
    stamps: Vec<u64>,
    /// Weights of the support, in its order.
    theta: Vec<f64>,
    /// Factor of `Q_S + shift 1 1'`.
    factor: GrowingFactor,
    shift: f64,
    /// `Q theta + a` by place.
    costs: Vec<f64>,
    target: Vec<f64>,
    /// Solution of `factor y = 1`, for the rows of the factor that have not changed since.
    ones: Vec<f64>,
    column: Vec<f64>,
    old: Vec<(usize, f64)>,
}

/// Read access to the symmetric matrix `Q`.
pub(crate) trait Matrix {
    /// Row of a place, over all places.
    fn row(&self, place: usize) -> &[f64];
    /// Number of the cut at a place.
    fn stamp(&self, place: usize) -> u64;
    /// The largest squared norm of a subgradient over all coordinates. `Q` may leave some coordinates out.
    fn largest_square(&self) -> f64;
}

impl SimplexMaster {
    /// A master with memory for a number of cuts. It grows if there are more.
    pub(crate) fn with_capacity(cuts: usize) -> Self {
        let vector = || Vec::with_capacity(cuts);
        let mut master = Self {
            support: Vec::with_capacity(cuts),
            stamps: Vec::with_capacity(cuts),
            theta: vector(),
            costs: vector(),
            target: vector(),
            ones: vector(),
            column: vector(),
            old: Vec::with_capacity(cuts),
            ..Self::default()
        };
        master.factor.reserve(cuts);
        master
    }

    /// Places and weights of the solution.
    pub(crate) fn weights(&self) -> impl Iterator<Item = (usize, f64)> {
        self.support.iter().copied().zip(self.theta.iter().copied()).filter(|&(_, weight)| weight > 0.0)
    }

    /// Solves for the present data. Infinite entries of `linear` mark empty places. Returns the optimality gap: no
    /// feasible point is better by more. `rebuild` is true unless `Q` is the matrix of the last solve with added rows.
    /// At the end of the patience the weights stay as they are, and the gap is infinite.
    pub(crate) fn solve(
        &mut self,
        matrix: &impl Matrix,
        linear: &[f64],
        rebuild: bool,
        patience: &Patience<'_>,
    ) -> f64 {
        let is_kept = |(&place, &stamp): (&usize, &u64)| linear[place].is_finite() && matrix.stamp(place) == stamp;
        let kept = self.support.iter().zip(&self.stamps).all(is_kept);
        // The shift must have the size of the cuts. If it is far smaller, `1 1'` is lost in round-off; if far larger,
        // the cuts.
        let size = matrix.largest_square();
        let wanted = if size > 0.0 { size } else { 1.0 };
        let is_off = !(self.shift <= 100.0 * wanted && self.shift >= 0.01 * wanted);
        if !kept || rebuild || is_off || self.support.is_empty() {
            self.shift = wanted;
            self.restart(matrix, linear, patience);
        }
        let mut best_value = f64::INFINITY;
        let mut idle = 0;
        // Each round adds or removes a cut. The limit is far above any number seen, so no fault can hang a run.
        for _ in 0..20 * linear.len() + 100 {
            if patience.is_over_after(self.support.len() * (self.support.len() + linear.len())) {
                return f64::INFINITY;
            }
            if !self.move_towards_target(linear) {
                continue;
            }
            let mut priced = self.price(matrix, linear);
            if priced.gap > priced.round_off && self.support.contains(&priced.entering) {
                // Round-off within the support: refine the solution once more.
                self.refine();
                priced = self.price(matrix, linear);
            }
            // In exact arithmetic every round decreases the value. Rounds without a decrease are a cycle caused by
            // round-off.
            idle = if priced.value < best_value { 0 } else { idle + 1 };
            best_value = best_value.min(priced.value);
            if priced.gap <= priced.round_off || idle > MOST_IDLE || self.support.contains(&priced.entering) {
                return priced.gap;
            }
            self.enter(matrix, priced.entering);
        }
        self.pairwise(matrix, linear, patience)
    }

    /// Keeps the part of the support that still exists and is independent, with its weights scaled to add up to 1. At
    /// the end of the patience it keeps all that still exists.
    fn restart(&mut self, matrix: &impl Matrix, linear: &[f64], patience: &Patience<'_>) {
        let mut old = std::mem::take(&mut self.old);
        let held = self.support.iter().zip(&self.theta).zip(&self.stamps);
        let is_kept = |&((&place, &weight), &stamp): &((&usize, &f64), &u64)| {
            weight > 0.0 && linear[place].is_finite() && matrix.stamp(place) == stamp
        };
        old.clear();
        old.extend(held.filter(is_kept).map(|((&place, &weight), _)| (place, weight)));
        self.ones.clear();
        self.factor.clear();
        self.support.clear();
        self.stamps.clear();
        self.theta.clear();
        let total: f64 = old.iter().map(|&(_, weight)| weight).sum();
        if total > 0.0 {
            // The weight of a dependent cut goes to the others, by the scaling below.
            for &(place, weight) in &old {
                if patience.is_over_after(self.support.len() * self.support.len()) {
                    self.replace(matrix, old.iter().copied());
                    break;
                }
                if self.append(matrix, place) {
                    self.theta.push(weight);
                }
            }
            self.normalize();
        } else {
            let value = |place: usize| 0.5 * matrix.row(place)[place] + linear[place];
            let live = (0..linear.len()).filter(|&place| linear[place].is_finite());
            let Some(best) = live.min_by(|&a, &b| value(a).total_cmp(&value(b))) else { return };
            self.append(matrix, best);
            self.theta.push(1.0);
        }
        self.old = old;
    }

    /// Appends a cut to the support and its row to the factor. False if the cut is affinely dependent; `column` then
    /// holds the solution of `factor y = its products`.
    fn append(&mut self, matrix: &impl Matrix, place: usize) -> bool {
        let row = matrix.row(place);
        self.column.clear();
        self.column.extend(self.support.iter().map(|&other| row[other] + self.shift));
        self.forward();
        let diagonal = row[place] + self.shift;
        let pivot = diagonal - self.column.iter().map(|entry| entry * entry).sum::<f64>();
        if pivot <= DEPENDENT * diagonal {
            return false;
        }
        self.factor.append(&self.column, pivot);
        self.support.push(place);
        self.stamps.push(matrix.stamp(place));
        true
    }

    /// Solves `factor y = column` in place.
    fn forward(&mut self) {
        self.factor.forward(&mut self.column, 0);
    }

    /// Solves `factor' x = column` in place.
    fn backward(&mut self) {
        self.factor.backward(&mut self.column);
    }

    /// Removes the cut at a position of the support and repairs the factor by rotations.
    fn remove(&mut self, position: usize) {
        self.ones.truncate(position);
        self.support.remove(position);
        self.stamps.remove(position);
        self.theta.remove(position);
        self.factor.remove(position);
    }

    /// Solves on the support without the sign constraints, and moves there as far as the signs allow. True if all the
    /// way.
    fn move_towards_target(&mut self, linear: &[f64]) -> bool {
        // theta = multiplier M^-1 1 - M^-1 a; the multiplier makes the sum 1.
        let known = self.ones.len();
        self.ones.resize(self.support.len(), 1.0);
        self.factor.forward(&mut self.ones, known);
        // A common term in `a` changes only the round-off.
        let common = self.support.iter().map(|&place| linear[place]).fold(f64::INFINITY, f64::min);
        self.column.clear();
        self.column.extend(self.support.iter().map(|&place| linear[place] - common));
        self.forward();
        let product: f64 = self.ones.iter().zip(&self.column).map(|(x, y)| x * y).sum();
        let square: f64 = self.ones.iter().map(|x| x * x).sum();
        let multiplier = (1.0 + product) / square;
        self.column.iter_mut().zip(&self.ones).for_each(|(entry, one)| *entry = multiplier * one - *entry);
        self.backward();
        self.target.clone_from(&self.column);
        self.go_to_target()
    }

    /// Moves the weights to the target, or until one of them is zero and leaves. True if all the way.
    fn go_to_target(&mut self) -> bool {
        let mut step = 1.0;
        let mut blocking = None;
        for (position, (&from, &to)) in self.theta.iter().zip(&self.target).enumerate() {
            if to <= 0.0 {
                let ratio = if from > to { from / (from - to) } else { 0.0 };
                if ratio < step || blocking.is_none() {
                    step = ratio.min(step);
                    blocking = Some(position);
                }
            }
        }
        match blocking {
            Some(position) if self.support.len() > 1 => {
                for (weight, &to) in self.theta.iter_mut().zip(&self.target) {
                    *weight = (*weight + step * (to - *weight)).max(0.0);
                }
                self.remove(position);
                self.normalize();
                false
            }
            _ => {
                self.theta.clone_from(&self.target);
                self.normalize();
                true
            }
        }
    }

    /// Makes the weights add up to 1 again.
    fn normalize(&mut self) {
        let total: f64 = self.theta.iter().sum();
        if total > 0.0 {
            self.theta.iter_mut().for_each(|weight| *weight /= total);
        } else {
            let share = 1.0 / self.theta.len() as f64;
            self.theta.fill(share);
        }
    }

    /// Computes `Q theta + a` and prices the weights.
    fn price(&mut self, matrix: &impl Matrix, linear: &[f64]) -> Priced {
        self.costs.clear();
        self.costs.extend_from_slice(linear);
        for (&place, &weight) in self.support.iter().zip(&self.theta) {
            add_scaled(&mut self.costs, weight, matrix.row(place));
        }
        let (mut mean, mut linear_part, mut size) = (0.0, 0.0, 0.0);
        for (&place, &weight) in self.support.iter().zip(&self.theta) {
            mean += weight * self.costs[place];
            linear_part += weight * linear[place];
            size += weight * (matrix.row(place)[place] + linear[place].abs());
        }
        let mut least = (f64::INFINITY, 0);
        for (place, &cost) in self.costs.iter().enumerate() {
            if cost < least.0 {
                least = (cost, place);
            }
        }
        Priced {
            gap: mean - least.0,
            entering: least.1,
            value: 0.5 * (mean + linear_part),
            round_off: ROUND_OFF * size,
        }
    }

    /// Corrects the weights by one step of iterative refinement on the support.
    fn refine(&mut self) {
        let size = self.support.len();
        let mean: f64 = self.support.iter().zip(&self.theta).map(|(&place, &weight)| weight * self.costs[place]).sum();
        self.column.clear();
        self.column.extend(self.support.iter().map(|&place| mean - self.costs[place]));
        self.forward();
        let product: f64 = self.ones.iter().zip(&self.column).map(|(x, y)| x * y).sum();
        let square: f64 = self.ones.iter().map(|x| x * x).sum();
        self.column.iter_mut().zip(&self.ones).for_each(|(entry, one)| *entry -= product / square * one);
        self.backward();
        self.target.clear();
        self.target.extend(self.theta.iter().zip(&self.column).map(|(weight, change)| weight + change));
        if self.ones.len() == size {
            self.go_to_target();
        }
    }

    /// Adds a cut to the support. A dependent cut enters in exchange for another.
    fn enter(&mut self, matrix: &impl Matrix, place: usize) {
        if self.append(matrix, place) {
            self.theta.push(0.0);
            return;
        }
        // M z = its column. Moving weight from the support along z to the cut changes neither the sum nor the quadratic
        // term, and lowers the cost. It stops when a weight is zero.
        self.backward();
        let exchange = self.column.clone();
        let mut leaving = None;
        let mut step = f64::INFINITY;
        for (position, (&weight, &rate)) in self.theta.iter().zip(&exchange).enumerate() {
            if rate > 1e-12 && weight / rate < step {
                step = weight / rate;
                leaving = Some(position);
            }
        }
        let Some(leaving) = leaving else { return };
        self.theta.iter_mut().zip(&exchange).for_each(|(weight, rate)| *weight = (*weight - step * rate).max(0.0));
        self.remove(leaving);
        if self.append(matrix, place) {
            self.theta.push(step);
        }
        self.normalize();
    }

    /// Exchanges weight between pairs of cuts. It is slow but safe, for cases in which rounding defeats the active set.
    fn pairwise(&mut self, matrix: &impl Matrix, linear: &[f64], patience: &Patience<'_>) -> f64 {
        let mut weights = vec![0.0; linear.len()];
        self.weights().for_each(|(place, weight)| weights[place] = weight);
        let mut gap = f64::INFINITY;
        for _ in 0..2000 {
            if patience.is_over_after(self.support.len() * linear.len()) {
                break;
            }
            self.costs.clear();
            self.costs.extend_from_slice(linear);
            for (place, &weight) in weights.iter().enumerate().filter(|&(_, &weight)| weight > 0.0) {
                add_scaled(&mut self.costs, weight, matrix.row(place));
            }
            let live = (0..linear.len()).filter(|&place| linear[place].is_finite());
            let Some(to) = live.min_by(|&a, &b| self.costs[a].total_cmp(&self.costs[b])) else { break };
            let used = (0..linear.len()).filter(|&place| weights[place] > 0.0);
            let Some(from) = used.max_by(|&a, &b| self.costs[a].total_cmp(&self.costs[b])) else { break };
            let mean: f64 = weights.iter().zip(&self.costs).filter(|(w, _)| **w > 0.0).map(|(w, c)| w * c).sum();
            gap = mean - self.costs[to];
            let curvature = matrix.row(to)[to] + matrix.row(from)[from] - 2.0 * matrix.row(to)[from];
            let difference = self.costs[from] - self.costs[to];
            if difference <= 0.0 {
                break;
            }
            let step = if curvature > 0.0 { (difference / curvature).min(weights[from]) } else { weights[from] };
            weights[from] -= step;
            weights[to] += step;
        }
        self.replace(matrix, weights.into_iter().enumerate().filter(|&(_, weight)| weight > 0.0));
        gap
    }

    /// Replaces the support and its weights. The factor does not belong to them: the next solve rebuilds it.
    fn replace(&mut self, matrix: &impl Matrix, weights: impl Iterator<Item = (usize, f64)>) {
        self.ones.clear();
        self.support.clear();
        self.stamps.clear();
        self.theta.clear();
        for (place, weight) in weights {
            self.support.push(place);
            self.stamps.push(matrix.stamp(place));
            self.theta.push(weight);
        }
        self.shift = 0.0;
    }
}
