//! Once all buffers have grown, neither an oracle call nor a step of a method allocates memory.

use std::ops::ControlFlow;

use bundlenet::{
    BundleSettings, Cuts, Limits, Method, Minorants, NetworkSettings, Record, Settings, Solver, StepSettings,
};
use bundlenet_problems::{Family, Generator};
use bundlenet_testing::memory::{Metered, allocations};

#[global_allocator]
static ALLOCATOR: Metered = Metered;

#[test]
fn steady_state() {
    oracle_calls();
    steps();
}

fn steps() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    for family in [Family::McSml40, Family::Ga20x400] {
        for method in [
            Method::Bundle(BundleSettings { cuts: Cuts::Aggregated, ..BundleSettings::default() }),
            Method::Descent(StepSettings::default()),
            Method::Adam(StepSettings::default()),
            Method::Network(NetworkSettings::default()),
        ] {
            let problem = Generator::new(family, 4).instance(0).unwrap().problem;
            let name = method.name();
            let limits = Limits { steps: Some(100), ..Limits::default() };
            let settings = Settings { method, limits, ..Settings::default() };
            let mut counts = [0; 2];
            // On the second family an exact master takes over from the network after 40 steps, with memory of its own.
            let (begin, end) = if name == "network" { (10, 40) } else { (50, 80) };
            let mut watch = |record: &Record| {
                if record.step == begin {
                    counts[0] = allocations();
                } else if record.step == end {
                    counts[1] = allocations();
                }
                ControlFlow::Continue(())
            };
            let solve = || Solver::new(settings).unwrap().observe(&mut watch).solve(&mut *problem.dual());
            let solution = pool.install(solve).unwrap();
            assert!(solution.steps >= 80, "{family} {name}");
            assert_eq!(counts[1] - counts[0], 0, "{family} {name}");
        }
    }
}

fn oracle_calls() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    for family in [Family::McSml40, Family::McBig40, Family::Ga10x100, Family::Ga20x400, Family::Cfl20x50] {
        let problem = Generator::new(family, 4).instance(0).unwrap().problem;
        let allocations = pool.install(|| {
            let mut dual = problem.dual();
            let dim = dual.dim();
            let mut subgradient = vec![0.0; dim];
            let mut minorants = Minorants::new();
            let mut point = vec![0.0; dim];
            let mut walk = |count: usize| {
                for step in 0..count {
                    point.iter_mut().enumerate().for_each(|(at, x)| *x = ((at * 31 + step * 17) % 97) as f64 * 3.0);
                    dual.evaluate(&point, &mut subgradient).unwrap();
                    minorants.clear();
                    dual.as_sum().unwrap().evaluate_components(&point, &mut minorants).unwrap();
                }
            };
            // The buffers grow to the largest minorants seen. So the second walk visits the same points.
            walk(20);
            let before = allocations();
            walk(20);
            allocations() - before
        });
        assert_eq!(allocations, 0, "{family}");
    }
}
