//! The default beside every fixed method, on functions that neither was made for: calls of dear functions, seconds of
//! cheap ones. `docs/generality.md` describes the functions and the figures.
//!
//! ```text
//! cargo bench --bench generality
//! cargo bench --bench generality -- --half choose --only maxima --json FILE
//! cargo bench --bench generality -- --half choose --against FILE    # only the default is measured again
//! ```
//!
//! Tables and ratios are markdown on the standard output. Figures of each function go to the standard error.
//!
//! ```text
//! cargo bench --bench generality > FILE
//! ```

mod measure;
mod optima;
mod options;
mod report;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use bundlenet::Oracle;
use bundlenet_testing::foreign::{Half, Instance, Price, instances};
use bundlenet_testing::trial::cases;
use serde_json::Value;

use measure::Task;
use optima::Optimum;
use options::Options;
use report::{Row, Variant, figures_in, print_summary, print_table};

fn row(instance: &Instance, known_optimum: Optimum, known: &Value) -> Row {
    let Optimum { value: optimum, reach, .. } = known_optimum;
    let task = Task { instance, optimum, reach };
    let figures = task.measure(&figures_in(known, &instance.name));
    let oracle = instance.oracle(Price::Dear);
    let (dim, sign) = (oracle.dim(), oracle.sense().sign());
    let best = figures.iter().filter_map(|figures| Some(sign * figures.best?)).fold(f64::INFINITY, f64::min);
    if best < sign * optimum - 1e-7 * instance.gap_unit(optimum) {
        eprintln!("{}: WRONG OPTIMUM {optimum}, a run found {}", instance.name, sign * best);
    }
    let row = Row { name: instance.name.clone(), half: instance.half, dim, optimum, work: task.work(), figures };
    row.print();
    row
}

/// Measures all functions, several at a time if there are more threads than one.
fn measure_all(chosen: &[Instance], optima: &[Optimum], known: &Value, threads: usize) -> Vec<Row> {
    let next = AtomicUsize::new(0);
    let rows: Mutex<Vec<(usize, Row)>> = Mutex::new(vec![]);
    let measure = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(instance) = chosen.get(index) else { break };
            let row = row(instance, optima[index], known);
            rows.lock().unwrap().push((index, row));
        }
    };
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(measure))));
    let mut rows = rows.into_inner().unwrap();
    rows.sort_by_key(|(index, _)| *index);
    rows.into_iter().map(|(_, row)| row).collect()
}

fn main() {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}");
            std::process::exit(2);
        }
    };
    let read = |path: &std::path::PathBuf| serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let known: Value = options.against.as_ref().map_or(Value::Null, read);
    let chosen = cases(instances().into_iter().filter(|instance| options.includes(instance)));
    let chosen: Vec<Instance> = chosen.collect();
    let optima: Vec<Optimum> = chosen.iter().map(optima::optimum).collect();
    let rows = measure_all(&chosen, &optima, &known, options.threads);
    if let Some(path) = &options.json {
        let figures: Vec<Value> = rows.iter().map(Row::to_json).collect();
        std::fs::write(path, serde_json::to_string_pretty(&figures).unwrap()).unwrap();
    }
    for variant in [Variant::Dear, Variant::Cheap] {
        print_table(&rows, variant, options.gap);
        for half in [Half::Choose, Half::Judge] {
            let rows: Vec<&Row> = rows.iter().filter(|row| row.half == half).collect();
            print_summary(&rows, half, variant, options.gap);
        }
    }
}
