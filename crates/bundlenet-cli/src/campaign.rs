//! The runs of an experiment: made once, kept in a folder, turned into tables and a report.

use std::collections::{HashMap, HashSet};
use std::fs::OpenOptions;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use bundlenet::team::Workers;
use bundlenet::train::{Example, Optima, Optimum};
use bundlenet::{Error, Limits};

use crate::contenders::{DataSet, Options};
use crate::experiment::{
    Choice, Contender, Job, Key, Mean, Measurement, Row, markdown, markdown_by_time, markdown_to_gap, proof_note,
    take_best_bounds,
};
use crate::failure::Failure;
use crate::ranks::Ranks;
use crate::run::{Progress, interrupt_flag};
use crate::{output, paper, report};

/// Columns of the tables at equal times.
const MILLISECONDS: [f64; 6] = [0.3, 1.0, 3.0, 10.0, 30.0, 100.0];

/// Columns of the tables to equal gaps.
const PERCENT: [f64; 3] = [1.0, 0.1, 0.01];

/// The message of an interrupted command.
const INTERRUPTED: &str = "interrupted; the same command continues";

/// Most seconds for the optimum of an instance.
const MOST_SECONDS: f64 = 120.0;

/// Makes all runs that the folder does not hold yet, then tables and report. `contenders` gives the methods of a data
/// set. Returns all runs of the tables; none on a rank that is not the first.
pub(crate) fn run_campaign(
    ranks: &Ranks,
    options: &Options,
    sets: Vec<DataSet>,
    contenders: &(dyn Fn(&str) -> Vec<Contender> + Sync),
) -> Result<Vec<Measurement>, Failure> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(options.threads.into()).build().map_err(Failure::run)?;
    let workers = ranks.workers().with_pool(pool);
    let mut names = HashSet::new();
    if let Some(DataSet { name, .. }) = sets.iter().find(|set| !names.insert(set.name.clone())) {
        return Err(Failure::input(format!("expected data sets of different names, found two called {name}")));
    }
    let steps = last_step(&options.steps)?;
    workers.tell(|| {
        std::fs::create_dir_all(&options.out).map_err(|source| Error::Write { path: options.out.clone(), source })
    })?;
    let interrupt = interrupt_flag();
    // The file of optima is locked to the end, and the whole folder by it.
    let optima = find_optima(&workers, &options.out, &sets, interrupt)?;
    let sets: Vec<(DataSet, Vec<Contender>)> =
        sets.into_iter().map(|set| (contenders(&set.name), set)).map(|(contenders, set)| (set, contenders)).collect();
    let jobs: Vec<Job<'_>> = sets.iter().flat_map(|(set, contenders)| jobs(set, contenders, &optima)).collect();
    let places: HashMap<Key, usize> = jobs.iter().enumerate().map(|(place, job)| (job.key(), place)).collect();

    let path = options.out.join("runs.jsonl");
    let mut all = vec![];
    let missing = workers.tell(|| {
        all = stored_runs(&path, steps, &places, &jobs)?;
        let present: HashSet<Key> = all.iter().map(Measurement::key).collect();
        Ok::<_, Failure>((0..jobs.len()).filter(|&place| !present.contains(&jobs[place].key())).collect::<Vec<usize>>())
    })?;
    let missing: Vec<&Job<'_>> = missing.into_iter().map(|place| &jobs[place]).collect();
    let made = make_runs(&workers, &path, &missing, steps, interrupt)?;
    if !workers.is_leader() {
        return Ok(vec![]);
    }
    all.extend(made);
    all.sort_by_key(|run| places[&run.key()]);
    take_best_bounds(&mut all);
    let names: Vec<&str> = sets.iter().map(|(set, _)| set.name.as_str()).collect();
    write_results(options, &all, &names)?;
    Ok(all)
}

/// The runs of the folder that the tables need, with the present optima.
fn stored_runs(
    path: &Path,
    steps: usize,
    places: &HashMap<Key, usize>,
    jobs: &[Job<'_>],
) -> Result<Vec<Measurement>, Failure> {
    let mut all = read_runs(path)?;
    let stored: HashSet<Key> = all.iter().map(Measurement::key).collect();
    // The folder may hold other runs, and runs with a lower step limit.
    all.retain(|run| run.steps >= run.told.unwrap_or(steps) && places.contains_key(&run.key()));
    for run in &mut all {
        let Optimum { value, is_proved, estimate, .. } = *jobs[places[&run.key()]].optimum;
        (run.optimum, run.is_proved, run.estimate) = (value, is_proved, estimate);
    }
    let names: HashSet<_> = stored.iter().map(|(name, _)| name).collect();
    let is_outdated = |key: Key| !stored.contains(&key) && names.contains(&key.0);
    output::note_outdated(jobs.iter().filter(|job| is_outdated(job.key())).count(), ("run", "runs"));
    Ok(all)
}

/// The step limit of the runs: the last column.
fn last_step(columns: &[usize]) -> Result<usize, Failure> {
    match columns {
        [first, .., last] | [first @ last] if *first > 0 && columns.is_sorted_by(|a, b| a < b) => Ok(*last),
        _ => Err(Failure::input(format!("--steps: expected positive increasing numbers, found {columns:?}"))),
    }
}

/// All runs of a data set. Only a grid is chosen by validation data.
fn jobs<'a>(set: &'a DataSet, contenders: &'a [Contender], optima: &'a Optima) -> Vec<Job<'a>> {
    let of = move |contender: &'a Contender| {
        let is_one_of_many = contenders.iter().filter(|other| other.name == contender.name).count() > 1;
        let has_grid = contender.eta0.is_some() && is_one_of_many;
        let validation = if has_grid { &set.validation[..] } else { &[] };
        let job = move |example: &'a Example, is_validation| {
            let optimum = optima.get(&optimum_name(&set.name, example, is_validation))?;
            Some(Job { data_set: &set.name, contender, example, optimum, is_validation })
        };
        let test = set.test.iter().filter_map(move |example| job(example, false));
        test.chain(validation.iter().filter_map(move |example| job(example, true)))
    };
    contenders.iter().flat_map(of).collect()
}

