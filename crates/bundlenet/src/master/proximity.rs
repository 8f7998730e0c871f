//! Step-length strategies: the rules by which `eta` changes from step to step, and the centre moves.

use serde::{Deserialize, Serialize};

use super::learned::{Course, LearnedRule, learned_steps};
use crate::model::{CentrePolicy, Proposal, Step};

/// Strategy for the step length `eta` of the bundle method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Strategy {
    /// Finds its initial value in the first steps, then follows how well the model predicts.
    #[default]
    Adaptive,
    /// `eta` stays at its initial value.
    Constant,
    /// `eta` does not shrink while the predicted decrease is small compared with that of a very long step.
    Soft,
    /// As `soft`, and `eta` grows in that case, even after a null step.
    Hard,
    /// Keeps the two terms of the stop test at a similar size.
    Balancing,
}

/// Factors on `eta` in the paper's strategies.
const UP: f64 = 1.1;
const DOWN: f64 = 0.9;
/// Bounds on `eta` in the paper's strategies.
const LEAST: f64 = 1e-5;
const MOST: f64 = 1e4;
/// Bounds on `eta` in `adaptive`: its square and its inverse stay finite.
const FINITE: (f64, f64) = (1e-100, 1e100);
/// A very long step, for the paper's long-term rules.
const ETA_STAR: f64 = 1e5;
/// `mt`: share below which a predicted decrease is small.
const LITTLE: f64 = 0.01;
/// First step, as a share of the norm of the start point.
const START_SHARE: f64 = 0.35;
/// First step, as a share of the scaled function's value at the start.
const FIRST_SHARE: f64 = 0.1;
/// The function looks linear along a step if it decreases by at least this share of the predicted decrease. Then the
/// parabola through both values has its minimum at 25 times the length or farther.
const LINEAR: f64 = 0.98;
/// A step is a large one if it brings at least this share of the decrease of the run.
const LARGE: f64 = 0.1;
/// Factor after the second large step in a row along which the function looks linear.
const GROWTH: f64 = 3.0;
/// Largest change of the step length in one step while the scale is sought. A step that is too long by a larger factor
/// meets values whose round-off spoils the model.
pub(crate) const MOST_CHANGE: f64 = 1e3;

/// Constants of `adaptive` with cuts of the whole function, chosen on validation data and the academic functions
/// (`docs/experiments.md`).
mod adaptive {
    /// Number of first steps in which the scale is found, their share of the way to the zero of the slope, and the
    /// bounds on their factors.
    pub(super) const FINDING_STEPS: usize = 2;
    pub(super) const FINDING_SHARE: f64 = 0.9;
    pub(super) const FINDING_FACTORS: (f64, f64) = (0.3, 3.0);
    /// A trial point was too far away if the linearisation error exceeds this multiple of the predicted decrease.
    pub(super) const FAR: f64 = 1.05;
    /// Bounds on the factors of later steps.
    pub(super) const FACTORS: (f64, f64) = (0.4, 3.0);
    /// Factor after a null step without a new cut.
    pub(super) const REPEATED: f64 = 0.1;
    /// The floor as a share of the scale found, and its growth after a null step. It grows while a long step, of this
    /// multiple of the scale, would more than double the predicted decrease.
    pub(super) const FLOOR_SHARE: f64 = 1.0 / 3.0;
    pub(super) const FLOOR_GROWTH: f64 = 1.007;
    pub(super) const LONG: f64 = 100.0;
    /// Multiple of the predicted decrease beyond which an error shows that the floor is too high, and the factor on it
    /// then.
    pub(super) const VERY_FAR: f64 = 3.0;
    pub(super) const FLOOR_DECAY: f64 = 0.8;
}

