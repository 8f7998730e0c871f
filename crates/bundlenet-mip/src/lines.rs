//! Lines of files in the family of MPS: sections of words.

use std::ops::Range;

use crate::error::{Error, at_line};

/// A number, also with the exponent of Fortran.
pub(crate) fn number(word: &str) -> Option<f64> {
    word.parse().or_else(|_| word.replacen(['d', 'D'], "e", 1).parse()).ok().filter(|number: &f64| !number.is_nan())
}

/// A line of a file, with its words.
pub(crate) struct Line<'a> {
    file: &'a str,
    pub(crate) number: usize,
    pub(crate) words: Vec<&'a str>,
    content: &'a str,
    /// Whether it begins a section: it has no blank before its first word.
    pub(crate) is_heading: bool,
}

impl Line<'_> {
    pub(crate) fn wrong(&self, expected: impl Into<String>) -> Error {
        at_line(self.file, self.number, expected, format!("{:?}", self.words.join(" ")))
    }

    pub(crate) fn number(&self, word: &str, expected: &str) -> Result<f64, Error> {
        number(word).filter(|number| number.is_finite()).ok_or_else(|| self.wrong(expected))
    }

    /// Whether names and numbers stand in the columns of the fixed format: blanks between its fields, numbers in the
    /// fourth and in the sixth one. `has_number`: the fourth one is not empty.
    pub(crate) fn is_fixed(&self, has_number: bool) -> bool {
        let part = |range: Range<usize>| {
            let bytes = self.content.trim_end().as_bytes();
            bytes.get(range.start..range.end.min(bytes.len())).unwrap_or_default()
        };
        let is_blank = |range| part(range).iter().all(|byte| *byte == b' ');
        let is_number = |range, may_be_empty: bool| {
            let text = String::from_utf8_lossy(part(range));
            (may_be_empty && text.trim().is_empty()) || number(text.trim()).is_some()
        };
        is_blank(12..14)
            && is_blank(22..24)
            && is_blank(36..39)
            && is_number(24..36, !has_number)
            && is_number(49..61, true)
    }

    pub(crate) fn is(&self, at: usize, name: &str) -> bool {
        self.words.get(at).is_some_and(|word| word.eq_ignore_ascii_case(name))
    }
}

/// Refuses a text without the line `ENDATA`: it may have been cut short.
pub(crate) fn check_end(file: &str, text: &str) -> Result<(), Error> {
    if text.lines().any(|line| line.trim_end().eq_ignore_ascii_case("ENDATA")) {
        return Ok(());
    }
    Err(at_line(file, text.lines().count().max(1), "ENDATA", "the end of the file"))
}

/// The lines of a file without comments and empty ones, up to `ENDATA`.
pub(crate) fn lines<'a>(file: &'a str, text: &'a str) -> impl Iterator<Item = Line<'a>> {
    let line = move |(index, content): (usize, &'a str)| Line {
        file,
        number: index + 1,
        content,
        words: content.split_whitespace().map(|word| word.trim_matches('\'')).collect(),
        is_heading: !content.starts_with([' ', '\t']),
    };
    let lines = text.lines().enumerate().filter(|(_, content)| !content.starts_with('*')).map(line);
    lines.filter(|line| !line.words.is_empty()).take_while(|line| !(line.is_heading && line.is(0, "ENDATA")))
}
