//! A page shows an example exactly as its file is; the doctest of the page compiles and runs it.

use std::path::Path;

#[test]
fn the_own_problem() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("../../docs/own-problem.md")).unwrap();
    for name in ["examples/facility_location.rs", "examples/facility_location_sum.rs"] {
        let example = std::fs::read_to_string(root.join(name)).unwrap();
        assert!(page.contains(&example), "docs/own-problem.md does not show {name} as it is");
        assert!(example.lines().count() < 60);
    }
}
