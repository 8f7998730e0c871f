//! The list of all functions, and their halves.

use std::fmt;

use bundlenet::{AutoSettings, BundleSettings, Cuts, Domain, Limits, Method, Oracle, Settings, Solver, TraceRow};
use bundlenet_linalg::Stream;
use bundlenet_problems::Academic;

use super::{
    Covering, Cut, Eigenvalue, Grid, Location, Median, Paths, Price, Priced, Quadratics, Sizes, Whole, knapsack,
    sum_of_maxima, two_stage, units,
};

/// The constants of the default method are chosen on one half of the functions. The other half judges them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    Choose,
    Judge,
}

impl fmt::Display for Half {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Choose => "choose",
            Self::Judge => "judge",
        })
    }
}

/// Estimated gap at which a long run has found the optimum.
const LONG_RUN: f64 = 1e-12;

/// A function of the list.
pub struct Instance {
    pub name: String,
    pub half: Half,
    make: Box<dyn Fn() -> Box<dyn Oracle> + Send + Sync>,
    start: Option<Vec<f64>>,
    /// The optimum, if it is published.
    pub optimum: Option<f64>,
}

impl Instance {
    fn new<O: Oracle + 'static>(name: &str, half: Half, make: impl Fn() -> O + Send + Sync + 'static) -> Self {
        let make = Box::new(move || Box::new(make()) as Box<dyn Oracle>);
        Self { name: name.to_string(), half, make, start: None, optimum: None }
    }

    fn academic(function: Academic, half: Half) -> Self {
        let name = format!("academic {function}");
        let (start, optimum) = (Some(moved(function.start())), Some(function.optimum()));
        Self { start, optimum, ..Self::new(&name, half, move || function) }
    }

    /// The same function from a random start.
    fn started_somewhere(self, seed: u64) -> Self {
        let (mut stream, oracle) = (Stream::new(seed, "somewhere", 0), (self.make)());
        let is_free = oracle.domain() == Domain::Free;
        let entry = |entry: f64| if is_free { entry } else { entry.abs() };
        Self { start: Some((0..oracle.dim()).map(|_| entry(stream.symmetric())).collect()), ..self }
    }

    /// The family: the first word of the name.
    pub fn family(&self) -> &str {
        self.name.split(' ').next().unwrap()
    }

    /// The distance from the optimum that counts as a gap of 1: `max(1, |optimum|)`. For sums at other scales it is
    /// `|optimum|`.
    pub fn gap_unit(&self, optimum: f64) -> f64 {
        if self.family() == "maxima" { optimum.abs() } else { optimum.abs().max(1.0) }
    }

    /// The start point: 0 for a dual.
    pub fn start(&self) -> Vec<f64> {
        self.start.clone().unwrap_or_else(|| vec![0.0; (self.make)().dim()])
    }

    /// The trace of a run of dear evaluations, with a row for each of at most `calls` calls. A method that can know its
    /// number of steps does.
    pub fn trace(&self, method: Method, calls: usize, target: Option<f64>) -> Vec<TraceRow> {
        self.trace_of(&mut self.oracle(Price::Dear), method, calls, target)
    }

    /// As [`Instance::trace`], if the function does not tell its components.
    pub fn trace_as_a_whole(&self, method: Method, calls: usize, target: Option<f64>) -> Vec<TraceRow> {
        self.trace_of(&mut Whole(self.oracle(Price::Dear)), method, calls, target)
    }

    fn trace_of(&self, oracle: &mut dyn Oracle, method: Method, calls: usize, target: Option<f64>) -> Vec<TraceRow> {
        // A step is a call after the first one.
        let limits = Limits { steps: Some(calls - 1), target, ..Limits::default() };
        let settings = Settings { method, limits, tolerance: 0.0, ..Settings::default() };
        Solver::new(settings).unwrap().start(&self.start()).solve(oracle).unwrap().trace
    }

    /// The published optimum, else the best value of two long runs.
    pub fn optimum_or_best(&self, seconds: f64) -> f64 {
        let bundle = Method::Bundle(BundleSettings { cuts: Cuts::Component, ..BundleSettings::default() });
        let sign = self.oracle(Price::Dear).sense().sign();
        let best = || {
            let values = [bundle, Method::Auto(AutoSettings::default())].map(|method| {
                let limits = Limits { seconds: Some(seconds), ..Limits::default() };
                let settings = Settings { method, limits, tolerance: LONG_RUN, ..Settings::default() };
                let mut oracle = self.oracle(Price::Cheap);
                sign * Solver::new(settings).unwrap().start(&self.start()).solve(&mut oracle).unwrap().value
            });
            sign * values[0].min(values[1])
        };
        self.optimum.unwrap_or_else(best)
    }

    /// The function, with stated work or without.
    pub fn oracle(&self, price: Price) -> Priced {
        Priced { oracle: (self.make)(), price }
    }
}

