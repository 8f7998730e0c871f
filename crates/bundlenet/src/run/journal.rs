//! States in files: a header, then one record for each step. `docs/formats.md` describes the bytes.
//!
//! A new file is written under a temporary name and then replaces the old one; so is a file that has become too large.
//! Otherwise a step is appended with one system call: a kill at any moment loses at most the last record. A record
//! holds the new cuts. From time to time it holds all cuts and replaces the records before it, so that removed cuts
//! disappear.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::drive::Run;
use super::state::{Memory, State};
use crate::error::Error;
use crate::files::{Lock, regular, write_whole};
use crate::method::Minimize;
use crate::model::{SavedCut, SavedCuts, StepLength};
use crate::oracle::{CutsOf, Fingerprint, Primal, Sense};

const MAGIC: &[u8; 16] = b"bundlenet state\n";

/// Version that is written. Version 1 is read, too: it has no primal solutions.
const VERSION: u32 = 2;

/// A record holds all cuts when the records since the last such one exceed `GROWTH` times its size and `LEAST_GROWTH`
/// bytes.
const GROWTH: usize = 2;
const LEAST_GROWTH: usize = 1 << 18;

/// A file is rewritten when it exceeds `MOST_RECORDS` times its last record with all cuts and `LEAST_REPLACED` bytes.
/// Replacing a file can take as long as many steps.
const MOST_RECORDS: usize = 16;
const LEAST_REPLACED: usize = 1 << 25;

/// The header: data that all records of a file share.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    multipliers: usize,
    /// Whether the user has declared the cuts valid.
    #[serde(default)]
    is_trusted: bool,
    function: Option<FunctionHeader>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FunctionHeader {
    is_maximized: bool,
    scale: f64,
    cuts_of: CutsOf,
    fingerprints: Vec<Option<u64>>,
}

/// The changes of one step. If `point` is empty, the last point still holds.
struct Record<'a> {
    steps: usize,
    point: &'a [f64],
    value: Option<f64>,
    step_length: Option<StepLength>,
    cuts: &'a SavedCuts,
    /// Whether these are all cuts. Otherwise they are added to those before.
    is_complete: bool,
}

/// A file that holds the state of a run after every step, for [`Solver::journal`](crate::Solver::journal).
///
/// Each record is passed to the operating system before an observer sees the step, so it survives the end of the
/// process. It is not forced onto the disk: after a power failure the last seconds may be missing.
///
/// The file belongs to one journal at a time, which a file beside it with the ending `.lock` ensures.
pub struct Journal {
    path: PathBuf,
    _lock: Lock,
    /// The open file. `None` before the run begins.
    file: Option<File>,
    buffer: Vec<u8>,
    /// Number and epoch of the newest cut in the file.
    newest: u64,
    epoch: u32,
    /// The best value in the file.
    value: Option<f64>,
    /// Bytes of the last record with all cuts, of all records since, and of the whole file.
    complete_bytes: usize,
    appended_bytes: usize,
    file_bytes: usize,
    failure: Option<Error>,
}

