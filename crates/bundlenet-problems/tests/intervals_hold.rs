//! Oracles that say all they can: random errors within stated intervals, boxes, further cuts, some components only,
//! multiplicities. Every certificate, bound and status is checked against the exact function.
//!
//! A long campaign is `PROPTEST_CASES=10000 cargo test --release -p bundlenet-problems --test intervals_hold`.

use bundlenet::{
    Bound, BundleSettings, Cuts, Domain, Evaluate, Limits, Method, Oracle, Settings, Solution, Solver, Status,
};
use bundlenet_linalg::Stream;
use bundlenet_testing::campaign::{Case, draw, size_at};
use bundlenet_testing::cases;
use bundlenet_testing::disturbed::{Disturbance, Disturbed};

const TOLERANCE: f64 = 1e-7;

fn methods() -> [(&'static str, Method); 6] {
    let bundle = |cuts, evaluate| Method::Bundle(BundleSettings { cuts, evaluate, ..BundleSettings::default() });
    [
        ("auto", Method::default()),
        ("components", bundle(Cuts::Component, Evaluate::All)),
        ("laggards", bundle(Cuts::Component, Evaluate::Laggards)),
        ("aggregated", bundle(Cuts::Aggregated, Evaluate::All)),
        ("hybrid", Method::with_options("hybrid", []).unwrap()),
        ("network", Method::with_options("network", []).unwrap()),
    ]
}

fn draw_disturbance(stream: &mut Stream, case: &Case) -> Disturbance {
    let mut oracle = case.terms();
    let components = oracle.as_sum().map_or(0, |sum| sum.component_count());
    let multiplicities = match stream.below(3) {
        0 => (0..components).map(|_| [1.0, 2.0, 5.0, 0.5][stream.below(4)]).collect(),
        _ => vec![],
    };
    let own = oracle.domain();
    let limits = |index: usize, stream: &mut Stream| {
        let around = case.start[index];
        let size = case.variable * 10_f64.powi(stream.below(4) as i32 - 1);
        let low =
            if stream.below(4) == 0 { f64::NEG_INFINITY } else { around - size * f64::from(stream.below(3) as u8) };
        let high = if stream.below(4) == 0 { f64::INFINITY } else { around + size };
        let low = if own.is_nonnegative(index) { low.max(0.0) } else { low };
        Bound::Between { lower: low, upper: high }
    };
    let domain = (stream.below(2) == 0)
        .then(|| Domain::PerCoordinate((0..oracle.dim()).map(|index| limits(index, stream)).collect()));
    // Of the optimum.
    let width = [0.0, 1e-8, 1e-6, 1e-4, 1e-2][stream.below(5)];
    let (hears, has_more) = (stream.below(2) == 0, stream.below(2) == 0);
    Disturbance { width, hears, has_more, multiplicities, domain }
}

fn solve(oracle: &mut dyn Oracle, start: &[f64], method: Method) -> Option<Solution> {
    let limits = Limits { steps: Some(2000), seconds: Some(2.0), ..Limits::default() };
    let settings = Settings { method, limits, tolerance: TOLERANCE, ..Settings::default() };
    Solver::new(settings).unwrap().start(start).solve(oracle).ok()
}

/// The best exact value of several methods, in the sense of a minimum.
fn reference(case: &Case, disturbance: &Disturbance) -> Option<f64> {
    let exact = Disturbance { width: 0.0, has_more: false, ..disturbance.clone() };
    let solved = methods().into_iter().filter(|(name, _)| matches!(*name, "components" | "aggregated"));
    let values = solved.filter_map(|(_, method)| {
        let mut oracle = Disturbed::new(case.terms(), exact.clone(), 0);
        let solution = solve(&mut oracle, &case.start, method)?;
        let round_off = 1e-12 * size_at(&mut oracle, &case.start, &solution.point);
        (solution.status != Status::Unbounded).then(|| oracle.sense().sign() * solution.value + round_off)
    });
    values.reduce(f64::min)
}

#[test]
fn intervals_boxes_subsets_and_multiplicities() {
    let count = cases(150).cases as u64;
    let (mut runs, mut far, mut late) = (0, 0, 0);
    let mut index = 0;
    while runs < count {
        index += 1;
        let case = draw(17, index, true);
        if case.is_unbounded == Some(true) || case.family == "academic" {
            continue;
        }
        let mut stream = Stream::new(17, "intervals", index);
        let mut disturbance = draw_disturbance(&mut stream, &case);
        let Some(known) = reference(&case, &disturbance) else { continue };
        disturbance.width *= known.abs();
        let (name, method) = methods().into_iter().nth(stream.below(6)).unwrap();
        let mut oracle = Disturbed::new(case.terms(), disturbance.clone(), index);
        let Some(solution) = solve(&mut oracle, &case.start, method) else { continue };
        runs += 1;
        let about =
            format!("case {index}, {name}, {}: {:?}, known {known}, {disturbance:?}", case.family, solution.status);
        if solution.status == Status::Unbounded {
            // A family that may be infeasible: the reference has not seen it.
            assert!(case.is_unbounded.is_none(), "{about}");
            continue;
        }
        let sign = oracle.sense().sign();
        let value = sign * solution.value;
        let mut subgradient = vec![0.0; oracle.dim()];
        let exact = sign * oracle.evaluate(&solution.point, &mut subgradient).unwrap();
        let size = value.abs().max(exact.abs()).max(known.abs());
        let terms = size_at(&mut oracle, &case.start, &solution.point);
        let largest = solution.trace.iter().fold(size.max(terms), |largest, row| largest.max(row.value.abs()));
        let round_off = 1e-9 * size + 1e-12 * largest;
        assert!(oracle.domain().violation(&solution.point).is_none(), "{about}");
        assert!(exact <= value + round_off, "{about}: the bound {value} is below {exact}");
        assert!(value <= exact + disturbance.width + round_off, "{about}: {value}, exact {exact}");
        if let Some(certificate) = solution.certificate {
            let proved = value - certificate * value.abs().max(1.0);
            let best = known.min(exact);
            assert!(proved <= best + round_off, "{about}: proved {proved}, but {best} is attained");
        }
        let allowed = 3.0 * disturbance.width + 10.0 * TOLERANCE * size.max(1.0);
        match solution.status {
            Status::Optimal => assert!(value - known <= allowed, "{about}: {value}"),
            Status::Converged | Status::OracleAccuracy => {
                if value - known > allowed {
                    far += 1;
                    println!("far: {:.1e} over {:.1e}, {about}", value - known, allowed);
                }
            }
            status => {
                late += 1;
                println!("{status:?} {:.1e} {:.1e} {about}", value - known, allowed);
            }
        }
    }
    println!("{runs} runs: {far} ended too far away, {late} did not end by themselves");
    assert!(100 * far <= runs, "{far} of {runs} runs ended too far away");
}
