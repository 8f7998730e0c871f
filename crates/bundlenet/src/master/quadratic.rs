//! The exact master: the quadratic problem over the weights, with bounds on the variables.
//!
//! With bounds the dual is `min over theta and mu of eta/2 |G theta - mu|^2 + alpha'theta + mu'(c - bound)`. An entry of
//! `mu` is positive at a lower bound and negative at an upper one. Let `B` be the set of coordinates whose trial value is
//! held at a bound. There the quadratic term becomes linear. So for a given `B` the problem is again one over the
//! simplex, with a Gram matrix over the other coordinates. `B` is corrected until it agrees with the solution; one to
//! three rounds are enough. If it cycles, an exact line search between two solutions enforces a decrease.

use bundlenet_linalg::simd::flat;
use bundlenet_linalg::vectors::{Padded, add_scaled, dot, dots};

use super::Proposer;
use super::proximity::Proximity;
use super::simplex::{Matrix, SimplexMaster};
use crate::model::{Bundle, FIRST_CUTS, Model, Proposal, Step};
use crate::oracle::{Domain, Patience, bend, crossed};

/// Rounds of correcting `B` before a decrease is enforced, and the largest number of rounds.
const FREE_ROUNDS: usize = 8;
const MAX_ROUNDS: usize = 60;

/// Changes of the Gram matrix, beyond one for each coordinate, after which it is computed again.
const MAX_FLIPPED: usize = 200;

/// The exact quadratic master with a step-length strategy.
pub(crate) struct QuadraticProposer {
    proximity: Proximity,
    master: SimplexMaster,
    linear: Vec<f64>,
    bounds: Option<Bounds>,
}

impl QuadraticProposer {
    pub(crate) fn new(proximity: Proximity, domain: &Domain, dim: usize) -> Self {
        let limits: Vec<(f64, f64)> = (0..dim).map(|index| domain.limits(index)).collect();
        let is_bounded = |&(lower, upper): &(f64, f64)| lower.is_finite() || upper.is_finite();
        let bounds = limits.iter().any(is_bounded).then(|| Bounds::new(limits));
        let linear = Vec::with_capacity(FIRST_CUTS);
        Self { proximity, master: SimplexMaster::with_capacity(FIRST_CUTS), linear, bounds }
    }
}

impl QuadraticProposer {
    /// The step-length strategy.
    pub(crate) fn proximity(&self) -> &Proximity {
        &self.proximity
    }

    /// Solves the master. Returns the optimality gap of the weights, in units of the function; infinite if the patience
    /// ends before.
    fn solve(&mut self, bundle: &Bundle, proposal: &mut Proposal, patience: &Patience<'_>) -> f64 {
        (proposal.eta, proposal.centre_policy) = (self.proximity.eta(), self.proximity.centre_policy());
        let gap = match &mut self.bounds {
            None => {
                let eta = proposal.eta;
                self.linear.clear();
                self.linear.extend(bundle.errors().iter().map(|error| error / eta));
                let gap = eta * self.master.solve(bundle, &self.linear, false, patience);
                proposal.weights.clear();
                proposal.weights.extend(self.master.weights());
                bundle.aggregate(&proposal.weights, &mut proposal.direction);
                proposal.sigma = aggregate_error(bundle, &proposal.weights);
                gap
            }
            Some(bounds) => bounds.solve(bundle, &mut self.master, &mut self.linear, proposal, patience),
        };
        proposal.norm_squared = dot(&proposal.direction.0, &proposal.direction.0);
        gap
    }
}

impl Proposer for QuadraticProposer {
    type Model = Bundle;

    fn propose(&mut self, bundle: &mut Bundle, proposal: &mut Proposal, patience: &Patience<'_>) {
        self.solve(bundle, proposal, patience);
    }

    fn next_eta(&self) -> Option<f64> {
        Some(self.proximity.eta())
    }

    fn set_eta(&mut self, eta: f64) -> bool {
        self.proximity.set_eta(eta);
        true
    }

