//! A warm re-solve through C beside the same one in Rust, in turn.
//!
//! ```text
//! cargo bench -p bundlenet-c --bench overhead
//! cargo bench -p bundlenet-c --bench overhead -- 200 10 all    # variables, rounds, way to push
//! ```
//!
//! Each repetition does as a node of a branch and bound: it copies the state of the parent, sets a target, and solves with
//! at most `CALLS` oracle calls, as the parent did. Any run can be interrupted. The callback pushes minorants one by one,
//! or all at once, or writes them in place.
//!
//! Times are those of the processor. A round has memory of its own: where arrays lie changes a run by more than the
//! border costs, and that differs from round to round. Within a round, runs take turns, and the least time of each kind
//! counts: other programs on the machine only add to it. *More* is the median over all rounds of C less Rust: the cost of
//! the border. The bar is 5 microseconds. *Twin* is the same for a second run in Rust: the error of the measurement.
//! Quartiles stand in brackets.

use std::ffi::{c_int, c_void};
use std::sync::atomic::AtomicBool;

use bundlenet::{Limits, Minorants, Oracle, OracleError, Settings, SumOracle};
use bundlenet_c::*;
use bundlenet_testing::clock::Stopwatch;
use bundlenet_testing::trial::is_trial;

/// Variables, and rounds, unless arguments say otherwise.
const VARIABLES: [usize; 3] = [2, 20, 200];
const ROUNDS: usize = 40;
/// Nodes of each kind in a round.
const REPEATS: usize = 48;
const CALLS: usize = 10;
const BAR: f64 = 5.0;

/// All orders of a run in Rust, its twin and the run in C, so that caches favour none.
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1], [2, 0, 1], [1, 0, 2]];

/// The largest number of entries of a subgradient.
const MOST: usize = 4;

/// A value, and a subgradient of `count` entries.
struct Piece {
    value: f64,
    count: usize,
    coordinates: [u32; MOST],
    entries: [f64; MOST],
}

impl Piece {
    fn subgradient(&self) -> (&[u32], &[f64]) {
        (&self.coordinates[..self.count], &self.entries[..self.count])
    }
}

/// `v_a (x_a - a / 7)^2 + w_a sum (x_a - x_b)^2` for the next one to three coordinates `b`, with weights that differ.
fn component(component: usize, point: &[f64]) -> Piece {
    let golden = (0.618_034 * component as f64).fract();
    let (near, together) = (1.0 + golden, 0.3 + 0.2 * golden);
    let away = point[component] - component as f64 / 7.0;
    let mut piece = Piece { value: near * away * away, count: 1, coordinates: [0; MOST], entries: [0.0; MOST] };
    (piece.coordinates[0], piece.entries[0]) = (component as u32, 2.0 * near * away);
    for step in 1..=1 + component % (MOST - 1) {
        let next = (component + step) % point.len();
        let apart = point[component] - point[next];
        piece.value += together * apart * apart;
        piece.entries[0] += 2.0 * together * apart;
        (piece.coordinates[step], piece.entries[step]) = (next as u32, -2.0 * together * apart);
        piece.count += 1;
    }
    piece
}

struct Chain {
    linear: Vec<f64>,
}

impl Oracle for Chain {
    fn dim(&self) -> usize {
        self.linear.len()
    }

    fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        subgradient.fill(0.0);
        let mut sum = 0.0;
        for at in 0..point.len() {
            let piece = component(at, point);
            sum += piece.value;
            let (coordinates, entries) = piece.subgradient();
            coordinates.iter().zip(entries).for_each(|(&at, entry)| subgradient[at as usize] += entry);
        }
        Ok(sum)
    }

    fn work(&self) -> Option<f64> {
        Some(1000.0)
    }

    fn as_sum(&mut self) -> Option<&mut dyn SumOracle> {
        Some(self)
    }
}

impl SumOracle for Chain {
    fn component_count(&self) -> usize {
        self.linear.len()
    }

    fn linear(&self) -> &[f64] {
        &self.linear
    }