/// Constants of `adaptive` with cuts of each component, chosen on validation data (`docs/experiments.md`).
mod components {
    /// First step if the function's value at the start is 0, times the root of the number of variables.
    pub(super) const START: f64 = 3.5;
    /// Bounds on the factor after the first step.
    pub(super) const FINDING_FACTORS: (f64, f64) = (1.0 / super::MOST_CHANGE, 6.0);
    /// Later trial points aim at this multiple of the way to the minimum of the model with the new cuts. `FACTORS`
    /// bounds the factor; each step applies its square root.
    pub(super) const BEYOND_REACH: f64 = 1.85;
    pub(super) const FACTORS: (f64, f64) = (0.5, 4.0);
    /// Number of steps in which the length follows that rule alone. In step `t` after them it falls by `SETTLING / t` of
    /// what the rule says.
    pub(super) const SETTLING: f64 = 10.0;
    /// The length then grows by `LONGER` after a serious step with `sigma < STEEP eta |w|^2`: the subgradient of the model is
    /// far from 0, and a longer step promises much more.
    pub(super) const STEEP: f64 = 10.0;
    pub(super) const LONGER: f64 = 1.2;
    /// Where `sigma` is larger than that, a trial point is nearly the minimum of the model, whatever the step length. Then its
    /// share of the way follows the rule instead, down to this one.
    pub(super) const LEAST_INSIDE: f64 = 0.05;
    /// Factor on the minimum of the parabola, for the new centre. The value of the centre is only an upper bound. After null
    /// steps the factor settles as step lengths do.
    pub(super) const BEYOND_PARABOLA: f64 = 1.5;
}

/// A strategy with its state.
#[derive(Clone, Debug)]
pub(crate) struct Proximity {
    strategy: Strategy,
    eta: f64,
    /// Consecutive serious and null steps before `eta` may grow or shrink: the paper's middle-term rule.
    required: (usize, usize),
    /// Number of consecutive steps of the same kind with the present `eta`, and whether they are serious.
    run: (usize, bool),
    /// Steps since the scale is known.
    steps: usize,
    /// The length that the first steps found.
    scale: f64,
    floor: f64,
    growth: Growth,
    /// Whether the model has cuts of each component.
    by_component: bool,
    /// Share of the way to the minimum of the model at which trial points are, where step lengths have no effect.
    inside: f64,
    /// A learned rule whose step lengths take the place of those of `adaptive` after the first steps, up to a number of
    /// steps.
    rule: Option<LearnedRule>,
    /// How the centre moves, with cuts of the whole function.
    centre: CentrePolicy,
}

impl Proximity {
    pub(crate) fn new(strategy: Strategy, eta: f64) -> Self {
        Self {
            strategy,
            eta,
            required: (1, 1),
            run: (0, true),
            steps: 0,
            scale: eta,
            floor: 0.0,
            growth: Growth::default(),
            by_component: false,
            inside: 1.0,
            rule: None,
            centre: CentrePolicy::Hard,
        }
    }

    /// Sets a learned rule for the centre, and for step lengths once the scale is found.
    pub(crate) fn with_rule(self, rule: LearnedRule) -> Self {
        Self { rule: Some(rule), centre: rule.centre_policy(), ..self }
    }

    /// Sets the numbers of consecutive serious and null steps before `eta` grows or shrinks.
    pub(crate) fn with_patience(self, serious: usize, null: usize) -> Self {
        Self { required: (serious, null), ..self }
    }

    /// `adaptive` with an initial value from the start point and the scaled function's value there.
    pub(crate) fn adaptive(start: &[f64], value: f64) -> Self {
        Self::new(Strategy::Adaptive, first_length(start, value, 1.0))
    }

    /// `adaptive` for cuts of each component. They allow longer steps.
    pub(crate) fn for_components(start: &[f64], value: f64, eta: Option<f64>) -> Self {
        let eta = eta.unwrap_or_else(|| first_length(start, value, components::START));
        Self { by_component: true, ..Self::new(Strategy::Adaptive, eta) }
    }

    /// `adaptive` with a step length that was found before.
    pub(crate) fn going_on(eta: f64) -> Self {
        let (steps, floor) = (adaptive::FINDING_STEPS, adaptive::FLOOR_SHARE * eta);
        Self { steps, floor, growth: Growth::NONE, ..Self::new(Strategy::Adaptive, eta) }
    }

    /// `adaptive` for cuts of each component, with a step length that was found before.
    pub(crate) fn going_on_with_components(eta: f64) -> Self {
        Self { by_component: true, steps: 1, growth: Growth::NONE, ..Self::new(Strategy::Adaptive, eta) }
    }

