//! The adapter between oracles and methods checks everything that an oracle says.

use bundlenet::{
    Bound, Domain, EvaluationError, FnOracle, Function, Oracle, OracleError, Sense, Settings, Solver, State,
};

fn message(error: EvaluationError) -> String {
    error.to_string()
}

#[test]
fn a_concave_function_is_flipped() {
    let mut oracle = FnOracle::new(1, |point, subgradient| {
        subgradient[0] = -2.0 * point[0];
        Ok(-point[0] * point[0])
    })
    .with_sense(Sense::Maximize);
    let mut function = Function::new(&mut oracle).unwrap();
    let mut subgradient = [0.0];
    assert_eq!(function.evaluate(&[3.0], &mut subgradient).unwrap(), 9.0);
    assert_eq!(subgradient, [6.0]);
    assert_eq!(function.evaluations(), 1);
}

#[test]
fn bad_output_is_named_with_its_evaluation() {
    let mut calls = 0;
    let mut oracle = FnOracle::new(2, move |_, subgradient| {
        calls += 1;
        subgradient[0] = 1.0;
        if calls != 2 {
            subgradient[1] = 0.0;
        }
        match calls {
            3 => Ok(f64::INFINITY),
            4 => Err("the subproblem is infeasible".into()),
            _ => Ok(0.0),
        }
    });
    let mut function = Function::new(&mut oracle).unwrap();
    let mut subgradient = [0.0; 2];
    let mut evaluate = |point: &[f64]| function.evaluate(point, &mut subgradient);
    evaluate(&[0.0, 0.0]).unwrap();
    let forgotten = message(evaluate(&[0.0, 0.0]).unwrap_err());
    assert!(forgotten.contains("evaluation 2") && forgotten.contains("entry 1"), "{forgotten}");
    let infinite = message(evaluate(&[0.0, 0.0]).unwrap_err());
    assert!(infinite.contains("evaluation 3") && infinite.contains("inf"), "{infinite}");
    let failed = message(evaluate(&[0.0, 0.0]).unwrap_err());
    assert!(failed.contains("evaluation 4") && failed.contains("the subproblem is infeasible"), "{failed}");
    let short = message(evaluate(&[0.0]).unwrap_err());
    assert!(short.contains("expected 2") && short.contains("found 1"), "{short}");
    let nan = message(evaluate(&[0.0, f64::NAN]).unwrap_err());
    assert!(nan.contains("NaN"), "{nan}");
}

#[test]
fn bad_oracles_are_refused() {
    let nothing = |_: &[f64], _: &mut [f64]| Ok(0.0);
    assert!(matches!(Function::new(&mut FnOracle::new(0, nothing)), Err(EvaluationError::NoVariables)));
    let domain = Domain::PerCoordinate(vec![Bound::Free]);
    let mut oracle = FnOracle::new(2, nothing).with_domain(domain);
    assert!(matches!(Function::new(&mut oracle), Err(EvaluationError::DomainLength { expected: 2, found: 1 })));
}

#[test]
fn scales_that_are_none_are_refused() {
    let oracle = |scales: Vec<f64>| FnOracle::new(2, |_: &[f64], _: &mut [f64]| Ok(0.0)).with_scales(scales);
    let short = Function::new(&mut oracle(vec![1.0])).map(|_| ()).unwrap_err();
    assert!(matches!(short, EvaluationError::ScaleLength { expected: 2, found: 1 }), "{short}");
    for scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let wrong = Function::new(&mut oracle(vec![1.0, scale])).map(|_| ()).unwrap_err();
        assert!(matches!(wrong, EvaluationError::Scale { coordinate: 1, .. }), "{wrong}");
    }
    assert!(Function::new(&mut oracle(vec![1.0, 1e9])).is_ok());
}

