//! Files that are whole after a kill at any moment, and written often enough.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::Error;

/// Where a file is written before it takes its place.
pub(crate) fn beside(path: &Path) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".part");
    beside.into()
}

/// Writes beside a file and renames, so that a kill at any moment leaves a whole file.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let beside = beside(path);
    std::fs::write(&beside, bytes)
        .and_then(|()| std::fs::rename(&beside, path))
        .map_err(|source| Error::Write { path: path.to_path_buf(), source })
}

/// How often to write what can be computed again: at once, then so that at most a twentieth of the time goes into it. What a kill
/// costs is then no more than twenty times what writing takes.
pub(crate) struct Pace {
    latest: Instant,
    writing: Duration,
}

impl Pace {
    const SHARE: u32 = 20;

    pub(crate) fn new() -> Self {
        Self { latest: Instant::now(), writing: Duration::ZERO }
    }

    pub(crate) fn is_due(&self) -> bool {
        self.latest.elapsed() >= Self::SHARE * self.writing
    }

    /// Writes in the given way.
    pub(crate) fn time<T>(&mut self, write: impl FnOnce() -> T) -> T {
        let begin = Instant::now();
        let result = write();
        self.latest = Instant::now();
        self.writing = self.latest - begin;
        result
    }
}
