//! The public instances, which are not part of the repository.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

/// Their folder: `BUNDLENET_DATA`, or `shared/data` beside the repository. A test that calls this is
/// `#[ignore = "needs BUNDLENET_DATA"]`; `cargo test -- --include-ignored` runs it.
///
/// # Panics
/// If the folder does not exist.
pub fn data() -> PathBuf {
    let folder = folder();
    assert!(folder.is_dir(), "no public instances at {}: BUNDLENET_DATA names their folder", folder.display());
    folder
}

/// The same folder for a bench, which can do without: `None` if it does not exist.
pub fn data_if_present() -> Option<PathBuf> {
    Some(folder()).filter(|folder| folder.is_dir())
}

fn folder() -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    std::env::var_os("BUNDLENET_DATA").map_or_else(beside, PathBuf::from)
}

/// The files of one of its folders, in order.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    files
}

/// Visits a data set as published: name, JSON text and label `Ld` of every instance.
pub fn published(data: &Path, name: &str, mut visit: impl FnMut(&str, String, f64)) {
    let folder = data.join("paper-datasets");
    let graphs: Map<String, Value> = std::fs::read_to_string(folder.join(format!("{name}.graphs.json")))
        .map_or_else(|_| Map::new(), |text| serde_json::from_str(&text).unwrap());
    let file = std::fs::File::open(folder.join(format!("{name}.jsonl.gz"))).unwrap();
    let text = |instance: &Value, label: f64| {
        serde_json::json!({"instance": instance, "labels": {"Ld": label}, "features": [[]]}).to_string()
    };
    for line in BufReader::new(flate2::read::GzDecoder::new(file)).lines() {
        let row: Value = serde_json::from_str(&line.unwrap()).unwrap();
        if graphs.is_empty() {
            let label = row["Ld"].as_f64().unwrap();
            visit(row["name"].as_str().unwrap(), text(&row, label), label);
            continue;
        }
        for one in row["instances"].as_array().unwrap() {
            let mut instance = graphs[one["graph"].as_str().unwrap()].as_object().unwrap().clone();
            instance.extend(["o", "d", "q", "r"].map(|key| (key.to_string(), row[key].clone())));
            let label = one["Ld"].as_f64().unwrap();
            visit(one["name"].as_str().unwrap(), text(&Value::Object(instance), label), label);
        }
    }
}

/// Whether an instance is in the test split: its index, at the end of its name, is 4 modulo 5.
pub fn is_test(name: &str) -> bool {
    name.rsplit('-').next().and_then(|index| index.parse::<usize>().ok()).is_some_and(|index| index % 5 == 4)
}
