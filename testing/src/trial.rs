//! Trials of benches: `cargo test --bench '*'` runs each bench on its first cases, to see that it works.

/// Whether this is a trial. `cargo bench` adds the argument `--bench`.
#[must_use]
pub fn is_trial() -> bool {
    !std::env::args().any(|argument| argument == "--bench")
}

/// All cases, or the first one in a trial.
pub fn cases<T>(all: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    all.into_iter().take(if is_trial() { 1 } else { usize::MAX })
}
