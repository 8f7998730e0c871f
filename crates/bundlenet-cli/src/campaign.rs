//! The runs of an experiment: made once, kept in a folder, turned into tables and a report.

use std::collections::{HashMap, HashSet};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use bundlenet::train::{Example, Optima};
use bundlenet::{Error, Limits};
use rayon::prelude::*;

use crate::contenders::{DataSet, Options};
use crate::experiment::{
    Choice, Contender, Job, Key, Mean, Measurement, Row, markdown, markdown_by_time, markdown_to_gap, rows,
};
use crate::failure::Failure;
use crate::run::{interrupt_flag, progress};
use crate::{output, paper, report};

/// Columns of the tables at equal times.
const MILLISECONDS: [f64; 6] = [0.3, 1.0, 3.0, 10.0, 30.0, 100.0];

/// Columns of the tables to equal gaps.
const PERCENT: [f64; 3] = [1.0, 0.1, 0.01];

/// Most seconds for the optimum of an instance.
const MOST_SECONDS: f64 = 120.0;

/// Makes all runs that the folder does not hold yet, then tables and report. `contenders` gives the methods of a data
/// set.
pub(crate) fn run_campaign(
    options: &Options,
    sets: Vec<DataSet>,
    contenders: &(dyn Fn(&str) -> Vec<Contender> + Sync),
) -> Result<(), Failure> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(options.threads.into()).build().map_err(Failure::run)?;
    pool.install(|| run_all(options, sets, contenders))
}

fn run_all(
    options: &Options,
    mut sets: Vec<DataSet>,
    contenders: &(dyn Fn(&str) -> Vec<Contender> + Sync),
) -> Result<(), Failure> {
    let mut names = HashSet::new();
    if let Some(DataSet { name, .. }) = sets.iter().find(|set| !names.insert(set.name.clone())) {
        return Err(Failure::input(format!("expected data sets of different names, found two called {name}")));
    }
    let steps = last_step(&options.steps)?;
    std::fs::create_dir_all(&options.out).map_err(|source| Error::Write { path: options.out.clone(), source })?;
    let interrupt = interrupt_flag();
    find_optima(&options.out, &mut sets, interrupt)?;
    let sets: Vec<(DataSet, Vec<Contender>)> =
        sets.into_iter().map(|set| (contenders(&set.name), set)).map(|(contenders, set)| (set, contenders)).collect();
    let jobs: Vec<Job<'_>> = sets.iter().flat_map(|(set, contenders)| jobs(set, contenders)).collect();
    let places: HashMap<Key, usize> = jobs.iter().enumerate().map(|(place, job)| (job.key(), place)).collect();

    let path = options.out.join("runs.jsonl");
    let mut all = read_runs(&path)?;
    // The folder may hold other runs, and runs with a lower step limit.
    all.retain(|run| run.steps >= steps && places.contains_key(&run.key()));
    let present: HashSet<Key> = all.iter().map(Measurement::key).collect();
    let missing: Vec<&Job<'_>> = jobs.iter().filter(|job| !present.contains(&job.key())).collect();
    all.extend(make_runs(&path, &missing, steps, interrupt)?);
    all.sort_by_key(|run| places[&run.key()]);
    let names: Vec<&str> = sets.iter().map(|(set, _)| set.name.as_str()).collect();
    write_results(options, &all, &names)
}

/// The step limit of the runs: the last column.
fn last_step(columns: &[usize]) -> Result<usize, Failure> {
    match columns {
        [first, .., last] | [first @ last] if *first > 0 && columns.is_sorted_by(|a, b| a < b) => Ok(*last),
        _ => Err(Failure::input(format!("--steps: expected positive increasing numbers, found {columns:?}"))),
    }
}

/// All runs of a data set. Only a grid is chosen by validation data.
fn jobs<'a>(set: &'a DataSet, contenders: &'a [Contender]) -> Vec<Job<'a>> {
    let of = |contender: &'a Contender| {
        let has_grid = contenders.iter().filter(|other| other.name == contender.name).count() > 1;
        let validation = if has_grid { &set.validation[..] } else { &[] };
        let job = |example, is_validation| Job { data_set: &set.name, contender, example, is_validation };
        let test = set.test.iter().map(move |example| job(example, false));
        test.chain(validation.iter().map(move |example| job(example, true)))
    };
    contenders.iter().flat_map(of).collect()
}

/// Makes runs and appends each to the file.
fn make_runs(
    path: &Path,
    jobs: &[&Job<'_>],
    steps: usize,
    interrupt: &AtomicBool,
) -> Result<Vec<Measurement>, Failure> {
    let bar = progress(jobs.len());
    let file = OpenOptions::new().create(true).append(true).open(path);
    let file = Mutex::new(file.map_err(|source| Error::Write { path: path.to_path_buf(), source })?);
    let make = |job: &&Job<'_>| {
        check(interrupt)?;
        let run = job.measure(steps)?;
        let line = serde_json::to_string(&run)? + "\n";
        if let Ok(mut file) = file.lock() {
            file.write_all(line.as_bytes())?;
        }
        bar.inc(1);
        Ok(run)
    };
    let made = jobs.par_iter().map(make).collect();
    bar.finish_and_clear();
    made
}

