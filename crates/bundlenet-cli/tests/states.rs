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
    assert!(code == 2 && message.contains("expected version 1 of a state, found version 7"), "{message}");
    bytes[16] = 1;
    bytes[100] ^= 1;
    std::fs::write(&broken, &bytes).unwrap();
    let (code, message) = failure(&["solve", file, "--start", text(&broken)]);
    assert!(code == 2 && message.contains("expected a whole state, found a damaged record"), "{message}");
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
