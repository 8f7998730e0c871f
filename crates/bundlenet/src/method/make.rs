//! Makes the method that the settings ask for.

use std::sync::Arc;

use super::adam::Adam;
use super::auto::Auto;
use super::descent::Descent;
use super::phase::{CONSTANTS, Opening, Phase, first_phase};
use super::settings::{AutoSettings, BundleSettings, Cuts, Evaluate, Method};
use super::structured::Structured;
use super::{BundleMethod, Inherited, Minimize};
use crate::master::{ComponentProposer, Proximity, QuadraticProposer, Strategy, first_work};
use crate::model::{Bundle, ComponentBundle, Model, Pruning, Scaling, Weighing};
use crate::network::{FEWEST_VARIABLES, FeatureSource, Metric, Network, NetworkProposer, Real, Tracker, network_of};
use crate::oracle::{Evaluation, Function};

/// Whether a method uses cuts of components if the function is a sum.
pub(crate) fn wants_components(method: &Method) -> bool {
    match method {
        Method::Auto(_) => true,
        Method::Bundle(settings) => settings.cuts == Cuts::Component,
        Method::Hybrid(_) | Method::Network(_) | Method::Barrier(_) | Method::Descent(_) | Method::Adam(_) => false,
    }
}

/// The method of a run that begins at `start`, with the cuts and the step length of an earlier run if there are any.
/// `steps` is the limit of steps.
pub(crate) fn make_method(
    method: &Method,
    (tolerance, steps): (f64, Option<usize>),
    function: &Function<'_>,
    start: Evaluation,
    inherited: Option<Inherited>,
) -> Box<dyn Minimize> {
    let maker = Maker { function, start, inherited, tolerance };
    match method {
        Method::Descent(settings) => Box::new(Descent::new(maker.start, settings.eta0.unwrap_or(10.0))),
        Method::Adam(settings) => Box::new(Adam::new(maker.start, settings.eta0.unwrap_or(1.0))),
        Method::Bundle(settings) if maker.has_components() => Box::new(maker.components(settings)),
        Method::Bundle(settings) => Box::new(maker.aggregated(settings)),
        Method::Auto(settings) => Box::new(maker.auto(settings).with_structure()),
        Method::Hybrid(settings) => Box::new(maker.hybrid(&settings.as_auto())),
        Method::Barrier(_) => Box::new(Structured::new(&maker.start, tolerance)),
        Method::Network(settings) => {
            let network = network_of(settings.model.as_ref());
            let budget = settings.told.budget(steps);
            let terms = Terms { cap: settings.max_cuts, tolerance, budget, is_limited: true };
            Box::new(network_method(network, function, &maker.start, terms))
        }
    }
}

/// Arguments for making a method.
struct Maker<'a, 'b> {
    function: &'a Function<'b>,
    start: Evaluation,
    inherited: Option<Inherited>,
    tolerance: f64,
}

impl Maker<'_, '_> {
    fn has_components(&self) -> bool {
        !self.start.minorants.is_empty()
    }

    /// As `auto`. On a function unlike those of the network's training it is the bundle method, step by step.
    fn hybrid(self, settings: &AutoSettings) -> Auto {
        let network = network_of(settings.model.as_ref());
        let is_known = network.guard.as_ref().is_none_or(|guard| guard.knows(&self.start, self.function.domain()));
        if is_known { self.auto(settings) } else { self.begin_aggregated(settings) }
    }

    /// `auto` or `hybrid` without a network.
    fn begin_aggregated(self, settings: &AutoSettings) -> Auto {
        let start = self.start.clone();
        Auto::with_aggregated(self.aggregated(&exact_settings(settings)), start, settings.pruning.of_both())
    }

    fn auto(self, settings: &AutoSettings) -> Auto {
        let prunings = settings.pruning.of_both();
        let entries = self.start.minorants.rows().entries().len();
        let network = || network_of(settings.model.as_ref());
        // Only the exact master of its guard can follow a network where there are no components.
        let is_limited = !self.has_components() && self.function.dim() >= FEWEST_VARIABLES && network().guard.is_some();
        let opening = Opening {
            dim: self.function.dim(),
            components: self.function.components(),
            oracle_work: self.function.work(),
            component_work: self.has_components().then(|| first_work(entries, self.function.dim())),
            has_cuts: self.inherited.is_some(),
            is_zero: self.start.point.iter().all(|&entry| entry == 0.0),
            is_limited,
        };
        match first_phase(&opening, &CONSTANTS) {
            Phase::Network => {}
            Phase::Aggregated => return self.begin_aggregated(settings),
            _ => return Auto::with_components(self.components(&exact_settings(settings)), prunings),
        }
        let cap = settings.pruning.max_cuts;
        // Another method takes over before the limit of steps, so the network is not told.
        let terms = Terms { cap, tolerance: self.tolerance, budget: None, is_limited };
        let network = network_method(network(), self.function, &self.start, terms);
        Auto::with_network(network, self.start, prunings)
    }

