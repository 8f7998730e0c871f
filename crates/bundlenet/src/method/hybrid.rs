//! A network for the start, an exact master for the end.
//!
//! A network's proposals bring a function down in fewer steps than an exact master does, and in much less time than one with
//! cuts of each component. But they end nowhere in particular, and prove nothing: when they no longer pay, an exact master goes
//! on from what they have found.

use super::{Bound, BundleMethod, Granular, Method, Progress, Start};
use crate::bundle::{ComponentBundle, Pruning, Repeats};
use crate::error::EvaluationError;
use crate::function::Function;
use crate::learn::NetworkProposer;
use crate::master::{ComponentProposer, Proximity, QuadraticProposer};
use crate::primal::Primal;
use crate::state::{Harvest, StepLength};

// Constants chosen on validation data and public instances; `docs/experiments.md` has the figures.

/// Steps in which a network has to get somewhere, and the share of all it has got so far that this has to be.
const WINDOW: usize = 8;
const LITTLE: f64 = 0.002;
/// How many times as much it still gets shortly before.
const NEAR: f64 = 8.0;
/// Steps in which it has to get anywhere at all.
const PATIENCE: usize = 4;
/// The most steps of a network, and for each variable: with as many cuts as variables an exact model is as good as complete.
const MOST_STEPS: usize = 100;
const STEPS_PER_VARIABLE: f64 = 0.25;
/// What the first masters with cuts of each component take, over the square of the number of entries of an evaluation's
/// subgradients.
const MASTER_SECONDS: f64 = 7e-9;
/// The good step length of an exact master with cuts of the whole function, and of each component, as a multiple of that of a
/// network.
const ETA_FACTOR: f64 = 1.0;
const COMPONENT_ETA_FACTOR: f64 = 10.0;

/// The network as long as it pays, then an exact master.
pub(crate) struct Hybrid {
    network: BundleMethod<NetworkProposer<f32>>,
    /// Steps that the network may take.
    most_steps: usize,
    /// The best value at the start and after each step of the network.
    bests: Vec<f64>,
    /// What runs after the network.
    exact: Option<Box<dyn Method>>,
    /// How cuts of the whole function, and of components, are forgotten.
    aggregated: Pruning,
    components: Pruning,
}

impl Hybrid {
    pub(crate) fn new(
        network: BundleMethod<NetworkProposer<f32>>,
        most_steps: usize,
        aggregated: Pruning,
        components: Pruning,
    ) -> Self {
        Self { bests: vec![network.best()], network, most_steps, exact: None, aggregated, components }
    }

    /// Steps that a network may take: none where an exact master is better from the start.
    pub(crate) fn most_steps(start: Start<'_>) -> usize {
        // Networks are trained from 0. Who has a better point, or cuts, knows more than they do.
        if start.inherited.is_some_and(|inherited| inherited.cuts.len() > 0)
            || start.point.iter().any(|&entry| entry != 0.0)
        {
            return 0;
        }
        let steps = (STEPS_PER_VARIABLE * start.point.len() as f64) as usize;
        // Fewer steps would not show whether it pays.
        if steps < WINDOW { 0 } else { steps.min(MOST_STEPS) }
    }

    /// Whether the network still gets somewhere, and is the cheapest way there.
    fn pays(&self, function: &Function<'_>) -> bool {
        let steps = self.bests.len() - 1;
        let (first, last) = (self.bests[0], self.bests[steps]);
        let is_moving = steps < WINDOW || self.bests[steps - WINDOW] - last > LITTLE * (first - last);
        let has_moved = steps < PATIENCE || last < first;
        // Components need far fewer evaluations; where those take longer than a master would, that is what counts.
        let master = master_seconds(function);
        let is_cheap = steps < PATIENCE || master.is_none_or(|seconds| function.quickest_seconds() < seconds);
        steps < self.most_steps && is_moving && has_moved && is_cheap
    }

    /// Whether the next evaluation is to be remembered by component: the first ones, which tell how large subgradients are, and
    /// those that may be the last.
    fn is_worth_remembering(&self) -> bool {
        let steps = self.bests.len() - 1;
        let (first, last) = (self.bests[0], self.bests[steps]);
        let is_slow = steps >= WINDOW && self.bests[steps - WINDOW] - last < NEAR * LITTLE * (first - last);
        steps < PATIENCE || is_slow || steps + WINDOW >= self.most_steps
    }

