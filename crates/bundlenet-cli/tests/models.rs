//! Model files in the program: refused without the feature `mip`, solved with it.

use std::path::PathBuf;
use std::process::{Command, Output};

const LP: &str = "Maximize\n obj: 3 x1 + 2 x2 + 4 y1 + y2\nSubject To\n link_1: x1 + y1 <= 1\n link_2: x2 + y2 >= 1\n \
                  cap_1: 2 x1 + 3 x2 <= 4\n cap_2: 2 y1 + 3 y2 <= 4\nBinary\n x1 x2 y1 y2\nEnd\n";

fn run(arguments: &[&str], folder: &tempfile::TempDir) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bundlenet")).args(arguments).current_dir(folder.path()).output().unwrap()
}

fn written(folder: &tempfile::TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    written(&folder, "model.lp", LP);
    folder
}

#[track_caller]
fn failure(arguments: &[&str], folder: &tempfile::TempDir) -> String {
    let output = run(arguments, folder);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(output.stdout.is_empty() && !message.contains("panicked"), "{message}");
    message
}

#[test]
fn options_of_models_need_a_model() {
    let folder = folder();
    let message = failure(&["solve", "instance.json", "--relax", "a"], &folder);
    assert!(message.contains("--relax: expected a model file"), "{message}");
    let message = failure(&["solve", "model.lp", "--relax", "link", "--first-stage", "x"], &folder);
    assert!(message.contains("--first-stage: expected a folder"), "{message}");
}

#[cfg(not(feature = "mip"))]
#[test]
fn without_the_feature_models_are_refused() {
    let folder = folder();
    for arguments in [&["solve", "model.lp", "--relax", "link"][..], &["inspect", "model.lp"]] {
        let message = failure(arguments, &folder);
        assert!(message.contains("model.lp") && message.contains("--features mip"), "{message}");
    }
}

#[cfg(feature = "mip")]
mod with_the_feature {
    use serde_json::Value;

    use super::*;

    #[track_caller]
    fn json(arguments: &[&str], folder: &tempfile::TempDir) -> Value {
        let output = run(arguments, folder);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn read(folder: &tempfile::TempDir, name: &str) -> Value {
        serde_json::from_str(&std::fs::read_to_string(folder.path().join(name)).unwrap()).unwrap()
    }

    #[test]
    fn a_model_has_a_bound() {
        let folder = folder();
        written(&folder, "model.dec", "NBLOCKS\n2\nBLOCK 1\ncap_1\nBLOCK 2\ncap_2\nMASTERCONSS\nlink_1\nlink_2\n");
        let files = ["--save-multipliers", "m.json", "--primal", "p.json"];
        let report = json(&[&["solve", "model.lp", "--dec", "model.dec", "--json"][..], &files].concat(), &folder);
        assert_eq!(
            (&report["problem"], &report["sense"], &report["dimension"]),
            (&"blocks".into(), &"min".into(), &2.into())
        );
        assert!((report["value"].as_f64().unwrap() - 6.0).abs() < 1e-5, "{report}");
        assert!(report["lp_bound"].as_f64().unwrap() >= 6.0 - 1e-6, "{report}");
        assert_eq!((&report["blocks"], &report["distinct_blocks"]), (&2.into(), &2.into()));
        let multipliers = read(&folder, "m.json");
        // A model to maximise: a row `<=` has a multiplier of at least 0, a row `>=` one of at most 0.
        assert!(multipliers["link_1"].as_f64().unwrap() >= 0.0 && multipliers["link_2"].as_f64().unwrap() <= 0.0);
        let primal = read(&folder, "p.json");
        assert!(primal["largest_violation"].as_f64().unwrap() < 1e-3, "{primal}");
        assert!(primal["convex"]["columns"]["y1"].as_f64().is_some_and(|value| value > 0.5), "{primal}");
        // A later run starts at the multipliers by name.
        let again = json(&["solve", "model.lp", "--relax", "^link", "--start", "m.json", "--json"], &folder);
        assert!((again["value"].as_f64().unwrap() - 6.0).abs() < 1e-5, "{again}");
        written(&folder, "n.json", "{\"cap_1\": 1.0}");
        let message = failure(&["solve", "model.lp", "--relax", "^link", "--start", "n.json"], &folder);
        assert!(message.contains("names of relaxed rows") && message.contains("cap_1"), "{message}");
    }

    #[test]
    fn a_model_has_a_safe_bound() {
        let folder = folder();
        let report = json(&["solve", "model.lp", "--relax", "^link", "--safe", "--json"], &folder);
        let (value, safe) = (report["value"].as_f64().unwrap(), report["safe_bound"].as_f64().unwrap());
        // An upper bound on the optimum, 6.
        assert!((6.0..=value + 1e-9).contains(&safe), "{report}");
        assert!(report["safe_bound_exact"].is_string(), "{report}");
    }

    #[test]
    fn structures_are_shown() {
        let folder = folder();
        let report = json(&["inspect", "model.lp", "--json"], &folder);
        assert_eq!(report["candidates"][0]["relax"], r"^link_\d+$");
        let report = json(&["inspect", "model.lp", "--relax", "auto", "--json", "--check"], &folder);
        assert_eq!(
            (&report["relaxed_rows"], &report["blocks"], &report["check"]["ok"]),
            (&2.into(), &2.into(), &true.into())
        );
        assert_eq!(report["kinds"][0]["kind"], "knapsack");
    }

    #[test]
    fn wrong_usage_is_named() {
        let folder = folder();
        assert!(failure(&["solve", "model.lp"], &folder).contains("--relax auto"));
        assert!(failure(&["solve", "model.lp", "--relax", "absent"], &folder).contains("none that matches"));
        let proof = ["solve", "model.lp", "--relax", "link", "--safe", "--proof", "p.json"];
        assert!(failure(&proof, &folder).contains("--proof: expected an instance of a problem family"));
        written(&folder, "halves.lp", &LP.replace("x1 + y1 <= 1", "0.5 x1 + y1 <= 1"));
        let message = failure(&["solve", "halves.lp", "--relax", "link", "--safe"], &folder);
        assert!(message.contains("halves.lp: column x1: expected an integer"), "{message}");
        assert!(failure(&["solve", "model.lp", "--dec", "absent.dec"], &folder).contains("absent.dec"));
    }

    #[test]
    fn a_stochastic_program_has_two_sides() {
        let folder = folder();
        let core = "NAME T\nROWS\n N obj\n L land\n G need\nCOLUMNS\n M1 'MARKER' 'INTORG'\n x obj 3 land 1\n x need 2\n \
                    M2 'MARKER' 'INTEND'\n y obj 5 need 1\nRHS\n RHS land 4 need 3\nBOUNDS\n UP BND x 4\n UP BND y 9\n\
                    ENDATA\n";
        written(&folder, "t.cor", core);
        written(&folder, "t.tim", "TIME T\nPERIODS IMPLICIT\n x obj ONE\n y need TWO\nENDATA\n");
        let scenarios =
            "STOCH T\nSCENARIOS DISCRETE\n SC A ROOT 0.25 TWO\n RHS need 1\n SC B ROOT 0.75 TWO\n RHS need 6\nENDATA\n";
        written(&folder, "t.sto", scenarios);
        let report = json(&["solve", "t.cor", "--json", "--time-limit", "60"], &folder);
        assert_eq!((&report["problem"], &report["scenarios"]), (&"two-stage".into(), &2.into()));
        assert!(report["feasible_gap"].as_f64().unwrap() < 1e-5, "{report}");
        assert!(report["best_first_stage"]["x"].as_f64().is_some(), "{report}");
    }
}
