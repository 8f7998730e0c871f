//! The program that the tests of this crate start with `mpirun`. Its first argument says what it does; rank 0 prints
//! results to the last bit.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bundlenet::team::{Failed, Team, Workers};
use bundlenet::{
    Answer, Components, Error, Method, Minorants, OracleError, Parallel, Parts, Settings, Solution, Solver, SumOracle,
};
use bundlenet_mpi::{Distributed, World, serve};
use bundlenet_problems::{Family, Generator};

/// Maxima of lines with intervals, further cuts, solutions and multiplicities. Costs differ by component.
struct Uneven {
    count: usize,
    /// Evaluations of each component. It remembers them unless it can be evaluated anywhere.
    visits: Vec<AtomicUsize>,
    parts: Parts,
    fault: Fault,
    rank: usize,
    /// Longest time of a component. It differs from call to call.
    longest: Duration,
    /// Time of a component on this rank. It differs from call to call, and from rank to rank.
    pace: Duration,
    /// Whether components have a value and a subgradient only.
    is_plain: bool,
}

/// The fault of one component at its third evaluation on this rank.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    Error,
    Panic,
    Exit,
}

const DIM: usize = 12;

/// A number from -1 to 1 that the arguments name.
fn number(component: usize, line: usize, place: usize) -> f64 {
    let mixed = (component * 7919 + line * 104_729 + place * 1_299_709 + 17).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 20) as f64 / (1_u64 << 43) as f64 - 1.0
}

impl Uneven {
    fn new(count: usize, parts: Parts, fault: Fault, rank: usize) -> Self {
        let visits = (0..count).map(|_| AtomicUsize::new(0)).collect();
        Self { count, visits, parts, fault, rank, longest: Duration::ZERO, pace: Duration::ZERO, is_plain: false }
    }

    /// The same with ranks that are fast in one call and slow in another one, so that they take components of each other.
    fn fickle(self, pace: Duration) -> Self {
        Self { pace, ..self }
    }

    fn plain(self) -> Self {
        Self { is_plain: true, ..self }
    }

    /// The same with components that take some time, so that they are dealt.
    fn dear(self, longest: Duration) -> Self {
        Self { longest, ..self }
    }

    fn slope(component: usize, line: usize) -> impl Iterator<Item = (u32, f64)> {
        // The last components keep the minimum in a box.
        let own =
            (0..3).map(move |place| ((component + 5 * place) as u32 % DIM as u32, number(component, line, place)));
        let sign = if line == 0 { 40.0 } else { -40.0 };
        let is_last = component < DIM && line < 2;
        own.filter(move |_| !is_last).chain(is_last.then_some((component as u32, sign)))
    }

    fn fail(&self, component: usize) -> Result<(), OracleError> {
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        if component != 7 || self.fault == Fault::None || CALLS.fetch_add(1, Ordering::Relaxed) < 2 {
            return Ok(());
        }
        match self.fault {
            Fault::Panic => panic!("component 7 on rank {}", self.rank),
            Fault::Exit => std::process::exit(3),
            _ => Err("no solution".into()),
        }
    }
}

impl Components for Uneven {
    fn dim(&self) -> usize {
        DIM
    }

    fn component_count(&self) -> usize {
        self.count
    }

    fn evaluate_component(&self, component: usize, point: &[f64], answer: &mut Answer) -> Result<(), OracleError> {
        self.fail(component)?;
        if component.is_multiple_of(8) {
            std::thread::sleep(Duration::from_micros(200));
        }
        let visits = self.visits[component].fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(self.longest.mul_f64(0.5 + 0.5 * number(component, visits, 8)));
        std::thread::sleep(self.pace.mul_f64(0.5 + 0.5 * number(self.rank, visits, 10)));
        let visits = if self.parts == Parts::Anywhere { 0 } else { visits };
        let height = |line: usize| {
            let at = Self::slope(component, line).map(|(at, entry)| entry * point[at as usize]);
            at.sum::<f64>() + number(component, line, 9)
        };
        let mut lines: Vec<(f64, usize)> = (0..4).map(|line| (height(line), line)).collect();
        lines.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        if self.is_plain {
            answer.push(lines[0].0, Self::slope(component, lines[0].1));
            return Ok(());
        }
        let width = answer.accuracy().min(0.1) * component as f64 / (self.count + visits) as f64;
        answer.push_within(lines[0].0, lines[0].0 + width, Self::slope(component, lines[0].1));
        answer.solution(number(component, lines[0].1, 9), [((4 * component + lines[0].1) as u32, 1.0)]);
        answer.push_more(lines[1].0, Self::slope(component, lines[1].1));
        answer.solution(number(component, lines[1].1, 9), [((4 * component + lines[1].1) as u32, 1.0)]);
        Ok(())
    }