    fn method(&self) -> &dyn Method {
        match &self.exact {
            Some(method) => &**method,
            None => &self.network,
        }
    }

    /// The exact master that goes on: with cuts of the components, too, if those were remembered.
    fn hand_over(&self, function: &mut Function<'_>) -> Box<dyn Method> {
        let (dim, tolerance) = (self.network.trial().len(), self.network.tolerance());
        let eta = self.network.proposal().eta;
        let seconds = master_seconds(function).unwrap_or(0.0);
        let remembered = function.take_remembered();
        let proximity = Proximity::going_on(ETA_FACTOR * eta);
        let proposer = QuadraticProposer::new(proximity, function.domain(), dim);
        let cuts = self.network.cuts().clone().with_repeats(Repeats::Merge);
        let mut aggregated = BundleMethod::new(function, cuts, proposer, self.aggregated, tolerance);
        aggregated.adopt(&self.network);
        let Some(best) = remembered.iter().min_by(|a, b| a.value.total_cmp(&b.value)) else {
            return Box::new(aggregated);
        };
        let mut cuts =
            ComponentBundle::new(&best.point, best.value, function.linear(), &best.minorants, best.solutions.as_ref());
        for other in remembered.iter().filter(|other| !std::ptr::eq(*other, best)) {
            cuts.insert_all(other);
        }
        let proximity = Proximity::going_on_with_components(COMPONENT_ETA_FACTOR * eta);
        let proposer = ComponentProposer::new(proximity, function.domain(), dim);
        let mut next = BundleMethod::new(function, cuts.with_metric(), proposer, self.components, tolerance);
        next.adopt(&self.network);
        let granular = Granular::new(next, self.aggregated);
        Box::new(granular.or_begin_with(aggregated, function, seconds, self.network.gap(function)))
    }
}

/// What a master with cuts of each component will take, if components are remembered.
fn master_seconds(function: &Function<'_>) -> Option<f64> {
    function.remembered_entries().map(|entries| MASTER_SECONDS * (entries * entries) as f64)
}

impl Method for Hybrid {
    fn step(&mut self, function: &mut Function<'_>) -> Result<Progress, EvaluationError> {
        if self.exact.is_none() && self.pays(function) {
            function.set_remembering(self.is_worth_remembering());
            let progress = self.network.step(function)?;
            self.bests.push(self.network.best());
            // What a network takes for the end without a proof may be proved, or improved.
            let is_proved = matches!(progress, Progress::Optimal) && self.network.is_provable();
            if is_proved || matches!(progress, Progress::Step(_)) {
                return Ok(progress);
            }
        }
        if self.exact.is_none() {
            self.exact = Some(self.hand_over(function));
        }
        match &mut self.exact {
            Some(method) => method.step(function),
            None => Ok(Progress::Stalled),
        }
    }

    fn trial(&self) -> &[f64] {
        self.method().trial()
    }

    fn master_seconds(&self) -> f64 {
        self.exact.as_ref().map_or(0.0, Method::master_seconds)
    }

    fn network_seconds(&self) -> f64 {
        self.network.network_seconds()
    }

    fn harvest(&self, function: &Function<'_>, since: u64, harvest: &mut Harvest) {
        match &self.exact {
            Some(method) => {
                method.harvest(function, since, harvest);
                harvest.phase = 1;
            }
            None if function.remembers() => {
                function.harvest(since, harvest);
                let eta = self.network.proposal().eta;
                harvest.step_length = (eta > 0.0).then_some(StepLength::Plain(COMPONENT_ETA_FACTOR * eta));
            }
            None => self.network.harvest(function, since, harvest),
        }
    }

    fn bound(&mut self, best: f64, function: &mut Function<'_>) -> Option<Bound> {
        match &mut self.exact {
            Some(method) => method.bound(best, function),
            None => self.network.bound(best, function),
        }
    }

    fn primal(&self) -> Option<Primal> {
        self.method().primal()
    }
}
