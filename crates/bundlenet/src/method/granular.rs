//! Cuts of each component as long as they pay, then cuts of the whole function, and components again for the end.
//!
//! A model by component needs a fraction of the evaluations, and its master takes longer with every one. Where evaluations are
//! cheap there comes a point at which many of them, with cuts of the whole function, do more in the same time. But those prove
//! nothing: where components can, their cuts wait, and go on from the point that was reached.

use super::{Bound, BundleMethod, Method, Progress};
use crate::bundle::{Bundle, Cuts, Pruning};
use crate::error::EvaluationError;
use crate::function::Function;
use crate::master::{ComponentProposer, FIRST_CUTS, Proximity, QuadraticProposer, Strategy};
use crate::state::Harvest;

/// How much longer than a step without components a step with them may take. Without components 7 to 50 times as many steps
/// are needed (`docs/experiments.md`).
const WORTH: f64 = 100.0;
/// Steps in a row that take longer before components are given up: one may just have been interrupted.
const PATIENCE: usize = 3;
/// What the master and the rest of a step without components take: a constant, and for each variable.
const SECONDS: f64 = 5e-6;
const SECONDS_PER_VARIABLE: f64 = 25e-9;
/// The good step length without components, as a share of that with them.
const ETA_SHARE: f64 = 0.1;

/// The bundle method, of components or of the whole function.
pub(crate) struct Granular {
    components: BundleMethod<ComponentProposer>,
    /// What runs while components do not pay.
    aggregated: Option<BundleMethod<QuadraticProposer>>,
    /// Components once more: what the method without them said at its end, and the seconds in the master after which that holds.
    last_word: Option<(Progress, f64)>,
    /// How cuts of the whole function are forgotten.
    pruning: Pruning,
    slow_steps: usize,
    /// Seconds in the master of the method without components, once it has ended.
    earlier_seconds: f64,
}

impl Granular {
    pub(crate) fn new(components: BundleMethod<ComponentProposer>, pruning: Pruning) -> Self {
        Self { components, aggregated: None, last_word: None, pruning, slow_steps: 0, earlier_seconds: 0.0 }
    }

    fn method(&self) -> &dyn Method {
        match &self.aggregated {
            Some(method) => method,
            None => &self.components,
        }
    }

    fn method_mut(&mut self) -> &mut dyn Method {
        match &mut self.aggregated {
            Some(method) => method,
            None => &mut self.components,
        }
    }

    /// Goes on with cuts of the whole function: the combination of all cuts with their weights, and the newest cut.
    fn aggregate(&mut self, function: &mut Function<'_>) {
        self.components.prove(function);
        let eta = ETA_SHARE * self.components.proposal().eta;
        let proximity = Proximity::new(Strategy::Auto, eta.max(f64::MIN_POSITIVE));
        let proposer = QuadraticProposer::new(proximity, function.domain(), self.components.trial().len());
        let cuts = self.components.cuts();
        let (mut subgradient, error) = cuts.aggregate_all();
        let (centre, value) = (cuts.centre(), cuts.centre_value());
        let bundle = Bundle::new(centre, value, function.domain(), self.pruning.cap.min(FIRST_CUTS));
        let bundle = bundle.with_cut(&subgradient, error);
        let newest_error = cuts.latest_cut(&mut subgradient);
        let bundle = bundle.with_cut(&subgradient, newest_error);
        let mut next = BundleMethod::new(function, bundle, proposer, self.pruning, self.components.tolerance());
        next.adopt(&self.components);
        self.aggregated = Some(next);
    }

    /// Goes on with the components, from the point that was reached without them, for as long again as the run has taken.
    fn return_to_components(
        &mut self,
        function: &mut Function<'_>,
        last_word: Progress,
    ) -> Result<Progress, EvaluationError> {
        let Some(aggregated) = self.aggregated.take() else { return Ok(last_word) };
        self.earlier_seconds = aggregated.master_seconds();
        self.last_word = Some((last_word, 2.0 * self.master_seconds()));
        self.components.move_to(function, &aggregated)
    }
}

impl Method for Granular {
    fn step(&mut self, function: &mut Function<'_>) -> Result<Progress, EvaluationError> {
        if let Some(aggregated) = &mut self.aggregated {
            let progress = aggregated.step(function)?;
            // Components are of use for the end where they prove what the whole function's cuts do not.
            let is_end = !matches!(progress, Progress::Step(_));
            let can_return = is_end && self.components.is_provable() && !aggregated.is_provable();
            return if can_return { self.return_to_components(function, progress) } else { Ok(progress) };
        }
        let spent = self.master_seconds();
        if let Some((last_word, _)) = self.last_word.take_if(|(_, seconds)| spent > *seconds) {
            return Ok(last_word);
        }
        if self.slow_steps >= PATIENCE {
            self.slow_steps = 0;
            self.aggregate(function);
            return self.step(function);
        }
        let before = self.components.master_seconds();
        let progress = self.components.step(function)?;
        let without = function.latest_seconds() + SECONDS + SECONDS_PER_VARIABLE * self.components.trial().len() as f64;
        let is_slow = self.last_word.is_none() && self.components.master_seconds() - before > WORTH * without;
        self.slow_steps = if is_slow { self.slow_steps + 1 } else { 0 };
        Ok(progress)
    }

    fn trial(&self) -> &[f64] {
        self.method().trial()
    }

    fn master_seconds(&self) -> f64 {
        let running = self.aggregated.as_ref().map_or(0.0, Method::master_seconds);
        self.earlier_seconds + running + self.components.master_seconds()
    }

    /// Cuts of components, even while cuts of the whole function are at work: those are of no use to a run after a change.
    fn harvest(&self, function: &Function<'_>, since: u64, harvest: &mut Harvest) {
        self.components.harvest(function, since, harvest);
    }

    fn bound(&mut self, best: f64, function: &mut Function<'_>) -> Option<Bound> {
        self.method_mut().bound(best, function)
    }
}
