//! `bundlenet solve`: the best dual bound of one or many instances.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bundlenet::{Journal, Limits, Log, Method, Oracle, Settings, Solver, State, Status};
use bundlenet_problems::{Problem, Search};
use clap::Args;
use indicatif::ProgressBar;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::input::{BlockOptions, Modes, Reading, Start, is_model, read_start, share_standard_input};
use crate::options::MethodOptions;
use crate::ranks::Ranks;
use crate::run::{Outcome, Progress, interrupt_flag, use_threads};
use crate::solve_report::Report;
use crate::{blocks, output, prices, primal};

/// Solve the Lagrangian dual of instances
#[derive(Args)]
pub(crate) struct Solve {
    /// Instances, in any format that `inspect` reads; model files .mps or .lp, SMPS programs .cor and folders of
    /// scenarios; `-` for an instance from standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    blocks: BlockOptions,
    #[command(flatten)]
    method: MethodOptions,
    #[arg(long, value_name = "N", help = steps_help())]
    steps: Option<usize>,
    /// Most seconds for each instance; the search for a feasible schedule of unit commitment ends then, too
    #[arg(long, value_name = "S")]
    time_limit: Option<f64>,
    /// Largest gap over max(1, |value|) that counts as optimal: the proved gap where a proof is possible, else the
    /// estimated one
    #[arg(long, value_name = "R", default_value = "1e-7")]
    tolerance: f64,
    /// Stop when the value is at least as good as this
    #[arg(long, value_name = "V", allow_negative_numbers = true)]
    target: Option<f64>,
    /// Also report a bound that holds in exact arithmetic; needs integer data
    #[arg(long)]
    safe: bool,
    /// Write a proof of the safe bound as JSON, which tools/bundlenet_verify.py checks; one instance of network design or
    /// generalised assignment only
    #[arg(long, value_name = "FILE.json", requires = "safe")]
    proof: Option<PathBuf>,
    /// Print one JSON object for one file, an array for several
    #[arg(long)]
    json: bool,
    /// Start at the multipliers of --save-multipliers, or from the state of --save-state (multipliers, step length and
    /// the cuts that are still valid; with --primal, those that were saved with --primal); one instance only [default:
    /// all multipliers 0, those of a model file as in its linear relaxation]
    #[arg(long, value_name = "FILE")]
    start: Option<PathBuf>,
    /// Save the state to a file after every step; --start FILE continues a run that was killed, also with the same
    /// file; one instance only
    #[arg(long, value_name = "FILE")]
    save_state: Option<PathBuf>,
    /// Write the multipliers of the best value as a flat JSON array, those of a model file as an object by row name;
    /// one instance only
    #[arg(long, value_name = "FILE.json")]
    save_multipliers: Option<PathBuf>,
    /// Write the primal solution, its repair and a feasible solution as JSON, and report the gap between the bound and
    /// the feasible solution; one instance only [method: auto, hybrid, bundle, network]
    #[arg(long, value_name = "FILE.json")]
    primal: Option<PathBuf>,
    /// Write the prices of energy and reserve as CSV, before the search for a feasible schedule, and report the uplift:
    /// the cost of that schedule minus the value; one unit commitment instance only
    #[arg(long, value_name = "FILE.csv")]
    prices: Option<PathBuf>,
    /// Draw demand, supply and prices over time; one unit commitment instance only
    #[arg(long, value_name = "FILE.svg")]
    picture: Option<PathBuf>,
    /// Threads for the oracle [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Print no log
    #[arg(long)]
    quiet: bool,
}

/// Said of a file of pglib-uc that is solved in the other formulation.
const CHP_NOTE: &str = "the formulation chp ignores initial states, and reads the cost of the first output as the cost \
    of each MWh: values compare with those of ConvexHullPricing.jl, and prices are not those of this system";

/// Results so far, and what went wrong on the way.
#[derive(Default)]
struct Results {
    /// The reports as JSON.
    reports: Vec<String>,
    /// The first failure that is reported at the end.
    failure: Option<Failure>,
    /// The first oracle that failed.
    failed: Option<Failure>,
    /// The largest exit code of the failures that were reported at once.
    code: u8,
}

impl Results {
    /// Reports a failure at once.
    fn report(&mut self, bar: &ProgressBar, failure: Failure) {
        self.code = self.code.max(bar.suspend(|| failure.report()));
    }

