//! The program from the package.

use std::ffi::OsString;
use std::io::Write;

use pyo3::prelude::*;

/// Runs the program `bundlenet` and gives its exit code; `arguments` begin with the name of the program.
#[pyfunction]
pub(crate) fn run_program(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| {
        let code = bundlenet_cli::run(arguments);
        // Rust flushes at the end of its own programs only; if that fails, there is no one to tell.
        let _ = std::io::stdout().flush();
        code
    })
}
