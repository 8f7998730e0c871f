//! The report of an experiment: one HTML page without other files.

use serde::Serialize;

use crate::experiment::{Choice, Measurement, Row, rows, without_proof};
use crate::failure::Failure;
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
pub(crate) fn page(command: &str, all: &[Measurement], names: &[&str], columns: &[usize]) -> Result<String, Failure> {
    let data_sets = names.iter().map(|name| data_set(all, name, columns)).collect();
    let data = Data {
        title: "bundlenet: methods compared",
        command,
        machine: machine(),
        version: env!("CARGO_PKG_VERSION"),
        steps: columns,
        data_sets,
    };
    let json = serde_json::to_string(&data)?;
    // A name with a tag in it must not end the script.
    Ok(PAGE.replace("__DATA__", &json.replace('<', "\\u003c")))
}

fn data_set<'a>(all: &'a [Measurement], name: &'a str, columns: &[usize]) -> DataSet<'a> {
    let rows = rows(all, name, columns, Choice::Validation);
    let instances = rows.first().map_or_else(Vec::new, |row| {
        let named = |run: &&Measurement| format!("{}{}", run.instance, if run.is_proved { "" } else { "*" });
        row.columns.last().into_iter().flatten().map(named).collect()
    });
    let note = without_proof(&rows).map(|note| format!("optima not proved to 1e-9, marked *: {note}"));
    DataSet { name, note, instances, methods: rows.iter().map(|row| method(row, name, columns)).collect() }
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
        name: row.name.clone(),
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
