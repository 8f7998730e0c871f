//! Structures in the formats `.dec` and `.blk` of GCG.
//!
//! `.dec` and `.blk` are lists of names under headings: `PRESOLVED`, `NBLOCKS`, `BLOCK 1`, `MASTERCONSS`, in any case
//! of letters. GCG counts blocks from 1, SCIP from 0. A `.dec` file names rows, a `.blk` file names columns. A `.jdec`
//! file is a `.dec` file in JSON: see `jdec.rs`. A row that no block names is relaxed.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::error::{Error, at_line};
use crate::model::Model;

/// A name and its line.
pub(crate) type Name<'a> = (usize, Cow<'a, str>);

/// The lists of a file.
#[derive(Debug, Default)]
pub(crate) struct Lists<'a> {
    pub(crate) blocks: Vec<Vec<Name<'a>>>,
    pub(crate) master: Vec<Name<'a>>,
}

/// The part of a file that a line belongs to.
#[derive(Clone, Copy)]
enum Heading {
    None,
    Count,
    /// With its number in the file.
    Block(usize),
    Master,
    /// Headings without meaning here: `PRESOLVED`, `CONSDEFAULTMASTER`, `LINKINGVARS`, `MASTERVARS`, `BLOCKVARS`.
    Ignored,
}

/// The heading that a line is, if it is one.
fn heading(words: &[&str]) -> Option<Heading> {
    Some(match words[0].to_ascii_uppercase().as_str() {
        "NBLOCKS" => Heading::Count,
        "BLOCK" | "BLOCKCONSS" => Heading::Block(words.get(1)?.parse().ok()?),
        "MASTERCONSS" => Heading::Master,
        "PRESOLVED" | "CONSDEFAULTMASTER" | "LINKINGVARS" | "MASTERVARS" | "BLOCKVARS" | "END" => Heading::Ignored,
        _ => return None,
    })
}

fn names<'a>(line: usize, words: &[&'a str]) -> impl Iterator<Item = Name<'a>> {
    words.iter().map(move |&word| (line, Cow::Borrowed(word)))
}

fn lists<'a>(file: &str, text: &'a str) -> Result<Lists<'a>, Error> {
    let mut lists = Lists::default();
    // The number of the last block, and the number of blocks that the file states, with its line.
    let (mut under, mut last, mut count) = (Heading::None, None, None);
    for (index, content) in text.lines().enumerate() {
        let line = index + 1;
        let words: Vec<&str> = content.split_whitespace().collect();
        if words.first().is_none_or(|word| word.starts_with('\\')) {
            continue;
        }
        if let Some(heading) = heading(&words) {
            if let Heading::Block(number) = heading {
                let next = last.map_or(number.min(1), |last| last + 1);
                if number != next {
                    return Err(at_line(file, line, format!("block {next}"), format!("block {number}")));
                }
                last = Some(number);
                lists.blocks.push(vec![]);
            }
            under = heading;
            continue;
        }
        match under {
            Heading::None => return Err(at_line(file, line, "a heading such as NBLOCKS", format!("{content:?}"))),
            Heading::Ignored => {}
            Heading::Count => {
                let number = words[0].parse::<usize>();
                let number = number.map_err(|_| at_line(file, line, "a number of blocks", format!("{content:?}")))?;
                count = Some((number, line));
            }
            Heading::Block(_) => lists.blocks.last_mut().into_iter().for_each(|it| it.extend(names(line, &words))),
            Heading::Master => lists.master.extend(names(line, &words)),
        }
    }
    match count {
        Some((stated, line)) if stated != lists.blocks.len() => {
            let found = format!("NBLOCKS {stated} and {} lists", lists.blocks.len());
            Err(at_line(file, line, "as many blocks as NBLOCKS states", found))
        }
        _ if lists.blocks.is_empty() && lists.master.is_empty() => {
            Err(at_line(file, text.lines().count().max(1), "blocks or MASTERCONSS", "the end of the file"))
        }
        _ => Ok(lists),
    }
}

