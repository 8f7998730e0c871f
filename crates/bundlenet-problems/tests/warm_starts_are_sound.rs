//! Runs from the state of an earlier run: reused cuts are valid, the optimum is the same, and steps are saved.

use bundlenet::{
    AutoSettings, BundleSettings, Cuts, FnOracle, HybridSettings, Journal, Limits, Method, NetworkSettings, Oracle,
    OracleError, PrimalOracle, Settings, Solution, Solutions, Solver, State, Status, StepSettings,
};
use bundlenet_problems::facility_location::Site;
use bundlenet_problems::{FacilityLocation, Family, Generator};
use bundlenet_testing::changes::changed;
use bundlenet_testing::stream;
use bundlenet_testing::sums::{Stream, Sum};

fn bundle(cuts: Cuts) -> Method {
    Method::Bundle(BundleSettings { cuts, ..BundleSettings::default() })
}

fn auto() -> Method {
    Method::Auto(AutoSettings::default())
}

fn hybrid() -> Method {
    Method::Hybrid(HybridSettings::default())
}

/// A method to a gap of 1e-8.
fn settings(method: Method) -> Settings {
    let limits = Limits { steps: Some(5000), ..Limits::default() };
    Settings { method, limits, tolerance: 1e-8, ..Settings::default() }
}

fn solve(oracle: &mut dyn Oracle, settings: &Settings) -> Solution {
    go_on(oracle, &mut State::new(), settings)
}

fn go_on(oracle: &mut dyn Oracle, state: &mut State, settings: &Settings) -> Solution {
    Solver::new(settings.clone()).unwrap().state(state).solve(oracle).unwrap()
}

fn random_point(stream: &mut Stream, dim: usize, size: f64) -> Vec<f64> {
    (0..dim).map(|_| size * stream.normal().abs()).collect()
}

/// A cut of a state never exceeds its function (never falls below it, for one to maximise).
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
            // Both are exact up to some 1e-15 of the numbers they are computed from.
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
    let mut stream = stream(5);
    for method in [bundle(Cuts::Component), bundle(Cuts::Aggregated), auto()] {
        let has_components = method != bundle(Cuts::Aggregated);
        let settings = settings(method);
        for _ in 0..60 {
            let mut sum = Sum::random(&mut stream);
            let points: Vec<Vec<f64>> = (0..5).map(|_| random_point(&mut stream, sum.dim(), 3.0)).collect();
            let mut state = State::new();
            go_on(&mut sum, &mut state, &settings);
            assert_cuts_hold(&mut sum, &state, &points);
            assert!(state.cuts().all(|cut| cut.component.is_some() == has_components));
            let same = go_on(&mut sum, &mut state.clone(), &settings);
            assert_eq!(same.reuse.as_ref().map_or(0, |reuse| reuse.total()), state.cut_count());
            if let Some(reuse) = &same.reuse {
                assert_eq!((reuse.changed(), reuse.reused()), (0, reuse.total()), "{reuse}");
            }
            // The bounds of some lines change, and the linear part.
            let changed: Vec<usize> = (0..sum.components.len()).filter(|_| stream.below(4) == 0).collect();
            for &component in &changed {
                sum.components[component][0].1 += stream.normal();
            }
            sum.linear[0] += 0.5;
            let scratch = solve(&mut sum, &settings);
            let again = go_on(&mut sum, &mut state, &settings);
            assert_close(&scratch, &again, 1e-6);
            assert_cuts_hold(&mut sum, &state, &points);
            if has_components && let Some(reuse) = again.reuse {
                let found: Vec<usize> =
                    (0..reuse.components.len()).filter(|&at| reuse.components[at].is_changed).collect();
                assert_eq!(found, changed);
            }
        }
    }
}

