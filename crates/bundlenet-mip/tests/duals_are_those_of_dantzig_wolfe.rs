//! The dual of random block programs has the value of their Dantzig-Wolfe program, and bounds their optimum.

mod common;

use std::sync::atomic::{AtomicBool, Ordering};

use bundlenet::{Oracle, Settings, Solver, State, Status, check, check_points};
use bundlenet_linalg::Stream;
use bundlenet_mip::{Blocks, Column, Kind, Model, Row, Scenario, Structure, TwoStage, Watch};
use bundlenet_testing::{cases, stream};

use common::{Case, random_case};

/// A solved dual of a linear program is within this of the truth, relative.
const CLOSE: f64 = 5e-6;

#[track_caller]
fn assert_solved(index: u64, case: &Case, blocks: &Blocks) {
    let (truth, sign) = (case.dual_value(), case.model.sense.sign());
    let settings = Settings { primal: true, ..Settings::default() };
    let mut dual = blocks.dual(Watch::default()).unwrap();
    let solution = Solver::new(settings).unwrap().solve(&mut dual).unwrap();
    // The gap of a run is within its tolerance and twice the width of the oracle's intervals; those of cuts may be
    // wider than that at the end.
    let mut end = blocks.dual(Watch::default()).unwrap();
    end.wish(0.0);
    let interval = end.evaluate_within(&solution.point, &mut vec![0.0; solution.point.len()]).unwrap();
    let (size, width) = (truth.abs().max(1.0), (interval.bound - interval.cut).abs());
    let (value, status) = (solution.value, solution.status);
    assert!((value - truth).abs() <= 1e-6 * size + 4.0 * width, "case {index}: {value} {truth} {width} {status}");
    assert!(width <= 1e-3 * size, "case {index}: {width}");
    // Weak duality.
    let optimum = case.optimum().unwrap();
    assert!(sign * solution.value <= sign * optimum + 1e-7 * size, "case {index}: {} {optimum}", solution.value);
    // The convex combination nearly satisfies the relaxed rows, at nearly the cost of the dual.
    if solution.status == Status::Optimal || solution.status == Status::Converged {
        let values = blocks.values(solution.primal.as_ref().unwrap());
        assert!(blocks.largest_violation(&values) <= 1e-2 * size, "case {index}");
        assert!((case.model.objective(&values) - truth).abs() <= 1e-2 * size, "case {index}");
    }
}

#[test]
fn values_agree() {
    let mut kinds = std::collections::BTreeSet::new();
    let mut copies = 0;
    for index in 0..u64::from(cases(150).cases) {
        let case = random_case(&mut stream(index));
        let blocks = Blocks::new(case.model.clone(), &case.structure()).unwrap();
        kinds.extend(blocks.blocks().iter().map(|block| block.kind()));
        copies += blocks.blocks().iter().filter(|block| block.multiplicity() > 1).count();
        assert_solved(index, &case, &blocks);
    }
    assert!(
        kinds.contains(&Kind::Knapsack) && kinds.contains(&Kind::Switch) && kinds.contains(&Kind::Mixed),
        "{kinds:?}"
    );
    assert!(copies > 0);
}

/// Own solvers and HiGHS agree: a row that says nothing turns a knapsack into a general block.
#[test]
fn knapsacks_agree_with_highs() {
    for index in 0..u64::from(cases(60).cases) {
        let case = random_case(&mut stream(1000 + index));
        let mut general = case.model.clone();
        for columns in &case.blocks {
            let entries: Vec<(usize, f64)> = columns.iter().map(|&column| (column, 1.0)).collect();
            general.rows.push(Row { name: "block".into(), lower: -1e4, upper: f64::INFINITY, entries });
        }
        let structure = Structure::of_pattern(&general, "^link").unwrap();
        let slow = Blocks::new(general, &structure).unwrap();
        let fast = Blocks::new(case.model.clone(), &case.structure()).unwrap();
        let duals = [&slow, &fast].map(|blocks| blocks.dual(Watch::default()).unwrap());
        let points = check_points(&duals[0], 5, index);
        let [mut slow, mut fast] = duals;
        let sign = fast.sense().sign();
        for point in &points {
            let mut gradient = vec![0.0; point.len()];
            let [slow, fast] = [slow.evaluate_within(point, &mut gradient), fast.evaluate_within(point, &mut gradient)];
            let (slow, fast) = (slow.unwrap(), fast.unwrap());
            let size = point.iter().fold(100.0, |most: f64, entry| most.max(100.0 * entry.abs()));
            // The interval of HiGHS holds the exact value.
            assert!(sign * slow.cut <= sign * fast.bound + 1e-9 * size, "case {index}: {slow:?} {fast:?}");
            assert!(sign * fast.cut <= sign * slow.bound + 1e-9 * size, "case {index}: {slow:?} {fast:?}");
            assert!((slow.bound - slow.cut).abs() <= 1e-3 * size, "case {index}: {slow:?}");
        }
    }
}