/// The block of each row or column that the lists name; 0 is the master. Names are looked up in `places`.
fn assigned(
    file: &str,
    lists: &Lists<'_>,
    thing: &str,
    places: &HashMap<&str, usize>,
) -> Result<Vec<Option<usize>>, Error> {
    let mut owner = vec![None; places.len()];
    let blocks = lists.blocks.iter().enumerate().map(|(index, names)| (index + 1, names));
    for (block, names) in std::iter::once((0, &lists.master)).chain(blocks) {
        for (line, name) in names {
            let (line, name) = (*line, name.as_ref());
            let expected = format!("the name of a {thing} of the model");
            let &place = places.get(name).ok_or_else(|| at_line(file, line, expected, format!("{name:?}")))?;
            if owner[place].is_some_and(|other| other != block) {
                return Err(at_line(file, line, format!("each {thing} in one list"), format!("{name:?} in two")));
            }
            owner[place] = Some(block);
        }
    }
    Ok(owner)
}

/// The relaxed rows of a `.dec` file.
pub(crate) fn of_dec(model: &Model, file: &str, text: &str) -> Result<Vec<usize>, Error> {
    rows_of_blocks(model, file, &lists(file, text)?)
}

/// The relaxed rows if blocks are lists of rows.
pub(crate) fn rows_of_blocks(model: &Model, file: &str, lists: &Lists<'_>) -> Result<Vec<usize>, Error> {
    let places =
        model.rows.iter().enumerate().map(|(place, row)| (row.name.as_str(), place)).collect::<HashMap<_, _>>();
    check_names(file, "row", places.len(), model.rows.len())?;
    let owner = assigned(file, lists, "row", &places)?;
    let block_of = |row: usize| owner[row].filter(|&block| block > 0);
    let line_of = |row: usize| {
        let mut names = lists.blocks.iter().flatten();
        names.find(|(_, name)| *name == model.rows[row].name).map_or(1, |(line, _)| *line)
    };
    let mut of_column: Vec<Option<(usize, usize)>> = vec![None; model.columns.len()];
    for (index, row) in model.rows.iter().enumerate() {
        let Some(block) = block_of(index) else { continue };
        for &(column, _) in &row.entries {
            match of_column[column] {
                Some((other, other_row)) if other != block => {
                    let (first, second) = (&model.rows[other_row].name, &row.name);
                    return Err(at_line(
                        file,
                        line_of(index).max(line_of(other_row)),
                        format!("rows of one block for column {}", model.columns[column].name),
                        format!("row {first} of block {other} and row {second} of block {block}"),
                    ));
                }
                _ => of_column[column] = Some((block, index)),
            }
        }
    }
    Ok((0..model.rows.len()).filter(|&row| block_of(row).is_none()).collect())
}

/// The relaxed rows of a `.blk` file. A row is relaxed unless all its columns are in one block.
pub(crate) fn of_blk(model: &Model, file: &str, text: &str) -> Result<Vec<usize>, Error> {
    let columns = model.columns.iter().enumerate();
    let places = columns.map(|(place, column)| (column.name.as_str(), place)).collect::<HashMap<_, _>>();
    check_names(file, "column", places.len(), model.columns.len())?;
    let owner = assigned(file, &lists(file, text)?, "column", &places)?;
    let is_relaxed = |&row: &usize| {
        let entries = &model.rows[row].entries;
        entries.windows(2).any(|pair| owner[pair[0].0] != owner[pair[1].0])
    };
    Ok((0..model.rows.len()).filter(is_relaxed).collect())
}

/// Names must tell rows or columns apart.
fn check_names(file: &str, thing: &str, names: usize, count: usize) -> Result<(), Error> {
    if names == count {
        return Ok(());
    }
    Err(Error::content(file, format!("a model with a name for each {thing}"), format!("{names} names of {count}")))
}
