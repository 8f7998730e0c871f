//! Stochastic programs in the format SMPS: a core model `.cor`, its periods `.tim` and its scenarios `.sto`.
//!
//! Supported are two periods in the order of the core model, and the sections `SCENARIOS`, `INDEP` and `BLOCKS` with
//! discrete values that replace those of the core.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::error::{Error, at_line};
use crate::lines::{Line, check_end, lines};
use crate::model::{Model, Row};
use crate::scenario::{Scenario, check_probabilities};
use crate::text;

/// Most scenarios that independent values may make.
const MOST_SCENARIOS: usize = 10_000;

/// A number of the model that differs between scenarios.
#[derive(Clone, Debug, PartialEq)]
enum Place {
    Cost(usize),
    Offset,
    Side(usize),
    Entry { row: usize, column: usize },
    Lower(usize),
    Upper(usize),
    Fixed(usize),
}

type Change = (Place, f64);

/// The core model with the names of its rows, columns and objective.
struct Core<'a> {
    model: &'a Model,
    rows: HashMap<&'a str, usize>,
    columns: HashMap<&'a str, usize>,
    objective: String,
}

/// The file beside `core` with another extension, plain or gzip.
fn beside(core: &Path, extension: &str) -> Result<PathBuf, Error> {
    let name = core.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let plain = name.strip_suffix(".gz").unwrap_or(&name);
    let stem = plain.rsplit_once('.').map_or(plain, |(stem, _)| stem);
    let found = [format!("{stem}.{extension}"), format!("{stem}.{extension}.gz")];
    let paths = found.iter().map(|name| core.with_file_name(name));
    paths
        .into_iter()
        .find(|path| path.is_file())
        .ok_or_else(|| Error::content(core.display().to_string(), format!("the file {} beside it", found[0]), "none"))
}

/// Reads `model.cor`, with `model.tim` and `model.sto` beside it. Returns the scenarios and the names of the
/// first-stage columns.
pub(crate) fn read(core: &Path) -> Result<(Vec<Scenario>, Vec<String>), Error> {
    let (periods, scenarios) = (beside(core, "tim")?, beside(core, "sto")?);
    let (core_name, core_text) = (core.display().to_string(), text::text(core)?);
    let model = Model::parse(&core_name, core_text.as_bytes(), "mps")?;
    let objective = objective(&core_name, &core_text)?;
    let second = second_period(&model, &periods.display().to_string(), &text::text(&periods)?)?;
    let scenarios = scenarios_of(&model, &objective, &scenarios.display().to_string(), &text::text(&scenarios)?)?;
    let first_stage = model.columns[..second].iter().map(|column| column.name.clone()).collect();
    Ok((scenarios, first_stage))
}

/// The name of the objective: the first row of type N.
fn objective(file: &str, text: &str) -> Result<String, Error> {
    let mut rows = lines(file, text).skip_while(|line| !(line.is_heading && line.is(0, "ROWS"))).skip(1);
    let objective = rows.find(|line| line.is(0, "N")).and_then(|line| line.words.get(1).map(|name| name.to_string()));
    objective.ok_or_else(|| at_line(file, text.lines().count().max(1), "a row of type N", "the end of the file"))
}

/// The first column of the second period.
fn second_period(model: &Model, file: &str, text: &str) -> Result<usize, Error> {
    check_end(file, text)?;
    let mut firsts = vec![];
    for line in lines(file, text) {
        if line.is_heading {
            if line.is(0, "PERIODS") && line.is(1, "EXPLICIT") {
                return Err(line.wrong("periods in the order of the core model (IMPLICIT)"));
            }
            continue;
        }
        let column = model.columns.iter().position(|column| column.name == line.words[0]);
        let column = column.ok_or_else(|| line.wrong("a column of the core model, a row and a period"))?;
        match firsts.len() {
            0 if column > 0 => return Err(line.wrong(format!("the first column, {}", model.columns[0].name))),
            1 if column == 0 => return Err(line.wrong("a column after the first one")),
            2 => return Err(line.wrong("no more than two periods")),
            _ => firsts.push(column),
        }
    }
    match firsts[..] {
        [_, second] => Ok(second),
        _ => Err(at_line(file, text.lines().count().max(1), "two periods", format!("{}", firsts.len()))),
    }
}

/// A scenario before its changes are applied.
struct Draft {
    name: String,
    line: usize,
    probability: f64,
    changes: Vec<Change>,
}

/// A random number, or a block of them, with its values and their probabilities.
struct Element {
    key: String,
    /// The line of its last value.
    line: usize,
    values: Vec<(Vec<Change>, f64)>,
}

