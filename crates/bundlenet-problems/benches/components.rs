//! The cost and the use of cuts of each component.
//!
//! ```text
//! cargo bench --bench components
//! cargo bench --bench components -- synthetic            # the third table alone
//! BUNDLENET_DATA=DIR cargo bench --bench components     # with the pN networks in DIR/network-design
//! ```
//!
//! The first table has the time to a gap of 1e-4 of the bundle method with component cuts and with aggregated cuts, and of `auto`.
//! The second has the time of a component master as the number of cuts grows, beside the time of an oracle call and the counted
//! work of the masters, by which the default decides. The third has the time of single masters on synthetic sums, by Newton
//! steps on the free weights and by semismooth Newton steps in the space of the variables. All on one thread.

use std::path::Path;

use bundlenet::{AutoSettings, BundleSettings, Cuts, Limits, Method, Settings, Solution, Solver};
use bundlenet_problems::network_design::{Arc, Commodity};
use bundlenet_problems::{Family, Generator, NetworkDesign, Problem, ReadOptions};
use bundlenet_testing::trial::{cases, is_trial};

fn bundle(cuts: Cuts) -> Method {
    Method::Bundle(BundleSettings { cuts, ..BundleSettings::default() })
}

fn run(problem: &Problem, method: Method, steps: usize, tolerance: f64) -> Solution {
    let limits = Limits { steps: Some(steps), seconds: Some(60.0), ..Limits::default() };
    let solver = Solver::new(Settings { method, limits, tolerance, ..Settings::default() }).unwrap();
    solver.solve(&mut *problem.dual()).unwrap()
}

/// A sparse network, far larger than those of the data sets: a ring with chords.
fn sparse_network(nodes: usize, arcs: usize, commodities: usize) -> Problem {
    let mut state = 1_u64;
    let mut below = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) as usize) % limit
    };
    let arc = |tail, head, fixed_cost: usize| Arc { tail, head, fixed_cost: fixed_cost as f64, capacity: 400.0 };
    let mut all: Vec<Arc> = (0..nodes).map(|node| arc(node, (node + 1) % nodes, 500 + below(500))).collect();
    while all.len() < arcs {
        let (tail, head) = (below(nodes), below(nodes));
        if tail != head {
            all.push(arc(tail, head, 200 + below(800)));
        }
    }
    let pairs = (0..commodities).map(|_| {
        let origin = below(nodes);
        let demand = (5 + below(10)) as f64;
        Commodity { origin, destination: (origin + 1 + below(nodes - 1)) % nodes, demand }
    });
    let pairs: Vec<Commodity> = pairs.collect();
    let costs = (0..arcs * commodities).map(|_| (1 + below(20)) as f64).collect();
    Problem::NetworkDesign(NetworkDesign::new(nodes, all, pairs, costs).unwrap())
}

fn master_table(problems: &[(String, Problem)]) {
    println!(
        "master, milliseconds a step (times the oracle call in it); cuts at the end; counted work over measured time"
    );
    println!(
        "{:<22} {:>10} {:>9}  steps 1-10      11-20       21-40        cuts   work",
        "", "components", "variables"
    );
    for (name, problem) in problems {
        let mut dual = problem.dual();
        let (variables, components) = (dual.dim(), dual.as_sum().map_or(0, |sum| sum.component_count()));
        print!("{name:<22} {components:>10} {variables:>9}");
        let (mut master, mut steps, mut work) = (0.0, 0, 0.0);
        for most in [10, 20, 40] {
            let solution = run(problem, bundle(Cuts::Component), most, 1e-12);
            if solution.steps == steps {
                print!("           -");
                continue;
            }
            let count = (solution.steps - steps) as f64;
            let of_master = (solution.master_seconds - master).max(0.0) / count;
            let of_oracle = solution.oracle_seconds / solution.oracle_calls as f64;
            print!("  {:>8.2} ({:>4.0})", of_master * 1e3, of_master / of_oracle);
            (master, steps, work) = (solution.master_seconds, solution.steps, 1e-9 * solution.master_work);
        }
        let mut cuts = 0;
        let limits = Limits { steps: Some(steps), ..Limits::default() };
        let solver = Solver::new(Settings { method: bundle(Cuts::Component), limits, ..Settings::default() }).unwrap();
        let mut count = |record: &bundlenet::Record| {
            cuts = record.cuts.unwrap_or(cuts);
            std::ops::ControlFlow::Continue(())
        };
        solver.observe(&mut count).solve(&mut *problem.dual()).unwrap();
        println!("  {cuts:>8} {:>6.2}", work / master);
    }
}

