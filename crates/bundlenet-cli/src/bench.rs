//! `bundlenet bench`: methods on instances, as tables, raw runs and a report.

use std::collections::{HashMap, HashSet};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use bundlenet::experiment::{
    Choice, Contender, Key, Mean, Measurement, Row, key, markdown, markdown_by_time, markdown_to_gap, measure, rows,
};
use bundlenet::learn::train::{Example, Optima, limited, read_examples};
use bundlenet::problems::{Manifest, Split};
use bundlenet::{Error, Granularity, Limits, MethodName, Model, ProximitySettings, Settings, Strategy, Tolerances};
use clap::Args;
use rayon::prelude::*;

use crate::failure::Failure;
use crate::paper;
use crate::report;
use crate::solve::{interrupt_flag, progress};
use crate::{input, output};

/// Compare methods on instances: tables, raw runs, and a report as one page
#[derive(Args)]
pub(crate) struct Bench {
    /// Data sets: folders, or generate:FAMILY:COUNT:SEED (its test part)
    #[arg(value_name = "DIR", required = true)]
    data: Vec<String>,
    /// Data to choose the grid by, one for each data set [default: the validation part of generated ones]
    #[arg(long, value_name = "DIR")]
    validation: Vec<String>,
    #[command(flatten)]
    options: Options,
}

/// What every experiment has.
#[derive(Args, Clone)]
pub(crate) struct Options {
    /// Folder for runs.jsonl, tables.md, table.csv, report.html; runs that are there are not made again
    #[arg(long, value_name = "OUT_DIR")]
    pub(crate) out: PathBuf,
    /// Methods: auto, hybrid; network (the general model); bundle methods component (with cuts of each component), aggregated,
    /// constant, soft, hard, balancing (with cuts of the whole function); descent, adam
    #[arg(
        long,
        value_name = "NAME,...",
        value_delimiter = ',',
        default_value = "auto,network,hybrid,component,aggregated,constant,soft,hard,balancing,descent,adam"
    )]
    pub(crate) methods: Vec<String>,
    /// Models of networks; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) model: Vec<PathBuf>,
    /// Initial step lengths of the methods that need one
    #[arg(long, value_name = "X,...", value_delimiter = ',', default_value = "0.1,1,10,100,1000,10000")]
    pub(crate) grid: Vec<f64>,
    /// Columns: steps after which gaps are measured
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "10,25,50,100")]
    pub(crate) steps: Vec<usize>,
    /// Most instances of each data set, spread over all
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Instances solved at the same time; more than one makes the times of each longer
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: u16,
}

/// Columns of the tables at equal times.
const MILLISECONDS: [f64; 6] = [0.3, 1.0, 3.0, 10.0, 30.0, 100.0];

/// Gaps in percent that are timed.
const PERCENT: [f64; 3] = [1.0, 0.1, 0.01];

/// A data set to measure on, and one to choose by.
pub(crate) struct DataSet {
    pub(crate) name: String,
    pub(crate) test: Vec<Example>,
    pub(crate) validation: Vec<Example>,
}

impl DataSet {
    /// Reads what sources name.
    pub(crate) fn read(
        name: &str,
        test: &str,
        validation: Option<&str>,
        limit: Option<usize>,
    ) -> Result<Self, Failure> {
        let knows_parts = test.starts_with("generate:") || Path::new(test).join(Manifest::FILE).exists();
        let own = knows_parts.then_some(test);
        let validation = match validation.or(own) {
            Some(source) => limited(read_examples(source, Split::Validation)?, limit),
            None => vec![],
        };
        let test = limited(read_examples(test, Split::Test)?, limit);
        if test.is_empty() {
            return Err(Failure::Input(anyhow::anyhow!(
                "{name}: expected at least one instance (of data with a manifest, the test part counts), found none"
            )));
        }
        Ok(Self { name: name.to_string(), test, validation })
    }
}

impl Bench {
    pub(crate) fn run(self) -> Result<(), Failure> {
        if self.validation.len() > self.data.len() {
            return Err(Failure::Input(anyhow::anyhow!(
                "--validation: expected at most one for each of {} data sets, found {}",
                self.data.len(),
                self.validation.len()
            )));
        }
        let mut sets = vec![];
        for (index, source) in self.data.iter().enumerate() {
            let validation = self.validation.get(index).map(String::as_str);
            sets.push(DataSet::read(&input::source_name(source), source, validation, self.options.limit)?);
        }
        let contenders = self.options.contenders()?;
        experiment(&self.options, sets, &|_| contenders.clone())
    }
}

