//! `bundlenet train`: a network from instances.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Instant;

use bundlenet::Error;
use bundlenet::train::{DataSettings, Event, Example, Finished, TrainSettings, train};
use bundlenet_problems::TrainingData;
use clap::Args;

use crate::failure::Failure;
use crate::monitor::Monitor;
use crate::ranks::Ranks;
use crate::run::{PERIOD, interrupt_flag, use_threads};
use crate::{output, seeds};

/// Train a network on instances
#[derive(Args)]
pub(crate) struct Train {
    /// Settings; --print-config shows all of them with their defaults
    #[arg(value_name = "CONFIG.toml")]
    config: Option<PathBuf>,
    /// Instances for training: a folder, a file, or generate:FAMILY:COUNT:SEED; replaces data.train; may be repeated
    #[arg(long, value_name = "DIR")]
    data: Vec<String>,
    /// Instances for validation; replaces data.validation; may be repeated [default: a part of the training data]
    #[arg(long, value_name = "DIR")]
    validation: Vec<String>,
    /// Folder for the models (best.safetensors, last.safetensors), the metrics and the state of the training
    #[arg(long, value_name = "RUN_DIR", required_unless_present = "print_config")]
    out: Option<PathBuf>,
    /// Continue the training in the folder; the result is the same as without the interruption
    #[arg(long)]
    resume: bool,
    /// End after this many seconds; --resume continues
    #[arg(long, value_name = "S", value_parser = positive)]
    time_limit: Option<f64>,
    /// Train with this many seeds, from `seed` on, each in a folder of its own, and show the spread of the results
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// Change a setting, such as gradient.rate=1e-4; may be repeated
    #[arg(long = "override", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// Print the settings and stop
    #[arg(long)]
    print_config: bool,
    /// Threads [default: all cores]; the result does not depend on their number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Print no progress
    #[arg(long)]
    quiet: bool,
}

fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| *number > 0.0 && number.is_finite());
    number.ok_or_else(|| "expected a positive finite number".to_string())
}

/// Reads or generates the examples for training and for validation. Says if none could be set aside for validation.
fn load(settings: &DataSettings, say: impl Fn(&str)) -> Result<(Vec<Example>, Vec<Example>), Failure> {
    let TrainingData { train, validation } = TrainingData::load(settings)?;
    let is_same = |example: &Example| train.iter().any(|other| other.name == example.name);
    if settings.validation.is_empty() && validation.iter().all(is_same) {
        say("validation is on the instances of the training: they are one group, of which none can be set aside");
    }
    Ok((train, validation))
}

impl Train {
    pub(crate) fn run(self, ranks: &Ranks) -> Result<(), Failure> {
        let settings = self.settings()?;
        let Some(folder) = self.out.as_ref().filter(|_| !self.print_config) else {
            let text = toml::to_string(&settings).map_err(Failure::run)?;
            let unset = unset(&settings);
            let unset = if unset.is_empty() { String::new() } else { format!("\n# not set: {}", unset.join(", ")) };
            return output::line(&format!("{}{unset}", text.trim_end()));
        };
        self.check_folder(folder)?;
        use_threads(ranks, self.threads)?;
        let begin = Instant::now();
        let is_over = || self.time_limit.is_some_and(|limit| begin.elapsed().as_secs_f64() >= limit);
        let show = Show { ranks, is_resumed: self.resume, is_quiet: self.quiet, is_over: &is_over };
        let finished = if self.seeds == 1 {
            train_shown(&settings, folder, &show)?
        } else {
            let make = || std::fs::create_dir_all(folder);
            let failed = |source| Error::Write { path: folder.clone(), source };
            ranks.workers().tell(|| make().map_err(failed))?;
            output::file(&folder.join("config.toml"), &toml::to_string(&settings).map_err(Failure::run)?)?;
            seeds::train_all(&settings, folder, self.seeds, &show)?
        };
        match finished {
            Finished::Completely => {}
            Finished::Interrupted if interrupt_flag().load(Ordering::Relaxed) => {
                return Err(Failure::run(format!("interrupted; {}", self.resuming(folder))));
            }
            Finished::Interrupted => output::note(&format!("time limit reached; {}", self.resuming(folder))),
        }
        if self.seeds > 1 {
            return Ok(());
        }
        let best = folder.join("best.safetensors");
        if !best.exists() {
            return Err(Failure::run("the time limit ended the training before the first model was written"));
        }
        output::line(&best.display().to_string())
    }

    /// Refuses one training in a folder of several seeds, and several seeds in the folder of one training.
    fn check_folder(&self, folder: &Path) -> Result<(), Failure> {
        let (seeds, name) = (seeds::folders_in(folder), folder.display());
        let is_single = folder.join("state.safetensors").exists();
        if self.seeds == 1 && !is_single && !seeds.is_empty() {
            let found: Vec<String> = seeds.iter().map(|(seed, _)| format!("seed-{seed}")).collect();
            return Err(Failure::input(format!(
                "{name}: expected a folder for one training, found trainings of several seeds ({}); \
                 `bundlenet train --resume --seeds N --out {name}` continues them",
                found.join(", ")
            )));
        }
        if self.seeds > 1 && is_single {
            return Err(Failure::input(format!(
                "{name}: expected a folder for several seeds, found one training; give another --out"
            )));
        }
        Ok(())
    }

    /// The command that continues a training.
    fn resuming(&self, folder: &Path) -> String {
        let seeds = if self.seeds > 1 { format!(" --seeds {}", self.seeds) } else { String::new() };
        format!("`bundlenet train --resume{seeds} --out {}` continues the training", folder.display())
    }

