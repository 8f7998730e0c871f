//! Network design, `.dow`.

#![no_main]

use bundlenet_fuzz::survive;
use libfuzzer_sys::fuzz_target;

// A title that is not a number.
fuzz_target!(|bytes: &[u8]| survive(b"title\n", bytes));
