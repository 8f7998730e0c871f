//! Runs of all methods on one function: oracle calls and seconds to each gap.

use std::ops::ControlFlow;

use bundlenet::{
    AutoSettings, BundleSettings, Cuts, HybridSettings, Limits, Method, NetworkSettings, Record, Settings, Solver,
    StepSettings, TraceRow,
};
use bundlenet_testing::foreign::{Instance, Price};

/// Gaps at which calls and seconds are read off.
pub(crate) const GAPS: [f64; 3] = [1e-2, 1e-4, 1e-6];
/// The methods of fixed settings.
pub(crate) const FIXED: [&str; 6] = ["component", "aggregated", "hybrid", "network", "descent", "adam"];
/// Limits of a run.
const SECONDS: f64 = 3.0;
const CALLS: usize = 5000;
/// Every run is repeated up to this number of times within the budget; the quickest counts, because other work on the
/// machine only adds time.
const ROUNDS: usize = 3;
const BUDGET: f64 = 1.0;
/// A run ends when it has taken this multiple of both the calls and the seconds of the best run so far.
const SLACK: f64 = 3.0;

/// Calls and seconds to a gap.
pub(crate) type Reached = Option<(usize, f64)>;

/// A method on a function.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figures {
    pub(crate) method: String,
    /// By gap, if the oracle states no work. Seconds are those of the oracle at hand.
    pub(crate) dear: [Reached; 3],
    /// By gap, if the oracle states its work.
    pub(crate) cheap: [Reached; 3],
    /// Best value of all runs.
    pub(crate) best: f64,
}

/// A function with its optimum, as it is measured.
#[derive(Clone, Copy)]
pub(crate) struct Task<'a> {
    pub(crate) instance: &'a Instance,
    pub(crate) optimum: f64,
}

fn method(name: &str) -> Method {
    let bundle = |cuts| Method::Bundle(BundleSettings { cuts, ..BundleSettings::default() });
    match name {
        "component" => bundle(Cuts::Component),
        "aggregated" => bundle(Cuts::Aggregated),
        "hybrid" => Method::Hybrid(HybridSettings::default()),
        "network" => Method::Network(NetworkSettings::default()),
        "descent" => Method::Descent(StepSettings::default()),
        "adam" => Method::Adam(StepSettings::default()),
        _ => Method::Auto(AutoSettings::default()),
    }
}

/// Whether the steps of a method depend on the stated work.
fn depends_on_work(name: &str) -> bool {
    name == "auto" || name == "hybrid"
}

impl Task<'_> {
    /// Gaps are multiples of this.
    fn unit(self) -> f64 {
        self.instance.gap_unit(self.optimum)
    }

    fn reached(self, trace: &[TraceRow]) -> [Reached; 3] {
        GAPS.map(|gap| {
            let is_there = |best: f64| (best - self.optimum).abs() <= gap * self.unit();
            trace.iter().find(|row| is_there(row.best)).map(|row| (row.step + 1, row.seconds))
        })
    }

    /// One run. It ends at the smallest gap, at a limit, or far behind `known`.
    fn run(self, name: &str, price: Price, known: Reached) -> ([Reached; 3], f64) {
        let mut oracle = self.instance.oracle(price);
        let sign = bundlenet::Oracle::sense(&oracle).sign();
        let target = Some(self.optimum + sign * GAPS[2] * self.unit());
        let limits = Limits { oracle_calls: Some(CALLS), seconds: Some(SECONDS), target, ..Limits::default() };
        let tolerance = 1e-7 * self.unit().min(1.0);
        let settings = Settings { method: method(name), limits, tolerance, ..Settings::default() };
        let mut watch = |record: &Record| {
            let is_behind = known.is_some_and(|(calls, seconds)| {
                record.oracle_calls as f64 > SLACK * calls as f64 && record.seconds > SLACK * seconds
            });
            if is_behind { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let mut solver = Solver::new(settings).unwrap().observe(&mut watch);
        if let Some(start) = &self.instance.start {
            solver = solver.start(start);
        }
        let solution = solver.solve(&mut oracle).unwrap();
        (self.reached(&solution.trace), solution.value)
    }

    /// The quickest of several runs.
    fn quickest(self, name: &str, known: Reached) -> ([Reached; 3], f64) {
        let (mut least, best) = self.run(name, Price::Cheap, known);
        let mut spent = 0.0;
        for _ in 1..ROUNDS {
            spent += least.iter().flatten().map(|reached| reached.1).fold(0.0, f64::max);
            if least[1].is_none() || spent > BUDGET {
                break;
            }
            let (next, _) = self.run(name, Price::Cheap, known);
            for (least, next) in least.iter_mut().zip(next) {
                *least = least.zip(next).map(|(least, next)| (least.0, least.1.min(next.1))).or(*least);
            }
        }
        (least, best)
    }

    fn figures(self, name: &str, known: Reached) -> Figures {
        let (cheap, best) = self.quickest(name, known);
        let (dear, dear_best) = if depends_on_work(name) { self.run(name, Price::Dear, known) } else { (cheap, best) };
        let sign = bundlenet::Oracle::sense(&self.instance.oracle(Price::Dear)).sign();
        let best = if sign * dear_best < sign * best { dear_best } else { best };
        Figures { method: name.to_string(), dear, cheap, best }
    }

    /// The default and the fixed methods. Figures that are known are not measured again.
    pub(crate) fn measure(self, known: &[Figures]) -> Vec<Figures> {
        let mut all: Vec<Figures> = vec![self.figures("auto", None)];
        let mut best: Reached = None;
        for name in FIXED {
            let figures = known.iter().find(|figures| figures.method == name).cloned();
            let figures = figures.unwrap_or_else(|| self.figures(name, best));
            for (calls, seconds) in [figures.dear[1], figures.cheap[1]].into_iter().flatten() {
                best = Some(best.map_or((calls, seconds), |best| (best.0.min(calls), best.1.min(seconds))));
            }
            all.push(figures);
        }
        all
    }
}
