//! Null pointers, wrong lengths, unusable numbers and wrong settings become codes with messages. Nothing is undefined.

use std::ffi::{CStr, c_int, c_void};
use std::ptr::{null, null_mut};

use bundlenet_c::*;

/// `|x - 3| + |y + 1|`, and a count of calls in `user` if there is one.
unsafe extern "C" fn distance(
    user: *mut c_void,
    dim: usize,
    point: *const f64,
    value: *mut f64,
    slope: *mut f64,
) -> c_int {
    assert_eq!(dim, 2);
    // SAFETY: the arrays have two entries.
    unsafe {
        if let Some(calls) = user.cast::<usize>().as_mut() {
            *calls += 1;
        }
        let (x, y) = (*point - 3.0, *point.add(1) + 1.0);
        *value = x.abs() + y.abs();
        *slope = x.signum();
        *slope.add(1) = y.signum();
    }
    0
}

unsafe extern "C" fn failing(
    user: *mut c_void,
    dim: usize,
    point: *const f64,
    value: *mut f64,
    slope: *mut f64,
) -> c_int {
    // SAFETY: `user` counts down the calls until a failure.
    unsafe {
        let left = &mut *user.cast::<usize>();
        *left -= 1;
        if *left == 0 { 42 } else { distance(null_mut(), dim, point, value, slope) }
    }
}

/// Writes nothing.
unsafe extern "C" fn silent(_: *mut c_void, _: usize, _: *const f64, _: *mut f64, _: *mut f64) -> c_int {
    0
}

unsafe extern "C" fn missing(
    _: *mut c_void,
    _: usize,
    _: *const f64,
    _: usize,
    _: *const usize,
    _: *mut Minorants,
) -> c_int {
    0
}

/// Pushes a component with a coordinate that does not exist, after wrong pushes that are refused.
unsafe extern "C" fn outside(
    _: *mut c_void,
    _: usize,
    _: *const f64,
    _: usize,
    _: *const usize,
    list: *mut Minorants,
) -> c_int {
    let (coordinate, entry) = (7_u32, 1.0);
    // SAFETY: the pointers are valid or null.
    unsafe {
        assert_eq!(bundlenet_minorants_push_more(list, 1.0, 0, null(), null()), Code::Length);
        assert_eq!(bundlenet_minorants_push(list, 1.0, 1, null(), &entry), Code::Null);
        assert_eq!(bundlenet_minorants_push(null_mut(), 1.0, 0, null(), null()), Code::Null);
        let (values, ends) = ([1.0, 2.0], [1, 0]);
        let push_all = |list, values, ends: &[usize; 2], coordinates, entries| {
            bundlenet_minorants_push_all(list, 2, values, ends.as_ptr(), coordinates, entries)
        };
        assert_eq!(push_all(list, values.as_ptr(), &ends, &coordinate, &entry), Code::Length);
        assert_eq!(push_all(list, values.as_ptr(), &[0, 1], null(), &entry), Code::Null);
        assert_eq!(push_all(list, null(), &[0, 1], &coordinate, &entry), Code::Null);
        assert_eq!(push_all(null_mut(), values.as_ptr(), &[0, 1], &coordinate, &entry), Code::Null);
        assert_eq!(bundlenet_minorants_push_all(list, 0, null(), null(), null(), null()), Code::Ok);
        assert_eq!(bundlenet_minorants_push(list, 1.0, 1, &coordinate, &entry), Code::Ok);
    }
    0
}

/// Makes the mistake that `user` names.
unsafe extern "C" fn wrong_in_place(
    user: *mut c_void,
    _: usize,
    _: *const f64,
    _: usize,
    _: *const usize,
    values: *mut f64,
    ends: *mut usize,
    coordinates: *mut u32,
    entries: *mut f64,
) -> c_int {
    // SAFETY: `user` is a mistake; there is room for a component with an entry.
    unsafe {
        match *user.cast::<Mistake>() {
            Mistake::Coordinate => (*values, *ends, *coordinates, *entries) = (1.0, 1, 7, 1.0),
            Mistake::End => (*values, *ends) = (1.0, 2),
            Mistake::NoEnd => *values = 1.0,
            Mistake::NoValue => *ends = 0,
            Mistake::Failure => return 3,
        }
    }
    0
}

#[derive(Clone, Copy)]
enum Mistake {
    Coordinate,
    End,
    NoEnd,
    NoValue,
    Failure,
}

struct Handle(*mut Solver);

impl Handle {
    fn new(evaluate: Evaluate, user: *mut c_void) -> Self {
        let solver = bundlenet_solver_new(2);
        // SAFETY: the solver is valid.
        unsafe { assert_eq!(bundlenet_solver_set_function(solver, evaluate, user), Code::Ok) };
        Self(solver)
    }

