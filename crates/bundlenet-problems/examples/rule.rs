//! Learns the numbers of the exact master in a model's guard (`docs/checkpoint.md`): its step-length rule, and how its
//! centre follows null steps.
//!
//! ```text
//! cargo run --release -p bundlenet-problems --example rule -- MODEL OUT GENERATIONS [SEEDS [NUMBERS]]
//! ```
//!
//! `MODEL` has a guard. Each generation tries changed numbers on all functions of `rule_instances`, `SEEDS` of each kind.
//! The score compares both methods that use the numbers with the bundle method with aggregated cuts:
//!
//! - the network alone, by the gap after 25, 50 or 100 calls;
//! - the default without components, by the calls to two gaps.
//!
//! It is the sum of two means of `tanh(1.5 ln(ratio))`, so that no function counts much more than another. The next mean
//! of the numbers is that of the best tries. `NUMBERS` are those to begin with, with commas between them, if not the
//! model's own.
//!
//! One line for each generation: its number, the two parts of the score of the mean, on how many functions the network is
//! below, tied (both gaps are at most 1e-9) and above, the default's calls over those of the bundle method (geometric
//! mean), and the numbers.

use std::sync::Arc;

use bundlenet::train::{LearnedRule, with_rule};
use bundlenet::{AutoSettings, BundleSettings, Cuts, Method, Model, NetworkSettings, Oracle, Precision, TraceRow};
use bundlenet_linalg::Stream;
use bundlenet_testing::foreign::{Instance, Price, rule_instances};
use rayon::prelude::*;

/// Calls of the functions, in turn.
const CALLS: [usize; 4] = [25, 50, 50, 100];
/// Gap of a function that is solved.
const SOLVED: f64 = 1e-9;
/// Gaps to which the calls of the default are counted, and the largest number of calls.
const GAPS: [f64; 2] = [1e-4, 1e-6];
const MOST_CALLS: usize = 400;
/// Seconds of the long runs that find an optimum.
const SECONDS: f64 = 4.0;
/// First deviations of the thirteen numbers.
const DEVIATIONS: [f64; 13] = [0.03, 0.05, 0.15, 0.06, 0.05, 0.05, 0.02, 0.015, 0.03, 0.03, 0.02, 0.02, 0.1];
/// Pairs of opposite tries in a generation, and the number of best tries whose mean is the next one.
const PAIRS: usize = 12;
const BEST: usize = 8;
/// Share of the old deviation in the new one, as squares.
const KEPT: f64 = 0.8;

type Numbers = [f64; 13];

/// A function with the results of the bundle method.
struct Case {
    instance: Instance,
    /// Number of calls of the network, and the gap of the bundle method after that many.
    calls: usize,
    bundle: f64,
    optimum: f64,
    /// Calls of the bundle method to each gap.
    bundle_calls: [usize; 2],
}

/// Ratios to the bundle method: gaps of network and bundle method, and the calls of the default to each gap over its.
struct Ratios {
    gaps: [f64; 2],
    calls: [f64; 2],
}

impl Case {
    fn new((index, instance): (usize, Instance)) -> Self {
        let (optimum, calls) = (instance.optimum_or_best(SECONDS), CALLS[index % CALLS.len()]);
        let bundle = Method::Bundle(BundleSettings { cuts: Cuts::Aggregated, ..BundleSettings::default() });
        let case = Self { instance, calls, optimum, bundle: 0.0, bundle_calls: [0; 2] };
        Self { bundle: case.gap(bundle.clone()), bundle_calls: case.calls(bundle), ..case }
    }

    fn gap(&self, method: Method) -> f64 {
        let best = self.instance.trace(method, self.calls, None).last().map_or(f64::INFINITY, |row| row.best);
        (best - self.optimum).abs() / self.instance.gap_unit(self.optimum)
    }

    /// Calls to each gap without components.
    fn calls(&self, method: Method) -> [usize; 2] {
        let unit = self.instance.gap_unit(self.optimum);
        let target = self.optimum + self.instance.oracle(Price::Dear).sense().sign() * GAPS[1] * unit;
        let trace = self.instance.trace_as_a_whole(method, MOST_CALLS, Some(target));
        let is_within = |row: &TraceRow, gap: f64| (row.best - self.optimum).abs() <= gap * unit;
        GAPS.map(|gap| trace.iter().position(|row| is_within(row, gap)).map_or(MOST_CALLS, |step| step + 1))
    }

    fn ratios(&self, model: &Arc<Model>) -> Ratios {
        let settings = NetworkSettings { model: Some(Arc::clone(model)), ..NetworkSettings::default() };
        let gaps = [self.gap(Method::Network(settings)), self.bundle];
        let settings = AutoSettings { model: Some(Arc::clone(model)), ..AutoSettings::default() };
        let calls = self.calls(Method::Auto(settings));
        Ratios { gaps, calls: std::array::from_fn(|at| calls[at] as f64 / self.bundle_calls[at] as f64) }
    }
}

/// The quality of numbers.
struct Quality {
    /// Parts of the score: of the network, and of the default.
    parts: [f64; 2],
    /// On how many functions the network is below, tied and above.
    counts: [usize; 3],
    /// Geometric means of the default's calls over those of the bundle method, by gap.
    calls: [f64; 2],
}

