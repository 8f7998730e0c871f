//! Results of components as words of 64 bits.
//!
//! Plain results, exact values and subgradients, are columns: all values, all ends of subgradients, all times. Other
//! results are records, one for each component: its time, value, bound, the length of its subgradient, and the numbers
//! and sparse vectors of its further cuts and solutions. The subgradients travel beside both, as two lists.

use std::ops::Range;

use bundlenet::{Minorants, Solutions};

/// Results of the components of a rank, in the order of evaluation.
#[derive(Default)]
pub(crate) struct Evaluated {
    pub(crate) minorants: Minorants,
    /// Solutions of the components, and of their further cuts.
    pub(crate) solutions: Solutions,
    pub(crate) further: Solutions,
    /// Times of the components, if they are taken.
    pub(crate) seconds: Vec<f64>,
}

impl Evaluated {
    pub(crate) fn clear(&mut self) {
        self.minorants.clear();
        self.solutions.clear();
        self.further.clear();
        self.seconds.clear();
    }

    /// Appends the solutions of `count` components, and those of their further cuts, which follow.
    pub(crate) fn push_solutions(&mut self, part: &Solutions, count: usize) {
        for (place, &cost) in part.costs().iter().enumerate() {
            let solutions = if place < count { &mut self.solutions } else { &mut self.further };
            let (coordinates, entries) = part.variables(place);
            solutions.push(cost, coordinates.iter().copied().zip(entries.iter().copied()));
        }
    }
}

/// Components that follow each other in the plan of a call and in the results of a rank.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Run {
    /// Place of the first one in the plan.
    pub(crate) first: usize,
    /// Places in the results.
    pub(crate) at: Range<usize>,
}

impl Run {
    /// Where the subgradients of its components are among all.
    pub(crate) fn entries(&self, minorants: &Minorants) -> Range<usize> {
        let end = |place: usize| if place == 0 { 0 } else { minorants.ends()[place - 1] };
        end(self.at.start)..end(self.at.end)
    }
}

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