/// A multiplier is removed, which fixes it at 0, and added again.
#[test]
fn multipliers_are_removed_and_added() {
    let mut stream = stream(17);
    for (cuts, primal) in [(Cuts::Component, false), (Cuts::Component, true), (Cuts::Aggregated, true)] {
        let settings = Settings { primal, ..settings(bundle(cuts)) };
        let primals = |state: &State| state.cuts().map(|cut| cut.primal).collect::<Vec<_>>();
        for _ in 0..60 {
            let mut larger = Sum::random(&mut stream);
            if larger.dim() == 1 {
                continue;
            }
            // The smaller function lacks the last multiplier. Its components are the same otherwise.
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
            assert_eq!(primals(&removed), primals(&state));
            let points: Vec<Vec<f64>> = (0..5).map(|_| random_point(&mut stream, smaller.dim(), 3.0)).collect();
            assert_cuts_hold(&mut smaller, &removed, &points);
            removed.trust_cuts();
            let scratch = solve(&mut smaller, &settings);
            let again = go_on(&mut smaller, &mut removed, &settings);
            assert_eq!(again.reuse.as_ref().map_or(0, |reuse| reuse.reused()), all);
            assert_close(&scratch, &again, 1e-6);
            // And back: the line of a cut has its entry in the new coordinate.
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
            assert!(primals(&removed).iter().all(|of_cut| of_cut.is_some() == primal));
            let points: Vec<Vec<f64>> = (0..5).map(|_| random_point(&mut stream, larger.dim(), 3.0)).collect();
            assert_cuts_hold(&mut larger, &removed, &points);
            removed.trust_cuts();
            let scratch = solve(&mut larger, &settings);
            assert_close(&scratch, &go_on(&mut larger, &mut removed, &settings), 1e-6);
        }
    }
}

#[test]
fn facility_locations_that_change_are_solved_from_what_is_left() {
    let mut stream = stream(29);
    let settings = settings(bundle(Cuts::Component));
    let mut repriced = 0;
    // Steps of cold starts and of warm starts.
    let mut steps = [0, 0];
    for index in 0..6 {
        let problem = Generator::new(Family::Cfl20x50, 3).instance(index).unwrap().problem;
        let mut state = State::new();
        go_on(&mut *problem.dual(), &mut state, &settings);
        for share in [0.05, 0.3] {
            let changed = changed(&problem, share, &mut stream);
            let mut dual = changed.dual();
            let scratch = solve(&mut *dual, &settings);
            let mut state = state.clone();
            let again = go_on(&mut *dual, &mut state, &settings);
            assert_close(&scratch, &again, 1e-6);
            let points: Vec<Vec<f64>> = (0..3).map(|_| random_point(&mut stream, dual.dim(), 30_000.0)).collect();
            assert_cuts_hold(&mut *dual, &state, &points);
            assert!(again.steps <= scratch.steps, "{} and {}", again.steps, scratch.steps);
            steps = [steps[0] + scratch.steps, steps[1] + again.steps];
            repriced += again.reuse.map_or(0, |reuse| reuse.repriced());
        }
    }
    assert!(repriced > 0 && 2 * steps[1] < steps[0], "{steps:?}");
}