/// The point, each entry moved by up to 0.1. From the published start points some methods hit the minimiser of some
/// functions at once, because all numbers are round: Adam with its first step of length 1, for example.
fn moved(mut point: Vec<f64>) -> Vec<f64> {
    let mut stream = Stream::new(1, "start", 0);
    point.iter_mut().for_each(|entry| *entry += 0.1 * stream.symmetric());
    point
}

/// All functions.
pub fn instances() -> Vec<Instance> {
    let mut all = academic();
    all.extend(scaled());
    all.extend(duals());
    all
}

/// Functions of families that are in no training: the academic ones, set covering and p-median, each of several sizes and
/// seeds. None of them is in [`instances`], except the academic ones.
pub fn transfer_instances() -> Vec<Instance> {
    use Half::{Choose, Judge};
    let mut all = academic();
    let halves = || [Choose, Judge, Choose, Judge].into_iter().zip(0..);
    for size in 0..SIZES {
        all.extend(halves().map(|(half, seed)| covering(size, seed, half)));
    }
    for size in 0..SIZES {
        all.extend(halves().map(|(half, seed)| median(size, seed, half)));
    }
    all
}

/// Further functions of set covering and p-median, `count` of each size. No other program uses them.
#[must_use]
pub fn fresh_transfer_instances(count: u64) -> Vec<Instance> {
    let each = |make: fn(usize, u64, Half) -> Instance| {
        (0..SIZES).flat_map(move |size| (4000..4000 + count).map(move |seed| make(size, seed, Half::Judge)))
    };
    each(covering).chain(each(median)).collect()
}

/// Number of sizes of set covering and of p-median.
const SIZES: usize = 5;

fn covering(size: usize, seed: u64, half: Half) -> Instance {
    let sizes: [_; SIZES] =
        [(50, 500, 0.05), (100, 1000, 0.03), (150, 1500, 0.03), (200, 2000, 0.02), (300, 3000, 0.02)];
    let (rows, columns, density) = sizes[size];
    let index = 100 + 10 * size as u64 + seed;
    let name = format!("cover {rows}x{columns} {seed}");
    Instance::new(&name, half, move || Covering::random(index, rows, columns, density))
}

fn median(size: usize, seed: u64, half: Half) -> Instance {
    let sizes: [_; SIZES] = [(30, 5, false), (45, 6, true), (60, 8, false), (80, 10, true), (100, 10, false)];
    let (customers, number, is_sum) = sizes[size];
    let index = 100 + 10 * size as u64 + seed;
    let name = format!("median {customers}{} {seed}", if is_sum { " sum" } else { "" });
    Instance::new(&name, half, move || Median::random(index, customers, number, is_sum))
}

