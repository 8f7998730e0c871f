//! The example `guard` runs, with the arguments of its page.

use bundlenet::Model;

#[path = "../examples/guard.rs"]
#[allow(dead_code, reason = "the program is not called")]
mod example;

#[test]
fn the_example_writes_a_model() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("guarded.safetensors");
    let model = bundlenet_testing::sources::workspace().join("models/mc-sml-40.safetensors");
    let rule = ["0.1"; 13].join(",");
    let paths = [&model, &out].map(|path| path.to_string_lossy().into_owned());
    let rest = ["8", "0.2", &rule, "generate:mc-sml-40:20:1"].map(String::from);
    let count = example::guard(&[&paths[..], &rest[..]].concat()).unwrap();
    assert!(count > 0);
    let [plain, guarded] = [model, out].map(|path| Model::load(path).unwrap());
    assert_eq!(plain.weight_count(), guarded.weight_count());
    assert_ne!(
        plain.to_bytes(bundlenet::Precision::Half).unwrap(),
        guarded.to_bytes(bundlenet::Precision::Half).unwrap()
    );
}
