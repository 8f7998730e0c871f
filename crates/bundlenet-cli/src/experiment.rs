//! Experiments: methods on instances, measured by their gaps against exact optima, and what is made of the measurements.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::driver::solve;
use crate::error::Error;
use crate::learn::Precision;
use crate::learn::train::{Example, gap_percent};
use crate::observe::Silent;
use crate::settings::{Limits, Settings, ValidSettings};

/// A method under a name.
#[derive(Clone, Debug)]
pub struct Contender {
    /// What tables call the method.
    pub method: String,
    /// The initial step length, where it is one of a grid.
    pub eta0: Option<f64>,
    /// Everything else.
    pub settings: Settings,
}

impl Contender {
    /// A fingerprint of the model, where there is one: a model trained anew is another contender.
    #[must_use]
    pub fn fingerprint(&self) -> Option<String> {
        let bytes = self.settings.model.as_ref()?.to_bytes(Precision::Single).ok()?;
        // FNV-1a.
        let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        Some(format!("{:016x}", bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix)))
    }
}

/// One run of one method on one instance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Name of the data set.
    pub data_set: String,
    /// Whether the instance is one to choose by, not to report on.
    pub is_validation: bool,
    /// Name of the instance.
    pub instance: String,
    /// Name of the method.
    pub method: String,
    /// Its initial step length, where it is one of a grid.
    pub eta0: Option<f64>,
    /// Fingerprint of its model, where there is one.
    pub model: Option<String>,
    /// Steps it was allowed.
    pub steps: usize,
    /// The optimal value.
    pub optimum: f64,
    /// Best value after 0, 1, 2, ... steps.
    pub best: Vec<f64>,
    /// Seconds from the start of the run, at the same steps.
    pub seconds: Vec<f64>,
    /// Seconds of the whole run in the oracle.
    pub oracle_seconds: f64,
    /// In the master problem.
    pub master_seconds: f64,
    /// In the network.
    pub network_seconds: f64,
}

/// What tells measurements apart.
pub type Key = (String, bool, String, String, String, Option<String>);

impl Measurement {
    /// Gap in percent of the optimum after so many steps; a run that ended earlier keeps its last value.
    #[must_use]
    pub fn gap(&self, steps: usize) -> f64 {
        let best = self.best.get(steps).or(self.best.last()).copied().unwrap_or(f64::NAN);
        gap_percent(best, self.optimum)
    }

    /// Gap in percent of the optimum after so many seconds.
    #[must_use]
    pub fn gap_at(&self, seconds: f64) -> f64 {
        let steps = self.seconds.iter().take_while(|at| **at <= seconds).count();
        self.gap(steps.saturating_sub(1))
    }

    /// Seconds to a gap of so many percent, if it was ever reached.
    #[must_use]
    pub fn seconds_to(&self, percent: f64) -> Option<f64> {
        self.seconds.get(self.steps_to(percent)?).copied()
    }

    /// Steps to a gap of so many percent, if it was ever reached.
    #[must_use]
    pub fn steps_to(&self, percent: f64) -> Option<usize> {
        (0..self.best.len()).find(|&steps| self.gap(steps) <= percent)
    }

    /// Seconds after so many steps.
    #[must_use]
    pub fn seconds_after(&self, steps: usize) -> f64 {
        self.seconds.get(steps).or(self.seconds.last()).copied().unwrap_or(f64::NAN)
    }

    /// What tells it apart.
    #[must_use]
    pub fn key(&self) -> Key {
        let Self { data_set, is_validation, instance, method, eta0, model, .. } = self;
        key(data_set, *is_validation, instance, method, *eta0, model.clone())
    }
}

/// What tells a run apart before it is made.
#[must_use]
pub fn key(
    data_set: &str,
    is_validation: bool,
    instance: &str,
    method: &str,
    eta0: Option<f64>,
    model: Option<String>,
) -> Key {
    let eta0 = eta0.map_or_else(String::new, |eta0| eta0.to_string());
    (data_set.to_string(), is_validation, instance.to_string(), method.to_string(), eta0, model)
}

