//! `bundlenet --version`, and with `--verbose` all facts for a report of a fault.

/// Features of this crate that the build has.
const FEATURES: &[(&str, bool)] = &[("mip", cfg!(feature = "mip")), ("mpi", cfg!(feature = "mpi"))];

/// One line: version, commit if it is known, and target.
pub(crate) fn line() -> String {
    let commit = Some(env!("BUNDLENET_COMMIT")).filter(|commit| !commit.is_empty());
    let commit = commit.map_or_else(String::new, |commit| format!("{commit}, "));
    format!("bundlenet {} ({commit}{})", env!("CARGO_PKG_VERSION"), env!("BUNDLENET_TARGET"))
}

/// Build, machine and threads.
pub(crate) fn facts() -> Vec<(&'static str, String)> {
    let features: Vec<&str> = FEATURES.iter().filter(|(_, is_on)| *is_on).map(|(name, _)| *name).collect();
    let or_none = |names: &[&str]| if names.is_empty() { "none".to_string() } else { names.join(", ") };
    vec![
        ("build", format!("{}, {}", env!("BUNDLENET_PROFILE"), env!("BUNDLENET_RUSTC"))),
        ("features", or_none(&features)),
        ("processor", format!("{}; {}", std::env::consts::ARCH, or_none(&processor_features()))),
        ("threads", rayon::current_num_threads().to_string()),
        ("system", format!("{}, {}", std::env::consts::OS, std::env::consts::FAMILY)),
    ]
}

/// The instruction sets of this machine that the code has versions for.
#[cfg(target_arch = "x86_64")]
fn processor_features() -> Vec<&'static str> {
    let all = [
        ("avx2", is_x86_feature_detected!("avx2")),
        ("fma", is_x86_feature_detected!("fma")),
        ("avx512f", is_x86_feature_detected!("avx512f")),
        ("avx512vl", is_x86_feature_detected!("avx512vl")),
        ("avx512dq", is_x86_feature_detected!("avx512dq")),
        ("avx512bw", is_x86_feature_detected!("avx512bw")),
    ];
    all.into_iter().filter(|(_, is_there)| *is_there).map(|(name, _)| name).collect()
}

/// Other processors have no versions of their own.
#[cfg(not(target_arch = "x86_64"))]
fn processor_features() -> Vec<&'static str> {
    vec![]
}
