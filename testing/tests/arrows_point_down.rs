//! No module of any crate depends on itself through others, and the rooms of the method crate stand in their order.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use bundlenet_testing::sources::{rust_files, workspace};

/// The rooms of the method crate: each uses only rooms before it.
const ROOMS: [&str; 10] = ["oracle", "error", "files", "team", "model", "master", "network", "method", "run", "train"];

/// Modules, and the modules that each names.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// The top-level module that a path written as `crate::module::...` names, for each such path.
fn named(text: &str) -> impl Iterator<Item = String> {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.split("crate::")
        .skip(1)
        .map(move |rest| rest.split(|letter| !is_word(letter)).next().unwrap_or("").to_string())
}

/// The top-level modules of a crate. Tests inside modules may look anywhere.
fn graph(src: &Path) -> Graph {
    let mut graph = Graph::new();
    for file in rust_files(src) {
        let inner = file.strip_prefix(src).unwrap();
        let module = inner.components().next().unwrap().as_os_str().to_string_lossy();
        let module = module.trim_end_matches(".rs").to_string();
        if module == "lib" || module == "main" {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        graph.entry(module).or_default().extend(named(code));
    }
    let modules: BTreeSet<String> = graph.keys().cloned().collect();
    for (module, used) in &mut graph {
        used.retain(|other| modules.contains(other) && other != module);
    }
    graph
}

/// A way from a module back to itself.
fn cycle(graph: &Graph, from: &str, way: &mut Vec<String>) -> bool {
    graph[from].iter().any(|next| {
        if way.contains(next) {
            return *next == way[0];
        }
        way.push(next.clone());
        let found = cycle(graph, next, way);
        if !found {
            way.pop();
        }
        found
    })
}

#[test]
fn no_module_depends_on_itself() {
    let crates = std::fs::read_dir(workspace().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    for src in crates.map(|folder| folder.join("src")).filter(|src| src.join("lib.rs").exists()) {
        let graph = graph(&src);
        for module in graph.keys() {
            let mut way = vec![module.clone()];
            assert!(!cycle(&graph, module, &mut way), "{}: {}", src.display(), way.join(" -> "));
        }
    }
}

#[test]
fn rooms_use_only_rooms_before_them() {
    let graph = graph(&workspace().join("crates/bundlenet/src"));
    let place =
        |room: &str| ROOMS.iter().position(|other| *other == room).unwrap_or_else(|| panic!("unknown room {room}"));
    for (room, used) in &graph {
        for other in used {
            assert!(place(other) < place(room), "{room} uses {other}");
        }
    }
}

#[test]
fn a_cycle_is_found() {
    let uses = |names: &[&str]| names.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
    let graph = Graph::from([
        ("a".to_string(), uses(&["b"])),
        ("b".to_string(), uses(&["c"])),
        ("c".to_string(), uses(&["a"])),
        ("d".to_string(), uses(&["a"])),
    ]);
    let mut way = vec!["a".to_string()];
    assert!(cycle(&graph, "a", &mut way) && way == ["a", "b", "c"]);
    assert!(!cycle(&graph, "d", &mut vec!["d".to_string()]));
    assert_eq!(named("use crate::run::{Solver}; crate::oracle::Function").collect::<Vec<_>>(), ["run", "oracle"]);
}
