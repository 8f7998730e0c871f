//! Sums whose components are evaluated on several threads.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::{Domain, Lines, Minorants, Oracle, OracleError, PrimalOracle, Sense, Solutions, SumOracle};

/// Least work of a task in nanoseconds. Handing a task over to another thread costs about a microsecond.
const TASK_WORK: f64 = 20_000.0;

/// Greatest number of tasks of an evaluation. Each has memory of its own.
const MOST_TASKS: usize = 1024;

/// A sum `linear'x + sum_a f_a(x)` whose components `f_a` can be evaluated at the same time.
///
/// [`Parallel`] makes an oracle of it. A user writes the evaluation of one component, with `&self`; threads, order and
/// sums are the wrapper's task. All methods but the first three have defaults. They mean the same as those of
/// [`Oracle`] and [`SumOracle`].
///
/// ```
/// use bundlenet::{Answer, Components, OracleError, Parallel, Settings, Solver};
///
/// /// sum_a |x_a - target_a|
/// struct Distance {
///     target: Vec<f64>,
/// }
///
/// impl Components for Distance {
///     fn dim(&self) -> usize {
///         self.target.len()
///     }
///
///     fn component_count(&self) -> usize {
///         self.target.len()
///     }
///
///     fn evaluate_component(&self, component: usize, x: &[f64], answer: &mut Answer) -> Result<(), OracleError> {
///         let difference = x[component] - self.target[component];
///         answer.push(difference.abs(), [(component as u32, difference.signum())]);
///         Ok(())
///     }
/// }
///
/// let mut oracle = Parallel::new(Distance { target: vec![3.0, -1.0, 7.0] });
/// let solution = Solver::new(Settings::default())?.solve(&mut oracle)?;
/// assert!(solution.value < 1e-6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Components: Sync {
    /// Number of variables.
    fn dim(&self) -> usize;

    /// Number of components.
    fn component_count(&self) -> usize;

    /// Evaluates one component at `point` and pushes its minorant to `answer`, and its solution if
    /// [`Components::has_solutions`]. The result depends on the component and the point alone. Several threads call
    /// this at the same time, for different components, in any order.
    ///
    /// # Errors
    /// Any error. If several components fail, the error of the first one in order is reported.
    fn evaluate_component(&self, component: usize, point: &[f64], answer: &mut Answer) -> Result<(), OracleError>;

    /// Coefficients of the linear part; `dim()` numbers, or `None` if there is no linear part.
    fn linear(&self) -> Option<&[f64]> {
        None
    }

    /// As [`Oracle::domain`].
    fn domain(&self) -> Domain {
        Domain::Free
    }

    /// As [`Oracle::sense`].
    fn sense(&self) -> Sense {
        Sense::Minimize
    }

    /// As [`Oracle::minimizer_box`].
    fn minimizer_box(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        None
    }

    /// As [`Oracle::work`], for all components together. Cheap components share a task. Without a statement every
    /// component is a task of its own.
    fn work(&self) -> Option<f64> {
        None
    }

    /// Whether every component also pushes a solution: then the oracle is a [`PrimalOracle`].
    fn has_solutions(&self) -> bool {
        false
    }

    /// As [`SumOracle::fingerprint`].
    fn fingerprint(&self, component: usize) -> Option<u64> {
        let _ = component;
        None
    }

    /// As [`SumOracle::reprice`].
    fn reprice(&self, component: usize, coordinates: &[u32], entries: &[f64]) -> Option<f64> {
        let _ = (component, coordinates, entries);
        None
    }

    /// As [`SumOracle::prove_until`].
    fn prove(&self, aggregate: &Lines, is_over: &dyn Fn() -> bool) -> Option<f64> {
        let _ = (aggregate, is_over);
        None
    }
}

/// Result of [`Components::evaluate_component`].
#[derive(Debug, Default)]
pub struct Answer {
    // Of all components of a task. Each component appends its own.
    minorants: Minorants,
    solutions: Solutions,
}

impl Answer {
    /// Sets the component's value at the point and the nonzero entries of its subgradient there. Entries of the same
    /// coordinate are added up. Exactly one call for each evaluation.
    pub fn push(&mut self, value: f64, subgradient: impl IntoIterator<Item = (u32, f64)>) {
        self.minorants.push(value, subgradient);
    }

