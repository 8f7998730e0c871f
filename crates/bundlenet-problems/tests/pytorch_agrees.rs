//! A PyTorch program, written from `docs/checkpoint.md`, loads a checkpoint and finds the same run and the same gradient.
//! Another one trains the checkpoint, and the library runs the weights that come back.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use bundlenet::train::{double_gradient, rollout};
use bundlenet::{
    Activation, Architecture, Attention, Centre, Metric, Model, Precision, Sampling, Schema, StepUnit, Transform,
};
use bundlenet_problems::{Family, Format, Generator, Problem};
use safetensors::tensor::{Dtype, SafeTensors};

const PYTHON: &str = "BUNDLENET_PYTHON";
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pytorch/rollout.py");
/// As in `rollout.py`.
const NEGLIGIBLE: f64 = 1e-5;
const STEPS: usize = 10;

/// A name and its numbers.
type Tensor = (String, Vec<f64>);

/// Pseudorandom numbers, uniform from -0.3 to 0.3.
fn noise(mut state: u64) -> impl FnMut() -> f64 {
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5) * 0.6
    }
}

/// A network with noise on all its weights: the decoders of a new one are so small that most gradients vanish.
fn noisy_model(architecture: &Architecture, seed: u64) -> Model {
    let mut bytes = Model::untrained(architecture, seed).to_bytes(Precision::Single).unwrap();
    let (header, metadata) = SafeTensors::read_metadata(&bytes).unwrap();
    // The length of the header stands before it in eight bytes.
    let data = &mut bytes[8 + header..];
    let mut noise = noise(seed);
    for name in metadata.offset_keys() {
        let tensor = metadata.info(&name).unwrap();
        let numbers = &mut data[tensor.data_offsets.0..tensor.data_offsets.1];
        match tensor.dtype {
            Dtype::F32 => {
                for number in numbers.as_chunks_mut().0 {
                    *number = (f32::from_le_bytes(*number) + noise() as f32).to_le_bytes();
                }
            }
            Dtype::F64 => {
                for number in numbers.as_chunks_mut().0 {
                    *number = (f64::from_le_bytes(*number) + noise()).to_le_bytes();
                }
            }
            other => panic!("{name} has type {other:?}"),
        }
    }
    Model::from_bytes(Path::new("noisy"), &bytes).unwrap()
}

