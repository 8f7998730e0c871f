//! Prices of unit commitment: their file, the uplift, and a picture of demand, supply and prices.

use std::fmt::Write;

use bundlenet_problems::unit_commitment::{Formulation, Schedules, Uplift};
use bundlenet_problems::{Problem, ProblemPrimal, UnitCommitment};
use serde::Serialize;

/// Fields of the JSON object of a unit commitment instance.
#[derive(Serialize)]
pub(crate) struct Prices {
    formulation: &'static str,
    energy_prices: Vec<f64>,
    reserve_prices: Vec<f64>,
    /// Cost of the feasible schedule minus the value of the dual.
    uplift: Option<f64>,
    uplift_parts: Option<Parts>,
    #[serde(skip)]
    supply: Option<Supply>,
    #[serde(skip)]
    demand: Vec<f64>,
}

/// The file of `--prices`, if the problem is unit commitment. Periods count from 1. A formulation without prices of
/// reserve leaves their column empty.
pub(crate) fn csv(problem: &Problem, point: &[f64]) -> Option<String> {
    let Problem::UnitCommitment(instance) = problem else { return None };
    let (energy, reserve) = instance.split_prices(point);
    let mut text = "period,energy_price,reserve_price\n".to_string();
    for (index, energy) in energy.iter().enumerate() {
        let reserve = reserve.get(index).map_or_else(String::new, f64::to_string);
        let _ = writeln!(text, "{},{energy},{reserve}", index + 1);
    }
    Some(text)
}

/// Parts of the uplift, by formulation.
#[derive(Serialize)]
#[serde(untagged)]
enum Parts {
    Pglib { thermal: f64, renewables: f64, reserve: f64 },
    Chp { thermal: f64, load: f64 },
}

impl Parts {
    fn new(formulation: Formulation, uplift: Uplift) -> Self {
        let Uplift { thermal, renewables, load, reserve } = uplift;
        match formulation {
            Formulation::Pglib => Self::Pglib { thermal, renewables, reserve },
            Formulation::Chp => Self::Chp { thermal, load },
        }
    }
}

/// The supply of the picture, by period.
struct Supply {
    /// Whether it is that of a feasible schedule, and not of a convex combination.
    is_feasible: bool,
    /// Greatest output of the thermal units that are on.
    committed: Vec<f64>,
    /// Output of renewable units, or demand that is lost, above the committed capacity; with its name.
    flexible: (&'static str, Vec<f64>),
}

impl Supply {
    fn new(instance: &UnitCommitment, schedules: &Schedules, is_feasible: bool) -> Self {
        let name = match instance.formulation() {
            Formulation::Pglib => "renewable output",
            Formulation::Chp => "lost load",
        };
        Self { is_feasible, committed: committed(instance, schedules), flexible: (name, schedules.flexible().to_vec()) }
    }
}

impl Prices {
    /// The prices at the multipliers of a run with a value, if the problem is unit commitment.
    pub(crate) fn of(problem: &Problem, (point, value): (&[f64], f64), primal: Option<&ProblemPrimal>) -> Option<Self> {
        let Problem::UnitCommitment(instance) = problem else { return None };
        let (energy, reserve) = instance.split_prices(point);
        let recovered = match primal {
            Some(ProblemPrimal::UnitCommitment(recovered)) => Some(recovered),
            _ => None,
        };
        let feasible = recovered.and_then(|recovered| recovered.feasible.as_ref());
        let shown = feasible.or(recovered.map(|recovered| &recovered.convex));
        let parts = feasible.map(|schedules| instance.uplift(schedules, energy, reserve));
        Some(Self {
            formulation: instance.formulation().name(),
            energy_prices: energy.to_vec(),
            reserve_prices: reserve.to_vec(),
            // Below 0 there is only round-off.
            uplift: feasible.map(|schedules| (schedules.cost() - value).max(0.0)),
            uplift_parts: parts.map(|uplift| Parts::new(instance.formulation(), uplift)),
            supply: shown.map(|schedules| Supply::new(instance, schedules, feasible.is_some())),
            demand: instance.demand().to_vec(),
        })
    }

    /// The uplift and its parts in a sentence, if there is a feasible schedule.
    pub(crate) fn uplift_text(&self) -> Option<String> {
        let parts = match self.uplift_parts.as_ref()? {
            Parts::Pglib { thermal, renewables, reserve } => {
                format!("thermal units {thermal:.2}, renewables {renewables:.2}, excess reserve {reserve:.2}")
            }
            Parts::Chp { thermal, load } => format!("thermal units {thermal:.2}, load {load:.2}"),
        };
        Some(format!("{}  (cost of the feasible schedule minus the value: {parts})", self.uplift?))
    }

