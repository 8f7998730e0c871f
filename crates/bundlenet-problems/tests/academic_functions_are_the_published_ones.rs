//! Values at the start points and at the minimisers of the academic functions.

use bundlenet::Oracle;
use bundlenet_problems::Academic;

fn value(mut function: Academic, point: &[f64]) -> f64 {
    let mut subgradient = vec![0.0; function.dim()];
    function.evaluate(point, &mut subgradient).unwrap()
}

#[test]
fn start_values_are_the_published_ones() {
    // Lukšan and Vlček; MAXQUAD at (1, ..., 1) from Lemaréchal and Mifflin (1978).
    assert_eq!(value(Academic::Maxquad, &[0.0; 10]), 0.0);
    assert!((value(Academic::Maxquad, &[1.0; 10]) - 5_337.066_429_311_36).abs() < 1e-8);
    assert_eq!(value(Academic::Shor, &Academic::Shor.start()), 80.0);
    assert!((value(Academic::Cb2, &Academic::Cb2.start()) - 5.41).abs() < 1e-12);
    assert_eq!(value(Academic::Goffin, &Academic::Goffin.start()), 1225.0);
    assert!((value(Academic::Mxhilb, &Academic::Mxhilb.start()) - 4.499_205_338).abs() < 1e-8);
}

#[test]
fn optima_are_attained() {
    let cb2 = [1.139_037_651_989, 0.899_559_938_395];
    let shor = [1.124_351_01, 0.979_461_60, 1.477_707_74, 0.920_233_48, 1.124_291_59];
    let maxquad = [
        -0.126_256_59,
        -0.034_378_31,
        -0.006_857_20,
        0.026_360_65,
        0.067_294_91,
        -0.278_399_51,
        0.074_218_66,
        0.138_524_04,
        0.084_031_22,
        0.038_580_31,
    ];
    // The points are given to 8 digits. Near a kink the error of the value is in proportion to theirs.
    for (function, point) in [(Academic::Cb2, &cb2[..]), (Academic::Shor, &shor[..]), (Academic::Maxquad, &maxquad[..])]
    {
        let gap = function.relative_gap(value(function, point));
        assert!((-1e-12..1e-6).contains(&gap), "{function}: {gap}");
    }
    assert_eq!(value(Academic::Goffin, &[0.0; 50]), 0.0);
    assert_eq!(value(Academic::Mxhilb, &[0.0; 50]), 0.0);
}
