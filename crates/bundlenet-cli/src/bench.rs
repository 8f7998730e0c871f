//! `bundlenet bench`: methods on instances, as tables, raw runs and a report.

use clap::Args;

use crate::campaign::run_campaign;
use crate::contenders::{DataSet, Options};
use crate::failure::Failure;
use crate::input;
use crate::ranks::Ranks;

/// Compare methods on instances: tables, raw runs, and a report as one page
#[derive(Args)]
pub(crate) struct Bench {
    /// Data sets: folders, or generate:FAMILY:COUNT:SEED (its test part)
    #[arg(value_name = "DIR", required = true)]
    data: Vec<String>,
    /// Data by which the grid is chosen, one for each data set [default: the validation part of a generated data set]
    #[arg(long, value_name = "DIR")]
    validation: Vec<String>,
    #[command(flatten)]
    options: Options,
}

impl Bench {
    pub(crate) fn run(mut self, command: String, ranks: &Ranks) -> Result<(), Failure> {
        self.options.command = command;
        let (sets, validations) = (self.data.len(), self.validation.len());
        if validations > sets {
            return Err(Failure::input(format!(
                "--validation: expected at most one for each of {sets} data sets, found {validations}"
            )));
        }
        let read = |(index, source): (usize, &String)| {
            let validation = self.validation.get(index).map(String::as_str);
            DataSet::read(&input::source_name(source), source, validation, self.options.limit)
        };
        let sets: Result<Vec<DataSet>, Failure> = self.data.iter().enumerate().map(read).collect();
        let contenders = self.options.contenders()?;
        run_campaign(ranks, &self.options, sets?, &|_| contenders.clone()).map(drop)
    }
}