fn check(interrupt: &AtomicBool) -> Result<(), Failure> {
    if interrupt.load(Ordering::Relaxed) {
        return Err(Failure::run("interrupted; the same command continues"));
    }
    Ok(())
}

/// Gives every instance its optimum, from `optima.json` where the file has it.
fn find_optima(folder: &Path, sets: &mut [DataSet], interrupt: &AtomicBool) -> Result<(), Failure> {
    let optima = Mutex::new(Optima::read(folder.join("optima.json"))?);
    let bar = progress(sets.iter().map(|set| set.test.len() + set.validation.len()).sum());
    let limits = Limits { seconds: Some(MOST_SECONDS), ..Limits::default() };
    let find = |name: &str, example: &mut Example| {
        check(interrupt)?;
        let key = format!("{name}/{}", example.name);
        if let Ok(optima) = optima.lock() {
            example.optimum = optima.get(&key);
        }
        *example = example.clone().with_optimum(&limits)?;
        if let (Ok(mut optima), Some(optimum)) = (optima.lock(), example.optimum) {
            optima.insert(&key, optimum)?;
        }
        bar.inc(1);
        Ok::<_, Failure>(())
    };
    for DataSet { name, test, validation } in sets {
        test.par_iter_mut().chain(validation).try_for_each(|example| find(name, example))?;
    }
    if let Ok(mut optima) = optima.into_inner() {
        optima.write()?;
    }
    bar.finish_and_clear();
    Ok(())
}

/// Runs of an earlier command. A kill may have cut off the last line, which is dropped.
pub(crate) fn read_runs(path: &Path) -> Result<Vec<Measurement>, Failure> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(vec![]),
        Err(source) => return Err(Error::Read { path: path.to_path_buf(), source }.into()),
    };
    let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    if whole < bytes.len() {
        let shortened = OpenOptions::new().write(true).open(path).and_then(|file| file.set_len(whole as u64));
        shortened.map_err(|source| Error::Write { path: path.to_path_buf(), source })?;
    }
    let text = String::from_utf8_lossy(&bytes[..whole]).into_owned();
    let parse = |(index, line): (usize, &str)| {
        let wrong = |error| format!("{}: line {}: expected a run, found {error}", path.display(), index + 1);
        serde_json::from_str(line).map_err(|error| Failure::input(wrong(error)))
    };
    text.lines().enumerate().map(parse).collect()
}

fn write_results(options: &Options, all: &[Measurement], names: &[&str]) -> Result<(), Failure> {
    let Options { steps: columns, command, out, .. } = options;
    let mut text = format!(
        "Mean gap in percent ± standard error after a number of steps. In brackets: the figure of the paper. With σ: \
         the difference to the first row in standard errors, paired by instance. `auto` is the default of `solve`; \
         `component` has cuts of each component; `aggregated`, `constant`, `soft`, `hard` and `balancing` have cuts of \
         the whole function. Made by\n\n```sh\n{command}\n```\n"
    );
    let mut csv = String::from("data_set,method,steps,mean_gap_percent,standard_error,seconds,paper_gap_percent\n");
    for name in names {
        let figures = |method: &str, steps: usize| paper::gap(name, method, steps);
        let by_validation = rows(all, name, columns, Choice::Validation);
        text += &format!("\n## {name}\n\n{}", markdown(&by_validation, columns, &figures));
        text += &format!("\nAt equal times:\n\n{}", markdown_by_time(&by_validation, &MILLISECONDS));
        text += &format!("\nTo a gap:\n\n{}", markdown_to_gap(&by_validation, &PERCENT));
        let mut by_test = rows(all, name, columns, Choice::Test);
        by_test.retain(|row| row.name.ends_with("by test"));
        if !by_test.is_empty() {
            let table = markdown(&by_test, columns, &figures);
            text += &format!("\nThe grid chosen on the test data themselves, as in the paper:\n\n{table}");
        }
        by_validation.iter().chain(&by_test).for_each(|row| csv += &csv_lines(name, row, columns));
    }
    let page = report::page(command, all, names, columns)?;
    for (file, content) in [("tables.md", &text), ("table.csv", &csv), ("report.html", &page)] {
        output::file(&out.join(file), content)?;
    }
    output::line(text.trim_end())?;
    output::note(&format!("report: {}", out.join("report.html").display()));
    Ok(())
}

/// One line for each column of a row.
fn csv_lines(data_set: &str, row: &Row<'_>, columns: &[usize]) -> String {
    let line = |(column, &steps): (usize, &usize)| {
        let Mean { mean, error } = Mean::of(&row.gaps(column, steps));
        let seconds: Vec<f64> = row.columns[column].iter().map(|run| run.seconds_after(steps)).collect();
        let (name, seconds) = (&row.name, Mean::of(&seconds).mean);
        let theirs = paper::gap(data_set, name, steps).map_or_else(String::new, |gap| gap.to_string());
        format!("{data_set},\"{name}\",{steps},{mean},{error},{seconds},{theirs}\n")
    };
    columns.iter().enumerate().map(line).collect()
}
