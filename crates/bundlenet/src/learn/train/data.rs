//! Instances to learn from.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::academic::Academic;
use crate::driver::solve;
use crate::error::{Error, EvaluationError};
use crate::observe::Silent;
use crate::oracle::{FnOracle, Oracle};
use crate::problems::{Family, Generator, Manifest, Problem, ReadOptions, Split, Stream};
use crate::settings::{Granularity, InvalidSetting, Limits, Settings, Tolerances};

/// Something that makes the oracle of an instance, each time anew: runs happen at the same time on several threads.
pub type MakeOracle = Arc<dyn Fn() -> Box<dyn Oracle + Send> + Send + Sync>;

/// An instance to learn from: of a family, or any function.
#[derive(Clone)]
pub struct Example {
    /// What it is called; unique within its data.
    pub name: String,
    /// Its oracle.
    pub oracle: MakeOracle,
    /// Where runs start; 0 without it.
    pub start: Option<Vec<f64>>,
    /// The optimal value, in the problem's sense, if it is known.
    pub optimum: Option<f64>,
}

impl fmt::Debug for Example {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Example").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Example {
    /// The dual of an instance.
    #[must_use]
    pub fn of_problem(name: &str, problem: Problem) -> Self {
        let oracle: MakeOracle = Arc::new(move || problem.dual());
        Self { name: name.to_string(), oracle, start: None, optimum: None }
    }

    /// Computes the optimum by the exact bundle method, to 1e-9 or as far as the limits let it, unless it is known.
    ///
    /// # Errors
    /// If the oracle fails at the start.
    pub fn with_optimum(mut self, limits: &Limits) -> Result<Self, Error> {
        if self.optimum.is_none() {
            let limits = limits.clone();
            // What measured times decide would not be the same twice.
            let (tolerances, cuts) = (Tolerances { gap: 1e-9 }, Granularity::Component);
            let settings = Settings { limits, tolerances, cuts, ..Settings::default() }.check()?;
            let mut oracle = (self.oracle)();
            let solution = solve(&mut *oracle, self.start.as_deref(), &settings, &mut Silent, None)
                .map_err(|source| self.failed(source))?;
            self.optimum = Some(solution.value);
        }
        Ok(self)
    }

    pub(crate) fn failed(&self, source: EvaluationError) -> Error {
        Error::Example { name: self.name.clone(), source }
    }
}

/// What a gap is relative to.
pub(crate) fn magnitude(optimum: f64) -> f64 {
    if optimum == 0.0 { 1.0 } else { optimum.abs() }
}

/// Gap of a value in percent of the optimum.
pub(crate) fn gap_percent(value: f64, optimum: f64) -> f64 {
    100.0 * (value - optimum).abs() / magnitude(optimum)
}

/// The instances that a source names: a folder, a file, `academic`, or `generate:FAMILY:COUNT:SEED` (a family or `max-affine`). Of a source that knows its parts (one that
/// was generated) only those of the given one.
///
/// # Errors
/// If they cannot be read or generated.
pub fn read_examples(source: &str, part: Split) -> Result<Vec<Example>, Error> {
    let data = read_all(std::slice::from_ref(&source.to_string()))?;
    let knows_parts = source.starts_with("generate:") || Path::new(source).join(Manifest::FILE).exists();
    let is_wanted = |grouped: &Grouped| !knows_parts || grouped.split == Some(part);
    Ok(data.into_iter().filter(is_wanted).map(|grouped| grouped.example).collect())
}

/// An instance with the number that those it shares data with have, too, and the part a manifest puts it in.
struct Grouped {
    example: Example,
    group: usize,
    split: Option<Split>,
}

/// Training and validation data.
pub(crate) struct Data {
    pub(crate) train: Vec<Example>,
    pub(crate) validation: Vec<Example>,
}

