//! Time of an oracle call, beside the straightforward implementation in the same run, and of a safe bound beside an
//! oracle call.
//!
//! ```text
//! cargo bench --bench oracles
//! cargo bench --bench oracles -- safe     # safe bounds alone
//! cargo bench --bench oracles -- units    # unit commitment alone
//! ```
//!
//! Points are taken along a subgradient trajectory, since at 0 the subproblems are trivial (MC) or at their hardest
//! (GA). Both implementations run on one thread, alternating, and the ratio is between their fastest rounds.

use std::hint::black_box;
use std::time::Instant;

use bundlenet::{BundleSettings, Function, Limits, Method, Oracle, Sense, Settings};
use bundlenet_problems::unit_commitment::Formulation;
use bundlenet_problems::{
    Assignment, BinaryKnapsack, ContinuousKnapsack, FacilityLocation, Family, Generator, Problem, ReadOptions,
};
use bundlenet_testing::clock::Stopwatch;
use bundlenet_testing::public::data_if_present;
use bundlenet_testing::reference::{
    PlainAssignmentDual, PlainFacilityLocationDual, PlainNetworkDesignDual, SortedKnapsack, TableKnapsack,
};
use bundlenet_testing::trial::{cases, is_trial};
use bundlenet_testing::visits::visited;

/// Points of a projected subgradient method with steps that shrink: coarse at first, then close to the optimum.
fn trajectory(problem: &Problem, dual: &mut dyn Oracle, steps: usize) -> Vec<Vec<f64>> {
    let domain = dual.domain();
    let mut function = Function::new(dual).unwrap();
    let dim = function.dim();
    let (mut point, mut subgradient) = (vec![0.0; dim], vec![0.0; dim]);
    let mut points = Vec::with_capacity(steps);
    let mut scale = 0.0;
    for step in 0..steps {
        let value = function.evaluate(&point, &mut subgradient).unwrap();
        let norm = subgradient.iter().map(|g| g * g).sum::<f64>().sqrt();
        if step == 0 {
            // Lets every multiplier move as far as its value at the optimum is likely to be.
            let size = match problem {
                Problem::NetworkDesign(_) => 60.0,
                Problem::Assignment(_) => value.abs() / dim as f64,
                Problem::FacilityLocation(instance) => likely_price(instance),
                Problem::UnitCommitment(_) => 60.0,
            };
            scale = size * (dim as f64).sqrt();
        }
        let length = scale / (1.0 + step as f64) / norm.max(1e-12);
        point.iter_mut().zip(&subgradient).for_each(|(x, g)| *x -= length * g);
        domain.project(&mut point);
        points.push(point.clone());
    }
    points
}

/// The cost of a mean customer, and its share of the sites that the demand needs: its multiplier near the optimum.
fn likely_price(instance: &FacilityLocation) -> f64 {
    let (sites, total) = (instance.sites(), instance.total_demand());
    let cheapest =
        |customer: usize| (0..sites.len()).map(|site| instance.costs(site)[customer]).fold(f64::MAX, f64::min);
    let service: f64 = (0..instance.customers()).map(cheapest).sum();
    let rate = sites.iter().map(|site| site.fixed_cost / site.capacity.min(total)).sum::<f64>() / sites.len() as f64;
    (service + rate * total) / instance.customers() as f64
}

/// Microseconds for one call of each, over the rounds that were fastest.
fn race(rounds: usize, calls: usize, ours: &mut dyn FnMut(), plain: &mut dyn FnMut()) -> (f64, f64) {
    let mut best = (f64::INFINITY, f64::INFINITY);
    let time = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64() * 1e6 / calls as f64
    };
    for _ in 0..rounds {
        best = (best.0.min(time(ours)), best.1.min(time(plain)));
    }
    best
}

fn print_row(name: &str, (ours, plain): (f64, f64), bar: &str) {
    println!("{name:<44} {ours:>9.2} {plain:>10.2} {:>7.1} x   {bar}", plain / ours);
}

