//! Lists of numbers with sparse vectors: minorants at a point, affine functions, primal solutions.

use bundlenet_linalg::SparseRows;

/// Defines a list of numbers, each with a sparse vector, under the names that they have for one idea.
macro_rules! sparse_list {
    (
        $(#[$about:meta])* $list:ident,
        $(#[$about_numbers:meta])* $numbers:ident,
        $(#[$about_row:meta])* $row:ident,
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $list {
            $numbers: Vec<f64>,
            rows: SparseRows,
        }

        impl $list {
            /// An empty list.
            #[must_use]
            pub fn new() -> Self {
                Self::default()
            }

            /// Empties the list and keeps the memory.
            pub fn clear(&mut self) {
                self.$numbers.clear();
                self.rows.clear();
            }

            /// Appends a number and the nonzero entries of its vector. Entries of the same coordinate are added up.
            pub fn push(&mut self, number: f64, row: impl IntoIterator<Item = (u32, f64)>) {
                self.$numbers.push(number);
                self.rows.push(row);
            }

            /// Appends all of `other`.
            pub fn append(&mut self, other: &Self) {
                self.$numbers.extend_from_slice(&other.$numbers);
                self.rows.append(&other.rows);
            }

            /// Length of the list.
            #[must_use]
            pub fn len(&self) -> usize {
                self.$numbers.len()
            }

            /// Whether the list is empty.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.$numbers.is_empty()
            }

            $(#[$about_numbers])*
            #[must_use]
            pub fn $numbers(&self) -> &[f64] {
                &self.$numbers
            }

            $(#[$about_row])*
            ///
            /// # Panics
            /// If `index >= len()`.
            #[must_use]
            pub fn $row(&self, index: usize) -> (&[u32], &[f64]) {
                self.rows.row(index)
            }

            /// All sparse vectors.
            #[allow(dead_code, reason = "not every list needs all of its vectors at once")]
            pub(crate) fn rows(&self) -> &SparseRows {
                &self.rows
            }

            /// Multiplies all numbers and vectors by a factor.
            #[allow(dead_code, reason = "primal solutions are never scaled")]
            pub(crate) fn scale(&mut self, factor: f64) {
                self.$numbers.iter_mut().for_each(|number| *number *= factor);
                self.rows.scale(factor);
            }
        }
    };
}

sparse_list! {
    /// Values and sparse subgradients of the components of a [`SumOracle`](crate::SumOracle) at one point.
    Minorants,
    /// Value of every component at the point.
    values,
    /// Coordinates and entries of a component's subgradient.
    subgradient,
}

sparse_list! {
    /// Affine functions `constant + slope'x`.
    Lines,
    /// Value of every line at the origin.
    constants,
    /// Coordinates and entries of a line's slope.
    slope,
}

sparse_list! {
    /// Solutions of the subproblems of a [`PrimalOracle`](crate::PrimalOracle), without the variables that are 0.
    Solutions,
    /// Cost of every solution, in the objective of the problem.
    costs,
    /// Variables of a solution that are not 0, and their values.
    variables,
}
