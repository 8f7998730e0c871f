//! Cuts of each component as long as they pay, then cuts of the whole function.
//!
//! A model by component needs a fraction of the evaluations, and its master takes longer with every one. Where evaluations are
//! cheap there comes a point at which many of them, with cuts of the whole function, do more in the same time.

use super::{Bound, BundleMethod, Method, Progress};
use crate::bundle::{Bundle, Cuts, Pruning};
use crate::driver::Function;
use crate::error::EvaluationError;
use crate::master::{ComponentProposer, FIRST_CUTS, Proximity, QuadraticProposer, Strategy};

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
    state: State,
    /// How cuts of the whole function are forgotten.
    pruning: Pruning,
    slow_steps: usize,
    /// Seconds in the master of the method that was given up.
    earlier_seconds: f64,
}

enum State {
    Components(Box<BundleMethod<ComponentProposer>>),
    Aggregated(Box<BundleMethod<QuadraticProposer>>),
}

impl Granular {
    pub(crate) fn new(method: BundleMethod<ComponentProposer>, pruning: Pruning) -> Self {
        Self { state: State::Components(Box::new(method)), pruning, slow_steps: 0, earlier_seconds: 0.0 }
    }

    fn method(&self) -> &dyn Method {
        match &self.state {
            State::Components(method) => &**method,
            State::Aggregated(method) => &**method,
        }
    }

    fn method_mut(&mut self) -> &mut dyn Method {
        match &mut self.state {
            State::Components(method) => &mut **method,
            State::Aggregated(method) => &mut **method,
        }
    }

    /// Gives up components: the combination of all cuts with their weights, and the newest cut, are what stays of them.
    fn aggregate(&mut self, function: &Function<'_>) {
        let State::Components(method) = &self.state else { return };
        let dim = method.trial().len();
        let proximity = Proximity::new(Strategy::Auto, (ETA_SHARE * method.proposal().eta).max(f64::MIN_POSITIVE));
        let proposer = QuadraticProposer::new(proximity, function.domain(), dim);
        let cuts = method.cuts();
        let (mut subgradient, error) = cuts.aggregate_all();
        let (centre, value) = (cuts.centre(), cuts.centre_value());
        let mut bundle = Bundle::new(centre, value, &subgradient, function.domain(), self.pruning.cap.min(FIRST_CUTS));
        bundle.loosen(error);
        let newest_error = cuts.latest_cut(&mut subgradient);
        bundle.insert(&subgradient, newest_error);
        self.earlier_seconds = method.master_seconds();
        let next = BundleMethod::new(function, bundle, proposer, self.pruning, method.tolerance());
        self.state = State::Aggregated(Box::new(next.with_bounds_of(method)));
    }
}

impl Method for Granular {
    fn step(&mut self, function: &mut Function<'_>) -> Result<Progress, EvaluationError> {
        if self.slow_steps >= PATIENCE {
            self.aggregate(function);
        }
        let before = self.method().master_seconds();
        let progress = self.method_mut().step(function)?;
        if let State::Components(method) = &self.state {
            let without = function.latest_seconds() + SECONDS + SECONDS_PER_VARIABLE * method.trial().len() as f64;
            let is_slow = method.master_seconds() - before > WORTH * without;
            self.slow_steps = if is_slow { self.slow_steps + 1 } else { 0 };
        }
        Ok(progress)
    }

    fn trial(&self) -> &[f64] {
        self.method().trial()
    }

    fn master_seconds(&self) -> f64 {
        self.earlier_seconds + self.method().master_seconds()
    }

    fn bound(&mut self, best: f64, function: &mut Function<'_>) -> Option<Bound> {
        self.method_mut().bound(best, function)
    }
}