/// The time of a safe bound, from the instance and the multipliers alone, over the time of an oracle call.
fn bench_safe_bound(name: &str, problem: &Problem) {
    let mut dual = problem.dual();
    let points = trajectory(problem, &mut *dual, 100);
    let mut subgradient = vec![0.0; dual.dim()];
    let (safe, oracle) = race(
        40,
        points.len(),
        &mut || {
            points.iter().for_each(|point| {
                black_box(problem.safe_bound(black_box(point)).unwrap());
            });
        },
        &mut || {
            points.iter().for_each(|point| {
                black_box(dual.evaluate(black_box(point), &mut subgradient).unwrap());
            });
        },
    );
    println!("{name:<44} {safe:>9.2} {oracle:>10.2} {:>8.2}", safe / oracle);
}

fn bench_problem(name: &str, problem: &Problem, bar: &str) {
    let mut dual = problem.dual();
    let points = trajectory(problem, &mut *dual, 100);
    let mut subgradient = vec![0.0; dual.dim()];
    let mut other = subgradient.clone();
    let rounds = (40_000_000 / (dual.dim() * points.len() * 40)).clamp(5, 200);
    let mut ours = || {
        for point in &points {
            black_box(dual.evaluate(black_box(point), &mut subgradient).unwrap());
        }
    };
    let times = match problem {
        Problem::NetworkDesign(instance) => {
            let mut plain = PlainNetworkDesignDual::new(instance);
            let mut plain = || {
                points.iter().for_each(|point| {
                    black_box(plain.evaluate(black_box(point), &mut other));
                });
            };
            race(rounds, points.len(), &mut ours, &mut plain)
        }
        Problem::Assignment(instance) => {
            let mut plain = PlainAssignmentDual::new(instance);
            let mut plain = || {
                points.iter().for_each(|point| {
                    black_box(plain.evaluate(black_box(point), &mut other));
                });
            };
            race(rounds, points.len(), &mut ours, &mut plain)
        }
        Problem::FacilityLocation(instance) => {
            let mut plain = PlainFacilityLocationDual::new(instance);
            let mut plain = || {
                points.iter().for_each(|point| {
                    black_box(plain.evaluate(black_box(point), &mut other));
                });
            };
            race(rounds, points.len(), &mut ours, &mut plain)
        }
        Problem::UnitCommitment(_) => unreachable!("it has a bench of its own"),
    };
    print_row(name, times, bar);
}

/// Lower limits on the time of an evaluation of network design: an evaluation at 0, where every arc stays closed, and one pass
/// over the routing costs.
fn bench_floor(problem: &Problem) {
    let Problem::NetworkDesign(instance) = problem else { return };
    let mut dual = problem.dual();
    let origin = vec![0.0; dual.dim()];
    let mut subgradient = origin.clone();
    let costs: Vec<f64> = (0..instance.arcs().len()).flat_map(|arc| instance.routing_costs(arc)).copied().collect();
    let (at_zero, read) = race(
        500,
        100,
        &mut || {
            for _ in 0..100 {
                black_box(dual.evaluate(black_box(&origin), &mut subgradient).unwrap());
            }
        },
        &mut || {
            for _ in 0..100 {
                let mut lanes = [0.0; 8];
                for block in black_box(&costs).as_chunks::<8>().0 {
                    lanes.iter_mut().zip(block).for_each(|(sum, cost)| *sum += cost);
                }
                black_box(lanes);
            }
        },
    );
    println!("    of which at 0, where no arc opens: {at_zero:.2}; adding up the routing costs: {read:.2}");
}

