//! `bundlenet solve`: the best bound on one or many instances.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bundlenet::{
    Error, Granularity, Journal, Limits, Log, MethodName, Model, Observer, Oracle, Problem, ProblemPrimal,
    ProximitySettings, ReadOptions, Reuse, SafeBound, Settings, Silent, Solution, State, Status, Strategy, Tolerances,
    TraceRow, UnsafeBound, ValidSettings, solve_batch, solve_from, solve_saving,
};
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::failure::Failure;
use crate::input::{SenseName, read_start};
use crate::{output, primal};

/// Solve the Lagrangian dual of instances
#[derive(Args)]
pub(crate) struct Solve {
    /// Instances, in any format that `inspect` reads
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Sense of a generalised assignment file that does not state it: min with `= 1`, max with `<= 1`
    /// [default: min for text, max for JSON]
    #[arg(long, value_enum)]
    sense: Option<SenseName>,
    /// Which problem of a file that holds several, counted from 1
    #[arg(long, value_name = "N")]
    problem: Option<usize>,
    /// [default: auto, or bundle with --cuts, --strategy or --eta0]
    #[arg(long, value_enum)]
    method: Option<Method>,
    /// Checkpoint of the network [default: the general model, which is built in]
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// How the bundle method chooses its step length [default: auto]
    #[arg(long, value_enum)]
    strategy: Option<StrategyName>,
    /// Initial step length, of the function scaled by the norm of its first subgradient
    /// [default: found by auto; 100 for the other strategies, 10 for descent, 1 for Adam]
    #[arg(long, value_name = "X")]
    eta0: Option<f64>,
    /// Most steps; a step is one oracle call after the one at the start
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    steps: usize,
    /// Most seconds for each instance
    #[arg(long, value_name = "S")]
    time_limit: Option<f64>,
    /// Stop when the estimated gap over max(1, |value|) is at most this
    #[arg(long, value_name = "R", default_value_t = 1e-7)]
    tolerance: f64,
    /// Stop when the value is at least as good as this
    #[arg(long, value_name = "V", allow_negative_numbers = true)]
    target: Option<f64>,
    /// Report a bound that holds in exact arithmetic, too; needs integer data
    #[arg(long)]
    safe: bool,
    /// Print one JSON object for one file, an array for several
    #[arg(long)]
    json: bool,
    /// Begin with these multipliers, as --save-multipliers writes them, or with a state of --save-state: its multipliers, step
    /// length, and the cuts that hold for the data as they are now; one instance only [default: all 0]
    #[arg(long, value_name = "FILE")]
    start: Option<PathBuf>,
    /// Keep the state in a file, step by step; a run that was killed goes on with --start FILE (which may be the same file); one
    /// instance only
    #[arg(long, value_name = "FILE")]
    save_state: Option<PathBuf>,
    /// Write the multipliers of the best value as a flat JSON array; one instance only
    #[arg(long, value_name = "FILE.json")]
    save_multipliers: Option<PathBuf>,
    /// Write the primal solution, its repair, and a feasible solution as JSON, and report the gap to the latter; one instance
    /// only, and not with descent or adam
    #[arg(long, value_name = "FILE.json")]
    primal: Option<PathBuf>,
    /// Threads for the oracle [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// What the bundle method has cuts of: `component`, `aggregated` (the whole function, as in the paper), a number of groups
    /// of components, or `auto`: components as long as they pay [default: auto]
    #[arg(long, value_name = "auto|component|aggregated|N", value_parser = granularity)]
    cuts: Option<Granularity>,
    /// No log
    #[arg(long)]
    quiet: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Method {
    /// No choice needed: a network for the start, then cuts of each component as long as they pay
    Auto,
    /// A network for the start, then an exact master, with cuts of the whole function
    Hybrid,
    /// Proximal bundle method
    Bundle,
    /// Subgradient descent, the step halved when it brings nothing
    Descent,
    /// Adam
    Adam,
    /// Bundle method with a trained network in the place of the master problem
    Network,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum StrategyName {
    #[default]
    Auto,
    Constant,
    Soft,
    Hard,
    Balancing,
}

fn granularity(text: &str) -> Result<Granularity, String> {
    match text {
        "auto" => Ok(Granularity::Auto),
        "component" => Ok(Granularity::Component),
        "aggregated" => Ok(Granularity::Aggregated),
        _ => match text.parse() {
            Ok(groups) if groups > 0 => Ok(Granularity::Groups(groups)),
            _ => Err("expected auto, component, aggregated or a positive number of groups".to_string()),
        },
    }
}

/// The object printed with `--json`.
#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    subject: output::Subject,
    method: &'static str,
    status: Status,
    value: f64,
    steps: usize,
    oracle_calls: usize,
    seconds: f64,
    oracle_seconds: f64,
    master_seconds: f64,
    network_seconds: f64,
    estimate: Option<f64>,
    certificate: Option<f64>,
    safe_bound: Option<f64>,
    safe_bound_exact: Option<String>,
    /// Why there is no safe bound that was asked for.
    #[serde(skip)]
    unsafe_bound: Option<UnsafeBound>,
    feasible_value: Option<f64>,
    feasible_gap: Option<f64>,
    #[serde(skip)]
    primal: Option<ProblemPrimal>,
    /// Why the state could not be kept.
    #[serde(skip)]
    unsaved: Option<Error>,
    /// What became of the cuts of an earlier run.
    cuts: Option<CutsReport>,
    failure: Option<String>,
    trace: Vec<TraceRow>,
}

/// What `--json` says of the cuts of an earlier run.
#[derive(Serialize)]
struct CutsReport {
    reused: usize,
    repriced: usize,
    total: usize,
    changed_components: Vec<usize>,
    /// The same in a sentence.
    #[serde(skip)]
    text: String,
}

impl CutsReport {
    fn new(reuse: &Reuse) -> Self {
        let changed = reuse.components.iter().enumerate().filter(|(_, component)| component.is_changed);
        Self {
            reused: reuse.reused(),
            repriced: reuse.repriced(),
            total: reuse.total(),
            changed_components: changed.map(|(index, _)| index).collect(),
            text: reuse.to_string(),
        }
    }
}

impl Solve {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let settings = self.settings()?;
        let of_one = [
            ("--save-multipliers", &self.save_multipliers),
            ("--start", &self.start),
            ("--save-state", &self.save_state),
            ("--primal", &self.primal),
        ];
        for (option, file) in of_one {
            if file.is_some() && self.files.len() > 1 {
                let found = self.files.len();
                return Err(Failure::Input(anyhow::anyhow!("{option}: expected one instance, found {found}")));
            }
        }
        use_threads(self.threads)?;
        let interrupt = interrupt_flag();
        let mut reports = vec![];
        let mut first_failure = None;
        let mut worst_code = 0;
        let bar = progress(self.files.len());
        for group in self.files.chunks(self.group_size()) {
            // The runs under way have ended with their best points; the others do not begin.
            if !reports.is_empty() && interrupt.load(Ordering::Relaxed) {
                break;
            }
            for solved in self.solve_group(group, &settings, interrupt) {
                let (mut report, solution) = match solved {
                    Ok(solved) => solved,
                    // One bad file of many must not cost the others.
                    Err(failure) if self.files.len() > 1 => {
                        let code = failure.code();
                        bar.suspend(|| failure.report());
                        worst_code = worst_code.max(code);
                        bar.inc(1);
                        continue;
                    }
                    Err(failure) => return Err(failure),
                };
                if let Some(error) = &report.unsafe_bound {
                    // The run is as good as it would be without a safe bound.
                    let failure = Failure::Run(anyhow::anyhow!("{}: {error}", report.subject.file));
                    worst_code = worst_code.max(failure.code());
                    bar.suspend(|| failure.report());
                }
                if let Some(error) = report.unsaved.take() {
                    first_failure.get_or_insert(error.into());
                }
                if self.files.len() > 1 && !self.json {
                    bar.suspend(|| output::line(&report.one_line()))?;
                } else if !self.json {
                    output::table(&report.rows())?;
                }
                if let Some(path) = &self.save_multipliers
                    && let Err(failure) = save_multipliers(path, &solution.point)
                {
                    first_failure.get_or_insert(failure);
                }
                if let (Some(path), Some(found)) = (&self.primal, &report.primal)
                    && let Err(failure) = primal::write(path, &report.subject, report.value, found)
                {
                    first_failure.get_or_insert(failure);
                }
                reports.push(report);
                bar.inc(1);
            }
        }
        bar.finish_and_clear();
        let failed: Vec<&Report> = reports.iter().filter(|report| report.status == Status::OracleFailed).collect();
        let failure = failed.first().map(|report| {
            let reason = report.failure.clone().unwrap_or_default();
            Failure::Run(anyhow::anyhow!("{}: {reason}", report.subject.file))
        });
        if self.json {
            match reports.as_slice() {
                [report] if self.files.len() == 1 => output::json(report)?,
                reports => output::json(&reports)?,
            }
        }
        match first_failure.or(failure) {
            Some(failure) => Err(failure),
            None if worst_code > 0 => Err(Failure::Reported(worst_code)),
            None => Ok(()),
        }
    }

