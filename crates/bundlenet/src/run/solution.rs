//! The result of a run, and its status.

use std::fmt;

use serde::Serialize;

use super::reuse::Reuse;
use crate::oracle::Primal;

/// Smallest proved gap over `max(1, |f|)` that is reported: no proof is better than round-off.
pub(super) const ROUND_OFF: f64 = 1e-15;

/// The result of a run. Values are in the problem's sense.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Solution {
    /// Reason for the end of the run.
    pub status: Status,
    /// Best value.
    pub value: f64,
    /// The best point.
    pub point: Vec<f64>,
    /// Steps taken.
    pub steps: usize,
    /// Oracle calls, the one at the start included.
    pub oracle_calls: usize,
    /// Components that were evaluated in these calls; one for each call of a function that is not a sum.
    pub component_calls: usize,
    /// Wall time of the run.
    pub seconds: f64,
    /// Wall time spent in the oracle.
    pub oracle_seconds: f64,
    /// Wall time spent in master problems.
    pub master_seconds: f64,
    /// Work of the masters with component cuts, in nanoseconds, counted from sizes: the same in every run.
    pub master_work: f64,
    /// Wall time spent in the network, its features included.
    pub network_seconds: f64,
    /// Estimated gap of the stop test over `max(1, |f|)`.
    pub estimate: Option<f64>,
    /// Proved gap over `max(1, |f|)`, if there is a proof.
    pub certificate: Option<f64>,
    /// Direction of length 1 along which the function is unbounded, if the status is [`Status::Unbounded`].
    pub ray: Option<Vec<f64>>,
    /// The primal solution of the last proposal. It needs [`Settings::primal`](crate::Settings::primal) and a
    /// [`PrimalOracle`](crate::PrimalOracle). Its violation of the dualised constraints goes to 0 at the optimum.
    pub primal: Option<Primal>,
    /// One row for the start and one for each step.
    pub trace: Vec<TraceRow>,
    /// Error message of the oracle, if it failed.
    pub failure: Option<String>,
    /// Reuse of the cuts of an earlier run, if there were any.
    pub reuse: Option<Reuse>,
}

/// A row of a trace.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct TraceRow {
    /// Number of the step; 0 for the start.
    pub step: usize,
    /// Value at the point of this step.
    pub value: f64,
    /// Best value so far.
    pub best: f64,
    /// Spent since the start of the run.
    pub seconds: f64,
}

/// Reason for the end of a run. The best point is available in every case, and its value is a valid bound of the
/// Lagrangian dual.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Status {
    /// Proved: the gap is at most the tolerance. [`Solution::certificate`] is the proved gap.
    Optimal,
    /// The stop test holds: the estimated gap is at most the tolerance. The function has no proof to offer.
    Converged,
    /// The function is unbounded along [`Solution::ray`]. A Lagrangian dual is unbounded if the problem is infeasible.
    Unbounded,
    /// The limit of steps is reached.
    StepLimit,
    /// The limit of wall time is reached.
    TimeLimit,
    /// The limit of oracle calls is reached.
    OracleCallLimit,
    /// The target value is reached.
    BoundReached,
    /// The user or an observer ended the run.
    Interrupted,
    /// The oracle failed, or returned unusable numbers, after the first evaluation.
    OracleFailed,
    /// The estimated gap is within the tolerance and the width of the oracle's intervals. More accurate values are needed
    /// for a smaller gap.
    OracleAccuracy,
    /// Neither the proof nor the estimate is within the tolerance, but no step changes anything any more.
    Stalled,
}

impl Status {
    /// The status of a run that ended for this reason, with its estimated and its proved gap. A proof makes it optimal,
    /// unless the user ended the run; an estimate alone makes a stalled run converged.
    pub(super) fn with_gap(self, estimate: Option<f64>, proved: Option<f64>, tolerance: f64) -> Self {
        let is_within = |gap: Option<f64>| gap.is_some_and(|gap| gap <= tolerance);
        match self {
            Self::Optimal | Self::Unbounded | Self::BoundReached | Self::Interrupted | Self::OracleFailed => self,
            _ if is_within(proved) => Self::Optimal,
            Self::Stalled if is_within(estimate) => Self::Converged,
            _ => self,
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Optimal => "optimal",
            Self::Converged => "converged",
            Self::Unbounded => "unbounded",
            Self::StepLimit => "step limit",
            Self::TimeLimit => "time limit",
            Self::OracleCallLimit => "oracle call limit",
            Self::BoundReached => "bound reached",
            Self::Interrupted => "interrupted",
            Self::OracleFailed => "oracle failed",
            Self::OracleAccuracy => "oracle accuracy",
            Self::Stalled => "stalled",
        })
    }
}
