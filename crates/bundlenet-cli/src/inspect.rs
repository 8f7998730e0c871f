//! `bundlenet inspect`: family and sizes of an instance.

use bundlenet::{Domain, Function};
use bundlenet_problems::{Problem, Source};
use clap::Args;
use serde::Serialize;

use crate::failure::Failure;
use crate::input::Instance;
use crate::output;

/// Describe an instance: family, sizes, ratios, value of the dual at 0
#[derive(Args)]
pub(crate) struct Inspect {
    #[command(flatten)]
    instance: Instance,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The object printed with `--json`. Fields that do not apply to the family are absent.
#[derive(Serialize)]
struct Report {
    file: String,
    format: String,
    gzip: bool,
    problems_in_file: usize,
    problem: &'static str,
    /// Sense of the problem itself; its dual is optimised the other way round.
    problem_sense: &'static str,
    #[serde(flatten)]
    sizes: Sizes,
    /// Number of multipliers of the dual.
    dimension: usize,
    /// Number of components the dual is a sum of.
    components: usize,
    /// Domain of the multipliers: `free` or `nonnegative`.
    multipliers: &'static str,
    /// Sense of the dual.
    sense: &'static str,
    value_at_zero: f64,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Sizes {
    NetworkDesign {
        nodes: usize,
        arcs: usize,
        commodities: usize,
        total_demand: f64,
        /// Null where it is not finite, as all ratios.
        capacity_ratio: Option<f64>,
        fixed_cost_ratio: Option<f64>,
    },
    Assignment {
        items: usize,
        bins: usize,
        tightness: Option<f64>,
    },
}

impl Inspect {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let (source, problem) = self.instance.read_with_source()?;
        let report = Report::new(&source, &problem)?;
        if self.json { output::json(&report) } else { output::table(&report.rows()) }
    }
}

impl Report {
    fn new(source: &Source, problem: &Problem) -> Result<Self, Failure> {
        let finite = |number: f64| number.is_finite().then_some(number);
        let (sizes, problem_sense) = match problem {
            Problem::NetworkDesign(instance) => (
                Sizes::NetworkDesign {
                    nodes: instance.nodes(),
                    arcs: instance.arcs().len(),
                    commodities: instance.commodities().len(),
                    total_demand: instance.total_demand(),
                    capacity_ratio: finite(instance.capacity_ratio()),
                    fixed_cost_ratio: finite(instance.fixed_cost_ratio()),
                },
                "min",
            ),
            Problem::Assignment(instance) => (
                Sizes::Assignment {
                    items: instance.items(),
                    bins: instance.bins(),
                    tightness: finite(instance.tightness()),
                },
                output::sense_name(instance.sense()),
            ),
        };
        let mut dual = problem.dual();
        let components = dual.as_sum().map_or(1, |sum| sum.component_count());
        let mut function = Function::new(&mut *dual)?;
        let (dimension, sense) = (function.dim(), function.sense());
        let value = function.evaluate(&vec![0.0; dimension], &mut vec![0.0; dimension])?;
        Ok(Self {
            file: source.file.clone(),
            format: source.format.to_string(),
            gzip: source.is_gzip,
            problems_in_file: source.problems.len(),
            problem: output::problem_name(problem),
            problem_sense,
            sizes,
            dimension,
            components,
            multipliers: if *function.domain() == Domain::Free { "free" } else { "nonnegative" },
            sense: output::sense_name(sense),
            // Adding zero turns the -0 of a flipped sign into 0.
            value_at_zero: sense.sign() * value + 0.0,
        })
    }

    fn rows(&self) -> Vec<(&'static str, String)> {
        let ratio =
            |number: Option<f64>| number.map_or_else(|| "undefined".to_string(), |number| format!("{number:.4}"));
        let compressed = if self.gzip { ", gzip" } else { "" };
        let mut rows = vec![("file", self.file.clone()), ("format", format!("{}{compressed}", self.format))];
        match &self.sizes {
            Sizes::NetworkDesign { nodes, arcs, commodities, total_demand, capacity_ratio, fixed_cost_ratio } => {
                rows.extend([
                    ("problem", "multicommodity network design (MC), minimised".to_string()),
                    ("nodes", nodes.to_string()),
                    ("arcs", arcs.to_string()),
                    ("commodities", commodities.to_string()),
                    ("total demand", total_demand.to_string()),
                    ("capacity ratio", format!("{}  (arcs x total demand / total capacity)", ratio(*capacity_ratio))),
                    (
                        "fixed-cost ratio",
                        format!(
                            "{}  (commodities x total fixed cost / (total demand x total routing cost))",
                            ratio(*fixed_cost_ratio)
                        ),
                    ),
                ]);
            }
            Sizes::Assignment { items, bins, tightness } => {
                let kind = match self.problem_sense {
                    "max" => "generalised assignment (GA), maximised, each item at most once",
                    _ => "generalised assignment (GA), minimised, each item exactly once",
                };
                rows.extend([
                    ("problem", kind.to_string()),
                    ("bins", bins.to_string()),
                    ("items", items.to_string()),
                    ("tightness", format!("{}  (mean weight of all items / total capacity)", ratio(*tightness))),
                ]);
            }
        }
        let direction = if self.sense == "max" { "maximised" } else { "minimised" };
        rows.extend([
            ("dual", format!("{direction}, {} {} multipliers", self.dimension, self.multipliers)),
            ("components", self.components.to_string()),
            ("value at 0", self.value_at_zero.to_string()),
        ]);
        rows
    }
}
