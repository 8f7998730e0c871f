//! `bundlenet reproduce`: the tables of the paper, with its figures beside ours.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bundlenet::train::{
    DataSettings, EvolutionSettings, Finished, GradientSettings, Loss, Schedule, TrainSettings, ValidationSettings,
};
use bundlenet::{Architecture, Attention, Error, Model, Sampling};
use bundlenet_problems::Family;
use clap::{Args, ValueEnum};

use crate::campaign::run_campaign;
use crate::contenders::{DataSet, Options, Training, network, told_network};
use crate::experiment::{Choice, Contender, Mean, Measurement, STOPPED, digits, head, proof_note, rows};
use crate::failure::Failure;
use crate::ranks::Ranks;
use crate::run::use_threads;
use crate::seeds::{Spread, folder_of, share_optima};
use crate::train::{Show, train_shown};
use crate::{output, paper};

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
    /// Trainings of each variant for `sampling`, with different seeds
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=100))]
    seeds: u64,
    /// Updates of each training for `sampling` [default: 25000 as in the paper, 4000 with --quick]
    #[arg(long, value_name = "N")]
    updates: Option<usize>,
    /// Folder of the trained models, one for each family: that of the repository, for `main` and `cross`
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
    pub(crate) fn run(mut self, command: String, ranks: &Ranks) -> Result<(), Failure> {
        self.command = command;
        let families = match (self.families.is_empty(), self.table) {
            (false, _) => self.families.clone(),
            (true, Table::Sampling) => vec![Family::McSml40],
            (true, _) => Family::PAPER.to_vec(),
        };
        match self.table {
            Table::Main => self.check_models(&families)?,
            Table::Cross => self.check_models(&Family::PAPER)?,
            Table::Grid | Table::Sampling => {}
        }
        let sets: Result<Vec<DataSet>, Failure> = families.iter().map(|family| self.data_set(*family)).collect();
        match self.table {
            Table::Main => self.main(ranks, &families, sets?),
            Table::Cross => self.cross(ranks, sets?),
            Table::Grid => self.grid(ranks, sets?),
            Table::Sampling => self.sampling(ranks, &families, sets?),
        }
    }

    fn main(&self, ranks: &Ranks, families: &[Family], sets: Vec<DataSet>) -> Result<(), Failure> {
        let names = "auto,hybrid,component,aggregated,hard,balancing,soft,constant,descent,adam";
        let options = self.options(names, &DECADES);
        let methods = options.contenders()?;
        let own = self.load_models(families, &options.steps)?;
        let general = network(&Model::general(), "general")?;
        run_campaign(ranks, &options, sets, &|name| {
            let special = own.iter().filter(|(family, _)| *family == name).map(|(_, contender)| contender);
            special.chain([&general]).chain(&methods).cloned().collect()
        })
        .map(drop)
    }

    fn cross(&self, ranks: &Ranks, sets: Vec<DataSet>) -> Result<(), Failure> {
        let own = self.load_models(&Family::PAPER, &[])?;
        let mut models: Vec<Contender> = own.into_iter().map(|(_, contender)| contender).collect();
        models.push(network(&Model::general(), "general")?);
        run_campaign(ranks, &self.options("", &[]), sets, &|_| models.clone()).map(drop)
    }

    fn grid(&self, ranks: &Ranks, sets: Vec<DataSet>) -> Result<(), Failure> {
        let options = self.options("hard,balancing,soft,constant,descent,adam", &HALF_DECADES);
        let methods = options.contenders()?;
        let names: Vec<String> = sets.iter().map(|set| set.name.clone()).collect();
        let runs = run_campaign(ranks, &options, sets, &|_| methods.clone())?;
        grid_table(&options, &names, runs)
    }

    /// Trains six variants of the paper's network, with each seed, and compares them.
    fn sampling(&self, ranks: &Ranks, families: &[Family], sets: Vec<DataSet>) -> Result<(), Failure> {
        use_threads(ranks, None)?;
        let (mut models, mut options): (Vec<(&str, Contender)>, _) = (vec![], self.options("", &[]));
        for family in families {
            let mut before = None;
            for variant in VARIANTS {
                for seed in 1..=self.seeds {
                    let settings = self.recipe(*family, variant, seed);
                    let folder = folder_of(
                        &self.out.join(format!("{family}-{}", settings.name.replace(", sampling ", "-"))),
                        seed,
                    );
                    let name =
                        if self.seeds > 1 { format!("{}, seed {seed}", settings.name) } else { settings.name.clone() };
                    let (model, stopped) = trained(ranks, &settings, &folder, before.as_deref())?;
                    let contender = network(&model, &name)?;
                    let (data_set, method) = (family.name().to_string(), contender.name.clone());
                    models.push((family.name(), contender));
                    before = Some(folder.clone());
                    options.trainings.push(Training { data_set, method, folder, stopped });
                }
            }
        }
        let names: Vec<String> = sets.iter().map(|set| set.name.clone()).collect();
        let runs = run_campaign(ranks, &options, sets, &|name| {
            let own = models.iter().filter(|(family, _)| *family == name);
            own.map(|(_, contender)| contender.clone()).collect()
        })?;
        if self.seeds > 1 { spread_table(&options, &names, &runs) } else { Ok(()) }
    }

    /// The paper's recipe on the data of a family. A quick one has a small network, a larger rate and fewer updates.
    fn recipe(&self, family: Family, (attention, sampling, name): Variant, seed: u64) -> TrainSettings {
        let mut settings = paper_recipe();
        (settings.name, settings.seed) = (name.to_string(), seed);
        (settings.network.attention, settings.network.sampling) = (attention, sampling);
        let own = source(&self.validation, family);
        settings.data.train =
            vec![own.unwrap_or_else(|| {
                format!("generate:{family}:{}:1", if self.quick { QUICK_COUNT } else { PAPER_COUNT })
            })];
        settings.data.validation_limit = Some(16);
        if self.quick {
            settings.network.hidden = 16;
            settings.network.decoder = 64;
            settings.gradient.updates = QUICK_UPDATES;
            settings.gradient.rate = QUICK_RATE;
            settings.gradient.schedule = Schedule::Cosine;
            settings.data.train_limit = Some(64);
        }
        settings.gradient.updates = self.updates.unwrap_or(settings.gradient.updates);
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

    /// An error if there is no trained model for a family of the paper.
    fn check_models(&self, families: &[Family]) -> Result<(), Failure> {
        let path = |family: &Family| self.models.join(format!("{family}.safetensors"));
        let paths = families.iter().filter(|family| Family::PAPER.contains(family)).map(path);
        match paths.into_iter().find(|path| !path.exists()) {
            None => Ok(()),
            Some(path) => Err(Failure::input(format!(
                "--models: expected a folder with a model for each family, such as the folder `models` of the \
                 repository, found no file {}",
                path.display()
            ))),
        }
    }

    /// The trained model of each family that has one. It is also there told its number of steps, of each of the columns.
    fn load_models(&self, families: &[Family], columns: &[usize]) -> Result<Vec<(&'static str, Contender)>, Failure> {
        let mut models = vec![];
        for family in families {
            let path = self.models.join(format!("{family}.safetensors"));
            if path.exists() {
                let (model, name) = (Arc::new(Model::load(&path)?), family.name());
                let own = [network(&model, name)?].into_iter().chain(told_network(&model, name, columns)?);
                models.extend(own.map(|contender| (name, contender)));
            } else {
                output::note(&format!("no model {}", path.display()));
            }
        }
        Ok(models)
    }
}

