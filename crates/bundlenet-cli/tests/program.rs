//! The program as a user runs it: output, exit codes, errors.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

const DAT: &str = "2 2 2\n2 1 10 5 2\n1 3 2\n2 4 1\n2 1 20 9 2\n1 1 2\n2 2 1\n1 1 -2\n1 2 2\n2 1 -1\n2 2 1\n";
const DOW: &str = "title\n2 1 1\n1 2 3 5 10 1 1\n1 2 2\n";
const TEXT: &str = "2 3\n1 2 3\n4 5 6\n1 1 2\n2 1 1\n3 2\n";

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

fn run(arguments: &[&dyn AsRef<std::ffi::OsStr>]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bundlenet"));
    for argument in arguments {
        command.arg(argument);
    }
    command.output().unwrap()
}

#[track_caller]
fn json(arguments: &[&dyn AsRef<std::ffi::OsStr>]) -> Value {
    let output = run(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Exit code and standard error of a run that fails, with nothing on standard output.
#[track_caller]
fn failure(arguments: &[&dyn AsRef<std::ffi::OsStr>]) -> (i32, String) {
    let output = run(arguments);
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(output.stdout.is_empty());
    assert!(!message.contains("panicked"), "{message}");
    (output.status.code().unwrap(), message)
}

#[test]
fn inspect_says_what_a_file_is() {
    let folder = Folder::new();
    let report = json(&[&"inspect", &folder.file("a", DAT), &"--json"]);
    assert_eq!(report["problem"], "network-design");
    assert_eq!(report["format"], ".dat");
    assert_eq!((&report["nodes"], &report["arcs"], &report["commodities"]), (&2.into(), &2.into(), &2.into()));
    assert_eq!((&report["dimension"], &report["components"]), (&4.into(), &2.into()));
    assert_eq!((report["value_at_zero"].as_f64(), &report["sense"]), (Some(0.0), &"max".into()));
    // Two arcs and a demand of 3, over a capacity of 14; fixed costs of 30, mean routing costs of 3.5 and 1.5.
    assert_eq!(report["capacity_ratio"].as_f64(), Some(2.0 * 3.0 / 14.0));
    assert_eq!(report["fixed_cost_ratio"].as_f64(), Some(2.0 * 30.0 / (3.0 * 5.0)));
    let report = json(&[&"inspect", &folder.file("b", TEXT), &"--json", &"--sense", &"max"]);
    assert_eq!((&report["problem"], &report["problem_sense"]), (&"assignment".into(), &"max".into()));
    // Items 1 and 2 in bin 0 are worth 3 + 2, in bin 1 both of 5 and 6.
    assert_eq!(report["value_at_zero"].as_f64(), Some(5.0 + 11.0));
    let output = run(&[&"inspect", &folder.path("a")]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("network design") && text.contains("value at 0"), "{text}");
    assert!(output.stderr.is_empty());
}

#[test]
fn inspect_checks_the_dual() {
    let folder = Folder::new();
    for (name, content) in [("a.dat", DAT), ("b.dow", DOW), ("c.txt", TEXT)] {
        let file = folder.file(name, content);
        let report = json(&[&"inspect", &file, &"--json", &"--check"]);
        let check = &report["check"];
        assert_eq!((&check["ok"], &check["points"]), (&true.into(), &20.into()), "{check}");
        assert_eq!((&check["evaluations"], &check["violations"]), (&80.into(), &Value::Array(vec![])), "{check}");
        let text = String::from_utf8(run(&[&"inspect", &file, &"--check"]).stdout).unwrap();
        assert!(text.contains("check") && text.contains("no violation at 20 points"), "{text}");
        assert!(json(&[&"inspect", &file, &"--json"]).get("check").is_none());
    }
}

#[test]
fn evaluate_gives_value_and_subgradient_in_the_problems_sense() {
    let folder = Folder::new();
    let instance = folder.file("a.dat", DAT);
    let report = json(&[&"evaluate", &instance, &"--json"]);
    assert_eq!((report["value"].as_f64(), &report["dimension"]), (Some(0.0), &4.into()));
    // All arcs closed: the subgradient is b, by commodity, then node.
    assert_eq!(report["subgradient"], serde_json::json!([2.0, -2.0, 1.0, -1.0]));
    // Multipliers of 10 and 0: reduced costs of -7 and -6 on the first arc, -9 and -8 on the second.
    let multipliers = folder.file("pi.json", "[10, 0, 10, 0]");
    let report = json(&[&"evaluate", &instance, &"--multipliers", &multipliers, &"--json"]);
    assert_eq!(report["value"].as_f64(), Some(30.0 + (10.0 - 20.0) + (20.0 - 26.0)));
    assert_eq!(report["subgradient"], serde_json::json!([-2.0, 2.0, -1.0, 1.0]));
    // The minimisation form: costs less multipliers, where that is negative.
    let text = folder.file("b", TEXT);
    let multipliers = folder.file("pi3.json", "[3, 0, 7]");
    let report = json(&[&"evaluate", &text, &"--multipliers", &multipliers, &"--json"]);
    assert_eq!(report["value"].as_f64(), Some(10.0 + (1.0 - 3.0 + 3.0 - 7.0) + (6.0 - 7.0)));
    assert_eq!(report["subgradient"], serde_json::json!([0.0, 1.0, -1.0]));
}

#[test]
fn wrong_multipliers_are_named() {
    let folder = Folder::new();
    let instance = folder.file("b", TEXT);
    let evaluate = |content: &str| {
        let path = folder.file("pi.json", content);
        failure(&[&"evaluate", &instance, &"--sense", &"max", &"--multipliers", &path])
    };
    let (code, message) = evaluate("[1, 2]");
    assert!(code == 2 && message.contains("array of 3") && message.contains("2 numbers"), "{message}");
    let (code, message) = evaluate("[1, 2,\n -1e-9]");
    assert!(code == 2 && message.contains("entry 2 to be nonnegative"), "{message}");
    let (code, message) = evaluate("[1, 2,\n null]");
    assert!(code == 2 && message.contains("line 2"), "{message}");
    let (code, message) = evaluate("{}");
    assert!(code == 2 && message.contains("pi.json"), "{message}");
    let missing = folder.path("missing.json");
    let (code, message) = failure(&[&"evaluate", &instance, &"--multipliers", &missing]);
    assert!(code == 2 && message.contains("missing.json"), "{message}");
}

#[test]
fn an_overflow_is_a_failed_run() {
    let folder = Folder::new();
    let instance = folder.file("a", DAT.replace("10 5", "-1e308 5").replace("20 9", "-1e308 9"));
    let (code, message) = failure(&[&"evaluate", &instance]);
    assert!(code == 1 && message.contains("evaluation 1") && message.contains("inf"), "{message}");
}

#[test]
fn unreadable_input_is_code_2_with_file_and_line() {
    let folder = Folder::new();
    let (code, message) = failure(&[&"inspect", &folder.path("missing")]);
    assert!(code == 2 && message.contains("missing"), "{message}");
    let broken = folder.file("broken.dat", DAT.replace("10 5", "10 -5"));
    let (code, message) = failure(&[&"inspect", &broken, &"--json"]);
    assert!(code == 2 && message.contains("broken.dat: line 2") && message.contains("-5"), "{message}");
    let several = folder.file("several", format!("2\n{TEXT}{TEXT}"));
    let (code, message) = failure(&[&"inspect", &several]);
    assert!(code == 2 && message.contains("from 1 to 2"), "{message}");
    assert!(run(&[&"inspect", &several, &"--problem", &"2"]).status.success());
}

#[test]
fn wrong_usage_is_code_2() {
    for arguments in [&["frobnicate"][..], &["inspect"], &["inspect", "a", "--sense", "up"], &["generate", "mc-huge"]] {
        let arguments: Vec<&dyn AsRef<std::ffi::OsStr>> = arguments.iter().map(|argument| argument as _).collect();
        assert_eq!(failure(&arguments).0, 2);
    }
    let folder = Folder::new();
    let generate = |extra: &[&dyn AsRef<std::ffi::OsStr>]| {
        let out = folder.path("out");
        let fixed: [&dyn AsRef<std::ffi::OsStr>; 5] = [&"generate", &"mc-sml-40", &"--seed=1", &"--out", &out];
        failure(&[&fixed[..], extra].concat())
    };
    assert_eq!(generate(&[&"--count=0"]).0, 2);
    assert_eq!(generate(&[&"--count=-1"]).0, 2);
    assert_eq!(generate(&[&"--count=1", &"--commodities=0"]).0, 2);
    assert_eq!(generate(&[&"--count=1", &"--base", &folder.file("b", TEXT)]).0, 2);
}

#[test]
fn generated_folders_can_be_used_at_once() {
    let folder = Folder::new();
    let base = folder.file("base.dow", DOW);
    let out = folder.path("set");
    let output = run(&[
        &"generate",
        &"mc-sml-40",
        &"--count",
        &"5",
        &"--seed",
        &"3",
        &"--out",
        &out,
        &"--base",
        &base,
        &"--commodities",
        &"2",
    ]);
    // The one arc leads one way only, so some demand can never be routed.
    assert_eq!(output.status.code(), Some(2));
    let output = run(&[&"generate", &"ga-10-100", &"--count", &"5", &"--seed", &"3", &"--out", &out]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let manifest: Value = serde_json::from_slice(&std::fs::read(out.join("manifest.json")).unwrap()).unwrap();
    assert_eq!((&manifest["family"], &manifest["seed"]), (&"ga-10-100".into(), &3.into()));
    for entry in manifest["instances"].as_array().unwrap() {
        let report = json(&[&"inspect", &out.join(entry["file"].as_str().unwrap()), &"--json"]);
        assert_eq!((&report["bins"], &report["items"]), (&10.into(), &100.into()));
    }
    let (code, message) = failure(&[&"generate", &"ga-10-100", &"--count=5", &"--seed=4", &"--out", &out]);
    assert!(code == 2 && message.contains("already holds"), "{message}");
    let blocked = folder.file("file", "");
    let (code, _) = failure(&[&"generate", &"ga-10-100", &"--count=5", &"--seed=4", &"--out", &blocked]);
    assert_eq!(code, 1);
}

#[test]
fn convert_goes_both_ways_and_refuses_what_does_not_fit() {
    let folder = Folder::new();
    let dat = folder.file("a.dat", DAT);
    let (there, back) = (folder.path("a.json"), folder.path("back.dat"));
    assert!(run(&[&"convert", &dat, &there]).status.success());
    assert!(run(&[&"convert", &there, &back]).status.success());
    assert_eq!(std::fs::read_to_string(&back).unwrap(), DAT);
    let archive = folder.path("a.json.gz");
    assert!(run(&[&"convert", &dat, &archive]).status.success());
    assert_eq!(json(&[&"inspect", &archive, &"--json"])["gzip"], true);
    let (code, message) = failure(&[&"convert", &dat, &folder.path("a.dow")]);
    assert!(code == 2 && message.contains("alike for all commodities"), "{message}");
    assert_eq!(failure(&[&"convert", &dat, &folder.path("a.xml")]).0, 2);
    assert_eq!(failure(&[&"convert", &dat, &Path::new("/nonexistent/a.json")]).0, 1);
    let dow = folder.file("b.dow", DOW);
    assert!(run(&[&"convert", &dow, &folder.path("c.dow")]).status.success());
}

#[test]
fn a_reader_that_stops_early_is_no_failure() {
    use std::io::Read;
    use std::process::Stdio;
    let folder = Folder::new();
    // More output than a pipe holds.
    let out = folder.path("set");
    assert!(
        run(&[&"generate", &"mc-sml-40", &"--count=1", &"--seed=1", &"--out", &out, &"--commodities=2000"])
            .status
            .success()
    );
    let mut child = Command::new(env!("CARGO_BIN_EXE_bundlenet"))
        .args(["evaluate", "--json"])
        .arg(out.join("s1-1.json"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 10]).unwrap();
    drop(stdout);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A generated instance, written to a folder.
fn generated(folder: &Folder, family: &str, count: usize) -> Vec<PathBuf> {
    let out = folder.path(family);
    let output = run(&[&"generate", &family, &format!("--count={count}"), &"--seed=5", &"--out", &out]);
    assert!(output.status.success());
    let manifest: Value = serde_json::from_slice(&std::fs::read(out.join("manifest.json")).unwrap()).unwrap();
    let entries = manifest["instances"].as_array().unwrap();
    entries.iter().map(|entry| out.join(entry["file"].as_str().unwrap())).collect()
}

#[test]
fn solve_reports_a_run() {
    let folder = Folder::new();
    let file = &generated(&folder, "mc-sml-40", 1)[0];
    for method in ["bundle", "descent", "adam"] {
        let cuts: &[&dyn AsRef<std::ffi::OsStr>] = if method == "bundle" { &[&"--cuts=aggregated"] } else { &[] };
        let arguments: [&dyn AsRef<std::ffi::OsStr>; 7] =
            [&"solve", file, &"--json", &"--steps=30", &"--method", &method, &"--quiet"];
        let report = json(&[&arguments, cuts].concat());
        assert_eq!((&report["status"], &report["steps"]), (&"step-limit".into(), &30.into()));
        assert_eq!((&report["oracle_calls"], &report["method"]), (&31.into(), &method.into()));
        assert_eq!(report["component_calls"].as_u64().unwrap() % 31, 0);
        let trace = report["trace"].as_array().unwrap();
        assert_eq!(trace.len(), 31);
        assert_eq!((&trace[0]["step"], trace[0]["value"].as_f64()), (&0.into(), Some(0.0)));
        assert_eq!(trace[30]["best"], report["value"]);
        assert!(report["certificate"].is_null() && report["seconds"].as_f64().unwrap() > 0.0);
        assert_eq!(report["estimate"].is_number(), method == "bundle");
    }
    for options in [&["--method=auto"][..], &["--method=bundle"], &["--method=bundle", "--cuts=component"]] {
        let mut arguments: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"solve", file, &"--json", &"--quiet"];
        options.iter().for_each(|option| arguments.push(option));
        let report = json(&arguments);
        assert_eq!(report["status"], "optimal");
        assert!(report["certificate"].as_f64().unwrap() <= 1e-7, "{options:?}");
    }
    for strategy in ["adaptive", "constant", "soft", "hard", "balancing"] {
        let report = json(&[
            &"solve",
            file,
            &"--json",
            &"--steps=5",
            &"--method=bundle",
            &"--strategy",
            &strategy,
            &"--eta0=50",
            &"--quiet",
            &"--threads=1",
            &"--cuts=aggregated",
        ]);
        assert!(report["value"].as_f64().unwrap() > 0.0);
    }
    let report = json(&[&"solve", file, &"--json", &"--target=100000", &"--quiet"]);
    assert_eq!(report["status"], "bound-reached");
    let report = json(&[&"solve", file, &"--json", &"--time-limit=1e-9", &"--quiet"]);
    assert_eq!((&report["status"], &report["steps"]), (&"time-limit".into(), &0.into()));
}

#[test]
fn solve_proves_assignments_and_its_multipliers_attain_the_value() {
    let folder = Folder::new();
    let file = &generated(&folder, "ga-10-100", 1)[0];
    let multipliers = folder.path("pi.json");
    let report = json(&[&"solve", file, &"--json", &"--save-multipliers", &multipliers, &"--quiet"]);
    assert_eq!((&report["status"], &report["sense"]), (&"optimal".into(), &"min".into()));
    assert!(report["certificate"].as_f64().unwrap() < 1e-6);
    let evaluated = json(&[&"evaluate", file, &"--multipliers", &multipliers, &"--json"]);
    let (value, attained) = (report["value"].as_f64().unwrap(), evaluated["value"].as_f64().unwrap());
    assert!((value - attained).abs() <= 1e-9 * value.abs(), "{value} {attained}");
}

const LOCATION: &str = "2 3\n5 10\n4 20\n4\n1 2\n0\n3 4\n2\n5 6\n";

#[test]
fn unit_commitment_has_prices() {
    let folder = Folder::new();
    let data = folder.path("data");
    let sizes = [&"--size" as &dyn AsRef<std::ffi::OsStr>, &"6", &"8"];
    let generated =
        [&"generate" as &dyn AsRef<std::ffi::OsStr>, &"uc", &"--count", &"1", &"--seed", &"3", &"--out", &data];
    assert!(run(&[&generated[..], &sizes[..]].concat()).status.success());
    let file = data.join("uc-1.json");
    let (prices, picture) = (folder.path("prices.csv"), folder.path("prices.svg"));
    let report = json(&[&"solve", &file, &"--json", &"--quiet", &"--prices", &prices, &"--picture", &picture]);
    let length = |field: &str| report[field].as_array().map(Vec::len);
    assert_eq!((length("energy_prices"), length("reserve_prices")), (Some(8), Some(8)), "{report}");
    let parts = ["thermal", "renewables", "reserve"].map(|part| report["uplift_parts"][part].as_f64().unwrap());
    let difference = report["feasible_value"].as_f64().unwrap() - report["value"].as_f64().unwrap();
    assert_eq!(report["uplift"].as_f64(), Some(difference.max(0.0)));
    assert!((parts.iter().sum::<f64>() - difference).abs() <= 1e-9 * report["value"].as_f64().unwrap(), "{report}");
    let text = std::fs::read_to_string(&prices).unwrap();
    assert_eq!(text.lines().next(), Some("period,energy_price,reserve_price"));
    assert_eq!(
        text.lines().nth(8).and_then(|line| line.split(',').nth(1)),
        Some(&*report["energy_prices"][7].to_string())
    );
    assert!(std::fs::read_to_string(&picture).unwrap().contains("demand"));
    let picture = std::fs::read_to_string(&picture).unwrap();
    assert!(picture.contains("capacity of thermal") && !picture.contains("convex"), "{picture}");
    // Prices need no schedule, and the search for one keeps the time limit.
    let late = folder.path("late.csv");
    let report = json(&[&"solve", &file, &"--json", &"--quiet", &"--prices", &late, &"--time-limit", &"1e-9"]);
    assert!(report["feasible_value"].is_null() && report["uplift"].is_null(), "{report}");
    assert!(std::fs::read_to_string(&late).unwrap().lines().count() == 9);
    // Loss of load is the flexibility of the other formulation, and a combination with it is balanced.
    let primal = folder.path("primal.json");
    let chp = [&"solve" as &dyn AsRef<std::ffi::OsStr>, &file, &"--json", &"--formulation", &"chp"];
    let report = json(&[&chp[..], &[&"--quiet", &"--primal", &primal]].concat());
    assert!(report["uplift_parts"]["load"].as_f64() >= Some(0.0) && report["uplift_parts"]["reserve"].is_null());
    let solutions: serde_json::Value = serde_json::from_slice(&std::fs::read(&primal).unwrap()).unwrap();
    assert!(solutions["relaxed"]["value"].as_f64() >= solutions["bound"].as_f64());
    // The data of the file mean something else there.
    let message = |arguments: &[&dyn AsRef<std::ffi::OsStr>]| String::from_utf8(run(arguments).stderr).unwrap();
    assert!(message(&chp).contains("the formulation chp ignores initial states"));
    assert_eq!(message(&[&chp[..], &[&"--quiet"]].concat()), "");
    assert!(!message(&[&"solve", &file, &"--json"]).contains("chp"));
    let report = json(&[&"solve", &file, &"--json", &"--quiet", &"--formulation", &"chp"]);
    assert_eq!((&report["formulation"], &report["reserve_prices"]), (&"chp".into(), &serde_json::json!([])));
    let report = json(&[&"inspect", &file, &"--json"]);
    assert_eq!((&report["problem"], &report["thermal_units"]), (&"unit-commitment".into(), &6.into()));
    let text = String::from_utf8(run(&[&"inspect", &file]).stdout).unwrap();
    assert!(text.contains("formulation      pglib\n") && text.contains("reserve prices   yes\n"), "{text}");
    assert!(!text.contains("undefined"), "{text}");
    let location = folder.file("small.txt", LOCATION);
    let (code, message) = failure(&[&"solve", &location, &"--quiet", &"--prices", &prices]);
    assert_eq!(code, 2);
    assert!(message.contains("--prices: expected a unit commitment instance, found facility-location"), "{message}");
    let (code, message) = failure(&[&"solve", &file, &"--quiet", &"--safe"]);
    assert!(code == 2 && message.contains("unit commitment has no safe bounds"), "{message}");
}

#[test]
fn an_option_of_another_family_is_refused() {
    let folder = Folder::new();
    let [file] = &generated(&folder, "mc-sml-40", 1)[..] else { unreachable!() };
    for (option, value, family) in [
        ("--sense", "min", "assignment"),
        ("--capacity", "5", "facility-location"),
        ("--formulation", "chp", "unit-commitment"),
    ] {
        let (code, message) = failure(&[&"solve", &option, &value, file]);
        assert_eq!(code, 2);
        let expected = format!("{option}: expected an instance of {family}, found one of network-design");
        assert!(message.contains(&expected), "{message}");
    }
}

#[test]
fn facility_location_is_a_family_like_the_others() {
    let folder = Folder::new();
    let file = folder.file("small.txt", LOCATION);
    let report = json(&[&"inspect", &file, &"--json"]);
    assert_eq!((&report["problem"], &report["format"]), (&"facility-location".into(), &"text".into()));
    assert_eq!((&report["sites"], &report["customers"], &report["components"]), (&2.into(), &3.into(), &2.into()));
    assert_eq!(report["capacity_ratio"].as_f64(), Some(9.0 / 6.0));
    let primal = folder.path("primal.json");
    let report = json(&[&"solve", &file, &"--json", &"--quiet", &"--safe", &"--primal", &primal]);
    // Both sites have to be open. The first one is better by 1 for all, and has no room for one of 6 units. Customer 0
    // loses least by it: 1/4.
    assert_eq!(report["feasible_value"].as_f64(), Some(30.0 + 1.25 + 3.0 + 5.0));
    let (value, safe) = (report["value"].as_f64().unwrap(), report["safe_bound"].as_f64().unwrap());
    assert!(value <= 39.25 + 1e-9 && (value - safe).abs() < 1e-9, "{value} {safe}");
    let primal: Value = serde_json::from_slice(&std::fs::read(&primal).unwrap()).unwrap();
    assert_eq!(primal["feasible"]["openings"], serde_json::json!([[0, 1.0], [1, 1.0]]));
    // There and back.
    let (there, back) = (folder.path("a.json"), folder.path("back.txt"));
    assert!(run(&[&"convert", &file, &there]).status.success());
    assert!(run(&[&"convert", &there, &back]).status.success());
    assert_eq!(std::fs::read_to_string(&back).unwrap(), LOCATION);
    assert_eq!(failure(&[&"convert", &file, &folder.path("a.dat")]).0, 2);
    // Costs that are not whole have no safe bound.
    let fractions = folder.file("fractions.txt", LOCATION.replace("5 6", "5.5 6"));
    let (code, message) = failure(&[&"solve", &fractions, &"--safe", &"--quiet"]);
    assert!(code == 2 && message.contains("customer 2 from site 0") && message.contains("5.5"), "{message}");
    // A capacity that is left open.
    let open = folder.file("open.txt", LOCATION.replace("5 10", "capacity 10"));
    let (code, message) = failure(&[&"inspect", &open]);
    assert!(code == 2 && message.contains("open.txt: line 2") && message.contains("--capacity"), "{message}");
    assert!(run(&[&"inspect", &open, &"--capacity=5"]).status.success());
    // Too little capacity for the demand.
    let tight = folder.file("tight.txt", LOCATION.replace("5 10", "1 10"));
    let report = json(&[&"solve", &tight, &"--json", &"--quiet"]);
    assert_eq!((&report["status"], report["certificate"].is_null()), (&"unbounded".into(), true));
    // The optima of a generated folder.
    let out = folder.path("optima.json");
    let files = generated(&folder, "cfl-20-50", 2);
    assert!(run(&[&"reference", &files[0], &files[1], &"--out", &out]).status.success());
    assert!(std::fs::read_to_string(&out).unwrap().contains("cfl-2"));
}

#[test]
fn solve_takes_many_files() {
    let folder = Folder::new();
    let files = generated(&folder, "ga-10-100", 3);
    let reports = json(&[&"solve", &files[0], &files[1], &files[2], &"--json", &"--steps=3"]);
    let names: Vec<&str> = reports.as_array().unwrap().iter().map(|report| report["file"].as_str().unwrap()).collect();
    assert_eq!(names, files.iter().map(|file| file.to_str().unwrap()).collect::<Vec<_>>());
    let output = run(&[&"solve", &files[0], &files[1], &"--steps=3"]);
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 2);
    let (code, message) = failure(&[&"solve", &files[0], &files[1], &"--save-multipliers", &folder.path("pi")]);
    assert!(code == 2 && message.contains("expected one instance"), "{message}");
    // An unreadable file is named, and the results of the others are printed.
    let broken = folder.file("broken.json", "{}");
    let output = run(&[&"solve", &files[0], &broken, &files[1], &"--steps=3"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 2);
    assert!(String::from_utf8(output.stderr).unwrap().contains("broken.json"));
    let output = run(&[&"solve", &files[0], &broken, &files[1], &"--steps=3", &"--json"]);
    assert_eq!(output.status.code(), Some(2));
    let reports: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(reports.as_array().unwrap().len(), 2);
    // The result comes out even if the multipliers cannot be saved.
    let output = run(&[&"solve", &files[0], &"--json", &"--quiet", &"--save-multipliers", &"/nonexistent/pi.json"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(serde_json::from_slice::<Value>(&output.stdout).unwrap()["value"].is_number());
}

/// A list of things and amounts.
fn amounts(list: &Value) -> Vec<(Vec<usize>, f64)> {
    let row = |row: &Value| {
        let (amount, things) = row.as_array().unwrap().split_last().unwrap();
        (things.iter().map(|thing| thing.as_u64().unwrap() as usize).collect(), amount.as_f64().unwrap())
    };
    list.as_array().unwrap().iter().map(row).collect()
}

#[test]
fn solve_writes_primal_solutions() {
    let folder = Folder::new();
    let path = folder.path("primal.json");
    let read = || serde_json::from_slice::<Value>(&std::fs::read(folder.path("primal.json")).unwrap()).unwrap();
    // Of the two arcs the first carries all for 10 + 2 * 3 + 4, the second for 20 + 2 * 1 + 2.
    let dat = folder.file("a.dat", DAT);
    let report = json(&[&"solve", &dat, &"--json", &"--quiet", &"--primal", &path]);
    assert_eq!(report["feasible_value"].as_f64(), Some(20.0));
    let (value, gap) = (report["value"].as_f64().unwrap(), report["feasible_gap"].as_f64().unwrap());
    // An arc that carries the whole demand is open all the way in the relaxation, too.
    assert!(gap == (20.0 - value) / value && gap < 1e-6);
    let primal = read();
    assert_eq!((&primal["problem"], &primal["bound"]), (&"network-design".into(), &report["value"]));
    assert_eq!(
        primal["feasible"],
        serde_json::json!({"value": 20.0, "designs": [[0, 1.0]], "flows": [[0, 0, 2.0], [1, 0, 1.0]]})
    );
    assert!((primal["relaxed"]["value"].as_f64().unwrap() - value).abs() < 1e-6 * value);
    assert!(primal["largest_violation"].as_f64().unwrap() < 1e-5 && primal["total_violation"].is_number());
    assert!(!amounts(&primal["convex"]["flows"]).is_empty() && !amounts(&primal["convex"]["designs"]).is_empty());
    // A limit, or every method with cuts, still gives them.
    let file = &generated(&folder, "ga-10-100", 1)[0];
    let ways: [&[&str]; 6] = [
        &["--steps=0"],
        &["--steps=3", "--method=auto"],
        &["--time-limit=1e-9", "--method=hybrid"],
        &["--method=bundle"],
        &["--method=bundle", "--cuts=aggregated", "--steps=30"],
        &["--method=network", "--steps=20"],
    ];
    for way in ways {
        let mut arguments: Vec<&dyn AsRef<std::ffi::OsStr>> =
            vec![&"solve", file, &"--json", &"--quiet", &"--primal", &path];
        way.iter().for_each(|argument| arguments.push(argument));
        let report = json(&arguments);
        let primal = read();
        let feasible = &primal["feasible"];
        assert_eq!(feasible["value"], report["feasible_value"], "{way:?}");
        // Both may be the optimum, up to round-off.
        assert!(feasible["value"].as_f64().unwrap() <= report["value"].as_f64().unwrap() * (1.0 + 1e-12), "{way:?}");
        let shares = amounts(&feasible["shares"]);
        let mut items: Vec<usize> = shares.iter().map(|(things, _)| things[0]).collect();
        items.dedup();
        assert!(items.len() == shares.len() && shares.iter().all(|(things, share)| things[1] < 10 && *share == 1.0));
    }
    let output = run(&[&"solve", file, &"--quiet", &"--primal", &path]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("feasible") && text.contains("from the bound"), "{text}");
    for method in ["--method=descent", "--method=adam"] {
        let (code, message) = failure(&[&"solve", file, &method, &"--primal", &path]);
        let expected = "setting primal: expected method auto, hybrid, bundle, network or barrier, found method";
        assert!(code == 2 && message.contains(expected), "{message}");
    }
    let (code, message) = failure(&[&"solve", file, &dat, &"--primal", &path]);
    assert!(code == 2 && message.contains("--primal: expected one instance"), "{message}");
    let output = run(&[&"solve", file, &"--json", &"--quiet", &"--primal", &"/nonexistent/primal.json"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(serde_json::from_slice::<Value>(&output.stdout).unwrap()["feasible_value"].is_number());
}

#[test]
fn a_run_begins_with_given_multipliers() {
    let folder = Folder::new();
    let file = &generated(&folder, "mc-sml-40", 1)[0];
    let saved = folder.path("multipliers.json");
    let first = json(&[&"solve", file, &"--json", &"--quiet", &"--save-multipliers", &saved]);
    let again = json(&[&"solve", file, &"--json", &"--quiet", &"--start", &saved]);
    assert_eq!(again["status"], "optimal");
    assert_eq!(again["trace"][0]["value"].as_f64().map(f64::round), first["value"].as_f64().map(f64::round));
    let (value, before) = (again["value"].as_f64().unwrap(), first["value"].as_f64().unwrap());
    assert!((value - before).abs() <= 2e-7 * before, "{value} {before}");
    let wrong = folder.file("wrong.json", "[1, 2]");
    let (code, message) = failure(&[&"solve", file, &"--start", &wrong]);
    assert!(code == 2 && message.contains("wrong.json") && message.contains("2 numbers"), "{message}");
}

#[test]
fn a_safe_bound_is_reported_beside_the_value() {
    let folder = Folder::new();
    let mut files = generated(&folder, "mc-sml-40", 1);
    files.extend(generated(&folder, "ga-10-100", 2));
    for method in ["bundle", "network"] {
        let reports = json(&[
            &"solve",
            &files[0],
            &files[1],
            &files[2],
            &"--safe",
            &"--json",
            &"--steps=20",
            &"--method",
            &method,
        ]);
        for report in reports.as_array().unwrap() {
            let (value, safe) = (report["value"].as_f64().unwrap(), report["safe_bound"].as_f64().unwrap());
            assert!((value - safe).abs() <= 1e-9 * value.abs(), "{value} {safe}");
            let exact = report["safe_bound_exact"].as_str().unwrap();
            let (numerator, denominator) = exact.split_once('/').unwrap_or((exact, "1"));
            let exact = numerator.parse::<f64>().unwrap() / denominator.parse::<f64>().unwrap();
            assert!((exact - safe).abs() <= 1e-15 * safe.abs(), "{exact} {safe}");
        }
    }
    let text = |arguments: &[&dyn AsRef<std::ffi::OsStr>]| String::from_utf8(run(arguments).stdout).unwrap();
    let one = text(&[&"solve", &files[0], &"--safe", &"--quiet", &"--time-limit=1e-9"]);
    assert!(one.contains("safe bound  0  (holds in exact arithmetic)"), "{one}");
    let two = text(&[&"solve", &files[0], &files[1], &"--safe", &"--steps=3"]);
    assert!(two.lines().count() == 2 && two.lines().all(|line| line.contains("  safe ")), "{two}");
    let report = json(&[&"solve", &files[0], &"--json", &"--quiet", &"--steps=3"]);
    assert!(report["safe_bound"].is_null() && report["safe_bound_exact"].is_null());
}

#[test]
fn safe_bounds_need_integers_before_the_run() {
    let folder = Folder::new();
    let broken = folder.file("broken.dat", DAT.replace("10 5 2", "10 1.5 2"));
    let (code, message) = failure(&[&"solve", &broken, &"--safe"]);
    assert_eq!(code, 2);
    let expected =
        "broken.dat: safe bounds need integer data: capacity of arc 0: expected an integer within 2^50, found 1.5";
    assert!(message.trim_end().ends_with(expected) && message.lines().count() == 1, "{message}");
    // The others are solved.
    let whole = folder.file("whole.dat", DAT);
    let output = run(&[&"solve", &broken, &whole, &"--safe"]);
    assert_eq!((output.status.code(), String::from_utf8(output.stdout).unwrap().lines().count()), (Some(2), 1));
    // The result is printed even if the multipliers are too large for a safe bound.
    let start = folder.file("start.json", "[1e200, 0, 0, 0]");
    let output = run(&[&"solve", &whole, &"--safe", &"--json", &"--quiet", &"--steps=0", &"--start", &start]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && message.contains("need smaller multipliers"), "{message}");
    assert!(serde_json::from_slice::<Value>(&output.stdout).unwrap()["safe_bound"].is_null());
}

#[test]
fn wrong_settings_are_code_2() {
    let folder = Folder::new();
    let file = folder.file("a.dat", DAT);
    for (option, expected) in [
        ("--eta0=0", "setting eta0: expected a positive finite number, found 0"),
        ("--eta0=-1", "setting eta0: expected a positive finite number, found -1"),
        ("--eta0=nan", "setting eta0: expected a number, found \"nan\""),
        ("--cuts=fine", "setting cuts: expected component or aggregated, found \"fine\""),
        ("--strategy=auto", "setting strategy: expected adaptive, constant, soft, hard or balancing, found \"auto\""),
        ("--max-cuts=2.5", "setting max_cuts: expected a nonnegative integer, found 2.5"),
        ("--lifetime=0", "setting lifetime: expected at least 1, found 0"),
        ("--tolerance=-1", "setting tolerance: expected a nonnegative finite number, found -1"),
        ("--time-limit=0", "setting limits.seconds: expected a positive finite number, found 0"),
        ("--target=nan", "setting limits.target: expected a finite number, found NaN"),
        ("--threads=0", "0 is not in 1..=65535"),
        ("--method=magic", "possible values: auto, hybrid, bundle, network, barrier, descent, adam"),
    ] {
        let method = if option.starts_with("--method") { option } else { "--method=bundle" };
        let option = if option == method { "--quiet" } else { option };
        let (code, message) = failure(&[&"solve", &file, &method, &option]);
        assert!(code == 2 && message.contains(expected), "{option}: {message}");
    }
}

/// Every option of every method, and the message of the library where they do not fit.
#[test]
fn an_option_that_the_method_does_not_have_is_refused() {
    let folder = Folder::new();
    let file = folder.file("a.dat", DAT);
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/mc-sml-40.safetensors");
    for info in bundlenet::OPTIONS {
        let value = match info.name {
            "model" => model,
            "cuts" => "component",
            "evaluate" => "laggards",
            "strategy" => "soft",
            "max_bytes" => "2000000",
            "told" => "nothing",
            _ => "7",
        };
        let option = format!("--{}={value}", info.name.replace('_', "-"));
        for method in bundlenet::Method::NAMES {
            let arguments: [&dyn AsRef<std::ffi::OsStr>; 6] =
                [&"solve", &file, &"--quiet", &"--steps=3", &format!("--method={method}"), &option];
            if info.methods.contains(&method) {
                assert!(run(&arguments).status.success(), "{method} {option}");
            } else {
                let (code, message) = failure(&arguments);
                let found = format!("bundlenet: setting {}: expected method ", info.name);
                assert!(code == 2 && message.starts_with(&found), "{method} {option}: {message}");
                assert!(message.trim_end().ends_with(&format!("found method {method}")), "{message}");
            }
        }
    }
    // Without a method, the method is auto.
    let (code, message) = failure(&[&"solve", &file, &"--cuts=component"]);
    assert_eq!((code, message.trim_end()), (2, "bundlenet: setting cuts: expected method bundle, found method auto"));
    // The method refuses the option before the file is read.
    let (code, message) = failure(&[&"solve", &file, &"--method=adam", &"--model=missing"]);
    assert!(code == 2 && message.contains("setting model: expected method auto, hybrid or network"), "{message}");
}

#[test]
fn the_log_goes_to_standard_error_and_the_result_to_standard_output() {
    let folder = Folder::new();
    let file = folder.file("a.dat", DAT);
    let output = run(&[&"solve", &file]);
    let (out, log) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(out.starts_with("status   optimal\n"), "{out}");
    assert!(log.lines().next().unwrap().contains("a.dat: network design, 2 nodes, 2 arcs, 2 commodities"), "{log}");
    assert!(log.contains("objective") && log.contains("optimal: value"), "{log}");
    let several = folder.file("several", format!("2\n{TEXT}{TEXT}"));
    assert_eq!(failure(&[&"solve", &several]).0, 2);
    assert!(run(&[&"solve", &several, &"--problem=2"]).status.success());
    assert!(run(&[&"solve", &file, &"--quiet"]).stderr.is_empty());
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_prints_its_best_point() {
    use std::process::Stdio;
    let folder = Folder::new();
    let out = folder.path("big");
    let arguments = ["generate", "mc-sml-40", "--count=1", "--seed=1", "--commodities=1000", "--out"];
    assert!(Command::new(env!("CARGO_BIN_EXE_bundlenet")).args(arguments).arg(&out).status().unwrap().success());
    let child = Command::new(env!("CARGO_BIN_EXE_bundlenet"))
        .args(["solve", "--json", "--quiet", "--safe", "--tolerance=0", "--steps=100000000"])
        .arg(out.join("s1-1.json"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1500));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["status"], "interrupted");
    assert!(report["value"].as_f64().unwrap() > 0.0 && report["steps"].as_u64().unwrap() > 0);
    assert!(report["safe_bound"].as_f64().unwrap() > 0.0);
}

#[test]
fn reference_computes_each_optimum_once() {
    let folder = Folder::new();
    generated(&folder, "ga-10-100", 3);
    let golds = folder.path("golds.json");
    let out = folder.path("ga-10-100");
    let first = run(&[&"reference", &out, &"--out", &golds]);
    assert!(first.status.success(), "{}", String::from_utf8_lossy(&first.stderr));
    let written = std::fs::read_to_string(&golds).unwrap();
    let optima: Value = serde_json::from_str(&written).unwrap();
    assert_eq!(optima.as_object().unwrap().len(), 3);
    for (name, optimum) in optima.as_object().unwrap() {
        assert!(optimum["certificate"].as_f64().unwrap() <= 1e-9, "{name}: {optimum}");
        assert_eq!(optimum["status"], "optimal");
    }
    // A second run has nothing to do; a missing optimum is computed again.
    let second = run(&[&"reference", &out, &"--out", &golds]);
    assert!(String::from_utf8(second.stdout).unwrap().contains("computed now    0"));
    assert_eq!(std::fs::read_to_string(&golds).unwrap(), written);
    let mut partial = optima.clone();
    partial.as_object_mut().unwrap().remove("ga-2.json");
    std::fs::write(&golds, partial.to_string()).unwrap();
    assert!(run(&[&"reference", &out, &"--out", &golds]).status.success());
    let again: Value = serde_json::from_slice(&std::fs::read(&golds).unwrap()).unwrap();
    assert_eq!(again["ga-2.json"]["value"], optima["ga-2.json"]["value"]);
    let broken = folder.file("broken.json", "[1, 2]");
    assert_eq!(failure(&[&"reference", &out, &"--out", &broken]).0, 2);
    // The optima may lie among the instances.
    let inside = out.join("golds.json");
    for _ in 0..2 {
        assert!(run(&[&"reference", &out, &"--out", &inside]).status.success());
    }
    // A file that is no instance is named, and costs no other its optimum.
    std::fs::write(out.join("a-note.txt"), "hello").unwrap();
    let mixed = folder.path("mixed.json");
    let output = run(&[&"reference", &out, &"--out", &mixed]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("a-note.txt"));
    let optima: Value = serde_json::from_slice(&std::fs::read(&mixed).unwrap()).unwrap();
    assert_eq!(optima.as_object().unwrap().len(), 3);
}

/// The optima in a file, after a run of `reference`.
#[track_caller]
fn optima(arguments: &[&dyn AsRef<std::ffi::OsStr>], out: &Path) -> (Output, Value) {
    let output = run(&[&[&"reference" as &dyn AsRef<std::ffi::OsStr>, &"--out", &out], arguments].concat());
    (output, serde_json::from_slice(&std::fs::read(out).unwrap()).unwrap())
}

#[test]
fn reference_knows_instances_by_their_content() {
    let folder = Folder::new();
    let golds = folder.path("golds.json");
    let file = folder.file("a.txt", TEXT);
    let value = |optima: &Value| optima["a.txt"]["value"].as_f64().unwrap();
    let solved = |more: &[&dyn AsRef<std::ffi::OsStr>]| {
        let all: [&dyn AsRef<std::ffi::OsStr>; 4] = [&"solve", &file, &"--json", &"--quiet"];
        json(&[&all, more].concat())["value"].as_f64().unwrap()
    };
    let agrees = |found: f64, expected: f64| (found - expected).abs() <= 1e-6 * expected.abs();
    let (output, first) = optima(&[&file], &golds);
    assert!(output.status.success() && agrees(value(&first), solved(&[])), "{first}");
    // The other sense of the same file.
    let (output, other) = optima(&[&file, &"--sense=max"], &golds);
    assert!(agrees(value(&other), solved(&[&"--sense=max"])) && value(&other) != value(&first), "{other}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("computed again: 1 optimum of other data"), "{said}");
    // Other data under the same name.
    folder.file("a.txt", TEXT.replace("4 5 6", "40 50 60"));
    let (_, changed) = optima(&[&file, &"--sense=max"], &golds);
    assert!(agrees(value(&changed), solved(&[&"--sense=max"])) && value(&changed) != value(&other), "{changed}");
    // The same data in another writing.
    folder.file("a.txt", TEXT.replace("4 5 6", "40  50.0\n6e1"));
    let (output, same) = optima(&[&file, &"--sense=max"], &golds);
    assert!(same == changed && String::from_utf8(output.stdout).unwrap().contains("computed now    0"));
    // An entry of the layout without content is not trusted.
    folder.file("golds.json", r#"{"a.txt": {"value": 7, "status": "optimal", "steps": 1, "seconds": 1}}"#);
    let (output, old) = optima(&[&file, &"--sense=max"], &golds);
    assert!(agrees(value(&old), value(&changed)), "{old}");
    assert!(String::from_utf8(output.stderr).unwrap().contains("of other data or of an earlier version"));
}

#[test]
fn reference_says_what_is_not_proved() {
    let folder = Folder::new();
    let file = &generated(&folder, "mc-sml-40", 1)[0];
    let golds = folder.path("golds.json");
    let (output, early) = optima(&[file, &"--time-limit=1e-9"], &golds);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("not proved") && said.contains("1 of 1, worst estimate"), "{said}");
    assert!(early["s1-1.json"]["is_proved"] == false && early["s1-1.json"]["status"] == "time-limit", "{early}");
    // It is computed again, and then proved.
    let (output, late) = optima(&[file], &golds);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(!said.contains("not proved") && late["s1-1.json"]["is_proved"] == true, "{said} {late}");
}

/// Commands that write to one file at the same time: one of them may be refused, and nothing is lost.
#[test]
fn references_at_the_same_time_lose_nothing() {
    let folder = Folder::new();
    let golds = folder.path("golds.json");
    let (first, second) = (generated(&folder, "ga-10-100", 12), generated(&folder, "mc-sml-40", 6));
    let start = |files: &[PathBuf]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bundlenet"));
        command.arg("reference").args(files).arg("--out").arg(&golds).stderr(std::process::Stdio::piped());
        command.stdout(std::process::Stdio::null()).spawn().unwrap()
    };
    let running = [&first, &second].map(|files| (files, start(files)));
    let mut expected = std::collections::BTreeSet::new();
    for (files, child) in running {
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() || said.contains("golds.json is in use by another run"), "{said}");
        if output.status.success() {
            expected.extend(files.iter().map(|file| file.file_name().unwrap().to_str().unwrap().to_string()));
        }
    }
    let found: Value = serde_json::from_slice(&std::fs::read(&golds).unwrap()).unwrap();
    assert!(!expected.is_empty() && expected.iter().all(|name| !found[name].is_null()), "{found}");
}

#[test]
fn reference_does_not_take_two_files_of_one_name_for_one() {
    let folder = Folder::new();
    let (first, second) = (folder.path("first"), folder.path("second"));
    for (seed, out) in [("--seed=1", &first), ("--seed=2", &second)] {
        assert!(run(&[&"generate", &"ga-10-100", &"--count=1", &seed, &"--out", out]).status.success());
    }
    let (code, message) = failure(&[&"reference", &first, &second, &"--out", &folder.path("golds.json")]);
    assert!(code == 2 && message.contains("different file names"), "{message}");
}

#[test]
fn numbers_out_of_range_are_an_error_and_never_optimal() {
    let folder = Folder::new();
    for factor in ["1e160", "1e-200"] {
        // Demands and capacities times a factor: the same problem in other units.
        let huge = DAT
            .replace("10 5 2", &format!("10 5{} 2", &factor[1..]))
            .replace("20 9 2", &format!("20 9{} 2", &factor[1..]));
        let huge: String = huge
            .lines()
            .map(|line| {
                let fields: Vec<&str> = line.split(' ').collect();
                match fields[..] {
                    [a, b, c] if line != "2 2 2" => format!("{a} {b} {c}{}\n", &factor[1..]),
                    _ => format!("{line}\n"),
                }
            })
            .collect();
        let report = json(&[&"solve", &folder.file("a.dat", huge), &"--json", &"--quiet", &"--steps=200"]);
        assert!(report["value"].is_number(), "{report}");
        // Gaps are over max(1, |value|): a function that is 1e-200 everywhere is optimal at once, and rightly so.
        assert!(factor == "1e-200" || report["steps"].as_u64().unwrap() > 0, "{report}");
    }
}
