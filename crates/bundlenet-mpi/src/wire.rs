//! Results of components as words of 64 bits.
//!
//! Plain results, exact values and subgradients, are columns: all values, all ends of subgradients, all times. Other
//! results are records, one for each component: its time, value, bound, the length of its subgradient, and the numbers
//! and sparse vectors of its further cuts and solutions. The subgradients travel beside both, as two lists.

use bundlenet::{Minorants, Solutions};

/// Appends numbers.
pub(crate) fn put(words: &mut Vec<u64>, numbers: &[f64]) {
    words.extend(numbers.iter().map(|number| number.to_bits()));
}

/// Appends a sparse vector: its length, the coordinates, the entries.
fn put_sparse(words: &mut Vec<u64>, (coordinates, entries): (&[u32], &[f64])) {
    words.push(coordinates.len() as u64);
    words.extend(coordinates.iter().map(|&coordinate| u64::from(coordinate)));
    put(words, entries);
}

/// Appends a text.
pub(crate) fn put_text(words: &mut Vec<u64>, text: &str) {
    words.push(text.len() as u64);
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    words.extend(text.as_bytes().chunks(8).map(word));
}

/// Appends the records of components, without their subgradients: one for each minorant. `seconds` are empty or have one
/// number for each; `solutions` are empty, or have one for each minorant and perhaps one for each further cut.
pub(crate) fn put_records(words: &mut Vec<u64>, seconds: &[f64], minorants: &Minorants, solutions: &Solutions) {
    let mut more = minorants.more().enumerate().peekable();
    let first_further = minorants.len();
    let has_further = solutions.len() > first_further;
    for place in 0..minorants.len() {
        let time = seconds.get(place).copied().unwrap_or(0.0);
        put(words, &[time, minorants.values()[place], minorants.bounds()[place]]);
        words.extend([minorants.subgradient(place).0.len() as u64, u64::from(!solutions.is_empty())]);
        if !solutions.is_empty() {
            put(words, &[solutions.costs()[place]]);
            put_sparse(words, solutions.variables(place));
        }
        let at = words.len();
        words.extend([0, u64::from(has_further)]);
        while let Some((index, (_, value, slope))) = more.next_if(|(_, (owner, ..))| *owner == place) {
            words[at] += 1;
            put(words, &[value]);
            put_sparse(words, slope);
            if has_further {
                put(words, &[solutions.costs()[first_further + index]]);
                put_sparse(words, solutions.variables(first_further + index));
            }
        }
    }
}

/// Words that are read from the front. Reading beyond the end gives zeros: the sender is this program.
pub(crate) struct Words<'a>(pub(crate) &'a [u64]);

impl<'a> Words<'a> {
    pub(crate) fn word(&mut self) -> u64 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    pub(crate) fn number(&mut self) -> f64 {
        f64::from_bits(self.word())
    }

    fn count(&mut self) -> usize {
        usize::try_from(self.word()).unwrap_or(0).min(self.0.len())
    }

    fn take(&mut self, count: usize) -> &'a [u64] {
        let (first, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        first
    }

    fn sparse(&mut self) -> impl Iterator<Item = (u32, f64)> + use<'a> {
        let count = self.count();
        let (coordinates, entries) = (self.take(count), self.take(count));
        coordinates.iter().zip(entries).map(|(&coordinate, &entry)| (coordinate as u32, f64::from_bits(entry)))
    }

    pub(crate) fn text(&mut self) -> String {
        let count = usize::try_from(self.word()).unwrap_or(0);
        let mut bytes: Vec<u8> = self.take(count.div_ceil(8)).iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.truncate(count);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// The numbers of the results of a share.
pub(crate) enum Numbers<'a> {
    Records(Words<'a>),
    Columns(Columns<'a>),
}

/// The results of a share: its numbers, and the coordinates and entries of all subgradients. It is read from the front.
pub(crate) struct Results<'a> {
    pub(crate) numbers: Numbers<'a>,
    pub(crate) coordinates: &'a [u32],
    pub(crate) entries: &'a [f64],
}

impl Results<'_> {
    /// Reads the results of a component and returns its time.
    pub(crate) fn read(&mut self, gathered: &mut Gathered<'_>) -> f64 {
        let (seconds, value, bound, count) = match &mut self.numbers {
            Numbers::Columns(columns) => {
                let (value, count, seconds) = columns.read();
                (seconds, value, value, count)
            }
            Numbers::Records(words) => {
                let (seconds, value, bound) = (words.number(), words.number(), words.number());
                (seconds, value, bound, usize::try_from(words.word()).unwrap_or(0))
            }
        };
        let (coordinates, entries);
        (coordinates, self.coordinates) = self.coordinates.split_at(count.min(self.coordinates.len()));
        (entries, self.entries) = self.entries.split_at(count.min(self.entries.len()));
        if value == bound {
            gathered.minorants.push_slices(value, coordinates, entries);
        } else {
            let pairs = coordinates.iter().copied().zip(entries.iter().copied());
            gathered.minorants.push_within(value, bound, pairs);
        }
        if let Numbers::Records(words) = &mut self.numbers {
            gathered.read_more(words);
        }
        seconds
    }
}

/// Whether components have nothing but exact values and subgradients.
pub(crate) fn are_plain(minorants: &Minorants, solutions: &Solutions) -> bool {
    solutions.is_empty() && minorants.more().next().is_none() && minorants.values() == minorants.bounds()
}

/// Appends plain results as columns: all values, where each subgradient ends, and all times.
pub(crate) fn put_columns(words: &mut Vec<u64>, minorants: &Minorants, seconds: &[f64]) {
    put(words, minorants.values());
    words.extend(minorants.ends().iter().map(|&end| end as u64));
    put(words, seconds);
}