    fn evaluate_components(&mut self, point: &[f64], minorants: &mut Minorants) -> Result<(), OracleError> {
        for at in 0..point.len() {
            let piece = component(at, point);
            let (coordinates, entries) = piece.subgradient();
            minorants.push(piece.value, coordinates.iter().copied().zip(entries.iter().copied()));
        }
        Ok(())
    }

    fn fingerprint(&self, component: usize) -> Option<u64> {
        Some(component as u64)
    }
}

/// The same function for C, with a call for each minorant.
unsafe extern "C" fn one_by_one(
    _user: *mut c_void,
    dim: usize,
    point: *const f64,
    count: usize,
    components: *const usize,
    minorants: *mut bundlenet_c::Minorants,
) -> c_int {
    // SAFETY: the solver passes valid pointers.
    let (point, components) =
        unsafe { (std::slice::from_raw_parts(point, dim), std::slice::from_raw_parts(components, count)) };
    for &at in components {
        let piece = component(at, point);
        let (coordinates, entries) = piece.subgradient();
        // SAFETY: both arrays have as many entries.
        unsafe {
            bundlenet_minorants_push(minorants, piece.value, piece.count, coordinates.as_ptr(), entries.as_ptr());
        }
    }
    0
}

/// Arrays of the caller, long enough for all components.
struct Arrays {
    values: Vec<f64>,
    ends: Vec<usize>,
    coordinates: Vec<u32>,
    entries: Vec<f64>,
}

impl Arrays {
    fn new(dim: usize) -> Self {
        let (values, ends) = (vec![0.0; dim], vec![0; dim]);
        Self { values, ends, coordinates: vec![0; MOST * dim], entries: vec![0.0; MOST * dim] }
    }
}

/// The same function for C, with one call for all minorants.
unsafe extern "C" fn all_at_once(
    user: *mut c_void,
    dim: usize,
    point: *const f64,
    count: usize,
    components: *const usize,
    minorants: *mut bundlenet_c::Minorants,
) -> c_int {
    // SAFETY: the solver passes valid pointers, and `user` points to the arrays.
    let (point, components, arrays) = unsafe {
        let arrays = &mut *user.cast::<Arrays>();
        (std::slice::from_raw_parts(point, dim), std::slice::from_raw_parts(components, count), arrays)
    };
    let mut length = 0;
    for ((&at, value), end) in components.iter().zip(&mut arrays.values).zip(&mut arrays.ends) {
        let piece = component(at, point);
        *value = piece.value;
        let (coordinates, entries) = piece.subgradient();
        for (&coordinate, &entry) in coordinates.iter().zip(entries) {
            (arrays.coordinates[length], arrays.entries[length]) = (coordinate, entry);
            length += 1;
        }
        *end = length;
    }
    let Arrays { values, ends, coordinates, entries } = arrays;
    let (values, ends) = (values.as_ptr(), ends.as_ptr());
    // SAFETY: the arrays have as many entries.
    unsafe { bundlenet_minorants_push_all(minorants, count, values, ends, coordinates.as_ptr(), entries.as_ptr()) };
    0
}

/// The same function for C, written into the arrays of the solver.
unsafe extern "C" fn in_place(
    _user: *mut c_void,
    dim: usize,
    point: *const f64,
    count: usize,
    components: *const usize,
    values: *mut f64,
    ends: *mut usize,
    coordinates: *mut u32,
    entries: *mut f64,
) -> c_int {
    use std::slice::{from_raw_parts, from_raw_parts_mut};
    // SAFETY: the solver passes valid pointers, with room for all entries.
    let (point, components, values, ends, all_coordinates, all_entries) = unsafe {
        let (values, ends) = (from_raw_parts_mut(values, count), from_raw_parts_mut(ends, count));
        let (coordinates, entries) =
            (from_raw_parts_mut(coordinates, MOST * dim), from_raw_parts_mut(entries, MOST * dim));
        (from_raw_parts(point, dim), from_raw_parts(components, count), values, ends, coordinates, entries)
    };
    let mut length = 0;
    for ((&at, value), end) in components.iter().zip(values).zip(ends) {
        let piece = component(at, point);
        *value = piece.value;
        let (coordinates, entries) = piece.subgradient();
        for (&coordinate, &entry) in coordinates.iter().zip(entries) {
            (all_coordinates[length], all_entries[length]) = (coordinate, entry);
            length += 1;
        }
        *end = length;
    }
    0
}

