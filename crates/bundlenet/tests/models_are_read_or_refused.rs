//! The built-in model is there, and a file that is no model gets a clear error.

use std::path::Path;

use bundlenet::{Architecture, Metric, Model, Precision};

#[test]
fn the_general_model_is_built_in() {
    assert_eq!(Model::general().card().name, "general");
}

/// A checkpoint with a part of its header replaced.
fn edited(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    let position = bytes.windows(from.len()).position(|window| window == from.as_bytes()).unwrap();
    let mut edited = bytes.to_vec();
    edited.splice(position..position + from.len(), to.bytes());
    // The length of the header stands before it.
    let header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) + to.len() as u64 - from.len() as u64;
    edited[..8].copy_from_slice(&header.to_le_bytes());
    edited
}

#[test]
fn files_of_older_versions_are_read() {
    let plain = Model::untrained(&Architecture { metric: Metric::Plain, ..Architecture::default() }, 0);
    let bytes = plain.to_bytes(Precision::Single).unwrap();
    let old = edited(&bytes, ",\\\"metric\\\":\\\"plain\\\"", "");
    let old = edited(&old, "\\\"version\\\":6", "\\\"version\\\":1");
    assert_eq!(Model::from_bytes(Path::new("old"), &old).unwrap(), plain);
    let old = edited(&bytes, ",\\\"guard_steps\\\":0", "");
    let old = edited(&old, "\\\"version\\\":6", "\\\"version\\\":3");
    assert_eq!(Model::from_bytes(Path::new("old"), &old).unwrap(), plain);
    // The centre of a guard of version 5 stays after null steps.
    let general = Model::general().to_bytes(Precision::Half).unwrap();
    let old = edited(&general, "\\\"version\\\":6", "\\\"version\\\":5");
    let old = Model::from_bytes(Path::new("old"), &old).unwrap();
    let rule = Model::general().guard_rule().unwrap();
    assert!(rule.follow > 0.0);
    assert_eq!(old.guard_rule(), Some(bundlenet::train::LearnedRule { follow: 0.0, ..rule }));
    // A guard of version 4 has no ranges of starts: it knows all of them. The new file says so.
    let old = edited(&general, "\\\"version\\\":6", "\\\"version\\\":4");
    let old = Model::from_bytes(Path::new("old"), &old).unwrap();
    assert_ne!(old, *Model::general());
    assert_eq!(Model::from_bytes(Path::new("new"), &old.to_bytes(Precision::Half).unwrap()).unwrap(), old);
}

#[test]
fn wrong_checkpoints_get_clear_errors() {
    let message = |bytes: &[u8]| Model::from_bytes(Path::new("m.safetensors"), bytes).unwrap_err().to_string();
    assert!(message(b"nonsense").starts_with("m.safetensors: expected a checkpoint in the safetensors format"));
    let bytes = Model::untrained(&Architecture::default(), 0).to_bytes(Precision::Single).unwrap();
    assert!(message(&bytes[..bytes.len() - 4]).contains("safetensors format"));
    let edited = |from: &str, to: &str| message(&edited(&bytes, from, to));
    let version = edited("\\\"version\\\":6", "\\\"version\\\":7");
    assert_eq!(version, "m.safetensors: expected checkpoint version 1 to 6, found version 7");
    let shape = edited("\\\"hidden\\\":8", "\\\"hidden\\\":9");
    assert!(shape.contains("expected tensor lstm.weight_ih_l0 of shape [108, 16], found shape [96, 16]"), "{shape}");
    // Sizes that would take gigabytes are refused before any memory is taken.
    let huge = edited("\\\"hidden\\\":8", "\\\"hidden\\\":8192");
    assert!(huge.contains("weights, found a file of"), "{huge}");
    let name = edited("key.0.bias", "kex.0.bias");
    assert!(name.contains("tensor key.0.bias") && name.contains("no tensor of that name"), "{name}");
    assert!(edited("softmax", "softmux").contains("metadata as docs/checkpoint.md describes it"));
}
