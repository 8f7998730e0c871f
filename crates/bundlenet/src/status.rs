//! Why a run ended.

use std::fmt;

use serde::Serialize;

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
