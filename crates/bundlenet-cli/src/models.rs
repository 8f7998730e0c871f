//! `bundlenet models` and `bundlenet model`: a list of trained networks, and the card of one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bundlenet::{Architecture, Card, Error, Model, Precision};
use clap::Args;
use serde::Serialize;

use crate::failure::Failure;
use crate::output;

/// List trained networks: the built-in general model and those of a folder
#[derive(Args)]
pub(crate) struct Models {
    /// Folder of checkpoints [default: models, if there is one]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Print one JSON array
    #[arg(long)]
    json: bool,
}

/// Show the card of a model: architecture, training data, validation gaps
#[derive(Args)]
pub(crate) struct ShowModel {
    /// Checkpoint [default: the built-in general model]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Also write the model with 16 bits for each weight instead of 32
    #[arg(long, value_name = "OUT")]
    half: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The name of the general model in place of a file.
const BUILT_IN: &str = "built in";

#[derive(Serialize)]
struct Report<'a> {
    file: String,
    /// Version of the checkpoint format.
    format: u32,
    weights: usize,
    /// Whether an exact master takes over on functions unlike those of the training.
    has_guard: bool,
    architecture: &'a Architecture,
    card: &'a Card,
}

impl<'a> Report<'a> {
    fn new(file: &Path, model: &'a Model) -> Self {
        Self {
            file: file.display().to_string(),
            format: model.format(),
            weights: model.weight_count(),
            has_guard: model.guard_rule().is_some(),
            architecture: model.architecture(),
            card: model.card(),
        }
    }

    fn guard(&self) -> &'static str {
        if self.has_guard { "guard" } else { "no guard" }
    }

    fn gaps(&self) -> String {
        let pairs = self.card.validation_steps.iter().zip(&self.card.validation_gaps);
        let texts: Vec<String> = pairs.map(|(steps, gap)| format!("{gap:.4} % after {steps}")).collect();
        if texts.is_empty() {
            return "not measured".to_string();
        }
        let sources = sources(&self.card.data).map_or(1, |(_, names, _)| names.len());
        // A mean over kinds of functions is no figure for any of them.
        let note = if sources > 1 { format!(" (means over functions of {sources} sources)") } else { String::new() };
        texts.join(", ") + &note
    }

    /// The training data. A source whose name repeats is shown once, with its count.
    fn data(&self) -> String {
        let Some((before, names, after)) = sources(&self.card.data) else { return self.card.data.clone() };
        let mut counts: Vec<(&str, usize)> = vec![];
        for name in names {
            match counts.iter_mut().find(|(other, _)| *other == name) {
                Some((_, count)) => *count += 1,
                None => counts.push((name, 1)),
            }
        }
        let shown = counts.into_iter().map(|(name, count)| match count {
            1 => name.to_string(),
            _ => format!("{count} x {name}"),
        });
        format!("{before}({}){after}", shown.collect::<Vec<String>>().join(", "))
    }
}

/// The names of the sources in a card's data, and the text around their list.
fn sources(data: &str) -> Option<(&str, Vec<&str>, &str)> {
    let (before, rest) = data.split_once('(')?;
    let (list, after) = rest.rsplit_once(')')?;
    Some((before, list.split(", ").collect(), after))
}

impl Models {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let mut models = vec![(PathBuf::from(BUILT_IN), Model::clone(&Model::general()))];
        let folder = self.folder.or_else(|| Some(PathBuf::from("models")).filter(|folder| folder.is_dir()));
        let mut files: Vec<PathBuf> = vec![];
        if let Some(folder) = folder {
            let entries = std::fs::read_dir(&folder).map_err(|source| Error::Read { path: folder, source })?;
            files.extend(entries.filter_map(|entry| Some(entry.ok()?.path())));
            files.retain(|path| path.extension().is_some_and(|extension| extension == "safetensors"));
            // The state of a training is no model.
            files.retain(|path| !path.ends_with("state.safetensors"));
            files.sort();
        }
        for file in files {
            match Model::load(&file) {
                Ok(model) => models.push((file, model)),
                // One file that is no model does not hide the others.
                Err(error) => output::note(&format!("bundlenet: {error}")),
            }
        }
        let reports: Vec<Report<'_>> = models.iter().map(|(file, model)| Report::new(file, model)).collect();
        if self.json {
            return output::json(&reports);
        }
        let rows: Vec<(&str, String)> = reports
            .iter()
            .map(|report| {
                let Report { file, format, weights, .. } = report;
                (file.as_str(), format!("{weights} weights  format {format}, {}  {}", report.guard(), report.gaps()))
            })
            .collect();
        output::table(&rows)
    }
}

impl ShowModel {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let (file, model) = match &self.file {
            Some(file) => (file.as_path(), Arc::new(Model::load(file)?)),
            None => (Path::new(BUILT_IN), Model::general()),
        };
        if let Some(out) = &self.half {
            output::check_output("--half", out, self.file.as_deref())?;
            model.save(out, Precision::Half)?;
        }
        let report = Report::new(file, &model);
        if self.json {
            return output::json(&report);
        }
        let architecture = toml::to_string(report.architecture).map_err(Failure::run)?;
        let mut rows = vec![
            ("name", report.card.name.clone()),
            ("weights", report.weights.to_string()),
            ("format", report.format.to_string()),
            ("guard", if report.has_guard { "yes" } else { "no" }.to_string()),
            ("data", report.data()),
            ("trained", format!("{} updates, {} generations", report.card.updates, report.card.generations)),
            ("version", report.card.version.clone()),
            ("validation", report.gaps()),
        ];
        for line in architecture.lines() {
            if let Some((name, value)) = line.split_once(" = ") {
                rows.push((name, value.trim_matches('"').to_string()));
            }
        }
        output::table(&rows)
    }
}
