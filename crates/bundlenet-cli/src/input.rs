//! Arguments that name an instance.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use bundlenet::team::Workers;
use bundlenet::{Error, Sense, State};
use bundlenet_problems::unit_commitment::Formulation;
use bundlenet_problems::{ParseError, Problem, ReadOptions, Source};
use clap::{Args, ValueEnum};

use crate::failure::Failure;
use crate::output;

/// An instance in a file.
#[derive(Args)]
pub(crate) struct Instance {
    /// Instance: JSON, .dat, .dow, or text of generalised assignment or facility location, plain or gzip; `-` for
    /// standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    reading: Reading,
}

/// How instance files are read.
#[derive(Args)]
pub(crate) struct Reading {
    /// Sense of a generalised assignment file that does not state it: min with `= 1`, max with `<= 1`
    /// [default: min for text, max for JSON]
    #[arg(long, value_enum)]
    sense: Option<SenseName>,
    /// Number of the problem in a file with several problems, counted from 1
    #[arg(long, value_name = "N")]
    problem: Option<usize>,
    /// Capacity of every site of a facility location file that has the word `capacity` in its place
    #[arg(long, value_name = "C")]
    capacity: Option<f64>,
    /// Model of a unit commitment file: pglib (initial states, reserves, renewables) or chp (that of
    /// ConvexHullPricing.jl) [default: pglib if all units have initial states, else chp]
    #[arg(long, value_name = "pglib|chp")]
    formulation: Option<Formulation>,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum SenseName {
    Min,
    Max,
}

impl From<SenseName> for Sense {
    fn from(name: SenseName) -> Self {
        match name {
            SenseName::Min => Self::Minimize,
            SenseName::Max => Self::Maximize,
        }
    }
}

/// Structure of a model file.
#[derive(Args, Default)]
pub(crate) struct BlockOptions {
    /// Blocks of a model file (.mps, .lp): a .dec, .jdec or .blk file as GCG writes it, plain or gzip
    #[arg(long, value_name = "FILE", conflicts_with = "relax")]
    pub(crate) dec: Option<PathBuf>,
    /// Relax the rows of a model file whose names match; the others fall into blocks. `auto` chooses the first
    /// candidate that `inspect` shows
    #[arg(long, value_name = "REGEX")]
    pub(crate) relax: Option<String>,
    /// First-stage columns of a folder of scenarios: those whose names match [default: as NAME_nonants.json says]
    #[arg(long, value_name = "REGEX")]
    pub(crate) first_stage: Option<String>,
}

impl BlockOptions {
    /// Refuses options that the file has no use for.
    pub(crate) fn check(&self, file: &Path) -> Result<(), Failure> {
        let given = [("--dec", self.dec.is_some()), ("--relax", self.relax.is_some())];
        let is_program = is_model(file) && !is_stochastic(file);
        let unused = given.iter().find(|(_, is_given)| *is_given && !is_program);
        let expected = "a model file .mps or .lp";
        if let Some((option, _)) = unused {
            return Err(Failure::input(format!("{option}: expected {expected}, found {}", file.display())));
        }
        if self.first_stage.is_some() && !file.is_dir() {
            let found = file.display();
            return Err(Failure::input(format!("--first-stage: expected a folder of scenarios, found {found}")));
        }
        Ok(())
    }
}

/// The extension of a file in small letters, without `.gz`.
fn extension(file: &Path) -> String {
    let name = file.file_name().map_or_else(String::new, |name| name.to_string_lossy().to_lowercase());
    name.trim_end_matches(".gz").rsplit_once('.').map_or_else(String::new, |(_, extension)| extension.to_string())
}

/// Whether a path names a model: a model file, the core of an SMPS program, or a folder of scenarios.
pub(crate) fn is_model(file: &Path) -> bool {
    is_stochastic(file) || ["mps", "lp"].contains(&extension(file).as_str())
}

/// Whether a path names a stochastic program.
pub(crate) fn is_stochastic(file: &Path) -> bool {
    file.is_dir() || extension(file) == "cor"
}

impl Instance {
    pub(crate) fn read(&self) -> Result<Problem, Failure> {
        self.reading.read(&self.file)
    }

    /// The chosen problem, and the source it is from.
    pub(crate) fn read_with_source(&self) -> Result<(Source, Problem), Failure> {
        let options = self.reading.options();
        let source = read_source(&self.file, options)?;
        let problem = source.clone().choose(options.problem)?;
        self.reading.check(&problem)?;
        Ok((source, problem))
    }
}

impl Reading {
    pub(crate) fn read(&self, file: &Path) -> Result<Problem, Failure> {
        let problem = read_source(file, self.options())?.choose(self.problem)?;
        self.check(&problem)?;
        Ok(problem)
    }

    /// Refuses options that the instance has no use for.
    fn check(&self, problem: &Problem) -> Result<(), Failure> {
        let given = [
            ("--sense", self.sense.is_some(), "assignment"),
            ("--capacity", self.capacity.is_some(), "facility-location"),
            ("--formulation", self.formulation.is_some(), "unit-commitment"),
        ];
        let found = output::problem_name(problem);
        match given.into_iter().find(|(_, is_given, family)| *is_given && *family != found) {
            None => Ok(()),
            Some((option, _, family)) => {
                Err(Failure::input(format!("{option}: expected an instance of {family}, found one of {found}")))
            }
        }
    }

