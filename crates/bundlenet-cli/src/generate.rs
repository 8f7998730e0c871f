//! `bundlenet generate`: a data set from a seed.

use std::path::{Path, PathBuf};

use bundlenet_problems::{Family, Generator, Problem, ReadOptions, Split};
use clap::Args;

use crate::failure::Failure;
use crate::output;
use crate::run::Progress;

/// Generate a data set: a folder of instances and a manifest; the same seed gives the same data
#[derive(Args)]
pub(crate) struct Generate {
    /// mc-sml-40, mc-sml-var, mc-big-40, mc-big-var, ga-10-100, ga-20-400, ga-yagiura-c, ga-yagiura-d,
    /// ga-yagiura-e, cfl-20-50, cfl-100-1000 or uc
    #[arg(value_name = "FAMILY")]
    family: Family,
    /// Number of instances; a larger data set contains the smaller one of the same seed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: u64,
    /// Seed of all random numbers
    #[arg(long, value_name = "S")]
    seed: u64,
    /// Folder to write to
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Instance to vary: the new ones have its graph, and demands and costs (profits and weights) with its statistics;
    /// not for facility location, unit commitment and the ga-yagiura families
    #[arg(long, value_name = "FILE")]
    base: Option<PathBuf>,
    /// Number of commodities of every network design instance [default: that of the family]
    #[arg(long, value_name = "K")]
    commodities: Option<usize>,
    /// Numbers of bins and items of the ga-yagiura families [default: 20 400], or of units and periods of uc
    /// [default: 60 48]
    #[arg(long, num_args = 2, value_names = ["BINS", "ITEMS"])]
    size: Option<Vec<usize>>,
}

impl Generate {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let mut generator = Generator::new(self.family, self.seed);
        if let Some(path) = &self.base {
            let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
            if output::is_same(&self.out, folder) {
                return Err(Failure::input(format!(
                    "--out: expected a folder other than that of --base, found {}",
                    folder.display()
                )));
            }
            let base = Problem::read(path, ReadOptions::default())?;
            let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
            generator = generator.with_base(&name, base)?;
        }
        if let Some(count) = self.commodities {
            generator = generator.with_commodities(count)?;
        }
        if let Some([bins, items]) = self.size.as_deref() {
            generator = generator.with_size(*bins, *items)?;
        }
        let count = usize::try_from(self.count).unwrap_or(usize::MAX);
        let progress = Progress::begin(count, "instances");
        let manifest = generator.write(count, &self.out, |_| progress.advance())?;
        drop(progress);
        let part = |split: Split| manifest.instances.iter().filter(|entry| entry.split == split).count().to_string();
        output::table(&[
            ("family", manifest.family.to_string()),
            ("folder", self.out.display().to_string()),
            ("instances", manifest.instances.len().to_string()),
            ("train", part(Split::Train)),
            ("validation", part(Split::Validation)),
            ("test", part(Split::Test)),
        ])
    }
}
