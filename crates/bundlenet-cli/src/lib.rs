//! The program `bundlenet`: one file for each command, no mathematics.
//!
//! Exit codes: 0 success, 1 a run failed, 2 wrong usage or unreadable input.

// No panic reaches a user, and results go where the caller wants them.
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::print_stderr)]

mod bench;
#[cfg_attr(not(feature = "mip"), path = "blocks_missing.rs")]
mod blocks;
mod campaign;
mod contenders;
mod convert;
mod demo;
#[cfg(test)]
mod documented;
mod evaluate;
mod experiment;
mod failure;
mod generate;
mod input;
mod inspect;
mod metrics;
mod models;
mod monitor;
mod options;
mod output;
mod paper;
mod plot;
mod prices;
mod primal;
mod reference;
mod report;
mod reproduce;
mod run;
mod seeds;
mod solve;
mod solve_report;
mod train;

use std::ffi::OsString;

use clap::{Parser, Subcommand};

/// Minimise convex nonsmooth functions, above all Lagrangian duals.
#[derive(Parser)]
#[command(name = "bundlenet", version, arg_required_else_help = true)]
#[command(after_help = "Exit codes: 0 success, 1 a run failed, 2 wrong usage or unreadable input.")]
struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Solve(Box<solve::Solve>),
    Train(train::Train),
    Metrics(metrics::Metrics),
    Models(models::Models),
    Model(models::ShowModel),
    Demo(demo::Demo),
    Bench(bench::Bench),
    Reproduce(reproduce::Reproduce),
    Reference(reference::Reference),
    Inspect(inspect::Inspect),
    Evaluate(evaluate::Evaluate),
    Generate(generate::Generate),
    Convert(convert::Convert),
}

/// Runs the program and returns its exit code. The first argument is the name or the path of the program.
pub fn run<Argument: Into<OsString> + Clone>(arguments: impl IntoIterator<Item = Argument>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    let program = match Program::try_parse_from(&arguments) {
        Ok(program) => program,
        Err(error) => {
            // The exit code is enough if the message cannot be written.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    let line = command_line(&arguments);
    let result = match program.command {
        Command::Solve(command) => command.run(),
        Command::Train(command) => command.run(),
        Command::Metrics(command) => command.run(),
        Command::Models(command) => command.run(),
        Command::Model(command) => command.run(),
        Command::Demo(command) => command.run(line),
        Command::Reproduce(command) => command.run(line),
        Command::Bench(command) => command.run(line),
        Command::Reference(command) => command.run(),
        Command::Inspect(command) => command.run(),
        Command::Evaluate(command) => command.run(),
        Command::Generate(command) => command.run(),
        Command::Convert(command) => command.run(),
    };
    match result {
        Ok(()) => 0,
        Err(failure) => failure.report(),
    }
}

/// The command as a user types it into a shell, whatever the path of the program.
fn command_line(arguments: &[OsString]) -> String {
    let quoted = |argument: &OsString| {
        let text = argument.to_string_lossy();
        let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:=,+@%".contains(letter);
        if !text.is_empty() && text.chars().all(is_plain) {
            return format!(" {text}");
        }
        format!(" '{}'", text.replace('\'', r"'\''"))
    };
    let arguments: String = arguments.iter().skip(1).map(quoted).collect();
    format!("bundlenet{arguments}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_the_programs_name_once_and_can_be_pasted() {
        let line = |program: &str| {
            command_line(&[program, "bench", "my data", "--out=it's", "--steps=5,20"].map(OsString::from))
        };
        let expected = r"bundlenet bench 'my data' '--out=it'\''s' --steps=5,20";
        assert_eq!([line("bundlenet"), line("/usr/local/bin/bundlenet")], [expected, expected]);
    }
}
