//! Checkpoints: safetensors files with PyTorch's names for the layers, and all other data in the metadata.
//!
//! `docs/checkpoint.md` describes them for other programs.

use std::collections::HashMap;
use std::path::Path;

use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};

use super::architecture::{Affine, Architecture, DECODERS, Layout, Metric};
use super::guard::{Guard, Ranges, START_OBSERVATIONS};
use super::model::{Card, Model};
use super::network::Network;
use crate::error::Error;
use crate::files::write_whole;
use crate::master::{LearnedRule, OBSERVATIONS};

/// Version of the names, shapes and meaning. A change that older programs cannot read gets a new version. Files of all
/// versions from 1 on are read. Version 1 has no metric. Version 2 has neither a hard centre nor the features
/// `relative-2`. Version 3 has no guard. The guard of version 4 has no ranges of starts. The centre of the guard of
/// version 5 stays after null steps.
pub(crate) const CHECKPOINT_VERSION: u32 = 6;

/// The only key of the metadata. With one key, equal weights give equal files.
const KEY: &str = "bundlenet";

/// Precision of the stored weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// 32 bits.
    #[default]
    Single,
    /// 16 bits.
    Half,
}

#[derive(Serialize, Deserialize)]
struct Metadata {
    version: u32,
    architecture: Architecture,
    /// Number of steps with ranges of the features; 0 without a guard.
    #[serde(default)]
    guard_steps: usize,
    feature_names: Vec<String>,
    cut_feature_names: Vec<String>,
    card: Card,
}

/// Named tensors for a file.
pub(crate) struct Tensors {
    tensors: Vec<(String, Dtype, Vec<usize>, Vec<u8>)>,
}

impl Tensors {
    pub(crate) fn new() -> Self {
        Self { tensors: vec![] }
    }

    pub(crate) fn push(&mut self, name: &str, shape: &[usize], numbers: &[f32], precision: Precision) {
        let (dtype, bytes) = match precision {
            Precision::Single => (Dtype::F32, numbers.iter().flat_map(|number| number.to_le_bytes()).collect()),
            Precision::Half => (Dtype::F16, numbers.iter().flat_map(|&number| half(number).to_le_bytes()).collect()),
        };
        self.tensors.push((name.to_string(), dtype, shape.to_vec(), bytes));
    }

    pub(crate) fn push_wide(&mut self, name: &str, numbers: &[f64]) {
        let bytes = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        self.tensors.push((name.to_string(), Dtype::F64, vec![numbers.len()], bytes));
    }

    /// The content of a file.
    pub(crate) fn to_bytes(&self, metadata: &impl Serialize) -> Result<Vec<u8>, std::io::Error> {
        let metadata = HashMap::from([(KEY.to_string(), serde_json::to_string(metadata)?)]);
        let views: Result<Vec<_>, _> = self
            .tensors
            .iter()
            .map(|(name, dtype, shape, bytes)| Ok((name, TensorView::new(*dtype, shape.clone(), bytes)?)))
            .collect();
        views.and_then(|views| safetensors::serialize(views, Some(metadata))).map_err(std::io::Error::other)
    }
}

/// A file of tensors that has been read.
pub(crate) struct Stored<'a> {
    path: &'a Path,
    tensors: SafeTensors<'a>,
}

impl<'a> Stored<'a> {
    /// Reads the header of a file and its metadata.
    pub(crate) fn read<M: serde::de::DeserializeOwned>(path: &'a Path, bytes: &'a [u8]) -> Result<(Self, M), Error> {
        let wrong = |expected: &str, found: String| Error::Content {
            path: path.to_path_buf(),
            expected: expected.to_string(),
            found,
        };
        let (_, header) = SafeTensors::read_metadata(bytes)
            .map_err(|error| wrong("a checkpoint in the safetensors format", error.to_string()))?;
        let text = header.metadata().as_ref().and_then(|metadata| metadata.get(KEY));
        let text = text.ok_or_else(|| wrong("metadata with the key \"bundlenet\"", "none".to_string()))?;
        // The version comes first: a file of another version may differ in everything else.
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let Version { version } =
            serde_json::from_str(text).map_err(|error| wrong("a version in the metadata", error.to_string()))?;
        if !(1..=CHECKPOINT_VERSION).contains(&version) {
            let expected = format!("checkpoint version 1 to {CHECKPOINT_VERSION}");
            return Err(wrong(&expected, format!("version {version}")));
        }
        let metadata = serde_json::from_str(text)
            .map_err(|error| wrong("metadata as docs/checkpoint.md describes it", error.to_string()))?;
        let tensors = SafeTensors::deserialize(bytes)
            .map_err(|error| wrong("a checkpoint in the safetensors format", error.to_string()))?;
        Ok((Self { path, tensors }, metadata))
    }