    /// The method asked for; what is set for the bundle method asks for it, too.
    fn method(&self) -> Method {
        let is_bundle = self.cuts.is_some() || self.strategy.is_some() || self.eta0.is_some();
        self.method.unwrap_or(if is_bundle { Method::Bundle } else { Method::Auto })
    }

    fn settings(&self) -> Result<ValidSettings, Failure> {
        let method = self.method();
        let has_network = matches!(method, Method::Auto | Method::Hybrid | Method::Network);
        let is_bundle = matches!(method, Method::Bundle);
        let of_other_methods = [
            ("--model", self.model.is_some(), has_network, "auto, hybrid or network"),
            ("--cuts", self.cuts.is_some(), is_bundle, "bundle"),
            ("--strategy", self.strategy.is_some(), is_bundle, "bundle"),
            ("--primal", self.primal.is_some(), has_network || is_bundle, "auto, hybrid, bundle or network"),
            ("--eta0", self.eta0.is_some(), !has_network, "bundle, descent or adam"),
        ];
        for (option, is_given, is_used, expected) in of_other_methods {
            if is_given && !is_used {
                let found = method.name();
                return Err(Failure::Input(anyhow::anyhow!("{option}: expected --method {expected}, found {found}")));
            }
        }
        Settings {
            method: match method {
                Method::Auto => MethodName::Auto,
                Method::Hybrid => MethodName::Hybrid,
                Method::Bundle => MethodName::Bundle,
                Method::Descent => MethodName::Descent,
                Method::Adam => MethodName::Adam,
                Method::Network => MethodName::Network,
            },
            model: self.model.as_ref().map(Model::load).transpose()?.map(Arc::new),
            limits: Limits {
                steps: Some(self.steps),
                seconds: self.time_limit,
                target: self.target,
                ..Limits::default()
            },
            tolerances: Tolerances { gap: self.tolerance },
            cuts: self.cuts.unwrap_or_default(),
            proximity: ProximitySettings {
                strategy: match self.strategy.unwrap_or_default() {
                    StrategyName::Auto => Strategy::Auto,
                    StrategyName::Constant => Strategy::Constant,
                    StrategyName::Soft => Strategy::Soft,
                    StrategyName::Hard => Strategy::Hard,
                    StrategyName::Balancing => Strategy::Balancing,
                },
                eta0: self.eta0,
                ..ProximitySettings::default()
            },
            primal: self.primal.is_some(),
            ..Settings::default()
        }
        .check()
        .map_err(|error| Failure::Input(error.into()))
    }

