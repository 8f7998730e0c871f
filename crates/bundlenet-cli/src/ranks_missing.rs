//! The ranks of a program without the feature `mpi`: this process alone.

use bundlenet::Oracle;
use bundlenet::team::Workers;

use crate::failure::Failure;

/// This process.
pub(crate) struct Ranks;

impl Ranks {
    pub(crate) fn start() -> Self {
        Self
    }

    pub(crate) fn is_leader(&self) -> bool {
        true
    }

    pub(crate) fn workers(&self) -> Workers {
        Workers::new()
    }

    /// The number of threads that was asked for.
    pub(crate) fn threads(&self, given: Option<u16>) -> Option<u16> {
        given
    }

    /// Calls `solve` with the oracle.
    pub(crate) fn solve<R>(
        &self,
        dual: &mut dyn Oracle,
        _keeps_solutions: bool,
        solve: impl FnOnce(&mut dyn Oracle) -> R,
    ) -> Option<R> {
        Some(solve(dual))
    }

    /// Reports a failure and returns the exit code.
    pub(crate) fn end(self, result: Result<(), Failure>) -> u8 {
        result.map_or_else(Failure::report, |()| 0)
    }
}
