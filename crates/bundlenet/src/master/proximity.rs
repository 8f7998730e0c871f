//! Step-size strategies: how `eta` follows what came of the last steps.

use serde::{Deserialize, Serialize};

use super::Outcome;
use crate::bundle::CentrePolicy;

/// How `eta` is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Strategy {
    /// Needs no initial value: found in the first steps, then adjusted by how well the model predicts, above a floor
    /// that keeps it from collapsing.
    #[default]
    Auto,
    /// The initial value throughout.
    Constant,
    /// No decrease while the model promises little beside what it would with a very long step.
    Soft,
    /// In that case increase, even after a null step.
    Hard,
    /// Keep the two terms of the stop test of similar size.
    Balancing,
}

/// Factors by which the paper's strategies let `eta` grow and shrink.
const UP: f64 = 1.1;
const DOWN: f64 = 0.9;
/// Bounds on `eta`.
const LEAST: f64 = 1e-5;
const MOST: f64 = 1e4;
/// A very long step, for the stop test and the long-term rules.
pub(crate) const ETA_STAR: f64 = 1e5;
/// `mt`: what counts as little beside something else.
const LITTLE: f64 = 0.01;

/// Constants of `auto`, chosen on validation data and the academic functions; `docs/experiments.md` has the figures.
mod auto {
    /// First step, as a share of the size of the start point.
    pub(super) const START_SHARE: f64 = 0.35;
    /// First step, as a share of the function's value at the start (over the norm of its subgradient).
    pub(super) const FIRST_SHARE: f64 = 0.1;
    /// Steps in which the scale is found, the share of the way they go to where the slope vanishes, and the factors
    /// they may change it by.
    pub(super) const FINDING_STEPS: usize = 2;
    pub(super) const FINDING_SHARE: f64 = 0.9;
    pub(super) const FINDING_FACTORS: (f64, f64) = (0.3, 3.0);
    /// How far off, beside what was promised, a new cut has to be for its point to count as too far away.
    pub(super) const FAR: f64 = 1.05;
    /// Factors of the steps after those.
    pub(super) const FACTORS: (f64, f64) = (0.4, 3.0);
    /// Factor when a step brought nothing new.
    pub(super) const REPEATED: f64 = 0.1;
    /// The floor, as a share of the scale found, and its growth with every null step that promises little.
    pub(super) const FLOOR_SHARE: f64 = 1.0 / 3.0;
    pub(super) const FLOOR_GROWTH: f64 = 1.007;
    pub(super) const FLOOR_LITTLE: f64 = 0.5;
    /// A cut so far off that the floor itself must be too high, and what then becomes of it.
    pub(super) const VERY_FAR: f64 = 3.0;
    pub(super) const FLOOR_DECAY: f64 = 0.8;
}

/// Constants of `auto` for cuts of each component, chosen on validation data; `docs/experiments.md` has the figures.
mod components {
    /// First step where the function's value at the start is 0: so much for each variable.
    pub(super) const START: f64 = 3.5;
    /// The most that the first step may turn out too short, and too long.
    pub(super) const FINDING_FACTORS: (f64, f64) = (0.001, 6.0);
    /// Later steps are to end at about twice the way to where the model with the new cuts is least: by these factors they get
    /// there, half of the way (on a logarithmic scale) in each step.
    pub(super) const BEYOND_REACH: f64 = 1.85;
    pub(super) const FACTORS: (f64, f64) = (0.5, 2.0);
    /// How far beyond the minimum of the parabola the centre goes: values between were upper bounds.
    pub(super) const BEYOND_PARABOLA: f64 = 1.5;
    /// The longest step.
    pub(super) const MOST: f64 = 1e6;
}

/// A strategy and its state.
#[derive(Clone, Debug)]
pub(crate) struct Proximity {
    strategy: Strategy,
    eta: f64,
    /// Consecutive serious and null steps before `eta` may grow or shrink: the middle-term rule.
    required: (usize, usize),
    /// Consecutive steps of the same kind with the present `eta`, and whether they were serious.
    run: (usize, bool),
    steps: usize,
    floor: f64,
    /// Whether cuts are of each component.
    by_component: bool,
}

impl Proximity {
    pub(crate) fn new(strategy: Strategy, eta: f64) -> Self {
        Self { strategy, eta, required: (1, 1), run: (0, true), steps: 0, floor: 0.0, by_component: false }
    }

    /// Requires so many consecutive serious or null steps before `eta` grows or shrinks.
    pub(crate) fn with_patience(self, serious: usize, null: usize) -> Self {
        Self { required: (serious, null), ..self }
    }

    /// `auto` with an initial value of its own: the first length at hand. The size of the start point; where that is 0, a
    /// share of the function's value there, which over the norm of its subgradient is a length; where that is 0, too,
    /// a unit for each variable.
    pub(crate) fn automatic(start: &[f64], value: f64) -> Self {
        Self::new(Strategy::Auto, first_length(start, value, 1.0).clamp(LEAST, MOST))
    }

