//! The limit in seconds and the interrupt of a run, for the calls of HiGHS.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Ends the calls of HiGHS at a point in time, or when a flag is raised. By default it never does.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    until: Option<Instant>,
    interrupt: Option<&'static AtomicBool>,
    /// Part of the time that is left which a call may take.
    share: f64,
}

impl Default for Watch {
    fn default() -> Self {
        Self { until: None, interrupt: None, share: 1.0 }
    }
}

impl Watch {
    /// Lets a call take a part of the time that is left, at most.
    pub(crate) fn share(self, share: f64) -> Self {
        Self { share: share.min(1.0), ..self }
    }

    /// Ends after a part of the time that is left.
    pub(crate) fn part(self, part: f64) -> Self {
        match self.left() {
            Some(left) => self.seconds(Some(part * left)),
            None => self,
        }
    }

    /// Ends calls some seconds from now. A time beyond the range of the clock never comes.
    #[must_use]
    pub fn seconds(self, seconds: Option<f64>) -> Self {
        let until = seconds.and_then(|it| Instant::now().checked_add(Duration::try_from_secs_f64(it).ok()?));
        Self { until, ..self }
    }

    /// Ends calls when a flag is raised.
    #[must_use]
    pub fn interrupt(self, flag: &'static AtomicBool) -> Self {
        Self { interrupt: Some(flag), ..self }
    }

    /// Whether calls have to end.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed)) || self.left().is_some_and(|left| left <= 0.0)
    }

    /// Seconds that a call may take.
    pub(crate) fn seconds_of_call(&self) -> Option<f64> {
        self.left().map(|left| self.share * left)
    }

    /// Seconds that are left.
    fn left(&self) -> Option<f64> {
        self.until.map(|until| until.saturating_duration_since(Instant::now()).as_secs_f64())
    }
}
