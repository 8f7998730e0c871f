//! `bundlenet man`: the manual pages.

use std::path::PathBuf;

use bundlenet::Error;
use clap::{Args, Command};

use crate::failure::Failure;

/// Write the manual pages to a folder: one of the program, one of each command
#[derive(Args)]
pub(crate) struct Manual {
    /// Folder, such as ~/.local/share/man/man1
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Manual {
    pub(crate) fn run(self, program: Command) -> Result<(), Failure> {
        let write = || {
            std::fs::create_dir_all(&self.folder)?;
            clap_mangen::generate_to(program, &self.folder)
        };
        Ok(write().map_err(|source| Error::Write { path: self.folder.clone(), source })?)
    }
}
