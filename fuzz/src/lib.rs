//! What every fuzz target does with its bytes.

use bundlenet::{Minimized, Minorants, Problem, Source};

/// Duals with this many variables or more are not evaluated: they only slow the search down.
const LARGE: usize = 10_000;

/// Reads a file that begins with `beginning` and evaluates the dual of every instance in it. Errors are fine, panics
/// are not.
///
/// The content of a file tells its format. A target names the beginning that leads to its own, which is put in front
/// of the bytes that lack it; so seeds are whole files, and most mutations
/// stay with the reader of that format.
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
    }
}

fn evaluate(problem: &Problem) {
    let mut dual = problem.dual();
    let point = vec![0.5; dual.dim()];
    let mut subgradient = vec![0.0; dual.dim()];
    // Huge numbers may overflow, which has to be reported and not to crash.
    if let Ok(mut minimized) = Minimized::new(&mut *dual) {
        let _ = minimized.evaluate(&point, &mut subgradient);
        let _ = minimized.evaluate_components(&point, &mut Minorants::new());
    }
}
