//! Candidate structures of a model. Relaxed rows have equal names but for numbers, or equal sides and entries, alone or in
//! pairs; or they link groups of columns, whatever their names.

use std::collections::{BTreeMap, HashSet};

use crate::block::{Kind, kind_of};
use crate::communities::{communities, links};
use crate::model::{Column, Model, Row};
use crate::structure::{Part, Structure};

/// Groups of rows that are tried in pairs.
const MOST_IN_PAIRS: usize = 12;

/// Groups of rows that are tried alone.
const MOST_GROUPS: usize = 60;

/// Resolutions at which groups of columns are looked for. A greater one gives more and smaller blocks.
const RESOLUTIONS: [f64; 5] = [0.25, 0.5, 1.0, 2.0, 4.0];

/// A structure that `--relax` would give.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Pattern of the names of the relaxed rows.
    pub pattern: String,
    /// Number of relaxed rows.
    pub relaxed_rows: usize,
    /// Number of blocks with rows.
    pub blocks: usize,
    /// Columns without a row in a block.
    pub loose_columns: usize,
    /// Entries of the relaxed rows, over all entries.
    pub relaxed_share: f64,
    /// Entries of the largest block, over all entries.
    pub largest_share: f64,
    /// Whether the bound may exceed that of the linear program: some block has whole columns and is not a single row of
    /// entries 1 and -1, whose relaxation is whole by itself.
    pub may_gain: bool,
    structure: Structure,
}

impl Candidate {
    /// The structure.
    #[must_use]
    pub fn structure(&self) -> &Structure {
        &self.structure
    }

    /// Whether it relaxes all rows of another candidate and more, and its largest block is no smaller.
    fn is_worse_than(&self, other: &Self) -> bool {
        self.may_gain <= other.may_gain
            && self.largest_share >= other.largest_share
            && other.structure.relaxed().all(|row| self.structure.is_relaxed(row))
    }

    /// Relaxed entries plus those of the largest block: small if few rows are relaxed and blocks are alike.
    fn size(&self) -> f64 {
        self.relaxed_share + self.largest_share
    }
}

/// The pattern of all names that differ from `name` in their numbers only.
fn pattern_of(name: &str) -> String {
    let mut pattern = "^".to_string();
    let mut letters = name.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter.is_ascii_digit() {
            while letters.next_if(char::is_ascii_digit).is_some() {}
            pattern.push_str(r"\d+");
        } else {
            pattern.push_str(&regex::escape(letter.encode_utf8(&mut [0; 4])));
        }
    }
    pattern + "$"
}

/// Structures with at least two blocks, the best first: those that may gain, then by size.
#[must_use]
pub fn candidates(model: &Model) -> Vec<Candidate> {
    let by_name = grouped(model, |row| pattern_of(&row.name)).into_iter().collect();
    let named = |rows: Vec<usize>| (pattern_of_rows(model, &rows), rows);
    let by_kind = grouped(model, kind_of_row).into_values().map(named).collect();
    // Of equal structures the first one stays: patterns of names are short.
    let all = alone_and_in_pairs(by_name).chain(alone_and_in_pairs(by_kind)).chain(linking_rows(model).map(named));
    let mut known: HashSet<Vec<usize>> = HashSet::new();
    let different = all.filter(|(_, rows)| {
        let mut rows = rows.clone();
        rows.sort_unstable();
        known.insert(rows)
    });
    let mut found: Vec<Candidate> = different.filter_map(|(pattern, rows)| candidate(model, pattern, &rows)).collect();
    found.sort_by(|a, b| b.may_gain.cmp(&a.may_gain).then(a.size().total_cmp(&b.size())));
    let mut kept: Vec<Candidate> = vec![];
    for candidate in found {
        if !kept.iter().any(|it| candidate.is_worse_than(it)) {
            kept.push(candidate);
        }
    }
    kept
}

/// For each resolution, the rows that link groups of columns.
fn linking_rows(model: &Model) -> impl Iterator<Item = Vec<usize>> {
    let columns_of = |row: &Row| row.entries.iter().map(|(column, _)| *column).collect();
    let rows: Vec<Vec<usize>> = model.rows.iter().map(columns_of).collect();
    let columns = model.columns.len();
    RESOLUTIONS.into_iter().map(move |resolution| links(&communities(columns, &rows, resolution), &rows))
}

/// Columns whose removal leaves blocks. Rows cannot be relaxed for them: each block needs copies of these columns, and the
/// relaxed rows are the equations between the copies.
#[derive(Clone, Debug)]
pub struct LinkingColumns {
    /// Names of the columns.
    pub names: Vec<String>,
    /// Number of blocks that their removal leaves.
    pub blocks: usize,
    /// Entries of the largest block, over all entries.
    pub largest_share: f64,
}

