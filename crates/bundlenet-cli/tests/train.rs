//! Training and using a network as a user does it: settings, the run folder, kills, models, errors.

mod program_runs;

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use program_runs::{SMALL_TRAINING, command, failure, generated, run, success, text};
use serde_json::Value;

#[test]
fn a_network_is_trained_listed_shown_and_used() {
    let folder = tempfile::tempdir().unwrap();
    let (config, out) = (folder.path().join("c.toml"), folder.path().join("run"));
    std::fs::write(&config, SMALL_TRAINING).unwrap();
    let best = success(&["train", text(&config), "--out", text(&out), "--threads=2"]).trim().to_string();
    assert_eq!(Path::new(&best), out.join("best.safetensors"));
    for name in ["config.toml", "metrics.jsonl", "last.safetensors", "state.safetensors", "optima.json"] {
        assert!(out.join(name).exists(), "{name}");
    }
    let svg = std::fs::read_to_string(out.join("validation.svg")).unwrap();
    assert!(svg.contains("small &lt;test&gt;") && svg.matches("<polyline").count() == 2);
    let lines = std::fs::read_to_string(out.join("metrics.jsonl")).unwrap();
    let metrics: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(metrics.len(), 1 + 4 + 4);
    assert_eq!((&metrics[8]["stage"], &metrics[8]["generations"]), (&"evolution".into(), &4.into()));

    let listed = success(&["models", text(&out)]);
    assert!(listed.contains("best.safetensors") && listed.contains("% after 10"), "{listed}");
    // The state of the training is no model.
    let output = run(&["models", text(&out)]);
    assert!(output.stderr.is_empty() && !listed.contains("state.safetensors") && listed.lines().count() == 3);
    let card = success(&["model", &best]);
    assert!(card.contains("small <test>") && card.contains("hidden") && card.contains("relative-1"), "{card}");
    let card: Value = serde_json::from_str(&success(&["model", &best, "--json"])).unwrap();
    assert_eq!(card["architecture"]["hidden"], 4);
    assert_eq!(card["card"]["validation_steps"], serde_json::json!([5, 10]));

    let files = generated(folder.path(), "ga-10-100", 3);
    let files: Vec<&str> = files.iter().map(|path| text(path)).collect();
    let solve = ["solve", "--method=network", "--model", &best, "--steps=20", "--json", "--quiet"];
    let one: Value = serde_json::from_str(&success(&[&solve[..], &[files[0]]].concat())).unwrap();
    assert_eq!((&one["method"], &one["steps"]), (&"network".into(), &20.into()));
    assert!(one["network_seconds"].as_f64().unwrap() > 0.0 && one["oracle_seconds"].as_f64().unwrap() > 0.0);
    assert!(one["certificate"].as_f64().unwrap() > 0.0);
    let broken = folder.path().join("broken.json");
    std::fs::write(&broken, "{}").unwrap();
    let output = run(&[&solve[..], &[files[0], text(&broken), files[1], files[2]]].concat());
    assert_eq!(output.status.code(), Some(2));
    let many: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(many.as_array().unwrap().len(), 3);
    assert_eq!(many[0]["trace"][20]["best"], one["trace"][20]["best"]);
}

