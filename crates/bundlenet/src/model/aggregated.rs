//! Cuts of the whole function.
//!
//! Cut `i` is a subgradient `g_i` and its linearisation error at the centre `c`, `alpha_i = f(c) - f(x_i) - g_i'(c -
//! x_i) >= 0`. The model is `max_i f(c) - alpha_i + g_i'(x - c)`. The bundle keeps the Gram matrix of the subgradients
//! up to date: each new cut adds one row.

use std::ops::Range;
use std::sync::Arc;

use bundlenet_linalg::simd::{Block, blocks_for, flat};
use bundlenet_linalg::sparse::{pairs, sparse_dot};
use bundlenet_linalg::vectors::{Padded, add_scaled, combine, dot, dots, dots_of_two, multiply};

use super::{Centre, Model, Proposal, Pruning, Saved, SavedCut, SavedCuts, Scaling, Sight};
use crate::oracle::{CutsOf, Detail, Domain, Evaluation, Primal};

/// Cuts of the whole function around a stability centre. A cut keeps its place; places of removed cuts are reused.
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
    /// Linearisation errors by place; infinite at an empty place.
    errors: Vec<f64>,
    /// Steps since a cut last had a weight.
    ages: Vec<usize>,
    /// Numbers of the cuts, by place. Every new cut gets a new number, so a reused place can be recognised.
    stamps: Vec<u64>,
    taken: u64,
    newest: usize,
    live: usize,
    products: Vec<f64>,
    weighing: Weighing,
    /// Factors on the steps along each variable, if there is a metric. Stated ones are part of the inner products.
    scaling: Option<Scaling>,
    /// A subgradient times the stated factors.
    image: Padded,
    /// Whether all variables are free. The direction is then a combination of subgradients alone.
    is_free: bool,
    /// Products of all subgradients with the step from the centre to the last trial point, by place.
    slopes: Vec<f64>,
    /// Widths of the values behind the cuts, by place; empty if all values are exact.
    widths: Vec<f64>,
    /// Primal solutions by place. The last places may be missing; all are if no cut has a solution.
    primals: Vec<Option<Arc<Primal>>>,
}

/// Source of the weights on the cuts. It decides which cuts are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weighing {
    /// The master problem. Cuts without weight may be removed, and equal subgradients are merged.
    Master,
    /// A network. Its weights do not come from the model, so all cuts stay until the cap; then the lightest are
    /// removed.
    Network,
}

impl Bundle {
    /// An empty bundle around a centre, with memory for `capacity` cuts.
    pub(crate) fn new(centre: Centre, domain: &Domain, capacity: usize) -> Self {
        let dim = centre.point.len();
        let mut bundle = Self {
            dim,
            blocks: blocks_for(dim),
            centre,
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
            weighing: Weighing::Master,
            scaling: None,
            image: Padded::zeros(0),
            is_free: *domain == Domain::Free,
            slopes: Vec::with_capacity(capacity),
            widths: vec![],
            primals: vec![],
        };
        bundle.reserve(capacity);
        bundle
    }

    /// A bundle around the point of an evaluation, with the cut of that evaluation.
    pub(crate) fn around(start: &Evaluation, domain: &Domain, cap: usize) -> Self {
        let centre = Centre::new(&start.point, start.value, start.width);
        let bundle = Self::new(centre, domain, cap.min(super::FIRST_CUTS));
        let primal = start.primal();
        let mut bundle = bundle.with_cut(&start.subgradient, start.width, primal);
        bundle.set_width(start.width);
        bundle
    }

    /// Adds a cut with its linearisation error and, if they are kept, its primal solution.
    pub(crate) fn with_cut(mut self, subgradient: &Padded, error: f64, primal: Option<Primal>) -> Self {
        self.insert(subgradient, error, primal.map(Arc::new));
        self
    }

    /// Adds cuts of an earlier run.
    pub(crate) fn with_cuts(mut self, cuts: &SavedCuts) -> Self {
        let mut subgradient = Padded::zeros(self.dim);
        for SavedCut { constant, slope, primal, .. } in cuts.iter() {
            let numbers = subgradient.numbers_mut(self.dim);
            numbers.fill(0.0);
            pairs(slope).for_each(|(at, entry)| numbers[at as usize] += entry);
            let error = self.centre.value - (constant + sparse_dot(slope, &self.centre.point));
            self.insert(&subgradient, error, primal.cloned());
        }
        self
    }

    /// Sets the source of the weights.
    pub(crate) fn weighed_by(self, weighing: Weighing) -> Self {
        Self { weighing, ..self }
    }

