//! Runs from the state of an earlier one: cuts that are used again are true, the optimum is the same, and steps are saved.

mod sums;

use bundlenet::problems::network_design::{Arc, Commodity};
use bundlenet::{
    Assignment, Family, FnOracle, Generator, Granularity, Journal, Limits, MethodName, NetworkDesign, Oracle, Problem,
    Settings, Silent, Solution, State, Status, Tolerances, ValidSettings, solve, solve_from, solve_saving,
};
use sums::{Stream, Sum};

fn settings(cuts: Granularity, gap: f64) -> ValidSettings {
    let limits = Limits { steps: Some(5000), ..Limits::default() };
    Settings { limits, tolerances: Tolerances { gap }, cuts, ..Settings::default() }.check().unwrap()
}

fn go_on(oracle: &mut dyn Oracle, state: &mut State, settings: &ValidSettings) -> Solution {
    solve_from(oracle, state, settings, &mut Silent, None).unwrap()
}

fn random_point(stream: &mut Stream, dim: usize, size: f64) -> Vec<f64> {
    (0..dim).map(|_| size * stream.normal().abs()).collect()
}

/// The cuts of a state never exceed the function they are said to be of (fall below it, where it is maximised).
fn assert_cuts_hold(oracle: &mut dyn Oracle, state: &State, points: &[Vec<f64>]) {
    let sign = oracle.sense().sign();
    let mut subgradient = vec![0.0; oracle.dim()];
    let mut minorants = bundlenet::Minorants::new();
    for point in points {
        let whole = oracle.evaluate(point, &mut subgradient).unwrap();
        minorants.clear();
        oracle.as_sum().unwrap().evaluate_components(point, &mut minorants).unwrap();
        for cut in state.cuts() {
            let value = cut.component.map_or(whole, |component| minorants.values()[component]);
            let size = cut.slope.iter().map(|&(at, entry)| (entry * point[at as usize]).abs()).sum::<f64>();
            let above = sign * (cut.value(point) - value);
            // What both are computed from is good to some 1e-15 of its size.
            assert!(above <= 1e-9 * (1.0 + size + value.abs()), "{cut:?} is {above:e} above");
        }
    }
}

#[track_caller]
fn assert_close(a: &Solution, b: &Solution, tolerance: f64) {
    let gap = (a.value - b.value).abs() / a.value.abs().max(1.0);
    assert!(gap <= tolerance, "{} ({:?}) and {} ({:?})", a.value, a.status, b.value, b.status);
}

#[test]
fn sums_that_change_are_solved_from_what_is_left() {
    let mut stream = Stream(5);
    for cuts in [Granularity::Component, Granularity::Aggregated, Granularity::Auto, Granularity::Groups(3)] {
        let settings = settings(cuts, 1e-8);
        for _ in 0..60 {
            let mut sum = Sum::random(&mut stream);
            let points: Vec<Vec<f64>> = (0..5).map(|_| random_point(&mut stream, sum.dim(), 3.0)).collect();
            let mut state = State::new();
            go_on(&mut sum, &mut state, &settings);
            assert_cuts_hold(&mut sum, &state, &points);
            let same = go_on(&mut sum, &mut state.clone(), &settings);
            if let Some(reuse) = &same.reuse {
                assert_eq!((reuse.changed(), reuse.reused()), (0, reuse.total()), "{reuse}");
            }
            // The bounds of some lines change, and the linear part.
            let changed: Vec<usize> = (0..sum.components.len()).filter(|_| stream.below(4) == 0).collect();
            for &component in &changed {
                sum.components[component][0].1 += stream.normal();
            }
            sum.linear[0] += 0.5;
            let scratch = solve(&mut sum, None, &settings, &mut Silent, None).unwrap();
            let again = go_on(&mut sum, &mut state, &settings);
            assert_close(&scratch, &again, 1e-6);
            assert_cuts_hold(&mut sum, &state, &points);
            if cuts == Granularity::Component
                && let Some(reuse) = again.reuse
            {
                let found: Vec<usize> =
                    (0..reuse.components.len()).filter(|&at| reuse.components[at].is_changed).collect();
                assert_eq!(found, changed);
            }
        }
    }
}

