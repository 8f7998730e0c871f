//! States: warm starts of later runs.

use std::ffi::c_char;

use crate::border::{Failure, Guarded, text};
use crate::code::Code;

/// The state of a run: a warm start for a later run of the same function, or of one with changed data.
pub struct State {
    pub(crate) content: Guarded<bundlenet::State>,
}

fn new(state: bundlenet::State) -> *mut State {
    Box::into_raw(Box::new(State { content: Guarded::new(state) }))
}

/// An empty state. A run with it begins like a run without a state, and fills it. Free it with `bundlenet_state_free`.
#[unsafe(no_mangle)]
pub extern "C" fn bundlenet_state_new() -> *mut State {
    new(bundlenet::State::new())
}

/// A copy: in a branch and bound, a copy of the parent's state is the warm start of a child. NULL if `state` is NULL or
/// a run uses it. Free it with `bundlenet_state_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bundlenet_state_copy(state: *const State) -> *mut State {
    // SAFETY: the caller passes a state or NULL.
    let guard = unsafe { state.as_ref() }.and_then(|state| state.content.try_lock());
    guard.map_or(std::ptr::null_mut(), |guard| new(guard.0.clone()))
}

/// Frees a state. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bundlenet_state_free(state: *mut State) {
    if !state.is_null() {
        // SAFETY: the state is from this library, and the caller frees it once.
        drop(unsafe { Box::from_raw(state) });
    }
}

/// Message of the last error with this state. It is valid until the next call with the state.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bundlenet_state_message(state: *const State) -> *const c_char {
    // SAFETY: the caller passes a state or NULL.
    unsafe { state.as_ref() }.map_or(c"the state is NULL".as_ptr(), |state| state.content.message())
}

/// Number of cuts. 0 for NULL, for an empty state, and for one that a run uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bundlenet_state_cuts(state: *const State) -> usize {
    // SAFETY: the caller passes a state or NULL.
    unsafe { state.as_ref() }.and_then(|state| state.content.try_lock()).map_or(0, |guard| guard.0.cut_count())
}

/// Writes the best point so far, where the next run starts, and its value. An empty state has no point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bundlenet_state_point(
    state: *const State,
    count: usize,
    point: *mut f64,
    value: *mut f64,
) -> Code {
    // SAFETY: the caller passes a state or NULL.
    let Some(state) = (unsafe { state.as_ref() }) else { return Code::Null };
    state.content.run(|state| {
        let own = state.point();
        if own.is_empty() || own.len() != count {
            let message = format!("point of the state: expected {count} entries, found {}", own.len());
            return Err(Failure::new(Code::Length, message));
        }
        if point.is_null() {
            return Err(Failure::null("point"));
        }
        // SAFETY: the caller promises `count` entries.
        unsafe { point.copy_from(own.as_ptr(), count) };
        // SAFETY: the caller passes room for a number, or NULL.
        if let Some(value) = unsafe { value.as_mut() } {
            *value = state.value().unwrap_or(f64::NAN);
        }
        Ok(())
    })
}

/// Declares all cuts valid for the function of the next run, for functions without fingerprints. A cut that contradicts
/// the value at the start is still dropped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bundlenet_state_trust_cuts(state: *mut State) -> Code {
    // SAFETY: the caller passes a state or NULL.
    let Some(state) = (unsafe { state.as_ref() }) else { return Code::Null };
    state.content.run(|state| {
        state.trust_cuts();
        Ok(())
    })
}

/// Writes the state to a file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bundlenet_state_save(state: *const State, path: *const c_char) -> Code {
    // SAFETY: the caller passes a state or NULL.
    let Some(state) = (unsafe { state.as_ref() }) else { return Code::Null };
    // SAFETY: the caller promises a text that ends with zero.
    state.content.run(|state| Ok(state.save(unsafe { text("path", path) }?)?))
}

/// Replaces the state by that of a file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bundlenet_state_load(state: *mut State, path: *const c_char) -> Code {
    // SAFETY: the caller passes a state or NULL.
    let Some(state) = (unsafe { state.as_ref() }) else { return Code::Null };
    state.content.run(|state| {
        // SAFETY: the caller promises a text that ends with zero.
        *state = bundlenet::State::read(unsafe { text("path", path) }?)?;
        Ok(())
    })
}
