//! Time of an evaluation over ranks beside the slowest share: `mpirun -n 2 target/release/examples/overhead`.
//!
//! Components wait for a fixed time, so the slowest share is known. The transfer is that of the same messages by MPI
//! alone, right after the sender has written them: a request of one number, an answer of values, coordinates and
//! entries. Shares and overheads are the least and the median of all calls: other processes disturb the latter.

use std::time::{Duration, Instant};

use bundlenet::{Answer, Components, Minorants, OracleError, Parallel, SumOracle};
use bundlenet_mpi::{Distributed, World, serve};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Source};

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

/// The least and the median of times, in microseconds.
fn typical(mut times: Vec<f64>) -> [f64; 2] {
    times.sort_by(f64::total_cmp);
    [0, times.len() / 2].map(|place| 1e6 * times[place])
}

/// Time of a message to rank 1 and of an answer with `records` words and a sparse vector of `entries` entries.
fn transfer(rank: usize, records: usize, entries: usize) -> [f64; 2] {
    let world = SimpleCommunicator::world();
    let (mut words, mut coordinates, mut numbers) = (vec![0_u64; records], vec![0_u32; entries], vec![0.0; entries]);
    let mut times = vec![];
    for call in 0..CALLS {
        if rank == 1 {
            words.fill(call as u64);
            coordinates.fill(call as u32);
            numbers.fill(call as f64);
        }
        world.barrier();
        let begin = Instant::now();
        match rank {
            0 => {
                let other = world.process_at_rank(1);
                other.send(&[0_u64; 1][..]);
                other.receive_into(&mut words[..]);
                other.receive_into(&mut coordinates[..]);
                other.receive_into(&mut numbers[..]);
                times.push(begin.elapsed().as_secs_f64());
            }
            1 => {
                let other = world.process_at_rank(0);
                other.receive_into(&mut [0_u64; 1][..]);
                other.send(&words[..]);
                other.send(&coordinates[..]);
                other.send(&numbers[..]);
            }
            _ => {}
        }
    }
    if rank == 0 { typical(times) } else { [0.0; 2] }
}

fn main() {
    let Some(world) = World::start().filter(|world| world.size() > 1) else { return };
    if world.rank() == 0 {
        println!("| components | entries | share us | transfer us | evaluation us | overhead us | median |");
    }
    for (count, entries, wait) in [(2, 10, 500), (16, 50, 100), (1000, 50, 4), (1000, 50, 20)] {
        let wait = Duration::from_micros(wait);
        let mut oracle = Parallel::new(Waiting { count, dim: 192, entries, wait });
        let others = count.div_ceil(world.size());
        // A plain result has 2 words, an answer 3 before its results.
        let transfer = transfer(world.rank(), 3 + 2 * others, entries * others);
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
            typical(times)
        };
        let own = measure(&mut |minorants| {
            oracle.evaluate_some(&share, &point, minorants).expect("components that do not fail");
        });
        let mut distributed = Distributed::new(&world, &mut oracle);
        let all = measure(&mut |minorants| {
            distributed.evaluate_components(&point, minorants).expect("components that do not fail");
        });
        let overhead = [0, 1].map(|of| all[of] - own[of] - transfer[of]);
        println!(
            "| {count} | {entries} | {:.0} | {:.1} | {:.0} | {:.1} | {:.1} |",
            own[0], transfer[0], all[0], overhead[0], overhead[1]
        );
    }
    for words in [1, 1 << 20] {
        let [time, _] = transfer(world.rank(), words, 0);
        if world.rank() == 0 {
            println!("message of 8 bytes and an answer of {}: {time:.1} us", 8 * words);
        }
    }
}
