//! Runs of cases.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bundlenet::{Limits, Log, Settings, Solution, Solver, Status};
use bundlenet_linalg::Stream;

use super::check::{Fault, Finished, Kind, Truth, faults, is_ray, size_at};
use super::draw::{Case, draw};
use super::methods::{ALWAYS, IN_TURN, NAMES, method};
use super::tally::Tally;

/// A campaign.
#[derive(Clone, Debug)]
pub struct Plan {
    pub seed: u64,
    /// Number of runs, rounded up to whole cases.
    pub runs: usize,
    /// Limit of each run.
    pub steps: usize,
    pub seconds: Option<f64>,
    /// A part of the family's name.
    pub only: Option<String>,
    /// The only case to run, with a log of every run on the standard error.
    pub case: Option<u64>,
}

/// One run in this number is repeated.
const REPEATED: usize = 20;

/// `unbounded` is to be found within this multiple of the calls of a bounded function.
const LATE: usize = 5;
/// Fewer calls than these tell nothing of the size: a start may be optimal.
const FEW: usize = 5;

/// Runs a campaign. `watch` sees every fault at once.
pub fn campaign(plan: &Plan, mut watch: impl FnMut(&Fault)) -> Tally {
    let mut tally = Tally::default();
    let indices = plan.case.map_or(0..u64::MAX, |case| case..case + 1);
    for index in indices {
        if tally.runs() >= plan.runs {
            break;
        }
        let case = draw(plan.seed, index, false);
        if plan.only.as_ref().is_none_or(|part| case.family.contains(part.as_str())) {
            run_case(plan, &case, &mut tally, &mut watch);
        }
    }
    tally
}

/// Runs the methods of a case and checks their solutions.
pub fn run_case(plan: &Plan, case: &Case, tally: &mut Tally, watch: &mut impl FnMut(&Fault)) {
    let mut stream = Stream::new(plan.seed, "methods", case.index);
    let mut names = NAMES[..ALWAYS].to_vec();
    let others = stream.permutation(NAMES.len() - ALWAYS);
    names.extend(others.iter().take(IN_TURN).map(|other| NAMES[ALWAYS + other]));
    let mut finished = vec![];
    for name in names {
        let tolerance = 10_f64.powf(-6.0 + 3.0 * stream.symmetric());
        match solve(plan, case, name, tolerance) {
            Ok(solution) => finished.push(Finished { method: name, tolerance, solution }),
            Err(message) => watch(tally.fault(Kind::Panic, name, format!("{}: {message}", title(plan, case)))),
        }
    }
    let truth = truth(case, &finished);
    for run in &finished {
        tally.count(case.family, run.method, run.solution.status);
        let mut kinds = faults(case, run, &truth);
        kinds.extend(is_changed(plan, case, run, &mut stream).then_some(Kind::NotRepeated));
        kinds.extend(is_late(plan, run, case.index).then_some(Kind::LateUnbounded));
        for kind in kinds {
            let sign = case.oracle().sense().sign();
            let about = format!("{} {}", title(plan, case), numbers(run, sign * truth.best));
            watch(tally.fault(kind, run.method, about));
        }
    }
}

fn title(plan: &Plan, case: &Case) -> String {
    format!("--seed {} --case {}: {}, {},", plan.seed, case.index, case.family, case.about)
}

fn numbers(run: &Finished, best: f64) -> String {
    let Finished { tolerance, solution, .. } = run;
    let Solution { status, value, steps, estimate, certificate, .. } = solution;
    let gaps = format!("estimate {estimate:?} certificate {certificate:?}");
    format!("tolerance {tolerance:.1e}: {status} after {steps} steps, {value:e}, best known {best:e}, {gaps}")
}

/// Solves a case. The error is the message of a panic or of an error.
fn solve(plan: &Plan, case: &Case, name: &str, tolerance: f64) -> Result<Solution, String> {
    // A network converges slowly, and each of its steps takes long.
    let steps = if name == "network" { plan.steps / 5 } else { plan.steps };
    let limits = Limits { steps: Some(steps), seconds: plan.seconds, ..Limits::default() };
    let settings = Settings { method: method(name), limits, tolerance, ..Settings::default() };
    let run = || {
        let solver = Solver::new(settings).unwrap().start(&case.start);
        let mut log = Log::timeless(std::io::stderr());
        let solver = if plan.case.is_some() {
            log.begin(&format!("{name}, tolerance {tolerance:.1e}"));
            solver.observe(&mut log)
        } else {
            solver
        };
        solver.solve(&mut *case.oracle())
    };
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(payload) => {
            let text = payload.downcast_ref::<String>().cloned();
            Err(text.or_else(|| payload.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default())
        }
    }
}

/// The best value of all runs and of the linear program, and the largest number met.
fn truth(case: &Case, finished: &[Finished]) -> Truth {
    let mut oracle = case.oracle();
    let (sign, domain) = (oracle.sense().sign(), oracle.domain());
    let has_ray = finished.iter().any(|run| run.solution.ray.is_some() && is_ray(case, &mut *oracle, &run.solution));
    let is_unbounded = case.is_unbounded.unwrap_or(has_ray);
    let mut truth = Truth { best: f64::INFINITY, size: 0.0, is_unbounded };
    let points = finished.iter().map(|run| &run.solution.point).chain(&case.point);
    for point in points {
        let mut point = point.clone();
        domain.project(&mut point);
        if let Ok(value) = oracle.evaluate(&point, &mut vec![0.0; point.len()]) {
            truth.best = truth.best.min(sign * value);
            truth.size = truth.size.max(size_at(&mut *case.terms(), &case.start, &point));
        }
    }
    truth
}

/// Whether a second run of a sample takes other steps. A limit of time may end runs anywhere.
fn is_changed(plan: &Plan, case: &Case, run: &Finished, stream: &mut Stream) -> bool {
    if stream.below(REPEATED) > 0 || run.solution.status == Status::TimeLimit {
        return false;
    }
    let Ok(again) = solve(plan, case, run.method, run.tolerance) else { return true };
    let values = |solution: &Solution| solution.trace.iter().map(|row| row.value).collect::<Vec<_>>();
    let is_same = again.status == run.solution.status && values(&again) == values(&run.solution);
    !is_same && again.status != Status::TimeLimit
}

/// Whether an unbounded function was found late.
fn is_late(plan: &Plan, run: &Finished, index: u64) -> bool {
    if run.solution.status != Status::Unbounded {
        return false;
    }
    let twin = draw(plan.seed, index, true);
    let bounded = solve(plan, &twin, run.method, run.tolerance);
    bounded.is_ok_and(|bounded| run.solution.oracle_calls > LATE * bounded.oracle_calls.max(FEW))
}
