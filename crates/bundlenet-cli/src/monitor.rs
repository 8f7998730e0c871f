//! The progress of a training: lines, a bar on a terminal, and the picture of its learning curves.

use std::path::{Path, PathBuf};
use std::time::Instant;

use bundlenet::train::{Event, Measurement, Report, Stage, TrainSettings};
use indicatif::{ProgressBar, ProgressStyle};

use crate::failure::Failure;
use crate::{output, plot};

/// The picture of the learning curves, in the folder of a training.
pub(crate) const CURVES: &str = "validation.svg";

/// Shows the events of a training.
pub(crate) struct Monitor {
    name: String,
    /// Steps after which gaps are measured.
    columns: Vec<usize>,
    /// Whether the training begins with a model.
    has_start: bool,
    picture: PathBuf,
    /// Whether the picture could be written.
    drawn: Result<(), Failure>,
    history: Vec<Measurement>,
    bar: ProgressBar,
    /// The present state in a line.
    status: String,
    stage: Option<Stage>,
    /// Updates or generations of the present stage that are done, and all of them.
    done: (usize, usize),
    /// Begin of the present stage, and of the present update or generation.
    begin: Instant,
    latest: Instant,
    runs: usize,
    is_quiet: bool,
}

impl Monitor {
    pub(crate) fn new(settings: &TrainSettings, folder: &Path, is_quiet: bool) -> Self {
        Self {
            name: settings.name.clone(),
            columns: settings.validation.steps.clone(),
            has_start: settings.start_from.is_some(),
            picture: folder.join(CURVES),
            drawn: Ok(()),
            history: vec![],
            bar: if is_quiet { ProgressBar::hidden() } else { ProgressBar::new(0) },
            status: "reading instances".to_string(),
            stage: None,
            done: (0, 0),
            begin: Instant::now(),
            latest: Instant::now(),
            runs: 0,
            is_quiet,
        }
    }

    pub(crate) fn show(&mut self, event: &Event<'_>) {
        match event {
            Event::Optima { done, total } => {
                if self.bar.length() != Some(*total as u64) {
                    self.restart("optima", *total);
                }
                self.bar.set_position(*done as u64);
                let next = match done == total {
                    true if self.has_start => "; measuring the model of start_from",
                    true => "; measuring the untrained network",
                    false => "",
                };
                self.status = format!("{done} of {total} optima found{next}");
            }
            Event::Begin { trainer, instances: (train, validation), not_proved } => {
                let model = trainer.last();
                self.history = trainer.history().to_vec();
                self.say(&format!(
                    "{train} instances for training, {validation} for validation, {} weights, step scale {:.4}",
                    model.weight_count(),
                    model.architecture().step_scale.unwrap_or(1.0)
                ));
                if let Some(not_proved) = not_proved {
                    self.say(&format!("optima not proved: {not_proved}"));
                }
                self.say(&format!("mean gaps in % after {:?} steps", self.columns));
                self.validated();
                self.status = "first update".to_string();
                self.latest = Instant::now();
            }
            Event::Advance(report) => self.advance(report),
        }
    }

    /// Prints the present state where there is no bar.
    pub(crate) fn tick(&self) {
        if self.bar.is_hidden() {
            self.say(&self.status);
        }
    }

    /// Removes the bar, and says if a plateau has ended the last stage. An error if the picture could not be written.
    pub(crate) fn finish(self, is_complete: bool) -> Result<(), Failure> {
        self.bar.finish_and_clear();
        if is_complete {
            self.say_plateau();
        }
        self.drawn
    }

    /// Says if a plateau has ended the present stage.
    fn say_plateau(&self) {
        let ((done, total), Some(stage)) = (self.done, self.stage) else { return };
        if done < total {
            let unit = unit(stage);
            self.say(&format!(
                "plateau after {done} of {total} {unit}: validation.patience validations without a new best one"
            ));
        }
    }

    fn advance(&mut self, report: &Report) {
        let Report { stage, done, total, runs, loss, measurement } = report;
        let unit = unit(*stage);
        if self.stage != Some(*stage) {
            self.say_plateau();
            self.stage = Some(*stage);
            (self.begin, self.runs) = (self.latest, 0);
            self.restart(unit, *total);
        }
        self.latest = Instant::now();
        self.done = (*done, *total);
        self.runs += runs;
        if let Some(measurement) = measurement {
            self.history.push(measurement.clone());
            self.validated();
        }
        let speed = self.runs as f64 / self.begin.elapsed().as_secs_f64();
        let figures = format!("loss {loss:.4}, {speed:.0} instances/s");
        self.status = format!("{done} of {total} {unit}, {figures}");
        self.bar.set_message(format!("{figures}, gaps {}", self.history.last().map_or_else(String::new, gaps)));
        self.bar.set_position(*done as u64);
    }

    /// Prints the last validation and draws all of them.
    fn validated(&mut self) {
        let Some(last) = self.history.last() else { return };
        let count = match (last.updates, last.generations) {
            (0, 0) if self.has_start => "model of start_from".to_string(),
            (0, 0) => "untrained".to_string(),
            (updates, 0) => format!("{updates} updates"),
            (_, generations) => format!("{generations} generations"),
        };
        let loss = last.loss.map_or_else(String::new, |loss| format!("  loss {loss:.4}"));
        let (lengths, entropy) = (&last.step_lengths, last.entropy);
        self.say(&format!("{count}:  gaps {}{loss}  step lengths {lengths:.1?}  entropy {entropy:.2}", gaps(last)));
        let drawn = output::file(&self.picture, &plot::learning_curves(&self.name, &self.columns, &self.history));
        if self.drawn.is_ok() {
            self.drawn = drawn;
        }
    }

    fn restart(&mut self, unit: &str, total: usize) {
        let template = format!("{{bar:30}} {{pos}}/{{len}} {unit}, {{eta}} left  {{msg}}");
        if let Ok(style) = ProgressStyle::with_template(&template) {
            self.bar.set_style(style);
        }
        self.bar.reset();
        self.bar.set_length(total as u64);
    }

    pub(crate) fn say(&self, text: &str) {
        if !self.is_quiet {
            self.bar.suspend(|| output::note(text));
        }
    }
}

/// The word for the updates or generations of a stage.
fn unit(stage: Stage) -> &'static str {
    match stage {
        Stage::Gradient => "updates",
        Stage::Evolution => "generations",
    }
}

fn gaps(measurement: &Measurement) -> String {
    let list = |gaps: &Vec<f64>| gaps.iter().map(|gap| format!("{gap:.4}")).collect::<Vec<String>>().join(" / ");
    let told = measurement.told_gaps.as_ref().map_or_else(String::new, |gaps| format!(", told {}", list(gaps)));
    list(&measurement.gaps) + &told
}