impl Options {
    /// The methods, each with its grid, and the networks.
    pub(crate) fn contenders(&self) -> Result<Vec<Contender>, Failure> {
        let mut contenders = vec![];
        let mut names = HashSet::new();
        for file in &self.model {
            let name = model_name(file);
            if !names.insert(name.clone()) {
                return Err(Failure::Input(anyhow::anyhow!(
                    "--model: expected files of different names, found two called {name}"
                )));
            }
            contenders.push(network(&Model::load(file)?, &name));
        }
        for name in self.methods.iter().filter(|name| !name.is_empty()) {
            if name == "network" {
                contenders.push(network(&Model::general(), "general"));
                continue;
            }
            let (method, strategy) = match name.as_str() {
                "auto" => (MethodName::Auto, Strategy::Auto),
                "hybrid" => (MethodName::Hybrid, Strategy::Auto),
                "component" | "aggregated" => (MethodName::Bundle, Strategy::Auto),
                "constant" => (MethodName::Bundle, Strategy::Constant),
                "soft" => (MethodName::Bundle, Strategy::Soft),
                "hard" => (MethodName::Bundle, Strategy::Hard),
                "balancing" => (MethodName::Bundle, Strategy::Balancing),
                "descent" => (MethodName::Descent, Strategy::Auto),
                "adam" => (MethodName::Adam, Strategy::Auto),
                other => {
                    return Err(Failure::Input(anyhow::anyhow!(
                        "--methods: expected auto, hybrid, network, component, aggregated, constant, soft, hard, balancing, descent or adam, found {other:?}"
                    )));
                }
            };
            let mut grid = self.grid.clone();
            grid.sort_by(f64::total_cmp);
            grid.dedup();
            // The paper compares methods with cuts of the whole function.
            let cuts = match (name.as_str(), method) {
                ("component", _) => Granularity::Component,
                (_, MethodName::Bundle) => Granularity::Aggregated,
                _ => Granularity::Auto,
            };
            let needs_eta = matches!(method, MethodName::Descent | MethodName::Adam) || strategy != Strategy::Auto;
            let etas = if needs_eta { grid.into_iter().map(Some).collect() } else { vec![None] };
            for eta0 in etas {
                let proximity = ProximitySettings { strategy, eta0, ..ProximitySettings::default() };
                let tolerances = Tolerances { gap: 1e-9 };
                let settings = Settings { method, proximity, tolerances, cuts, ..Settings::default() };
                settings.clone().check().map_err(|error| Failure::Input(error.into()))?;
                contenders.push(Contender { method: name.clone(), eta0, settings });
            }
        }
        Ok(contenders)
    }
}

/// A network as a contender.
pub(crate) fn network(model: &Model, name: &str) -> Contender {
    let model = Some(Arc::new(model.clone()));
    let settings =
        Settings { method: MethodName::Network, model, tolerances: Tolerances { gap: 1e-9 }, ..Settings::default() };
    Contender { method: format!("network {name}"), eta0: None, settings }
}

pub(crate) fn model_name(file: &Path) -> String {
    file.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
}

/// Makes all runs that are not there yet, then everything that comes of them.
pub(crate) fn experiment(
    options: &Options,
    sets: Vec<DataSet>,
    contenders: &(dyn Fn(&str) -> Vec<Contender> + Sync),
) -> Result<(), Failure> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(options.threads.into()).build();
    pool.map_err(|error| Failure::Run(error.into()))?.install(|| run_all(options, sets, contenders))
}