/// Uniform numbers from 0 to 1, the same in every run.
fn uniform() -> impl FnMut() -> f64 {
    let mut state = 88_172_645_463_325_252_u64;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn bench_knapsacks() {
    let mut random = uniform();
    for items in cases([40, 100, 200, 400]) {
        let cases: Vec<(Vec<f64>, Vec<f64>, f64)> = (0..200)
            .map(|_| {
                let costs = (0..items).map(|_| 20.0 - 40.0 * random()).collect();
                let limits: Vec<f64> = (0..items).map(|_| (1.0 + 20.0 * random()).floor()).collect();
                let capacity = limits.iter().sum::<f64>() * (0.1 + 0.3 * random());
                (costs, limits, capacity)
            })
            .collect();
        let (mut knapsack, mut plain) = (ContinuousKnapsack::new(items), SortedKnapsack::new(items));
        let (mut amounts, mut other) = (vec![0.0; items], vec![0.0; items]);
        let times = race(
            100,
            cases.len(),
            &mut || {
                for (costs, limits, capacity) in &cases {
                    black_box(knapsack.solve(black_box(costs), limits, *capacity, &mut amounts));
                }
            },
            &mut || {
                for (costs, limits, capacity) in &cases {
                    black_box(plain.solve(black_box(costs), limits, *capacity, &mut other));
                }
            },
        );
        print_row(&format!("continuous knapsack, {items} items"), times, "");
    }
    for (items, capacity) in cases([(100, 87), (400, 170), (100, 800), (400, 2000)]) {
        let cases: Vec<(Vec<f64>, Vec<u32>)> = (0..50)
            .map(|_| {
                let profits = (0..items).map(|_| 300.0 - 400.0 * random()).collect();
                let weights = (0..items).map(|_| 11 + (21.0 * random()) as u32).collect();
                (profits, weights)
            })
            .collect();
        let mut knapsack = BinaryKnapsack::new(items, capacity);
        let mut plain = TableKnapsack::new(items, capacity as usize);
        let mut chosen = Vec::new();
        let times = race(
            50,
            cases.len(),
            &mut || {
                for (profits, weights) in &cases {
                    black_box(knapsack.solve(black_box(profits), weights, capacity).unwrap());
                }
            },
            &mut || {
                for (profits, weights) in &cases {
                    black_box(plain.solve(black_box(profits), weights, capacity as usize, &mut chosen));
                }
            },
        );
        print_row(&format!("0/1 knapsack, {items} items, capacity {capacity}"), times, "");
    }
}

fn main() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    if std::env::args().any(|argument| argument == "units") {
        return pool.install(bench_unit_commitment);
    }
    if !std::env::args().any(|argument| argument == "safe") {
        pool.install(bench_oracles);
        pool.install(bench_unit_commitment);
    }
    for (threads, title) in [(1, "one thread"), (2, "two threads")] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        println!("\n{:<44} {:>9} {:>10} {:>8}", format!("microseconds per call, {title}"), "safe", "oracle", "ratio");
        pool.install(bench_safe_bounds);
    }
}

/// Files of unit commitment, their formulations and bars in microseconds.
const UNIT_COMMITMENT: [(&str, Formulation, &str); 7] = [
    ("ca/2014-09-01_reserves_0", Formulation::Chp, "at most 1300"),
    ("ca/Scenario400_reserves_1", Formulation::Chp, "at most 1300"),
    ("belgian/belgian-autumnwd", Formulation::Chp, "at most 6000"),
    ("ca/2014-09-01_reserves_0", Formulation::Pglib, ""),
    ("ca/2014-09-01_reserves_3", Formulation::Pglib, ""),
    ("ferc/2015-01-01_lw", Formulation::Pglib, "at most 20000"),
    ("rts_gmlc/2020-01-27", Formulation::Pglib, ""),
];

/// Time of a call along the trajectory of the component bundle method, beside the work that the oracle states.
fn bench_unit_commitment() {
    let Some(data) = data_if_present() else { return };
    println!("\n{:<44} {:>9} {:>10}   bar", "microseconds of CPU per call, one thread", "call", "stated");
    for (file, formulation, bar) in cases(UNIT_COMMITMENT) {
        let path = data.join("unit-commitment").join(format!("{file}.json.gz"));
        let options = ReadOptions { formulation: Some(formulation), ..ReadOptions::default() };
        let problem = Problem::read(path, options).unwrap();
        let limits = Limits { steps: Some(25), ..Limits::default() };
        let method = Method::Bundle(BundleSettings::default());
        let points = visited(&mut *problem.dual(), &Settings { method, limits, ..Settings::default() });
        let mut dual = problem.dual();
        let mut subgradient = vec![0.0; dual.dim()];
        let mut best = f64::INFINITY;
        for _ in 0..10 {
            let mut clock = Stopwatch::start();
            for point in &points {
                black_box(dual.evaluate(black_box(point), &mut subgradient).unwrap());
            }
            best = best.min(clock.read() * 1e6 / points.len() as f64);
        }
        let stated = dual.work().unwrap() / 1e3;
        println!("{:<44} {best:>9.0} {stated:>10.0}   {bar}", format!("{file}, {formulation}"));
    }
}

