//! Cuts of each component of a sum, `f = linear'x + sum_a f_a(x)`.
//!
//! The cut of a component is sparse: that of an arc has entries for the multipliers of its two nodes only. Most
//! components need few cuts, and most evaluations repeat an existing cut. So the cuts of a component are compared by
//! their entries.

use std::ops::Range;
use std::sync::Arc;

use bundlenet_linalg::sparse::{pairs, sparse_dot};
use bundlenet_linalg::vectors::Padded;

use super::{Centre, Model, Proposal, Pruning, Saved, SavedCuts, Sight};
use crate::oracle::{CutsOf, Detail, Evaluation, Fingerprint, Lines, Primal, Solutions};

/// A cut is wide if it has entries in more than one in this number of the variables. A cut of an arc is not, nor that of
/// a scenario with copies of its own; the cut of the scenario to which all others are compared is.
const WIDE: usize = 8;

/// A cut of a component.
#[derive(Clone, Debug)]
pub(crate) struct Cut {
    /// Number of the cut; unique in the bundle.
    id: u64,
    /// Range of its entries; empty for a zero subgradient.
    entries: Range<usize>,
    /// Linearisation error at the centre.
    pub(crate) error: f64,
    /// Width of the oracle's value when the cut was made: the part of the error that may be the oracle's.
    width: f64,
    /// Weight in the last proposal. The weights of a component add up to 1.
    pub(crate) weight: f64,
    /// Steps since it last had a weight.
    age: usize,
    hash: u64,
    /// Its primal solution, if they are kept or it comes from an earlier run.
    primal: Option<Arc<Primal>>,
}

impl Cut {
    /// Whether it had no weight in the last step, and was not new in it.
    pub(crate) fn is_idle(&self) -> bool {
        self.weight == 0.0 && self.age > 0
    }
}

/// A component and its cuts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Component {
    /// Value at the centre.
    value: f64,
    pub(crate) cuts: Vec<Cut>,
    /// Gram matrix of its subgradients, row by row.
    gram: Vec<f64>,
}

impl Component {
    /// Inner products of one subgradient with all others.
    pub(crate) fn gram_row(&self, cut: usize) -> &[f64] {
        let count = self.cuts.len();
        &self.gram[cut * count..(cut + 1) * count]
    }

    /// Appends a cut. `products` are its products with the cuts before it, then its square.
    fn push(&mut self, cut: Cut, products: &[f64]) {
        let count = self.cuts.len();
        self.gram.resize((count + 1) * (count + 1), 0.0);
        for row in (0..count).rev() {
            self.gram.copy_within(row * count..(row + 1) * count, row * (count + 1));
            self.gram[row * (count + 1) + count] = products[row];
        }
        self.gram[count * (count + 1)..].copy_from_slice(products);
        self.cuts.push(cut);
    }

    /// Keeps the cuts that pass the test. Returns the number of entries of the removed ones.
    fn retain(&mut self, is_kept: impl Fn(&Cut) -> bool) -> usize {
        let count = self.cuts.len();
        if self.cuts.iter().all(&is_kept) {
            return 0;
        }
        let kept: Vec<usize> = (0..count).filter(|&cut| is_kept(&self.cuts[cut])).collect();
        for (row, &from) in kept.iter().enumerate() {
            for (column, &other) in kept.iter().enumerate() {
                self.gram[row * kept.len() + column] = self.gram[from * count + other];
            }
        }
        self.gram.truncate(kept.len() * kept.len());
        let dropped = self.cuts.iter().filter(|cut| !is_kept(cut)).map(|cut| cut.entries.len()).sum();
        self.cuts.retain(is_kept);
        dropped
    }
}

/// The cuts of all components around a common stability centre: the disaggregated model.
#[derive(Clone, Debug)]
pub(crate) struct ComponentBundle {
    centre: Centre,
    /// Coefficients of the linear part.
    linear: Vec<f64>,
    components: Vec<Component>,
    /// Coordinates and entries of all cuts, cut by cut.
    coordinates: Vec<u32>,
    entries: Vec<f64>,
    /// Number of entries of removed cuts.
    unused: usize,
    /// Number of cuts taken so far.
    taken: u64,
    /// Whether the value behind any of them was an interval.
    is_noisy: bool,
    /// The metric: a step `d` costs `sum_j d_j^2 / (2 eta metric_j)`.
    metric: Vec<f64>,
    /// Unit of the metric, and the number of steps in which it will still be adjusted.
    metric_unit: f64,
    metric_steps: usize,
    has_metric: bool,
    /// Products of all subgradients with the step to the last trial point, component by component, and the
    /// linearisation errors of the new cuts.
    slopes: Vec<f64>,
    new_errors: Vec<f64>,
    /// Whether laggards are found, and the components that lag behind after the last evaluation of all.
    finds_laggards: bool,
    laggards: Vec<usize>,
    /// Work space; zero or false between two uses.
    scatter: Vec<f64>,
    marks: Vec<bool>,
    way: Vec<f64>,
    products: Vec<f64>,
    kinks: Vec<(f64, f64)>,
}

