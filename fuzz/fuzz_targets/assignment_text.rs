//! Generalised assignment, text.

#![no_main]

use bundlenet_fuzz::survive;
use libfuzzer_sys::fuzz_target;

// A first line of one number: two problems, or two bins with the number of items on the next line.
fuzz_target!(|bytes: &[u8]| survive(b"2\n", bytes));
