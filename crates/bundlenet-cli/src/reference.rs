//! `bundlenet reference`: dual optima to nine digits, for measuring gaps against.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use bundlenet::{
    Error, Granularity, Limits, ParseError, Problem, ReadOptions, Settings, Silent, Status, Tolerances, solve,
};
use clap::Args;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::input::SenseName;
use crate::output;
use crate::solve::{interrupt_flag, progress};

/// What an optimum may be off by, relative.
const TOLERANCE: f64 = 1e-9;

/// Compute dual optima to 1e-9 relative; resumes where it was interrupted
#[derive(Args)]
pub(crate) struct Reference {
    /// Instances, or folders of them
    #[arg(value_name = "FILE|DIR", required = true)]
    paths: Vec<PathBuf>,
    /// JSON file of optima; those it holds already are not computed again
    #[arg(long, value_name = "golds.json")]
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
    /// Whether the stop test held at 1e-9.
    status: String,
    /// The stop test's relative gap.
    estimate: Option<f64>,
    /// The relative gap proved, or null where nothing proves it.
    certificate: Option<f64>,
    steps: usize,
    seconds: f64,
}

impl Reference {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let files = self.instances()?;
        let mut optima = read(&self.out)?;
        let settings = Settings {
            limits: Limits { seconds: Some(self.time_limit), ..Limits::default() },
            tolerances: Tolerances { gap: TOLERANCE },
            // Combinations of each component's cuts are what proves an optimum.
            cuts: Granularity::Component,
            ..Settings::default()
        }
        .check()
        .map_err(|error| Failure::Input(error.into()))?;
        let interrupt = interrupt_flag();
        let bar = progress(files.len());
        let (mut computed, mut open, mut unreadable) = (0, vec![], None);
        for (name, path) in &files {
            bar.inc(1);
            if optima.get(name).is_some_and(|optimum| optimum.status == Status::Optimal.to_string()) {
                continue;
            }
            let options = ReadOptions { sense: self.sense.map(Into::into), problem: None };
            let solved = Problem::read(path, options)
                .map_err(Failure::from)
                .and_then(|problem| Ok(solve(&mut *problem.dual(), None, &settings, &mut Silent, Some(interrupt))?));
            let solution = match solved {
                Ok(solution) => solution,
                // One file that is no instance must not cost the optima of the others.
                Err(failure) => {
                    unreadable.get_or_insert(failure);
                    continue;
                }
            };
            if interrupt.load(Ordering::Relaxed) {
                break;
            }
            if solution.status != Status::Optimal {
                open.push(name.clone());
            }
            let optimum = Optimum {
                value: solution.value,
                status: solution.status.to_string(),
                estimate: solution.estimate,
                certificate: solution.certificate,
                steps: solution.steps,
                seconds: solution.seconds,
            };
            optima.insert(name.clone(), optimum);
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
            return Err(Failure::Run(anyhow::anyhow!(
                "interrupted with {left} instances left; the same command goes on"
            )));
        }
        if let Some(failure) = unreadable {
            return Err(failure);
        }
        match open.first() {
            None => Ok(()),
            Some(first) => Err(Failure::Run(anyhow::anyhow!(
                "{} of {} instances not solved to {TOLERANCE:e} within {} s, {first} among them",
                open.len(),
                files.len(),
                self.time_limit
            ))),
        }
    }
}

impl Reference {
    /// Names and paths of all instances; of a folder, every file but a manifest and what this command writes.
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
            // Optima go by file name: two files of the same name would pass for one.
            if let Some(other) = named.insert(name, path.clone()) {
                let (first, second) = (other.display(), path.display());
                return Err(Failure::Input(anyhow::anyhow!(
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
        Error::from(ParseError { file, line, expected, found: error.to_string() }).into()
    })
}

/// Writes beside the file and renames, so that a kill at any moment leaves a whole file.
fn write(path: &Path, optima: &BTreeMap<String, Optimum>) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(optima).map_err(std::io::Error::from)? + "\n";
    let beside = part(path);
    std::fs::write(&beside, text)
        .and_then(|()| std::fs::rename(&beside, path))
        .map_err(|source| Error::Write { path: path.to_path_buf(), source })?;
    Ok(())
}

/// Where a file is written before it takes its name.
fn part(path: &Path) -> PathBuf {
    path.with_extension("json.part")
}