/// Multipliers come and go: the function as it is where they are 0, and the one with a new variable in some lines.
#[test]
fn multipliers_are_removed_and_added() {
    let mut stream = Stream(17);
    for cuts in [Granularity::Component, Granularity::Aggregated] {
        let settings = settings(cuts, 1e-8);
        for _ in 0..60 {
            let mut larger = Sum::random(&mut stream);
            if larger.dim() == 1 {
                continue;
            }
            // The smaller one does not have the last multiplier. Its components are the same otherwise.
            let last = larger.dim() as u32 - 1;
            let mut smaller = larger.clone();
            smaller.linear.pop();
            for (slope, _) in smaller.components.iter_mut().flatten() {
                slope.retain(|(at, _)| *at != last);
            }
            let mut state = State::new();
            go_on(&mut larger, &mut state, &settings);
            let (all, value) = (state.cut_count(), state.value());
            assert!(value.is_some());
            let mut removed = state.clone();
            removed.remove_multipliers(&[last as usize]);
            assert_eq!((removed.point(), removed.value()), (&state.point()[..last as usize], None));
            assert_eq!(removed.cut_count(), all);
            let points: Vec<Vec<f64>> = (0..5).map(|_| random_point(&mut stream, smaller.dim(), 3.0)).collect();
            assert_cuts_hold(&mut smaller, &removed, &points);
            removed.trust_cuts();
            let scratch = solve(&mut smaller, None, &settings, &mut Silent, None).unwrap();
            let again = go_on(&mut smaller, &mut removed, &settings);
            assert_eq!(again.reuse.as_ref().map_or(0, |reuse| reuse.reused()), all);
            assert_close(&scratch, &again, 1e-6);
            // And back: what a cut has in the new coordinate is known from the line it is.
            let linear = larger.linear[last as usize];
            removed.add_multipliers(1, |cut| {
                let component = cut.component?;
                let mut lines = larger.components[component].iter().filter(|(slope, height)| {
                    let short: Vec<_> = slope.iter().filter(|(at, _)| *at != last).collect();
                    let is_same = short.len() == cut.slope.len()
                        && short.iter().zip(&cut.slope).all(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() < 1e-9);
                    is_same && (height - cut.constant).abs() < 1e-9
                });
                let line = lines.next().filter(|_| lines.next().is_none())?;
                Some(vec![line.0.iter().filter(|(at, _)| *at == last).map(|(_, entry)| entry).sum()])
            });
            let points: Vec<Vec<f64>> = (0..5).map(|_| random_point(&mut stream, larger.dim(), 3.0)).collect();
            assert_cuts_hold(&mut larger, &removed, &points);
            removed.trust_cuts();
            let scratch = solve(&mut larger, None, &settings, &mut Silent, None).unwrap();
            assert_close(&scratch, &go_on(&mut larger, &mut removed, &settings), 1e-6);
            assert!(linear.is_finite());
        }
    }
}