/// After a change of the data cuts are valid, the optimum is that of a cold start, certificates are true, and steps are saved.
#[test]
fn instances_that_change_are_solved_in_fewer_steps() {
    let mut stream = stream(23);
    let count = if std::env::var_os("BUNDLENET_ALL").is_some() { 40 } else { 6 };
    for (family, size) in [(Family::McSml40, 5.0), (Family::Ga10x100, 50.0)] {
        for method in [auto(), hybrid()] {
            let has_components = method == auto();
            // Without a proof the stop test is an estimate, which can be an order of magnitude low: it has to be tighter.
            let tolerance = if has_components { 1e-7 } else { 1e-9 };
            let settings = Settings { method, tolerance, ..Settings::default() };
            // Steps of cold starts and of warm starts.
            let mut steps = [[0, 0]; 3];
            let mut reused = [[0, 0]; 3];
            for index in 0..count {
                let problem = Generator::new(family, 3).instance(index).unwrap().problem;
                let mut state = State::new();
                let first = go_on(&mut *problem.dual(), &mut state, &settings);
                assert!(first.network_seconds > 0.0);
                assert!(state.cuts().all(|cut| cut.component.is_some() == has_components));
                for (place, share) in [0.01, 0.05, 0.2].into_iter().enumerate() {
                    let changed = changed(&problem, share, &mut stream);
                    let mut dual = changed.dual();
                    let scratch = solve(&mut *dual, &settings);
                    let mut state = state.clone();
                    let again = go_on(&mut *dual, &mut state, &settings);
                    let is_proved = scratch.certificate.is_some() && again.certificate.is_some();
                    assert!(is_proved || !has_components);
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
            let name = settings.method.name();
            println!("{family:?} {name}: steps {steps:?} of {count} instances, cuts {reused:?}");
            if has_components {
                for [scratch, again] in steps {
                    assert!(2 * again < scratch, "{family:?}: {again} steps, from scratch {scratch}");
                }
            }
        }
    }
}

#[test]
fn false_cuts_are_found_out() {
    let mut stream = stream(41);
    let settings = settings(bundle(Cuts::Component));
    let mut found = 0;
    for _ in 0..50 {
        let mut sum = Sum::random(&mut stream);
        let mut state = State::new();
        go_on(&mut sum, &mut state, &settings);
        // Every component becomes lower, also at the start of the next run.
        sum.components.iter_mut().flatten().for_each(|(_, height)| *height -= 1.0);
        state.trust_cuts();
        let again = go_on(&mut sum, &mut state, &settings);
        assert_close(&solve(&mut sum, &settings), &again, 1e-6);
        found += again.reuse.map_or(0, |reuse| reuse.changed());
    }
    assert!(found > 100, "{found}");
}

/// A journal holds the state of the run after each step. A file that is cut off holds the state after its last whole record.
#[test]
fn a_journal_can_be_cut_off_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    let network = || Method::Network(NetworkSettings::default());
    let adam = || Method::Adam(StepSettings::default());
    let mut random = stream(29);
    for family in [Family::McSml40, Family::Ga10x100] {
        let problem = Generator::new(family, 8).instance(0).unwrap().problem;
        let ways = [(auto(), false), (auto(), true), (hybrid(), true), (network(), false), (adam(), false)];
        for (method, primal) in ways {
            let limits = Limits { steps: Some(60), ..Limits::default() };
            let settings = Settings { method, limits, primal, ..Settings::default() };
            let solver = Solver::new(settings.clone()).unwrap();
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
            let solver = solver.state(&mut state).journal(&mut journal).observe(&mut observer);
            let solution = solver.solve(&mut *dual).unwrap();
            journal.finish().unwrap();
            let stored = State::read(&path).unwrap();
            assert_eq!((stored.point(), stored.value()), (state.point(), Some(solution.value)));
            assert!(stored.cut_count() >= state.cut_count());
            // Every cut that is left is in the file, with its primal solution.
            for cut in stored.cuts().chain(state.cuts()) {
                assert_eq!(cut.primal.is_some(), primal);
                let error = cut.primal.map_or(0.0, |primal| primal.cost - cut.constant);
                assert!(error.abs() <= 1e-9 * (1.0 + cut.constant.abs()), "{error}");
            }
            let points = [random_point(&mut random, dual.dim(), 10.0)];
            assert_cuts_hold(&mut *dual, &stored, &points);
            let bytes = std::fs::read(&path).unwrap();
            // Every step has appended a record, so that the lengths tell which records are whole.
            assert!(lengths.is_sorted_by(|a, b| a < b) && lengths.last() == Some(&(bytes.len() as u64)));
            for _ in 0..200 {
                let length = random.below(bytes.len());
                let whole = lengths.partition_point(|&end| end <= length as u64);
                let kept = State::from_bytes(&bytes[..length]);
                assert_eq!(kept.ok().map(|kept| kept.steps()), whole.checked_sub(1), "{length} bytes");
            }
            if settings.method == auto() {
                let limits = Limits { steps: Some(3000), ..Limits::default() };
                let again = go_on(&mut *dual, &mut stored.clone(), &Settings { limits, ..settings });
                assert_eq!(again.status, Status::Optimal);
                assert!(again.reuse.is_some_and(|reuse| reuse.reused() == reuse.total()));
            }
        }
    }
}

/// A file of version 1, as the program has written it, has no primal solutions.
#[test]
fn files_of_version_1_are_read() {
    let state = State::from_bytes(include_bytes!("states/version_1")).unwrap();
    assert_eq!((state.steps(), state.damage(), state.point().len()), (3, None, 3));
    assert!(state.cut_count() > 2 && state.cuts().all(|cut| cut.primal.is_none()));
    let sites = [(5.0, 10.0), (9.0, 20.0)].map(|(capacity, fixed_cost)| Site { capacity, fixed_cost });
    let costs = vec![1.0, 3.0, 5.0, 2.0, 4.0, 6.0];
    let instance = FacilityLocation::new(sites.to_vec(), vec![4.0, 0.0, 2.0], costs);
    let mut dual = bundlenet_problems::FacilityLocationDual::new(&instance.unwrap());
    let limits = Limits { steps: Some(300), ..Limits::default() };
    let settings = |primal| Settings { primal, limits: limits.clone(), ..Settings::default() };
    let cold = solve(&mut dual, &settings(false));
    for primal in [false, true] {
        let warm = go_on(&mut dual, &mut state.clone(), &settings(primal));
        assert_close(&warm, &cold, 1e-6);
        let reuse = warm.reuse.unwrap();
        let expected = if primal { (0, reuse.total()) } else { (reuse.total(), 0) };
        assert_eq!(
            (reuse.reused(), reuse.without_primal(), reuse.total()),
            (expected.0, expected.1, state.cut_count())
        );
    }
}

#[test]
fn states_round_trip_through_bytes() {
    let mut stream = stream(37);
    for index in 0..60 {
        let mut sum = Sum::random(&mut stream);
        sum.is_whole = index % 3 == 0;
        let mut state = if index == 0 { State::new() } else { State::at(&vec![0.5; sum.dim()]) };
        for (cuts, primal) in [(Cuts::Component, true), (Cuts::Component, false), (Cuts::Aggregated, true)] {
            let limits = Limits { steps: Some(stream.below(6)), ..Limits::default() };
            let settings = Settings { limits, primal, ..settings(bundle(cuts)) };
            go_on(&mut sum, &mut state, &settings);
            if stream.below(3) == 0 {
                state.trust_cuts();
            }
            let again = State::from_bytes(&state.to_bytes()).unwrap();
            assert_eq!(again, state);
            let (mut first, mut second) = (state.clone(), again);
            let solutions = [&mut first, &mut second].map(|state| go_on(&mut sum, state, &settings));
            assert_eq!(solutions[0].value, solutions[1].value);
            assert_eq!((&solutions[0].primal, &solutions[0].reuse), (&solutions[1].primal, &solutions[1].reuse));
            assert_eq!(first, second);
        }
    }
    let message = State::from_bytes(b"[1, 2]").unwrap_err().to_string();
    assert!(message.starts_with("bytes of a state: expected a state, which begins with"), "{message}");
}

#[test]
fn bad_files_get_clear_errors() {
    let problem = Generator::new(Family::Ga10x100, 8).instance(0).unwrap().problem;
    let mut state = State::new();
    let limits = Limits { steps: Some(5), ..Limits::default() };
    go_on(&mut *problem.dual(), &mut state, &Settings { limits, primal: true, ..Settings::default() });
    assert!(state.cuts().all(|cut| cut.primal.is_some()));
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
    assert!(message(&other).contains("expected version 1 or 2 of a state, found version 9"), "{}", message(&other));
    assert!(message(&bytes[..40]).contains("damaged"));
    // A changed bit is always noticed, and never makes the reader panic.
    let mut stream = stream(3);
    for _ in 0..2000 {
        let mut other = bytes.clone();
        let at = stream.below(other.len());
        other[at] ^= 1 << stream.below(8);
        assert!(State::parse("s", &other).is_err(), "byte {at}");
    }
    assert!(Journal::create(folder.path()).is_err());
    let _first = Journal::create(&path).unwrap();
    assert!(Journal::create(&path).is_err_and(|error| error.to_string().ends_with("is in use by another run")));
    assert!(Journal::create(folder.path().join("none/state")).is_err());
    let other = Generator::new(Family::McSml40, 8).instance(0).unwrap().problem;
    let wrong = Solver::new(Settings::default()).unwrap().state(&mut state).solve(&mut *other.dual());
    assert!(wrong.unwrap_err().to_string().contains("expected 800, found 100"));
}

/// `|x| + (y - 1)^2`, with the point as its solution.
struct Pair(Vec<f64>);

impl Oracle for Pair {
    fn dim(&self) -> usize {
        2
    }

    fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        self.0 = point.to_vec();
        subgradient.copy_from_slice(&[point[0].signum(), 2.0 * (point[1] - 1.0)]);
        Ok(point[0].abs() + (point[1] - 1.0).powi(2))
    }

    fn as_primal(&mut self) -> Option<&mut dyn PrimalOracle> {
        Some(self)
    }
}

