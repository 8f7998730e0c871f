//! `bundlenet train`: a network from instances.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::Instant;

use bundlenet::Error;
use bundlenet::learn::train::{Event, Finished, Report, Stage, TrainSettings, train};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use crate::failure::Failure;
use crate::output;
use crate::solve::{interrupt_flag, use_threads};

/// Train a network on instances
#[derive(Args)]
pub(crate) struct Train {
    /// Settings; everything has a default that --print-config shows
    #[arg(value_name = "CONFIG.toml")]
    config: Option<PathBuf>,
    /// Instances to learn from: a folder, a file, or generate:FAMILY:COUNT:SEED; may be repeated; instead of data.train
    #[arg(long, value_name = "DIR")]
    data: Vec<String>,
    /// Instances to choose by [default: a part of the data set aside]; instead of data.validation
    #[arg(long, value_name = "DIR")]
    validation: Vec<String>,
    /// Folder for everything that comes of it
    #[arg(long, value_name = "RUN_DIR", required_unless_present = "print_config")]
    out: Option<PathBuf>,
    /// Go on with the training in the folder, bit for bit as if it had never stopped
    #[arg(long)]
    resume: bool,
    /// Change a setting, such as gradient.rate=1e-4; may be repeated
    #[arg(long = "override", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// Show the settings as they would be used, and stop
    #[arg(long)]
    print_config: bool,
    /// Threads [default: all cores]; the result does not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// No report of each validation
    #[arg(long)]
    quiet: bool,
}

impl Train {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let settings = self.settings()?;
        if self.print_config {
            let text = toml::to_string(&settings).map_err(|error| Failure::Run(error.into()))?;
            let unset: Vec<&str> = unset(&settings);
            let unset = if unset.is_empty() { String::new() } else { format!("\n# not set: {}", unset.join(", ")) };
            return output::line(&format!("{}{unset}", text.trim_end()));
        }
        let Some(folder) = &self.out else { return Ok(()) };
        use_threads(self.threads)?;
        let interrupt = interrupt_flag();
        let monitor = Mutex::new(Monitor::new(self.quiet));
        let finished = train(&settings, folder, self.resume, &|event: &Event<'_>| {
            if let Ok(mut monitor) = monitor.lock() {
                monitor.show(event);
            }
            if interrupt.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if let Ok(monitor) = monitor.lock() {
            monitor.bar.finish_and_clear();
        }
        let shown = folder.display();
        match finished? {
            Finished::Completely => output::line(&format!("{}", folder.join("best.safetensors").display())),
            Finished::Interrupted => Err(Failure::Run(anyhow::anyhow!(
                "interrupted; `bundlenet train --resume --out {shown}` with the same settings goes on"
            ))),
        }
    }

    /// Settings from the file, or from the folder to resume, with the changes asked for.
    fn settings(&self) -> Result<TrainSettings, Failure> {
        let stored = self.out.as_ref().map(|folder| folder.join("config.toml"));
        let file = match (&self.config, stored) {
            (Some(file), _) => Some(file.clone()),
            (None, Some(stored)) if self.resume && stored.exists() => Some(stored),
            _ => None,
        };
        if let (true, None, Some(folder), true) = (self.resume, &file, &self.out, self.data.is_empty()) {
            let folder = folder.display();
            return Err(Failure::Input(anyhow::anyhow!("{folder}: expected a training to resume, found none")));
        }
        let text = match &file {
            Some(path) => std::fs::read_to_string(path).map_err(|source| Error::Read { path: path.clone(), source })?,
            None => String::new(),
        };
        let name = file.map_or_else(|| "settings".to_string(), |file| file.display().to_string());
        let wrong =
            |error: toml::de::Error| Failure::Input(anyhow::anyhow!("{name}: {}", error.to_string().trim_end()));
        // Once as it is, so that an error in the file is shown with its line.
        toml::from_str::<TrainSettings>(&text).map_err(wrong)?;
        let mut table: toml::Table = toml::from_str(&text).map_err(wrong)?;
        for change in &self.overrides {
            set(&mut table, change)?;
        }
        let mut settings: TrainSettings = toml::Value::Table(table)
            .try_into()
            .map_err(|error: toml::de::Error| Failure::Input(anyhow::anyhow!("--override: {}", error.message())))?;
        if !self.data.is_empty() {
            settings.data.train.clone_from(&self.data);
        }
        if !self.validation.is_empty() {
            settings.data.validation.clone_from(&self.validation);
        }
        if !self.print_config {
            settings.check().map_err(|error| Failure::Input(error.into()))?;
        }
        Ok(settings)
    }
}

