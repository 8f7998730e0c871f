//! `bundlenet reproduce`: the paper's tables, with its figures beside ours.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use bundlenet::experiment::{Choice, Contender, Mean, Measurement, digits, rows};
use bundlenet::learn::train::{TrainSettings, train};
use bundlenet::learn::{Attention, Sampling};
use bundlenet::{Error, Family, Model};
use clap::{Args, ValueEnum};

use crate::bench::{DataSet, Options, experiment, network, read_runs};
use crate::failure::Failure;
use crate::output;

/// Make the paper's tables: out of the box on generated data, or on the published ones
#[derive(Args)]
pub(crate) struct Reproduce {
    #[arg(value_enum)]
    table: Table,
    /// Folder for everything that comes of it
    #[arg(long, value_name = "OUT_DIR")]
    out: PathBuf,
    /// Published data of a family instead of generated ones, such as mc-sml-40=DIR; may be repeated
    #[arg(long, value_name = "FAMILY=DIR", value_parser = family_folder)]
    data: Vec<(Family, String)>,
    /// The same to choose the grid by (and to train on, for `sampling`)
    #[arg(long, value_name = "FAMILY=DIR", value_parser = family_folder)]
    validation: Vec<(Family, String)>,
    /// Only these families [default: all six; for `sampling`, mc-sml-40]
    #[arg(long, value_name = "FAMILY,...", value_delimiter = ',')]
    families: Vec<Family>,
    /// Folder of the trained models
    #[arg(long, value_name = "DIR", default_value = "models")]
    models: PathBuf,
    /// A small version that takes minutes: few instances, short trainings
    #[arg(long)]
    quick: bool,
    /// Instances solved at the same time; more than one makes the times of each longer
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    threads: u16,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Table {
    /// Table 1: six data sets, seven methods, four step counts; `auto`, `hybrid`, `component`, `aggregated` and the general model beside them
    Main,
    /// Softmax and sparsemax, with sampling of nothing, the step, and the attention too; trains six networks
    Sampling,
    /// Every model on every data set
    Cross,
    /// The best initial step length of each method: the paper's decades, and half-decades beside them
    Grid,
}

impl Reproduce {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let families = match (self.families.is_empty(), self.table) {
            (false, _) => self.families.clone(),
            (true, Table::Sampling) => vec![Family::McSml40],
            (true, _) => Family::ALL.to_vec(),
        };
        let sets: Result<Vec<DataSet>, Failure> = families.iter().map(|family| self.data_set(*family)).collect();
        let sets = sets?;
        match self.table {
            Table::Main => {
                let options = self
                    .options("auto,hybrid,component,aggregated,hard,balancing,soft,constant,descent,adam", &DECADES);
                let methods = options.contenders()?;
                let own = self.load_models(&families)?;
                experiment(&options, sets, &|name| {
                    let special = own.iter().filter(|(model, _)| model == name);
                    let special = special.map(|(name, model)| network(model, name));
                    special.chain([network(&Model::general(), "general")]).chain(methods.clone()).collect()
                })
            }
            Table::Cross => {
                let options = self.options("", &[]);
                let own = self.load_models(&Family::ALL)?;
                let mut models: Vec<Contender> = own.iter().map(|(name, model)| network(model, name)).collect();
                models.push(network(&Model::general(), "general"));
                experiment(&options, sets, &|_| models.clone())
            }
            Table::Grid => {
                let options = self.options("hard,balancing,soft,constant,descent,adam", &HALF_DECADES);
                let methods = options.contenders()?;
                let names: Vec<String> = sets.iter().map(|set| set.name.clone()).collect();
                experiment(&options, sets, &|_| methods.clone())?;
                grid_table(&options, &names)
            }
            Table::Sampling => self.sampling(&families, sets),
        }
    }

    fn options(&self, methods: &str, grid: &[f64]) -> Options {
        Options {
            out: self.out.clone(),
            methods: methods.split(',').filter(|name| !name.is_empty()).map(str::to_string).collect(),
            model: vec![],
            grid: grid.to_vec(),
            steps: vec![10, 25, 50, 100],
            limit: self.quick.then_some(10),
            threads: self.threads,
        }
    }

    fn data_set(&self, family: Family) -> Result<DataSet, Failure> {
        let count = if self.quick { 100 } else { 500 };
        let generated = format!("generate:{family}:{count}:1");
        let test = source(&self.data, family).unwrap_or(generated);
        let validation = source(&self.validation, family);
        let limit = self.quick.then_some(10);
        DataSet::read(family.name(), &test, validation.as_deref(), limit)
    }

