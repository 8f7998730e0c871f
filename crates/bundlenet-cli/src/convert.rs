//! `bundlenet convert`: an instance in another format.

use std::path::PathBuf;

use bundlenet_problems::Format;
use clap::Args;

use crate::failure::Failure;
use crate::input::Instance;
use crate::output;

/// Write an instance in another format
#[derive(Args)]
pub(crate) struct Convert {
    #[command(flatten)]
    instance: Instance,
    /// File to write; its extension gives the format: .json, .dat, .dow or .txt, and .gz after it
    /// compresses
    #[arg(value_name = "OUT")]
    out: PathBuf,
}

impl Convert {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let format = Format::of_output(&self.out)?;
        output::check_output("OUT", &self.out, [self.instance.file.as_path()])?;
        output::bytes(&self.out, &self.instance.read()?.to_bytes(&self.out)?)?;
        output::table(&[("written", self.out.display().to_string()), ("format", format.to_string())])
    }
}
