//! temp
use bundlenet::{Settings, Solver};
use bundlenet_mip::{TwoStage, Watch};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let program = TwoStage::read(&arguments[0])?;
    let seconds = arguments.get(1).and_then(|t| t.parse().ok());
    let blocks = program.blocks();
    println!(
        "lp {:?} blocks {} kinds {:?} filled {} warning {:?}",
        blocks.linear_bound(Watch::default())?,
        blocks.blocks().len(),
        blocks.blocks().iter().map(|b| (b.kind(), b.multiplicity())).collect::<std::collections::BTreeSet<_>>(),
        blocks.filled_bounds(),
        program.warning()
    );
    let mut dual = blocks.dual(Watch::default().seconds(seconds))?;
    let mut settings = Settings { primal: true, ..Settings::default() };
    settings.limits.seconds = seconds;
    let mut log = bundlenet::Log::new(std::io::stderr());
    let solution = Solver::new(settings)?.observe(&mut log).solve(&mut dual)?;
    println!(
        "{} {} calls {} s {:.3} oracle {:.3} master {:.3} est {:?} dim {}",
        solution.value,
        solution.status,
        solution.oracle_calls,
        solution.seconds,
        solution.oracle_seconds,
        solution.master_seconds,
        solution.estimate,
        solution.point.len()
    );
    if let Some(p) = &solution.primal {
        println!(
            "viol {} mean {:?}",
            blocks.largest_violation(&blocks.values(p)),
            program.mean_first_stage(p).iter().take(6).collect::<Vec<_>>()
        );
    }
    println!("{:?}", solution.failure);
    println!(
        "{:?}",
        program
            .best_first_stage(&dual, &solution.point, Watch::default().seconds(Some(20.0)))?
            .map(|f| (f.value, f.tried))
    );
    Ok(())
}
