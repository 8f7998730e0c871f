//! A page shows an example exactly as its file is; the doctest of the page compiles and runs it.

use std::path::Path;

#[test]
fn the_own_problem() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let example = std::fs::read_to_string(root.join("examples/facility_location.rs")).unwrap();
    let page = std::fs::read_to_string(root.join("../../docs/own-problem.md")).unwrap();
    assert!(page.contains(&example), "docs/own-problem.md does not show examples/facility_location.rs as it is");
    assert!(example.lines().count() < 60);
}
