//! The method that settings ask for.

use std::sync::Arc;

use super::{Adam, BundleMethod, Descent, Granular, Hybrid, Method, Start};
use crate::bundle::{Bundle, ComponentBundle, Cuts, Pruning, Repeats};
use crate::function::{Evaluation, Function};
use crate::learn::{Network, NetworkProposer, Real};
use crate::master::{ComponentProposer, FIRST_CUTS, Proximity, QuadraticProposer, Strategy};
use crate::primal::Primal;
use crate::settings::{Granularity, MethodName, ProximitySettings, PruningSettings, ValidSettings};
use crate::vectors::Padded;

pub(crate) fn make_method(function: &mut Function<'_>, start: Start<'_>, settings: &ValidSettings) -> Box<dyn Method> {
    let eta0 = settings.proximity.eta0;
    match settings.method {
        MethodName::Descent => Box::new(Descent::new(start, eta0.unwrap_or(10.0))),
        MethodName::Adam => Box::new(Adam::new(start, eta0.unwrap_or(1.0))),
        MethodName::Bundle => bundle_method(function, start, settings),
        MethodName::Auto | MethodName::Hybrid => hybrid_method(function, start, settings),
        MethodName::Network => {
            let network = Arc::clone(settings.model().network());
            Box::new(network_method(network, function, start, settings.pruning.max_cuts, settings.tolerances.gap))
        }
    }
}

fn hybrid_method(function: &mut Function<'_>, start: Start<'_>, settings: &ValidSettings) -> Box<dyn Method> {
    let most_steps = Hybrid::most_steps(start);
    if most_steps == 0 {
        return bundle_method(function, start, settings);
    }
    let (cap, tolerance) = (settings.pruning.max_cuts, settings.tolerances.gap);
    let network = network_method(Arc::clone(settings.model().network()), function, start, cap, tolerance)
        .with_proposer(|proposer| proposer.calibrated(start));
    if let Some(minorants) = start.minorants {
        let Start { point, value, .. } = start;
        let (minorants, solutions) = (minorants.clone(), function.solutions().cloned());
        function.remember(Evaluation { number: 1, point: point.to_vec(), value, minorants, solutions });
    }
    let (aggregated, components) = prunings(&settings.pruning);
    Box::new(Hybrid::new(network, most_steps, aggregated, components))
}

/// How cuts of the whole function and of components are forgotten.
fn prunings(settings: &PruningSettings) -> (Pruning, Pruning) {
    let &PruningSettings { lifetime, max_cuts, max_component_cuts, max_bytes } = settings;
    let aggregated = Pruning { lifetime, cap: max_cuts, bytes: max_bytes };
    (aggregated, Pruning { cap: max_component_cuts, ..aggregated })
}

fn bundle_method(function: &Function<'_>, start: Start<'_>, settings: &ValidSettings) -> Box<dyn Method> {
    let ProximitySettings { strategy, eta0, serious_steps, null_steps } = settings.proximity;
    let dim = start.point.len();
    let tolerance = settings.tolerances.gap;
    let (aggregated, components) = prunings(&settings.pruning);
    let inherited = start.inherited;
    let Some(minorants) = start.minorants else {
        let eta0 = eta0.or_else(|| inherited?.eta(None));
        let proximity = match (strategy, eta0) {
            (Strategy::Auto, None) => Proximity::automatic(start.point, start.value),
            (_, eta0) => Proximity::new(strategy, eta0.unwrap_or(100.0)),
        };
        let proposer =
            QuadraticProposer::new(proximity.with_patience(serious_steps, null_steps), function.domain(), dim);
        let bundle = aggregated_bundle(function, start, aggregated.cap);
        let bundle = inherited.iter().fold(bundle, |bundle, inherited| bundle.with_cuts(inherited.cuts));
        return Box::new(BundleMethod::new(function, bundle, proposer, aggregated, tolerance));
    };
    let bundle = ComponentBundle::new(start.point, start.value, function.linear(), minorants, function.solutions());
    let bundle = inherited.iter().fold(bundle, |bundle, inherited| bundle.with_cuts(inherited.cuts));
    let bundle = if strategy == Strategy::Auto { bundle.with_metric() } else { bundle };
    // The steps of a run that has nearly converged say little of how long the first one of the next should be: `auto` finds out.
    let eta0 = eta0.or_else(|| inherited?.eta(bundle.metric_unit()));
    let proximity = match (strategy, eta0) {
        (Strategy::Auto, eta0) => Proximity::for_components(start.point, start.value, eta0),
        (_, eta0) => Proximity::new(strategy, eta0.unwrap_or(100.0)),
    };
    let proposer = ComponentProposer::new(proximity.with_patience(serious_steps, null_steps), function.domain(), dim);
    let method = BundleMethod::new(function, bundle, proposer, components, tolerance);
    // Only where nothing says how the step length is to be chosen, and nothing what cuts are of, is there a choice.
    if settings.cuts == Granularity::Auto && strategy == Strategy::Auto {
        Box::new(Granular::new(method, aggregated))
    } else {
        Box::new(method)
    }
}

/// The bundle method with a network in the place of the master problem, and at most `cap` cuts.
pub(crate) fn network_method<S: Real>(
    network: Arc<Network<S>>,
    function: &Function<'_>,
    start: Start<'_>,
    cap: usize,
    tolerance: f64,
) -> BundleMethod<NetworkProposer<S>> {
    let proposer = NetworkProposer::new(network, function.domain(), start);
    // A network was trained with all cuts: they go only when there is no room for them.
    let pruning = Pruning { lifetime: usize::MAX, cap, bytes: usize::MAX };
    let bundle = aggregated_bundle(function, start, cap).with_repeats(Repeats::Keep);
    BundleMethod::new(function, bundle, proposer, pruning, tolerance)
}

/// Cuts of the whole function around the start.
fn aggregated_bundle(function: &Function<'_>, start: Start<'_>, cap: usize) -> Bundle {
    Bundle::new(start.point, start.value, function.domain(), cap.min(FIRST_CUTS)).with_cut(
        &Padded::of(start.subgradient),
        0.0,
        function.solutions().map(Primal::of_all),
    )
}
