//! Sums whose components are evaluated on several threads.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::{
    Domain, Interval, Lines, Minorants, Oracle, OracleError, Parts, Primal, PrimalOracle, Sense, Solutions, SumOracle,
};

/// Least work of a task in nanoseconds. Handing a task over to another thread costs about a microsecond.
const TASK_WORK: f64 = 20_000.0;

/// Greatest number of tasks of an evaluation. Each has memory of its own.
const MOST_TASKS: usize = 1024;

/// A sum `linear'x + sum_a m_a f_a(x)` whose components `f_a` can be evaluated at the same time.
///
/// [`Parallel`] makes an oracle of it. A user writes the evaluation of one component, with `&self`; threads, order and
/// sums are the wrapper's task. All methods but the first three have defaults. They mean the same as those of
/// [`Oracle`], [`SumOracle`] and [`PrimalOracle`].
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
    /// [`Components::has_solutions`]. The result depends on the component, the point and [`Answer::accuracy`] alone.
    /// Several threads call this at the same time, for different components, in any order.
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

    /// As [`Oracle::start`].
    fn start(&self) -> Option<Vec<f64>> {
        None
    }

    /// As [`Oracle::work`], for all components together. Cheap components share a task. Without a statement every
    /// component is a task of its own.
    fn work(&self) -> Option<f64> {
        None
    }

    /// As [`Oracle::scales`].
    fn scales(&self) -> Option<Vec<f64>> {
        None
    }

    /// As [`SumOracle::multiplicity`]. [`Components::evaluate_component`] answers for one of the equal components.
    fn multiplicity(&self, component: usize) -> f64 {
        let _ = component;
        1.0
    }

    /// As [`SumOracle::parts`]. A component that remembers its earlier evaluations is [`Parts::WithMemory`] or
    /// [`Parts::InOnePlace`]: its result may then depend on the points of those evaluations, too.
    fn parts(&self) -> Parts {
        Parts::Anywhere
    }

    /// As [`SumOracle::memory`].
    fn memory(&self, component: usize) -> Vec<f64> {
        let _ = component;
        vec![]
    }

    /// As [`SumOracle::set_memory`].
    fn set_memory(&self, component: usize, memory: &[f64]) {
        let _ = (component, memory);
    }

    /// Whether every component also pushes a solution: then the oracle is a [`PrimalOracle`].
    fn has_solutions(&self) -> bool {
        false
    }

    /// As [`PrimalOracle::line_of`].
    fn line_of(&self, component: usize, solution: &mut Primal) -> Option<(f64, Vec<(u32, f64)>)> {
        let _ = (component, solution);
        None
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
    /// Solutions of further cuts.
    more_solutions: Solutions,
    accuracy: Option<f64>,
    /// Numbers before the present component.
    before: Lengths,
    /// Whether the last cut has a solution.
    is_solved: bool,
    mistake: Option<&'static str>,
}

/// Lengths of the lists of an [`Answer`].
#[derive(Clone, Copy, Debug, Default)]
struct Lengths {
    minorants: usize,
    further_cuts: usize,
    coordinates: [usize; 2],
    solutions: usize,
}

impl Answer {
    /// Sets the component's value at the point and the nonzero entries of its subgradient there. Entries of the same
    /// coordinate are added up. Each evaluation calls this once, or [`Answer::push_within`].
    pub fn push(&mut self, value: f64, subgradient: impl IntoIterator<Item = (u32, f64)>) {
        self.minorants.push(value, subgradient);
    }

    /// As [`Answer::push`], for a value that is known as an [`Interval`]: `cut` is the value of the minorant at the
    /// point, `bound` the other end.
    pub fn push_within(&mut self, cut: f64, bound: f64, subgradient: impl IntoIterator<Item = (u32, f64)>) {
        self.minorants.push_within(cut, bound, subgradient);
    }

    /// Adds a further cut after [`Answer::push`] or [`Answer::push_within`]: its value at the point, and its slope.
    pub fn push_more(&mut self, value: f64, subgradient: impl IntoIterator<Item = (u32, f64)>) {
        if self.minorants.len() == self.before.minorants {
            self.mistake = Some("expected a minorant before a further cut");
            return;
        }
        self.is_solved = false;
        self.minorants.push_more(value, subgradient);
    }