    fn work(&self) -> Option<f64> {
        Some(1e6)
    }

    fn multiplicity(&self, component: usize) -> f64 {
        (component % 3 + 1) as f64
    }

    fn has_solutions(&self) -> bool {
        !self.is_plain
    }

    fn parts(&self) -> Parts {
        self.parts
    }

    fn memory(&self, component: usize) -> Vec<f64> {
        vec![self.visits[component].load(Ordering::Relaxed) as f64]
    }

    fn set_memory(&self, component: usize, memory: &[f64]) {
        self.visits[component].store(memory[0] as usize, Ordering::Relaxed);
    }
}

/// All numbers of a solution but times.
fn bits(solution: &Solution) -> String {
    let mut text = format!("{:?} {} {:?}\n", solution.status, solution.steps, solution.failure);
    let mut put = |number: f64| write!(text, "{:016x} ", number.to_bits());
    let trace = solution.trace.iter().flat_map(|row| [row.value, row.best]);
    let primal = solution.primal.iter().flat_map(|primal| primal.variables.iter().map(|(_, value)| *value));
    let bounds = [solution.value, solution.certificate.unwrap_or(-1.0), solution.estimate.unwrap_or(-1.0)];
    let all = solution.point.iter().copied().chain(trace).chain(primal).chain(bounds);
    all.for_each(|number| put(number).expect("a text takes letters"));
    text
}

/// Solves a sum over ranks, or on rank 0 alone.
fn solve(world: &World, oracle: &mut dyn SumOracle, method: Method, steps: usize, is_alone: bool) {
    let primal = method.has_primal();
    let mut settings = Settings { method, primal, tolerance: 1e-6, ..Settings::default() };
    settings.limits.steps = Some(steps);
    let solver = Solver::new(settings).expect("settings are valid");
    if world.rank() > 0 {
        if !is_alone {
            serve(world, oracle);
        }
        return;
    }
    let solution = if is_alone {
        solver.solve(oracle)
    } else {
        let distributed = Distributed::new(world, oracle);
        solver.solve(&mut if primal { distributed.with_solutions() } else { distributed })
    };
    match solution {
        Ok(solution) => println!("{}", bits(&solution)),
        Err(error) => println!("{error}"),
    }
}

fn method(name: &str) -> Method {
    Method::with_options(name, []).expect("a method of this name")
}

/// Runs of several methods on several sums.
fn solve_all(world: &World, is_alone: bool) {
    for name in ["auto", "bundle", "adam"] {
        for parts in [Parts::Anywhere, Parts::WithMemory, Parts::InOnePlace] {
            let mut oracle = Parallel::new(Uneven::new(40, parts, Fault::None, world.rank()));
            solve(world, &mut oracle, method(name), 60, is_alone);
        }
        let problem = Generator::new(Family::Uc, 2).instance(1).expect("an instance").problem;
        let mut dual = problem.dual();
        solve(world, dual.as_sum().expect("a sum"), method(name), 40, is_alone);
    }
    let options =
        [("cuts", "component"), ("evaluate", "laggards")].map(|(name, value)| (name.to_string(), value.into()));
    let some = Method::with_options("bundle", options).expect("options of the bundle method");
    let mut oracle = Parallel::new(Uneven::new(40, Parts::Anywhere, Fault::None, world.rank()));
    solve(world, &mut oracle, some, 60, is_alone);
    // Dear components.
    for parts in [Parts::Anywhere, Parts::WithMemory] {
        let dear = Uneven::new(17, parts, Fault::None, world.rank()).dear(Duration::from_millis(5));
        solve(world, &mut Parallel::new(dear), method("bundle"), 12, is_alone);
    }
    // Ranks whose speed changes.
    for is_plain in [true, false] {
        let fickle = Uneven::new(60, Parts::Anywhere, Fault::None, world.rank()).fickle(PACE);
        let mut oracle = Parallel::new(if is_plain { fickle.plain() } else { fickle });
        solve(world, &mut oracle, method("bundle"), 20, is_alone);
    }
    // All components in one call: rank 0 does it.
    let problem = Generator::new(Family::Ga10x100, 2).instance(1).expect("an instance").problem;
    solve(world, problem.dual().as_sum().expect("a sum"), method("auto"), 40, is_alone);
}