    /// Files that are solved together: a network's runs go in step and over threads.
    fn group_size(&self) -> usize {
        match self.method() {
            Method::Network => 64,
            Method::Auto | Method::Hybrid | Method::Bundle | Method::Descent | Method::Adam => 1,
        }
    }

    fn solve_group(
        &self,
        files: &[PathBuf],
        settings: &ValidSettings,
        interrupt: &AtomicBool,
    ) -> Vec<Result<(Report, Solution), Failure>> {
        if let [file] = files {
            return vec![self.solve_one(file, settings, interrupt)];
        }
        let read: Vec<_> = files.iter().map(|file| Ok((file, self.read(file)?))).collect();
        let mut duals: Vec<_> = read.iter().flatten().map(|(_, problem)| problem.dual()).collect();
        let mut solutions = solve_batch(&mut duals, settings, Some(interrupt)).into_iter();
        read.into_iter()
            .map(|read: Result<_, Failure>| {
                let (file, problem) = read?;
                match solutions.next() {
                    Some(solution) => Ok(self.report(file, &problem, solution?)),
                    None => Err(Failure::Run(anyhow::anyhow!("{}: no solution", file.display()))),
                }
            })
            .collect()
    }

    fn read(&self, file: &Path) -> Result<Problem, Failure> {
        let options = ReadOptions { sense: self.sense.map(Into::into), problem: self.problem };
        let problem = Problem::read(file, options)?;
        if self.safe {
            let named = |error: UnsafeBound| Failure::Input(anyhow::anyhow!("{}: {error}", file.display()));
            problem.check_integers().map_err(named)?;
        }
        Ok(problem)
    }