/// Settings without a value, which the format has no way to show.
fn unset(settings: &TrainSettings) -> Vec<&'static str> {
    let TrainSettings { start_from, data, network, gradient, .. } = settings;
    [
        ("start_from", start_from.is_none()),
        ("data.train_limit", data.train_limit.is_none()),
        ("data.validation_limit", data.validation_limit.is_none()),
        ("network.logit_scale", network.logit_scale.is_none()),
        ("network.step_scale", network.step_scale.is_none()),
        ("gradient.horizon_min", gradient.horizon_min.is_none()),
    ]
    .into_iter()
    .filter_map(|(name, is_unset)| is_unset.then_some(name))
    .collect()
}

/// Sets one key of nested tables.
fn set(table: &mut toml::Table, change: &str) -> Result<(), Failure> {
    let wrong = || Failure::Input(anyhow::anyhow!("--override: expected KEY=VALUE, found {change:?}"));
    let (path, text) = change.split_once('=').ok_or_else(wrong)?;
    let (path, text) = (path.trim(), text.trim());
    // What is no number, boolean or array is a string, with or without quotes.
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

/// A bar, and a line for each validation.
struct Monitor {
    bar: ProgressBar,
    stage: Option<Stage>,
    begin: Instant,
    runs: usize,
    gaps: String,
    is_quiet: bool,
}

impl Monitor {
    fn new(is_quiet: bool) -> Self {
        let bar = ProgressBar::new(0);
        Self { bar, stage: None, begin: Instant::now(), runs: 0, gaps: String::new(), is_quiet }
    }

    fn style(&self, template: &str) {
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style);
        }
    }

    fn say(&self, text: &str) {
        if !self.is_quiet {
            self.bar.suspend(|| output::note(text));
        }
    }

    fn show(&mut self, event: &Event<'_>) {
        match event {
            Event::Optima { done, total } => {
                if *done == 1 {
                    self.style("optima {bar:30} {pos}/{len}, {eta} left");
                    self.bar.set_length(*total as u64);
                }
                self.bar.set_position(*done as u64);
            }
            Event::Begin { trainer, instances: (train, validation) } => {
                let model = trainer.last();
                let columns = &trainer.settings().validation.steps;
                self.say(&format!(
                    "{train} instances for training, {validation} for validation, {} weights, step scale {:.4}",
                    model.weight_count(),
                    model.architecture().step_scale.unwrap_or(1.0)
                ));
                self.say(&format!("gaps in % after {columns:?} steps"));
            }
            Event::Advance(report) => self.advance(report),
        }
    }

    fn advance(&mut self, report: &Report) {
        let Report { stage, done, total, runs, loss, measurement } = report;
        if self.stage != Some(*stage) {
            self.stage = Some(*stage);
            (self.begin, self.runs) = (Instant::now(), 0);
            let name = match stage {
                Stage::Gradient => "updates",
                Stage::Evolution => "generations",
            };
            self.style(&format!("{{bar:30}} {{pos}}/{{len}} {name}, {{eta}} left  {{msg}}"));
            self.bar.reset();
            self.bar.set_length(*total as u64);
        }
        self.runs += runs;
        if let Some(measurement) = measurement {
            self.gaps = measurement.gaps.iter().map(|gap| format!("{gap:.4}")).collect::<Vec<_>>().join(" / ");
            let count = match stage {
                Stage::Gradient => format!("{done:>6} updates"),
                Stage::Evolution => format!("{done:>6} generations"),
            };
            self.say(&format!(
                "{count}  loss {:>9.4}  gaps {}  step lengths {:.1?}  entropy {:.2}",
                measurement.loss.unwrap_or(f64::NAN),
                self.gaps,
                measurement.step_lengths,
                measurement.entropy
            ));
        }
        let speed = self.runs as f64 / self.begin.elapsed().as_secs_f64();
        self.bar.set_message(format!("loss {loss:.4}  {speed:.0} instances/s  gaps {}", self.gaps));
        self.bar.set_position(*done as u64);
    }
}