fn mean(numbers: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = numbers.fold((0.0, 0), |(sum, count), number| (sum + number, count + 1));
    sum / f64::from(count)
}

fn measure(
    model: &Model,
    numbers: &Numbers,
    cases: &[Case],
) -> Result<Quality, Box<dyn std::error::Error + Send + Sync>> {
    let model = Arc::new(with_rule(model, &rule(numbers))?);
    let all: Vec<Ratios> = cases.par_iter().map(|case| case.ratios(&model)).collect();
    let bounded = |ratio: f64| (1.5 * ratio.ln()).tanh();
    let mut counts = [0; 3];
    for [network, bundle] in all.iter().map(|ratios| ratios.gaps) {
        let is_tied = network <= SOLVED && bundle <= SOLVED;
        counts[if is_tied { 1 } else { 2 * usize::from(network >= bundle) }] += 1;
    }
    let network = mean(all.iter().map(|Ratios { gaps, .. }| bounded(gaps[0].max(SOLVED) / gaps[1].max(SOLVED))));
    let default = mean(all.iter().flat_map(|ratios| ratios.calls).map(bounded));
    let calls = [0, 1].map(|at| mean(all.iter().map(|ratios| ratios.calls[at].ln())).exp());
    Ok(Quality { parts: [network, default], counts, calls })
}

fn rule(numbers: &Numbers) -> LearnedRule {
    let mut coefficients = [0.0; 12];
    coefficients.copy_from_slice(&numbers[..12]);
    LearnedRule { coefficients, follow: numbers[12].max(0.0) }
}

/// A generation: moves the mean to that of the best tries, and the deviations to theirs.
pub(crate) fn advance(
    (mean, deviations): (&mut Numbers, &mut Numbers),
    stream: &mut Stream,
    measure: impl Fn(&Numbers) -> Result<f64, Box<dyn std::error::Error + Send + Sync>>,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut tries = vec![];
    for _ in 0..PAIRS {
        let noise = deviations.map(|deviation| deviation * stream.normal());
        for sign in [1.0, -1.0] {
            let numbers: Numbers = std::array::from_fn(|at| mean[at] + sign * noise[at]);
            tries.push((measure(&numbers)?, numbers));
        }
    }
    tries.sort_by(|a, b| a.0.total_cmp(&b.0));
    let weight = |place: usize| ((BEST as f64 + 0.5) / (place as f64 + 1.0)).ln();
    let total: f64 = (0..BEST).map(weight).sum();
    let average = |number: &dyn Fn(&Numbers) -> f64| {
        (0..BEST).map(|place| weight(place) / total * number(&tries[place].1)).sum::<f64>()
    };
    for at in 0..mean.len() {
        let before = mean[at];
        let spread = average(&|numbers| (numbers[at] - before).powi(2));
        deviations[at] = (KEPT * deviations[at].powi(2) + (1.0 - KEPT) * spread).sqrt();
        mean[at] = average(&|numbers| numbers[at]);
    }
    mean[12] = mean[12].max(0.0);
    Ok(())
}

/// Learns, and writes the model with the numbers of the last generation. Returns these.
pub(crate) fn learn(arguments: &[String]) -> Result<LearnedRule, Box<dyn std::error::Error + Send + Sync>> {
    let [path, out, generations, rest @ ..] = arguments else {
        return Err("expected MODEL OUT GENERATIONS [SEEDS [NUMBERS]]".into());
    };
    let model = Model::load(path)?;
    let LearnedRule { coefficients, follow } = model.guard_rule().ok_or("expected a model with a guard")?;
    let mut mean: Numbers = std::array::from_fn(|at| coefficients.get(at).copied().unwrap_or(follow));
    let seeds: u64 = rest.first().map_or(Ok(16), |seeds| seeds.parse())?;
    if let Some(text) = rest.get(1) {
        let numbers: Vec<f64> = text.split(',').map(str::parse).collect::<Result<_, _>>()?;
        mean = numbers.try_into().map_err(|found: Vec<f64>| format!("expected 13 numbers, found {}", found.len()))?;
    }
    let instances: Vec<(usize, Instance)> = rule_instances(7000..7000 + seeds).into_iter().enumerate().collect();
    let cases: Vec<Case> = instances.into_par_iter().map(Case::new).collect();
    let (mut deviations, mut stream) = (DEVIATIONS, Stream::new(1, "rule", 0));
    for generation in 0..=generations.parse::<usize>()? {
        if generation > 0 {
            let score =
                |numbers: &Numbers| measure(&model, numbers, &cases).map(|quality| quality.parts.iter().sum::<f64>());
            advance((&mut mean, &mut deviations), &mut stream, score)?;
        }
        let Quality { parts: [network, default], counts: [below, tied, above], calls } =
            measure(&model, &mean, &cases)?;
        let numbers: Vec<String> = mean.iter().map(|number| format!("{number:.4}")).collect();
        let [coarse, fine] = calls;
        println!(
            "{generation}: {network:.4} {default:.4}, {below} / {tied} / {above}, {coarse:.3} {fine:.3}, {}",
            numbers.join(",")
        );
    }
    with_rule(&model, &rule(&mean))?.save(out, Precision::Half)?;
    Ok(rule(&mean))
}

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    learn(&arguments).map(|_| ())
}
