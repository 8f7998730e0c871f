//! Writing files so that a kill at any moment leaves a complete file.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::Error;

/// Temporary path of a file: it is written there and then renamed.
pub(crate) fn beside(path: &Path) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".part");
    beside.into()
}

/// Writes a file under a temporary name and renames it. A kill at any moment leaves the old file or the new one.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let beside = beside(path);
    std::fs::write(&beside, bytes)
        .and_then(|()| std::fs::rename(&beside, path))
        .map_err(|source| Error::Write { path: path.to_path_buf(), source })
}

/// Limits how often a file is written whose content could be computed again. The first write is due at once, the next
/// ones when writing takes at most a twentieth of the time. A kill loses at most twenty times the duration of a write.
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

    /// Calls `write` and measures its duration.
    pub(crate) fn time<T>(&mut self, write: impl FnOnce() -> T) -> T {
        let begin = Instant::now();
        let result = write();
        self.latest = Instant::now();
        self.writing = self.latest - begin;
        result
    }
}