fn settings() -> Settings {
    let limits = Limits { target: Some(-1.0), oracle_calls: Some(CALLS), steps: Some(10_000), ..Limits::default() };
    Settings { limits, ..Settings::default() }
}

/// Seconds of one node in Rust, and its value.
#[inline(never)]
fn in_rust(chain: &mut Chain, parent: &bundlenet::State) -> (f64, f64) {
    let mut watch = Stopwatch::start();
    let (mut state, interrupt) = (parent.clone(), AtomicBool::new(false));
    let solver = bundlenet::Solver::new(settings()).unwrap().interrupt(&interrupt);
    let solution = solver.state(&mut state).solve(chain).unwrap();
    let value = solution.value;
    drop((solution, state));
    (watch.read(), value)
}

/// Seconds of one node in C, and its value.
#[inline(never)]
fn in_c(solver: *mut bundlenet_c::Solver, parent: *const bundlenet_c::State) -> (f64, f64) {
    let mut watch = Stopwatch::start();
    let mut result = std::mem::MaybeUninit::<Outcome>::uninit();
    // SAFETY: all pointers are valid; the result is written if there is no error.
    let value = unsafe {
        let state = bundlenet_state_copy(parent);
        assert_eq!(bundlenet_solver_set_number(solver, c"limits.target".as_ptr(), -1.0), Code::Ok);
        let code = bundlenet_solve(solver, 0, std::ptr::null(), state, result.as_mut_ptr());
        assert_eq!(code, Code::Ok);
        bundlenet_state_free(state);
        result.assume_init().value
    };
    (watch.read(), value)
}

/// Lower quartile, median and upper quartile.
fn quartiles(mut numbers: Vec<f64>) -> [f64; 3] {
    numbers.sort_by(f64::total_cmp);
    [1, 2, 3].map(|part| numbers[part * (numbers.len() - 1) / 4])
}

/// The way in which a callback returns minorants.
#[derive(Clone, Copy)]
enum Way {
    List(EvaluateComponents),
    InPlace(EvaluateInPlace),
}

const WAYS: [(&str, Way); 3] = [
    ("one by one", Way::List(Some(one_by_one))),
    ("all at once", Way::List(Some(all_at_once))),
    ("in place", Way::InPlace(Some(in_place))),
];

/// A solver with the chain, and the state of its parent.
struct Node {
    solver: *mut bundlenet_c::Solver,
    parent: *mut bundlenet_c::State,
}

impl Node {
    fn new(dim: usize, way: Way, arrays: &mut Arrays) -> Self {
        let (solver, parent) = (bundlenet_solver_new(dim), bundlenet_state_new());
        let fingerprints: Vec<u64> = (0..dim as u64).collect();
        let user = std::ptr::from_mut(arrays).cast();
        // SAFETY: the pointers are valid or null, and the arrays have `dim` entries.
        unsafe {
            let code = match way {
                Way::List(evaluate) => bundlenet_solver_set_components(solver, dim, evaluate, user),
                Way::InPlace(evaluate) => {
                    bundlenet_solver_set_components_in_place(solver, dim, MOST * dim, evaluate, user)
                }
            };
            assert_eq!(code, Code::Ok);
            assert_eq!(bundlenet_solver_set_work(solver, 1000.0), Code::Ok);
            assert_eq!(bundlenet_solver_set_fingerprints(solver, dim, fingerprints.as_ptr()), Code::Ok);
            let limit = bundlenet_solver_set_number(solver, c"limits.oracle_calls".as_ptr(), CALLS as f64);
            assert_eq!(limit, Code::Ok);
            let code = bundlenet_solve(solver, 0, std::ptr::null(), parent, std::ptr::null_mut());
            assert_eq!(code, Code::Ok);
        }
        Self { solver, parent }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // SAFETY: nobody uses them any more.
        unsafe {
            bundlenet_solver_free(self.solver);
            bundlenet_state_free(self.parent);
        }
    }
}