/// Steps in which the metric is adjusted to the cuts. Later changes gain nothing and need the products of all cuts.
const METRIC_STEPS: usize = 10;

/// Lifetimes that a cut stays without weight while the weights are inaccurate: these leave out cuts that matter, and
/// an accurate solve would miss them.
const COARSE_LIFETIMES: usize = 5;

/// Share of the model's error that laggards make up.
const LAGGING: f64 = 0.9;

impl ComponentBundle {
    /// A bundle without cuts.
    fn empty(centre: Centre, linear: Vec<f64>, count: usize) -> Self {
        Self {
            centre,
            components: vec![Component::default(); count],
            coordinates: vec![],
            entries: vec![],
            unused: 0,
            taken: 0,
            is_noisy: false,
            metric: vec![1.0; linear.len()],
            metric_unit: 1.0,
            metric_steps: 0,
            has_metric: false,
            slopes: vec![],
            new_errors: vec![],
            finds_laggards: false,
            laggards: vec![],
            scatter: vec![0.0; linear.len()],
            marks: vec![false; linear.len()],
            way: vec![0.0; linear.len()],
            products: vec![],
            kinks: vec![],
            linear,
        }
    }

    /// The bundle of an evaluation: its point is the centre, its minorants are the cuts. Primal solutions come along if
    /// they are kept.
    pub(crate) fn around(start: &Evaluation, linear: &[f64]) -> Self {
        let Evaluation { point, value, minorants, solutions, .. } = start;
        let mut bundle = Self::empty(Centre::new(point, *value, start.width), linear.to_vec(), minorants.len());
        for component in 0..minorants.len() {
            let (cut, bound) = (minorants.values()[component], minorants.bounds()[component]);
            bundle.components[component].value = bound;
            let primal = || primal_of(solutions.as_ref(), component);
            bundle.insert(component, minorants.subgradient(component), (bound - cut, bound - cut), primal);
        }
        for (index, (component, value, subgradient)) in minorants.more().enumerate() {
            let error = minorants.bounds()[component] - value;
            bundle.insert_more(component, subgradient, (error, 0.0), (start, index));
        }
        bundle
    }

    /// Switches on a metric that follows the cuts for some steps: steps are shorter along coordinates whose entries
    /// vary more. The length of the first step does not change.
    pub(crate) fn with_metric(mut self) -> Self {
        let mut first = self.linear.clone();
        for cut in self.components.iter().flat_map(|component| &component.cuts) {
            self.add_to(cut, cut.weight, &mut first);
        }
        let norm = |vector: &[f64]| vector.iter().map(|entry| entry * entry).sum::<f64>().sqrt();
        self.write_metric();
        let bent: Vec<f64> = first.iter().zip(&self.metric).map(|(entry, metric)| entry * metric).collect();
        let (length, bent) = (norm(&first), norm(&bent));
        self.metric_unit = if bent > 0.0 && length > 0.0 { length / bent } else { 1.0 };
        self.metric_steps = METRIC_STEPS;
        self.has_metric = true;
        self.update_metric();
        self
    }

    /// Finds the components that lag behind: those whose models are farthest below them at the trial point. Evaluations of
    /// these alone improve the model most.
    pub(crate) fn with_laggards(self) -> Self {
        Self { finds_laggards: true, ..self }
    }

    /// Finds the fewest components that make up most of the error of the model at the trial point. They are at most half
    /// of all; if it takes more, there are none.
    fn find_laggards(&mut self, seen: &Evaluation) {
        let mut first = 0;
        let mut errors: Vec<(f64, usize)> = vec![];
        for (index, component) in self.components.iter().enumerate() {
            let slopes = &self.slopes[first..first + component.cuts.len()];
            first += component.cuts.len();
            let lines = slopes.iter().zip(&component.cuts).map(|(slope, cut)| component.value - cut.error + slope);
            let model = lines.fold(f64::NEG_INFINITY, f64::max);
            errors.push(((seen.minorants.values()[index] - model).max(0.0), index));
        }
        errors.sort_by(|a, b| b.0.total_cmp(&a.0));
        let most = LAGGING * errors.iter().map(|(error, _)| error).sum::<f64>();
        self.laggards.clear();
        let mut sum = 0.0;
        for (error, index) in errors {
            if sum >= most {
                break;
            }
            sum += error;
            self.laggards.push(index);
        }
        self.laggards.sort_unstable();
        if 2 * self.laggards.len() > self.components.len() {
            self.laggards.clear();
        }
    }

