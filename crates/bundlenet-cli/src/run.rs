//! Threads, interrupts and progress of long commands.

use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressStyle};

use crate::failure::Failure;

/// Sets the number of threads, before any work begins.
pub(crate) fn use_threads(threads: Option<u16>) -> Result<(), Failure> {
    let Some(threads) = threads else { return Ok(()) };
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

/// A progress bar for several instances, shown only on a terminal.
pub(crate) fn progress(count: usize) -> ProgressBar {
    let bar = if count > 1 { ProgressBar::new(count as u64) } else { ProgressBar::hidden() };
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} instances, {eta} left") {
        bar.set_style(style);
    }
    bar
}
