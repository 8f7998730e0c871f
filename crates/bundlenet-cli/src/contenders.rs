//! The options, methods and data sets of an experiment.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bundlenet::train::{Example, limited};
use bundlenet::{Method, Model, Schema};
use bundlenet_problems::{Manifest, Split, read_examples};
use clap::Args;

use crate::experiment::{Choice, Contender, Measurement, Row, STOPPED, rows};
use crate::failure::Failure;

/// The options of every experiment.
#[derive(Args, Clone)]
pub(crate) struct Options {
    /// Folder for runs.jsonl, tables.md, table.csv and report.html; runs that it already holds are not repeated
    #[arg(long, value_name = "OUT_DIR")]
    pub(crate) out: PathBuf,
    /// Methods: auto, hybrid; network (the general model); component (bundle method with cuts of each component);
    /// aggregated, constant, soft, hard, balancing (bundle methods with cuts of the whole function); descent, adam
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', default_value = names(","))]
    pub(crate) methods: Vec<String>,
    /// Checkpoint of a network to compare; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) model: Vec<PathBuf>,
    /// Initial step lengths to try for the methods that need one
    #[arg(long, value_name = "X,...", value_delimiter = ',', default_value = "0.1,1,10,100,1000,10000")]
    pub(crate) grid: Vec<f64>,
    /// Columns of the tables: steps after which gaps are measured
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "10,25,50,100")]
    pub(crate) steps: Vec<usize>,
    /// Most instances of each data set, spread evenly over it
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Instances solved at the same time; more than one makes each of them slower
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: u16,
    /// The command line, for the report.
    #[arg(skip)]
    pub(crate) command: String,
    /// Trainings that belong to the experiment.
    #[arg(skip)]
    pub(crate) trainings: Vec<Training>,
}

/// The training of a contender.
#[derive(Clone)]
pub(crate) struct Training {
    pub(crate) data_set: String,
    /// Name of the contender.
    pub(crate) method: String,
    /// Folder with the learning curves.
    pub(crate) folder: PathBuf,
    /// Why the training stopped early, if it did. Its best weights are measured then.
    pub(crate) stopped: Option<String>,
}

/// A method of the comparison.
struct Entry {
    /// Name in `--methods` and in tables.
    name: &'static str,
    method: &'static str,
    options: &'static [(&'static str, &'static str)],
    /// Whether the method needs an initial step length.
    has_grid: bool,
}

const fn entry(name: &'static str, options: &'static [(&'static str, &'static str)], has_grid: bool) -> Entry {
    let method = if options.is_empty() { name } else { "bundle" };
    Entry { name, method, options, has_grid }
}

const WHOLE: (&str, &str) = ("cuts", "aggregated");

/// All methods. The paper compares methods with cuts of the whole function.
const ENTRIES: [Entry; 11] = [
    entry("auto", &[], false),
    entry("network", &[], false),
    entry("hybrid", &[], false),
    entry("component", &[("cuts", "component")], false),
    entry("aggregated", &[WHOLE], false),
    entry("constant", &[WHOLE, ("strategy", "constant")], true),
    entry("soft", &[WHOLE, ("strategy", "soft")], true),
    entry("hard", &[WHOLE, ("strategy", "hard")], true),
    entry("balancing", &[WHOLE, ("strategy", "balancing")], true),
    entry("descent", &[], true),
    entry("adam", &[], true),
];

fn names(separator: &str) -> String {
    ENTRIES.map(|entry| entry.name).join(separator)
}

/// A data set: instances to measure on, and instances by which the grid is chosen.
pub(crate) struct DataSet {
    pub(crate) name: String,
    pub(crate) test: Vec<Example>,
    pub(crate) validation: Vec<Example>,
}

impl DataSet {
    /// Reads the instances of two sources.
    pub(crate) fn read(
        name: &str,
        test: &str,
        validation: Option<&str>,
        limit: Option<usize>,
    ) -> Result<Self, Failure> {
        let has_parts = test.starts_with("generate:") || Path::new(test).join(Manifest::FILE).exists();
        let validation = match validation.or(has_parts.then_some(test)) {
            Some(source) => limited(read_examples(source, Split::Validation)?, limit),
            None => vec![],
        };
        let test = limited(read_examples(test, Split::Test)?, limit);
        if test.is_empty() {
            return Err(Failure::input(format!(
                "{name}: expected at least one instance (in the test part, if the data have parts), found none"
            )));
        }
        Ok(Self { name: name.to_string(), test, validation })
    }
}

