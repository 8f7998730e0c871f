//! Threads, interrupts and progress of long commands.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bundlenet::{Error, Oracle, Settings, Solution, State};
use indicatif::{ProgressBar, ProgressStyle};

use crate::failure::Failure;
use crate::input::Start;
use crate::output;
use crate::ranks::Ranks;

/// The end of a run.
pub(crate) struct Outcome {
    pub(crate) solution: Solution,
    /// Read by the search for a first-stage solution.
    #[cfg_attr(not(feature = "mip"), expect(dead_code))]
    pub(crate) state: State,
    /// Why the state could not be saved.
    pub(crate) unsaved: Option<Error>,
}

/// Solves a dual: its sizes in words, names and start of its multipliers, the settings. `None` on a rank that is not the
/// first.
pub(crate) type Run<'a> =
    &'a mut dyn FnMut(&mut dyn Oracle, &str, Start<'_>, &Settings) -> Result<Option<Outcome>, Failure>;

/// Sets the number of threads, before any work begins.
pub(crate) fn use_threads(ranks: &Ranks, threads: Option<u16>) -> Result<(), Failure> {
    let Some(threads) = ranks.threads(threads) else { return Ok(()) };
    rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build_global().map_err(Failure::run)
}

/// A flag that Ctrl-C sets. A second Ctrl-C ends the program at once, in case the oracle does not return.
pub(crate) fn interrupt_flag() -> &'static AtomicBool {
    static INTERRUPT: AtomicBool = AtomicBool::new(false);
    // Without a handler, the first Ctrl-C ends the program.
    let _ = ctrlc::set_handler(|| {
        if INTERRUPT.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
    &INTERRUPT
}

/// Time between two lines of progress where standard error is no terminal.
pub(crate) const PERIOD: Duration = Duration::from_secs(5);

/// A bar for several things, shown only on a terminal.
fn bar(count: usize, unit: &str) -> ProgressBar {
    let bar = if count > 1 { ProgressBar::new(count as u64) } else { ProgressBar::hidden() };
    if let Ok(style) = ProgressStyle::with_template(&format!("{{bar:40}} {{pos}}/{{len}} {unit}, {{eta}} left")) {
        bar.set_style(style);
    }
    bar
}

/// The progress of a command over several things: a bar on a terminal, elsewhere a line every [`PERIOD`].
pub(crate) struct Progress {
    bar: ProgressBar,
    done: Arc<AtomicUsize>,
    /// Ends the thread that prints lines.
    end: Option<(mpsc::Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Begins to show `0 of count unit`. One thing alone has no progress.
    pub(crate) fn begin(count: usize, unit: &str) -> Self {
        let bar = bar(count, unit);
        let done = Arc::new(AtomicUsize::new(0));
        let has_lines = count > 1 && bar.is_hidden();
        let end = has_lines.then(|| print_lines(Arc::clone(&done), count, unit.to_string()));
        Self { bar, done, end }
    }

    /// The bar. It is hidden where standard error is no terminal.
    pub(crate) fn bar(&self) -> &ProgressBar {
        &self.bar
    }

    /// One thing is done.
    pub(crate) fn advance(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
        self.bar.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        if let Some((end, lines)) = self.end.take() {
            drop(end);
            // A thread that prints has nothing to say if it failed.
            let _ = lines.join();
        }
    }
}

/// Prints the present state every [`PERIOD`], until the sender is dropped.
fn print_lines(done: Arc<AtomicUsize>, count: usize, unit: String) -> (mpsc::Sender<()>, JoinHandle<()>) {
    let begin = Instant::now();
    print_every(move || {
        let seconds = begin.elapsed().as_secs_f64();
        Some(state(done.load(Ordering::Relaxed), count, &unit, seconds))
    })
}

/// Prints a line every [`PERIOD`], if there is one, until the sender is dropped.
pub(crate) fn print_every(
    mut line: impl FnMut() -> Option<String> + Send + 'static,
) -> (mpsc::Sender<()>, JoinHandle<()>) {
    let (end, ended) = mpsc::channel::<()>();
    let lines = std::thread::spawn(move || {
        while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
            if let Some(line) = line() {
                output::note(&line);
            }
        }
    });
    (end, lines)
}

/// The present state in a line.
fn state(done: usize, count: usize, unit: &str, seconds: f64) -> String {
    let left = seconds / done.max(1) as f64 * count.saturating_sub(done) as f64;
    let left = if done > 0 { format!(", {left:.0} s left") } else { String::new() };
    format!("{done} of {count} {unit} after {seconds:.0} s{left}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_how_far_it_is() {
        assert_eq!(state(0, 120, "optima", 5.0), "0 of 120 optima after 5 s");
        assert_eq!(state(30, 120, "optima", 10.0), "30 of 120 optima after 10 s, 30 s left");
        assert_eq!(state(120, 120, "runs", 10.2), "120 of 120 runs after 10 s, 0 s left");
    }

    #[test]
    fn progress_ends_with_its_owner() {
        let begin = Instant::now();
        let progress = Progress::begin(3, "things");
        progress.advance();
        drop(progress);
        // The thread that prints does not hold up the command for a whole period.
        assert!(begin.elapsed() < PERIOD);
    }
}