    pub(crate) fn metric(&self) -> &[f64] {
        &self.metric
    }

    /// Computes the metric of the present cuts, and everything that depends on it.
    fn update_metric(&mut self) {
        self.write_metric();
        let mut scatter = std::mem::take(&mut self.scatter);
        for index in 0..self.components.len() {
            let mut gram = std::mem::take(&mut self.components[index].gram);
            let cuts = &self.components[index].cuts;
            for (row, cut) in cuts.iter().enumerate() {
                let (coordinates, entries) = self.subgradient(cut);
                for (&at, entry) in coordinates.iter().zip(entries) {
                    scatter[at as usize] += entry * self.metric[at as usize];
                }
                for (column, other) in cuts[..=row].iter().enumerate() {
                    let product = self.product(other, &scatter);
                    gram[row * cuts.len() + column] = product;
                    gram[column * cuts.len() + row] = product;
                }
                coordinates.iter().for_each(|&at| scatter[at as usize] = 0.0);
            }
            self.components[index].gram = gram;
        }
        self.scatter = scatter;
    }

    /// `metric_j = unit / sqrt(linear_j^2 + sum_a (largest |entry| of component a's cuts in j)^2)`.
    fn write_metric(&mut self) {
        let mut largest = std::mem::take(&mut self.scatter);
        let mut metric = std::mem::take(&mut self.metric);
        metric.clear();
        metric.extend(self.linear.iter().map(|entry| entry * entry));
        for component in &self.components {
            for cut in &component.cuts {
                let (coordinates, entries) = self.subgradient(cut);
                for (&at, entry) in coordinates.iter().zip(entries) {
                    largest[at as usize] = largest[at as usize].max(entry.abs());
                }
            }
            for cut in &component.cuts {
                for &at in self.subgradient(cut).0 {
                    let entry = std::mem::take(&mut largest[at as usize]);
                    metric[at as usize] += entry * entry;
                }
            }
        }
        self.scatter = largest;
        // A coordinate without entries never moves.
        let unit = self.metric_unit;
        metric.iter_mut().for_each(|entry| *entry = if *entry > 0.0 { unit / entry.sqrt() } else { unit });
        self.metric = metric;
    }

    /// Minimum of the model with the new cuts along the step to the trial point, as a multiple of that step.
    fn find_reach(&mut self, seen: &Evaluation) -> f64 {
        let mut kinks = std::mem::take(&mut self.kinks);
        kinks.clear();
        let mut slope: f64 = self.linear.iter().zip(&self.way).map(|(entry, way)| entry * way).sum();
        let mut first = 0;
        for (index, component) in self.components.iter().enumerate() {
            let newest = (sparse_dot(seen.minorants.subgradient(index), &self.way), self.new_errors[index].max(0.0));
            let slopes = &self.slopes[first..first + component.cuts.len()];
            first += component.cuts.len();
            let lines = || slopes.iter().zip(&component.cuts).map(|(slope, cut)| (*slope, cut.error)).chain([newest]);
            // The line that is highest at the centre; the steepest one among equals.
            let highest = |a: (f64, f64), b: (f64, f64)| if b.1 < a.1 || (b.1 == a.1 && b.0 > a.0) { b } else { a };
            let mut line = lines().fold(newest, highest);
            slope += line.0;
            loop {
                let crossing = |other: (f64, f64)| ((other.1 - line.1) / (other.0 - line.0)).max(0.0);
                let steeper = lines().filter(|other| other.0 > line.0).map(|other| (crossing(other), other));
                let sooner = |a: (f64, (f64, f64)), b: (f64, (f64, f64))| {
                    if b.0 < a.0 || (b.0 == a.0 && b.1.0 > a.1.0) { b } else { a }
                };
                match steeper.reduce(sooner) {
                    Some((at, next)) if at < FARTHEST => {
                        kinks.push((at, next.0 - line.0));
                        line = next;
                    }
                    _ => break,
                }
            }
        }
        kinks.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut reach = if slope >= 0.0 { 0.0 } else { f64::INFINITY };
        for (at, change) in &kinks {
            slope += change;
            if slope >= 0.0 {
                reach = reach.min(*at);
                break;
            }
        }
        self.kinks = kinks;
        reach
    }

    /// Adds the cuts of an evaluation at another point.
    pub(crate) fn insert_all(&mut self, seen: &Evaluation) {
        let all: Vec<usize> = (0..self.components.len()).collect();
        self.insert_some(&all, seen);
    }