#[test]
fn oracles_keep_their_contract() {
    for index in 0..u64::from(cases(40).cases) {
        let case = random_case(&mut stream(2000 + index));
        let mut dual = Blocks::new(case.model.clone(), &case.structure()).unwrap().dual(Watch::default()).unwrap();
        let points = check_points(&dual, 6, index);
        let found = check(&mut dual, &points).unwrap();
        assert!(found.is_ok(), "case {index}: {found}");
    }
}

/// Continuous columns, free ones included: the dual of a linear program has its value.
#[test]
fn linear_programs_have_no_gap() {
    for index in 0..u64::from(cases(40).cases) {
        let mut case = random_case(&mut stream(3000 + index));
        case.model.columns.iter_mut().for_each(|column| column.is_integer = false);
        let blocks = Blocks::new(case.model.clone(), &case.structure()).unwrap();
        let truth = blocks.relaxation(Watch::default()).unwrap().unwrap();
        let solution =
            Solver::new(Settings::default()).unwrap().solve(&mut blocks.dual(Watch::default()).unwrap()).unwrap();
        let size = truth.bound.abs().max(1.0);
        assert!((solution.value - truth.bound).abs() <= CLOSE * size, "case {index}: {} {truth:?}", solution.value);
        // Duals of the relaxation are optimal multipliers.
        let mut dual = blocks.dual(Watch::default()).unwrap();
        let value = dual.evaluate(&truth.multipliers, &mut vec![0.0; truth.multipliers.len()]).unwrap();
        assert!((value - truth.bound).abs() <= CLOSE * size, "case {index}: {value} {truth:?}");
    }
}

fn column(name: &str, cost: f64, upper: f64, is_integer: bool) -> Column {
    Column { name: name.into(), cost, lower: 0.0, upper, is_integer }
}

fn row(name: &str, lower: f64, upper: f64, entries: &[(usize, f64)]) -> Row {
    Row { name: name.into(), lower, upper, entries: entries.to_vec() }
}

fn model(columns: Vec<Column>, rows: Vec<Row>) -> Model {
    Model { sense: bundlenet::Sense::Minimize, offset: 0.0, columns, rows }
}

#[track_caller]
fn error_of(model: Model) -> String {
    let structure = Structure::of_pattern(&model, "^link").unwrap();
    let found = Blocks::new(model, &structure).and_then(|blocks| {
        let mut dual = blocks.dual(Watch::default())?;
        let dim = dual.dim();
        dual.evaluate(&vec![0.0; dim], &mut vec![0.0; dim]).map_err(|error| bundlenet_mip::Error::Content {
            place: error.to_string(),
            expected: String::new(),
            found: String::new(),
        })
    });
    found.unwrap_err().to_string()
}

#[test]
fn bad_blocks_are_named() {
    let infinity = f64::INFINITY;
    let link = || row("link", 1.0, infinity, &[(0, 1.0)]);
    let unbounded = model(
        vec![column("x", -1.0, infinity, false), column("y", 1.0, infinity, false)],
        vec![row("own", 0.0, 0.0, &[(0, 1.0), (1, -2.0)]), link()],
    );
    let message = error_of(unbounded);
    assert!(message.contains("block of rows own") && message.contains("unbounded"), "{message}");
    let infeasible = model(
        vec![column("x", 1.0, 1.0, true), column("y", 1.0, 1.0, true)],
        vec![row("own", 3.0, infinity, &[(0, 1.0), (1, 1.0)]), link()],
    );
    let message = error_of(infeasible);
    assert!(message.contains("block of rows own") && message.contains("infeasible"), "{message}");
    let integer = model(
        vec![column("x", 1.0, infinity, true), column("y", 1.0, infinity, true)],
        vec![row("own", 0.0, infinity, &[(0, 1.0), (1, 1.0)]), link()],
    );
    let message = error_of(integer);
    assert!(message.contains("integer column") && message.contains("finite bounds"), "{message}");
    let second = row("link2", 1.0, infinity, &[(0, 1.0)]);
    let loose = model(vec![column("x", 1.0, infinity, false)], vec![link(), second]);
    let message = error_of(loose);
    assert!(message.contains("column x") && message.contains("finite bounds"), "{message}");
    let unbounded = model(vec![column("x", -1.0, infinity, false)], vec![link()]);
    let message = error_of(unbounded);
    assert!(message.contains("row link") && message.contains("bounded") && message.contains("column x"), "{message}");
    let unbounded = model(vec![column("x", 1.0, 1.0, true), column("y", -1.0, infinity, false)], vec![link()]);
    let message = error_of(unbounded);
    assert!(message.contains("column y") && message.contains("no row"), "{message}");
    let without_value = model(
        vec![Column { lower: 0.2, ..column("x", 1.0, 0.8, true) }, column("y", 1.0, 1.0, true)],
        vec![row("own", 0.0, infinity, &[(0, 1.0), (1, 1.0)]), link()],
    );
    let message = error_of(without_value);
    assert!(message.contains("integer column x") && message.contains("1 and 0"), "{message}");
    let empty = model(vec![column("x", 1.0, 1.0, true)], vec![row("own", 1.0, infinity, &[]), link()]);
    assert!(error_of(empty).contains("row own"));
}