    /// Keeps the first failure for the end.
    fn keep(&mut self, result: Result<(), Failure>) {
        if let Err(failure) = result {
            self.failure.get_or_insert(failure);
        }
    }

    /// Takes the text of a report.
    fn take(&mut self, text: &Text, bar: &ProgressBar) {
        if let Some(message) = &text.unsafe_bound {
            self.report(bar, Failure::run(message));
        }
        self.reports.push(text.json.clone());
        if let Some(message) = &text.failed {
            self.failed.get_or_insert(Failure::run(message));
        }
    }
}

/// A report as text, which travels between processes.
#[derive(Serialize, Deserialize)]
struct Text {
    line: String,
    json: String,
    /// Why there is no safe bound.
    unsafe_bound: Option<String>,
    /// Why the oracle failed.
    failed: Option<String>,
}

impl Text {
    fn new(report: &Report) -> Result<Self, Failure> {
        let named = |message: String| format!("{}: {message}", report.subject.file);
        let has_failed = report.status == Status::OracleFailed;
        Ok(Self {
            line: report.one_line(),
            json: serde_json::to_string(report)?,
            unsafe_bound: report.unsafe_bound.as_ref().map(|error| named(error.to_string())),
            failed: has_failed.then(|| named(report.failure.clone().unwrap_or_default())),
        })
    }
}

fn steps_help() -> String {
    let most = Settings::MOST_STEPS;
    format!("Most steps; a step is one oracle call after the one at the start [default: {most}]")
}

impl Solve {
    pub(crate) fn run(self, ranks: &Ranks) -> Result<(), Failure> {
        let settings = self.settings()?;
        self.check_single_files()?;
        self.check_outputs()?;
        use_threads(ranks, self.threads)?;
        share_standard_input(&self.files, &ranks.workers())?;
        let interrupt = interrupt_flag();
        let mut results = Results::default();
        let is_shown = ranks.is_leader() && !self.quiet;
        let progress = Progress::begin(if is_shown { self.files.len() } else { 1 }, "instances");
        if let [file] = &self.files[..] {
            let Some(report) = self.solve_one(file, &settings, interrupt, Some(ranks))? else { return Ok(()) };
            self.accept(report, &mut results, progress.bar())?;
        } else {
            self.solve_many(&settings, interrupt, ranks, (&mut results, &progress))?;
        }
        drop(progress);
        if ranks.is_leader() { self.finish(results) } else { Ok(()) }
    }

    /// Solves several files, in groups, and prints a line for each in their order.
    fn solve_many(
        &self,
        settings: &Settings,
        interrupt: &'static AtomicBool,
        ranks: &Ranks,
        (results, progress): (&mut Results, &Progress),
    ) -> Result<(), Failure> {
        // The runs of a network share a batch.
        let is_batch = matches!(settings.method, Method::Network(_)) && !self.files.iter().any(|file| is_model(file));
        let groups: Vec<&[PathBuf]> = self.files.chunks(if is_batch { 64 } else { 1 }).collect();
        let solve = |group: usize| -> Result<Vec<Solved>, Failure> {
            // Runs under way have ended with their best points; the others do not begin.
            if group > 0 && interrupt.load(Ordering::Relaxed) {
                return Ok(vec![]);
            }
            Ok(self.solve_group(groups[group], settings, interrupt).into_iter().map(solved).collect())
        };
        // Groups that are done before an earlier one.
        let mut waiting = BTreeMap::new();
        let mut next = 0;
        let done = |group: usize, solved: &Vec<Solved>| {
            waiting.insert(group, solved.clone());
            while let Some(solved) = waiting.remove(&next) {
                next += 1;
                for one in solved {
                    self.accept_one_of_many(one, results, progress.bar())?;
                    progress.advance();
                }
            }
            Ok(())
        };
        ranks.workers().one_at_a_time().map(groups.len(), solve, done)?;
        Ok(())
    }

    /// Prints a line, or reports a failure. One unreadable file of many must not cost the others.
    fn accept_one_of_many(&self, solved: Solved, results: &mut Results, bar: &ProgressBar) -> Result<(), Failure> {
        let (text, (is_input, message)) = solved;
        let Ok(text) = serde_json::from_str::<Text>(&text) else {
            results.report(bar, if is_input { Failure::input(message) } else { Failure::run(message) });
            return Ok(());
        };
        results.take(&text, bar);
        if !self.json {
            bar.suspend(|| output::line(&text.line))?;
        }
        Ok(())
    }

