//! Results of components as words of 64 bits.
//!
//! A record of a component has its time, value, bound, the length of its subgradient, and the numbers and sparse vectors
//! of its further cuts and solutions. The subgradients of all components travel beside the records, as two lists.

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

/// Appends the records of components, without their subgradients: one for each minorant, with the same time. `solutions` are empty, or have one for
/// each minorant and perhaps one for each further cut.
pub(crate) fn put_records(words: &mut Vec<u64>, seconds: f64, minorants: &Minorants, solutions: &Solutions) {
    let mut more = minorants.more().enumerate().peekable();
    let first_further = minorants.len();
    let has_further = solutions.len() > first_further;
    for place in 0..minorants.len() {
        put(words, &[seconds, minorants.values()[place], minorants.bounds()[place]]);
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

/// The results of a share: its records, and the coordinates and entries of all subgradients. It is read from the front.
pub(crate) struct Results<'a> {
    pub(crate) words: Words<'a>,
    pub(crate) coordinates: &'a [u32],
    pub(crate) entries: &'a [f64],
}

impl Results<'_> {
    /// Reads the results of a component and returns its time.
    pub(crate) fn read(&mut self, gathered: &mut Gathered<'_>) -> f64 {
        let words = &mut self.words;
        let (seconds, value, bound) = (words.number(), words.number(), words.number());
        let count = usize::try_from(words.word()).unwrap_or(0).min(self.entries.len());
        let (coordinates, entries);
        (coordinates, self.coordinates) = self.coordinates.split_at(count);
        (entries, self.entries) = self.entries.split_at(count);
        if value == bound {
            gathered.minorants.push_slices(value, coordinates, entries);
        } else {
            let pairs = coordinates.iter().copied().zip(entries.iter().copied());
            gathered.minorants.push_within(value, bound, pairs);
        }
        if words.word() == 1 {
            let cost = words.number();
            gathered.solutions.push(cost, words.sparse());
        }
        let (count, is_solved) = (words.word(), words.word() == 1);
        for _ in 0..count {
            let value = words.number();
            gathered.minorants.push_more(value, words.sparse());
            if is_solved {
                let cost = words.number();
                gathered.further.push(cost, words.sparse());
            }
        }
        seconds
    }
}

/// Words of a record without solutions and further cuts.
pub(crate) const PLAIN_RECORD: usize = 7;

/// The numbers of plain records: times, values, bounds, and where each subgradient ends.
#[derive(Default)]
pub(crate) struct Numbers {
    pub(crate) seconds: Vec<f64>,
    pub(crate) values: Vec<f64>,
    pub(crate) bounds: Vec<f64>,
    pub(crate) ends: Vec<usize>,
}

impl Numbers {
    /// Reads plain records.
    pub(crate) fn read(&mut self, words: &[u64]) {
        [&mut self.seconds, &mut self.values, &mut self.bounds].into_iter().for_each(Vec::clear);
        self.ends.clear();
        let mut end = 0;
        for [seconds, value, bound, length, ..] in words.as_chunks::<PLAIN_RECORD>().0 {
            self.seconds.push(f64::from_bits(*seconds));
            self.values.push(f64::from_bits(*value));
            self.bounds.push(f64::from_bits(*bound));
            end += usize::try_from(*length).unwrap_or(0);
            self.ends.push(end);
        }
    }
}

/// Results of components in order.
pub(crate) struct Gathered<'a> {
    pub(crate) minorants: &'a mut Minorants,
    pub(crate) solutions: &'a mut Solutions,
    /// Solutions of further cuts.
    pub(crate) further: &'a mut Solutions,
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
            put_records(&mut words, 0.25, &minorants, &solutions);
            let (mut arrived, mut firsts, mut further) = (Minorants::new(), Solutions::new(), Solutions::new());
            let mut gathered = Gathered { minorants: &mut arrived, solutions: &mut firsts, further: &mut further };
            let (coordinates, entries) = minorants.subgradients();
            let mut results = Results { words: Words(&words), coordinates, entries };
            assert_eq!([results.read(&mut gathered), results.read(&mut gathered)], [0.25; 2]);
            assert!(results.words.0.is_empty() && results.entries.is_empty() && arrived == minorants);
            firsts.append(&further);
            assert_eq!(firsts, solutions);
        }
    }

    #[test]
    fn plain_records_are_read_at_once() {
        let mut minorants = Minorants::new();
        minorants.push(0.5, [(3, 1.5), (7, -0.0)]);
        minorants.push(1.5, []);
        minorants.push_within(1.0, 2.0, [(0, 1e-300)]);
        let (mut words, mut numbers) = (vec![], Numbers::default());
        put_records(&mut words, 0.25, &minorants, &Solutions::new());
        assert_eq!(words.len(), 3 * PLAIN_RECORD);
        numbers.read(&words);
        assert_eq!((&numbers.seconds[..], &numbers.values[..]), (&[0.25; 3][..], minorants.values()));
        assert_eq!((&numbers.bounds[..], &numbers.ends[..]), (minorants.bounds(), &[2, 2, 3][..]));
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