/// The columns whose removal leaves blocks, if that is a better structure than all that relaxed rows give.
#[must_use]
pub fn linking_columns(model: &Model, candidates: &[Candidate]) -> Option<LinkingColumns> {
    let best = candidates.iter().filter(|it| it.may_gain).map(Candidate::size).fold(1.0, f64::min);
    let transposed = transposed(model);
    let found =
        linking_rows(&transposed).filter_map(|rows| Some((candidate(&transposed, String::new(), &rows)?, rows)));
    let (found, rows) = found.min_by(|a, b| a.0.size().total_cmp(&b.0.size())).filter(|(it, _)| it.size() < best)?;
    let names = rows.iter().map(|&row| transposed.rows[row].name.clone()).collect();
    Some(LinkingColumns { names, blocks: found.blocks, largest_share: found.largest_share })
}

/// The matrix with rows as columns and columns as rows. Bounds and costs do not count.
fn transposed(model: &Model) -> Model {
    let column = |row: &Row| {
        let (lower, upper) = (f64::NEG_INFINITY, f64::INFINITY);
        Column { name: row.name.clone(), cost: 0.0, lower, upper, is_integer: false }
    };
    let row = |column: &Column| Row { name: column.name.clone(), lower: 0.0, upper: 0.0, entries: vec![] };
    let columns = model.rows.iter().map(column).collect();
    let mut rows: Vec<Row> = model.columns.iter().map(row).collect();
    for (index, row) in model.rows.iter().enumerate() {
        row.entries.iter().for_each(|&(column, entry)| rows[column].entries.push((index, entry)));
    }
    Model { sense: model.sense, offset: 0.0, columns, rows }
}

/// Rows by a key.
fn grouped<K: Ord>(model: &Model, key: impl Fn(&Row) -> K) -> BTreeMap<K, Vec<usize>> {
    let mut groups: BTreeMap<K, Vec<usize>> = BTreeMap::new();
    for (index, row) in model.rows.iter().enumerate() {
        groups.entry(key(row)).or_default().push(index);
    }
    groups
}

/// Sides and entries of a row, whatever its columns.
fn kind_of_row(row: &Row) -> Vec<u64> {
    let mut entries: Vec<u64> = row.entries.iter().map(|(_, entry)| entry.to_bits()).collect();
    entries.sort_unstable();
    entries.extend([row.lower, row.upper].map(f64::to_bits));
    entries
}

/// The pattern of the names of some rows.
fn pattern_of_rows(model: &Model, rows: &[usize]) -> String {
    let names: Vec<String> = rows.iter().map(|&row| regex::escape(&model.rows[row].name)).collect();
    format!("^({})$", names.join("|"))
}

/// Groups of rows, and pairs of groups if there are few. None if there are too many groups to try.
fn alone_and_in_pairs(groups: Vec<(String, Vec<usize>)>) -> impl Iterator<Item = (String, Vec<usize>)> {
    let mut tried = vec![];
    if groups.len() <= MOST_IN_PAIRS {
        for (index, (first, rows)) in groups.iter().enumerate() {
            let others = groups[index + 1..].iter();
            tried.extend(others.map(|(second, more)| (format!("{first}|{second}"), [&rows[..], more].concat())));
        }
    }
    let alone = if groups.len() <= MOST_GROUPS { groups } else { vec![] };
    alone.into_iter().chain(tried)
}

fn candidate(model: &Model, pattern: String, rows: &[usize]) -> Option<Candidate> {
    if rows.is_empty() || rows.len() == model.rows.len() {
        return None;
    }
    let structure = Structure::of_rows(model, rows.iter().copied());
    let parts = structure.parts(model);
    let blocks: Vec<&Part> = parts.iter().filter(|part| !part.rows.is_empty()).collect();
    if blocks.len() < 2 {
        return None;
    }
    let entries = |rows: &[usize]| rows.iter().map(|&row| model.rows[row].entries.len()).sum::<usize>() as f64;
    let all: f64 = entries(&(0..model.rows.len()).collect::<Vec<usize>>());
    let may_gain = |part: &&Part| {
        let part = model.part(&part.columns, &part.rows);
        let is_whole = part.rows.len() == 1 && part.rows[0].entries.iter().all(|(_, entry)| entry.abs() == 1.0);
        !is_whole && !matches!(kind_of(&part), Kind::Trivial | Kind::Linear)
    };
    Some(Candidate {
        pattern,
        relaxed_rows: rows.len(),
        loose_columns: parts.len() - blocks.len(),
        relaxed_share: entries(rows) / all,
        largest_share: blocks.iter().map(|part| entries(&part.rows)).fold(0.0, f64::max) / all,
        may_gain: blocks.iter().any(may_gain),
        blocks: blocks.len(),
        structure,
    })
}
