//! The ranks of a job.

use std::io::Write;
use std::panic;
use std::time::Duration;

use mpi::Threading;
use mpi::environment::Universe;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives};

/// Variables that the launchers of Open MPI, MPICH, Intel MPI and Slurm set for each process they start.
const LAUNCHERS: [&str; 4] = ["OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE"];

/// Time between two looks at the other ranks at the end of a command, where a rank may have to wait for long.
const PAUSE: Duration = Duration::from_millis(2);

/// The processes of an MPI job. Dropping it waits for all ranks and finalizes MPI.
///
/// Only one thread at a time may call its methods.
pub struct World {
    rank: usize,
    size: usize,
    neighbours: usize,
    /// Finalizes MPI when it is dropped.
    _universe: Universe,
}

impl World {
    /// Whether a launcher, such as `mpirun` or `srun`, started this process.
    #[must_use]
    pub fn is_launched() -> bool {
        LAUNCHERS.iter().any(|name| std::env::var_os(name).is_some())
    }

    /// Initializes MPI. From then on a panic of any thread ends the whole job. `None` if MPI was initialized before, or
    /// does not allow calls from several threads one after the other.
    #[must_use]
    pub fn start() -> Option<Self> {
        let (universe, threading) = mpi::initialize_with_threading(Threading::Serialized)?;
        if threading < Threading::Serialized {
            return None;
        }
        let world = universe.world();
        let number = |count: i32| usize::try_from(count).unwrap_or(0);
        let (rank, size) = (number(world.rank()), number(world.size()));
        let neighbours = number(world.split_shared(world.rank()).size()).max(1);
        let started = Self { rank, size, neighbours, _universe: universe };
        end_job_on_panic(rank);
        Some(started)
    }

    /// Number of this process, from 0.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Number of processes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Number of processes on this machine.
    #[must_use]
    pub fn neighbours(&self) -> usize {
        self.neighbours
    }

    /// Ends the whole job at once, with an exit code.
    pub fn abort(&self, code: i32) -> ! {
        communicator().abort(code)
    }
}

/// All processes.
pub(crate) fn communicator() -> SimpleCommunicator {
    SimpleCommunicator::world()
}

/// A rank as MPI counts.
pub(crate) fn rank_number(rank: usize) -> i32 {
    i32::try_from(rank).unwrap_or(i32::MAX)
}

/// The other ranks would wait for a rank that has panicked, without end.
fn end_job_on_panic(rank: usize) {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        before(info);
        // If the message cannot be written, that of MPI names the rank.
        let _ = writeln!(std::io::stderr(), "bundlenet: rank {rank} panicked: the job ends");
        communicator().abort(1)
    }));
}

impl Drop for World {
    /// Waits for the other ranks without using the processor.
    fn drop(&mut self) {
        let mut request = communicator().immediate_barrier();
        while let Err(pending) = request.test() {
            request = pending;
            std::thread::sleep(PAUSE);
        }
    }
}
