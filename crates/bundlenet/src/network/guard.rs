//! A guard: the exact master takes over from a network, for one of two reasons.
//!
//! A network is better than an exact master on functions like those of its training, and worse on others. Its inputs tell
//! both apart within a few steps. The guard holds their ranges in training. When an input is outside, the exact master
//! goes on with the same cuts, from the best point, with learned rules for the step length and for the centre.
//!
//! A network does not converge. An exact master does, and it gains on the network as its model fills. So the exact master
//! also takes over after a number of steps in proportion to the number of variables. If the network is told the
//! number of all steps, the last fifth of them becomes shorter and shorter.
//!
//! Many functions are unlike those of the training by their first subgradient. The guard holds ranges of three
//! observations of it, for `hybrid`, which is the bundle method outside of them.

use crate::master::{LearnedRule, Proposer, Proximity, QuadraticProposer, Strategy, first_scale};
use crate::model::{Bundle, Centre, Proposal, Step};
use crate::oracle::{Domain, Evaluation, Patience};

/// Smallest width of a range to which its margin belongs. Features are in standard deviations.
const LEAST_WIDTH: f64 = 0.3;

/// Number of observations of a start.
pub(crate) const START_OBSERVATIONS: usize = 3;

/// The observations of a start. None of them depends on units or on the number of variables.
pub(crate) fn observe_start(start: &Evaluation, domain: &Domain) -> [f64; START_OBSERVATIONS] {
    let subgradient = start.subgradient();
    let count = subgradient.len() as f64;
    let is_bounded = |index: &usize| domain.limits(*index) != (f64::NEG_INFINITY, f64::INFINITY);
    let bounded = (0..subgradient.len()).filter(is_bounded).count() as f64;
    let zeros = subgradient.iter().filter(|entry| **entry == 0.0).count() as f64;
    let mean = subgradient.iter().sum::<f64>() / count;
    let size = (subgradient.iter().map(|entry| entry * entry).sum::<f64>() / count).sqrt();
    [bounded / count, zeros / count, if size > 0.0 { mean / size } else { 0.0 }]
}

/// Least and greatest numbers that were seen.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ranges {
    pub(crate) least: Vec<f64>,
    pub(crate) greatest: Vec<f64>,
}

impl Ranges {
    /// Ranges of numbers of which none has been seen.
    fn empty(count: usize) -> Self {
        Self { least: vec![f64::INFINITY; count], greatest: vec![f64::NEG_INFINITY; count] }
    }

    /// Ranges of all finite numbers.
    pub(crate) fn unbounded(count: usize) -> Self {
        Self { least: vec![f64::MIN; count], greatest: vec![f64::MAX; count] }
    }

    /// Extends the ranges from number `first` on.
    fn extend(&mut self, first: usize, numbers: &[f64]) {
        let at = first..first + numbers.len();
        let ranges = self.least[at.clone()].iter_mut().zip(&mut self.greatest[at]);
        for ((least, greatest), &number) in ranges.zip(numbers) {
            (*least, *greatest) = (least.min(number), greatest.max(number));
        }
    }

    /// Widens all ranges by a share of their widths on both sides.
    fn widen(&mut self, share: f64) {
        for (least, greatest) in self.least.iter_mut().zip(&mut self.greatest) {
            let margin = share * (*greatest - *least).max(LEAST_WIDTH);
            (*least, *greatest) = (*least - margin, *greatest + margin);
        }
    }

    /// Whether the numbers are within their ranges, from number `first` on. Numbers without a range are.
    fn holds(&self, first: usize, numbers: impl IntoIterator<Item = f64>) -> bool {
        let ranges = self.least.iter().zip(&self.greatest).skip(first);
        ranges.zip(numbers).all(|((least, greatest), number)| (*least..=*greatest).contains(&number))
    }
}

/// The ranges of starts and of a network's inputs in training, and the learned rule of the exact master.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Guard {
    /// Ranges of the observations of a start, with margins; all numbers in older models.
    pub(crate) start: Ranges,
    /// Ranges of the transformed features, `[step][feature]`, from the first step on, with margins.
    pub(crate) inputs: Ranges,
    pub(crate) rule: LearnedRule,
}