    /// Sets the solution behind the last cut: its cost, and its variables that are not 0. See
    /// [`PrimalOracle::write_solutions`]. If [`Components::has_solutions`], every minorant needs one. A run that keeps
    /// solutions uses the further cuts of an evaluation if each of them has one, else none of them.
    pub fn solution(&mut self, cost: f64, variables: impl IntoIterator<Item = (u32, f64)>) {
        if self.is_solved {
            self.mistake = Some("expected 1 solution of a cut, found 2");
        }
        self.is_solved = true;
        let is_of_first = self.minorants.owners().len() == self.before.further_cuts;
        let solutions = if is_of_first { &mut self.solutions } else { &mut self.more_solutions };
        solutions.push(cost, variables);
    }

    /// Width that the interval of the component should not exceed: the component's share of the wish of
    /// [`Oracle::wish`]. It is infinite as long as there was no wish. A component may ignore it.
    #[must_use]
    pub fn accuracy(&self) -> f64 {
        self.accuracy.unwrap_or(f64::INFINITY)
    }

    fn clear(&mut self) {
        self.minorants.clear();
        self.solutions.clear();
        self.more_solutions.clear();
    }

    /// Prepares for the next component.
    fn begin(&mut self) {
        self.before = self.lengths();
        (self.is_solved, self.mistake) = (false, None);
    }

    fn lengths(&self) -> Lengths {
        Lengths {
            minorants: self.minorants.len(),
            further_cuts: self.minorants.owners().len(),
            coordinates: self.minorants.all_rows().map(|rows| rows.coordinates().len()),
            solutions: self.solutions.len(),
        }
    }

    /// Checks what the present component appended.
    fn check<C: Components>(&self, components: &C, component: usize) -> Result<(), OracleError> {
        let (before, after) = (self.before, self.lengths());
        let (minorants, solutions) = (after.minorants - before.minorants, after.solutions - before.solutions);
        if let Some(mistake) = self.mistake {
            return Err(format!("component {component}: {mistake}").into());
        }
        if minorants != 1 {
            return Err(format!("component {component}: expected 1 minorant, found {minorants}").into());
        }
        if components.has_solutions() && solutions != 1 {
            return Err(format!("component {component}: expected 1 solution, found {solutions}").into());
        }
        let rows = self.minorants.all_rows().into_iter().zip(before.coordinates);
        let mut coordinates = rows.flat_map(|(rows, first)| &rows.coordinates()[first..]);
        let dim = components.dim();
        match coordinates.find(|&&coordinate| coordinate as usize >= dim) {
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
    /// Wished width of the interval of each component, if there was a wish.
    accuracy: Option<f64>,
    /// Whether the last evaluation was one of the whole function. It has no further cuts.
    is_whole: bool,
}

/// Consecutive components and their results.
#[derive(Debug, Default)]
struct Task {
    answer: Answer,
    failure: Option<OracleError>,
}

/// An evaluation: the components to evaluate, and the point.
struct Visit<'a, C> {
    components: &'a C,
    /// The components; all if `None`.
    which: Option<&'a [usize]>,
    point: &'a [f64],
    accuracy: Option<f64>,
    /// Least place of a component that has failed so far. Later ones need no evaluation, earlier ones do: they may fail,
    /// too.
    first_failed: AtomicUsize,
}

impl Task {
    fn clear(&mut self) {
        self.answer.clear();
        self.failure = None;
    }

