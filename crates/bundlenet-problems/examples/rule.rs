//! Learns the numbers of the exact master in a model's guard (`docs/checkpoint.md`): its step-length rule, and how its
//! centre follows null steps.
//!
//! ```text
//! cargo run --release -p bundlenet-problems --example rule -- MODEL OUT GENERATIONS [SEEDS [NUMBERS]]
//! ```
//!
//! `MODEL` has a guard. Each generation tries changed numbers on all functions of `rule_instances`, `SEEDS` of each kind.
//! A function has 25, 50 or 100 calls. The score compares the gap of the network alone with that of the bundle method
//! with aggregated cuts: the mean of `tanh(1.5 ln(ratio))`, so that no function counts much more than another. The next
//! mean is that of the best tries. `NUMBERS` are those to begin with, with commas between them, if not the model's own.
//!
//! One line for each generation: its number, the score of the mean, on how many functions the network is below, tied
//! (both gaps are at most 1e-9) and above, and the numbers.

use std::sync::Arc;

use bundlenet::train::{GuardRule, with_rule};
use bundlenet::{BundleSettings, Cuts, Method, Model, NetworkSettings, Precision};
use bundlenet_linalg::Stream;
use bundlenet_testing::foreign::{Instance, rule_instances};
use rayon::prelude::*;

/// Calls of the functions, in turn.
const CALLS: [usize; 4] = [25, 50, 50, 100];
/// Gap of a function that is solved.
const SOLVED: f64 = 1e-9;
/// Seconds of the long runs that find an optimum.
const SECONDS: f64 = 4.0;
/// First deviations of the thirteen numbers.
const DEVIATIONS: [f64; 13] = [0.03, 0.05, 0.15, 0.06, 0.05, 0.05, 0.02, 0.015, 0.03, 0.03, 0.02, 0.02, 0.1];
/// Pairs of opposite tries in a generation, and the number of best tries whose mean is the next one.
const PAIRS: usize = 8;
const BEST: usize = 6;
/// Share of the old deviation in the new one, as squares.
const KEPT: f64 = 0.8;

type Numbers = [f64; 13];

/// A function with the gap of the bundle method.
struct Case {
    instance: Instance,
    calls: usize,
    optimum: f64,
    bundle: f64,
}

impl Case {
    fn new((index, instance): (usize, Instance)) -> Self {
        let (optimum, calls) = (instance.optimum_or_best(SECONDS), CALLS[index % CALLS.len()]);
        let bundle = Method::Bundle(BundleSettings { cuts: Cuts::Aggregated, ..BundleSettings::default() });
        let mut case = Self { instance, calls, optimum, bundle: 0.0 };
        case.bundle = case.gap(bundle);
        case
    }

    fn gap(&self, method: Method) -> f64 {
        let best = self.instance.trace(method, self.calls, None).last().map_or(f64::INFINITY, |row| row.best);
        (best - self.optimum).abs() / self.instance.gap_unit(self.optimum)
    }

    /// Gaps of the network and of the bundle method.
    fn gaps(&self, model: &Arc<Model>) -> [f64; 2] {
        let settings = NetworkSettings { model: Some(Arc::clone(model)), ..NetworkSettings::default() };
        [self.gap(Method::Network(settings)), self.bundle]
    }
}

/// The score of numbers, and on how many functions the network is below, tied and above.
fn measure(
    model: &Model,
    numbers: &Numbers,
    cases: &[Case],
) -> Result<(f64, [usize; 3]), Box<dyn std::error::Error + Send + Sync>> {
    let model = Arc::new(with_rule(model, &rule(numbers))?);
    let gaps: Vec<[f64; 2]> = cases.par_iter().map(|case| case.gaps(&model)).collect();
    let (mut score, mut counts) = (0.0, [0; 3]);
    for [network, bundle] in gaps {
        score += (1.5 * (network.max(SOLVED) / bundle.max(SOLVED)).ln()).tanh() / cases.len() as f64;
        let is_tied = network <= SOLVED && bundle <= SOLVED;
        counts[if is_tied { 1 } else { 2 * usize::from(network >= bundle) }] += 1;
    }
    Ok((score, counts))
}

fn rule(numbers: &Numbers) -> GuardRule {
    let mut steps = [0.0; 12];
    steps.copy_from_slice(&numbers[..12]);
    GuardRule { steps, follow: numbers[12].max(0.0) }
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
pub(crate) fn learn(arguments: &[String]) -> Result<GuardRule, Box<dyn std::error::Error + Send + Sync>> {
    let [path, out, generations, rest @ ..] = arguments else {
        return Err("expected MODEL OUT GENERATIONS [SEEDS [NUMBERS]]".into());
    };
    let model = Model::load(path)?;
    let GuardRule { steps, follow } = model.guard_rule().ok_or("expected a model with a guard")?;
    let mut mean: Numbers = std::array::from_fn(|at| steps.get(at).copied().unwrap_or(follow));
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
            let score = |numbers: &Numbers| measure(&model, numbers, &cases).map(|(score, _)| score);
            advance((&mut mean, &mut deviations), &mut stream, score)?;
        }
        let (score, [below, tied, above]) = measure(&model, &mean, &cases)?;
        let numbers: Vec<String> = mean.iter().map(|number| format!("{number:.4}")).collect();
        println!("{generation}: {score:.4}, {below} / {tied} / {above}, {}", numbers.join(","));
    }
    with_rule(&model, &rule(&mean))?.save(out, Precision::Half)?;
    Ok(rule(&mean))
}

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    learn(&arguments).map(|_| ())
}