impl Journal {
    /// Prepares a journal at `path`. An existing file, such as the state that the run begins with, stays until the run
    /// has begun.
    ///
    /// # Errors
    /// If `path` is not a regular file, if another journal uses it, or if the folder cannot be written to.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = regular(path.as_ref())?;
        // The lock finds an unwritable folder now, and not after hours of work.
        let lock = Lock::of_file(&path)?;
        Ok(Self {
            path,
            _lock: lock,
            file: None,
            buffer: vec![],
            newest: 0,
            epoch: 0,
            value: None,
            complete_bytes: 0,
            appended_bytes: 0,
            file_bytes: 0,
            failure: None,
        })
    }

    /// Ends the journal and reports the first failure.
    ///
    /// # Errors
    /// The first failure of a write. No later step is written, and the file holds the state before the failure.
    pub fn finish(self) -> Result<(), Error> {
        self.failure.map_or(Ok(()), Err)
    }

    /// Writes the changes of the last step.
    pub(crate) fn record<M: Minimize + ?Sized>(&mut self, run: &mut Run<'_, M>, begun_with: &State) {
        if self.failure.is_none()
            && let Err(error) = self.try_record(run, begun_with)
        {
            self.failure = Some(error);
        }
    }

    fn try_record<M: Minimize + ?Sized>(&mut self, run: &mut Run<'_, M>, begun_with: &State) -> Result<(), Error> {
        let is_full = self.file_bytes > LEAST_REPLACED.max(MOST_RECORDS * self.complete_bytes);
        let Some(file) = self.file.as_mut().filter(|_| !is_full) else {
            return self.begin(run, begun_with);
        };
        let mut saved = run.save(self.newest);
        let is_grown = self.appended_bytes > LEAST_GROWTH.max(GROWTH * self.complete_bytes);
        let is_complete = saved.as_ref().is_some_and(|saved| saved.epoch != self.epoch || is_grown);
        if is_complete {
            saved = run.save(0);
        }
        let none = SavedCuts::default();
        let value = run.best_value();
        let record = Record {
            steps: begun_with.steps() + run.steps,
            point: if self.value == Some(value) { &[] } else { &run.best_point },
            value: Some(value),
            step_length: saved.as_ref().and_then(|saved| saved.step_length),
            cuts: saved.as_ref().map_or(&none, |saved| &saved.cuts),
            is_complete,
        };
        self.buffer.clear();
        record.write(&mut self.buffer);
        file.write_all(&self.buffer).map_err(|source| Error::Write { path: self.path.clone(), source })?;
        let bytes = self.buffer.len();
        self.file_bytes += bytes;
        (self.complete_bytes, self.appended_bytes) =
            if is_complete { (bytes, 0) } else { (self.complete_bytes, self.appended_bytes + bytes) };
        (self.newest, self.epoch) = saved.map_or((0, 0), |saved| (saved.newest, saved.epoch));
        self.value = Some(value);
        Ok(())
    }

    /// Writes a new file.
    fn begin<M: Minimize + ?Sized>(&mut self, run: &mut Run<'_, M>, begun_with: &State) -> Result<(), Error> {
        let state = run.state(begun_with);
        let bytes = state.to_bytes();
        // Some systems cannot replace an open file.
        self.file = None;
        write_whole(&self.path, &bytes)?;
        let file = OpenOptions::new().append(true).open(&self.path);
        self.file = Some(file.map_err(|source| Error::Write { path: self.path.clone(), source })?);
        (self.newest, self.epoch) = run.save(u64::MAX).map_or((0, 0), |saved| (saved.newest, saved.epoch));
        self.value = Some(run.best_value());
        (self.complete_bytes, self.appended_bytes, self.file_bytes) = (bytes.len(), 0, bytes.len());
        Ok(())
    }
}

impl State {
    /// Whether the bytes begin like those of a state.
    #[must_use]
    pub fn is_state(bytes: &[u8]) -> bool {
        bytes.starts_with(MAGIC)
    }

    /// Reads a state that [`State::save`] or a [`Journal`] has written. If a record is damaged or incomplete, the state is
    /// that of the records before it, and [`State::damage`] says so.
    ///
    /// # Errors
    /// If the file cannot be read, is not a state, or has no whole record.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|source| Error::Read { path: path.to_path_buf(), source })?;
        Self::parse(path, &bytes)
    }

    /// Parses the bytes of a state, as [`State::read`]. Errors name the file by `path`.
    ///
    /// # Errors
    /// If the bytes are not a state, or have no whole record.
    pub fn parse(path: impl AsRef<Path>, bytes: &[u8]) -> Result<Self, Error> {
        parse(bytes).map_err(|Unexpected { expected, found }| Error::Content {
            path: path.as_ref().to_path_buf(),
            expected,
            found,
        })
    }

    /// A state from the bytes of [`State::to_bytes`] or of a file, as [`State::read`].
    ///
    /// ```
    /// use bundlenet::State;
    ///
    /// let state = State::at(&[1.0, 2.0]);
    /// assert_eq!(State::from_bytes(&state.to_bytes())?, state);
    /// # Ok::<(), bundlenet::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the bytes are not a state, or have no whole record.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        Self::parse("bytes of a state", bytes)
    }

    /// Writes the state to a file. A kill at any moment leaves the old file or the new one.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        write_whole(path.as_ref(), &self.to_bytes())
    }

    /// The state as bytes, in the format of a file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let none = SavedCuts::default();
        let header = Header {
            multipliers: self.point.len(),
            is_trusted: self.is_trusted,
            function: self.memory.as_ref().map(|memory| FunctionHeader {
                is_maximized: memory.sense == Sense::Maximize,
                scale: memory.scale,
                cuts_of: memory.cuts_of,
                fingerprints: memory.fingerprints.clone(),
            }),
        };
        let record = Record {
            steps: self.steps,
            point: &self.point,
            value: self.value,
            step_length: self.memory.as_ref().and_then(|memory| memory.step_length),
            cuts: self.memory.as_ref().map_or(&none, |memory| &memory.cuts),
            is_complete: true,
        };
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        frame(&mut bytes, |bytes| {
            // The header has only numbers and lists, so this cannot fail.
            bytes.extend(serde_json::to_vec(&header).unwrap_or_default());
        });
        record.write(&mut bytes);
        bytes
    }
}