/// Lets the script repeat a run of the library. Returns the output of the script.
fn compare(python: &Path, family: Family, architecture: Architecture, seed: u64) -> Result<String, String> {
    let problem = Generator::new(family, seed).instance(0).unwrap().problem;
    let architecture = Architecture { hidden: 8, decoder: 16, ..architecture };
    let model = noisy_model(&architecture, seed);
    let run = rollout(&model, &mut *problem.dual(), STEPS).unwrap();
    assert_eq!(run.values.len(), STEPS);

    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    model.save(file("model.safetensors"), Precision::Single).unwrap();
    run.gradient.save(file("gradient.safetensors"), Precision::Single).unwrap();
    fs::write(file("instance.json"), problem.to_text(Format::Json).unwrap()).unwrap();
    let record = serde_json::json!({ "points": run.points, "values": run.values, "loss": run.loss });
    fs::write(file("rollout.json"), record.to_string()).unwrap();

    let output = Command::new(python).arg(SCRIPT).arg(folder.path()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let printed = text(&output.stdout) + &text(&output.stderr);
    if output.status.success() { Ok(printed) } else { Err(printed) }
}

fn python() -> OsString {
    let missing = "is not set: it names a Python that has numpy, torch and safetensors";
    env::var_os(PYTHON).unwrap_or_else(|| panic!("{PYTHON} {missing}"))
}

/// Numbers of the tensors of a model, by name, without the statistics of its features.
fn weights(model: &Model) -> Vec<Tensor> {
    let bytes = model.to_bytes(Precision::Single).unwrap();
    let stored = SafeTensors::deserialize(&bytes).unwrap();
    let is_weight = |name: &&str| !name.starts_with("features.");
    let mut names: Vec<&str> = stored.names().into_iter().filter(is_weight).collect();
    names.sort_unstable();
    let numbers = |name: &str| {
        let (chunks, _) = stored.tensor(name).unwrap().data().as_chunks().to_owned();
        chunks.iter().map(|&bytes| f64::from(f32::from_le_bytes(bytes))).collect()
    };
    names.into_iter().map(|name| (name.to_string(), numbers(name))).collect()
}

/// The model with other weights.
fn with_weights(model: &Model, weights: &[Tensor]) -> Model {
    let mut bytes = model.to_bytes(Precision::Single).unwrap();
    let (header, metadata) = SafeTensors::read_metadata(&bytes).unwrap();
    for (name, numbers) in weights {
        let (from, to) = metadata.info(name).unwrap().data_offsets;
        let stored = bytes[8 + header..][from..to].as_chunks_mut().0;
        stored.iter_mut().zip(numbers).for_each(|(stored, number)| *stored = (*number as f32).to_le_bytes());
    }
    Model::from_bytes(Path::new("trained"), &bytes).unwrap()
}

/// The losses before each of `updates` updates by the library's gradients. Clipping and Adam are PyTorch's.
fn losses(model: &Model, problem: &Problem, updates: i32, rate: f64) -> Vec<f64> {
    const CLIP: f64 = 5.0;
    let mut trained = weights(model);
    let mut means: Vec<Vec<f64>> = trained.iter().map(|(_, numbers)| vec![0.0; numbers.len()]).collect();
    let mut squares = means.clone();
    let update = |number: i32| {
        let run = rollout(&with_weights(model, &trained), &mut *problem.dual(), STEPS).unwrap();
        let gradient = weights(&run.gradient);
        // Both biases of the cell are one weight in `train.py`, so the gradient stands in one of them.
        let all = gradient.iter().flat_map(|(_, numbers)| numbers);
        let norm = all.map(|entry| entry * entry).sum::<f64>().sqrt();
        let factor = (CLIP / (norm + 1e-6)).min(1.0);
        for (tensor, (_, slopes)) in gradient.iter().enumerate() {
            for (index, slope) in slopes.iter().map(|slope| factor * slope).enumerate() {
                let (mean, square) = (&mut means[tensor][index], &mut squares[tensor][index]);
                *mean += 0.1 * (slope - *mean);
                *square += 0.001 * (slope * slope - *square);
                let (mean, square) = (*mean / (1.0 - 0.9_f64.powi(number)), *square / (1.0 - 0.999_f64.powi(number)));
                trained[tensor].1[index] -= rate * mean / (square.sqrt() + 1e-8);
            }
        }
        run.loss
    };
    (1..=updates).map(update).collect()
}

/// Trains in PyTorch. Every update has the loss that the library's gradients give. The weights come back and run as they
/// do there.
#[test]
#[ignore = "needs BUNDLENET_PYTHON, a Python with numpy, torch and safetensors"]
fn weights_trained_in_pytorch_come_back() {
    const UPDATES: i32 = 20;
    const RATE: f64 = 0.01;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pytorch/train.py");
    let own = Architecture { hidden: 8, decoder: 16, step_scale: Some(2.0), ..Architecture::default() };
    let paper = Architecture { hidden: 8, decoder: 16, step_scale: Some(60.0), ..Architecture::paper() };
    // No gradient flows through the features. With the paper's network the loss first rises, by the same amount in both
    // programs.
    for (architecture, gets_better) in [(own, true), (paper, false)] {
        let problem = Generator::new(Family::McSml40, 5).instance(0).unwrap().problem;
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        let model = noisy_model(&architecture, 3);
        model.save(file("model.safetensors"), Precision::Single).unwrap();
        fs::write(file("instance.json"), problem.to_text(Format::Json).unwrap()).unwrap();
        let output = Command::new(python())
            .arg(script)
            .args(["model.safetensors", "new.safetensors", "instance.json", "--trace", "trace.json"])
            .args(["--updates", &UPDATES.to_string(), "--rate", &RATE.to_string(), "--steps", &STEPS.to_string()])
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

        let printed = String::from_utf8(output.stdout).unwrap();
        let theirs: Vec<f64> = printed.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse().unwrap()).collect();
        let ours = losses(&model, &problem, UPDATES, RATE);
        assert_eq!(theirs.len(), ours.len());
        let deviations = ours.iter().zip(&theirs).map(|(ours, theirs)| (ours - theirs).abs() / theirs.abs());
        let largest = deviations.fold(0.0, f64::max);
        println!("largest deviation of a loss: {largest:.0e}\n{ours:?}\n{theirs:?}");
        assert!(largest <= 1e-4, "{ours:?} {theirs:?}");

        let new = Model::load(file("new.safetensors")).unwrap();
        assert_eq!((new.architecture(), new.card()), (model.architecture(), model.card()));
        let after = rollout(&new, &mut *problem.dual(), STEPS).unwrap();
        let is_better = after.loss < ours[0] - 0.01 * ours[0].abs();
        assert!(is_better || !gets_better, "{} {}", ours[0], after.loss);
        let trace: serde_json::Value = serde_json::from_slice(&fs::read(file("trace.json")).unwrap()).unwrap();
        let theirs: Vec<f64> =
            trace["values"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect();
        for (ours, theirs) in after.values.iter().zip(&theirs) {
            // The network of the library has single precision.
            assert!((ours - theirs).abs() <= 1e-4 * theirs.abs(), "{:?} {theirs:?}", after.values);
        }
        assert_eq!(theirs.len(), STEPS);
    }
}

#[test]
#[ignore = "needs BUNDLENET_PYTHON, a Python with numpy, torch and safetensors"]
fn runs_and_gradients_agree() {
    let python = python();
    let own = || Architecture { hidden: 8, decoder: 16, step_scale: Some(2.0), ..Architecture::default() };
    let with_scale = |scale| Architecture { step_scale: Some(scale), ..own() };
    let with_unit = |unit| Architecture { step_unit: StepUnit::One, step_scale: Some(unit), ..own() };
    let paper = |attention, unit| Architecture {
        features: Schema::Released,
        transform: Transform::SignedLog,
        centre: Centre::Softmin,
        shortcut: false,
        metric: Metric::Plain,
        attention,
        // With the seeds below, large enough for sparsemax to leave some of the cuts out.
        logit_scale: Some(2.0),
        ..with_unit(unit)
    };
    let with_metric = |unit| Architecture { metric: Metric::Scaled, ..paper(Attention::Softmax, unit) };
    // The options that no other case has. A network with this much noise may amplify round-off: not every seed will do.
    let other = Architecture {
        transform: Transform::Raw,
        activation: Activation::Tanh,
        attention: Attention::Sparsemax,
        sampling: Sampling::Attention,
        logit_scale: Some(1.0),
        ..with_unit(60.0)
    };
    let cases = [
        ("default, network design", Family::McSml40, own(), 1),
        ("default, assignment", Family::Ga10x100, own(), 2),
        ("paper with softmax, network design", Family::McSml40, paper(Attention::Softmax, 60.0), 3),
        ("paper with softmax, assignment", Family::Ga10x100, paper(Attention::Softmax, 600.0), 12),
        ("paper with sparsemax, network design", Family::McSml40, paper(Attention::Sparsemax, 60.0), 20),
        ("paper with sparsemax, assignment", Family::Ga10x100, paper(Attention::Sparsemax, 600.0), 27),
        ("other options, network design", Family::McSml40, other, 7),
        ("default without metric, assignment", Family::Ga10x100, Architecture { metric: Metric::Plain, ..own() }, 2),
        ("paper's features with metric, network design", Family::McSml40, with_metric(60.0), 3),
        ("steps that remain, assignment", Family::Ga10x100, Architecture { features: Schema::Told, ..own() }, 2),
        ("hard centre, network design", Family::McSml40, Architecture { centre: Centre::Hard, ..own() }, 1),
        ("first steps too long, assignment", Family::Ga10x100, with_scale(100.0), 2),
        ("first steps too long, network design", Family::McSml40, with_scale(100.0), 2),
        ("first steps too short, network design", Family::McSml40, with_scale(1e-3), 1),
    ];
    let mut failed = vec![];
    for (name, family, architecture, seed) in cases {
        let outcome = compare(python.as_ref(), family, architecture, seed);
        if outcome.is_err() {
            failed.push(name);
        }
        let (Ok(printed) | Err(printed)) = outcome;
        println!("{name}\n{printed}");
    }
    assert!(failed.is_empty(), "disagree: {failed:?}");
}

/// A new version of the format also needs a look at `rollout.py`, which most machines cannot run.
#[test]
fn the_python_program_reads_the_present_version() {
    let bytes = Model::untrained(&Architecture::default(), 1).to_bytes(Precision::Single).unwrap();
    let (_, metadata) = SafeTensors::read_metadata(&bytes).unwrap();
    let header: serde_json::Value = serde_json::from_str(&metadata.metadata().as_ref().unwrap()["bundlenet"]).unwrap();
    let program = fs::read_to_string(SCRIPT).unwrap();
    let (_, versions) = program.split_once("VERSIONS = (").unwrap();
    let (versions, _) = versions.split_once(')').unwrap();
    let version = header["version"].to_string();
    assert!(versions.split(", ").any(|known| known == version), "{version} is not among {versions}");
}

/// The largest deviation of a gradient from another, over the size of each tensor, as in `rollout.py`.
fn deviation(found: &Model, expected: &Model) -> f64 {
    let (found, expected) = (weights(found), weights(expected));
    let size = |numbers: &[f64]| numbers.iter().fold(0.0_f64, |size, number| size.max(number.abs()));
    let largest = expected.iter().map(|(_, numbers)| size(numbers)).fold(0.0, f64::max);
    let of_tensor = |((_, found), (_, expected)): (&Tensor, &Tensor)| {
        let own = size(found).max(size(expected));
        let unit = if own > NEGLIGIBLE * largest { own } else { largest };
        found.iter().zip(expected).fold(0.0_f64, |most, (a, b)| most.max((a - b).abs())) / unit
    };
    found.iter().zip(&expected).map(of_tensor).fold(0.0, f64::max)
}

/// Single precision is the reason where gradients differ by more than the tolerance of `rollout.py`. The library's
/// gradient in double precision, which finite differences confirm, shows that without PyTorch. Noisy networks amplify
/// round-off for a few seeds: those are not among the cases of [`runs_and_gradients_agree`].
#[test]
fn single_precision_is_enough_for_most_seeds() {
    const SEEDS: u64 = 20;
    let own = || Architecture { hidden: 8, decoder: 16, step_scale: Some(2.0), ..Architecture::default() };
    let architectures = [
        own(),
        Architecture { metric: Metric::Plain, ..own() },
        Architecture { features: Schema::Told, ..own() },
        Architecture { centre: Centre::Hard, ..own() },
        Architecture { step_scale: Some(100.0), ..own() },
        Architecture { step_scale: Some(1e-3), ..own() },
    ];
    let mut all = vec![];
    for architecture in architectures {
        for (family, seed) in
            [Family::McSml40, Family::Ga10x100].into_iter().flat_map(|f| (1..=SEEDS).map(move |s| (f, s)))
        {
            let problem = Generator::new(family, seed).instance(0).unwrap().problem;
            let model = noisy_model(&architecture, seed);
            let single = rollout(&model, &mut *problem.dual(), STEPS).unwrap().gradient;
            let double = double_gradient(&model, &mut *problem.dual(), STEPS).unwrap();
            all.push(deviation(&single, &double));
        }
    }
    all.sort_by(f64::total_cmp);
    let count = all.iter().filter(|deviation| **deviation > 1e-3).count();
    println!(
        "median {:.0e}, largest {:.0e}, above 1e-3: {count} of {}",
        all[all.len() / 2],
        all[all.len() - 1],
        all.len()
    );
    assert!(all[all.len() / 2] < 2e-5 && count <= all.len() / 40, "{count} of {}: {all:?}", all.len());
}