impl Data {
    /// Reads or generates what the sources name.
    pub(crate) fn load(train: &[String], validation: &[String]) -> Result<Self, Error> {
        let train_data = read_all(train)?;
        let (train, validation) = if validation.is_empty() {
            split(train_data)
        } else {
            let examples = |data: Vec<Grouped>| data.into_iter().map(|grouped| grouped.example).collect();
            // Where a source has parts of its own, what is for validation and test is not to learn from.
            let has_train = train_data.iter().any(|grouped| grouped.split == Some(Split::Train));
            let is_train = |grouped: &Grouped| !has_train || grouped.split.is_none_or(|part| part == Split::Train);
            (examples(train_data.into_iter().filter(is_train).collect()), examples(read_all(validation)?))
        };
        let found = |name, count: usize| {
            let expected = "at least one instance";
            Err(Error::Setting(InvalidSetting { name, expected, found: count.to_string() }))
        };
        match (train.len(), validation.len()) {
            (0, _) => found("data.train", 0),
            (_, 0) => found("data.validation", 0),
            _ => Ok(Self { train, validation }),
        }
    }
}

/// Sets a part aside for validation, never through a group.
fn split(data: Vec<Grouped>) -> (Vec<Example>, Vec<Example>) {
    let has = |part| data.iter().any(|grouped| grouped.split == Some(part));
    let has_validation = has(Split::Validation) && has(Split::Train);
    let groups: Vec<usize> = {
        let mut groups: Vec<usize> = data.iter().map(|grouped| grouped.group).collect();
        groups.sort_unstable();
        groups.dedup();
        groups
    };
    // Every eighth group; of fewer, the last.
    let held = groups.len().clamp(1, 8);
    let (mut train, mut validation) = (vec![], vec![]);
    for Grouped { example, group, split } in data {
        let part = if has_validation {
            split.unwrap_or(Split::Train)
        } else if groups.binary_search(&group).is_ok_and(|rank| rank % held == held - 1) {
            Split::Validation
        } else {
            Split::Train
        };
        // With a single group there is nothing to hold out: the figures are then those of the training data.
        if groups.len() == 1 {
            train.push(example.clone());
        }
        match part {
            Split::Train => train.push(example),
            Split::Validation => validation.push(example),
            Split::Test => {}
        }
    }
    (train, validation)
}

fn read_all(sources: &[String]) -> Result<Vec<Grouped>, Error> {
    let mut found: BTreeMap<String, Grouped> = BTreeMap::new();
    for source in sources {
        let read = match source.strip_prefix("generate:") {
            Some(recipe) => generate(source, recipe)?,
            None if source == ACADEMIC => academic(),
            None => read_files(Path::new(source))?,
        };
        for mut grouped in read {
            // Instances of different folders may go by the same name.
            if sources.len() > 1 {
                grouped.example.name = format!("{source}/{}", grouped.example.name);
            }
            found.insert(grouped.example.name.clone(), grouped);
        }
    }
    Ok(found.into_values().collect())
}

/// What the academic functions are called as a source.
const ACADEMIC: &str = "academic";

/// The academic functions; with so few, all are to learn from.
fn academic() -> Vec<Grouped> {
    let example = |function: Academic| Example {
        name: format!("{function:?}").to_lowercase(),
        oracle: Arc::new(move || Box::new(function)),
        start: Some(function.start()),
        optimum: Some(function.optimum()),
    };
    let grouped = |function| Grouped { example: example(function), group: 0, split: Some(Split::Train) };
    Academic::ALL.into_iter().map(grouped).collect()
}

fn generate(source: &str, recipe: &str) -> Result<Vec<Grouped>, Error> {
    let wrong = || {
        let expected = "a folder, a file, academic, or generate:FAMILY:COUNT:SEED";
        Error::Setting(InvalidSetting { name: "data", expected, found: source.to_string() })
    };
    let parts: Vec<&str> = recipe.split(':').collect();
    let [family, count, seed] = parts[..] else { return Err(wrong()) };
    if family == MAX_AFFINE {
        let (count, seed) = (count.parse().map_err(|_| wrong())?, seed.parse().map_err(|_| wrong())?);
        return Ok((0..count).map(|index| max_affine(index, seed)).collect());
    }
    let family: Family = family.parse().map_err(|_| wrong())?;
    let (count, seed): (usize, u64) = (count.parse().map_err(|_| wrong())?, seed.parse().map_err(|_| wrong())?);
    let generator = Generator::new(family, seed);
    (0..count)
        .map(|index| {
            let generated = generator.instance(index)?;
            let name = format!("{family}-{seed}/{}", generated.name);
            let split = Some(generated.split);
            Ok(Grouped { example: Example::of_problem(&name, generated.problem), group: generated.group, split })
        })
        .collect()
}

