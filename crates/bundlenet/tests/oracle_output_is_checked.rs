//! The adapter between oracles and methods checks everything that an oracle says.

use bundlenet::{Bound, Domain, EvaluationError, FnOracle, Function, Sense};

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
