//! The validation gaps of a training as an SVG picture.

use bundlenet::train::{Measurement, Stage};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 120.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 50.0;
const COLOURS: [&str; 6] = ["#4477aa", "#ee6677", "#228833", "#aa8800", "#66aacc", "#aa3377"];

/// The scales of both axes. Validations have equal distances; gaps have a logarithmic scale.
struct Axes {
    last: f64,
    low: f64,
    high: f64,
}

impl Axes {
    fn new(history: &[Measurement]) -> Self {
        let gaps = history.iter().flat_map(|line| &line.gaps).map(|gap| log(*gap));
        let (low, high) = gaps.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), gap| (a.min(gap), b.max(gap)));
        let (low, high) = if low <= high { (low.floor(), high.ceil().max(low.floor() + 1.0)) } else { (0.0, 1.0) };
        Self { last: history.len().saturating_sub(1).max(1) as f64, low, high }
    }

    fn x(&self, index: usize) -> f64 {
        LEFT + index as f64 / self.last * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, gap: f64) -> f64 {
        TOP + (self.high - log(gap)) / (self.high - self.low) * (HEIGHT - TOP - BOTTOM)
    }
}

fn log(gap: f64) -> f64 {
    gap.max(1e-6).log10()
}

/// One line for each of `columns`, the steps after which gaps are measured.
pub(crate) fn validation(name: &str, columns: &[usize], history: &[Measurement]) -> String {
    let axes = Axes::new(history);
    let name = name.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let curves: String =
        columns.iter().enumerate().map(|(index, &steps)| curve(&axes, history, index, steps)).collect();
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{}{}{}{curves}</svg>\n",
        text((LEFT, 22.0), "font-size=\"15\"", &format!("{name}: mean gap on validation data, %")),
        grid(&axes),
        labels(&axes, history)
    )
}

fn text((x, y): (f64, f64), attributes: &str, content: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" {attributes}>{content}</text>\n")
}

/// Horizontal lines at the powers of ten.
fn grid(axes: &Axes) -> String {
    let line = |power: i32| {
        let gap = 10.0_f64.powi(power);
        let (y, end) = (axes.y(gap), WIDTH - RIGHT);
        let line = format!("<line x1=\"{LEFT}\" x2=\"{end}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#dddddd\"/>\n");
        line + &text((LEFT - 8.0, y + 4.0), "text-anchor=\"end\"", &gap.to_string())
    };
    (axes.low as i32..=axes.high as i32).map(line).collect()
}

/// Labels of the horizontal axis, and the border between the two stages.
fn labels(axes: &Axes, history: &[Measurement]) -> String {
    let below = HEIGHT - BOTTOM;
    let label = |index: usize| {
        let label = match history[index].stage {
            Stage::Gradient => history[index].updates.to_string(),
            Stage::Evolution => format!("+{}", history[index].generations),
        };
        text((axes.x(index), below + 18.0), "text-anchor=\"middle\"", &label)
    };
    let mut svg: String = (0..history.len()).step_by((history.len() / 8).max(1)).map(label).collect();
    let middle = (LEFT + WIDTH - RIGHT) / 2.0;
    svg += &text((middle, HEIGHT - 10.0), "text-anchor=\"middle\"", "updates, then generations");
    if let Some(border) = history.iter().position(|line| line.stage == Stage::Evolution) {
        let x = axes.x(border);
        svg += &format!(
            "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{below}\" stroke=\"#999999\" stroke-dasharray=\"4 4\"/>\n"
        );
        svg += &text((x + 5.0, TOP + 12.0), "fill=\"#666666\"", "evolution");
    }
    svg
}

/// The gaps of one column.
fn curve(axes: &Axes, history: &[Measurement], column: usize, steps: usize) -> String {
    let colour = COLOURS[column % COLOURS.len()];
    let points: Vec<(f64, f64)> =
        history.iter().enumerate().map(|(index, line)| (axes.x(index), axes.y(line.gaps[column]))).collect();
    let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let path = path.join(" ");
    let line = format!("<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\" points=\"{path}\"/>\n");
    let (Some((x, y)), Some(last)) = (points.last(), history.last()) else { return line };
    let label = format!("{steps} steps: {:.3}", last.gaps[column]);
    line + &text((x + 6.0, y + 4.0), &format!("fill=\"{colour}\""), &label)
}
