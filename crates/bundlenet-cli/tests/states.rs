//! States as a user keeps them: saved, begun with, after a change of the data, damaged, and unwritable.

mod program_runs;

use program_runs::{failure, generated, success, text};
use serde_json::Value;

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&success(&[arguments, &["--json", "--quiet"]].concat())).unwrap()
}

#[test]
fn a_state_is_saved_and_begun_with() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    for family in ["mc-sml-40", "ga-10-100"] {
        let files = generated(folder.path(), family, 2);
        let file = text(&files[0]);
        let plain = json(&["solve", file]);
        let first = json(&["solve", file, "--save-state", text(&state)]);
        assert!(first["cuts"].is_null());
        let again = json(&["solve", file, "--start", text(&state), "--save-state", text(&state)]);
        assert!(again["steps"].as_u64() <= plain["steps"].as_u64().map(|steps| steps / 4), "{again}");
        assert!(again["cuts"]["total"].as_u64().unwrap() > 20 && again["cuts"]["reused"] == again["cuts"]["total"]);
        assert_eq!(again["cuts"]["changed_components"], serde_json::json!([]));
        // Another instance of the same sizes: its valid cuts are used, and the result is its own.
        let other = text(&files[1]);
        let changed = json(&["solve", other, "--start", text(&state)]);
        let value = |report: &Value| report["value"].as_f64().unwrap();
        let scratch = json(&["solve", other]);
        assert!((value(&changed) - value(&scratch)).abs() <= 2e-7 * value(&scratch).abs());
        assert!(!changed["cuts"]["changed_components"].as_array().unwrap().is_empty());
        let said = success(&["solve", file, "--quiet", "--start", text(&state)]);
        assert!(said.contains("cuts") && said.contains(": the data are the same"), "{said}");
        // A state has multipliers, too.
        let evaluated: Value =
            serde_json::from_str(&success(&["evaluate", file, "--multipliers", text(&state), "--json"])).unwrap();
        assert!((value(&evaluated) - value(&plain)).abs() <= 2e-7 * value(&plain).abs());
        // Cuts of the whole function, begun with those of components.
        let hybrid = json(&["solve", file, "--method=hybrid", "--start", text(&state)]);
        assert_eq!(hybrid["cuts"]["reused"], 0);
    }
}

#[test]
fn a_state_keeps_primal_solutions() {
    let folder = tempfile::tempdir().unwrap();
    let [state, plain, primal] = ["state", "plain", "primal.json"].map(|name| folder.path().join(name));
    for family in ["mc-sml-40", "ga-10-100"] {
        let files = generated(folder.path(), family, 1);
        let with_primal = |start: &[&str]| {
            let report = json(&[&["solve", text(&files[0]), "--primal", text(&primal)], start].concat());
            let written: Value = serde_json::from_slice(&std::fs::read(&primal).unwrap()).unwrap();
            (report, written)
        };
        let (first, _) = with_primal(&["--save-state", text(&state)]);
        let (again, written) = with_primal(&["--start", text(&state), "--save-state", text(&state)]);
        assert!(again["steps"].as_u64() <= first["steps"].as_u64().map(|steps| steps / 4), "{again}");
        assert!(again["cuts"]["total"].as_u64() > Some(20) && again["cuts"]["reused"] == again["cuts"]["total"]);
        assert!(written.is_object() && again["feasible_value"].is_number(), "{again}");
        // Cuts without primal solutions are left out, and the program says so.
        success(&["solve", text(&files[0]), "--quiet", "--save-state", text(&plain)]);
        let (other, _) = with_primal(&["--start", text(&plain)]);
        assert!(other["cuts"]["reused"] == 0 && other["cuts"]["total"].as_u64() > Some(20), "{other}");
        assert_eq!(other["cuts"]["without_primal"], other["cuts"]["total"]);
        let start = ["solve", text(&files[0]), "--quiet", "--start", text(&plain), "--primal", text(&primal)];
        let said = success(&start);
        assert!(said.contains("cuts were saved without primal solutions, which this run needs"), "{said}");
    }
}

