//! Training gives the same bits on any number of threads and after any interruption, and it stops when it goes wrong.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use bundlenet::team::Workers;
use bundlenet::train::{Event, Evolving, Finished, Loss, TrainSettings};
use bundlenet::{Architecture, Attention, Centre, Model, Precision, Sampling, Schema};
use bundlenet_problems::TrainingData;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A training of a few seconds with all that there is: both stages, random horizons, windows, sampling.
fn settings(family: &str) -> TrainSettings {
    let mut settings = TrainSettings::default();
    settings.data.train = vec![format!("generate:{family}:24:3")];
    settings.network = Architecture { hidden: 4, decoder: 6, sampling: Sampling::Step, ..Architecture::default() };
    settings.gradient.updates = 6;
    settings.gradient.batch = 6;
    settings.gradient.horizon = 8;
    settings.gradient.horizon_min = Some(5);
    settings.gradient.window = 3;
    settings.evolution.generations = 3;
    settings.evolution.pairs = 2;
    settings.evolution.batch = 3;
    settings.validation.steps = vec![5, 12];
    settings.validation.updates = 2;
    settings.validation.generations = 1;
    settings
}

fn quiet(_: &Event<'_>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Trains on the data that the settings name.
fn train(
    settings: &TrainSettings,
    folder: &Path,
    is_resumed: bool,
    observer: &(dyn Fn(&Event<'_>) -> ControlFlow<()> + Sync),
) -> Result<Finished, Failure> {
    let load = || -> Result<_, Failure> {
        let data = TrainingData::load(&settings.data)?;
        Ok((data.train, data.validation))
    };
    bundlenet::train::train(settings, load, folder, is_resumed, observer, &Workers::new())
}

fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let names = ["best.safetensors", "last.safetensors", "state.safetensors", "metrics.jsonl"];
    names.map(|name| (name.to_string(), std::fs::read(folder.join(name)).unwrap())).to_vec()
}

fn run(settings: &TrainSettings, folder: &Path, threads: usize) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    assert_eq!(pool.install(|| train(settings, folder, false, &quiet)).unwrap(), Finished::Completely);
}

#[test]
fn threads_and_interruptions_change_nothing() {
    for family in ["mc-sml-40", "ga-10-100"] {
        let settings = settings(family);
        let folder = tempfile::tempdir().unwrap();
        let (one, two, parts) = (folder.path().join("1"), folder.path().join("2"), folder.path().join("parts"));
        run(&settings, &one, 1);
        run(&settings, &two, 2);
        assert!(files(&one) == files(&two), "{family}: threads");
        // Interrupted after every single update or generation.
        let mut rounds = 0;
        loop {
            let advances = AtomicUsize::new(0);
            let stop = |event: &Event<'_>| match event {
                Event::Advance(_) if advances.fetch_add(1, Ordering::Relaxed) == 0 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            };
            rounds += 1;
            if train(&settings, &parts, rounds > 1, &stop).unwrap() == Finished::Completely {
                break;
            }
        }
        assert_eq!(rounds, 10);
        assert!(files(&one) == files(&parts), "{family}: interruptions");
    }
}

#[test]
fn every_variant_trains() {
    let folder = tempfile::tempdir().unwrap();
    for (index, (attention, sampling, schema)) in [
        (Attention::Softmax, Sampling::None, Schema::Released),
        (Attention::Softmax, Sampling::Attention, Schema::Released),
        (Attention::Sparsemax, Sampling::Step, Schema::Released),
        (Attention::Sparsemax, Sampling::Attention, Schema::Relative),
    ]
    .into_iter()
    .enumerate()
    {
        let mut settings = settings("ga-10-100");
        settings.gradient.updates = 2;
        settings.evolution.generations = 1;
        settings.gradient.loss = Loss::Paper;
        settings.network.attention = attention;
        settings.network.sampling = sampling;
        settings.network.features = schema;
        settings.network.centre = Centre::Softmin;
        settings.network.shortcut = false;
        settings.evolution.weights = Evolving::All;
        let out = folder.path().join(index.to_string());
        assert_eq!(train(&settings, &out, false, &quiet).unwrap(), Finished::Completely);
        let model = Model::load(out.join("last.safetensors")).unwrap();
        assert_eq!(model.architecture().attention, attention);
        assert_eq!(model.card().validation_gaps.len(), 2);
    }
}