fn bench_oracles() {
    println!("{:<44} {:>9} {:>10} {:>9}   bar", "microseconds per call, one thread", "ours", "plain", "ratio");
    bench_knapsacks();
    for (family, bar) in cases([
        (Family::McSml40, "at most 25"),
        (Family::McBig40, ""),
        (Family::Ga10x100, ""),
        (Family::Ga20x400, "at most 200"),
        (Family::Cfl20x50, ""),
        (Family::Cfl100x1000, ""),
    ]) {
        let problem = generated(family);
        bench_problem(&format!("{family}, generated"), &problem, bar);
        bench_floor(&problem);
    }
    if is_trial() {
        return;
    }
    bench_problem("mc-sml-40 with 400 commodities, generated", &many_commodities(), "");
    for (file, bar) in cases([
        ("network-design/p33.dat", "at most 25"),
        ("network-design/pN1_3.dat", ""),
        ("network-design/pN9_1.dat", "in proportion: 297 x 400 cells"),
        ("gap/e05100", ""),
        ("gap/e20100", ""),
        ("facility-location/cap41.txt", ""),
        ("facility-location/cap134.txt", ""),
        ("facility-location/capa.txt.gz", ""),
    ]) {
        if let Some(problem) = public(file) {
            bench_problem(file, &problem, bar);
            bench_floor(&problem);
        }
    }
}

fn bench_safe_bounds() {
    let families = [Family::McSml40, Family::McBig40, Family::Ga10x100, Family::Ga20x400, Family::Cfl100x1000];
    for family in cases(families) {
        bench_safe_bound(&format!("{family}, generated"), &generated(family));
    }
    if is_trial() {
        return;
    }
    bench_safe_bound("mc-sml-40 with 400 commodities, generated", &many_commodities());
    bench_safe_bound("5 bins, 100 items, weights up to 10^6", &heavy_items());
    for file in cases([
        "network-design/p33.dat",
        "network-design/pN9_1.dat",
        "gap/a05100",
        "gap/b10100",
        "gap/c20100",
        "gap/d05100",
        "gap/e05100",
        "gap/e20100",
    ]) {
        if let Some(problem) = public(file) {
            bench_safe_bound(file, &problem);
        }
    }
}

fn generated(family: Family) -> Problem {
    Generator::new(family, 1).instance(0).unwrap().problem
}

fn many_commodities() -> Problem {
    Generator::new(Family::McSml40, 1).with_commodities(400).unwrap().instance(0).unwrap().problem
}

/// An assignment whose capacities are too large for a table.
fn heavy_items() -> Problem {
    let (bins, items, mut random) = (5, 100, uniform());
    let mut below = |most: f64| 1.0 + (most * random()).floor();
    let profits = (0..bins * items).map(|_| below(1000.0)).collect();
    let weights: Vec<u32> = (0..bins * items).map(|_| below(1e6) as u32).collect();
    let capacities = weights.chunks(items).map(|weights| weights.iter().sum::<u32>() / 6).collect();
    Problem::Assignment(Assignment::new(Sense::Maximize, items, capacities, profits, weights).unwrap())
}

/// A public instance, if the data are there.
fn public(file: &str) -> Option<Problem> {
    let problem = Problem::read(data_if_present()?.join(file), ReadOptions::default());
    problem.inspect_err(|error| println!("{file}: {error}")).ok()
}
