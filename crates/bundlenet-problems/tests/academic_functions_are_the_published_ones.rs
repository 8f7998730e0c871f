//! Values at the start points and at the minimisers of the academic functions, and the optima that runs find.

use bundlenet::{Oracle, Settings, Solver};
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
    let published = [
        (Academic::Cb3, 20.0),
        (Academic::Dem, 6.0),
        (Academic::Ql, 56.0),
        (Academic::Lq, 1.0),
        (Academic::Mifflin1, -0.8),
        (Academic::Rosen, 0.0),
        (Academic::Maxq, 400.0),
        (Academic::Maxl, 20.0),
        (Academic::MaxqOf(1000), 1e6),
        (Academic::ChainedLq(1000), 999.0),
        (Academic::ChainedCb3I(1000), 19_980.0),
        (Academic::ChainedCb3II(1000), 19_980.0),
    ];
    for (function, expected) in published {
        let found = value(function, &function.start());
        assert!((found - expected).abs() <= 1e-12 * expected.abs().max(1.0), "{function}: {found}");
    }
    // The first entry of a Hilbert matrix times ones is a harmonic number; L1HILB adds all entries up.
    let harmonic = |n: u32| (1..=n).map(|k| 1.0 / f64::from(k)).sum::<f64>();
    assert!((value(Academic::MxhilbOf(1000), &[1.0; 1000]) - harmonic(1000)).abs() < 1e-12);
    let sum: f64 = (0..50).map(|row| harmonic(row + 50) - harmonic(row)).sum();
    assert!((value(Academic::L1hilb, &[1.0; 50]) - sum).abs() < 1e-12);
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
    let root = std::f64::consts::FRAC_1_SQRT_2;
    let exact: [(Academic, Vec<f64>); 14] = [
        (Academic::Cb3, vec![1.0; 2]),
        (Academic::Dem, vec![0.0, -3.0]),
        (Academic::Ql, vec![1.2, 2.4]),
        (Academic::Lq, vec![root; 2]),
        (Academic::Mifflin1, vec![1.0, 0.0]),
        (Academic::Rosen, vec![0.0, 1.0, 2.0, -1.0]),
        (Academic::Maxq, vec![0.0; 20]),
        (Academic::Maxl, vec![0.0; 20]),
        (Academic::L1hilb, vec![0.0; 50]),
        (Academic::MaxqOf(1000), vec![0.0; 1000]),
        (Academic::MxhilbOf(1000), vec![0.0; 1000]),
        (Academic::ChainedLq(1000), vec![root; 1000]),
        (Academic::ChainedCb3I(1000), vec![1.0; 1000]),
        (Academic::ChainedCb3II(1000), vec![1.0; 1000]),
    ];
    for (function, point) in exact {
        assert!(function.relative_gap(value(function, &point)).abs() < 1e-12, "{function}");
    }
}

/// No point is better than the optimum, and the default finds it.
#[test]
fn optima_are_found() {
    for mut function in Academic::ALL.into_iter().chain(Academic::of_dimension(12)) {
        let start = function.start();
        let solution = Solver::new(Settings::default()).unwrap().start(&start).solve(&mut function).unwrap();
        let gap = function.relative_gap(solution.value);
        assert!((-1e-10..1e-5).contains(&gap), "{function}: {gap}");
    }
}
