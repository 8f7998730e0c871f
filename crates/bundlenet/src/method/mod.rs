//! Methods: each knows how to do one step, and nothing of limits, clocks or logs.

mod adam;
mod bundle;
mod descent;
mod granular;
mod hybrid;
mod make;

pub(crate) use adam::Adam;
pub(crate) use bundle::BundleMethod;
pub(crate) use descent::Descent;
pub(crate) use granular::Granular;
pub(crate) use hybrid::Hybrid;
pub(crate) use make::{make_method, network_method};

use crate::error::EvaluationError;
use crate::function::Function;
use crate::oracle::Minorants;
use crate::primal::Primal;
use crate::state::{Harvest, SavedCuts, StepLength};

/// One way to minimise.
pub(crate) trait Method {
    /// Does one step: exactly one evaluation, unless the run is over.
    fn step(&mut self, function: &mut Function<'_>) -> Result<Progress, EvaluationError>;

    /// The point evaluated by the last step.
    fn trial(&self) -> &[f64];

    /// Seconds spent in the master problem so far.
    fn master_seconds(&self) -> f64 {
        0.0
    }

    /// Seconds spent in a network in its place so far.
    fn network_seconds(&self) -> f64 {
        0.0
    }

    /// Hands over the cuts that came after the one with the given number, and the step length: what another run can go on with.
    fn harvest(&self, _function: &Function<'_>, _since: u64, _harvest: &mut Harvest) {}

    /// What the method knows of how far the best value is from the minimum; `None` if it knows nothing.
    fn bound(&mut self, _best: f64, _function: &mut Function<'_>) -> Option<Bound> {
        None
    }

    /// The primal solution of the last proposal, where solutions are kept; to be asked for after [`Method::bound`], which sees to
    /// it that there is one.
    fn primal(&self) -> Option<Primal> {
        None
    }
}

/// What is known of the distance to the minimum, in units of the scaled function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    /// The stop test's estimate.
    pub(crate) estimate: f64,
    /// A proof: the minimum is no further below the best value than this.
    pub(crate) proved: Option<f64>,
}

/// Where a run begins: the point, and the scaled function there.
#[derive(Clone, Copy)]
pub(crate) struct Start<'a> {
    pub(crate) point: &'a [f64],
    pub(crate) value: f64,
    pub(crate) subgradient: &'a [f64],
    /// By component, where a method asked for them and there are any.
    pub(crate) minorants: Option<&'a Minorants>,
    /// What an earlier run has left.
    pub(crate) inherited: Option<Inherited<'a>>,
}

/// What an earlier run has left, in units of the scaled function.
#[derive(Clone, Copy)]
pub(crate) struct Inherited<'a> {
    /// Cuts with their linearisation errors at the start.
    pub(crate) cuts: &'a SavedCuts,
    pub(crate) step_length: Option<StepLength>,
}

impl Inherited<'_> {
    /// The step length, in a metric of the given unit or none. One that was found in a metric means nothing without.
    pub(crate) fn eta(&self, metric_unit: Option<f64>) -> Option<f64> {
        match (self.step_length?, metric_unit) {
            (StepLength::Plain(eta), _) => Some(eta),
            (StepLength::Metric(length), Some(unit)) => Some(length / unit),
            (StepLength::Metric(_), None) => None,
        }
    }
}

/// What a step came to, in units of the scaled function.
#[derive(Clone, Debug)]
pub(crate) enum Progress {
    /// An evaluation was made.
    Step(StepReport),
    /// The stop test holds.
    Optimal,
    /// No step makes a difference any more, and the stop test does not hold.
    Stalled,
}

/// What the log shows of a step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StepReport {
    /// Whether the centre moved, where there is one.
    pub(crate) is_serious: Option<bool>,
    /// Value of the model at the trial point.
    pub(crate) model: Option<f64>,
    /// The stop test's estimate of the gap.
    pub(crate) estimate: Option<f64>,
    /// Norm of the direction.
    pub(crate) norm: Option<f64>,
    /// Step length.
    pub(crate) eta: Option<f64>,
    pub(crate) cuts: Option<usize>,
}

impl<M: Method + ?Sized> Method for Box<M> {
    fn step(&mut self, function: &mut Function<'_>) -> Result<Progress, EvaluationError> {
        (**self).step(function)
    }

    fn trial(&self) -> &[f64] {
        (**self).trial()
    }

    fn master_seconds(&self) -> f64 {
        (**self).master_seconds()
    }

    fn network_seconds(&self) -> f64 {
        (**self).network_seconds()
    }

    fn harvest(&self, function: &Function<'_>, since: u64, harvest: &mut Harvest) {
        (**self).harvest(function, since, harvest);
    }

    fn bound(&mut self, best: f64, function: &mut Function<'_>) -> Option<Bound> {
        (**self).bound(best, function)
    }

    fn primal(&self) -> Option<Primal> {
        (**self).primal()
    }
}
