//! The program on several ranks: the same bytes for any number of them, and a killed rank costs the step under way.
//!
//! Kills of ranks: `cargo test -p bundlenet-cli --features mpi --test ranks -- --ignored --test-threads 1`. A few of each
//! kind; with `BUNDLENET_ALL` set, 20.
#![cfg(feature = "mpi")]

mod program_runs;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use bundlenet::State;
use program_runs::{SMALL_TRAINING, generated, success, text};
use serde_json::Value;

/// Longest time from the death of a rank to the end of the job.
const SOON: Duration = Duration::from_secs(10);

fn mpirun(ranks: usize, arguments: &[&str]) -> Command {
    let mut command = Command::new("mpirun");
    command.args(["--allow-run-as-root", "--oversubscribe", "-n", &ranks.to_string()]);
    command.arg(env!("CARGO_BIN_EXE_bundlenet")).args(arguments).stdin(Stdio::null());
    command
}

#[track_caller]
fn on_ranks(ranks: usize, arguments: &[&str]) -> (String, String) {
    let Output { status, stdout, stderr } = mpirun(ranks, arguments).output().unwrap();
    let [stdout, stderr] = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(status.success(), "{ranks} ranks: {stderr}");
    (stdout, stderr)
}

/// JSON without times.
fn timeless(json: &str) -> Value {
    fn clear(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.retain(|name, _| !name.ends_with("seconds"));
                fields.values_mut().for_each(clear);
            }
            Value::Array(items) => items.iter_mut().for_each(clear),
            _ => {}
        }
    }
    let mut value = serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"));
    clear(&mut value);
    value
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A launcher gives standard input to the first rank alone.
#[test]
fn all_ranks_have_the_standard_input_of_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let file = units(folder.path());
    let arguments = ["solve", "-", "--json", "--quiet", "--steps=10"];
    let Output { status, stdout, stderr } =
        mpirun(2, &arguments).stdin(std::fs::File::open(&file).unwrap()).output().unwrap();
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    let found = timeless(&String::from_utf8(stdout).unwrap());
    let expected = timeless(&success(&["solve", text(&file), "--json", "--quiet", "--steps=10"]));
    assert_eq!(found["value"], expected["value"]);
}

/// A unit commitment instance whose components pay.
fn units(folder: &Path) -> PathBuf {
    let out = folder.join("uc");
    success(&["generate", "uc", "--count=1", "--seed=3", "--out", text(&out)]);
    let files = std::fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().path());
    files.into_iter().find(|path| !path.ends_with("manifest.json")).unwrap()
}

#[test]
fn components_over_ranks_have_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let file = units(folder.path());
    let path = |name: &str| folder.path().join(name);
    for method in ["auto", "bundle", "adam"] {
        let results = |ranks: usize| {
            let (multipliers, primal) = (path("multipliers.json"), path("primal.json"));
            let mut arguments = vec!["solve", text(&file), "--json", "--quiet", "--steps=40", "--method", method];
            arguments.extend(["--save-multipliers", text(&multipliers)]);
            if method != "adam" {
                arguments.extend(["--primal", text(&primal)]);
            }
            // No rank at all: the program without a launcher.
            let found = if ranks == 0 { success(&arguments) } else { on_ranks(ranks, &arguments).0 };
            (timeless(&found), read(&multipliers), std::fs::read(primal).ok())
        };
        let alone = results(0);
        for ranks in [1, 2, 3, 4] {
            assert!(results(ranks) == alone, "{method}, {ranks} ranks");
        }
    }
    let arguments = ["solve", text(&file), "--steps=3"];
    assert!(!on_ranks(2, &arguments).1.contains("do not pay"));
}

