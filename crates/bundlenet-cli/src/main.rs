//! The program `bundlenet`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(bundlenet_cli::run(std::env::args_os()))
}