/// A share of the arcs or bins, at least one, with other data: all kinds of change.
fn changed(problem: &Problem, share: f64, stream: &mut Stream) -> Problem {
    match problem {
        Problem::NetworkDesign(instance) => {
            let mut arcs: Vec<Arc> = instance.arcs().to_vec();
            let mut commodities: Vec<Commodity> = instance.commodities().to_vec();
            let mut costs: Vec<f64> = (0..arcs.len()).flat_map(|arc| instance.routing_costs(arc).to_vec()).collect();
            let count = ((share * arcs.len() as f64).round() as usize).max(1);
            for _ in 0..count {
                let arc = stream.below(arcs.len());
                match stream.below(5) {
                    // Open already, closed for ever, and three changes that are not so simple.
                    0 => arcs[arc].fixed_cost = 0.0,
                    1 => arcs[arc].fixed_cost = 1e7,
                    2 => arcs[arc].capacity *= 0.7,
                    3 => arcs[arc].capacity *= 1.4,
                    _ => costs[arc * commodities.len() + stream.below(commodities.len())] *= 1.5,
                }
            }
            if stream.below(4) == 0 {
                commodities[0].demand *= 0.9;
            }
            let nodes = instance.nodes();
            Problem::NetworkDesign(NetworkDesign::new(nodes, arcs, commodities, costs).unwrap())
        }
        Problem::Assignment(instance) => {
            let (bins, items) = (instance.bins(), instance.items());
            let mut capacities = instance.capacities().to_vec();
            let mut profits: Vec<f64> = (0..bins).flat_map(|bin| instance.profits(bin).to_vec()).collect();
            let mut weights: Vec<u32> = (0..bins).flat_map(|bin| instance.weights(bin).to_vec()).collect();
            for _ in 0..((share * bins as f64).round() as usize).max(1) {
                let (bin, item) = (stream.below(bins), stream.below(items));
                match stream.below(4) {
                    // An item is kept out; it is worth more, or less; the bin is smaller, or larger.
                    0 => weights[bin * items + item] = capacities[bin] + 1,
                    1 => profits[bin * items + item] += 10.0 * stream.normal().round(),
                    2 => capacities[bin] -= capacities[bin] / 20,
                    _ => capacities[bin] += 5,
                }
            }
            Problem::Assignment(Assignment::new(instance.sense(), items, capacities, profits, weights).unwrap())
        }
    }
}

/// Instances whose data change: cuts hold, the optimum is the same, certificates are true, and steps are saved.
#[test]
fn instances_that_change_are_solved_in_fewer_steps() {
    let mut stream = Stream(23);
    let count = if std::env::var_os("BUNDLENET_ALL").is_some() { 40 } else { 6 };
    for (family, size) in [(Family::McSml40, 5.0), (Family::Ga10x100, 50.0)] {
        for method in [MethodName::Auto, MethodName::Hybrid] {
            let settings = Settings { method, ..Settings::default() }.check().unwrap();
            // Steps from scratch and from the state of the instance before the change.
            let mut steps = [[0, 0]; 3];
            let mut reused = [[0, 0]; 3];
            for index in 0..count {
                let problem = Generator::new(family, 3).instance(index).unwrap().problem;
                let mut state = State::new();
                go_on(&mut *problem.dual(), &mut state, &settings);
                for (place, share) in [0.01, 0.05, 0.2].into_iter().enumerate() {
                    let changed = changed(&problem, share, &mut stream);
                    let mut dual = changed.dual();
                    let scratch = solve(&mut *dual, None, &settings, &mut Silent, None).unwrap();
                    let mut state = state.clone();
                    let again = go_on(&mut *dual, &mut state, &settings);
                    assert_close(&scratch, &again, 1e-6);
                    let better = if dual.sense().sign() > 0.0 {
                        again.value - scratch.value
                    } else {
                        scratch.value - again.value
                    };
                    let certificate = again.certificate.unwrap_or(f64::INFINITY);
                    assert!(certificate >= better / scratch.value.abs() - 1e-12, "{certificate:e}");
                    let points: Vec<Vec<f64>> = (0..3).map(|_| random_point(&mut stream, dual.dim(), size)).collect();
                    assert_cuts_hold(&mut *dual, &state, &points);
                    steps[place] = [steps[place][0] + scratch.steps, steps[place][1] + again.steps];
                    let reuse = again.reuse.unwrap();
                    reused[place] = [reused[place][0] + reuse.reused(), reused[place][1] + reuse.total()];
                }
            }
            println!("{family:?} {method:?}: steps {steps:?} of {count} instances, cuts {reused:?}");
            if method == MethodName::Auto {
                for [scratch, again] in steps {
                    assert!(2 * again < scratch, "{family:?}: {again} steps, from scratch {scratch}");
                }
            }
        }
    }
}

