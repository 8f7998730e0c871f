//! Cuts of the whole function.
//!
//! A cut `i` is a subgradient `g_i` and its linearisation error at the centre `c`,
//! `alpha_i = f(c) - f(x_i) - g_i'(c - x_i) >= 0`; the model is `max_i f(c) - alpha_i + g_i'(x - c)`. The bundle keeps the
//! Gram matrix of the subgradients up to date: one new row for each cut.

use super::{Centre, Cuts, Pruning, Seen};
use crate::error::EvaluationError;
use crate::function::Function;
use crate::master::Proposal;
use crate::oracle::Domain;
use crate::primal::Primal;
use crate::simd::{Block, blocks_for, flat};
use crate::state::{CutsOf, Harvest, SavedCuts};
use crate::vectors::{Padded, add_scaled, combine, dot, dots};

/// Cuts have fixed places, so that a method can refer to them; places of removed cuts are used again.
#[derive(Clone, Debug)]
pub(crate) struct Bundle {
    dim: usize,
    blocks: usize,
    centre: Centre,
    /// Subgradients by place.
    rows: Vec<Block>,
    /// Inner products of all subgradients: `gram[i * stride + j]`.
    gram: Vec<f64>,
    stride: usize,
    /// Linearisation errors by place; infinite where there is no cut.
    errors: Vec<f64>,
    /// Steps since a cut last had a weight.
    ages: Vec<usize>,
    /// A new number for each cut ever taken, by place: tells whether a place still holds the same cut.
    stamps: Vec<u64>,
    taken: u64,
    newest: usize,
    live: usize,
    products: Vec<f64>,
    repeats: Repeats,
    /// Whether the variables are free: then the direction is a sum of subgradients, and nothing else.
    is_free: bool,
    /// The subgradient at the last trial point.
    latest: Padded,
    /// Products of all subgradients with the way to the last trial point, by place.
    slopes: Vec<f64>,
    /// Primal solutions by place, and that at the last trial point; none where they are not kept.
    primals: Vec<Primal>,
    latest_primal: Option<Primal>,
}

/// What becomes of a cut with the subgradient of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeats {
    /// The two become one, with the smaller error: the model is the same.
    Merge,
    /// Both stay: for weights that do not come from the model.
    Keep,
}

impl Bundle {
    /// A bundle around a point with the function's value there, and room for so many cuts.
    pub(crate) fn new(centre: &[f64], value: f64, domain: &Domain, capacity: usize) -> Self {
        let dim = centre.len();
        let mut bundle = Self {
            dim,
            blocks: blocks_for(dim),
            centre: Centre::new(centre, value),
            rows: vec![],
            gram: vec![],
            stride: 0,
            errors: vec![],
            ages: vec![],
            stamps: vec![],
            taken: 0,
            newest: 0,
            live: 0,
            products: vec![],
            repeats: Repeats::Merge,
            is_free: *domain == Domain::Free,
            latest: Padded::zeros(dim),
            slopes: Vec::with_capacity(capacity),
            primals: vec![],
            latest_primal: None,
        };
        bundle.reserve(capacity);
        bundle
    }

    /// Adds a cut with its linearisation error and, where they are kept, its primal solution.
    pub(crate) fn with_cut(mut self, subgradient: &Padded, error: f64, primal: Option<Primal>) -> Self {
        self.insert(subgradient, error, primal);
        self
    }

    /// Adds cuts with their linearisation errors.
    pub(crate) fn with_cuts(mut self, cuts: &SavedCuts) -> Self {
        let mut subgradient = Padded::zeros(self.dim);
        for (_, error, (coordinates, entries)) in cuts.iter() {
            let numbers = subgradient.numbers_mut(self.dim);
            numbers.fill(0.0);
            coordinates.iter().zip(entries).for_each(|(&at, entry)| numbers[at as usize] += entry);
            self.insert(&subgradient, error, None);
        }
        self
    }

    /// Changes what becomes of cuts with the same subgradient.
    pub(crate) fn with_repeats(self, repeats: Repeats) -> Self {
        Self { repeats, ..self }
    }

    pub(crate) fn dim(&self) -> usize {
        self.dim
    }

    /// Place of the last cut inserted or merged.
    pub(crate) fn newest(&self) -> usize {
        self.newest
    }

    /// Number of places, empty ones included.
    pub(crate) fn places(&self) -> usize {
        self.errors.len()
    }

    pub(crate) fn is_live(&self, place: usize) -> bool {
        self.errors[place].is_finite()
    }

    /// Linearisation errors by place; infinite where there is no cut.
    pub(crate) fn errors(&self) -> &[f64] {
        &self.errors
    }

    pub(crate) fn stamps(&self) -> &[u64] {
        &self.stamps
    }

