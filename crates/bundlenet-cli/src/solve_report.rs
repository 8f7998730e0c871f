//! The result of `solve`, as JSON, as a table and as one line.

use std::path::Path;

use bundlenet::{Error, Reuse, Solution, Status, TraceRow};
use bundlenet_problems::{Problem, ProblemPrimal, Proof, SafeBound, Search, UnsafeBound};
use serde::Serialize;

use crate::failure::Failure;
use crate::output::Subject;
use crate::prices::Prices;

/// The object printed with `--json`.
#[derive(Serialize)]
pub(crate) struct Report {
    #[serde(flatten)]
    pub(crate) subject: Subject,
    method: &'static str,
    pub(crate) status: Status,
    pub(crate) value: f64,
    steps: usize,
    oracle_calls: usize,
    component_calls: usize,
    seconds: f64,
    oracle_seconds: f64,
    master_seconds: f64,
    network_seconds: f64,
    estimate: Option<f64>,
    certificate: Option<f64>,
    /// Direction along which the dual is unbounded.
    ray: Option<Vec<f64>>,
    safe_bound: Option<f64>,
    safe_bound_exact: Option<String>,
    feasible_value: Option<f64>,
    feasible_gap: Option<f64>,
    /// Of unit commitment only.
    #[serde(flatten)]
    pub(crate) prices: Option<Prices>,
    /// Of model files only.
    #[serde(flatten)]
    pub(crate) blocks: Option<BlockFields>,
    /// Reuse of the cuts of an earlier run.
    cuts: Option<CutsReport>,
    pub(crate) failure: Option<String>,
    trace: Vec<TraceRow>,
    #[serde(skip)]
    pub(crate) point: Vec<f64>,
    #[serde(skip)]
    pub(crate) primal: Option<ProblemPrimal>,
    #[serde(skip)]
    pub(crate) proof: Option<Proof>,
    /// Why there is no safe bound although one was asked for.
    #[serde(skip)]
    pub(crate) unsafe_bound: Option<UnsafeBound>,
    /// Why the state could not be saved.
    #[serde(skip)]
    pub(crate) unsaved: Option<Error>,
    /// Why the prices could not be written.
    #[serde(skip)]
    pub(crate) unwritten: Option<Failure>,
}

/// Fields of the JSON object of a model file.
#[derive(Serialize)]
pub(crate) struct BlockFields {
    /// Bound of the linear relaxation.
    pub(crate) lp_bound: Option<f64>,
    pub(crate) blocks: usize,
    /// Blocks without copies of identical ones.
    pub(crate) distinct_blocks: usize,
    /// Of a stochastic program only.
    #[serde(flatten)]
    pub(crate) stages: Option<StageFields>,
    #[serde(skip)]
    pub(crate) multipliers: Named,
    /// The file of `--primal`.
    #[serde(skip)]
    pub(crate) primal: Option<String>,
}

/// Fields of the JSON object of a two-stage stochastic program.
#[derive(Serialize)]
pub(crate) struct StageFields {
    pub(crate) scenarios: usize,
    /// Mean of the scenarios' first-stage columns in the convex combination.
    pub(crate) mean_first_stage: Option<Named>,
    /// The best first-stage solution that was found.
    pub(crate) best_first_stage: Option<Named>,
}

/// Numbers by name, in their order: a JSON object.
#[derive(Clone, Default)]
pub(crate) struct Named(pub(crate) Vec<(String, f64)>);

impl Serialize for Named {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, number)| (name, number)))
    }
}

/// Reuse of the cuts of an earlier run.
#[derive(Serialize)]
struct CutsReport {
    reused: usize,
    repriced: usize,
    without_primal: usize,
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
            without_primal: reuse.without_primal(),
            total: reuse.total(),
            changed_components: changed.map(|(index, _)| index).collect(),
            text: reuse.to_string(),
        }
    }
}