/// Safe bounds are values of the dual, never beyond the optimum. Blocks of HiGHS have none.
#[test]
fn safe_bounds_are_values_of_the_dual() {
    let (mut exact, mut refused) = (0, 0);
    for index in 0..u64::from(cases(150).cases) {
        let mut case = random_case(&mut stream(6000 + index));
        case.model.offset = case.model.offset.round();
        let blocks = Blocks::new(case.model.clone(), &case.structure()).unwrap();
        let whole = match blocks.whole() {
            Ok(whole) => whole,
            Err(error) => {
                assert!(error.to_string().contains("HiGHS is not exact"), "case {index}: {error}");
                refused += 1;
                continue;
            }
        };
        let (mut dual, sign) = (blocks.dual(Watch::default()).unwrap(), case.model.sense.sign());
        let optimum = case.optimum().unwrap();
        for point in check_points(&dual, 5, index) {
            let bound = whole.safe_bound(&point).unwrap();
            let value = dual.evaluate(bound.multipliers(), &mut vec![0.0; point.len()]).unwrap();
            let size = value.abs().max(1.0);
            assert!((bound.value() - value).abs() <= 1e-12 * size, "case {index}: {bound} {value}");
            assert!(sign * bound.value() <= sign * optimum, "case {index}: {bound} {optimum}");
            exact += 1;
        }
    }
    assert!(exact > 0 && refused > 0, "{exact} {refused}");
}

#[test]
fn data_without_safe_bounds_are_named() {
    let knapsack = || row("own", f64::NEG_INFINITY, 3.0, &[(0, 2.0), (1, 2.0)]);
    let link = |entry: f64| row("link", 1.0, f64::INFINITY, &[(0, entry)]);
    let whole = || vec![column("x", 1.0, 1.0, true), column("y", 2.0, 1.0, true)];
    let cases = [
        (
            model(vec![column("x", 0.5, 1.0, true), column("y", 2.0, 1.0, true)], vec![knapsack(), link(1.0)]),
            "column x",
        ),
        (model(whole(), vec![knapsack(), link(0.5)]), "column x"),
        (model(whole(), vec![row("link", 0.5, f64::INFINITY, &[(0, 1.0)]), knapsack()]), "right side of row link"),
        (model(whole(), vec![row("own", f64::NEG_INFINITY, 3.0, &[(0, 0.5), (1, 2.0)]), link(1.0)]), "row own"),
        (model(vec![column("x", 1.0, 1.0, false)], vec![link(1.0)]), "an integer column"),
    ];
    for (model, expected) in cases {
        let structure = Structure::of_pattern(&model, "^link").unwrap();
        let message = Blocks::new(model, &structure).unwrap().whole().unwrap_err().to_string();
        assert!(message.contains(expected) && message.contains("safe bound"), "{message}");
    }
}

/// Infinite bounds are filled from the rows of blocks before those of relaxed rows, and whole columns get whole bounds.
#[test]
fn bounds_are_filled() {
    let infinity = f64::INFINITY;
    let model = model(
        vec![column("x", -1.0, infinity, true), column("y", -1.0, infinity, true), column("z", -1.0, infinity, false)],
        vec![
            row("own", -infinity, 7.0, &[(0, 2.0)]),
            row("link1", -infinity, 1.0, &[(0, 1.0)]),
            row("link2", -infinity, 9.5, &[(1, 2.0), (0, 1.0)]),
            row("link3", -12.0, infinity, &[(2, -3.0), (1, -1.0)]),
        ],
    );
    let structure = Structure::of_pattern(&model, "^link").unwrap();
    let blocks = Blocks::new(model, &structure).unwrap();
    let upper: Vec<f64> = blocks.model().columns.iter().map(|column| column.upper).collect();
    assert_eq!((upper, blocks.filled_bounds()), (vec![3.0, 4.0, 4.0], 3));
}

