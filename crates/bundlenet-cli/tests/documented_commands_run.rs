//! Every command of the pages is run, in the order of its page, in a folder that has stand-ins for the files that pages
//! name. Experiments and trainings are cut short, by options that are added to their command lines. With the feature
//! `mip`, these are the commands that need it.

use std::path::Path;
use std::process::{Command, Output};

use bundlenet_testing::pages::{Line, program_lines};
use bundlenet_testing::sample::gzip;
#[cfg(not(feature = "mip"))]
use bundlenet_testing::sources::workspace;

/// Why words are no command.
fn reason(line: &Line) -> Option<&'static str> {
    let command = line.words[1].as_str();
    match command {
        _ if line.words.len() == 2 && !command.starts_with("--") => Some("a name, not a command to type"),
        _ if command.ends_with("\\n") => Some("the first bytes of a file"),
        _ => None,
    }
}

/// Whether a command needs HiGHS.
fn has_model_file(line: &Line) -> bool {
    let ends = [".lp", ".mps", ".cor", ".cor.gz", "scenarios/"];
    line.words.iter().any(|word| ends.iter().any(|end| word.ends_with(end)))
}

/// The options that cut a command short: one instance, a training of a second.
fn shorter(line: &Line) -> Vec<&'static str> {
    let has = |word: &str| line.words.iter().any(|other| other == word);
    let mut more = match line.words[1].as_str() {
        "bench" => vec!["--limit=1", "--grid=1"],
        "reproduce" => vec!["--families=mc-sml-40"],
        "train" if !has("--print-config") => vec!["--time-limit", "1"],
        _ => vec![],
    };
    // An option is given once.
    if line.words[1] == "reproduce" && !has("--quick") {
        more.push("--quick");
    }
    if has("sampling") {
        more.push("--updates=20");
    }
    if line.words[1] == "train" && !line.words.iter().any(|word| word.starts_with("data.validation_limit")) {
        more.extend(["--override", "data.validation_limit=4"]);
    }
    if has("--print-config") { vec![] } else { more }
}

/// Runs a line in a folder. The folder of a training is that of the page's first one.
fn run(line: &Line, folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bundlenet"));
    let filled = line.words[1..].iter().map(|word| if word == "RUN_DIR" { "runs/mine" } else { word });
    command.args(filled).args(shorter(line)).current_dir(folder);
    command.output().unwrap()
}