    pub(crate) fn row(&self, place: usize) -> &[Block] {
        &self.rows[place * self.blocks..(place + 1) * self.blocks]
    }

    /// The largest square of a subgradient.
    pub(crate) fn largest_square(&self) -> f64 {
        let live = (0..self.errors.len()).filter(|&place| self.is_live(place));
        live.map(|place| self.gram[place * self.stride + place]).fold(0.0, f64::max)
    }

    /// Inner products of a cut's subgradient with all others, by place.
    pub(crate) fn gram_row(&self, place: usize) -> &[f64] {
        &self.gram[place * self.stride..place * self.stride + self.errors.len()]
    }

    /// Writes the sum of subgradients with weights.
    pub(crate) fn aggregate(&self, weights: &[(usize, f64)], sum: &mut Padded) {
        combine(&self.rows, weights, &mut sum.0);
    }

    /// Writes the inner product of every subgradient with a vector, by place.
    pub(crate) fn products(&self, vector: &Padded, products: &mut Vec<f64>) {
        // What is left of places without a cut must not be scaled again and again.
        products.clear();
        products.resize(self.errors.len(), 0.0);
        self.live_products(vector, products);
    }

    /// As [`Bundle::products`], run by run of live cuts: reading all cuts is what a step spends most of its time on.
    fn live_products(&self, vector: &Padded, products: &mut [f64]) {
        let mut start = 0;
        for run in self.errors.chunk_by(|a, b| a.is_finite() == b.is_finite()) {
            let end = start + run.len();
            if run[0].is_finite() {
                dots(&self.rows[start * self.blocks..end * self.blocks], &vector.0, &mut products[start..end]);
            }
            start = end;
        }
    }

    /// Moves the centre a share of the way to a point. `slopes` are the products of all subgradients with the whole way, by
    /// place.
    fn move_towards(&mut self, point: &[f64], value: f64, share: f64, slopes: &[f64]) {
        let rise = value - self.centre.value;
        for (error, slope) in self.errors.iter_mut().zip(slopes) {
            // As in `insert`.
            *error = (*error + share * rise - share * slope).max(0.0);
        }
        self.centre.move_towards(point, value, share);
    }

    /// Adds a cut with its linearisation error at the centre and returns its place; a cut with the same subgradient is
    /// merged with it.
    pub(crate) fn insert(&mut self, subgradient: &Padded, error: f64, primal: Option<Primal>) -> usize {
        // Round-off may make an error slightly negative; convexity does not.
        let error = error.max(0.0);
        let mut products = std::mem::take(&mut self.products);
        products.resize(self.errors.len(), 0.0);
        self.live_products(subgradient, &mut products);
        let square = dot(&subgradient.0, &subgradient.0);
        let candidates = if self.repeats == Repeats::Merge { self.errors.len() } else { 0 };
        let twin = (0..candidates).find(|&place| {
            let other = self.gram[place * self.stride + place];
            // The products only tell that two cuts may be equal: they lose half of the digits.
            let may_be_equal = (other + square - 2.0 * products[place]).abs() <= 1e-14 * (other + square);
            self.is_live(place) && may_be_equal && self.is_twin(place, subgradient, square)
        });
        let is_better = twin.is_none_or(|place| error < self.errors[place]);
        let place = match twin {
            Some(place) => {
                self.errors[place] = self.errors[place].min(error);
                self.ages[place] = 0;
                place
            }
            None => self.fill_place(subgradient, error, &products, square),
        };
        self.products = products;
        self.newest = place;
        if let Some(primal) = primal.filter(|_| is_better) {
            self.primals.resize(self.errors.len(), Primal::default());
            self.primals[place] = primal;
        }
        place
    }

    /// Whether the subgradient at a place is the one about to be inserted, up to rounding.
    fn is_twin(&self, place: usize, subgradient: &Padded, square: f64) -> bool {
        let pairs = flat(self.row(place)).iter().zip(flat(&subgradient.0));
        pairs.map(|(a, b)| (a - b) * (a - b)).sum::<f64>() <= 1e-28 * square
    }

    fn fill_place(&mut self, subgradient: &Padded, error: f64, products: &[f64], square: f64) -> usize {
        let place = match self.errors.iter().position(|error| !error.is_finite()) {
            Some(place) => place,
            None => {
                if self.errors.len() == self.stride {
                    self.reserve(2 * self.stride);
                }
                self.errors.push(f64::INFINITY);
                self.ages.push(0);
                self.stamps.push(0);
                self.errors.len() - 1
            }
        };
        self.errors[place] = error;
        self.ages[place] = 0;
        self.taken += 1;
        self.stamps[place] = self.taken;
        self.live += 1;
        let start = place * self.blocks;
        if start == self.rows.len() {
            self.rows.extend_from_slice(&subgradient.0);
        } else {
            self.rows[start..start + self.blocks].copy_from_slice(&subgradient.0);
        }
        for (other, &product) in products.iter().enumerate() {
            self.gram[place * self.stride + other] = product;
            self.gram[other * self.stride + place] = product;
        }
        self.gram[place * self.stride + place] = square;
        place
    }

