//! Descent and Adam as they give the figures of the paper (`docs/paper.md`). They differ from its text in three points:
//!
//! - the step of descent is never halved;
//! - the state of Adam is new in every step, so each variable moves by the learning rate, whatever its slope;
//! - the evaluation at the start counts as a step.
//!
//! ```text
//! cargo run --release -p bundlenet-problems --example released_code -- SOURCE...
//! ```
//!
//! `SOURCE` is a folder of instances, or `generate:FAMILY:COUNT:SEED`. Of generated data it takes the test part. Markdown
//! for each: the mean gap in percent after 10, 25, 50 and 100 evaluations, with the best initial step length of the paper's
//! grid for each column in brackets, chosen on the same instances as in the paper.

use bundlenet::train::gap_percent;
use bundlenet::{Limits, Oracle, OracleError};
use bundlenet_problems::{Split, read_examples};
use rayon::prelude::*;

type Failure = Box<dyn std::error::Error + Send + Sync>;

const COLUMNS: [usize; 4] = [10, 25, 50, 100];
const GRID: [f64; 6] = [0.1, 1.0, 10.0, 100.0, 1e3, 1e4];

/// Moves the point along the negative subgradient of the scaled function.
pub(crate) type Rule = fn(point: &mut [f64], slopes: &[f64], eta: f64);

fn descent(point: &mut [f64], slopes: &[f64], eta: f64) {
    point.iter_mut().zip(slopes).for_each(|(x, slope)| *x -= eta * slope);
}

/// The first step of Adam.
fn sign_step(point: &mut [f64], slopes: &[f64], eta: f64) {
    point.iter_mut().zip(slopes).for_each(|(x, slope)| *x -= eta * slope / (slope.abs() + 1e-8));
}

pub(crate) const RULES: [(&str, Rule); 2] =
    [("descent, never halved", descent), ("Adam, its state new in every step", sign_step)];

/// Gaps after the evaluations of each column.
pub(crate) fn gaps(oracle: &mut dyn Oracle, rule: Rule, eta: f64, optimum: f64) -> Result<[f64; 4], OracleError> {
    let (sign, domain) = (oracle.sense().sign(), oracle.domain());
    let (mut point, mut slopes) = (vec![0.0; oracle.dim()], vec![0.0; oracle.dim()]);
    let mut best = sign * oracle.evaluate(&point, &mut slopes)?;
    // A start without slope is optimal: nothing moves.
    let norm = slopes.iter().map(|slope| slope * slope).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
    let mut gaps = [0.0; 4];
    for evaluation in 2..=COLUMNS[3] {
        slopes.iter_mut().for_each(|slope| *slope *= sign / norm);
        rule(&mut point, &slopes, eta);
        domain.project(&mut point);
        best = best.min(sign * oracle.evaluate(&point, &mut slopes)?);
        if let Some(column) = COLUMNS.iter().position(|&column| column == evaluation) {
            gaps[column] = gap_percent(sign * best, optimum);
        }
    }
    Ok(gaps)
}

fn print_table(source: &str) -> Result<(), Failure> {
    let examples = read_examples(source, Split::Test)?;
    let all = examples.par_iter().map(|example| {
        let optimum = example.solve(&Limits::default())?.value;
        let of_rule = |(_, rule)| GRID.into_iter().map(move |eta| gaps(&mut *(example.oracle)(), rule, eta, optimum));
        RULES.into_iter().map(|rule| of_rule(rule).collect()).collect()
    });
    let all = all.collect::<Result<Vec<Vec<Vec<[f64; 4]>>>, Failure>>()?;
    println!("\n{source} ({} instances)\n\n| | 10 | 25 | 50 | 100 |\n|---|---|---|---|---|", all.len());
    for (at, (name, _)) in RULES.into_iter().enumerate() {
        let cells = (0..COLUMNS.len()).filter_map(|column| {
            let mean = |eta: usize| all.iter().map(|runs| runs[at][eta][column]).sum::<f64>() / all.len() as f64;
            let means = (0..GRID.len()).map(|eta| (mean(eta), GRID[eta]));
            let (gap, eta) = means.min_by(|a, b| a.0.total_cmp(&b.0))?;
            Some(format!("{gap:.3} ({eta}) |"))
        });
        println!("| {name} | {}", cells.collect::<Vec<_>>().join(" "));
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    let sources: Vec<String> = std::env::args().skip(1).collect();
    if sources.is_empty() {
        return Err("expected folders of instances".into());
    }
    sources.iter().try_for_each(|source| print_table(source))
}
