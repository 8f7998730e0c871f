//! `bundlenet convert`: an instance in another format.

use std::path::PathBuf;

use bundlenet::{Error, Format};
use clap::Args;

use crate::failure::Failure;
use crate::input::Instance;
use crate::output;

/// Write an instance in another format
#[derive(Args)]
pub(crate) struct Convert {
    #[command(flatten)]
    instance: Instance,
    /// File to write; its extension says the format: .json, .dat, .dow or .txt
    #[arg(value_name = "OUT")]
    out: PathBuf,
}

impl Convert {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let extension = self.out.extension().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let format: Format = extension
            .parse()
            .map_err(|error| Failure::Input(anyhow::anyhow!("extension of {}: {error}", self.out.display())))?;
        let text = self.instance.read()?.to_text(format)?;
        std::fs::write(&self.out, text).map_err(|source| Error::Write { path: self.out.clone(), source })?;
        output::table(&[("written", self.out.display().to_string()), ("format", format.to_string())])
    }
}
