//! The input of the network: a fixed number of scalars, for any dimension and any number of cuts.
//!
//! Points, subgradients and values belong to the function scaled by the norm of its first subgradient. "Trial" is the
//! newest cut. A soft centre has no subgradient of its own, so "centre" is the cut of the last trial point that was
//! better than the centre. Inner products of subgradients come from the bundle's Gram matrix. Those of points are one
//! new row in each step.

use bundlenet_linalg::simd::{Lanes, flat, multiversion};
use serde::{Deserialize, Serialize};

use super::architecture::Architecture;
use super::real::Real;
use crate::model::{Bundle, FIRST_CUTS, Model, Proposal, Step};
use crate::oracle::Evaluation;

/// A list of features. It is part of a checkpoint, so a list never changes; a new list gets a new name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Schema {
    /// The 36 features of the paper's released code.
    #[serde(rename = "released-1")]
    Released,
    /// Ratios that do not depend on the units of the function and of its variables, and observations of each cut that
    /// extend its key.
    #[default]
    #[serde(rename = "relative-1")]
    Relative,
    /// The same, and the number of steps that remain. It is known if the run has a limit of steps.
    #[serde(rename = "relative-2")]
    Told,
}

/// Transformation of the features before they enter the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transform {
    /// No transformation.
    Raw,
    /// `sign(x) ln(1 + |x|)`.
    SignedLog,
    /// Signed logarithm, minus its mean along trajectories, over its standard deviation, clipped to -4 and 4.
    #[default]
    Standardised,
}

impl Transform {
    /// Largest absolute value of a standardised feature.
    pub(crate) const CLIP: f64 = 4.0;
}

#[rustfmt::skip]
const RELEASED: [&str; 36] = [
    "step_length", "direction_square", "step_length_times_direction_square", "aggregate_error",
    "direction_square_exceeds_aggregate_error", "direction_square_times_1e4_exceeds_aggregate_error", "trial_value",
    "centre_value", "is_improved", "step", "centre_error", "trial_error", "trial_norm", "centre_norm",
    "centre_subgradient_norm", "trial_subgradient_norm", "trial_subgradient_mean", "trial_subgradient_deviation",
    "trial_subgradient_min", "trial_subgradient_max", "trial_mean", "trial_deviation", "trial_min", "trial_max",
    "trial_point_products_min", "trial_point_products_max", "centre_point_products_min",
    "centre_point_products_max", "centre_subgradient_products_min", "centre_subgradient_products_max",
    "trial_subgradient_products_min", "trial_subgradient_products_max", "trial_subgradient_times_direction",
    "centre_subgradient_times_direction", "trial_error_again", "trial_value_again",
];

#[rustfmt::skip]
const RELATIVE: [&str; 16] = [
    "log_step", "log_step_length_over_unit", "log_direction_square", "log_error_ratio", "decrease_ratio",
    "aggregate_error_ratio", "trial_cosine_with_direction", "log_trial_subgradient_norm",
    "centre_cosine_with_direction", "trial_cosine_with_centre", "trial_cosine_min", "share", "is_improved",
    "log_steps_since_improved", "attention_entropy", "log_mean_error_ratio",
];

#[rustfmt::skip]
const TOLD: [&str; 19] = [
    "log_step", "log_step_length_over_unit", "log_direction_square", "log_error_ratio", "decrease_ratio",
    "aggregate_error_ratio", "trial_cosine_with_direction", "log_trial_subgradient_norm",
    "centre_cosine_with_direction", "trial_cosine_with_centre", "trial_cosine_min", "share", "is_improved",
    "log_steps_since_improved", "attention_entropy", "log_mean_error_ratio", "is_told", "log_remaining_steps",
    "inverse_remaining_steps",
];

#[rustfmt::skip]
const RELATIVE_CUTS: [&str; 10] = [
    "log_age", "age_per_hundred", "is_newest", "is_centre", "log_last_weight", "log_error_over_mean",
    "error_over_mean", "cosine_with_direction", "cosine_with_newest", "master_slope",
];

impl Schema {
    /// Names of the features, in order.
    #[must_use]
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Self::Released => &RELEASED,
            Self::Relative => &RELATIVE,
            Self::Told => &TOLD,
        }
    }

    /// Names of the observations of each cut.
    #[must_use]
    pub fn cut_names(self) -> &'static [&'static str] {
        match self {
            Self::Released => &[],
            Self::Relative | Self::Told => &RELATIVE_CUTS,
        }
    }
}

/// Mean, standard deviation, minimum and maximum of some numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Moments {
    pub(crate) mean: f64,
    pub(crate) deviation: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