    /// Passes the cuts from a network to a master: without metric, around another centre.
    pub(crate) fn hand_over(&mut self, centre: &Centre) {
        self.weighing = Weighing::Master;
        self.set_scaling(None);
        let mut way = Padded::zeros(self.dim);
        let entries = way.numbers_mut(self.dim).iter_mut().zip(centre.point.iter().zip(&self.centre.point));
        entries.for_each(|(way, (to, from))| *way = to - from);
        let mut slopes = std::mem::take(&mut self.slopes);
        self.products(&way, &mut slopes);
        let rise = centre.value - self.centre.value;
        // As in `insert`.
        let errors = self.errors.iter_mut().zip(&slopes);
        errors.for_each(|(error, slope)| *error = (*error + rise - slope).max(0.0));
        self.slopes = slopes;
        self.centre = centre.clone();
    }

    /// Sets the factors on steps along each variable. Stated ones are part of the inner products.
    pub(crate) fn scaled_by(mut self, scaling: Option<Scaling>) -> Self {
        self.set_scaling(scaling);
        self
    }

    fn set_scaling(&mut self, scaling: Option<Scaling>) {
        let stated = |scaling: &Option<Scaling>| scaling.as_ref().is_some_and(|scaling| scaling.stated().is_some());
        let is_changed = stated(&self.scaling) || stated(&scaling);
        self.scaling = scaling;
        if is_changed {
            self.multiply_out();
        }
    }

    /// Computes all inner products.
    fn multiply_out(&mut self) {
        for place in 0..self.places() {
            let mut image = Padded(self.row(place).to_vec());
            self.stated().into_iter().for_each(|scales| multiply(&mut image.0, &scales.0));
            let mut products = vec![0.0; self.places()];
            self.live_products(&image, &mut products);
            self.gram[place * self.stride..place * self.stride + products.len()].copy_from_slice(&products);
        }
    }

    /// Factors on the steps along each variable, if there is a metric.
    pub(crate) fn scaling(&self) -> Option<&Scaling> {
        self.scaling.as_ref()
    }

    /// Stated scales of the variables.
    fn stated(&self) -> Option<&Padded> {
        self.scaling.as_ref()?.stated()
    }

    pub(crate) fn dim(&self) -> usize {
        self.dim
    }

    /// Place of the last inserted or merged cut.
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

    /// Linearisation errors by place; infinite at an empty place.
    pub(crate) fn errors(&self) -> &[f64] {
        &self.errors
    }

    pub(crate) fn stamps(&self) -> &[u64] {
        &self.stamps
    }

    pub(crate) fn row(&self, place: usize) -> &[Block] {
        &self.rows[place * self.blocks..(place + 1) * self.blocks]
    }

    /// The largest squared norm of a subgradient.
    pub(crate) fn largest_square(&self) -> f64 {
        let live = (0..self.errors.len()).filter(|&place| self.is_live(place));
        live.map(|place| self.gram[place * self.stride + place]).fold(0.0, f64::max)
    }

    /// Inner products of one subgradient with all others, by place.
    pub(crate) fn gram_row(&self, place: usize) -> &[f64] {
        &self.gram[place * self.stride..place * self.stride + self.errors.len()]
    }

    /// Writes the weighted sum of subgradients.
    pub(crate) fn aggregate(&self, weights: &[(usize, f64)], sum: &mut Padded) {
        combine(&self.rows, weights, &mut sum.0);
    }

    /// Writes the inner product of every subgradient with a vector, by place.
    pub(crate) fn products(&self, vector: &Padded, products: &mut Vec<f64>) {
        // Empty places get 0: old numbers there would be scaled again and again.
        products.clear();
        products.resize(self.errors.len(), 0.0);
        self.live_products(vector, products);
    }

    /// As [`Bundle::products`], for ranges of live cuts. Reading the cuts is the most expensive part of a step.
    fn live_products(&self, vector: &Padded, products: &mut [f64]) {
        for Range { start, end } in self.live_ranges() {
            dots(&self.rows[start * self.blocks..end * self.blocks], &vector.0, &mut products[start..end]);
        }
    }

    /// Ranges of places with cuts.
    fn live_ranges(&self) -> impl Iterator<Item = Range<usize>> {
        let mut end = 0;
        let runs = self.errors.chunk_by(|a, b| a.is_finite() == b.is_finite());
        runs.filter_map(move |run| {
            let start = end;
            end += run.len();
            run[0].is_finite().then_some(start..end)
        })
    }

    /// Moves the centre a share of the way to the trial point and updates the errors. `slopes` must belong to that point.
    fn move_towards(&mut self, seen: &Evaluation, share: f64) {
        let rise = seen.value - self.centre.value;
        for (error, slope) in self.errors.iter_mut().zip(&self.slopes) {
            // As in `insert`.
            *error = (*error + share * rise - share * slope).max(0.0);
        }
        self.centre.move_towards(seen, share);
    }

    /// Products of all subgradients with the step to the last trial point, by place. Written only if they were needed.
    pub(crate) fn slopes(&self) -> &[f64] {
        &self.slopes
    }

