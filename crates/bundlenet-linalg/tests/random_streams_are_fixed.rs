//! Random numbers have the stated distributions, and the same seed gives the same numbers on every machine.

use bundlenet_linalg::Stream;

#[test]
fn distributions_have_their_moments() {
    let mut stream = Stream::new(1, "test", 0);
    let draws: Vec<f64> = (0..100_000).map(|_| stream.normal()).collect();
    let mean = draws.iter().sum::<f64>() / 1e5;
    let variance = draws.iter().map(|x| x * x).sum::<f64>() / 1e5;
    // Five standard errors; those are 0.0032 and 0.0045.
    assert!(mean.abs() < 0.016 && (variance - 1.0).abs() < 0.023, "{mean} {variance}");
    let mut counts = [0; 7];
    (0..70_000).for_each(|_| counts[stream.between(3, 9) as usize - 3] += 1);
    // Five standard errors; one is 93.
    assert!(counts.iter().all(|count| (9_500..=10_500).contains(count)), "{counts:?}");
    let mut counts = [0; 3];
    (0..60_000).for_each(|_| counts[stream.weighted(&[1, 0, 5])] += 1);
    assert!(counts[1] == 0 && (9_500..=10_500).contains(&counts[0]), "{counts:?}");
}

#[test]
fn streams_never_change() {
    let mut stream = Stream::new(42, "mc-sml-40", 3);
    let drawn: Vec<usize> = (0..4).map(|_| stream.below(1000)).collect();
    assert_eq!(drawn, [6, 92, 80, 340]);
    let mut other = Stream::new(42, "mc-sml-40", 4);
    assert_ne!(drawn, (0..4).map(|_| other.below(1000)).collect::<Vec<_>>());
}
