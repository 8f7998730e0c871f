//! Two-stage stochastic programs by dual decomposition.
//!
//! Each scenario has its own copy of the first-stage columns. The copies of all scenarios but the first are equal to
//! that of the first: `S - 1` differences per column, which are relaxed. Any multipliers give a valid bound.

use std::path::Path;

use bundlenet::Primal;

use crate::blocks::Blocks;
use crate::error::{Error, few};
use crate::general::General;
use crate::model::{Column, Model, Row};
use crate::scenario::{Scenario, check_probabilities};
use crate::structure::Structure;
use crate::{folder, smps};

/// Distance of the sum of probabilities from 1 that is not worth a word.
const EXACT: f64 = 1e-9;

/// A two-stage stochastic program.
#[derive(Clone, Debug)]
pub struct TwoStage {
    scenarios: Vec<Scenario>,
    first_stage: Vec<String>,
    /// For each scenario, its first-stage columns in its own model.
    places: Vec<Vec<usize>>,
    /// For each scenario, its first column in the extensive form.
    offsets: Vec<usize>,
    blocks: Blocks,
    warning: Option<String>,
}

impl TwoStage {
    /// Reads an SMPS program `model.cor`, with `.tim` and `.sto` beside it; plain or gzip.
    ///
    /// # Errors
    /// If a file cannot be read or understood, or as [`TwoStage::new`].
    pub fn read(core: impl AsRef<Path>) -> Result<Self, Error> {
        let (scenarios, first_stage) = smps::read(core.as_ref())?;
        Self::new(scenarios, first_stage).map_err(|error| error.in_file(core.as_ref()))
    }

    /// Reads a folder with one model file for each scenario. The first-stage columns are those that `NAME_nonants.json`
    /// lists for each scenario, as mpi-sppy writes it, or those whose names match `first_stage`. Probabilities are
    /// equal if no such file states them.
    ///
    /// # Errors
    /// As [`TwoStage::read`].
    pub fn read_folder(path: impl AsRef<Path>, first_stage: Option<&str>) -> Result<Self, Error> {
        let (scenarios, first_stage) = folder::read(path.as_ref(), first_stage)?;
        Self::new(scenarios, first_stage).map_err(|error| error.in_file(path.as_ref()))
    }

    /// The program of scenarios that share the first-stage columns with the given names.
    ///
    /// # Errors
    /// If a scenario lacks one of them, if senses differ, if probabilities do not add up to 1, or as [`Blocks::new`].
    pub fn new(mut scenarios: Vec<Scenario>, first_stage: Vec<String>) -> Result<Self, Error> {
        let warning = normalise(&mut scenarios)?;
        let places = scenarios.iter().map(|it| places_of(it, &first_stage)).collect::<Result<Vec<_>, Error>>()?;
        let sense = scenarios[0].model.sense;
        if let Some(other) = scenarios.iter().find(|it| it.model.sense != sense) {
            let place = format!("scenario {}", other.name);
            return Err(Error::content(
                place,
                format!("to {sense}, as the first"),
                format!("to {}", other.model.sense),
            ));
        }
        let (model, offsets) = extensive(&scenarios, &places, &first_stage);
        let own: usize = scenarios.iter().map(|it| it.model.rows.len()).sum();
        let structure = Structure::of_rows(&model, own..model.rows.len());
        let blocks = Blocks::new(model, &structure)?;
        Ok(Self { scenarios, first_stage, places, offsets, blocks, warning })
    }

    /// The extensive form: scenarios are blocks.
    #[must_use]
    pub fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    /// The scenarios.
    #[must_use]
    pub fn scenarios(&self) -> &[Scenario] {
        &self.scenarios
    }

    /// Names of the first-stage columns.
    #[must_use]
    pub fn first_stage(&self) -> &[String] {
        &self.first_stage
    }

    /// A correction of the data that the user should know.
    #[must_use]
    pub fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// First-stage values of each scenario among values of the extensive form.
    pub(crate) fn copies<'a>(&'a self, values: &'a [f64]) -> impl Iterator<Item = Vec<f64>> + 'a {
        let scenarios = self.offsets.iter().zip(&self.places);
        scenarios.map(|(offset, places)| places.iter().map(|place| values[offset + place]).collect())
    }