/// Runs a method on an instance whose optimum is known, for so many steps.
///
/// # Errors
/// If the settings cannot be used or the oracle fails at the start.
pub fn measure(
    contender: &Contender,
    data_set: &str,
    is_validation: bool,
    example: &Example,
    steps: usize,
) -> Result<Measurement, Error> {
    let limits = Limits { steps: Some(steps), ..contender.settings.limits.clone() };
    let settings: ValidSettings = Settings { limits, ..contender.settings.clone() }.check()?;
    let mut oracle = (example.oracle)();
    let solution = solve(&mut *oracle, example.start.as_deref(), &settings, &mut Silent, None)
        .map_err(|source| Error::Example { name: example.name.clone(), source })?;
    Ok(Measurement {
        data_set: data_set.to_string(),
        is_validation,
        instance: example.name.clone(),
        method: contender.method.clone(),
        eta0: contender.eta0,
        model: contender.fingerprint(),
        steps,
        optimum: example.optimum.unwrap_or(f64::NAN),
        best: solution.trace.iter().map(|row| row.best).collect(),
        seconds: solution.trace.iter().map(|row| row.seconds).collect(),
        oracle_seconds: solution.oracle_seconds,
        master_seconds: solution.master_seconds,
        network_seconds: solution.network_seconds,
    })
}

/// Mean and its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The mean.
    pub mean: f64,
    /// Its standard error.
    pub error: f64,
}

impl Mean {
    /// Of some numbers.
    #[must_use]
    pub fn of(numbers: &[f64]) -> Self {
        let count = numbers.len() as f64;
        let mean = numbers.iter().sum::<f64>() / count;
        let squares: f64 = numbers.iter().map(|number| (number - mean) * (number - mean)).sum();
        let error = if numbers.len() > 1 { (squares / (count - 1.0) / count).sqrt() } else { 0.0 };
        Self { mean, error }
    }
}

/// Runs of one method on one data set, in the order of the instances.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// The method, with what was chosen.
    pub name: String,
    /// For each column, the runs that count.
    pub columns: Vec<Vec<&'a Measurement>>,
}

impl Row<'_> {
    /// Gaps of a column, by instance.
    #[must_use]
    pub fn gaps(&self, column: usize, steps: usize) -> Vec<f64> {
        self.columns[column].iter().map(|run| run.gap(steps)).collect()
    }
}

/// What the grid is chosen by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Validation data.
    Validation,
    /// The very data that are reported, as the paper does.
    Test,
}

/// The rows of a table: one for each method; where a method has a grid, the best of it in each column.
#[must_use]
pub fn rows<'a>(all: &'a [Measurement], data_set: &str, columns: &[usize], choice: Choice) -> Vec<Row<'a>> {
    let mut methods: Vec<&str> = vec![];
    let mut by_variant: BTreeMap<(&str, String, bool), Vec<&Measurement>> = BTreeMap::new();
    for run in all.iter().filter(|run| run.data_set == data_set) {
        if !methods.contains(&run.method.as_str()) {
            methods.push(&run.method);
        }
        let eta0 = run.eta0.map_or_else(String::new, |eta0| eta0.to_string());
        by_variant.entry((&run.method, eta0, run.is_validation)).or_default().push(run);
    }
    by_variant.values_mut().for_each(|runs| runs.sort_by(|a, b| a.instance.cmp(&b.instance)));
    methods
        .into_iter()
        .filter_map(|method| {
            let variants: Vec<&String> = by_variant
                .keys()
                .filter(|(other, _, is_validation)| *other == method && !is_validation)
                .map(|(_, eta0, _)| eta0)
                .collect();
            let chosen: Option<Vec<&String>> = columns
                .iter()
                .map(|&steps| {
                    let mean = |eta0: &str| {
                        let judged = by_variant
                            .get(&(method, eta0.to_string(), choice == Choice::Validation))
                            .or_else(|| by_variant.get(&(method, eta0.to_string(), false)));
                        let gaps: Vec<f64> = judged.into_iter().flatten().map(|run| run.gap(steps)).collect();
                        Mean::of(&gaps).mean
                    };
                    variants.iter().copied().min_by(|a, b| mean(a).total_cmp(&mean(b)))
                })
                .collect();
            let chosen = chosen?;
            let is_judged = by_variant.keys().any(|(other, _, is_validation)| *other == method && *is_validation);
            if variants.len() > 1 && choice == Choice::Validation && !is_judged {
                return None;
            }
            let name = match (variants.len() > 1, choice) {
                (false, _) => method.to_string(),
                (true, Choice::Validation) => format!("{method}, grid by validation"),
                (true, Choice::Test) => format!("{method}, grid by test"),
            };
            let columns = chosen.into_iter().map(|eta0| by_variant[&(method, eta0.clone(), false)].clone()).collect();
            Some(Row { name, columns })
        })
        .collect()
}