    fn learn(&mut self, _bundle: &Bundle, step: &Step<'_>) {
        self.proximity.update(step);
    }
}

fn aggregate_error(bundle: &Bundle, weights: &[(usize, f64)]) -> f64 {
    weights.iter().map(|&(place, weight)| weight * bundle.errors()[place]).sum()
}

impl Matrix for Bundle {
    fn row(&self, place: usize) -> &[f64] {
        self.gram_row(place)
    }

    fn stamp(&self, place: usize) -> u64 {
        self.stamps()[place]
    }

    fn largest_square(&self) -> f64 {
        self.largest_square()
    }
}

/// Data for bounds on the variables.
struct Bounds {
    /// Lower and upper limit of each coordinate.
    limits: Vec<(f64, f64)>,
    /// Limits at which trial values are held, by coordinate.
    held: Vec<Option<f64>>,
    /// Gram matrix over the coordinates that are not held.
    gram: ReducedGram,
    /// `G theta` of the present and of the last round.
    sum: Padded,
    last_sum: Padded,
    last_weights: Vec<(usize, f64)>,
    /// Coordinates that have to be held elsewhere, and the limits at which they are to be held.
    flips: Vec<(usize, Option<f64>)>,
    /// Whether the Gram matrix has changed since the last solve.
    is_changed: bool,
}

struct ReducedGram {
    entries: Vec<f64>,
    stride: usize,
    stamps: Vec<u64>,
    masked: Padded,
    column: Vec<f64>,
    largest_square: f64,
    /// Coordinates added or removed since all rows were computed.
    flipped: usize,
}

impl Matrix for ReducedGram {
    fn row(&self, place: usize) -> &[f64] {
        &self.entries[place * self.stride..place * self.stride + self.stamps.len()]
    }

    fn stamp(&self, place: usize) -> u64 {
        self.stamps[place]
    }

    fn largest_square(&self) -> f64 {
        self.largest_square
    }
}

impl ReducedGram {
    /// Computes the rows of new cuts, until the patience ends.
    fn update(&mut self, bundle: &Bundle, held: &[Option<f64>], patience: &Patience<'_>) {
        self.largest_square = bundle.largest_square();
        let places = bundle.places();
        if places > self.stride {
            let stride = (2 * places).max(8);
            let mut entries = vec![0.0; stride * stride];
            for place in 0..self.stamps.len() {
                entries[place * stride..place * stride + self.stamps.len()].copy_from_slice(self.row(place));
            }
            self.entries = entries;
            self.stride = stride;
        }
        self.stamps.resize(places, 0);
        for place in 0..places {
            if bundle.is_live(place) && self.stamps[place] != bundle.stamps()[place] {
                if patience.is_over_after(places * held.len()) {
                    return;
                }
                self.stamps[place] = bundle.stamps()[place];
                self.compute_row(bundle, held, place);
            }
        }
    }

    fn compute_row(&mut self, bundle: &Bundle, held: &[Option<f64>], place: usize) {
        self.masked.0.copy_from_slice(bundle.row(place));
        let entries = self.masked.numbers_mut(held.len()).iter_mut().zip(held);
        entries.filter(|(_, held)| held.is_some()).for_each(|(entry, _)| *entry = 0.0);
        self.column.resize(bundle.places(), 0.0);
        for other in 0..bundle.places() {
            if bundle.is_live(other) {
                dots(bundle.row(other), &self.masked.0, &mut self.column[other..=other]);
            }
        }
        for (other, &product) in self.column.iter().enumerate() {
            self.entries[place * self.stride + other] = product;
            self.entries[other * self.stride + place] = product;
        }
    }