    /// Refuses options for a single instance if there are several.
    fn check_single_files(&self) -> Result<(), Failure> {
        let of_one = [
            ("--save-multipliers", &self.save_multipliers),
            ("--start", &self.start),
            ("--save-state", &self.save_state),
            ("--proof", &self.proof),
            ("--primal", &self.primal),
            ("--prices", &self.prices),
            ("--picture", &self.picture),
        ];
        match of_one.iter().find(|(_, file)| file.is_some() && self.files.len() > 1) {
            Some((option, _)) => {
                Err(Failure::input(format!("{option}: expected one instance, found {}", self.files.len())))
            }
            None => Ok(()),
        }
    }

    /// Refuses an output that is an input or another output. The start may be saved again.
    fn check_outputs(&self) -> Result<(), Failure> {
        let outputs = [
            ("--save-state", &self.save_state),
            ("--save-multipliers", &self.save_multipliers),
            ("--proof", &self.proof),
            ("--primal", &self.primal),
            ("--prices", &self.prices),
            ("--picture", &self.picture),
        ];
        let outputs: Vec<(&str, &PathBuf)> =
            outputs.into_iter().filter_map(|(option, path)| Some((option, path.as_ref()?))).collect();
        for (index, (option, path)) in outputs.iter().enumerate() {
            let start = self.start.as_deref().filter(|_| *option == "--primal");
            let inputs = self.files.iter().map(PathBuf::as_path).chain(self.method.model_file()).chain(start);
            output::check_output(option, path, inputs)?;
            let is_same =
                |other: &&(&str, &PathBuf)| other.1 == *path && !path.exists() || output::is_same(other.1, path);
            if let Some((other, _)) = outputs[..index].iter().find(is_same) {
                let path = path.display();
                return Err(Failure::input(format!(
                    "{option}: expected a file other than that of {other}, found {path}"
                )));
            }
        }
        Ok(())
    }

    fn settings(&self) -> Result<Settings, Failure> {
        let limits = Limits { steps: self.steps, seconds: self.time_limit, target: self.target, ..Limits::default() };
        let method = self.method.method()?;
        // The uplift needs a schedule. Methods without primal solutions give prices alone.
        let is_sale = self.prices.is_some() || self.picture.is_some();
        let primal = self.primal.is_some() || (is_sale && method.has_primal());
        let settings = Settings { method, limits, tolerance: self.tolerance, primal }.with_default_limit();
        // Settings are checked before any file is read.
        let _ = Solver::new(settings.clone())?;
        Ok(settings)
    }

    /// Prints a result and writes its files.
    fn accept(&self, mut report: Report, results: &mut Results, bar: &ProgressBar) -> Result<(), Failure> {
        results.take(&Text::new(&report)?, bar);
        results.keep(report.unsaved.take().map_or(Ok(()), |error| Err(error.into())));
        if !self.json {
            output::table(&report.rows())?;
        }
        if let Some(path) = &self.save_multipliers {
            let text = match &report.blocks {
                Some(blocks) => serde_json::to_string(&blocks.multipliers)?,
                None => serde_json::to_string(&report.point)?,
            };
            results.keep(output::file(path, &(text + "\n")));
        }
        // Without a safe bound there is no proof; the report says why.
        if let (Some(path), Some(proof)) = (&self.proof, &report.proof) {
            results.keep(output::file(path, &proof.to_json()));
        }
        if let (Some(path), Some(text)) = (&self.primal, report.blocks.as_ref().and_then(|it| it.primal.as_ref())) {
            results.keep(output::file(path, text));
        }
        if let (Some(path), Some(found)) = (&self.primal, &report.primal) {
            results.keep(primal::write(path, &report.subject, report.value, found));
        }
        results.keep(report.unwritten.take().map_or(Ok(()), Err));
        if let (Some(path), Some(prices)) = (&self.picture, &report.prices) {
            let name = Path::new(&report.subject.file).file_name().map_or_else(String::new, |name| {
                name.to_string_lossy().trim_end_matches(".gz").trim_end_matches(".json").to_string()
            });
            results.keep(output::file(path, &prices.svg(&name)));
        }
        Ok(())
    }

    fn finish(&self, results: Results) -> Result<(), Failure> {
        let Results { reports, failure, failed, code } = results;
        if self.json {
            match reports.as_slice() {
                [report] if self.files.len() == 1 => output::line(report)?,
                reports => output::line(&format!("[{}]", reports.join(",")))?,
            }
        }
        match failure.or(failed) {
            Some(failure) => Err(failure),
            None if code > 0 => Err(Failure::Reported(code)),
            None => Ok(()),
        }
    }