    /// The trained model of each family that has one.
    fn load_models(&self, families: &[Family]) -> Result<Vec<(String, Model)>, Failure> {
        let mut models = vec![];
        for family in families {
            let path = self.models.join(format!("{family}.safetensors"));
            if path.exists() {
                models.push((family.name().to_string(), Model::load(&path)?));
            } else {
                output::note(&format!("no model {}", path.display()));
            }
        }
        Ok(models)
    }

    /// Trains the six variants by the paper's recipe and compares them.
    fn sampling(&self, families: &[Family], sets: Vec<DataSet>) -> Result<(), Failure> {
        let mut models: Vec<(String, String, Model)> = vec![];
        for family in families {
            for (attention, attention_name) in [(Attention::Softmax, "softmax"), (Attention::Sparsemax, "sparsemax")] {
                for (sampling, name) in
                    [(Sampling::None, "none"), (Sampling::Step, "step"), (Sampling::Attention, "attention")]
                {
                    let mut settings: TrainSettings = toml::from_str(include_str!("../../../recipes/paper.toml"))
                        .map_err(|error| Failure::Run(error.into()))?;
                    settings.name = format!("{attention_name}, sampling {name}");
                    settings.network.attention = attention;
                    settings.network.sampling = sampling;
                    let own = source(&self.validation, *family);
                    settings.data.train = vec![own.unwrap_or_else(|| format!("generate:{family}:400:1"))];
                    settings.data.validation_limit = Some(16);
                    if self.quick {
                        settings.network.hidden = 16;
                        settings.network.decoder = 64;
                        settings.gradient.updates = 100;
                        settings.gradient.rate = 2e-4;
                        settings.data.train_limit = Some(64);
                    }
                    let folder = self.out.join(format!("{family}-{attention_name}-{name}"));
                    output::note(&format!("training {}", folder.display()));
                    train(&settings, &folder, true, &|_| ControlFlow::Continue(()))?;
                    let model = Model::load(folder.join("last.safetensors"))?;
                    models.push((family.name().to_string(), settings.name.clone(), model));
                }
            }
        }
        let options = self.options("", &[]);
        experiment(&options, sets, &|name| {
            let own = models.iter().filter(|(family, ..)| family == name);
            own.map(|(_, variant, model)| network(model, variant)).collect()
        })
    }
}

fn source(given: &[(Family, String)], family: Family) -> Option<String> {
    given.iter().find(|(other, _)| *other == family).map(|(_, folder)| folder.clone())
}

fn family_folder(text: &str) -> Result<(Family, String), String> {
    let (family, folder) = text.split_once('=').ok_or_else(|| format!("expected FAMILY=DIR, found {text:?}"))?;
    Ok((family.parse()?, folder.to_string()))
}

/// The paper's grid, and ours.
const DECADES: [f64; 6] = [0.1, 1.0, 10.0, 100.0, 1e3, 1e4];
const HALF_DECADES: [f64; 11] = [0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 3e3, 1e4];

/// Which step length was best where, over decades and over half-decades.
fn grid_table(options: &Options, names: &[String]) -> Result<(), Failure> {
    let mut all = read_runs(&options.out.join("runs.jsonl"))?;
    all.retain(|run| run.eta0.is_some_and(|eta0| HALF_DECADES.contains(&eta0)));
    let is_decade = |run: &Measurement| run.eta0.is_none_or(|eta0| DECADES.contains(&eta0));
    let decades: Vec<Measurement> = all.iter().filter(|run| is_decade(run)).cloned().collect();
    let mut text = String::from("Best initial step length on the test data, and its mean gap in percent.\n");
    for name in names {
        text += &format!("\n## {name}\n\n| method | grid |");
        options.steps.iter().for_each(|steps| text += &format!(" {steps} |"));
        text += "\n|---|---|";
        options.steps.iter().for_each(|_| text += "---|");
        text += "\n";
        for (runs, grid) in [(&decades, "decades"), (&all, "half-decades")] {
            for row in rows(runs, name, &options.steps, Choice::Test) {
                let method = row.name.split(',').next().unwrap_or(&row.name);
                text += &format!("| {method} | {grid} |");
                for (column, &steps) in options.steps.iter().enumerate() {
                    let eta0 = row.columns[column].first().and_then(|run| run.eta0).unwrap_or(f64::NAN);
                    text += &format!(" {eta0}: {} |", digits(Mean::of(&row.gaps(column, steps)).mean, 3));
                }
                text += "\n";
            }
        }
    }
    let path = options.out.join("grid.md");
    write(&path, &text)?;
    output::line(&text)
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    Ok(std::fs::write(path, text).map_err(|source| Error::Write { path: path.to_path_buf(), source })?)
}
