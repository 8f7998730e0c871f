//! A model of the time on many ranks, from figures measured on few: no measurement of many ranks.
//!
//! ```text
//! model sum  COMPONENTS SECONDS LONGEST BYTES LATENCY BANDWIDTH IMBALANCE    seconds of an evaluation on one rank
//! model weak COMPONENTS SECONDS LONGEST BYTES LATENCY BANDWIDTH IMBALANCE    the same for each rank: the sum grows
//! model jobs JOBS SECONDS SERIAL LATENCY BANDWIDTH BYTES                     seconds of a job, serial part
//! model draw NAME 'sum ...' [NAME 'jobs ...'] ...                            speed-ups as an SVG picture
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
    if let Some((_, works)) = arguments.split_first().filter(|(task, _)| *task == "draw") {
        print!("{}", picture(works));
        return;
    }
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

/// Length of a factor of 2 in the picture, on both axes, and the place of one rank with a speed-up of 1.
const DOUBLING: f64 = 40.0;
const CORNER: (f64, f64) = (60.0, 450.0);
const COLOURS: [&str; 3] = ["#4477aa", "#ee6677", "#228833"];

/// The speed-ups of some works by ranks, both on logarithmic axes. `works` has names and commands in turn.
pub(crate) fn picture(works: &[String]) -> String {
    let place = |ranks: f64, gain: f64| (CORNER.0 + DOUBLING * ranks.log2(), CORNER.1 - DOUBLING * gain.log2());
    let (end, top) = place(1024.0, 1024.0);
    let mut drawn = vec![
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 660 500\" font-family=\"sans-serif\" \
         font-size=\"13\">"
            .to_string(),
        "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>".to_string(),
        format!("<text x=\"{}\" y=\"25\">A model, not a measurement: speed-up by ranks</text>", CORNER.0),
        format!("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">ranks</text>", 0.5 * (CORNER.0 + end), CORNER.1 + 40.0),
    ];
    for number in RANKS.into_iter().step_by(2) {
        let (x, y) = place(number as f64, number as f64);
        let (left, bottom) = CORNER;
        drawn.push(format!("<path d=\"M{x} {bottom}V{top}M{left} {y}H{end}\" stroke=\"#dddddd\"/>"));
        drawn.push(format!("<text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{number}</text>", bottom + 18.0));
        drawn.push(format!("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{number}</text>", left - 8.0, y + 4.0));
    }
    drawn.push(format!(
        "<path d=\"M{} {}L{end} {top}\" stroke=\"#888888\" stroke-dasharray=\"4 4\"/>\n\
         <text x=\"{}\" y=\"{}\" fill=\"#888888\">number of ranks</text>",
        CORNER.0,
        CORNER.1,
        end + 8.0,
        top + 4.0
    ));
    for (work, colour) in works.chunks_exact(2).zip(COLOURS.into_iter().cycle()) {
        let command: Vec<String> = work[1].split_whitespace().map(str::to_string).collect();
        let places: Vec<(f64, f64)> = rows(&command).iter().map(|row| place(row.0 as f64, row.2)).collect();
        let points: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let label = places.last().map_or(0.0, |last| last.1 + 4.0);
        drawn.push(format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\n\
             <text x=\"{}\" y=\"{label:.1}\" fill=\"{colour}\">{}</text>",
            points.join(" "),
            end + 8.0,
            work[0]
        ));
    }
    drawn.push("</svg>\n".to_string());
    drawn.join("\n")
}
