//! Tests of the pages: every command line in them is one of this program, and every option of `solve` is in its page.

use bundlenet::Settings;
use bundlenet_testing::pages::{Line, pages, program_lines, words};
use clap::{Arg, CommandFactory, Parser};

use crate::Program;

/// Whether a line has a command of the program, or an option of the program itself, and something after it. A command
/// alone, as in "options of `bundlenet solve`", is a name and not a line to type.
fn is_command(line: &Line) -> bool {
    let is_known = |word: &String| Program::command().find_subcommand(word).is_some() || word.starts_with("--");
    is_known(&line.words[1]) && line.words.len() > 2
}

#[test]
fn every_documented_command_is_one_of_the_program() {
    let mut lines = program_lines();
    lines.retain(is_command);
    assert!(lines.len() > 40, "found {}", lines.len());
    for line in &lines {
        let error = Program::try_parse_from(&line.words).err().filter(clap::Error::use_stderr);
        assert!(error.is_none(), "{line}\n{}", error.unwrap());
    }
}

#[test]
fn faults_are_found() {
    for wrong in ["bundlenet solve FILE --no-such-option", "bundlenet solve", "bundlenet generate mc-sml-40 --count 8"]
    {
        assert!(Program::try_parse_from(words(wrong)).is_err(), "{wrong}");
    }
}

/// The page of settings.
fn settings_page() -> String {
    pages().into_iter().find(|page| page.path.ends_with("docs/settings.md")).unwrap().text
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
    let page = settings_page();
    let program = Program::command();
    let solve = program.find_subcommand("solve").unwrap();
    let rows: Vec<String> = solve.get_opts().filter(|option| option.get_long() != Some("help")).map(row).collect();
    let found: Vec<&str> = page.lines().filter(|line| line.starts_with("| `--")).collect();
    let table = rows.join("\n");
    assert!(rows == found, "docs/settings.md: expected this table of the options of `solve`:\n{table}");
}

#[test]
fn the_page_of_settings_has_every_field() {
    let page = settings_page();
    let settings = serde_json::to_value(Settings::default()).unwrap();
    let fields = settings.as_object().unwrap().keys().map(String::clone);
    let limits = settings["limits"].as_object().unwrap().keys().map(|name| format!("limits.{name}"));
    let options = bundlenet::OPTIONS.iter().map(|option| option.name.to_string());
    for name in fields.chain(limits).chain(options) {
        assert!(page.contains(&format!("\n| `{name}` |")), "docs/settings.md: expected a row of `{name}`");
    }
}
