//! The learning curves of a training as an SVG picture: validation gaps, loss and step lengths.

use bundlenet::train::{Measurement, Stage};

use crate::experiment::digits;

const WIDTH: f64 = 760.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 140.0;
/// Height of a panel with its title, and the parts of it above and below the drawing.
const PANEL: f64 = 270.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 25.0;
/// Height of the labels below the last panel.
const FOOT: f64 = 35.0;
const COLOURS: [&str; 6] = ["#4477aa", "#ee6677", "#228833", "#aa8800", "#66aacc", "#aa3377"];

/// A number for each validation, where there is one.
struct Curve {
    name: String,
    numbers: Vec<Option<f64>>,
}

/// One drawing: some curves over the validations, which have equal distances.
struct Panel {
    title: String,
    curves: Vec<Curve>,
    is_logarithmic: bool,
}

/// The panels of a training, one above the other. `columns` are the steps after which gaps are measured.
pub(crate) fn learning_curves(name: &str, columns: &[usize], history: &[Measurement]) -> String {
    let name = name.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let each = |of: &dyn Fn(&Measurement) -> Option<&Vec<f64>>| -> Vec<Curve> {
        let curve = |(column, steps): (usize, &usize)| Curve {
            name: format!("{steps} steps"),
            numbers: history.iter().map(|line| of(line)?.get(column).copied()).collect(),
        };
        columns.iter().enumerate().map(curve).collect()
    };
    let panel = |title: &str, curves: Vec<Curve>, is_logarithmic: bool| Panel {
        title: title.to_string(),
        curves,
        is_logarithmic,
    };
    let gaps = format!("{name}: mean gap on validation data, %");
    let mut panels = vec![panel(&gaps, each(&|line| Some(&line.gaps)), true)];
    if history.iter().any(|line| line.told_gaps.is_some()) {
        panels.push(panel("the same, told the number of steps", each(&|line| line.told_gaps.as_ref()), true));
    }
    // The two stages lower different functions, of different sizes.
    for (stage, name, title) in [
        (Stage::Gradient, "loss", "mean loss in training since the validation before"),
        (Stage::Evolution, "objective", "mean objective in evolution since the validation before"),
    ] {
        let numbers: Vec<Option<f64>> = history.iter().map(|line| line.loss.filter(|_| line.stage == stage)).collect();
        if numbers.iter().any(Option::is_some) {
            panels.push(panel(title, vec![Curve { name: name.to_string(), numbers }], false));
        }
    }
    panels.push(panel("mean step length", each(&|line| Some(&line.step_lengths)), true));
    let height = panels.len() as f64 * PANEL + FOOT;
    let drawn: String = panels.iter().enumerate().map(|(index, panel)| panel.draw(index, history)).collect();
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{drawn}{}</svg>\n",
        labels(history, height)
    )
}

fn text((x, y): (f64, f64), attributes: &str, content: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" {attributes}>{content}</text>\n")
}

/// Horizontal place of a validation.
fn place(index: usize, count: usize) -> f64 {
    LEFT + index as f64 / count.saturating_sub(1).max(1) as f64 * (WIDTH - LEFT - RIGHT)
}

/// The vertical axis of a panel.
struct Axis {
    low: f64,
    high: f64,
    is_logarithmic: bool,
    /// Upper end of the drawing.
    top: f64,
}

