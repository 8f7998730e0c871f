//! `bundlenet inspect`: family and sizes of an instance.

use std::collections::BTreeMap;

use bundlenet::{Check, Domain, Function, Oracle, Violation, check, check_points};
use bundlenet_problems::{Problem, Source, UnitCommitment};
use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::input::{BlockOptions, Instance, is_model};
use crate::{blocks, output};

/// Points of `--check`, and their seed.
const CHECK_POINTS: usize = 20;
const CHECK_SEED: u64 = 1;

/// Describe an instance: family, sizes, ratios, value of the dual at 0; blocks and candidate structures of a model file
#[derive(Args)]
pub(crate) struct Inspect {
    #[command(flatten)]
    instance: Instance,
    #[command(flatten)]
    blocks: BlockOptions,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Also check the dual at random points: subgradient inequality, components that add up; exit code 1 if it fails
    #[arg(long)]
    check: bool,
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
    /// Domain of the multipliers: `free`, `nonnegative`, or `bounded` if some of them are.
    multipliers: &'static str,
    /// Sense of the dual.
    sense: &'static str,
    value_at_zero: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    check: Option<Value>,
}

impl Inspect {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let file = &self.instance.file;
        self.blocks.check(file)?;
        if is_model(file) {
            return self.inspect_model();
        }
        let (source, problem) = self.instance.read_with_source()?;
        let mut report = Report::new(&source, &problem)?;
        let checked = self.check.then(|| checked(&mut *problem.dual())).transpose()?;
        report.check = checked.as_ref().map(check_json);
        if self.json {
            output::json(&report)?;
        } else {
            output::table(&report.rows(&problem, checked.as_ref()))?;
        }
        verdict(checked.as_ref())
    }
}

impl Inspect {
    /// Describes a model file.
    fn inspect_model(&self) -> Result<(), Failure> {
        let mut found = blocks::describe(&self.instance.file, &self.blocks)?;
        let checked = match &mut found.dual {
            Some(dual) if self.check => Some(checked(&mut **dual)?),
            _ => None,
        };
        if let Some(check) = &checked {
            found.json.insert("check".to_string(), check_json(check));
            found.rows.push(("check", check.to_string()));
        }
        if self.json {
            output::json(&found.json)?;
        } else {
            output::table(&found.rows)?;
        }
        verdict(checked.as_ref())
    }
}

/// Checks an oracle at random points.
fn checked(oracle: &mut dyn Oracle) -> Result<Check, Failure> {
    let points = check_points(oracle, CHECK_POINTS, CHECK_SEED);
    Ok(check(oracle, &points)?)
}

/// The failure of a check that found violations. They are in the output.
fn verdict(check: Option<&Check>) -> Result<(), Failure> {
    if check.is_none_or(Check::is_ok) { Ok(()) } else { Err(Failure::Reported(1)) }
}

fn check_json(check: &Check) -> Value {
    let violations: Vec<Value> = check.violations.iter().map(violation_json).collect();
    json!({
        "ok": check.is_ok(),
        "points": check.points,
        "evaluations": check.evaluations,
        "violations": violations,
    })
}

fn violation_json(violation: &Violation) -> Value {
    let case = |case: &bundlenet::Case| {
        json!({
            "component": case.component,
            "points": case.points,
            "coordinate": case.coordinate,
            "expected": case.amounts.map(|(expected, _)| expected),
            "found": case.amounts.map(|(_, found)| found),
        })
    };
    json!({
        "rule": violation.rule.to_string(),
        "diagnosis": violation.diagnosis.map(|diagnosis| diagnosis.to_string()),
        "components": violation.components,
        "count": violation.count,
        "cases": violation.cases.iter().map(case).collect::<Vec<_>>(),
    })
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
        Problem::UnitCommitment(instance) => unit_commitment_sizes(instance),
    }
}

fn unit_commitment_sizes(instance: &UnitCommitment) -> Vec<(&'static str, Value, &'static str)> {
    let (capacity, peak) = (instance.thermal_capacity(), instance.demand().iter().copied().fold(0.0, f64::max));
    vec![
        ("formulation", instance.formulation().name().into(), ""),
        ("thermal units", instance.thermal_units().len().into(), ""),
        ("renewable units", instance.renewable_units().len().into(), ""),
        ("periods", instance.periods().into(), ""),
        ("total demand", instance.demand().iter().sum::<f64>().into(), ""),
        ("capacity ratio", (capacity / peak).into(), "total thermal capacity / largest demand"),
        ("reserve prices", instance.has_reserve_prices().into(), ""),
    ]
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
            multipliers: match function.domain() {
                Domain::Free => "free",
                Domain::Nonnegative => "nonnegative",
                Domain::PerCoordinate(_) => "bounded",
            },
            sense: output::sense_name(sense),
            // Adding zero turns the -0 of a flipped sign into 0.
            value_at_zero: sense.sign() * value + 0.0,
            check: None,
        })
    }

    fn rows(&self, problem: &Problem, check: Option<&Check>) -> Vec<(&'static str, String)> {
        let family = match (problem, self.problem_sense) {
            (Problem::NetworkDesign(_), _) => "multicommodity network design (MC), minimised",
            (Problem::UnitCommitment(_), _) => "unit commitment (UC), minimised",
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
        rows.extend(sizes(problem).into_iter().map(|(name, size, definition)| (name, size_text(&size, definition))));
        rows.extend([
            ("dual", format!("{direction}, {} {} multipliers", self.dimension, self.multipliers)),
            ("components", self.components.to_string()),
            ("value at 0", self.value_at_zero.to_string()),
        ]);
        rows.extend(check.map(|check| ("check", check.to_string())));
        rows
    }
}

/// A size, or a ratio with its definition.
fn size_text(size: &Value, definition: &str) -> String {
    match (size, size.as_f64()) {
        (Value::String(text), _) => text.clone(),
        (Value::Bool(flag), _) => if *flag { "yes" } else { "no" }.to_string(),
        (_, Some(number)) if definition.is_empty() => number.to_string(),
        (_, Some(ratio)) => format!("{ratio:.4}  ({definition})"),
        (_, None) => format!("undefined  ({definition})"),
    }
}

#[cfg(test)]
mod tests {
    use bundlenet::FnOracle;

    use super::*;

    #[test]
    fn a_wrong_dual_fails() {
        let mut wrong = FnOracle::new(1, |point: &[f64], subgradient: &mut [f64]| {
            subgradient[0] = -point[0].signum();
            Ok(point[0].abs())
        });
        let Ok(check) = checked(&mut wrong) else { panic!("the check ended early") };
        assert!(matches!(verdict(Some(&check)), Err(Failure::Reported(1))));
        let json = check_json(&check);
        assert_eq!((&json["ok"], &json["points"]), (&false.into(), &CHECK_POINTS.into()));
        let violation = &json["violations"][0];
        assert!(violation["diagnosis"].as_str().is_some_and(|text| text.starts_with("wrong sign")), "{json}");
        let case = &violation["cases"][0];
        assert!(case["expected"].as_f64() > case["found"].as_f64() && case["points"][1].is_u64(), "{json}");
        assert!(verdict(None).is_ok());
    }
}
