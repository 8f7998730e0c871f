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
    // Gaps and step lengths have two columns; each stage has its loss.
    assert!(svg.contains("small &lt;test&gt;") && svg.matches("<polyline").count() == 2 + 2 + 2);
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
    assert!(card.contains("guard       no") && card.contains("format      6"), "{card}");
    let card: Value = serde_json::from_str(&success(&["model", &best, "--json"])).unwrap();
    assert_eq!(
        (&card["architecture"]["hidden"], &card["format"], &card["has_guard"]),
        (&4.into(), &6.into(), &false.into())
    );
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
    // Gaps and step lengths have two columns; there is one loss.
    assert_eq!(shown.matches("<polyline").count(), 2 + 2 + 1);
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

/// The scalars of an event file: step, name and value.
fn scalars_of(bytes: &[u8]) -> Vec<(u64, String, f32)> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut number = 0;
        for shift in (0..).step_by(7) {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        number
    }
    /// Fields of a message: number, and content or number.
    fn fields(mut bytes: &[u8]) -> Vec<(u64, Vec<u8>, u64)> {
        let mut fields = vec![];
        while !bytes.is_empty() {
            let key = varint(&mut bytes);
            let length = match key & 7 {
                0 => {
                    fields.push((key >> 3, vec![], varint(&mut bytes)));
                    continue;
                }
                1 => 8,
                2 => varint(&mut bytes) as usize,
                _ => 4,
            };
            fields.push((key >> 3, bytes[..length].to_vec(), 0));
            bytes = &bytes[length..];
        }
        fields
    }
    let (mut rest, mut scalars) = (bytes, vec![]);
    while !rest.is_empty() {
        let length = u64::from_le_bytes(rest[..8].try_into().unwrap()) as usize;
        let event = fields(&rest[12..12 + length]);
        rest = &rest[16 + length..];
        let step = event.iter().find(|field| field.0 == 2).unwrap().2;
        for (_, summary, _) in event.iter().filter(|field| field.0 == 5) {
            for (_, value, _) in fields(summary) {
                let value = fields(&value);
                let number = f32::from_le_bytes(value[1].1.clone().try_into().unwrap());
                scalars.push((step, String::from_utf8(value[0].1.clone()).unwrap(), number));
            }
        }
    }
    scalars
}

#[test]
fn metrics_become_csv_and_events() {
    let folder = tempfile::tempdir().unwrap();
    let (config, out) = (folder.path().join("c.toml"), folder.path().join("run"));
    std::fs::write(&config, SMALL_TRAINING).unwrap();
    success(&["train", text(&config), "--out", text(&out)]);
    let lines = std::fs::read_to_string(out.join("metrics.jsonl")).unwrap();
    let metrics: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();

    let csv = success(&["metrics", text(&out)]);
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let column = |name: &str| rows[0].iter().position(|title| *title == name).unwrap();
    assert_eq!(rows.len(), 1 + metrics.len());
    for (row, line) in rows[1..].iter().zip(&metrics) {
        assert_eq!(row.len(), rows[0].len());
        assert_eq!(row[column("stage")], line["stage"]);
        assert_eq!(row[column("gap_percent_10")].parse::<f64>().unwrap(), line["gaps"][1].as_f64().unwrap());
        assert_eq!(row[column("loss")].parse::<f64>().ok(), line["loss"].as_f64());
    }

    let events = folder.path().join("events");
    let path = success(&["metrics", text(&out), "--tensorboard", text(&events)]);
    let scalars = scalars_of(&std::fs::read(path.trim()).unwrap());
    let gaps: Vec<(u64, f32)> =
        scalars.iter().filter(|(_, name, _)| name == "gap_percent/10").map(|(step, _, gap)| (*step, *gap)).collect();
    let expected = metrics.iter().map(|line| {
        let step = line["updates"].as_u64().unwrap() + line["generations"].as_u64().unwrap();
        (step, line["gaps"][1].as_f64().unwrap() as f32)
    });
    assert_eq!(gaps, expected.collect::<Vec<_>>());
    let (code, message) = failure(&["metrics", text(&folder.path().join("none"))]);
    assert!(code == 2 && message.contains("cannot read"), "{message}");
}

#[test]
fn seeds_are_trained_side_by_side_and_compared() {
    let folder = tempfile::tempdir().unwrap();
    let (config, out) = (folder.path().join("c.toml"), folder.path().join("runs"));
    std::fs::write(&config, SMALL_TRAINING).unwrap();
    let table = success(&["train", text(&config), "--out", text(&out), "--seeds=3"]);
    assert!(table.contains("| 3 |") && table.contains("| mean ± standard deviation |"), "{table}");
    let csv = std::fs::read_to_string(out.join("seeds.csv")).unwrap();
    let gaps: Vec<&str> = csv.lines().skip(1).map(|line| line.split(',').nth(2).unwrap()).collect();
    // Two columns of three different trainings.
    assert!(gaps.len() == 6 && gaps[0] != gaps[2] && gaps[2] != gaps[4], "{csv}");
    // Each is the training with its seed alone.
    let alone = folder.path().join("alone");
    success(&["train", text(&config), "--out", text(&alone), "--override", "seed=2"]);
    let metrics = |folder: &Path| std::fs::read_to_string(folder.join("metrics.jsonl")).unwrap();
    assert_eq!(metrics(&alone), metrics(&out.join("seed-2")));
    assert_eq!(success(&["train", "--out", text(&out), "--seeds=3", "--resume"]), table);

    // The validations of all seeds.
    let csv = success(&["metrics", text(&out)]);
    assert!(csv.starts_with("seed,stage,") && csv.lines().count() == 1 + 3 * (1 + 4 + 4), "{csv}");
    assert_eq!(csv.lines().filter(|line| line.starts_with("2,gradient,")).count(), 1 + 4);
    let events = folder.path().join("events");
    let paths = success(&["metrics", text(&out), "--tensorboard", text(&events)]);
    assert!(paths.lines().count() == 3 && paths.contains("seed-3"), "{paths}");
    assert!(paths.lines().all(|path| !scalars_of(&std::fs::read(path).unwrap()).is_empty()));

    // Folders of one and of several trainings are not mixed.
    for more in [&["--resume"][..], &[]] {
        let (code, message) = failure(&[&["train", text(&config), "--out", text(&out)], more].concat());
        assert!(
            code == 2 && message.contains("found trainings of several seeds (seed-1, seed-2, seed-3)"),
            "{message}"
        );
        assert!(!out.join("state.safetensors").exists());
    }
    let (code, message) = failure(&["train", text(&config), "--out", text(&alone), "--resume", "--seeds=2"]);
    assert!(code == 2 && message.contains("for several seeds, found one training"), "{message}");
}

