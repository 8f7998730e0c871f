//! A model of the time on many ranks, from figures measured on few: no measurement of many ranks.
//!
//! ```text
//! model sum  COMPONENTS SECONDS LONGEST BYTES LATENCY BANDWIDTH IMBALANCE    seconds of an evaluation on one rank
//! model weak COMPONENTS SECONDS LONGEST BYTES LATENCY BANDWIDTH IMBALANCE    the same for each rank: the sum grows
//! model jobs JOBS SECONDS SERIAL LATENCY BANDWIDTH BYTES                     seconds of a job, serial part
//! ```
//!
//! A sum: the slowest share, a broadcast along a tree, one answer after the other at rank 0, and the records that it
//! reads. The speed-up of a sum that grows is that over one rank with all of it. Jobs: equal shares, half a job of
//! waiting at the end, and rank 0 as a queue.

const RANKS: [usize; 11] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/// Seconds in which rank 0 reads the record of a component, measured by the example `overhead`.
const RECORD: f64 = 0.05e-6;

/// Seconds of an evaluation of a sum on some ranks.
fn sum([components, seconds, longest, bytes, latency, bandwidth, imbalance]: [f64; 7], ranks: f64) -> f64 {
    if ranks == 1.0 {
        return seconds;
    }
    let share = (seconds / ranks.min(components) * (1.0 + imbalance)).max(longest);
    let others = bytes * (ranks - 1.0) / ranks / bandwidth;
    share + latency * (ranks.log2().ceil() + ranks - 1.0) + others + components * RECORD
}

/// Seconds of an evaluation of a sum that is as many times as long as there are ranks.
fn weak([components, seconds, longest, bytes, latency, bandwidth, imbalance]: [f64; 7], ranks: f64) -> f64 {
    sum([components * ranks, seconds * ranks, longest, bytes * ranks, latency, bandwidth, imbalance], ranks)
}

/// Seconds of a number of jobs on some ranks.
fn jobs([jobs, seconds, serial, latency, bandwidth, bytes]: [f64; 6], ranks: f64) -> f64 {
    let queue = jobs * (latency + bytes / bandwidth);
    let tail = if ranks == 1.0 { 0.0 } else { 0.5 * seconds };
    let all = serial + (jobs * seconds / ranks + tail).max(seconds);
    if ranks == 1.0 { all } else { all.max(serial + queue) }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    println!("| ranks | seconds | speed-up |\n|---|---|---|");
    for (ranks, seconds, gain) in rows(&arguments) {
        println!("| {ranks} | {seconds:.5} | {gain:.1} |");
    }
}

/// Ranks, seconds and speed-up for each number of ranks.
pub(crate) fn rows(arguments: &[String]) -> Vec<(usize, f64, f64)> {
    let numbers: Vec<f64> = arguments.iter().skip(1).filter_map(|text| text.parse().ok()).collect();
    let is_weak = arguments.first().is_some_and(|task| task == "weak");
    let time: Box<dyn Fn(f64) -> f64> = match (arguments.first().map(String::as_str), numbers.as_slice()) {
        (Some("sum"), &[a, b, c, d, e, f, g]) => Box::new(move |ranks| sum([a, b, c, d, e, f, g], ranks)),
        (Some("weak"), &[a, b, c, d, e, f, g]) => Box::new(move |ranks| weak([a, b, c, d, e, f, g], ranks)),
        (Some("jobs"), &[a, b, c, d, e, f]) => Box::new(move |ranks| jobs([a, b, c, d, e, f], ranks)),
        _ => panic!("expected sum or weak and 7 numbers, or jobs and 6 numbers, found {arguments:?}"),
    };
    let row = |ranks: usize| {
        let seconds = time(ranks as f64);
        let alone = time(1.0) * if is_weak { ranks as f64 } else { 1.0 };
        (ranks, seconds, alone / seconds)
    };
    RANKS.map(row).to_vec()
}