impl Guard {
    /// A guard for `steps` steps of `inputs` features that has seen nothing.
    pub(crate) fn empty(steps: usize, inputs: usize, rule: LearnedRule) -> Self {
        Self { start: Ranges::empty(START_OBSERVATIONS), inputs: Ranges::empty(steps * inputs), rule }
    }

    /// Extends the ranges of starts.
    pub(crate) fn extend_start(&mut self, observed: [f64; START_OBSERVATIONS]) {
        self.start.extend(0, &observed);
    }

    /// Extends the ranges of a step by its features.
    pub(crate) fn extend(&mut self, step: usize, features: &[f64]) {
        self.inputs.extend(step * features.len(), features);
    }

    /// Widens all ranges by a share of their widths on both sides.
    pub(crate) fn widen(&mut self, share: f64) {
        self.start.widen(share);
        self.inputs.widen(share);
    }

    /// Whether a run begins like those of the training.
    pub(crate) fn knows(&self, start: &Evaluation, domain: &Domain) -> bool {
        self.start.holds(0, observe_start(start, domain))
    }

    /// Whether the features of a step are within their ranges. Later steps have no ranges.
    fn holds(&self, step: usize, features: impl ExactSizeIterator<Item = f64>) -> bool {
        self.inputs.holds(step * features.len(), features)
    }
}

/// Largest number of steps of a network that no other method follows, for each variable; chosen on validation data
/// (`docs/experiments.md`).
const STEPS_PER_VARIABLE: f64 = 0.1;

/// Fewest variables for a network in the default method: with fewer, a step is more than its share.
pub(crate) const FEWEST_VARIABLES: usize = 10;

/// Share of all steps in which the exact master shortens its steps, if their number is known. The lengths fall to 0 as a
/// square: long steps improve the model, short ones the best point, and no later step needs the model. With as many steps
/// as variables the model is nearly complete, and long steps improve both. Chosen on the functions of the example `rule`
/// (`docs/experiments.md`).
const LAST_SHARE: f64 = 0.2;

/// The guard of a run.
pub(crate) struct Watch {
    /// The best point so far.
    best: Centre,
    /// Steps of the network, and of the exact master after it.
    steps: usize,
    exact_steps: usize,
    /// Number of all steps, if it is known and below the number of variables.
    budget: Option<usize>,
    /// Step length before the last steps.
    settled: Option<f64>,
    /// Largest number of steps of the network.
    most_steps: usize,
    /// Step length for an exact master by the first two steps, and that of the last step.
    scale: f64,
    length: f64,
    /// Whether an input was outside of its range.
    is_outside: bool,
    exact: Option<QuadraticProposer>,
}

/// Number of first steps that tell the scale of the function.
const SCALE_STEPS: usize = 2;

impl Watch {
    /// `is_limited`: the number of the network's steps has a limit. `budget`: the number of all steps, if it is known.
    pub(crate) fn new(start: &Evaluation, is_limited: bool, budget: Option<usize>) -> Self {
        let best = Centre::new(&start.point, start.value, start.width);
        let limit = (STEPS_PER_VARIABLE * start.point.len() as f64).ceil() as usize;
        let most_steps = if is_limited { limit } else { usize::MAX };
        let budget = budget.filter(|&steps| steps < start.point.len());
        Self {
            best,
            steps: 0,
            exact_steps: 0,
            budget,
            settled: None,
            most_steps,
            scale: 0.0,
            length: 0.0,
            is_outside: false,
            exact: None,
        }
    }

    /// Whether the number of the network's steps has a limit.
    pub(crate) fn is_limited(&self) -> bool {
        self.most_steps < usize::MAX
    }

    /// Whether the exact master can go on from here.
    pub(crate) fn can_hand_over(&self) -> bool {
        self.steps > 0 && (self.is_over() || self.is_limited())
    }

    /// Whether the exact master takes the next steps.
    pub(crate) fn is_over(&self) -> bool {
        self.is_outside || self.steps >= self.most_steps
    }