    /// Adds the cuts of some components, evaluated at another point. True if the model has changed.
    fn insert_some(&mut self, which: &[usize], seen: &Evaluation) -> bool {
        let Evaluation { point, minorants, solutions, .. } = seen;
        let way: Vec<f64> = self.centre.point.iter().zip(point).map(|(to, from)| to - from).collect();
        let mut is_new = false;
        for (index, &component) in which.iter().enumerate() {
            let (subgradient, cut) = (minorants.subgradient(index), minorants.values()[index]);
            let error = self.components[component].value - (cut + sparse_dot(subgradient, &way));
            let numbers = (error, minorants.bounds()[index] - cut);
            is_new |= self.insert(component, subgradient, numbers, || primal_of(solutions.as_ref(), index)).1;
        }
        for (index, (place, value, subgradient)) in minorants.more().enumerate() {
            let error = self.components[which[place]].value - (value + sparse_dot(subgradient, &way));
            is_new |= self.insert_more(which[place], subgradient, (error, 0.0), (seen, index));
        }
        is_new
    }

    /// Adds further cut `index` of an evaluation. If solutions are kept, a cut without one is not used. True if the model
    /// has changed.
    fn insert_more(
        &mut self,
        component: usize,
        subgradient: (&[u32], &[f64]),
        numbers: (f64, f64),
        (seen, index): (&Evaluation, usize),
    ) -> bool {
        let Some(solutions) = &seen.solutions else { return self.insert(component, subgradient, numbers, || None).1 };
        let place = seen.minorants.len() + index;
        place < solutions.len()
            && self.insert(component, subgradient, numbers, || primal_of(seen.solutions.as_ref(), place)).1
    }

    /// Adds cuts of an earlier run.
    pub(crate) fn with_cuts(mut self, cuts: &SavedCuts) -> Self {
        for cut in cuts.iter() {
            let component = cut.component as usize;
            let at_centre = cut.constant + sparse_dot(cut.slope, &self.centre.point);
            let error = self.components[component].value - at_centre;
            self.insert(component, cut.slope, (error, 0.0), || cut.primal.cloned());
        }
        self
    }

    /// Coefficients of the linear part.
    pub(crate) fn linear(&self) -> &[f64] {
        &self.linear
    }

    /// Number of entries and cuts: the amount of data that one pass over the model reads.
    pub(crate) fn size(&self) -> usize {
        self.entries.len() - self.unused + self.len()
    }

    pub(crate) fn components(&self) -> &[Component] {
        &self.components
    }

    /// The cuts of a component, mutable, for their weights.
    pub(crate) fn cuts_mut(&mut self, component: usize) -> &mut [Cut] {
        &mut self.components[component].cuts
    }

    /// Whether a component has a wide cut.
    pub(crate) fn is_wide(&self, component: &Component) -> bool {
        component.cuts.iter().any(|cut| WIDE * cut.entries.len() > self.linear.len())
    }

    /// Coordinates and entries of a cut's subgradient.
    pub(crate) fn subgradient(&self, cut: &Cut) -> (&[u32], &[f64]) {
        (&self.coordinates[cut.entries.clone()], &self.entries[cut.entries.clone()])
    }

    /// The inner product of a cut's subgradient with a vector.
    pub(crate) fn product(&self, cut: &Cut, vector: &[f64]) -> f64 {
        sparse_dot(self.subgradient(cut), vector)
    }

    /// Adds a multiple of a cut's subgradient to a vector.
    pub(crate) fn add_to(&self, cut: &Cut, factor: f64, vector: &mut [f64]) {
        let (coordinates, entries) = self.subgradient(cut);
        for (&coordinate, entry) in coordinates.iter().zip(entries) {
            vector[coordinate as usize] += factor * entry;
        }
    }

