//! A folder with one model file for each scenario, as mpi-sppy takes it.

use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;
use serde::Deserialize;

use crate::error::Error;
use crate::model::Model;
use crate::scenario::Scenario;
use crate::text;

/// The file `NAME_nonants.json` of a scenario.
#[derive(Deserialize)]
struct Tree {
    #[serde(rename = "scenarioData")]
    scenario: ScenarioData,
    #[serde(rename = "treeData")]
    tree: TreeData,
}

#[derive(Deserialize)]
struct ScenarioData {
    #[serde(rename = "scenProb")]
    probability: f64,
}

#[derive(Deserialize)]
struct TreeData {
    nodes: std::collections::BTreeMap<String, Node>,
}

#[derive(Deserialize)]
struct Node {
    #[serde(rename = "nonAnts")]
    columns: Vec<String>,
}

/// Reads the scenarios of a folder in the order of their names, and the names of the first-stage columns.
pub(crate) fn read(folder: &Path, pattern: Option<&str>) -> Result<(Vec<Scenario>, Vec<String>), Error> {
    let place = folder.display().to_string();
    let wrong = |source| Error::Read { path: place.clone(), source };
    let entries = fs::read_dir(folder).map_err(wrong)?.collect::<Result<Vec<_>, _>>().map_err(wrong)?;
    let mut files: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    files.retain(|file| ["mps", "lp"].contains(&text::extension(file).as_str()));
    files.sort();
    if files.is_empty() {
        return Err(Error::content(place, "model files .mps or .lp, one for each scenario", "none"));
    }
    let mut first_stage: Option<Vec<String>> = None;
    let mut scenarios = vec![];
    for file in &files {
        let (name, model) = (stem(file), Model::read(file)?);
        let tree = tree(&file.with_file_name(format!("{name}_nonants.json")))?;
        if let Some((_, columns)) = &tree {
            match &first_stage {
                Some(known) if known != columns => {
                    let place = format!("{place}: scenario {name}");
                    return Err(Error::content(place, "the same first-stage columns as the first scenario", "others"));
                }
                _ => first_stage = Some(columns.clone()),
            }
        }
        let probability = tree.map_or(1.0 / files.len() as f64, |(probability, _)| probability);
        scenarios.push(Scenario { name, probability, model });
    }
    let first_stage = match (pattern, first_stage) {
        (Some(pattern), _) => matching(&scenarios[0].model, pattern).map_err(|error| error.in_file(folder))?,
        (None, Some(columns)) => columns,
        (None, None) => {
            let expected = "files NAME_nonants.json, or a pattern of the first-stage columns (--first-stage)";
            return Err(Error::content(place, expected, "neither"));
        }
    };
    Ok((scenarios, first_stage))
}

/// The name of a file without extensions.
fn stem(file: &Path) -> String {
    let name = file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let name = name.strip_suffix(".gz").unwrap_or(&name).to_string();
    name.rsplit_once('.').map_or(name.clone(), |(stem, _)| stem.to_string())
}

/// Probability and first-stage columns of a scenario, if there is a file.
fn tree(path: &Path) -> Result<Option<(f64, Vec<String>)>, Error> {
    if !path.is_file() {
        return Ok(None);
    }
    let place = path.display().to_string();
    let expected = "scenarioData.scenProb and treeData.nodes.ROOT.nonAnts";
    let tree: Tree = text::json(&place, &text::text(path)?, expected)?;
    let mut nodes = tree.tree.nodes.into_values();
    match (nodes.next(), nodes.next()) {
        (Some(root), None) => Ok(Some((tree.scenario.probability, root.columns))),
        (_, second) => {
            let found = if second.is_some() { "more than two" } else { "one" };
            Err(Error::content(place, "a tree of two stages", found))
        }
    }
}

/// The columns whose names match.
fn matching(model: &Model, pattern: &str) -> Result<Vec<String>, Error> {
    let place = format!("pattern {pattern:?}");
    let regex = Regex::new(pattern)
        .map_err(|error| Error::content(place.clone(), "a regular expression", error.to_string().replace('\n', " ")))?;
    let names = model.columns.iter().map(|column| &column.name).filter(|name| regex.is_match(name));
    let names: Vec<String> = names.cloned().collect();
    if names.is_empty() { Err(Error::content(place, "the name of a column", "none that matches")) } else { Ok(names) }
}
