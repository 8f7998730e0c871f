//! Examples for training and measuring: instances of files, folders and generators, and test functions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bundlenet::FnOracle;
use bundlenet::train::{DataSettings, Example, MakeOracle, limited};
use bundlenet_linalg::sparse::{pairs, sparse_dot};
use bundlenet_linalg::{SparseRows, Stream};

use crate::{Academic, Error, Family, Generator, Manifest, Problem, ReadOptions, Split};

/// The dual of an instance as an example.
#[must_use]
pub fn example_of(name: &str, problem: Problem) -> Example {
    let oracle: MakeOracle = Arc::new(move || problem.dual());
    Example { name: name.to_string(), oracle, start: None, optimum: None }
}

/// The instances of a source: a folder, a file, `academic`, or `generate:FAMILY:COUNT:SEED`, where the family may
/// also be `max-affine`. If the source is a generated data set, only the instances of the given part.
///
/// # Errors
/// If they cannot be read or generated.
pub fn read_examples(source: &str, part: Split) -> Result<Vec<Example>, Error> {
    let data = read_all(std::slice::from_ref(&source.to_string()), Some(part))?;
    let knows_parts = source.starts_with("generate:") || Path::new(source).join(Manifest::FILE).exists();
    let is_wanted = |grouped: &Grouped| !knows_parts || grouped.split == Some(part);
    Ok(data.into_iter().filter(is_wanted).map(|grouped| grouped.example).collect())
}

/// An instance, the group of instances that it shares data with, and its part in the manifest.
struct Grouped {
    example: Example,
    group: usize,
    split: Option<Split>,
}

/// Training and validation data.
#[derive(Clone, Debug)]
pub struct TrainingData {
    /// Examples for training.
    pub train: Vec<Example>,
    /// Examples for validation.
    pub validation: Vec<Example>,
}

impl TrainingData {
    /// Reads or generates the data that the settings of a training name, up to their limits.
    ///
    /// # Errors
    /// If they cannot be read or generated, or if there are none.
    pub fn load(settings: &DataSettings) -> Result<Self, Error> {
        let Self { train, validation } = Self::load_all(&settings.train, &settings.validation)?;
        let train = limited(train, settings.train_limit);
        Ok(Self { train, validation: limited(validation, settings.validation_limit) })
    }

    fn load_all(train: &[String], validation: &[String]) -> Result<Self, Error> {
        let train_data = read_all(train, None)?;
        let (train, validation) = if validation.is_empty() {
            split(train_data)
        } else {
            let examples = |data: Vec<Grouped>| data.into_iter().map(|grouped| grouped.example).collect();
            // If a source has parts, its validation and test instances are not used for training.
            let has_train = train_data.iter().any(|grouped| grouped.split == Some(Split::Train));
            let is_train = |grouped: &Grouped| !has_train || grouped.split.is_none_or(|part| part == Split::Train);
            (examples(train_data.into_iter().filter(is_train).collect()), examples(read_all(validation, None)?))
        };
        match (train.len(), validation.len()) {
            (0, _) => Err(Error::NoExamples { part: "train" }),
            (_, 0) => Err(Error::NoExamples { part: "validation" }),
            _ => Ok(Self { train, validation }),
        }
    }
}

