//! Runs of all methods on one function: oracle calls and seconds to each gap.

use std::hint::black_box;
use std::ops::ControlFlow;
use std::time::Instant;

use bundlenet::{
    AutoSettings, BundleSettings, Cuts, HybridSettings, Limits, Method, NetworkSettings, Oracle, Record, Settings,
    Solver, StepSettings, TraceRow,
};
use bundlenet_linalg::Stream;
use bundlenet_testing::clock::Stopwatch;
use bundlenet_testing::foreign::{Instance, Price};
use bundlenet_testing::outside::{self, kelley, polyak};

/// Gaps at which calls and seconds are read off.
pub(crate) const GAPS: [f64; 3] = [1e-2, 1e-4, 1e-6];
/// The gap that decides whether a run is good enough to be repeated.
const MAIN_GAP: usize = 1;
/// The methods of fixed settings.
pub(crate) const FIXED: [&str; 6] = ["component", "aggregated", "hybrid", "network", "descent", "adam"];
/// Methods outside the library. Polyak's step knows the optimum.
pub(crate) const OUTSIDE: [&str; 2] = ["Kelley", "Polyak"];
/// Limits of a run.
const SECONDS: f64 = 3.0;
const CALLS: usize = 5000;
/// A run shorter than this many seconds is repeated in each of several rounds; the quickest counts, because other work
/// on the machine only adds time.
const REPEATED: f64 = 0.3;
const ROUNDS: usize = 5;
/// Short runs: their number in a row, and the time of all of them.
const IN_A_ROW: usize = 10;
const SHORT: f64 = 0.01;
/// A run ends when it has taken this multiple of the calls and of the seconds of the best run so far, and this time.
const SLACK: f64 = 3.0;
const PATIENCE: f64 = 0.05;
/// Largest number of variables and components of the linear programs of Kelley's method.
const PROGRAM: usize = 150;

/// Calls and seconds to a gap. All seconds are those of the processor.
pub(crate) type Reached = Option<(usize, f64)>;

/// A method on a function.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figures {
    pub(crate) method: String,
    /// By gap, if the oracle states no work. Seconds are those of the oracle at hand.
    pub(crate) dear: [Reached; 3],
    /// By gap, if the oracle states its work.
    pub(crate) cheap: [Reached; 3],
    /// Best value of all runs, if there are any.
    pub(crate) best: Option<f64>,
}

