//! Linear algebra for `bundlenet`: vector kernels whose results are the same on every instruction set, a Cholesky
//! factorisation, and random numbers from named streams.
//!
//! This crate is an inner part of `bundlenet`; its interface may change with every version.

// No panic reaches a user.
#![warn(clippy::unwrap_used, clippy::expect_used)]

pub mod cholesky;
pub mod random;
pub mod simd;
pub mod sparse;
pub mod vectors;

pub use cholesky::Cholesky;
pub use random::Stream;
pub use sparse::SparseRows;
