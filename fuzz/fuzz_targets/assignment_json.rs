//! Generalised assignment, JSON.

#![no_main]

use bundlenet_fuzz::survive;
use libfuzzer_sys::fuzz_target;

// A brace for JSON, the number of items for generalised assignment.
fuzz_target!(|bytes: &[u8]| survive(br#"{"I":"#, bytes));
