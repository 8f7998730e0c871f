//! The solver: a function, settings, and the result of the last run.

use std::ffi::{c_char, c_int, c_void};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use bundlenet::{Domain, Record, Solution};

use crate::border::{Failure, Guarded, entries, exactly, text};
use crate::callbacks::{
    Callback, Callbacks, Evaluate, EvaluateComponents, EvaluateInPlace, EvaluateWithin, Form, Observe, Reprice, Wish,
};
use crate::code::{Code, Sense};
use crate::outcome::{Outcome, Primal, Step};
use crate::settings::{Given, NamedSettings};
use crate::state::State;

/// A solver of one function: its callbacks, its settings, and the result of the last run.
pub struct Solver {
    content: Guarded<Content>,
    interrupt: AtomicBool,
}

struct Content {
    function: Callbacks,
    settings: NamedSettings,
    observer: Callback<Observe>,
    /// The result of the last run. The arrays that the caller sees are in it.
    solution: Option<Solution>,
    /// Variables and values of its primal solution.
    primal: (Vec<u32>, Vec<f64>),
}

/// A solver for a function of `dim` variables: all free, to minimise, without a callback. Free it with
/// `bundlenet_solver_free`.
#[unsafe(no_mangle)]
pub extern "C" fn bundlenet_solver_new(dim: usize) -> *mut Solver {
    let content = Content {
        function: Callbacks::new(dim),
        settings: NamedSettings::default(),
        observer: Callback::none(),
        solution: None,
        primal: (vec![], vec![]),
    };
    Box::into_raw(Box::new(Solver { content: Guarded::new(content), interrupt: AtomicBool::new(false) }))
}

/// Frees a solver and the arrays of its last result. NULL is allowed. No run may use the solver.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bundlenet_solver_free(solver: *mut Solver) {
    if !solver.is_null() {
        // SAFETY: the solver is from `bundlenet_solver_new`, and the caller frees it once.
        drop(unsafe { Box::from_raw(solver) });
    }
}

/// Message of the last error with this solver. It is valid until the next call with the solver.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bundlenet_solver_message(solver: *const Solver) -> *const c_char {
    // SAFETY: the caller passes a solver or NULL.
    unsafe { solver.as_ref() }.map_or(c"the solver is NULL".as_ptr(), |solver| solver.content.message())
}

/// Changes something of the function.
///
/// # Safety
/// The pointer is a solver or null.
unsafe fn change(solver: *mut Solver, change: impl FnOnce(&mut Callbacks) -> Result<(), Failure>) -> Code {
    // SAFETY: the caller passes a solver or NULL.
    let Some(solver) = (unsafe { solver.as_ref() }) else { return Code::Null };
    solver.content.run(|content| change(&mut content.function))
}

/// A callback that must not be null.
fn callback<F>(function: Option<F>, user: *mut c_void) -> Result<Callback<Option<F>>, Failure> {
    if function.is_some() { Ok(Callback { function, user }) } else { Err(Failure::null("callback")) }
}

/// Sets the function: one callback for value and subgradient.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bundlenet_solver_set_function(
    solver: *mut Solver,
    evaluate: Evaluate,
    user: *mut c_void,
) -> Code {
    let work = |function: &mut Callbacks| {
        function.form = Form::Exact(callback(evaluate, user)?);
        Ok(())
    };
    // SAFETY: the caller passes a solver or NULL.
    unsafe { change(solver, work) }
}

/// Sets the function: one callback for an interval of the value, and a subgradient.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bundlenet_solver_set_function_within(
    solver: *mut Solver,
    evaluate: EvaluateWithin,
    user: *mut c_void,
) -> Code {
    let work = |function: &mut Callbacks| {
        function.form = Form::Within(callback(evaluate, user)?);
        Ok(())
    };
    // SAFETY: the caller passes a solver or NULL.
    unsafe { change(solver, work) }
}

/// Sets the function: a sum of `count` components, with a linear part of 0, multiplicities of 1 and no fingerprints
/// until they are set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bundlenet_solver_set_components(
    solver: *mut Solver,
    count: usize,
    evaluate: EvaluateComponents,
    user: *mut c_void,
) -> Code {
    let work = |function: &mut Callbacks| {
        function.set_sum(count, Form::Components(callback(evaluate, user)?));
        Ok(())
    };
    // SAFETY: the caller passes a solver or NULL.
    unsafe { change(solver, work) }
}