    fn solve_group(
        &self,
        files: &[PathBuf],
        settings: &Settings,
        interrupt: &'static AtomicBool,
    ) -> Vec<Result<Report, Failure>> {
        if let [file] = files {
            return vec![self.solve_one(file, settings, interrupt, None).and_then(|report| report.ok_or_else(nothing))];
        }
        let solver = match Solver::new(settings.clone()) {
            Ok(solver) => solver.interrupt(interrupt),
            Err(error) => return vec![Err(error.into())],
        };
        let read: Vec<Result<_, Failure>> = files.iter().map(|file| Ok((file, self.read(file)?))).collect();
        let mut duals: Vec<_> = read.iter().flatten().map(|(_, problem)| problem.dual()).collect();
        let mut solutions = solver.solve_batch(&mut duals).into_iter();
        let report = |read: Result<(&PathBuf, Problem), Failure>| {
            let (file, problem) = read?;
            match solutions.next() {
                Some(solution) => {
                    Ok(Report::new(file, &problem, (settings.method.name(), solution?), self.safe, &Search::default()))
                }
                None => Err(Failure::run(format!("{}: no solution", file.display()))),
            }
        };
        read.into_iter().map(report).collect()
    }

    fn read(&self, file: &Path) -> Result<Problem, Failure> {
        let problem = self.reading.read(file)?;
        if let Problem::UnitCommitment(instance) = &problem
            && instance.has_unused_data()
            && !self.quiet
        {
            output::note(&format!("bundlenet: {}: {CHP_NOTE}", file.display()));
        }
        let options = [("--prices", &self.prices), ("--picture", &self.picture)];
        if let Some((option, _)) = options.iter().find(|(_, path)| path.is_some())
            && !matches!(problem, Problem::UnitCommitment(_))
        {
            let found = output::problem_name(&problem);
            return Err(Failure::input(format!("{option}: expected a unit commitment instance, found {found}")));
        }
        if self.proof.is_some() && !matches!(problem, Problem::NetworkDesign(_) | Problem::Assignment(_)) {
            let found = output::problem_name(&problem);
            let expected = "an instance of network design or generalised assignment";
            return Err(Failure::input(format!("--proof: expected {expected}, found {found}")));
        }
        if self.safe {
            problem.check_integers().map_err(|error| Failure::input(format!("{}: {error}", file.display())))?;
        }
        Ok(problem)
    }

    /// Solves an instance, with ranks for its components if there are any. `None` on a rank that is not the first.
    fn solve_one(
        &self,
        file: &Path,
        settings: &Settings,
        interrupt: &'static AtomicBool,
        ranks: Option<&Ranks>,
    ) -> Result<Option<Report>, Failure> {
        self.blocks.check(file)?;
        if is_model(file) {
            return self.solve_model(file, settings, interrupt, ranks);
        }
        let limit = self.time_limit.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let until = limit.and_then(|limit| Instant::now().checked_add(limit));
        let problem = self.read(file)?;
        let mut dual = problem.dual();
        let head = self.header(file, &sizes(&problem), &*dual);
        let solve = |dual: &mut dyn Oracle| self.solve_dual(dual, &head, Start::default(), settings, interrupt);
        let solved = match ranks {
            Some(ranks) => ranks.solve(&mut *dual, settings.primal, solve),
            None => Some(solve(&mut *dual)),
        };
        let Some(Outcome { solution, unsaved, .. }) = solved.transpose()? else { return Ok(None) };
        // The search for a feasible schedule may take longer than the run, and the prices do not need it.
        let unwritten = self.write_prices(&problem, &solution.point).err();
        let search = Search { interrupt: Some(interrupt), until, ..Search::default() };
        let mut report = Report::new(file, &problem, (settings.method.name(), solution), self.safe, &search);
        (report.unsaved, report.unwritten) = (unsaved, unwritten);
        report.proof = self.proof.as_ref().and_then(|_| problem.proof(&report.point).ok());
        Ok(Some(report))
    }

    /// Writes the file of `--prices`.
    fn write_prices(&self, problem: &Problem, point: &[f64]) -> Result<(), Failure> {
        match (&self.prices, prices::csv(problem, point)) {
            (Some(path), Some(text)) => output::file(path, &text),
            _ => Ok(()),
        }
    }

