//! Candidate structures of a model: rows of equal names but for numbers, or of equal sides and entries where names do
//! not tell, alone or in pairs.

use std::collections::BTreeMap;

use crate::block::{Kind, kind_of};
use crate::model::{Model, Row};
use crate::structure::{Part, Structure};

/// Groups of rows that are tried in pairs.
const MOST_IN_PAIRS: usize = 12;

/// Groups of rows that are tried alone.
const MOST_GROUPS: usize = 60;

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
    let found = candidates_of(model, by_name);
    if !found.is_empty() {
        return found;
    }
    // Names do not tell: rows of the same kind have the same sides and entries.
    let by_kind = grouped(model, kind_of_row).into_values().map(|rows| (pattern_of_rows(model, &rows), rows)).collect();
    candidates_of(model, by_kind)
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

fn candidates_of(model: &Model, groups: Vec<(String, Vec<usize>)>) -> Vec<Candidate> {
    if groups.len() > MOST_GROUPS {
        return vec![];
    }
    let alone = groups.iter().map(|(pattern, rows)| (pattern.clone(), rows.clone()));
    let mut tried: Vec<(String, Vec<usize>)> = alone.collect();
    if groups.len() <= MOST_IN_PAIRS {
        for (index, (first, rows)) in groups.iter().enumerate() {
            let others = groups[index + 1..].iter();
            tried.extend(others.map(|(second, more)| (format!("{first}|{second}"), [&rows[..], more].concat())));
        }
    }
    let mut found: Vec<Candidate> =
        tried.into_iter().filter_map(|(pattern, rows)| candidate(model, pattern, rows)).collect();
    found.sort_by(|a, b| b.may_gain.cmp(&a.may_gain).then(a.size().total_cmp(&b.size())));
    found
}

fn candidate(model: &Model, pattern: String, rows: Vec<usize>) -> Option<Candidate> {
    if rows.len() == model.rows.len() {
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
        relaxed_share: entries(&rows) / all,
        largest_share: blocks.iter().map(|part| entries(&part.rows)).fold(0.0, f64::max) / all,
        may_gain: blocks.iter().any(may_gain),
        blocks: blocks.len(),
        structure,
    })
}
