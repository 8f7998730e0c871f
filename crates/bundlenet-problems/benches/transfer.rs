//! A network on functions that are in no training: set covering, capacitated p-median, academic functions.
//!
//! ```text
//! cargo bench --bench transfer
//! cargo bench --bench transfer -- --half choose --only median --model FILE
//! cargo bench --bench transfer -- --fresh 20
//! ```
//!
//! `--fresh N` takes other functions of set covering and p-median: `N` of each of their ten sizes.
//!
//! Markdown on the standard output: for each function, the gap of the network (which knows its number of steps, as with
//! `--steps`) and of the aggregated bundle method after 50 calls, and the calls of `hybrid` and of that method to two
//! gaps. Then the numbers of functions on which the network is below, on which both have solved the function (a tie:
//! round-off decides which one is below), and on which `hybrid` is within the bar.

use std::sync::Arc;

use bundlenet::{BundleSettings, Cuts, HybridSettings, Method, Model, NetworkSettings, Oracle, TraceRow};
use bundlenet_testing::foreign::{Half, Instance, Price, fresh_transfer_instances, transfer_instances};
use bundlenet_testing::trial::cases;

/// Calls of the network.
const CALLS: usize = 50;
/// Gaps to which calls are counted, and the largest number of calls.
const GAPS: [f64; 2] = [1e-2, 1e-3];
const MOST_CALLS: usize = 3000;
/// Gap of a function that is solved.
const SOLVED: f64 = 1e-9;
/// Seconds of the long runs that find an optimum.
const SECONDS: f64 = 20.0;
/// `hybrid` may take this multiple of the calls of the bundle method.
const ALLOWED: f64 = 1.1;

#[derive(Default)]
struct Options {
    half: Option<String>,
    only: Option<String>,
    model: Option<Arc<Model>>,
    fresh: Option<u64>,
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self::default();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument}: expected a value, found the end"));
            match argument.as_str() {
                "--bench" => {}
                "--half" => options.half = Some(value()?),
                "--only" => options.only = Some(value()?),
                "--model" => {
                    options.model = Some(Arc::new(Model::load(value()?).map_err(|error| error.to_string())?));
                }
                "--fresh" => {
                    let count = value()?;
                    let wrong = |_| format!("--fresh: expected a whole number, found {count}");
                    options.fresh = Some(count.parse().map_err(wrong)?);
                }
                _ => return Err(format!("expected --half, --only, --model or --fresh, found {argument}")),
            }
        }
        Ok(options)
    }

    fn includes(&self, instance: &Instance) -> bool {
        self.half.as_ref().is_none_or(|half| *half == instance.half.to_string())
            && self.only.as_ref().is_none_or(|part| instance.name.contains(part))
    }
}

/// The figures of a function.
struct Row {
    name: String,
    half: Half,
    dim: usize,
    /// Gaps of network and bundle method.
    gaps: [f64; 2],
    /// Calls of `hybrid` and of the bundle method to each gap.
    calls: [[Option<usize>; 2]; 2],
}

impl Row {
    fn measure(instance: &Instance, model: Option<&Arc<Model>>) -> Self {
        let bundle = Method::Bundle(BundleSettings { cuts: Cuts::Aggregated, ..BundleSettings::default() });
        let network = Method::Network(NetworkSettings { model: model.cloned(), ..NetworkSettings::default() });
        let hybrid = Method::Hybrid(HybridSettings { model: model.cloned(), ..HybridSettings::default() });
        let optimum = instance.optimum_or_best(SECONDS);
        let unit = instance.gap_unit(optimum);
        let gap = |row: &TraceRow| (row.best - optimum).abs() / unit;
        let sign = instance.oracle(Price::Dear).sense().sign();
        let target = Some(optimum + sign * GAPS[1] * unit);
        let gaps = [network, bundle.clone()].map(|method| instance.trace(method, CALLS, None).last().map_or(1.0, &gap));
        let calls = [hybrid, bundle].map(|method| {
            let trace = instance.trace(method, MOST_CALLS, target);
            GAPS.map(|least| trace.iter().position(|row| gap(row) <= least).map(|step| step + 1))
        });
        Self { name: instance.name.clone(), half: instance.half, dim: instance.start().len(), gaps, calls }
    }

    /// Whether both methods have solved the function.
    fn is_tied(&self) -> bool {
        self.gaps.iter().all(|gap| *gap <= SOLVED)
    }

    /// Whether the network is below the bundle method.
    fn is_below(&self) -> bool {
        self.gaps[0] < self.gaps[1] && !self.is_tied()
    }

    /// Calls of `hybrid` over those of the bundle method, by gap.
    fn ratios(&self) -> [Option<f64>; 2] {
        let ratio = |(hybrid, bundle): (Option<usize>, Option<usize>)| match (hybrid, bundle) {
            (Some(hybrid), Some(bundle)) => Some(hybrid as f64 / bundle as f64),
            (None, Some(_)) => Some(f64::INFINITY),
            (_, None) => None,
        };
        [0, 1].map(|index| ratio((self.calls[0][index], self.calls[1][index])))
    }

    fn is_within(&self) -> bool {
        self.ratios().into_iter().flatten().all(|ratio| ratio <= ALLOWED)
    }

    fn print(&self) {
        let Self { name, half, dim, gaps: [network, bundle], calls } = self;
        let pair = |index: usize| {
            let text = |calls: Option<usize>| calls.map_or("-".to_string(), |calls| calls.to_string());
            format!("{} / {}", text(calls[0][index]), text(calls[1][index]))
        };
        println!("| {name} | {half} | {dim} | {network:.1e} / {bundle:.1e} | {} | {} |", pair(0), pair(1));
    }
}

fn print_shares(rows: &[&Row], name: &str) {
    let count = |test: &dyn Fn(&&&Row) -> bool| rows.iter().filter(test).count();
    let worst = |index: usize| rows.iter().filter_map(|row| row.ratios()[index]).fold(0.0, f64::max);
    let (below, tied, within) =
        (count(&|row| row.is_below()), count(&|row| row.is_tied()), count(&|row| row.is_within()));
    println!("| {name} | {} | {below} | {tied} | {within} | {:.2} | {:.2} |", rows.len(), worst(0), worst(1));
}

fn main() {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}");
            std::process::exit(2);
        }
    };
    println!("| function | half | variables | gap: network / bundle | calls to 1e-2: hybrid / bundle | to 1e-3 |");
    println!("|---|---|---|---|---|---|");
    let all = options.fresh.map_or_else(transfer_instances, fresh_transfer_instances);
    let chosen = all.into_iter().filter(|instance| options.includes(instance));
    let measure = |instance| {
        let row = Row::measure(&instance, options.model.as_ref());
        row.print();
        row
    };
    let rows: Vec<Row> = cases(chosen).map(measure).collect();
    println!(
        "\n| functions | number | network below | tied | hybrid within {ALLOWED} | worst to 1e-2 | worst to 1e-3 |"
    );
    println!("|---|---|---|---|---|---|---|");
    for half in [Half::Choose, Half::Judge] {
        for family in ["", "academic", "cover", "median"] {
            let rows: Vec<&Row> = rows.iter().filter(|row| row.half == half && row.name.starts_with(family)).collect();
            let name = if family.is_empty() { "all" } else { family };
            if !rows.is_empty() {
                print_shares(&rows, &format!("{half}, {name}"));
            }
        }
    }
}