    /// `adaptive` for cuts of each component, after cuts of the whole function with this strategy. `eta` is the length of the
    /// last step. If the scale is not yet found, the next step finds it from the next length.
    pub(crate) fn with_components(&self, eta: f64) -> Self {
        let is_found = self.steps >= adaptive::FINDING_STEPS;
        if is_found { Self::going_on_with_components(eta) } else { Self::for_components(&[], 0.0, Some(self.eta)) }
    }

    pub(crate) fn eta(&self) -> f64 {
        self.eta
    }

    /// Sets the step length.
    pub(crate) fn set_eta(&mut self, eta: f64) {
        self.eta = eta.clamp(FINITE.0, FINITE.1);
    }

    /// Rule for the next move of the centre. With cuts of the whole function it moves in serious steps, and as a learned
    /// rule says. With cuts of components it moves in every step. The first step
    /// moves it to the minimum of the model, because the step length is not yet found. As step lengths settle, the centre
    /// follows null steps less and less.
    pub(crate) fn centre_policy(&self) -> CentrePolicy {
        let serious = components::BEYOND_PARABOLA;
        match (self.by_component, self.steps) {
            (false, _) => self.centre,
            (true, 0) => CentrePolicy::Reach,
            (true, _) => CentrePolicy::Parabola { serious, null: self.settled().min(1.0) * serious },
        }
    }

    /// Share of the way of a proposal at which its trial point is to be.
    pub(crate) fn inside(&self, proposal: &Proposal) -> f64 {
        if self.is_at_minimum(proposal) { self.inside } else { 1.0 }
    }

    /// Whether a proposal leads nearly to the minimum of the model, so that other step lengths would lead there, too.
    fn is_at_minimum(&self, proposal: &Proposal) -> bool {
        let Proposal { eta, norm_squared, sigma, is_accurate, .. } = *proposal;
        self.by_component && is_accurate && self.settled() <= 1.0 && sigma > components::STEEP * eta * norm_squared
    }

    /// Adjusts `eta` to the result of a step.
    pub(crate) fn update(&mut self, step: &Step<'_>) {
        let growth = self.growth.factor(step);
        self.run = if self.run.1 == step.is_serious { (self.run.0 + 1, self.run.1) } else { (1, step.is_serious) };
        let factor = match (self.strategy, self.by_component) {
            (Strategy::Adaptive, true) if self.is_at_minimum(step.proposal) => self.factor_inside(step).max(growth),
            (Strategy::Adaptive, true) => self.component_factor(step).max(growth),
            (Strategy::Adaptive, false) => self.adaptive_factor(step).max(growth),
            _ => self.paper_factor(step),
        };
        // The scale is unknown after a step that was far too short or far too long.
        let is_known = growth <= 1.0 && (self.steps > 0 || factor > 1.0 / MOST_CHANGE);
        self.steps = if is_known { self.steps + 1 } else { 0 };
        let required = if step.is_serious { self.required.0 } else { self.required.1 };
        if self.strategy != Strategy::Adaptive && self.run.0 < required {
            return;
        }
        let before = self.eta;
        let (least, most) = if self.strategy == Strategy::Adaptive { FINITE } else { (LEAST, MOST) };
        self.eta = (self.eta * factor).max(self.floor).clamp(least.min(self.eta), most.max(self.eta));
        if self.eta != before {
            self.run.0 = 0;
        }
    }

    /// The paper's long-term rules.
    fn paper_factor(&self, step: &Step<'_>) -> f64 {
        let (long, sigma) = (long_term(step), step.proposal.sigma);
        match (self.strategy, step.is_serious) {
            (Strategy::Constant | Strategy::Adaptive, _) => 1.0,
            (Strategy::Soft | Strategy::Hard, true) => UP,
            (Strategy::Soft, false) if promises_little(step, LITTLE) => 1.0,
            (Strategy::Hard, false) if promises_little(step, LITTLE) => UP,
            (Strategy::Balancing, true) if long <= LITTLE * sigma => 1.0,
            (Strategy::Balancing, true) => UP,
            (Strategy::Balancing, false) if LITTLE * long >= sigma => 1.0,
            (Strategy::Soft | Strategy::Hard | Strategy::Balancing, false) => DOWN,
        }
    }