/// Appends a frame: a length, the bytes from `write`, and a checksum.
fn frame(bytes: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = bytes.len();
    bytes.extend_from_slice(&[0; 8]);
    write(bytes);
    let length = (bytes.len() - start - 8) as u64;
    bytes[start..start + 8].copy_from_slice(&length.to_le_bytes());
    let checksum = Fingerprint::new().bytes(&bytes[start + 8..]).finish();
    bytes.extend_from_slice(&checksum.to_le_bytes());
}

/// Appends the bytes of numbers, all at once: otherwise writing would take longer than the step.
fn extend<T: Copy, const N: usize>(bytes: &mut Vec<u8>, numbers: &[T], to_bytes: impl Fn(T) -> [u8; N]) {
    let start = bytes.len();
    bytes.resize(start + N * numbers.len(), 0);
    let (places, _) = bytes[start..].as_chunks_mut::<N>();
    places.iter_mut().zip(numbers).for_each(|(place, &number)| *place = to_bytes(number));
}

impl Record<'_> {
    fn write(&self, bytes: &mut Vec<u8>) {
        frame(bytes, |bytes| {
            let whole = |bytes: &mut Vec<u8>, number: u64| bytes.extend_from_slice(&number.to_le_bytes());
            let number = |bytes: &mut Vec<u8>, number: f64| bytes.extend_from_slice(&number.to_le_bytes());
            whole(bytes, self.steps as u64);
            number(bytes, self.value.unwrap_or(f64::NAN));
            let (kind, length) = match self.step_length {
                None => (0, 0.0),
                Some(StepLength::Plain(length)) => (1, length),
                Some(StepLength::Metric(length)) => (2, length),
            };
            whole(bytes, kind);
            number(bytes, length);
            whole(bytes, self.point.len() as u64);
            extend(bytes, self.point, |entry| entry.to_le_bytes());
            whole(bytes, self.is_complete.into());
            whole(bytes, self.cuts.len() as u64);
            for SavedCut { component, constant, slope: (coordinates, entries), .. } in self.cuts.iter() {
                bytes.extend_from_slice(&component.to_le_bytes());
                bytes.extend_from_slice(&(entries.len() as u32).to_le_bytes());
                number(bytes, constant);
                extend(bytes, coordinates, |at| at.to_le_bytes());
                extend(bytes, entries, |entry| entry.to_le_bytes());
            }
            let primals = self.cuts.iter().zip(0_u32..).filter_map(|(cut, index)| Some((index, cut.primal?)));
            whole(bytes, primals.clone().count() as u64);
            for (index, Primal { cost, variables }) in primals.map(|(index, primal)| (index, &**primal)) {
                bytes.extend_from_slice(&index.to_le_bytes());
                bytes.extend_from_slice(&(variables.len() as u32).to_le_bytes());
                number(bytes, *cost);
                extend(bytes, variables, |(variable, _)| variable.to_le_bytes());
                extend(bytes, variables, |(_, value)| value.to_le_bytes());
            }
        });
    }
}

/// An error in the bytes of a state.
struct Unexpected {
    expected: String,
    found: String,
}

fn unexpected(expected: impl Into<String>, found: impl Into<String>) -> Unexpected {
    Unexpected { expected: expected.into(), found: found.into() }
}

/// The bytes that are not read yet.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn small(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn whole(&mut self) -> Option<usize> {
        usize::try_from(u64::from_le_bytes(self.array()?)).ok()
    }

    fn number(&mut self) -> Option<f64> {
        self.array().map(f64::from_le_bytes)
    }

    /// Reads `count` finite numbers.
    fn numbers(&mut self, count: usize) -> Option<Vec<f64>> {
        let (words, _) = self.take(count.checked_mul(8)?)?.as_chunks::<8>();
        let numbers: Vec<f64> = words.iter().map(|word| f64::from_le_bytes(*word)).collect();
        numbers.iter().all(|number| number.is_finite()).then_some(numbers)
    }

    /// Reads a finite number, and `count` coordinates with finite entries.
    fn row(&mut self, count: usize) -> Option<(f64, Vec<(u32, f64)>)> {
        let number = self.number().filter(|number| number.is_finite())?;
        let (words, _) = self.take(count.checked_mul(4)?)?.as_chunks::<4>();
        let coordinates = words.iter().map(|word| u32::from_le_bytes(*word));
        Some((number, coordinates.zip(self.numbers(count)?).collect()))
    }

    /// The content of the next frame. `None` if the frame is damaged or incomplete.
    fn frame(&mut self) -> Option<&'a [u8]> {
        let length = self.whole()?;
        let content = self.take(length)?;
        let checksum = self.array().map(u64::from_le_bytes)?;
        (Fingerprint::new().bytes(content).finish() == checksum).then_some(content)
    }
}

