//! The ranks of MPI that `mpirun` or `srun` started this program on.

use std::sync::Arc;
use std::time::Duration;

use bundlenet::team::{Team, Workers};
use bundlenet::{Oracle, Parts};
use bundlenet_mpi::{Distributed, World, gain, serve};

use crate::failure::Failure;
use crate::output;

/// Least factor by which ranks have to shorten an evaluation.
const LEAST_GAIN: f64 = 1.1;

/// Time that another rank leaves rank 0 to report a failure first: often all ranks have the same. A launcher takes up
/// to two seconds to end the other ranks then.
const COURTESY: Duration = Duration::from_secs(4);

/// The ranks, or this process alone.
pub(crate) struct Ranks {
    world: Option<Arc<World>>,
}

impl Ranks {
    /// Starts MPI if a launcher started the program. Only rank 0 prints and writes files.
    pub(crate) fn start() -> Self {
        let world = if World::is_launched() { World::start().map(Arc::new) } else { None };
        if world.as_ref().is_some_and(|world| world.rank() > 0) {
            output::silence();
        }
        Self { world }
    }

    pub(crate) fn is_leader(&self) -> bool {
        self.world.as_ref().is_none_or(|world| world.is_leader())
    }

    pub(crate) fn workers(&self) -> Workers {
        Workers::of_team(self.world.as_ref().map(|world| Arc::clone(world) as Arc<dyn Team>))
    }

    /// The number of threads of this rank: the one that was asked for, or its part of the cores.
    pub(crate) fn threads(&self, given: Option<u16>) -> Option<u16> {
        let world = self.world.as_ref().filter(|_| given.is_none());
        let Some(world) = world else { return given };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        u16::try_from((cores / world.neighbours()).max(1)).ok()
    }

    /// Calls `solve` on rank 0, with an oracle whose components all ranks evaluate. `None` on other ranks. If ranks do
    /// not pay, rank 0 evaluates all of them, and a message says so.
    pub(crate) fn solve<R>(
        &self,
        dual: &mut dyn Oracle,
        keeps_solutions: bool,
        solve: impl FnOnce(&mut dyn Oracle) -> R,
    ) -> Option<R> {
        let Some(world) = self.world.as_ref().filter(|world| world.size() > 1) else { return Some(solve(dual)) };
        let reason = match dual.as_sum() {
            None => Some("the function is no sum".to_string()),
            Some(sum) if sum.parts() == Parts::Together => {
                Some("the oracle takes all components in one call".to_string())
            }
            Some(sum) => {
                let (count, gain) = (sum.component_count(), gain(sum, world.size()));
                let work = 1e-3 * sum.work().unwrap_or(1e6);
                (gain < LEAST_GAIN).then(|| format!("{count} components take about {work:.0} microseconds in all"))
            }
        };
        if let Some(reason) = reason {
            output::note(&format!("{} ranks do not pay for one instance, rank 0 works alone: {reason}", world.size()));
            return world.is_leader().then(|| solve(dual));
        }
        let sum = dual.as_sum()?;
        if !world.is_leader() {
            serve(world, sum);
            return None;
        }
        let distributed = Distributed::new(world, sum);
        Some(solve(&mut if keeps_solutions { distributed.with_solutions() } else { distributed }))
    }

    /// Reports a failure and returns the exit code. A failure ends all ranks at once.
    pub(crate) fn end(self, result: Result<(), Failure>) -> u8 {
        let Some(world) = self.world.filter(|world| world.size() > 1) else {
            return result.map_or_else(Failure::report, |()| 0);
        };
        let Err(failure) = result else { return 0 };
        if !world.is_leader() {
            std::thread::sleep(COURTESY);
        }
        let failure = if world.is_leader() { failure } else { failure.of(&world.name()) };
        let code = failure.report();
        if code > 0 {
            world.abort(i32::from(code));
        }
        code
    }
}
