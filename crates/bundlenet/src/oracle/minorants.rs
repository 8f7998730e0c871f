//! Lists of numbers with sparse vectors: minorants at a point, affine functions, primal solutions.

use bundlenet_linalg::SparseRows;
use bundlenet_linalg::sparse::pairs;

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
            #[allow(dead_code, reason = "primal solutions have no common factor")]
            pub(crate) fn scale(&mut self, factor: f64) {
                self.$numbers.iter_mut().for_each(|number| *number *= factor);
                self.rows.scale(factor);
            }

            /// Multiplies each number and its vector by its own factor.
            pub(crate) fn scale_each(&mut self, factors: impl Fn(usize) -> f64) {
                self.$numbers.iter_mut().enumerate().for_each(|(index, number)| *number *= factors(index));
                self.rows.scale_each(factors);
            }
        }
    };
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

/// Minorants of the components of a [`SumOracle`](crate::SumOracle) at one point: a value and a sparse subgradient each.
///
/// A component `f` to minimise has the minorant `f(y) >= cut + g'(y - x)` for all `y`, and `cut <= f(x) <= bound`. All
/// inequalities are reversed for a component to maximise. An exact oracle has both numbers equal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Minorants {
    firsts: Cuts,
    /// Bounds on the values. Empty while all values are exact.
    bounds: Vec<f64>,
    /// Further cuts, and the place of the component of each.
    more: Cuts,
    owners: Vec<usize>,
}

/// Cuts by their value at the point of an evaluation.
#[derive(Clone, Debug, Default, PartialEq)]
struct Cuts {
    values: Vec<f64>,
    rows: SparseRows,
}

impl Cuts {
    fn clear(&mut self) {
        self.values.clear();
        self.rows.clear();
    }

    fn push(&mut self, value: f64, subgradient: impl IntoIterator<Item = (u32, f64)>) {
        self.values.push(value);
        self.rows.push(subgradient);
    }

    #[inline]
    fn push_slices(&mut self, value: f64, coordinates: &[u32], entries: &[f64]) {
        self.values.push(value);
        self.rows.push_slices(coordinates, entries);
    }

    fn append(&mut self, other: &Self) {
        self.values.extend_from_slice(&other.values);
        self.rows.append(&other.rows);
    }

    fn truncate(&mut self, count: usize) {
        self.values.truncate(count);
        self.rows.truncate(count);
    }

    fn scale(&mut self, factor: f64) {
        self.values.iter_mut().for_each(|value| *value *= factor);
        self.rows.scale(factor);
    }

    fn scale_each(&mut self, factors: impl Fn(usize) -> f64) {
        self.values.iter_mut().enumerate().for_each(|(index, value)| *value *= factors(index));
        self.rows.scale_each(factors);
    }
}

/// Room for components that [`Minorants::push_written`] appends: their values at the point, and their subgradients one
/// after the other. The subgradient of a component ends at its number in `ends`, the first begins at 0.
#[derive(Debug)]
pub struct Room<'a> {
    /// Value of each component.
    pub values: &'a mut [f64],
    /// End of each subgradient.
    pub ends: &'a mut [usize],
    /// Coordinates of all subgradients.
    pub coordinates: &'a mut [u32],
    /// Entries of all subgradients.
    pub entries: &'a mut [f64],
}

impl Minorants {
    /// An empty list.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Empties the list and keeps the memory.
    pub fn clear(&mut self) {
        self.firsts.clear();
        self.bounds.clear();
        self.more.clear();
        self.owners.clear();
    }

    /// Appends the next component, with its value at the point and the nonzero entries of a subgradient there. Entries of
    /// the same coordinate are added up.
    pub fn push(&mut self, value: f64, subgradient: impl IntoIterator<Item = (u32, f64)>) {
        if !self.bounds.is_empty() {
            self.bounds.push(value);
        }
        self.firsts.push(value, subgradient);
    }

    /// As [`Minorants::push`], for a subgradient in two slices of the same length. It is faster for long ones.
    ///
    /// # Panics
    /// If the lengths differ.
    #[inline]
    pub fn push_slices(&mut self, value: f64, coordinates: &[u32], entries: &[f64]) {
        if !self.bounds.is_empty() {
            self.bounds.push(value);
        }
        self.firsts.push_slices(value, coordinates, entries);
    }

    /// Appends the next components, all at once: their values, and their subgradients one after the other. The
    /// subgradient of a component ends at its number in `ends`.
    ///
    /// Returns false and appends nothing if an end is below the one before, or if the last is not the number of entries.
    ///
    /// # Panics
    /// If the lengths of `values` and `ends`, or of `coordinates` and `entries` differ.
    #[must_use]
    pub fn push_all(&mut self, values: &[f64], ends: &[usize], coordinates: &[u32], entries: &[f64]) -> bool {
        assert_eq!(values.len(), ends.len(), "a value has a subgradient");
        if !self.firsts.rows.push_rows(ends, coordinates, entries) {
            return false;
        }
        if !self.bounds.is_empty() {
            self.bounds.extend_from_slice(values);
        }
        self.firsts.values.extend_from_slice(values);
        true
    }

