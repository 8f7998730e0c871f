//! Own policies: their runs are those of the bundle method, invalid answers do no harm, and training lowers their gaps.

use std::sync::Arc;

use bundlenet::train::{EvolutionSettings, Example, LastStep, Policy, View, evolve, follow};
use bundlenet::{Domain, FnOracle, Oracle, Sense};

/// `2 + sum_j (j + 1) |x_j - t_j|` with targets of both signs.
fn tents(domain: Domain) -> impl Oracle + Send {
    tents_with(domain, None)
}

/// The same with scales of the variables.
fn tents_with(domain: Domain, scales: Option<Vec<f64>>) -> impl Oracle + Send {
    let evaluate = |point: &[f64], subgradient: &mut [f64]| {
        let mut value = 2.0;
        for (j, x) in point.iter().enumerate() {
            let (weight, target) = ((j + 1) as f64, if j % 2 == 0 { 3.0 } else { -2.0 });
            value += weight * (x - target).abs();
            subgradient[j] = weight * (x - target).signum();
        }
        Ok(value)
    };
    let oracle = FnOracle::new(4, evaluate).with_domain(domain);
    match scales {
        Some(scales) => oracle.with_scales(scales),
        None => oracle,
    }
}

/// All cuts weigh the same, and steps have one length.
struct Equal(f64);

impl Policy for Equal {
    fn propose(&mut self, view: &View<'_>, weights: &mut [f64]) -> f64 {
        assert_eq!((weights.len(), view.cuts()), (view.steps() + 1, view.steps() + 1));
        weights.fill(7.0);
        self.0 * view.unit()
    }
}

/// Keeps what it saw.
#[derive(Default)]
struct Curious {
    lasts: Vec<Option<LastStep>>,
    values: Vec<f64>,
    limit: usize,
    scales: Option<Vec<f64>>,
    limits: (f64, f64),
}

impl Policy for Curious {
    fn propose(&mut self, view: &View<'_>, weights: &mut [f64]) -> f64 {
        let newest = view.cuts() - 1;
        for cut in 0..view.cuts() {
            let product: f64 = view.subgradient(newest).iter().zip(view.subgradient(cut)).map(|(a, b)| a * b).sum();
            assert!((product - view.products(newest)[cut]).abs() < 1e-12);
            assert!(view.error(cut) > -1e-12);
            // A cut touches the function at its point, and is lower at the centre by its error.
            let way = view.centre().iter().zip(view.point(cut)).map(|(centre, point)| centre - point);
            let slope: f64 = way.zip(view.subgradient(cut)).map(|(way, entry)| way * entry).sum();
            let error = view.centre_value() - (view.value(cut) + slope);
            assert!((error.max(0.0) - view.error(cut)).abs() < 1e-9, "{error} {}", view.error(cut));
        }
        self.limit = view.steps() + view.remaining();
        self.scales = view.scales().map(<[f64]>::to_vec);
        self.limits = view.limits(3);
        self.lasts.push(view.last().copied());
        self.values.push(view.centre_value());
        weights[newest] = 1.0;
        view.unit()
    }
}

#[test]
fn values_are_the_oracles_own_and_only_improve() {
    for domain in [Domain::Free, Domain::Nonnegative] {
        let run = follow(&mut Equal(1.0), &mut tents(domain.clone()), None, 30).unwrap();
        assert_eq!(run.best[0], 2.0 + 3.0 + 4.0 + 9.0 + 8.0);
        assert!(run.best.windows(2).all(|pair| pair[1] <= pair[0]) && run.best.len() == 31);
        let mut subgradient = vec![0.0; 4];
        let value = tents(domain.clone()).evaluate(&run.point, &mut subgradient).unwrap();
        assert!((value - run.best[30]).abs() < 1e-9 * value, "{value} {}", run.best[30]);
        assert!(domain == Domain::Free || run.point.iter().all(|entry| *entry >= 0.0));
    }
    // A maximum has the other sign.
    let mut minimized = tents(Domain::Free);
    let mut negative = FnOracle::new(4, move |point: &[f64], subgradient: &mut [f64]| {
        let value = minimized.evaluate(point, subgradient)?;
        subgradient.iter_mut().for_each(|entry| *entry = -*entry);
        Ok(-value)
    })
    .with_sense(Sense::Maximize);
    let run = follow(&mut Equal(1.0), &mut negative, None, 30).unwrap();
    let mirrored = follow(&mut Equal(1.0), &mut tents(Domain::Free), None, 30).unwrap();
    assert_eq!(run.best, mirrored.best.iter().map(|value| -value).collect::<Vec<f64>>());
}

