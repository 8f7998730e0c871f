//! Command lines of cargo and Python in the pages name packages, tests, benches, examples and files that exist. The
//! commands of the program itself are tested in `bundlenet-cli`.

use std::path::Path;

use bundlenet_testing::pages::{Line, command_lines, pages};
use bundlenet_testing::sources::workspace;

/// All files of the repository that a page may name.
fn repository() -> Vec<String> {
    fn below(folder: &Path, found: &mut Vec<String>) {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let is_ours = name != "target" && (!name.starts_with('.') || name == ".ci");
            if path.is_dir() && is_ours {
                below(&path, found);
            } else if is_ours {
                found.push(path.strip_prefix(workspace()).unwrap().to_string_lossy().replace('\\', "/"));
            }
        }
    }
    let mut found = vec![];
    below(&workspace(), &mut found);
    found
}

/// The names that follow an option.
fn values<'a>(line: &'a Line, option: &'a str) -> impl Iterator<Item = &'a str> {
    let own = line.words.iter().take_while(|word| *word != "--");
    own.clone().zip(own.skip(1)).filter(move |(word, _)| *word == option).map(|(_, value)| value.as_str())
}

/// The faults of a line of cargo.
fn faults(line: &Line, files: &[String]) -> Vec<String> {
    let mut faults = vec![];
    let folders = [("--test", "tests"), ("--bench", "benches"), ("--example", "examples")];
    for (option, folder) in folders {
        // A star stands for all.
        for name in values(line, option).filter(|name| *name != "*") {
            let ends = [format!("/{folder}/{name}.rs"), format!("/{folder}/{name}/main.rs")];
            if !files.iter().any(|file| ends.iter().any(|end| file.ends_with(end))) {
                faults.push(format!("{line}: no {folder}/{name}.rs"));
            }
        }
    }
    for package in values(line, "-p") {
        let manifests = files.iter().filter(|file| file.ends_with("Cargo.toml"));
        let has_name = |file: &String| {
            let text = std::fs::read_to_string(workspace().join(file)).unwrap();
            text.contains(&format!("\nname = \"{package}\"\n"))
        };
        if !manifests.clone().any(has_name) {
            faults.push(format!("{line}: no package {package}"));
        }
    }
    faults
}

#[test]
fn commands_of_cargo_and_python() {
    let files = repository();
    let (mut found, mut count) = (vec![], 0);
    for line in pages().iter().filter(|page| !page.path.ends_with("CHANGELOG.md")).flat_map(command_lines) {
        let is_script = |word: &&String| word.ends_with(".py") || word.starts_with(".ci/");
        if line.words.contains(&"cargo".to_string()) {
            count += 1;
            found.extend(faults(&line, &files));
        } else if line.words[0].starts_with("python") || line.words[0].starts_with(".ci/") {
            for script in line.words.iter().filter(is_script) {
                count += 1;
                let is_there = |file: &String| file == script || file.ends_with(&format!("/{script}"));
                if !files.iter().any(is_there) {
                    found.push(format!("{line}: no file {script}"));
                }
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    assert!(count > 30, "found {count} commands");
}

#[test]
fn faults_are_found() {
    let line =
        |text: &str| Line { page: "page.md".into(), words: bundlenet_testing::pages::words(text), output: vec![] };
    let files = ["crates/a/tests/known.rs".to_string()];
    assert!(faults(&line("cargo test --test known -- --test other"), &files).is_empty());
    assert_eq!(faults(&line("cargo test -p nobody --test unknown"), &files).len(), 2);
}
