//! Random cases.

use bundlenet::{Oracle, Sense};
use bundlenet_linalg::Stream;
use bundlenet_problems::{Academic, AssignmentDual, NetworkDesignDual};

use super::instances::{Units, assignment, network};
use super::planes::Planes;
use super::scaled::Scaled;
use crate::foreign::{
    Covering, Cut, Eigenvalue, Grid, Location, Median, Paths, Sizes, knapsack, sum_of_maxima, two_stage, units,
};
use crate::programs::{pattern_lp, strong_lp};
use crate::sums::Sum;

type Make = Box<dyn Fn() -> Box<dyn Oracle>>;

/// A function to solve.
pub struct Case {
    pub index: u64,
    pub family: &'static str,
    /// The scales.
    pub about: String,
    make: Make,
    /// The same function as a sum, if `make` hides that it is one.
    open: Option<Make>,
    pub start: Vec<f64>,
    /// Whether the function is unbounded; `None` if that is not known.
    pub is_unbounded: Option<bool>,
    /// A good point, by a linear program.
    pub point: Option<Vec<f64>>,
    /// Typical size of a variable.
    pub variable: f64,
}

impl Case {
    /// The function.
    pub fn oracle(&self) -> Box<dyn Oracle> {
        (self.make)()
    }

    /// The function with all its terms, if it is a sum.
    pub fn terms(&self) -> Box<dyn Oracle> {
        self.open.as_ref().unwrap_or(&self.make)()
    }
}

/// Scales of a case.
#[derive(Clone, Copy, Debug)]
struct Scales {
    value: f64,
    variable: f64,
    is_whole: bool,
}

impl Scales {
    /// Values from 1e-9 to 1e12, variables from 1e-6 to 1e6.
    fn draw(stream: &mut Stream) -> Self {
        let mut power = |chance: usize, low: i32, high: i32| {
            let exponent = low + stream.below((high - low + 1) as usize) as i32;
            if stream.below(3) < chance { 10_f64.powi(exponent) } else { 1.0 }
        };
        Self { value: power(2, -9, 12), variable: power(1, -6, 6), is_whole: stream.below(4) == 0 }
    }

    /// A function at these scales.
    fn apply<O: Oracle + 'static>(self, make: impl Fn() -> O + 'static) -> Make {
        let Self { value, variable, is_whole } = self;
        Box::new(move || Box::new(Scaled::new(Box::new(make()), value, variable, is_whole)))
    }
}

/// A case of a family, before its start is drawn.
struct Draft {
    make: Make,
    is_unbounded: Option<bool>,
    point: Option<Vec<f64>>,
    start: Option<Vec<f64>>,
}

impl Draft {
    fn new(make: Make, is_unbounded: Option<bool>, point: Option<Vec<f64>>) -> Self {
        Self { make, is_unbounded, point, start: None }
    }
}

/// A part in this number of cases is to be unbounded.
const UNBOUNDED: usize = 6;

/// Families and their weights.
const FAMILIES: [(&str, usize); 7] = [
    ("network design", 6),
    ("assignment min", 3),
    ("assignment max", 3),
    ("planes", 6),
    ("box", 3),
    ("academic", 2),
    ("foreign", 4),
];

/// Case `index` under a seed. With `is_twin`, the bounded function of the same size instead of an unbounded one.
pub fn draw(seed: u64, index: u64, is_twin: bool) -> Case {
    let case = draw_as(seed, index, is_twin, false);
    Case { open: Some(draw_as(seed, index, is_twin, true).make), ..case }
}

/// As [`draw`]. With `is_open`, a sum is never hidden.
fn draw_as(seed: u64, index: u64, is_twin: bool, is_open: bool) -> Case {
    let mut stream = Stream::new(seed, "campaign", index);
    let family = FAMILIES[stream.weighted(&FAMILIES.map(|(_, weight)| weight))].0;
    let mut scales = Scales::draw(&mut stream);
    scales.is_whole &= !is_open;
    let is_unbounded = stream.below(UNBOUNDED) == 0 && !is_twin;
    let has_start = stream.below(3) == 0;
    let seed_of_start = stream.below(1 << 30) as u64;
    let draft = match family {
        "network design" => draft_network(&mut stream, scales, is_unbounded),
        "assignment min" => draft_assignment(&mut stream, scales, Sense::Minimize, is_unbounded),
        "assignment max" => draft_assignment(&mut stream, scales, Sense::Maximize, false),
        "planes" => draft_planes(&mut stream, scales, is_unbounded),
        "box" => draft_box(&mut stream, scales),
        "academic" => draft_academic(&mut stream, scales),
        _ => draft_foreign(&mut stream, scales),
    };
    let Draft { make, is_unbounded, point, start } = draft;
    let oracle = make();
    let mut start = start.unwrap_or_else(|| vec![0.0; oracle.dim()]);
    if has_start && family != "academic" {
        let mut stream = Stream::new(seed_of_start, "start", 0);
        start.iter_mut().for_each(|entry| *entry = 5.0 * scales.variable * stream.normal());
        oracle.domain().project(&mut start);
    }
    let about = format!("{scales:?}, {} variables", oracle.dim());
    Case { index, family, about, make, open: None, start, is_unbounded, point, variable: scales.variable }
}

