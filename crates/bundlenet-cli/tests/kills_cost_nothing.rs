//! Kills at many moments: every command continues, and has lost the step under way at most.
//!
//! A handful of each kind; with `BUNDLENET_ALL` set, 200.

mod program_runs;

use std::collections::HashSet;
use std::io::Read;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use bundlenet::State;
use program_runs::{SMALL_TRAINING, command, generated, success, text};
use serde_json::Value;

/// Kills of each kind.
fn kills() -> usize {
    if std::env::var_os("BUNDLENET_ALL").is_some() { 200 } else { 5 }
}

/// Moments from a fixed seed.
struct Moments(u64);

impl Moments {
    fn new() -> Self {
        Self(1)
    }

    fn below(&mut self, limit: Duration) -> Duration {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        limit.mul_f64((self.0 >> 11) as f64 / (1_u64 << 53) as f64)
    }
}

/// Runs the program for so long; what it said, and whether it was killed.
fn run_for(arguments: &[&str], time: Duration) -> (String, bool) {
    let mut child = command(arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = child.stderr.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut said = vec![];
        stderr.read_to_end(&mut said).unwrap();
        String::from_utf8_lossy(&said).into_owned()
    });
    std::thread::sleep(time);
    let has_ended = child.try_wait().unwrap();
    child.kill().unwrap();
    let status = child.wait().unwrap();
    let said = reader.join().unwrap();
    let is_killed = has_ended.is_none() && status.code().is_none();
    assert!(is_killed || status.success(), "{said}");
    (said, is_killed)
}

/// The number at the beginning of the last whole line of a log.
fn last_step(said: &str) -> Option<usize> {
    let whole = &said[..said.rfind('\n')?];
    whole.lines().rev().find_map(|line| line.split_whitespace().next()?.parse().ok())
}

#[test]
fn a_killed_solve_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let files = generated(folder.path(), "mc-sml-40", 4);
    let state = folder.path().join("state");
    let mut moments = Moments::new();
    let (mut killed, mut chains) = (0, 0);
    let methods = ["auto", "hybrid", "bundle", "adam", "network"];
    while killed < kills() {
        let (file, method) = (text(&files[chains % files.len()]), methods[chains % methods.len()]);
        chains += 1;
        let _ = std::fs::remove_file(&state);
        let plain = ["solve", file, "--method", method, "--steps=400", "--tolerance=1e-9"];
        let begin = Instant::now();
        let whole: Value = serde_json::from_str(&success(&[&plain[..], &["--json"]].concat())).unwrap();
        let time = begin.elapsed();
        let mut before: Option<State> = None;
        for _ in 0..kills().min(10) {
            let mut arguments = [&plain[..], &["--save-state", text(&state)]].concat();
            if state.exists() {
                arguments.extend(["--start", text(&state)]);
            }
            let moment = moments.below(time);
            let (said, is_killed) = run_for(&arguments, moment);
            killed += usize::from(is_killed);
            let Some(shown) = last_step(&said) else { continue };
            let saved = State::read(&state).unwrap_or_else(|error| panic!("after {moment:?}: {error}"));
            let begun = before.as_ref().map_or(0, State::steps);
            assert!(saved.steps() >= begun + shown, "{} steps saved, {begun} + {shown} shown", saved.steps());
            let value = before.as_ref().and_then(State::value).unwrap_or(f64::NEG_INFINITY);
            // The same multipliers may be evaluated in another order of additions.
            assert!(saved.value().unwrap() >= value - 1e-9 * value.abs(), "{:?} after {value}", saved.value());
            before = Some(saved);
        }
        let last = [&plain[..], &["--json", "--quiet", "--save-state", text(&state)]].concat();
        let start: &[&str] = if state.exists() { &["--start", text(&state)] } else { &[] };
        let last: Value = serde_json::from_str(&success(&[&last[..], start].concat())).unwrap();
        // It has had more steps than the one that was never killed.
        let (ours, theirs) = (last["value"].as_f64().unwrap(), whole["value"].as_f64().unwrap());
        let tolerance = if method == "adam" { 0.05 } else { 1e-3 };
        assert!(ours >= theirs - tolerance * theirs.abs(), "{method}: {ours}, never killed {theirs}");
        if whole["status"] == "optimal" && last["status"] == "optimal" {
            assert!((ours - theirs).abs() <= 1e-7 * theirs, "{method}: {ours}, never killed {theirs}");
        }
    }
    println!("{killed} kills of solve in {chains} chains");
}

