//! Time that the processor gives to the current thread. Other programs on the machine do not add to it.

use std::sync::LazyLock;

/// Seconds of the current thread since some moment. Where the system does not tell, seconds of the clock.
#[cfg(unix)]
pub fn seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}

#[cfg(not(unix))]
pub fn seconds() -> f64 {
    static BEGIN: LazyLock<std::time::Instant> = LazyLock::new(std::time::Instant::now);
    BEGIN.elapsed().as_secs_f64()
}

/// Seconds that one reading takes.
static COST: LazyLock<f64> = LazyLock::new(|| {
    const READINGS: u32 = 500;
    let mean = |_| {
        let begin = seconds();
        (0..READINGS).for_each(|_| assert!(std::hint::black_box(seconds()) >= begin));
        (seconds() - begin) / f64::from(READINGS)
    };
    (0..20).map(mean).fold(f64::INFINITY, f64::min)
});

/// A stopwatch that subtracts the time of its own readings.
pub struct Stopwatch {
    begin: f64,
    readings: u32,
}

impl Stopwatch {
    pub fn start() -> Self {
        LazyLock::force(&COST);
        Self { begin: seconds(), readings: 0 }
    }

    /// Seconds since the start.
    pub fn read(&mut self) -> f64 {
        self.readings += 1;
        (seconds() - self.begin - f64::from(self.readings) * *COST).max(0.0)
    }
}