    /// The numbers of a tensor. An error unless they are finite and have the given shape.
    pub(crate) fn numbers(&self, name: &str, shape: &[usize]) -> Result<Vec<f64>, Error> {
        let wrong = |expected: String, found: String| Error::Content {
            path: self.path.to_path_buf(),
            expected: format!("tensor {name} {expected}"),
            found,
        };
        let tensor = self
            .tensors
            .tensor(name)
            .map_err(|_| wrong(format!("of shape {shape:?}"), "no tensor of that name".to_string()))?;
        if tensor.shape() != shape {
            return Err(wrong(format!("of shape {shape:?}"), format!("shape {:?}", tensor.shape())));
        }
        let bytes = tensor.data();
        let numbers: Vec<f64> = match tensor.dtype() {
            Dtype::F64 => bytes.as_chunks().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect(),
            Dtype::F32 => bytes.as_chunks().0.iter().map(|&bytes| f64::from(f32::from_le_bytes(bytes))).collect(),
            Dtype::F16 => {
                bytes.as_chunks().0.iter().map(|&bytes| f64::from(single(u16::from_le_bytes(bytes)))).collect()
            }
            other => return Err(wrong("of type F16, F32 or F64".to_string(), format!("{other:?}"))),
        };
        match numbers.iter().find(|number| !number.is_finite()) {
            Some(number) => Err(wrong("of finite numbers".to_string(), number.to_string())),
            None => Ok(numbers),
        }
    }

    /// The guard of a network with `inputs` features, if there is one.
    fn guard(&self, version: u32, steps: usize, inputs: usize) -> Result<Option<Guard>, Error> {
        if steps == 0 {
            return Ok(None);
        }
        let start = match version {
            ..=4 => Ranges::unbounded(START_OBSERVATIONS),
            _ => self.ranges(["guard.start_least", "guard.start_greatest"], START_OBSERVATIONS)?,
        };
        let inputs = self.ranges(["guard.least", "guard.greatest"], steps.saturating_mul(inputs))?;
        let mut coefficients = [0.0; OBSERVATIONS];
        coefficients.copy_from_slice(&self.numbers("guard.rule", &[OBSERVATIONS])?);
        let follow = match version {
            ..=5 => 0.0,
            _ => self.numbers("guard.follow", &[1])?[0],
        };
        Ok(Some(Guard { start, inputs, rule: LearnedRule { coefficients, follow } }))
    }

    /// The ranges that two tensors hold.
    fn ranges(&self, [least, greatest]: [&str; 2], count: usize) -> Result<Ranges, Error> {
        Ok(Ranges { least: self.numbers(least, &[count])?, greatest: self.numbers(greatest, &[count])? })
    }

