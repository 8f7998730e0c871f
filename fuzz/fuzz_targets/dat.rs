//! Network design, `.dat`.

#![no_main]

use bundlenet_fuzz::survive;
use libfuzzer_sys::fuzz_target;

// A first line of three numbers. Only the first is given, the other sizes are free to lie.
fuzz_target!(|bytes: &[u8]| survive(b"2 ", bytes));
