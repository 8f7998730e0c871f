//! A published crate includes no file from outside its folder: `cargo package --workspace` would not find it.

use std::path::{Component, Path};

use bundlenet_testing::sources::{rust_files, workspace};

/// Levels below the folder of the crate that a relative path ends at; negative outside of it.
fn level(relative: &Path) -> isize {
    relative.components().fold(0, |level, part| match part {
        Component::ParentDir if level >= 0 => level - 1,
        Component::Normal(_) if level >= 0 => level + 1,
        _ => level,
    })
}

#[test]
fn included_files_lie_in_their_package() {
    let mut found = 0;
    for package in std::fs::read_dir(workspace().join("crates")).unwrap().map(|entry| entry.unwrap().path()) {
        for file in rust_files(&package.join("src")) {
            let text = std::fs::read_to_string(&file).unwrap();
            for name in ["include_str!(\"", "include_bytes!(\""] {
                for included in text.split(name).skip(1).filter_map(|rest| rest.split('"').next()) {
                    let inside = file.parent().unwrap().join(included);
                    assert!(inside.exists(), "{}: {included}", file.display());
                    let relative = inside.strip_prefix(&package).unwrap();
                    assert!(level(relative) > 0, "{}: {included} lies outside of the package", file.display());
                    found += 1;
                }
            }
        }
    }
    // The general model, at least.
    assert!(found > 0);
    assert!(level(Path::new("src/../../outside")) < 0 && level(Path::new("src/../models/general")) > 0);
}