    /// The picture of `--picture`.
    pub(crate) fn svg(&self, name: &str) -> String {
        let name = name.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let title = label((LEFT, 24.0), "font-size=\"15\"", &format!("{name}: demand, supply and prices"));
        let mut power = self.supply.as_ref().map_or_else(Vec::new, Supply::layers);
        power.push(Layer::line(&["demand"], "#4477aa", &self.demand));
        let mut prices = vec![Layer::line(&["energy"], "#ee6677", &self.energy_prices)];
        if !self.reserve_prices.is_empty() {
            prices.push(Layer::line(&["reserve"], "#228833", &self.reserve_prices));
        }
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
             font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{title}{}{}{}</svg>\n",
            panel("MW", (50.0, 190.0), &power),
            panel("price of a MWh", (290.0, 190.0), &prices),
            label(((LEFT + END) / 2.0, HEIGHT - 8.0), "text-anchor=\"middle\"", "period"),
        )
    }
}

impl Supply {
    /// Committed capacity, and on top of thermal the output of renewable units or the demand that is lost, the highest first.
    fn layers(&self) -> Vec<Layer> {
        let (name, flexible) = &self.flexible;
        let top: Vec<f64> = self.committed.iter().zip(flexible).map(|(one, other)| one + other).collect();
        let mut layers = vec![];
        let largest = top.iter().copied().fold(0.0, f64::max);
        if flexible.iter().any(|amount| *amount > VISIBLE * largest) {
            let colour = if *name == "lost load" { "#ffcccc" } else { "#ccddaa" };
            layers.push(Layer::area(&[&format!("{name},"), "on top of thermal"], colour, &top));
        }
        let mut words = vec!["capacity of thermal", "units that are on"];
        if !self.is_feasible {
            words = vec!["capacity of thermal", "units that are on,", "mean of a convex", "combination"];
        }
        layers.push(Layer::area(&words, "#dddddd", &self.committed));
        layers
    }
}

/// Numbers by period in a picture.
struct Layer {
    /// Lines of the legend.
    words: Vec<String>,
    colour: &'static str,
    numbers: Vec<f64>,
    /// Whether the area down to 0 is filled.
    is_area: bool,
}

impl Layer {
    fn line(words: &[&str], colour: &'static str, numbers: &[f64]) -> Self {
        let words = words.iter().map(ToString::to_string).collect();
        Self { words, colour, numbers: numbers.to_vec(), is_area: false }
    }

    fn area(words: &[&str], colour: &'static str, numbers: &[f64]) -> Self {
        Self { is_area: true, ..Self::line(words, colour, numbers) }
    }
}

/// Greatest output of the units that are on, in each period.
fn committed(instance: &UnitCommitment, schedules: &Schedules) -> Vec<f64> {
    let capacity = |period: usize| {
        let units = instance.thermal_units().iter().enumerate();
        units.map(|(index, unit)| schedules.at(index, period)[0] * unit.output_maximum).sum()
    };
    (0..schedules.periods()).map(capacity).collect()
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 530.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 165.0;
/// Right end of the panels.
const END: f64 = WIDTH - RIGHT;

fn label((x, y): (f64, f64), attributes: &str, content: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" {attributes}>{content}</text>\n")
}

/// A round distance between grid lines: 1, 2 or 5 times a power of ten, five lines at most.
fn grid_step(range: f64) -> f64 {
    let power = 10.0_f64.powf((range / 5.0).log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * power).find(|step| range / step <= 5.0).unwrap_or(range)
}

/// Least share of the axis that is drawn as an area.
const VISIBLE: f64 = 1e-3;

/// Largest number that counts as 0 on an axis, in steps of its grid.
const NOTHING: f64 = 1e-6;

/// The ends of an axis that includes 0, and its step.
fn axis(layers: &[Layer]) -> (f64, f64, f64) {
    let all = layers.iter().flat_map(|layer| layer.numbers.iter().copied());
    let (low, high) = all.fold((0.0_f64, 0.0_f64), |(low, high), number| (low.min(number), high.max(number)));
    let step = grid_step((high - low).max(1e-9));
    let low = (low / step + NOTHING).floor() * step;
    (low, ((high / step - NOTHING).ceil() * step).max(low + step), step)
}

/// A panel of a picture: where it is, and its axes.
struct Panel {
    top: f64,
    height: f64,
    low: f64,
    high: f64,
    step: f64,
    periods: usize,
}

impl Panel {
    fn x(&self, place: f64) -> f64 {
        LEFT + place / self.periods as f64 * (END - LEFT)
    }

    fn y(&self, number: f64) -> f64 {
        self.top + (self.high - number) / (self.high - self.low) * self.height
    }