impl Report {
    /// `search` ends the search for a feasible solution.
    pub(crate) fn new(
        file: &Path,
        problem: &Problem,
        (method, solution): (&'static str, Solution),
        safe: bool,
        search: &Search<'_>,
    ) -> Self {
        let safe = safe.then(|| problem.safe_bound(&solution.point));
        let search = Search { multipliers: Some(&solution.point), ..*search };
        let primal = solution.primal.as_ref().map(|primal| problem.recover_within(primal, &search));
        let feasible_value = primal.as_ref().and_then(ProblemPrimal::feasible_value);
        let subject = Subject::new(file, problem, &*problem.dual());
        let mut report = Self {
            prices: Prices::of(problem, (&solution.point, solution.value), primal.as_ref()),
            primal,
            ..Self::of_run(subject, method, solution, feasible_value)
        };
        report.set_safe_bound(safe);
        report
    }

    /// Takes up the safe bound, if one was asked for, or why there is none.
    pub(crate) fn set_safe_bound(&mut self, found: Option<Result<SafeBound, UnsafeBound>>) {
        let found = found.transpose();
        let bound = found.as_ref().ok().and_then(Option::as_ref);
        (self.safe_bound, self.safe_bound_exact) = (bound.map(SafeBound::value), bound.map(SafeBound::to_string));
        self.unsafe_bound = found.err();
    }

    /// The report of a run, without the fields of problem families. `feasible_value` is the value of a feasible
    /// solution.
    pub(crate) fn of_run(
        subject: Subject,
        method: &'static str,
        solution: Solution,
        feasible_value: Option<f64>,
    ) -> Self {
        Self {
            subject,
            method,
            status: solution.status,
            value: solution.value,
            steps: solution.steps,
            oracle_calls: solution.oracle_calls,
            component_calls: solution.component_calls,
            seconds: solution.seconds,
            oracle_seconds: solution.oracle_seconds,
            master_seconds: solution.master_seconds,
            network_seconds: solution.network_seconds,
            estimate: solution.estimate,
            certificate: solution.certificate,
            ray: solution.ray,
            safe_bound: None,
            safe_bound_exact: None,
            unsafe_bound: None,
            proof: None,
            feasible_value,
            feasible_gap: feasible_value.map(|value| (value - solution.value).abs() / solution.value.abs().max(1.0)),
            prices: None,
            blocks: None,
            primal: None,
            unsaved: None,
            unwritten: None,
            cuts: solution.reuse.as_ref().map(CutsReport::new),
            failure: solution.failure,
            point: solution.point,
            trace: solution.trace,
        }
    }

    /// The line of one instance among several.
    pub(crate) fn one_line(&self) -> String {
        let safe = self.safe_bound.map_or_else(String::new, |bound| format!("  safe {bound}"));
        format!(
            "{}  {}  {}  {} steps  {:.4} s  gap estimated {} proved {}{safe}",
            self.subject.file,
            self.value,
            self.status,
            self.steps,
            self.seconds,
            gap(self.estimate),
            gap(self.certificate)
        )
    }

    /// The table of a single instance.
    pub(crate) fn rows(&self) -> Vec<(&'static str, String)> {
        let bound = self.subject.bound();
        let mut rows = vec![
            ("status", format!("{}{}", self.status, remark(self.status))),
            ("value", format!("{}  ({bound} bound on the problem)", self.value)),
        ];
        if let Some(linear) = self.blocks.as_ref().map(|blocks| blocks.lp_bound) {
            let linear = linear.map_or_else(|| "none".to_string(), |bound| bound.to_string());
            rows.push(("LP bound", format!("{linear}  (of the linear relaxation)")));
        }
        if let Some(safe) = self.safe_bound {
            rows.push(("safe bound", format!("{safe}  (holds in exact arithmetic)")));
        }
        match (self.feasible_value, self.feasible_gap) {
            (Some(value), Some(gap)) => {
                rows.push(("feasible", format!("{value}  (a feasible solution, {:.4} % from the bound)", 100.0 * gap)));
            }
            _ if self.primal.is_some() => rows.push(("feasible", "none found".to_string())),
            _ => {}
        }
        rows.extend(self.prices.as_ref().and_then(Prices::uplift_text).map(|text| ("uplift", text)));
        rows.extend([
            ("gap", format!("estimated {}, proved {}", gap(self.estimate), gap(self.certificate))),
            ("steps", self.steps.to_string()),
            ("seconds", format!("{:.4}", self.seconds)),
        ]);
        rows.extend(self.cuts.as_ref().map(|cuts| ("cuts", cuts.text.clone())));
        rows
    }
}

/// Meaning of a status that users meet rarely.
fn remark(status: Status) -> &'static str {
    match status {
        Status::Converged => "  (by its estimate: there is no proof)",
        Status::Unbounded => "  (the problem is infeasible)",
        _ => "",
    }
}

fn gap(gap: Option<f64>) -> String {
    gap.map_or_else(|| "none".to_string(), |gap| format!("{gap:.1e}"))
}
