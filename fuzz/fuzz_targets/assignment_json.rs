//! Generalised assignment, JSON.

#![no_main]

use bundlenet_fuzz::survive;
use libfuzzer_sys::fuzz_target;

// The brace means JSON, the number of items means generalised assignment.
fuzz_target!(|bytes: &[u8]| survive(br#"{"I":"#, bytes));
