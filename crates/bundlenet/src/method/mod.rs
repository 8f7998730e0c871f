//! Methods. Each takes one step at a time and does not know limits, clocks or logs.
//!
//! `bundle.rs` is the one loop, for exact masters and for networks. `phase.rs` decides the phases of the default, `auto.rs`
//! hands over between them. `settings.rs` has the settings of each method and the table of all options.

mod adam;
mod auto;
mod bundle;
mod descent;
mod horizon;
mod make;
mod phase;
mod settings;
mod structured;
mod together;

pub(crate) use bundle::BundleMethod;
pub(crate) use make::{Terms, make_method, network_method, network_method_with, wants_components};
pub(crate) use settings::listed;
pub use settings::{
    AutoSettings, BundleSettings, Cuts, Evaluate, HybridSettings, Method, NetworkSettings, NoSettings, OPTIONS,
    OptionInfo, Pruning, StepSettings, Told,
};
pub(crate) use together::{propose_together, runs_in_step};

use crate::master::Spent;
use crate::model::{Saved, SavedCuts, StepLength};
use crate::network::NetworkProposer;
use crate::oracle::{Evaluation, EvaluationError, Function, Primal};

/// A bundle method whose proposals come from a network.
pub(crate) type NetworkMethod = BundleMethod<NetworkProposer<f32>>;

/// A minimisation method.
pub(crate) trait Minimize {
    /// Takes one step: exactly one evaluation, unless the method has ended.
    fn step(&mut self, function: &mut Function<'_>) -> Result<Progress, EvaluationError>;

    /// The evaluation of the last step.
    fn seen(&self) -> Option<&Evaluation>;

    /// Wall time spent on proposals so far.
    fn spent(&self) -> Spent {
        Spent::default()
    }

    /// The cuts with numbers above `since`, and the step length. `None` if the method keeps no cuts.
    fn save(&self, _since: u64) -> Option<Saved> {
        None
    }

    /// Gap between the best value and the minimum, as far as the method knows it.
    fn gap(&mut self, _best: f64, _function: &mut Function<'_>) -> Option<Gap> {
        None
    }

    /// Decrease predicted by the last proposal, over the best value or its distance from `start_value`, whichever is
    /// larger. It has no unit.
    fn promised_gap(&self, _start_value: f64) -> f64 {
        f64::INFINITY
    }

    /// Whether the best value is proved to the tolerance.
    fn is_proved(&self, _function: &Function<'_>) -> bool {
        false
    }

    /// The primal solution of the last proposal, if solutions are kept. Call [`Minimize::gap`] before: it makes a
    /// proposal if there is none.
    fn primal(&self) -> Option<Primal> {
        None
    }
}

/// Distance from the best value to the minimum, in units of the scaled function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gap {
    /// Estimate of the stop test.
    pub(crate) estimate: f64,
    /// Proved gap: the best value minus a proved lower bound.
    pub(crate) proved: Option<f64>,
}

/// Cuts and step length of an earlier run, in units of the scaled function.
pub(crate) struct Inherited {
    pub(crate) cuts: SavedCuts,
    pub(crate) step_length: Option<StepLength>,
}

/// Result of a step.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Progress {
    /// An evaluation was made.
    Step(StepReport),
    /// The point is optimal: its subgradient is zero, or points out of the domain.
    Optimal,
    /// The stop test holds.
    Converged,
    /// The stop test does not hold, but no step changes anything any more.
    Stalled,
    /// The values of the oracle are too wide: the gap is within the tolerance and their width.
    Noisy,
    /// The patience of the run ended during a proposal.
    Interrupted,
}

/// Data of a step for the log, in units of the scaled function.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StepReport {
    /// Whether the step was serious. `None` for methods without a centre.
    pub(crate) is_serious: Option<bool>,
    /// Value of the model at the trial point.
    pub(crate) model: Option<f64>,
    /// Estimated gap of the stop test.
    pub(crate) estimate: Option<f64>,
    /// Norm of the direction.
    pub(crate) norm: Option<f64>,
    /// Step length.
    pub(crate) eta: Option<f64>,
    /// Number of cuts.
    pub(crate) cuts: Option<usize>,
}