    /// Adds a cut with its linearisation error and the width of its value. If the cut exists already, it keeps the smaller error and the primal
    /// solution of that one. Returns its place, and whether the model has changed.
    fn insert(
        &mut self,
        component: usize,
        (coordinates, entries): (&[u32], &[f64]),
        (error, width): (f64, f64),
        primal: impl FnOnce() -> Option<Arc<Primal>>,
    ) -> (usize, bool) {
        // Errors are nonnegative by convexity, up to round-off.
        let error = error.max(0.0);
        self.is_noisy |= width > 0.0;
        let hash = Fingerprint::new().sparse(coordinates, entries).finish();
        let is_twin = |cut: &Cut| cut.hash == hash && self.subgradient(cut) == (coordinates, entries);
        if let Some(twin) = self.components[component].cuts.iter().position(is_twin) {
            let cut = &mut self.components[component].cuts[twin];
            let is_tighter = error < cut.error * (1.0 - 1e-9);
            if error < cut.error {
                (cut.error, cut.width) = (error, width);
                cut.primal = primal();
            }
            cut.age = 0;
            return (twin, is_tighter);
        }
        for (&coordinate, &entry) in coordinates.iter().zip(entries) {
            // A coordinate may occur more than once.
            self.scatter[coordinate as usize] += self.metric[coordinate as usize] * entry;
        }
        let mut products = std::mem::take(&mut self.products);
        products.clear();
        products.extend(self.components[component].cuts.iter().map(|cut| self.product(cut, &self.scatter)));
        products.push(sparse_dot((coordinates, entries), &self.scatter));
        coordinates.iter().for_each(|&coordinate| self.scatter[coordinate as usize] = 0.0);
        let start = self.entries.len();
        self.coordinates.extend_from_slice(coordinates);
        self.entries.extend_from_slice(entries);
        self.taken += 1;
        let id = self.taken;
        let component = &mut self.components[component];
        let weight = f64::from(u8::from(component.cuts.is_empty()));
        component.push(
            Cut { id, entries: start..self.entries.len(), error, width, weight, age: 0, hash, primal: primal() },
            &products,
        );
        self.products = products;
        (component.cuts.len() - 1, true)
    }

    /// Weighted sum of a component's cuts. Writes the coordinates with entries and the sums there, and returns the
    /// weighted sum of the linearisation errors. `marks` is false before and after.
    fn combine(&self, component: &Component, coordinates: &mut Vec<u32>, sums: &mut [f64], marks: &mut [bool]) -> f64 {
        coordinates.clear();
        let mut error = 0.0;
        for cut in component.cuts.iter().filter(|cut| cut.weight > 0.0) {
            self.add_to(cut, cut.weight, sums);
            let is_first = |at: &u32| !std::mem::replace(&mut marks[*at as usize], true);
            coordinates.extend(self.subgradient(cut).0.iter().copied().filter(is_first));
            error += cut.weight * cut.error;
        }
        coordinates.sort_unstable();
        coordinates.iter().for_each(|&at| marks[at as usize] = false);
        error
    }

    /// The weighted sum of all cuts as a cut of the whole function: subgradient and linearisation error.
    pub(crate) fn aggregate_all(&self) -> (Padded, f64) {
        let mut sum = Padded::of(&self.linear);
        let mut error = 0.0;
        for cut in self.components.iter().flat_map(|component| &component.cuts).filter(|cut| cut.weight > 0.0) {
            self.add_to(cut, cut.weight, sum.numbers_mut(self.linear.len()));
            error += cut.weight * cut.error;
        }
        (sum, error)
    }

    /// Makes room for one more cut of a component under a cap. Removes the oldest cut without weight. If all cuts have
    /// weight, replaces the lightest by the aggregate of all: convergence needs no other cut.
    fn make_room(&mut self, component: usize, cap: usize) {
        while self.components[component].cuts.len() >= cap {
            let cuts = &self.components[component].cuts;
            let idle = cuts.iter().filter(|cut| cut.weight == 0.0).max_by_key(|cut| cut.age);
            if let Some(oldest) = idle.map(|cut| cut.id) {
                self.unused += self.components[component].retain(|cut| cut.id != oldest);
                continue;
            }
            let count = cuts.len() + 2 - cap;
            self.replace_by_aggregate(component, count);
        }
    }

    /// Replaces the `count` lightest cuts of a component by the aggregate of all.
    fn replace_by_aggregate(&mut self, component: usize, count: usize) {
        let mut sums = std::mem::take(&mut self.scatter);
        let mut coordinates = vec![];
        let mut marks = std::mem::take(&mut self.marks);
        let error = self.combine(&self.components[component], &mut coordinates, &mut sums, &mut marks);
        self.marks = marks;
        let entries: Vec<f64> = coordinates.iter().map(|&at| std::mem::take(&mut sums[at as usize])).collect();
        self.scatter = sums;
        let cuts = &self.components[component].cuts;
        let primal = combined_primal(cuts.iter()).map(Arc::new);
        let width = cuts.iter().map(|cut| cut.weight * cut.width).sum();
        let mut by_weight: Vec<(f64, u64)> = cuts.iter().map(|cut| (cut.weight, cut.id)).collect();
        by_weight.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        by_weight.truncate(count);
        let weight: f64 = by_weight.iter().map(|(weight, _)| weight).sum();
        let is_lightest = |cut: &Cut| by_weight.iter().any(|(_, id)| *id == cut.id);
        self.unused += self.components[component].retain(|cut| !is_lightest(cut));
        // The aggregate may equal an existing cut that has a weight already.
        let (place, _) = self.insert(component, (&coordinates, &entries), (error, width), || primal);
        let cuts = &mut self.components[component].cuts;
        cuts[place].weight = if cuts.len() == 1 { 1.0 } else { cuts[place].weight + weight };
    }