impl Options {
    /// The options of an experiment with the columns of the paper; `methods` are separated by commas.
    pub(crate) fn new(out: PathBuf, methods: &str, grid: &[f64], command: String) -> Self {
        let methods = methods.split(',').map(str::to_string).collect();
        let (grid, steps) = (grid.to_vec(), vec![10, 25, 50, 100]);
        Self { out, methods, model: vec![], grid, steps, limit: None, threads: 1, command, trainings: vec![] }
    }

    /// The rows of a table, with marks where a training stopped early.
    pub(crate) fn rows<'a>(&self, all: &'a [Measurement], data_set: &str, choice: Choice) -> Vec<Row<'a>> {
        let mut rows = rows(all, data_set, &self.steps, choice);
        for training in self.trainings_of(data_set).filter(|training| training.stopped.is_some()) {
            let own = rows.iter_mut().filter(|row| row.name == training.method);
            own.for_each(|row| row.is_stopped = true);
        }
        rows
    }

    pub(crate) fn trainings_of(&self, data_set: &str) -> impl Iterator<Item = &Training> {
        self.trainings.iter().filter(move |training| training.data_set == data_set)
    }

    /// Says which trainings stopped early, and why; empty if none did.
    pub(crate) fn stopped_note(&self, data_set: &str) -> String {
        let stopped = self
            .trainings_of(data_set)
            .filter_map(|Training { method, stopped, .. }| Some(format!("- {method}: {}\n", stopped.as_ref()?)));
        let list: String = stopped.collect();
        if list.is_empty() {
            return list;
        }
        format!("\nMarked {STOPPED}: the training stopped early, and its best weights are measured.\n\n{list}")
    }

    /// The networks, and the methods, each with its grid.
    pub(crate) fn contenders(&self) -> Result<Vec<Contender>, Failure> {
        let mut contenders: Vec<Contender> = vec![];
        for file in &self.model {
            let name = file.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
            let model = Arc::new(Model::load(file)?);
            let contender = network(&model, &name)?;
            if contenders.iter().any(|other| other.name == contender.name) {
                return Err(Failure::input(format!(
                    "--model: expected files of different names, found two called {name}"
                )));
            }
            contenders.push(contender);
            contenders.extend(told_network(&model, &name, &self.steps)?);
        }
        for name in self.methods.iter().filter(|name| !name.is_empty()) {
            contenders.extend(self.variants(name)?);
        }
        Ok(contenders)
    }

    /// A method with every step length of the grid, if it needs one.
    fn variants(&self, name: &str) -> Result<Vec<Contender>, Failure> {
        let Some(entry) = ENTRIES.iter().find(|entry| entry.name == name) else {
            return Err(Failure::input(format!("--methods: expected names of {}, found {name:?}", names(", "))));
        };
        if name == "network" {
            return Ok(vec![network(&Model::general(), "general")?]);
        }
        let mut grid: Vec<Option<f64>> = self.grid.iter().copied().map(Some).collect();
        grid.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
        grid.dedup();
        let variant = |eta0: Option<f64>| {
            let fixed = entry.options.iter().map(|(option, value)| (option.to_string(), (*value).into()));
            let options = fixed.chain(eta0.map(|eta0| ("eta0".to_string(), eta0.into())));
            Ok(Contender::new(name.to_string(), eta0, Method::with_options(entry.method, options)?))
        };
        if entry.has_grid { grid.into_iter().map(variant).collect() } else { Ok(vec![variant(None)?]) }
    }
}

/// A network as a contender that is told its number of steps, once for each column; nothing if it cannot be told.
pub(crate) fn told_network(model: &Arc<Model>, name: &str, columns: &[usize]) -> Result<Vec<Contender>, Failure> {
    if model.architecture().features != Schema::Told {
        return Ok(vec![]);
    }
    let method = Method::with_options("network", [])?.with_model(Arc::clone(model))?;
    let contender = Contender::new(format!("network {name}, told"), None, method);
    Ok(columns.iter().map(|&steps| contender.clone().told(steps)).collect())
}

/// A network as a contender.
pub(crate) fn network(model: &Arc<Model>, name: &str) -> Result<Contender, Failure> {
    // One run has gaps after several numbers of steps, so the network is told none of them.
    let method =
        Method::with_options("network", [("told".to_string(), "nothing".into())])?.with_model(Arc::clone(model))?;
    Ok(Contender::new(format!("network {name}"), None, method))
}
