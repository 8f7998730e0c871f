//! Points that a run evaluates, and the time of the run beside that of the bare oracle.

use std::hint::black_box;
use std::time::Instant;

use bundlenet::{FnOracle, Oracle, Settings, Solution, Solver};

/// The points that a run evaluates, the start first. The run sees the whole function only.
pub fn visited(oracle: &mut dyn Oracle, settings: &Settings) -> Vec<Vec<f64>> {
    let (dim, domain, sense) = (oracle.dim(), oracle.domain(), oracle.sense());
    let scales = oracle.scales();
    let mut visited = vec![];
    let recording = FnOracle::new(dim, |point: &[f64], subgradient: &mut [f64]| {
        visited.push(point.to_vec());
        oracle.evaluate(point, subgradient)
    })
    .with_domain(domain)
    .with_sense(sense);
    let mut recording = match scales {
        Some(scales) => recording.with_scales(scales),
        None => recording,
    };
    Solver::new(settings.clone()).unwrap().solve(&mut recording).unwrap();
    visited
}

/// Shortest times of several rounds, in seconds: of a whole run, of the bare evaluations at its points, and of a part of the
/// run that `part` reads off its solution. Other work on the machine only adds to a time.
pub fn beside_bare(
    oracle: &mut dyn Oracle,
    settings: &Settings,
    rounds: usize,
    part: impl Fn(&Solution) -> f64,
) -> [f64; 3] {
    let points = visited(oracle, settings);
    let mut subgradient = vec![0.0; oracle.dim()];
    let mut least = [f64::INFINITY; 3];
    for _ in 0..rounds {
        let begin = Instant::now();
        let solution = Solver::new(settings.clone()).unwrap().solve(oracle).unwrap();
        let run = begin.elapsed().as_secs_f64();
        let begin = Instant::now();
        for point in &points {
            black_box(oracle.evaluate(black_box(point), &mut subgradient).unwrap());
        }
        let times = [run, begin.elapsed().as_secs_f64(), part(&solution)];
        least.iter_mut().zip(times).for_each(|(least, time)| *least = least.min(time));
    }
    least
}