/// A model with blocks of two rows each, so HiGHS solves them, and of unequal sizes.
#[cfg(feature = "mip")]
fn model_with_blocks() -> String {
    let number = |block: usize, column: usize, of: usize| 3 + (block * 7 + column * 13 + of * 5) % 11;
    let sizes: Vec<usize> = (0..7).map(|block| 4 + 3 * (block % 3)).collect();
    let terms = |block: usize, of: usize| {
        (0..sizes[block])
            .map(|column| format!("+ {} x{block}_{column} ", number(block, column, of)))
            .collect::<String>()
    };
    let all = |of: usize| (0..sizes.len()).map(|block| terms(block, of)).collect::<String>();
    let mut text = format!("Maximize\n obj: {}\nSubject To\n", all(0));
    (1..4).for_each(|row| text += &format!(" link_{row}: {} <= {}\n", all(row), 90 + 10 * row));
    for (block, size) in sizes.iter().enumerate() {
        (4..6).for_each(|row| text += &format!(" cap_{block}_{row}: {} <= {}\n", terms(block, row), 3 * size + row));
    }
    let names = sizes.iter().enumerate().flat_map(|(block, size)| (0..*size).map(move |at| format!(" x{block}_{at}")));
    text + "Binary\n" + &names.collect::<String>() + "\nEnd\n"
}

/// Blocks move between ranks with their memory.
#[cfg(feature = "mip")]
#[test]
fn blocks_over_ranks_have_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let (file, multipliers) = (folder.path().join("model.lp"), folder.path().join("multipliers.json"));
    std::fs::write(&file, model_with_blocks()).unwrap();
    let results = |ranks: usize| {
        let mut arguments = vec!["solve", text(&file), "--relax=^link", "--json", "--quiet", "--steps=12"];
        arguments.extend(["--save-multipliers", text(&multipliers)]);
        let found = if ranks == 0 { success(&arguments) } else { on_ranks(ranks, &arguments).0 };
        (timeless(&found), read(&multipliers))
    };
    let alone = results(0);
    assert!(alone.0["blocks"] == 7 && alone.0["oracle_calls"].as_u64() > Some(3), "{}", alone.0);
    for ranks in [2, 3] {
        assert!(results(ranks) == alone, "{ranks} ranks");
    }
}

#[test]
fn files_over_ranks_have_the_same_lines() {
    let folder = tempfile::tempdir().unwrap();
    let files = generated(folder.path(), "ga-10-100", 7);
    let mut arguments = vec!["solve"];
    arguments.extend(files.iter().map(|file| text(file)));
    for method in ["--method=auto", "--method=network"] {
        let json = [&arguments[..], &["--json", "--steps=50", method]].concat();
        let alone = timeless(&success(&json));
        for ranks in [2, 3] {
            assert!(timeless(&on_ranks(ranks, &json).0) == alone, "{method}, {ranks} ranks");
        }
    }
    let (lines, _) = on_ranks(3, &[&arguments[..], &["--steps=50"]].concat());
    let names: Vec<&str> = lines.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, files.iter().map(|file| text(file)).collect::<Vec<_>>());
    // Ranks do not pay for the components of one such instance.
    let single = ["solve", text(&files[0]), "--json", "--quiet"];
    let (found, said) = on_ranks(3, &single);
    assert!(timeless(&found) == timeless(&success(&single)) && said.contains("ranks do not pay"), "{said}");
    assert_eq!(said.matches("do not pay").count(), 1);
}

#[test]
fn experiments_over_ranks_have_the_same_tables() {
    let folder = tempfile::tempdir().unwrap();
    let lines = |path: PathBuf| {
        let text = String::from_utf8(read(&path)).unwrap();
        let mut lines: Vec<String> = text.lines().map(|line| timeless(line).to_string()).collect();
        lines.sort();
        lines
    };
    // The third column from the end has seconds.
    let table = |path: PathBuf| {
        let text = String::from_utf8(read(&path)).unwrap();
        let row = |row: &str| row.rsplit(',').enumerate().filter(|(at, _)| *at != 2).map(|(_, cell)| cell).collect();
        text.lines().map(row).collect::<Vec<String>>()
    };
    let results = |ranks: usize| {
        let out = folder.path().join(format!("bench-{ranks}"));
        let arguments =
            ["bench", "generate:ga-10-100:15:3", "--methods=auto,network,constant", "--grid=100,1000", "--steps=5,60"];
        let arguments = [&arguments[..], &["--out", text(&out)]].concat();
        if ranks == 0 {
            success(&arguments)
        } else {
            on_ranks(ranks, &arguments).0
        };
        (lines(out.join("runs.jsonl")), table(out.join("table.csv")), read(&out.join("optima.json")))
    };
    let alone = results(0);
    for ranks in [1, 2, 3, 4] {
        assert!(results(ranks) == alone, "{ranks} ranks");
    }
}

