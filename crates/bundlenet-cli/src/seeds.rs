//! Several trainings of one recipe that differ only in their seeds.

use std::path::{Path, PathBuf};

use bundlenet::Model;
use bundlenet::train::{Finished, TrainSettings};

use crate::experiment::{STOPPED, digits, head};
use crate::failure::Failure;
use crate::output;
use crate::train::{Show, train_shown};

/// The gaps of one column over several trainings.
pub(crate) struct Spread {
    pub(crate) mean: f64,
    /// Standard deviation of a training, not of the mean; 0 for a single one.
    pub(crate) deviation: f64,
}

impl Spread {
    pub(crate) fn of(gaps: &[f64]) -> Self {
        let count = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / count;
        let square: f64 = gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum();
        let deviation = if gaps.len() > 1 { (square / (count - 1.0)).sqrt() } else { 0.0 };
        Self { mean, deviation }
    }

    /// Mean, a mark, and standard deviation in the cell of a table.
    pub(crate) fn cell(&self, mark: &str) -> String {
        format!("{}{mark} ±{}", digits(self.mean, 3), digits(self.deviation, 2))
    }
}

/// The folder of one seed.
pub(crate) fn folder_of(out: &Path, seed: u64) -> PathBuf {
    out.join(format!("seed-{seed}"))
}

/// The result of one seed.
struct Outcome {
    seed: u64,
    /// Validation gaps of its best model.
    gaps: Vec<f64>,
    /// Why its training stopped early, if it did.
    stopped: Option<String>,
}

/// Trains with `count` seeds from that of the settings on, each in its own folder. Then writes `seeds.md` and
/// `seeds.csv`: validation gaps of the best model of each seed, their means and their standard deviations. A training
/// that stops early does not end the others; there is an error after all of them.
pub(crate) fn train_all(
    settings: &TrainSettings,
    out: &Path,
    count: u64,
    show: &Show<'_>,
) -> Result<Finished, Failure> {
    let mut outcomes = vec![];
    let mut before: Option<PathBuf> = None;
    for seed in settings.seed..settings.seed + count {
        let (settings, folder) = (TrainSettings { seed, ..settings.clone() }, folder_of(out, seed));
        if let Some(before) = &before {
            share_optima(before, &folder)?;
        }
        output::note(&format!("seed {seed}: {}", folder.display()));
        let stopped = match train_shown(&settings, &folder, show) {
            Ok(Finished::Interrupted) => return Ok(Finished::Interrupted),
            Ok(Finished::Completely) => None,
            Err(Failure::Stopped(reason)) => Some(reason),
            Err(failure) => return Err(failure),
        };
        let gaps = Model::load(folder.join("best.safetensors"))?.card().validation_gaps.clone();
        outcomes.push(Outcome { seed, gaps, stopped });
        before = Some(folder);
    }
    let columns = &settings.validation.steps;
    let text = markdown(columns, &outcomes);
    output::file(&out.join("seeds.md"), &text)?;
    output::file(&out.join("seeds.csv"), &csv(columns, &outcomes))?;
    output::line(text.trim_end())?;
    match outcomes.iter().filter(|outcome| outcome.stopped.is_some()).count() {
        0 => Ok(Finished::Completely),
        stopped => Err(Failure::run(format!("{stopped} of {count} trainings stopped early; seeds.md says why"))),
    }
}

/// The folders of trainings with several seeds, by increasing seed.
pub(crate) fn folders_in(out: &Path) -> Vec<(u64, PathBuf)> {
    let entries = std::fs::read_dir(out).into_iter().flatten().flatten();
    let seed_of = |path: &Path| path.file_name()?.to_str()?.strip_prefix("seed-")?.parse::<u64>().ok();
    let mut folders: Vec<(u64, PathBuf)> =
        entries.filter_map(|entry| Some((seed_of(&entry.path())?, entry.path()))).collect();
    folders.sort();
    folders
}

/// Copies the optima of one training to another on the same data, which then need not be computed again.
pub(crate) fn share_optima(from: &Path, to: &Path) -> Result<(), Failure> {
    let (source, target) = (from.join("optima.json"), to.join("optima.json"));
    if source.exists() && !target.exists() {
        std::fs::create_dir_all(to)?;
        output::file(&target, &std::fs::read_to_string(source)?)?;
    }
    Ok(())
}

fn markdown(columns: &[usize], outcomes: &[Outcome]) -> String {
    let mut text = head(["seed".to_string()].into_iter().chain(columns.iter().map(usize::to_string)));
    for Outcome { seed, gaps, stopped } in outcomes {
        let cells: Vec<String> = gaps.iter().map(|gap| digits(*gap, 3)).collect();
        let mark = if stopped.is_some() { STOPPED } else { "" };
        text += &format!("| {seed}{mark} | {} |\n", cells.join(" | "));
    }
    let cells: Vec<String> = (0..columns.len()).map(|column| spread(outcomes, column).cell("")).collect();
    text += &format!("| mean ± standard deviation | {} |\n", cells.join(" | "));
    if outcomes.iter().any(|outcome| outcome.stopped.is_some()) {
        text += &format!("\nMarked {STOPPED}: the training stopped early. Its best model counts.\n\n");
    }
    for Outcome { seed, stopped, .. } in outcomes {
        text.extend(stopped.iter().map(|reason| format!("- seed {seed}: {reason}\n")));
    }
    text
}

fn csv(columns: &[usize], outcomes: &[Outcome]) -> String {
    let mut text = String::from("seed,steps,gap_percent,is_stopped\n");
    for Outcome { seed, gaps, stopped } in outcomes {
        let is_stopped = stopped.is_some();
        let line = |(steps, gap): (&usize, &f64)| format!("{seed},{steps},{gap},{is_stopped}\n");
        text.extend(columns.iter().zip(gaps).map(line));
    }
    text
}

fn spread(outcomes: &[Outcome], column: usize) -> Spread {
    Spread::of(&outcomes.iter().filter_map(|outcome| outcome.gaps.get(column).copied()).collect::<Vec<f64>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_have_their_mean_and_spread() {
        let outcome = |seed: u64, gaps: [f64; 2]| Outcome { seed, gaps: gaps.to_vec(), stopped: None };
        let mut outcomes = [outcome(1, [9.0, 2.0]), outcome(2, [11.0, 2.0])];
        let text = markdown(&[10, 25], &outcomes);
        assert!(text.contains("| 2 | 11.0 | 2.00 |") && !text.contains("stopped"), "{text}");
        assert!(text.contains("| mean ± standard deviation | 10.0 ±1.4 | 2.00 ±0 |"), "{text}");
        assert_eq!(csv(&[10, 25], &outcomes[..1]), "seed,steps,gap_percent,is_stopped\n1,10,9,false\n1,25,2,false\n");
        outcomes[1].stopped = Some("collapsed".to_string());
        let text = markdown(&[10, 25], &outcomes);
        assert!(text.contains("| 2† | 11.0 | 2.00 |") && text.ends_with("- seed 2: collapsed\n"), "{text}");
        assert!(csv(&[10], &outcomes).ends_with("2,10,11,true\n"));
        assert_eq!(Spread::of(&[3.0]).deviation, 0.0);
    }
}