/// As `bundlenet_solver_set_components`, with a callback that writes into arrays of the solver: the fastest way. `length`
/// is the largest number of entries that the subgradients of all components have together. There are no intervals, no
/// further cuts and no solutions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bundlenet_solver_set_components_in_place(
    solver: *mut Solver,
    count: usize,
    length: usize,
    evaluate: EvaluateInPlace,
    user: *mut c_void,
) -> Code {
    let work = |function: &mut Callbacks| {
        function.set_sum(count, Form::InPlace(callback(evaluate, user)?, length));
        Ok(())
    };
    // SAFETY: the caller passes a solver or NULL.
    unsafe { change(solver, work) }
}

/// Numbers of components. An error unless the function is a sum of as many.
///
/// # Safety
/// As [`entries`].
unsafe fn of_components<T: Copy>(
    function: &Callbacks,
    name: &str,
    pointer: *const T,
    count: usize,
) -> Result<Vec<T>, Failure> {
    // SAFETY: as for the caller.
    Ok(unsafe { exactly(name, function.components.len(), pointer, count) }?.to_vec())
}

/// Sets the coefficients of the linear part of a sum; `dim` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bundlenet_solver_set_linear(solver: *mut Solver, count: usize, linear: *const f64) -> Code {
    let work = |function: &mut Callbacks| {
        // SAFETY: the caller promises `count` entries.
        function.linear = unsafe { exactly("linear", function.dim, linear, count) }?.to_vec();
        Ok(())
    };
    // SAFETY: the caller passes a solver or NULL.
    unsafe { change(solver, work) }
}

/// Sets the number of equal components that each component stands for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bundlenet_solver_set_multiplicities(
    solver: *mut Solver,
    count: usize,
    multiplicities: *const f64,
) -> Code {
    let work = |function: &mut Callbacks| {
        // SAFETY: the caller promises `count` entries.
        let all = unsafe { of_components(function, "multiplicities", multiplicities, count) }?;
        function.multiplicities = Some(all);
        Ok(())
    };
    // SAFETY: the caller passes a solver or NULL.
    unsafe { change(solver, work) }
}

/// Sets a hash of all data that each component depends on. A run reuses the cuts of a state for components whose hash
/// is the same as in the run of the state.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bundlenet_solver_set_fingerprints(
    solver: *mut Solver,
    count: usize,
    fingerprints: *const u64,
) -> Code {
    let work = |function: &mut Callbacks| {
        // SAFETY: the caller promises `count` entries.
        let all = unsafe { of_components(function, "fingerprints", fingerprints, count) }?;
        function.fingerprints = Some(all);
        Ok(())
    };
    // SAFETY: the caller passes a solver or NULL.
    unsafe { change(solver, work) }
}

/// Sets the callback that keeps cuts of components whose data have changed. NULL removes it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bundlenet_solver_set_reprice(
    solver: *mut Solver,
    reprice: Reprice,
    user: *mut c_void,
) -> Code {
    let work = |function: &mut Callbacks| {
        function.reprice = Callback { function: reprice, user };
        Ok(())
    };
    // SAFETY: the caller passes a solver or NULL.
    unsafe { change(solver, work) }
}

/// Sets the callback that learns which accuracy the next intervals should have. NULL removes it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bundlenet_solver_set_wish(solver: *mut Solver, wish: Wish, user: *mut c_void) -> Code {
    let work = |function: &mut Callbacks| {
        function.wish = Callback { function: wish, user };
        Ok(())
    };
    // SAFETY: the caller passes a solver or NULL.
    unsafe { change(solver, work) }
}

/// Sets the direction of optimisation: `BUNDLENET_SENSE_MINIMIZE` or `BUNDLENET_SENSE_MAXIMIZE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bundlenet_solver_set_sense(solver: *mut Solver, sense: c_int) -> Code {
    let work = |function: &mut Callbacks| {
        function.sense = match sense {
            _ if sense == Sense::Minimize as c_int => bundlenet::Sense::Minimize,
            _ if sense == Sense::Maximize as c_int => bundlenet::Sense::Maximize,
            _ => return Err(Failure::new(Code::Setting, format_args!("sense: expected 0 or 1, found {sense}"))),
        };
        Ok(())
    };
    // SAFETY: the caller passes a solver or NULL.
    unsafe { change(solver, work) }
}

/// Lower and upper corner of a box. A side that is NULL is infinite.
///
/// # Safety
/// As [`entries`], for both arrays.
unsafe fn corners(dim: usize, count: usize, sides: [*const f64; 2]) -> Result<(Vec<f64>, Vec<f64>), Failure> {
    let corner = |name: &str, side: *const f64, infinite: f64| -> Result<Vec<f64>, Failure> {
        if side.is_null() && count == dim {
            return Ok(vec![infinite; dim]);
        }
        // SAFETY: as for the caller.
        Ok(unsafe { exactly(name, dim, side, count) }?.to_vec())
    };
    Ok((corner("lower", sides[0], f64::NEG_INFINITY)?, corner("upper", sides[1], f64::INFINITY)?))
}