    /// Finds the scale in the first steps. Then `eta` grows after good serious steps and shrinks after null steps from
    /// too far away. A floor keeps it from collapsing.
    fn adaptive_factor(&mut self, step: &Step<'_>) -> f64 {
        use adaptive::{FACTORS, FAR, FINDING_STEPS, FLOOR_DECAY, FLOOR_GROWTH, FLOOR_SHARE, LONG, REPEATED, VERY_FAR};
        if self.steps < FINDING_STEPS {
            let factor = finding_factor(step);
            self.scale = self.eta * factor;
            self.floor = FLOOR_SHARE * self.scale;
            return factor;
        }
        if let Some(rule) = self.rule.filter(|_| !step.is_repeated) {
            if self.steps < learned_steps(step.seen.point.len()) {
                let course = Course { steps: self.steps, relative: self.eta / self.scale, run: self.run.0 };
                self.floor = 0.0;
                return rule.factor(step, course);
            }
            (self.rule, self.floor) = (None, FLOOR_SHARE * self.eta);
        }
        if step.is_serious {
            return interpolation(step).clamp(1.0, FACTORS.1);
        }
        if step.is_repeated {
            self.floor *= REPEATED;
            return REPEATED;
        }
        let (error, promised) = (step.sight.error, step.promised());
        if error > VERY_FAR * promised {
            self.floor *= if self.eta <= self.floor { FLOOR_DECAY } else { 1.0 };
        } else if step.proposal.sigma < LONG * self.scale * step.proposal.norm_squared {
            self.floor *= FLOOR_GROWTH;
        }
        // A large linearisation error: the trial point was too far away.
        if error > FAR * promised { interpolation(step).clamp(FACTORS.0, 1.0) } else { 1.0 }
    }

    /// The share of a change that a step makes after the first [`components::SETTLING`] ones; above 1 before.
    fn settled(&self) -> f64 {
        components::SETTLING / self.steps as f64
    }

    /// Aims at trial points at a fixed multiple of the way to the minimum of the model with the new cuts. A function that
    /// looks the same at every scale has the same reach after every step, however short. So the length falls less and
    /// less, like a running mean, and grows while much longer steps promise much more. The directions of inaccurate
    /// solves allow shorter steps only.
    fn component_factor(&self, step: &Step<'_>) -> f64 {
        use components::{LONGER, STEEP};
        if self.steps == 0 {
            let reach = step.sight.reach.unwrap_or(1.0);
            let found = if reach <= 1.0 { reach } else { secant(step) };
            return found.clamp(components::FINDING_FACTORS.0, components::FINDING_FACTORS.1);
        }
        let factor = reach_factor(step);
        let settled = self.settled();
        if settled > 1.0 || factor >= LONGER || !step.proposal.is_accurate {
            return factor;
        }
        let Proposal { eta, norm_squared, sigma, .. } = *step.proposal;
        let grows = step.is_serious && sigma < STEEP * eta * norm_squared;
        if grows { LONGER } else { factor.max(1.0 - (1.0 - factor) * settled) }
    }

    /// As [`Self::component_factor`], for a trial point on the way to the minimum of the model. A smaller `eta` would hardly
    /// move that minimum, so the share of the way follows the reach at once (in-out separation: Ben-Ameur and Neto, 2007).
    /// A larger `eta` would not move it, either, and would be far too long for a warm start.
    fn factor_inside(&mut self, step: &Step<'_>) -> f64 {
        // Without a new cut, the same way has the same minimum. Only points farther away can have one.
        let wanted = if step.is_repeated { 1.0 } else { self.inside * reach_factor(step) };
        self.inside = wanted.clamp(components::LEAST_INSIDE, 1.0);
        self.component_factor(step).min(1.0)
    }
}