/// Reads a `.sto` file.
fn scenarios_of(model: &Model, objective: &str, file: &str, text: &str) -> Result<Vec<Scenario>, Error> {
    check_end(file, text)?;
    let core = Core {
        model,
        rows: model.rows.iter().enumerate().map(|(at, row)| (row.name.as_str(), at)).collect(),
        columns: model.columns.iter().enumerate().map(|(at, column)| (column.name.as_str(), at)).collect(),
        objective: objective.to_string(),
    };
    let (mut drafts, mut elements): (Vec<Draft>, Vec<Element>) = (vec![], vec![]);
    // The block whose numbers follow.
    let (mut section, mut open) = (String::new(), None);
    for line in lines(file, text) {
        if line.is_heading {
            section = heading(&line)?;
            continue;
        }
        match section.as_str() {
            "SCENARIOS" if line.is(0, "SC") => drafts.push(draft(&line, &drafts)?),
            "SCENARIOS" => {
                let changes = core.changes(&line, &line.words)?;
                let draft = drafts.last_mut().ok_or_else(|| line.wrong("a line SC before its numbers"))?;
                draft.changes.extend(changes);
            }
            "INDEP" => core.independent(&line, &mut elements)?,
            "BLOCKS" if line.is(0, "BL") => block(&line, &mut elements, &mut open)?,
            "BLOCKS" => {
                let value = open.and_then(|at: usize| elements[at].values.last_mut());
                let (changes, _) = value.ok_or_else(|| line.wrong("a line BL before its numbers"))?;
                changes.extend(core.changes(&line, &line.words)?);
            }
            _ => return Err(line.wrong("a section SCENARIOS, INDEP or BLOCKS")),
        }
    }
    elements.iter().try_for_each(|element| same_places(file, element))?;
    if !elements.is_empty() {
        drafts = product(file, drafts, &elements)?;
    }
    let last = drafts.iter().map(|draft| draft.line).max().unwrap_or_else(|| text.lines().count().max(1));
    let scenarios = drafts.into_iter().map(|draft| scenario(model, file, draft)).collect::<Result<Vec<_>, Error>>()?;
    check_probabilities(&scenarios).map_err(|(expected, found)| at_line(file, last, expected, found))?;
    Ok(scenarios)
}

/// The section that a heading begins.
fn heading(line: &Line<'_>) -> Result<String, Error> {
    let is_usual = |word: &&str| ["DISCRETE", "REPLACE"].contains(&word.to_ascii_uppercase().as_str());
    match line.words[0].to_ascii_uppercase().as_str() {
        "STOCH" => Ok(String::new()),
        name @ ("SCENARIOS" | "INDEP" | "BLOCKS") if line.words[1..].iter().all(is_usual) => Ok(name.to_string()),
        _ => Err(line.wrong("SCENARIOS, INDEP or BLOCKS with DISCRETE values that REPLACE those of the core")),
    }
}

/// A line `BL name period probability`: the next values of a block, which is a random vector. Blocks are independent.
fn block(line: &Line<'_>, elements: &mut Vec<Element>, open: &mut Option<usize>) -> Result<(), Error> {
    let expected = "BL, the name of a block, a period, a probability of at least 0";
    let [_, name, _, probability] = line.words[..] else { return Err(line.wrong(expected)) };
    let probability = line.number(probability, expected)?;
    if probability < 0.0 {
        return Err(line.wrong(expected));
    }
    // A name of INDEP has two words.
    let known = elements.iter().position(|element| element.key == name);
    let at = known.unwrap_or(elements.len());
    if known.is_none() {
        elements.push(Element { key: name.to_string(), line: line.number, values: vec![] });
    }
    elements[at].line = line.number;
    elements[at].values.push((vec![], probability));
    *open = Some(at);
    Ok(())
}

/// An error unless all values of a random vector are for the same numbers: whether numbers that a later value leaves out
/// are those of the first value or of the one before is not the same in all programs.
fn same_places(file: &str, element: &Element) -> Result<(), Error> {
    let places = |(changes, _): &(Vec<Change>, f64)| {
        let mut places: Vec<String> = changes.iter().map(|(place, _)| format!("{place:?}")).collect();
        places.sort_unstable();
        places
    };
    let first = element.values.first().map(places);
    match element.values.iter().position(|value| Some(places(value)) != first) {
        Some(at) => {
            let found = format!("other ones in value {}", at + 1);
            let expected = format!("all values of block {} for the same numbers", element.key);
            Err(at_line(file, element.line, expected, found))
        }
        None => Ok(()),
    }
}

/// A line `SC name parent probability period`. A scenario begins with the numbers of its parent.
fn draft(line: &Line<'_>, known: &[Draft]) -> Result<Draft, Error> {
    let expected = "SC, name, parent, probability, period";
    let [_, name, parent, probability, ..] = line.words[..] else { return Err(line.wrong(expected)) };
    let probability = line.number(probability, expected)?;
    if probability < 0.0 {
        return Err(line.wrong("a probability of at least 0"));
    }
    let changes = match known.iter().find(|draft| draft.name == parent) {
        Some(draft) => draft.changes.clone(),
        None if parent.eq_ignore_ascii_case("ROOT") => vec![],
        None => return Err(line.wrong("ROOT or an earlier scenario as the parent")),
    };
    Ok(Draft { name: name.to_string(), line: line.number, probability, changes })
}

