//! Lines of files in the family of MPS: sections of words.

use crate::error::{Error, at_line};

/// A number, also with the exponent of Fortran.
pub(crate) fn number(word: &str) -> Option<f64> {
    word.parse().or_else(|_| word.replacen(['d', 'D'], "e", 1).parse()).ok().filter(|number: &f64| !number.is_nan())
}

/// A line of a file, with its words.
pub(crate) struct Line<'a> {
    file: &'a str,
    number: usize,
    pub(crate) words: Vec<&'a str>,
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

    pub(crate) fn is(&self, at: usize, name: &str) -> bool {
        self.words.get(at).is_some_and(|word| word.eq_ignore_ascii_case(name))
    }
}

/// The lines of a file without comments and empty ones, up to `ENDATA`.
pub(crate) fn lines<'a>(file: &'a str, text: &'a str) -> impl Iterator<Item = Line<'a>> {
    let line = move |(index, content): (usize, &'a str)| Line {
        file,
        number: index + 1,
        words: content.split_whitespace().map(|word| word.trim_matches('\'')).collect(),
        is_heading: !content.starts_with([' ', '\t']),
    };
    let lines = text.lines().enumerate().filter(|(_, content)| !content.starts_with('*')).map(line);
    lines.filter(|line| !line.words.is_empty()).take_while(|line| !(line.is_heading && line.is(0, "ENDATA")))
}
