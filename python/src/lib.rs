//! The Python package: what `bundlenet/_bundlenet.pyi` declares.
//!
//! Rust works without the interpreter's lock, and takes it for a Python oracle, a callback, and to look for signals.

// No panic reaches a user.
#![warn(clippy::unwrap_used, clippy::expect_used)]

mod convert;
mod failure;
mod model;
mod oracle;
mod problems;
mod program;
mod run;
mod train;

/// The compiled part of the package `bundlenet`.
#[pyo3::pymodule]
mod _bundlenet {
    #[pymodule_export]
    use crate::model::Model;
    #[pymodule_export]
    use crate::oracle::{maximize, minimize};
    #[pymodule_export]
    use crate::problems::{Dual, GeneralizedAssignment, NetworkDesign, Problem, solve_batch};
    #[pymodule_export]
    use crate::program::run_program;
    #[pymodule_export]
    use crate::run::Progress;
    #[pymodule_export]
    use crate::train::{TrainingProgress, train};

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "what Python calls it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