/// Times of calls with dear components, on one rank and on all.
fn balance(world: &World) {
    let oracle = || Parallel::new(Uneven::new(50, Parts::WithMemory, Fault::None, world.rank()).dear(LONGEST));
    if world.rank() > 0 {
        return serve(world, &mut oracle());
    }
    let seconds = |oracle: &mut dyn SumOracle| {
        let mut minorants = Minorants::new();
        let mut call = || {
            minorants.clear();
            let begin = Instant::now();
            oracle.evaluate_components(&[0.0; DIM], &mut minorants).expect("components that do not fail");
            begin.elapsed().as_secs_f64()
        };
        // The first call measures times.
        call();
        (0..BALANCED).map(|_| call()).sum::<f64>()
    };
    let alone = seconds(&mut oracle());
    let together = seconds(&mut Distributed::new(world, &mut oracle()));
    println!("{BALANCED} calls: {alone:.2} s on one rank, {together:.2} s on all, factor {:.2}", alone / together);
}

/// Longest time of a component, and number of calls, of [`balance`].
const LONGEST: Duration = Duration::from_millis(20);
const BALANCED: usize = 10;

/// Longest time of a component on a rank whose speed changes. It is below that of components that are dealt.
const PACE: Duration = Duration::from_micros(400);

/// One call. All ranks but the first wait in each component, so rank 0 has to take components of others.
fn late(world: &World) {
    let (rank, count) = (world.rank(), 40);
    let pace = if rank == 0 { Duration::ZERO } else { Duration::from_millis(200) };
    let mut oracle = Parallel::new(Uneven::new(count, Parts::Anywhere, Fault::None, rank).fickle(pace).plain());
    if rank > 0 {
        return serve(world, &mut oracle);
    }
    let (mut alone, mut together) = (Minorants::new(), Minorants::new());
    oracle.evaluate_components(&[0.5; DIM], &mut alone).expect("components that do not fail");
    let before = evaluations(&oracle);
    Distributed::new(world, &mut oracle)
        .evaluate_components(&[0.5; DIM], &mut together)
        .expect("components that do not fail");
    assert_eq!(alone, together);
    let share = count / world.size();
    println!("rank 0 took components of others: {}", evaluations(&oracle) - before > share);
}

fn evaluations(oracle: &Parallel<Uneven>) -> usize {
    oracle.components().visits.iter().map(|visits| visits.load(Ordering::Relaxed)).sum()
}

/// Components that sleep for 200 microseconds, or twice as long on the rank that is slow in this call.
struct Changing {
    rank: usize,
    ranks: usize,
}

impl Components for Changing {
    fn dim(&self) -> usize {
        DIM
    }

    fn component_count(&self) -> usize {
        250
    }

    /// The first entry of the point is the number of the call. No rank is slow in a negative one.
    fn evaluate_component(&self, _component: usize, point: &[f64], answer: &mut Answer) -> Result<(), OracleError> {
        let slow = ((0.5 + 0.5 * number(point[0].abs() as usize, 1, 11)) * self.ranks as f64) as usize;
        let is_slow = point[0] >= 0.0 && slow == self.rank;
        std::thread::sleep(Duration::from_micros(if is_slow { 400 } else { 200 }));
        answer.push(1.0, [(0, 1.0)]);
        Ok(())
    }
}