#[inline(always)]
fn sums_kernel<L: Lanes>(numbers: &[f64]) -> [f64; 4] {
    let (arrays, rest) = numbers.as_chunks::<8>();
    let first = L::splat(numbers[0]);
    let (mut sum, mut squares, mut least, mut greatest) = (L::splat(0.0), L::splat(0.0), first, first);
    for array in arrays {
        let lanes = L::load_array(array);
        sum = sum.add(lanes);
        squares = squares.add(lanes.mul(lanes));
        least = least.min(lanes);
        greatest = greatest.max(lanes);
    }
    let start = [sum.sum(), squares.sum(), least.least(), greatest.greatest()];
    rest.iter().fold(start, |[sum, squares, least, greatest], &number| {
        [sum + number, squares + number * number, least.min(number), greatest.max(number)]
    })
}

multiversion! {
    /// Sum, sum of squares, minimum and maximum.
    fn sums(numbers: &[f64]) -> [f64; 4] = sums_kernel;
}

impl Moments {
    fn of(numbers: &[f64]) -> (Self, f64) {
        let [sum, squares, min, max] = sums(numbers);
        let count = numbers.len() as f64;
        let mean = sum / count;
        let deviation = (squares / count - mean * mean).max(0.0).sqrt();
        (Self { mean, deviation, min, max }, squares)
    }
}

/// Source of the features of a run.
pub(crate) trait FeatureSource {
    /// Writes the features of the run so far. `unit` is the unit of the step length.
    fn write_features(&mut self, unit: f64, bundle: &Bundle, features: &mut Vec<f64>);

    /// Writes the observations of the cuts at the given places.
    fn write_cuts(&mut self, bundle: &Bundle, places: &[usize], observed: &mut Vec<f64>);

    /// Whether the last observation of each cut is the slope of the master at first weights, which then gives final
    /// weights.
    fn sees_slopes(&self) -> bool;

    /// Records a proposal before bounds on the variables change its direction.
    fn note(&mut self, proposal: &Proposal);

    /// Records a step. The bundle already has its cut.
    fn learn(&mut self, bundle: &Bundle, step: &Step<'_>);

    /// Records a cut that is no result of a proposal. The bundle already has it.
    fn record_cut(&mut self, _bundle: &Bundle, _seen: &Evaluation) {}
}

/// Follows a run and computes its features.
#[derive(Clone, Debug)]
pub(crate) struct Tracker {
    schema: Schema,
    transform: Transform,
    dim: usize,
    /// Points of the cuts by place. Single precision is enough for features.
    points: Vec<f32>,
    /// Inner products of the newest point and of the centre's point with all points, by place.
    trial_products: Vec<f32>,
    centre_products: Vec<f32>,
    /// Place of the centre's cut, and the number of that cut.
    centre: usize,
    centre_stamp: u64,
    is_improved: bool,
    steps: usize,
    /// Limit of steps, if the network is told.
    budget: Option<usize>,
    last_improved: usize,
    /// Step in which the cut was taken, by place.
    born: Vec<usize>,
    /// Cosine of each subgradient with the last direction, and its weight in the last proposal, by place.
    cosines: Vec<f64>,
    last_weights: Vec<f64>,
    trial_value: f64,
    trial: Moments,
    subgradient: Moments,
    trial_square: f64,
    centre_square: f64,
    /// The last proposal.
    last: Last,
}

/// Data of a proposal and of its step.
#[derive(Clone, Debug, Default)]
struct Last {
    eta: f64,
    /// `|G theta|^2`, without bounds on the variables.
    direction_square: f64,
    aggregate_error: f64,
    weights: Vec<(usize, f64)>,
    /// Results of the step, relative to `eta |w|^2`.
    error_ratio: f64,
    decrease_ratio: f64,
    aggregate_error_ratio: f64,
    share: f64,
    entropy: f64,
    /// Inner products of the trial's and the centre's subgradient with `G theta`.
    trial_slope: f64,
    centre_slope: f64,
}

impl Tracker {
    pub(crate) fn new(architecture: &Architecture, start: &Evaluation, budget: Option<usize>) -> Self {
        let (schema, transform) = (architecture.features, architecture.transform);
        let dim = start.point.len();
        // Only the released features use points.
        let points_held = if schema == Schema::Released { FIRST_CUTS } else { 1 };
        let mut points: Vec<f32> = Vec::with_capacity(points_held * dim);
        points.extend(start.point.iter().map(|&entry| entry as f32));
        let (trial, square) = Moments::of(&start.point);
        let (subgradient, _) = Moments::of(start.subgradient());
        Self {
            schema,
            transform,
            dim,
            points,
            trial_products: with_room(square as f32),
            centre_products: with_room(square as f32),
            centre: 0,
            centre_stamp: 1,
            is_improved: true,
            steps: 0,
            budget,
            last_improved: 0,
            born: with_room(0),
            cosines: with_room(0.0),
            last_weights: with_room(1.0),
            trial_value: start.value,
            trial,
            subgradient,
            trial_square: square,
            centre_square: square,
            last: Last { weights: Vec::with_capacity(FIRST_CUTS), ..Last::default() },
        }
    }

