//! Reading files: decompression, whitespace-separated numbers with line numbers, places in JSON.

use std::fmt::{Arguments, Display};
use std::io::{self, Read, Write};
use std::path::Path;
use std::str::FromStr;

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::error::{Error, InvalidInstance, ParseError};

/// Most bytes of a file, decompressed. It keeps a small archive from filling the memory.
const MAX_BYTES: u64 = 1 << 28;

/// Reads a file without decompressing it.
pub(crate) fn read_file(path: &Path) -> Result<Vec<u8>, Error> {
    let read = || read_within(std::fs::File::open(path)?, MAX_BYTES);
    read().map_err(|source| Error::Read { path: path.to_path_buf(), source })
}

pub(crate) fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b])
}

/// The content of a gzip archive; other bytes as they are.
pub(crate) fn decompress(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    if is_gzip(&bytes) { read_within(MultiGzDecoder::new(bytes.as_slice()), MAX_BYTES) } else { Ok(bytes) }
}

/// A gzip archive of some bytes. Without a name and a time, equal bytes give equal archives.
pub(crate) fn compress(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(vec![], Compression::default());
    encoder.write_all(bytes)?;
    encoder.finish()
}

fn read_within(source: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        let message = format!("expected at most {limit} bytes, decompressed; found more");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

impl InvalidInstance {
    /// The same error, with its place in the file.
    pub(crate) fn at(self, file: &str, line: usize) -> ParseError {
        let Self { element, expected, found } = self;
        ParseError { file: file.to_string(), line, expected: format!("{element} to be {expected}"), found }
    }
}

/// Whitespace-separated tokens of a text, with the line each one stands on.
#[derive(Clone)]
pub(crate) struct Tokens<'a> {
    file: &'a str,
    rest: &'a str,
    line: usize,
    left: usize,
}

impl<'a> Tokens<'a> {
    pub(crate) fn new(file: &'a str, text: &'a str) -> Self {
        Self { file, rest: text, line: 1, left: text.split_ascii_whitespace().count() }
    }

    /// Line of the token read last.
    pub(crate) fn line(&self) -> usize {
        self.line
    }

    /// Drops the rest of the present line.
    pub(crate) fn skip_line(&mut self) {
        let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
        self.left -= line.split_ascii_whitespace().count();
        self.line += usize::from(line.len() < self.rest.len());
        self.rest = rest;
    }

    /// Number of tokens left, none of them consumed.
    pub(crate) fn count_left(&self) -> usize {
        self.left
    }

    pub(crate) fn next(&mut self) -> Option<&'a str> {
        let bytes = self.rest.as_bytes();
        let start = bytes.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(bytes.len());
        if start == bytes.len() {
            // A missing token is reported on the line of the last token, not after the blank lines that follow.
            self.rest = "";
            return None;
        }
        self.line += bytes[..start].iter().filter(|&&byte| byte == b'\n').count();
        let length = bytes[start..].iter().position(u8::is_ascii_whitespace).unwrap_or(bytes.len() - start);
        let token = &self.rest[start..start + length];
        self.rest = &self.rest[start + length..];
        self.left -= 1;
        Some(token)
    }

    /// An error at the token read last.
    pub(crate) fn error(&self, expected: impl Display, found: impl Display) -> ParseError {
        ParseError {
            file: self.file.to_string(),
            line: self.line,
            expected: expected.to_string(),
            found: found.to_string(),
        }
    }

    fn parse<T: FromStr>(
        &mut self,
        what: Arguments<'_>,
        kind: &str,
        accept: impl Fn(&T) -> bool,
    ) -> Result<T, ParseError> {
        let Some(token) = self.next() else {
            return Err(self.error(format_args!("{what} ({kind})"), "the end of the file"));
        };
        match token.parse() {
            Ok(number) if accept(&number) => Ok(number),
            _ => Err(self.error(format_args!("{what} ({kind})"), Quoted(token))),
        }
    }

    /// A finite real number.
    pub(crate) fn real(&mut self, what: Arguments<'_>) -> Result<f64, ParseError> {
        self.parse(what, "a finite number", |number: &f64| number.is_finite())
    }

    /// A number of things, such as nodes.
    pub(crate) fn count(&mut self, what: Arguments<'_>) -> Result<usize, ParseError> {
        self.parse(what, "a whole number", |_| true)
    }

    /// A number as [`u32`].
    pub(crate) fn integer(&mut self, what: Arguments<'_>) -> Result<u32, ParseError> {
        self.parse(what, "a whole number below 2^32", |_| true)
    }

    /// An index counted from 1 in the file, returned counted from 0.
    pub(crate) fn index(&mut self, what: Arguments<'_>, count: usize) -> Result<usize, ParseError> {
        let kind = format!("a number from 1 to {count}");
        self.parse(what, &kind, |&number: &usize| (1..=count).contains(&number)).map(|number| number - 1)
    }

    /// Fails if a token is left.
    pub(crate) fn end(&mut self) -> Result<(), ParseError> {
        match self.next() {
            None => Ok(()),
            Some(token) => Err(self.error("the end of the file", Quoted(token))),
        }
    }
}

