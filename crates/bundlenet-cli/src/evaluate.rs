//! `bundlenet evaluate`: the dual at a point.

use std::path::PathBuf;

use bundlenet::Function;
use clap::Args;
use serde::Serialize;

use crate::failure::Failure;
use crate::input::{Instance, read_start};
use crate::output;

/// Evaluate the Lagrangian dual of an instance: value and subgradient
#[derive(Args)]
pub(crate) struct Evaluate {
    #[command(flatten)]
    instance: Instance,
    /// Multipliers as a flat JSON array; network design in the order [commodity][node] [default: all 0]
    #[arg(long, value_name = "FILE.json")]
    multipliers: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The object printed with `--json`.
#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    subject: output::Subject,
    /// A lower bound if the dual is maximised, an upper bound if it is minimised.
    value: f64,
    /// Subgradient in the same sense as the value.
    subgradient: Vec<f64>,
}

impl Evaluate {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let problem = self.instance.read()?;
        let mut dual = problem.dual();
        let subject = output::Subject::new(&self.instance.file, &problem, &*dual);
        let mut function = Function::new(&mut *dual)?;
        let (dimension, sense) = (function.dim(), function.sense());
        let point = match &self.multipliers {
            None => vec![0.0; dimension],
            Some(path) => read_start(path, dimension, &[])?.point().to_vec(),
        };
        let mut subgradient = vec![0.0; dimension];
        let value = function.evaluate(&point, &mut subgradient)?;
        // Back to the problem's sense; adding zero turns -0 into 0.
        subgradient.iter_mut().for_each(|entry| *entry = sense.sign() * *entry + 0.0);
        let report = Report { subject, value: sense.sign() * value + 0.0, subgradient };
        if self.json {
            return output::json(&report);
        }
        let norm = report.subgradient.iter().map(|entry| entry * entry).sum::<f64>().sqrt();
        let bound = report.subject.bound();
        output::table(&[
            ("value", format!("{}  ({bound} bound on the problem)", report.value)),
            ("|subgradient|", norm.to_string()),
            ("dimension", dimension.to_string()),
        ])
    }
}