    pub(crate) fn singles(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, Error> {
        Ok(self.numbers(name, shape)?.into_iter().map(|number| number as f32).collect())
    }
}

/// Transposes a stored matrix. Its rows are outputs; ours are inputs.
fn transposed(numbers: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    (0..columns).flat_map(|column| (0..rows).map(move |row| numbers[row * columns + column])).collect()
}

/// Names of the two tensors of a layer.
fn layer_names(decoder: &str, index: usize) -> [String; 2] {
    [format!("{decoder}.{}.weight", 2 * index), format!("{decoder}.{}.bias", 2 * index)]
}

impl Model {
    /// The content of a checkpoint file.
    ///
    /// # Errors
    /// If the file cannot be built.
    pub fn to_bytes(&self, precision: Precision) -> Result<Vec<u8>, std::io::Error> {
        let network = &**self.network();
        let Network { architecture, layout, weights, mean, deviation, guard } = network;
        let mut tensors = Tensors::new();
        let mut push = |name: &str, shape: &[usize], numbers: &[f32]| tensors.push(name, shape, numbers, precision);
        let (inputs, gates) = (architecture.inputs(), 4 * architecture.state());
        let lstm = &weights[layout.lstm.weights.clone()];
        let (by_input, by_state) = lstm.split_at(inputs * gates);
        push("lstm.weight_ih_l0", &[gates, inputs], &transposed(by_input, inputs, gates));
        push("lstm.weight_hh_l0", &[gates, gates / 4], &transposed(by_state, gates / 4, gates));
        push("lstm.bias_ih_l0", &[gates], &weights[layout.lstm.bias.clone()]);
        // PyTorch has two biases; the second one is zero here.
        push("lstm.bias_hh_l0", &[gates], &vec![0.0; gates]);
        for (decoder, layers) in DECODERS.iter().zip(&layout.decoders) {
            for (index, Affine { inputs, outputs, weights: at, bias }) in layers.iter().enumerate() {
                let [weight_name, bias_name] = layer_names(decoder, index);
                push(&weight_name, &[*outputs, *inputs], &transposed(&weights[at.clone()], *inputs, *outputs));
                push(&bias_name, &[*outputs], &weights[bias.clone()]);
            }
        }
        if architecture.shortcut {
            let Affine { inputs, outputs, weights: at, bias } = &layout.shortcut;
            push("shortcut.weight", &[*outputs, *inputs], &transposed(&weights[at.clone()], *inputs, *outputs));
            push("shortcut.bias", &[*outputs], &weights[bias.clone()]);
        }
        tensors.push_wide("features.mean", mean);
        tensors.push_wide("features.deviation", deviation);
        if let Some(Guard { start, inputs, rule }) = guard {
            tensors.push_wide("guard.start_least", &start.least);
            tensors.push_wide("guard.start_greatest", &start.greatest);
            tensors.push_wide("guard.least", &inputs.least);
            tensors.push_wide("guard.greatest", &inputs.greatest);
            tensors.push_wide("guard.rule", &rule.coefficients);
            tensors.push_wide("guard.follow", &[rule.follow]);
        }
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        tensors.to_bytes(&Metadata {
            version: CHECKPOINT_VERSION,
            architecture: architecture.clone(),
            guard_steps: guard.as_ref().map_or(0, |guard| guard.inputs.least.len() / inputs),
            feature_names: names(architecture.features.names()),
            cut_feature_names: names(architecture.features.cut_names()),
            card: self.card().clone(),
        })
    }

    /// Writes a checkpoint.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>, precision: Precision) -> Result<(), Error> {
        let path = path.as_ref();
        let bytes = self.to_bytes(precision).map_err(|source| Error::Write { path: path.to_path_buf(), source })?;
        write_whole(path, &bytes)
    }

    /// Reads a checkpoint.
    ///
    /// # Errors
    /// If the file cannot be read, is not a checkpoint, has another version, or has a tensor of a wrong name, shape or
    /// type.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|source| Error::Read { path: path.to_path_buf(), source })?;
        Self::from_bytes(path, &bytes)
    }

    /// Reads a checkpoint from bytes. Errors name it by `path`.
    ///
    /// # Errors
    /// As [`Model::load`].
    pub fn from_bytes(path: &Path, bytes: &[u8]) -> Result<Self, Error> {
        let (stored, Metadata { version, mut architecture, guard_steps, card, .. }) = Stored::read(path, bytes)?;
        if version == 1 {
            architecture.metric = Metric::Plain;
        }
        let invalid = |expected: String, found: String| Error::Content { path: path.to_path_buf(), expected, found };
        architecture
            .check()
            .map_err(|error| invalid(format!("{} to be {}", error.name, error.expected), error.found))?;
        let layout = Layout::new(&architecture);
        // Memory is taken only for weights that the file can hold, in two bytes each.
        if layout.total > bytes.len() / 2 {
            let (expected, found) = (format!("{} weights", layout.total), format!("a file of {} bytes", bytes.len()));
            return Err(invalid(expected, found));
        }
        let mut weights = vec![0.0; layout.total];
        let (inputs, gates) = (architecture.inputs(), 4 * architecture.state());
        let (by_input, by_state) = weights[layout.lstm.weights.clone()].split_at_mut(inputs * gates);
        let stored_input = stored.singles("lstm.weight_ih_l0", &[gates, inputs])?;
        by_input.copy_from_slice(&transposed(&stored_input, gates, inputs));
        let stored_state = stored.singles("lstm.weight_hh_l0", &[gates, gates / 4])?;
        by_state.copy_from_slice(&transposed(&stored_state, gates, gates / 4));
        let biases = [stored.singles("lstm.bias_ih_l0", &[gates])?, stored.singles("lstm.bias_hh_l0", &[gates])?];
        let bias = weights[layout.lstm.bias.clone()].iter_mut();
        bias.zip(biases[0].iter().zip(&biases[1])).for_each(|(sum, (one, two))| *sum = one + two);
        for (decoder, layers) in DECODERS.iter().zip(&layout.decoders) {
            for (index, Affine { inputs, outputs, weights: at, bias }) in layers.iter().enumerate() {
                let [weight_name, bias_name] = layer_names(decoder, index);
                let matrix = stored.singles(&weight_name, &[*outputs, *inputs])?;
                weights[at.clone()].copy_from_slice(&transposed(&matrix, *outputs, *inputs));
                weights[bias.clone()].copy_from_slice(&stored.singles(&bias_name, &[*outputs])?);
            }
        }
        if architecture.shortcut {
            let Affine { inputs, outputs, weights: at, bias } = &layout.shortcut;
            let matrix = stored.singles("shortcut.weight", &[*outputs, *inputs])?;
            weights[at.clone()].copy_from_slice(&transposed(&matrix, *outputs, *inputs));
            weights[bias.clone()].copy_from_slice(&stored.singles("shortcut.bias", &[*outputs])?);
        }
        let mean = stored.numbers("features.mean", &[inputs])?;
        let deviation = stored.numbers("features.deviation", &[inputs])?;
        if let Some(found) = deviation.iter().find(|deviation| **deviation <= 0.0) {
            return Err(invalid("tensor features.deviation of positive numbers".to_string(), found.to_string()));
        }
        let guard = stored.guard(version, guard_steps, inputs)?;
        let network = Network { architecture, layout, weights, mean, deviation, guard };
        Ok(Self::new(network, card).with_format(version))
    }
}