fn run_all(
    options: &Options,
    mut sets: Vec<DataSet>,
    contenders: &(dyn Fn(&str) -> Vec<Contender> + Sync),
) -> Result<(), Failure> {
    let mut names = HashSet::new();
    if let Some(twice) = sets.iter().find(|set| !names.insert(set.name.clone())) {
        let name = &twice.name;
        return Err(Failure::Input(anyhow::anyhow!("expected data sets of different names, found two called {name}")));
    }
    let columns = &options.steps;
    let is_usable = !columns.is_empty() && columns[0] > 0 && columns.is_sorted_by(|a, b| a < b);
    let Some(&steps) = columns.last().filter(|_| is_usable) else {
        let found = format!("{columns:?}");
        return Err(Failure::Input(anyhow::anyhow!("--steps: expected positive increasing numbers, found {found}")));
    };
    std::fs::create_dir_all(&options.out).map_err(|source| Error::Write { path: options.out.clone(), source })?;
    let interrupt = interrupt_flag();
    find_optima(&options.out, &mut sets, interrupt)?;
    let path = options.out.join("runs.jsonl");
    let mut all = read_runs(&path)?;
    // A shorter run does not tell what a longer one would have come to.
    all.retain(|run| run.steps >= steps);
    let present: HashSet<Key> = all.iter().map(Measurement::key).collect();
    let mut jobs = vec![];
    let by_set: Vec<(DataSet, Vec<Contender>)> = sets
        .into_iter()
        .map(|set| {
            let contenders = contenders(&set.name);
            (set, contenders)
        })
        .collect();
    for (set, contenders) in &by_set {
        for contender in contenders {
            let model = contender.fingerprint();
            let has_grid = contenders.iter().filter(|other| other.method == contender.method).count() > 1;
            // Only a grid is chosen, so only a grid needs validation data.
            let validation = if has_grid { &set.validation[..] } else { &[] };
            for (example, is_validation) in
                set.test.iter().map(|e| (e, false)).chain(validation.iter().map(|e| (e, true)))
            {
                let key =
                    key(&set.name, is_validation, &example.name, &contender.method, contender.eta0, model.clone());
                if !present.contains(&key) {
                    jobs.push((&set.name, contender, example, is_validation));
                }
            }
        }
    }
    let bar = progress(jobs.len());
    let file = OpenOptions::new().create(true).append(true).open(&path);
    let file = Mutex::new(file.map_err(|source| Error::Write { path: path.clone(), source })?);
    let made: Result<Vec<Option<Measurement>>, Failure> = jobs
        .par_iter()
        .map(|(name, contender, example, is_validation)| {
            if interrupt.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let run = measure(contender, name, *is_validation, example, steps)?;
            let line = serde_json::to_string(&run).map_err(std::io::Error::from)? + "\n";
            if let Ok(mut file) = file.lock() {
                file.write_all(line.as_bytes())?;
            }
            bar.inc(1);
            Ok(Some(run))
        })
        .collect();
    bar.finish_and_clear();
    let made = made?;
    if interrupt.load(Ordering::Relaxed) {
        return Err(Failure::Run(anyhow::anyhow!("interrupted; the same command goes on")));
    }
    all.extend(made.into_iter().flatten());
    // Only what was asked for now, in the order it was asked for: the folder may hold more, in any order.
    let mut wanted: HashMap<Key, usize> = HashMap::new();
    for (set, contenders) in &by_set {
        for contender in contenders {
            let model = contender.fingerprint();
            let names = set.test.iter().map(|e| (e, false)).chain(set.validation.iter().map(|e| (e, true)));
            for (example, is_validation) in names {
                let key =
                    key(&set.name, is_validation, &example.name, &contender.method, contender.eta0, model.clone());
                let place = wanted.len();
                wanted.entry(key).or_insert(place);
            }
        }
    }
    all.retain(|run| wanted.contains_key(&run.key()));
    all.sort_by_key(|run| wanted[&run.key()]);
    let names: Vec<&str> = by_set.iter().map(|(set, _)| set.name.as_str()).collect();
    write_results(options, &all, &names)
}

/// Seconds that the optimum of an instance may take.
const MOST_SECONDS: f64 = 120.0;

