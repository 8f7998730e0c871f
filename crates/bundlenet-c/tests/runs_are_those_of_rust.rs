//! Runs through C are those of Rust: sums, intervals, boxes, senses, states, observers and interrupts, on many threads.

use std::ffi::{CString, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering};

use bundlenet_c::*;

/// `max over pieces of (slope x + constant)` for each component, with a width of the interval.
#[derive(Clone)]
struct Pieces {
    components: Vec<Vec<(f64, f64)>>,
    width: f64,
    sign: f64,
    wishes: usize,
}

impl Pieces {
    fn random(seed: u64) -> Self {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
        };
        let components = (0..3).map(|_| (0..4).map(|_| (4.0 * next(), next())).collect()).collect();
        Self { components, width: 0.0, sign: 1.0, wishes: 0 }
    }

    fn at(&self, component: usize, x: f64) -> (f64, f64) {
        let values = self.components[component].iter().map(|&(slope, constant)| (slope * x + constant, slope));
        let best = values.fold((f64::NEG_INFINITY, 0.0), |best, next| if next.0 > best.0 { next } else { best });
        (self.sign * best.0, self.sign * best.1)
    }

    /// The least value over [-1, 1], by all corners.
    fn optimum(&self) -> f64 {
        let mut corners = vec![-1.0, 1.0];
        for pieces in &self.components {
            for (first, a) in pieces.iter().enumerate() {
                corners.extend(pieces[..first].iter().map(|b| (b.1 - a.1) / (a.0 - b.0)).filter(|x| x.abs() <= 1.0));
            }
        }
        let value = |x: f64| (0..3).map(|component| self.sign * self.at(component, x).0).sum::<f64>();
        self.sign * corners.into_iter().map(value).fold(f64::INFINITY, f64::min)
    }
}

unsafe extern "C" fn components(
    user: *mut c_void,
    _dim: usize,
    point: *const f64,
    count: usize,
    which: *const usize,
    list: *mut Minorants,
) -> c_int {
    // SAFETY: the test passes pieces, the solver the arrays.
    let (pieces, x, which) = unsafe { (&*user.cast::<Pieces>(), *point, std::slice::from_raw_parts(which, count)) };
    if pieces.width == 0.0 && count > 1 {
        let (values, slopes): (Vec<f64>, Vec<f64>) = which.iter().map(|&component| pieces.at(component, x)).unzip();
        let (ends, zeros): (Vec<usize>, Vec<u32>) = (1..=count).map(|end| (end, 0)).unzip();
        let (values, ends) = (values.as_ptr(), ends.as_ptr());
        // SAFETY: the arrays have an entry for each component.
        let code = unsafe { bundlenet_minorants_push_all(list, count, values, ends, zeros.as_ptr(), slopes.as_ptr()) };
        assert_eq!(code, Code::Ok);
        return 0;
    }
    for &component in which {
        let (value, slope) = pieces.at(component, x);
        // SAFETY: the arrays have one entry.
        let code = unsafe {
            match pieces.width {
                0.0 => bundlenet_minorants_push(list, value, 1, &0, &slope),
                width => bundlenet_minorants_push_within(list, value, value + pieces.sign * width, 1, &0, &slope),
            }
        };
        assert_eq!(code, Code::Ok);
    }
    0
}

unsafe extern "C" fn in_place(
    user: *mut c_void,
    _dim: usize,
    point: *const f64,
    count: usize,
    which: *const usize,
    values: *mut f64,
    ends: *mut usize,
    coordinates: *mut u32,
    entries: *mut f64,
) -> c_int {
    for place in 0..count {
        // SAFETY: the test passes pieces, the solver the arrays, with room for one entry of each component.
        unsafe {
            let pieces = &*user.cast::<Pieces>();
            (*values.add(place), *entries.add(place)) = pieces.at(*which.add(place), *point);
            (*coordinates.add(place), *ends.add(place)) = (0, place + 1);
        }
    }
    0
}

