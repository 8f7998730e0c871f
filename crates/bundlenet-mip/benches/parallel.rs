//! Blocks of HiGHS on one thread and on two: `cargo bench -p bundlenet-mip --bench parallel`. The machine should be idle.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a bench")]

use std::time::Instant;

use bundlenet::{Oracle, Sense};
use bundlenet_linalg::Stream;
use bundlenet_mip::{Blocks, Column, Model, Row, Structure, Watch};

const BLOCKS: usize = 16;
const COLUMNS: usize = 40;
const ROWS: usize = 5;

/// Blocks of several knapsack rows over 0/1 columns, coupled by one row.
fn model() -> Model {
    let mut stream = Stream::new(1, "parallel", 0);
    let mut model = Model { sense: Sense::Maximize, offset: 0.0, columns: vec![], rows: vec![] };
    for block in 0..BLOCKS {
        let first = model.columns.len();
        for at in 0..COLUMNS {
            let cost = f64::from(stream.between(10, 99));
            model.columns.push(Column {
                name: format!("x{block}_{at}"),
                cost,
                lower: 0.0,
                upper: 1.0,
                is_integer: true,
            });
        }
        for row in 0..ROWS {
            let entries: Vec<(usize, f64)> =
                (first..first + COLUMNS).map(|column| (column, f64::from(stream.between(10, 99)))).collect();
            let upper = (entries.iter().map(|(_, entry)| entry).sum::<f64>() / 3.0).floor();
            model.rows.push(Row { name: format!("own{block}_{row}"), lower: f64::NEG_INFINITY, upper, entries });
        }
    }
    let entries = (0..model.columns.len()).map(|column| (column, 1.0)).collect();
    let upper = (BLOCKS * COLUMNS / 5) as f64;
    model.rows.push(Row { name: "link".into(), lower: f64::NEG_INFINITY, upper, entries });
    model
}

/// Wall time of two calls.
fn seconds(blocks: &Blocks, threads: usize) -> f64 {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let mut dual = blocks.dual(Watch::default()).unwrap();
        let begin = Instant::now();
        for multiplier in [0.0, 20.0] {
            dual.evaluate(&[multiplier], &mut [0.0]).unwrap();
        }
        begin.elapsed().as_secs_f64()
    })
}

fn main() {
    let model = model();
    let structure = Structure::of_pattern(&model, "^link").unwrap();
    let blocks = Blocks::new(model, &structure).unwrap();
    let mut ratios: Vec<f64> = (0..5).map(|_| seconds(&blocks, 1) / seconds(&blocks, 2)).collect();
    ratios.sort_by(f64::total_cmp);
    println!("{BLOCKS} blocks, two threads: {:.2} times as fast as one (median of 5)", ratios[2]);
}
