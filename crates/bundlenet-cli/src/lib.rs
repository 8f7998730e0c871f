//! The program `bundlenet`: one file for each command, no mathematics.
//!
//! Exit codes: 0 success, 1 a run failed, 2 wrong usage or unreadable input.

// No panic reaches a user, and results go where the caller wants them.
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::print_stderr)]

mod bench;
#[cfg_attr(not(feature = "mip"), path = "blocks_missing.rs")]
mod blocks;
mod campaign;
mod completions;
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
mod manual;
mod metrics;
mod models;
mod monitor;
mod options;
mod output;
mod paper;
mod plot;
mod prices;
mod primal;
#[cfg_attr(not(feature = "mpi"), path = "ranks_missing.rs")]
mod ranks;
mod reference;
mod report;
mod reproduce;
mod run;
mod seeds;
mod solve;
mod solve_report;
mod train;
mod version;

use std::ffi::OsString;

use clap::{CommandFactory, Parser, Subcommand};

use crate::failure::Failure;
use crate::ranks::Ranks;

/// Minimise convex nonsmooth functions, above all Lagrangian duals.
#[derive(Parser)]
#[command(name = "bundlenet", arg_required_else_help = true)]
#[command(after_help = "Exit codes: 0 success, 1 a run failed, 2 wrong usage or unreadable input.")]
struct Program {
    #[command(subcommand)]
    command: Option<Command>,
    /// Print the version
    #[arg(short = 'V', long)]
    version: bool,
    /// With --version: build, features, processor and threads, for a report of a fault
    #[arg(long, requires = "version")]
    verbose: bool,
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
    Completions(completions::Completions),
    #[command(name = "man")]
    Manual(manual::Manual),
}

/// Runs the program and returns its exit code. The first argument is the name or the path of the program.
pub fn run<Argument: Into<OsString> + Clone>(arguments: impl IntoIterator<Item = Argument>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    let ranks = Ranks::start();
    let program = match Program::try_parse_from(&arguments) {
        Ok(program) => program,
        Err(error) => {
            if ranks.is_leader() {
                // The exit code is enough if the message cannot be written.
                let _ = error.print();
            }
            let code = u8::try_from(error.exit_code()).unwrap_or(2);
            return ranks.end(if code == 0 { Ok(()) } else { Err(Failure::Reported(code)) });
        }
    };
    let result = match program.command {
        _ if program.version && ranks.is_leader() => print_version(program.verbose),
        _ if program.version => Ok(()),
        Some(command) => command.run(command_line(&arguments), &ranks),
        None => Err(Failure::input("expected a command, found none; bundlenet --help lists them")),
    };
    ranks.end(result)
}

fn print_version(is_verbose: bool) -> Result<(), Failure> {
    output::line(&version::line())?;
    if is_verbose { output::table(&version::facts()) } else { Ok(()) }
}

impl Command {
    /// Runs a command. `line` is the command as a user types it.
    fn run(self, line: String, ranks: &Ranks) -> Result<(), Failure> {
        match self {
            Self::Solve(command) => command.run(ranks),
            Self::Train(command) => command.run(ranks),
            Self::Demo(command) => command.run(line, ranks),
            Self::Reproduce(command) => command.run(line, ranks),
            Self::Bench(command) => command.run(line, ranks),
            Self::Reference(command) => command.run(ranks),
            // The other commands have nothing to share.
            _ if !ranks.is_leader() => Ok(()),
            Self::Metrics(command) => command.run(),
            Self::Models(command) => command.run(),
            Self::Model(command) => command.run(),
            Self::Inspect(command) => command.run(),
            Self::Evaluate(command) => command.run(),
            Self::Generate(command) => command.run(),
            Self::Convert(command) => command.run(),
            Self::Completions(command) => command.run(Program::command()),
            Self::Manual(command) => command.run(Program::command()),
        }
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