unsafe extern "C" fn whole(
    user: *mut c_void,
    _dim: usize,
    point: *const f64,
    cut: *mut f64,
    bound: *mut f64,
    slope: *mut f64,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        let pieces = &*user.cast::<Pieces>();
        let each = (0..3).map(|component| pieces.at(component, *point));
        (*cut, *slope) = each.fold((0.0, 0.0), |sum, next| (sum.0 + next.0, sum.1 + next.1));
        *bound = *cut + pieces.sign * pieces.width;
    }
    0
}

unsafe extern "C" fn wish(user: *mut c_void, accuracy: f64) {
    assert!(accuracy >= 0.0);
    // SAFETY: as above.
    unsafe { (*user.cast::<Pieces>()).wishes += 1 };
}

/// The callback of a function.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Whole,
    List,
    InPlace,
}

/// Solves over [-1, 1], twice, and returns both results. The second run has the state of the first.
fn solve(pieces: &mut Pieces, form: Form, method: &str) -> [Outcome; 2] {
    let solver = bundlenet_solver_new(1);
    let state = bundlenet_state_new();
    let (user, method) = ((&raw mut *pieces).cast::<c_void>(), CString::new(method).unwrap());
    let results = [(), ()].map(|()| {
        let mut result = std::mem::MaybeUninit::uninit();
        // SAFETY: all pointers are valid.
        unsafe {
            let code = match form {
                Form::Whole => bundlenet_solver_set_function_within(solver, Some(whole), user),
                Form::List => bundlenet_solver_set_components(solver, 3, Some(components), user),
                Form::InPlace => bundlenet_solver_set_components_in_place(solver, 3, 3, Some(in_place), user),
            };
            assert_eq!(code, Code::Ok);
            if form != Form::Whole {
                assert_eq!(bundlenet_solver_set_fingerprints(solver, 3, [1, 2, 3].as_ptr()), Code::Ok);
            }
            assert_eq!(bundlenet_solver_set_wish(solver, Some(wish), user), Code::Ok);
            assert_eq!(bundlenet_solver_set_box(solver, 1, &-1.0, &1.0), Code::Ok);
            assert_eq!(bundlenet_solver_set_sense(solver, c_int::from(pieces.sign < 0.0)), Code::Ok);
            assert_eq!(bundlenet_solver_set(solver, c"method".as_ptr(), method.as_ptr()), Code::Ok);
            let code = bundlenet_solve(solver, 1, &0.9, state, result.as_mut_ptr());
            assert_eq!(code, Code::Ok);
            result.assume_init()
        }
    });
    // SAFETY: nobody uses them any more.
    unsafe {
        bundlenet_solver_free(solver);
        bundlenet_state_free(state);
    }
    results
}

