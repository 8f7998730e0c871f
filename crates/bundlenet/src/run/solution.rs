//! The result of a run, and why it ended.

use std::fmt;

use serde::Serialize;

use super::reuse::Reuse;
use crate::oracle::Primal;

/// The result of a run. Values are in the problem's sense.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Solution {
    /// Why the run ended.
    pub status: Status,
    /// Best value.
    pub value: f64,
    /// Point that attains it.
    pub point: Vec<f64>,
    /// Steps taken.
    pub steps: usize,
    /// Oracle calls, the one at the start included.
    pub oracle_calls: usize,
    /// Wall time of the run.
    pub seconds: f64,
    /// Wall time spent in the oracle.
    pub oracle_seconds: f64,
    /// Wall time spent in master problems.
    pub master_seconds: f64,
    /// Wall time spent in the network, its features included.
    pub network_seconds: f64,
    /// The stop test's gap over `max(1, |f|)`; an estimate.
    pub estimate: Option<f64>,
    /// A proved gap over `max(1, |f|)`, where there is a proof.
    pub certificate: Option<f64>,
    /// The primal solution that goes with the last proposal: with [`Settings::primal`](crate::Settings::primal), of an oracle that
    /// is a [`PrimalOracle`](crate::PrimalOracle). The closer the run came to the optimum, the less it violates what was dualised.
    pub primal: Option<Primal>,
    /// One row for the start and each step.
    pub trace: Vec<TraceRow>,
    /// Why the oracle failed, if it did.
    pub failure: Option<String>,
    /// Which cuts of an earlier run were used again, where there were any.
    pub reuse: Option<Reuse>,
}

/// A row of a trace.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct TraceRow {
    /// Step, 0 for the start.
    pub step: usize,
    /// Value at the point of this step.
    pub value: f64,
    /// Best value so far.
    pub best: f64,
    /// Seconds since the start of the run.
    pub seconds: f64,
}

/// Why a run ended. The best point is there in every case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Status {
    /// The stop test holds: the estimated gap is within the tolerance.
    Optimal,
    /// The number of steps is used up.
    StepLimit,
    /// The time is used up.
    TimeLimit,
    /// The number of oracle calls is used up.
    OracleCallLimit,
    /// The best value is as good as the target.
    BoundReached,
    /// The user, or an observer, ended the run.
    Interrupted,
    /// The oracle failed or returned something unusable after the first evaluation.
    OracleFailed,
    /// No step makes a difference any more, although the stop test does not hold.
    Stalled,
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Optimal => "optimal",
            Self::StepLimit => "step limit",
            Self::TimeLimit => "time limit",
            Self::OracleCallLimit => "oracle call limit",
            Self::BoundReached => "bound reached",
            Self::Interrupted => "interrupted",
            Self::OracleFailed => "oracle failed",
            Self::Stalled => "stalled",
        })
    }
}