    /// Records an evaluation before the exact master takes over.
    pub(crate) fn see(&mut self, Evaluation { point, value, width, .. }: &Evaluation) {
        if (*value, *width) < (self.best.value, self.best.width) {
            self.best.point.copy_from_slice(point);
            (self.best.value, self.best.width) = (*value, *width);
        }
    }

    /// Records a step of the network.
    pub(crate) fn note(&mut self, step: &Step<'_>) {
        self.steps += 1;
        self.see(step.seen);
        self.length = step.proposal.plain_eta();
        if self.steps <= SCALE_STEPS {
            self.scale = first_scale(step, self.length);
        }
    }

    /// Compares the features after the last step with the ranges of training.
    pub(crate) fn judge(&mut self, guard: &Guard, features: impl ExactSizeIterator<Item = f64>) {
        self.is_outside |= !guard.holds(self.steps - 1, features);
    }

    /// Whether the guard has ranges for the last step.
    pub(crate) fn is_watching(&self, guard: &Guard, inputs: usize) -> bool {
        !self.is_over() && self.steps * inputs <= guard.inputs.least.len()
    }

    /// The step length rule of an exact master that goes on from here.
    pub(crate) fn proximity(&self, guard: &Guard) -> Proximity {
        let proximity = match self.steps {
            0..=SCALE_STEPS => Proximity::new(Strategy::Adaptive, self.scale),
            _ if self.is_outside => Proximity::going_on(self.scale),
            _ => Proximity::going_on(self.length),
        };
        proximity.with_rule(guard.rule)
    }

    /// The best point so far.
    pub(crate) fn best(&self) -> &Centre {
        &self.best
    }

    /// Proposes by the exact master.
    pub(crate) fn propose(
        &mut self,
        guard: &Guard,
        domain: &Domain,
        bundle: &mut Bundle,
        proposal: &mut Proposal,
        patience: &Patience<'_>,
    ) {
        let exact = match self.exact.take() {
            Some(exact) => exact,
            None => {
                bundle.hand_over(&self.best);
                proposal.aggregate = None;
                QuadraticProposer::new(self.proximity(guard), domain, bundle.dim())
            }
        };
        let (last, exact) = (self.last_length(exact.proximity().eta()), self.exact.insert(exact));
        if let Some(eta) = last {
            exact.set_eta(eta);
        }
        exact.propose(bundle, proposal, patience);
    }

    /// Length of the next step, if it is one of the last. `eta` is that of the exact master.
    fn last_length(&mut self, eta: f64) -> Option<f64> {
        let budget = self.budget?;
        let left = budget.saturating_sub(self.steps + self.exact_steps).max(1);
        let last = (LAST_SHARE * budget as f64).round();
        let share = left as f64 / (last + 1.0);
        (share < 1.0).then(|| share * share * *self.settled.get_or_insert(eta))
    }

    /// Sets the length of the exact master's next step. False if the network takes it, or if the end of the run sets its
    /// length.
    pub(crate) fn set_eta(&mut self, eta: f64) -> bool {
        self.settled.is_none() && self.exact.as_mut().is_some_and(|exact| exact.set_eta(eta))
    }

