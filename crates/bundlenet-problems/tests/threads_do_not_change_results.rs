//! The results have the same bits on any number of threads.

use bundlenet::Minorants;
use bundlenet_problems::{Family, Generator, Problem};

fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|number| number.to_bits()).collect()
}

/// Values, subgradients and minorants along a few points, on a pool of the given size.
fn results(problem: &Problem, threads: usize) -> (Vec<u64>, Vec<Minorants>) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let mut dual = problem.dual();
        let mut subgradient = vec![0.0; dual.dim()];
        let (mut numbers, mut minorants) = (vec![], vec![]);
        for step in 0..5 {
            let point: Vec<f64> =
                (0..dual.dim()).map(|at| ((at * 7919 + step * 104_729) % 1009) as f64 / 10.3).collect();
            let value = dual.evaluate(&point, &mut subgradient).unwrap();
            numbers.push(value.to_bits());
            numbers.extend(bits(&subgradient));
            let mut found = Minorants::new();
            dual.as_sum().unwrap().evaluate_components(&point, &mut found).unwrap();
            minorants.push(found);
        }
        (numbers, minorants)
    })
}

#[test]
fn evaluations_are_identical() {
    let large = Generator::new(Family::McSml40, 2).with_commodities(300).unwrap();
    let mut problems = vec![large.instance(1).unwrap().problem];
    problems.extend(
        [Family::McBig40, Family::Ga20x400, Family::Cfl100x1000, Family::Uc]
            .map(|family| Generator::new(family, 2).instance(1).unwrap().problem),
    );
    for problem in problems {
        let one = results(&problem, 1);
        for threads in [2, 3, 8] {
            assert!(results(&problem, threads) == one, "{threads} threads");
        }
    }
}