    /// Adds coordinates that are no longer held, and removes those that now are. If the patience ends before, no row is
    /// valid any more.
    fn flip(&mut self, bundle: &Bundle, held: &[Option<f64>], flips: &[(usize, Option<f64>)], patience: &Patience<'_>) {
        let places = bundle.places();
        self.flipped += flips.len();
        // A rank-one change costs `places^2`, a new row `places * dim`. Many changes add up round-off.
        if flips.len() > held.len() / 2 || self.flipped > MAX_FLIPPED + held.len() {
            self.flipped = 0;
            for place in (0..places).filter(|&place| bundle.is_live(place)) {
                if patience.is_over_after(places * held.len()) {
                    return self.stamps.fill(0);
                }
                self.compute_row(bundle, held, place);
            }
            return;
        }
        for &(index, limit) in flips {
            if patience.is_over_after(places * places) {
                return self.stamps.fill(0);
            }
            let sign = if limit.is_some() { -1.0 } else { 1.0 };
            self.column.clear();
            self.column.extend((0..places).map(|place| flat(bundle.row(place))[index]));
            for place in 0..places {
                let factor = sign * self.column[place];
                if factor != 0.0 {
                    let start = place * self.stride;
                    add_scaled(&mut self.entries[start..start + places], factor, &self.column);
                }
            }
        }
    }
}

impl Bounds {
    fn new(limits: Vec<(f64, f64)>) -> Self {
        let dim = limits.len();
        let held = limits.iter().map(|&limits| Self::fixed(limits));
        Self {
            held: held.collect(),
            limits,
            gram: ReducedGram {
                entries: vec![0.0; FIRST_CUTS * FIRST_CUTS],
                stride: FIRST_CUTS,
                stamps: Vec::with_capacity(FIRST_CUTS),
                masked: Padded::zeros(dim),
                column: Vec::with_capacity(FIRST_CUTS),
                largest_square: 0.0,
                flipped: 0,
            },
            sum: Padded::zeros(dim),
            last_sum: Padded::zeros(dim),
            last_weights: vec![],
            flips: Vec::with_capacity(dim),
            is_changed: false,
        }
    }

    /// Finds weights and direction. Returns their optimality gap; infinite if the patience ends before.
    fn solve(
        &mut self,
        bundle: &Bundle,
        master: &mut SimplexMaster,
        linear: &mut Vec<f64>,
        proposal: &mut Proposal,
        patience: &Patience<'_>,
    ) -> f64 {
        let eta = proposal.eta;
        let mut gap = f64::INFINITY;
        let (mut is_segment, mut is_settled) = (false, false);
        self.gram.update(bundle, &self.held, patience);
        let mut last_value = f64::INFINITY;
        for round in 0..MAX_ROUNDS {
            self.linear_term(bundle, eta, linear, patience);
            gap = eta * master.solve(&self.gram, linear, std::mem::take(&mut self.is_changed), patience);
            is_segment = false;
            proposal.weights.clear();
            proposal.weights.extend(master.weights());
            bundle.aggregate(&proposal.weights, &mut self.sum);
            self.find_flips(bundle, eta);
            is_settled = self.flips.is_empty();
            if is_settled || patience.is_over() {
                break;
            }
            if round >= FREE_ROUNDS {
                let value = self.value(bundle, eta, &proposal.weights);
                if value >= last_value {
                    self.search_segment(bundle, eta, proposal);
                    self.find_flips(bundle, eta);
                    is_segment = true;
                    if self.flips.is_empty() {
                        break;
                    }
                }
                last_value = self.value(bundle, eta, &proposal.weights);
                self.last_sum.0.copy_from_slice(&self.sum.0);
                self.last_weights.clone_from(&proposal.weights);
            }
            // The Gram matrix stays as it is if a coordinate is held at its other limit.
            let held = &mut self.held;
            self.flips
                .retain(|&(index, limit)| std::mem::replace(&mut held[index], limit).is_some() != limit.is_some());
            self.gram.flip(bundle, &self.held, &self.flips, patience);
            self.is_changed = !self.flips.is_empty();
            if patience.is_over() {
                break;
            }
        }
        self.write_direction(bundle, proposal);
        if patience.is_over() {
            return f64::INFINITY;
        }
        if is_segment || !is_settled {
            gap = true_gap(bundle, proposal);
        }
        gap
    }