#[test]
fn mistakes_get_clear_errors() {
    let folder = tempfile::tempdir().unwrap();
    let (state, broken) = (folder.path().join("state"), folder.path().join("broken"));
    let files = generated(folder.path(), "ga-10-100", 2);
    let other = generated(folder.path(), "mc-sml-40", 2);
    let file = text(&files[0]);
    success(&["solve", file, "--quiet", "--save-state", text(&state)]);
    let (code, message) = failure(&["solve", text(&other[0]), "--start", text(&state)]);
    assert!(code == 2 && message.contains("expected a state of 800 multipliers, found one of 100"), "{message}");
    let mut bytes = std::fs::read(&state).unwrap();
    bytes[16] = 7;
    std::fs::write(&broken, &bytes).unwrap();
    let (code, message) = failure(&["solve", file, "--start", text(&broken)]);
    assert!(code == 2 && message.contains("expected version 1 or 2 of a state, found version 7"), "{message}");
    bytes[16] = 2;
    bytes[100] ^= 1;
    std::fs::write(&broken, &bytes).unwrap();
    let (code, message) = failure(&["solve", file, "--start", text(&broken)]);
    assert!(
        code == 2 && message.contains("expected a whole state, found one damaged or incomplete at byte"),
        "{message}"
    );
    let nowhere = folder.path().join("none").join("state");
    let (code, message) = failure(&["solve", file, "--quiet", "--save-state", text(&nowhere)]);
    assert!(code == 1 && message.contains("cannot write") && message.contains("none"), "{message}");
    let (code, message) = failure(&["solve", file, file, "--save-state", text(&state)]);
    assert!(code == 2 && message.contains("--save-state: expected one instance, found 2"), "{message}");
}

/// A disk that is full after some kilobytes: the run prints its result and an error, and the state so far can be used.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_costs_no_result() {
    let folder = tempfile::tempdir().unwrap();
    let files = generated(folder.path(), "mc-sml-40", 2);
    let (file, state) = (text(&files[0]), folder.path().join("state"));
    let limited = "trap '' XFSZ; ulimit -f 100; exec \"$0\" \"$@\"";
    let arguments = ["solve", file, "--json", "--quiet", "--save-state", text(&state)];
    let program = env!("CARGO_BIN_EXE_bundlenet");
    let output = std::process::Command::new("sh").args(["-c", limited, program]).args(arguments).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && message.contains("cannot write"), "{message}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["status"], "optimal");
    let again = json(&["solve", file, "--start", text(&state)]);
    assert_eq!(again["status"], "optimal");
    assert!(again["cuts"]["reused"].as_u64().unwrap() > 0);
}

#[test]
fn no_output_replaces_an_input() {
    let folder = tempfile::tempdir().unwrap();
    let files = generated(folder.path(), "ga-10-100", 2);
    let (file, before) = (text(&files[0]), std::fs::read(&files[0]).unwrap());
    let model = folder.path().join("m.safetensors");
    success(&["model", "--half", text(&model)]);
    let network = std::fs::read(&model).unwrap();
    let linked = folder.path().join("linked.json");
    std::fs::hard_link(&files[0], &linked).unwrap();
    let refused = |arguments: &[&str]| {
        let (code, message) = failure(arguments);
        assert!(code == 2 && message.contains("expected a file other than the input"), "{arguments:?}: {message}");
    };
    for option in ["--save-state", "--save-multipliers", "--primal"] {
        refused(&["solve", file, "--quiet", option, file]);
        refused(&["solve", file, "--quiet", "--model", text(&model), option, text(&model)]);
        #[cfg(unix)]
        refused(&["solve", file, "--quiet", option, text(&linked)]);
    }
    refused(&["convert", file, file]);
    refused(&["model", text(&model), "--half", text(&model)]);
    refused(&["reference", file, "--out", file]);
    let own = text(files[0].parent().unwrap());
    let (code, message) = failure(&["generate", "ga-10-100", "--count=2", "--seed=1", "--base", file, "--out", own]);
    assert!(code == 2 && message.contains("expected a folder other than that of --base"), "{message}");
    assert!(std::fs::read(&files[0]).unwrap() == before && std::fs::read(&model).unwrap() == network);
    // Two outputs are two files; the start may be saved again.
    let (state, point) = (folder.path().join("state"), folder.path().join("point.json"));
    let (state, point) = (text(&state), text(&point));
    let (code, message) = failure(&["solve", file, "--quiet", "--save-state", state, "--primal", state]);
    assert!(code == 2 && message.contains("--primal: expected a file other than that of --save-state"), "{message}");
    success(&["solve", file, "--quiet", "--save-state", state, "--save-multipliers", point]);
    success(&["solve", file, "--quiet", "--start", point, "--save-multipliers", point]);
    success(&["solve", file, "--quiet", "--start", state, "--save-state", state]);
}

