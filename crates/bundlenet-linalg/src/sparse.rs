//! Sparse vectors.

/// Most entries of a row that are copied one by one: a call that copies takes longer.
const SHORT: usize = 16;

/// A list of sparse vectors in memory that is reused.
#[derive(Debug, Default)]
pub struct SparseRows {
    ends: Vec<usize>,
    coordinates: Vec<u32>,
    entries: Vec<f64>,
    /// Number of entries of all rows. Both lists may be longer: their ends are memory for the next rows, so that those of
    /// [`SparseRows::push_written`] need not be filled first.
    length: usize,
}

impl Clone for SparseRows {
    fn clone(&self) -> Self {
        let (coordinates, entries) = (self.coordinates().to_vec(), self.entries().to_vec());
        Self { ends: self.ends.clone(), coordinates, entries, length: self.length }
    }
}

impl PartialEq for SparseRows {
    fn eq(&self, other: &Self) -> bool {
        self.ends == other.ends && self.coordinates() == other.coordinates() && self.entries() == other.entries()
    }
}

impl SparseRows {
    /// Removes all rows and keeps the memory.
    pub fn clear(&mut self) {
        self.ends.clear();
        self.length = 0;
    }

    /// Keeps the first `count` rows, if there are more.
    pub fn truncate(&mut self, count: usize) {
        self.ends.truncate(count);
        self.length = self.ends.last().copied().unwrap_or(0);
    }

    /// Appends a row. A coordinate may occur more than once: its entries are added up.
    #[inline]
    pub fn push(&mut self, row: impl IntoIterator<Item = (u32, f64)>) {
        for (coordinate, entry) in row {
            match (self.coordinates.get_mut(self.length), self.entries.get_mut(self.length)) {
                (Some(at), Some(place)) => (*at, *place) = (coordinate, entry),
                _ => {
                    self.coordinates.push(coordinate);
                    self.entries.push(entry);
                }
            }
            self.length += 1;
        }
        self.ends.push(self.length);
    }

    /// Appends a row that is two slices of the same length.
    ///
    /// # Panics
    /// If the lengths differ.
    #[inline]
    pub fn push_slices(&mut self, coordinates: &[u32], entries: &[f64]) {
        assert_eq!(coordinates.len(), entries.len(), "a coordinate has an entry");
        let end = self.length + entries.len();
        let kept = (self.coordinates.get_mut(self.length..end), self.entries.get_mut(self.length..end));
        match kept {
            (Some(places), Some(values)) if entries.len() <= SHORT => {
                let row = coordinates.iter().zip(entries);
                for ((place, value), (&at, &entry)) in places.iter_mut().zip(values).zip(row) {
                    (*place, *value) = (at, entry);
                }
                self.length = end;
            }
            _ => self.extend(coordinates, entries),
        }
        self.ends.push(end);
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
        let rows = self.ends.len();
        self.ends.extend_from_slice(ends);
        if self.shift_ends(rows) != Some(entries.len()) {
            self.ends.truncate(rows);
            return false;
        }
        self.extend(coordinates, entries);
        true
    }

    /// Appends `count` rows that a closure writes: where each ends, and all coordinates and entries. There is room for
    /// `length` entries; numbers in it have no meaning before.
    ///
    /// Returns false and appends nothing if the closure does, if an end is below the one before, or if the last is above
    /// `length`.
    #[must_use]
    pub fn push_written(
        &mut self,
        count: usize,
        length: usize,
        write: impl FnOnce(&mut [usize], &mut [u32], &mut [f64]) -> bool,
    ) -> bool {
        let (rows, offset) = (self.ends.len(), self.length);
        // An end that is not written is found.
        self.ends.resize(rows + count, usize::MAX);
        if self.entries.len() < offset + length {
            self.coordinates.resize(offset + length, 0);
            self.entries.resize(offset + length, 0.0);
        }
        let room = offset..offset + length;
        let (coordinates, entries) = (&mut self.coordinates[room.clone()], &mut self.entries[room]);
        let is_written = write(&mut self.ends[rows..], coordinates, entries);
        let last = self.shift_ends(rows).filter(|&last| is_written && last <= length);
        self.length = offset + last.unwrap_or(0);
        self.ends.truncate(if last.is_some() { rows + count } else { rows });
        last.is_some()
    }