    /// Stores the point of the newest cut, and its inner products with all points.
    fn place_point(&mut self, bundle: &Bundle, point: &[f64]) {
        let (newest, places) = (bundle.newest(), bundle.places());
        self.points.resize(places * self.dim, 0.0);
        self.trial_products.resize(places, 0.0);
        self.centre_products.resize(places, 0.0);
        let row = &mut self.points[newest * self.dim..(newest + 1) * self.dim];
        row.iter_mut().zip(point).for_each(|(entry, &number)| *entry = number as f32);
        let row = &self.points[newest * self.dim..(newest + 1) * self.dim];
        for place in (0..places).filter(|&place| bundle.is_live(place)) {
            let other = &self.points[place * self.dim..(place + 1) * self.dim];
            self.trial_products[place] = f32::dot(row, other);
        }
    }

    /// Makes room for the newest cut.
    fn place_cut(&mut self, bundle: &Bundle) {
        let (newest, places) = (bundle.newest(), bundle.places());
        self.born.resize(places, 0);
        self.born[newest] = self.steps;
        self.cosines.resize(places, 0.0);
        self.cosines[newest] = 0.0;
        self.last_weights.resize(places, 0.0);
        self.last_weights[newest] = 0.0;
    }

    /// Updates the data of the released features. The centre's cut is still the old one.
    fn learn_released(&mut self, bundle: &Bundle, step: &Step<'_>) {
        let newest = bundle.newest();
        self.trial_value = step.seen.value;
        self.place_point(bundle, &step.seen.point);
        let is_lost = bundle.stamps()[self.centre] != self.centre_stamp;
        let (trial, square) = Moments::of(&step.seen.point);
        (self.trial, self.trial_square) = (trial, square);
        (self.subgradient, _) = Moments::of(&flat(bundle.row(newest))[..self.dim]);
        let centre = if self.is_improved || is_lost { newest } else { self.centre };
        if centre == newest {
            self.centre_square = square;
            self.centre_products.copy_from_slice(&self.trial_products);
        } else {
            self.centre_products[newest] = self.trial_products[self.centre];
        }
        let product = |place: usize| {
            let row = bundle.gram_row(place);
            // Under a cap, the newest cut may have replaced one with weight.
            let weights = self.last.weights.iter().filter(|(other, _)| *other != newest);
            weights.map(|&(other, weight)| weight * row[other]).sum::<f64>()
        };
        (self.last.trial_slope, self.last.centre_slope) = (product(newest), product(centre));
    }

    /// Updates the data of the relative features.
    fn learn_relative(&mut self, bundle: &Bundle, step: &Step<'_>) {
        let newest = bundle.newest();
        self.place_cut(bundle);
        if self.is_improved {
            self.last_improved = self.steps;
        }
        let last = &mut self.last;
        let promised = (last.eta * step.proposal.norm_squared).max(f64::MIN_POSITIVE);
        last.error_ratio = step.sight.error.max(0.0) / promised;
        last.decrease_ratio = step.decrease() / promised;
        last.aggregate_error_ratio = step.proposal.sigma / promised;
        last.share = step.share;
        last.entropy = -last.weights.iter().map(|&(_, weight)| weight * weight.ln()).sum::<f64>();
        self.last_weights.fill(0.0);
        last.weights.iter().for_each(|&(place, weight)| self.last_weights[place] = weight);
        // Running factors are not part of the inner products.
        let Proposal { direction, norm_squared, .. } = step.proposal;
        let norm = bundle.scaling().map_or(*norm_squared, |scaling| scaling.square(direction)).sqrt();
        let cosine = |product: f64, place: usize| {
            let size = norm * bundle.gram_row(place)[place].sqrt();
            if size > 0.0 { product / size } else { 0.0 }
        };
        for (place, slope) in bundle.slopes().iter().enumerate().filter(|(place, _)| bundle.is_live(*place)) {
            self.cosines[place] = cosine(-slope / last.eta, place);
        }
        self.cosines[newest] = cosine(step.sight.slope, newest);
    }