    fn message(&self) -> String {
        // SAFETY: the message ends with zero.
        unsafe { CStr::from_ptr(bundlenet_solver_message(self.0)) }.to_str().unwrap().to_string()
    }

    /// Solves and returns the result, if there is one.
    fn solve(&self, start: &[f64]) -> Result<Outcome, (Code, String)> {
        let mut result = std::mem::MaybeUninit::uninit();
        let point = if start.is_empty() { null() } else { start.as_ptr() };
        // SAFETY: the pointers are valid or null; without an error the result is written.
        unsafe {
            match bundlenet_solve(self.0, start.len(), point, null_mut(), result.as_mut_ptr()) {
                Code::Ok => Ok(result.assume_init()),
                code => Err((code, self.message())),
            }
        }
    }

    fn set(&self, name: &CStr, value: Option<&CStr>) -> Result<(), (Code, String)> {
        // SAFETY: the texts end with zero.
        match unsafe { bundlenet_solver_set(self.0, name.as_ptr(), value.map_or(null(), CStr::as_ptr)) } {
            Code::Ok => Ok(()),
            code => Err((code, self.message())),
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: nobody else uses the solver.
        unsafe { bundlenet_solver_free(self.0) };
    }
}

#[test]
fn null_pointers_are_reported() {
    let handle = Handle::new(Some(distance), null_mut());
    let (one, hash) = (1.0, 1_u64);
    // SAFETY: this test is about null pointers.
    unsafe {
        for code in [
            bundlenet_solver_set_function(null_mut(), Some(distance), null_mut()),
            bundlenet_solver_set_function(handle.0, None, null_mut()),
            bundlenet_solver_set_function_within(handle.0, None, null_mut()),
            bundlenet_solver_set_components(handle.0, 1, None, null_mut()),
            bundlenet_solver_set_components_in_place(handle.0, 1, 1, None, null_mut()),
            bundlenet_solver_set_linear(handle.0, 2, null()),
            bundlenet_solver_set_linear(null_mut(), 1, &one),
            bundlenet_solver_set_multiplicities(null_mut(), 1, &one),
            bundlenet_solver_set_fingerprints(null_mut(), 1, &hash),
            bundlenet_solver_set_scales(handle.0, 2, null()),
            bundlenet_solver_set_box(null_mut(), 2, null(), null()),
            bundlenet_solver_set_sense(null_mut(), 0),
            bundlenet_solver_set(handle.0, null(), null()),
            bundlenet_solver_set(null_mut(), c"tolerance".as_ptr(), null()),
            bundlenet_solver_set_number(handle.0, null(), 1.0),
            bundlenet_solver_set_observer(null_mut(), None, null_mut()),
            bundlenet_solver_interrupt(null_mut()),
            bundlenet_solve(null_mut(), 0, null(), null_mut(), null_mut()),
            bundlenet_solve(handle.0, 2, null(), null_mut(), null_mut()),
            bundlenet_state_trust_cuts(null_mut()),
            bundlenet_state_point(null(), 2, null_mut(), null_mut()),
            bundlenet_state_save(null(), c"f".as_ptr()),
            bundlenet_state_load(null_mut(), c"f".as_ptr()),
        ] {
            assert_eq!(code, Code::Null);
        }
        assert!(bundlenet_state_copy(null()).is_null() && bundlenet_state_cuts(null()) == 0);
        assert_eq!(CStr::from_ptr(bundlenet_solver_message(null())), c"the solver is NULL");
        assert_eq!(CStr::from_ptr(bundlenet_state_message(null())), c"the state is NULL");
        bundlenet_solver_free(null_mut());
        bundlenet_state_free(null_mut());
        assert_eq!(bundlenet_solve(handle.0, 0, null(), null_mut(), null_mut()), Code::Ok);
    }
    assert_eq!(handle.message(), "start: expected a pointer, found NULL");
}

#[test]
fn lengths_are_checked() {
    let handle = Handle::new(Some(distance), null_mut());
    let (numbers, hashes) = ([0.0; 3], [0_u64; 3]);
    let (numbers, hashes) = (numbers.as_ptr(), hashes.as_ptr());
    // SAFETY: the arrays have as many entries as the calls say, or more.
    unsafe {
        for code in [
            bundlenet_solver_set_box(handle.0, 3, numbers, null()),
            bundlenet_solver_set_box(handle.0, 3, null(), null()),
            bundlenet_solver_set_minimizer_box(handle.0, 1, numbers, numbers),
            bundlenet_solver_set_scales(handle.0, 3, numbers),
            bundlenet_solver_set_linear(handle.0, 1, numbers),
            bundlenet_solver_set_multiplicities(handle.0, 3, numbers),
            bundlenet_solver_set_fingerprints(handle.0, 3, hashes),
        ] {
            assert_eq!(code, Code::Length);
        }
    }
    assert_eq!(handle.message(), "fingerprints: expected 0 entries, found 3");
    let (code, message) = handle.solve(&[1.0, 2.0, 3.0]).unwrap_err();
    assert_eq!(code, Code::Oracle);
    assert!(message.contains("expected 2, found 3"), "{message}");
    let state = bundlenet_state_new();
    let mut point = [0.0; 3];
    // SAFETY: the array has three entries.
    unsafe {
        assert_eq!(bundlenet_state_point(state, 2, point.as_mut_ptr(), null_mut()), Code::Length);
        assert_eq!(bundlenet_solve(handle.0, 0, null(), state, null_mut()), Code::Ok);
        assert_eq!(bundlenet_state_point(state, 3, point.as_mut_ptr(), null_mut()), Code::Length);
        assert_eq!(bundlenet_state_point(state, 2, null_mut(), null_mut()), Code::Null);
        assert_eq!(bundlenet_state_point(state, 2, point.as_mut_ptr(), &mut point[2]), Code::Ok);
        let other = bundlenet_solver_new(3);
        assert_eq!(bundlenet_solver_set_function(other, Some(silent), null_mut()), Code::Ok);
        assert_eq!(bundlenet_solve(other, 0, null(), state, null_mut()), Code::Oracle);
        bundlenet_solver_free(other);
        bundlenet_state_free(state);
    }
    assert!((point[0] - 3.0).abs() < 1e-5 && (point[1] + 1.0).abs() < 1e-5 && point[2] < 1e-5);
}

#[test]
fn unusable_numbers_are_reported() {
    let handle = Handle::new(Some(silent), null_mut());
    assert!(handle.solve(&[]).unwrap_err().1.contains("expected a finite number, found NaN"));
    let handle = Handle::new(Some(distance), null_mut());
    for wrong in [f64::NAN, f64::INFINITY] {
        assert_eq!(handle.solve(&[wrong, 0.0]).unwrap_err().0, Code::Oracle);
    }
    let corner = [f64::NAN, 0.0];
    // SAFETY: the arrays have two entries.
    unsafe {
        assert_eq!(bundlenet_solver_set_work(handle.0, f64::NAN), Code::Setting);
        assert_eq!(bundlenet_solver_set_sense(handle.0, 2), Code::Setting);
        assert_eq!(bundlenet_solver_set_number(handle.0, c"limits.seconds".as_ptr(), f64::NAN), Code::Setting);
        assert_eq!(bundlenet_solver_set_number(handle.0, c"limits.steps".as_ptr(), 1.5), Code::Setting);
        assert_eq!(bundlenet_solver_set_box(handle.0, 2, corner.as_ptr(), null()), Code::Ok);
    }
    let (code, message) = handle.solve(&[]).unwrap_err();
    assert!(code == Code::Oracle && message.contains("domain is empty"), "{message}");
    let empty = Handle(bundlenet_solver_new(0));
    assert!(empty.solve(&[]).unwrap_err().1.contains("no variables"));
    let without = Handle(bundlenet_solver_new(2));
    assert!(without.solve(&[]).unwrap_err().1.contains("there is no callback"));
}

#[test]
fn components_are_checked() {
    let solver = Handle(bundlenet_solver_new(2));
    // SAFETY: the solver is valid.
    let set = |evaluate| unsafe { bundlenet_solver_set_components(solver.0, 1, Some(evaluate), null_mut()) };
    for method in [c"auto", c"bundle", c"descent"] {
        solver.set(c"method", Some(method)).unwrap();
        assert_eq!(set(missing), Code::Ok);
        let (code, message) = solver.solve(&[]).unwrap_err();
        assert!(code == Code::Oracle && message.contains("found 0"), "{message}");
        assert_eq!(set(outside), Code::Ok);
        assert!(solver.solve(&[]).unwrap_err().1.contains("found 7"));
        for (mut mistake, expected) in [
            (Mistake::Coordinate, "found 7"),
            (Mistake::End, "in order, the last at most 1"),
            (Mistake::NoEnd, "in order, the last at most 1"),
            (Mistake::NoValue, "found NaN"),
            (Mistake::Failure, "the callback returned 3"),
        ] {
            let user = (&raw mut mistake).cast();
            // SAFETY: the solver is valid, and the callback writes within the room.
            let code = unsafe { bundlenet_solver_set_components_in_place(solver.0, 1, 1, Some(wrong_in_place), user) };
            let (_, message) = solver.solve(&[]).unwrap_err();
            assert!(code == Code::Ok && message.contains(expected), "{message}");
        }
    }
}

/// At the start a failure is an error; later it is a status, and the best point is kept.
#[test]
fn failures_of_callbacks_are_reported() {
    for calls in [1_usize, 3] {
        let mut left = calls;
        let handle = Handle::new(Some(failing), (&raw mut left).cast());
        match handle.solve(&[]) {
            Err((code, message)) => {
                assert!(calls == 1 && code == Code::Oracle, "{message}");
                assert_eq!(message, "evaluation 1: the oracle failed: the callback returned 42");
            }
            Ok(result) => {
                assert!(calls == 3 && result.status == Status::OracleFailed && result.oracle_calls == 3);
                assert_eq!(handle.message(), "evaluation 3: the oracle failed: the callback returned 42");
                assert!(result.value <= 4.0 && result.dim == 2 && !result.point.is_null() && result.ray.is_null());
            }
        }
    }
}

#[test]
fn settings_have_names() {
    let handle = Handle::new(Some(distance), null_mut());
    handle.set(c"method", Some(c"bundle")).unwrap();
    handle.set(c"cuts", Some(c"aggregated")).unwrap();
    handle.set(c"max_cuts", Some(c"50")).unwrap();
    handle.set(c"eta0", Some(c"0.5")).unwrap();
    handle.set(c"limits.steps", Some(c"1")).unwrap();
    assert_eq!(handle.solve(&[]).unwrap().status, Status::StepLimit);
    handle.set(c"limits.steps", None).unwrap();
    handle.set(c"limits.target", Some(c"1.5")).unwrap();
    assert_eq!(handle.solve(&[]).unwrap().status, Status::BoundReached);
    handle.set(c"limits.target", None).unwrap();
    assert_eq!(handle.solve(&[]).unwrap().status, Status::Converged);
    for (name, value, expected) in [
        (c"cuts", c"some", "setting cuts: expected component or aggregated, found \"some\""),
        (c"told", c"steps", "setting told: expected method network, found method bundle"),
        (c"method", c"simplex", "setting method: expected auto, hybrid"),
        (c"max_cuts", c"2", "setting max_cuts: expected at least 3, found 2"),
        (c"tolerance", c"small", "setting tolerance: expected a number, found small"),
        (c"speed", c"1", "setting speed: expected method, tolerance"),
        (c"limits.seconds", c"-1", "setting limits.seconds: expected a positive finite number, found -1"),
    ] {
        let (code, message) = handle.set(name, Some(value)).unwrap_err();
        assert!(code == Code::Setting && message.starts_with(expected), "{message}");
    }
    assert_eq!(handle.set(c"tolerance", Some(c"\xff")).unwrap_err().0, Code::Setting);
    handle.set(c"method", None).unwrap();
    let (code, message) = handle.set(c"model", Some(c"missing.model")).unwrap_err();
    assert!(code == Code::File && message.starts_with("cannot read missing.model"), "{message}");
    assert_eq!(handle.solve(&[]).unwrap().status, Status::Converged);
}

/// A callback may not use the solver and the state of its own run.
#[test]
fn handles_in_use_are_refused() {
    struct Both {
        solver: *mut Solver,
        state: *mut State,
    }
    unsafe extern "C" fn nested(
        user: *mut c_void,
        dim: usize,
        point: *const f64,
        value: *mut f64,
        slope: *mut f64,
    ) -> c_int {
        // SAFETY: `user` has the handles of this run.
        unsafe {
            let Both { solver, state } = *user.cast::<Both>();
            assert_eq!(bundlenet_solve(solver, 0, null(), null_mut(), null_mut()), Code::Busy);
            assert_eq!(bundlenet_solver_set_sense(solver, 1), Code::Busy);
            assert_eq!(CStr::from_ptr(bundlenet_solver_message(solver)), c"the handle is in use");
            assert_eq!(bundlenet_state_trust_cuts(state), Code::Busy);
            assert!(bundlenet_state_copy(state).is_null());
            let other = Handle::new(Some(distance), null_mut());
            assert_eq!(bundlenet_solve(other.0, 0, null(), state, null_mut()), Code::Busy);
            assert_eq!(other.message(), "state: expected one that no run uses, found one in use");
            assert!(other.solve(&[]).unwrap().value < 1e-5);
            distance(null_mut(), dim, point, value, slope)
        }
    }
    let mut both = Both { solver: bundlenet_solver_new(2), state: bundlenet_state_new() };
    // SAFETY: the handles are valid.
    unsafe {
        bundlenet_solver_set_function(both.solver, Some(nested), (&raw mut both).cast());
        assert_eq!(bundlenet_solve(both.solver, 0, null(), both.state, null_mut()), Code::Ok);
        bundlenet_solver_free(both.solver);
        bundlenet_state_free(both.state);
    }
}
