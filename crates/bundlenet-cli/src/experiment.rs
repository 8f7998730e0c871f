//! Experiments: methods on instances, measured by their gaps to exact optima, and tables of the measurements.

use std::collections::{BTreeMap, HashMap};

use bundlenet::train::{Example, Optimum, gap_percent, not_proved};
use bundlenet::{Error, Limits, Method, Precision, Settings, Solver};
use serde::{Deserialize, Serialize};

/// A method under a name.
#[derive(Clone)]
pub(crate) struct Contender {
    /// Name in tables.
    pub(crate) name: String,
    /// Initial step length, where it is one of a grid.
    pub(crate) eta0: Option<f64>,
    /// Number of steps that the network is told: the run has no more, and gives that column of its row.
    told: Option<usize>,
    settings: Settings,
    /// Fingerprint of the model that was given: a model trained anew is another contender.
    model: Option<String>,
}

impl Contender {
    /// Every contender runs to a gap of 1e-9.
    pub(crate) fn new(name: String, eta0: Option<f64>, method: Method) -> Self {
        let bytes = method.model().and_then(|model| model.to_bytes(Precision::Single).ok());
        // FNV-1a.
        let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        let model = bytes.map(|bytes| format!("{:016x}", bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix)));
        let settings = Settings { method, tolerance: 1e-9, ..Settings::default() };
        Self { name, eta0, told: None, settings, model }
    }

    /// The same with a network that is told its number of steps.
    pub(crate) fn told(self, steps: usize) -> Self {
        Self { told: Some(steps), ..self }
    }
}

/// One run of one method on one instance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Measurement {
    pub(crate) data_set: String,
    /// Whether the grid is chosen by this instance, and no result is reported on it.
    pub(crate) is_validation: bool,
    pub(crate) instance: String,
    /// Fingerprint of the instance's data. Empty in a file of an earlier version.
    #[serde(default)]
    pub(crate) fingerprint: String,
    pub(crate) method: String,
    /// Initial step length, where it is one of a grid.
    pub(crate) eta0: Option<f64>,
    /// Number of steps that the network was told, where it was told one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) told: Option<usize>,
    /// Fingerprint of the model, where one was given.
    pub(crate) model: Option<String>,
    /// Step limit of the run.
    pub(crate) steps: usize,
    pub(crate) optimum: f64,
    /// Whether the optimum is proved to 1e-9.
    #[serde(default)]
    pub(crate) is_proved: bool,
    /// Estimated relative gap of the optimum.
    #[serde(default)]
    pub(crate) estimate: Option<f64>,
    /// Best value after 0, 1, 2, ... steps.
    pub(crate) best: Vec<f64>,
    /// Seconds from the start of the run, at the same steps.
    pub(crate) seconds: Vec<f64>,
    /// Seconds of the whole run in the oracle.
    pub(crate) oracle_seconds: f64,
    /// Seconds of the whole run in the master problem.
    pub(crate) master_seconds: f64,
    /// Seconds of the whole run in the network.
    pub(crate) network_seconds: f64,
}

/// The name of a run: data set, validation or test, instance, method, step length, steps that the network is told, model.
type Name = (String, bool, String, String, Option<u64>, Option<usize>, Option<String>);

/// The identity of a run: its name, and the fingerprint of the instance's data.
pub(crate) type Key = (Name, String);

/// A run to make.
pub(crate) struct Job<'a> {
    pub(crate) data_set: &'a str,
    pub(crate) contender: &'a Contender,
    pub(crate) example: &'a Example,
    pub(crate) optimum: &'a Optimum,
    pub(crate) is_validation: bool,
}