#[test]
fn optima_are_right_on_many_threads() {
    let solved = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let solved = &solved;
            scope.spawn(move || {
                for seed in 0..25 {
                    let mut pieces = Pieces::random(100 * thread + seed + 1);
                    pieces.sign = if seed % 2 == 0 { 1.0 } else { -1.0 };
                    for (form, method) in
                        [(Form::List, "auto"), (Form::Whole, "auto"), (Form::List, "bundle"), (Form::List, "descent")]
                    {
                        let [first, second] = solve(&mut pieces, form, method);
                        let optimum = pieces.optimum();
                        let accuracy = if method == "descent" { 0.1 } else { 1e-6 };
                        for result in [first, second] {
                            let error = pieces.sign * (result.value - optimum);
                            assert!((-1e-9..accuracy).contains(&error), "{method} {error} {result:?}");
                        }
                        if method != "descent" && form == Form::List {
                            assert_eq!((first.status, second.status), (Status::Optimal, Status::Optimal));
                            assert!(second.certificate <= 1e-7 && second.cuts_dropped == 0, "{second:?}");
                        }
                        solved.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    assert_eq!(solved.into_inner(), 800);
}

/// Components that are written in place have the runs of those in a list.
#[test]
fn components_in_place_are_those_of_a_list() {
    for seed in 1..30 {
        for method in ["auto", "bundle", "descent"] {
            let mut pieces = Pieces::random(seed);
            let facts =
                |result: Outcome| (result.value.to_bits(), result.steps, result.oracle_calls, result.cuts_reused);
            let list = solve(&mut pieces, Form::List, method).map(facts);
            assert_eq!(solve(&mut pieces, Form::InPlace, method).map(facts), list, "{seed} {method}");
        }
    }
}

/// The value of an inexact function is a valid bound, and its gap is at most the width of its intervals.
#[test]
fn intervals_are_respected() {
    for seed in 1..30 {
        for (form, sign) in [(Form::List, 1.0), (Form::List, -1.0), (Form::Whole, 1.0), (Form::Whole, -1.0)] {
            let mut pieces = Pieces { width: 0.01, sign, ..Pieces::random(seed) };
            let [result, _] = solve(&mut pieces, form, "bundle");
            let error = sign * (result.value - pieces.optimum());
            assert!((0.0..0.07).contains(&error), "{error} {result:?}");
            assert!(result.oracle_calls <= 1 || pieces.wishes > 0 || result.status == Status::Optimal);
        }
    }
}

#[test]
fn observers_and_interrupts_end_runs() {
    unsafe extern "C" fn observe(user: *mut c_void, step: *const Step) -> c_int {
        // SAFETY: `user` counts the calls.
        unsafe {
            let calls = &mut *user.cast::<usize>();
            assert_eq!((*step).step, *calls);
            *calls += 1;
            c_int::from(*calls == 2)
        }
    }
    let mut pieces = Pieces::random(5);
    let (solver, mut calls) = (bundlenet_solver_new(1), 0_usize);
    let mut result = std::mem::MaybeUninit::<Outcome>::uninit();
    // SAFETY: all pointers are valid.
    unsafe {
        bundlenet_solver_set_function_within(solver, Some(whole), (&raw mut pieces).cast());
        bundlenet_solver_set_box(solver, 1, &-1.0, &1.0);
        bundlenet_solver_set_observer(solver, Some(observe), (&raw mut calls).cast());
        assert_eq!(bundlenet_solve(solver, 0, null(), null_mut(), result.as_mut_ptr()), Code::Ok);
        assert!(calls == 2 && result.assume_init_ref().status == Status::Interrupted);
        bundlenet_solver_set_observer(solver, None, null_mut());
        assert_eq!(bundlenet_solver_interrupt(solver), Code::Ok);
        assert_eq!(bundlenet_solve(solver, 0, null(), null_mut(), result.as_mut_ptr()), Code::Ok);
        assert_eq!(result.assume_init_ref().status, Status::Interrupted);
        // The interrupt is over.
        assert_eq!(bundlenet_solve(solver, 0, null(), null_mut(), result.as_mut_ptr()), Code::Ok);
        assert_eq!(result.assume_init_ref().status, Status::Optimal);
        bundlenet_solver_free(solver);
    }
}

#[test]
fn states_go_to_files_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = CString::new(folder.path().join("parent.state").to_str().unwrap()).unwrap();
    let mut pieces = Pieces::random(9);
    let (solver, state, read) = (bundlenet_solver_new(1), bundlenet_state_new(), bundlenet_state_new());
    let mut result = std::mem::MaybeUninit::<Outcome>::uninit();
    // SAFETY: all pointers are valid.
    unsafe {
        bundlenet_solver_set_components(solver, 3, Some(components), (&raw mut pieces).cast());
        bundlenet_solver_set_fingerprints(solver, 3, [7, 8, 9].as_ptr());
        bundlenet_solver_set_box(solver, 1, &-1.0, &1.0);
        assert_eq!(bundlenet_solve(solver, 0, null(), state, null_mut()), Code::Ok);
        assert_eq!(bundlenet_state_save(state, path.as_ptr()), Code::Ok);
        assert_eq!(bundlenet_state_load(read, path.as_ptr()), Code::Ok);
        assert_eq!(bundlenet_state_cuts(read), bundlenet_state_cuts(state));
        assert_eq!(bundlenet_solve(solver, 0, null(), read, result.as_mut_ptr()), Code::Ok);
        assert!(result.assume_init_ref().cuts_reused > 0);
        assert_eq!(bundlenet_state_load(read, c"missing.state".as_ptr()), Code::File);
        let message = std::ffi::CStr::from_ptr(bundlenet_state_message(read)).to_str().unwrap();
        assert!(message.starts_with("cannot read missing.state"), "{message}");
        bundlenet_solver_free(solver);
        bundlenet_state_free(state);
        bundlenet_state_free(read);
    }
}

/// A knapsack for each of two bins, as `max over x in {0, 1} of (profit - u) x`, with a solution for each cut. The
/// relaxed row lets the item be in one bin.
unsafe extern "C" fn bins(
    _user: *mut c_void,
    _dim: usize,
    point: *const f64,
    count: usize,
    which: *const usize,
    list: *mut Minorants,
) -> c_int {
    // SAFETY: the solver passes valid pointers.
    let (u, which) = unsafe { (*point, std::slice::from_raw_parts(which, count)) };
    for &bin in which {
        let (profit, variable) = ([5.0, 3.0][bin], bin as u32);
        let taken = usize::from(profit > u);
        // SAFETY: the arrays have one entry, the list is valid.
        unsafe {
            assert_eq!(bundlenet_minorants_push(list, (profit - u).max(0.0), taken, &0, &-1.0), Code::Ok);
            let cost = profit * taken as f64;
            assert_eq!(bundlenet_minorants_solution(list, cost, taken, &variable, &1.0), Code::Ok);
            assert_eq!(bundlenet_minorants_solution(list, cost, taken, &variable, &1.0), Code::Length);
        }
    }
    0
}

/// The convex combination of solutions satisfies the relaxed row and has the value of the dual.
#[test]
fn primal_solutions_are_returned() {
    let solver = bundlenet_solver_new(1);
    let mut primal = std::mem::MaybeUninit::<Primal>::uninit();
    // SAFETY: all pointers are valid; the solution is written if there is no error.
    unsafe {
        assert_eq!(bundlenet_solver_set_components(solver, 2, Some(bins), std::ptr::null_mut()), Code::Ok);
        assert_eq!(bundlenet_solver_set_linear(solver, 1, &1.0), Code::Ok);
        assert_eq!(bundlenet_solver_set_box(solver, 1, &0.0, std::ptr::null()), Code::Ok);
        assert_eq!(bundlenet_solver_primal(solver, primal.as_mut_ptr()), Code::Setting);
        assert_eq!(bundlenet_solver_set_primal(solver, 1), Code::Ok);
        let mut result = std::mem::MaybeUninit::uninit();
        let code = bundlenet_solve(solver, 0, std::ptr::null(), std::ptr::null_mut(), result.as_mut_ptr());
        assert_eq!(code, Code::Ok);
        assert!((result.assume_init().value - 5.0).abs() < 1e-6);
        assert_eq!(bundlenet_solver_primal(solver, std::ptr::null_mut()), Code::Null);
        assert_eq!(bundlenet_solver_primal(solver, primal.as_mut_ptr()), Code::Ok);
        let Primal { cost, count, variables, values } = primal.assume_init();
        let variables = std::slice::from_raw_parts(variables, count);
        let values = std::slice::from_raw_parts(values, count);
        let both: f64 = values.iter().sum();
        assert!((cost - 5.0).abs() < 1e-5 && variables[0] == 0 && both < 1.0 + 1e-6, "{cost} {variables:?} {values:?}");
        bundlenet_solver_free(solver);
    }
}
