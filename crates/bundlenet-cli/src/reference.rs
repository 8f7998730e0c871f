//! `bundlenet reference`: dual optima to nine digits, by which gaps are measured.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use bundlenet::{Error, Limits, Settings, Solution, Solver, Status};
use bundlenet_problems::{ParseError, Problem, ReadOptions};
use clap::Args;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::input::SenseName;
use crate::output;
use crate::run::{interrupt_flag, progress};

/// Largest relative error of an optimum.
const TOLERANCE: f64 = 1e-9;

/// Compute dual optima to a relative 1e-9; continues after an interruption
#[derive(Args)]
pub(crate) struct Reference {
    /// Instances, or folders of them
    #[arg(value_name = "FILE|DIR", required = true)]
    paths: Vec<PathBuf>,
    /// JSON file of optima; those that it already holds are not computed again
    #[arg(long, value_name = "optima.json")]
    out: PathBuf,
    /// Sense of a generalised assignment file that does not state it [default: min for text, max for JSON]
    #[arg(long, value_enum)]
    sense: Option<SenseName>,
    /// Most seconds for each instance
    #[arg(long, value_name = "S", default_value_t = 600.0)]
    time_limit: f64,
}

/// An optimum, under the file's name.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Optimum {
    value: f64,
    /// `optimal` if the stop test holds at 1e-9.
    status: String,
    /// Relative gap of the stop test.
    estimate: Option<f64>,
    /// Proved relative gap, or null without a proof.
    certificate: Option<f64>,
    steps: usize,
    seconds: f64,
}

impl Reference {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let files = self.instances()?;
        let mut optima = read(&self.out)?;
        let limits = Limits { seconds: Some(self.time_limit), ..Limits::default() };
        let settings = Settings { limits, ..Settings::exact() };
        let _ = Solver::new(settings.clone())?;
        let interrupt = interrupt_flag();
        let bar = progress(files.len());
        let (mut computed, mut open, mut unreadable) = (0, vec![], None);
        for (name, path) in &files {
            bar.inc(1);
            if optima.get(name).is_some_and(|optimum| optimum.status == Status::Optimal.to_string()) {
                continue;
            }
            let solution = match self.solve(path, &settings, interrupt) {
                Ok(solution) => solution,
                // One unreadable file must not cost the optima of the others.
                Err(failure) => {
                    unreadable.get_or_insert(failure);
                    continue;
                }
            };
            if interrupt.load(Ordering::Relaxed) {
                break;
            }
            if solution.status != Status::Optimal {
                open.push(name.as_str());
            }
            optima.insert(name.clone(), Optimum::of(&solution));
            computed += 1;
            write(&self.out, &optima)?;
        }
        bar.finish_and_clear();
        let proved = optima.values().filter(|optimum| optimum.certificate.is_some_and(|gap| gap <= TOLERANCE)).count();
        output::table(&[
            ("file", self.out.display().to_string()),
            ("optima", optima.len().to_string()),
            ("computed now", computed.to_string()),
            ("proved to 1e-9", proved.to_string()),
        ])?;
        if interrupt.load(Ordering::Relaxed) {
            let left = files.keys().filter(|name| !optima.contains_key(*name)).count();
            return Err(Failure::run(format!("interrupted with {left} instances left; the same command continues")));
        }
        unreadable.map_or(Ok(()), Err)?;
        self.check_all_solved(&open, files.len())
    }

    fn solve(&self, path: &Path, settings: &Settings, interrupt: &AtomicBool) -> Result<Solution, Failure> {
        let options = ReadOptions { sense: self.sense.map(Into::into), problem: None };
        let problem = Problem::read(path, options)?;
        Ok(Solver::new(settings.clone())?.interrupt(interrupt).solve(&mut *problem.dual())?)
    }

    fn check_all_solved(&self, open: &[&str], count: usize) -> Result<(), Failure> {
        let Some(first) = open.first() else { return Ok(()) };
        Err(Failure::run(format!(
            "{} of {count} instances not solved to {TOLERANCE:e} within {} s, {first} among them",
            open.len(),
            self.time_limit
        )))
    }
}

impl Optimum {
    fn of(solution: &Solution) -> Self {
        let Solution { value, status, estimate, certificate, steps, seconds, .. } = *solution;
        // As `solve --json` names it.
        let status = status.to_string().replace(' ', "-");
        Self { value, status, estimate, certificate, steps, seconds }
    }
}

impl Reference {
    /// Names and paths of all instances. Of a folder: every file but the manifest and the files of this command.
    fn instances(&self) -> Result<BTreeMap<String, PathBuf>, Failure> {
        let mut files = vec![];
        for path in &self.paths {
            if path.is_dir() {
                let entries = std::fs::read_dir(path).map_err(|source| Error::Read { path: path.clone(), source })?;
                let inside = entries.filter_map(|entry| Some(entry.ok()?.path()));
                files.extend(inside.filter(|file| file.is_file() && !self.is_own(file)));
            } else {
                files.push(path.clone());
            }
        }
        let mut named: BTreeMap<String, PathBuf> = BTreeMap::new();
        for path in files {
            let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
            // An optimum is stored under its file name, so two files of one name would be mixed up.
            if let Some(other) = named.insert(name, path.clone()) {
                let (first, second) = (other.display(), path.display());
                return Err(Failure::input(format!(
                    "expected instances with different file names, found {first} and {second}: use an --out for each"
                )));
            }
        }
        Ok(named)
    }

    fn is_own(&self, file: &Path) -> bool {
        let is_same = |other: &Path| match (file.canonicalize(), other.canonicalize()) {
            (Ok(file), Ok(other)) => file == other,
            _ => false,
        };
        file.ends_with("manifest.json") || is_same(&self.out) || is_same(&part(&self.out))
    }
}

fn read(path: &Path) -> Result<BTreeMap<String, Optimum>, Failure> {
    if !path.exists() {
        return Ok(BTreeMap::new());
    }
    let text = std::fs::read_to_string(path).map_err(|source| Error::Read { path: path.to_path_buf(), source })?;
    serde_json::from_str(&text).map_err(|error| {
        let expected = "optima written by this command".to_string();
        let (file, line) = (path.display().to_string(), error.line().max(1));
        Failure::input(ParseError { file, line, expected, found: error.to_string() })
    })
}

/// Writes another file and renames it, so that a kill at any moment leaves a whole file.
fn write(path: &Path, optima: &BTreeMap<String, Optimum>) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(optima)? + "\n";
    let beside = part(path);
    std::fs::write(&beside, text)
        .and_then(|()| std::fs::rename(&beside, path))
        .map_err(|source| Error::Write { path: path.to_path_buf(), source })?;
    Ok(())
}

/// The file that is written first and then renamed.
fn part(path: &Path) -> PathBuf {
    path.with_extension("json.part")
}