/// A number with three significant digits, or `count` of them; 0 below one in a million.
#[must_use]
pub fn digits(number: f64, count: i32) -> String {
    if number.abs() < 1e-6 {
        return "0".to_string();
    }
    let before = number.abs().log10().floor() as i32 + 1;
    let after = usize::try_from(count - before).unwrap_or(0);
    format!("{number:.after$}")
}

/// A table in the paper's layout, as Markdown: mean gap with its standard error, the paper's figure in brackets where there is
/// one, the difference to the first row over its standard error (paired by instance), and the time of a whole run.
#[must_use]
pub fn markdown(rows: &[Row<'_>], columns: &[usize], paper: &dyn Fn(&str, usize) -> Option<f64>) -> String {
    let mut text = String::from("| method |");
    columns.iter().for_each(|steps| text += &format!(" {steps} |"));
    text += " ms |\n|---|";
    columns.iter().for_each(|_| text += "---|");
    text += "---|\n";
    let Some(first) = rows.first() else { return text };
    for (index, row) in rows.iter().enumerate() {
        text += &format!("| {} |", row.name);
        for (column, &steps) in columns.iter().enumerate() {
            let gaps = row.gaps(column, steps);
            let Mean { mean, error } = Mean::of(&gaps);
            text += &format!(" {} ±{}", digits(mean, 3), digits(error, 2));
            if let Some(theirs) = paper(&row.name, steps) {
                text += &format!(" ({theirs})");
            }
            if index > 0 {
                let others = first.gaps(column, steps);
                let differences: Vec<f64> = gaps.iter().zip(&others).map(|(a, b)| a - b).collect();
                let Mean { mean, error } = Mean::of(&differences);
                if error > 0.0 && gaps.len() == others.len() {
                    text += &format!(" {:+.0}σ", mean / error);
                }
            }
            text += " |";
        }
        let last = columns.len() - 1;
        let seconds: Vec<f64> = row.columns[last].iter().map(|run| run.seconds_after(columns[last])).collect();
        text += &format!(" {} |\n", digits(1e3 * Mean::of(&seconds).mean, 3));
    }
    text
}

/// The same rows at equal times: mean gap in percent after so many milliseconds, of the runs that the last column has.
#[must_use]
pub fn markdown_by_time(rows: &[Row<'_>], milliseconds: &[f64]) -> String {
    by_columns(rows, milliseconds, "ms", |runs, at| {
        let gaps: Vec<f64> = runs.iter().map(|run| run.gap_at(1e-3 * at)).collect();
        digits(Mean::of(&gaps).mean, 3)
    })
}

/// The same rows by what was to be reached: mean milliseconds and steps to a gap of so many percent, and the share of runs that
/// got there if not all did; the means are of those.
#[must_use]
pub fn markdown_to_gap(rows: &[Row<'_>], percent: &[f64]) -> String {
    by_columns(rows, percent, "%", |runs, gap| {
        let steps: Vec<usize> = runs.iter().filter_map(|run| run.steps_to(gap)).collect();
        let seconds: Vec<f64> = runs.iter().filter_map(|run| run.seconds_to(gap)).collect();
        let mean_steps = Mean::of(&steps.iter().map(|&steps| steps as f64).collect::<Vec<_>>()).mean;
        let means = format!("{} ms, {} steps", digits(1e3 * Mean::of(&seconds).mean, 3), digits(mean_steps, 3));
        match seconds.len() {
            0 => "never".to_string(),
            count if count == runs.len() => means,
            count => format!("{means} ({count} of {})", runs.len()),
        }
    })
}

/// A table with a column for each of some numbers, from the runs that the last column of steps has.
fn by_columns(rows: &[Row<'_>], columns: &[f64], unit: &str, cell: impl Fn(&[&Measurement], f64) -> String) -> String {
    let mut text = String::from("| method |");
    columns.iter().for_each(|column| text += &format!(" {column} {unit} |"));
    text += "\n|---|";
    columns.iter().for_each(|_| text += "---|");
    text += "\n";
    for row in rows {
        text += &format!("| {} |", row.name);
        let runs = row.columns.last().map_or(&[][..], Vec::as_slice);
        columns.iter().for_each(|&column| text += &format!(" {} |", cell(runs, column)));
        text += "\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(instance: &str, method: &str, eta0: Option<f64>, is_validation: bool, best: &[f64]) -> Measurement {
        Measurement {
            data_set: "d".to_string(),
            is_validation,
            instance: instance.to_string(),
            method: method.to_string(),
            eta0,
            model: None,
            steps: 2,
            optimum: 100.0,
            best: best.to_vec(),
            seconds: vec![0.0; best.len()],
            oracle_seconds: 0.0,
            master_seconds: 0.0,
            network_seconds: 0.0,
        }
    }

    #[test]
    fn the_grid_is_chosen_by_what_it_should_be() {
        let mut all = vec![];
        for (eta0, validation, test) in [(1.0, [50.0, 90.0], [60.0, 99.0]), (2.0, [70.0, 80.0], [50.0, 95.0])] {
            all.push(run("v", "constant", Some(eta0), true, &[0.0, validation[0], validation[1]]));
            all.push(run("a", "constant", Some(eta0), false, &[0.0, test[0], test[1]]));
        }
        all.push(run("a", "auto", None, false, &[0.0, 55.0]));
        let by_validation = rows(&all, "d", &[1, 2], Choice::Validation);
        assert_eq!((by_validation[0].gaps(0, 1), by_validation[0].gaps(1, 2)), (vec![50.0], vec![1.0]));
        let by_test = rows(&all, "d", &[1, 2], Choice::Test);
        assert_eq!((by_test[0].gaps(0, 1), by_test[0].gaps(1, 2)), (vec![40.0], vec![1.0]));
        // A run that ended keeps its value.
        assert_eq!(by_test[1].gaps(1, 2), [45.0]);
        assert_eq!((by_test[0].name.as_str(), by_test[1].name.as_str()), ("constant, grid by test", "auto"));
        let table = markdown(&by_test, &[1, 2], &|name, steps| (name == "auto" && steps == 1).then_some(9.2));
        assert!(table.contains("| auto | 45.0 ±0 (9.2) |"), "{table}");
        let mut timed = run("a", "auto", None, false, &[0.0, 55.0, 90.0]);
        timed.seconds = vec![0.0, 1e-3, 2e-3];
        assert_eq!([0.0, 1e-3, 1.9e-3, 1.0].map(|at| timed.gap_at(at)), [100.0, 45.0, 45.0, 10.0]);
    }

    #[test]
    fn means_have_their_errors() {
        let Mean { mean, error } = Mean::of(&[1.0, 2.0, 3.0, 4.0]);
        assert!(mean == 2.5 && (error - (5.0_f64 / 3.0 / 4.0).sqrt()).abs() < 1e-12);
    }
}
