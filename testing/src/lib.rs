//! Random functions, small instances and brute force for the tests of all crates. Not published.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests may fail loudly")]

pub mod campaign;
pub mod changes;
pub mod clock;
pub mod disturbed;
pub mod enumeration;
pub mod foreign;
pub mod inequalities;
pub mod memory;
pub mod outside;
pub mod pages;
pub mod programs;
pub mod public;
pub mod random;
pub mod reference;
pub mod sample;
pub mod sources;
pub mod sums;
pub mod trial;
pub mod units;
pub mod visits;

pub use random::{cases, stream};

/// The code blocks of the pages, as doctests. They are here because published packages include no file from outside.
#[cfg(doctest)]
mod code_of_pages {
    #[doc = include_str!("../../README.md")]
    struct Readme;

    #[doc = include_str!("../../docs/training.md")]
    struct Training;

    #[doc = include_str!("../../docs/own-problem.md")]
    struct OwnProblem;

    #[doc = include_str!("../../docs/oracle.md")]
    struct Oracle;

    #[doc = include_str!("../../docs/branch-and-bound.md")]
    struct BranchAndBound;

    #[doc = include_str!("../../docs/settings.md")]
    struct SettingsPage;
}