impl Job<'_> {
    pub(crate) fn key(&self) -> Key {
        let Contender { name, eta0, told, model, .. } = self.contender;
        let (data_set, instance) = (self.data_set.to_string(), self.example.name.clone());
        let name = (data_set, self.is_validation, instance, name.clone(), eta0.map(f64::to_bits), *told, model.clone());
        (name, self.optimum.fingerprint.clone())
    }

    /// Runs the method on the instance.
    pub(crate) fn measure(&self, steps: usize) -> Result<Measurement, Error> {
        let Self { contender, example, optimum, .. } = self;
        let steps = contender.told.unwrap_or(steps);
        let limits = Limits { steps: Some(steps), ..Limits::default() };
        let mut solver = Solver::new(Settings { limits, ..contender.settings.clone() })?;
        if let Some(start) = &example.start {
            solver = solver.start(start);
        }
        let named = |source| Error::Example { name: example.name.clone(), source };
        let solution = solver.solve(&mut *(example.oracle)()).map_err(named)?;
        Ok(Measurement {
            data_set: self.data_set.to_string(),
            is_validation: self.is_validation,
            instance: example.name.clone(),
            fingerprint: optimum.fingerprint.clone(),
            method: contender.name.clone(),
            eta0: contender.eta0,
            told: contender.told,
            model: contender.model.clone(),
            steps,
            optimum: optimum.value,
            is_proved: optimum.is_proved,
            estimate: optimum.estimate,
            best: solution.trace.iter().map(|row| row.best).collect(),
            seconds: solution.trace.iter().map(|row| row.seconds).collect(),
            oracle_seconds: solution.oracle_seconds,
            master_seconds: solution.master_seconds,
            network_seconds: solution.network_seconds,
        })
    }
}

impl Measurement {
    /// Gap in percent of the optimum after a number of steps; a run that ended earlier keeps its last value.
    pub(crate) fn gap(&self, steps: usize) -> f64 {
        let best = self.best.get(steps).or(self.best.last()).copied().unwrap_or(f64::NAN);
        gap_percent(best, self.optimum)
    }

    /// Gap in percent of the optimum after a time in seconds.
    fn gap_at(&self, seconds: f64) -> f64 {
        let steps = self.seconds.iter().take_while(|at| **at <= seconds).count();
        self.gap(steps.saturating_sub(1))
    }

    /// Steps to a gap in percent; `None` if the run never reached it.
    fn steps_to(&self, percent: f64) -> Option<usize> {
        (0..self.best.len()).find(|&steps| self.gap(steps) <= percent)
    }

    /// Seconds after a number of steps.
    pub(crate) fn seconds_after(&self, steps: usize) -> f64 {
        self.seconds.get(steps).or(self.seconds.last()).copied().unwrap_or(f64::NAN)
    }

    pub(crate) fn key(&self) -> Key {
        let Self { data_set, is_validation, instance, method, eta0, told, model, fingerprint, .. } = self.clone();
        ((data_set, is_validation, instance, method, eta0.map(f64::to_bits), told, model), fingerprint)
    }
}

/// Takes the best bound of all runs on an instance for its optimum, where the bound is better. Then the optimum is not
/// proved: a proved one is better than every bound up to its tolerance.
pub(crate) fn take_best_bounds(all: &mut [Measurement]) {
    let name = |run: &Measurement| (run.data_set.clone(), run.is_validation, run.instance.clone());
    let mut beaten = HashMap::new();
    for run in all.iter() {
        let (Some(first), Some(last)) = (run.best.first(), run.best.last()) else { continue };
        // A run improves from its start on. One that does not says nothing of the sense, and beats no optimum.
        if last == first {
            continue;
        }
        let sign = (last - first).signum();
        let advantage = sign * (last - run.optimum);
        let tolerance = Settings::exact().tolerance * run.optimum.abs().max(1.0);
        let best = beaten.entry(name(run)).or_insert((tolerance, run.optimum));
        if advantage > best.0 {
            *best = (advantage, *last);
        }
    }
    for run in all {
        if let Some((_, bound)) = beaten.get(&name(run)).filter(|(_, bound)| *bound != run.optimum) {
            let missed = (bound - run.optimum).abs() / bound.abs().max(f64::MIN_POSITIVE);
            (run.optimum, run.is_proved) = (*bound, false);
            run.estimate = run.estimate.map(|estimate| estimate.max(missed));
        }
    }
}

/// Mean and its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mean {
    pub(crate) mean: f64,
    pub(crate) error: f64,
}

impl Mean {
    pub(crate) fn of(numbers: &[f64]) -> Self {
        let count = numbers.len() as f64;
        let mean = numbers.iter().sum::<f64>() / count;
        let squares: f64 = numbers.iter().map(|number| (number - mean) * (number - mean)).sum();
        let error = if numbers.len() > 1 { (squares / (count - 1.0) / count).sqrt() } else { 0.0 };
        Self { mean, error }
    }
}

/// Runs of one method on one data set, in the order of the instances.
#[derive(Clone, Debug)]
pub(crate) struct Row<'a> {
    /// The method, and how its step length was chosen.
    pub(crate) name: String,
    /// Whether the training of its network stopped early.
    pub(crate) is_stopped: bool,
    /// For each column, the runs with the chosen step length.
    pub(crate) columns: Vec<Vec<&'a Measurement>>,
}

