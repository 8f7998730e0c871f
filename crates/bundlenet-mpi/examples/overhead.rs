//! Time of an evaluation over ranks beside the slowest share: `mpirun -n 2 target/release/examples/overhead`.
//!
//! Components wait for a fixed time. Every rank takes the time of its share in each call, so the slowest share of that
//! very call is known, also where other processes disturb it. The transfer is that of the same messages by MPI alone: a
//! request, and an answer of values, coordinates and entries. It is measured twice: at once, after the sender has written
//! the messages without waiting, and after a share, when both ranks have evaluated as long as in a call. The latter takes
//! longer, since memory and code have left the caches. The overhead of a call is its time less its slowest share and the
//! median transfer after a share. Shown are the lower quartile and the median of all calls, and the median overhead by
//! the transfer at once.

use std::time::{Duration, Instant};

use bundlenet::{Answer, Components, Minorants, Oracle, OracleError, Parallel, Parts, SumOracle};
use bundlenet_mpi::{Distributed, World, serve};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Source};

/// Evaluations of each measurement.
const CALLS: usize = 400;

/// Transfers before them, and as many after them.
const TRANSFERS: usize = 100;

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

/// Times of a request to rank 1 and of its answer, by MPI alone. Before, both ranks evaluate all components of the share.
/// A request has 6 words and the point. An answer has 7 words, 2 of each component, and the subgradients.
fn transfer(rank: usize, share: Waiting) -> Vec<f64> {
    let world = SimpleCommunicator::world();
    let (mut request, mut words) = (vec![0_u64; 6 + DIM], vec![0_u64; 7 + 2 * share.count]);
    let length = share.count * share.entries;
    let (mut coordinates, mut entries) = (vec![0_u32; length], vec![0.0; length]);
    let (mut oracle, mut minorants, mut times) = (Parallel::new(share), Minorants::new(), vec![]);
    for _ in 0..TRANSFERS {
        minorants.clear();
        oracle.evaluate_components(&[1.0; DIM], &mut minorants).expect("components that do not fail");
        words[7..].fill(rank as u64);
        world.barrier();
        let begin = Instant::now();
        match rank {
            0 => {
                let other = world.process_at_rank(1);
                other.send(&request[..]);
                other.receive_into(&mut words[..]);
                other.receive_into(&mut coordinates[..]);
                other.receive_into(&mut entries[..]);
                times.push(begin.elapsed().as_secs_f64());
            }
            1 => {
                let other = world.process_at_rank(0);
                other.receive_into(&mut request[..]);
                other.send(&words[..]);
                other.send(minorants.subgradients().0);
                other.send(minorants.subgradients().1);
            }
            _ => {}
        }
    }
    times
}

/// Variables of the sums.
const DIM: usize = 192;

/// Times of all calls over ranks on rank 0, and of the slowest share in each. Nothing on the other ranks.
fn calls(world: &World, sum: Waiting) -> (Vec<f64>, Vec<f64>) {
    let all_ranks = SimpleCommunicator::world();
    let mut oracle = Timed { sum: Parallel::new(sum), seconds: vec![0.0; CALLS] };
    if world.rank() > 0 {
        serve(world, &mut oracle);
        all_ranks.process_at_rank(0).send(&oracle.seconds[..]);
        return (vec![], vec![]);
    }
    let (mut minorants, mut point, mut times) = (Minorants::new(), vec![1.0; DIM], vec![]);
    let mut distributed = Distributed::new(world, &mut oracle);
    for call in 0..CALLS {
        minorants.clear();
        point[0] = call as f64;
        let begin = Instant::now();
        distributed.evaluate_components(&point, &mut minorants).expect("components that do not fail");
        times.push(begin.elapsed().as_secs_f64());
    }
    drop(distributed);
    let mut slowest = oracle.seconds;
    for rank in 1..world.size() {
        let mut seconds = vec![0.0; CALLS];
        all_ranks.process_at_rank(rank as i32).receive_into(&mut seconds[..]);
        slowest.iter_mut().zip(seconds).for_each(|(most, seconds)| *most = most.max(seconds));
    }
    (times, slowest)
}

fn main() {
    let Some(world) = World::start().filter(|world| world.size() > 1) else { return };
    if world.rank() == 0 {
        println!("| components | entries | slowest share us | transfer at once us | transfer after a share us |");
        println!("  evaluation us | overhead us | median | by transfer at once |");
    }
    for (count, entries, wait) in [(2_usize, 10, 500), (16, 50, 100), (1000, 50, 4), (1000, 50, 20)] {
        let wait = Duration::from_micros(wait);
        let share = |wait| Waiting { count: count.div_ceil(world.size()), dim: DIM, entries, wait };
        let at_once = transfer(world.rank(), share(Duration::ZERO));
        let mut after = transfer(world.rank(), share(wait));
        let (times, slowest) = calls(&world, Waiting { count, dim: DIM, entries, wait });
        after.extend(transfer(world.rank(), share(wait)));
        if world.rank() > 0 {
            continue;
        }
        let ([_, at_once], [_, after]) = (typical(at_once), typical(after));
        let beside: Vec<f64> = times.iter().zip(&slowest).map(|(time, share)| time - share).collect();
        let ([_, share], [_, time], [low, median]) = (typical(slowest), typical(times), typical(beside));
        let (low, by_after, by_at_once) = (low - after, median - after, median - at_once);
        print!("| {count} | {entries} | {share:.0} | {at_once:.1} | {after:.1} | {time:.0} ");
        println!("| {low:.1} | {by_after:.1} | {by_at_once:.1} |");
    }
}
