//! The methods of the campaign.

use bundlenet::{BundleSettings, Cuts, Method, Strategy};

/// Names of all methods. The first four solve every case, the others take turns.
pub const NAMES: [&str; 11] = [
    "auto",
    "component",
    "aggregated",
    "hybrid",
    "network",
    "descent",
    "adam",
    "constant",
    "soft",
    "hard",
    "balancing",
];

/// Number of methods that solve every case, and of others that solve one.
pub(super) const ALWAYS: usize = 4;
pub(super) const IN_TURN: usize = 2;

/// The method of a name.
///
/// # Panics
/// If there is none.
pub fn method(name: &str) -> Method {
    let bundle = |cuts, strategy| Method::Bundle(BundleSettings { cuts, strategy, ..BundleSettings::default() });
    match name {
        "component" => bundle(Cuts::Component, Strategy::Adaptive),
        "aggregated" => bundle(Cuts::Aggregated, Strategy::Adaptive),
        "constant" => bundle(Cuts::Aggregated, Strategy::Constant),
        "soft" => bundle(Cuts::Aggregated, Strategy::Soft),
        "hard" => bundle(Cuts::Aggregated, Strategy::Hard),
        "balancing" => bundle(Cuts::Aggregated, Strategy::Balancing),
        _ => Method::with_options(name, []).unwrap(),
    }
}
