//! The list that a callback for components fills.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::border::entries;
use crate::code::Code;

/// Answers of components. It is valid during the callback that receives it.
#[derive(Default)]
pub struct Minorants {
    pub(crate) list: bundlenet::Minorants,
}

/// Does something with a list and a subgradient of the caller.
///
/// # Safety
/// As [`entries`], for both arrays. The list is valid or null.
unsafe fn push(
    minorants: *mut Minorants,
    count: usize,
    coordinates: *const u32,
    numbers: *const f64,
    put: impl FnOnce(&mut bundlenet::Minorants, &mut dyn Iterator<Item = (u32, f64)>),
) -> Code {
    // SAFETY: as for the caller.
    let Some(Minorants { list }) = (unsafe { minorants.as_mut() }) else { return Code::Null };
    // SAFETY: as for the caller.
    let arrays = unsafe { (entries("coordinates", coordinates, count), entries("entries", numbers, count)) };
    let (Ok(coordinates), Ok(numbers)) = arrays else { return Code::Null };
    let mut subgradient = coordinates.iter().copied().zip(numbers.iter().copied());
    match catch_unwind(AssertUnwindSafe(|| put(list, &mut subgradient))) {
        Ok(()) => Code::Ok,
        Err(_) => Code::Panic,
    }
}

/// Appends the next component: its value at the point, and the nonzero entries of a subgradient there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bundlenet_minorants_push(
    minorants: *mut Minorants,
    value: f64,
    count: usize,
    coordinates: *const u32,
    entries: *const f64,
) -> Code {
    // SAFETY: the caller promises `count` entries of both arrays.
    unsafe { push(minorants, count, coordinates, entries, |list, subgradient| list.push(value, subgradient)) }
}

/// Appends the next component, whose value is known as an interval: `cut` is the value of the minorant at the point, `bound`
/// the other end. A subproblem that a MIP solver ended at a gap has its incumbent as `cut` and its dual bound as `bound`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bundlenet_minorants_push_within(
    minorants: *mut Minorants,
    cut: f64,
    bound: f64,
    count: usize,
    coordinates: *const u32,
    entries: *const f64,
) -> Code {
    let put = |list: &mut bundlenet::Minorants, subgradient: &mut dyn Iterator<Item = (u32, f64)>| {
        list.push_within(cut, bound, subgradient);
    };
    // SAFETY: the caller promises `count` entries of both arrays.
    unsafe { push(minorants, count, coordinates, entries, put) }
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
    // SAFETY: the list is valid or NULL.
    if unsafe { minorants.as_ref() }.is_some_and(|minorants| minorants.list.is_empty()) {
        return Code::Length;
    }
    // SAFETY: the caller promises `count` entries of both arrays.
    unsafe { push(minorants, count, coordinates, entries, |list, subgradient| list.push_more(value, subgradient)) }
}