fn time_table(problems: &[(String, Problem)]) {
    println!("\nmilliseconds to a gap of 1e-4 (steps), and the ratio of aggregated to component");
    println!("{:<22} {:>18} {:>18} {:>18} {:>8}", "", "component", "aggregated", "auto", "ratio");
    for (name, problem) in problems {
        let optimum = run(problem, bundle(Cuts::Component), 100_000, 1e-9).value;
        let reached = |method| {
            let solution = run(problem, method, 100_000, 1e-5);
            let is_near = |row: &&bundlenet::TraceRow| (row.best - optimum).abs() <= 1e-4 * optimum.abs();
            let row = solution.trace.iter().find(is_near).copied();
            row.map_or((f64::NAN, 0), |row| (row.seconds * 1e3, row.step))
        };
        let methods = [bundle(Cuts::Component), bundle(Cuts::Aggregated), Method::Auto(AutoSettings::default())];
        let [component, aggregated, auto] = methods.map(reached);
        let cell = |(milliseconds, steps): (f64, usize)| format!("{milliseconds:.2} ({steps})");
        let ratio = aggregated.0 / component.0;
        println!("{name:<22} {:>18} {:>18} {:>18} {ratio:>8.2}", cell(component), cell(aggregated), cell(auto));
    }
}

fn synthetic_table() {
    const CUTS: [usize; 3] = [10, 20, 30];
    println!(
        "\nmaster on a synthetic sum, milliseconds: Newton steps on the weights, in the space of the variables, default"
    );
    println!(
        "{:>10} {:>9} {:>7} {:>5} {:>10} {:>10} {:>10}",
        "components", "variables", "entries", "cuts", "weights", "variables", "default"
    );
    let sizes = [(600, 96, 48), (600, 48, 24), (200, 96, 48), (100, 50, 50), (80, 800, 20), (20, 400, 20)];
    // The last one is the smallest.
    for &(components, variables, entries) in if is_trial() { &sizes[5..] } else { &sizes[..] } {
        let rows = bundlenet::master_seconds(bundlenet::Sizes { components, variables, entries }, &CUTS);
        for (cuts, row) in CUTS.iter().zip(rows) {
            let [newton, interior, chosen] = row.map(|seconds| seconds * 1e3);
            println!(
                "{components:>10} {variables:>9} {entries:>7} {cuts:>5} {newton:>10.2} {interior:>10.2} {chosen:>10.2}"
            );
        }
    }
}

fn main() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        if std::env::args().any(|argument| argument == "synthetic") {
            return synthetic_table();
        }
        let of_family = |family: Family, index| {
            (format!("{family} {index}"), Generator::new(family, 1).instance(index).unwrap().problem)
        };
        let families = [Family::Ga10x100, Family::Ga20x400, Family::McSml40, Family::McBig40, Family::McSmlVar];
        let mut problems: Vec<_> =
            cases(families).flat_map(|family| cases([0, 5]).map(move |index| of_family(family, index))).collect();
        time_table(&problems);
        if !is_trial() {
            problems.push(("100 nodes, 400 arcs".to_string(), sparse_network(100, 400, 50)));
        }
        if let Some(data) = std::env::var_os("BUNDLENET_DATA").filter(|_| !is_trial()) {
            for name in ["pN1_3", "pN5_1", "pN9_1"] {
                let path = Path::new(&data).join(format!("network-design/{name}.dat"));
                if let Ok(problem) = Problem::read(path, ReadOptions::default()) {
                    problems.push((name.to_string(), problem));
                }
            }
        }
        master_table(&problems);
        synthetic_table();
    });
}