#[test]
fn a_view_shows_the_run() {
    let mut curious = Curious::default();
    let mut oracle = tents_with(Domain::Nonnegative, Some(vec![1.0, 2.0, 3.0, 4.0]));
    follow(&mut curious, &mut oracle, None, 12).unwrap();
    assert_eq!((curious.limit, curious.scales), (12, Some(vec![1.0, 2.0, 3.0, 4.0])));
    assert_eq!(curious.limits, (0.0, f64::INFINITY));
    assert!(curious.lasts[0].is_none() && curious.lasts[1..].iter().all(Option::is_some));
    for (pair, last) in curious.values.windows(2).zip(curious.lasts[1..].iter().flatten()) {
        // The value of a soft centre moves by its share of the decrease.
        assert!((pair[0] - pair[1] - last.share * last.decrease).abs() < 1e-9, "{last:?}");
        assert!(last.length > 0.0 && last.direction_square > 0.0 && last.decrease <= last.predicted + 1e-9);
    }
}

/// An answer that makes no sense.
struct Wrong(f64, f64, f64);

impl Policy for Wrong {
    fn propose(&mut self, _view: &View<'_>, weights: &mut [f64]) -> f64 {
        weights.fill(self.0);
        self.1
    }

    fn temperature(&self) -> f64 {
        self.2
    }
}

#[test]
fn invalid_answers_become_subgradient_steps() {
    let sensible = follow(&mut Curious::default(), &mut tents(Domain::Free), None, 10).unwrap();
    for (weight, length, temperature) in [
        (f64::NAN, 1.0, 1.0),
        (-1.0, 1.0, 1.0),
        (0.0, 1.0, 1.0),
        (f64::INFINITY, 1.0, 1.0),
        (1.0, f64::NAN, 1.0),
        (1.0, -1.0, 1.0),
        (1.0, 0.0, 1.0),
        (1.0, 1.0, 0.0),
    ] {
        let run = follow(&mut Wrong(weight, length, temperature), &mut tents(Domain::Free), None, 10).unwrap();
        assert_eq!(run, sensible, "{weight} {length} {temperature}");
    }
}

#[test]
fn evolution_lowers_the_gaps_on_any_number_of_threads() {
    let example = |index: usize| Example {
        name: format!("tents-{index}"),
        oracle: Arc::new(|| Box::new(tents(Domain::Free))),
        start: Some(vec![index as f64; 4]),
        optimum: Some(2.0),
    };
    let examples: Vec<Example> = (0..6).map(example).collect();
    let settings = EvolutionSettings { generations: 40, pairs: 8, batch: 4, rate: 0.2, ..EvolutionSettings::default() };
    let train = |threads: usize| {
        let mut parameters = vec![0.0];
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let make = |parameters: &[f64]| Box::new(Equal(parameters[0].exp())) as Box<dyn Policy>;
        let objectives = pool.install(|| evolve(&mut parameters, &make, &examples, &[5, 20], (&settings, 1))).unwrap();
        (parameters, objectives)
    };
    let (parameters, objectives) = train(1);
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    assert!(mean(&objectives[35..]) < mean(&objectives[..5]) - 0.1, "{objectives:?}");
    assert_eq!((parameters, objectives), train(2));
    let unknown = vec![Example { optimum: None, ..example(0) }];
    let make = |_: &[f64]| Box::new(Equal(1.0)) as Box<dyn Policy>;
    let error = evolve(&mut [0.0], &make, &unknown, &[5], (&settings, 1)).unwrap_err();
    assert!(error.to_string().contains("examples: expected at least one"), "{error}");
}