    fn grid(&self) -> String {
        let mut svg = String::new();
        for line in 0..=((self.high - self.low) / self.step).round() as usize {
            let number = self.low + line as f64 * self.step;
            let at = self.y(number);
            let _ = writeln!(
                svg,
                "<line x1=\"{LEFT}\" x2=\"{END}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#bbbbbb\" stroke-width=\"0.7\"/>"
            );
            // Adding zero turns -0 into 0.
            let number = format!("{}", (number * 1e6).round() / 1e6 + 0.0);
            svg += &label((LEFT - 8.0, at + 4.0), "text-anchor=\"end\"", &number);
        }
        for period in (0..self.periods).step_by((self.periods / 8).max(1)) {
            let number = (period + 1).to_string();
            let place = (self.x(period as f64 + 0.5), self.top + self.height + 16.0);
            svg += &label(place, "text-anchor=\"middle\"", &number);
        }
        svg
    }

    /// A layer as steps.
    fn layer(&self, layer: &Layer) -> String {
        let ends = layer.numbers.iter().enumerate().flat_map(|(at, number)| [(at, *number), (at + 1, *number)]);
        let mut ends: Vec<(usize, f64)> = ends.collect();
        let style = if layer.is_area {
            ends.extend([(layer.numbers.len(), 0.0), (0, 0.0)]);
            format!("fill=\"{}\"", layer.colour)
        } else {
            format!("fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\"", layer.colour)
        };
        let points = ends.iter().map(|(at, number)| format!("{:.1},{:.1}", self.x(*at as f64), self.y(*number)));
        format!("<polyline {style} points=\"{}\"/>\n", points.collect::<Vec<_>>().join(" "))
    }

    fn legend<'a>(&self, layers: impl Iterator<Item = &'a Layer>) -> String {
        let (mut svg, mut at) = (String::new(), self.top + 12.0);
        for layer in layers {
            let width = if layer.is_area { 12.0 } else { 3.0 };
            let (begin, end, colour) = (END + 8.0, END + 24.0, layer.colour);
            let _ = writeln!(
                svg,
                "<line x1=\"{begin}\" x2=\"{end}\" y1=\"{at}\" y2=\"{at}\" stroke=\"{colour}\" stroke-width=\"{width}\"/>"
            );
            for word in &layer.words {
                svg += &label((END + 30.0, at + 4.0), "", word);
                at += 15.0;
            }
            at += 5.0;
        }
        svg
    }
}

/// Layers over the periods, the first one at the back. The vertical axis includes 0.
fn panel(unit: &str, (top, height): (f64, f64), layers: &[Layer]) -> String {
    let (low, high, step) = axis(layers);
    let periods = layers.iter().map(|layer| layer.numbers.len()).max().unwrap_or(1).max(1);
    let panel = Panel { top, height, low, high, step, periods };
    let (areas, lines): (Vec<&Layer>, Vec<&Layer>) = layers.iter().partition(|layer| layer.is_area);
    let draw = |layers: &[&Layer]| layers.iter().map(|layer| panel.layer(layer)).collect::<String>();
    let legend = panel.legend(lines.iter().chain(&areas).copied());
    [label((LEFT, top - 8.0), "", unit), draw(&areas), panel.grid(), draw(&lines), legend].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_legend_says_what_supplies_the_demand() {
        let words = |is_feasible: bool, renewable: f64| {
            let flexible = ("renewable output", vec![renewable]);
            let layers = Supply { is_feasible, committed: vec![90.0], flexible }.layers();
            let numbers: Vec<f64> = layers.iter().map(|layer| layer.numbers[0]).collect();
            (layers.iter().map(|layer| layer.words.join(" ")).collect::<Vec<_>>(), numbers)
        };
        let (top, thermal) = ("renewable output, on top of thermal", "capacity of thermal units that are on");
        assert_eq!(words(true, 30.0), (vec![top.to_string(), thermal.to_string()], vec![120.0, 90.0]));
        let (convex, _) = words(false, 0.0);
        assert_eq!(convex, [format!("{thermal}, mean of a convex combination")]);
    }

    #[test]
    fn round_off_below_zero_has_no_grid_line() {
        let prices = |least: f64| axis(&[Layer::line(&["energy"], "red", &[least, 180.0])]);
        assert_eq!(prices(-9.7e-9), (0.0, 200.0, 50.0));
        assert_eq!(prices(-1.0), (-50.0, 200.0, 50.0));
        // A price that is 0 throughout still has an axis.
        let (low, high, _) = axis(&[Layer::line(&["energy"], "red", &[0.0])]);
        assert!(low == 0.0 && high > 0.0, "{low} {high}");
    }
}