/// Median time of calls in which one rank, another one each time, is slow.
fn changing(world: &World) {
    let (rank, ranks) = (world.rank(), world.size());
    let mut oracle = Parallel::new(Changing { rank, ranks });
    if rank > 0 {
        return serve(world, &mut oracle);
    }
    let median = |oracle: &mut dyn SumOracle, calls: &mut dyn Iterator<Item = i32>| {
        let mut minorants = Minorants::new();
        let time = |call: i32| {
            minorants.clear();
            let begin = Instant::now();
            oracle.evaluate_components(&[f64::from(call); DIM], &mut minorants).expect("components that do not fail");
            begin.elapsed().as_secs_f64()
        };
        let mut times: Vec<f64> = calls.map(time).collect();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let alone = median(&mut oracle, &mut (-9..0));
    let together = median(&mut Distributed::new(world, &mut oracle), &mut (0..60));
    let (factor, best) = (alone / together, ranks as f64 - 0.5);
    println!("{:.1} ms on one rank, {:.1} ms on all, factor {factor:.2} of {best}", 1e3 * alone, 1e3 * together);
}

/// Jobs that fail or not, in turn.
fn jobs(world: &Arc<World>) {
    let workers = Workers::of_team(Some(Arc::clone(world) as Arc<dyn Team>));
    for count in [0, 1, 3, 50] {
        let mut seen = 0;
        let job = |index: usize| {
            std::thread::sleep(Duration::from_micros((index % 5 * 300) as u64));
            Ok::<Vec<f64>, Error>(vec![(index as f64).sqrt(); index])
        };
        let results = workers.map(count, job, |_, _| {
            seen += 1;
            Ok(())
        });
        assert_eq!(seen, if world.rank() == 0 { count } else { 0 });
        let sum: f64 = results.expect("jobs that succeed").iter().flatten().sum();
        let told = workers.tell(|| Ok::<f64, Error>(sum)).expect("a number");
        assert_eq!(told.to_bits(), sum.to_bits());
        if world.rank() == 0 {
            println!("{count} jobs, sum {:016x}", sum.to_bits());
        }
    }
    let failed = |message: String| Error::from(Failed { member: world_name(world), message });
    let job = |index: usize| if index == 5 { Err(failed(format!("job {index}"))) } else { Ok(index) };
    let error = workers.map(20, job, |_, _| Ok(())).expect_err("a failure").to_string();
    assert!(error.ends_with("job 5"), "{error}");
    let job = |index: usize| Ok::<usize, Error>(index);
    let done = |index: usize, _: &usize| if index == 3 { Err(failed("full disk".to_string())) } else { Ok(()) };
    let error = workers.map(20, job, done).expect_err("a failure").to_string();
    assert!(error.ends_with("full disk"), "{error}");
    let told = workers.tell(|| Err::<usize, Error>(failed("no file".to_string())));
    assert!(told.expect_err("a failure").to_string().ends_with("no file"));
}

fn world_name(world: &World) -> String {
    format!("rank {}", world.rank())
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let world = Arc::new(World::start().expect("MPI starts once"));
    assert!(world.neighbours() <= world.size());
    let (rank, task) = (world.rank(), arguments.get(1).map_or("", String::as_str));
    let fault = |fault| {
        // The first shares are in turn, and these components stay: rank 3 of 4 has component 7.
        let mut oracle = Parallel::new(Uneven::new(40, Parts::InOnePlace, fault, rank));
        solve(&world, &mut oracle, method("bundle"), 60, false);
    };
    match task {
        "solve" => solve_all(&world, false),
        "alone" => solve_all(&world, true),
        "jobs" => jobs(&world),
        "balance" => balance(&world),
        "changing" => changing(&world),
        "late" => late(&world),
        "error" => fault(Fault::Error),
        "dear-error" => {
            let oracle = Uneven::new(40, Parts::WithMemory, Fault::Error, rank).dear(Duration::from_millis(4));
            solve(&world, &mut Parallel::new(oracle), method("bundle"), 60, false);
        }
        "fickle-error" => {
            let oracle = Uneven::new(40, Parts::Anywhere, Fault::Error, rank).fickle(PACE).plain();
            solve(&world, &mut Parallel::new(oracle), method("bundle"), 60, false);
        }
        "panic" => fault(Fault::Panic),
        "exit" => fault(Fault::Exit),
        "wait" => {
            // A test kills a rank of this job.
            println!("{}", std::process::id());
            let mut oracle = Parallel::new(Uneven::new(40, Parts::Anywhere, Fault::None, rank));
            solve(&world, &mut oracle, method("adam"), usize::MAX, false);
        }
        _ => panic!("expected a task, found {task:?}"),
    }
}
