//! `bundlenet reference`: dual optima to nine digits, by which gaps are measured.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bundlenet::train::{Optima, Optimum, not_proved};
use bundlenet::{Error, Limits, Settings, Solver};
use bundlenet_problems::{Problem, ReadOptions, example_of};
use clap::Args;

use crate::failure::Failure;
use crate::input::SenseName;
use crate::output;
use crate::ranks::Ranks;
use crate::run::{Progress, interrupt_flag, use_threads};

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

/// An optimum and whether it is new, or whether an input is at fault, with a message. Nothing after an interrupt.
type Found = (Option<(Optimum, bool)>, Option<(bool, String)>);

fn lock(optima: &Mutex<Optima>) -> MutexGuard<'_, Optima> {
    optima.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Reference {
    pub(crate) fn run(self, ranks: &Ranks) -> Result<(), Failure> {
        let files: Vec<(String, PathBuf)> = self.instances()?.into_iter().collect();
        output::check_output("--out", &self.out, files.iter().map(|(_, path)| path.as_path()))?;
        let workers = ranks.workers().one_at_a_time();
        let limits = Limits { seconds: Some(self.time_limit), ..Limits::default() };
        let settings = Settings { limits, ..Settings::exact() };
        let _ = Solver::new(settings.clone())?;
        use_threads(ranks, None)?;
        let optima = Mutex::new(Optima::open(&self.out, &workers)?);
        let interrupt = interrupt_flag();
        let progress = Progress::begin(files.len(), "optima");
        let (mut computed, mut found, mut unreadable) = (0, BTreeMap::new(), None);
        let find = |index: usize| -> Result<Found, Failure> {
            let (name, path) = &files[index];
            if interrupt.load(Ordering::Relaxed) {
                return Ok(Found::default());
            }
            Ok(match self.find(name, path, &optima, &settings, interrupt) {
                // An interrupted run has no optimum.
                Ok((_, true)) if interrupt.load(Ordering::Relaxed) => Found::default(),
                Ok((optimum, is_new)) => (Some((optimum, is_new)), None),
                // One unreadable file must not cost the optima of the others.
                Err(failure) => (None, Some((matches!(failure, Failure::Input(_)), failure.to_string()))),
            })
        };
        let done = |index: usize, (optimum, failure): &Found| {
            progress.advance();
            if let Some((is_input, message)) = failure {
                unreadable.get_or_insert(if *is_input { Failure::input(message) } else { Failure::run(message) });
            }
            let Some((optimum, is_new)) = optimum else { return Ok(()) };
            let name = &files[index].0;
            found.insert(name, optimum.clone());
            if *is_new {
                computed += 1;
                lock(&optima).insert(name, optimum.clone())?;
            }
            Ok(())
        };
        workers.map(files.len(), find, done)?;
        drop(progress);
        if !workers.is_leader() {
            return Ok(());
        }
        let mut optima = optima.into_inner().unwrap_or_else(PoisonError::into_inner);
        optima.write()?;
        self.report(&optima, computed, &found)?;
        if interrupt.load(Ordering::Relaxed) {
            let left = files.len() - found.len();
            return Err(Failure::run(format!("interrupted with {left} instances left; the same command continues")));
        }
        unreadable.map_or(Ok(()), Err)?;
        self.check_all_solved(&found, files.len())
    }

    fn report(&self, optima: &Optima, computed: usize, found: &BTreeMap<&String, Optimum>) -> Result<(), Failure> {
        output::note_outdated(optima.outdated(), ("optimum", "optima"));
        let proved = found.values().filter(|optimum| optimum.is_proved).count();
        let not_proved = not_proved(found.values().map(|optimum| (optimum.is_proved, optimum.estimate)));
        let mut rows = vec![
            ("file", self.out.display().to_string()),
            ("optima", optima.count().to_string()),
            ("computed now", computed.to_string()),
            ("proved to 1e-9", proved.to_string()),
        ];
        rows.extend(not_proved.map(|not_proved| ("not proved", not_proved)));
        output::table(&rows)
    }

    /// The optimum of an instance, and whether it is from a new run.
    fn find(
        &self,
        name: &str,
        path: &Path,
        optima: &Mutex<Optima>,
        settings: &Settings,
        interrupt: &AtomicBool,
    ) -> Result<(Optimum, bool), Failure> {
        let options =
            ReadOptions { sense: self.sense.map(Into::into), capacity: self.capacity, ..ReadOptions::default() };
        let problem = Problem::read(path, options)?;
        let mut dual = problem.dual();
        let fingerprint = example_of(name, problem).fingerprint()?;
        if let Some(found) = lock(optima).of_data(name, &fingerprint).filter(|found| found.is_solved()) {
            return Ok((found.clone(), false));
        }
        let solution = Solver::new(settings.clone())?.interrupt(interrupt).solve(&mut *dual)?;
        let mut optimum = Optimum::new(fingerprint, &solution);
        optimum.seconds = Some(solution.seconds);
        Ok((optimum, true))
    }

    fn check_all_solved(&self, found: &BTreeMap<&String, Optimum>, count: usize) -> Result<(), Failure> {
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