impl Axis {
    fn new(panel: &Panel, top: f64) -> Self {
        let is_logarithmic = panel.is_logarithmic;
        let mut axis = Self { low: 0.0, high: 1.0, is_logarithmic, top };
        let numbers = panel.curves.iter().flat_map(|curve| &curve.numbers).flatten();
        let heights = numbers.map(|number| axis.height(*number)).filter(|height| height.is_finite());
        let (low, high) = heights.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)));
        if low <= high {
            let room = if is_logarithmic { 0.05 } else { 1e-3 * low.abs().max(high.abs()).max(1e-9) };
            // Numbers that are nearly equal lie in the middle.
            let more = 0.5 * (room - (high - low)).max(0.0);
            (axis.low, axis.high) = (low - more, high + more);
        }
        axis
    }

    fn height(&self, number: f64) -> f64 {
        if self.is_logarithmic { number.max(1e-6).log10() } else { number }
    }

    fn y(&self, number: f64) -> f64 {
        let share = (self.high - self.height(number)) / (self.high - self.low);
        self.top + share * (PANEL - TOP - BOTTOM)
    }

    /// Round numbers on the axis: powers of ten, then 2 and 5 times those, or multiples of a round number.
    fn ticks(&self) -> Vec<f64> {
        let is_inside = |number: &f64| (self.low - 1e-9..=self.high + 1e-9).contains(&self.height(*number));
        if self.is_logarithmic && self.high - self.low > 0.7 {
            let powers = self.low.floor() as i32..=self.high.ceil() as i32;
            let digits: &[f64] = if self.high - self.low > 2.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
            let ticks = powers.flat_map(|power| digits.iter().map(move |digit| digit * 10.0_f64.powi(power)));
            return ticks.filter(is_inside).collect();
        }
        let (from, to) = if self.is_logarithmic {
            (10.0_f64.powf(self.low), 10.0_f64.powf(self.high))
        } else {
            (self.low, self.high)
        };
        let size = 10.0_f64.powf((to - from).log10().floor());
        let size = [0.2, 0.5, 1.0, 2.0].into_iter().map(|part| part * size).find(|size| (to - from) / size < 6.0);
        let size = size.unwrap_or(to - from);
        ((from / size).ceil() as i64..=(to / size).floor() as i64).map(|count| count as f64 * size).collect()
    }
}

impl Panel {
    fn draw(&self, index: usize, history: &[Measurement]) -> String {
        let above = index as f64 * PANEL;
        let axis = Axis::new(self, above + TOP);
        let mut svg = text((LEFT, above + 22.0), "font-size=\"15\"", &self.title);
        for tick in axis.ticks() {
            let (y, end) = (axis.y(tick), WIDTH - RIGHT);
            svg += &format!("<line x1=\"{LEFT}\" x2=\"{end}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#dddddd\"/>\n");
            // Six digits hide the round-off of a multiple.
            let label = format!("{tick:.6}");
            let label = label.trim_end_matches('0').trim_end_matches('.');
            svg += &text((LEFT - 8.0, y + 4.0), "text-anchor=\"end\"", label);
        }
        if let Some(border) = history.iter().position(|line| line.stage == Stage::Evolution) {
            let (x, top, below) = (place(border, history.len()), axis.top, above + PANEL - BOTTOM);
            svg += &format!(
                "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{top}\" y2=\"{below}\" stroke=\"#999999\" \
                 stroke-dasharray=\"4 4\"/>\n"
            );
            // Near the right end the word stands on the left of the line, clear of the names of the curves.
            let (x, anchor) = if x < 0.8 * (WIDTH - RIGHT) { (x + 5.0, "start") } else { (x - 5.0, "end") };
            svg += &text((x, top + 12.0), &format!("fill=\"#666666\" text-anchor=\"{anchor}\""), "evolution");
        }
        let mut taken: Vec<f64> = vec![];
        svg.extend(self.curves.iter().enumerate().map(|(index, curve)| curve.draw(&axis, index, &mut taken)));
        svg
    }
}