/// Columns of plain results. They are read from the front.
pub(crate) struct Columns<'a> {
    values: Words<'a>,
    ends: Words<'a>,
    /// Times, if they were taken.
    seconds: Words<'a>,
    /// End of the subgradient before.
    end: usize,
}

impl<'a> Columns<'a> {
    /// The columns of `count` components.
    pub(crate) fn new(words: &'a [u64], count: usize) -> Self {
        let mut words = Words(words);
        Self { values: Words(words.take(count)), ends: Words(words.take(count)), seconds: words, end: 0 }
    }

    /// Value, number of entries, and time of the next component.
    fn read(&mut self) -> (f64, usize, f64) {
        let end = usize::try_from(self.ends.word()).unwrap_or(0);
        let count = end.saturating_sub(self.end);
        self.end = end;
        (self.values.number(), count, self.seconds.number())
    }

    /// Writes all values and ends.
    pub(crate) fn write(&self, values: &mut [f64], ends: &mut [usize]) {
        values.iter_mut().zip(self.values.0).for_each(|(value, &word)| *value = f64::from_bits(word));
        ends.iter_mut().zip(self.ends.0).for_each(|(end, &word)| *end = word as usize);
    }

    /// All times; none if they were not taken.
    pub(crate) fn seconds(&self) -> impl Iterator<Item = f64> + use<'a> {
        self.seconds.0.iter().map(|&word| f64::from_bits(word))
    }
}

/// Results of components in order.
pub(crate) struct Gathered<'a> {
    pub(crate) minorants: &'a mut Minorants,
    pub(crate) solutions: &'a mut Solutions,
    /// Solutions of further cuts.
    pub(crate) further: &'a mut Solutions,
}

impl Gathered<'_> {
    /// Reads the solution of the last component, and its further cuts with their solutions.
    fn read_more(&mut self, words: &mut Words<'_>) {
        if words.word() == 1 {
            let cost = words.number();
            self.solutions.push(cost, words.sparse());
        }
        let (count, is_solved) = (words.word(), words.word() == 1);
        for _ in 0..count {
            let value = words.number();
            self.minorants.push_more(value, words.sparse());
            if is_solved {
                let cost = words.number();
                self.further.push(cost, words.sparse());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_arrive_as_they_were() {
        let (mut minorants, mut solutions) = (Minorants::new(), Solutions::new());
        minorants.push(0.1, [(3, 1.5), (7, -0.0), (u32::MAX, 2.5)]);
        minorants.push_more(-1.0, [(1, 4.0)]);
        minorants.push_more(-2.0, []);
        minorants.push_within(1.0, 2.0, [(0, 1e-300)]);
        solutions.push(5.0, [(1, 1.0)]);
        solutions.push(6.0, []);
        for has_further in [false, true] {
            if has_further {
                solutions.push(7.0, [(9, 1.0)]);
                solutions.push(8.0, [(8, 1.0)]);
            }
            let mut words = vec![];
            put_records(&mut words, &[0.25, 0.5], &minorants, &solutions);
            let (mut arrived, mut firsts, mut further) = (Minorants::new(), Solutions::new(), Solutions::new());
            let mut gathered = Gathered { minorants: &mut arrived, solutions: &mut firsts, further: &mut further };
            let (coordinates, entries) = minorants.subgradients();
            let mut results = Results { numbers: Numbers::Records(Words(&words)), coordinates, entries };
            assert_eq!([results.read(&mut gathered), results.read(&mut gathered)], [0.25, 0.5]);
            assert!(results.entries.is_empty() && arrived == minorants);
            assert!(matches!(results.numbers, Numbers::Records(Words([]))));
            firsts.append(&further);
            assert_eq!(firsts, solutions);
        }
    }

    #[test]
    fn plain_results_travel_as_columns() {
        let (mut minorants, none) = (Minorants::new(), Solutions::new());
        minorants.push(0.5, [(3, 1.5), (7, -0.0)]);
        minorants.push(1.5, []);
        minorants.push(-0.0, [(0, 1e-300)]);
        assert!(are_plain(&minorants, &none));
        for times in [&[][..], &[0.25, 0.5, 0.75][..]] {
            let mut words = vec![];
            put_columns(&mut words, &minorants, times);
            let columns = Columns::new(&words, 3);
            let (mut values, mut ends) = ([f64::NAN; 3], [9; 3]);
            columns.write(&mut values, &mut ends);
            assert_eq!((values.map(f64::to_bits), ends), ([0.5, 1.5, -0.0].map(f64::to_bits), [2, 2, 3]));
            assert!(columns.seconds().eq(times.iter().copied()));
            let (mut arrived, mut firsts, mut further) = (Minorants::new(), Solutions::new(), Solutions::new());
            let mut gathered = Gathered { minorants: &mut arrived, solutions: &mut firsts, further: &mut further };
            let (coordinates, entries) = minorants.subgradients();
            let mut results = Results { numbers: Numbers::Columns(columns), coordinates, entries };
            let read = [(); 3].map(|()| results.read(&mut gathered));
            assert_eq!((&read[..times.len()], &arrived), (times, &minorants));
        }
        let mut more = minorants.clone();
        more.push_more(1.0, []);
        let mut wide = minorants.clone();
        wide.push_within(1.0, 2.0, []);
        let mut solutions = Solutions::new();
        solutions.push(1.0, []);
        assert!(!are_plain(&more, &none) && !are_plain(&wide, &none) && !are_plain(&minorants, &solutions));
    }

    #[test]
    fn texts_arrive_as_they_were() {
        for text in ["", "a", "12345678", "\u{e9}t\u{e9} failed"] {
            let mut words = vec![];
            put_text(&mut words, text);
            assert_eq!(Words(&words).text(), text);
        }
    }
}
