//! The border to C: arrays and texts from pointers, errors with messages, panics that stop here.

use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, TryLockError};

use bundlenet::{Error, EvaluationError, InvalidSetting};

use crate::code::Code;

/// An error: its code and its message.
pub(crate) struct Failure {
    code: Code,
    message: String,
}

impl Failure {
    pub(crate) fn new(code: Code, message: impl ToString) -> Self {
        Self { code, message: message.to_string() }
    }

    pub(crate) fn null(name: &str) -> Self {
        Self::new(Code::Null, format_args!("{name}: expected a pointer, found NULL"))
    }

    pub(crate) fn busy(name: &str) -> Self {
        Self::new(Code::Busy, format_args!("{name}: expected one that no run uses, found one in use"))
    }
}

impl From<InvalidSetting> for Failure {
    fn from(error: InvalidSetting) -> Self {
        Self::new(Code::Setting, error)
    }
}

impl From<EvaluationError> for Failure {
    fn from(error: EvaluationError) -> Self {
        Self::new(Code::Oracle, error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::new(Code::File, error)
    }
}

/// A text with the end that C needs. Zeros inside are left out.
fn c_text(message: &str) -> CString {
    CString::new(message.replace('\0', "")).unwrap_or_default()
}

/// The content of a handle, and the message of its last error.
pub(crate) struct Guarded<T> {
    content: Mutex<(T, CString)>,
}

impl<T> Guarded<T> {
    pub(crate) fn new(content: T) -> Self {
        Self { content: Mutex::new((content, CString::default())) }
    }

    /// The content, unless another thread or a run has it.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, (T, CString)>> {
        match self.content.try_lock() {
            Ok(guard) => Some(guard),
            // A panic was reported as an error.
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Does something with the content. An error or a panic becomes a code and a message of the handle.
    pub(crate) fn run(&self, work: impl FnOnce(&mut T) -> Result<(), Failure>) -> Code {
        let Some(mut guard) = self.try_lock() else { return Code::Busy };
        let (content, message) = &mut *guard;
        // The content may be incomplete after a panic, but each part of it is valid.
        let failure = match catch_unwind(AssertUnwindSafe(|| work(content))) {
            Ok(Ok(())) => return Code::Ok,
            Ok(Err(failure)) => failure,
            Err(panic) => Failure::new(Code::Panic, format_args!("fault of the library: {}", words(&panic))),
        };
        *message = c_text(&failure.message);
        failure.code
    }

    /// Leaves a message without an error.
    pub(crate) fn note(&self, message: &str) {
        if let Some(mut guard) = self.try_lock() {
            guard.1 = c_text(message);
        }
    }

    /// The message of the last error. Valid until the next call with the handle.
    pub(crate) fn message(&self) -> *const c_char {
        match self.try_lock() {
            Some(guard) => guard.1.as_ptr(),
            None => c"the handle is in use".as_ptr(),
        }
    }
}

/// The words of a panic.
fn words(panic: &Box<dyn std::any::Any + Send>) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

/// Numbers of the caller.
///
/// # Safety
/// If the pointer is not null, it has `count` entries that nobody writes during the call.
pub(crate) unsafe fn entries<'a, T>(name: &str, pointer: *const T, count: usize) -> Result<&'a [T], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() {
        return Err(Failure::null(name));
    }
    // SAFETY: the caller promises `count` entries.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// As [`entries`], with the number of entries that there has to be.
///
/// # Safety
/// As [`entries`].
pub(crate) unsafe fn exactly<'a, T>(
    name: &str,
    expected: usize,
    pointer: *const T,
    count: usize,
) -> Result<&'a [T], Failure> {
    if count != expected {
        return Err(Failure::new(Code::Length, format_args!("{name}: expected {expected} entries, found {count}")));
    }
    // SAFETY: as for the caller.
    unsafe { entries(name, pointer, count) }
}

/// A text of the caller.
///
/// # Safety
/// If the pointer is not null, it is a text that ends with zero and that nobody writes during the call.
pub(crate) unsafe fn text<'a>(name: &str, pointer: *const c_char) -> Result<&'a str, Failure> {
    if pointer.is_null() {
        return Err(Failure::null(name));
    }
    // SAFETY: the caller promises a text that ends with zero.
    let text = unsafe { CStr::from_ptr(pointer) }.to_str();
    text.map_err(|_| Failure::new(Code::Setting, format_args!("{name}: expected a text in UTF-8, found other bytes")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A panic becomes a code and a message, and the handle can be used again.
    #[test]
    fn panics_stop_at_the_border() {
        let handle = Guarded::new(1);
        assert_eq!(handle.run(|_| panic!("no {}", "way")), Code::Panic);
        // SAFETY: the message ends with zero.
        assert_eq!(unsafe { CStr::from_ptr(handle.message()) }, c"fault of the library: no way");
        let change = |number: &mut i32| {
            *number += 1;
            Ok(())
        };
        assert_eq!((handle.run(change), handle.try_lock().map(|guard| guard.0)), (Code::Ok, Some(2)));
    }
}