    /// The mean of the scenarios' first-stage columns in a convex combination, by name.
    #[must_use]
    pub fn mean_first_stage(&self, primal: &Primal) -> Vec<(String, f64)> {
        let values = self.blocks.values(primal);
        let mut mean = vec![0.0; self.first_stage.len()];
        for (copy, scenario) in self.copies(&values).zip(&self.scenarios) {
            mean.iter_mut().zip(copy).for_each(|(mean, value)| *mean += scenario.probability * value);
        }
        self.first_stage.iter().cloned().zip(mean).collect()
    }

    /// First-stage values with whole columns rounded.
    pub(crate) fn rounded(&self, mut values: Vec<f64>) -> Vec<f64> {
        let columns = self.places[0].iter().map(|&place| &self.scenarios[0].model.columns[place]);
        let whole = values.iter_mut().zip(columns).filter(|(_, column)| column.is_integer);
        whole.for_each(|(value, _)| *value = value.round());
        values
    }

    /// The first-stage columns of a scenario in the extensive form.
    pub(crate) fn first_stage_columns(&self, scenario: usize) -> Vec<usize> {
        self.places[scenario].iter().map(|place| self.offsets[scenario] + place).collect()
    }

    /// Cost and lower bound of a scenario with a fixed first stage, times its probability, to be minimised. They are
    /// within `accuracy` of each other if HiGHS gets there. `None` if it has no solution.
    pub(crate) fn priced(
        &self,
        scenario: usize,
        (second, accuracy): (&mut General, f64),
        first: &[f64],
    ) -> Option<(f64, f64)> {
        let Scenario { probability, model, .. } = &self.scenarios[scenario];
        let sign = model.sense.sign();
        second.fix(self.places[scenario].iter().copied().zip(first.iter().copied()));
        let costs: Vec<f64> = model.columns.iter().map(|column| sign * column.cost).collect();
        let solved = second.solve(&costs, accuracy / probability).ok()?;
        let cost = sign * model.objective(&solved.values);
        let bound = solved.bound.map_or(cost, |bound| bound + sign * model.offset);
        Some((probability * cost, probability * bound))
    }
}

/// Makes probabilities add up to 1 if they nearly do.
fn normalise(scenarios: &mut [Scenario]) -> Result<Option<String>, Error> {
    let total =
        check_probabilities(scenarios).map_err(|(expected, found)| Error::content("scenarios", expected, found))?;
    scenarios.iter_mut().for_each(|it| it.probability /= total);
    let is_off = (total - 1.0).abs() > EXACT;
    Ok(is_off.then(|| format!("probabilities add up to {total}: they are divided by it")))
}

/// The places of the first-stage columns in the model of a scenario.
fn places_of(scenario: &Scenario, first_stage: &[String]) -> Result<Vec<usize>, Error> {
    let place = |name: &String| {
        scenario.model.columns.iter().position(|column| column.name == *name).ok_or_else(|| {
            let names = few(scenario.model.columns.iter().map(|column| column.name.as_str()));
            Error::content(
                format!("scenario {}", scenario.name),
                format!("the column {name}"),
                format!("columns {names}"),
            )
        })
    };
    first_stage.iter().map(place).collect()
}

/// The extensive form, with the differences of first-stage copies after all other rows. Also the first column of each
/// scenario.
fn extensive(scenarios: &[Scenario], places: &[Vec<usize>], first_stage: &[String]) -> (Model, Vec<usize>) {
    let mut all = Model { sense: scenarios[0].model.sense, offset: 0.0, columns: vec![], rows: vec![] };
    let mut offsets = vec![];
    for Scenario { name: scenario, probability, model } in scenarios {
        let first = all.columns.len();
        offsets.push(first);
        all.offset += probability * model.offset;
        all.columns.extend(model.columns.iter().map(|column| Column {
            name: format!("{}@{scenario}", column.name),
            cost: probability * column.cost,
            ..column.clone()
        }));
        all.rows.extend(model.rows.iter().map(|row| Row {
            name: format!("{}@{scenario}", row.name),
            entries: row.entries.iter().map(|&(column, entry)| (first + column, entry)).collect(),
            ..row.clone()
        }));
    }
    for (at, scenario) in scenarios.iter().enumerate().skip(1) {
        for (column, name) in first_stage.iter().enumerate() {
            let copies = [(offsets[0] + places[0][column], 1.0), (offsets[at] + places[at][column], -1.0)];
            let name = format!("{name}@{}", scenario.name);
            all.rows.push(Row { name, lower: 0.0, upper: 0.0, entries: copies.to_vec() });
        }
    }
    (all, offsets)
}
