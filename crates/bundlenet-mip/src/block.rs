//! Blocks: their kinds, and which of them are identical.

use std::collections::HashMap;
use std::fmt;

use crate::error::few;
use crate::knapsack::Knapsack;
use crate::model::Model;
use crate::structure::Part;

/// Kind of a block: the solver that it gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// A column with bounds only.
    Trivial,
    /// One row `<=` over bounded integer columns.
    Knapsack,
    /// A knapsack whose capacity depends on a 0/1 column.
    Switch,
    /// Continuous columns only: solved by HiGHS.
    Linear,
    /// Any other: solved by HiGHS.
    Mixed,
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Trivial => "trivial",
            Self::Knapsack => "knapsack",
            Self::Switch => "knapsack with a switch",
            Self::Linear => "linear program",
            Self::Mixed => "mixed-integer program",
        })
    }
}

/// The kind of a block with these columns and rows.
pub(crate) fn kind_of(part: &Model) -> Kind {
    if part.rows.is_empty() {
        return Kind::Trivial;
    }
    if part.columns.iter().all(|column| !column.is_integer) {
        return Kind::Linear;
    }
    match Knapsack::new(part) {
        Some(knapsack) if knapsack.has_switch() => Kind::Switch,
        Some(_) => Kind::Knapsack,
        None => Kind::Mixed,
    }
}

/// A block, with all blocks that are identical to it.
#[derive(Clone, Debug)]
pub struct Block {
    pub(crate) kind: Kind,
    /// Columns of each copy, in corresponding order.
    pub(crate) copies: Vec<Vec<usize>>,
    /// Rows of the first copy.
    pub(crate) rows: Vec<usize>,
    /// For each column of the first copy: multipliers and entries of the relaxed rows.
    pub(crate) coupling: Vec<Vec<(u32, f64)>>,
}

impl Block {
    /// The kind of the block.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Number of identical blocks.
    #[must_use]
    pub fn multiplicity(&self) -> usize {
        self.copies.len()
    }

    /// Columns of the first of the identical blocks.
    #[must_use]
    pub fn columns(&self) -> &[usize] {
        &self.copies[0]
    }

    /// Rows of the first of the identical blocks.
    #[must_use]
    pub fn rows(&self) -> &[usize] {
        &self.rows
    }

    /// The block in an error: its rows, or its column if it has none.
    pub(crate) fn name(&self, model: &Model) -> String {
        let names = |places: &[usize], name: &dyn Fn(usize) -> String| -> String {
            let names: Vec<String> = places.iter().map(|&place| name(place)).collect();
            few(names.iter().map(String::as_str))
        };
        if self.rows.is_empty() {
            return format!("block of column {}", names(self.columns(), &|at| model.columns[at].name.clone()));
        }
        format!("block of rows {}", names(&self.rows, &|at| model.rows[at].name.clone()))
    }
}

/// All numbers of a column, to order and compare columns: coupling, cost, bounds, kind and entries.
type Key = Vec<u64>;

fn key(part: &Model, column: usize, coupling: &[(u32, f64)]) -> Key {
    let it = &part.columns[column];
    let mut key: Key = vec![coupling.len() as u64];
    key.extend(coupling.iter().flat_map(|(multiplier, entry)| [u64::from(*multiplier), entry.to_bits()]));
    key.extend([it.cost, it.lower, it.upper].map(f64::to_bits));
    key.push(u64::from(it.is_integer));
    key
}

/// Columns and rows in an order that is the same for identical blocks, and the numbers that tell blocks apart.
fn canonical(model: &Model, part: &Part, coupling: &[Vec<(u32, f64)>]) -> (Part, Vec<u64>) {
    let local = model.part(&part.columns, &part.rows);
    let mut order: Vec<(Key, usize)> =
        part.columns.iter().enumerate().map(|(at, &column)| (key(&local, at, &coupling[column]), column)).collect();
    // Ties keep the order of the model.
    order.sort_by(|a, b| a.0.cmp(&b.0));
    let columns: Vec<usize> = order.iter().map(|(_, column)| *column).collect();
    let local = model.part(&columns, &part.rows);
    let mut rows: Vec<(Vec<u64>, usize)> = local
        .rows
        .iter()
        .zip(&part.rows)
        .map(|(row, &index)| {
            let entries = row.entries.iter().flat_map(|(at, entry)| [*at as u64, entry.to_bits()]);
            let numbers = [row.lower.to_bits(), row.upper.to_bits(), row.entries.len() as u64];
            (numbers.into_iter().chain(entries).collect(), index)
        })
        .collect();
    rows.sort();
    let mut numbers: Vec<u64> = vec![columns.len() as u64, rows.len() as u64];
    numbers.extend(order.into_iter().flat_map(|(key, _)| key));
    numbers.extend(rows.iter().flat_map(|(key, _)| key.iter().copied()));
    (Part { columns, rows: rows.into_iter().map(|(_, index)| index).collect() }, numbers)
}

/// The blocks of the parts of a model. Identical ones are put together.
pub(crate) fn blocks_of(model: &Model, parts: &[Part], coupling: &[Vec<(u32, f64)>]) -> Vec<Block> {
    let mut blocks: Vec<Block> = vec![];
    let mut known: HashMap<Vec<u64>, usize> = HashMap::new();
    for part in parts {
        let (Part { columns, rows }, numbers) = canonical(model, part, coupling);
        if let Some(&block) = known.get(&numbers) {
            blocks[block].copies.push(columns);
            continue;
        }
        known.insert(numbers, blocks.len());
        blocks.push(Block {
            kind: kind_of(&model.part(&columns, &rows)),
            coupling: columns.iter().map(|&column| coupling[column].clone()).collect(),
            copies: vec![columns],
            rows,
        });
    }
    blocks
}
