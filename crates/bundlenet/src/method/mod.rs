//! Methods: each knows how to do one step, and nothing of limits, clocks or logs.
//!
//! | file | method |
//! |---|---|
//! | `bundle.rs` | the bundle method: the one loop, for exact masters and for networks |
//! | `auto.rs`, `phase.rs` | the default: phases of bundle methods, and the decision between them |
//! | `descent.rs`, `adam.rs` | subgradient descent and Adam |
//! | `settings.rs` | the settings of each method, and the table of all options |

mod adam;
mod auto;
mod bundle;
mod descent;
mod make;
mod phase;
mod settings;
mod together;

pub(crate) use bundle::BundleMethod;
pub(crate) use make::{make_method, network_method, seeing_method, wants_components};
pub(crate) use settings::listed;
pub use settings::{
    AdamSettings, AutoSettings, BundleSettings, Cuts, DescentSettings, HybridSettings, Method, NetworkSettings,
    OPTIONS, OptionInfo, Pruning,
};
pub(crate) use together::{propose_together, runs_in_step};

use crate::master::Seconds;
use crate::model::{Saved, SavedCuts, StepLength};
use crate::network::NetworkProposer;
use crate::oracle::{Evaluation, EvaluationError, Function, Primal};

/// A bundle method whose proposals come from a network.
pub(crate) type NetworkMethod = BundleMethod<NetworkProposer<f32>>;

/// One way to minimise.
pub(crate) trait Minimize {
    /// Does one step: exactly one evaluation, unless the run is over.
    fn step(&mut self, function: &mut Function<'_>) -> Result<Progress, EvaluationError>;

    /// The evaluation of the last step.
    fn seen(&self) -> Option<&Evaluation>;

    /// Wall time spent on proposals so far.
    fn seconds(&self) -> Seconds {
        Seconds::default()
    }

    /// The cuts that came after the one with the given number, and the step length; `None` where the method keeps no cuts.
    fn save(&self, _since: u64) -> Option<Saved> {
        None
    }

    /// What the method knows of how far the best value is from the minimum; `None` if it knows nothing.
    fn gap(&mut self, _best: f64, _function: &mut Function<'_>) -> Option<Gap> {
        None
    }

    /// Decrease that the last proposal promised, over `max(1, |f|)`.
    fn promised_gap(&self, _function: &Function<'_>) -> f64 {
        f64::INFINITY
    }

    /// Whether the last try at a proof came to something.
    fn is_provable(&self) -> bool {
        false
    }

    /// The primal solution of the last proposal, where solutions are kept; to be asked for after [`Minimize::gap`], which
    /// sees to it that there is one.
    fn primal(&self) -> Option<Primal> {
        None
    }
}

/// The distance to the minimum, in units of the scaled function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gap {
    /// The stop test's estimate.
    pub(crate) estimate: f64,
    /// A proof: the minimum is no further below the best value than this.
    pub(crate) proved: Option<f64>,
}

/// What an earlier run has left, in units of the scaled function.
pub(crate) struct Inherited {
    pub(crate) cuts: SavedCuts,
    pub(crate) step_length: Option<StepLength>,
}

/// What a step came to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Progress {
    /// An evaluation was made.
    Step(StepReport),
    /// The stop test holds.
    Optimal,
    /// No step makes a difference any more, and the stop test does not hold.
    Stalled,
}

/// What the log shows of a step, in units of the scaled function.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StepReport {
    /// Whether the step was serious, where there is a centre.
    pub(crate) is_serious: Option<bool>,
    /// Value of the model at the trial point.
    pub(crate) model: Option<f64>,
    /// The stop test's estimate of the gap.
    pub(crate) estimate: Option<f64>,
    /// Norm of the direction.
    pub(crate) norm: Option<f64>,
    /// Step length.
    pub(crate) eta: Option<f64>,
    /// Number of cuts.
    pub(crate) cuts: Option<usize>,
}
