//! Network design, `.dat`.

#![no_main]

use bundlenet_fuzz::survive;
use libfuzzer_sys::fuzz_target;

// The first line has three numbers. Only the first is given; the fuzzer chooses the other sizes.
fuzz_target!(|bytes: &[u8]| survive(b"2 ", bytes));