    /// Appends the next `count` components, which a closure writes into their places. There is room for `length` entries
    /// of their subgradients.
    ///
    /// Returns false and appends nothing if the closure does, if an end is below the one before, or if the last is above
    /// `length`.
    #[must_use]
    pub fn push_written(&mut self, count: usize, length: usize, write: impl FnOnce(Room<'_>) -> bool) -> bool {
        let first = self.len();
        let Cuts { values, rows } = &mut self.firsts;
        // A value that is not written is found.
        values.resize(first + count, f64::NAN);
        let is_right = rows.push_written(count, length, |ends, coordinates, entries| {
            write(Room { values: &mut values[first..], ends, coordinates, entries })
        });
        if !is_right {
            values.truncate(first);
        } else if !self.bounds.is_empty() {
            self.bounds.extend_from_slice(&values[first..]);
        }
        is_right
    }

    /// Appends the next component, whose value is known as an interval: `cut` is the value of its minorant at the point,
    /// `bound` the other end. A subproblem that a MIP solver ended at a gap has its incumbent as `cut` and its dual bound
    /// as `bound`.
    pub fn push_within(&mut self, cut: f64, bound: f64, subgradient: impl IntoIterator<Item = (u32, f64)>) {
        if self.bounds.is_empty() {
            self.bounds.extend_from_slice(&self.firsts.values);
        }
        self.bounds.push(bound);
        self.firsts.push(cut, subgradient);
    }

    /// Appends a further cut of the last component: `value` is its value at the point. Each cut of a solution pool is one.
    ///
    /// # Panics
    /// If there is no component yet.
    pub fn push_more(&mut self, value: f64, subgradient: impl IntoIterator<Item = (u32, f64)>) {
        assert!(!self.is_empty(), "a further cut needs a component");
        self.owners.push(self.len() - 1);
        self.more.push(value, subgradient);
    }

    /// Appends the given components of `other`, in the given order. Missing ones are left out.
    pub(crate) fn select(&mut self, other: &Self, components: &[usize]) {
        for &component in components.iter().filter(|&&component| component < other.len()) {
            let (cut, bound) = (other.values()[component], other.bounds()[component]);
            self.push_within(cut, bound, pairs(other.subgradient(component)));
            for (_, value, subgradient) in other.more().filter(|(owner, ..)| *owner == component) {
                self.push_more(value, pairs(subgradient));
            }
        }
    }

    /// Appends all of `other`.
    pub fn append(&mut self, other: &Self) {
        let first = self.len();
        if !(self.bounds.is_empty() && other.bounds.is_empty()) {
            if self.bounds.is_empty() {
                self.bounds.extend_from_slice(&self.firsts.values);
            }
            self.bounds.extend_from_slice(other.bounds());
        }
        self.firsts.append(&other.firsts);
        self.more.append(&other.more);
        self.owners.extend(other.owners.iter().map(|owner| first + owner));
    }

    /// Keeps the first `count` components with their further cuts, if there are more.
    pub fn truncate(&mut self, count: usize) {
        self.firsts.truncate(count);
        self.bounds.truncate(count);
        let further = self.owners.partition_point(|&owner| owner < count);
        self.more.truncate(further);
        self.owners.truncate(further);
    }

    /// Number of components.
    #[must_use]
    pub fn len(&self) -> usize {
        self.firsts.values.len()
    }

    /// Whether the list is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.firsts.values.is_empty()
    }

