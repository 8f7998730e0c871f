//! Text of files, plain or gzip.

use std::fs;
use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;

use crate::error::{Error, at_line};

/// Largest file in bytes after decompression.
const MOST_BYTES: u64 = 1 << 31;

/// The bytes of a file. Gzip is recognised by its first bytes.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>, Error> {
    let wrong = |source| Error::Read { path: path.display().to_string(), source };
    let found = fs::read(path).map_err(wrong)?;
    if !found.starts_with(&[0x1f, 0x8b]) {
        return Ok(found);
    }
    let mut plain = vec![];
    MultiGzDecoder::new(&found[..]).take(MOST_BYTES + 1).read_to_end(&mut plain).map_err(wrong)?;
    if plain.len() as u64 > MOST_BYTES {
        let place = path.display().to_string();
        return Err(Error::content(place, format!("at most {MOST_BYTES} bytes"), "a larger file"));
    }
    Ok(plain)
}

/// The text of a file. Bytes that are no UTF-8 are replaced.
pub(crate) fn text(path: &Path) -> Result<String, Error> {
    bytes(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The content of a JSON file. `expected` is its content in an error.
pub(crate) fn json<'a, T: serde::Deserialize<'a>>(file: &str, text: &'a str, expected: &str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|error| {
        let message = error.to_string();
        // The line is part of the place.
        let found = message.split(" at line ").next().unwrap_or(&message);
        at_line(file, error.line().max(1), expected, found)
    })
}

/// The extension of a file, in small letters and without `.gz`.
pub(crate) fn extension(path: &Path) -> String {
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().to_lowercase());
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.rsplit_once('.').map_or_else(String::new, |(_, extension)| extension.to_string())
}