    /// Lets the exact master learn from a step. False if the network proposed it.
    pub(crate) fn learn(&mut self, bundle: &Bundle, step: &Step<'_>) -> bool {
        let Some(exact) = &mut self.exact else { return false };
        self.exact_steps += 1;
        exact.learn(bundle, step);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_RULE: LearnedRule = LearnedRule { coefficients: [0.0; 12], follow: 0.0 };

    #[test]
    fn ranges_have_margins() {
        let mut guard = Guard::empty(2, 2, NO_RULE);
        for features in [[1.0, 5.0], [3.0, 5.0]] {
            (0..2).for_each(|step| guard.extend(step, &features));
        }
        guard.widen(0.5);
        for (features, is_inside) in
            [([0.1, 5.1], true), ([3.9, 4.9], true), ([4.1, 5.0], false), ([2.0, 5.2], false), ([f64::NAN, 5.0], false)]
        {
            assert_eq!(guard.holds(1, features.into_iter()), is_inside, "{features:?}");
        }
        // There is no range for later steps.
        assert!(guard.holds(2, [100.0, 100.0].into_iter()));
    }

    #[test]
    fn last_steps_become_shorter_where_variables_are_many() {
        for (dim, budget, expected) in [
            (20, Some(15), vec![None, None, Some(9.0), Some(4.0), Some(1.0)]),
            (15, Some(15), vec![None; 5]),
            (20, None, vec![None; 5]),
        ] {
            let mut watch = Watch::new(&Evaluation::at(&vec![0.0; dim]), true, budget);
            // Ten steps of the network, then those of the exact master, whose own length changes from step to step.
            watch.steps = 10;
            let lengths: Vec<Option<f64>> = (0..5)
                .map(|step| {
                    watch.exact_steps = step;
                    watch.last_length(if step == 2 { 16.0 } else { 100.0 })
                })
                .collect();
            assert_eq!(lengths, expected, "{dim} {budget:?}");
        }
    }

    /// A longer step is no use where the end of the run sets its length.
    #[test]
    fn only_the_exact_master_takes_a_length() {
        let mut watch = Watch::new(&Evaluation::at(&[0.0; 20]), true, Some(15));
        assert!(!watch.set_eta(7.0));
        watch.exact = Some(QuadraticProposer::new(Proximity::going_on(1.0), &Domain::Free, 20));
        assert!(watch.set_eta(7.0));
        assert_eq!(watch.exact.as_ref().map(|exact| exact.proximity().eta()), Some(7.0));
        watch.exact_steps = 14;
        assert!(watch.last_length(7.0).is_some());
        assert!(!watch.set_eta(9.0));
    }

    #[test]
    fn a_network_hands_over_after_its_first_step() {
        for (is_limited, steps, expected) in [(true, 0, false), (true, 1, true), (false, 1, false)] {
            let mut watch = Watch::new(&Evaluation::at(&[0.0; 20]), is_limited, None);
            watch.steps = steps;
            assert_eq!(watch.can_hand_over(), expected, "{is_limited} {steps}");
        }
        let mut watch = Watch::new(&Evaluation::at(&[0.0; 20]), false, None);
        (watch.steps, watch.is_outside) = (1, true);
        assert!(watch.can_hand_over());
    }

    /// A second evaluation of the best point may have a narrower interval.
    #[test]
    fn the_best_point_has_the_narrowest_interval() {
        let mut start = Evaluation::at(&[0.0; 2]);
        (start.value, start.width) = (1.0, 0.5);
        let mut watch = Watch::new(&start, true, None);
        start.width = 0.1;
        watch.see(&start);
        assert_eq!(watch.best().width, 0.1);
    }

    #[test]
    fn starts_are_told_apart_by_their_subgradients() {
        let start = |subgradient: [f64; 4]| {
            let mut start = Evaluation::at(&[0.0; 4]);
            start.subgradient.numbers_mut(4).copy_from_slice(&subgradient);
            start
        };
        let mut guard = Guard::empty(1, 1, NO_RULE);
        for subgradient in [[3.0, 0.0, 0.0, -3.0], [0.5, 0.0, 0.0, -0.4]] {
            guard.extend_start(observe_start(&start(subgradient), &Domain::Free));
        }
        guard.widen(0.2);
        for (subgradient, domain, is_known) in [
            ([1e6, 0.0, 0.0, -1e6], Domain::Free, true),
            ([3.0, 0.0, 0.0, -3.0], Domain::Nonnegative, false),
            ([1.0, 1.0, 1.0, 1.0], Domain::Free, false),
            ([1.0, 1.0, 0.0, 0.0], Domain::Free, false),
            ([1.0, -2.0, 2.0, -1.0], Domain::Free, false),
        ] {
            assert_eq!(guard.knows(&start(subgradient), &domain), is_known, "{subgradient:?} {domain:?}");
        }
    }
}
