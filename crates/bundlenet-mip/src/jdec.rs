//! Structures in the format `.jdec` of GCG: JSON.
//!
//! A decomposition has `master_constraints` and `blocks`, a block has `constraints` and perhaps a `decomposition` of its
//! own. GCG uses that one to solve the block; here the block is solved as a whole, so all rows in it are rows of the
//! block. GCG ignores `n_blocks`. Symmetries are found here, so those of the file are not read.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::dec::{Lists, Name, rows_of_blocks};
use crate::error::{Error, at_line};
use crate::model::Model;
use crate::text::json;

/// The version of the format.
const VERSION: u64 = 1;

#[derive(Deserialize)]
struct File<'a> {
    #[serde(borrow)]
    version: &'a RawValue,
    #[serde(borrow)]
    decomposition: Decomposition<'a>,
}

/// Names are kept as they stand in the text, so that their lines are known.
#[derive(Deserialize)]
struct Decomposition<'a> {
    #[serde(borrow)]
    master_constraints: Vec<&'a RawValue>,
    #[serde(borrow)]
    blocks: Vec<Block<'a>>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow)]
    constraints: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    decomposition: Option<Decomposition<'a>>,
}

/// A file, its text, and the places where lines end.
struct Source<'a> {
    file: &'a str,
    text: &'a str,
    ends: Vec<usize>,
}

/// The relaxed rows of a `.jdec` file.
pub(crate) fn of_jdec(model: &Model, file: &str, text: &str) -> Result<Vec<usize>, Error> {
    rows_of_blocks(model, file, &lists(file, text)?)
}

/// The lists of a file.
fn lists<'a>(file: &'a str, text: &'a str) -> Result<Lists<'a>, Error> {
    let source = Source { file, text, ends: text.match_indices('\n').map(|(end, _)| end).collect() };
    let expected = "a decomposition in JSON, with version, master_constraints, blocks and their constraints";
    let File { version, decomposition } = json(file, text, expected)?;
    if version.get().parse() != Ok(VERSION) {
        return Err(at_line(file, source.line(version), format!("version {VERSION}"), version.get()));
    }
    let mut lists = Lists { master: source.names(&decomposition.master_constraints)?, ..Lists::default() };
    for block in &decomposition.blocks {
        let mut names = vec![];
        source.add_rows(block, &mut names)?;
        lists.blocks.push(names);
    }
    Ok(lists)
}

impl<'a> Source<'a> {
    /// The line of a part of the text.
    fn line(&self, part: &RawValue) -> usize {
        let place = part.get().as_ptr() as usize - self.text.as_ptr() as usize;
        1 + self.ends.partition_point(|&end| end < place)
    }

    fn names(&self, values: &[&'a RawValue]) -> Result<Vec<Name<'a>>, Error> {
        let name = |value: &&'a RawValue| {
            let (line, text) = (self.line(value), value.get());
            let name: Result<String, _> = serde_json::from_str(text);
            name.map(|name| (line, Cow::Owned(name))).map_err(|_| at_line(self.file, line, "the name of a row", text))
        };
        values.iter().map(name).collect()
    }

    /// Adds the rows of a block, also those of blocks in it.
    fn add_rows(&self, block: &Block<'a>, names: &mut Vec<Name<'a>>) -> Result<(), Error> {
        names.extend(self.names(&block.constraints)?);
        if let Some(inner) = &block.decomposition {
            names.extend(self.names(&inner.master_constraints)?);
            inner.blocks.iter().try_for_each(|block| self.add_rows(block, names))?;
        }
        Ok(())
    }
}