#[test]
fn false_cuts_are_found_out() {
    let mut stream = Stream(41);
    let settings = settings(Granularity::Component, 1e-8);
    let mut found = 0;
    for _ in 0..50 {
        let mut sum = Sum::random(&mut stream);
        let mut state = State::new();
        go_on(&mut sum, &mut state, &settings);
        // Every component falls: at the point where the run begins, too.
        sum.components.iter_mut().flatten().for_each(|(_, height)| *height -= 1.0);
        state.trust_cuts();
        let again = go_on(&mut sum, &mut state, &settings);
        assert_close(&solve(&mut sum, None, &settings, &mut Silent, None).unwrap(), &again, 1e-6);
        found += again.reuse.map_or(0, |reuse| reuse.changed());
    }
    assert!(found > 100, "{found}");
}

/// What a journal holds after each step is what the run knows, wherever the file is cut off.
#[test]
fn a_journal_can_be_cut_off_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    for family in [Family::McSml40, Family::Ga10x100] {
        let problem = Generator::new(family, 8).instance(0).unwrap().problem;
        for method in [MethodName::Auto, MethodName::Hybrid, MethodName::Network, MethodName::Adam] {
            let limits = Limits { steps: Some(60), ..Limits::default() };
            let settings = Settings { method, limits, ..Settings::default() }.check().unwrap();
            let mut lengths = vec![];
            let mut observer = |record: &bundlenet::Record| {
                let state = State::read(&path).unwrap();
                assert_eq!((state.steps(), state.value()), (record.step, Some(record.best)));
                lengths.push(std::fs::metadata(&path).unwrap().len());
                std::ops::ControlFlow::Continue(())
            };
            let mut state = State::new();
            let mut journal = Journal::create(&path).unwrap();
            let mut dual = problem.dual();
            let solution = solve_saving(&mut *dual, &mut state, &mut journal, &settings, &mut observer, None).unwrap();
            journal.finish().unwrap();
            let stored = State::read(&path).unwrap();
            assert_eq!((stored.point(), stored.value()), (state.point(), Some(solution.value)));
            assert!(stored.cut_count() >= state.cut_count());
            let points = [random_point(&mut Stream(1), dual.dim(), 10.0)];
            assert_cuts_hold(&mut *dual, &stored, &points);
            let bytes = std::fs::read(&path).unwrap();
            let whole = lengths.iter().copied().filter(|length| *length <= bytes.len() as u64).max().unwrap();
            assert_eq!(whole, bytes.len() as u64);
            for cut in (0..200).map(|_| 1 + Stream(bytes.len() as u64).below(bytes.len() - 1)) {
                let kept = State::parse("cut off", &bytes[..bytes.len() - cut]);
                assert!(kept.is_ok_and(|kept| kept.steps() < solution.steps) || cut > 100);
            }
            // Going on needs no more than what was left to do.
            let settings =
                Settings { method, limits: Limits { steps: Some(3000), ..Limits::default() }, ..Settings::default() };
            if method == MethodName::Auto {
                let again = go_on(&mut *dual, &mut stored.clone(), &settings.check().unwrap());
                assert_eq!(again.status, Status::Optimal);
            }
        }
    }
}

