//! The structure of a model: its relaxed rows, and the blocks that the others form.

use std::path::Path;

use regex::Regex;

use crate::error::Error;
use crate::model::Model;
use crate::text;
use crate::{dec, jdec};

/// The rows of a model that are relaxed. The others fall into blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Structure {
    is_relaxed: Vec<bool>,
}

/// Columns and rows of a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) columns: Vec<usize>,
    pub(crate) rows: Vec<usize>,
}

impl Structure {
    /// The structure that relaxes the given rows.
    pub(crate) fn of_rows(model: &Model, rows: impl IntoIterator<Item = usize>) -> Self {
        let mut is_relaxed = vec![false; model.rows.len()];
        rows.into_iter().for_each(|row| is_relaxed[row] = true);
        Self { is_relaxed }
    }

    /// Relaxes the rows whose names match a regular expression.
    ///
    /// # Errors
    /// If the expression is none, or if it matches no row.
    pub fn of_pattern(model: &Model, pattern: &str) -> Result<Self, Error> {
        let place = || format!("pattern {pattern:?}");
        let regex = Regex::new(pattern)
            .map_err(|error| Error::content(place(), "a regular expression", error.to_string().replace('\n', " ")))?;
        let rows = model.rows.iter().enumerate().filter(|(_, row)| regex.is_match(&row.name));
        let structure = Self::of_rows(model, rows.map(|(row, _)| row));
        if structure.is_relaxed.contains(&true) {
            return Ok(structure);
        }
        let names = crate::error::few(model.rows.iter().map(|row| row.name.as_str()));
        Err(Error::content(place(), "the name of a row", format!("none that matches, rows are {names}")))
    }

    /// Reads a structure in the formats of GCG: `.dec` and `.jdec` list the rows of blocks, `.blk` their columns; plain
    /// or gzip. Of a `.jdec` file, a block with a decomposition of its own is one block.
    ///
    /// # Errors
    /// If the file cannot be read or does not fit the model.
    pub fn read(model: &Model, path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let rows = match text::extension(path).as_str() {
            "dec" => dec::of_dec(model, &name, &text::text(path)?)?,
            "jdec" => jdec::of_jdec(model, &name, &text::text(path)?)?,
            "blk" => dec::of_blk(model, &name, &text::text(path)?)?,
            found => {
                let expected = "a structure .dec, .jdec or .blk, plain or gzip";
                return Err(Error::content(name, expected, format!("extension {found:?}")));
            }
        };
        Ok(Self::of_rows(model, rows))
    }

    /// Whether a row is relaxed.
    #[must_use]
    pub fn is_relaxed(&self, row: usize) -> bool {
        self.is_relaxed[row]
    }

    /// The relaxed rows.
    pub fn relaxed(&self) -> impl Iterator<Item = usize> {
        self.is_relaxed.iter().enumerate().filter(|(_, is_relaxed)| **is_relaxed).map(|(row, _)| row)
    }

    /// The connected components of the rows that are not relaxed, in the order of their first columns. A column without
    /// such a row is a component of its own. Rows without entries belong to none.
    pub(crate) fn parts(&self, model: &Model) -> Vec<Part> {
        let mut forest = Forest::new(model.columns.len());
        let kept = || model.rows.iter().enumerate().filter(|(row, _)| !self.is_relaxed[*row]);
        for (_, row) in kept() {
            row.entries.windows(2).for_each(|pair| forest.join(pair[0].0, pair[1].0));
        }
        let mut parts: Vec<Part> = vec![];
        let mut part_of_root = vec![usize::MAX; model.columns.len()];
        for column in 0..model.columns.len() {
            let root = forest.root(column);
            if part_of_root[root] == usize::MAX {
                part_of_root[root] = parts.len();
                parts.push(Part::default());
            }
            parts[part_of_root[root]].columns.push(column);
        }
        for (index, row) in kept() {
            if let Some(&(column, _)) = row.entries.first() {
                parts[part_of_root[forest.root(column)]].rows.push(index);
            }
        }
        parts
    }
}

/// Sets of columns that are joined step by step.
struct Forest {
    parents: Vec<usize>,
}

impl Forest {
    fn new(count: usize) -> Self {
        Self { parents: (0..count).collect() }
    }

    fn root(&mut self, mut at: usize) -> usize {
        while self.parents[at] != at {
            self.parents[at] = self.parents[self.parents[at]];
            at = self.parents[at];
        }
        at
    }

    fn join(&mut self, first: usize, second: usize) {
        let (first, second) = (self.root(first), self.root(second));
        let (low, high) = (first.min(second), first.max(second));
        self.parents[high] = low;
    }
}