/// Lets the allocator keep its memory. Otherwise it gives pages back after a run, and the next run waits for new ones:
/// how many depends on the order of addresses, and they cost more than the border.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn keep_memory() {
    unsafe extern "C" {
        fn mallopt(parameter: c_int, value: c_int) -> c_int;
    }
    const TRIM_THRESHOLD: c_int = -1;
    const MMAP_THRESHOLD: c_int = -3;
    for parameter in [TRIM_THRESHOLD, MMAP_THRESHOLD] {
        // SAFETY: the function takes any numbers.
        assert_eq!(unsafe { mallopt(parameter, 1 << 25) }, 1, "the allocator takes the parameter");
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn keep_memory() {}

/// The least microseconds of a node in Rust, of its twin and of the node in C, in memory of their own.
fn round(number: usize, dim: usize, way: Way) -> [f64; 3] {
    // Arrays of odd sizes in between move the others.
    let gap = |place: usize| vec![0_u8; 16 + (977 * (3 * number + place)) % 8192];
    let gaps = [0, 1, 2].map(gap);
    let [mut chain, mut twin] = [0, 1].map(|_| Chain { linear: vec![0.0; dim] });
    let mut parent = bundlenet::State::new();
    bundlenet::Solver::new(settings()).unwrap().state(&mut parent).solve(&mut chain).unwrap();
    let twin_parent = parent.clone();
    let mut arrays = Arrays::new(dim);
    let node = Node::new(dim, way, &mut arrays);
    let mut least = [f64::INFINITY; 3];
    for repeat in 0..REPEATS {
        let mut values = [0.0; 3];
        for which in ORDERS[repeat % ORDERS.len()] {
            let (seconds, value) = match which {
                0 => in_rust(&mut chain, &parent),
                1 => in_rust(&mut twin, &twin_parent),
                _ => in_c(node.solver, node.parent),
            };
            (least[which], values[which]) = (least[which].min(1e6 * seconds), value);
        }
        assert!(values.iter().all(|value| value.to_bits() == values[0].to_bits()), "all runs have the same value");
    }
    drop(gaps);
    least
}

fn main() {
    keep_memory();
    println!("{:>10} {:>14} {:>10} {:>24} {:>24}", "variables", "pushed", "Rust us", "more us", "twin us");
    // Cargo adds options of its own.
    let numbers: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let rounds = numbers.get(1).copied().unwrap_or(if is_trial() { 1 } else { ROUNDS });
    for dim in numbers.first().map_or(VARIABLES.to_vec(), |&dim| vec![dim]) {
        let is_wanted = |name: &str| {
            let words =
                std::env::args().skip(1).filter(|word| !word.starts_with('-') && word.parse::<usize>().is_err());
            let words: Vec<String> = words.collect();
            words.is_empty() || words.iter().any(|word| name.starts_with(word))
        };
        for (name, way) in WAYS.into_iter().filter(|(name, _)| is_wanted(name)) {
            let least: Vec<[f64; 3]> = (0..rounds).map(|number| round(number, dim, way)).collect();
            let of = |which: usize| quartiles(least.iter().map(|times| times[which] - times[0]).collect());
            let [low, more, high] = of(2);
            let [twin_low, twin, twin_high] = of(1);
            let [_, rust, _] = quartiles(least.iter().map(|times| times[0]).collect());
            let is_held = if more <= BAR { "held" } else { "missed" };
            let (more, twin) =
                (format!("{more:.2} ({low:.2} to {high:.2})"), format!("{twin:.2} ({twin_low:.2} to {twin_high:.2})"));
            println!("{dim:>10} {name:>14} {rust:>10.1} {more:>24} {twin:>24}  bar of {BAR} us {is_held}");
        }
    }
}