#[test]
fn a_collapsed_seed_does_not_end_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let (config, out) = (folder.path().join("c.toml"), folder.path().join("runs"));
    // Such a rate makes every network collapse.
    std::fs::write(&config, SMALL_TRAINING.replace("updates = 8", "updates = 8\nrate = 3.0")).unwrap();
    let all = ["train", text(&config), "--out", text(&out), "--seeds=2", "--resume"];
    let first = run(&all);
    let (table, said) = (String::from_utf8(first.stdout).unwrap(), String::from_utf8(first.stderr).unwrap());
    assert!(table.contains("| 1† |") && table.contains("| 2† |"), "{table}");
    assert!(table.contains("- seed 2: training stopped after ") && table.contains("the network has collapsed"));
    assert!(first.status.code() == Some(1) && said.ends_with("2 of 2 trainings stopped early; seeds.md says why\n"));
    assert_eq!(std::fs::read_to_string(out.join("seeds.md")).unwrap(), table);
    // So it is when the trainings are resumed.
    let again = run(&all);
    assert_eq!((again.status.code(), String::from_utf8(again.stdout).unwrap()), (Some(1), table));
}

#[test]
fn the_start_of_a_training_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let (config, out) = (folder.path().join("c.toml"), folder.path().join("run"));
    let single = SMALL_TRAINING.replace("generate:ga-10-100:16:5", text(&generated(folder.path(), "ga-10-100", 1)[0]));
    std::fs::write(&config, single).unwrap();
    let train = |out: &Path, more: &[&str]| {
        let output = run(&[&["train", text(&config), "--out", text(out)], more].concat());
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    };
    let (is_done, said) = train(&out, &[]);
    assert!(is_done && said.contains("untrained:  gaps "), "{said}");
    assert!(said.contains("validation is on the instances of the training"), "{said}");
    let start = format!("start_from={}", text(&out.join("best.safetensors")));
    let (is_done, said) = train(&folder.path().join("next"), &["--override", &start]);
    assert!(is_done && said.contains("model of start_from:  gaps ") && !said.contains("untrained"), "{said}");
    let (is_done, said) =
        train(&folder.path().join("other"), &["--override", &start, "--override", "network.hidden=5"]);
    assert!(!is_done && said.ends_with("expected network.hidden = 5 (settings), found network.hidden = 4\n"), "{said}");
    let (is_done, said) = train(&out, &["--resume", "--override", "gradient.batch=3"]);
    let different = "expected gradient.batch = 4, as the training began, found gradient.batch = 3\n";
    assert!(!is_done && said.ends_with(different), "{said}");
}

#[test]
fn a_plateau_ends_a_stage_early() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("c.toml");
    std::fs::write(&config, SMALL_TRAINING).unwrap();
    let mut said = vec![];
    let mut metrics = |name: &str, more: &[&str]| {
        let out = folder.path().join(name);
        let output = run(&[&["train", text(&config), "--out", text(&out)], more].concat());
        said.push(String::from_utf8(output.stderr).unwrap());
        let lines = std::fs::read_to_string(out.join("metrics.jsonl")).unwrap();
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>()
    };
    // Weights that hardly move do not become better by a new best in every validation.
    let slow = ["--override", "gradient.rate=1e-30", "--override", "evolution.rate=1e-30"];
    let ended = metrics("slow", &[&slow[..], &["--override", "validation.patience=2"]].concat());
    let stages: Vec<&str> = ended.iter().map(|line| line["stage"].as_str().unwrap()).collect();
    assert_eq!(stages, ["gradient", "gradient", "gradient", "evolution", "evolution"]);
    assert_eq!((&ended[2]["updates"], &ended[4]["generations"]), (&4.into(), &2.into()));
    assert_eq!(metrics("whole", &slow).len(), 1 + 4 + 4);
    // More patience continues the same training.
    let more = metrics("slow", &[&slow[..], &["--override", "validation.patience=9", "--resume"]].concat());
    assert_eq!((more.len(), &more[..5]), (1 + 2 + 4, &ended[..]));
    // The end of each stage is said.
    let plateaus = |said: &str| said.lines().filter(|line| line.starts_with("plateau after ")).count();
    assert!(said[0].contains("plateau after 4 of 8 updates:") && said[0].contains("plateau after 2 of 4 generations:"));
    assert_eq!(said.iter().map(|said| plateaus(said)).collect::<Vec<_>>(), [2, 0, 0], "{said:?}");
}