    /// Solves the dual of a model file.
    fn solve_model(
        &self,
        file: &Path,
        settings: &Settings,
        interrupt: &'static AtomicBool,
        ranks: Option<&Ranks>,
    ) -> Result<Option<Report>, Failure> {
        let given = [("--proof", &self.proof), ("--prices", &self.prices), ("--picture", &self.picture)];
        let refused = given.map(|(option, path)| (option, path.is_some()));
        if let Some((option, _)) = refused.iter().find(|(_, is_given)| *is_given) {
            let found = file.display();
            return Err(Failure::input(format!("{option}: expected an instance of a problem family, found {found}")));
        }
        let modes = Modes { is_quiet: self.quiet, is_safe: self.safe };
        blocks::solve(file, &self.blocks, (settings, interrupt, modes), &mut |dual, sizes, start, settings| {
            let head = self.header(file, sizes, dual);
            let solve = |dual: &mut dyn Oracle| self.solve_dual(dual, &head, start, settings, interrupt);
            match ranks {
                Some(ranks) => ranks.solve(dual, settings.primal, solve),
                None => Some(solve(dual)),
            }
            .transpose()
        })
    }

    /// Solves a dual, with start, state and log.
    fn solve_dual(
        &self,
        dual: &mut dyn Oracle,
        head: &str,
        start: Start<'_>,
        settings: &Settings,
        interrupt: &AtomicBool,
    ) -> Result<Outcome, Failure> {
        // No other run may change the file between reading and writing.
        let mut journal = self.save_state.as_ref().map(Journal::create).transpose()?;
        let mut state = match &self.start {
            Some(path) => read_start(path, dual.dim(), start.names)?,
            None => start.point.map_or_else(State::new, State::at),
        };
        let mut log = (self.files.len() == 1 && !self.quiet).then(|| Log::new(std::io::stderr()));
        if let Some(log) = &mut log {
            log.begin(head);
        }
        let mut solver = Solver::new(settings.clone())?.state(&mut state).interrupt(interrupt);
        if let Some(journal) = &mut journal {
            solver = solver.journal(journal);
        }
        if let Some(log) = &mut log {
            solver = solver.observe(log);
        }
        let solution = solver.solve(dual)?;
        if let Some(log) = &mut log {
            log.finish(&solution);
        }
        Ok(Outcome { solution, state, unsaved: journal.and_then(|journal| journal.finish().err()) })
    }

    /// The head of the log: the problem, its sizes, the method, and the options that were given.
    fn header(&self, file: &Path, sizes: &str, dual: &dyn Oracle) -> String {
        let given = [
            self.start.as_ref().map(|path| format!(", from {}", path.display())),
            self.time_limit.map(|seconds| format!(", at most {seconds} s")),
            self.target.map(|target| format!(", target {target}")),
        ];
        let given: String = given.into_iter().flatten().collect();
        let (sense, dimension, method) = (dual.sense(), dual.dim(), &self.method);
        format!(
            "{}: {sizes}\n{sense} the dual over {dimension} multipliers, {method}{given}, at most {} steps, \
             tolerance {:e}",
            file.display(),
            self.steps.unwrap_or(Settings::MOST_STEPS),
            self.tolerance
        )
    }
}

/// A report as JSON of its [`Text`], or whether an input is at fault, with a message.
type Solved = (String, (bool, String));

fn solved(report: Result<Report, Failure>) -> Solved {
    let text = report.and_then(|report| Ok(serde_json::to_string(&Text::new(&report)?)?));
    match text {
        Ok(text) => (text, (false, String::new())),
        Err(failure) => (String::new(), (matches!(failure, Failure::Input(_)), failure.to_string())),
    }
}

fn nothing() -> Failure {
    Failure::run("expected a report, found none")
}

/// Family and sizes of a problem.
fn sizes(problem: &Problem) -> String {
    match problem {
        Problem::NetworkDesign(instance) => format!(
            "network design, {} nodes, {} arcs, {} commodities",
            instance.nodes(),
            instance.arcs().len(),
            instance.commodities().len()
        ),
        Problem::Assignment(instance) => {
            format!("generalised assignment, {} bins, {} items", instance.bins(), instance.items())
        }
        Problem::FacilityLocation(instance) => {
            format!("facility location, {} sites, {} customers", instance.sites().len(), instance.customers())
        }
        Problem::UnitCommitment(instance) => format!(
            "unit commitment ({}), {} units, {} periods",
            instance.formulation(),
            instance.thermal_units().len(),
            instance.periods()
        ),
    }
}
