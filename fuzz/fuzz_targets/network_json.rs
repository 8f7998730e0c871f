//! Network design, JSON.

#![no_main]

use bundlenet_fuzz::survive;
use libfuzzer_sys::fuzz_target;

// The brace means JSON, the number of nodes means network design.
fuzz_target!(|bytes: &[u8]| survive(br#"{"N":"#, bytes));