#[test]
fn domains_project_and_detect() {
    let mixed = Domain::PerCoordinate(vec![Bound::Free, Bound::Nonnegative]);
    let mut point = [-1.0, -2.0];
    assert_eq!(mixed.violation(&point), Some(1));
    mixed.project(&mut point);
    assert_eq!(point, [-1.0, 0.0]);
    assert_eq!(mixed.violation(&point), None);
    assert_eq!(Domain::Free.violation(&[-1.0]), None);
    assert_eq!(Domain::Nonnegative.violation(&[-1.0]), Some(0));
}

/// `sum_j |x_j - 1|`, with a given box and a given start.
#[derive(Default)]
struct Distance {
    dim: usize,
    corners: Option<(Vec<f64>, Vec<f64>)>,
    start: Option<Vec<f64>>,
}

impl Oracle for Distance {
    fn dim(&self) -> usize {
        self.dim
    }

    fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        subgradient.iter_mut().zip(point).for_each(|(entry, x)| *entry = (x - 1.0).signum());
        Ok(point.iter().map(|x| (x - 1.0).abs()).sum())
    }

    fn domain(&self) -> Domain {
        Domain::Nonnegative
    }

    fn minimizer_box(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        self.corners.clone()
    }

    fn start(&self) -> Option<Vec<f64>> {
        self.start.clone()
    }
}

#[test]
fn runs_begin_at_the_start_of_the_oracle() {
    let first = |start: Option<Vec<f64>>, given: Option<&[f64]>| {
        let mut solver = Solver::new(Settings::default()).unwrap();
        if let Some(given) = given {
            solver = solver.start(given);
        }
        let solution = solver.solve(&mut Distance { dim: 2, start, ..Distance::default() });
        solution.map(|solution| solution.trace[0].value)
    };
    assert_eq!(first(None, None).unwrap(), 2.0);
    assert_eq!(first(Some(vec![5.0, 3.0]), None).unwrap(), 6.0);
    // It is moved into the domain.
    assert_eq!(first(Some(vec![5.0, -3.0]), None).unwrap(), 5.0);
    assert_eq!(first(Some(vec![5.0, 3.0]), Some(&[2.0, 2.0])).unwrap(), 2.0);
    let wrong = first(Some(vec![1.0]), None).unwrap_err();
    assert!(matches!(wrong, EvaluationError::PointLength { expected: 2, found: 1, .. }), "{wrong}");
    assert!(first(Some(vec![1.0, f64::NAN]), None).is_err());
}

#[test]
fn a_start_or_a_state_of_another_dimension_is_refused() {
    fn solver<'a>() -> Solver<'a> {
        Solver::new(Settings::default()).unwrap()
    }
    let oracle = |dim: usize| Distance { dim, ..Distance::default() };
    let short = solver().start(&[1.0]).solve(&mut oracle(40)).unwrap_err();
    assert!(matches!(short, EvaluationError::PointLength { evaluation: 1, expected: 40, found: 1 }), "{short}");
    let mut state = State::new();
    solver().state(&mut state).solve(&mut oracle(40)).unwrap();
    state.trust_cuts();
    let before = state.clone();
    let other = solver().state(&mut state).start(&[3.0; 3]).solve(&mut oracle(3)).unwrap_err();
    assert!(matches!(other, EvaluationError::PointLength { expected: 3, found: 40, .. }), "{other}");
    assert_eq!(state, before);
}

#[test]
fn a_box_that_is_none_is_refused() {
    for (lower, upper) in [(vec![0.0; 1], vec![2.0; 1]), (vec![0.0; 3], vec![2.0; 2])] {
        let mut oracle = Distance { dim: 3, corners: Some((lower, upper)), start: None };
        assert!(matches!(Function::new(&mut oracle), Err(EvaluationError::BoxLength { expected: 3, .. })));
    }
    for entry in [-1.0, f64::NAN] {
        let mut oracle = Distance { dim: 2, corners: Some((vec![0.0; 2], vec![2.0, entry])), start: None };
        assert!(matches!(Function::new(&mut oracle), Err(EvaluationError::BoxEntry { coordinate: 1, .. })));
    }
}
