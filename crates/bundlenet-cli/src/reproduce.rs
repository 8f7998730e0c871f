//! `bundlenet reproduce`: the tables of the paper, with its figures beside ours.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use bundlenet::train::{
    DataSettings, EvolutionSettings, GradientSettings, Loss, TrainSettings, ValidationSettings, train,
};
use bundlenet::{Architecture, Attention, Model, Sampling};
use bundlenet_problems::Family;
use clap::{Args, ValueEnum};

use crate::campaign::run_campaign;
use crate::contenders::{DataSet, Options, network};
use crate::experiment::{Choice, Contender, Mean, Measurement, digits, head, rows};
use crate::failure::Failure;
use crate::output;
use crate::train::load;

/// Make the tables of the paper, on generated data or on the published data
#[derive(Args)]
pub(crate) struct Reproduce {
    #[arg(value_enum)]
    table: Table,
    /// Folder for runs, tables, report and trained models
    #[arg(long, value_name = "OUT_DIR")]
    out: PathBuf,
    /// Published data of a family instead of generated data, such as mc-sml-40=DIR; may be repeated
    #[arg(long, value_name = "FAMILY=DIR", value_parser = family_folder)]
    data: Vec<(Family, String)>,
    /// Published data by which the grid is chosen (for `sampling`: to train on), such as mc-sml-40=DIR; may be repeated
    #[arg(long, value_name = "FAMILY=DIR", value_parser = family_folder)]
    validation: Vec<(Family, String)>,
    /// Only these families [default: all six; for `sampling`, mc-sml-40]
    #[arg(long, value_name = "FAMILY,...", value_delimiter = ',')]
    families: Vec<Family>,
    /// Folder of the trained models, one for each family
    #[arg(long, value_name = "DIR", default_value = "models")]
    models: PathBuf,
    /// A small version that takes minutes: few instances, short trainings
    #[arg(long)]
    quick: bool,
    /// Instances solved at the same time; more than one makes each of them slower
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    threads: u16,
    /// The command line, for the report.
    #[arg(skip)]
    command: String,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Table {
    /// Table 1: six data sets, seven methods, four numbers of steps; beside them `auto`, `hybrid`, `component`,
    /// `aggregated` and the general model
    Main,
    /// Softmax and sparsemax, with sampling of nothing, of the step, and of the attention; trains six networks
    Sampling,
    /// Every model on every data set
    Cross,
    /// The best initial step length of each method, on the grid of the paper and on a finer one
    Grid,
}

impl Reproduce {
    pub(crate) fn run(mut self, command: String) -> Result<(), Failure> {
        self.command = command;
        let families = match (self.families.is_empty(), self.table) {
            (false, _) => self.families.clone(),
            (true, Table::Sampling) => vec![Family::McSml40],
            (true, _) => Family::PAPER.to_vec(),
        };
        let sets: Result<Vec<DataSet>, Failure> = families.iter().map(|family| self.data_set(*family)).collect();
        match self.table {
            Table::Main => self.main(&families, sets?),
            Table::Cross => self.cross(sets?),
            Table::Grid => self.grid(sets?),
            Table::Sampling => self.sampling(&families, sets?),
        }
    }

    fn main(&self, families: &[Family], sets: Vec<DataSet>) -> Result<(), Failure> {
        let names = "auto,hybrid,component,aggregated,hard,balancing,soft,constant,descent,adam";
        let options = self.options(names, &DECADES);
        let methods = options.contenders()?;
        let own = self.load_models(families)?;
        let general = network(&Model::general(), "general")?;
        run_campaign(&options, sets, &|name| {
            let special = own.iter().filter(|model| model.name == format!("network {name}"));
            special.chain([&general]).chain(&methods).cloned().collect()
        })
        .map(drop)
    }

    fn cross(&self, sets: Vec<DataSet>) -> Result<(), Failure> {
        let mut models = self.load_models(&Family::PAPER)?;
        models.push(network(&Model::general(), "general")?);
        run_campaign(&self.options("", &[]), sets, &|_| models.clone()).map(drop)
    }

    fn grid(&self, sets: Vec<DataSet>) -> Result<(), Failure> {
        let options = self.options("hard,balancing,soft,constant,descent,adam", &HALF_DECADES);
        let methods = options.contenders()?;
        let names: Vec<String> = sets.iter().map(|set| set.name.clone()).collect();
        let runs = run_campaign(&options, sets, &|_| methods.clone())?;
        grid_table(&options, &names, runs)
    }

