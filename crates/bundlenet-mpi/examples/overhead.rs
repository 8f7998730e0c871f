//! Time of an evaluation over ranks beside the slowest share: `mpirun -n 2 target/release/examples/overhead`.
//!
//! Components wait for a fixed time. Every rank takes the time of its share in each call, so the slowest share of that
//! very call is known, also where other processes disturb it. The transfer is that of the same messages by MPI alone,
//! right after the sender has written them: a request, and an answer of values, coordinates and entries. The overhead of
//! a call is its time less its slowest share and the median transfer. Shown are the lower quartile and the median of all
//! calls.

use std::time::{Duration, Instant};

use bundlenet::{Answer, Components, Minorants, Oracle, OracleError, Parallel, Parts, SumOracle};
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

/// A sum that takes the time of its evaluations. The first entry of the point is the number of the call.
struct Timed<S> {
    sum: S,
    seconds: Vec<f64>,
}

impl<S: SumOracle> Timed<S> {
    fn timed<R>(&mut self, point: &[f64], evaluate: impl FnOnce(&mut S) -> R) -> R {
        let begin = Instant::now();
        let result = evaluate(&mut self.sum);
        self.seconds[point[0] as usize] += begin.elapsed().as_secs_f64();
        result
    }
}

impl<S: SumOracle> Oracle for Timed<S> {
    fn dim(&self) -> usize {
        self.sum.dim()
    }

    fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        self.timed(point, |sum| sum.evaluate(point, subgradient))
    }
}

impl<S: SumOracle> SumOracle for Timed<S> {
    fn component_count(&self) -> usize {
        self.sum.component_count()
    }

    fn linear(&self) -> &[f64] {
        self.sum.linear()
    }

    fn parts(&self) -> Parts {
        self.sum.parts()
    }

    fn evaluate_components(&mut self, point: &[f64], minorants: &mut Minorants) -> Result<(), OracleError> {
        self.timed(point, |sum| sum.evaluate_components(point, minorants))
    }

    fn evaluate_some(
        &mut self,
        components: &[usize],
        point: &[f64],
        minorants: &mut Minorants,
    ) -> Result<(), OracleError> {
        self.timed(point, |sum| sum.evaluate_some(components, point, minorants))
    }
}

/// The lower quartile and the median of times, in microseconds.
fn typical(mut times: Vec<f64>) -> [f64; 2] {
    times.sort_by(f64::total_cmp);
    [times.len() / 4, times.len() / 2].map(|place| 1e6 * times[place])
}

/// Time of a message of `request` words to rank 1, and of an answer with `records` words and a sparse vector of `entries`
/// entries.
fn transfer(rank: usize, request: usize, records: usize, entries: usize) -> [f64; 2] {
    let world = SimpleCommunicator::world();
    let (mut words, mut coordinates, mut numbers) = (vec![0_u64; records], vec![0_u32; entries], vec![0.0; entries]);
    let (mut times, mut request) = (vec![], vec![0_u64; request]);
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
                other.send(&request[..]);
                other.receive_into(&mut words[..]);
                other.receive_into(&mut coordinates[..]);
                other.receive_into(&mut numbers[..]);
                times.push(begin.elapsed().as_secs_f64());
            }
            1 => {
                let other = world.process_at_rank(0);
                other.receive_into(&mut request[..]);
                other.send(&words[..]);
                other.send(&coordinates[..]);
                other.send(&numbers[..]);
            }
            _ => {}
        }
    }
    if rank == 0 { typical(times) } else { [0.0; 2] }
}

/// Variables of the sums.
const DIM: usize = 192;

fn main() {
    let Some(world) = World::start().filter(|world| world.size() > 1) else { return };
    let all_ranks = SimpleCommunicator::world();
    if world.rank() == 0 {
        println!("| components | entries | slowest share us | transfer us | evaluation us | overhead us | median |");
        println!("|---|---|---|---|---|---|---|");
    }
    for (count, entries, wait) in [(2, 10, 500), (16, 50, 100), (1000, 50, 4), (1000, 50, 20)] {
        let sum = Parallel::new(Waiting { count, dim: DIM, entries, wait: Duration::from_micros(wait) });
        let mut oracle = Timed { sum, seconds: vec![0.0; CALLS] };
        let others = count.div_ceil(world.size());
        // A plain result has 2 words, an answer 3 and a request 4 before them.
        let [_, transfer] = transfer(world.rank(), 4 + DIM, 3 + 2 * others, entries * others);
        if world.rank() > 0 {
            serve(&world, &mut oracle);
            all_ranks.process_at_rank(0).send(&oracle.seconds[..]);
            continue;
        }
        let (mut minorants, mut point, mut times) = (Minorants::new(), vec![1.0; DIM], vec![]);
        let mut distributed = Distributed::new(&world, &mut oracle);
        for call in 0..CALLS {
            minorants.clear();
            point[0] = call as f64;
            let begin = Instant::now();
            distributed.evaluate_components(&point, &mut minorants).expect("components that do not fail");
            times.push(begin.elapsed().as_secs_f64());
        }
        drop(distributed);
        let mut slowest = std::mem::take(&mut oracle.seconds);
        for rank in 1..world.size() {
            let mut seconds = vec![0.0; CALLS];
            all_ranks.process_at_rank(rank as i32).receive_into(&mut seconds[..]);
            slowest.iter_mut().zip(seconds).for_each(|(most, seconds)| *most = most.max(seconds));
        }
        let beside = times.iter().zip(&slowest).map(|(time, share)| time - share - 1e-6 * transfer).collect();
        let ([_, share], [_, time], [low, median]) = (typical(slowest), typical(times), typical(beside));
        println!("| {count} | {entries} | {share:.0} | {transfer:.1} | {time:.0} | {low:.1} | {median:.1} |");
    }
    for words in [1, 1 << 20] {
        let [_, time] = transfer(world.rank(), 1, words, 0);
        if world.rank() == 0 {
            println!("message of 8 bytes and an answer of {}: {time:.1} us", 8 * words);
        }
    }
}