impl Core<'_> {
    /// The changes of a line: a column or a right side, then rows and numbers; or a bound.
    fn changes(&self, line: &Line<'_>, words: &[&str]) -> Result<Vec<Change>, Error> {
        if let [kind @ ("UP" | "LO" | "FX"), _, column, number] = words {
            let &column = self.columns.get(column).ok_or_else(|| line.wrong("a column of the core model"))?;
            let number = line.number(number, "a finite bound")?;
            let place = match *kind {
                "UP" => Place::Upper(column),
                "LO" => Place::Lower(column),
                _ => Place::Fixed(column),
            };
            return Ok(vec![(place, number)]);
        }
        let expected = "a column or a right side, then rows and numbers";
        if words.len() < 3 || words.len().is_multiple_of(2) {
            return Err(line.wrong(expected));
        }
        let change = |pair: &[&str]| Ok((self.place(line, words[0], pair[0])?, line.number(pair[1], expected)?));
        words[1..].chunks(2).map(change).collect()
    }

    /// The number at a column, or right side, and a row.
    fn place(&self, line: &Line<'_>, column: &str, row: &str) -> Result<Place, Error> {
        let known_row = self.rows.get(row).copied();
        match (self.columns.get(column).copied(), known_row) {
            (Some(column), _) if row == self.objective => Ok(Place::Cost(column)),
            (Some(column), Some(row)) => Ok(Place::Entry { row, column }),
            // A right side has a name of its own.
            (None, _) if row == self.objective => Ok(Place::Offset),
            (None, Some(row)) => {
                let Row { lower, upper, .. } = self.model.rows[row];
                if lower.is_finite() && upper.is_finite() && lower != upper {
                    return Err(line.wrong("a right side of a row with one side"));
                }
                Ok(Place::Side(row))
            }
            _ => Err(line.wrong("a row of the core model")),
        }
    }

    /// A line of independent values: place, number, perhaps a period, probability.
    fn independent(&self, line: &Line<'_>, elements: &mut Vec<Element>) -> Result<(), Error> {
        let expected = "a column or a right side, a row, a number, perhaps a period, a probability";
        let [column, row, number, .., probability] = line.words[..] else { return Err(line.wrong(expected)) };
        let changes = self.changes(line, &[column, row, number])?;
        let probability = line.number(probability, expected)?;
        if probability < 0.0 || line.words.len() > 5 {
            return Err(line.wrong(expected));
        }
        let key = format!("{column} {row}");
        match elements.iter_mut().find(|element| element.key == key) {
            Some(element) => {
                element.line = line.number;
                element.values.push((changes, probability));
            }
            None => elements.push(Element { key, line: line.number, values: vec![(changes, probability)] }),
        }
        Ok(())
    }
}

/// All combinations of independent values.
fn product(file: &str, drafts: Vec<Draft>, elements: &[Element]) -> Result<Vec<Draft>, Error> {
    if let Some(draft) = drafts.first() {
        return Err(at_line(file, draft.line, "either SCENARIOS, or INDEP and BLOCKS", "both"));
    }
    let count = elements.iter().fold(1_usize, |count, element| count.saturating_mul(element.values.len()));
    if count > MOST_SCENARIOS {
        let last = elements.iter().map(|element| element.line).max().unwrap_or(1);
        return Err(at_line(file, last, format!("at most {MOST_SCENARIOS} combinations"), format!("{count}")));
    }
    let mut all = vec![Draft { name: String::new(), line: 1, probability: 1.0, changes: vec![] }];
    for element in elements {
        let with = |draft: &Draft, (changes, probability): &(Vec<Change>, f64)| Draft {
            name: String::new(),
            line: draft.line.max(element.line),
            probability: draft.probability * probability,
            changes: [&draft.changes[..], changes].concat(),
        };
        all = all.iter().flat_map(|draft| element.values.iter().map(move |value| with(draft, value))).collect();
    }
    let named = all.into_iter().enumerate().map(|(at, draft)| Draft { name: format!("SCEN{}", at + 1), ..draft });
    Ok(named.collect())
}

/// The core model with the changes of a scenario.
fn scenario(core: &Model, file: &str, draft: Draft) -> Result<Scenario, Error> {
    let mut model = core.clone();
    for (place, number) in draft.changes {
        match place {
            Place::Cost(column) => model.columns[column].cost = number,
            Place::Offset => model.offset = -number,
            Place::Lower(column) => model.columns[column].lower = number,
            Place::Upper(column) => model.columns[column].upper = number,
            Place::Fixed(column) => (model.columns[column].lower, model.columns[column].upper) = (number, number),
            Place::Side(row) => {
                let row = &mut model.rows[row];
                let (lower, upper) = (row.lower.is_finite(), row.upper.is_finite());
                if lower {
                    row.lower = number;
                }
                if upper {
                    row.upper = number;
                }
            }
            Place::Entry { row, column } => {
                let entries = &mut model.rows[row].entries;
                entries.retain(|(other, _)| *other != column);
                if number != 0.0 {
                    entries.push((column, number));
                }
            }
        }
    }
    if let Some(column) = model.columns.iter().find(|column| column.lower > column.upper) {
        let expected = format!("bounds of column {} in scenario {} with a value between them", column.name, draft.name);
        return Err(at_line(file, draft.line, expected, format!("{} and {}", column.lower, column.upper)));
    }
    Ok(Scenario { name: draft.name, probability: draft.probability, model })
}