/// A bound that follows from a row whose terms are of very different sizes is right.
#[test]
fn large_terms_do_not_spoil_filled_bounds() {
    let infinity = f64::INFINITY;
    let model = model(
        vec![Column { lower: -1e17, ..column("x", -1.0, infinity, true) }, column("y", -1.0, 7.0, true)],
        vec![row("own", -infinity, 9.0, &[(0, 1.0), (1, 1.0)]), row("link", -infinity, 8.0, &[(0, 1.0)])],
    );
    let structure = Structure::of_pattern(&model, "^link").unwrap();
    assert_eq!(Blocks::new(model, &structure).unwrap().model().columns[0].upper, 9.0);
}

/// Columns between fractions take the whole values between them.
#[test]
fn integer_columns_have_whole_bounds() {
    let halves = |cost: f64| Column { lower: -1.5, ..column("x", cost, 2.5, true) };
    for (cost, value) in [(1.0, -1.0), (-1.0, -2.0)] {
        let model = model(vec![halves(cost)], vec![row("link", -9.0, f64::INFINITY, &[(0, 1.0)])]);
        let structure = Structure::of_pattern(&model, "^link").unwrap();
        let mut dual = Blocks::new(model, &structure).unwrap().dual(Watch::default()).unwrap();
        assert_eq!(dual.evaluate(&[0.0], &mut [0.0]).unwrap(), value);
    }
}

/// Columns without a bound in one relaxed row limit its multiplier: a need that may be missed, at a price for each unit.
/// The convex combination has the units that are missing.
#[test]
fn slacks_with_a_price_limit_multipliers() {
    let infinity = f64::INFINITY;
    for (need, price, value) in [(2.0, 9.0, 4.0), (5.0, 9.0, 25.0), (5.0, 1.0, 5.0)] {
        for sense in [bundlenet::Sense::Minimize, bundlenet::Sense::Maximize] {
            let mut model = model(
                vec![
                    column("x", 2.0, 2.0, true),
                    column("y", 3.0, 1.0, true),
                    column("missed", price, infinity, false),
                ],
                vec![
                    row("own", -infinity, 5.0, &[(0, 2.0), (1, 1.0)]),
                    row("link", need, infinity, &[(0, 1.0), (1, 1.0), (2, 1.0)]),
                ],
            );
            if sense == bundlenet::Sense::Maximize {
                model.sense = sense;
                model.columns.iter_mut().for_each(|column| column.cost = -column.cost);
            }
            let structure = Structure::of_pattern(&model, "^link").unwrap();
            let blocks = Blocks::new(model, &structure).unwrap();
            let settings = Settings { primal: true, ..Settings::default() };
            let mut dual = blocks.dual(Watch::default()).unwrap();
            let solution = Solver::new(settings).unwrap().solve(&mut dual).unwrap();
            let linear = blocks.relaxation(Watch::default()).unwrap().unwrap().bound;
            let value = sense.sign() * value;
            assert!((solution.value - value).abs() <= 1e-6 * value.abs(), "{} {value} {linear}", solution.value);
            let values = blocks.values(solution.primal.as_ref().unwrap());
            assert!(blocks.largest_violation(&values) <= 1e-6, "{values:?}");
            let cost = blocks.model().objective(&values);
            assert!((cost - value).abs() <= 1e-3 * value.abs(), "{values:?} {cost} {value}");
        }
    }
}

/// A limit of time ends a call inside HiGHS, and the answer is still valid.
#[test]
fn calls_end_in_time() {
    let case = random_case(&mut stream(3));
    let blocks = Blocks::new(case.model.clone(), &case.structure()).unwrap();
    let over = Watch::default().seconds(Some(1e-9));
    let mut dual = blocks.dual(over).unwrap();
    let dim = dual.dim();
    // Without time there is either a valid interval or an error that says so.
    match dual.evaluate_within(&vec![0.0; dim], &mut vec![0.0; dim]) {
        Ok(found) => assert!(case.model.sense.sign() * found.bound <= case.model.sense.sign() * found.cut + 1e-9),
        Err(error) => assert!(error.to_string().contains("limit of time"), "{error}"),
    }
}