/// What the family of random functions is called.
const MAX_AFFINE: &str = "max-affine";

/// A random function `max_i a_i'x + b_i`, bounded below because its slopes average to zero, of 5 to 60 variables.
fn max_affine(index: usize, seed: u64) -> Grouped {
    let mut stream = Stream::new(seed, "max-affine", index as u64);
    let dim = 5 + stream.below(56);
    let pieces = dim + 2 + stream.below(4 * dim);
    let mut slopes: Vec<f64> = (0..pieces * dim).map(|_| stream.normal()).collect();
    for column in 0..dim {
        let mean = (0..pieces).map(|piece| slopes[piece * dim + column]).sum::<f64>() / pieces as f64;
        (0..pieces).for_each(|piece| slopes[piece * dim + column] -= mean);
    }
    let offsets: Vec<f64> = (0..pieces).map(|_| 10.0 + stream.normal()).collect();
    let reach = 10.0_f64.powf(2.0 * stream.symmetric());
    let start: Vec<f64> = (0..dim).map(|_| reach * stream.normal()).collect();
    let (slopes, offsets) = (Arc::new(slopes), Arc::new(offsets));
    let oracle: MakeOracle = Arc::new(move || {
        let (slopes, offsets) = (Arc::clone(&slopes), Arc::clone(&offsets));
        Box::new(FnOracle::new(dim, move |point: &[f64], subgradient: &mut [f64]| {
            let value = |piece: usize| {
                let slope = &slopes[piece * dim..(piece + 1) * dim];
                offsets[piece] + slope.iter().zip(point).map(|(a, x)| a * x).sum::<f64>()
            };
            let (best, greatest) = (0..offsets.len())
                .map(|piece| (piece, value(piece)))
                .fold((0, f64::NEG_INFINITY), |best, next| if next.1 > best.1 { next } else { best });
            subgradient.copy_from_slice(&slopes[best * dim..(best + 1) * dim]);
            Ok(greatest)
        }))
    });
    let name = format!("{MAX_AFFINE}-{seed}/{index}");
    let example = Example { name, oracle, start: Some(start), optimum: None };
    Grouped { example, group: index, split: Some(Split::of_group(index)) }
}

fn read_files(path: &Path) -> Result<Vec<Grouped>, Error> {
    let failed = |source| Error::Read { path: path.to_path_buf(), source };
    if !path.is_dir() {
        return Ok(vec![read_file(path, None)?]);
    }
    if path.join(Manifest::FILE).exists() {
        let manifest = Manifest::read(path)?;
        let entries = manifest.instances.into_iter();
        return entries.map(|entry| read_file(&path.join(entry.file), Some((entry.group, entry.split)))).collect();
    }
    let entries = std::fs::read_dir(path).map_err(failed)?;
    let mut files: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|p| p.is_file()).collect();
    files.sort_unstable();
    files.iter().map(|file| read_file(file, None)).collect()
}

fn read_file(path: &Path, known: Option<(usize, Split)>) -> Result<Grouped, Error> {
    let problem = Problem::read(path, ReadOptions::default())?;
    let name = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let digits = name.len() - name.trim_end_matches(|letter: char| letter.is_ascii_digit()).len();
    let number = name[name.len() - digits..].parse().ok();
    let group = known.map(|(group, _)| group).or(number).unwrap_or_else(|| name.bytes().map(usize::from).sum());
    let split = known.map(|(_, split)| split).or(number.map(Split::of_group));
    Ok(Grouped { example: Example::of_problem(&name, problem), group, split })
}

/// At most so many of them, spread over all.
#[must_use]
pub fn limited(examples: Vec<Example>, limit: Option<usize>) -> Vec<Example> {
    let count = examples.len();
    match limit {
        Some(limit) if limit < count => {
            let is_chosen = |index: usize| (index + 1) * limit / count > index * limit / count;
            examples
                .into_iter()
                .enumerate()
                .filter(|(index, _)| is_chosen(*index))
                .map(|(_, example)| example)
                .collect()
        }
        _ => examples,
    }
}