    /// Sets the solution behind the minorant: its cost, and its variables that are not 0. See
    /// [`PrimalOracle::write_solutions`]. Needed if [`Components::has_solutions`].
    pub fn solution(&mut self, cost: f64, variables: impl IntoIterator<Item = (u32, f64)>) {
        self.solutions.push(cost, variables);
    }

    fn clear(&mut self) {
        self.minorants.clear();
        self.solutions.clear();
    }

    /// Numbers of minorants, coordinates and solutions.
    fn lengths(&self) -> [usize; 3] {
        [self.minorants.len(), self.minorants.rows().coordinates().len(), self.solutions.len()]
    }

    /// Checks what a component appended to an answer that had these lengths.
    fn check<C: Components>(&self, components: &C, component: usize, before: [usize; 3]) -> Result<(), OracleError> {
        let after = self.lengths();
        let (minorants, solutions) = (after[0] - before[0], after[2] - before[2]);
        if minorants != 1 {
            return Err(format!("component {component}: expected 1 minorant, found {minorants}").into());
        }
        if components.has_solutions() && solutions != 1 {
            return Err(format!("component {component}: expected 1 solution, found {solutions}").into());
        }
        let (dim, coordinates) = (components.dim(), &self.minorants.rows().coordinates()[before[1]..]);
        match coordinates.iter().find(|&&coordinate| coordinate as usize >= dim) {
            Some(found) => {
                Err(format!("component {component}: expected coordinates below {dim}, found {found}").into())
            }
            None => Ok(()),
        }
    }
}

/// [`Components`] as an oracle: a [`SumOracle`], and a [`PrimalOracle`] if they have solutions.
///
/// Components are evaluated on the threads of the current rayon pool. The results are the same, bit by bit, for any
/// number of threads: minorants are collected and added up in the order of the components. The memory is reused from
/// call to call.
#[derive(Debug)]
pub struct Parallel<C> {
    components: C,
    /// The linear part of components that have none.
    zeros: Vec<f64>,
    tasks: Vec<Task>,
}

/// Consecutive components and their results.
#[derive(Debug, Default)]
struct Task {
    answer: Answer,
    failure: Option<OracleError>,
}

impl Task {
    /// Evaluates components in order up to the first that fails. `first_failed` is the least component of any task that
    /// failed so far: later ones need no evaluation, earlier ones do, as they may fail, too.
    fn run<C: Components>(&mut self, components: &C, range: Range<usize>, point: &[f64], first_failed: &AtomicUsize) {
        self.answer.clear();
        self.failure = None;
        for component in range {
            if component > first_failed.load(Ordering::Relaxed) {
                return;
            }
            let before = self.answer.lengths();
            let result = components
                .evaluate_component(component, point, &mut self.answer)
                .and_then(|()| self.answer.check(components, component, before));
            if let Err(error) = result {
                first_failed.fetch_min(component, Ordering::Relaxed);
                self.failure = Some(error);
                return;
            }
        }
    }
}

/// Number of components in a task.
fn components_per_task(count: usize, work: Option<f64>) -> usize {
    let enough = work.map_or(1.0, |work| TASK_WORK * count as f64 / work);
    // A conversion of NaN gives 0, one of infinity the largest number.
    (enough as usize).clamp(1, count.max(1)).max(count.div_ceil(MOST_TASKS))
}

impl<C: Components> Parallel<C> {
    /// The sum of components as an oracle.
    pub fn new(components: C) -> Self {
        Self { zeros: vec![0.0; components.dim()], tasks: vec![], components }
    }

    /// The components.
    pub fn components(&self) -> &C {
        &self.components
    }

    /// The components, to change their data between two runs. Their dimension stays the same.
    pub fn components_mut(&mut self) -> &mut C {
        &mut self.components
    }

    fn run(&mut self, point: &[f64]) -> Result<(), OracleError> {
        let count = self.components.component_count();
        let per_task = components_per_task(count, self.components.work());
        self.tasks.resize_with(count.div_ceil(per_task), Task::default);
        let (components, first_failed) = (&self.components, AtomicUsize::new(usize::MAX));
        let run = |(index, task): (usize, &mut Task)| {
            let first = index * per_task;
            task.run(components, first..(first + per_task).min(count), point, &first_failed);
        };
        if self.tasks.len() > 1 && rayon::current_num_threads() > 1 {
            self.tasks.par_iter_mut().enumerate().with_max_len(1).for_each(run);
        } else {
            self.tasks.iter_mut().enumerate().for_each(run);
        }
        self.tasks.iter_mut().find_map(|task| task.failure.take()).map_or(Ok(()), Err)
    }