fn parse(bytes: &[u8]) -> Result<State, Unexpected> {
    let mut reader = Reader(bytes);
    if reader.take(MAGIC.len()) != Some(MAGIC) {
        return Err(unexpected("a state, which begins with \"bundlenet state\"", "something else"));
    }
    let version = reader.small();
    let Some(version) = version.filter(|version| (1..=VERSION).contains(version)) else {
        let found = version.map_or_else(|| "none".to_string(), |version| format!("version {version}"));
        return Err(unexpected(format!("version 1 or {VERSION} of a state"), found));
    };
    let damage = |rest: &[u8]| format!("damaged or incomplete at byte {} of {}", bytes.len() - rest.len(), bytes.len());
    let mut rest = reader.0;
    let Some(header) = reader.frame() else { return Err(unexpected("a whole state", format!("one {}", damage(rest)))) };
    let header: Header =
        serde_json::from_slice(header).map_err(|error| unexpected("the header of a state", error.to_string()))?;
    let memory = header.function.map(|function| Memory {
        sense: if function.is_maximized { Sense::Maximize } else { Sense::Minimize },
        scale: function.scale,
        step_length: None,
        cuts_of: function.cuts_of,
        fingerprints: function.fingerprints,
        cuts: SavedCuts::default(),
    });
    if memory.as_ref().is_some_and(|memory| !(memory.scale.is_finite() && memory.scale > 0.0)) {
        return Err(unexpected("a positive scale", "another"));
    }
    let mut state = State { memory, is_trusted: header.is_trusted, ..State::default() };
    let mut is_empty = true;
    rest = reader.0;
    let mut apply_next = |reader: &mut Reader<'_>| apply(&mut state, (version, header.multipliers), reader.frame()?);
    while !rest.is_empty() && apply_next(&mut reader).is_some() {
        (is_empty, rest) = (false, reader.0);
    }
    if is_empty {
        return Err(unexpected("a whole state", format!("one {}", damage(rest))));
    }
    state.damage = (!rest.is_empty()).then(|| damage(rest));
    Ok(state)
}

/// Applies a record. `None` if it is invalid.
fn apply(state: &mut State, (version, multipliers): (u32, usize), record: &[u8]) -> Option<()> {
    let mut reader = Reader(record);
    let steps = reader.whole()?;
    let value = Some(reader.number()?).filter(|value| value.is_finite());
    let step_length = match (reader.whole()?, reader.number()?) {
        (0, _) => None,
        (kind @ 1..=2, length) if length > 0.0 && length.is_finite() => {
            Some(if kind == 1 { StepLength::Plain(length) } else { StepLength::Metric(length) })
        }
        _ => return None,
    };
    let entries = reader.whole()?;
    let point = reader.numbers(entries)?;
    // A record without a point needs a point from an earlier one.
    if !(point.len() == multipliers || point.is_empty() && state.point.len() == multipliers) {
        return None;
    }
    let is_complete = match reader.whole()? {
        0 => false,
        1 => true,
        _ => return None,
    };
    let mut cuts = SavedCuts::default();
    let parts = state.memory.as_ref().map_or(0, |memory| memory.fingerprints.len());
    for _ in 0..reader.whole()? {
        let component = reader.small().filter(|&component| (component as usize) < parts)?;
        let count = reader.small()? as usize;
        let (constant, slope) = reader.row(count)?;
        if slope.iter().any(|&(at, _)| at as usize >= multipliers) {
            return None;
        }
        cuts.push(component, constant, slope, None);
    }
    let primals = if version == 1 { 0 } else { reader.whole()? };
    for _ in 0..primals {
        let (cut, count) = (reader.small()? as usize, reader.small()? as usize);
        let (cost, variables) = reader.row(count)?;
        cuts.set_primal(cut, Primal { cost, variables })?;
    }
    if !reader.0.is_empty() {
        return None;
    }
    (state.steps, state.value) = (steps, value);
    if !point.is_empty() {
        state.point = point;
    }
    if let Some(memory) = &mut state.memory {
        memory.step_length = step_length;
        if is_complete {
            memory.cuts = cuts;
        } else {
            memory.cuts.append(&cuts);
        }
    }
    Some(())
}
