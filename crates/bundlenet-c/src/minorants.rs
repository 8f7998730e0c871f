//! The list that a callback for components fills.
//!
//! These functions are called once for each component of each evaluation, so they do as little as possible. A list
//! grows as a `Vec` does: without a panic.

use std::slice::from_raw_parts;

use crate::code::Code;

/// Answers of components. It is valid during the callback that receives it.
#[derive(Default)]
pub struct Minorants {
    pub(crate) list: bundlenet::Minorants,
    /// Solutions of the components in order, and of further cuts in order.
    pub(crate) solutions: [bundlenet::Solutions; 2],
    /// Whether the last cut is a further one.
    is_further: bool,
}

impl Minorants {
    pub(crate) fn clear(&mut self) {
        self.list.clear();
        self.solutions.iter_mut().for_each(bundlenet::Solutions::clear);
        self.is_further = false;
    }
}

/// Two arrays of the caller with `count` entries each, such as the coordinates and entries of a subgradient. None if
/// there are entries and an array is null.
///
/// # Safety
/// Each array is null, or has `count` entries that nobody writes during the call.
unsafe fn arrays<'a>(count: usize, numbers: *const u32, entries: *const f64) -> Option<(&'a [u32], &'a [f64])> {
    match count {
        0 => Some((&[], &[])),
        _ if numbers.is_null() || entries.is_null() => None,
        // SAFETY: as for the caller.
        _ => Some(unsafe { (from_raw_parts(numbers, count), from_raw_parts(entries, count)) }),
    }
}

/// The entries of two arrays, in pairs.
fn pairs((numbers, entries): (&[u32], &[f64])) -> impl Iterator<Item = (u32, f64)> {
    numbers.iter().copied().zip(entries.iter().copied())
}

/// Appends the next component: its value at the point, and the nonzero entries of a subgradient there.
///
/// A caller with all components in arrays saves time by `bundlenet_minorants_push_all`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bundlenet_minorants_push(
    minorants: *mut Minorants,
    value: f64,
    count: usize,
    coordinates: *const u32,
    entries: *const f64,
) -> Code {
    // SAFETY: the caller passes a list or NULL.
    let Some(Minorants { list, is_further, .. }) = (unsafe { minorants.as_mut() }) else { return Code::Null };
    // SAFETY: the caller promises `count` entries of both arrays.
    let Some((coordinates, entries)) = (unsafe { arrays(count, coordinates, entries) }) else { return Code::Null };
    *is_further = false;
    list.push_slices(value, coordinates, entries);
    Code::Ok
}

/// Appends the next `count` components, all at once: their values at the point, and the nonzero entries of their
/// subgradients there, one after the other. The entries of component `i` begin where those of the one before end, the
/// first at 0, and end before `ends[i]`. So both arrays of entries have `ends[count - 1]` numbers.
///
/// Ends that are not in order are the error `BUNDLENET_CODE_LENGTH`, and nothing is appended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bundlenet_minorants_push_all(
    minorants: *mut Minorants,
    count: usize,
    values: *const f64,
    ends: *const usize,
    coordinates: *const u32,
    entries: *const f64,
) -> Code {
    // SAFETY: the caller passes a list or NULL.
    let Some(Minorants { list, is_further, .. }) = (unsafe { minorants.as_mut() }) else { return Code::Null };
    if count == 0 {
        return Code::Ok;
    }
    if values.is_null() || ends.is_null() {
        return Code::Null;
    }
    // SAFETY: the caller promises `count` entries of both arrays.
    let (values, ends) = unsafe { (from_raw_parts(values, count), from_raw_parts(ends, count)) };
    // SAFETY: the caller promises as many entries of both arrays as the last end says.
    let rows = unsafe { arrays(ends[count - 1], coordinates, entries) };
    let Some((coordinates, entries)) = rows else { return Code::Null };
    if !list.push_all(values, ends, coordinates, entries) {
        return Code::Length;
    }
    *is_further = false;
    Code::Ok
}

/// Appends the next component, whose value is known as an interval: `cut` is the value of the minorant at the point,
/// `bound` the other end. A subproblem that a MIP solver ended at a gap has its incumbent as `cut` and its dual bound
/// as `bound`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bundlenet_minorants_push_within(
    minorants: *mut Minorants,
    cut: f64,
    bound: f64,
    count: usize,
    coordinates: *const u32,
    entries: *const f64,
) -> Code {
    // SAFETY: the caller passes a list or NULL.
    let Some(Minorants { list, is_further, .. }) = (unsafe { minorants.as_mut() }) else { return Code::Null };
    // SAFETY: the caller promises `count` entries of both arrays.
    let Some(row) = (unsafe { arrays(count, coordinates, entries) }) else { return Code::Null };
    *is_further = false;
    list.push_within(cut, bound, pairs(row));
    Code::Ok
}

/// Appends a further cut of the last component, with its value at the point: each member of a solution pool is one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bundlenet_minorants_push_more(
    minorants: *mut Minorants,
    value: f64,
    count: usize,
    coordinates: *const u32,
    entries: *const f64,
) -> Code {
    // SAFETY: the caller passes a list or NULL.
    let Some(Minorants { list, is_further, .. }) = (unsafe { minorants.as_mut() }) else { return Code::Null };
    if list.is_empty() {
        return Code::Length;
    }
    // SAFETY: the caller promises `count` entries of both arrays.
    let Some(row) = (unsafe { arrays(count, coordinates, entries) }) else { return Code::Null };
    *is_further = true;
    list.push_more(value, pairs(row));
    Code::Ok
}

/// Appends the solution behind the next cut that has none yet: its cost in the objective of the problem, and its
/// variables that are not 0. After `bundlenet_minorants_push_more` it is that of a further cut. The caller numbers the
/// variables; two components have none in common.
///
/// A run needs a solution of each component after `bundlenet_solver_set_primal`; it uses further cuts if all of them
/// have one. The error `BUNDLENET_CODE_LENGTH`: there are more solutions than cuts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bundlenet_minorants_solution(
    minorants: *mut Minorants,
    cost: f64,
    count: usize,
    variables: *const u32,
    values: *const f64,
) -> Code {
    // SAFETY: the caller passes a list or NULL.
    let Some(Minorants { list, solutions, is_further }) = (unsafe { minorants.as_mut() }) else { return Code::Null };
    let cuts = if *is_further { list.more().count() } else { list.len() };
    let solutions = &mut solutions[usize::from(*is_further)];
    if solutions.len() >= cuts {
        return Code::Length;
    }
    // SAFETY: the caller promises `count` entries of both arrays.
    let Some(row) = (unsafe { arrays(count, variables, values) }) else { return Code::Null };
    solutions.push(cost, pairs(row));
    Code::Ok
}
