//! The interior-point method of network design: time against arcs and commodities.
//!
//! ```text
//! cargo bench --bench barrier
//! cargo bench --bench barrier -- --quick        # networks of up to 300 arcs and 100 commodities
//! ```
//!
//! Each row is a random network: its steps and seconds to a proof of 1e-6, the seconds of a step, those of an oracle call, and
//! the estimated work over the measured time. The default decides by that estimate. All on one thread.

use bundlenet::{Limits, Method, Oracle, Settings, Solver};
use bundlenet_linalg::Stream;
use bundlenet_problems::network_design::{Arc, Commodity};
use bundlenet_problems::{NetworkDesign, NetworkDesignDual};
use bundlenet_testing::trial::cases;

/// A ring with chords. The ring carries all demand, at a high cost.
fn network(nodes: usize, arcs: usize, commodities: usize) -> NetworkDesign {
    let mut stream = Stream::new(1, "networks", (nodes * 1_000_000 + arcs * 1000 + commodities) as u64);
    let mut below = |limit: usize| stream.below(limit);
    let mut all = vec![];
    for index in 0..arcs {
        let is_ring = index < nodes;
        let tail = if is_ring { index } else { below(nodes) };
        let head = (tail + if is_ring { 1 } else { 1 + below(nodes - 1) }) % nodes;
        let (fixed_cost, capacity) =
            if is_ring { (500.0, 1e6) } else { ((100 + below(900)) as f64, (30 + below(120)) as f64) };
        all.push(Arc { tail, head, fixed_cost, capacity });
    }
    let commodity = |_| {
        let origin = below(nodes);
        Commodity { origin, destination: (origin + 1 + below(nodes - 1)) % nodes, demand: (2 + below(12)) as f64 }
    };
    let pairs: Vec<Commodity> = (0..commodities).map(commodity).collect();
    let costs = (0..arcs * commodities).map(|_| (5 + below(40)) as f64).collect();
    NetworkDesign::new(nodes, all, pairs, costs).unwrap()
}

fn row(nodes: usize, arcs: usize, commodities: usize) {
    let instance = network(nodes, arcs, commodities);
    let method = Method::with_options("barrier", []).unwrap();
    let limits = Limits { seconds: Some(600.0), ..Limits::default() };
    let solver = Solver::new(Settings { method, limits, tolerance: 1e-6, ..Settings::default() }).unwrap();
    let mut dual = NetworkDesignDual::new(&instance);
    let work =
        dual.as_structured().and_then(|structured| structured.method_work()).map_or(f64::NAN, |work| 1e-9 * work);
    let solution = solver.solve(&mut dual).unwrap();
    let (seconds, steps) = (solution.seconds, solution.steps as f64);
    let call = solution.oracle_seconds / solution.oracle_calls as f64;
    println!(
        "| {nodes} | {arcs} | {commodities} | {} | {steps} | {seconds:.2} | {:.1} | {:.3} | {:.2} |",
        solution.status,
        1e3 * seconds / steps,
        1e3 * call,
        work / seconds
    );
}

fn main() {
    let is_quick = std::env::args().any(|argument| argument == "--quick");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    println!("| nodes | arcs | commodities | status | steps | s | ms a step | ms a call | work / time |");
    println!("|---|---|---|---|---|---|---|---|---|");
    pool.install(|| {
        for (nodes, arcs) in cases([(20, 230), (20, 300), (30, 520), (50, 500), (100, 700)]) {
            for commodities in cases([40, 100, 200, 400]) {
                if !is_quick || (arcs <= 300 && commodities <= 100) {
                    row(nodes, arcs, commodities);
                }
            }
        }
    });
}
