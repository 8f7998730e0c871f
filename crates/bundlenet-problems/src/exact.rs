//! Parts of safe bounds, for duals of other crates: multipliers on a grid, and knapsacks in integers.

pub use crate::knapsack::WholeKnapsack;
pub use crate::safe::{Grid, Magnitudes, Rounded};