/// The factor of a step that aims at a fixed multiple of the reach.
fn reach_factor(step: &Step<'_>) -> f64 {
    use components::{BEYOND_REACH, FACTORS};
    (BEYOND_REACH * step.sight.reach.unwrap_or(1.0)).clamp(FACTORS.0, FACTORS.1).sqrt()
}

/// Growth of large steps along which the function looks linear, so that any scale is found soon. Small steps at the end
/// of a run often look linear, too.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Growth {
    /// The least factor on the step length, times `GROWTH`.
    factor: f64,
    /// Sum of all decreases.
    gained: f64,
}

impl Growth {
    /// No growth: the scale is known, and no step is a large one.
    const NONE: Self = Self { factor: 0.0, gained: f64::INFINITY };

    /// Least factor on the step length: 1 after the first such step, then 3, 27, and 1000 until the function bends; 0 if
    /// it does not look linear.
    pub(crate) fn factor(&mut self, step: &Step<'_>) -> f64 {
        let decrease = step.decrease();
        self.gained += decrease.max(0.0);
        let is_linear = decrease >= LINEAR * step.promised() && decrease >= LARGE * self.gained;
        self.factor = if is_linear { (self.factor * self.factor).clamp(GROWTH, GROWTH * MOST_CHANGE) } else { 0.0 };
        self.factor / GROWTH
    }
}

/// Length of the first step: a share of the norm of the start point. If that is 0, a share of the scaled value there.
/// If that is 0 as well, `for_each` times the root of the number of variables.
fn first_length(start: &[f64], value: f64, for_each: f64) -> f64 {
    let size = start.iter().map(|entry| entry * entry).sum::<f64>().sqrt();
    if size > 0.0 {
        START_SHARE * size
    } else if value != 0.0 {
        FIRST_SHARE * value.abs()
    } else {
        for_each * (start.len() as f64).sqrt()
    }
}

/// Factor on the step length in the first steps, which find the scale.
fn finding_factor(step: &Step<'_>) -> f64 {
    use adaptive::{FINDING_FACTORS, FINDING_SHARE};
    // A step that is far too long shows by the crossing of the two cuts, which is close to the centre.
    let least = FINDING_FACTORS.0.min(2.0 * crossing(step)).max(1.0 / MOST_CHANGE);
    (FINDING_SHARE * secant(step)).clamp(least, FINDING_FACTORS.1)
}

/// The scale that `adaptive` finds from a first step of another method, of length `eta`.
pub(crate) fn first_scale(step: &Step<'_>, eta: f64) -> f64 {
    (finding_factor(step) * eta).clamp(FINITE.0, FINITE.1)
}

/// Half of the first term of the stop test: `eta* |w|^2 / 2`.
fn long_term(step: &Step<'_>) -> f64 {
    0.5 * ETA_STAR * step.proposal.norm_squared
}

/// Whether the predicted decrease is small compared with that of a very long step.
fn promises_little(step: &Step<'_>, share: f64) -> bool {
    step.promised() < share * (step.proposal.sigma + long_term(step))
}

/// The factor on `eta` at which the slope along the direction vanishes, by linear interpolation.
pub(crate) fn secant(step: &Step<'_>) -> f64 {
    let change = step.proposal.norm_squared - step.sight.slope;
    if change > 0.0 { step.proposal.norm_squared / change } else { f64::INFINITY }
}

/// The factor on `eta` at which the new cut crosses the model, if the model is linear along the direction.
pub(crate) fn crossing(step: &Step<'_>) -> f64 {
    let change = step.proposal.eta * (step.proposal.norm_squared - step.sight.slope);
    if change > 0.0 { step.sight.error.max(0.0) / change } else { f64::INFINITY }
}

