//! `bundlenet inspect`: family and sizes of an instance.

use std::collections::BTreeMap;

use bundlenet::{Domain, Function};
use bundlenet_problems::{Problem, Source};
use clap::Args;
use serde::Serialize;
use serde_json::Value;

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

/// The object printed with `--json`.
#[derive(Serialize)]
struct Report {
    file: String,
    format: String,
    gzip: bool,
    problems_in_file: usize,
    problem: &'static str,
    /// Sense of the problem; its dual has the opposite one.
    problem_sense: &'static str,
    /// Sizes and ratios of the family by name; a ratio is null if it is not finite.
    #[serde(flatten)]
    sizes: BTreeMap<String, Value>,
    /// Number of multipliers of the dual.
    dimension: usize,
    /// Number of components of the dual, which is a sum.
    components: usize,
    /// Domain of the multipliers: `free` or `nonnegative`.
    multipliers: &'static str,
    /// Sense of the dual.
    sense: &'static str,
    value_at_zero: f64,
}

impl Inspect {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let (source, problem) = self.instance.read_with_source()?;
        let report = Report::new(&source, &problem)?;
        if self.json { output::json(&report) } else { output::table(&report.rows(&problem)) }
    }
}

/// Names and values of the sizes, and the definitions of the ratios.
fn sizes(problem: &Problem) -> Vec<(&'static str, Value, &'static str)> {
    match problem {
        Problem::NetworkDesign(instance) => vec![
            ("nodes", instance.nodes().into(), ""),
            ("arcs", instance.arcs().len().into(), ""),
            ("commodities", instance.commodities().len().into(), ""),
            ("total demand", instance.total_demand().into(), ""),
            ("capacity ratio", instance.capacity_ratio().into(), "arcs x total demand / total capacity"),
            (
                "fixed-cost ratio",
                instance.fixed_cost_ratio().into(),
                "commodities x total fixed cost / (total demand x total mean routing cost)",
            ),
        ],
        Problem::Assignment(instance) => vec![
            ("bins", instance.bins().into(), ""),
            ("items", instance.items().into(), ""),
            ("tightness", instance.tightness().into(), "mean weight of all items / total capacity"),
        ],
        Problem::FacilityLocation(instance) => vec![
            ("sites", instance.sites().len().into(), ""),
            ("customers", instance.customers().into(), ""),
            ("total demand", instance.total_demand().into(), ""),
            (
                "capacity ratio",
                instance.capacity_ratio().into(),
                "total capacity / total demand, no site with more than the demand",
            ),
        ],
    }
}

impl Report {
    fn new(source: &Source, problem: &Problem) -> Result<Self, Failure> {
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
            problem_sense: output::sense_name(sense.opposite()),
            sizes: sizes(problem).into_iter().map(|(name, size, _)| (name.replace([' ', '-'], "_"), size)).collect(),
            dimension,
            components,
            multipliers: if *function.domain() == Domain::Free { "free" } else { "nonnegative" },
            sense: output::sense_name(sense),
            // Adding zero turns the -0 of a flipped sign into 0.
            value_at_zero: sense.sign() * value + 0.0,
        })
    }

    fn rows(&self, problem: &Problem) -> Vec<(&'static str, String)> {
        let family = match (problem, self.problem_sense) {
            (Problem::NetworkDesign(_), _) => "multicommodity network design (MC), minimised",
            (Problem::FacilityLocation(_), _) => "capacitated facility location (CFL), minimised",
            (Problem::Assignment(_), "max") => "generalised assignment (GA), maximised, each item at most once",
            (Problem::Assignment(_), _) => "generalised assignment (GA), minimised, each item exactly once",
        };
        let compressed = if self.gzip { ", gzip" } else { "" };
        let direction = if self.sense == "max" { "maximised" } else { "minimised" };
        let mut rows = vec![
            ("file", self.file.clone()),
            ("format", format!("{}{compressed}", self.format)),
            ("problem", family.to_string()),
        ];
        rows.extend(sizes(problem).into_iter().map(|(name, size, definition)| match (size.as_f64(), definition) {
            (None, _) => (name, format!("undefined  ({definition})")),
            (Some(number), "") => (name, number.to_string()),
            (Some(ratio), _) => (name, format!("{ratio:.4}  ({definition})")),
        }));
        rows.extend([
            ("dual", format!("{direction}, {} {} multipliers", self.dimension, self.multipliers)),
            ("components", self.components.to_string()),
            ("value at 0", self.value_at_zero.to_string()),
        ]);
        rows
    }
}