/// Scenarios with equations that have few solutions, the same for all: HiGHS needs a search to find one.
fn program_of_equations() -> TwoStage {
    const COLUMNS: usize = 24;
    let mut stream = stream(4000);
    let entries = |stream: &mut Stream| (0..COLUMNS).map(|at| (at, f64::from(stream.between(1, 99)))).collect();
    let rows: Vec<Vec<(usize, f64)>> = (0..2).map(|_| entries(&mut stream)).collect();
    let side = |row: &[(usize, f64)]| row.iter().step_by(2).map(|(_, entry)| entry).sum::<f64>();
    let scenario = |at: usize| {
        let cost = |stream: &mut Stream| f64::from(stream.between(1, 99));
        let columns = (0..COLUMNS).map(|at| column(&format!("x{at}"), cost(&mut stream), 1.0, true)).collect();
        let rows = rows.iter().enumerate().map(|(at, it)| row(&format!("own{at}"), side(it), side(it), it)).collect();
        Scenario { name: format!("S{at}"), probability: 0.5, model: model(columns, rows) }
    };
    TwoStage::new((0..2).map(scenario).collect(), vec!["x0".into(), "x1".into()]).unwrap()
}

/// A call that ends at once has a bound from the call before: it is lower by the change of costs at most.
#[test]
fn calls_that_end_early_use_earlier_bounds() {
    static IS_OVER: AtomicBool = AtomicBool::new(false);
    let program = program_of_equations();
    let mut dual = program.blocks().dual(Watch::default().interrupt(&IS_OVER)).unwrap();
    let (mut point, mut slope) = (vec![0.0; dual.dim()], vec![0.0; dual.dim()]);
    let before = dual.evaluate_within(&point, &mut slope).unwrap().bound;
    IS_OVER.store(true, Ordering::Relaxed);
    point[0] = 2.0;
    // Both copies of a 0/1 column have the multiplier.
    let after = dual.evaluate_within(&point, &mut slope).unwrap();
    assert!(after.bound >= before - 2.0 - 1e-9 && after.bound <= after.cut, "{after:?} {before}");
}

/// A call that ends at once, at the duals of the linear relaxation, has a bound that is no worse than that of it.
#[test]
fn calls_that_end_early_use_the_linear_relaxation() {
    static IS_OVER: AtomicBool = AtomicBool::new(false);
    let program = program_of_equations();
    let blocks = program.blocks();
    let relaxation = blocks.relaxation(Watch::default()).unwrap().unwrap();
    let mut dual = blocks.dual(Watch::default().interrupt(&IS_OVER)).unwrap();
    let mut slope = vec![0.0; dual.dim()];
    // A solution far away: its costs say little about those that follow.
    dual.evaluate_within(&vec![1e4; dual.dim()], &mut slope).unwrap();
    IS_OVER.store(true, Ordering::Relaxed);
    let before = dual.evaluate_within(&relaxation.multipliers, &mut slope).unwrap().bound;
    assert!(before < relaxation.bound - 1.0, "{before} {}", relaxation.bound);
    dual.components().set_relaxation(&relaxation);
    let after = dual.evaluate_within(&relaxation.multipliers, &mut slope).unwrap();
    assert!(after.bound >= relaxation.bound - 1e-6 && after.bound <= after.cut, "{after:?} {}", relaxation.bound);
}

/// The search for a first stage begins with the solutions behind the cuts of the run, or else with those of the blocks.
/// After the limit of time, HiGHS finds none for them any more: the last ones count.
#[test]
fn a_first_stage_is_found_after_the_limit_of_time() {
    static IS_OVER: AtomicBool = AtomicBool::new(false);
    let program = program_of_equations();
    let watch = Watch::default().interrupt(&IS_OVER);
    let (mut dual, fresh) = (program.blocks().dual(watch).unwrap(), program.blocks().dual(watch).unwrap());
    let point = vec![0.0; dual.dim()];
    let value = dual.evaluate(&point, &mut vec![0.0; dual.dim()]).unwrap();
    let (without_cuts, mut with_cuts) = (State::at(&point), State::at(&point));
    let mut settings = Settings { primal: true, ..Settings::default() };
    settings.limits.steps = Some(1);
    Solver::new(settings).unwrap().state(&mut with_cuts).solve(&mut dual).unwrap();
    IS_OVER.store(true, Ordering::Relaxed);
    let error = program.best_first_stage(&fresh, (&without_cuts, None), Watch::default()).unwrap_err().to_string();
    assert!(error.contains("limit of time"), "{error}");
    for (dual, state) in [(&dual, &without_cuts), (&fresh, &with_cuts)] {
        let found = program.best_first_stage(dual, (state, None), Watch::default()).unwrap().unwrap();
        assert!(found.value >= value - 1e-6 * value.abs() && found.tried > 0, "{found:?} {value}");
    }
}
