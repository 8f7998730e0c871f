//! Packages can be published: they include no file from outside, their descriptions are complete, their versions agree,
//! and all dependencies have a licence that `deny.toml` allows.

use std::path::{Component, Path};

use bundlenet_testing::sources::{rust_files, workspace};
use serde_json::Value;

/// All packages of the workspace and their dependencies, as cargo describes them.
fn packages() -> Vec<Value> {
    let mut cargo = std::process::Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--locked", "--all-features"]).current_dir(workspace());
    let done = cargo.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let metadata: Value = serde_json::from_slice(&done.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(workspace().join(path)).unwrap()
}

/// Whether a licence expression can be satisfied with the allowed licences. `AND` binds more than `OR`; an old `/` is an
/// `OR`.
fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ").replace(" WITH ", "+WITH+");
    let tokens: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    any(&tokens, &mut at, allowed) && at == tokens.len()
}

fn any(tokens: &[&str], at: &mut usize, allowed: &[String]) -> bool {
    let mut holds = all(tokens, at, allowed);
    while tokens.get(*at) == Some(&"OR") {
        *at += 1;
        holds |= all(tokens, at, allowed);
    }
    holds
}

fn all(tokens: &[&str], at: &mut usize, allowed: &[String]) -> bool {
    let mut holds = one(tokens, at, allowed);
    while tokens.get(*at) == Some(&"AND") {
        *at += 1;
        holds &= one(tokens, at, allowed);
    }
    holds
}

fn one(tokens: &[&str], at: &mut usize, allowed: &[String]) -> bool {
    *at += 1;
    if tokens[*at - 1] != "(" {
        return allowed.contains(&tokens[*at - 1].replace("+WITH+", " WITH "));
    }
    let holds = any(tokens, at, allowed);
    assert_eq!(tokens.get(*at), Some(&")"));
    *at += 1;
    holds
}

#[test]
fn licences_are_allowed() {
    let deny = read("deny.toml");
    let list = |text: &str| -> Vec<String> {
        let list = text.split_once("allow = [").unwrap().1.split_once(']').unwrap().0;
        list.split('"').skip(1).step_by(2).map(String::from).collect()
    };
    let allowed = list(&deny);
    for package in packages() {
        let licence = package["license"].as_str().unwrap_or("none");
        let name = package["name"].as_str().unwrap();
        let exception = deny.split_once(&format!("{{ crate = \"{name}\"")).map_or(vec![], |(_, rest)| list(rest));
        let allowed = [allowed.clone(), exception].concat();
        assert!(is_allowed(licence, &allowed), "{name}: expected a licence of deny.toml, found {licence}");
    }
    let few = ["MIT".to_string(), "Zlib".to_string()];
    assert!(is_allowed("(GPL-3.0 OR MIT) AND Zlib", &few) && is_allowed("Apache-2.0/MIT", &few));
    assert!(!is_allowed("MIT AND GPL-3.0", &few) && !is_allowed("MIT WITH exception", &few));
}

#[test]
fn published_crates_are_described() {
    let is_ours = |package: &&Value| package["source"].is_null() && package["publish"] != serde_json::json!([]);
    let packages = packages();
    let published: Vec<&Value> = packages.iter().filter(is_ours).collect();
    assert!(published.len() >= 5);
    for package in published {
        let name = package["name"].as_str().unwrap();
        for field in ["description", "license", "readme", "documentation", "rust_version"] {
            assert!(package[field].is_string(), "{name}: expected the field {field}");
        }
        for field in ["keywords", "categories"] {
            assert!((1..=5).contains(&package[field].as_array().unwrap().len()), "{name}: expected 1 to 5 {field}");
        }
        assert!(package["metadata"]["docs"]["rs"].is_object(), "{name}: expected [package.metadata.docs.rs]");
        let folder = Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap();
        // They are symbolic links, which Windows may check out as text.
        for file in ["LICENSE-MIT", "LICENSE-APACHE"].into_iter().filter(|_| cfg!(unix)) {
            let text = std::fs::read_to_string(folder.join(file)).unwrap_or_default();
            assert_eq!(text, read(file), "{name}: expected the text of {file}");
        }
    }
}

#[test]
fn versions_agree() {
    let version = env!("CARGO_PKG_VERSION");
    assert!(read("CITATION.cff").contains(&format!("\nversion: {version}\n")));
    assert!(read("packaging/conda/recipe.yaml").contains(&format!("version: \"{version}\"\n")));
    let sources = read("Cargo.toml");
    let inner = sources.lines().filter(|line| line.starts_with("bundlenet") && line.contains("version = "));
    for line in inner {
        assert!(line.contains(&format!("version = \"{version}\"")), "Cargo.toml: expected {version}, found {line}");
    }
}

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
