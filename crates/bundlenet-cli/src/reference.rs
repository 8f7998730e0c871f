//! `bundlenet reference`: dual optima to nine digits, by which gaps are measured.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use bundlenet::train::{Optima, Optimum, not_proved};
use bundlenet::{Error, Limits, Settings, Solver};
use bundlenet_problems::{Problem, ReadOptions, example_of};
use clap::Args;

use crate::failure::Failure;
use crate::input::SenseName;
use crate::output;
use crate::run::{Progress, interrupt_flag};

/// Compute dual optima to a relative 1e-9; continues after an interruption
#[derive(Args)]
pub(crate) struct Reference {
    /// Instances, or folders of them
    #[arg(value_name = "FILE|DIR", required = true)]
    paths: Vec<PathBuf>,
    /// JSON file of optima; those that it already holds for the same data are not computed again
    #[arg(long, value_name = "optima.json")]
    out: PathBuf,
    /// Sense of a generalised assignment file that does not state it [default: min for text, max for JSON]
    #[arg(long, value_enum)]
    sense: Option<SenseName>,
    /// Capacity of every site of a facility location file that has the word `capacity` in its place
    #[arg(long, value_name = "C")]
    capacity: Option<f64>,
    /// Most seconds for each instance
    #[arg(long, value_name = "S", default_value_t = 600.0)]
    time_limit: f64,
}

impl Reference {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let files = self.instances()?;
        output::check_output("--out", &self.out, files.values().map(PathBuf::as_path))?;
        let mut optima = Optima::open(&self.out)?;
        let limits = Limits { seconds: Some(self.time_limit), ..Limits::default() };
        let settings = Settings { limits, ..Settings::exact() };
        let _ = Solver::new(settings.clone())?;
        let interrupt = interrupt_flag();
        let progress = Progress::begin(files.len(), "optima");
        let (mut computed, mut found, mut unreadable) = (0, vec![], None);
        for (name, path) in &files {
            let (optimum, is_new) = match self.find(name, path, &mut optima, &settings, interrupt) {
                Ok(found) => found,
                // One unreadable file must not cost the optima of the others.
                Err(failure) => {
                    unreadable.get_or_insert(failure);
                    progress.advance();
                    continue;
                }
            };
            if interrupt.load(Ordering::Relaxed) {
                break;
            }
            if is_new {
                optima.insert(name, optimum.clone())?;
                computed += 1;
            }
            found.push((name, optimum));
            progress.advance();
        }
        drop(progress);
        optima.write()?;
        output::note_outdated(optima.outdated(), ("optimum", "optima"));
        let proved = found.iter().filter(|(_, optimum)| optimum.is_proved).count();
        let not_proved = not_proved(found.iter().map(|(_, optimum)| (optimum.is_proved, optimum.estimate)));
        let mut rows = vec![
            ("file", self.out.display().to_string()),
            ("optima", optima.count().to_string()),
            ("computed now", computed.to_string()),
            ("proved to 1e-9", proved.to_string()),
        ];
        rows.extend(not_proved.map(|not_proved| ("not proved", not_proved)));
        output::table(&rows)?;
        if interrupt.load(Ordering::Relaxed) {
            let left = files.len() - found.len();
            return Err(Failure::run(format!("interrupted with {left} instances left; the same command continues")));
        }
        unreadable.map_or(Ok(()), Err)?;
        self.check_all_solved(&found, files.len())
    }

    /// The optimum of an instance, and whether it is from a new run.
    fn find(
        &self,
        name: &str,
        path: &Path,
        optima: &mut Optima,
        settings: &Settings,
        interrupt: &AtomicBool,
    ) -> Result<(Optimum, bool), Failure> {
        let options =
            ReadOptions { sense: self.sense.map(Into::into), capacity: self.capacity, ..ReadOptions::default() };
        let problem = Problem::read(path, options)?;
        let mut dual = problem.dual();
        let fingerprint = example_of(name, problem).fingerprint()?;
        if let Some(found) = optima.of_data(name, &fingerprint).filter(|found| found.is_solved()) {
            return Ok((found.clone(), false));
        }
        let solution = Solver::new(settings.clone())?.interrupt(interrupt).solve(&mut *dual)?;
        let mut optimum = Optimum::new(fingerprint, &solution);
        optimum.seconds = Some(solution.seconds);
        Ok((optimum, true))
    }

    fn check_all_solved(&self, found: &[(&String, Optimum)], count: usize) -> Result<(), Failure> {
        let open: Vec<_> = found.iter().filter(|(_, optimum)| !optimum.is_solved()).collect();
        let Some((first, _)) = open.first() else { return Ok(()) };
        Err(Failure::run(format!(
            "{} of {count} instances not solved to 1e-9 within {} s, {first} among them",
            open.len(),
            self.time_limit
        )))
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
        // Temporary files and locks.
        let is_beside = file.extension().is_some_and(|extension| extension == "part" || extension == "lock");
        file.ends_with("manifest.json") || is_beside || output::is_same(file, &self.out)
    }
}
