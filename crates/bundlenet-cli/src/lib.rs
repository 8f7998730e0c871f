//! The program `bundlenet`: one file for each subcommand, no mathematics.
//!
//! Exit codes: 0 success, 1 a run failed, 2 wrong usage or unreadable input.

// No panic reaches a user, and results go where the caller wants them.
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::print_stderr)]

mod bench;
mod convert;
mod demo;
mod evaluate;
mod failure;
mod generate;
mod input;
mod inspect;
mod models;
mod output;
mod paper;
mod primal;
mod reference;
mod report;
mod reproduce;
mod solve;
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
    Solve(solve::Solve),
    Train(train::Train),
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

/// Runs the program and gives its exit code; `arguments` as the shell gives them, the name of the program first.
pub fn run<Argument: Into<OsString> + Clone>(arguments: impl IntoIterator<Item = Argument>) -> u8 {
    let program = match Program::try_parse_from(arguments) {
        Ok(program) => program,
        Err(error) => {
            // If even this cannot be written, the code must do.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    let result = match program.command {
        Command::Solve(command) => command.run(),
        Command::Train(command) => command.run(),
        Command::Models(command) => command.run(),
        Command::Model(command) => command.run(),
        Command::Demo(command) => command.run(),
        Command::Reproduce(command) => command.run(),
        Command::Bench(command) => command.run(),
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
