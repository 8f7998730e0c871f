//! The limit in seconds and the interrupt of a run, for the calls of HiGHS.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Ends the calls of HiGHS at a point in time, or when a flag is raised. By default it never does.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watch {
    until: Option<Instant>,
    interrupt: Option<&'static AtomicBool>,
}

impl Watch {
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

    /// Seconds that are left.
    pub(crate) fn left(&self) -> Option<f64> {
        self.until.map(|until| until.saturating_duration_since(Instant::now()).as_secs_f64())
    }
}