/// Makes runs and appends each to the file. Returns them, but none on a rank that is not the first.
fn make_runs(
    workers: &Workers,
    path: &Path,
    jobs: &[&Job<'_>],
    steps: usize,
    interrupt: &AtomicBool,
) -> Result<Vec<Measurement>, Failure> {
    let progress = Progress::begin(jobs.len(), "runs");
    let mut file = None;
    workers.tell(|| {
        let opened = OpenOptions::new().create(true).append(true).open(path);
        file = Some(opened.map_err(|source| Error::Write { path: path.to_path_buf(), source })?);
        Ok::<(), Error>(())
    })?;
    let make = |place: usize| {
        check(interrupt)?;
        Ok::<String, Failure>(serde_json::to_string(&jobs[place].measure(steps)?)? + "\n")
    };
    let mut runs: Vec<Option<Measurement>> = vec![None; jobs.len()];
    // Lines are read as they arrive: that takes longer than to write the tables, and other ranks work meanwhile.
    let keep = |place: usize, line: &String| {
        if let Some(file) = &mut file {
            file.write_all(line.as_bytes())?;
        }
        runs[place] = Some(serde_json::from_str(line)?);
        progress.advance();
        Ok(())
    };
    workers.map(jobs.len(), make, keep)?;
    Ok(runs.into_iter().flatten().collect())
}

fn check(interrupt: &AtomicBool) -> Result<(), Failure> {
    if interrupt.load(Ordering::Relaxed) {
        return Err(Failure::run(INTERRUPTED));
    }
    Ok(())
}

/// The name of an instance in the file of optima. Instances for validation may have the names of others.
fn optimum_name(data_set: &str, example: &Example, is_validation: bool) -> String {
    format!("{data_set}/{}{}", if is_validation { "validation/" } else { "" }, example.name)
}

/// All instances of a data set under their names in the file of optima.
fn named_examples(set: &DataSet) -> impl Iterator<Item = (String, &Example)> {
    let test = set.test.iter().map(|example| (example, false));
    let all = test.chain(set.validation.iter().map(|example| (example, true)));
    all.map(|(example, is_validation)| (optimum_name(&set.name, example, is_validation), example))
}

/// The optima of all instances, from `optima.json` where the file has them.
fn find_optima(workers: &Workers, folder: &Path, sets: &[DataSet], interrupt: &AtomicBool) -> Result<Optima, Failure> {
    let optima = Mutex::new(Optima::open(&folder.join("optima.json"), workers)?);
    let examples: Vec<(String, &Example)> = sets.iter().flat_map(named_examples).collect();
    let progress = Progress::begin(examples.len(), "optima");
    let limits = Limits { seconds: Some(MOST_SECONDS), ..Limits::default() };
    let seen = || {
        progress.advance();
        if interrupt.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let found = Optima::find_all(&optima, workers, &examples, &limits, seen);
    let mut optima = optima.into_inner().unwrap_or_else(PoisonError::into_inner);
    optima.write()?;
    drop(progress);
    if found?.is_none() {
        return Err(Failure::run(INTERRUPTED));
    }
    output::note_outdated(optima.outdated(), ("optimum", "optima"));
    Ok(optima)
}

/// Runs of an earlier command. A kill may have cut off the last line, which is dropped.
fn read_runs(path: &Path) -> Result<Vec<Measurement>, Failure> {
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
    let mut csv =
        String::from("data_set,method,steps,mean_gap_percent,standard_error,seconds,paper_gap_percent,not_proved\n");
    for name in names {
        let figures = |method: &str, steps: usize| paper::gap(name, method, steps);
        let by_validation = options.rows(all, name, Choice::Validation);
        text += &format!("\n## {name}\n\n{}", markdown(&by_validation, columns, &figures));
        text += &proof_note(&by_validation);
        text += &options.stopped_note(name);
        text += &format!("\nAt equal times:\n\n{}", markdown_by_time(&by_validation, &MILLISECONDS));
        text += &format!("\nTo a gap:\n\n{}", markdown_to_gap(&by_validation, &PERCENT));
        let mut by_test = options.rows(all, name, Choice::Test);
        by_test.retain(|row| row.name.ends_with("by test"));
        if !by_test.is_empty() {
            let table = markdown(&by_test, columns, &figures);
            text += &format!("\nThe grid chosen on the test data themselves, as in the paper:\n\n{table}");
        }
        by_validation.iter().chain(&by_test).for_each(|row| csv += &csv_lines(name, row, columns));
    }
    let page = report::page(options, all, names)?;
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
        let not_proved = row.not_proved(column);
        format!("{data_set},\"{name}\",{steps},{mean},{error},{seconds},{theirs},{not_proved}\n")
    };
    columns.iter().enumerate().map(line).collect()
}