impl Row<'_> {
    /// Gaps of a column, by instance.
    pub(crate) fn gaps(&self, column: usize, steps: usize) -> Vec<f64> {
        self.columns[column].iter().map(|run| run.gap(steps)).collect()
    }

    /// The name, with a dagger if the training of the network stopped early.
    pub(crate) fn title(&self) -> String {
        format!("{}{}", self.name, if self.is_stopped { STOPPED } else { "" })
    }

    /// A star if not all optima are proved.
    pub(crate) fn mark(&self, column: usize) -> &'static str {
        if self.not_proved(column) > 0 { "*" } else { "" }
    }

    /// Number of runs whose optimum is not proved.
    pub(crate) fn not_proved(&self, column: usize) -> usize {
        self.columns[column].iter().filter(|run| !run.is_proved).count()
    }
}

/// The mark of a training that stopped early.
pub(crate) const STOPPED: &str = "†";

/// Says how many optima of the rows' instances are not proved, and their worst estimate.
pub(crate) fn without_proof(rows: &[Row<'_>]) -> Option<String> {
    let runs = rows.first().and_then(|row| row.columns.last()).into_iter().flatten();
    not_proved(runs.map(|run| (run.is_proved, run.estimate)))
}

/// The same as a paragraph below a table; empty if all optima are proved.
pub(crate) fn proof_note(rows: &[Row<'_>]) -> String {
    without_proof(rows).map_or_else(String::new, |note| format!("\nOptima not proved to 1e-9, marked *: {note}.\n"))
}

/// The data that the grid is chosen by.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Validation data.
    Validation,
    /// The reported data themselves, as in the paper.
    Test,
}

/// Runs by method, variant and part, in the order of the instances. The variant is the initial step length or the number
/// of steps that a network was told, as text.
struct Variants<'a>(BTreeMap<(&'a str, String, bool), Vec<&'a Measurement>>);

impl<'a> Variants<'a> {
    fn new(runs: impl Iterator<Item = &'a Measurement>) -> Self {
        let mut variants: BTreeMap<_, Vec<&Measurement>> = BTreeMap::new();
        for run in runs {
            let told = run.told.map(|steps| steps.to_string());
            let variant = run.eta0.map(|eta0| eta0.to_string()).or(told).unwrap_or_default();
            variants.entry((run.method.as_str(), variant, run.is_validation)).or_default().push(run);
        }
        variants.values_mut().for_each(|runs| runs.sort_by(|a, b| a.instance.cmp(&b.instance)));
        Self(variants)
    }

    /// The step lengths that a method has runs with.
    fn of(&self, method: &str, is_validation: bool) -> Vec<&String> {
        let keys = self.0.keys().filter(|(other, _, part)| *other == method && *part == is_validation);
        keys.map(|(_, eta0, _)| eta0).collect()
    }

    /// Mean gap by which a step length is chosen.
    fn judged(&self, method: &'a str, eta0: &str, choice: Choice, steps: usize) -> f64 {
        let part = |is_validation: bool| self.0.get(&(method, eta0.to_string(), is_validation));
        let runs = part(choice == Choice::Validation).or_else(|| part(false));
        Mean::of(&runs.into_iter().flatten().map(|run| run.gap(steps)).collect::<Vec<f64>>()).mean
    }

    /// The row of a method; `None` if nothing tells which step length to choose.
    fn row(&self, method: &'a str, columns: &[usize], choice: Choice) -> Option<Row<'a>> {
        let grid = self.of(method, false);
        let of = |variant: &str| self.0.get(&(method, variant.to_string(), false)).cloned();
        if grid.iter().any(|variant| of(variant).is_some_and(|runs| runs[0].told.is_some())) {
            let columns = columns.iter().map(|steps| of(&steps.to_string())).collect::<Option<_>>()?;
            return Some(Row { name: method.to_string(), is_stopped: false, columns });
        }
        let name = match (grid.len(), choice) {
            (0 | 1, _) => method.to_string(),
            (_, Choice::Validation) if self.of(method, true).is_empty() => return None,
            (_, Choice::Validation) => format!("{method}, grid by validation"),
            (_, Choice::Test) => format!("{method}, grid by test"),
        };
        let chosen = |&steps: &usize| {
            let judged = |eta0: &str| self.judged(method, eta0, choice, steps);
            of(grid.iter().min_by(|a, b| judged(a).total_cmp(&judged(b)))?)
        };
        Some(Row { name, is_stopped: false, columns: columns.iter().map(chosen).collect::<Option<_>>()? })
    }
}

/// The rows of a table: one for each method; where a method has a grid, the best of it in each column.
pub(crate) fn rows<'a>(all: &'a [Measurement], data_set: &str, columns: &[usize], choice: Choice) -> Vec<Row<'a>> {
    let runs = || all.iter().filter(|run| run.data_set == data_set);
    let mut methods: Vec<&str> = vec![];
    for run in runs() {
        if !methods.contains(&run.method.as_str()) {
            methods.push(&run.method);
        }
    }
    let variants = Variants::new(runs());
    methods.into_iter().filter_map(|method| variants.row(method, columns, choice)).collect()
}

