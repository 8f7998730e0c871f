//! The program from the package.

use std::ffi::OsString;
use std::io::Write;

use pyo3::prelude::*;

/// Runs the program `bundlenet` and returns its exit code. The first of the `arguments` is the name of the program.
#[pyfunction]
pub(crate) fn run_program(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| {
        let code = bundlenet_cli::run(arguments);
        // Rust flushes only at the end of its own programs. A failure here cannot be reported.
        let _ = std::io::stdout().flush();
        code
    })
}