#[test]
fn bad_files_get_clear_errors() {
    let problem = Generator::new(Family::Ga10x100, 8).instance(0).unwrap().problem;
    let mut state = State::new();
    let limits = Limits { steps: Some(5), ..Limits::default() };
    go_on(&mut *problem.dual(), &mut state, &Settings { limits, ..Settings::default() }.check().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    state.save(&path).unwrap();
    assert_eq!(State::read(&path).unwrap(), state);
    let bytes = std::fs::read(&path).unwrap();
    assert!(State::is_state(&bytes));
    let message = |bytes: &[u8]| State::parse("s", bytes).unwrap_err().to_string();
    assert!(message(b"[1, 2]").contains("expected a state, which begins with \"bundlenet state\""));
    let mut other = bytes.clone();
    other[16] = 9;
    assert!(message(&other).contains("expected version 1 of a state, found version 9"), "{}", message(&other));
    assert!(message(&bytes[..40]).contains("damaged"));
    // No change of a byte gets through, and none makes the reader panic.
    let mut stream = Stream(3);
    for _ in 0..2000 {
        let mut other = bytes.clone();
        let at = stream.below(other.len());
        other[at] ^= 1 << stream.below(8);
        assert!(State::parse("s", &other).is_err(), "byte {at}");
    }
    assert!(Journal::create(folder.path()).is_err());
    assert!(Journal::create(folder.path().join("none/state")).is_err());
    let wrong = solve_from(
        &mut *Generator::new(Family::McSml40, 8).instance(0).unwrap().problem.dual(),
        &mut state.clone(),
        &Settings::default().check().unwrap(),
        &mut Silent,
        None,
    );
    assert!(wrong.unwrap_err().to_string().contains("expected 800, found 100"));
}

/// All lines of a sum, so many times as steep and high.
fn times(sum: &Sum, factor: f64) -> Sum {
    let mut scaled = sum.clone();
    scaled.linear.iter_mut().for_each(|entry| *entry *= factor);
    for (slope, height) in scaled.components.iter_mut().flatten() {
        slope.iter_mut().for_each(|(_, entry)| *entry *= factor);
        *height *= factor;
    }
    scaled
}

/// The stop test and the length of steps go by the scale of the function: that of another one is not taken over.
#[test]
fn a_scale_is_not_taken_over_blindly() {
    let settings = Settings { limits: Limits { steps: Some(1000), ..Limits::default() }, ..Settings::default() };
    let settings = settings.check().unwrap();
    // Nothing proves the optimum of a function that is no sum: a wrong scale goes unnoticed.
    let steep = |factor: f64, shift: f64| {
        FnOracle::new(5, move |point: &[f64], subgradient: &mut [f64]| {
            let ways: Vec<f64> = point.iter().zip(1..).map(|(at, index)| at - shift * f64::from(index)).collect();
            for (index, (entry, way)) in subgradient.iter_mut().zip(&ways).enumerate() {
                *entry = factor * (1.0 + index as f64) * way.signum();
            }
            Ok(factor * ways.iter().zip(1..).map(|(way, weight)| f64::from(weight) * way.abs()).sum::<f64>())
        })
    };
    for (before, after) in [(1e9, 1.0), (1e-9, 1.0), (1e6, 1e-1)] {
        let mut state = State::new();
        solve_from(&mut steep(before, 1.0), &mut state, &settings, &mut Silent, None).unwrap();
        let warm = solve_from(&mut steep(after, 3.0), &mut state, &settings, &mut Silent, None).unwrap();
        assert!(warm.value < 1e-5, "{before} {after}: {} {}", warm.status, warm.value);
    }
}

/// A run without cuts leaves those of before only if they are of the same function: nobody may take them for its own.
#[test]
fn cuts_of_another_function_do_not_stay() {
    let mut sum = Sum::random(&mut Stream(3));
    let run = |sum: &mut Sum, method: MethodName, state: &mut State| {
        let limits = Limits { steps: Some(30), ..Limits::default() };
        let settings = Settings { method, limits, ..Settings::default() }.check().unwrap();
        solve_from(sum, state, &settings, &mut Silent, None).unwrap();
    };
    let mut state = State::new();
    run(&mut sum, MethodName::Bundle, &mut state);
    let count = state.cut_count();
    run(&mut sum, MethodName::Adam, &mut state);
    assert!(count > 0 && state.cut_count() == count);
    run(&mut times(&sum, 0.5), MethodName::Adam, &mut state);
    assert_eq!(state.cut_count(), 0);
}