impl PrimalOracle for Pair {
    fn write_solutions(&mut self, solutions: &mut Solutions) {
        // The value of the cut at the origin.
        solutions.push(1.0 - self.0[1].powi(2), [(3, self.0[0]), (7, self.0[1])]);
    }
}

/// The journal of a small run, and the length of the file after each step.
fn small_journal(primal: bool) -> (Vec<u8>, Vec<usize>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    let mut lengths = vec![];
    let mut observer = |_: &bundlenet::Record| {
        lengths.push(std::fs::metadata(&path).unwrap().len() as usize);
        std::ops::ControlFlow::Continue(())
    };
    let mut journal = Journal::create(&path).unwrap();
    let limits = Limits { steps: Some(6), ..Limits::default() };
    let settings = Settings { method: bundle(Cuts::Aggregated), limits, primal, ..Settings::default() };
    let solver = Solver::new(settings).unwrap();
    solver.start(&[3.0, -2.0]).journal(&mut journal).observe(&mut observer).solve(&mut Pair(vec![])).unwrap();
    journal.finish().unwrap();
    (std::fs::read(&path).unwrap(), lengths)
}

/// The content of a state, without the remark on its file.
fn content(state: &State) -> (usize, Option<f64>, Vec<f64>, Vec<bundlenet::Cut>) {
    (state.steps(), state.value(), state.point().to_vec(), state.cuts().collect())
}