    /// Settings from the file, or from the folder to resume, with the changes of the command line.
    fn settings(&self) -> Result<TrainSettings, Failure> {
        let stored = self.out.as_ref().map(|folder| folder.join("config.toml"));
        let file = match (&self.config, stored) {
            (Some(file), _) => Some(file.clone()),
            (None, Some(stored)) if self.resume && stored.exists() => Some(stored),
            _ => None,
        };
        if let (true, None, Some(folder), true) = (self.resume, &file, &self.out, self.data.is_empty()) {
            let folder = folder.display();
            return Err(Failure::input(format!("{folder}: expected a training to resume, found none")));
        }
        let text = match &file {
            Some(path) => std::fs::read_to_string(path).map_err(|source| Error::Read { path: path.clone(), source })?,
            None => String::new(),
        };
        let name = file.map_or_else(|| "settings".to_string(), |file| file.display().to_string());
        let wrong = |error: toml::de::Error| Failure::input(format!("{name}: {}", error.to_string().trim_end()));
        // The file is parsed alone first, so that an error names its line.
        toml::from_str::<TrainSettings>(&text).map_err(wrong)?;
        let mut table: toml::Table = toml::from_str(&text).map_err(wrong)?;
        for change in &self.overrides {
            set(&mut table, change)?;
        }
        let mut settings: TrainSettings = toml::Value::Table(table)
            .try_into()
            .map_err(|error: toml::de::Error| Failure::input(format!("--override: {}", error.message())))?;
        if !self.data.is_empty() {
            settings.data.train.clone_from(&self.data);
        }
        if !self.validation.is_empty() {
            settings.data.validation.clone_from(&self.validation);
        }
        if !self.print_config {
            settings.check()?;
        }
        Ok(settings)
    }
}

/// Settings without a value, which TOML cannot show.
fn unset(settings: &TrainSettings) -> Vec<&'static str> {
    let TrainSettings { start_from, data, network, gradient, validation, .. } = settings;
    [
        ("start_from", start_from.is_none()),
        ("data.train_limit", data.train_limit.is_none()),
        ("data.validation_limit", data.validation_limit.is_none()),
        ("network.logit_scale", network.logit_scale.is_none()),
        ("network.step_scale", network.step_scale.is_none()),
        ("gradient.horizon_min", gradient.horizon_min.is_none()),
        ("validation.patience", validation.patience.is_none()),
    ]
    .into_iter()
    .filter_map(|(name, is_unset)| is_unset.then_some(name))
    .collect()
}

/// Sets one key of nested tables.
fn set(table: &mut toml::Table, change: &str) -> Result<(), Failure> {
    let wrong = || Failure::input(format!("--override: expected KEY=VALUE, found {change:?}"));
    let (path, text) = change.split_once('=').ok_or_else(wrong)?;
    let (path, text) = (path.trim(), text.trim());
    // Anything but a number, a boolean or an array is a string, with or without quotes.
    let parsed: Option<toml::Table> = toml::from_str(&format!("value = {text}")).ok();
    let value =
        parsed.and_then(|mut parsed| parsed.remove("value")).unwrap_or_else(|| toml::Value::String(text.to_string()));
    let mut keys: Vec<&str> = path.split('.').collect();
    let last = keys.pop().filter(|key| !key.is_empty()).ok_or_else(wrong)?;
    let mut inner = table;
    for key in keys {
        let entry = inner.entry(key).or_insert_with(|| toml::Value::Table(toml::Table::new()));
        inner = entry.as_table_mut().ok_or_else(wrong)?;
    }
    inner.insert(last.to_string(), value);
    Ok(())
}

/// How a training begins, shows its progress, and may end early.
pub(crate) struct Show<'a> {
    pub(crate) ranks: &'a Ranks,
    /// Whether it continues the training in the folder, if there is one.
    pub(crate) is_resumed: bool,
    pub(crate) is_quiet: bool,
    /// Whether its time is over.
    pub(crate) is_over: &'a (dyn Fn() -> bool + Sync),
}

/// Trains in a folder, shows the progress and draws the learning curves. An interrupt ends it.
pub(crate) fn train_shown(settings: &TrainSettings, folder: &Path, show: &Show<'_>) -> Result<Finished, Failure> {
    let interrupt = interrupt_flag();
    let monitor = Mutex::new(Monitor::new(settings, folder, show.is_quiet));
    let observer = |event: &Event<'_>| {
        if let Ok(mut monitor) = monitor.lock() {
            monitor.show(event);
        }
        let ends = interrupt.load(Ordering::Relaxed) || (show.is_over)();
        if ends { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let (workers, is_resumed) = (show.ranks.workers(), show.is_resumed);
    let say = |text: &str| monitor.lock().into_iter().for_each(|monitor| monitor.say(text));
    let train = || train(settings, || load(&settings.data, say), folder, is_resumed, &observer, &workers);
    let finished = with_ticks(&monitor, train);
    if let Ok(monitor) = monitor.into_inner() {
        monitor.finish(matches!(finished, Ok(Finished::Completely)))?;
    }
    finished
}

/// Works, and has the monitor print its progress from time to time.
fn with_ticks<R>(monitor: &Mutex<Monitor>, work: impl FnOnce() -> R) -> R {
    std::thread::scope(|scope| {
        let (end, ended) = mpsc::channel::<()>();
        scope.spawn(move || {
            while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                if let Ok(monitor) = monitor.lock() {
                    monitor.tick();
                }
            }
        });
        let result = work();
        drop(end);
        result
    })
}