    /// `alpha / eta`, plus the contribution of held coordinates, until the patience ends.
    fn linear_term(&self, bundle: &Bundle, eta: f64, linear: &mut Vec<f64>, patience: &Patience<'_>) {
        linear.clear();
        linear.extend(bundle.errors().iter().map(|error| error / eta));
        for (index, &centre) in bundle.centre().point.iter().enumerate() {
            let way = self.held[index].map_or(0.0, |limit| centre - limit);
            if way != 0.0 {
                if patience.is_over_after(linear.len()) {
                    return;
                }
                for (place, entry) in linear.iter_mut().enumerate() {
                    *entry += way / eta * flat(bundle.row(place))[index];
                }
            }
        }
    }

    /// The only value of a fixed variable.
    fn fixed((lower, upper): (f64, f64)) -> Option<f64> {
        (lower == upper).then_some(lower)
    }

    /// The limit at which the trial value has to be held. A fixed variable is always held.
    fn limit_at(&self, index: usize, centre: f64, sum: f64, eta: f64) -> Option<f64> {
        let limits = self.limits[index];
        Self::fixed(limits).or_else(|| crossed(limits, centre - eta * sum))
    }

    /// Entry of the direction.
    fn direction_at(&self, index: usize, centre: f64, sum: f64, eta: f64) -> f64 {
        self.limit_at(index, centre, sum, eta).map_or(sum, |limit| (centre - limit) / eta)
    }

    fn find_flips(&mut self, bundle: &Bundle, eta: f64) {
        let mut flips = std::mem::take(&mut self.flips);
        flips.clear();
        let sums = self.sum.numbers(bundle.dim());
        let points = bundle.centre().point.iter().zip(sums).enumerate();
        let limits = points.map(|(index, (&centre, &sum))| (index, self.limit_at(index, centre, sum, eta)));
        flips.extend(limits.filter(|&(index, limit)| limit != self.held[index]));
        self.flips = flips;
    }

    /// The dual objective at `G theta = sum`, divided by `eta`.
    fn value(&self, bundle: &Bundle, eta: f64, weights: &[(usize, f64)]) -> f64 {
        let sums = self.sum.numbers(bundle.dim());
        let quadratic: f64 = (bundle.centre().point.iter().zip(sums).enumerate())
            .map(|(index, (&centre, &sum))| {
                let direction = self.direction_at(index, centre, sum, eta);
                (sum - direction / 2.0) * direction
            })
            .sum();
        quadratic + aggregate_error(bundle, weights) / eta
    }

    /// Replaces the present solution by the best point on the segment to the last one.
    fn search_segment(&mut self, bundle: &Bundle, eta: f64, proposal: &mut Proposal) {
        let dim = bundle.dim();
        let errors = aggregate_error(bundle, &proposal.weights) - aggregate_error(bundle, &self.last_weights);
        let slope = |share: f64| -> f64 {
            let ends = self.last_sum.numbers(dim).iter().zip(self.sum.numbers(dim));
            let quadratic: f64 = (ends.zip(&bundle.centre().point).enumerate())
                .map(|(index, ((&from, &to), &centre))| {
                    let at = from + share * (to - from);
                    self.direction_at(index, centre, at, eta) * (to - from)
                })
                .sum();
            quadratic + errors / eta
        };
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if slope(middle) < 0.0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        let share = high;
        let mut weights: Vec<(usize, f64)> =
            self.last_weights.iter().map(|&(place, weight)| (place, (1.0 - share) * weight)).collect();
        for &(place, weight) in &proposal.weights {
            match weights.iter_mut().find(|(other, _)| *other == place) {
                Some((_, total)) => *total += share * weight,
                None => weights.push((place, share * weight)),
            }
        }
        weights.retain(|&(_, weight)| weight > 0.0);
        proposal.weights = weights;
        bundle.aggregate(&proposal.weights, &mut self.sum);
    }