/// A variant of the paper's network, under the name that the paper's figures have.
type Variant = (Attention, Sampling, &'static str);

const VARIANTS: [Variant; 6] = [
    (Attention::Softmax, Sampling::None, "softmax, sampling none"),
    (Attention::Softmax, Sampling::Step, "softmax, sampling step"),
    (Attention::Softmax, Sampling::Attention, "softmax, sampling attention"),
    (Attention::Sparsemax, Sampling::None, "sparsemax, sampling none"),
    (Attention::Sparsemax, Sampling::Step, "sparsemax, sampling step"),
    (Attention::Sparsemax, Sampling::Attention, "sparsemax, sampling attention"),
];

/// Instances of which three fifths, the part for training, are the 1000 of the paper.
const PAPER_COUNT: usize = 1667;

/// A decoder of 64 units needs a rate 16 times that of 1024 units to lengthen its steps as fast, and a sixth of the
/// updates another factor of 6. With more updates the network shortens its steps, for the sake of the first ten.
const QUICK_COUNT: usize = 120;
const QUICK_UPDATES: usize = 4000;
const QUICK_RATE: f64 = 1e-3;

/// Trains, or continues a training. Gives its last model; or its best one, and why it stopped early, if it did.
/// `before` is a training on the same data.
fn trained(
    ranks: &Ranks,
    settings: &TrainSettings,
    folder: &Path,
    before: Option<&Path>,
) -> Result<(Arc<Model>, Option<String>), Failure> {
    check_updates(settings, folder)?;
    if let Some(before) = before {
        share_optima(before, folder)?;
    }
    output::note(&format!("training {}", folder.display()));
    let show = Show { ranks, is_resumed: true, is_quiet: false, is_over: &|| false };
    let (name, stopped) = match train_shown(settings, folder, &show) {
        Ok(Finished::Completely) => ("last.safetensors", None),
        Ok(Finished::Interrupted) => return Err(Failure::run("interrupted; the same command continues")),
        Err(Failure::Stopped(reason)) => ("best.safetensors", Some(reason)),
        Err(failure) => return Err(failure),
    };
    if let Some(reason) = &stopped {
        output::note(reason);
    }
    Ok((Arc::new(Model::load(folder.join(name))?), stopped))
}

/// Refuses a folder whose training has another number of updates, unless more updates continue the same training.
fn check_updates(settings: &TrainSettings, folder: &Path) -> Result<(), Failure> {
    let path = folder.join("config.toml");
    if !path.exists() {
        return Ok(());
    }
    let text = std::fs::read_to_string(&path).map_err(|source| Error::Read { path: path.clone(), source })?;
    let wrong = |error| Failure::input(format!("{}: {error}", path.display()));
    let stored = toml::from_str::<TrainSettings>(&text).map_err(wrong)?.gradient.updates;
    let wanted = settings.gradient.updates;
    // The rates of a cosine depend on the number of all updates.
    let is_longer = wanted > stored && settings.gradient.schedule != Schedule::Cosine;
    if wanted == stored || is_longer {
        return Ok(());
    }
    Err(Failure::input(format!(
        "{}: expected a training of {wanted} updates, found one of {stored}; give --updates {stored} or another --out",
        folder.display()
    )))
}

/// The paper's network and training; the file `recipes/paper.toml` has the same settings.
fn paper_recipe() -> TrainSettings {
    TrainSettings {
        name: "paper".to_string(),
        data: DataSettings { train: vec![format!("generate:mc-sml-40:{PAPER_COUNT}:1")], ..DataSettings::default() },
        network: Architecture::paper(),
        gradient: GradientSettings {
            updates: 25_000,
            batch: 1,
            loss: Loss::Paper,
            rate: 1e-5,
            warm_up: 0,
            decay_epochs: 20,
            ..GradientSettings::default()
        },
        evolution: EvolutionSettings { generations: 0, ..EvolutionSettings::default() },
        validation: ValidationSettings { updates: 1000, ..ValidationSettings::default() },
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

/// The best step length of each method and column, on both grids, beside that of the paper.
fn grid_table(options: &Options, names: &[String], mut all: Vec<Measurement>) -> Result<(), Failure> {
    all.retain(|run| run.eta0.is_some_and(|eta0| HALF_DECADES.contains(&eta0)));
    let is_decade = |run: &&Measurement| run.eta0.is_some_and(|eta0| DECADES.contains(&eta0));
    let decades: Vec<Measurement> = all.iter().filter(is_decade).cloned().collect();
    let mut text = String::from(
        "Best initial step length on the test data, and its mean gap in percent. In brackets: both in the paper, which \
         has the grid of decades.\n",
    );
    let (mut same, mut total) = (0, 0);
    for name in names {
        text += &format!("\n## {name}\n\n{}", table_head(&["method", "grid"], &options.steps));
        for (runs, grid) in [(&decades, "decades"), (&all, "half-decades")] {
            for row in rows(runs, name, &options.steps, Choice::Test) {
                let method = row.name.split(',').next().unwrap_or(&row.name);
                text += &format!("| {method} | {grid} |");
                for (column, &steps) in options.steps.iter().enumerate() {
                    let eta0 = row.columns[column].first().and_then(|run| run.eta0).unwrap_or(f64::NAN);
                    let gap = digits(Mean::of(&row.gaps(column, steps)).mean, 3);
                    text += &format!(" {eta0}: {gap}{}", row.mark(column));
                    let theirs = paper::eta0(name, method, steps).zip(paper::gap(name, method, steps));
                    if let Some((their_eta0, their_gap)) = theirs.filter(|_| grid == "decades") {
                        text += &format!(" ({their_eta0}: {their_gap})");
                        total += 1;
                        same += usize::from(their_eta0 == eta0);
                    }
                    text += " |";
                }
                text += "\n";
            }
        }
        text += &proof_note(&rows(&all, name, &options.steps, Choice::Test));
    }
    if total > 0 {
        text += &format!("\nThe best step length on decades is that of the paper in {same} of {total} cells.\n");
    }
    output::file(&options.out.join("grid.md"), &text)?;
    output::line(&text)
}

fn table_head(first: &[&str], steps: &[usize]) -> String {
    head(first.iter().map(ToString::to_string).chain(steps.iter().map(usize::to_string)))
}

/// Mean gap of each variant over its seeds, and the standard deviation of a training.
fn spread_table(options: &Options, names: &[String], all: &[Measurement]) -> Result<(), Failure> {
    let mut text = String::from(
        "Mean gap in percent over the trainings of a variant ± standard deviation of a training. In brackets: the \
         figure of the paper.\n",
    );
    for name in names {
        text += &format!("\n## {name}\n\n{}", table_head(&["variant"], &options.steps));
        let rows = options.rows(all, name, Choice::Test);
        for (_, _, variant) in VARIANTS {
            let own = format!("network {variant}");
            let seeds: Vec<_> = rows.iter().filter(|row| row.name.starts_with(&format!("{own}, seed "))).collect();
            let stopped = if seeds.iter().any(|row| row.is_stopped) { STOPPED } else { "" };
            text += &format!("| {variant}{stopped} |");
            for (column, &steps) in options.steps.iter().enumerate() {
                let means: Vec<f64> = seeds.iter().map(|row| Mean::of(&row.gaps(column, steps)).mean).collect();
                let mark = seeds.iter().map(|row| row.mark(column)).max().unwrap_or_default();
                text += &format!(" {}", Spread::of(&means).cell(mark));
                text += &paper::gap(name, &own, steps).map_or_else(String::new, |gap| format!(" ({gap})"));
                text += " |";
            }
            text += "\n";
        }
        text += &proof_note(&rows);
        text += &options.stopped_note(name);
    }
    output::file(&options.out.join("seeds.md"), &text)?;
    output::line(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small training whose network collapses.
    fn collapsing() -> TrainSettings {
        let mut settings = TrainSettings::default();
        settings.data.train = vec!["generate:ga-10-100:16:5".to_string()];
        (settings.network.hidden, settings.network.decoder) = (4, 6);
        settings.gradient =
            GradientSettings { updates: 8, batch: 4, horizon: 6, rate: 3.0, ..GradientSettings::default() };
        settings.evolution.generations = 0;
        (settings.validation.steps, settings.validation.updates) = (vec![5, 10], 2);
        settings
    }

    #[test]
    fn a_collapsed_training_is_a_row_with_a_mark() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        let mut tables = vec![];
        for _ in 0..2 {
            let (model, stopped) =
                trained(&Ranks::start(), &collapsing(), &out.join("training"), None).unwrap_or_else(end);
            assert!(stopped.as_ref().is_some_and(|reason| reason.contains("the network has collapsed")));
            assert_eq!(model.card().updates, 0);
            let mut options = Options::new(out.clone(), "", &[], String::new());
            let contender = network(&model, VARIANTS[0].2).unwrap_or_else(end);
            options.trainings.push(Training {
                data_set: "ga-10-100".to_string(),
                method: contender.name.clone(),
                folder: out.join("training"),
                stopped,
            });
            let set = DataSet::read("ga-10-100", "generate:ga-10-100:5:1", None, Some(1)).unwrap_or_else(end);
            run_campaign(&Ranks::start(), &options, vec![set], &|_| vec![contender.clone()]).unwrap_or_else(end);
            tables.push(std::fs::read_to_string(out.join("tables.md")).unwrap());
        }
        assert!(tables[0].contains("| network softmax, sampling none† |"), "{}", tables[0]);
        assert!(tables[0].contains("- network softmax, sampling none: training stopped after"), "{}", tables[0]);
        assert_eq!(tables[0], tables[1]);
    }

    fn end<T>(failure: Failure) -> T {
        panic!("{failure}")
    }

    fn measured(method: &str, eta0: Option<f64>, is_proved: bool) -> Measurement {
        Measurement {
            data_set: "mine".to_string(),
            is_validation: false,
            instance: "a".to_string(),
            fingerprint: String::new(),
            method: method.to_string(),
            eta0,
            told: None,
            model: None,
            steps: 100,
            optimum: 100.0,
            is_proved,
            estimate: Some(1e-5),
            best: vec![0.0, 90.0],
            seconds: vec![0.0; 2],
            oracle_seconds: 0.0,
            master_seconds: 0.0,
            network_seconds: 0.0,
        }
    }

    #[test]
    fn gaps_to_optima_without_proof_are_marked_in_every_table() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options::new(folder.path().to_path_buf(), "", &[], String::new());
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        for (is_proved, mark) in [(true, ""), (false, "*")] {
            let grid = [1.0, 10.0].map(|eta0| measured("constant", Some(eta0), is_proved)).to_vec();
            grid_table(&options, &["mine".to_string()], grid).unwrap_or_else(end);
            assert!(
                read("grid.md").contains(&format!("| constant | decades | 1: 10.0{mark} |")),
                "{}",
                read("grid.md")
            );
            let seeds =
                [1, 2].map(|seed| measured(&format!("network {}, seed {seed}", VARIANTS[0].2), None, is_proved));
            spread_table(&options, &["mine".to_string()], &seeds).unwrap_or_else(end);
            let row = format!("| softmax, sampling none | 10.0{mark} ±0 |");
            assert!(read("seeds.md").contains(&row), "{}", read("seeds.md"));
            for name in ["grid.md", "seeds.md"] {
                assert_eq!(read(name).contains("not proved to 1e-9, marked *: 1 of 1"), !is_proved, "{}", read(name));
            }
        }
    }

    #[test]
    fn the_file_of_the_papers_recipe_has_the_same_settings() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../recipes/paper.toml");
        let recipe: TrainSettings = toml::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        assert_eq!(recipe.network, Architecture::paper());
        assert_eq!(recipe, paper_recipe());
    }
}