#[test]
fn optima_over_ranks_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    generated(folder.path(), "ga-10-100", 6);
    let data = folder.path().join("ga-10-100");
    let results = |ranks: usize| {
        let out = folder.path().join(format!("optima-{ranks}.json"));
        let arguments = ["reference", text(&data), "--out", text(&out)];
        let said = if ranks == 0 { success(&arguments) } else { on_ranks(ranks, &arguments).0 };
        assert!(said.contains("computed now    6"), "{said}");
        timeless(std::str::from_utf8(&read(&out)).unwrap())
    };
    let alone = results(0);
    for ranks in [1, 2, 3, 4] {
        assert!(results(ranks) == alone, "{ranks} ranks");
    }
}

const TRAINED: [&str; 5] =
    ["best.safetensors", "last.safetensors", "metrics.jsonl", "state.safetensors", "optima.json"];

#[test]
fn trainings_over_ranks_have_the_same_weights() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config.toml");
    std::fs::write(&config, SMALL_TRAINING).unwrap();
    let results = |ranks: usize| {
        let out = folder.path().join(format!("run-{ranks}"));
        let arguments = ["train", text(&config), "--out", text(&out), "--quiet"];
        if ranks == 0 {
            success(&arguments)
        } else {
            on_ranks(ranks, &arguments).0
        };
        TRAINED.map(|name| read(&out.join(name)))
    };
    let alone = results(0);
    for ranks in [1, 2, 3, 4] {
        for ((name, found), expected) in TRAINED.iter().zip(results(ranks)).zip(&alone) {
            assert!(found == *expected, "{name}, {ranks} ranks");
        }
    }
}

#[test]
fn a_wrong_command_fails_once_and_soon() {
    for (arguments, message) in [(&["solve", "missing.json"][..], "missing.json"), (&["solve"], "required")] {
        let begin = Instant::now();
        let output = mpirun(3, arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && begin.elapsed() < SOON, "{said}");
        assert!(said.matches(message).count() == 1, "{said}");
    }
    assert_eq!(on_ranks(3, &["--version"]).0.lines().count(), 1);
    assert_eq!(on_ranks(3, &["models"]).0, success(&["models"]));
}

/// Kills of each kind.
fn kills() -> usize {
    if std::env::var_os("BUNDLENET_ALL").is_some() { 20 } else { 2 }
}

/// The ranks of a job: children of `mpirun`.
fn processes(job: &Child) -> Vec<u32> {
    let parent = |process: u32| {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse::<u32>().ok()
    };
    let all = std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let mut ranks: Vec<u32> = all.filter(|&process| parent(process) == Some(job.id())).collect();
    ranks.sort_unstable();
    ranks
}

/// Random numbers from a fixed seed.
struct Chance(u64);