    /// `w = G theta - mu` and `sigma = alpha'theta + mu'(c - bound)`. `mu` keeps the trial point within bounds.
    fn write_direction(&mut self, bundle: &Bundle, proposal: &mut Proposal) {
        let eta = proposal.eta;
        proposal.sigma = aggregate_error(bundle, &proposal.weights);
        proposal.direction.0.copy_from_slice(&self.sum.0);
        let direction = proposal.direction.numbers_mut(bundle.dim());
        for (index, (entry, &centre)) in direction.iter_mut().zip(&bundle.centre().point).enumerate() {
            if let Some(bent) = bend(self.limits[index], centre, *entry, eta) {
                proposal.sigma += bent.error;
                *entry = bent.direction;
            }
        }
    }
}

/// Optimality gap of the weights for the present direction.
fn true_gap(bundle: &Bundle, proposal: &Proposal) -> f64 {
    let mut products = vec![];
    bundle.products(&proposal.direction, &mut products);
    let cost = |place: usize| proposal.eta * products[place] + bundle.errors()[place];
    let mean: f64 = proposal.weights.iter().map(|&(place, weight)| weight * cost(place)).sum();
    let least = (0..bundle.places()).filter(|&place| bundle.is_live(place)).map(cost).fold(f64::INFINITY, f64::min);
    mean - least
}

