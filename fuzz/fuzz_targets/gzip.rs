//! A gzip archive.

#![no_main]

use bundlenet_fuzz::survive;
use libfuzzer_sys::fuzz_target;

// The mark of gzip and the number of its only method, deflate.
fuzz_target!(|bytes: &[u8]| survive(b"\x1f\x8b\x08", bytes));
