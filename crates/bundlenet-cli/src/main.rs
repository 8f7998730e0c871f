//! The program `bundlenet`.
fn main() {}