    /// Adds a cut with its linearisation error at the centre and returns its place. A cut with the same subgradient is
    /// merged with the existing one.
    pub(crate) fn insert(&mut self, subgradient: &Padded, error: f64, primal: Option<Arc<Primal>>) -> usize {
        let mut products = std::mem::take(&mut self.products);
        products.resize(self.errors.len(), 0.0);
        self.write_image(subgradient);
        self.live_products(self.image_of(subgradient), &mut products);
        let place = self.insert_with(subgradient, error, primal, &products);
        self.products = products;
        place
    }

    /// As [`Bundle::insert`], with the inner products of the new subgradient with all others.
    fn insert_with(
        &mut self,
        subgradient: &Padded,
        error: f64,
        primal: Option<Arc<Primal>>,
        products: &[f64],
    ) -> usize {
        // Errors are nonnegative by convexity, up to round-off.
        let error = error.max(0.0);
        let square = dot(&subgradient.0, &self.image_of(subgradient).0);
        let candidates = if self.weighing == Weighing::Master { self.errors.len() } else { 0 };
        let twin = (0..candidates).find(|&place| {
            let other = self.gram[place * self.stride + place];
            // The products lose half of the digits: they only select candidates for an exact comparison.
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
            None => self.fill_place(subgradient, error, products, square),
        };
        self.newest = place;
        if is_better {
            self.set_primal(place, primal);
        }
        place
    }

    /// Takes a new subgradient into account in the metric, and writes its image: itself times the stated scales.
    fn write_image(&mut self, subgradient: &Padded) {
        let Some(scaling) = &mut self.scaling else { return };
        scaling.learn(subgradient);
        if let Some(scales) = scaling.stated() {
            self.image.0.clone_from(&subgradient.0);
            multiply(&mut self.image.0, &scales.0);
        }
    }

    /// The image of a subgradient, as [`Bundle::write_image`] left it.
    fn image_of<'a>(&'a self, subgradient: &'a Padded) -> &'a Padded {
        if self.stated().is_some() { &self.image } else { subgradient }
    }

    fn set_primal(&mut self, place: usize, primal: Option<Arc<Primal>>) {
        if primal.is_some() && self.primals.len() <= place {
            self.primals.resize(self.errors.len(), None);
        }
        if let Some(known) = self.primals.get_mut(place) {
            *known = primal;
        }
    }

    /// Whether the subgradient at a place equals the given one up to rounding.
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
        // Reserved but not filled: memory pages without cuts are never touched.
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

    /// Increases the age of cuts without weight and removes those older than `lifetime`, except for `newest`.
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
        self.set_primal(place, None);
    }

    /// Removes the cuts with the smallest weight, the oldest first among equals, until there is room for one more under
    /// the cap. True if any were removed.
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

    /// Makes room for one more cut under a cap. Removes the oldest cut without weight. If all cuts have weight,
    /// replaces the two lightest by the aggregate of all: convergence needs no other cut. True if it made an aggregate.
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
            let primal = self.combined_primal(weights).map(Arc::new);
            let width = self.mean_width(weights);
            by_weight.iter().take(2).for_each(|&place| self.forget(place));
            self.insert(&aggregate, error, primal);
            self.set_width(width);
            return true;
        }
        false
    }

    /// The weighted sum of primal solutions, if all cuts with a weight have one.
    fn combined_primal(&self, weights: &[(usize, f64)]) -> Option<Primal> {
        let primal = |place: usize| self.primals.get(place)?.as_deref();
        Primal::combine_all(weights.iter().map(|&(place, weight)| (weight, primal(place))))
    }

    /// Weighted sum of the widths behind the cuts.
    fn mean_width(&self, weights: &[(usize, f64)]) -> f64 {
        let width = |place: usize| self.widths.get(place).copied().unwrap_or(0.0);
        weights.iter().map(|&(place, weight)| weight * width(place)).sum()
    }

    /// Sets the width behind the newest cut.
    fn set_width(&mut self, width: f64) {
        if width > 0.0 || !self.widths.is_empty() {
            self.widths.resize(self.errors.len(), 0.0);
            self.widths[self.newest] = width;
        }
    }

    /// Weighted sum of Gram rows: the products of every subgradient with the weighted sum of subgradients, by place.
    pub(crate) fn gram_combine(&self, weights: &[(usize, f64)], products: &mut Vec<f64>) {
        products.clear();
        products.resize(self.errors.len(), 0.0);
        weights.iter().for_each(|&(place, weight)| add_scaled(products, weight, self.gram_row(place)));
    }
}