#[test]
fn a_killed_training_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (config, whole, out) = (folder.path().join("c.toml"), folder.path().join("whole"), folder.path().join("out"));
    std::fs::write(&config, SMALL_TRAINING).unwrap();
    let begin = Instant::now();
    success(&["train", text(&config), "--out", text(&whole)]);
    let time = begin.elapsed();
    let mut moments = Moments::new();
    let (mut killed, mut finished, mut measured) = (0, 0, 0);
    while killed < kills() || finished == 0 {
        let resume = ["train", text(&config), "--out", text(&out), "--resume"];
        let (_, is_killed) = run_for(&resume, moments.below(time / 2));
        killed += usize::from(is_killed);
        // What has been measured stays so.
        let metrics = std::fs::read_to_string(out.join("metrics.jsonl")).unwrap_or_default().lines().count();
        assert!(metrics >= measured, "{metrics} measurements, {measured} before");
        measured = metrics;
        if !is_killed {
            for name in ["best.safetensors", "last.safetensors", "metrics.jsonl", "state.safetensors", "optima.json"] {
                assert!(std::fs::read(whole.join(name)).unwrap() == std::fs::read(out.join(name)).unwrap(), "{name}");
            }
            std::fs::remove_dir_all(&out).unwrap();
            (finished, measured) = (finished + 1, 0);
        }
    }
    println!("{killed} kills of train, {finished} trainings the same bit for bit");
}

#[test]
fn a_killed_bench_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, out) = (folder.path().join("whole"), folder.path().join("out"));
    let arguments = |out: &'static str| {
        ["bench", "generate:ga-10-100:15:3", "--methods=auto,constant", "--grid=100,1000", "--steps=5,60", "--out", out]
    };
    let begin = Instant::now();
    success(&arguments(String::leak(text(&whole).to_string())));
    let time = begin.elapsed();
    let out_text: &'static str = String::leak(text(&out).to_string());
    let read = |folder: &Path, name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
    // What does not depend on the time.
    let results = |folder: &Path| {
        let without_times = |line: &str| {
            let mut run: Value = serde_json::from_str(line).unwrap();
            let run = run.as_object_mut().unwrap();
            run.retain(|name, _| !name.ends_with("seconds") && name != "seconds");
            serde_json::to_string(run).unwrap()
        };
        let mut runs: Vec<String> = read(folder, "runs.jsonl").lines().map(without_times).collect();
        runs.sort();
        runs
    };
    let mut moments = Moments::new();
    let (mut killed, mut finished) = (0, 0);
    let (mut runs, mut optima) = (String::new(), HashSet::new());
    while killed < kills() || finished == 0 {
        let (_, is_killed) = run_for(&arguments(out_text), moments.below(time));
        killed += usize::from(is_killed);
        let now = read(&out, "runs.jsonl");
        let whole_lines = now.rfind('\n').map_or("", |end| &now[..=end]);
        assert!(whole_lines.starts_with(&runs), "runs that were there are gone");
        runs = whole_lines.to_string();
        let known = read(&out, "optima.json");
        if !known.is_empty() {
            let known: Value = serde_json::from_str(&known).unwrap();
            let known: HashSet<String> = known.as_object().unwrap().keys().cloned().collect();
            assert!(known.is_superset(&optima), "optima that were there are gone");
            optima = known;
        }
        if !is_killed {
            assert_eq!(results(&whole), results(&out));
            assert_eq!(read(&whole, "optima.json"), read(&out, "optima.json"));
            assert!(out.join("report.html").exists());
            std::fs::remove_dir_all(&out).unwrap();
            finished += 1;
            (runs, optima) = (String::new(), HashSet::new());
        }
    }
    println!("{killed} kills of bench, {finished} finished");
}
