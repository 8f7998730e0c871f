//! The patience of a run: its limit in seconds and its interrupt, for computations that may be long.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A request from outside to end a run. A flag is one.
pub trait Interrupt: Sync {
    /// Whether the run has to end. A long master problem asks many times in a millisecond.
    fn is_raised(&self) -> bool;
}

impl Interrupt for AtomicBool {
    fn is_raised(&self) -> bool {
        self.load(Ordering::Relaxed)
    }
}

/// Numbers that a computation reads between two questions: 10 to 100 microseconds. A question takes 30 nanoseconds.
const BETWEEN_QUESTIONS: usize = 20_000;

/// Cause of the end of a run's patience.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Interrupt,
    Time,
}

/// Tells long computations whether the run has to end. Its answer never changes back.
///
/// A computation that is told so leaves a valid result at once. Until then it does the same as without a limit.
#[derive(Default)]
pub(crate) struct Patience<'a> {
    until: Option<Instant>,
    interrupt: Option<&'a dyn Interrupt>,
    /// Work since the last question, and the work between two questions.
    work: Cell<usize>,
    between: usize,
    end: Cell<Option<End>>,
}

impl<'a> Patience<'a> {
    /// Patience for a number of seconds from `begin`, or until an interrupt.
    pub(crate) fn new(begin: Instant, seconds: Option<f64>, interrupt: Option<&'a dyn Interrupt>) -> Self {
        // A time beyond the range of the clock never comes.
        let until = seconds.and_then(|seconds| begin.checked_add(Duration::try_from_secs_f64(seconds).ok()?));
        Self { until, interrupt, between: BETWEEN_QUESTIONS, ..Self::default() }
    }

    /// Asks for the cause of the end.
    pub(crate) fn end(&self) -> Option<End> {
        if self.end.get().is_none() {
            let is_raised = self.interrupt.is_some_and(Interrupt::is_raised);
            let is_late = || self.until.is_some_and(|until| Instant::now() >= until);
            self.end.set(if is_raised { Some(End::Interrupt) } else { is_late().then_some(End::Time) });
            self.work.set(0);
        }
        self.end.get()
    }

    /// Asks whether the run has to end.
    pub(crate) fn is_over(&self) -> bool {
        self.end().is_some()
    }

    /// Counts work, in numbers that were read, and asks if it is enough for a question.
    pub(crate) fn is_over_after(&self, work: usize) -> bool {
        let work = self.work.get().saturating_add(work);
        self.work.set(work);
        if work < self.between { self.end.get().is_some() } else { self.is_over() }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// An interrupt that counts the questions and is raised after some of them.
    #[derive(Default)]
    pub(crate) struct Counted {
        pub(crate) questions: AtomicUsize,
        pub(crate) most: usize,
    }

    impl Counted {
        pub(crate) fn after(most: usize) -> Self {
            Self { most, ..Self::default() }
        }

        pub(crate) fn questions(&self) -> usize {
            self.questions.load(Ordering::Relaxed)
        }

        /// A patience that asks wherever it can.
        pub(crate) fn asked_often(&self) -> Patience<'_> {
            Patience { interrupt: Some(self), ..Patience::default() }
        }

        /// A patience that asks as in a run.
        pub(crate) fn asked(&self) -> Patience<'_> {
            Patience::new(Instant::now(), None, Some(self))
        }
    }

    impl Interrupt for Counted {
        fn is_raised(&self) -> bool {
            self.questions.fetch_add(1, Ordering::Relaxed) >= self.most
        }
    }

    #[test]
    fn the_end_is_final() {
        let now = Instant::now();
        assert_eq!(Patience::default().end(), None);
        assert_eq!(Patience::new(now, Some(f64::MAX), None).end(), None);
        assert_eq!(Patience::new(now, Some(0.0), None).end(), Some(End::Time));
        let flag = AtomicBool::new(true);
        let patience = Patience::new(now, Some(0.0), Some(&flag));
        assert_eq!(patience.end(), Some(End::Interrupt));
        flag.store(false, Ordering::Relaxed);
        assert!(patience.end() == Some(End::Interrupt) && patience.is_over_after(0));
    }

    #[test]
    fn questions_follow_the_work() {
        let counted = Counted::after(usize::MAX);
        let patience = counted.asked();
        for _ in 0..10 * BETWEEN_QUESTIONS {
            assert!(!patience.is_over_after(1));
        }
        assert_eq!(counted.questions(), 10);
        assert!(!patience.is_over_after(usize::MAX));
        assert_eq!(counted.questions(), 11);
    }
}