/// Sets the limits of the variables; `dim` numbers each, infinite ones among them. A side that is NULL is infinite.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bundlenet_solver_set_box(
    solver: *mut Solver,
    count: usize,
    lower: *const f64,
    upper: *const f64,
) -> Code {
    let work = |function: &mut Callbacks| {
        // SAFETY: the caller promises `count` entries of both arrays.
        let (lower, upper) = unsafe { corners(function.dim, count, [lower, upper]) }?;
        function.domain = Domain::between(lower.into_iter().zip(upper));
        Ok(())
    };
    // SAFETY: the caller passes a solver or NULL.
    unsafe { change(solver, work) }
}

/// Sets a box that holds an optimal point, as a proof needs it. A box of finite limits is one and need not be repeated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bundlenet_solver_set_minimizer_box(
    solver: *mut Solver,
    count: usize,
    lower: *const f64,
    upper: *const f64,
) -> Code {
    let work = |function: &mut Callbacks| {
        // SAFETY: the caller promises `count` entries of both arrays.
        function.minimizer_box = Some(unsafe { corners(function.dim, count, [lower, upper]) }?);
        Ok(())
    };
    // SAFETY: the caller passes a solver or NULL.
    unsafe { change(solver, work) }
}

/// Sets the typical size of each variable over the typical size of its entry of a subgradient.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bundlenet_solver_set_scales(solver: *mut Solver, count: usize, scales: *const f64) -> Code {
    let work = |function: &mut Callbacks| {
        // SAFETY: the caller promises `count` entries.
        function.scales = Some(unsafe { exactly("scales", function.dim, scales, count) }?.to_vec());
        Ok(())
    };
    // SAFETY: the caller passes a solver or NULL.
    unsafe { change(solver, work) }
}

/// Sets the work of one evaluation in nanoseconds. The default method compares it with the work of its master problems.
/// A millisecond if it is not set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bundlenet_solver_set_work(solver: *mut Solver, nanoseconds: f64) -> Code {
    let work = |function: &mut Callbacks| {
        if !(nanoseconds >= 0.0 && nanoseconds.is_finite()) {
            let message = format!("work: expected a nonnegative finite number, found {nanoseconds}");
            return Err(Failure::new(Code::Setting, message));
        }
        function.work = Some(nanoseconds);
        Ok(())
    };
    // SAFETY: the caller passes a solver or NULL.
    unsafe { change(solver, work) }
}

/// Sets a setting by its name, from a text. NULL stands for the default. The names are those of docs/c.md.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bundlenet_solver_set(solver: *mut Solver, name: *const c_char, value: *const c_char) -> Code {
    // SAFETY: the caller passes a solver or NULL.
    let Some(solver) = (unsafe { solver.as_ref() }) else { return Code::Null };
    solver.content.run(|content| {
        // SAFETY: the caller promises texts that end with zero.
        let name = unsafe { text("name", name) }?;
        if value.is_null() {
            return content.settings.set(name, Given::Default);
        }
        // SAFETY: as above.
        content.settings.set(name, Given::Text(unsafe { text("value", value) }?))
    })
}

/// Sets a setting by its name, from a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bundlenet_solver_set_number(solver: *mut Solver, name: *const c_char, value: f64) -> Code {
    // SAFETY: the caller passes a solver or NULL.
    let Some(solver) = (unsafe { solver.as_ref() }) else { return Code::Null };
    // SAFETY: the caller promises a text that ends with zero.
    solver.content.run(|content| content.settings.set(unsafe { text("name", name) }?, Given::Number(value)))
}

/// Sets a callback that sees every step and may end a run. NULL removes it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bundlenet_solver_set_observer(
    solver: *mut Solver,
    observe: Observe,
    user: *mut c_void,
) -> Code {
    // SAFETY: the caller passes a solver or NULL.
    let Some(solver) = (unsafe { solver.as_ref() }) else { return Code::Null };
    solver.content.run(|content| {
        content.observer = Callback { function: observe, user };
        Ok(())
    })
}