    fn minorants(&self) -> impl Iterator<Item = &Minorants> {
        self.tasks.iter().map(|task| &task.answer.minorants)
    }
}

impl<C: Components> Oracle for Parallel<C> {
    fn dim(&self) -> usize {
        self.components.dim()
    }

    fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        self.run(point)?;
        let linear = self.linear();
        subgradient.copy_from_slice(linear);
        self.minorants().for_each(|minorants| minorants.rows().add_to(subgradient));
        let at_point: f64 = linear.iter().zip(point).map(|(entry, at)| entry * at).sum();
        Ok(at_point + self.minorants().flat_map(Minorants::values).sum::<f64>())
    }

    fn domain(&self) -> Domain {
        self.components.domain()
    }

    fn sense(&self) -> Sense {
        self.components.sense()
    }

    fn minimizer_box(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        self.components.minimizer_box()
    }

    fn work(&self) -> Option<f64> {
        self.components.work()
    }

    fn as_sum(&mut self) -> Option<&mut dyn SumOracle> {
        Some(self)
    }

    fn as_primal(&mut self) -> Option<&mut dyn PrimalOracle> {
        if self.components.has_solutions() { Some(self) } else { None }
    }
}

impl<C: Components> SumOracle for Parallel<C> {
    fn component_count(&self) -> usize {
        self.components.component_count()
    }

    fn linear(&self) -> &[f64] {
        self.components.linear().unwrap_or(&self.zeros)
    }

    fn evaluate_components(&mut self, point: &[f64], minorants: &mut Minorants) -> Result<(), OracleError> {
        self.run(point)?;
        self.minorants().for_each(|part| minorants.append(part));
        Ok(())
    }

    fn fingerprint(&self, component: usize) -> Option<u64> {
        self.components.fingerprint(component)
    }

    fn reprice(&self, component: usize, coordinates: &[u32], entries: &[f64]) -> Option<f64> {
        self.components.reprice(component, coordinates, entries)
    }

    fn prove(&mut self, aggregate: &Lines) -> Option<f64> {
        self.components.prove(aggregate, &|| false)
    }

    fn prove_until(&mut self, aggregate: &Lines, is_over: &dyn Fn() -> bool) -> Option<f64> {
        self.components.prove(aggregate, is_over)
    }
}

