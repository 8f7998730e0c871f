//! Random models with rows and columns of all kinds: no bound is beyond the optimum, and a solved dual is no worse than
//! the linear relaxation.

use bundlenet::{Oracle, Sense, Settings, Solver, State};
use bundlenet_linalg::Stream;
use bundlenet_mip::{Blocks, Column, Model, Row, Structure, Watch};
use bundlenet_testing::{cases, stream};

/// Part of the size of a value that feasibility within the tolerances of HiGHS may change.
const CLOSE: f64 = 1e-6;

fn whole(stream: &mut Stream, low: i32, high: i32) -> f64 {
    f64::from(low) + stream.below((high - low + 1) as usize) as f64
}

/// A column around a point that it may take. Its bounds may be infinite, equal, or, for an integer column, fractional.
fn column(stream: &mut Stream, name: String) -> (Column, f64) {
    let is_integer = stream.below(3) > 0;
    let inside = whole(stream, -3, 4) + if is_integer { 0.0 } else { 0.25 * stream.below(4) as f64 };
    let width = |stream: &mut Stream| match stream.below(8) {
        0 | 1 => f64::INFINITY,
        2 => 0.0,
        3 => 0.5 + stream.below(3) as f64,
        _ => whole(stream, 1, 4),
    };
    let (below, above) = (width(stream), width(stream));
    let cost = match stream.below(6) {
        0 => 0.0,
        1 => 1e4 * stream.symmetric(),
        _ => whole(stream, -9, 9),
    };
    (Column { name, cost, lower: inside - below, upper: inside + above, is_integer }, inside)
}

/// A row over some of the columns, all sides of which hold at a point. Some rows have large or small numbers.
fn row(stream: &mut Stream, name: String, columns: &[usize], inside: &[f64]) -> Row {
    let scale = [1.0, 1.0, 1.0, 1e-3, 1e4][stream.below(5)];
    let density = 1 + stream.below(3);
    let mut entries: Vec<(usize, f64)> = vec![];
    for &column in columns {
        let entry = if stream.below(2) == 0 { whole(stream, -5, 7) } else { 3.0 * stream.symmetric() };
        if stream.below(density) == 0 && entry != 0.0 {
            entries.push((column, scale * entry));
        }
    }
    let activity: f64 = entries.iter().map(|&(column, entry)| entry * inside[column]).sum();
    let (low, high) = (activity - scale * stream.below(4) as f64, activity + scale * stream.below(4) as f64);
    let (lower, upper) = match stream.below(9) {
        0 | 1 => (activity, activity),
        2 | 3 => (low, high),
        4 => (f64::NEG_INFINITY, f64::INFINITY),
        5 | 6 => (low, f64::INFINITY),
        _ => (f64::NEG_INFINITY, high),
    };
    Row { name, lower, upper, entries }
}

/// A model with a solution. Its rows `link` couple its blocks.
fn model(stream: &mut Stream) -> (Model, Vec<f64>) {
    let sense = if stream.below(2) == 0 { Sense::Minimize } else { Sense::Maximize };
    let offset = [0.0, 3.5, -1e3][stream.below(3)];
    let (mut columns, mut rows, mut inside): (Vec<Column>, Vec<Row>, Vec<f64>) = (vec![], vec![], vec![]);
    for block in 0..1 + stream.below(4) {
        let first = columns.len();
        for at in 0..1 + stream.below(5) {
            let (column, value) = column(stream, format!("x{block}_{at}"));
            columns.push(column);
            inside.push(value);
        }
        let own: Vec<usize> = (first..columns.len()).collect();
        for at in 0..stream.below(4) {
            rows.push(row(stream, format!("own{block}_{at}"), &own, &inside));
        }
    }
    let all: Vec<usize> = (0..columns.len()).collect();
    for at in 0..1 + stream.below(4) {
        rows.push(row(stream, format!("link{at}"), &all, &inside));
    }
    rows.push(Row { name: "none".into(), lower: f64::NEG_INFINITY, upper: f64::INFINITY, entries: vec![] });
    (Model { sense, offset, columns, rows }, inside)
}

/// The value of the dual, and a bound on the terms of multipliers in reduced costs. Starts at the duals of the linear
/// relaxation. Where a row has no slack but for round-off, steps would go on for long: their number is limited.
fn solved(blocks: &Blocks) -> Result<(f64, f64), String> {
    let relaxation = blocks.relaxation(Watch::default()).map_err(|error| error.to_string())?;
    let mut state = relaxation.map_or_else(State::new, |it| State::at(&it.multipliers));
    let mut dual = blocks.dual(Watch::default()).map_err(|error| error.to_string())?;
    let mut settings = Settings::default();
    settings.limits.steps = Some(100);
    let solution = Solver::new(settings).unwrap().state(&mut state).solve(&mut dual);
    let solution = solution.map_err(|error| error.to_string())?;
    let rows = blocks.relaxed_rows().iter().map(|&row| &blocks.model().rows[row]);
    let of_row = |row: &Row| row.entries.iter().map(|(_, entry)| entry.abs()).fold(0.0, f64::max);
    let terms = rows.zip(&solution.point).map(|(row, multiplier)| of_row(row) * multiplier.abs());
    Ok((solution.value, terms.sum()))
}

/// The value of the best solution that HiGHS finds for the whole model.
fn optimum(model: &Model) -> f64 {
    let structure = Structure::of_pattern(model, "^none$").unwrap();
    let mut dual = Blocks::new(model.clone(), &structure).unwrap().dual(Watch::default()).unwrap();
    dual.wish(0.0);
    dual.evaluate_within(&[], &mut []).unwrap().cut
}

#[test]
fn bounds_are_between_the_linear_relaxation_and_the_optimum() {
    let (mut accepted, mut refused) = (0, 0);
    for index in 0..u64::from(cases(400).cases) {
        let (model, inside) = model(&mut stream(8000 + index));
        assert_eq!(model.violation(&inside, 1e-9), None, "case {index}");
        let structure = Structure::of_pattern(&model, "^link").unwrap();
        let blocks = match Blocks::new(model.clone(), &structure) {
            Ok(blocks) => blocks,
            Err(error) => {
                let expected = ["finite bounds", "a bounded linear relaxation"];
                assert!(expected.iter().any(|it| error.to_string().contains(it)), "case {index}: {error}");
                refused += 1;
                continue;
            }
        };
        let (value, term) = match solved(&blocks) {
            Ok(found) => found,
            Err(error) => {
                let expected = ["an unbounded one", "the oracle has no variables"];
                assert!(expected.iter().any(|it| error.contains(it)), "case {index}: {error}");
                refused += 1;
                continue;
            }
        };
        accepted += 1;
        let (sign, optimum) = (model.sense.sign(), optimum(&model));
        let size = value.abs().max(optimum.abs()).max(1.0);
        assert!(sign * value <= sign * optimum + CLOSE * size, "case {index}: {value} {optimum}");
        assert!(sign * optimum <= sign * model.objective(&inside) + CLOSE * size, "case {index}: {optimum}");
        if let Some(relaxation) = blocks.relaxation(Watch::default()).unwrap() {
            // Bounds are lowered by a part of the reduced costs.
            let scale = model.columns.iter().map(|it| it.cost.abs()).fold(size, f64::max) + term;
            let count = 2.0 * model.columns.len() as f64;
            let linear = relaxation.bound;
            assert!(sign * value >= sign * linear - CLOSE * count * scale, "case {index}: {value} {linear}");
        }
    }
    assert!(accepted > 0 && refused > 0, "{accepted} {refused}");
}
