//! Sparse vectors.

/// A list of sparse vectors in memory that is reused.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SparseRows {
    ends: Vec<usize>,
    coordinates: Vec<u32>,
    entries: Vec<f64>,
}

impl SparseRows {
    /// Removes all rows and keeps the memory.
    pub fn clear(&mut self) {
        self.ends.clear();
        self.coordinates.clear();
        self.entries.clear();
    }

    /// Appends a row. A coordinate may occur more than once: its entries are added up.
    pub fn push(&mut self, row: impl IntoIterator<Item = (u32, f64)>) {
        for (coordinate, entry) in row {
            self.coordinates.push(coordinate);
            self.entries.push(entry);
        }
        self.ends.push(self.entries.len());
    }

    /// Appends a row that is two slices of the same length. Faster than [`SparseRows::push`].
    ///
    /// # Panics
    /// If the lengths differ.
    #[inline]
    pub fn push_slices(&mut self, coordinates: &[u32], entries: &[f64]) {
        assert_eq!(coordinates.len(), entries.len(), "a coordinate has an entry");
        self.coordinates.extend_from_slice(coordinates);
        self.entries.extend_from_slice(entries);
        self.ends.push(self.entries.len());
    }

    /// Appends rows that lie one after the other: where each ends, and all coordinates and entries.
    ///
    /// Returns false and appends nothing if an end is below the one before, or if the last is not the number of entries.
    ///
    /// # Panics
    /// If the lengths of `coordinates` and `entries` differ.
    #[must_use]
    pub fn push_rows(&mut self, ends: &[usize], coordinates: &[u32], entries: &[f64]) -> bool {
        assert_eq!(coordinates.len(), entries.len(), "a coordinate has an entry");
        let (rows, offset) = (self.ends.len(), self.entries.len());
        let (mut is_sorted, mut last) = (true, 0);
        self.ends.extend(ends.iter().map(|&end| {
            is_sorted &= last <= end;
            last = end;
            end.wrapping_add(offset)
        }));
        if !is_sorted || last != entries.len() {
            self.ends.truncate(rows);
            return false;
        }
        self.coordinates.extend_from_slice(coordinates);
        self.entries.extend_from_slice(entries);
        true
    }

    /// As [`SparseRows::push_rows`], with coordinates and entries that a closure writes into their places.
    ///
    /// # Panics
    /// If an end is below the one before.
    pub fn push_rows_with(&mut self, ends: &[usize], write: impl FnOnce(&mut [u32], &mut [f64])) {
        assert!(ends.is_sorted(), "rows end one after the other");
        let offset = self.entries.len();
        self.ends.extend(ends.iter().map(|end| end + offset));
        let length = offset + ends.last().copied().unwrap_or(0);
        self.coordinates.resize(length, 0);
        self.entries.resize(length, 0.0);
        write(&mut self.coordinates[offset..], &mut self.entries[offset..]);
    }

    /// Appends all rows of `other`.
    pub fn append(&mut self, other: &Self) {
        let offset = self.entries.len();
        self.ends.extend(other.ends.iter().map(|end| end + offset));
        self.coordinates.extend_from_slice(&other.coordinates);
        self.entries.extend_from_slice(&other.entries);
    }

    /// Coordinates and entries of a row.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn row(&self, index: usize) -> (&[u32], &[f64]) {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        let range = start..self.ends[index];
        (&self.coordinates[range.clone()], &self.entries[range])
    }

    /// End of each row in the lists of all coordinates and entries.
    #[must_use]
    pub fn ends(&self) -> &[usize] {
        &self.ends
    }

    /// Coordinates of all rows.
    #[must_use]
    pub fn coordinates(&self) -> &[u32] {
        &self.coordinates
    }

    /// Entries of all rows.
    #[must_use]
    pub fn entries(&self) -> &[f64] {
        &self.entries
    }

    /// Multiplies all rows by a number.
    pub fn scale(&mut self, factor: f64) {
        self.entries.iter_mut().for_each(|entry| *entry *= factor);
    }

    /// Multiplies each row by its own factor.
    pub fn scale_each(&mut self, factors: impl Fn(usize) -> f64) {
        let mut start = 0;
        for (index, &end) in self.ends.iter().enumerate() {
            let factor = factors(index);
            self.entries[start..end].iter_mut().for_each(|entry| *entry *= factor);
            start = end;
        }
    }

    /// Adds all rows to a vector.
    pub fn add_to(&self, sum: &mut [f64]) {
        for (&coordinate, entry) in self.coordinates.iter().zip(&self.entries) {
            sum[coordinate as usize] += entry;
        }
    }
}

/// The inner product of a sparse and a dense vector.
#[must_use]
pub fn sparse_dot((coordinates, entries): (&[u32], &[f64]), vector: &[f64]) -> f64 {
    // Four running sums hide the latency of an addition.
    let (four, rest) = coordinates.as_chunks::<4>();
    let (entries, last) = entries.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for (at, entry) in four.iter().zip(entries) {
        for lane in 0..4 {
            sums[lane] += entry[lane] * vector[at[lane] as usize];
        }
    }
    let tail: f64 = rest.iter().zip(last).map(|(&at, entry)| entry * vector[at as usize]).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + tail
}

/// The entries of a sparse vector as pairs.
pub fn pairs<'a>((coordinates, entries): (&'a [u32], &'a [f64])) -> impl Iterator<Item = (u32, f64)> + Clone + 'a {
    coordinates.iter().copied().zip(entries.iter().copied())
}
