//! The Lagrangian bound of a model file: `bound MODEL DEC`.

use bundlenet::{Settings, Solver};
use bundlenet_mip::{Blocks, Model, Structure, Watch};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let model = Model::read(&arguments[0])?;
    let structure = Structure::read(&model, &arguments[1])?;
    let blocks = Blocks::new(model, &structure)?;
    let mut dual = blocks.dual(Watch::default())?;
    let primal = arguments.len() > 2;
    let solution = Solver::new(Settings { primal, ..Settings::default() })?.solve(&mut dual)?;
    println!(
        "{} {} calls {} s {:.3} oracle {:.3} master {:.3} est {:?} lp {:?} blocks {} kinds {:?} filled {}",
        solution.value,
        solution.status,
        solution.oracle_calls,
        solution.seconds,
        solution.oracle_seconds,
        solution.master_seconds,
        solution.estimate,
        blocks.linear_bound(Watch::default())?,
        blocks.blocks().len(),
        blocks.blocks().iter().map(|b| (b.kind(), b.multiplicity())).collect::<std::collections::BTreeSet<_>>(),
        blocks.filled_bounds()
    );
    if let Some(p) = &solution.primal {
        println!("viol {}", blocks.largest_violation(&blocks.values(p)));
    }
    println!("{:?}", solution.failure);
    Ok(())
}