/// Lets runs keep a solution for each cut (`keeps` is 1), or not (0, as at first). The function has to be a sum of
/// components, whose callback calls `bundlenet_minorants_solution` for each minorant.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bundlenet_solver_set_primal(solver: *mut Solver, keeps: c_int) -> Code {
    // SAFETY: the caller passes a solver or NULL.
    let Some(solver) = (unsafe { solver.as_ref() }) else { return Code::Null };
    solver.content.run(|content| {
        content.function.keeps_solutions = keeps != 0;
        content.settings.settings.primal = keeps != 0;
        Ok(())
    })
}

/// Writes the primal solution of the last run. The error `BUNDLENET_CODE_SETTING`: the run kept no solutions, or had no
/// step.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bundlenet_solver_primal(solver: *mut Solver, primal: *mut Primal) -> Code {
    // SAFETY: the caller passes a solver or NULL, and room for a solution or NULL.
    let (solver, primal) = unsafe { (solver.as_ref(), primal.as_mut()) };
    let Some(solver) = solver else { return Code::Null };
    solver.content.run(|content| {
        let primal = primal.ok_or_else(|| Failure::null("primal"))?;
        let found = content.solution.as_ref().and_then(|solution| solution.primal.as_ref());
        let none = || Failure::new(Code::Setting, "primal: expected a run that keeps solutions, found none");
        let cost = found.ok_or_else(none)?.cost;
        let (variables, values) = &content.primal;
        *primal = Primal { cost, count: values.len(), variables: variables.as_ptr(), values: values.as_ptr() };
        Ok(())
    })
}

/// Ends the run in progress after its evaluation in progress, or the next run if there is none. Any thread may call it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bundlenet_solver_interrupt(solver: *mut Solver) -> Code {
    // SAFETY: the caller passes a solver or NULL.
    let Some(solver) = (unsafe { solver.as_ref() }) else { return Code::Null };
    solver.interrupt.store(true, Ordering::Relaxed);
    Code::Ok
}

/// Runs the method. All callbacks are called on the thread of this call.
///
/// The run starts at `start`, which has `count` entries. If it is NULL and `count` is 0, it starts at the point of the
/// state, or at 0, moved into the box. `state` may be NULL: the run then neither uses nor leaves one. `result` may be
/// NULL.
///
/// An error leaves the state as it was. A callback that fails after the first evaluation is no error: the result has
/// the status `BUNDLENET_STATUS_ORACLE_FAILED` and the best point so far.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bundlenet_solve(
    solver: *mut Solver,
    count: usize,
    start: *const f64,
    state: *mut State,
    result: *mut Outcome,
) -> Code {
    // SAFETY: the caller passes a solver or NULL, a state or NULL, and room for a result or NULL.
    let (solver, state, result) = unsafe { (solver.as_ref(), state.as_ref(), result.as_mut()) };
    let Some(Solver { content, interrupt }) = solver else { return Code::Null };
    let mut failed = None;
    let code = content.run(|content| {
        // SAFETY: the caller promises `count` entries.
        let start = match unsafe { entries("start", start, count) }? {
            [] if start.is_null() => None,
            start => Some(start),
        };
        let solution = content.solve(start, state, interrupt);
        interrupt.store(false, Ordering::Relaxed);
        let solution = content.solution.insert(solution?);
        if let Some(result) = result {
            *result = Outcome::of(solution);
        }
        failed = solution.failure.take();
        content.primal = solution.primal.iter().flat_map(|primal| primal.variables.iter().copied()).unzip();
        Ok(())
    });
    if let Some(failure) = failed {
        content.note(&failure);
    }
    code
}

impl Content {
    fn solve(
        &mut self,
        start: Option<&[f64]>,
        state: Option<&State>,
        interrupt: &AtomicBool,
    ) -> Result<Solution, Failure> {
        let mut solver =
            bundlenet::Solver::new(self.settings.settings.clone().with_default_limit())?.interrupt(interrupt);
        let Callback { function, user } = self.observer;
        let mut observer = function.map(|function| {
            move |record: &Record| {
                // SAFETY: the caller's function takes these arguments.
                match unsafe { function(user, &Step::from(record)) } {
                    0 => ControlFlow::Continue(()),
                    _ => ControlFlow::Break(()),
                }
            }
        });
        if let Some(observer) = &mut observer {
            solver = solver.observe(observer);
        }
        if let Some(start) = start {
            solver = solver.start(start);
        }
        let mut guard = match state {
            Some(state) => Some(state.content.try_lock().ok_or_else(|| Failure::busy("state"))?),
            None => None,
        };
        if let Some(guard) = &mut guard {
            solver = solver.state(&mut guard.0);
        }
        Ok(solver.solve(&mut self.function)?)
    }
}