/// Whether damaged bytes are refused, or are taken for the whole records before the damage, which is said.
fn is_noticed(bytes: &[u8], at: usize, lengths: &[usize], whole: &[State]) -> bool {
    match (State::parse("s", bytes), lengths.partition_point(|&end| end <= at)) {
        (Err(_), 0) => true,
        (Ok(state), count @ 1..) => state.damage().is_some() && content(&state) == content(&whole[count - 1]),
        _ => false,
    }
}

#[test]
fn every_flipped_bit_of_a_state_is_noticed() {
    for primal in [false, true] {
        flip_every_bit(primal);
    }
}

fn flip_every_bit(primal: bool) {
    let (bytes, lengths) = small_journal(primal);
    assert!(lengths.len() == 7 && lengths.last() == Some(&bytes.len()));
    let whole: Vec<State> = lengths.iter().map(|&end| State::parse("s", &bytes[..end]).unwrap()).collect();
    assert!(whole.iter().all(|state| state.damage().is_none()));
    assert!(whole.iter().flat_map(State::cuts).all(|cut| cut.primal.is_some() == primal));
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << bit;
            assert!(is_noticed(&flipped, at, &lengths, &whole), "bit {bit} of byte {at}");
        }
    }
    // Zeros, as a power failure leaves them: to the end, or in one place only.
    for at in 0..bytes.len() {
        for end in [bytes.len(), (at + 8).min(bytes.len())] {
            let mut zeros = bytes.clone();
            zeros[at..end].fill(0);
            // The first byte that is another one now.
            let first = zeros.iter().zip(&bytes).position(|(zero, byte)| zero != byte);
            assert!(first.is_none_or(|first| is_noticed(&zeros, first, &lengths, &whole)), "zeros from {at} to {end}");
        }
    }
}

#[test]
fn saves_at_the_same_time_leave_a_whole_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let state = State::at(&vec![f64::from(thread); 1000]);
            let path = &path;
            scope.spawn(move || (0..200).for_each(|_| state.save(path).unwrap()));
        }
    });
    assert!(State::read(&path).unwrap().damage().is_none());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// The sum times a factor.
fn times(sum: &Sum, factor: f64) -> Sum {
    let mut scaled = sum.clone();
    scaled.linear.iter_mut().for_each(|entry| *entry *= factor);
    for (slope, height) in scaled.components.iter_mut().flatten() {
        slope.iter_mut().for_each(|(_, entry)| *entry *= factor);
        *height *= factor;
    }
    scaled
}

/// The stop test and the step length depend on the scale of the function. The scale of a very different function is not used.
#[test]
fn a_scale_is_reused_only_if_it_is_close() {
    let settings = Settings { limits: Limits { steps: Some(1000), ..Limits::default() }, ..Settings::default() };
    // The optimum of a function that is no sum is not proved, so that no proof reveals a wrong scale.
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
        go_on(&mut steep(before, 1.0), &mut state, &settings);
        let warm = go_on(&mut steep(after, 3.0), &mut state, &settings);
        assert!(warm.value < 1e-5, "{before} {after}: {} {}", warm.status, warm.value);
    }
}

/// A method without cuts keeps the cuts of the state only if the function is the same.
#[test]
fn cuts_of_another_function_do_not_stay() {
    let mut sum = Sum::random(&mut stream(3));
    let adam = || Method::Adam(StepSettings::default());
    let run = |sum: &mut Sum, method: Method, state: &mut State| {
        let limits = Limits { steps: Some(30), ..Limits::default() };
        go_on(sum, state, &Settings { method, limits, ..Settings::default() });
    };
    let mut state = State::new();
    run(&mut sum, bundle(Cuts::Component), &mut state);
    let count = state.cut_count();
    run(&mut sum, adam(), &mut state);
    assert!(count > 0 && state.cut_count() == count);
    run(&mut times(&sum, 0.5), adam(), &mut state);
    assert_eq!(state.cut_count(), 0);
}
