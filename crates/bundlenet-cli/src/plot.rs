//! The gaps on validation data in the course of a training, as a picture.

use std::fmt::Write;

use super::trainer::{Stage, Trainer};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 120.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 50.0;
const COLOURS: [&str; 6] = ["#4477aa", "#ee6677", "#228833", "#aa8800", "#66aacc", "#aa3377"];

/// One line for each column of gaps, on a logarithmic scale.
pub(crate) fn validation(trainer: &Trainer) -> String {
    let history = trainer.history();
    let gaps = history.iter().flat_map(|line| &line.gaps).map(|gap| gap.max(1e-6).log10());
    let (low, high) = gaps.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), gap| (low.min(gap), high.max(gap)));
    let (low, high) = if low <= high { (low.floor(), high.ceil().max(low.floor() + 1.0)) } else { (0.0, 1.0) };
    // Each validation has the same width, whatever lies between two of them.
    let last = history.len().saturating_sub(1).max(1) as f64;
    let x = |index: usize| LEFT + index as f64 / last * (WIDTH - LEFT - RIGHT);
    let y = |gap: f64| TOP + (high - gap.max(1e-6).log10()) / (high - low) * (HEIGHT - TOP - BOTTOM);
    let mut svg = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"{LEFT}\" y=\"22\" \
         font-size=\"15\">{}: mean gap on validation data, %</text>\n",
        escaped(&trainer.settings().name)
    );
    for power in low as i32..=high as i32 {
        let gap = 10.0_f64.powi(power);
        let (height, end) = (y(gap), WIDTH - RIGHT);
        let _ = write!(
            svg,
            "<line x1=\"{LEFT}\" x2=\"{end}\" y1=\"{height:.1}\" y2=\"{height:.1}\" stroke=\"#dddddd\"/>\n<text \
             x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{gap}</text>\n",
            LEFT - 8.0,
            height + 4.0
        );
    }
    if let Some(border) = history.iter().position(|line| line.stage == Stage::Evolution) {
        let at = x(border);
        let _ = write!(
            svg,
            "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{:.1}\" stroke=\"#999999\" \
             stroke-dasharray=\"4 4\"/>\n<text x=\"{:.1}\" y=\"{:.1}\" fill=\"#666666\">evolution</text>\n",
            HEIGHT - BOTTOM,
            at + 5.0,
            TOP + 12.0
        );
    }
    for index in (0..history.len()).step_by((history.len() / 8).max(1)) {
        let line = &history[index];
        let label = match line.stage {
            Stage::Gradient => format!("{}", line.updates),
            Stage::Evolution => format!("+{}", line.generations),
        };
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
            x(index),
            HEIGHT - BOTTOM + 18.0
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">updates, then generations</text>",
        LEFT + (WIDTH - LEFT - RIGHT) / 2.0,
        HEIGHT - 10.0
    );
    for (column, steps) in trainer.settings().validation.steps.iter().enumerate() {
        let colour = COLOURS[column % COLOURS.len()];
        let points: Vec<(f64, f64)> =
            history.iter().enumerate().map(|(index, line)| (x(index), y(line.gaps[column]))).collect();
        let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(
            svg,
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\" points=\"{}\"/>",
            path.join(" ")
        );
        if let (Some((x, y)), Some(line)) = (points.last(), history.last()) {
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"{colour}\">{steps} steps: {:.3}</text>",
                x + 6.0,
                y + 4.0,
                line.gaps[column]
            );
        }
    }
    svg.push_str("</svg>\n");
    svg
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
