//! Linear algebra for `bundlenet`: vector kernels, a Cholesky factorisation, sparse rows, and named random streams.
//! Results are the same on every instruction set.
//!
//! This crate is an internal part of `bundlenet`; its interface may change with every version.

// No panic reaches a user.
#![warn(clippy::unwrap_used, clippy::expect_used)]

mod chacha;
pub mod cholesky;
mod growing;
pub mod random;
pub mod simd;
pub mod sparse;
pub mod vectors;

pub use cholesky::Cholesky;
pub use growing::GrowingFactor;
pub use random::Stream;
pub use sparse::SparseRows;