    /// Makes room for `capacity` cuts.
    fn reserve(&mut self, capacity: usize) {
        let capacity = capacity.max(8);
        // Reserved and not filled: pages that no cut ever needs are never touched.
        self.rows.reserve(capacity * self.blocks - self.rows.len());
        let mut gram = vec![0.0; capacity * capacity];
        for place in 0..self.errors.len() {
            let row = &self.gram[place * self.stride..place * self.stride + self.errors.len()];
            gram[place * capacity..place * capacity + row.len()].copy_from_slice(row);
        }
        self.gram = gram;
        self.stride = capacity;
        self.errors.reserve(capacity - self.errors.len());
        self.ages.reserve(capacity - self.ages.len());
        self.stamps.reserve(capacity - self.stamps.len());
        self.products.reserve(capacity);
    }

    /// Ages the cuts without weight and forgets those that had none for `lifetime` steps, except for `newest`.
    fn age(&mut self, weights: &[(usize, f64)], newest: usize, lifetime: usize) {
        self.ages.iter_mut().for_each(|age| *age += 1);
        weights.iter().for_each(|&(place, _)| self.ages[place] = 0);
        for place in 0..self.errors.len() {
            if self.ages[place] > lifetime && place != newest && self.is_live(place) {
                self.forget(place);
            }
        }
    }

    fn forget(&mut self, place: usize) {
        self.errors[place] = f64::INFINITY;
        self.live -= 1;
        if let Some(primal) = self.primals.get_mut(place) {
            *primal = Primal::default();
        }
    }

    /// Makes room for one more cut under a cap by forgetting those with the least weight, of several the oldest; true if there
    /// were any.
    fn forget_lightest(&mut self, cap: usize, weights: &[(usize, f64)]) -> bool {
        let before = self.live;
        while self.live >= cap {
            let weight =
                |place: usize| weights.iter().find(|(other, _)| *other == place).map_or(0.0, |&(_, weight)| weight);
            let live = (0..self.errors.len()).filter(|&place| self.is_live(place));
            let lightest =
                live.min_by(|&a, &b| weight(a).total_cmp(&weight(b)).then(self.stamps[a].cmp(&self.stamps[b])));
            match lightest {
                Some(place) => self.forget(place),
                None => break,
            }
        }
        self.live < before
    }

    /// Makes room for one more cut under a cap; true if that took an aggregate. Forgets the oldest cut without weight or, where
    /// all have one, replaces two of them by the aggregate of all. That aggregate is all the convergence proof needs to
    /// keep.
    fn make_room(&mut self, cap: usize, weights: &[(usize, f64)]) -> bool {
        while self.live >= cap {
            let weight =
                |place: usize| weights.iter().find(|(other, _)| *other == place).map_or(0.0, |&(_, weight)| weight);
            let idle = (0..self.errors.len()).filter(|&place| self.is_live(place) && weight(place) == 0.0);
            if let Some(oldest) = idle.max_by_key(|&place| self.ages[place]) {
                self.forget(oldest);
                continue;
            }
            let mut by_weight: Vec<usize> =
                weights.iter().map(|&(place, _)| place).filter(|&place| self.is_live(place)).collect();
            by_weight.sort_by(|&a, &b| weight(a).total_cmp(&weight(b)));
            let mut aggregate = Padded::zeros(self.dim);
            self.aggregate(weights, &mut aggregate);
            let error = weights.iter().map(|&(place, weight)| weight * self.errors[place]).sum();
            let primal = self.combined_primal(weights);
            by_weight.iter().take(2).for_each(|&place| self.forget(place));
            self.insert(&aggregate, error, primal);
            return true;
        }
        false
    }

    /// The sum of primal solutions with weights, where they are kept.
    fn combined_primal(&self, weights: &[(usize, f64)]) -> Option<Primal> {
        let parts = weights.iter().map(|&(place, weight)| (weight, &self.primals[place]));
        (!self.primals.is_empty()).then(|| Primal::combine(parts))
    }

    /// Adds the Gram rows of cuts with weights: products of every subgradient with their sum, by place.
    pub(crate) fn gram_combine(&self, weights: &[(usize, f64)], products: &mut Vec<f64>) {
        products.clear();
        products.resize(self.errors.len(), 0.0);
        weights.iter().for_each(|&(place, weight)| add_scaled(products, weight, self.gram_row(place)));
    }
}