/// Sets instances aside for validation. A group is never divided.
fn split(data: Vec<Grouped>) -> (Vec<Example>, Vec<Example>) {
    let has = |part| data.iter().any(|grouped| grouped.split == Some(part));
    let has_validation = has(Split::Validation) && has(Split::Train);
    let groups: Vec<usize> = {
        let mut groups: Vec<usize> = data.iter().map(|grouped| grouped.group).collect();
        groups.sort_unstable();
        groups.dedup();
        groups
    };
    // Every eighth group; the last one if there are fewer.
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
        // A single group is used for both training and validation.
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

/// Reads or generates all instances. If a part is wanted, those that are known to be in another one may be left out.
fn read_all(sources: &[String], part: Option<Split>) -> Result<Vec<Grouped>, Error> {
    let mut found: BTreeMap<String, Grouped> = BTreeMap::new();
    for source in sources {
        let read = match source.strip_prefix("generate:") {
            Some(recipe) => generate(source, recipe, part)?,
            None if source == ACADEMIC => academic(),
            None => read_files(Path::new(source), part)?,
        };
        for mut grouped in read {
            // Instances of different folders may have the same name.
            if sources.len() > 1 {
                grouped.example.name = format!("{source}/{}", grouped.example.name);
            }
            found.insert(grouped.example.name.clone(), grouped);
        }
    }
    Ok(found.into_values().collect())
}

/// Name of the academic functions as a source.
const ACADEMIC: &str = "academic";

/// The academic functions for training. The others stay foreign to every network.
const TRAINING: [Academic; 5] = [Academic::Maxquad, Academic::Shor, Academic::Cb2, Academic::Goffin, Academic::Mxhilb];

/// The academic functions. They are few, so none is held back for validation.
fn academic() -> Vec<Grouped> {
    let example = |function: Academic| Example {
        name: format!("{function:?}").to_lowercase(),
        oracle: Arc::new(move || Box::new(function)),
        start: Some(function.start()),
        optimum: Some(function.optimum()),
    };
    let grouped = |function| Grouped { example: example(function), group: 0, split: Some(Split::Train) };
    TRAINING.into_iter().map(grouped).collect()
}

fn generate(source: &str, recipe: &str, part: Option<Split>) -> Result<Vec<Grouped>, Error> {
    let wrong = || Error::Source { source_name: source.to_string() };
    let parts: Vec<&str> = recipe.split(':').collect();
    let [family, count, seed] = parts[..] else { return Err(wrong()) };
    let (count, seed): (usize, u64) = (count.parse().map_err(|_| wrong())?, seed.parse().map_err(|_| wrong())?);
    match family {
        MAX_AFFINE => return Ok((0..count).map(|index| max_affine(index, seed)).collect()),
        SUM_OF_MAXIMA => return Ok((0..count).map(|index| sum_of_maxima(index, seed)).collect()),
        _ => {}
    }
    let family: Family = family.parse().map_err(|_| wrong())?;
    let generator = Generator::new(family, seed);
    (0..count)
        .filter(|&index| part.is_none_or(|part| generator.part(index) == part))
        .map(|index| {
            let generated = generator.instance(index)?;
            let name = format!("{family}-{seed}/{}", generated.name);
            let split = Some(generated.split);
            Ok(Grouped { example: example_of(&name, generated.problem), group: generated.group, split })
        })
        .collect()
}

/// Names of the families of random functions.
const MAX_AFFINE: &str = "max-affine";
const SUM_OF_MAXIMA: &str = "sum-of-maxima";

/// A random function `max_i a_i'x + b_i` of 5 to 60 variables. Its slopes average to zero, so it is bounded below.
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

/// A random function `sum_k max_i a_ki'x + b_ki` of 10 to 200 variables, with sparse slopes, at random scales of values
/// and of variables. Its start is 0.
fn sum_of_maxima(index: usize, seed: u64) -> Grouped {
    let mut stream = Stream::new(seed, SUM_OF_MAXIMA, index as u64);
    let dim = (10.0 * 20.0_f64.powf(stream.positive_unit())) as usize;
    let components = 4 + stream.below(dim);
    let (entries, lines) = (2 + stream.below(dim.min(20) - 2), 3 + stream.below(8));
    let value_scale = 10.0_f64.powf(3.0 * stream.symmetric());
    let variable_scale = 10.0_f64.powf(3.0 * stream.symmetric());
    let mut slopes = SparseRows::default();
    for _ in 0..components {
        push_maximum(&mut stream, (dim, entries, lines), value_scale / variable_scale, &mut slopes);
    }
    let offsets: Vec<f64> = (0..components * lines).map(|_| value_scale * (1.0 + stream.normal())).collect();
    let (slopes, offsets) = (Arc::new(slopes), Arc::new(offsets));
    let oracle: MakeOracle = Arc::new(move || {
        let (slopes, offsets) = (Arc::clone(&slopes), Arc::clone(&offsets));
        Box::new(FnOracle::new(dim, move |point: &[f64], subgradient: &mut [f64]| {
            subgradient.fill(0.0);
            let mut total = 0.0;
            for first in (0..offsets.len()).step_by(lines) {
                let (best, greatest) = (first..first + lines)
                    .map(|line| (line, offsets[line] + sparse_dot(slopes.row(line), point)))
                    .fold((first, f64::NEG_INFINITY), |best, next| if next.1 > best.1 { next } else { best });
                total += greatest;
                pairs(slopes.row(best)).for_each(|(place, slope)| subgradient[place as usize] += slope);
            }
            Ok(total)
        }))
    });
    let name = format!("{SUM_OF_MAXIMA}-{seed}/{index}");
    let example = Example { name, oracle, start: None, optimum: None };
    Grouped { example, group: index, split: Some(Split::of_group(index)) }
}

/// Draws the slopes of a maximum and adds them as rows. They average to zero, so it is bounded below.
fn push_maximum(
    stream: &mut Stream,
    (dim, entries, lines): (usize, usize, usize),
    scale: f64,
    slopes: &mut SparseRows,
) {
    let mut places: Vec<u32> = (0..entries).map(|_| stream.below(dim) as u32).collect();
    places.sort_unstable();
    places.dedup();
    let mut table: Vec<Vec<f64>> =
        (0..lines).map(|_| places.iter().map(|_| scale * stream.normal()).collect()).collect();
    for column in 0..places.len() {
        let mean = table.iter().map(|line| line[column]).sum::<f64>() / lines as f64;
        table.iter_mut().for_each(|line| line[column] -= mean);
    }
    table.iter().for_each(|line| slopes.push(places.iter().copied().zip(line.iter().copied())));
}

fn read_files(path: &Path, part: Option<Split>) -> Result<Vec<Grouped>, Error> {
    let failed = |source| Error::Read { path: path.to_path_buf(), source };
    if !path.is_dir() {
        return Ok(vec![read_file(path, None)?]);
    }
    if path.join(Manifest::FILE).exists() {
        let manifest = Manifest::read(path)?;
        let entries = manifest.instances.into_iter().filter(|entry| part.is_none_or(|part| entry.split == part));
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
    Ok(Grouped { example: example_of(&name, problem), group, split })
}
