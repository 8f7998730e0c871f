//! Results and steps as structures of C.

use crate::code::Status;

/// Result of a run. Values are in the sense of the function. The arrays belong to the solver: they are valid until its
/// next run, or until it is freed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// Reason for the end of the run.
    pub status: Status,
    /// Best value.
    pub value: f64,
    /// The best point.
    pub point: *const f64,
    /// Direction of length 1 along which the function is unbounded. NULL unless it is.
    pub ray: *const f64,
    /// Number of entries of the arrays.
    pub dim: usize,
    /// Estimated gap over max(1, |value|). Infinite if there is none.
    pub estimate: f64,
    /// Proved gap over max(1, |value|). Infinite if there is no proof.
    pub certificate: f64,
    /// Steps taken.
    pub steps: usize,
    /// Oracle calls, the one at the start included.
    pub oracle_calls: usize,
    /// Components that were evaluated in these calls.
    pub component_calls: usize,
    /// Cuts of the state that were used.
    pub cuts_reused: usize,
    /// Cuts of the state that were not used.
    pub cuts_dropped: usize,
    /// Wall time of the run, in seconds.
    pub seconds: f64,
    /// Wall time in the callbacks of the function, in seconds.
    pub oracle_seconds: f64,
    /// Wall time in master problems, in seconds.
    pub master_seconds: f64,
}

impl Outcome {
    /// The result that a solution is. Its arrays are those of the solution.
    pub(crate) fn of(solution: &bundlenet::Solution) -> Self {
        let (total, reused) = solution.reuse.as_ref().map_or((0, 0), |reuse| (reuse.total(), reuse.reused()));
        Self {
            status: solution.status.into(),
            value: solution.value,
            point: solution.point.as_ptr(),
            ray: solution.ray.as_ref().map_or(std::ptr::null(), |ray| ray.as_ptr()),
            dim: solution.point.len(),
            estimate: solution.estimate.unwrap_or(f64::INFINITY),
            certificate: solution.certificate.unwrap_or(f64::INFINITY),
            steps: solution.steps,
            oracle_calls: solution.oracle_calls,
            component_calls: solution.component_calls,
            cuts_reused: reused,
            cuts_dropped: total - reused,
            seconds: solution.seconds,
            oracle_seconds: solution.oracle_seconds,
            master_seconds: solution.master_seconds,
        }
    }
}

/// A convex combination of the solutions of all components, with the weights of their cuts. It satisfies relaxed rows
/// as far as the run got. The arrays belong to the solver: they are valid until its next run, or until it is freed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Primal {
    /// Cost in the objective of the problem.
    pub cost: f64,
    /// Number of entries of the arrays.
    pub count: usize,
    /// Variables that are not 0, in ascending order.
    pub variables: *const u32,
    /// Their values.
    pub values: *const f64,
}

/// A step, as an observer sees it. Values are in the sense of the function.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Number of the step; 0 for the evaluation at the start.
    pub step: usize,
    /// Value at the point of this step.
    pub value: f64,
    /// Best value so far.
    pub best: f64,
    /// Estimated gap over max(1, |best|). Infinite if there is none.
    pub estimate: f64,
    /// Oracle calls so far.
    pub oracle_calls: usize,
    /// Seconds since the start of the run.
    pub seconds: f64,
}

impl From<&bundlenet::Record> for Step {
    fn from(record: &bundlenet::Record) -> Self {
        let &bundlenet::Record { step, value, best, estimate, oracle_calls, seconds, .. } = record;
        Self { step, value, best, estimate: estimate.unwrap_or(f64::INFINITY), oracle_calls, seconds }
    }
}