/// A token in quotes, shortened so that a binary file does not flood the terminal.
pub(crate) struct Quoted<'a>(pub(crate) &'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const SHOWN: usize = 30;
        let shown: String = self.0.chars().take(SHOWN).collect();
        let more = if shown.len() < self.0.len() { "..." } else { "" };
        write!(formatter, "{shown:?}{more}")
    }
}

/// A step from a JSON value to one of its parts.
#[derive(Clone, Copy)]
pub(crate) enum JsonStep {
    Key(&'static str),
    Index(usize),
    /// An entry of an object by its place.
    Entry(usize),
}

/// The error of a JSON reader. It shows the word at fault, such as `NaN`, which is no JSON number.
pub(crate) fn json_error((file, text): (&str, &str), expected: &str, error: &serde_json::Error) -> ParseError {
    let word = if error.is_syntax() { word_at(text, error.line(), error.column()) } else { None };
    ParseError {
        file: file.to_string(),
        line: error.line().max(1),
        expected: expected.to_string(),
        found: word.map_or_else(|| error.to_string(), |word| format!("{}: {error}", Quoted(word))),
    }
}

/// The letters and digits around a place, line and column counted from 1.
fn word_at(text: &str, line: usize, column: usize) -> Option<&str> {
    let line = text.lines().nth(line.checked_sub(1)?)?;
    let at = column.checked_sub(1)?.min(line.len());
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    let before = line.as_bytes()[..at].iter().rev().take_while(|byte| is_word(byte)).count();
    let after = line.as_bytes()[at..].iter().take_while(|byte| is_word(byte)).count();
    line.get(at - before..at + after).filter(|word| !word.is_empty())
}

/// The line on which the value at `path` begins or ends; the first line if there is no such value.
///
/// Only for error messages: it reads the text again, up to the value.
pub(crate) fn json_line(text: &str, path: &[JsonStep]) -> usize {
    match Locate(path).deserialize(&mut serde_json::Deserializer::from_str(text)) {
        Ok(()) => 1,
        Err(stopped) => stopped.line().max(1),
    }
}

struct Locate<'a>(&'a [JsonStep]);

impl<'de> DeserializeSeed<'de> for Locate<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.0.is_empty() { deserializer.deserialize_any(Stop) } else { deserializer.deserialize_any(self) }
    }
}

/// Accepts nothing: reading ends with an error at the value that it visits.
struct Stop;

impl Visitor<'_> for Stop {
    type Value = ();

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("nothing")
    }
}

impl<'de> Visitor<'de> for Locate<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("an object or an array")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut place = 0;
        while let Some(key) = map.next_key::<String>()? {
            let is_wanted = match self.0[0] {
                JsonStep::Key(wanted) => wanted == key,
                JsonStep::Entry(wanted) => wanted == place,
                JsonStep::Index(_) => false,
            };
            if is_wanted {
                map.next_value_seed(Locate(&self.0[1..]))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
            place += 1;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<(), A::Error> {
        let JsonStep::Index(wanted) = self.0[0] else { return Err(A::Error::custom("here")) };
        for _ in 0..wanted {
            if sequence.next_element::<IgnoredAny>()?.is_none() {
                return Err(A::Error::custom("here"));
            }
        }
        sequence.next_element_seed(Locate(&self.0[1..])).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_know_their_lines() {
        let mut tokens = Tokens::new("f", " 1\n\n 2 x\n");
        assert_eq!(tokens.count_left(), 3);
        assert_eq!(tokens.real(format_args!("a")).unwrap(), 1.0);
        assert_eq!(tokens.line(), 1);
        assert_eq!(tokens.index(format_args!("b"), 2).unwrap(), 1);
        assert_eq!(tokens.line(), 3);
        let error = tokens.real(format_args!("the cost")).unwrap_err();
        assert_eq!(error.to_string(), "f: line 3: expected the cost (a finite number), found \"x\"");
        let error = tokens.count(format_args!("the size")).unwrap_err();
        assert_eq!(error.found, "the end of the file");
        assert!(Tokens::new("f", "nan").real(format_args!("a")).is_err());
        assert!(Tokens::new("f", "3").index(format_args!("a"), 2).is_err());
        assert!(Tokens::new("f", "0").index(format_args!("a"), 2).is_err());
    }

    #[test]
    fn places_in_json_are_found() {
        let text = "{\n \"a\": [1,\n 2,\n 3],\n \"b\": {\"c\": [[1],\n [2]]}\n}";
        assert_eq!(json_line(text, &[JsonStep::Key("a"), JsonStep::Index(1)]), 3);
        assert_eq!(
            json_line(text, &[JsonStep::Key("b"), JsonStep::Key("c"), JsonStep::Index(1), JsonStep::Index(0)]),
            6
        );
        assert_eq!(json_line(text, &[JsonStep::Key("missing")]), 1);
    }

    #[test]
    fn an_archive_that_swells_is_refused() {
        use std::io::Write;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&[0; 5000]).unwrap();
        let archive = encoder.finish().unwrap();
        assert_eq!(read_within(MultiGzDecoder::new(archive.as_slice()), 5000).unwrap(), [0; 5000]);
        let error = read_within(MultiGzDecoder::new(archive.as_slice()), 4999).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }
}