/// Makes the files that pages name as placeholders.
#[cfg(not(feature = "mip"))]
fn furnish(folder: &Path, is_electric: bool) {
    let generate = |arguments: &[&str]| {
        let done = Command::new(env!("CARGO_BIN_EXE_bundlenet")).args(arguments).current_dir(folder).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    generate(&["generate", "mc-sml-40", "--count", "16", "--seed", "1", "--out", "DIR"]);
    // Published instances have no manifest: a folder is one part of the data.
    let mc = "mc-sml-40";
    let parts = [("TRAIN_DIR", mc), ("VALIDATION_DIR", mc), ("TEST_DIR", mc), ("data/test", mc), (mc, mc)];
    for (name, family) in parts.into_iter().chain([("mc-sml-var", "mc-sml-var")]) {
        generate(&["generate", family, "--count", "2", "--seed", "1", "--out", name]);
        std::fs::remove_file(folder.join(name).join("manifest.json")).unwrap();
    }
    generate(&["generate", "uc", "--size", "8", "24", "--count", "1", "--seed", "1", "--out", "UNITS"]);
    let instance = if is_electric { "UNITS/uc-1.json" } else { "DIR/s1-1.json" };
    // A name without an extension: the content decides.
    for name in ["FILE", "FILE.json", "INSTANCE.json", "s1-1.json"] {
        std::fs::copy(folder.join(instance), folder.join(name)).unwrap();
    }
    let text = std::fs::read_to_string(folder.join(instance)).unwrap();
    for name in ["FILE.json.gz", "instance.json.gz"] {
        std::fs::write(folder.join(name), gzip(&text)).unwrap();
    }
    let units = std::fs::read_to_string(folder.join("UNITS/uc-1.json")).unwrap();
    std::fs::create_dir(folder.join("ferc")).unwrap();
    std::fs::write(folder.join("ferc/2015-01-01_hw.json.gz"), gzip(&units)).unwrap();
    let training =
        "data.train = [\"generate:mc-sml-40:10:1\"]\ngradient.updates = 0\nevolution.pairs = 2\nevolution.batch = 2\n";
    std::fs::write(folder.join("evolution.toml"), training).unwrap();
    for name in ["recipes", "models"] {
        std::fs::create_dir(folder.join(name)).unwrap();
        for file in std::fs::read_dir(workspace().join(name)).unwrap().map(Result::unwrap) {
            std::fs::copy(file.path(), folder.join(name).join(file.file_name())).unwrap();
        }
    }
    let model = workspace().join("crates/bundlenet/models/general.safetensors");
    for name in ["new", "seed1", "seed2"] {
        std::fs::copy(&model, folder.join(name).with_extension("safetensors")).unwrap();
    }
    generate(&["convert", "DIR/s1-1.json", "pN1_3.dat"]);
}

/// Makes the model files that pages name, all of them small.
#[cfg(feature = "mip")]
fn furnish_models(folder: &Path) {
    const LP: &str = "Maximize\n obj: 3 x1 + 2 x2 + 4 y1 + y2\nSubject To\n m_job_1: x1 + y1 <= 1\n m_job_2: x2 + y2 >= 1\n \
                      cap_1: 2 x1 + 3 x2 <= 4\n cap_2: 2 y1 + 3 y2 <= 4\nBinary\n x1 x2 y1 y2\nEnd\n";
    const DEC: &str = "NBLOCKS\n2\nBLOCK 1\ncap_1\nBLOCK 2\ncap_2\nMASTERCONSS\nm_job_1\nm_job_2\n";
    const BLK: &str = "NBLOCKS\n2\nBLOCK 1\nx1\nx2\nBLOCK 2\ny1\ny2\n";
    const CORE: &str = "NAME T\nROWS\n N obj\n L land\n G need\nCOLUMNS\n M1 'MARKER' 'INTORG'\n x obj 3 land 1\n \
                        x need 2\n M2 'MARKER' 'INTEND'\n y obj 5 need 1\nRHS\n RHS land 4 need 3\nBOUNDS\n \
                        UP BND x 4\n UP BND y 9\nENDATA\n";
    const TIMES: &str = "TIME T\nPERIODS IMPLICIT\n x obj ONE\n y need TWO\nENDATA\n";
    const SCENARIOS: &str = "STOCH T\nSCENARIOS DISCRETE\n SC A ROOT 0.25 TWO\n RHS need 1\n SC B ROOT 0.75 TWO\n \
                             RHS need 6\nENDATA\n";
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    for name in ["model", "gap8_4.txt", "N1C1W4_M.BPP", "TEST0055", "p1250-2"] {
        write(&format!("{name}.lp"), LP);
        write(&format!("{name}.dec"), DEC);
        write(&format!("{name}.blk"), BLK);
    }
    write("noswot.mps", CORE);
    for name in ["farmer", "sslp_5_25_50", "NAME"] {
        write(&format!("{name}.cor"), CORE);
        std::fs::write(folder.join(format!("{name}.cor.gz")), gzip(CORE)).unwrap();
        write(&format!("{name}.tim"), TIMES);
        write(&format!("{name}.sto"), SCENARIOS);
    }
    std::fs::create_dir(folder.join("scenarios")).unwrap();
    for (name, need) in [("S1", "need 1"), ("S2", "need 6")] {
        write(&format!("scenarios/{name}.mps"), &CORE.replace("need 3", need));
        let stages = r#""treeData": {"globalNodeCount": 1, "nodes": {"ROOT": {"nonAnts": ["x"]}}}"#;
        let scenario = r#""scenarioData": {"scenProb": 0.5}"#;
        write(&format!("scenarios/{name}_nonants.json"), &format!("{{{scenario}, {stages}}}"));
    }
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

/// Runs the wanted lines, page by page, in folders that are made for each. Returns their number.
fn run_lines(is_wanted: impl Fn(&Line) -> bool, furnish: impl Fn(&Path, &Line)) -> usize {
    let (mut faults, mut count) = (vec![], 0);
    let mut lines = program_lines();
    lines.retain(|line| reason(line).is_none() && is_wanted(line));
    for page in lines.chunk_by(|a, b| a.page == b.page) {
        let folder = tempfile::tempdir().unwrap();
        furnish(folder.path(), &page[0]);
        for line in page {
            faults.extend(fault(line, folder.path()));
            count += 1;
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    count
}

#[cfg(not(feature = "mip"))]
#[test]
fn commands_of_the_pages_run() {
    let count = run_lines(
        |line| !has_model_file(line),
        |folder, line| {
            furnish(folder, line.page.ends_with("prices.md"));
        },
    );
    assert!(count > 50, "ran {count} commands");
}

#[cfg(feature = "mip")]
#[test]
fn commands_with_model_files_run() {
    let count = run_lines(has_model_file, |folder, _| furnish_models(folder));
    assert!(count > 8, "ran {count} commands");
}
