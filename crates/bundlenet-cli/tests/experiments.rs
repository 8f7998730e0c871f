//! Experiments as a user runs them: tables, raw runs, the report, and going on after an interruption.

mod program_runs;

use std::path::Path;

use program_runs::{failure, success};
use serde_json::Value;

/// The data inside a report.
fn data_of(page: &Path) -> Value {
    let text = std::fs::read_to_string(page).unwrap();
    let start = text.find("type=\"application/json\">").unwrap() + "type=\"application/json\">".len();
    let end = start + text[start..].find("</script>").unwrap();
    serde_json::from_str(&text[start..end]).unwrap()
}

#[test]
fn bench_makes_tables_runs_and_a_report_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let out_text = out.to_str().unwrap();
    let arguments = [
        "bench",
        "generate:ga-10-100:15:3",
        "--out",
        out_text,
        "--methods=auto,constant",
        "--grid=100,1000",
        "--steps=5,20",
    ];
    let first = success(&arguments);
    assert!(first.contains("## ga-10-100") && first.contains("constant, grid by validation"), "{first}");
    assert!(first.contains("constant, grid by test"));
    let runs = std::fs::read_to_string(out.join("runs.jsonl")).unwrap();
    // Three test instances for three variants, three more to choose the grid by.
    assert_eq!(runs.lines().count(), 3 * 3 + 2 * 3);
    let line: Value = serde_json::from_str(runs.lines().next().unwrap()).unwrap();
    // The start and 20 steps, or fewer where the optimum is proved before.
    assert!((6..=21).contains(&line["best"].as_array().unwrap().len()));
    let csv = std::fs::read_to_string(out.join("table.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 2 * 3);
    let data = data_of(&out.join("report.html"));
    assert_eq!(data["data_sets"][0]["methods"].as_array().unwrap().len(), 2);
    assert_eq!(data["data_sets"][0]["methods"][0]["mean"].as_array().unwrap().len(), 21);
    assert!(data["command"].as_str().unwrap().starts_with("bundlenet bench generate:ga-10-100:15:3"));

    // A kill in the middle of a line: whole lines are kept, and the other runs are made again.
    let kept: String = runs.lines().take(10).map(|line| format!("{line}\n")).collect();
    std::fs::write(out.join("runs.jsonl"), kept.clone() + "{\"data_set\":\"ga-1").unwrap();
    let gaps = |text: &str| {
        text.lines().find(|line| line.starts_with("| auto")).unwrap().rsplit_once("| ").unwrap().0.to_string()
    };
    let again = success(&arguments);
    assert_eq!(
        gaps(&first).split(" | ").take(3).collect::<Vec<_>>(),
        gaps(&again).split(" | ").take(3).collect::<Vec<_>>()
    );
    let resumed = std::fs::read_to_string(out.join("runs.jsonl")).unwrap();
    assert!(resumed.starts_with(&kept) && resumed.lines().count() == 15);

    std::fs::write(out.join("runs.jsonl"), "nonsense\n".to_string() + &kept).unwrap();
    let (code, message) = failure(&arguments);
    assert!(code == 2 && message.contains("runs.jsonl: line 1: expected a run"), "{message}");
}

#[test]
fn stored_runs_are_known_by_the_content_of_their_instance() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let bench = |seed: &str, out: &Path| {
        // The same names with other data.
        let data = folder.path().join(seed).join("data");
        success(&["generate", "ga-10-100", "--count=5", "--seed", seed, "--out", data.to_str().unwrap()]);
        let arguments =
            ["bench", data.to_str().unwrap(), "--methods=aggregated", "--steps=5,20", "--out", out.to_str().unwrap()];
        let output = program_runs::run(&arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        let table = std::fs::read_to_string(out.join("table.csv")).unwrap();
        // All but the seconds.
        let gaps: Vec<String> = table.lines().map(|line| line.split(',').take(5).collect()).collect();
        (gaps, said)
    };
    let (first, said) = bench("1", &out);
    assert!(!said.contains("computed again"), "{said}");
    let (second, said) = bench("2", &out);
    assert_ne!(first, second);
    assert!(said.contains("computed again: 2 optima of other data"), "{said}");
    assert!(said.contains("computed again: 1 run of other data"), "{said}");
    assert_eq!(second, bench("2", &folder.path().join("new")).0);
    // The runs of the first data are still there.
    let (again, said) = bench("1", &out);
    assert!(first == again && !said.contains("computed again: 1 run"), "{said}");
    // The layout of an earlier version: names with plain numbers, and runs without the content of their instance.
    std::fs::write(out.join("optima.json"), r#"{"data/ga-5": 1.0}"#).unwrap();
    let runs = std::fs::read_to_string(out.join("runs.jsonl")).unwrap();
    let old = runs.lines().map(|line| {
        let mut run: Value = serde_json::from_str(line).unwrap();
        run.as_object_mut().unwrap().retain(|name, _| !["fingerprint", "is_proved", "estimate"].contains(&&**name));
        format!("{run}\n")
    });
    std::fs::write(out.join("runs.jsonl"), old.collect::<String>()).unwrap();
    let (again, said) = bench("1", &out);
    assert_eq!(first, again);
    assert!(said.contains("of an earlier version"), "{said}");
}

#[test]
fn optima_without_a_proof_are_marked() {
    let folder = tempfile::tempdir().unwrap();
    let out = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let [plain, proved] = ["generate:max-affine:5:1", "generate:ga-10-100:5:1"].map(|data| {
        let out = out(&data.replace(':', "-"));
        let said = success(&["bench", data, "--methods=aggregated", "--steps=5,20", "--out", &out]);
        let page = data_of(&Path::new(&out).join("report.html"));
        let csv = std::fs::read_to_string(Path::new(&out).join("table.csv")).unwrap();
        (said, page["data_sets"][0].clone(), csv)
    });
    assert!(plain.0.contains("Optima not proved to 1e-9, marked *: 1 of 1, worst estimate"), "{}", plain.0);
    let row = |said: &str| said.lines().find(|line| line.starts_with("| aggregated")).unwrap().to_string();
    assert!(row(&plain.0).matches('*').count() == 2 && row(&proved.0).matches('*').count() == 0, "{}", plain.0);
    assert!(plain.1["note"].as_str().unwrap().contains("1 of 1, worst estimate"));
    assert!(plain.1["instances"][0].as_str().unwrap().ends_with('*'));
    assert!(!proved.0.contains("not proved") && proved.1["note"].is_null());
    let last = |csv: &str| csv.lines().map(|line| line.rsplit(',').next().unwrap().to_string()).collect::<Vec<_>>();
    assert_eq!(last(&plain.2), ["not_proved", "1", "1"]);
    assert_eq!(last(&proved.2), ["not_proved", "0", "0"]);
}

#[test]
fn a_folder_belongs_to_one_experiment_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let arguments = ["bench", "generate:mc-sml-40:40:3", "--out", out.to_str().unwrap(), "--steps=1000"];
    let mut child = program_runs::command(&arguments).stderr(std::process::Stdio::null()).spawn().unwrap();
    while !out.join("optima.json").exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let (code, message) = failure(&arguments);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(code == 2 && message.contains("is in use by another run"), "{message}");
    success(&["bench", "generate:mc-sml-40:15:3", "--out", out.to_str().unwrap(), "--methods=auto", "--steps=5"]);
}

#[test]
fn the_papers_tables_are_made() {
    let folder = tempfile::tempdir().unwrap();
    let out = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let models = models.to_str().unwrap();
    let main = out("main");
    let table = success(&["reproduce", "main", "--quick", "--families=ga-10-100", "--models", models, "--out", &main]);
    // The paper's figures stand beside ours.
    assert!(table.contains("network general") && table.contains("(0.1893)"), "{table}");
    let grid = success(&["reproduce", "grid", "--quick", "--families=ga-10-100", "--out", &out("grid")]);
    assert!(grid.contains("| constant | half-decades |"), "{grid}");
    // On decades, the paper's step length and gap stand beside ours, and nowhere else.
    let row = |name: &str| grid.lines().find(|line| line.starts_with(name)).unwrap().to_string();
    assert!(row("| constant | decades |").contains("(1000: 0.1893)"), "{grid}");
    assert!(!row("| constant | half-decades |").contains('('), "{grid}");
    assert!(grid.contains("is that of the paper in ") && grid.contains(" of 24 cells"), "{grid}");
    let cross =
        success(&["reproduce", "cross", "--quick", "--families=mc-sml-40", "--models", models, "--out", &out("cross")]);
    assert!(cross.contains("network mc-sml-40") && cross.contains("network general"), "{cross}");
    let sampling = [
        "reproduce",
        "sampling",
        "--quick",
        "--families=ga-10-100",
        "--updates=20",
        "--seeds=2",
        "--out",
        &out("sampling"),
    ];
    let table = success(&sampling);
    assert!(table.contains("network sparsemax, sampling attention, seed 2"), "{table}");
    let spread = table.lines().find(|line| line.starts_with("| softmax, sampling none |")).unwrap();
    assert!(spread.matches('±').count() == 4 && spread.contains("(0.1484)"), "{spread}");
    // All is there already.
    assert_eq!(success(&sampling), table);
    let page = data_of(&Path::new(&out("sampling")).join("report.html"));
    let trainings = page["data_sets"][0]["trainings"].as_array().unwrap();
    assert!(trainings.len() == 12 && trainings[1]["name"] == "network softmax, sampling none, seed 2");
    assert!(trainings.iter().all(|training| training["curves"].as_str().unwrap().starts_with("<svg")));
    // Other updates would be another network: the rates depend on their number.
    let fewer = sampling.map(|word| if word == "--updates=20" { "--updates=10" } else { word });
    let (code, message) = failure(&fewer);
    assert!(code == 2 && message.contains("expected a training of 10 updates, found one of 20;"), "{message}");
    for table in ["main", "cross"] {
        let arguments = ["reproduce", table, "--quick", "--families=ga-10-100", "--models=nowhere", "--out", &main];
        let (code, message) = failure(&arguments);
        let is_named = message.contains("--models: expected a folder") && message.contains("nowhere/");
        assert!(code == 2 && is_named, "{message}");
    }
}

#[test]
fn the_demo_needs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("demo");
    let text = success(&["demo", "--out", out.to_str().unwrap()]);
    assert!(text.contains("## mc-sml-40") && text.contains("## ga-10-100") && text.contains("network general"));
    assert_eq!(data_of(&out.join("report.html"))["data_sets"].as_array().unwrap().len(), 2);
}

#[test]
fn mistakes_get_clear_errors() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let message = |more: &[&str]| {
        let (code, message) = failure(&[&["bench", "--out", out.to_str().unwrap()], more].concat());
        assert_eq!(code, 2, "{message}");
        message
    };
    assert!(message(&["nowhere"]).contains("cannot read nowhere"));
    assert!(message(&["generate:ga-10-100:5:1", "--methods=magic"]).contains("found \"magic\""));
    assert!(message(&["generate:ga-10-100:5:1", "--steps=5,5"]).contains("positive increasing numbers"));
    assert!(
        message(&["generate:ga-10-100:5:1", "--grid=-1"])
            .contains("setting eta0: expected a positive finite number, found -1")
    );
    assert!(message(&["generate:ga-10-100:2:1"]).contains("in the test part, if the data have parts), found none"));
    let twice = ["generate:ga-10-100:5:1", "generate:ga-10-100:5:2"];
    assert!(message(&twice).contains("different names, found two called ga-10-100"));
    assert!(message(&["generate:ga-10-100:5:1", "--model=none.safetensors"]).contains("cannot read none.safetensors"));
}