    /// Moves the ends of new rows, counted from the first of them, behind the rows before. Returns the last one, or
    /// nothing if they are not in order.
    fn shift_ends(&mut self, rows: usize) -> Option<usize> {
        let (mut is_sorted, mut last) = (true, 0);
        for end in &mut self.ends[rows..] {
            is_sorted &= last <= *end;
            last = *end;
            *end = end.wrapping_add(self.length);
        }
        is_sorted.then_some(last)
    }

    /// Appends entries without a row.
    fn extend(&mut self, coordinates: &[u32], entries: &[f64]) {
        let kept = (self.entries.len() - self.length).min(entries.len());
        let places = self.length..self.length + kept;
        self.coordinates[places.clone()].copy_from_slice(&coordinates[..kept]);
        self.entries[places].copy_from_slice(&entries[..kept]);
        self.coordinates.extend_from_slice(&coordinates[kept..]);
        self.entries.extend_from_slice(&entries[kept..]);
        self.length += entries.len();
    }

    /// Appends all rows of `other`.
    pub fn append(&mut self, other: &Self) {
        self.ends.extend(other.ends.iter().map(|end| end + self.length));
        self.extend(other.coordinates(), other.entries());
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
        &self.coordinates[..self.length]
    }

    /// Entries of all rows.
    #[must_use]
    pub fn entries(&self) -> &[f64] {
        &self.entries[..self.length]
    }

    /// Multiplies all rows by a number.
    pub fn scale(&mut self, factor: f64) {
        self.entries[..self.length].iter_mut().for_each(|entry| *entry *= factor);
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
        for (&coordinate, entry) in self.coordinates().iter().zip(self.entries()) {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows are written in place after other ones and in memory that was used before; wrong ends leave all as it was.
    #[test]
    fn rows_are_written_in_place() {
        let mut rows = SparseRows::default();
        rows.push([(9, 9.0), (8, 8.0), (7, 7.0), (6, 6.0)]);
        rows.clear();
        rows.push([(4, 0.5)]);
        let mut expected = rows.clone();
        assert!(expected.push_rows(&[1, 1, 3], &[2, 0, 3], &[4.0, 1.0, -1.0]));
        for (ends, length, is_right) in [([1, 1, 3], 2, false), ([1, 0, 3], 3, false), ([1, 1, 3], 5, true)] {
            let before = rows.clone();
            let written = rows.push_written(3, length, |places, coordinates, entries| {
                places.copy_from_slice(&ends);
                coordinates.iter_mut().zip([2, 0, 3]).for_each(|(place, at)| *place = at);
                entries.iter_mut().zip([4.0, 1.0, -1.0]).for_each(|(place, entry)| *place = entry);
                true
            });
            assert_eq!((written, &rows), (is_right, if is_right { &expected } else { &before }));
        }
        assert!(!rows.push_written(1, 1, |_, _, _| true) && !rows.push_written(0, 1, |_, _, _| false));
        assert_eq!(rows, expected);
        // A short row in memory that was used before, and one beyond it.
        rows.clear();
        let long: Vec<(u32, f64)> = (0..30).map(|at| (at, f64::from(at))).collect();
        for row in [&long[..3], &[], &long] {
            let (coordinates, entries): (Vec<u32>, Vec<f64>) = row.iter().copied().unzip();
            rows.push_slices(&coordinates, &entries);
        }
        let mut pushed = SparseRows::default();
        [&long[..3], &[], &long].into_iter().for_each(|row| pushed.push(row.iter().copied()));
        assert_eq!(rows, pushed);
        rows = expected;
        rows.push([(5, 2.0)]);
        assert_eq!((rows.row(3), rows.row(4)), ((&[0, 3][..], &[1.0, -1.0][..]), (&[5][..], &[2.0][..])));
        assert_eq!((rows.coordinates().len(), rows.ends()), (5, &[1, 2, 2, 4, 5][..]));
    }
}
