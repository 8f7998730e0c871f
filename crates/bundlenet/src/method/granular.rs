//! Cuts of each component as long as they pay, cuts of the whole function where those do better, and components again for the
//! end.
//!
//! A model by component needs a fraction of the evaluations, and its master takes longer with every one. Where evaluations are
//! cheap, many of them with cuts of the whole function may do more in the same time, the more so the farther the optimum is. But
//! those prove nothing: when they have come near the end, the components' cuts, which have waited, go on from there.

use std::time::Instant;

use super::{Bound, BundleMethod, Method, Progress};
use crate::bundle::{Bundle, Cuts, Pruning};
use crate::error::EvaluationError;
use crate::function::Function;
use crate::master::{ComponentProposer, FIRST_CUTS, Proximity, QuadraticProposer, Strategy};
use crate::primal::Primal;
use crate::state::Harvest;

/// How many steps with cuts of the whole function do what one with components does where the gap is 1 %, and how that number
/// grows as the gap gets smaller, as a power of it (`docs/experiments.md`).
const WORTH: f64 = 15.0;
const WORTH_POWER: f64 = 0.4;
/// Steps in a row that take longer than that before components are given up: one may just have been interrupted.
const PATIENCE: usize = 2;
/// Components are tried again when the gap is this share of what it was.
const CLOSER: f64 = 0.1;
/// What the master and the rest of a step without components take: a constant, and for each variable.
const SECONDS: f64 = 5e-6;
const SECONDS_PER_VARIABLE: f64 = 25e-9;
/// The good step length without components, as a share of that with them.
const ETA_SHARE: f64 = 0.1;

/// Whether components are worth what a step with them takes, from the gap over `max(1, |f|)`.
fn is_worth(seconds: f64, function: &Function<'_>, dim: usize, gap: f64) -> bool {
    let without = function.quickest_seconds() + SECONDS + SECONDS_PER_VARIABLE * dim as f64;
    seconds <= without * WORTH * (0.01 / gap).powf(WORTH_POWER)
}

/// The bundle method, of components or of the whole function.
pub(crate) struct Granular {
    components: BundleMethod<ComponentProposer>,
    /// What runs while components do not pay.
    aggregated: Option<BundleMethod<QuadraticProposer>>,
    phase: Phase,
    /// How cuts of the whole function are forgotten.
    pruning: Pruning,
    /// Seconds that the last step with components took.
    seconds: f64,
    /// Seconds in masters of methods without components that have ended.
    earlier_seconds: f64,
}

enum Phase {
    /// Components, after so many steps in a row that took too long.
    Components { slow_steps: usize },
    /// Cuts of the whole function, until the gap is so small, or the end.
    Aggregated { until: f64 },
    /// Components once more, for so many seconds until what the method without them said at its end holds.
    End { last_word: Progress, left: f64 },
}

impl Granular {
    pub(crate) fn new(components: BundleMethod<ComponentProposer>, pruning: Pruning) -> Self {
        let phase = Phase::Components { slow_steps: 0 };
        Self { components, aggregated: None, phase, pruning, seconds: 0.0, earlier_seconds: 0.0 }
    }

    /// Begins without components, with a method that knows the function as well, if a step with them will take too long.
    pub(crate) fn or_begin_with(
        self,
        aggregated: BundleMethod<QuadraticProposer>,
        function: &Function<'_>,
        seconds: f64,
        gap: f64,
    ) -> Self {
        if is_worth(seconds, function, aggregated.trial().len(), gap) {
            // Components that do not know the best point yet begin by going where the other method is.
            let is_behind = self.components.cuts().centre_value() > aggregated.best();
            return Self { aggregated: is_behind.then_some(aggregated), seconds, ..self };
        }
        Self { aggregated: Some(aggregated), phase: Phase::Aggregated { until: CLOSER * gap }, seconds, ..self }
    }