#[cfg(unix)]
#[test]
fn links_stay_and_only_regular_files_become_states() {
    use std::os::unix::fs::FileTypeExt;
    let folder = tempfile::tempdir().unwrap();
    let files = generated(folder.path(), "ga-10-100", 2);
    let file = text(&files[0]);
    let (pipe, link, target) = (folder.path().join("pipe"), folder.path().join("link"), folder.path().join("target"));
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for path in [pipe.as_path(), folder.path(), std::path::Path::new("/dev/null")] {
        let (code, message) = failure(&["solve", file, "--quiet", "--save-state", text(path)]);
        assert!(code == 2 && message.contains("expected a regular file"), "{message}");
        let (code, message) = failure(&["reference", file, "--out", text(path)]);
        assert!(code == 2 && message.contains("expected a regular file"), "{message}");
    }
    assert!(std::fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
    // A link may lead to a file that does not exist yet.
    std::os::unix::fs::symlink("target", &link).unwrap();
    let model = folder.path().join("model");
    std::os::unix::fs::symlink("network", &model).unwrap();
    for _ in 0..2 {
        success(&["solve", file, "--quiet", "--save-state", text(&link)]);
        success(&["model", "--half", text(&model)]);
        assert!(link.is_symlink() && model.is_symlink());
        assert!(bundlenet::State::read(&target).unwrap().steps() > 0);
    }
    success(&["model", text(&folder.path().join("network"))]);
    // Plain streams are written to.
    for (option, begin) in [("--save-multipliers", "["), ("--primal", "{")] {
        success(&["solve", file, "--quiet", option, "/dev/null"]);
        let said = success(&["solve", file, "--quiet", option, "/dev/stdout"]);
        assert!(said.lines().any(|line| line.starts_with(begin)), "{said}");
    }
    success(&["model", "--half", "/dev/null"]);
    // No temporary file and no lock is left.
    let mut left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["ga-10-100", "link", "model", "network", "pipe", "target"]);
}

#[test]
fn a_state_belongs_to_one_run_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let file = &generated(folder.path(), "mc-sml-40", 2)[0];
    let state = folder.path().join("state");
    let endless = ["solve", text(file), "--quiet", "--method=adam", "--steps=100000000", "--save-state", text(&state)];
    let mut child = program_runs::command(&endless).spawn().unwrap();
    while !state.exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let brief = ["solve", text(file), "--quiet", "--steps=5", "--start", text(&state)];
    let saved = [&brief[..], &["--save-state", text(&state)]].concat();
    let refused = program_runs::run(&saved);
    // It can be read meanwhile.
    let read = program_runs::run(&brief);
    child.kill().unwrap();
    child.wait().unwrap();
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(2) && message.contains("state is in use by another run"), "{message}");
    assert!(read.status.success());
    let steps = bundlenet::State::read(&state).unwrap().steps();
    // The lock ends with its process.
    success(&saved);
    assert_eq!(bundlenet::State::read(&state).unwrap().steps(), steps + 5);
}

#[test]
fn a_damaged_end_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let file = &generated(folder.path(), "ga-10-100", 2)[0];
    let state = folder.path().join("state");
    success(&["solve", text(file), "--quiet", "--save-state", text(&state)]);
    let whole = std::fs::read(&state).unwrap();
    let middle = whole.len() / 2;
    let flipped: Vec<u8> = whole.iter().enumerate().map(|(at, byte)| byte ^ u8::from(at == middle)).collect();
    let zeros: Vec<u8> = whole.iter().enumerate().map(|(at, &byte)| if at < middle { byte } else { 0 }).collect();
    for bytes in [&whole[..middle], &flipped, &zeros] {
        std::fs::write(&state, bytes).unwrap();
        let output = program_runs::run(&["solve", text(file), "--quiet", "--start", text(&state)]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && said.contains("damaged or incomplete at byte"), "{said}");
        assert!(said.contains("the state after step"), "{said}");
    }
    std::fs::write(&state, whole).unwrap();
    assert!(program_runs::run(&["solve", text(file), "--quiet", "--start", text(&state)]).stderr.is_empty());
}