/// Functions on which the rules of a guard are learned, twenty for each seed. Their families are not those of
/// [`transfer_instances`].
pub fn rule_instances(seeds: std::ops::Range<u64>) -> Vec<Instance> {
    let choose = |name: &str, make: Box<dyn Fn() -> Box<dyn Oracle> + Send + Sync>| Instance {
        name: name.to_string(),
        half: Half::Choose,
        make,
        start: None,
        optimum: None,
    };
    macro_rules! at_zero {
        ($name:expr, $make:expr) => {
            choose($name, Box::new(move || Box::new($make)))
        };
    }
    macro_rules! elsewhere {
        ($name:expr, $seed:expr, $make:expr) => {
            choose($name, Box::new(move || Box::new($make))).started_somewhere($seed)
        };
    }
    let maxima = |dim, components, lines| Sizes { dim, components, lines };
    seeds
        .flat_map(|seed| {
            [
                at_zero!("location 20x50", Location::random(seed, 20, 50, false)),
                at_zero!("location 30x80 capacities", Location::random(seed, 30, 80, true)),
                at_zero!("eigenvalue 30 of 60", Eigenvalue::random(seed, 30, 60)),
                elsewhere!("eigenvalue 30 of 100", seed, Eigenvalue::random(seed, 30, 100)),
                at_zero!("cut 50", Cut::random(seed, 50)),
                elsewhere!("cut 70", seed, Cut::random(seed, 70)),
                at_zero!("two-stage 20x10", two_stage(seed, 20, 10)),
                at_zero!("knapsack 30x200", knapsack(seed, 30, 200)),
                at_zero!("knapsack 60x200", knapsack(seed, 60, 200)),
                at_zero!("flow 10", Paths::with_capacities(seed, Grid { layers: 8, width: 6 }, 10)),
                at_zero!("units 96x50", units(seed, 96, 50, 30)),
                elsewhere!("units 48x30", seed, units(seed, 48, 30, 30)),
                elsewhere!("maxima 40", seed, sum_of_maxima(seed, maxima(40, 30, 12), 1.0, 1.0)),
                at_zero!("maxima 150", sum_of_maxima(seed, maxima(150, 60, 8), 1.0, 1.0)),
                elsewhere!("eigenvalue 20 of 10", seed, Eigenvalue::random(seed, 20, 10)),
                elsewhere!("cut 20", seed, Cut::random(seed, 20)),
                elsewhere!("knapsack 10x100", seed, knapsack(seed, 10, 100)),
                elsewhere!("maxima 12", seed, sum_of_maxima(seed, maxima(12, 6, 10), 1.0, 1.0)),
                elsewhere!("units 24x10", seed, units(seed, 24, 10, 20)),
                elsewhere!("quadratics 5 of 8", seed, Quadratics::random(seed, 5, 8)),
                elsewhere!("quadratics 15 of 20", seed, Quadratics::random(seed, 15, 20)),
                elsewhere!("quadratics 50 of 40", seed, Quadratics::random(seed, 50, 40)),
                elsewhere!("maximum 20", seed, sum_of_maxima(seed, maxima(20, 1, 60), 1.0, 1.0)),
            ]
        })
        .collect()
}

fn academic() -> Vec<Instance> {
    let small = Academic::ALL.into_iter().zip([
        Half::Choose, // MAXQUAD
        Half::Judge,  // Shor
        Half::Judge,  // CB2
        Half::Choose, // Goffin
        Half::Judge,  // MXHILB
        Half::Choose, // CB3
        Half::Judge,  // DEM
        Half::Choose, // QL
        Half::Judge,  // LQ
        Half::Choose, // Mifflin1
        Half::Choose, // Rosen
        Half::Choose, // MAXQ
        Half::Judge,  // MAXL
        Half::Judge,  // L1HILB
    ]);
    let large = Academic::of_dimension(1000).into_iter().zip([
        Half::Judge,  // MAXQ
        Half::Choose, // MXHILB
        Half::Choose, // Chained LQ
        Half::Judge,  // Chained CB3 I
        Half::Choose, // Chained CB3 II
    ]);
    small.chain(large).map(|(function, half)| Instance::academic(function, half)).collect()
}