    /// `auto` for cuts of each component, which make longer steps possible.
    pub(crate) fn for_components(start: &[f64], value: f64, eta: Option<f64>) -> Self {
        let eta = eta.unwrap_or_else(|| first_length(start, value, components::START).clamp(LEAST, components::MOST));
        Self { by_component: true, ..Self::new(Strategy::Auto, eta) }
    }

    /// `auto` with a length that has been found already.
    pub(crate) fn going_on(eta: f64) -> Self {
        let eta = eta.clamp(LEAST, MOST);
        Self { steps: auto::FINDING_STEPS, floor: auto::FLOOR_SHARE * eta, ..Self::new(Strategy::Auto, eta) }
    }

    /// `auto` for cuts of each component, with a length that has been found already.
    pub(crate) fn going_on_with_components(eta: f64) -> Self {
        Self { by_component: true, steps: 1, ..Self::new(Strategy::Auto, eta.clamp(LEAST, components::MOST)) }
    }

    pub(crate) fn eta(&self) -> f64 {
        self.eta
    }

    /// What becomes of the centre after the next step: with components it follows every one, and the first to wherever the model
    /// says, for the length of steps has yet to be found.
    pub(crate) fn centre_policy(&self) -> CentrePolicy {
        match (self.by_component, self.steps) {
            (false, _) => CentrePolicy::Hard,
            (true, 0) => CentrePolicy::Reach,
            (true, _) => CentrePolicy::Parabola { factor: components::BEYOND_PARABOLA },
        }
    }

    pub(crate) fn update(&mut self, outcome: &Outcome<'_>) {
        self.steps += 1;
        self.run =
            if self.run.1 == outcome.is_serious { (self.run.0 + 1, self.run.1) } else { (1, outcome.is_serious) };
        let long = 0.5 * ETA_STAR * outcome.norm_squared;
        let promises_little = |share: f64| outcome.promised < share * (outcome.sigma + long);
        let factor = match (self.strategy, outcome.is_serious) {
            (Strategy::Constant, _) => 1.0,
            (Strategy::Soft | Strategy::Hard, true) => UP,
            (Strategy::Soft, false) if promises_little(LITTLE) => 1.0,
            (Strategy::Hard, false) if promises_little(LITTLE) => UP,
            (Strategy::Balancing, true) if long <= LITTLE * outcome.sigma => 1.0,
            (Strategy::Balancing, true) => UP,
            (Strategy::Balancing, false) if LITTLE * long >= outcome.sigma => 1.0,
            (Strategy::Soft | Strategy::Hard | Strategy::Balancing, false) => DOWN,
            (Strategy::Auto, _) if self.by_component => {
                if self.steps == 1 {
                    let (least, most) = components::FINDING_FACTORS;
                    let found = if outcome.reach <= 1.0 { outcome.reach } else { secant(outcome) };
                    found.clamp(least, most)
                } else {
                    let (least, most) = components::FACTORS;
                    (components::BEYOND_REACH * outcome.reach).clamp(least, most).sqrt()
                }
            }
            (Strategy::Auto, _) if self.steps <= auto::FINDING_STEPS => {
                let wanted = auto::FINDING_SHARE * secant(outcome);
                let factor = wanted.clamp(auto::FINDING_FACTORS.0, auto::FINDING_FACTORS.1);
                self.floor = auto::FLOOR_SHARE * self.eta * factor;
                factor
            }
            (Strategy::Auto, false) if outcome.is_repeated => {
                self.floor *= auto::REPEATED;
                auto::REPEATED
            }
            (Strategy::Auto, true) => interpolation(outcome).clamp(1.0, auto::FACTORS.1),
            (Strategy::Auto, false) => {
                if outcome.error > auto::VERY_FAR * outcome.promised {
                    self.floor *= auto::FLOOR_DECAY;
                } else if promises_little(auto::FLOOR_LITTLE) {
                    self.floor = (self.floor * auto::FLOOR_GROWTH).min(MOST);
                }
                // A new cut that is far off at the centre came from too far away.
                let is_far = outcome.error > auto::FAR * outcome.promised;
                if is_far { interpolation(outcome).clamp(auto::FACTORS.0, 1.0) } else { 1.0 }
            }
        };
        let required = if outcome.is_serious { self.required.0 } else { self.required.1 };
        if self.strategy != Strategy::Auto && self.run.0 < required {
            return;
        }
        let before = self.eta;
        let most = if self.by_component { components::MOST } else { MOST };
        self.eta = (self.eta * factor).max(self.floor).clamp(LEAST.min(self.eta), most.max(self.eta));
        if self.eta != before {
            self.run.0 = 0;
        }
    }
}

