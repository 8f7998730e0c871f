//! Time of an evaluation over ranks beside the slowest share: `mpirun -n 2 target/release/examples/overhead`.
//!
//! Components wait for a fixed time, so the slowest share is known. The transfer is that of as many bytes between two
//! ranks by MPI alone.

use std::time::{Duration, Instant};

use bundlenet::{Answer, Components, Minorants, OracleError, Parallel, SumOracle};
use bundlenet_mpi::{Distributed, World, serve};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, Source};

/// Evaluations of each measurement.
const CALLS: usize = 400;

/// Components that take the same time each.
struct Waiting {
    count: usize,
    dim: usize,
    entries: usize,
    wait: Duration,
}

impl Components for Waiting {
    fn dim(&self) -> usize {
        self.dim
    }

    fn component_count(&self) -> usize {
        self.count
    }

    fn evaluate_component(&self, _component: usize, point: &[f64], answer: &mut Answer) -> Result<(), OracleError> {
        let begin = Instant::now();
        answer.push(point[0], (0..self.entries).map(|at| (at as u32, 1.0)));
        while begin.elapsed() < self.wait {
            std::hint::spin_loop();
        }
        Ok(())
    }
}

/// The least time in microseconds: other processes of the machine disturb the others.
fn least(times: &[f64]) -> f64 {
    1e6 * times.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Time of a message of some words from rank 1 to rank 0, half of a round trip with an empty answer.
fn transfer(rank: usize, words: usize) -> f64 {
    let world = SimpleCommunicator::world();
    let (mut buffer, mut times) = (vec![0_u64; words], vec![]);
    for _ in 0..CALLS {
        let begin = Instant::now();
        match rank {
            0 => {
                let other = world.process_at_rank(1);
                other.send(&[0_u64; 1][..]);
                other.receive_into(&mut buffer[..]);
                times.push(begin.elapsed().as_secs_f64());
            }
            1 => {
                let other = world.process_at_rank(0);
                other.receive_into(&mut [0_u64; 1][..]);
                other.send(&buffer[..]);
            }
            _ => {}
        }
    }
    if rank == 0 { least(&times) } else { 0.0 }
}

fn main() {
    let Some(world) = World::start().filter(|world| world.size() > 1) else { return };
    if world.rank() == 0 {
        println!("| components | entries | share us | transfer us | evaluation us | overhead us |");
    }
    for (count, entries, wait) in [(2, 10, 500), (16, 50, 100), (1000, 50, 4), (1000, 50, 20)] {
        let wait = Duration::from_micros(wait);
        let mut oracle = Parallel::new(Waiting { count, dim: 192, entries, wait });
        // A record has 7 words beside its sparse vector.
        let words = count.div_ceil(world.size()) * (7 + 2 * entries);
        let transfer = transfer(world.rank(), words);
        if world.rank() > 0 {
            serve(&world, &mut oracle);
            continue;
        }
        let share: Vec<usize> = (0..count).step_by(world.size()).collect();
        let mut minorants = Minorants::new();
        let point = vec![1.0; 192];
        let mut measure = |evaluate: &mut dyn FnMut(&mut Minorants)| {
            let mut times = vec![];
            for _ in 0..CALLS {
                minorants.clear();
                let begin = Instant::now();
                evaluate(&mut minorants);
                times.push(begin.elapsed().as_secs_f64());
            }
            least(&times)
        };
        let own = measure(&mut |minorants| {
            for &component in &share {
                oracle.evaluate_some(&[component], &point, minorants).expect("components that do not fail");
            }
        });
        let mut distributed = Distributed::new(&world, &mut oracle);
        let all = measure(&mut |minorants| {
            distributed.evaluate_components(&point, minorants).expect("components that do not fail");
        });
        let overhead = all - own - transfer;
        println!("| {count} | {entries} | {own:.0} | {transfer:.1} | {all:.0} | {overhead:.1} |");
    }
    for words in [1, 1 << 20] {
        let time = transfer(world.rank(), words);
        if world.rank() == 0 {
            println!("message of {} bytes and an answer of 8: {time:.1} us", 8 * words);
        }
    }
}