/// Sums of maxima at scales of values and of variables.
fn scaled() -> Vec<Instance> {
    let small = Sizes { dim: 12, components: 6, lines: 10 };
    let middle = Sizes { dim: 40, components: 30, lines: 12 };
    let large = Sizes { dim: 200, components: 150, lines: 8 };
    let list = [
        (small, 1e-6, 1.0, Half::Choose),
        (middle, 1e-3, 1.0, Half::Judge),
        (middle, 1e3, 1.0, Half::Choose),
        (small, 1e6, 1.0, Half::Judge),
        (middle, 1.0, 1e-6, Half::Judge),
        (small, 1.0, 1e-3, Half::Choose),
        (small, 1.0, 1e3, Half::Judge),
        (middle, 1.0, 1e6, Half::Choose),
        (middle, 1e-6, 1e6, Half::Judge),
        (middle, 1e6, 1e-6, Half::Choose),
        (large, 1.0, 1.0, Half::Choose),
        (large, 1e3, 1e3, Half::Judge),
    ];
    let instance = |(index, (sizes, value, variable, half)): (u64, (Sizes, f64, f64, Half))| {
        let name = format!("maxima {} f {value:e} x {variable:e}", sizes.dim);
        Instance::new(&name, half, move || sum_of_maxima(index, sizes, value, variable))
    };
    (0..).zip(list).map(instance).collect()
}

/// Lagrangian duals and eigenvalues. The name of an instance has its sizes.
fn duals() -> Vec<Instance> {
    use Half::{Choose, Judge};
    vec![
        Instance::new("cover 50x500", Judge, || Covering::random(0, 50, 500, 0.05)),
        Instance::new("cover 200x1000", Judge, || Covering::random(1, 200, 1000, 0.02)),
        Instance::new("cover 300x3000", Judge, || Covering::random(2, 300, 3000, 0.02)),
        Instance::new("median 30", Choose, || Median::random(0, 30, 5, false)),
        Instance::new("median 60", Judge, || Median::random(1, 60, 8, false)),
        Instance::new("median 40 sum", Judge, || Median::random(2, 40, 6, true)),
        Instance::new("median 80 sum", Choose, || Median::random(3, 80, 10, true)),
        Instance::new("location 20x50", Choose, || Location::random(0, 20, 50, false)),
        Instance::new("location 60x200", Judge, || Location::random(1, 60, 200, false)),
        Instance::new("location 20x40 capacities", Judge, || Location::random(2, 20, 40, true)),
        Instance::new("location 50x150 capacities", Choose, || Location::random(3, 50, 150, true)),
        Instance::new("eigenvalue 20 of 10", Choose, || Eigenvalue::random(0, 20, 10)),
        Instance::new("eigenvalue 40 of 60", Judge, || Eigenvalue::random(1, 40, 60)),
        Instance::new("eigenvalue 100 of 30", Choose, || Eigenvalue::random(2, 100, 30)),
        Instance::new("cut 20", Judge, || Cut::random(0, 20)),
        Instance::new("cut 50", Choose, || Cut::random(1, 50)),
        Instance::new("two-stage 5x4", Judge, || two_stage(0, 5, 4)),
        Instance::new("two-stage 20x10", Judge, || two_stage(1, 20, 10)),
        Instance::new("two-stage 50x8", Judge, || two_stage(2, 50, 8)),
        Instance::new("knapsack 5x100", Judge, || knapsack(0, 5, 100)),
        Instance::new("knapsack 10x250", Choose, || knapsack(1, 10, 250)),
        Instance::new("knapsack 30x500", Judge, || knapsack(2, 30, 500)),
        Instance::new("path 3 resources", Choose, || Paths::with_resources(0, Grid { layers: 20, width: 15 }, 3)),
        Instance::new("path 10 resources", Judge, || Paths::with_resources(1, Grid { layers: 40, width: 30 }, 10)),
        Instance::new("flow 10 commodities", Judge, || Paths::with_capacities(0, Grid { layers: 8, width: 6 }, 10)),
        Instance::new("flow 60 commodities", Choose, || Paths::with_capacities(1, Grid { layers: 12, width: 12 }, 60)),
        Instance::new("units 24x10", Judge, || units(0, 24, 10, 20)),
        Instance::new("units 48x30", Choose, || units(1, 48, 30, 50)),
        Instance::new("units 96x100", Judge, || units(2, 96, 100, 30)),
    ]
}
