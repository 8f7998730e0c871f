//! The example `own_policy` runs.

#[path = "../examples/own_policy.rs"]
mod example;

#[test]
fn the_example_runs() {
    example::main().unwrap();
}
