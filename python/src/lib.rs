//! The compiled part of the Python package; `bundlenet/_bundlenet.pyi` declares it.
//!
//! Rust works without the interpreter's lock. It takes the lock to call an oracle or a callback and to check signals.

// No panic reaches a user.
#![warn(clippy::unwrap_used, clippy::expect_used)]

mod answer;
#[cfg_attr(not(feature = "mip"), path = "blocks_missing.rs")]
mod blocks;
mod check;
mod convert;
mod failure;
mod memory;
mod model;
mod oracle;
mod problems;
mod program;
mod run;
mod state;
mod sum;
mod train;

/// The compiled part of the package `bundlenet`.
#[pyo3::pymodule]
mod _bundlenet {
    #[pymodule_export]
    use crate::blocks::Blocks;
    #[pymodule_export]
    use crate::check::{Check, Violation, check};
    #[pymodule_export]
    use crate::model::Model;
    #[pymodule_export]
    use crate::oracle::{maximize, minimize};
    #[pymodule_export]
    use crate::problems::{
        Dual, FacilityLocation, GeneralizedAssignment, NetworkDesign, Problem, UnitCommitment, solve_batch,
    };
    #[pymodule_export]
    use crate::program::run_program;
    #[pymodule_export]
    use crate::run::Progress;
    #[pymodule_export]
    use crate::state::State;
    #[pymodule_export]
    use crate::train::{TrainingProgress, train};

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "its name in Python")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