/// Appends the records of components, without their subgradients.
pub(crate) fn put_records(words: &mut Vec<u64>, runs: &[Run], evaluated: &Evaluated) {
    let Evaluated { minorants, solutions, further, seconds } = evaluated;
    let more: Vec<_> = minorants.more().collect();
    let is_solved = further.len() == more.len();
    for place in runs.iter().flat_map(|run| run.at.clone()) {
        let time = seconds.get(place).copied().unwrap_or(0.0);
        put(words, &[time, minorants.values()[place], minorants.bounds()[place]]);
        words.extend([minorants.subgradient(place).0.len() as u64, u64::from(!solutions.is_empty())]);
        if !solutions.is_empty() {
            put(words, &[solutions.costs()[place]]);
            put_sparse(words, solutions.variables(place));
        }
        let first = more.partition_point(|(owner, ..)| *owner < place);
        let own = more[first..].partition_point(|(owner, ..)| *owner == place);
        words.extend([own as u64, u64::from(is_solved)]);
        for (index, (_, value, slope)) in more.iter().enumerate().skip(first).take(own) {
            put(words, &[*value]);
            put_sparse(words, *slope);
            if is_solved {
                put(words, &[further.costs()[index]]);
                put_sparse(words, further.variables(index));
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
pub(crate) fn are_plain(evaluated: &Evaluated) -> bool {
    let minorants = &evaluated.minorants;
    evaluated.solutions.is_empty() && minorants.more().len() == 0 && minorants.values() == minorants.bounds()
}

/// Appends plain results as columns: all values, where each subgradient ends, and all times.
pub(crate) fn put_columns(words: &mut Vec<u64>, runs: &[Run], evaluated: &Evaluated) {
    let Evaluated { minorants, seconds, .. } = evaluated;
    runs.iter().for_each(|run| put(words, &minorants.values()[run.at.clone()]));
    let mut sent = 0;
    for run in runs {
        let entries = run.entries(minorants);
        words.extend(minorants.ends()[run.at.clone()].iter().map(|&end| (end - entries.start + sent) as u64));
        sent += entries.len();
    }
    if !seconds.is_empty() {
        runs.iter().for_each(|run| put(words, &seconds[run.at.clone()]));
    }
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

    /// Writes the values of the next components, and where their subgradients end, counted from the first of these.
    pub(crate) fn write(&mut self, values: &mut [f64], ends: &mut [usize]) {
        let words = (self.values.take(values.len()), self.ends.take(ends.len()));
        values.iter_mut().zip(words.0).for_each(|(value, &word)| *value = f64::from_bits(word));
        ends.iter_mut().zip(words.1).for_each(|(end, &word)| *end = (word as usize).wrapping_sub(self.end));
        self.end = words.1.last().map_or(self.end, |&word| word as usize);
    }

    /// Times of the next components; none if they were not taken.
    pub(crate) fn seconds(&mut self, count: usize) -> impl Iterator<Item = f64> + use<'a> {
        self.seconds.take(count).iter().map(|&word| f64::from_bits(word))
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

    /// Three components in the order 2, 0, 1 of evaluation, their runs, and the list in order.
    fn evaluated(seconds: &[f64]) -> (Evaluated, [Run; 2], Minorants) {
        let slopes = [&[(3, 1.5), (7, -0.0)][..], &[], &[(0, 1e-300), (u32::MAX, 2.5)]];
        let (mut evaluated, mut expected) = (Evaluated::default(), Minorants::new());
        [2, 0, 1].into_iter().for_each(|at| evaluated.minorants.push(at as f64 - 0.5, slopes[at].iter().copied()));
        [0, 1, 2].into_iter().for_each(|at| expected.push(at as f64 - 0.5, slopes[at].iter().copied()));
        evaluated.seconds = seconds.to_vec();
        (evaluated, [Run { first: 10, at: 1..3 }, Run { first: 12, at: 0..1 }], expected)
    }

    /// Coordinates and entries in the order in which runs are sent.
    fn sent(minorants: &Minorants, runs: &[Run]) -> (Vec<u32>, Vec<f64>) {
        let (coordinates, entries) = minorants.subgradients();
        let parts = || runs.iter().map(|run| run.entries(minorants));
        (
            parts().flat_map(|part| &coordinates[part]).copied().collect(),
            parts().flat_map(|part| &entries[part]).copied().collect(),
        )
    }

    #[test]
    fn records_arrive_as_they_were() {
        let mut minorants = Minorants::new();
        minorants.push(0.1, [(3, 1.5), (7, -0.0), (u32::MAX, 2.5)]);
        minorants.push_more(-1.0, [(1, 4.0)]);
        minorants.push_more(-2.0, []);
        minorants.push_within(1.0, 2.0, [(0, 1e-300)]);
        let mut solutions = Solutions::new();
        solutions.push(5.0, [(1, 1.0)]);
        solutions.push(6.0, []);
        for has_further in [false, true] {
            if has_further {
                solutions.push(7.0, [(9, 1.0)]);
                solutions.push(8.0, [(8, 1.0)]);
            }
            let mut sent = Evaluated { minorants: minorants.clone(), seconds: vec![0.25, 0.5], ..Evaluated::default() };
            sent.push_solutions(&solutions, 2);
            let mut words = vec![];
            put_records(&mut words, &[Run { first: 0, at: 0..2 }], &sent);
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

    /// Records are those of the runs, in their order.
    #[test]
    fn records_arrive_in_order() {
        let (mut evaluated, runs, mut expected) = evaluated(&[0.75, 0.25, 0.5]);
        evaluated.minorants.push_more(1.0, [(1, 2.0)]);
        expected.truncate(2);
        expected.push_more(1.0, [(1, 2.0)]);
        expected.push(1.5, [(0, 1e-300), (u32::MAX, 2.5)]);
        let mut words = vec![];
        put_records(&mut words, &runs, &evaluated);
        let (mut arrived, mut none) = (Minorants::new(), (Solutions::new(), Solutions::new()));
        let mut gathered = Gathered { minorants: &mut arrived, solutions: &mut none.0, further: &mut none.1 };
        let (coordinates, entries) = sent(&evaluated.minorants, &runs);
        let numbers = Numbers::Records(Words(&words));
        let mut results = Results { numbers, coordinates: &coordinates, entries: &entries };
        assert_eq!([(); 3].map(|()| results.read(&mut gathered)), [0.25, 0.5, 0.75]);
        assert_eq!(arrived, expected);
    }

    #[test]
    fn plain_results_travel_as_columns() {
        for times in [&[][..], &[0.75, 0.25, 0.5][..]] {
            let (evaluated, runs, expected) = evaluated(times);
            assert!(are_plain(&evaluated));
            let mut words = vec![];
            put_columns(&mut words, &runs, &evaluated);
            let (coordinates, entries) = sent(&evaluated.minorants, &runs);
            // Run by run into their places.
            let (mut columns, mut arrived, mut begin) = (Columns::new(&words, 3), Minorants::new(), 0);
            for (run, seconds) in runs.iter().zip([&[0.25, 0.5][..], &[0.75]]) {
                let end = begin + run.entries(&evaluated.minorants).len();
                let is_right = arrived.push_written(run.at.len(), end - begin, |room| {
                    columns.write(room.values, room.ends);
                    room.coordinates.copy_from_slice(&coordinates[begin..end]);
                    room.entries.copy_from_slice(&entries[begin..end]);
                    true
                });
                assert!(is_right && columns.seconds(run.at.len()).eq(seconds.iter().copied().take(times.len())));
                begin = end;
            }
            assert_eq!(arrived, expected);
            // One by one.
            let (mut arrived, mut none) = (Minorants::new(), (Solutions::new(), Solutions::new()));
            let mut gathered = Gathered { minorants: &mut arrived, solutions: &mut none.0, further: &mut none.1 };
            let numbers = Numbers::Columns(Columns::new(&words, 3));
            let mut results = Results { numbers, coordinates: &coordinates, entries: &entries };
            let read = [(); 3].map(|()| results.read(&mut gathered));
            assert_eq!((&read[..times.len()], &arrived), (&[0.25, 0.5, 0.75][..times.len()], &expected));
        }
    }

    #[test]
    fn other_results_are_not_plain() {
        let changes: [fn(&mut Evaluated); 3] = [
            |evaluated| evaluated.minorants.push_more(1.0, []),
            |evaluated| evaluated.minorants.push_within(1.0, 2.0, []),
            |evaluated| evaluated.solutions.push(1.0, []),
        ];
        for change in changes {
            let mut evaluated = evaluated(&[]).0;
            change(&mut evaluated);
            assert!(!are_plain(&evaluated));
        }
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