/// The factor on `eta` at the minimum of a parabola (Kiwiel, 1990). It goes through the values at the centre and at the
/// trial point and begins with the predicted slope.
fn interpolation(step: &Step<'_>) -> f64 {
    let missing = 2.0 * (1.0 - step.decrease() / step.promised());
    if missing > 0.0 { 1.0 / missing } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::master::OBSERVATIONS;
    use crate::model::Sight;
    use crate::oracle::Evaluation;

    /// A step: serious or not, `|w|^2`, `sigma`. The decrease is as predicted, or a rise of the same size.
    type Case = (bool, f64, f64);

    fn update(proximity: &mut Proximity, case: Case) {
        update_with_reach(proximity, case, None);
    }

    fn update_with_reach(proximity: &mut Proximity, (is_serious, norm_squared, sigma): Case, reach: Option<f64>) {
        let proposal = Proposal { eta: 10.0, norm_squared, sigma, ..Proposal::new(1) };
        let promised = proposal.decrease();
        let value = if is_serious { -promised } else { promised };
        let seen = Evaluation { value, ..Evaluation::at(&[0.0]) };
        let sight = Sight { error: 2.0 * promised, slope: 0.0, reach };
        let share = f64::from(is_serious);
        let (proposal, seen) = (&proposal, &seen);
        proximity.update(&Step { proposal, seen, sight, centre_value: 0.0, share, is_serious, is_repeated: false });
    }

    fn eta_after(strategy: Strategy, cases: &[Case]) -> f64 {
        let mut proximity = Proximity::new(strategy, 10.0);
        cases.iter().for_each(|&case| update(&mut proximity, case));
        proximity.eta()
    }

    #[test]
    fn the_papers_rules() {
        // The terms of the stop test are 5e4 |w|^2 and sigma.
        let (steep, flat) = (1e-3, 1e-9);
        let serious = [(true, steep, 1.0)];
        let null = [(false, steep, 1.0)];
        for strategy in [Strategy::Soft, Strategy::Hard, Strategy::Balancing] {
            assert_eq!(eta_after(strategy, &serious), 11.0, "{strategy:?}");
        }
        assert_eq!(eta_after(Strategy::Constant, &serious), 10.0);
        assert_eq!(eta_after(Strategy::Constant, &null), 10.0);
        // Predicted 1.01, with a long step 51: not small.
        assert_eq!(eta_after(Strategy::Soft, &null), 9.0);
        assert_eq!(eta_after(Strategy::Hard, &null), 9.0);
        // Predicted 0.02, with a long step 50: small.
        let little = [(false, steep, 0.01)];
        assert_eq!(eta_after(Strategy::Soft, &little), 10.0);
        assert_eq!(eta_after(Strategy::Hard, &little), 11.0);
        // Balancing: no shrinking while the first term is large, no growth while it is small.
        assert_eq!(eta_after(Strategy::Balancing, &little), 10.0);
        assert_eq!(eta_after(Strategy::Balancing, &[(true, flat, 1.0)]), 10.0);
        assert_eq!(eta_after(Strategy::Balancing, &[(false, flat, 1.0)]), 9.0);
    }

    #[test]
    fn eta_stays_within_its_bounds() {
        assert_eq!(eta_after(Strategy::Soft, &[(true, 1e-3, 1.0); 200]), MOST);
        assert_eq!(eta_after(Strategy::Soft, &[(false, 1e-3, 1.0); 500]), LEAST);
    }

    #[test]
    fn patience_counts_steps_of_a_kind_with_the_same_eta() {
        let mut proximity = Proximity::new(Strategy::Soft, 10.0).with_patience(2, 3);
        let mut etas = vec![];
        for is_serious in [true, true, true, false, false, false, false, true, true] {
            update(&mut proximity, (is_serious, 1e-3, 1.0));
            etas.push((proximity.eta() * 100.0).round() / 100.0);
        }
        assert_eq!(etas, [10.0, 11.0, 11.0, 11.0, 11.0, 9.9, 9.9, 9.9, 10.89]);
    }

    #[test]
    fn adaptive_steps_do_not_collapse() {
        let mut proximity = Proximity::adaptive(&[0.0; 100], 0.0);
        assert_eq!(proximity.eta(), 10.0);
        (0..2000).for_each(|_| update(&mut proximity, (false, 1e-3, 1.0)));
        assert!(proximity.eta() > 0.1, "{}", proximity.eta());
    }

    /// Once step lengths settle, the centre follows null steps less and less. It still follows serious ones.
    #[test]
    fn the_centre_settles() {
        let shares_after = |steps: usize| {
            let mut proximity = Proximity::going_on_with_components(10.0);
            (0..steps).for_each(|_| update_with_reach(&mut proximity, (false, 1e-3, 1.0), Some(0.5)));
            // A rise of nothing, and a decrease of half of the promise.
            [(false, 0.0), (true, -0.5)]
                .map(|(is_serious, rise)| proximity.centre_policy().share(is_serious, rise, 1.0, None))
        };
        assert_eq!(shares_after(0), [0.75, 1.0]);
        assert_eq!(shares_after(9), [0.75, 1.0]);
        assert_eq!(shares_after(19), [0.375, 1.0]);
        assert_eq!(shares_after(639), [0.75 / 64.0, 1.0]);
    }

    /// The reach of a function that looks the same at every scale.
    #[test]
    fn component_steps_do_not_collapse() {
        let after = |case: Case| {
            let mut proximity = Proximity::for_components(&[0.0; 100], 0.0, Some(10.0));
            (0..2000).for_each(|_| update_with_reach(&mut proximity, case, Some(0.4)));
            proximity.eta()
        };
        // `eta |w|^2` is 0.01 in every step. The square root of 0.74 is 0.86: 2,000 such factors would be 1e-131.
        assert!(after((false, 1e-3, 1.0)) > 1e-4, "{}", after((false, 1e-3, 1.0)));
        // A longer step promises more, so the length grows.
        assert!(after((true, 1e-3, 0.01)) > 10.0, "{}", after((true, 1e-3, 0.01)));
    }

    /// Where a step leads to the minimum of the model, the trial point comes closer at once. Elsewhere it is at the end.
    #[test]
    fn trial_points_are_inside_where_step_lengths_have_no_effect() {
        let far = Proposal { eta: 10.0, norm_squared: 1e-3, sigma: 1.0, ..Proposal::new(1) };
        let near = Proposal { sigma: 0.09, ..far.clone() };
        let rough = Proposal { is_accurate: false, ..far.clone() };
        let after = |steps: usize, reach: f64| {
            let mut proximity = Proximity::going_on_with_components(10.0);
            (0..steps).for_each(|_| update_with_reach(&mut proximity, (false, 1e-3, 1.0), Some(reach)));
            [&far, &near, &rough].map(|proposal| proximity.inside(proposal))
        };
        // The first ten steps find the length.
        assert_eq!(after(9, 0.2), [1.0; 3]);
        assert_eq!(after(10, 0.2), [0.5_f64.sqrt(), 1.0, 1.0]);
        assert!((after(11, 0.2)[0] - 0.5).abs() < 1e-12);
        assert_eq!(after(100, 0.2), [components::LEAST_INSIDE, 1.0, 1.0]);
        assert_eq!(after(100, 2.0), [1.0; 3]);
    }

    /// A method with component cuts once went on with the length of a first step that was far too long.
    #[test]
    fn the_scale_is_found_by_component_cuts_if_it_is_not_yet() {
        let mut proximity = Proximity::adaptive(&[100.0], 0.0);
        let first = proximity.eta();
        update(&mut proximity, (false, 1.0, 0.0));
        let mut components = proximity.with_components(first);
        assert_eq!(components.eta(), proximity.eta());
        assert!(components.eta() < first);
        update_with_reach(&mut components, (false, 1.0, 0.0), Some(0.01));
        assert!((components.eta() / proximity.eta() - 0.01).abs() < 1e-12);
        // Once it is found, it stays.
        (0..3).for_each(|_| update(&mut proximity, (false, 1.0, 0.0)));
        assert_eq!(proximity.with_components(7.0).eta(), 7.0);
    }

    /// A rule has no floor. `adaptive` once went on without one.
    #[test]
    fn steps_do_not_collapse_after_a_rule() {
        let mut proximity =
            Proximity::going_on(10.0).with_rule(LearnedRule { coefficients: [0.0; OBSERVATIONS], follow: 0.0 });
        (0..2000).for_each(|_| update(&mut proximity, (false, 1e-3, 1.0)));
        assert!(proximity.eta() > 0.1, "{}", proximity.eta());
    }
}