impl Bundle {
    /// Moves the centre and adds a cut, with a metric: both need a product of every cut with a new vector. One pass over the
    /// cuts computes both.
    fn move_and_insert(&mut self, seen: &Evaluation, error: f64, share: f64, proposal: &Proposal) -> usize {
        let (mut slopes, mut products) = (std::mem::take(&mut self.slopes), std::mem::take(&mut self.products));
        for numbers in [&mut slopes, &mut products] {
            numbers.clear();
            numbers.resize(self.errors.len(), 0.0);
        }
        self.write_image(&seen.subgradient);
        let image = self.image_of(&seen.subgradient);
        for Range { start, end } in self.live_ranges() {
            let rows = &self.rows[start * self.blocks..end * self.blocks];
            let products = [&mut slopes[start..end], &mut products[start..end]];
            dots_of_two(rows, [&proposal.direction.0, &image.0], products);
        }
        slopes.iter_mut().for_each(|slope| *slope *= -proposal.eta);
        self.slopes = slopes;
        self.move_towards(seen, share);
        let place = self.insert_with(&seen.subgradient, error, seen.primal().map(Arc::new), &products);
        self.products = products;
        place
    }

    /// Writes the products of all subgradients with the step from the centre to the trial point. The Gram matrix gives
    /// them, unless the step is not a weighted sum of cuts, bounds change the direction, or a cut with weight has just
    /// been removed.
    fn write_slopes(&mut self, proposal: &Proposal, are_weights_whole: bool) {
        let mut slopes = std::mem::take(&mut self.slopes);
        if self.is_free && are_weights_whole && !proposal.weights.is_empty() {
            self.gram_combine(&proposal.weights, &mut slopes);
        } else {
            self.products(&proposal.direction, &mut slopes);
        }
        slopes.iter_mut().for_each(|slope| *slope *= -proposal.eta);
        self.slopes = slopes;
    }
}

impl Model for Bundle {
    const DETAIL: Detail = Detail::Whole;

    fn centre(&self) -> &Centre {
        &self.centre
    }

    fn len(&self) -> usize {
        self.live
    }

    fn look(&mut self, seen: &Evaluation, proposal: &Proposal) -> Sight {
        let slope = dot(&seen.subgradient.0, &proposal.direction.0);
        Sight { error: self.centre.value - seen.cut() - proposal.eta * slope, slope, reach: None }
    }

    fn update(&mut self, seen: &Evaluation, sight: Sight, share: f64, proposal: &Proposal, pruning: Pruning) -> bool {
        let is_thinned = match self.weighing {
            Weighing::Network => self.forget_lightest(pruning.cap, &proposal.weights),
            Weighing::Master => self.make_room(pruning.cap, &proposal.weights),
        };
        let taken = self.taken;
        let error = (1.0 - share) * sight.error + share * seen.width;
        if self.scaling.is_some() {
            let newest = self.move_and_insert(seen, error, share, proposal);
            self.set_width(seen.width);
            self.age(&proposal.weights, newest, pruning.lifetime);
            return self.taken > taken;
        }
        // A network reads the slopes even if the centre stays.
        if share > 0.0 || self.weighing == Weighing::Network {
            self.write_slopes(proposal, !is_thinned);
            self.move_towards(seen, share);
        }
        let newest = self.insert(&seen.subgradient, error, seen.primal().map(Arc::new));
        self.set_width(seen.width);
        self.age(&proposal.weights, newest, pruning.lifetime);
        self.taken > taken
    }

    fn save(&self, since: u64) -> Saved {
        let mut saved = Saved::new(CutsOf::Whole, self.taken);
        for place in (0..self.places()).filter(|&place| self.is_live(place) && self.stamps[place] > since) {
            let row = &flat(self.row(place))[..self.dim];
            let rise: f64 = row.iter().zip(&self.centre.point).map(|(entry, at)| entry * at).sum();
            let slope = row.iter().zip(0..).filter(|(entry, _)| **entry != 0.0).map(|(entry, at)| (at, *entry));
            let primal = self.primals.get(place).cloned().flatten();
            saved.cuts.push(0, self.centre.value - self.errors[place] - rise, slope, primal);
        }
        saved
    }

    fn noise(&self, proposal: &Proposal) -> f64 {
        self.mean_width(&proposal.weights)
    }

    fn primal(&self, proposal: &Proposal) -> Option<Primal> {
        self.combined_primal(&proposal.weights)
    }
}

#[cfg(test)]
impl Bundle {
    /// A bundle of the given subgradients and linearisation errors.
    pub(crate) fn of_cuts(centre: &[f64], cuts: &[(Vec<f64>, f64)]) -> Self {
        let mut bundle = Self::new(Centre::new(centre, 0.0, 0.0), &Domain::Free, cuts.len());
        cuts.iter().for_each(|cut| bundle.insert_cut(cut));
        bundle
    }

    pub(crate) fn insert_cut(&mut self, (subgradient, error): &(Vec<f64>, f64)) {
        self.insert(&Padded::of(subgradient), *error, None);
    }

    /// Removes the cut with the given subgradient.
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
