//! The header in `include` is the one that cbindgen makes of the sources.
//!
//! ```text
//! BUNDLENET_WRITE=1 cargo test -p bundlenet-c --test header_is_current     # writes it
//! ```

use std::path::Path;

#[test]
fn header_is_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).unwrap();
    let mut header = Vec::new();
    cbindgen::Builder::new().with_crate(folder).with_config(config).generate().unwrap().write(&mut header);
    let header = String::from_utf8(header).unwrap();
    let path = folder.join("include/bundlenet.h");
    if std::env::var_os("BUNDLENET_WRITE").is_some() {
        std::fs::write(&path, &header).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap();
    assert!(
        found == header,
        "include/bundlenet.h is not current: the head of this test has the command that writes it"
    );
}
