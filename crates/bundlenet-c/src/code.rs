//! Numbers with names: codes of errors, statuses and senses.

/// Code of an error. The message of the handle says more.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// No error.
    Ok = 0,
    /// A pointer is null.
    Null = 1,
    /// A number of entries is wrong.
    Length = 2,
    /// A setting has an unknown name or an invalid value, or a text is not UTF-8.
    Setting = 3,
    /// The function is unusable, or its evaluation at the start failed.
    Oracle = 4,
    /// A file cannot be read or written.
    File = 5,
    /// The handle is in use: by another thread, or by a run whose callback made this call.
    Busy = 6,
    /// A fault of the library. The handle can be used again or freed.
    Panic = 7,
}

/// Direction of optimisation.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sense {
    /// The function is convex; smaller values are better.
    Minimize = 0,
    /// The function is concave; larger values are better.
    Maximize = 1,
}

/// Reason for the end of a run. The best point is there in every case.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Proved: the gap is at most the tolerance.
    Optimal = 0,
    /// The stop test holds: the estimated gap is at most the tolerance. There is no proof.
    Converged = 1,
    /// The function is unbounded along the ray.
    Unbounded = 2,
    /// The limit of steps is reached.
    StepLimit = 3,
    /// The limit of wall time is reached.
    TimeLimit = 4,
    /// The limit of oracle calls is reached.
    OracleCallLimit = 5,
    /// The target value is reached.
    BoundReached = 6,
    /// The caller or an observer ended the run.
    Interrupted = 7,
    /// The callback failed, or returned unusable numbers, after the first evaluation. The message says more.
    OracleFailed = 8,
    /// The estimated gap is within the tolerance and the width of the intervals.
    OracleAccuracy = 9,
    /// Neither the proof nor the estimate is within the tolerance, but no step changes anything any more.
    Stalled = 10,
    /// A reason that this header does not know.
    Other = 11,
}

impl From<bundlenet::Status> for Status {
    fn from(status: bundlenet::Status) -> Self {
        match status {
            bundlenet::Status::Optimal => Self::Optimal,
            bundlenet::Status::Converged => Self::Converged,
            bundlenet::Status::Unbounded => Self::Unbounded,
            bundlenet::Status::StepLimit => Self::StepLimit,
            bundlenet::Status::TimeLimit => Self::TimeLimit,
            bundlenet::Status::OracleCallLimit => Self::OracleCallLimit,
            bundlenet::Status::BoundReached => Self::BoundReached,
            bundlenet::Status::Interrupted => Self::Interrupted,
            bundlenet::Status::OracleFailed => Self::OracleFailed,
            bundlenet::Status::OracleAccuracy => Self::OracleAccuracy,
            bundlenet::Status::Stalled => Self::Stalled,
            _ => Self::Other,
        }
    }
}
