//! The public instances, which are not part of the repository.

#![allow(dead_code, unreachable_pub, reason = "every test uses a part of it")]

use std::path::{Path, PathBuf};

/// Their folder: `BUNDLENET_DATA`, or `shared/data` beside the repository. Says so and gives nothing where there is
/// none, so that a test can be skipped; a folder named by the variable has to be there.
pub fn data() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("BUNDLENET_DATA").map(PathBuf::from) {
        assert!(folder.is_dir(), "BUNDLENET_DATA names {}, which is no folder", folder.display());
        return Some(folder);
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: no public instances at {}; BUNDLENET_DATA can name another folder", folder.display());
    None
}

/// The files of one of its folders, in order.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    files
}
