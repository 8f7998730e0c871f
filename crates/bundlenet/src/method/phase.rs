//! The phases of the default method, and the choice of the next phase: a pure function of counted work and progress.

/// A phase of the default method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// A network proposes, with cuts of the whole function.
    Network,
    /// The exact master with cuts of each component.
    Components,
    /// The exact master with cuts of the whole function: many cheap steps.
    Aggregated,
    /// Component cuts again, to prove the result of the aggregated phase.
    Proof,
    /// Last phase: the oracle's own method.
    Structured,
}

/// The numbers that decide about the next phase.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Situation {
    pub(crate) phase: Phase,
    /// Steps in this phase.
    pub(crate) steps: usize,
    /// Set if the method of this phase has ended; says whether its result is proved.
    pub(crate) end: Option<End>,
    /// Decrease of the best value in the network phase, and in its last [`Constants::window`] steps.
    pub(crate) decrease: f64,
    pub(crate) recent_decrease: f64,
    /// Number of variables, and of components.
    pub(crate) dim: usize,
    pub(crate) components: usize,
    /// Decrease predicted by the last proposal, over the value or the decrease so far, whichever is larger; and the least
    /// such gap with which components were tried.
    pub(crate) gap: f64,
    pub(crate) tried_gap: f64,
    /// Largest gap that counts as optimal.
    pub(crate) tolerance: f64,
    /// Work of an evaluation, in nanoseconds.
    pub(crate) oracle_work: f64,
    /// Work of a master with cuts of each component, in nanoseconds: that of the last one, or an estimate for the first
    /// one. `None` if there are no components.
    pub(crate) component_work: Option<f64>,
    /// Consecutive component steps that were not worth their work.
    pub(crate) slow_steps: usize,
    /// Whether components can prove a bound that cuts of the whole function cannot.
    pub(crate) can_prove: bool,
    /// Whether the last trial point of the network was worse than the start.
    pub(crate) is_lost: bool,
    /// Whether a guard limits the number of the network's steps.
    pub(crate) is_limited: bool,
    /// Whether a guard has ended the network's steps.
    pub(crate) is_over: bool,
    /// Work of this phase and of the run before it, in nanoseconds.
    pub(crate) phase_work: f64,
    pub(crate) earlier_work: f64,
    /// Work of the whole run, with that of all cuts that aggregated masters read; and of the oracle's own method, if there
    /// is one that has not been tried.
    pub(crate) run_work: f64,
    pub(crate) structured_work: Option<f64>,
    /// The phase before the last one.
    pub(crate) before: Phase,
}

/// How the method of a phase ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The stop test holds, by a proof.
    Proved,
    /// The stop test holds by its estimate, or no step changes anything any more.
    Unproved,
}

/// The constants of the default method. They were chosen on validation data and public instances
/// (`docs/experiments.md`); `bundlenet bench DIR --methods auto,hybrid,component,aggregated` measures their effect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Constants {
    /// The network is stopped when its last `window` steps (a number) gained less than `little` (a share) of the total
    /// decrease.
    pub(crate) window: usize,
    pub(crate) little: f64,
    /// Evaluations of the network are kept by component once progress falls below `near * little`: the switch is near.
    pub(crate) near: f64,
    /// Number of steps after which the network is stopped if it has gained nothing, or if components are cheaper.
    pub(crate) patience: usize,
    /// Largest number of steps of a network: `most_steps`, as in its training, or `steps_per_variable` times the number of
    /// variables if that is less and no guard limits them. With as many cuts as variables an exact model is nearly complete.
    pub(crate) most_steps: usize,
    pub(crate) steps_per_variable: f64,
    /// Work of a step without components, in nanoseconds and without its evaluation: a constant, and an amount for each
    /// variable (`cargo bench --bench methods`).
    pub(crate) aggregated_work: f64,
    pub(crate) aggregated_work_per_variable: f64,
    /// Components are left after this number of consecutive component steps that are not worth their work.
    pub(crate) slow_steps: usize,
    /// Number of aggregated steps that gain as much as one component step at a gap of 1. At the gap `small` the number
    /// has grown by the number of independent cuts in an evaluation.
    pub(crate) worth: f64,
    pub(crate) small: f64,
    /// Components come before the network if an evaluation costs this multiple of their first masters.
    pub(crate) dear: f64,
    /// Components are tried again when the gap has shrunk to this share of the least value with which they were tried.
    pub(crate) closer: f64,
    /// Aggregated steps give components a chance when they have taken as much work as this number of component masters
    /// and as the run before them.
    pub(crate) chance: f64,
    /// A proof may take this multiple of the work of the run before it, and again if it comes closer. A proof is worth
    /// more than the steps before it: without one the value is only an estimate of the optimum.
    pub(crate) proof: f64,
    /// The oracle's own method takes over when the run has taken this share of its work. If it was the right choice from
    /// the start, the run takes `1 + structured_share` times its work. If the others would have ended just then, the run
    /// takes `1 + 1 / structured_share` times theirs.
    pub(crate) structured_share: f64,
    /// Work of an aggregated master for each entry of its cuts, in nanoseconds (`cargo bench --bench methods`).
    pub(crate) aggregated_work_per_entry: f64,
    /// Factor from the step length of the network to that of the component master.
    pub(crate) component_eta: f64,
    /// Factor from the step length of the component master to that of the aggregated master.
    pub(crate) aggregated_eta: f64,
}