impl Curve {
    /// The curve, with its name and last number beside its end. `taken` are the places of such labels.
    fn draw(&self, axis: &Axis, index: usize, taken: &mut Vec<f64>) -> String {
        let colour = COLOURS[index % COLOURS.len()];
        let count = self.numbers.len();
        let numbered = self.numbers.iter().enumerate().filter_map(|(index, number)| Some((index, (*number)?)));
        let points: Vec<(f64, f64)> = numbered.map(|(index, number)| (place(index, count), axis.y(number))).collect();
        let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let path = path.join(" ");
        let mut line =
            format!("<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\" points=\"{path}\"/>\n");
        if let [(x, y)] = points[..] {
            line += &format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\" fill=\"{colour}\"/>\n");
        }
        let last = self.numbers.iter().rev().flatten().next();
        let (Some((_, y)), Some(last)) = (points.last(), last) else { return line };
        let mut height = y + 4.0;
        while taken.iter().any(|other| (other - height).abs() < 13.0) {
            height += 1.0;
        }
        taken.push(height);
        let label = format!("{}: {}", self.name, digits(*last, 3));
        line + &text((WIDTH - RIGHT + 6.0, height), &format!("fill=\"{colour}\""), &label)
    }
}

/// Labels of the horizontal axis.
fn labels(history: &[Measurement], height: f64) -> String {
    let label = |index: usize| {
        let label = match history[index].stage {
            Stage::Gradient => history[index].updates.to_string(),
            Stage::Evolution => format!("+{}", history[index].generations),
        };
        text((place(index, history.len()), height - FOOT), "text-anchor=\"middle\"", &label)
    };
    let svg: String = (0..history.len()).step_by((history.len() / 8).max(1)).map(label).collect();
    let middle = (LEFT + WIDTH - RIGHT) / 2.0;
    svg + &text((middle, height - 10.0), "text-anchor=\"middle\"", "updates, then generations")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(stage: Stage, count: usize, gaps: [f64; 2], loss: Option<f64>) -> Measurement {
        Measurement {
            stage,
            updates: count,
            generations: 0,
            loss,
            gradient_norm: None,
            rate: 0.0,
            gaps: gaps.to_vec(),
            told_gaps: None,
            score: 0.0,
            step_lengths: gaps.to_vec(),
            entropy: 1.0,
        }
    }

    #[test]
    fn every_panel_has_its_curves_and_at_least_two_ticks() {
        let history = [
            line(Stage::Gradient, 0, [90.0, 80.0], None),
            line(Stage::Gradient, 10, [60.0, 0.1], Some(-0.2)),
            line(Stage::Evolution, 10, [50.0, 0.0], Some(3.0)),
        ];
        let svg = learning_curves("a <name>", &[10, 25], &history);
        assert_eq!(svg.matches("<polyline").count(), 2 + 2 + 2);
        assert!(svg.contains("a &lt;name&gt;") && svg.contains("10 steps: 50.0<") && svg.contains("loss: -0.200"));
        // Each stage has a panel for what it lowers.
        assert!(svg.contains("mean loss in training") && svg.contains("mean objective in evolution"));
        // The stage begins at the right end, where the names of the curves are.
        assert!(svg.contains("text-anchor=\"end\">evolution<"), "{svg}");
        let small = learning_curves("small", &[100], &[line(Stage::Gradient, 0, [0.00227, 0.0], None)]);
        assert!(small.contains("100 steps: 0.00227<"), "{small}");
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        let told = history.map(|line| Measurement { told_gaps: Some(vec![3.0, 2.0]), ..line });
        assert_eq!(learning_curves("told", &[10, 25], &told).matches("<polyline").count(), 2 + 2 + 2 + 2);
        // An empty training has a picture too.
        assert!(learning_curves("none", &[10], &[]).contains("</svg>"));
        for (low, high) in [(87.1, 87.6), (0.01, 90.0), (1.0, 1.0), (20.0, 40.0), (1e-6, 1e-5)] {
            for is_logarithmic in [true, false] {
                let curves = vec![Curve { name: String::new(), numbers: vec![Some(low), Some(high)] }];
                let ticks = Axis::new(&Panel { title: String::new(), curves, is_logarithmic }, 0.0).ticks();
                assert!((2..=12).contains(&ticks.len()), "{low} {high}: {ticks:?}");
            }
        }
    }
}
