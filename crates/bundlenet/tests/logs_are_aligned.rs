//! The log table: aligned columns, and without times the same text in every run.

use bundlenet::{FnOracle, Limits, Log, OracleError, Settings, Solver};

/// CB2 (Charalambous and Conn): `max(x^2 + y^4, (2 - x)^2 + (2 - y)^2, 2 exp(y - x))`.
fn cb2(point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
    let (x, y) = (point[0], point[1]);
    let pieces = [
        (x * x + y.powi(4), [2.0 * x, 4.0 * y.powi(3)]),
        ((2.0 - x).powi(2) + (2.0 - y).powi(2), [2.0 * x - 4.0, 2.0 * y - 4.0]),
        (2.0 * (y - x).exp(), [-2.0 * (y - x).exp(), 2.0 * (y - x).exp()]),
    ];
    let (value, slope) = pieces.into_iter().reduce(|a, b| if b.0 > a.0 { b } else { a }).unwrap();
    subgradient.copy_from_slice(&slope);
    Ok(value)
}

fn log(steps: usize) -> String {
    let mut text = vec![];
    let mut log = Log::timeless(&mut text);
    log.begin("CB2");
    let settings = Settings { limits: Limits { steps: Some(steps), ..Limits::default() }, ..Settings::default() };
    let solver = Solver::new(settings).unwrap().start(&[1.0, -0.1]).observe(&mut log);
    let solution = solver.solve(&mut FnOracle::new(2, cb2)).unwrap();
    log.finish(&solution);
    String::from_utf8(text).unwrap()
}

#[test]
fn a_timeless_log_is_the_same_in_every_run() {
    let expected = "\
CB2
  iter step        objective             best            model      gap      |w|      eta  cuts  evals
     0           5.410000000      5.410000000                                                        1
     1    S      3.897445990      3.897445990      3.773720990             1.0e0     0.35     2      2
step limit: value 3.897445989 after 1 steps
";
    let found = log(1);
    let shown: Vec<&str> = found.lines().take(4).collect();
    assert_eq!(shown, expected.lines().take(4).collect::<Vec<_>>(), "{found}");
    assert!(found.contains("step limit: value 3.89744598") && found.contains("gap: estimated"), "{found}");
    assert_eq!(log(30), log(30));
    // The columns are aligned: every line of the table has the same width.
    let long = log(30);
    let widths: Vec<usize> = long.lines().skip(1).take(15).map(|line| line.chars().count()).collect();
    assert!(widths.iter().all(|width| *width == widths[0]), "{long}");
}
