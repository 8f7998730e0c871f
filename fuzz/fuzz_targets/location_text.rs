//! Facility location, text.

#![no_main]

use bundlenet_fuzz::survive;
use libfuzzer_sys::fuzz_target;

// Two sites, with two numbers each, and a demand alone on its line: no assignment has these lines.
fuzz_target!(|bytes: &[u8]| survive(b"2 3\n5 10\n9 20\n4\n", bytes));