/// The nearest half-precision number, ties to even. Numbers beyond the range become the largest one.
fn half(number: f32) -> u16 {
    let bits = number.to_bits();
    let sign = ((bits >> 16) & 0x8000) as u16;
    let magnitude = number.abs();
    if magnitude >= 65_504.0 {
        return sign | 0x7bff;
    }
    // Adding a large power of two leaves only the bits of a half and rounds like the hardware.
    let exponent = (((bits >> 23) & 0xff) as i32 - 127).max(-14);
    let unit = f32::from_bits(((exponent - 10 + 127) as u32) << 23);
    let units = (f64::from(magnitude) / f64::from(unit)).round_ties_even() as u32;
    let biased = (exponent + 14) as u32;
    // If the mantissa overflows, the carry increases the exponent.
    sign | ((biased << 10) + units) as u16
}

fn single(half: u16) -> f32 {
    let magnitude = f32::from(half & 0x3ff);
    let exponent = i32::from((half >> 10) & 0x1f);
    let value = match exponent {
        0 => magnitude * 2.0_f32.powi(-24),
        31 => f32::NAN,
        _ => (1024.0 + magnitude) * 2.0_f32.powi(exponent - 25),
    };
    if half & 0x8000 == 0 { value } else { -value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_round_to_nearest() {
        for bits in 0..0x7c00_u16 {
            assert_eq!(half(single(bits)), bits);
            assert_eq!(half(-single(bits)), bits | 0x8000);
        }
        assert_eq!((single(half(1.0)), single(half(0.1))), (1.0, 0.099_975_586));
        assert_eq!((half(1e9), half(0.0), single(half(2048.0 + 1.0))), (0x7bff, 0, 2048.0));
    }

    #[test]
    fn checkpoints_round_trip() {
        let model = Model::untrained(&Architecture::default(), 0);
        let bytes = model.to_bytes(Precision::Single).unwrap();
        assert_eq!(Model::from_bytes(Path::new("x"), &bytes).unwrap(), model);
        assert_eq!(model.to_bytes(Precision::Single).unwrap(), bytes);
        let mut guard = Guard::empty(3, 16, LearnedRule { coefficients: [0.5; 12], follow: 0.25 });
        guard.extend_start([0.0, 0.5, -0.25]);
        (0..3).for_each(|step| guard.extend(step, &[step as f64; 16]));
        let network = Network { guard: Some(guard), ..Network::clone(model.network()) };
        let guarded = Model::new(network, model.card().clone());
        let with_guard = guarded.to_bytes(Precision::Half).unwrap();
        let read = Model::from_bytes(Path::new("x"), &with_guard).unwrap();
        assert_eq!(read.network().guard, guarded.network().guard);
        let small = model.to_bytes(Precision::Half).unwrap();
        assert!(small.len() < bytes.len() * 6 / 10);
        let rounded = Model::from_bytes(Path::new("x"), &small).unwrap();
        let pairs = rounded.network().weights.iter().zip(&model.network().weights);
        pairs.for_each(|(a, b)| assert!((a - b).abs() <= 5e-4 * b.abs() + 1e-7, "{a} {b}"));
    }
}
