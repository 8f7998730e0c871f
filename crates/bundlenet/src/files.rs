//! Writing files so that a kill at any moment leaves a complete file, and two runs never write the same one.

use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::error::Error;

/// The path with more at its end.
fn extended(path: &Path, more: &str) -> PathBuf {
    let mut extended = path.as_os_str().to_owned();
    extended.push(more);
    extended.into()
}

/// The file that a path leads to through symbolic links, also if it does not exist yet.
fn followed(path: &Path) -> PathBuf {
    const MOST_LINKS: usize = 40;
    let mut path = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        let Ok(target) = std::fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    path
}

/// The file that a path leads to. An error if it is there and is not a regular file.
pub(crate) fn regular(path: &Path) -> Result<PathBuf, Error> {
    match std::fs::metadata(path) {
        Ok(found) if !found.is_file() => {
            let found = if found.is_dir() { "a folder" } else { "a device, a pipe or a socket" }.to_string();
            let expected = "a regular file or a new one".to_string();
            Err(Error::Content { path: path.to_path_buf(), expected, found })
        }
        _ => Ok(followed(path)),
    }
}

/// Writes a file under a temporary name of its own and renames it. A kill at any moment leaves the old file or the new
/// one. A symbolic link stays. A device or a pipe is written to.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let write = || match regular(path) {
        Ok(target) => replace(&target, bytes),
        Err(_) => std::fs::write(path, bytes),
    };
    write().map_err(|source| Error::Write { path: path.to_path_buf(), source })
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let (beside, mut file) = loop {
        let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let beside = extended(path, &format!(".{process}-{count}.part"));
        match File::create_new(&beside) {
            // A killed process of the same number may have left it.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            file => break (beside, file?),
        }
    };
    let written = file.write_all(bytes);
    drop(file);
    let replaced = written.and_then(|()| std::fs::rename(&beside, path));
    if replaced.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    replaced
}

/// A lock on a file or folder against other runs. It ends with its owner, and with the process.
pub(crate) struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    /// Locks a file by another one beside it: the file itself will be replaced.
    pub(crate) fn of_file(path: &Path) -> Result<Self, Error> {
        Self::new(extended(path, ".lock"), path)
    }

    pub(crate) fn of_folder(folder: &Path) -> Result<Self, Error> {
        Self::new(folder.join("lock"), folder)
    }

    fn new(path: PathBuf, locked: &Path) -> Result<Self, Error> {
        loop {
            let failed = |source| Error::Write { path: path.clone(), source };
            let file = File::create(&path).map_err(failed)?;
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => return Err(Error::InUse { path: locked.to_path_buf() }),
                // On a file system without locks, the run goes on without one.
                Err(TryLockError::Error(source)) if source.kind() != io::ErrorKind::Unsupported => {
                    return Err(failed(source));
                }
                _ => {}
            }
            // The owner before may have removed the file after it was opened here.
            if is_at(&file, &path) {
                return Ok(Self { path, _file: file });
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Elsewhere a new owner could not tell that its file is removed.
        if cfg!(unix) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Whether an open file is still the one at a path.
fn is_at(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let identity = |found: io::Result<std::fs::Metadata>| found.ok().map(|found| (found.dev(), found.ino()));
        identity(file.metadata()) == identity(std::fs::metadata(path))
    }
    #[cfg(not(unix))]
    {
        let _ = (file, path);
        true
    }
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