impl Chance {
    fn number(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Waits for the end of a job. It must not take long.
fn wait(job: &mut Child) -> ExitStatus {
    let begin = Instant::now();
    loop {
        match job.try_wait().unwrap() {
            Some(status) => return status,
            None if begin.elapsed() > 6 * SOON => {
                job.kill().unwrap();
                panic!("the job goes on after the death of a rank");
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// Runs a command on three ranks, and kills one of them after some time. Returns whether it was killed, and what the
/// job said. Its end comes soon and names the rank.
fn run_and_kill(arguments: &[&str], time: Duration, chance: &mut Chance) -> (bool, String) {
    // Before MPI has started, the end of a job is the affair of the launcher alone.
    let start = timed(|| drop(on_ranks(3, &["--version"]))).min(time);
    let mut job = mpirun(3, arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = job.stderr.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut said = vec![];
        stderr.read_to_end(&mut said).unwrap();
        String::from_utf8_lossy(&said).into_owned()
    });
    std::thread::sleep(start + (time - start).mul_f64(chance.number()));
    let ranks = processes(&job);
    let victim = (3.0 * chance.number()) as usize;
    let begin = Instant::now();
    if let Some(process) = ranks.get(victim) {
        // It may have ended in the meantime.
        let _ = Command::new("kill").args(["-9", &process.to_string()]).stderr(Stdio::null()).status();
    }
    let status = wait(&mut job);
    let took = begin.elapsed();
    let said = reader.join().unwrap();
    if !status.success() {
        assert!(took < SOON && said.contains("rank") && said.contains("signal 9"), "{took:?}: {said}");
    }
    (!status.success(), said)
}

fn timed(work: impl FnOnce()) -> Duration {
    let begin = Instant::now();
    work();
    begin.elapsed()
}

#[test]
#[ignore = "kills ranks at random times"]
fn a_killed_solve_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (file, state) = (units(folder.path()), folder.path().join("state"));
    let arguments = ["solve", text(&file), "--steps=300", "--method=bundle", "--save-state", text(&state)];
    let time = timed(|| drop(on_ranks(3, &arguments)));
    std::fs::remove_file(&state).unwrap();
    let (mut killed, mut chance, mut before) = (0, Chance(1), 0);
    while killed < kills() {
        let resumed = [&arguments[..], &["--start", text(&state)]].concat();
        let (is_killed, said) = run_and_kill(if state.exists() { &resumed } else { &arguments }, time, &mut chance);
        killed += usize::from(is_killed);
        if !state.exists() {
            continue;
        }
        let steps = State::read(&state).unwrap().steps();
        let shown: usize =
            said.lines().filter_map(|line| line.split_whitespace().next()?.parse().ok()).max().unwrap_or(0);
        assert!(steps >= before + shown, "{steps} steps saved, {before} + {shown} shown");
        before = steps;
        if !is_killed {
            std::fs::remove_file(&state).unwrap();
            before = 0;
        }
    }
    println!("{killed} kills of solve");
}

#[test]
#[ignore = "kills ranks at random times"]
fn a_killed_bench_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, out) = (folder.path().join("whole"), folder.path().join("out"));
    let arguments = |out: &Path| {
        let fixed = ["bench", "generate:ga-10-100:40:3", "--methods=auto,constant", "--grid=100,1000", "--steps=5,60"];
        fixed.map(str::to_string).into_iter().chain(["--out".to_string(), text(out).to_string()]).collect::<Vec<_>>()
    };
    let results = |out: &Path| {
        let runs = std::fs::read_to_string(out.join("runs.jsonl")).unwrap_or_default();
        let mut runs: Vec<String> = runs.lines().map(|line| timeless(line).to_string()).collect();
        runs.sort();
        (runs, read(&out.join("optima.json")))
    };
    let run = arguments(&whole);
    let run: Vec<&str> = run.iter().map(String::as_str).collect();
    let time = timed(|| drop(on_ranks(3, &run)));
    let run = arguments(&out);
    let run: Vec<&str> = run.iter().map(String::as_str).collect();
    let (mut killed, mut finished, mut chance, mut runs) = (0, 0, Chance(2), String::new());
    while killed < kills() || finished == 0 {
        let (is_killed, _) = run_and_kill(&run, time, &mut chance);
        killed += usize::from(is_killed);
        let now = std::fs::read_to_string(out.join("runs.jsonl")).unwrap_or_default();
        let now = now.rfind('\n').map_or("", |end| &now[..=end]);
        assert!(now.starts_with(&runs), "runs that were there are gone");
        runs = now.to_string();
        if !is_killed {
            assert!(results(&out) == results(&whole));
            std::fs::remove_dir_all(&out).unwrap();
            (finished, runs) = (finished + 1, String::new());
        }
    }
    println!("{killed} kills of bench, {finished} finished");
}

#[test]
#[ignore = "kills ranks at random times"]
fn a_killed_training_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (config, whole, out) = (folder.path().join("c.toml"), folder.path().join("whole"), folder.path().join("out"));
    std::fs::write(&config, SMALL_TRAINING).unwrap();
    let time = timed(|| drop(on_ranks(3, &["train", text(&config), "--out", text(&whole)])));
    let resume = ["train", text(&config), "--out", text(&out), "--resume"];
    let (mut killed, mut finished, mut chance) = (0, 0, Chance(3));
    while killed < kills() || finished == 0 {
        let (is_killed, _) = run_and_kill(&resume, time, &mut chance);
        killed += usize::from(is_killed);
        if !is_killed {
            for name in TRAINED {
                assert!(read(&whole.join(name)) == read(&out.join(name)), "{name}");
            }
            std::fs::remove_dir_all(&out).unwrap();
            finished += 1;
        }
    }
    println!("{killed} kills of train, {finished} trainings the same bit for bit");
}