    /// Mean linearisation error of the cuts; never 0.
    fn mean_error(&self, bundle: &Bundle) -> f64 {
        let live = bundle.errors().iter().filter(|error| error.is_finite());
        live.sum::<f64>() / bundle.len() as f64 + 1e-6
    }

    fn write_relative(&self, unit: f64, bundle: &Bundle, features: &mut Vec<f64>) {
        let last = &self.last;
        if self.steps == 0 {
            features.resize(RELATIVE.len(), 0.0);
            return;
        }
        let newest = bundle.newest();
        let row = bundle.gram_row(newest);
        let newest_norm = row[newest].sqrt();
        let cosine = |place: usize| {
            let size = newest_norm * bundle.gram_row(place)[place].sqrt();
            if size > 0.0 { row[place] / size } else { 0.0 }
        };
        let live = (0..bundle.places()).filter(|&place| bundle.is_live(place));
        let least_cosine = live.map(cosine).fold(1.0, f64::min);
        let log = |number: f64| number.max(1e-9).ln();
        let promised = (last.eta * last.direction_square).max(f64::MIN_POSITIVE);
        features.extend([
            (self.steps as f64).ln_1p(),
            log(last.eta / unit),
            log(last.direction_square),
            last.error_ratio.ln_1p(),
            last.decrease_ratio,
            last.aggregate_error_ratio,
            self.cosines[newest],
            log(newest_norm),
            self.cosines[self.centre],
            cosine(self.centre),
            least_cosine,
            last.share,
            f64::from(self.is_improved),
            ((self.steps - self.last_improved) as f64).ln_1p(),
            last.entropy / (bundle.len() as f64).ln_1p(),
            log(self.mean_error(bundle) / promised),
        ]);
    }

    /// Writes the features of the steps that remain; zeros if they are unknown.
    fn write_remaining(&self, features: &mut Vec<f64>) {
        match self.budget {
            Some(budget) => {
                // The step to come is one of them.
                let remaining = budget.saturating_sub(self.steps).max(1) as f64;
                features.extend([1.0, remaining.ln(), 1.0 / remaining]);
            }
            None => features.extend([0.0; 3]),
        }
    }

    fn write_released(&self, bundle: &Bundle, features: &mut Vec<f64>) {
        let Last { eta, direction_square, aggregate_error, trial_slope, centre_slope, .. } = self.last;
        let newest = bundle.newest();
        let (trial_gram, centre_gram) = (bundle.gram_row(newest), bundle.gram_row(self.centre));
        let range = |products: &dyn Fn(usize) -> f64| {
            let live = (0..bundle.places()).filter(|&place| bundle.is_live(place)).map(products);
            live.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), x| (least.min(x), most.max(x)))
        };
        let trial_points = range(&|place| f64::from(self.trial_products[place]));
        let centre_points = range(&|place| f64::from(self.centre_products[place]));
        let centre_products = range(&|place| centre_gram[place]);
        let trial_products = range(&|place| trial_gram[place]);
        let trial_error = bundle.errors()[newest];
        features.extend([
            eta,
            direction_square,
            eta * direction_square,
            aggregate_error,
            f64::from(direction_square > aggregate_error),
            f64::from(1e4 * direction_square > aggregate_error),
            self.trial_value,
            bundle.centre().value,
            f64::from(self.is_improved),
            self.steps as f64,
            bundle.errors()[self.centre],
            trial_error,
            self.trial_square.sqrt(),
            self.centre_square.sqrt(),
            centre_gram[self.centre].sqrt(),
            trial_gram[newest].sqrt(),
            self.subgradient.mean,
            self.subgradient.deviation,
            self.subgradient.min,
            self.subgradient.max,
            self.trial.mean,
            self.trial.deviation,
            self.trial.min,
            self.trial.max,
            trial_points.0,
            trial_points.1,
            centre_points.0,
            centre_points.1,
            centre_products.0,
            centre_products.1,
            trial_products.0,
            trial_products.1,
            trial_slope,
            centre_slope,
            trial_error,
            self.trial_value,
        ]);
    }
}

impl FeatureSource for Tracker {
    fn write_features(&mut self, unit: f64, bundle: &Bundle, features: &mut Vec<f64>) {
        features.clear();
        match self.schema {
            Schema::Released => self.write_released(bundle, features),
            Schema::Relative => self.write_relative(unit, bundle, features),
            Schema::Told => {
                self.write_relative(unit, bundle, features);
                self.write_remaining(features);
            }
        }
        if self.transform != Transform::Raw {
            features.iter_mut().for_each(|feature| *feature = signed_log(*feature));
        }
    }