    fn aggregated(self, settings: &BundleSettings) -> BundleMethod<QuadraticProposer> {
        let Self { function, start, inherited, tolerance } = self;
        let pruning = settings.pruning.of_both().aggregated;
        let inherited_eta = inherited.as_ref().and_then(|inherited| inherited.step_length?.eta(None));
        let proximity = match (settings.strategy, settings.eta0.or(inherited_eta)) {
            (Strategy::Adaptive, None) => Proximity::adaptive(&start.point, start.value),
            (strategy, eta0) => Proximity::new(strategy, eta0.unwrap_or(BundleSettings::ETA)),
        };
        let proximity = proximity.with_patience(settings.serious_steps, settings.null_steps);
        let proposer = QuadraticProposer::new(proximity, function.domain(), function.dim());
        let bundle = Bundle::around(&start, function.domain(), pruning.cap);
        let bundle = inherited.iter().fold(bundle, |bundle, inherited| bundle.with_cuts(&inherited.cuts));
        BundleMethod::new(function, bundle, proposer, pruning, tolerance).after(inherited_eta)
    }

    fn components(self, settings: &BundleSettings) -> BundleMethod<ComponentProposer> {
        let Self { function, start, inherited, tolerance } = self;
        let pruning = settings.pruning.of_both().components;
        let bundle = ComponentBundle::around(&start, function.linear());
        let bundle = inherited.iter().fold(bundle, |bundle, inherited| bundle.with_cuts(&inherited.cuts));
        let bundle = if settings.strategy == Strategy::Adaptive { bundle.with_metric() } else { bundle };
        let bundle = if settings.evaluate == Evaluate::Laggards { bundle.with_laggards() } else { bundle };
        // The last steps of a nearly converged run say little about the first step of the next one. The strategy
        // corrects the saved step length after its first step.
        let unit = bundle.metric_unit();
        let inherited_eta = inherited.as_ref().and_then(|inherited| inherited.step_length?.eta(unit));
        let proximity = match (settings.strategy, settings.eta0.or(inherited_eta)) {
            (Strategy::Adaptive, eta0) => Proximity::for_components(&start.point, start.value, eta0),
            (strategy, eta0) => Proximity::new(strategy, eta0.unwrap_or(BundleSettings::ETA)),
        };
        let proximity = proximity.with_patience(settings.serious_steps, settings.null_steps);
        let proposer = ComponentProposer::new(proximity, function.domain(), function.dim());
        BundleMethod::new(function, bundle, proposer, pruning, tolerance).after(inherited_eta)
    }
}

/// Settings of the exact masters of `auto`.
fn exact_settings(settings: &AutoSettings) -> BundleSettings {
    BundleSettings { pruning: settings.pruning.clone(), ..BundleSettings::default() }
}

/// Terms of a run of a network.
#[derive(Clone, Copy)]
pub(crate) struct Terms {
    /// Largest number of cuts.
    pub(crate) cap: usize,
    pub(crate) tolerance: f64,
    /// Limit of steps, if the network is told.
    pub(crate) budget: Option<usize>,
    /// Whether the guard of the network, if there is one, limits the number of its steps.
    pub(crate) is_limited: bool,
}

/// The bundle method with a network instead of the master problem.
pub(crate) fn network_method<S: Real>(
    network: Arc<Network<S>>,
    function: &Function<'_>,
    start: &Evaluation,
    terms: Terms,
) -> BundleMethod<NetworkProposer<S>> {
    let tracker = Tracker::new(&network.architecture, start, terms.budget);
    network_method_with(network, tracker, function, start, terms)
}

/// As [`network_method`], with another source of features.
pub(crate) fn network_method_with<S: Real, E: FeatureSource>(
    network: Arc<Network<S>>,
    source: E,
    function: &Function<'_>,
    start: &Evaluation,
    Terms { cap, tolerance, budget, is_limited }: Terms,
) -> BundleMethod<NetworkProposer<S, E>> {
    let metric = network.architecture.metric;
    let proposer = NetworkProposer::new(network, source, function.domain(), start, is_limited, budget);
    // A network is trained with all cuts: they are removed only at the cap.
    let pruning = Pruning { lifetime: usize::MAX, cap, bytes: usize::MAX };
    let scaling = match metric {
        Metric::Plain => None,
        Metric::Scaled => Some(Scaling::new(function.scales(), &start.subgradient)),
    };
    let bundle = Bundle::around(start, function.domain(), cap).weighed_by(Weighing::Network).scaled_by(scaling);
    BundleMethod::new(function, bundle, proposer, pruning, tolerance)
}
