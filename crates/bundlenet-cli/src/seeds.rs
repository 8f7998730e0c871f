//! Several trainings of one recipe that differ only in their seeds.

use std::path::{Path, PathBuf};

use bundlenet::Model;
use bundlenet::train::{Finished, TrainSettings};

use crate::experiment::{digits, head};
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

    /// Mean and standard deviation in the cell of a table.
    pub(crate) fn cell(&self) -> String {
        format!("{} ±{}", digits(self.mean, 3), digits(self.deviation, 2))
    }
}

/// The folder of one seed.
pub(crate) fn folder_of(out: &Path, seed: u64) -> PathBuf {
    out.join(format!("seed-{seed}"))
}

/// Trains with `count` seeds from that of the settings on, each in its own folder. Then writes `seeds.md` and
/// `seeds.csv`: validation gaps of the best model of each seed, their means and their standard deviations.
pub(crate) fn train_all(
    settings: &TrainSettings,
    out: &Path,
    count: u64,
    show: &Show<'_>,
) -> Result<Finished, Failure> {
    let mut gaps = vec![];
    let mut before: Option<PathBuf> = None;
    for seed in settings.seed..settings.seed + count {
        let (settings, folder) = (TrainSettings { seed, ..settings.clone() }, folder_of(out, seed));
        if let Some(before) = &before {
            share_optima(before, &folder)?;
        }
        output::note(&format!("seed {seed}: {}", folder.display()));
        if train_shown(&settings, &folder, show)? == Finished::Interrupted {
            return Ok(Finished::Interrupted);
        }
        gaps.push((seed, Model::load(folder.join("best.safetensors"))?.card().validation_gaps.clone()));
        before = Some(folder);
    }
    let columns = &settings.validation.steps;
    let text = markdown(columns, &gaps);
    output::file(&out.join("seeds.md"), &text)?;
    output::file(&out.join("seeds.csv"), &csv(columns, &gaps))?;
    output::line(text.trim_end())?;
    Ok(Finished::Completely)
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

fn markdown(columns: &[usize], gaps: &[(u64, Vec<f64>)]) -> String {
    let mut text = head(["seed".to_string()].into_iter().chain(columns.iter().map(usize::to_string)));
    for (seed, gaps) in gaps {
        let cells: Vec<String> = gaps.iter().map(|gap| digits(*gap, 3)).collect();
        text += &format!("| {seed} | {} |\n", cells.join(" | "));
    }
    let cells: Vec<String> = (0..columns.len()).map(|column| spread(gaps, column).cell()).collect();
    text + &format!("| mean ± standard deviation | {} |\n", cells.join(" | "))
}

fn csv(columns: &[usize], gaps: &[(u64, Vec<f64>)]) -> String {
    let mut text = String::from("seed,steps,gap_percent\n");
    for (seed, gaps) in gaps {
        text.extend(columns.iter().zip(gaps).map(|(steps, gap)| format!("{seed},{steps},{gap}\n")));
    }
    text
}

fn spread(gaps: &[(u64, Vec<f64>)], column: usize) -> Spread {
    Spread::of(&gaps.iter().filter_map(|(_, gaps)| gaps.get(column).copied()).collect::<Vec<f64>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_have_their_mean_and_spread() {
        let gaps = [(1, vec![9.0, 2.0]), (2, vec![11.0, 2.0])];
        let text = markdown(&[10, 25], &gaps);
        assert!(text.contains("| 2 | 11.0 | 2.00 |"), "{text}");
        assert!(text.contains("| mean ± standard deviation | 10.0 ±1.4 | 2.00 ±0 |"), "{text}");
        assert_eq!(csv(&[10, 25], &gaps[..1]), "seed,steps,gap_percent\n1,10,9\n1,25,2\n");
        assert_eq!(Spread::of(&[3.0]).deviation, 0.0);
    }
}
