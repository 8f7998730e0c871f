//! Running the program and looking at how it ends.

use std::process::{Command, Output};

pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bundlenet"));
    command.args(arguments);
    command
}

pub(crate) fn run(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

/// Standard output of a run that succeeds.
#[track_caller]
pub(crate) fn success(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Exit code and standard error of a run that fails, without a panic.
#[track_caller]
pub(crate) fn failure(arguments: &[&str]) -> (i32, String) {
    let output = run(arguments);
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(!message.contains("panicked"), "{message}");
    (output.status.code().unwrap(), message)
}