/// The first length at hand: the size of the start point; where that is 0, a share of the function's value there, which over
/// the norm of its subgradient is a length; where that is 0, too, some length for each variable.
fn first_length(start: &[f64], value: f64, for_each: f64) -> f64 {
    let size = start.iter().map(|entry| entry * entry).sum::<f64>().sqrt();
    if size > 0.0 {
        auto::START_SHARE * size
    } else if value != 0.0 {
        auto::FIRST_SHARE * value.abs()
    } else {
        for_each * (start.len() as f64).sqrt()
    }
}

/// The factor on `eta` at which the slope along the direction would vanish, if it changed evenly.
fn secant(outcome: &Outcome<'_>) -> f64 {
    let change = outcome.norm_squared - outcome.slope;
    if change > 0.0 { outcome.norm_squared / change } else { f64::INFINITY }
}

/// The factor on `eta` at the minimum of the parabola through the values at the centre and the trial point that begins
/// with the slope the model promised (Kiwiel, 1990).
fn interpolation(outcome: &Outcome<'_>) -> f64 {
    let missing = 2.0 * (1.0 - outcome.decrease / outcome.promised);
    if missing > 0.0 { 1.0 / missing } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A step that is as good as promised, or as bad.
    fn outcome(is_serious: bool, norm_squared: f64, sigma: f64) -> Outcome<'static> {
        let promised = 10.0 * norm_squared + sigma;
        let decrease = if is_serious { promised } else { -promised };
        Outcome {
            trial: &[],
            slopes: &[],
            value: 0.0,
            share: f64::from(is_serious),
            is_serious,
            is_repeated: false,
            decrease,
            promised,
            norm_squared,
            sigma,
            error: 2.0 * promised,
            slope: 0.0,
            reach: f64::NAN,
        }
    }

    fn eta_after(strategy: Strategy, outcomes: &[Outcome<'_>]) -> f64 {
        let mut proximity = Proximity::new(strategy, 10.0);
        outcomes.iter().for_each(|outcome| proximity.update(outcome));
        proximity.eta()
    }

    #[test]
    fn the_papers_rules() {
        // The terms of the stop test: 5e4 |w|^2 and sigma.
        let (steep, flat) = (1e-3, 1e-9);
        let serious = [outcome(true, steep, 1.0)];
        let null = [outcome(false, steep, 1.0)];
        for strategy in [Strategy::Soft, Strategy::Hard, Strategy::Balancing] {
            assert_eq!(eta_after(strategy, &serious), 11.0, "{strategy:?}");
        }
        assert_eq!(eta_after(Strategy::Constant, &serious), 10.0);
        assert_eq!(eta_after(Strategy::Constant, &null), 10.0);
        // Promised 1.01, with a long step 51: not little.
        assert_eq!(eta_after(Strategy::Soft, &null), 9.0);
        assert_eq!(eta_after(Strategy::Hard, &null), 9.0);
        // Promised 0.02, with a long step 50: little.
        let little = [outcome(false, steep, 0.01)];
        assert_eq!(eta_after(Strategy::Soft, &little), 10.0);
        assert_eq!(eta_after(Strategy::Hard, &little), 11.0);
        // Balancing: no decrease where the first term is large already, no increase where it is small.
        assert_eq!(eta_after(Strategy::Balancing, &little), 10.0);
        assert_eq!(eta_after(Strategy::Balancing, &[outcome(true, flat, 1.0)]), 10.0);
        assert_eq!(eta_after(Strategy::Balancing, &[outcome(false, flat, 1.0)]), 9.0);
    }

    #[test]
    fn eta_stays_within_its_bounds() {
        assert_eq!(eta_after(Strategy::Soft, &[outcome(true, 1e-3, 1.0); 200]), MOST);
        assert_eq!(eta_after(Strategy::Soft, &[outcome(false, 1e-3, 1.0); 500]), LEAST);
    }

    #[test]
    fn patience_counts_steps_of_a_kind_with_the_same_eta() {
        let mut proximity = Proximity::new(Strategy::Soft, 10.0).with_patience(2, 3);
        let mut etas = vec![];
        for is_serious in [true, true, true, false, false, false, false, true, true] {
            proximity.update(&outcome(is_serious, 1e-3, 1.0));
            etas.push((proximity.eta() * 100.0).round() / 100.0);
        }
        assert_eq!(etas, [10.0, 11.0, 11.0, 11.0, 11.0, 9.9, 9.9, 9.9, 10.89]);
    }

    #[test]
    fn auto_does_not_collapse() {
        let mut proximity = Proximity::automatic(&[0.0; 100], 0.0);
        assert_eq!(proximity.eta(), 10.0);
        (0..2000).for_each(|_| proximity.update(&outcome(false, 1e-3, 1.0)));
        assert!(proximity.eta() > 0.1, "{}", proximity.eta());
    }
}