/// Numbers below this are shown as 0.
const LEAST: f64 = 1e-6;

/// A number with `count` significant digits; 0 below one in a million.
pub(crate) fn digits(number: f64, count: i32) -> String {
    if number.abs() < LEAST {
        return "0".to_string();
    }
    let before = number.abs().log10().floor() as i32 + 1;
    let after = usize::try_from(count - before).unwrap_or(0);
    format!("{number:.after$}")
}

/// The head of a Markdown table.
pub(crate) fn head(titles: impl IntoIterator<Item = String>) -> String {
    let titles: Vec<String> = titles.into_iter().collect();
    format!("| {} |\n|{}\n", titles.join(" | "), "---|".repeat(titles.len()))
}

/// A table in the paper's layout, as Markdown. A cell has the mean gap with its standard error, the paper's figure in
/// brackets where there is one, and the difference to the first row in standard errors, paired by instance. A star marks
/// gaps to optima that are not all proved, a dagger a network whose training stopped early. The last column is the time of a whole run.
pub(crate) fn markdown(rows: &[Row<'_>], columns: &[usize], paper: &dyn Fn(&str, usize) -> Option<f64>) -> String {
    let steps = columns.iter().map(usize::to_string);
    let mut text = head(["method".to_string()].into_iter().chain(steps).chain(["ms".to_string()]));
    let Some(first) = rows.first() else { return text };
    for (index, row) in rows.iter().enumerate() {
        text += &format!("| {} |", row.title());
        for (column, &steps) in columns.iter().enumerate() {
            let gaps = row.gaps(column, steps);
            let Mean { mean, error } = Mean::of(&gaps);
            text += &format!(" {}{} ±{}", digits(mean, 3), row.mark(column), digits(error, 2));
            if let Some(theirs) = paper(&row.name, steps) {
                text += &format!(" ({theirs})");
            }
            let others = first.gaps(column, steps);
            let differences: Vec<f64> = gaps.iter().zip(&others).map(|(a, b)| a - b).collect();
            let Mean { mean, error } = Mean::of(&differences);
            // A difference that the table does not show is not worth a test.
            if index > 0 && error > 0.0 && mean.abs() >= LEAST && gaps.len() == others.len() {
                text += &format!(" {:+.0}σ", mean / error);
            }
            text += " |";
        }
        let last = columns.len() - 1;
        let seconds: Vec<f64> = row.columns[last].iter().map(|run| run.seconds_after(columns[last])).collect();
        text += &format!(" {} |\n", digits(1e3 * Mean::of(&seconds).mean, 3));
    }
    text
}

/// The same rows at equal times: mean gap in percent after some milliseconds, of the runs of the last column.
pub(crate) fn markdown_by_time(rows: &[Row<'_>], milliseconds: &[f64]) -> String {
    by_columns(rows, milliseconds, "ms", |runs, at| {
        let gaps: Vec<f64> = runs.iter().map(|run| run.gap_at(1e-3 * at)).collect();
        digits(Mean::of(&gaps).mean, 3)
    })
}

/// The same rows to equal gaps in percent: mean milliseconds and steps of the runs that reached the gap, and the number
/// of these runs if not all did.
pub(crate) fn markdown_to_gap(rows: &[Row<'_>], percent: &[f64]) -> String {
    by_columns(rows, percent, "%", |runs, gap| {
        let reached = || runs.iter().filter_map(|run| Some((run, run.steps_to(gap)?)));
        let steps: Vec<f64> = reached().map(|(_, steps)| steps as f64).collect();
        let seconds: Vec<f64> = reached().map(|(run, steps)| run.seconds_after(steps)).collect();
        let milliseconds = digits(1e3 * Mean::of(&seconds).mean, 3);
        let means = format!("{milliseconds} ms, {} steps", digits(Mean::of(&steps).mean, 3));
        match steps.len() {
            0 => "never".to_string(),
            count if count == runs.len() => means,
            count => format!("{means} ({count} of {})", runs.len()),
        }
    })
}

/// A table with a column for each of some numbers, from the runs of the last column of steps.
fn by_columns(rows: &[Row<'_>], columns: &[f64], unit: &str, cell: impl Fn(&[&Measurement], f64) -> String) -> String {
    let titles = columns.iter().map(|column| format!("{column} {unit}"));
    let mut text = head(["method".to_string()].into_iter().chain(titles));
    for row in rows {
        let Some(last) = row.columns.len().checked_sub(1) else { continue };
        let cells: Vec<String> = columns.iter().map(|&column| cell(&row.columns[last], column)).collect();
        text += &format!("| {}{} | {} |\n", row.title(), row.mark(last), cells.join(" | "));
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
            fingerprint: String::new(),
            method: method.to_string(),
            eta0,
            told: None,
            model: None,
            steps: 2,
            optimum: 100.0,
            is_proved: true,
            estimate: None,
            best: best.to_vec(),
            seconds: vec![0.0; best.len()],
            oracle_seconds: 0.0,
            master_seconds: 0.0,
            network_seconds: 0.0,
        }
    }

    #[test]
    fn the_grid_is_chosen_by_the_right_data() {
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

    /// A network that is told its steps has a run for each column.
    #[test]
    fn each_column_has_the_run_that_was_told_its_steps() {
        let told = |steps: usize, best: &[f64]| Measurement {
            told: Some(steps),
            steps,
            ..run("a", "network, told", None, false, best)
        };
        let all = [told(1, &[0.0, 90.0]), told(2, &[0.0, 50.0, 99.0])];
        let rows = rows(&all, "d", &[1, 2], Choice::Validation);
        assert_eq!((rows.len(), rows[0].name.as_str()), (1, "network, told"));
        assert_eq!((rows[0].gaps(0, 1), rows[0].gaps(1, 2)), (vec![10.0], vec![1.0]));
        assert_ne!(all[0].key(), all[1].key());
    }

    #[test]
    fn no_optimum_is_worse_than_a_bound_beside_it() {
        let mut all = vec![
            run("a", "auto", None, false, &[0.0, 90.0, 101.0]),
            run("a", "constant", None, false, &[0.0, 102.0]),
            run("b", "auto", None, false, &[0.0, 100.0 + 1e-9]),
            // A minimum, from above.
            run("c", "auto", None, false, &[200.0, 99.0]),
            run("d", "auto", None, false, &[200.0, 101.0]),
            run("e", "auto", None, false, &[100.0]),
            // A step length so large that no step is better than the start of a minimum.
            run("f", "adam", None, false, &[102.0, 102.0]),
        ];
        take_best_bounds(&mut all);
        let found: Vec<(f64, bool)> = all.iter().map(|run| (run.optimum, run.is_proved)).collect();
        let kept = (100.0, true);
        assert_eq!(found, [(102.0, false), (102.0, false), kept, (99.0, false), kept, kept, kept]);
        assert!(all.iter().all(|run| run.gap(9) <= 2.0) && all[1].gap(9) == 0.0);
    }

    #[test]
    fn differences_that_are_shown_as_none_have_no_sigma() {
        let gaps = |method: &str, gaps: [f64; 2]| {
            let of = |(instance, gap): (&str, f64)| run(instance, method, None, false, &[0.0, 100.0 - gap]);
            ["a", "b"].into_iter().zip(gaps).map(of).collect::<Vec<_>>()
        };
        let all = [gaps("auto", [0.0, 0.0]), gaps("near", [1e-8, 3e-8]), gaps("far", [1.0, 3.0])].concat();
        let table = markdown(&rows(&all, "d", &[1], Choice::Validation), &[1], &|_, _| None);
        assert!(table.contains("| near | 0 ±0 |") && table.contains("| far | 2.00 ±1.0 +2σ |"), "{table}");
    }

    #[test]
    fn means_have_their_errors() {
        let Mean { mean, error } = Mean::of(&[1.0, 2.0, 3.0, 4.0]);
        assert!(mean == 2.5 && (error - (5.0_f64 / 3.0 / 4.0).sqrt()).abs() < 1e-12);
    }
}
