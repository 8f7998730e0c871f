//! Two runs of the default on the same function take the same steps, with any number of threads and on a machine of any speed.

use std::time::Duration;

use bundlenet::{Domain, Lines, Minorants, Oracle, OracleError, Sense, SumOracle};
use bundlenet::{FnOracle, Limits, Settings, Solution, Solver, State};
use bundlenet_problems::{
    Academic, Assignment, AssignmentDual, FacilityLocationDual, Family, Generator, NetworkDesignDual, Problem,
    UnitCommitmentDual,
};

fn settings(steps: usize) -> Settings {
    Settings { limits: Limits { steps: Some(steps), ..Limits::default() }, ..Settings::default() }
}

fn run(oracle: &mut dyn Oracle, steps: usize) -> Solution {
    Solver::new(settings(steps)).unwrap().solve(oracle).unwrap()
}

/// Everything of a run that is no wall time.
fn steps(solution: &Solution) -> impl PartialEq + std::fmt::Debug + use<> {
    let trace: Vec<(usize, f64, f64)> = solution.trace.iter().map(|row| (row.step, row.value, row.best)).collect();
    let Solution { status, oracle_calls, estimate, certificate, point, .. } = solution;
    (*status, *oracle_calls, *estimate, *certificate, point.clone(), trace)
}

fn problem(family: Family) -> Problem {
    Generator::new(family, 5).instance(0).unwrap().problem
}

fn on_threads<T: Send>(count: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(count).build().unwrap().install(work)
}

#[test]
fn runs_are_the_same_on_any_number_of_threads() {
    for family in Family::ALL {
        let problem = problem(family);
        let on = |threads| on_threads(threads, || run(&mut *problem.dual(), 400));
        let first = on(1);
        // The network and an exact master have both been at work. An evaluation of unit commitment costs more than its
        // first masters, so there is no network. The network alone finds the optimum of the small assignment problem.
        assert!((first.network_seconds > 0.0) == (family != Family::Uc), "{family}");
        assert!((first.master_seconds > 0.0) == (family != Family::Ga10x100), "{family}");
        for threads in [1, 2, 3] {
            assert_eq!(steps(&on(threads)), steps(&first), "{family}, {threads} threads");
        }
    }
    for mut function in Academic::ALL {
        let mut run = || Solver::new(settings(200)).unwrap().start(&function.start()).solve(&mut function).unwrap();
        assert_eq!(steps(&run()), steps(&run()));
    }
}

#[test]
fn warm_starts_are_the_same_on_any_number_of_threads() {
    for family in [Family::McSml40, Family::Ga10x100] {
        let generator = Generator::new(family, 5);
        let [before, after] = [0, 1].map(|index| generator.instance(index).unwrap().problem);
        let on = |threads| {
            on_threads(threads, || {
                let mut state = State::new();
                let mut solve = |problem: &Problem| {
                    Solver::new(settings(400)).unwrap().state(&mut state).solve(&mut *problem.dual()).unwrap()
                };
                [solve(&before), solve(&after)]
            })
        };
        assert_eq!(on(1).each_ref().map(steps), on(2).each_ref().map(steps), "{family}");
    }
}

/// An oracle with a delay in every evaluation, and with work of its own.
struct Delayed<O> {
    inner: O,
    delay: Duration,
    work: Option<f64>,
}

impl<O: SumOracle> Oracle for Delayed<O> {
    fn dim(&self) -> usize {
        self.inner.dim()
    }

    fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        std::thread::sleep(self.delay);
        self.inner.evaluate(point, subgradient)
    }

    fn domain(&self) -> Domain {
        self.inner.domain()
    }

    fn sense(&self) -> Sense {
        self.inner.sense()
    }

    fn minimizer_box(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        self.inner.minimizer_box()
    }

    fn work(&self) -> Option<f64> {
        self.work
    }

    fn scales(&self) -> Option<Vec<f64>> {
        self.inner.scales()
    }

    fn as_sum(&mut self) -> Option<&mut dyn SumOracle> {
        Some(self)
    }
}

impl<O: SumOracle> SumOracle for Delayed<O> {
    fn component_count(&self) -> usize {
        self.inner.component_count()
    }

    fn linear(&self) -> &[f64] {
        self.inner.linear()
    }

    fn evaluate_components(&mut self, point: &[f64], minorants: &mut Minorants) -> Result<(), OracleError> {
        std::thread::sleep(self.delay);
        self.inner.evaluate_components(point, minorants)
    }

    fn prove(&mut self, aggregate: &Lines) -> Option<f64> {
        self.inner.prove(aggregate)
    }
}

/// Runs an oracle that takes `milliseconds` longer for each evaluation than it says.
fn delayed(problem: &Problem, milliseconds: u64, work: Option<f64>) -> Solution {
    let delay = Duration::from_millis(milliseconds);
    match problem {
        Problem::NetworkDesign(instance) => {
            run(&mut Delayed { inner: NetworkDesignDual::new(instance), delay, work }, 400)
        }
        Problem::Assignment(instance) => run(&mut Delayed { inner: AssignmentDual::new(instance), delay, work }, 400),
        Problem::FacilityLocation(instance) => {
            run(&mut Delayed { inner: FacilityLocationDual::new(instance), delay, work }, 400)
        }
        Problem::UnitCommitment(instance) => {
            run(&mut Delayed { inner: UnitCommitmentDual::new(instance), delay, work }, 400)
        }
    }
}

/// The clock decides nothing; the stated work does.
#[test]
fn steps_follow_the_stated_work_and_not_the_clock() {
    for family in [Family::McSml40, Family::Ga10x100] {
        let problem = problem(family);
        let fast = run(&mut *problem.dual(), 400);
        let work = problem.dual().work();
        assert_eq!(steps(&delayed(&problem, 2, work)), steps(&fast), "{family}");
        let dear = delayed(&problem, 0, Some(1e9));
        assert!(dear.oracle_calls < fast.oracle_calls, "{family}: {} {}", dear.oracle_calls, fast.oracle_calls);
        // An oracle that states nothing counts as one of a millisecond.
        assert_eq!(steps(&delayed(&problem, 0, None)), steps(&delayed(&problem, 0, Some(1e6))), "{family}");
    }
}

/// An oracle that is no sum and states no work.
#[test]
fn plain_oracles_take_the_same_steps() {
    let Problem::Assignment(instance) = problem(Family::Ga20x400) else { unreachable!() };
    let plain = |instance: &Assignment, delay: Duration| {
        let mut dual = AssignmentDual::new(instance);
        let mut oracle = FnOracle::new(dual.dim(), |point: &[f64], subgradient: &mut [f64]| {
            std::thread::sleep(delay);
            dual.evaluate(point, subgradient)
        })
        .with_domain(Domain::Nonnegative);
        run(&mut oracle, 150)
    };
    let (slow, fast) = (plain(&instance, Duration::from_millis(2)), plain(&instance, Duration::ZERO));
    assert!(fast.network_seconds > 0.0 && fast.master_seconds > 0.0);
    assert_eq!(steps(&slow), steps(&fast));
}