    /// Trains six variants of the paper's network and compares them.
    fn sampling(&self, families: &[Family], sets: Vec<DataSet>) -> Result<(), Failure> {
        let attentions = [(Attention::Softmax, "softmax"), (Attention::Sparsemax, "sparsemax")];
        let samplings = [(Sampling::None, "none"), (Sampling::Step, "step"), (Sampling::Attention, "attention")];
        let mut models: Vec<(&str, Contender)> = vec![];
        for family in families {
            for (attention, attention_name) in attentions {
                for (sampling, sampling_name) in samplings {
                    let mut settings = self.variant(*family);
                    settings.name = format!("{attention_name}, sampling {sampling_name}");
                    (settings.network.attention, settings.network.sampling) = (attention, sampling);
                    let folder = self.out.join(format!("{family}-{attention_name}-{sampling_name}"));
                    output::note(&format!("training {}", folder.display()));
                    train(&settings, || load(&settings.data), &folder, true, &|_| ControlFlow::Continue(()))?;
                    let model = Arc::new(Model::load(folder.join("last.safetensors"))?);
                    models.push((family.name(), network(&model, &settings.name)?));
                }
            }
        }
        run_campaign(&self.options("", &[]), sets, &|name| {
            let own = models.iter().filter(|(family, _)| *family == name);
            own.map(|(_, contender)| contender.clone()).collect()
        })
        .map(drop)
    }

    /// The paper's recipe on the data of a family.
    fn variant(&self, family: Family) -> TrainSettings {
        let mut settings = paper_recipe();
        let own = source(&self.validation, family);
        settings.data.train = vec![own.unwrap_or_else(|| format!("generate:{family}:400:1"))];
        settings.data.validation_limit = Some(16);
        if self.quick {
            settings.network.hidden = 16;
            settings.network.decoder = 64;
            settings.gradient.updates = 100;
            settings.gradient.rate = 2e-4;
            settings.data.train_limit = Some(64);
        }
        settings
    }

    fn options(&self, methods: &str, grid: &[f64]) -> Options {
        let options = Options::new(self.out.clone(), methods, grid, self.command.clone());
        Options { threads: self.threads, ..options }
    }

    fn data_set(&self, family: Family) -> Result<DataSet, Failure> {
        let count = if self.quick { 100 } else { 500 };
        let test = source(&self.data, family).unwrap_or_else(|| format!("generate:{family}:{count}:1"));
        let validation = source(&self.validation, family);
        DataSet::read(family.name(), &test, validation.as_deref(), self.quick.then_some(10))
    }

    /// The trained model of each family that has one.
    fn load_models(&self, families: &[Family]) -> Result<Vec<Contender>, Failure> {
        let mut models = vec![];
        for family in families {
            let path = self.models.join(format!("{family}.safetensors"));
            if path.exists() {
                models.push(network(&Arc::new(Model::load(&path)?), family.name())?);
            } else {
                output::note(&format!("no model {}", path.display()));
            }
        }
        Ok(models)
    }
}

/// The paper's network and training; the file `recipes/paper.toml` has the same settings.
fn paper_recipe() -> TrainSettings {
    TrainSettings {
        name: "paper".to_string(),
        data: DataSettings { train: vec!["generate:mc-sml-40:1000:1".to_string()], ..DataSettings::default() },
        network: Architecture::paper(),
        gradient: GradientSettings {
            updates: 20_000,
            batch: 1,
            loss: Loss::Paper,
            rate: 1e-5,
            warm_up: 0,
            ..GradientSettings::default()
        },
        evolution: EvolutionSettings { generations: 0, ..EvolutionSettings::default() },
        validation: ValidationSettings { updates: 500, ..ValidationSettings::default() },
        ..TrainSettings::default()
    }
}

fn source(given: &[(Family, String)], family: Family) -> Option<String> {
    given.iter().find(|(other, _)| *other == family).map(|(_, folder)| folder.clone())
}

fn family_folder(text: &str) -> Result<(Family, String), String> {
    let (family, folder) = text.split_once('=').ok_or_else(|| format!("expected FAMILY=DIR, found {text:?}"))?;
    Ok((family.parse()?, folder.to_string()))
}

/// The grid of the paper, and a finer one.
const DECADES: [f64; 6] = [0.1, 1.0, 10.0, 100.0, 1e3, 1e4];
const HALF_DECADES: [f64; 11] = [0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 3e3, 1e4];

/// The best step length of each method and column, on both grids.
fn grid_table(options: &Options, names: &[String], mut all: Vec<Measurement>) -> Result<(), Failure> {
    all.retain(|run| run.eta0.is_some_and(|eta0| HALF_DECADES.contains(&eta0)));
    let is_decade = |run: &&Measurement| run.eta0.is_some_and(|eta0| DECADES.contains(&eta0));
    let decades: Vec<Measurement> = all.iter().filter(is_decade).cloned().collect();
    let mut text = String::from("Best initial step length on the test data, and its mean gap in percent.\n");
    for name in names {
        let titles =
            ["method", "grid"].map(str::to_string).into_iter().chain(options.steps.iter().map(usize::to_string));
        text += &format!("\n## {name}\n\n{}", head(titles));
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
    output::file(&options.out.join("grid.md"), &text)?;
    output::line(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_the_papers_recipe_has_the_same_settings() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../recipes/paper.toml");
        let recipe: TrainSettings = toml::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        assert_eq!(recipe.network, Architecture::paper());
        assert_eq!(recipe, paper_recipe());
    }
}
