//! Tests of the pages: every command line in them is one of this program, and every option of `solve` is in its page.

use std::path::{Path, PathBuf};

use bundlenet::Settings;
use clap::{Arg, CommandFactory, Parser};

use crate::Program;

/// A command line in a page.
struct Line {
    page: String,
    words: Vec<String>,
}

impl std::fmt::Display for Line {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}: {}", self.page, self.words.join(" "))
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The pages of the repository, with their texts. The changelog is left out: it names commands of older versions.
fn pages() -> Vec<(String, String)> {
    let folders = [root(), root().join("docs")];
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    files.retain(|path| !path.ends_with("CHANGELOG.md"));
    files.sort();
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    files.iter().map(|path| (name(path), std::fs::read_to_string(path).unwrap())).collect()
}

/// The lines of all blocks of shell code, continued lines as one, without prompts and comments; and all inline code.
fn code(page: &str) -> Vec<String> {
    let (mut found, mut prose) = (vec![], String::new());
    let mut language = None;
    for line in page.replace("\\\n", " ").lines() {
        match (line.trim_start().strip_prefix("```"), language.is_some()) {
            (Some(name), false) => language = Some(name.to_string()),
            (Some(_), true) => language = None,
            (None, false) => prose = prose + line + "\n",
            (None, true) if language.as_deref() == Some("sh") => found.push(line.to_string()),
            (None, true) if language.as_deref() == Some("console") => {
                found.extend(line.strip_prefix("$ ").map(String::from));
            }
            (None, true) => {}
        }
    }
    found.extend(prose.split('`').skip(1).step_by(2).map(|code| code.replace('\n', " ")));
    found
}

/// The words of a line as a shell has them: quotes hold words together, and a comment ends the line.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (vec![], None::<String>, None);
    for letter in line.chars() {
        match quote {
            Some(end) if letter == end => quote = None,
            Some(_) => word.get_or_insert_default().push(letter),
            None if letter == '\'' || letter == '"' => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            None if letter == '#' && word.is_none() => break,
            None if letter.is_whitespace() => words.extend(word.take()),
            None => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

/// All command lines of the program in all pages: those with a command or an option.
fn lines() -> Vec<Line> {
    let program = Program::command();
    let mut found = vec![];
    for (page, text) in pages() {
        for line in code(&text) {
            let mut words = words(&line);
            // Variables, `time` and the way through cargo come before the program.
            let cargo = ["cargo", "run", "--release", "--"].map(String::from);
            if words.starts_with(&cargo) {
                words.splice(..4, ["bundlenet".to_string()]);
            }
            let Some(first) = words.iter().position(|word| word == "bundlenet") else { continue };
            let is_before = |word: &String| word == "time" || word.contains('=');
            let has_command = words.get(first + 1).is_some_and(|word| {
                word.starts_with("--") || program.get_subcommands().any(|command| command.get_name() == word)
            });
            if words[..first].iter().all(is_before) && has_command {
                found.push(Line { page: page.clone(), words: words.split_off(first) });
            }
        }
    }
    found
}

/// The words of a documented line as the program gets them: placeholders have values.
fn arguments(line: &Line) -> Vec<String> {
    let filled = |word: &String| match word.as_str() {
        "..." => None,
        "N" => Some("5".to_string()),
        "S" => Some("1.5".to_string()),
        word => Some(word.trim_end_matches("...").to_string()),
    };
    line.words.iter().filter_map(filled).collect()
}

#[test]
fn every_documented_command_is_one_of_the_program() {
    let lines = lines();
    assert!(lines.len() > 40, "found {}", lines.len());
    for line in &lines {
        // A command alone, as in "options of `bundlenet solve`", is a name and not a line to type.
        if line.words.len() == 2 {
            continue;
        }
        let error = Program::try_parse_from(arguments(line)).err();
        let is_fault = |error: &clap::Error| error.use_stderr();
        assert!(!error.as_ref().is_some_and(is_fault), "{line}\n{}", error.unwrap());
    }
}

#[test]
fn words_are_those_of_a_shell() {
    assert_eq!(words("bundlenet bench '' --relax '^m job'  # all"), ["bundlenet", "bench", "", "--relax", "^m job"]);
    assert_eq!(code("```sh\na \\\n  b\n```\n`c\nd`\n```rust\ne\n```\n```console\n$ f\ng\n```\n"), ["a    b", "f", "c d"]);
}

#[test]
fn faults_are_found() {
    for wrong in ["bundlenet solve FILE --no-such-option", "bundlenet solve", "bundlenet generate mc-sml-40 --count 8"] {
        let line = Line { page: String::new(), words: words(wrong) };
        assert!(Program::try_parse_from(arguments(&line)).is_err(), "{wrong}");
    }
}

/// The row of an option in `docs/settings.md`.
fn row(option: &Arg) -> String {
    let takes_value = option.get_action().takes_values();
    let values: Vec<&str> = option.get_value_names().unwrap_or_default().iter().map(|name| name.as_str()).collect();
    let value = if takes_value { format!(" {}", values.join(" ")) } else { String::new() };
    let mut help = option.get_help().map(ToString::to_string).unwrap_or_default();
    let names: Vec<String> =
        option.get_possible_values().iter().map(|value| value.get_name().to_string()).filter(|_| takes_value).collect();
    if !names.is_empty() {
        help += &format!(" [values: {}]", names.join(", "));
    }
    let defaults: Vec<_> = option.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if takes_value && !defaults.is_empty() {
        help += &format!(" [default: {}]", defaults.join(" "));
    }
    let cell = |text: &str| text.replace('|', "\\|");
    format!("| `--{}{}` | {} |", option.get_long().unwrap(), cell(&value), cell(&help))
}

#[test]
fn the_page_of_settings_has_every_option_of_solve() {
    let page = std::fs::read_to_string(root().join("docs/settings.md")).unwrap();
    let program = Program::command();
    let solve = program.find_subcommand("solve").unwrap();
    let rows: Vec<String> = solve.get_opts().filter(|option| option.get_long() != Some("help")).map(row).collect();
    let found: Vec<&str> = page.lines().filter(|line| line.starts_with("| `--")).collect();
    let table = rows.join("\n");
    assert!(rows == found, "docs/settings.md: expected this table of the options of `solve`:\n{table}");
}

#[test]
fn the_page_of_settings_has_every_field() {
    let page = std::fs::read_to_string(root().join("docs/settings.md")).unwrap();
    let settings = serde_json::to_value(Settings::default()).unwrap();
    let fields = settings.as_object().unwrap().keys().map(String::clone);
    let limits = settings["limits"].as_object().unwrap().keys().map(|name| format!("limits.{name}"));
    let options = bundlenet::OPTIONS.iter().map(|option| option.name.to_string());
    for name in fields.chain(limits).chain(options) {
        assert!(page.contains(&format!("\n| `{name}` |")), "docs/settings.md: expected a row of `{name}`");
    }
}
