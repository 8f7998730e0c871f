//! Facility location, JSON.

#![no_main]

use bundlenet_fuzz::survive;
use libfuzzer_sys::fuzz_target;

// The brace means JSON, the number of sites means facility location.
fuzz_target!(|bytes: &[u8]| survive(br#"{"sites":"#, bytes));