    fn write_cuts(&mut self, bundle: &Bundle, places: &[usize], observed: &mut Vec<f64>) {
        observed.clear();
        if self.schema == Schema::Released {
            return;
        }
        let newest = bundle.newest();
        let newest_row = bundle.gram_row(newest);
        let newest_norm = newest_row[newest].sqrt();
        let mean_error = self.mean_error(bundle);
        for &place in places {
            let age = (self.steps - self.born[place]) as f64;
            let is_newest = place == newest;
            let error = bundle.errors()[place] / mean_error;
            let size = newest_norm * bundle.gram_row(place)[place].sqrt();
            observed.extend([
                age.ln_1p(),
                age / 100.0,
                f64::from(is_newest),
                f64::from(place == self.centre),
                if is_newest { 0.0 } else { (self.last_weights[place] + 1e-6).ln() / 4.0 },
                (error + 0.01).ln(),
                error.min(5.0),
                self.cosines[place],
                if size > 0.0 { newest_row[place] / size } else { 0.0 },
                // The slope of the master: unknown before there are weights.
                0.0,
            ]);
        }
    }

    fn sees_slopes(&self) -> bool {
        self.schema != Schema::Released
    }

    fn note(&mut self, proposal: &Proposal) {
        self.last.eta = proposal.eta;
        self.last.direction_square = proposal.norm_squared;
        self.last.aggregate_error = proposal.sigma;
        self.last.weights.clone_from(&proposal.weights);
    }

    fn learn(&mut self, bundle: &Bundle, step: &Step<'_>) {
        self.steps += 1;
        // The centre's new value lies between the two values. So a trial point that is better than the old centre is
        // also better than the new one.
        self.is_improved = step.decrease() > 0.0;
        match self.schema {
            Schema::Released => self.learn_released(bundle, step),
            Schema::Relative | Schema::Told => self.learn_relative(bundle, step),
        }
        if self.is_improved || bundle.stamps()[self.centre] != self.centre_stamp {
            self.centre = bundle.newest();
            self.centre_stamp = bundle.stamps()[self.centre];
        }
    }

    fn record_cut(&mut self, bundle: &Bundle, seen: &Evaluation) {
        match self.schema {
            Schema::Released => {
                self.place_point(bundle, &seen.point);
                self.centre_products[bundle.newest()] = self.trial_products[self.centre];
            }
            Schema::Relative | Schema::Told => self.place_cut(bundle),
        }
    }
}

/// A vector with one number, and memory for those of later cuts.
fn with_room<T>(number: T) -> Vec<T> {
    let mut numbers = Vec::with_capacity(FIRST_CUTS);
    numbers.push(number);
    numbers
}

/// `sign(x) ln(1 + |x|)`.
fn signed_log(number: f64) -> f64 {
    number.abs().ln_1p().copysign(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Pruning;
    use crate::oracle::Domain;

    /// Features and observations of cuts are numbers, also of a cut that is no result of a proposal.
    #[test]
    fn a_cut_without_a_step_has_features() {
        for schema in [Schema::Released, Schema::Relative, Schema::Told] {
            let architecture = Architecture { features: schema, ..Architecture::default() };
            let seen = |point: &[f64], value: f64| {
                let mut seen = Evaluation::at(point);
                seen.value = value;
                seen.subgradient.numbers_mut(2).copy_from_slice(&[1.0, value]);
                seen
            };
            let (start, other) = (seen(&[0.0, 0.0], 3.0), seen(&[-1.0, 2.0], 2.0));
            let mut bundle = Bundle::around(&start, &Domain::Free, 10);
            let mut tracker = Tracker::new(&architecture, &start, Some(5));
            let step = Proposal::step(&start.point, &other.point);
            let sight = bundle.look(&other, &step);
            let pruning = Pruning { lifetime: usize::MAX, cap: 10, bytes: usize::MAX };
            bundle.update(&other, sight, 1.0, &step, pruning);
            tracker.record_cut(&bundle, &other);
            let (mut features, mut observed) = (vec![], vec![]);
            tracker.write_features(1.0, &bundle, &mut features);
            tracker.write_cuts(&bundle, &[0, 1], &mut observed);
            assert!(
                !features.is_empty() && features.iter().all(|feature| feature.is_finite()),
                "{schema:?} {features:?}"
            );
            assert_eq!(observed.is_empty(), schema == Schema::Released);
            assert!(observed.iter().all(|number| number.is_finite()), "{schema:?} {observed:?}");
        }
    }
}