/// A function as it is measured.
#[derive(Clone, Copy)]
pub(crate) struct Task<'a> {
    pub(crate) instance: &'a Instance,
    pub(crate) optimum: f64,
    /// Largest distance of a coordinate of an optimal point from the start.
    pub(crate) reach: f64,
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

    fn sign(self) -> f64 {
        self.instance.oracle(Price::Dear).sense().sign()
    }

    /// The value at the smallest gap.
    fn target(self) -> f64 {
        self.optimum + self.sign() * GAPS[2] * self.unit()
    }

    /// One run of a method of the library. It ends at the smallest gap, at a limit, or far behind `known`.
    fn own(self, name: &str, price: Price, known: Reached) -> Vec<TraceRow> {
        // The limit of wall time is for a busy machine.
        let (target, seconds) = (Some(self.target()), Some(4.0 * SECONDS));
        let limits = Limits { oracle_calls: Some(CALLS), seconds, target, ..Limits::default() };
        let tolerance = 1e-7 * self.unit().min(1.0);
        let settings = Settings { method: method(name), limits, tolerance, ..Settings::default() };
        let start = self.instance.start();
        let mut oracle = self.instance.oracle(price);
        let mut trace = Vec::with_capacity(CALLS);
        let mut stopwatch = Stopwatch::start();
        let mut watch = |record: &Record| {
            let seconds = stopwatch.read();
            let calls = record.oracle_calls;
            trace.push(TraceRow { step: calls - 1, value: record.value, best: record.best, seconds });
            let is_behind = |(best, least): (usize, f64)| {
                calls as f64 > SLACK * best as f64 && seconds > PATIENCE.max(SLACK * least)
            };
            let is_over = seconds > SECONDS || known.is_some_and(is_behind);
            if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        Solver::new(settings).unwrap().observe(&mut watch).start(&start).solve(&mut oracle).unwrap();
        trace
    }

    /// One run of a method outside the library.
    fn outside(self, name: &str) -> Vec<TraceRow> {
        let mut oracle = self.instance.oracle(Price::Dear);
        let start = self.instance.start();
        let limits = outside::Limits { calls: CALLS, seconds: SECONDS, target: self.target() };
        let components = oracle.as_sum().map_or(1, |sum| sum.component_count());
        match name {
            "Polyak" => polyak(&mut oracle, &start, self.optimum, limits),
            _ if start.len().max(components) > PROGRAM => vec![],
            _ => kelley(&mut oracle, &start, 10.0 * self.reach, limits).trace,
        }
    }

    /// One run: calls and seconds to each gap, and the best value.
    fn run(self, name: &str, price: Price, known: Reached) -> ([Reached; 3], Option<f64>) {
        let trace = if OUTSIDE.contains(&name) { self.outside(name) } else { self.own(name, price, known) };
        let reached = GAPS.map(|gap| {
            let is_there = |best: f64| (best - self.optimum).abs() <= gap * self.unit();
            trace.iter().find(|row| is_there(row.best)).map(|row| (row.step + 1, row.seconds))
        });
        (reached, trace.last().map(|row| row.best))
    }

    /// The first runs of a method.
    fn figures(self, name: &str, known: Reached) -> Figures {
        let (cheap, best) = self.run(name, Price::Cheap, known);
        let (dear, dear_best) = if depends_on_work(name) { self.run(name, Price::Dear, known) } else { (cheap, best) };
        let best = [best, dear_best].into_iter().flatten().map(|best| self.sign() * best).reduce(f64::min);
        let best = best.map(|best| self.sign() * best);
        Figures { method: name.to_string(), dear, cheap, best }
    }

    /// Runs a method again and keeps the shortest times. Short runs are repeated in a row, because the first of them
    /// meets the caches of another method.
    fn repeat(self, figures: &mut Figures) {
        let longest = figures.cheap.iter().flatten().map(|reached| reached.1).fold(0.0, f64::max);
        if figures.cheap[MAIN_GAP].is_none() || longest > REPEATED {
            return;
        }
        let begin = Instant::now();
        for _ in 0..IN_A_ROW {
            let (next, _) = self.run(&figures.method, Price::Cheap, figures.cheap[MAIN_GAP]);
            for (least, (_, seconds)) in figures.cheap.iter_mut().flatten().zip(next.into_iter().flatten()) {
                least.1 = least.1.min(seconds);
            }
            if begin.elapsed().as_secs_f64() > SHORT {
                break;
            }
        }
    }

    /// The default, the fixed methods and those outside. Figures that are known are not measured again.
    pub(crate) fn measure(self, known: &[Figures]) -> Vec<Figures> {
        let mut all: Vec<Figures> = vec![];
        let mut best: Reached = None;
        for name in ["auto"].into_iter().chain(FIXED).chain(OUTSIDE) {
            let figures = known.iter().find(|figures| figures.method == name).cloned();
            let figures = figures.unwrap_or_else(|| self.figures(name, best));
            let limits = [figures.dear[MAIN_GAP], figures.cheap[MAIN_GAP]].into_iter().flatten();
            // The default alone never shortens other runs.
            for (calls, seconds) in limits.filter(|_| name != "auto") {
                best = Some(best.map_or((calls, seconds), |best| (best.0.min(calls), best.1.min(seconds))));
            }
            all.push(figures);
        }
        // Rounds alternate between methods, so that other work on the machine meets all of them.
        for _ in 1..ROUNDS {
            let is_known = |figures: &Figures| known.iter().any(|known| known.method == figures.method);
            all.iter_mut().filter(|figures| !is_known(figures)).for_each(|figures| self.repeat(figures));
        }
        all
    }

    /// Nanoseconds of an evaluation: as stated, and as measured at points about as far from the start as the optimum.
    pub(crate) fn work(self) -> (f64, f64) {
        let mut oracle = self.instance.oracle(Price::Cheap);
        let (domain, mut stream) = (oracle.domain(), Stream::new(1, "work", 0));
        let mut subgradient = vec![0.0; oracle.dim()];
        let mut times: Vec<f64> = vec![];
        for _ in 0..15 {
            let mut point = self.instance.start();
            point.iter_mut().for_each(|entry| *entry += self.reach / 2.0 * stream.symmetric());
            domain.project(&mut point);
            let mut stopwatch = Stopwatch::start();
            black_box(oracle.evaluate(black_box(&point), &mut subgradient).unwrap());
            times.push(stopwatch.read());
        }
        times.sort_by(f64::total_cmp);
        (oracle.work().unwrap(), 1e9 * times[times.len() / 2])
    }
}