impl Bundle {
    /// Writes the products of all subgradients with the step from the centre to the trial point. They are in the Gram matrix,
    /// unless bounds bend the direction or a cut with weight has just been forgotten.
    fn write_slopes(&mut self, proposal: &Proposal, are_weights_whole: bool) {
        let mut slopes = std::mem::take(&mut self.slopes);
        if self.is_free && are_weights_whole {
            self.gram_combine(&proposal.weights, &mut slopes);
        } else {
            self.products(&proposal.direction, &mut slopes);
        }
        slopes.iter_mut().for_each(|slope| *slope *= -proposal.eta);
        self.slopes = slopes;
    }
}

impl Cuts for Bundle {
    fn centre(&self) -> &[f64] {
        &self.centre.point
    }

    fn centre_value(&self) -> f64 {
        self.centre.value
    }

    fn len(&self) -> usize {
        self.live
    }

    fn evaluate(
        &mut self,
        function: &mut Function<'_>,
        trial: &[f64],
        proposal: &Proposal,
    ) -> Result<Seen, EvaluationError> {
        let value = function.evaluate(trial, self.latest.numbers_mut(self.dim))?;
        self.latest_primal = function.solutions().map(Primal::of_all);
        let slope = dot(&self.latest.0, &proposal.direction.0);
        Ok(Seen { value, error: self.centre.value - value - proposal.eta * slope, slope, reach: f64::NAN })
    }

    fn take(&mut self, trial: &[f64], seen: &Seen, share: f64, proposal: &Proposal, pruning: Pruning) -> bool {
        // Weights that do not come from the model say nothing of what it can do without; and the network that made them
        // sees the slopes even where the centre stays.
        let is_network = self.repeats == Repeats::Keep;
        let is_thinned = if is_network {
            self.forget_lightest(pruning.cap, &proposal.weights)
        } else {
            self.make_room(pruning.cap, &proposal.weights)
        };
        let taken = self.taken;
        if share > 0.0 || is_network {
            self.write_slopes(proposal, !is_thinned);
            let slopes = std::mem::take(&mut self.slopes);
            self.move_towards(trial, seen.value, share, &slopes);
            self.slopes = slopes;
        }
        let latest = std::mem::replace(&mut self.latest, Padded(vec![]));
        let primal = self.latest_primal.take();
        let newest = self.insert(&latest, (1.0 - share) * seen.error, primal);
        self.latest = latest;
        self.age(&proposal.weights, newest, pruning.lifetime);
        self.taken > taken
    }

    fn slopes(&self) -> &[f64] {
        &self.slopes
    }

    fn primal(&self, proposal: &Proposal) -> Option<Primal> {
        self.combined_primal(&proposal.weights)
    }

    fn harvest(&self, since: u64, harvest: &mut Harvest) {
        harvest.cuts_of = CutsOf::Whole;
        harvest.newest = self.taken;
        for place in (0..self.places()).filter(|&place| self.is_live(place) && self.stamps[place] > since) {
            let row = &flat(self.row(place))[..self.dim];
            let rise: f64 = row.iter().zip(&self.centre.point).map(|(entry, at)| entry * at).sum();
            let slope = row.iter().zip(0..).filter(|(entry, _)| **entry != 0.0).map(|(entry, at)| (at, *entry));
            harvest.cuts.push(0, self.centre.value - self.errors[place] - rise, slope);
        }
    }
}

#[cfg(test)]
impl Bundle {
    /// A bundle of given cuts: subgradients and linearisation errors.
    pub(crate) fn of_cuts(centre: &[f64], cuts: &[(Vec<f64>, f64)]) -> Self {
        let mut bundle = Self::new(centre, 0.0, &Domain::Free, cuts.len());
        cuts.iter().for_each(|cut| bundle.insert_cut(cut));
        bundle
    }

    pub(crate) fn insert_cut(&mut self, (subgradient, error): &(Vec<f64>, f64)) {
        self.insert(&Padded::of(subgradient), *error, None);
    }

    /// Forgets the cut with a subgradient.
    pub(crate) fn forget_cut(&mut self, subgradient: &[f64]) {
        let is_it = |place: &usize| self.is_live(*place) && &flat(self.row(*place))[..self.dim] == subgradient;
        if let Some(place) = (0..self.places()).find(is_it) {
            self.forget(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_without_a_cut_have_no_product() {
        let cuts = [(vec![1.0, 2.0], 0.0), (vec![3.0, 1.0], 1.0)];
        let mut bundle = Bundle::of_cuts(&[0.0; 2], &cuts);
        bundle.forget_cut(&cuts[1].0);
        let mut products = vec![f64::NEG_INFINITY; 2];
        bundle.products(&Padded::of(&[1.0, 1.0]), &mut products);
        assert_eq!(products, [3.0, 0.0]);
    }
}