    /// Memory of the cuts, in bytes.
    fn bytes(&self) -> usize {
        let grams: usize = self.components.iter().map(|component| component.gram.capacity()).sum();
        12 * self.entries.capacity() + 8 * grams
    }

    /// Removes the cuts without weight and, if that is not enough, all cuts but the aggregates.
    fn shrink(&mut self, bytes: usize) {
        for component in 0..self.components.len() {
            self.unused += self.components[component].retain(|cut| cut.weight > 0.0);
            self.components[component].gram.shrink_to_fit();
        }
        self.compact();
        if self.bytes() > bytes / 2 {
            for component in 0..self.components.len() {
                let count = self.components[component].cuts.len();
                if count > 1 {
                    self.replace_by_aggregate(component, count);
                    self.components[component].gram.shrink_to_fit();
                }
            }
            self.compact();
        }
    }

    /// Closes the gaps that removed cuts have left.
    fn compact(&mut self) {
        let used = self.entries.len() - self.unused;
        let (mut coordinates, mut entries) = (Vec::with_capacity(used), Vec::with_capacity(used));
        for cut in self.components.iter_mut().flat_map(|component| &mut component.cuts) {
            let start = entries.len();
            coordinates.extend_from_slice(&self.coordinates[cut.entries.clone()]);
            entries.extend_from_slice(&self.entries[cut.entries.clone()]);
            cut.entries = start..entries.len();
        }
        (self.coordinates, self.entries, self.unused) = (coordinates, entries, 0);
    }
}

/// Largest distance at which kinks of the model are searched, as a multiple of the step to the trial point.
const FARTHEST: f64 = 100.0;

/// The primal solution of a component, if they are kept.
pub(crate) fn primal_of(solutions: Option<&Solutions>, component: usize) -> Option<Arc<Primal>> {
    solutions.map(|solutions| Arc::new(Primal::of(solutions, component..component + 1)))
}

/// The weighted sum of the cuts' primal solutions, if all cuts with a weight have one.
fn combined_primal<'a>(cuts: impl Iterator<Item = &'a Cut> + Clone) -> Option<Primal> {
    let weighted = cuts.filter(|cut| cut.weight > 0.0);
    Primal::combine_all(weighted.map(|cut| (cut.weight, cut.primal.as_deref())))
}

impl Model for ComponentBundle {
    const DETAIL: Detail = Detail::Components;

    fn centre(&self) -> &Centre {
        &self.centre
    }

    fn len(&self) -> usize {
        self.components.iter().map(|component| component.cuts.len()).sum()
    }

    fn look(&mut self, seen: &Evaluation, proposal: &Proposal) -> Sight {
        for ((way, to), from) in self.way.iter_mut().zip(&seen.point).zip(&self.centre.point) {
            *way = to - from;
        }
        let direction = proposal.direction.numbers(self.centre.point.len());
        let mut slope: f64 = self.linear.iter().zip(direction).map(|(entry, along)| entry * along).sum();
        let mut error = 0.0;
        let mut slopes = std::mem::take(&mut self.slopes);
        slopes.clear();
        self.new_errors.clear();
        for (index, component) in self.components.iter().enumerate() {
            let subgradient = seen.minorants.subgradient(index);
            slope += sparse_dot(subgradient, direction);
            let below = component.value - seen.minorants.values()[index];
            let own_error = below + sparse_dot(subgradient, &self.way);
            error += own_error;
            self.new_errors.push(own_error);
            slopes.extend(component.cuts.iter().map(|cut| self.product(cut, &self.way)));
        }
        self.slopes = slopes;
        if self.finds_laggards {
            self.find_laggards(seen);
        }
        Sight { error, slope, reach: Some(self.find_reach(seen)) }
    }

