//! Arguments that name an instance.

use std::path::{Path, PathBuf};

use bundlenet::{Error, Sense, State};
use bundlenet_problems::unit_commitment::Formulation;
use bundlenet_problems::{ParseError, Problem, ReadOptions, Source};
use clap::{Args, ValueEnum};

use crate::failure::Failure;
use crate::output;

/// An instance in a file.
#[derive(Args)]
pub(crate) struct Instance {
    /// Instance: JSON, .dat, .dow, or text of generalised assignment or facility location, plain or gzip
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
    /// Model of a unit commitment file: pglib (initial states, reserves, renewables) or chp (that of ConvexHullPricing.jl)
    /// [default: pglib if all units have initial states, else chp]
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

impl Instance {
    pub(crate) fn read(&self) -> Result<Problem, Failure> {
        self.reading.read(&self.file)
    }

    /// The chosen problem, and the source it is from.
    pub(crate) fn read_with_source(&self) -> Result<(Source, Problem), Failure> {
        let options = self.reading.options();
        let source = Source::read(&self.file, options)?;
        Ok((source.clone(), source.choose(options.problem)?))
    }
}

impl Reading {
    pub(crate) fn read(&self, file: &Path) -> Result<Problem, Failure> {
        Ok(Problem::read(file, self.options())?)
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

/// The name of a data set: its family if it is generated, else its folder.
pub(crate) fn source_name(source: &str) -> String {
    match source.strip_prefix("generate:") {
        Some(recipe) => recipe.split(':').next().unwrap_or(recipe).to_string(),
        None => {
            Path::new(source).file_name().map_or_else(|| source.to_string(), |name| name.to_string_lossy().into_owned())
        }
    }
}

/// Reads a state, or multipliers as a flat JSON array; the content of the file decides.
pub(crate) fn read_start(path: &Path, dimension: usize) -> Result<State, Failure> {
    let bytes = std::fs::read(path).map_err(|source| Error::Read { path: path.to_path_buf(), source })?;
    if !State::is_state(&bytes) {
        return multipliers(path, &String::from_utf8_lossy(&bytes), dimension).map(|point| State::at(&point));
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
