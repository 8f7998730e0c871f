//! Network design, JSON.

#![no_main]

use bundlenet_fuzz::survive;
use libfuzzer_sys::fuzz_target;

// A brace for JSON, the number of nodes for network design.
fuzz_target!(|bytes: &[u8]| survive(br#"{"N":"#, bytes));