/// The weights of the inputs for the number of steps evolve alone: a run that is not told stays as it was.
#[test]
fn a_network_learns_from_its_number_of_steps_alone() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = settings("mc-sml-40");
    settings.network.sampling = Sampling::None;
    settings.network.step_scale = Some(20.0);
    let file = folder.path().join("deaf.safetensors");
    Model::untrained(&settings.network, 3).save(&file, Precision::Single).unwrap();
    settings.start_from = Some(file.clone());
    settings.network.features = Schema::Told;
    settings.gradient.updates = 0;
    settings.evolution.weights = Evolving::Told;
    (settings.evolution.pairs, settings.evolution.deviation, settings.evolution.rate) = (8, 0.3, 0.3);
    let out = folder.path().join("out");
    train(&settings, &out, false, &quiet).unwrap();
    let text = std::fs::read_to_string(out.join("metrics.jsonl")).unwrap();
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (first, last) = (&lines[0], &lines[lines.len() - 1]);
    assert_eq!(first["gaps"], last["gaps"]);
    assert_eq!(first["told_gaps"], first["gaps"]);
    let gap = |line: &serde_json::Value| line["told_gaps"][0].as_f64().unwrap();
    assert!(gap(last) < gap(first), "{last} {first}");
    // Without these inputs it is the network from before.
    settings.network.features = Schema::Relative;
    settings.start_from = Some(out.join("last.safetensors"));
    settings.evolution.generations = 0;
    let again = folder.path().join("again");
    train(&settings, &again, false, &quiet).unwrap();
    let model = |file: &Path| Model::load(file).unwrap().to_bytes(Precision::Single).unwrap();
    let weights = |bytes: &[u8]| bytes[8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize..].to_vec();
    assert!(weights(&model(&again.join("last.safetensors"))) == weights(&model(&file)));
    // It has no such weights either.
    settings.evolution.generations = 1;
    let error = train(&settings, &folder.path().join("none"), false, &quiet).unwrap_err().to_string();
    assert!(error.contains("evolution.weights") && error.ends_with("found told"), "{error}");
}

#[test]
fn learning_lowers_the_gap() {
    let mut settings = settings("mc-sml-40");
    settings.network.step_scale = Some(0.2);
    settings.gradient.updates = 40;
    settings.gradient.rate = 0.01;
    settings.evolution.generations = 0;
    settings.validation.updates = 20;
    let folder = tempfile::tempdir().unwrap();
    train(&settings, folder.path(), false, &quiet).unwrap();
    let text = std::fs::read_to_string(folder.path().join("metrics.jsonl")).unwrap();
    let gap = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["gaps"][1].as_f64().unwrap();
    let (first, last) = (gap(text.lines().next().unwrap()), gap(text.lines().last().unwrap()));
    // Steps that start far too short are learned to be longer.
    assert!(last < 0.6 * first, "{first} {last}");
}

#[test]
fn a_training_that_diverges_says_so_and_keeps_the_best() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = settings("mc-sml-40");
    settings.gradient.updates = 60;
    settings.gradient.rate = 30.0;
    settings.gradient.warm_up = 0;
    settings.gradient.clip = 1e6;
    settings.validation.updates = 1;
    let error = train(&settings, folder.path(), false, &quiet).unwrap_err();
    let message = error.to_string();
    assert!(message.starts_with("training stopped after"), "{message}");
    assert!(message.contains("are kept") && message.contains("a lower gradient.rate"), "{message}");
    let best = Model::load(folder.path().join("best.safetensors")).unwrap();
    assert!(best.card().validation_gaps[0] < 60.0);

    let again = train(&settings, folder.path(), false, &quiet).unwrap_err().to_string();
    assert!(again.contains("an empty folder, or a request to resume the training in it"), "{again}");
    // Resumed, it ends as before.
    assert_eq!(train(&settings, folder.path(), true, &quiet).unwrap_err().to_string(), message);
    settings.seed = 9;
    let other = train(&settings, folder.path(), true, &quiet).unwrap_err().to_string();
    assert!(other.ends_with("expected seed = 1, as the training began, found seed = 9"), "{other}");
}

#[test]
fn settings_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let message = |change: &dyn Fn(&mut TrainSettings)| {
        let mut settings = settings("mc-sml-40");
        change(&mut settings);
        train(&settings, folder.path(), false, &quiet).unwrap_err().to_string()
    };
    let found = message(&|settings| settings.gradient.rate = -1.0);
    assert_eq!(found, "setting gradient.rate: expected a positive finite number, found -1");
    let found = message(&|settings| settings.gradient.horizon_min = Some(9));
    assert!(found.contains("gradient.horizon_min: expected from 1 to gradient.horizon"), "{found}");
    let found = message(&|settings| settings.validation.steps = vec![5, 5]);
    assert!(found.contains("validation.steps: expected positive increasing numbers, found [5, 5]"), "{found}");
    let found = message(&|settings| settings.data.train = vec!["generate:nothing:5:1".to_string()]);
    assert!(found.contains("generate:nothing:5:1: expected a folder, a file, academic, or generate:FAMILY"), "{found}");
    let found = message(&|settings| settings.data.train = vec!["no such folder".to_string()]);
    assert!(found.contains("cannot read no such folder"), "{found}");
}

/// A training that is stopped as soon as it begins leaves a model.
#[test]
fn the_first_model_comes_before_the_first_update() {
    let folder = tempfile::tempdir().unwrap();
    let stop = |event: &Event<'_>| match event {
        Event::Begin { .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let finished = train(&settings("mc-sml-40"), folder.path(), false, &stop).unwrap();
    assert_eq!(finished, Finished::Interrupted);
    for name in ["best.safetensors", "last.safetensors"] {
        assert_eq!(Model::load(folder.path().join(name)).unwrap().card().validation_gaps.len(), 2, "{name}");
    }
}
