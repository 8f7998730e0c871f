//! The report of an experiment: one HTML page without other files.

use bundlenet::Error;
use serde::Serialize;

use crate::contenders::{self, Options};
use crate::experiment::{Choice, Measurement, Row, without_proof};
use crate::failure::Failure;
use crate::monitor::CURVES;
use crate::paper;

const PAGE: &str = include_str!("report.html");

#[derive(Serialize)]
struct Data<'a> {
    title: &'a str,
    command: &'a str,
    machine: String,
    version: &'a str,
    steps: &'a [usize],
    data_sets: Vec<DataSet<'a>>,
}

#[derive(Serialize)]
struct DataSet<'a> {
    name: &'a str,
    /// The number of optima that are not proved, and their worst estimate.
    note: Option<String>,
    /// Names, with a star where the optimum is not proved.
    instances: Vec<String>,
    methods: Vec<Method>,
    trainings: Vec<Training<'a>>,
}

#[derive(Serialize)]
struct Training<'a> {
    name: &'a str,
    /// Why it stopped early, if it did.
    note: &'a Option<String>,
    /// Learning curves, as an SVG picture.
    curves: String,
}

#[derive(Serialize)]
struct Method {
    name: String,
    mean: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
    seconds: Vec<f64>,
    time: Time,
    gaps: Vec<Vec<f64>>,
    paper: Option<Vec<f64>>,
}

#[derive(Serialize)]
struct Time {
    oracle: f64,
    master: f64,
    network: f64,
    other: f64,
}

/// The page of some runs.
pub(crate) fn page(options: &Options, all: &[Measurement], names: &[&str]) -> Result<String, Failure> {
    let data_sets: Result<Vec<DataSet<'_>>, Failure> = names.iter().map(|name| data_set(options, all, name)).collect();
    let data = Data {
        title: "bundlenet: methods compared",
        command: &options.command,
        machine: machine(),
        version: env!("CARGO_PKG_VERSION"),
        steps: &options.steps,
        data_sets: data_sets?,
    };
    let json = serde_json::to_string(&data)?;
    // A name with a tag in it must not end the script.
    Ok(PAGE.replace("__DATA__", &json.replace('<', "\\u003c")))
}

fn data_set<'a>(options: &'a Options, all: &'a [Measurement], name: &'a str) -> Result<DataSet<'a>, Failure> {
    let rows = options.rows(all, name, Choice::Validation);
    let instances = rows.first().map_or_else(Vec::new, |row| {
        let named = |run: &&Measurement| format!("{}{}", run.instance, if run.is_proved { "" } else { "*" });
        row.columns.last().into_iter().flatten().map(named).collect()
    });
    let note = without_proof(&rows).map(|note| format!("optima not proved to 1e-9, marked *: {note}"));
    let methods = rows.iter().map(|row| method(row, name, &options.steps)).collect();
    let trainings: Result<Vec<Training<'_>>, Failure> = options.trainings_of(name).map(training).collect();
    Ok(DataSet { name, note, instances, methods, trainings: trainings? })
}

fn training(training: &contenders::Training) -> Result<Training<'_>, Failure> {
    let path = training.folder.join(CURVES);
    let curves = std::fs::read_to_string(&path).map_err(|source| Error::Read { path, source })?;
    Ok(Training { name: &training.method, note: &training.stopped, curves })
}

fn method(row: &Row<'_>, data_set: &str, columns: &[usize]) -> Method {
    // Curves are of the step length chosen for the last column.
    let runs = row.columns.last().map_or(&[][..], |runs| runs);
    let last = columns.last().copied().unwrap_or(0);
    let count = runs.len().max(1) as f64;
    let curve = |of: &dyn Fn(&mut Vec<f64>) -> f64| -> Vec<f64> {
        (0..=last)
            .map(|steps| {
                let mut gaps: Vec<f64> = runs.iter().map(|run| run.gap(steps)).collect();
                gaps.sort_by(f64::total_cmp);
                of(&mut gaps)
            })
            .collect()
    };
    let quantile = |gaps: &[f64], share: f64| {
        let rank = (gaps.len().saturating_sub(1) as f64 * share).round() as usize;
        gaps.get(rank).copied().unwrap_or(0.0)
    };
    let mean_of = |of: &dyn Fn(&Measurement) -> f64| runs.iter().map(|run| of(run)).sum::<f64>() / count;
    let (oracle, master) = (mean_of(&|run| run.oracle_seconds), mean_of(&|run| run.master_seconds));
    let network = mean_of(&|run| run.network_seconds);
    let whole = mean_of(&|run| run.seconds_after(last));
    let paper: Option<Vec<f64>> = columns.iter().map(|&steps| paper::gap(data_set, &row.name, steps)).collect();
    let by_column: Vec<Vec<f64>> = columns.iter().enumerate().map(|(column, &steps)| row.gaps(column, steps)).collect();
    Method {
        name: row.title(),
        mean: curve(&|gaps| gaps.iter().sum::<f64>() / count),
        low: curve(&|gaps| quantile(gaps, 0.1)),
        high: curve(&|gaps| quantile(gaps, 0.9)),
        seconds: (0..=last).map(|steps| mean_of(&|run| run.seconds_after(steps))).collect(),
        time: Time { oracle, master, network, other: (whole - oracle - master - network).max(0.0) },
        gaps: (0..runs.len()).map(|index| by_column.iter().map(|gaps| gaps[index]).collect()).collect(),
        paper,
    }
}

/// The processor, if the system names it, and its number of cores.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':').map(|(_, name)| name.trim()));
    let system = format!("{}, {}", std::env::consts::OS, std::env::consts::ARCH);
    format!("{}, {cores} cores, {system}", model.unwrap_or("unknown processor"))
}