    fn solve_one(
        &self,
        file: &Path,
        settings: &ValidSettings,
        interrupt: &AtomicBool,
    ) -> Result<(Report, Solution), Failure> {
        let problem = self.read(file)?;
        let mut dual = problem.dual();
        let mut state = self.start.as_ref().map_or_else(|| Ok(State::new()), |path| read_start(path, dual.dim()))?;
        let mut journal = self.save_state.as_ref().map(Journal::create).transpose()?;
        let mut log = (self.files.len() == 1 && !self.quiet).then(|| Log::new(std::io::stderr()));
        if let Some(log) = &mut log {
            log.begin(&self.header(file, &problem, &*dual));
        }
        let observer: &mut dyn Observer = match &mut log {
            Some(log) => log,
            None => &mut Silent,
        };
        let solution = match &mut journal {
            Some(journal) => solve_saving(&mut *dual, &mut state, journal, settings, observer, Some(interrupt))?,
            None => solve_from(&mut *dual, &mut state, settings, observer, Some(interrupt))?,
        };
        if let Some(log) = &mut log {
            log.finish(&solution);
        }
        let (mut report, solution) = self.report(file, &problem, solution);
        report.unsaved = journal.and_then(|journal| journal.finish().err());
        Ok((report, solution))
    }

    fn report(&self, file: &Path, problem: &Problem, mut solution: Solution) -> (Report, Solution) {
        let safe = self.safe.then(|| problem.safe_bound(&solution.point)).transpose();
        let safe_bound = safe.as_ref().ok().and_then(Option::as_ref);
        let primal = solution.primal.take().map(|primal| problem.recover(&primal));
        let feasible_value = primal.as_ref().and_then(ProblemPrimal::feasible_value);
        let report = Report {
            subject: output::Subject::new(file, problem, &*problem.dual()),
            method: self.method().name(),
            status: solution.status,
            value: solution.value,
            steps: solution.steps,
            oracle_calls: solution.oracle_calls,
            seconds: solution.seconds,
            oracle_seconds: solution.oracle_seconds,
            master_seconds: solution.master_seconds,
            network_seconds: solution.network_seconds,
            estimate: solution.estimate,
            certificate: solution.certificate,
            safe_bound: safe_bound.map(SafeBound::value),
            safe_bound_exact: safe_bound.map(SafeBound::to_string),
            unsafe_bound: safe.err(),
            feasible_value,
            feasible_gap: feasible_value.map(|value| (value - solution.value).abs() / solution.value.abs().max(1.0)),
            primal,
            unsaved: None,
            cuts: solution.reuse.as_ref().map(CutsReport::new),
            failure: solution.failure.clone(),
            trace: std::mem::take(&mut solution.trace),
        };
        (report, solution)
    }
}