    fn method(&self) -> &dyn Method {
        match &self.aggregated {
            Some(method) => method,
            None => &self.components,
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
        let bundle = bundle.with_cut(&subgradient, error, cuts.primal(self.components.proposal()));
        let newest_error = cuts.latest_cut(&mut subgradient);
        let bundle = bundle.with_cut(&subgradient, newest_error, function.solutions().map(Primal::of_all));
        let mut next = BundleMethod::new(function, bundle, proposer, self.pruning, self.components.tolerance());
        next.adopt(&self.components);
        self.aggregated = Some(next);
        self.phase = Phase::Aggregated { until: CLOSER * self.components.gap(function) };
    }

    /// Goes on with the components, from the point that was reached without them.
    fn return_to_components(&mut self, function: &mut Function<'_>) -> Result<Progress, EvaluationError> {
        let Some(aggregated) = self.aggregated.take() else { return self.components.step(function) };
        self.earlier_seconds += aggregated.master_seconds();
        self.components.move_to(function, &aggregated)
    }

    /// One step with cuts of the whole function.
    fn step_without(&mut self, function: &mut Function<'_>, until: f64) -> Result<Progress, EvaluationError> {
        let Some(aggregated) = &mut self.aggregated else { return self.components.step(function) };
        let progress = aggregated.step(function)?;
        let is_end = !matches!(progress, Progress::Step(_));
        // Components are of use for the end where they prove what the whole function's cuts do not.
        if is_end && !aggregated.is_provable() {
            self.components.prove(function);
        }
        if is_end && self.components.is_provable() && !aggregated.is_provable() {
            self.phase = Phase::End { last_word: progress, left: self.master_seconds() };
            return self.return_to_components(function);
        }
        let gap = aggregated.gap(function);
        if !is_end && gap <= until && is_worth(self.seconds, function, aggregated.trial().len(), gap) {
            self.phase = Phase::Components { slow_steps: 0 };
        }
        Ok(progress)
    }
}

impl Method for Granular {
    fn step(&mut self, function: &mut Function<'_>) -> Result<Progress, EvaluationError> {
        let begin = Instant::now();
        match &mut self.phase {
            Phase::Components { .. } if self.aggregated.is_some() => self.return_to_components(function),
            Phase::Components { slow_steps } if *slow_steps >= PATIENCE => {
                self.aggregate(function);
                self.step(function)
            }
            Phase::Components { slow_steps } => {
                let progress = self.components.step(function)?;
                self.seconds = begin.elapsed().as_secs_f64();
                let (dim, gap) = (self.components.trial().len(), self.components.gap(function));
                let is_slow = !is_worth(self.seconds, function, dim, gap);
                *slow_steps = if is_slow { *slow_steps + 1 } else { 0 };
                Ok(progress)
            }
            Phase::Aggregated { until } => {
                let until = *until;
                self.step_without(function, until)
            }
            Phase::End { last_word, left } if *left <= 0.0 => Ok(last_word.clone()),
            Phase::End { left, .. } => {
                let progress = self.components.step(function)?;
                *left -= begin.elapsed().as_secs_f64();
                Ok(progress)
            }
        }
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
        match &mut self.aggregated {
            Some(method) => method.bound(best, function),
            None => self.components.bound(best, function),
        }
    }

    fn primal(&self) -> Option<Primal> {
        self.method().primal()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::ComponentBundle;
    use crate::oracle::Oracle;
    use crate::problems::{Family, Generator, NetworkDesign, NetworkDesignDual, Problem};
    use crate::settings::Granularity;

    /// `b - A x` of a combination of flows.
    fn slope(instance: &NetworkDesign, primal: &Primal) -> Vec<f64> {
        let (nodes, commodities) = (instance.nodes(), instance.commodities().len());
        let mut slope = vec![0.0; nodes * commodities];
        for (k, commodity) in instance.commodities().iter().enumerate() {
            slope[k * nodes + commodity.origin] += commodity.demand;
            slope[k * nodes + commodity.destination] -= commodity.demand;
        }
        for &(variable, value) in &primal.variables {
            let (arc, k) = (variable as usize / (commodities + 1), variable as usize % (commodities + 1));
            if k < commodities {
                slope[k * nodes + instance.arcs()[arc].tail] -= value;
                slope[k * nodes + instance.arcs()[arc].head] += value;
            }
        }
        slope
    }

    /// The combination of solutions is the aggregate cut: the same slope, and the same value at 0.
    fn check<P: crate::master::Proposer>(
        method: &mut BundleMethod<P>,
        function: &mut Function<'_>,
        instance: &NetworkDesign,
    ) {
        method.bound(f64::INFINITY, function);
        let primal = method.primal().unwrap();
        let proposal = method.proposal();
        let aggregate = proposal.aggregate.as_ref().unwrap_or(&proposal.direction);
        let centre = method.cuts().centre();
        let mut value = method.cuts().centre_value() - proposal.sigma;
        for ((w, at), entry) in aggregate.numbers(centre.len()).iter().zip(centre).zip(slope(instance, &primal)) {
            // Errors of a place in a sum of some hundred products, of a function whose first subgradient has norm 1.
            assert!((w + function.scale() * entry).abs() < 1e-10, "{w} {entry}");
            value -= w * at;
        }
        let cost = -function.scale() * primal.cost;
        assert!((value - cost).abs() < 1e-9 * (1.0 + cost.abs()), "{value} {cost}");
    }

    #[test]
    fn primal_solutions_survive_both_changes() {
        let Problem::NetworkDesign(instance) = Generator::new(Family::McSml40, 3).instance(0).unwrap().problem else {
            panic!("a network design family")
        };
        for cap in [3, 100] {
            let pruning = Pruning { lifetime: 5, cap, bytes: usize::MAX };
            let mut dual = NetworkDesignDual::new(&instance);
            let start = vec![0.0; dual.dim()];
            let (mut function, beginning) =
                Function::begin(&mut dual, &start, Granularity::Component, None, true).unwrap();
            let minorants = beginning.minorants.unwrap();
            let cuts =
                ComponentBundle::new(&start, beginning.value, function.linear(), &minorants, function.solutions());
            let proximity = Proximity::for_components(&start, beginning.value, None);
            let proposer = ComponentProposer::new(proximity, function.domain(), start.len());
            let components = BundleMethod::new(&function, cuts.with_metric(), proposer, pruning, 1e-9);
            let mut method = Granular::new(components, pruning);
            for _ in 0..30 {
                method.components.step(&mut function).unwrap();
                check(&mut method.components, &mut function, &instance);
            }
            method.aggregate(&mut function);
            for _ in 0..30 {
                let aggregated = method.aggregated.as_mut().unwrap();
                aggregated.step(&mut function).unwrap();
                check(aggregated, &mut function, &instance);
            }
            method.return_to_components(&mut function).unwrap();
            for _ in 0..10 {
                check(&mut method.components, &mut function, &instance);
                method.components.step(&mut function).unwrap();
            }
        }
    }
}