pub(crate) const CONSTANTS: Constants = Constants {
    window: 8,
    little: 0.0005,
    near: 8.0,
    patience: 4,
    most_steps: 100,
    steps_per_variable: 0.25,
    aggregated_work: 3e3,
    aggregated_work_per_variable: 5.0,
    slow_steps: 2,
    worth: 2.0,
    small: 1e-4,
    dear: 2.0,
    closer: 0.1,
    chance: 10.0,
    proof: 10.0,
    structured_share: 0.5,
    aggregated_work_per_entry: 0.15,
    component_eta: 10.0,
    aggregated_eta: 0.1,
};

impl Constants {
    /// Largest number of steps of a network on a function of `dim` variables; 0 if they are too few to judge it.
    pub(crate) fn network_steps(&self, dim: usize) -> usize {
        let steps = (self.steps_per_variable * dim as f64) as usize;
        if steps < self.window { 0 } else { steps.min(self.most_steps) }
    }

    /// Work of a step without components, with its evaluation.
    fn step_work(&self, oracle_work: f64, dim: usize) -> f64 {
        oracle_work + self.aggregated_work + self.aggregated_work_per_variable * dim as f64
    }

    /// Whether the next evaluation of the network is kept by component. True for the first ones, which show the size of
    /// the subgradients, and for those that may be the last.
    pub(crate) fn keeps_components(&self, situation: &Situation) -> bool {
        let Situation { steps, decrease, recent_decrease, dim, .. } = *situation;
        let is_slow = steps >= self.window && recent_decrease < self.near * self.little * decrease;
        steps < self.patience || is_slow || steps + self.window >= self.network_steps(dim)
    }
}

impl Situation {
    /// Whether a component step is worth its work.
    pub(crate) fn is_worth(&self, constants: &Constants) -> bool {
        let Self { oracle_work, component_work, dim, components, gap, .. } = *self;
        is_worth(constants, (oracle_work, component_work), (dim, components), gap)
    }

    /// Whether this phase has taken as much work as the run before it. If that ends a phase, the work of a wrong choice is
    /// at most that of the right ones before and after it.
    pub(crate) fn is_long(&self) -> bool {
        self.phase_work >= self.earlier_work
    }

    /// Whether a proof has used up its work.
    pub(crate) fn is_proof_long(&self, constants: &Constants) -> bool {
        self.phase_work >= constants.proof * self.earlier_work
    }

    /// Whether the gap has become much smaller since components were tried, or since the proof began.
    pub(crate) fn is_closer(&self, constants: &Constants) -> bool {
        self.gap <= constants.closer * self.tried_gap
    }

    /// Whether the model promises no more than the tolerance, and only components can prove that. Cuts of the whole
    /// function gain nothing then.
    fn is_only_unproved(&self) -> bool {
        self.can_prove && self.gap <= self.tolerance
    }

    /// Whether component steps are not worth their work, and others may be.
    fn components_are_slow(&self, constants: &Constants) -> bool {
        self.slow_steps >= constants.slow_steps && self.is_long() && !self.is_only_unproved()
    }

    /// Whether the oracle's own method is to take over.
    fn structured_pays(&self, constants: &Constants) -> bool {
        self.structured_work.is_some_and(|work| self.run_work >= constants.structured_share * work)
    }

    /// Whether this phase has taken more work than some component masters.
    fn is_longer_than_masters(&self, constants: &Constants) -> bool {
        self.component_work.is_some_and(|master| self.phase_work >= constants.chance * master)
    }