    /// Evaluates the components at these places, in order, up to the first that fails.
    fn run<C: Components>(&mut self, visit: &Visit<'_, C>, places: Range<usize>) {
        self.clear();
        self.answer.accuracy = visit.accuracy;
        for place in places {
            if place > visit.first_failed.load(Ordering::Relaxed) {
                return;
            }
            let component = visit.which.map_or(place, |which| which[place]);
            self.answer.begin();
            let result = visit
                .components
                .evaluate_component(component, visit.point, &mut self.answer)
                .and_then(|()| self.answer.check(visit.components, component));
            if let Err(error) = result {
                visit.first_failed.fetch_min(place, Ordering::Relaxed);
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
        Self { zeros: vec![0.0; components.dim()], tasks: vec![], accuracy: None, is_whole: false, components }
    }

    /// The components.
    pub fn components(&self) -> &C {
        &self.components
    }

    /// The components, to change their data between two runs. Their dimension stays the same.
    pub fn components_mut(&mut self) -> &mut C {
        &mut self.components
    }

    /// Evaluates all components, or the given ones.
    fn run(&mut self, which: Option<&[usize]>, point: &[f64]) -> Result<(), OracleError> {
        let all = self.components.component_count();
        let count = which.map_or(all, <[usize]>::len);
        let per_task = components_per_task(all, self.components.work());
        self.is_whole = false;
        let needed = count.div_ceil(per_task);
        // Tasks that are not needed keep their memory: the next call may need them.
        self.tasks.resize_with(needed.max(self.tasks.len()), Task::default);
        self.tasks.iter_mut().skip(needed).for_each(Task::clear);
        let tasks = &mut self.tasks[..needed];
        let (components, accuracy, first_failed) = (&self.components, self.accuracy, AtomicUsize::new(usize::MAX));
        let visit = Visit { components, which, point, accuracy, first_failed };
        let run = |(index, task): (usize, &mut Task)| {
            let first = index * per_task;
            task.run(&visit, first..(first + per_task).min(count));
        };
        if needed > 1 && rayon::current_num_threads() > 1 {
            tasks.par_iter_mut().enumerate().with_max_len(1).for_each(run);
        } else {
            tasks.iter_mut().enumerate().for_each(run);
        }
        self.tasks.iter_mut().find_map(|task| task.failure.take()).map_or(Ok(()), Err)
    }

    fn minorants(&self) -> impl Iterator<Item = &Minorants> {
        self.tasks.iter().map(|task| &task.answer.minorants)
    }

    /// Multiplies the minorants of all components by their multiplicities.
    fn multiply(&mut self) {
        let components = &self.components;
        if (0..components.component_count()).all(|component| components.multiplicity(component) == 1.0) {
            return;
        }
        let mut first = 0;
        for Task { answer, .. } in &mut self.tasks {
            answer.minorants.scale_each(|index| components.multiplicity(first + index));
            first += answer.minorants.len();
        }
    }
}

impl<C: Components> Oracle for Parallel<C> {
    fn dim(&self) -> usize {
        self.components.dim()
    }

    /// If values are intervals: the bound.
    fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        self.evaluate_within(point, subgradient).map(|interval| interval.bound)
    }

    fn evaluate_within(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<Interval, OracleError> {
        self.run(None, point)?;
        self.is_whole = true;
        self.multiply();
        let linear = self.linear();
        subgradient.copy_from_slice(linear);
        self.minorants().for_each(|minorants| minorants.rows().add_to(subgradient));
        let at_point: f64 = linear.iter().zip(point).map(|(entry, at)| entry * at).sum();
        Ok(Interval {
            cut: at_point + self.minorants().flat_map(Minorants::values).sum::<f64>(),
            bound: at_point + self.minorants().flat_map(Minorants::bounds).sum::<f64>(),
        })
    }

    /// Every component gets the same share. One of several equal components counts as often as they do.
    fn wish(&mut self, accuracy: f64) {
        let components = &self.components;
        let count: f64 = (0..components.component_count()).map(|component| components.multiplicity(component)).sum();
        self.accuracy = Some(accuracy / count);
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

    fn start(&self) -> Option<Vec<f64>> {
        self.components.start()
    }

    fn work(&self) -> Option<f64> {
        self.components.work()
    }

    fn scales(&self) -> Option<Vec<f64>> {
        self.components.scales()
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
        self.run(None, point)?;
        self.minorants().for_each(|part| minorants.append(part));
        Ok(())
    }

    fn evaluate_some(
        &mut self,
        components: &[usize],
        point: &[f64],
        minorants: &mut Minorants,
    ) -> Result<(), OracleError> {
        self.run(Some(components), point)?;
        self.minorants().for_each(|part| minorants.append(part));
        Ok(())
    }

    fn parts(&self) -> Parts {
        self.components.parts()
    }

    fn memory(&self, component: usize) -> Vec<f64> {
        self.components.memory(component)
    }

    fn set_memory(&mut self, component: usize, memory: &[f64]) {
        self.components.set_memory(component, memory);
    }

    fn multiplicity(&self, component: usize) -> f64 {
        self.components.multiplicity(component)
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
        let answers = || self.tasks.iter().map(|task| &task.answer);
        answers().for_each(|answer| solutions.append(&answer.solutions));
        let are_solved = |answer: &Answer| answer.more_solutions.len() == answer.minorants.owners().len();
        if !self.is_whole && answers().all(are_solved) {
            answers().for_each(|answer| solutions.append(&answer.more_solutions));
        }
    }

    fn line_of(&mut self, component: usize, solution: &mut Primal) -> Option<(f64, Vec<(u32, f64)>)> {
        self.components.line_of(component, solution)
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
        let further = |answer: &mut Answer| answer.push_more(1.0, []);
        assert_eq!(message(further), "component 0: expected a minorant before a further cut");
        let twice = message(|answer| {
            answer.push(1.0, []);
            answer.solution(0.0, []);
            answer.push_more(1.0, []);
            answer.solution(0.0, []);
            answer.solution(0.0, []);
        });
        assert_eq!(twice, "component 0: expected 1 solution of a cut, found 2");
        assert_eq!(message(|answer| answer.push(1.0, [])), "component 0: expected 1 solution, found 0");
        let outside = message(|answer| {
            answer.push(1.0, [(0, 1.0), (2, 1.0)]);
            answer.solution(0.0, []);
        });
        assert_eq!(outside, "component 0: expected coordinates below 2, found 2");
        let outside = message(|answer| {
            answer.solution(0.0, []);
            answer.push(1.0, []);
            answer.push_more(1.0, [(5, 1.0)]);
        });
        assert_eq!(outside, "component 0: expected coordinates below 2, found 5");
    }

    /// Components `|x_c|`, with `c` the component modulo 7: intervals of the wished width, as wide as 8 at most. Every
    /// third component has its opposite cut, too. Component `a` stands for `1 + a % 4` equal ones.
    struct Rich {
        count: usize,
        work: Option<f64>,
        solves_all: bool,
    }

    impl Components for Rich {
        fn dim(&self) -> usize {
            7
        }

        fn component_count(&self) -> usize {
            self.count
        }

        fn evaluate_component(&self, component: usize, point: &[f64], answer: &mut Answer) -> Result<(), OracleError> {
            let (coordinate, width) = (component % 7, answer.accuracy().min(8.0));
            let at = point[coordinate];
            answer.push_within(at.abs() - 0.25 * width, at.abs() + 0.75 * width, [(coordinate as u32, at.signum())]);
            answer.solution(component as f64, [(component as u32, 1.0)]);
            if component.is_multiple_of(3) {
                answer.push_more(-at.abs(), [(coordinate as u32, -at.signum())]);
                if self.solves_all || component > 0 {
                    answer.solution(-(component as f64), [(component as u32, -1.0)]);
                }
            }
            Ok(())
        }

        fn work(&self) -> Option<f64> {
            self.work
        }

        fn multiplicity(&self, component: usize) -> f64 {
            (1 + component % 4) as f64
        }

        fn has_solutions(&self) -> bool {
            true
        }

        fn line_of(&self, component: usize, solution: &mut Primal) -> Option<(f64, Vec<(u32, f64)>)> {
            (component > 0).then(|| (solution.cost, vec![(component as u32 % 7, 1.0)]))
        }
    }

    const SOME: [usize; 5] = [14, 3, 199, 0, 100];

    #[test]
    fn rich_answers_do_not_depend_on_threads() {
        for work in [Some(1.0), Some(1e6), None] {
            let results = [1, 2, 3, 4, 5, 6, 7, 8].map(|threads| {
                on_threads(threads, || {
                    let mut oracle = Parallel::new(Rich { count: 200, work, solves_all: true });
                    oracle.wish(50.0);
                    let mut subgradient = [0.0; 7];
                    let whole = oracle.evaluate_within(&POINT, &mut subgradient).unwrap();
                    let [mut all, mut some] = [(); 2].map(|()| (Minorants::new(), Solutions::new()));
                    oracle.evaluate_components(&POINT, &mut all.0).unwrap();
                    oracle.write_solutions(&mut all.1);
                    oracle.evaluate_some(&SOME, &POINT, &mut some.0).unwrap();
                    oracle.write_solutions(&mut some.1);
                    ([whole.cut, whole.bound].map(f64::to_bits), subgradient.map(f64::to_bits), all, some)
                })
            });
            assert!(results.iter().all(|result| *result == results[0]));
        }
    }

    #[test]
    fn the_whole_has_multiplicities_and_widths() {
        let mut oracle = Parallel::new(Rich { count: 200, work: None, solves_all: true });
        let copies: f64 = (0..200).map(|component| oracle.multiplicity(component)).sum();
        let exact: f64 = (0..200).map(|component| oracle.multiplicity(component) * POINT[component % 7].abs()).sum();
        let slope = |at: usize| -> f64 {
            (at..200).step_by(7).map(|component| oracle.multiplicity(component) * POINT[at].signum()).sum()
        };
        let expected: [f64; 7] = std::array::from_fn(slope);
        let is_near = |a: f64, b: f64| (a - b).abs() <= 1e-12 * exact;
        for (wish, width) in [(None, 8.0 * copies), (Some(50.0), 50.0), (Some(0.0), 0.0), (Some(1e9), 8.0 * copies)] {
            wish.into_iter().for_each(|wish| oracle.wish(wish));
            let mut subgradient = [0.0; 7];
            let Interval { cut, bound } = oracle.evaluate_within(&POINT, &mut subgradient).unwrap();
            assert!(is_near(cut, exact - 0.25 * width) && is_near(bound, exact + 0.75 * width), "{wish:?}");
            assert_eq!(oracle.evaluate(&POINT, &mut subgradient).unwrap(), bound);
            assert_eq!(subgradient, expected);
            // Minorants are those of one component.
            let mut minorants = Minorants::new();
            oracle.evaluate_components(&POINT, &mut minorants).unwrap();
            assert_eq!(minorants.subgradient(3), (&[3][..], &[1.0][..]));
            assert!(is_near(minorants.bounds()[3] - minorants.values()[3], width / copies));
        }
    }

    #[test]
    fn solutions_of_further_cuts_follow_those_of_components() {
        for solves_all in [true, false] {
            let mut oracle = Parallel::new(Rich { count: 200, work: Some(1e6), solves_all });
            let (mut minorants, mut solutions) = (Minorants::new(), Solutions::new());
            oracle.evaluate_some(&SOME, &POINT, &mut minorants).unwrap();
            oracle.write_solutions(&mut solutions);
            assert_eq!((minorants.len(), minorants.owners()), (5, &[1, 3][..]));
            assert_eq!(minorants.more().map(|(_, value, _)| value).collect::<Vec<_>>(), [-1e-3, -0.1]);
            let costs: &[f64] =
                if solves_all { &[14.0, 3.0, 199.0, 0.0, 100.0, -3.0, -0.0] } else { &[14.0, 3.0, 199.0, 0.0, 100.0] };
            assert_eq!(solutions.costs(), costs);
            // An evaluation of the whole function has no further cuts.
            oracle.evaluate(&POINT, &mut [0.0; 7]).unwrap();
            solutions.clear();
            oracle.write_solutions(&mut solutions);
            assert_eq!(solutions.len(), 200);
            let mut primal = Primal::of(&solutions, 8..9);
            assert_eq!(oracle.line_of(8, &mut primal), Some((8.0, vec![(1, 1.0)])));
            assert_eq!(oracle.line_of(0, &mut primal), None);
        }
    }

    /// A run with intervals, further cuts, multiplicities and solutions, with all components or some of them.
    #[test]
    fn rich_answers_are_solved() {
        use crate::{BundleSettings, Evaluate, Method, Settings, Solver};
        for evaluate in [Evaluate::All, Evaluate::Laggards] {
            let method = Method::Bundle(BundleSettings { evaluate, ..BundleSettings::default() });
            let settings = Settings { method, primal: true, ..Settings::default() };
            let mut oracle = Parallel::new(Rich { count: 20, work: None, solves_all: true });
            let solution = Solver::new(settings).unwrap().start(&POINT).solve(&mut oracle).unwrap();
            assert!((0.0..=1e-5).contains(&solution.value), "{evaluate:?}: {solution:?}");
        }
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
