//! Gives a model a guard (`docs/checkpoint.md`): the ranges of its inputs on training data, and the rules of the exact
//! master that takes over outside of them.
//!
//! ```text
//! cargo run --release -p bundlenet-problems --example guard -- MODEL OUT STEPS MARGIN RULE DATA...
//! ```
//!
//! `RULE` has thirteen numbers, separated by commas: the coefficients of the step-length rule, and the multiple by which
//! the centre follows null steps. The example `rule` learns them. `DATA` is as in `bundlenet train`.

use bundlenet::train::{GuardSettings, LearnedRule, guarded};
use bundlenet::{Model, Precision};
use bundlenet_problems::{Split, read_examples};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    println!("{} instances", guard(&arguments)?);
    Ok(())
}

/// Writes the model with a guard. Returns the number of instances behind its ranges.
pub(crate) fn guard(arguments: &[String]) -> Result<usize, Box<dyn std::error::Error>> {
    let [model, out, steps, margin, rule, data @ ..] = arguments else {
        return Err("expected MODEL OUT STEPS MARGIN RULE DATA...".into());
    };
    let numbers: Vec<f64> = rule.split(',').map(str::parse).collect::<Result<_, _>>()?;
    let [coefficients @ .., follow]: [f64; 13] =
        numbers.try_into().map_err(|found: Vec<f64>| format!("expected 13 numbers, found {}", found.len()))?;
    let rule = LearnedRule { coefficients, follow };
    let mut examples = vec![];
    for source in data {
        examples.extend(read_examples(source, Split::Train)?);
    }
    let settings = GuardSettings { steps: steps.parse()?, margin: margin.parse()?, rule };
    guarded(&Model::load(model)?, &examples, &settings)?.save(out, Precision::Half)?;
    Ok(examples.len())
}