    fn options(&self) -> ReadOptions {
        ReadOptions {
            sense: self.sense.map(Into::into),
            problem: self.problem,
            capacity: self.capacity,
            formulation: self.formulation,
        }
    }
}

/// The name of standard input.
const STANDARD_INPUT: &str = "-";

/// Standard input of the first rank. A launcher leaves the other ones without.
static SHARED: OnceLock<Vec<u8>> = OnceLock::new();

/// Gives the standard input of the first rank to all ranks, if it is one of the files.
pub(crate) fn share_standard_input(files: &[PathBuf], workers: &Workers) -> Result<(), Failure> {
    if files.iter().any(|file| file == Path::new(STANDARD_INPUT)) {
        let bytes = workers.tell(standard_input)?;
        SHARED.get_or_init(|| bytes);
    }
    Ok(())
}

fn standard_input() -> Result<Vec<u8>, Failure> {
    let mut bytes = vec![];
    match std::io::stdin().lock().read_to_end(&mut bytes) {
        Ok(_) => Ok(bytes),
        Err(source) => Err(Failure::input(format!("cannot read standard input: {source}"))),
    }
}

/// Reads a file, or standard input for `-`. Its content then tells the format.
fn read_source(file: &Path, options: ReadOptions) -> Result<Source, Failure> {
    if file != Path::new(STANDARD_INPUT) {
        return Ok(Source::read(file, options)?);
    }
    let bytes = SHARED.get().cloned().map_or_else(standard_input, Ok)?;
    Ok(Source::parse(STANDARD_INPUT, bytes, options)?)
}

/// The name of a data set: its family if it is generated, else its folder.
pub(crate) fn source_name(source: &str) -> String {
    match source.strip_prefix("generate:") {
        Some(recipe) => recipe.split(':').next().unwrap_or(recipe).to_string(),
        None => {
            Path::new(source).file_name().map_or_else(|| source.to_string(), |name| name.to_string_lossy().into_owned())
        }
    }
}

/// How a model file is solved.
#[derive(Clone, Copy)]
#[cfg_attr(not(feature = "mip"), expect(dead_code, reason = "model files are refused"))]
pub(crate) struct Modes {
    /// Without a display of progress.
    pub(crate) is_quiet: bool,
    /// With a bound that holds in exact arithmetic.
    pub(crate) is_safe: bool,
}

/// Names of multipliers, and a point to start at.
#[derive(Clone, Copy, Default)]
pub(crate) struct Start<'a> {
    /// Empty if they have none.
    pub(crate) names: &'a [String],
    /// All multipliers 0 if `None`.
    pub(crate) point: Option<&'a [f64]>,
}

/// Reads a state, or multipliers as a flat JSON array, or as an object if they have names; the content of the file
/// decides.
pub(crate) fn read_start(path: &Path, dimension: usize, names: &[String]) -> Result<State, Failure> {
    let bytes = std::fs::read(path).map_err(|source| Error::Read { path: path.to_path_buf(), source })?;
    if !State::is_state(&bytes) {
        let text = String::from_utf8_lossy(&bytes);
        let point = if !names.is_empty() && text.trim_start().starts_with('{') {
            named_multipliers(path, &text, names)?
        } else {
            multipliers(path, &text, dimension)?
        };
        return Ok(State::at(&point));
    }
    let state = State::parse(path, &bytes)?;
    if let Some(damage) = state.damage() {
        let (path, step) = (path.display(), state.steps());
        output::note(&format!("bundlenet: {path}: {damage}; the state after step {step} is used"));
    }
    match state.point().len() {
        found if found == dimension => Ok(state),
        found => {
            let (path, found) = (path.to_path_buf(), format!("one of {found}"));
            Err(Error::Content { path, expected: format!("a state of {dimension} multipliers"), found }.into())
        }
    }
}

/// Multipliers of a dual as a JSON object by name. A row that it does not name has the multiplier 0.
fn named_multipliers(path: &Path, text: &str, names: &[String]) -> Result<Vec<f64>, Failure> {
    let wrong = |line: usize, expected: &str, found: String| {
        let (file, expected) = (path.display().to_string(), expected.to_string());
        Failure::input(ParseError { file, line, expected, found })
    };
    let given: BTreeMap<String, f64> = serde_json::from_str(text)
        .map_err(|error| wrong(error.line().max(1), "a JSON object of numbers by row name", error.to_string()))?;
    if let Some(unknown) = given.keys().find(|name| !names.contains(name)) {
        return Err(wrong(1, "names of relaxed rows", format!("{unknown:?}")));
    }
    Ok(names.iter().map(|name| given.get(name).copied().unwrap_or(0.0)).collect())
}

/// Multipliers of a dual as a flat JSON array.
fn multipliers(path: &Path, text: &str, dimension: usize) -> Result<Vec<f64>, Failure> {
    let wrong = |line: usize, found: String| {
        let file = path.display().to_string();
        let expected = format!("a flat JSON array of {dimension} finite numbers");
        Failure::input(ParseError { file, line, expected, found })
    };
    let multipliers: Vec<f64> =
        serde_json::from_str(text).map_err(|error| wrong(error.line().max(1), error.to_string()))?;
    if multipliers.len() != dimension {
        return Err(wrong(text.lines().count().max(1), format!("{} numbers", multipliers.len())));
    }
    Ok(multipliers)
}
