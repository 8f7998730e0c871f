//! Every command of the pages that takes seconds is run, in the order of its page, in a folder that has the files that
//! pages name. The others are parsed (`src/documented.rs`).

use std::path::Path;
use std::process::{Command, Output};

use bundlenet_testing::pages::{Line, program_lines};
use bundlenet_testing::sample::gzip;
use bundlenet_testing::sources::workspace;

/// Why a command is not run here.
fn reason(line: &Line) -> Option<&'static str> {
    let has = |end: &str| line.words.iter().any(|word| word.ends_with(end));
    let command = line.words[1].as_str();
    match command {
        _ if line.words.len() == 2 && !command.starts_with("--") => Some("a name, not a command to type"),
        _ if command.ends_with("\\n") => Some("not a command: the first bytes of a file"),
        "reproduce" | "bench" => Some("takes minutes; tests/report.rs and tests/experiments.rs run small ones"),
        _ if [".lp", ".mps", ".cor", "scenarios/"].iter().any(|end| has(end)) => {
            Some("needs HiGHS and public model files; tests/models.rs runs its own")
        }
        _ if has(".dat") => Some("needs a public instance"),
        _ if line.page.ends_with("paper.md") => Some("trains four networks for hours"),
        _ => None,
    }
}

/// Runs a line in a folder. A training ends after a second. The folder of a training is that of the page's first one.
fn run(line: &Line, folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bundlenet"));
    let filled = line.words[1..].iter().map(|word| if word == "RUN_DIR" { "runs/mine" } else { word });
    command.args(filled).current_dir(folder);
    if line.words[1] == "train" && !line.words.contains(&"--print-config".to_string()) {
        command.args(["--time-limit", "1", "--override", "data.validation_limit=4"]);
    }
    command.output().unwrap()
}

/// Makes the files that pages name as placeholders.
fn furnish(folder: &Path, is_electric: bool) {
    let generate = |arguments: &[&str]| {
        let done = Command::new(env!("CARGO_BIN_EXE_bundlenet")).args(arguments).current_dir(folder).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    generate(&["generate", "mc-sml-40", "--count", "16", "--seed", "1", "--out", "DIR"]);
    generate(&["generate", "uc", "--size", "8", "24", "--count", "1", "--seed", "1", "--out", "UNITS"]);
    let instance = if is_electric { "UNITS/uc-1.json" } else { "DIR/s1-1.json" };
    // A name without an extension: the content decides.
    for name in ["FILE", "FILE.json", "INSTANCE.json", "s1-1.json"] {
        std::fs::copy(folder.join(instance), folder.join(name)).unwrap();
    }
    let text = std::fs::read_to_string(folder.join(instance)).unwrap();
    std::fs::write(folder.join("FILE.json.gz"), gzip(&text)).unwrap();
    for name in ["recipes", "models"] {
        std::fs::create_dir(folder.join(name)).unwrap();
        for file in std::fs::read_dir(workspace().join(name)).unwrap().map(Result::unwrap) {
            std::fs::copy(file.path(), folder.join(name).join(file.file_name())).unwrap();
        }
    }
    let model = workspace().join("crates/bundlenet/models/general.safetensors");
    std::fs::copy(model, folder.join("new.safetensors")).unwrap();
}

/// The lines of an output but for the time.
fn without_time(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.starts_with("seconds")).collect()
}

/// The fault of a line: it fails, or its output is not that of the page.
fn fault(line: &Line, folder: &Path) -> Option<String> {
    let done = run(line, folder);
    let (found, errors) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    let shown = line.output.join("\n");
    // The last digits are those of one platform: others have other exponential functions.
    let is_exact = cfg!(all(target_os = "linux", target_arch = "x86_64"));
    if !done.status.success() {
        Some(format!("{line}\n{errors}"))
    } else if is_exact && !line.output.is_empty() && without_time(&shown) != without_time(&found) {
        Some(format!("{line}\nprints\n{found}but the page has\n{shown}"))
    } else {
        None
    }
}

#[test]
fn commands_of_the_pages_run() {
    let (mut faults, mut count) = (vec![], 0);
    let mut lines = program_lines();
    lines.retain(|line| reason(line).is_none());
    for page in lines.chunk_by(|a, b| a.page == b.page) {
        let folder = tempfile::tempdir().unwrap();
        furnish(folder.path(), page[0].page.ends_with("prices.md"));
        for line in page {
            faults.extend(fault(line, folder.path()));
            count += 1;
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(count > 30, "ran {count} commands");
}