/// The optimum of every instance, from `optima.json` where it is there.
fn find_optima(folder: &Path, sets: &mut [DataSet], interrupt: &AtomicBool) -> Result<(), Failure> {
    let optima = Mutex::new(Optima::read(folder.join("optima.json"))?);
    let count: usize = sets.iter().map(|set| set.test.len() + set.validation.len()).sum();
    let bar = progress(count);
    let limits = Limits { seconds: Some(MOST_SECONDS), ..Limits::default() };
    for set in sets {
        let DataSet { name, test, validation } = set;
        test.par_iter_mut().chain(validation).try_for_each(|example| {
            let key = format!("{name}/{}", example.name);
            if interrupt.load(Ordering::Relaxed) {
                return Err(Failure::Run(anyhow::anyhow!("interrupted; the same command goes on")));
            }
            if let Ok(optima) = optima.lock() {
                example.optimum = optima.get(&key);
            }
            *example = example.clone().with_optimum(&limits)?;
            if let (Ok(mut optima), Some(optimum)) = (optima.lock(), example.optimum) {
                optima.insert(&key, optimum)?;
            }
            bar.inc(1);
            Ok(())
        })?;
    }
    if let Ok(mut optima) = optima.into_inner() {
        optima.write()?;
    }
    bar.finish_and_clear();
    Ok(())
}

/// Runs of an earlier call; a line that a kill has cut off is dropped.
pub(crate) fn read_runs(path: &Path) -> Result<Vec<Measurement>, Failure> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(vec![]),
        Err(source) => return Err(Error::Read { path: path.to_path_buf(), source }.into()),
    };
    // A line is there once its end is.
    let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    if whole < bytes.len() {
        let shortened = OpenOptions::new().write(true).open(path).and_then(|file| file.set_len(whole as u64));
        shortened.map_err(|source| Error::Write { path: path.to_path_buf(), source })?;
    }
    let mut runs = vec![];
    for (index, line) in String::from_utf8_lossy(&bytes[..whole]).lines().enumerate() {
        match serde_json::from_str(line) {
            Ok(run) => runs.push(run),
            Err(error) => {
                let (file, line) = (path.display(), index + 1);
                return Err(Failure::Input(anyhow::anyhow!("{file}: line {line}: expected a run, found {error}")));
            }
        }
    }
    Ok(runs)
}

fn write_results(options: &Options, all: &[Measurement], names: &[&str]) -> Result<(), Failure> {
    let columns = &options.steps;
    let command: Vec<String> = std::env::args().skip(1).collect();
    let command = format!("bundlenet {}", command.join(" "));
    let mut text = format!(
        "Mean gap in percent ± standard error after so many steps, the paper's figure in brackets, and the difference to the first row in standard errors, paired by instance. `auto` is the default of `solve`; `component` has cuts of each component; `aggregated`, `constant`, `soft`, `hard` and `balancing` have cuts of the whole function. Made by\n\n```sh\n{command}\n```\n"
    );
    let mut csv = String::from("data_set,method,steps,mean_gap_percent,standard_error,seconds,paper_gap_percent\n");
    for name in names {
        let figures = |method: &str, steps: usize| paper::gap(name, method, steps);
        let by_validation = rows(all, name, columns, Choice::Validation);
        text += &format!("\n## {name}\n\n{}", markdown(&by_validation, columns, &figures));
        text += &format!("\nAt equal times:\n\n{}", markdown_by_time(&by_validation, &MILLISECONDS));
        text += &format!("\nTo a gap:\n\n{}", markdown_to_gap(&by_validation, &PERCENT));
        let by_test: Vec<Row<'_>> =
            rows(all, name, columns, Choice::Test).into_iter().filter(|row| row.name.ends_with("by test")).collect();
        if !by_test.is_empty() {
            text += &format!(
                "\nThe grid chosen on the test data themselves, as in the paper:\n\n{}",
                markdown(&by_test, columns, &figures)
            );
        }
        for row in by_validation.iter().chain(&by_test) {
            for (column, &steps) in columns.iter().enumerate() {
                let Mean { mean, error } = Mean::of(&row.gaps(column, steps));
                let seconds: Vec<f64> = row.columns[column].iter().map(|run| run.seconds_after(steps)).collect();
                let theirs = paper::gap(name, &row.name, steps).map_or_else(String::new, |gap| gap.to_string());
                csv +=
                    &format!("{name},\"{}\",{steps},{mean},{error},{},{theirs}\n", row.name, Mean::of(&seconds).mean);
            }
        }
    }
    let page = report::page(&command, all, names, columns)?;
    for (file, content) in [("tables.md", &text), ("table.csv", &csv), ("report.html", &page)] {
        let path = options.out.join(file);
        std::fs::write(&path, content).map_err(|source| Error::Write { path, source })?;
    }
    output::line(text.trim_end())?;
    output::note(&format!("report: {}", options.out.join("report.html").display()));
    Ok(())
}
