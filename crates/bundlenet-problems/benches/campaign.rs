//! Random runs over all families, scales and methods. Every status is checked against the truth.
//!
//! ```text
//! cargo bench --bench campaign -p bundlenet-problems -- --runs 20000
//! cargo bench --bench campaign -p bundlenet-problems -- --only network --seed 3
//! cargo bench --bench campaign -p bundlenet-problems -- --seed 3 --case 17    # repeats a fault
//! ```
//!
//! Tables of counts are markdown on the standard output. Faults go to the standard error, each with its case.

use bundlenet_testing::campaign::{Plan, campaign};
use bundlenet_testing::trial::is_trial;

const NAMES: &str = "--runs, --seed, --only, --case, --steps or --seconds";

/// The plan of the command line. The error says what was expected.
fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Plan, String> {
    let runs = if is_trial() { 12 } else { 2000 };
    let mut plan = Plan { seed: 0, runs, steps: 3000, seconds: Some(2.0), only: None, case: None };
    while let Some(argument) = arguments.next() {
        if argument == "--bench" {
            continue;
        }
        let value = arguments.next().ok_or(format!("{argument}: expected a value, found the end"))?;
        let number = || value.parse().map_err(|_| format!("{argument}: expected a whole number, found {value}"));
        match argument.as_str() {
            "--runs" => plan.runs = number()? as usize,
            "--seed" => plan.seed = number()?,
            "--only" => plan.only = Some(value),
            "--case" => plan.case = Some(number()?),
            "--steps" => plan.steps = number()? as usize,
            "--seconds" => plan.seconds = Some(number()? as f64),
            _ => return Err(format!("expected {NAMES}, found {argument}")),
        }
    }
    Ok(plan)
}

fn main() {
    let plan = match parse(std::env::args().skip(1)) {
        Ok(plan) => plan,
        Err(message) => {
            eprintln!("{message}");
            std::process::exit(2);
        }
    };
    // Panics are counted as faults.
    std::panic::set_hook(Box::new(|_| {}));
    let tally = campaign(&plan, |fault| eprintln!("{}, {}: {}", fault.kind, fault.method, fault.about));
    println!("{tally}");
    if tally.errors().next().is_some() {
        std::process::exit(1);
    }
}