    /// Whether the network still makes progress, and components would not be cheaper. Without components the guard of the
    /// network decides, up to the largest number of steps: the exact master that follows is its own.
    fn network_pays(&self, constants: &Constants) -> bool {
        let most_steps = if self.is_limited { constants.most_steps } else { constants.network_steps(self.dim) };
        if self.end.is_some() || self.is_over || self.steps >= most_steps {
            return false;
        }
        let is_new = self.steps < constants.patience;
        let is_moving = self.steps < constants.window || self.recent_decrease > constants.little * self.decrease;
        let has_moved = is_new || (self.decrease > 0.0 && !self.is_lost);
        // Components need far fewer evaluations: they are better if an evaluation costs more than their master.
        let is_cheap = is_new || self.component_work.is_none_or(|work| self.oracle_work < constants.dear * work);
        self.is_limited || (is_moving && has_moved && is_cheap)
    }
}

/// Whether a component step is worth its work: it takes no more than the aggregated steps that gain as much. An
/// evaluation of `m` components in `n` variables has up to `min(m, n)` independent cuts. Far from the optimum the
/// model needs one of them. Close to it the model needs all of them, and an aggregated step finds one at a time.
fn is_worth(
    constants: &Constants,
    (oracle_work, component_work): (f64, Option<f64>),
    (dim, components): (usize, usize),
    gap: f64,
) -> bool {
    let Some(master) = component_work else { return false };
    let without = constants.step_work(oracle_work, dim);
    // A promise beyond the value itself says nothing of the gap.
    let closeness = gap.clamp(constants.small, 1.0).ln() / constants.small.ln();
    let steps = constants.worth * (components.min(dim) as f64).powf(closeness);
    oracle_work + master <= without * steps
}

/// The numbers that decide about the first phase.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opening {
    /// As in [`Situation`].
    pub(crate) dim: usize,
    pub(crate) components: usize,
    pub(crate) oracle_work: f64,
    pub(crate) component_work: Option<f64>,
    /// Whether there are cuts of an earlier run.
    pub(crate) has_cuts: bool,
    /// Whether the start is 0, as in the training of networks.
    pub(crate) is_zero: bool,
    /// As in [`Situation`].
    pub(crate) is_limited: bool,
}

/// The first phase. Component cuts need far fewer evaluations than any other method: they come first if an evaluation
/// costs more than their master. They also come first if an evaluation has as many of them as variables, and a few
/// masters cost no more than the steps of the network: the model of the first evaluations is then nearly complete, and
/// the network does not see it. Otherwise a network comes first, if there are enough variables to judge it or a guard
/// limits its steps.
pub(crate) fn first_phase(opening: &Opening, constants: &Constants) -> Phase {
    let Opening { dim, components, oracle_work, component_work, has_cuts, is_zero, is_limited } = *opening;
    let suits_network = !has_cuts && (is_limited || (is_zero && constants.network_steps(dim) > 0));
    let is_worth = is_worth(constants, (oracle_work, component_work), (dim, components), 1.0);
    let few_steps = |master: f64| constants.patience as f64 * (oracle_work + master);
    let network_steps = constants.network_steps(dim) as f64 * constants.step_work(oracle_work, dim);
    match component_work {
        Some(master) if has_cuts || constants.dear * master <= oracle_work => Phase::Components,
        Some(master) if components >= dim && few_steps(master) <= network_steps => Phase::Components,
        _ if suits_network => Phase::Network,
        Some(_) if is_worth => Phase::Components,
        _ => Phase::Aggregated,
    }
}