impl Solve {
    /// What is solved, and how: the problem, its sizes, the method, and what is not as by default.
    fn header(&self, file: &Path, problem: &Problem, dual: &dyn Oracle) -> String {
        let sizes = match problem {
            Problem::NetworkDesign(instance) => format!(
                "network design, {} nodes, {} arcs, {} commodities",
                instance.nodes(),
                instance.arcs().len(),
                instance.commodities().len()
            ),
            Problem::Assignment(instance) => {
                format!("generalised assignment, {} bins, {} items", instance.bins(), instance.items())
            }
        };
        let (direction, method) = (dual.sense(), self.method().name());
        let mut how = format!("method {method}");
        if let Method::Bundle = self.method() {
            how += &format!(", strategy {}", self.strategy.unwrap_or_default().name());
            how += &match self.cuts.unwrap_or_default() {
                Granularity::Aggregated => ", cuts of the whole function".to_string(),
                Granularity::Component => ", cuts of each component".to_string(),
                Granularity::Groups(groups) => format!(", cuts of {groups} groups of components"),
                _ => ", cuts of components while they pay".to_string(),
            };
        }
        let set = [
            self.start.as_ref().map(|path| format!("from {}", path.display())),
            self.eta0.map(|eta0| format!("eta0 {eta0}")),
            self.time_limit.map(|seconds| format!("at most {seconds} s")),
            self.target.map(|target| format!("target {target}")),
        ];
        set.into_iter().flatten().for_each(|part| how += &format!(", {part}"));
        format!(
            "{}: {sizes}\n{direction} the dual over {} multipliers, {how}, at most {} steps, tolerance {:e}",
            file.display(),
            dual.dim(),
            self.steps,
            self.tolerance
        )
    }
}

impl Method {
    fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Hybrid => "hybrid",
            Self::Bundle => "bundle",
            Self::Descent => "descent",
            Self::Adam => "adam",
            Self::Network => "network",
        }
    }
}

impl StrategyName {
    fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Constant => "constant",
            Self::Soft => "soft",
            Self::Hard => "hard",
            Self::Balancing => "balancing",
        }
    }
}

impl Report {
    fn gap(gap: Option<f64>) -> String {
        gap.map_or_else(|| "none".to_string(), |gap| format!("{gap:.1e}"))
    }

    fn one_line(&self) -> String {
        let safe = self.safe_bound.map_or_else(String::new, |bound| format!("  safe {bound}"));
        format!(
            "{}  {}  {}  {} steps  {:.4} s  gap estimated {} proved {}{safe}",
            self.subject.file,
            self.value,
            self.status,
            self.steps,
            self.seconds,
            Self::gap(self.estimate),
            Self::gap(self.certificate)
        )
    }

    fn rows(&self) -> Vec<(&'static str, String)> {
        let bound = self.subject.bound();
        let mut rows = vec![
            ("status", self.status.to_string()),
            ("value", format!("{}  ({bound} bound on the problem)", self.value)),
            ("gap", format!("estimated {}, proved {}", Self::gap(self.estimate), Self::gap(self.certificate))),
            ("steps", self.steps.to_string()),
            ("seconds", format!("{:.4}", self.seconds)),
        ];
        if self.primal.is_some() {
            let found = match (self.feasible_value, self.feasible_gap) {
                (Some(value), Some(gap)) => {
                    format!("{value}  (a feasible solution, {:.4} % from the bound)", 100.0 * gap)
                }
                _ => "none found".to_string(),
            };
            rows.insert(2, ("feasible", found));
        }
        if let Some(cuts) = &self.cuts {
            rows.push(("cuts", cuts.text.clone()));
        }
        if let Some(safe) = self.safe_bound {
            rows.insert(2, ("safe bound", format!("{safe}  (holds in exact arithmetic)")));
        }
        rows
    }
}

fn save_multipliers(path: &Path, point: &[f64]) -> Result<(), Failure> {
    let text = serde_json::to_string(point).map_err(std::io::Error::from)? + "\n";
    std::fs::write(path, text).map_err(|source| Error::Write { path: path.to_path_buf(), source })?;
    Ok(())
}

/// Limits the threads, before any work begins.
pub(crate) fn use_threads(threads: Option<u16>) -> Result<(), Failure> {
    let Some(threads) = threads else { return Ok(()) };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.into());
    pool.build_global().map_err(|error| Failure::Run(error.into()))
}

/// A flag that Ctrl-C sets. The second one ends the program at once, for an oracle that does not return.
pub(crate) fn interrupt_flag() -> &'static AtomicBool {
    static INTERRUPT: AtomicBool = AtomicBool::new(false);
    // Without a handler, Ctrl-C ends the program as ever.
    let _ = ctrlc::set_handler(|| {
        if INTERRUPT.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
    &INTERRUPT
}

/// A bar for several instances, shown only on a terminal.
pub(crate) fn progress(count: usize) -> ProgressBar {
    let bar = if count > 1 { ProgressBar::new(count as u64) } else { ProgressBar::hidden() };
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} instances, {eta} left") {
        bar.set_style(style);
    }
    bar
}