/// Runs a linear program. It may fail on data of a wide range.
fn attempt<T>(solve: impl FnOnce() -> T + std::panic::UnwindSafe) -> Option<T> {
    std::panic::catch_unwind(solve).ok()
}

fn scaled(point: Vec<f64>, factor: f64) -> Vec<f64> {
    point.into_iter().map(|entry| factor * entry).collect()
}

/// The dual of a network. The scales go into the data; multipliers have the unit of costs.
fn draft_network(stream: &mut Stream, scales: Scales, is_infeasible: bool) -> Draft {
    let index = stream.below(1 << 30) as u64;
    let units = Units { cost: scales.value, flow: scales.variable };
    let of = |units: Units| network(&mut Stream::new(index, "network", 0), is_infeasible, units);
    let (plain, instance) = (of(Units { cost: 1.0, flow: 1.0 }), of(units));
    let total: f64 = plain.commodities().iter().map(|commodity| commodity.demand).sum();
    let is_unbounded = is_infeasible && total > 0.0;
    let is_small = plain.arcs().len() * plain.commodities().len() <= 150;
    let point = (!is_unbounded && is_small).then(|| attempt(|| scaled(strong_lp(&plain).1, units.cost))).flatten();
    let make: Make = match scales.is_whole {
        true => Box::new(move || Box::new(Scaled::new(Box::new(NetworkDesignDual::new(&instance)), 1.0, 1.0, true))),
        false => Box::new(move || Box::new(NetworkDesignDual::new(&instance))),
    };
    Draft::new(make, Some(is_unbounded), point)
}

fn draft_assignment(stream: &mut Stream, scales: Scales, sense: Sense, is_infeasible: bool) -> Draft {
    let index = stream.below(1 << 30) as u64;
    let of = |cost: f64| assignment(&mut Stream::new(index, "assignment", 0), sense, is_infeasible, cost);
    let (plain, instance) = (of(1.0), of(scales.value));
    let point = (!is_infeasible).then(|| attempt(|| scaled(pattern_lp(&plain).1, scales.value))).flatten();
    let make: Make = match scales.is_whole {
        true => Box::new(move || Box::new(Scaled::new(Box::new(AssignmentDual::new(&instance)), 1.0, 1.0, true))),
        false => Box::new(move || Box::new(AssignmentDual::new(&instance))),
    };
    Draft::new(make, Some(is_infeasible), point)
}

fn draft_planes(stream: &mut Stream, scales: Scales, is_unbounded: bool) -> Draft {
    let planes = Planes::random(stream, is_unbounded);
    let known = attempt(|| planes.is_unbounded()).flatten();
    let minimizer = (known == Some(false)).then(|| attempt(|| planes.minimizer()).flatten()).flatten();
    let point = minimizer.map(|point| scaled(point, scales.variable));
    Draft::new(scales.apply(move || planes.tables()), known, point)
}

/// A sum with a box that holds a minimiser.
fn draft_box(stream: &mut Stream, scales: Scales) -> Draft {
    let sum = Sum::random(stream);
    let planes = Planes::of_sum(&sum, sum.domain());
    let minimizer = attempt(|| planes.minimizer()).flatten();
    let point = minimizer.map(|point| scaled(point, scales.variable));
    Draft::new(scales.apply(move || sum.clone()), Some(false), point)
}

fn draft_academic(stream: &mut Stream, scales: Scales) -> Draft {
    let large = Academic::of_dimension(5 + stream.below(40));
    let all: Vec<Academic> = Academic::ALL.into_iter().chain(large).collect();
    let function = all[stream.below(all.len())];
    let mut start = function.start();
    start.iter_mut().for_each(|entry| *entry = scales.variable * (*entry + 0.1 * stream.symmetric()));
    Draft { start: Some(start), ..Draft::new(scales.apply(move || function), Some(false), None) }
}

fn draft_foreign(stream: &mut Stream, scales: Scales) -> Draft {
    let index = stream.below(1 << 30) as u64;
    let [few, some, many] = [3, 10, 30].map(|most| 2 + stream.below(most));
    let grid = Grid { layers: 2 + few, width: 1 + few };
    let is_sum = stream.below(2) == 0;
    let sizes = Sizes { dim: many, components: some, lines: 2 + few };
    let make = match stream.below(11) {
        0 => scales.apply(move || Covering::random(index, some, 5 * some + many, 0.2)),
        1 => scales.apply(move || Median::random(index, 4 + some, few, is_sum)),
        2 => scales.apply(move || Location::random(index, 2 + few, some, is_sum)),
        3 => scales.apply(move || Eigenvalue::random(index, 1 + few, some)),
        4 => scales.apply(move || Cut::random(index, 2 + some)),
        5 => scales.apply(move || two_stage(index, few, 1 + few)),
        6 => scales.apply(move || knapsack(index, few, many)),
        7 => scales.apply(move || Paths::with_resources(index, grid, few)),
        8 => scales.apply(move || Paths::with_capacities(index, grid, some)),
        9 => scales.apply(move || units(index, 4 + few, some, 3 + few)),
        _ => scales.apply(move || sum_of_maxima(index, sizes, 1.0, 1.0)),
    };
    // Some of them are infeasible: a row that no column covers, for example.
    Draft::new(make, None, None)
}
