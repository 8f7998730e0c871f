//! Random cases. They are the same in every run, unless the environment asks for others.
//!
//! | variable | meaning | default |
//! |---|---|---|
//! | `BUNDLENET_SEED` | seed of all random cases: a whole number, or `random` | 0 |
//! | `PROPTEST_CASES` | cases of each property | as in its test |
//!
//! A long campaign is `PROPTEST_CASES=10000 BUNDLENET_SEED=random cargo test -p bundlenet-problems`. A test that fails
//! prints its seed; the same seed and number of cases repeat the failure.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

use bundlenet_linalg::Stream;
use proptest::test_runner::{Config, RngSeed};

/// The seed of all random cases of this process.
fn seed() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    let seed = *SEED.get_or_init(|| match std::env::var("BUNDLENET_SEED").as_deref() {
        Err(_) => 0,
        Ok("random") => RandomState::new().hash_one("bundlenet"),
        Ok(number) => number.parse().expect("BUNDLENET_SEED is a whole number or \"random\""),
    });
    // The test harness shows this line only if the test fails.
    println!("BUNDLENET_SEED={seed}");
    seed
}

/// Stream `index` of random numbers under the seed.
pub fn stream(index: u64) -> Stream {
    Stream::new(seed(), "test", index)
}

/// A configuration of proptest: `count` cases under the seed, unless `PROPTEST_CASES` is set.
pub fn cases(count: u32) -> Config {
    let cases = std::env::var("PROPTEST_CASES");
    let cases = cases.map_or(count, |cases| cases.parse().expect("PROPTEST_CASES is a whole number"));
    Config { cases, rng_seed: RngSeed::Fixed(seed()), failure_persistence: None, ..Config::default() }
}