    fn update(&mut self, seen: &Evaluation, _sight: Sight, share: f64, proposal: &Proposal, pruning: Pruning) -> bool {
        let patience = if proposal.is_accurate { 1 } else { COARSE_LIFETIMES };
        let lifetime = pruning.lifetime.saturating_mul(patience);
        let mut is_new = false;
        let mut first = 0;
        for index in 0..self.components.len() {
            let component = &mut self.components[index];
            let (value, bound) = (seen.minorants.values()[index], seen.minorants.bounds()[index]);
            let rise = bound - component.value;
            for (cut, slope) in component.cuts.iter_mut().zip(&self.slopes[first..]) {
                cut.error = (cut.error + share * (rise - slope)).max(0.0);
                cut.age = if cut.weight > 0.0 { 0 } else { cut.age + 1 };
            }
            first += component.cuts.len();
            component.value += share * rise;
            self.unused += component.retain(|cut| cut.age <= lifetime);
            self.make_room(index, pruning.cap);
            let error = (1.0 - share) * self.new_errors[index] + share * (bound - value);
            let primal = || primal_of(seen.solutions.as_ref(), index);
            is_new |= self.insert(index, seen.minorants.subgradient(index), (error, bound - value), primal).1;
        }
        for (index, (component, value, subgradient)) in seen.minorants.more().enumerate() {
            let rest = (1.0 - share) * sparse_dot(subgradient, &self.way);
            self.make_room(component, pruning.cap);
            let error = self.components[component].value - value + rest;
            is_new |= self.insert_more(component, subgradient, (error, 0.0), (seen, index));
        }
        self.centre.move_towards(seen, share);
        if self.bytes() > pruning.bytes {
            self.shrink(pruning.bytes);
        } else if self.unused > self.entries.len() / 2 {
            self.compact();
        }
        if self.metric_steps > 0 {
            self.metric_steps -= 1;
            self.update_metric();
        }
        is_new
    }

    fn laggards(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.laggards)
    }

    fn update_some(&mut self, which: &[usize], seen: &Evaluation) -> bool {
        self.insert_some(which, seen)
    }

    fn save(&self, since: u64) -> Saved {
        let mut saved = Saved::new(CutsOf::Components, self.taken);
        for (index, component) in self.components.iter().enumerate() {
            for cut in component.cuts.iter().filter(|cut| cut.id > since) {
                let constant = component.value - cut.error - self.product(cut, &self.centre.point);
                saved.cuts.push(index as u32, constant, pairs(self.subgradient(cut)), cut.primal.clone());
            }
        }
        saved
    }

    fn metric_unit(&self) -> Option<f64> {
        self.has_metric.then_some(self.metric_unit)
    }

    fn write_aggregates(&self, aggregates: &mut Lines) -> bool {
        let mut sums = vec![0.0; self.centre.point.len()];
        let mut marks = vec![false; self.centre.point.len()];
        let mut coordinates = vec![];
        aggregates.clear();
        for component in &self.components {
            let error = self.combine(component, &mut coordinates, &mut sums, &mut marks);
            let rise: f64 = coordinates.iter().map(|&at| sums[at as usize] * self.centre.point[at as usize]).sum();
            let entries = coordinates.iter().map(|&at| (at, std::mem::take(&mut sums[at as usize])));
            aggregates.push(component.value - error - rise, entries);
        }
        true
    }

    fn noise(&self, _proposal: &Proposal) -> f64 {
        if !self.is_noisy {
            return 0.0;
        }
        let cuts = self.components.iter().flat_map(|component| &component.cuts);
        cuts.map(|cut| cut.weight * cut.width).sum()
    }

    fn primal(&self, _proposal: &Proposal) -> Option<Primal> {
        combined_primal(self.components.iter().flat_map(|component| &component.cuts))
    }
}

/// A sparse subgradient and its linearisation error.
pub(crate) type SparseCut = (Vec<(u32, f64)>, f64);

/// For tests and measurements.
impl ComponentBundle {
    /// A bundle of the given cuts, by component.
    pub(crate) fn of_cuts(centre: &[f64], linear: Vec<f64>, cuts: &[Vec<SparseCut>]) -> Self {
        let mut bundle = Self::empty(Centre::new(centre, 0.0, 0.0), linear, cuts.len());
        for (component, cuts) in cuts.iter().enumerate() {
            cuts.iter().for_each(|cut| bundle.insert_cut(component, cut));
        }
        bundle
    }

    /// Makes all cuts a step older.
    #[cfg(test)]
    pub(crate) fn grow_old(&mut self) {
        self.components.iter_mut().flat_map(|component| &mut component.cuts).for_each(|cut| cut.age += 1);
    }

