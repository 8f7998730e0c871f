//! Running the program and looking at how it ends.
#![allow(dead_code, reason = "not every test file needs everything")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Settings of a training of about a second.
pub(crate) const SMALL_TRAINING: &str = r#"
name = "small <test>"
[data]
train = ["generate:ga-10-100:16:5"]
[network]
hidden = 4
decoder = 6
[gradient]
updates = 8
batch = 4
horizon = 6
[evolution]
generations = 4
pairs = 2
batch = 2
[validation]
steps = [5, 10]
updates = 2
generations = 1
"#;

/// A path as an argument.
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The files of a generated data set, in a folder of its name.
pub(crate) fn generated(folder: &Path, family: &str, count: usize) -> Vec<PathBuf> {
    let out = folder.join(family);
    success(&["generate", family, "--count", &count.to_string(), "--seed=8", "--out", text(&out)]);
    let mut files: Vec<PathBuf> = std::fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| !path.ends_with("manifest.json"));
    files.sort();
    files
}

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
