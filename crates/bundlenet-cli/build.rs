//! Facts of the build for `bundlenet --version`.

use std::path::Path;
use std::process::Command;

/// First line of the output of a command, if it succeeds.
fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()?.lines().next().map(ToString::to_string)
}

fn main() {
    let of_cargo = |name: &str| std::env::var(name).unwrap_or_default();
    let compiler = output(&of_cargo("RUSTC"), &["--version"]).unwrap_or_default();
    println!("cargo::rustc-env=BUNDLENET_RUSTC={compiler}");
    println!("cargo::rustc-env=BUNDLENET_TARGET={}", of_cargo("TARGET"));
    println!("cargo::rustc-env=BUNDLENET_PROFILE={}", of_cargo("PROFILE"));
    // A package from a registry lies in no repository, or in one of another project.
    let is_own = Path::new("../../.ci/run").exists();
    let commit = if is_own { output("git", &["rev-parse", "--short", "HEAD"]) } else { None };
    println!("cargo::rustc-env=BUNDLENET_COMMIT={}", commit.unwrap_or_default());
    println!("cargo::rerun-if-changed=build.rs");
    // The log of the head changes with every commit.
    for file in ["HEAD", "logs/HEAD"] {
        if let Some(path) =
            output("git", &["rev-parse", "--git-path", file]).filter(|path| is_own && Path::new(path).exists())
        {
            println!("cargo::rerun-if-changed={path}");
        }
    }
}