    pub(crate) fn insert_cut(&mut self, component: usize, (subgradient, error): &SparseCut) {
        let (coordinates, entries): (Vec<u32>, Vec<f64>) = subgradient.iter().copied().unzip();
        self.insert(component, (&coordinates, &entries), (*error, 0.0), || None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bundlenet_linalg::Stream;

    fn random_cut(stream: &mut Stream, dim: usize) -> SparseCut {
        let entries = (0..dim as u32).filter(|_| stream.below(3) > 0).collect::<Vec<_>>();
        (entries.into_iter().map(|at| (at, stream.normal())).collect(), stream.normal().abs())
    }

    /// Value of the model at a point, relative to the centre. The components have the value 0 at the centre.
    fn model(bundle: &ComponentBundle, point: &[f64]) -> f64 {
        let way: Vec<f64> = point.iter().zip(&bundle.centre().point).map(|(to, from)| to - from).collect();
        let linear: f64 = bundle.linear.iter().zip(&way).map(|(entry, way)| entry * way).sum();
        let of = |component: &Component| {
            let cuts = component.cuts.iter().map(|cut| bundle.product(cut, &way) - cut.error);
            cuts.fold(f64::NEG_INFINITY, f64::max)
        };
        linear + bundle.components.iter().map(of).sum::<f64>()
    }

    /// Aggregation, under a cap or a limit of bytes, keeps the weighted sum of all cuts. It never raises the model, and
    /// the weights still add up to 1.
    #[test]
    fn aggregation_keeps_the_combination() {
        let mut stream = Stream::new(3, "components", 0);
        for _ in 0..200 {
            let dim = 1 + stream.below(6);
            let cuts: Vec<Vec<_>> =
                (0..4).map(|_| (0..2 + stream.below(6)).map(|_| random_cut(&mut stream, dim)).collect()).collect();
            let mut bundle = ComponentBundle::of_cuts(&vec![0.0; dim], vec![0.5; dim], &cuts);
            for component in &mut bundle.components {
                // Some weights are 0, also of cuts without entries.
                component.cuts.iter_mut().for_each(|cut| cut.weight = stream.below(3) as f64);
                component.cuts[0].weight += 1.0;
                let total: f64 = component.cuts.iter().map(|cut| cut.weight).sum();
                component.cuts.iter_mut().for_each(|cut| cut.weight /= total);
            }
            let before = bundle.clone();
            let (sum, error) = bundle.aggregate_all();
            match stream.below(2) {
                0 => (0..4).for_each(|component| bundle.make_room(component, 3)),
                _ => bundle.shrink(0),
            }
            for component in &bundle.components {
                let total: f64 = component.cuts.iter().map(|cut| cut.weight).sum();
                assert!((total - 1.0).abs() < 1e-12);
                assert!(component.cuts.len() < 4);
            }
            for _ in 0..10 {
                let point: Vec<f64> = (0..dim).map(|_| 3.0 * stream.normal()).collect();
                let combination: f64 =
                    sum.numbers(dim).iter().zip(&point).map(|(slope, at)| slope * at).sum::<f64>() - error;
                let (now, then) = (model(&bundle, &point), model(&before, &point));
                assert!(now <= then + 1e-9 && now >= combination - 1e-9, "{combination} {now} {then}");
            }
        }
    }

    /// If the aggregate equals an existing cut, that cut gets the weight of the replaced ones.
    #[test]
    fn an_aggregate_may_be_a_cut_that_is_there() {
        let cut = |entry: f64| (vec![(0, entry)], 1.0);
        let cuts = vec![cut(2.0), cut(1.0), cut(3.0)];
        let mut bundle = ComponentBundle::of_cuts(&[0.0], vec![0.0], &[cuts]);
        bundle.components[0].cuts.iter_mut().zip([0.5, 0.25, 0.25]).for_each(|(cut, weight)| cut.weight = weight);
        bundle.make_room(0, 3);
        let left: Vec<_> =
            bundle.components[0].cuts.iter().map(|cut| (bundle.subgradient(cut).1[0], cut.weight)).collect();
        assert_eq!(left, [(2.0, 1.0)]);
    }

    #[test]
    fn a_cut_that_is_there_is_not_taken_twice() {
        let cut = (vec![(0, 1.0), (2, -2.0)], 3.0);
        let mut bundle = ComponentBundle::of_cuts(&[0.0; 3], vec![0.0; 3], &[vec![cut.clone()]]);
        bundle.insert_cut(0, &(cut.0.clone(), 1.0));
        assert_eq!(bundle.len(), 1);
        assert_eq!(bundle.components[0].cuts[0].error, 1.0);
        bundle.insert_cut(0, &(vec![(0, 1.0), (1, -2.0)], 1.0));
        assert_eq!(bundle.components[0].gram_row(0), [5.0, 1.0]);
        // 3 in the first coordinate, as the sum of two entries.
        bundle.insert_cut(0, &(vec![(0, 1.0), (0, 2.0)], 1.0));
        assert_eq!(bundle.components[0].gram_row(2), [3.0, 3.0, 9.0]);
        bundle.update_metric();
        let metric = bundle.metric[0];
        assert_eq!(bundle.components[0].gram_row(2), [3.0 * metric, 3.0 * metric, 9.0 * metric]);
    }
}
