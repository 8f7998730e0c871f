//! Prices of unit commitment: their file, the uplift, and a picture of demand, prices and committed capacity.

use std::fmt::Write;

use bundlenet_problems::unit_commitment::Schedules;
use bundlenet_problems::{Problem, ProblemPrimal, UnitCommitment};
use serde::Serialize;

/// Fields of the JSON object of a unit commitment instance.
#[derive(Serialize)]
pub(crate) struct Prices {
    formulation: &'static str,
    energy_prices: Vec<f64>,
    reserve_prices: Vec<f64>,
    /// Side payments to all thermal units that the prices leave with the feasible schedule.
    pub(crate) uplift: Option<f64>,
    /// By period, of the feasible schedule, or else of the convex combination.
    #[serde(skip)]
    committed: Option<Vec<f64>>,
    #[serde(skip)]
    demand: Vec<f64>,
}

impl Prices {
    /// The prices at the multipliers of a run, if the problem is unit commitment.
    pub(crate) fn of(problem: &Problem, point: &[f64], primal: Option<&ProblemPrimal>) -> Option<Self> {
        let Problem::UnitCommitment(instance) = problem else { return None };
        let (energy, reserve) = instance.split_prices(point);
        let recovered = match primal {
            Some(ProblemPrimal::UnitCommitment(recovered)) => Some(recovered),
            _ => None,
        };
        let feasible = recovered.and_then(|recovered| recovered.feasible.as_ref());
        let shown = feasible.or(recovered.map(|recovered| &recovered.convex));
        Some(Self {
            formulation: instance.formulation().name(),
            energy_prices: energy.to_vec(),
            reserve_prices: reserve.to_vec(),
            uplift: feasible.map(|schedules| instance.side_payments(schedules, energy, reserve).iter().sum()),
            committed: shown.map(|schedules| committed(instance, schedules)),
            demand: instance.demand().to_vec(),
        })
    }

    /// The file of `--prices`. Periods count from 1. A formulation without prices of reserve leaves their column empty.
    pub(crate) fn csv(&self) -> String {
        let mut text = "period,energy_price,reserve_price\n".to_string();
        for (index, energy) in self.energy_prices.iter().enumerate() {
            let reserve = self.reserve_prices.get(index).map_or_else(String::new, f64::to_string);
            let _ = writeln!(text, "{},{energy},{reserve}", index + 1);
        }
        text
    }

    /// The picture of `--picture`.
    pub(crate) fn svg(&self, name: &str) -> String {
        let name = name.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let title = label((LEFT, 24.0), "font-size=\"15\"", &format!("{name}: demand, committed capacity and prices"));
        let mut power = vec![("demand", "#4477aa", &self.demand[..])];
        power.extend(self.committed.as_deref().map(|committed| ("committed capacity", "#bbbbbb", committed)));
        power.reverse();
        let mut prices = vec![("energy", "#ee6677", &self.energy_prices[..])];
        if !self.reserve_prices.is_empty() {
            prices.push(("reserve", "#228833", &self.reserve_prices[..]));
        }
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
             font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{title}{}{}{}</svg>\n",
            panel("MW", (50.0, 190.0), &power),
            panel("price of a MWh", (290.0, 190.0), &prices),
            label(((LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 8.0), "text-anchor=\"middle\"", "period"),
        )
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

fn label((x, y): (f64, f64), attributes: &str, content: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" {attributes}>{content}</text>\n")
}

/// A round distance between grid lines: 1, 2 or 5 times a power of ten, five lines at most.
fn grid_step(range: f64) -> f64 {
    let power = 10.0_f64.powf((range / 5.0).log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * power).find(|step| range / step <= 5.0).unwrap_or(range)
}

/// Curves over the periods, as steps. The vertical axis includes 0.
fn panel(unit: &str, (top, height): (f64, f64), curves: &[(&str, &str, &[f64])]) -> String {
    let all = curves.iter().flat_map(|(_, _, numbers)| numbers.iter().copied());
    let (low, high) = all.fold((0.0_f64, 0.0_f64), |(low, high), number| (low.min(number), high.max(number)));
    let step = grid_step((high - low).max(1e-9));
    let (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
    let y = |number: f64| top + (high - number) / (high - low) * height;
    let end = WIDTH - RIGHT;
    let mut svg = label((LEFT, top - 8.0), "", unit);
    for line in 0..=((high - low) / step).round() as usize {
        let (number, at) = (low + line as f64 * step, y(low + line as f64 * step));
        let _ = writeln!(svg, "<line x1=\"{LEFT}\" x2=\"{end}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#dddddd\"/>");
        svg += &label((LEFT - 8.0, at + 4.0), "text-anchor=\"end\"", &format!("{}", (number * 1e6).round() / 1e6));
    }
    let periods = curves.iter().map(|(_, _, numbers)| numbers.len()).max().unwrap_or(1).max(1);
    let x = |place: f64| LEFT + place / periods as f64 * (end - LEFT);
    for period in (0..periods).step_by((periods / 8).max(1)) {
        let number = (period + 1).to_string();
        svg += &label((x(period as f64 + 0.5), top + height + 16.0), "text-anchor=\"middle\"", &number);
    }
    let mut legend = top + 12.0;
    for (name, colour, numbers) in curves {
        let ends = numbers.iter().enumerate().flat_map(|(at, number)| [(at, number), (at + 1, number)]);
        let path: Vec<String> = ends.map(|(at, number)| format!("{:.1},{:.1}", x(at as f64), y(*number))).collect();
        let path = path.join(" ");
        let _ = writeln!(
            svg,
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\" points=\"{path}\"/>\n\
             <line x1=\"{}\" x2=\"{}\" y1=\"{legend}\" y2=\"{legend}\" stroke=\"{colour}\" stroke-width=\"3\"/>",
            end + 8.0,
            end + 24.0
        );
        svg += &label((end + 30.0, legend + 4.0), "", name);
        legend += 18.0;
    }
    svg
}
