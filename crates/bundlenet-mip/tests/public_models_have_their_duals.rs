//! The public models: values of their duals, and the calls that they take.

use std::path::PathBuf;

use bundlenet::{Method, Sense, Settings, Solution, Solver, State};
use bundlenet_mip::{Blocks, Model, Structure, TwoStage, Watch};
use bundlenet_problems::{Assignment, Problem};
use bundlenet_testing::public;

fn blocks(model: &str, structure: &str) -> Blocks {
    let folder = public::data().join("blocks");
    let model = Model::read(folder.join(model)).unwrap();
    let structure = Structure::read(&model, folder.join(structure)).unwrap();
    Blocks::new(model, &structure).unwrap()
}

fn solved(blocks: &Blocks, settings: Settings) -> Solution {
    let relaxation = blocks.relaxation(Watch::default()).unwrap().unwrap();
    let mut state = State::at(&relaxation.multipliers);
    let mut dual = blocks.dual(Watch::default()).unwrap();
    Solver::new(settings).unwrap().state(&mut state).solve(&mut dual).unwrap()
}

#[track_caller]
fn assert_dual(model: &str, structure: &str, (linear, value): (f64, f64), most_calls: usize) {
    let blocks = blocks(model, structure);
    let relaxation = blocks.relaxation(Watch::default()).unwrap().unwrap();
    assert!((relaxation.bound - linear).abs() <= 5e-3, "{model}: LP {}", relaxation.bound);
    let solution = solved(&blocks, Settings::default());
    let Solution { value: found, oracle_calls, .. } = solution;
    assert!((found - value).abs() <= 1e-6 * value.abs(), "{model}: {found} {value}");
    assert!(oracle_calls <= most_calls, "{model}: {oracle_calls} calls");
}

#[test]
#[ignore = "needs BUNDLENET_DATA"]
fn knapsack_models() {
    assert_dual("gap8_4.txt.lp.gz", "gap8_4.txt.dec.gz", (1126.14, 1118.5), 35);
    assert_dual("N1C1W4_M.BPP.lp.gz", "N1C1W4_M.BPP.dec.gz", (33.0, 40.5), 40);
    assert_dual("TEST0055.lp.gz", "TEST0055.dec.gz", (10.984, 10.984), 40);
}

/// The dual of the model is that of the family: each item in exactly one bin, profits as negative costs.
#[test]
#[ignore = "needs BUNDLENET_DATA"]
fn the_assignment_model_is_one_of_its_family() {
    let model = Model::read(public::data().join("blocks/gap8_4.txt.lp.gz")).unwrap();
    let of = |prefix: &str| model.rows.iter().filter(|row| row.name.starts_with(prefix)).collect::<Vec<_>>();
    let (bins, items) = (of("b_capa"), of("m_job"));
    let (mut costs, mut weights) = (vec![], vec![]);
    for bin in &bins {
        for item in &items {
            let is_in = |&&(column, _): &&(usize, f64)| item.entries.iter().any(|(other, _)| *other == column);
            let &(column, weight) = bin.entries.iter().find(is_in).unwrap();
            costs.push(-model.columns[column].cost);
            weights.push(weight as u32);
        }
    }
    let capacities = bins.iter().map(|bin| bin.upper as u32).collect();
    let family = Assignment::new(Sense::Minimize, items.len(), capacities, costs, weights).unwrap();
    let of_family = Solver::new(Settings::exact()).unwrap().solve(&mut *Problem::Assignment(family).dual()).unwrap();
    let of_model = solved(&blocks("gap8_4.txt.lp.gz", "gap8_4.txt.dec.gz"), Settings::exact());
    assert!(
        (of_family.value + of_model.value).abs() <= 1e-9 * of_model.value,
        "{} {}",
        of_family.value,
        of_model.value
    );
}

/// Methods agree on a model whose dual is not published.
#[test]
#[ignore = "needs BUNDLENET_DATA"]
fn the_median_model() {
    let blocks = blocks("p1250-2.lp.gz", "p1250-2.blk.gz");
    let auto = solved(&blocks, Settings::exact());
    let method = Method::with_options("bundle", []).unwrap();
    let bundle = solved(&blocks, Settings { method, ..Settings::exact() });
    assert!((auto.value - bundle.value).abs() <= 1e-6 * auto.value, "{} {}", auto.value, bundle.value);
}

/// Takes minutes: its blocks are mixed-integer programs.
#[test]
#[ignore = "needs BUNDLENET_DATA"]
fn the_mixed_model() {
    assert_dual("noswot.mps.gz", "noswot.dec.gz", (-43.0, -41.2), 30);
}

fn stochastic(name: &str) -> PathBuf {
    public::data().join("stochastic").join(name)
}

#[test]
#[ignore = "needs BUNDLENET_DATA"]
fn the_farmer() {
    let program = TwoStage::read(stochastic("farmer.cor.gz")).unwrap();
    let mut dual = program.blocks().dual(Watch::default()).unwrap();
    let mut state = State::new();
    let settings = Settings { primal: true, ..Settings::default() };
    let solution = Solver::new(settings).unwrap().state(&mut state).solve(&mut dual).unwrap();
    assert!((solution.value + 108_389.999_4).abs() <= 1e-6 * 108_390.0, "{}", solution.value);
    let of_run = (&state, solution.primal.as_ref());
    let best = program.best_first_stage(&dual, of_run, Watch::default()).unwrap().unwrap();
    assert!(best.value >= solution.value - 1e-3 && best.value <= solution.value + 1.0, "{best:?}");
}

/// Some seconds for each program: whatever the time, the bound is at least that of the linear relaxation, and at most
/// the value of a first-stage solution, or of the optimum where it is known.
#[test]
#[ignore = "needs BUNDLENET_DATA"]
fn stochastic_programs_are_bounded() {
    for (name, optimum) in [
        ("sizes3", None),
        ("sslp_5_25_50", Some(-121.6)),
        ("sslp_10_50_50", None),
        ("dcap233_200", None),
        ("smkp_1", None),
    ] {
        let program = TwoStage::read(stochastic(&format!("{name}.cor.gz"))).unwrap();
        let blocks = program.blocks();
        let relaxation = blocks.relaxation(Watch::default()).unwrap().unwrap();
        let mut state = State::at(&relaxation.multipliers);
        let mut settings = Settings { primal: true, ..Settings::default() };
        settings.limits.seconds = Some(20.0);
        let mut dual = blocks.dual(Watch::default().seconds(Some(20.0))).unwrap();
        let solution = Solver::new(settings).unwrap().state(&mut state).solve(&mut dual).unwrap();
        let size = relaxation.bound.abs();
        assert!(solution.value >= relaxation.bound - 1e-6 * size, "{name}: {} {}", solution.value, relaxation.bound);
        let of_run = (&state, solution.primal.as_ref());
        let best = program.best_first_stage(&dual, of_run, Watch::default().seconds(Some(10.0))).unwrap();
        for above in optimum.into_iter().chain(best.map(|best| best.value)) {
            assert!(solution.value <= above + 1e-6 * size, "{name}: {} {above}", solution.value);
        }
    }
}
