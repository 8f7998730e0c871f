//! The results have the same bits on any number of threads, and for components that are evaluated apart.

use bundlenet::{Minorants, Parts, Solutions};
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

/// Minorants and solutions of some components.
fn some(problem: &Problem, components: &[usize], point: &[f64]) -> (Minorants, Solutions) {
    let (mut dual, mut minorants, mut solutions) = (problem.dual(), Minorants::new(), Solutions::new());
    dual.as_sum().unwrap().evaluate_some(components, point, &mut minorants).unwrap();
    dual.as_primal().unwrap().write_solutions(&mut solutions);
    (minorants, solutions)
}

#[test]
fn components_apart_are_those_of_the_whole() {
    let problem = Generator::new(Family::Uc, 2).instance(1).unwrap().problem;
    let mut dual = problem.dual();
    let dim = dual.dim();
    let sum = dual.as_sum().unwrap();
    assert_eq!(sum.parts(), Parts::Anywhere);
    let all: Vec<usize> = (0..sum.component_count()).collect();
    for step in 0..5 {
        let point: Vec<f64> = (0..dim).map(|at| ((at * 7919 + step * 104_729) % 1009) as f64 / 10.3).collect();
        let (mut minorants, mut solutions) = (Minorants::new(), Solutions::new());
        let (mut expected, mut found) = (vec![0.0; dim], vec![0.0; dim]);
        let sum = dual.as_sum().unwrap();
        let value = sum.evaluate(&point, &mut expected).unwrap();
        sum.evaluate_components(&point, &mut minorants).unwrap();
        let whole = sum.add_up(&point, &minorants, &mut found);
        assert_eq!((whole.cut.to_bits(), bits(&found)), (value.to_bits(), bits(&expected)));
        dual.as_primal().unwrap().write_solutions(&mut solutions);
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert!(pool.install(|| some(&problem, &all, &point)) == (minorants.clone(), solutions.clone()));
            // In any order.
            let chosen: Vec<usize> = all.iter().copied().rev().step_by(3).collect();
            let (found, solved) = pool.install(|| some(&problem, &chosen, &point));
            for (place, &component) in chosen.iter().enumerate() {
                assert_eq!(found.values()[place].to_bits(), minorants.values()[component].to_bits());
                assert_eq!(found.subgradient(place), minorants.subgradient(component));
                assert_eq!(solved.variables(place), solutions.variables(component));
            }
            assert_eq!(some(&problem, &[], &point), Default::default());
        }
    }
}