#[cfg(test)]
mod tests {
    use clarabel::algebra::CscMatrix;
    use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, NonnegativeConeT, SupportedConeT, ZeroConeT};

    use super::*;
    use crate::master::Strategy;
    use crate::master::boxes::{random_domain, reaches};
    use crate::oracle::Counted;
    use bundlenet_linalg::Stream;

    struct Case {
        centre: Vec<f64>,
        cuts: Vec<(Vec<f64>, f64)>,
        eta: f64,
        domain: Domain,
    }

    impl Case {
        fn random(stream: &mut Stream, kind: usize) -> Self {
            let dim = 1 + stream.below(12);
            let count = 1 + stream.below(25);
            let domain = if kind.is_multiple_of(2) { Domain::Free } else { random_domain(stream, dim) };
            let mut cuts: Vec<(Vec<f64>, f64)> =
                (0..count).map(|_| ((0..dim).map(|_| stream.normal()).collect(), stream.normal().abs())).collect();
            for index in 1..count {
                match kind / 2 % 5 {
                    // Duplicates, nearly parallel subgradients, zeros, and subgradients of other sizes.
                    1 if stream.below(3) == 0 => cuts[index].0 = cuts[stream.below(index)].0.clone(),
                    2 if stream.below(2) == 0 => {
                        let near = cuts[stream.below(index)].0.iter().map(|entry| entry * (1.0 + 1e-6)).collect();
                        cuts[index].0 = near;
                    }
                    3 if stream.below(4) == 0 => cuts[index].0.fill(0.0),
                    4 => {
                        let size = 10_f64.powi(stream.below(7) as i32 - 3);
                        cuts[index].0.iter_mut().for_each(|entry| *entry *= size);
                    }
                    _ => {}
                }
            }
            let mut centre: Vec<f64> = (0..dim).map(|_| stream.normal()).collect();
            domain.project(&mut centre);
            Self { centre, cuts, eta: 10_f64.powi(stream.below(7) as i32 - 3), domain }
        }

        /// `min_d v + |d|^2 / (2 eta)` over `v >= g_i'd - alpha_i`, `c + d` in the domain, by an interior-point method.
        fn reference(&self) -> f64 {
            let dim = self.centre.len();
            // Variables d / sqrt(eta) and v, so that the quadratic term is the identity.
            let root = self.eta.sqrt();
            let quadratic: Vec<Vec<f64>> =
                (0..=dim).map(|i| (0..=dim).map(|j| if i == j && i < dim { 1.0 } else { 0.0 }).collect()).collect();
            let mut rows: Vec<Vec<f64>> = vec![];
            let mut right = vec![];
            for (subgradient, error) in &self.cuts {
                let mut row: Vec<f64> = subgradient.iter().map(|entry| entry * root).collect();
                row.push(-1.0);
                rows.push(row);
                right.push(*error);
            }
            for (index, sign, reach) in reaches(&self.domain, &self.centre) {
                let mut row = vec![0.0; dim + 1];
                row[index] = sign * root;
                rows.push(row);
                right.push(reach);
            }
            let cones: [SupportedConeT<f64>; 2] = [ZeroConeT(0), NonnegativeConeT(rows.len())];
            let mut linear = vec![0.0; dim + 1];
            linear[dim] = 1.0;
            let settings = DefaultSettings {
                verbose: false,
                tol_gap_abs: 1e-12,
                tol_gap_rel: 1e-12,
                tol_feas: 1e-12,
                ..DefaultSettings::default()
            };
            let mut solver = DefaultSolver::new(
                &CscMatrix::from(&quadratic),
                &linear,
                &CscMatrix::from(&rows),
                &right,
                &cones,
                settings,
            )
            .unwrap();
            solver.solve();
            solver.solution.obj_val
        }

        /// Value of the primal master at the step of a proposal.
        fn value(&self, proposal: &Proposal) -> f64 {
            let dim = self.centre.len();
            let step: Vec<f64> = proposal.direction.numbers(dim).iter().map(|w| -proposal.eta * w).collect();
            let slope = |subgradient: &[f64]| -> f64 { subgradient.iter().zip(&step).map(|(g, d)| g * d).sum() };
            let model = self.cuts.iter().map(|(g, error)| slope(g) - error).fold(f64::NEG_INFINITY, f64::max);
            model + step.iter().map(|d| d * d).sum::<f64>() / (2.0 * self.eta)
        }
    }

    /// Checks that a proposal is valid: weights on the simplex of the live cuts, and the direction and the aggregate
    /// error that belong to them.
    fn check_proposal(case: &Case, bundle: &Bundle, proposal: &Proposal, name: &str) {
        let (total, dim): (f64, usize) = (proposal.weights.iter().map(|(_, weight)| weight).sum(), case.centre.len());
        let are_valid = proposal.weights.iter().all(|&(place, weight)| weight > 0.0 && bundle.is_live(place));
        assert!((total - 1.0).abs() < 1e-12 && are_valid, "{name}: {total} {:?}", proposal.weights);
        let mut sum = Padded::zeros(dim);
        bundle.aggregate(&proposal.weights, &mut sum);
        let mut sigma = aggregate_error(bundle, &proposal.weights);
        let size = 1.0 + flat(&sum.0).iter().map(|entry| entry.abs()).fold(0.0, f64::max);
        assert!(proposal.sigma >= 0.0, "{name}: {}", proposal.sigma);
        let entries = case.centre.iter().zip(sum.numbers(dim)).zip(proposal.direction.numbers(dim));
        for (index, ((x, sum), w)) in entries.enumerate() {
            let (lower, upper) = case.domain.limits(index);
            let (reached, slack) = (x - case.eta * w, 1e-12 * x.abs().max(case.eta));
            assert!(reached >= lower - slack && reached <= upper + slack, "{name}");
            let trial = (x - case.eta * sum).clamp(lower, upper);
            let expected = if trial == x - case.eta * sum { *sum } else { (x - trial) / case.eta };
            assert!((w - expected).abs() <= 1e-12 * size, "{name}: {w} {expected}");
            sigma += (sum - expected) * (x - trial);
        }
        assert!((proposal.sigma - sigma).abs() <= 1e-11 * (size + sigma.abs()), "{name}: {} {sigma}", proposal.sigma);
    }

    fn check(case: &Case, bundle: &mut Bundle, proposer: &mut QuadraticProposer, name: &str) -> bool {
        let mut proposal = Proposal::new(case.centre.len());
        proposer.proximity = Proximity::new(Strategy::Constant, case.eta);
        let gap = proposer.solve(bundle, &mut proposal, &Patience::default());
        check_proposal(case, bundle, &proposal, name);
        // The reported gap is the true one: primal value minus dual value.
        let primal = case.value(&proposal);
        let dual = -(0.5 * case.eta * proposal.norm_squared + proposal.sigma);
        let size = case
            .cuts
            .iter()
            .map(|(g, error)| error + case.eta * g.iter().map(|x| x * x).sum::<f64>())
            .fold(1e-3, f64::max);
        assert!(primal - dual <= gap + 1e-12 * size, "{name}: {primal} {dual} {gap}");
        // The accuracy of Clarabel is about 1e-8 here.
        let reference = case.reference();
        assert!(primal <= reference + 1e-7 * size, "{name}: {primal} is worse than {reference}");
        assert!(dual <= reference + 1e-7 * size, "{name}: the dual value {dual} exceeds {reference}");
        primal - dual <= 1e-9 * size
    }

    #[test]
    fn masters_agree_with_an_interior_point_method() {
        let mut stream = Stream::new(5, "masters", 0);
        let mut reached = 0;
        for index in 0..4000 {
            let case = Case::random(&mut stream, index);
            let mut proposer =
                QuadraticProposer::new(Proximity::new(Strategy::Constant, 1.0), &case.domain, case.centre.len());
            let mut bundle = Bundle::of_cuts(&case.centre, &case.cuts);
            reached += usize::from(check(&case, &mut bundle, &mut proposer, &format!("case {index}")));
        }
        assert_eq!(reached, 4000, "masters solved to 1e-9");
    }

    /// A master that is cut short at any of its questions, also in a warm start, leaves a valid proposal. Afterwards it
    /// solves as before.
    #[test]
    fn masters_cut_short_are_valid() {
        let mut stream = Stream::new(7, "masters", 0);
        for index in 0..200 {
            let case = Case::random(&mut stream, index);
            let dim = case.centre.len();
            let first = 1 + stream.below(case.cuts.len());
            // The questions of the second solve, if the first one has some of the cuts.
            let solve = |most: usize| {
                let counted = Counted::after(most);
                let mut proposer = QuadraticProposer::new(Proximity::new(Strategy::Constant, 1.0), &case.domain, dim);
                let mut bundle = Bundle::of_cuts(&case.centre, &case.cuts[..first]);
                let mut proposal = Proposal::new(dim);
                proposer.solve(&bundle, &mut proposal, &Patience::default());
                case.cuts[first..].iter().for_each(|cut| bundle.insert_cut(cut));
                proposer.proximity = Proximity::new(Strategy::Constant, case.eta);
                let gap = proposer.solve(&bundle, &mut proposal, &counted.asked_often());
                let name = format!("case {index}, cut after {most} questions");
                check_proposal(&case, &bundle, &proposal, &name);
                if most < usize::MAX {
                    assert!(gap == f64::INFINITY && counted.questions() == most + 1, "{name}");
                    check(&case, &mut bundle, &mut proposer, &name);
                }
                counted.questions()
            };
            let questions = solve(usize::MAX);
            (0..questions).step_by(1 + questions / 20).for_each(|most| _ = solve(most));
        }
    }

    /// Warm starts work after jumps of `eta` by 10^3 and with a bundle that grows and shrinks.
    #[test]
    fn warm_starts_survive_jumps() {
        let mut stream = Stream::new(6, "masters", 0);
        for round in 0..150 {
            let mut case = Case::random(&mut stream, round);
            let mut proposer =
                QuadraticProposer::new(Proximity::new(Strategy::Constant, 1.0), &case.domain, case.centre.len());
            let mut bundle = Bundle::of_cuts(&case.centre, &case.cuts);
            for step in 0..12 {
                case.eta = if step % 2 == 0 { 1e-1 } else { 1e2 };
                check(&case, &mut bundle, &mut proposer, &format!("round {round}, step {step}"));
                let dim = case.centre.len();
                let cut: (Vec<f64>, f64) = ((0..dim).map(|_| stream.normal()).collect(), stream.normal().abs());
                bundle.insert_cut(&cut);
                case.cuts.push(cut);
                if step % 4 == 3 {
                    let gone = case.cuts.remove(stream.below(case.cuts.len()));
                    bundle.forget_cut(&gone.0);
                    case.cuts.retain(|(subgradient, _)| *subgradient != gone.0);
                }
            }
        }
    }
}
