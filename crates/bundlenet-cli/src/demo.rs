//! `bundlenet demo`: a comparison of methods that needs no file.

use std::path::PathBuf;

use clap::Args;

use crate::campaign::run_campaign;
use crate::contenders::{DataSet, Options};
use crate::failure::Failure;
use crate::output;
use crate::ranks::Ranks;

/// Compare the methods on generated instances of two families
#[derive(Args)]
pub(crate) struct Demo {
    /// Folder for the report and the runs
    #[arg(long, value_name = "OUT_DIR", default_value = "bundlenet-demo")]
    out: PathBuf,
    /// Seed of the instances
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
}

impl Demo {
    pub(crate) fn run(self, command: String, ranks: &Ranks) -> Result<(), Failure> {
        let methods = "auto,network,component,aggregated,constant,descent,adam";
        let options = Options::new(self.out, methods, &[1.0, 10.0, 100.0, 1000.0], command);
        let sets: Result<Vec<DataSet>, Failure> = ["mc-sml-40", "ga-10-100"]
            .iter()
            .map(|family| DataSet::read(family, &format!("generate:{family}:100:{}", self.seed), None, None))
            .collect();
        let contenders = options.contenders()?;
        output::note("20 instances each of network design and generalised assignment, seven methods, 100 steps");
        run_campaign(ranks, &options, sets?, &|_| contenders.clone()).map(drop)
    }
}