    /// Value of every component's minorant at the point.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.firsts.values
    }

    /// Bound on the value of every component: the value itself if it is exact.
    #[must_use]
    pub fn bounds(&self) -> &[f64] {
        if self.bounds.is_empty() { self.values() } else { &self.bounds }
    }

    /// Coordinates and entries of a component's subgradient.
    ///
    /// # Panics
    /// If `index >= len()`.
    #[must_use]
    pub fn subgradient(&self, index: usize) -> (&[u32], &[f64]) {
        self.firsts.rows.row(index)
    }

    /// Coordinates and entries of the subgradients of all components, one after the other.
    #[must_use]
    pub fn subgradients(&self) -> (&[u32], &[f64]) {
        (self.firsts.rows.coordinates(), self.firsts.rows.entries())
    }

    /// End of each component's subgradient in the lists of [`Minorants::subgradients`].
    #[must_use]
    pub fn ends(&self) -> &[usize] {
        self.firsts.rows.ends()
    }

    /// Place of the component, value at the point, and subgradient of every further cut.
    pub fn more(&self) -> impl ExactSizeIterator<Item = (usize, f64, (&[u32], &[f64]))> {
        let cut = |index| (self.owners[index], self.more.values[index], self.more.rows.row(index));
        (0..self.more.values.len()).map(cut)
    }

    /// Place of the component of every further cut.
    pub(crate) fn owners(&self) -> &[usize] {
        &self.owners
    }

    /// Whether all values are exact.
    pub(crate) fn are_exact(&self) -> bool {
        self.bounds.is_empty()
    }

    /// The subgradients of all components, without further cuts.
    pub(crate) fn rows(&self) -> &SparseRows {
        &self.firsts.rows
    }

    /// All numbers that an oracle wrote but for the bounds: entries and coordinates of all cuts.
    pub(crate) fn all_rows(&self) -> [&SparseRows; 2] {
        [&self.firsts.rows, &self.more.rows]
    }

    /// Values of all cuts, and all bounds.
    pub(crate) fn all_values(&self) -> impl Iterator<Item = f64> {
        self.values().iter().chain(&self.bounds).chain(&self.more.values).copied()
    }

    /// Multiplies all numbers by a factor.
    pub(crate) fn scale(&mut self, factor: f64) {
        self.firsts.scale(factor);
        self.bounds.iter_mut().for_each(|bound| *bound *= factor);
        self.more.scale(factor);
    }

    /// Multiplies the numbers of each component by its own factor.
    pub(crate) fn scale_each(&mut self, factors: impl Fn(usize) -> f64) {
        self.firsts.scale_each(&factors);
        self.bounds.iter_mut().enumerate().for_each(|(index, bound)| *bound *= factors(index));
        let owners = &self.owners;
        self.more.scale_each(|index| factors(owners[index]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A subgradient can be pushed as pairs, as slices, or with those of other components.
    #[test]
    fn all_ways_to_push_agree() {
        let mut pairs = Minorants::new();
        pairs.push_within(1.0, 1.5, [(2, 4.0)]);
        let (mut slices, mut all) = (pairs.clone(), pairs.clone());
        pairs.push(2.0, [(0, 1.0), (3, -1.0)]);
        pairs.push(3.0, []);
        slices.push_slices(2.0, &[0, 3], &[1.0, -1.0]);
        slices.push_slices(3.0, &[], &[]);
        assert!(all.push_all(&[2.0, 3.0], &[2, 2], &[0, 3], &[1.0, -1.0]));
        let whole = all.clone();
        assert!(!all.push_all(&[2.0, 3.0], &[2, 1], &[0], &[1.0]) && !all.push_all(&[2.0], &[2], &[0], &[1.0]));
        assert_eq!(all, whole);
        assert_eq!(pairs, slices);
        assert_eq!(pairs, all);
        let mut written = Minorants::new();
        written.push_within(1.0, 1.5, [(2, 4.0)]);
        let write = |Room { values, ends, coordinates, entries }: Room<'_>| {
            values.copy_from_slice(&[2.0, 3.0]);
            ends.copy_from_slice(&[2, 2]);
            coordinates[..2].copy_from_slice(&[0, 3]);
            entries[..2].copy_from_slice(&[1.0, -1.0]);
            true
        };
        assert!(!written.push_written(2, 2, |room| !write(room)) && written.len() == 1);
        assert!(written.push_written(2, 3, write));
        assert_eq!(pairs, written);
        assert_eq!(pairs.subgradients(), (&[2, 0, 3][..], &[4.0, 1.0, -1.0][..]));
    }

    #[test]
    fn lists_are_joined() {
        let mut exact = Minorants::new();
        exact.push(1.0, [(0, 1.0)]);
        exact.push_more(0.5, [(1, 2.0)]);
        let mut wide = Minorants::new();
        wide.push_within(1.0, 3.0, [(2, 4.0)]);
        wide.push_more(0.0, []);
        let mut both = exact.clone();
        both.append(&wide);
        both.push(7.0, []);
        assert_eq!((both.values(), both.bounds()), (&[1.0, 1.0, 7.0][..], &[1.0, 3.0, 7.0][..]));
        both.scale_each(|index| 10.0 * (index as f64 + 1.0));
        assert_eq!((both.values(), both.bounds()), (&[10.0, 20.0, 210.0][..], &[10.0, 60.0, 210.0][..]));
        let more: Vec<_> = both.more().collect();
        assert_eq!(more, [(0, 5.0, (&[1][..], &[20.0][..])), (1, 0.0, (&[][..], &[][..]))]);
        assert_eq!(both.subgradient(1), (&[2][..], &[80.0][..]));
        both.truncate(1);
        assert_eq!((both.values(), both.bounds(), both.more().len()), (&[10.0][..], &[10.0][..], 1));
        both.push(2.0, [(4, 5.0)]);
        assert_eq!((both.subgradients(), both.ends()), ((&[0, 4][..], &[10.0, 5.0][..]), &[1, 2][..]));
        exact.append(&exact.clone());
        assert!(exact.bounds().len() == 2 && exact.more().map(|(owner, ..)| owner).eq([0, 1]));
    }
}
