//! The manners of the program: its version, completions, manual pages, standard input, and no colour in a pipe.

mod program_runs;

use std::io::Write;
use std::process::{Command, Stdio};

use program_runs::{command, failure, generated, run, success, text};

/// Exit code and output of a run with the given standard input.
fn with_input(arguments: &[&str], input: &[u8]) -> (i32, String, String) {
    let mut command = command(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn the_version_has_facts_of_the_build() {
    let line = success(&["--version"]);
    assert!(line.starts_with(concat!("bundlenet ", env!("CARGO_PKG_VERSION"), " (")), "{line}");
    assert!(line.contains(std::env::consts::ARCH) && line.lines().count() == 1, "{line}");
    assert_eq!(success(&["-V"]), line);
    let all = success(&["--version", "--verbose"]);
    assert!(all.starts_with(&line), "{all}");
    for name in ["build", "features", "processor", "threads", "system"] {
        assert!(all.lines().any(|line| line.starts_with(name)), "{name}: {all}");
    }
    assert_eq!(failure(&["--verbose"]).0, 2);
    assert_eq!(run(&[]).status.code(), Some(2));
}

#[test]
fn shells_complete_all_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let script = success(&["completions", shell]);
        for word in ["solve", "completions", "reproduce", "save-multipliers"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
        // Other shells may not be installed.
        let mut check = Command::new(shell);
        check.arg("-n").stdin(Stdio::piped());
        if let Ok(mut child) = check.spawn() {
            child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
            assert!(child.wait().unwrap().success(), "{shell}");
        }
    }
    assert_eq!(failure(&["completions", "csh"]).0, 2);
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man1");
    success(&["man", text(&pages)]);
    let page = |name: &str| std::fs::read_to_string(pages.join(name)).unwrap();
    assert!(page("bundlenet.1").contains("Exit codes") && page("bundlenet-solve.1").contains("tolerance"));
    let help = success(&["--help"]);
    let commands = help.split("Commands:\n").nth(1).unwrap().lines().map_while(|line| line.split_whitespace().next());
    for command in commands.filter(|command| *command != "help") {
        assert!(page(&format!("bundlenet-{command}.1")).contains("SYNOPSIS"), "{command}");
    }
    let (code, message) = failure(&["man", text(&pages.join("bundlenet.1"))]);
    assert!(code == 1 && message.contains("cannot write"), "{message}");
}

#[test]
fn a_dash_is_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let file = &generated(folder.path(), "ga-10-100", 1)[0];
    let content = std::fs::read(file).unwrap();
    let value = |report: &str| serde_json::from_str::<serde_json::Value>(report).unwrap()["value"].clone();
    let options = ["--json", "--quiet", "--steps=30"];
    let (code, piped, _) = with_input(&[&["solve", "-"], &options[..]].concat(), &content);
    assert_eq!((code, value(&piped)), (0, value(&success(&[&["solve", text(file)], &options[..]].concat()))));
    let (code, described, _) = with_input(&["inspect", "-"], &content);
    assert!(code == 0 && described.contains("assignment"), "{described}");
    let (code, _, message) = with_input(&["solve", "-"], b"{}");
    assert!(code == 2 && message.contains("-: line 1: expected"), "{message}");
}

/// Nothing but a terminal gets colours or bars, and progress goes to standard error.
#[test]
fn pipes_get_plain_text() {
    let folder = tempfile::tempdir().unwrap();
    let files = generated(folder.path(), "ga-10-100", 3);
    let files: Vec<&str> = files.iter().map(|path| text(path)).collect();
    let all = [&["solve", "--steps=5"], &files[..]].concat();
    for arguments in [&["--help"][..], &["solve", "--wrong"], &["solve", files[0]], &all] {
        let output = run(arguments);
        assert!(![output.stdout, output.stderr].concat().contains(&0x1b), "{arguments:?}");
    }
}
