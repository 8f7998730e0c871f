//! The test that every fuzz target runs on its bytes.

use bundlenet::{Function, Minorants};
use bundlenet_problems::{Problem, Source};

/// Duals with this many variables or more are not evaluated, because they slow the search down.
const LARGE: usize = 10_000;

/// Reads a file that begins with `beginning` and evaluates the dual of every instance in it. Errors are allowed, panics
/// are not.
///
/// The file has no extension, so its content decides its format. Each target gives a beginning that belongs to its
/// format. It is put in front of bytes that do not have it. So seeds are whole files, and most mutations stay in that
/// format.
pub fn survive(beginning: &[u8], bytes: &[u8]) {
    let missing = if bytes.starts_with(beginning) { &[] } else { beginning };
    let Ok(source) = Source::parse("fuzzed", [missing, bytes].concat(), None) else { return };
    for problem in source.problems.iter().filter(|problem| dimension(problem) < LARGE) {
        evaluate(problem);
    }
}

/// Number of variables of the dual, known before the dual takes up memory.
fn dimension(problem: &Problem) -> usize {
    match problem {
        Problem::NetworkDesign(instance) => instance.dual_dim(),
        Problem::Assignment(instance) => instance.items(),
        Problem::FacilityLocation(instance) => instance.customers(),
        Problem::UnitCommitment(instance) => instance.thermal_units().len() * instance.periods(),
    }
}

fn evaluate(problem: &Problem) {
    let mut dual = problem.dual();
    let point = vec![0.5; dual.dim()];
    let mut subgradient = vec![0.0; dual.dim()];
    // Huge numbers may overflow. This must be an error and not a panic.
    if let Ok(mut function) = Function::new(&mut *dual) {
        let _ = function.evaluate(&point, &mut subgradient);
        let _ = function.evaluate_components(&point, &mut Minorants::new());
    }
}