impl<C: Components> PrimalOracle for Parallel<C> {
    fn write_solutions(&mut self, solutions: &mut Solutions) {
        self.tasks.iter().for_each(|task| solutions.append(&task.answer.solutions));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::time::{Duration, Instant};

    use super::*;

    /// Components `|x_c| / (component + 1)`, with `c` the component modulo the dimension, and a closure that each calls.
    struct Calls<F> {
        count: usize,
        work: Option<f64>,
        call: F,
    }

    impl<F: Fn(usize) -> Result<(), OracleError> + Sync> Components for Calls<F> {
        fn dim(&self) -> usize {
            7
        }

        fn component_count(&self) -> usize {
            self.count
        }

        fn evaluate_component(&self, component: usize, point: &[f64], answer: &mut Answer) -> Result<(), OracleError> {
            (self.call)(component)?;
            let (coordinate, factor) = (component % 7, 1.0 / (component + 1) as f64);
            let at = point[coordinate];
            answer.push(factor * at.abs(), [(coordinate as u32, factor * at.signum())]);
            answer.solution(component as f64, [(component as u32, at)]);
            Ok(())
        }

        fn linear(&self) -> Option<&[f64]> {
            Some(&[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])
        }

        fn work(&self) -> Option<f64> {
            self.work
        }

        fn has_solutions(&self) -> bool {
            true
        }
    }

    const POINT: [f64; 7] = [0.1, -0.7, 1e3, 1e-3, 0.3, -11.0, 1.0 / 3.0];

    fn on_threads<R: Send>(threads: usize, run: impl FnOnce() -> R + Send) -> R {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(run)
    }

    /// Waits until a condition holds, up to 20 seconds.
    fn wait(is_so: impl Fn() -> bool) -> bool {
        let begin = Instant::now();
        while !is_so() && begin.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_micros(100));
        }
        is_so()
    }

    #[test]
    fn results_do_not_depend_on_threads() {
        // 1 task, some, and one for each component.
        for work in [Some(1.0), Some(1e6), None] {
            let results = [1, 2, 3, 8].map(|threads| {
                on_threads(threads, || {
                    let mut oracle = Parallel::new(Calls { count: 500, work, call: |_| Ok(()) });
                    let (mut subgradient, mut minorants, mut solutions) =
                        ([0.0; 7], Minorants::new(), Solutions::new());
                    let value = oracle.evaluate(&POINT, &mut subgradient).unwrap();
                    oracle.evaluate_components(&POINT, &mut minorants).unwrap();
                    oracle.write_solutions(&mut solutions);
                    (value.to_bits(), subgradient.map(f64::to_bits), minorants, solutions)
                })
            });
            assert_eq!((results[0].2.len(), results[0].3.len()), (500, 500));
            assert_eq!(results[0].3.costs()[123], 123.0);
            assert!(results.iter().all(|result| *result == results[0]));
        }
    }

    #[test]
    fn components_run_at_the_same_time() {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let call = |_| {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            wait(|| most.load(Ordering::SeqCst) == 4);
            now.fetch_sub(1, Ordering::SeqCst);
            Ok(())
        };
        let mut oracle = Parallel::new(Calls { count: 16, work: None, call });
        on_threads(4, || oracle.evaluate(&POINT, &mut [0.0; 7])).unwrap();
        assert_eq!(most.into_inner(), 4);
    }

    /// The first component ends after all others: no other one waits behind it.
    #[test]
    fn a_slow_component_delays_no_other() {
        let (done, was_last) = (AtomicUsize::new(0), AtomicBool::new(false));
        let call = |component| {
            if component == 0 {
                was_last.store(wait(|| done.load(Ordering::SeqCst) == 15), Ordering::SeqCst);
            }
            done.fetch_add(1, Ordering::SeqCst);
            Ok(())
        };
        let mut oracle = Parallel::new(Calls { count: 16, work: Some(1e9), call });
        on_threads(2, || oracle.evaluate(&POINT, &mut [0.0; 7])).unwrap();
        assert!(was_last.into_inner());
    }

    #[test]
    fn the_first_error_is_reported() {
        for threads in [1, 4] {
            for work in [None, Some(1e6)] {
                let is_broken = AtomicBool::new(true);
                let call = |component| match component {
                    33 | 34 | 90 if is_broken.load(Ordering::Relaxed) => Err(format!("no {component}").into()),
                    _ => Ok(()),
                };
                let mut oracle = Parallel::new(Calls { count: 100, work, call });
                let mut evaluate = || on_threads(threads, || oracle.evaluate(&POINT, &mut [0.0; 7]));
                assert_eq!(evaluate().unwrap_err().to_string(), "no 33");
                is_broken.store(false, Ordering::Relaxed);
                assert!(evaluate().is_ok());
            }
        }
    }

    #[test]
    fn wrong_answers_are_named() {
        struct Wrong(fn(&mut Answer));
        impl Components for Wrong {
            fn dim(&self) -> usize {
                2
            }

            fn component_count(&self) -> usize {
                1
            }

            fn has_solutions(&self) -> bool {
                true
            }

            fn evaluate_component(&self, _: usize, _: &[f64], answer: &mut Answer) -> Result<(), OracleError> {
                (self.0)(answer);
                Ok(())
            }
        }
        let message = |wrong| {
            let mut oracle = Parallel::new(Wrong(wrong));
            oracle.evaluate(&[0.0; 2], &mut [0.0; 2]).unwrap_err().to_string()
        };
        assert_eq!(message(|_| ()), "component 0: expected 1 minorant, found 0");
        assert_eq!(message(|answer| answer.push(1.0, [])), "component 0: expected 1 solution, found 0");
        let outside = message(|answer| {
            answer.push(1.0, [(0, 1.0), (2, 1.0)]);
            answer.solution(0.0, []);
        });
        assert_eq!(outside, "component 0: expected coordinates below 2, found 2");
    }

    #[test]
    fn cheap_components_share_a_task() {
        assert_eq!(components_per_task(16, None), 1);
        assert_eq!(components_per_task(16, Some(16e6)), 1);
        assert_eq!(components_per_task(1000, Some(1e6)), 20);
        assert_eq!(components_per_task(1000, Some(0.0)), 1000);
        assert_eq!(components_per_task(1000, Some(f64::NAN)), 1);
        assert_eq!(components_per_task(0, None), 1);
        assert_eq!(components_per_task(10_000, None), 10);
    }
}
