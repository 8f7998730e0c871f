//! The source files of the workspace.

use std::path::{Path, PathBuf};

/// The root of the workspace.
#[must_use]
pub fn workspace() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().find(|folder| folder.join("Cargo.lock").exists()).unwrap().to_path_buf()
}

/// All Rust files in a folder and below.
#[must_use]
pub fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.flat_map(|path| if path.is_dir() { rust_files(&path) } else { vec![path] });
    files.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}
