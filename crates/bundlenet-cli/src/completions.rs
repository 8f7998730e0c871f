//! `bundlenet completions`: a script that completes commands and options in a shell.

use clap::{Args, Command};
use clap_complete::{Shell, generate};

use crate::failure::Failure;
use crate::output;

/// Print a completion script for a shell
#[derive(Args)]
#[command(after_help = "bash: bundlenet completions bash > ~/.local/share/bash-completion/completions/bundlenet\n\
    zsh:  bundlenet completions zsh > a folder of $fpath, as _bundlenet\n\
    fish: bundlenet completions fish > ~/.config/fish/completions/bundlenet.fish")]
pub(crate) struct Completions {
    /// The shell: bash, zsh, fish, elvish or powershell
    #[arg(value_enum, value_name = "SHELL", hide_possible_values = true)]
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self, mut program: Command) -> Result<(), Failure> {
        let mut script = vec![];
        generate(self.shell, &mut program, "bundlenet", &mut script);
        output::line(String::from_utf8_lossy(&script).trim_end())
    }
}
