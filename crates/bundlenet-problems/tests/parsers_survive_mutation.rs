//! A mutated file of any format gives an instance or a clear error. It never causes a panic, and memory stays in
//! proportion to the size of the file.

use bundlenet::Function;
use bundlenet_problems::{Error, Family, Format, Generator, Source};
use bundlenet_testing::memory::{Metered, peak_of};
use bundlenet_testing::{cases, sample};
use proptest::prelude::*;

#[global_allocator]
static ALLOCATOR: Metered = Metered;

/// A change to a file.
#[derive(Clone, Debug)]
enum Mutation {
    Byte { at: usize, value: u8 },
    Truncate { at: usize },
    Token { at: usize, value: &'static str },
    DeleteToken { at: usize },
    RepeatLine { at: usize },
    DeleteLine { at: usize },
}

const TOKENS: [&str; 18] = [
    "0",
    "-1",
    "-0",
    "1",
    "2",
    "3",
    "1e3",
    "0.5",
    "nan",
    "inf",
    "-inf",
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "99999999999999999999999",
    "1e308",
    "x",
    "[]",
];

fn mutation() -> impl Strategy<Value = Mutation> {
    let at = || any::<prop::sample::Index>().prop_map(|index| index.index(1 << 16));
    prop_oneof![
        (at(), any::<u8>()).prop_map(|(at, value)| Mutation::Byte { at, value }),
        at().prop_map(|at| Mutation::Truncate { at }),
        (at(), prop::sample::select(TOKENS.to_vec())).prop_map(|(at, value)| Mutation::Token { at, value }),
        // The sizes of an instance are among the first tokens.
        (0_usize..6, prop::sample::select(TOKENS.to_vec())).prop_map(|(at, value)| Mutation::Token { at, value }),
        at().prop_map(|at| Mutation::DeleteToken { at }),
        at().prop_map(|at| Mutation::RepeatLine { at }),
        at().prop_map(|at| Mutation::DeleteLine { at }),
    ]
}

/// Start and end of every token: a run of characters without a separator.
fn tokens(text: &[u8]) -> Vec<(usize, usize)> {
    let is_separator = |byte: &u8| byte.is_ascii_whitespace() || b",[]{}:".contains(byte);
    let mut found = vec![];
    let mut start = None;
    for (at, byte) in text.iter().chain(b" ").enumerate() {
        match (start, is_separator(byte)) {
            (None, false) => start = Some(at),
            (Some(from), true) => {
                found.push((from, at));
                start = None;
            }
            _ => {}
        }
    }
    found
}

fn apply(mut text: Vec<u8>, mutation: &Mutation) -> Vec<u8> {
    if text.is_empty() {
        return text;
    }
    let token = |text: &[u8], at: usize| {
        let tokens = tokens(text);
        if tokens.is_empty() { (0, 0) } else { tokens[at % tokens.len()] }
    };
    let line = |text: &[u8], at: usize| {
        let at = at % text.len();
        let start = text[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let end = text[at..].iter().position(|&byte| byte == b'\n').map_or(text.len(), |end| at + end + 1);
        (start, end)
    };
    match *mutation {
        Mutation::Byte { at, value } => {
            let at = at % text.len();
            text[at] = value;
        }
        Mutation::Truncate { at } => text.truncate(at % text.len()),
        Mutation::Token { at, value } => {
            let (start, end) = token(&text, at);
            text.splice(start..end, value.bytes());
        }
        Mutation::DeleteToken { at } => {
            let (start, end) = token(&text, at);
            text.drain(start..end);
        }
        Mutation::RepeatLine { at } => {
            let (start, end) = line(&text, at);
            let copy = text[start..end].to_vec();
            text.splice(start..start, copy);
        }
        Mutation::DeleteLine { at } => {
            let (start, end) = line(&text, at);
            text.drain(start..end);
        }
    }
    text
}

/// Reads a mutated file, with the name of its format and without. If the file still is an instance, evaluates its dual.
fn survive(format: Format, text: &[u8], mutations: &[Mutation]) {
    let mutated = mutations.iter().fold(text.to_vec(), apply);
    read(&format!("mutated.{}", format.extension()), mutated.clone());
    read("mutated", mutated);
}

fn read(file: &str, mutated: Vec<u8>) {
    let size = mutated.len() as isize;
    let (parsed, used) = peak_of(|| Source::parse(file, mutated, None));
    // A .dow file lists arcs and commodities in a few bytes each; the instance has a cost for each pair.
    let most = 1_000_000 + 200 * size + size * size / 4;
    assert!(used <= most, "{used} bytes for a file of {size}");
    match parsed {
        Err(Error::Parse(error)) => assert!(error.line >= 1 && !error.expected.is_empty() && !error.found.is_empty()),
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(source) => {
            for problem in &source.problems {
                let mut dual = problem.dual();
                let mut subgradient = vec![0.0; dual.dim()];
                let point = vec![0.5; dual.dim()];
                // Huge numbers may overflow: an error, not a panic.
                let _ = Function::new(&mut *dual).unwrap().evaluate(&point, &mut subgradient);
            }
        }
    }
}

const FORMATS: [Format; 4] = [Format::Json, Format::Dat, Format::Dow, Format::Text];

fn mutations() -> impl Strategy<Value = Vec<Mutation>> {
    prop::collection::vec(mutation(), 1..4)
}

/// A real instance, as a file of the format.
fn generated(family: Family, format: Format) -> Vec<u8> {
    let generator = Generator::new(family, 1);
    let generator = if family == Family::McSml40 { generator.with_commodities(3).unwrap() } else { generator };
    generator.instance(0).unwrap().problem.to_text(format).unwrap().into_bytes()
}

proptest! {
    #![proptest_config(cases(3000))]

    #[test]
    fn dat(mutations in mutations()) {
        survive(Format::Dat, sample::DAT.as_bytes(), &mutations);
    }

    #[test]
    fn dow(mutations in mutations()) {
        survive(Format::Dow, sample::DOW.as_bytes(), &mutations);
    }

    #[test]
    fn network_json(mutations in mutations()) {
        survive(Format::Json, sample::NETWORK_JSON.as_bytes(), &mutations);
    }

    #[test]
    fn assignment_text(mutations in mutations()) {
        survive(Format::Text, sample::ASSIGNMENT_TEXT.as_bytes(), &mutations);
    }

    #[test]
    fn assignment_text_with_count(mutations in mutations()) {
        let text = format!("2\n{0}{0}", sample::ASSIGNMENT_TEXT);
        survive(Format::Text, text.as_bytes(), &mutations);
    }

    #[test]
    fn assignment_json(mutations in mutations()) {
        survive(Format::Json, sample::ASSIGNMENT_JSON.as_bytes(), &mutations);
    }

    #[test]
    fn location_text(mutations in mutations()) {
        survive(Format::Text, sample::LOCATION_TEXT.as_bytes(), &mutations);
    }

    #[test]
    fn location_json(mutations in mutations()) {
        survive(Format::Json, sample::LOCATION_JSON.as_bytes(), &mutations);
    }

    #[test]
    fn bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        FORMATS.into_iter().for_each(|format| survive(format, &bytes, &[]));
    }

    #[test]
    fn numbers(numbers in prop::collection::vec(prop::sample::select(TOKENS.to_vec()), 0..40), lines in any::<u64>()) {
        let separator = |at: usize| if lines >> (at % 64) & 1 == 1 { '\n' } else { ' ' };
        let tokens = numbers.iter().enumerate();
        let text: String = tokens.flat_map(|(at, token)| token.chars().chain([separator(at)])).collect();
        FORMATS.into_iter().for_each(|format| survive(format, text.as_bytes(), &[]));
    }
}

/// Faults found by fuzzing: a `.dow` file of 54 kB whose dual took 18 GB, and an assignment text read in quadratic
/// time.
#[test]
fn short_files_that_stand_for_much() {
    let dow = format!("t\n6000 3000 2000\n{}{}", "1 2 1 1 1 0 0\n".repeat(3000), "1 2 1\n".repeat(2000));
    let problem = Source::parse("dow", dow.into_bytes(), None).unwrap().choose(None).unwrap();
    let (_, used) = peak_of(|| problem.dual());
    assert!(used < 500_000_000, "{used} bytes");
    let text = format!("100000\n{}", "1 1 1 1 1\n".repeat(100_000));
    assert_eq!(Source::parse("text", text.into_bytes(), None).unwrap().problems.len(), 100_000);
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn generated_files(mutations in mutations()) {
        for (family, format) in [
            (Family::McSml40, Format::Dat),
            (Family::McSml40, Format::Json),
            (Family::Ga10x100, Format::Text),
            (Family::Ga10x100, Format::Json),
            (Family::Cfl20x50, Format::Text),
            (Family::Cfl20x50, Format::Json),
        ] {
            survive(format, &generated(family, format), &mutations);
        }
    }

    #[test]
    fn archives(mutations in mutations()) {
        let _ = Source::parse("archive", mutations.iter().fold(sample::gzip(sample::DAT), apply), None);
    }
}