#[test]
fn a_killed_training_resumes_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("c.toml");
    std::fs::write(&config, SMALL_TRAINING).unwrap();
    let (whole, killed) = (folder.path().join("whole"), folder.path().join("killed"));
    success(&["train", text(&config), "--out", text(&whole)]);
    for milliseconds in [30, 200, 350, 500, 650, 800] {
        let mut child = command(&["train", text(&config), "--out", text(&killed), "--resume"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    // The folder has the settings, too, once it has got that far.
    let arguments: &[&str] = &["train", text(&config), "--out", text(&killed), "--resume"];
    success(arguments);
    for name in ["best.safetensors", "last.safetensors", "metrics.jsonl", "validation.svg", "state.safetensors"] {
        assert!(std::fs::read(whole.join(name)).unwrap() == std::fs::read(killed.join(name)).unwrap(), "{name}");
    }
    success(&["train", "--out", text(&killed), "--resume"]);
}

#[test]
fn two_trainings_do_not_share_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let (config, out) = (folder.path().join("c.toml"), folder.path().join("run"));
    std::fs::write(&config, SMALL_TRAINING.replace("updates = 8", "updates = 100000")).unwrap();
    let first = ["train", text(&config), "--out", text(&out)];
    let mut child = command(&first).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // The first has the folder once its settings are there.
    while !out.join("config.toml").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let (code, message) = failure(&["train", text(&config), "--out", text(&out), "--resume"]);
    assert!(code == 2 && message.contains("is in use by another run"), "{message}");
    child.kill().unwrap();
    child.wait().unwrap();
    // A lock does not outlive its training.
    success(&["train", text(&config), "--out", text(&out), "--resume", "--override", "gradient.updates=0"]);
}

#[test]
fn a_time_limit_leaves_a_model_and_says_how_to_continue() {
    let folder = tempfile::tempdir().unwrap();
    let (config, out) = (folder.path().join("c.toml"), folder.path().join("run"));
    std::fs::write(&config, SMALL_TRAINING.replace("updates = 8", "updates = 1000000")).unwrap();
    let output = run(&["train", text(&config), "--out", text(&out), "--time-limit=8"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), text(&out.join("best.safetensors")));
    assert!(
        said.contains("untrained:  gaps ") && said.contains("time limit reached; `bundlenet train --resume"),
        "{said}"
    );
    // Progress without a terminal: a plain line every five seconds.
    let progress = said.lines().filter(|line| line.contains(" of 1000000 updates, loss ")).count();
    assert_eq!(progress, 1, "{said}");
    let shown = std::fs::read_to_string(out.join("validation.svg")).unwrap();
    assert_eq!(shown.matches("<polyline").count(), 2);
    // The training continues, here to an earlier end.
    success(&["train", "--out", text(&out), "--resume", "--override", "gradient.updates=0"]);
    let (code, message) = failure(&["train", text(&config), "--out", text(&out), "--time-limit=0"]);
    assert!(code == 2 && message.contains("expected a positive finite number"), "{message}");
    // Without a model there is no success.
    let early = folder.path().join("early");
    let (code, message) = failure(&["train", text(&config), "--out", text(&early), "--time-limit=1e-9"]);
    assert!(code == 1 && message.contains("before the first model was written"), "{message}");
    success(&["train", "--out", text(&early), "--resume", "--override", "gradient.updates=0"]);
}

#[test]
fn settings_can_be_shown_and_changed() {
    let shown = success(&["train", "--print-config", "--data", "x", "--override", "gradient.rate=0.5"]);
    let table: toml::Table = shown.parse().unwrap();
    assert_eq!(table["gradient"]["rate"].as_float(), Some(0.5));
    assert_eq!(table["data"]["train"][0].as_str(), Some("x"));
    assert_eq!(table["network"]["attention"].as_str(), Some("softmax"));
    let shown = success(&["train", "--print-config", "--override", "network.attention=sparsemax"]);
    assert!(shown.contains("attention = \"sparsemax\""));
}

#[test]
fn mistakes_get_clear_errors() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let config = folder.path().join("c.toml");
    let message = |content: &str, more: &[&str]| {
        std::fs::write(&config, content).unwrap();
        let (code, message) = failure(&[&["train", text(&config), "--out", text(&out)], more].concat());
        assert_eq!(code, 2, "{message}");
        message
    };
    let unknown = message("[gradient]\nrates = 3\n", &[]);
    assert!(unknown.contains("c.toml") && unknown.contains("line 2") && unknown.contains("rates"), "{unknown}");
    assert!(message("name = \n", &[]).contains("line 1"));
    assert!(message("", &[]).contains("data.train: expected at least one folder or file, found none"));
    assert!(message("", &["--override", "rate"]).contains("expected KEY=VALUE, found \"rate\""));
    assert!(message("", &["--override", "gradient.batch=many"]).contains("--override"));
    assert!(message("", &["--override", "gradient.batch=0", "--data", "x"]).contains("gradient.batch"));
    assert!(message("", &["--data", "nowhere"]).contains("cannot read nowhere"));
    let (code, message) = failure(&["train", "--data", "x"]);
    assert!(code == 2 && message.contains("--out"), "{message}");

    let broken = folder.path().join("broken.safetensors");
    std::fs::write(&broken, "no model").unwrap();
    let (code, message) = failure(&["model", text(&broken)]);
    assert!(code == 2 && message.contains("expected a checkpoint in the safetensors format"), "{message}");
    let (code, message) = failure(&["solve", "--method=network", "--model", text(&broken), "x.json"]);
    assert!(code == 2 && message.contains("broken.safetensors"), "{message}");
    let (code, message) = failure(&["train", "--resume", "--out", text(&folder.path().join("none"))]);
    assert!(code == 2 && message.contains("expected a training to resume, found none"), "{message}");
    let (code, message) = failure(&["models", text(&folder.path().join("none"))]);
    assert!(code == 2 && message.contains("cannot read"), "{message}");
}