/// The phase of the next step; `None` if the run is over.
pub(crate) fn next_phase(situation: &Situation, constants: &Constants) -> Option<Phase> {
    let (is_long, is_closer) = (situation.is_long(), situation.is_closer(constants));
    Some(match (situation.phase, situation.end) {
        (_, Some(End::Proved)) => return None,
        (Phase::Network, _) if situation.network_pays(constants) => Phase::Network,
        (Phase::Network, _) if situation.is_worth(constants) => Phase::Components,
        (Phase::Network, _) => Phase::Aggregated,
        (Phase::Aggregated, Some(End::Unproved)) if situation.can_prove => Phase::Proof,
        (Phase::Structured, Some(End::Unproved)) => situation.before,
        (_, Some(End::Unproved)) if situation.structured_work.is_some() => Phase::Structured,
        (_, Some(End::Unproved)) => return None,
        (Phase::Components | Phase::Aggregated | Phase::Proof, None) if situation.structured_pays(constants) => {
            Phase::Structured
        }
        (Phase::Components, None) if situation.components_are_slow(constants) => Phase::Aggregated,
        (Phase::Aggregated, None) if is_closer && situation.is_worth(constants) => Phase::Components,
        (Phase::Aggregated, None) if is_long && situation.is_longer_than_masters(constants) => Phase::Components,
        (Phase::Proof, None) if situation.is_proof_long(constants) && !is_closer => return None,
        (phase, None) => phase,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A network that makes progress on a function of 800 variables whose evaluations are cheap.
    const NETWORK: Situation = Situation {
        phase: Phase::Network,
        steps: 20,
        end: None,
        decrease: 100.0,
        recent_decrease: 1.0,
        dim: 800,
        components: 225,
        gap: 0.01,
        tried_gap: 1.0,
        tolerance: 1e-6,
        oracle_work: 8e3,
        component_work: Some(1e5),
        slow_steps: 0,
        can_prove: true,
        is_lost: false,
        is_limited: false,
        is_over: false,
        phase_work: 1e6,
        earlier_work: 2e6,
        run_work: 3e6,
        structured_work: None,
        before: Phase::Network,
    };

    #[test]
    fn phases_follow_from_the_situation() {
        let components = Situation { phase: Phase::Components, ..NETWORK };
        let aggregated = Situation { phase: Phase::Aggregated, ..NETWORK };
        let proof = Situation { phase: Phase::Proof, ..NETWORK };
        let guarded = Situation { is_limited: true, component_work: None, steps: 99, decrease: 0.0, ..NETWORK };
        let structured = Situation { phase: Phase::Structured, ..NETWORK };
        let (proved, unproved) = (Some(End::Proved), Some(End::Unproved));
        // An evaluation and an aggregated step take 15 microseconds. At a gap of 1 % a component step is worth 30 of
        // them, twice the root of the number of components.
        for (name, situation, expected) in [
            ("a network that pays", NETWORK, Some(Phase::Network)),
            ("a network that no longer gains", Situation { recent_decrease: 0.04, ..NETWORK }, Some(Phase::Components)),
            ("a network that has never gained", Situation { decrease: 0.0, ..NETWORK }, Some(Phase::Components)),
            ("the same, too early to judge", Situation { steps: 3, decrease: 0.0, ..NETWORK }, Some(Phase::Network)),
            ("a network outside of its training", Situation { is_over: true, ..NETWORK }, Some(Phase::Components)),
            (
                "the same at once, with masters that are dear",
                Situation { is_over: true, steps: 1, component_work: Some(1e6), ..NETWORK },
                Some(Phase::Aggregated),
            ),
            ("a network at its last step", Situation { steps: 100, ..NETWORK }, Some(Phase::Components)),
            ("few variables", Situation { dim: 40, steps: 10, ..NETWORK }, Some(Phase::Components)),
            ("an end without proof", Situation { end: unproved, ..NETWORK }, Some(Phase::Components)),
            ("a proof", Situation { end: proved, ..NETWORK }, None),
            ("evaluations dearer than masters", Situation { oracle_work: 1e6, ..NETWORK }, Some(Phase::Components)),
            ("no sum", Situation { component_work: None, steps: 100, ..NETWORK }, Some(Phase::Aggregated)),
            ("no sum, with a guard", guarded, Some(Phase::Network)),
            ("with a guard, at its last step", Situation { steps: 100, ..guarded }, Some(Phase::Aggregated)),
            ("ended by the guard", Situation { is_over: true, ..guarded }, Some(Phase::Aggregated)),
            ("no sum, dear", Situation { component_work: None, oracle_work: 1e6, ..NETWORK }, Some(Phase::Network)),
            ("dear masters", Situation { component_work: Some(1e6), steps: 100, ..NETWORK }, Some(Phase::Aggregated)),
            ("components that pay", components, Some(Phase::Components)),
            ("one slow step", Situation { slow_steps: 1, ..components }, Some(Phase::Components)),
            ("two slow steps, too early", Situation { slow_steps: 2, ..components }, Some(Phase::Components)),
            ("two slow steps", Situation { slow_steps: 2, phase_work: 2e6, ..components }, Some(Phase::Aggregated)),
            (
                "two slow steps, but only the proof is missing",
                Situation { slow_steps: 2, phase_work: 2e6, gap: 1e-6, ..components },
                Some(Phase::Components),
            ),
            (
                "the same, where components prove nothing",
                Situation { slow_steps: 2, phase_work: 2e6, gap: 1e-6, can_prove: false, ..components },
                Some(Phase::Aggregated),
            ),
            ("a chance", Situation { gap: 0.2, phase_work: 2e6, ..aggregated }, Some(Phase::Components)),
            ("no chance yet", Situation { gap: 0.2, phase_work: 1.9e6, ..aggregated }, Some(Phase::Aggregated)),
            (
                "no chance for dear masters",
                Situation { gap: 0.2, phase_work: 2e6, component_work: Some(1e6), ..aggregated },
                Some(Phase::Aggregated),
            ),
            ("components at their end", Situation { end: unproved, ..components }, None),
            (
                "a tenth of the gap",
                Situation { gap: 0.1, component_work: Some(1e4), ..aggregated },
                Some(Phase::Components),
            ),
            (
                "not yet a tenth",
                Situation { gap: 0.2, component_work: Some(1e4), ..aggregated },
                Some(Phase::Aggregated),
            ),
            (
                "masters still dear",
                Situation { gap: 0.1, component_work: Some(1e6), ..aggregated },
                Some(Phase::Aggregated),
            ),
            ("an end to prove", Situation { end: unproved, ..aggregated }, Some(Phase::Proof)),
            ("nothing to prove it", Situation { end: unproved, can_prove: false, ..aggregated }, None),
            ("a proved end", Situation { end: proved, ..aggregated }, None),
            ("proved by components", Situation { end: proved, ..components }, None),
            ("a huge promise", Situation { gap: 1e6, oracle_work: 1e6, ..components }, Some(Phase::Components)),
            ("no proof after all", Situation { end: unproved, ..proof }, None),
            ("work left for a proof", proof, Some(Phase::Proof)),
            ("no work left", Situation { gap: 0.2, phase_work: 2e7, ..proof }, None),
            (
                "work for a proof that comes closer",
                Situation { gap: 0.1, phase_work: 2e7, ..proof },
                Some(Phase::Proof),
            ),
            ("proved at last", Situation { end: proved, ..proof }, None),
            (
                "half the work of the oracle's own method",
                Situation { structured_work: Some(6e6), ..components },
                Some(Phase::Structured),
            ),
            ("less than half", Situation { structured_work: Some(7e6), ..components }, Some(Phase::Components)),
            ("not in place of a network", Situation { structured_work: Some(1e6), ..NETWORK }, Some(Phase::Network)),
            (
                "an end that only the oracle's own method can prove",
                Situation { end: unproved, structured_work: Some(1e9), ..components },
                Some(Phase::Structured),
            ),
            ("the oracle's own method", structured, Some(Phase::Structured)),
            ("proved by it", Situation { end: proved, ..structured }, None),
            ("stuck", Situation { end: unproved, before: Phase::Components, ..structured }, Some(Phase::Components)),
        ] {
            assert_eq!(next_phase(&situation, &CONSTANTS), expected, "{name}");
        }
    }

    #[test]
    fn the_first_phase_follows_from_sizes() {
        // 600 units in 96 prices: a component step takes three network steps.
        let units = Opening {
            dim: 96,
            components: 600,
            oracle_work: 2e6,
            component_work: Some(4e6),
            has_cuts: false,
            is_zero: true,
            is_limited: false,
        };
        let whole = Opening { component_work: None, dim: 20, is_zero: false, is_limited: true, ..units };
        for (name, opening, expected) in [
            ("more components than variables", units, Phase::Components),
            ("fewer components than variables", Opening { components: 90, ..units }, Phase::Network),
            ("the same, from an earlier run", Opening { components: 90, has_cuts: true, ..units }, Phase::Components),
            (
                "masters as dear as all steps of the network",
                Opening { component_work: Some(2e7), ..units },
                Phase::Network,
            ),
            ("dear evaluations", Opening { components: 90, oracle_work: 8e6, ..units }, Phase::Components),
            ("no sum", Opening { component_work: None, ..units }, Phase::Network),
            ("no sum, and few variables", Opening { component_work: None, dim: 20, ..units }, Phase::Aggregated),
            ("another start than 0", Opening { component_work: None, is_zero: false, ..units }, Phase::Aggregated),
            ("no sum, few variables, another start and a guard", whole, Phase::Network),
            ("the same, from an earlier run", Opening { has_cuts: true, ..whole }, Phase::Aggregated),
        ] {
            assert_eq!(first_phase(&opening, &CONSTANTS), expected, "{name}");
        }
    }
}
