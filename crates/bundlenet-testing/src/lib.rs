//! Random functions, small instances and brute force for the tests of all crates. Not published.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests may fail loudly")]

pub mod enumeration;
pub mod memory;
pub mod programs;
pub mod public;
pub mod random;
pub mod reference;
pub mod sample;
pub mod sums;

pub use random::{cases, stream};
