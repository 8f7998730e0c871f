//! The log table: an observer that writes one line for each step.

use std::io::Write;
use std::ops::ControlFlow;

use super::observe::{Observer, Record};
use super::solution::Solution;

/// An observer that writes a table of the run. The columns are aligned. `S` is a serious step, `N` a null step. A value
/// without meaning is blank.
///
/// It shows all of the first twenty steps, then every tenth, then every hundredth.
pub struct Log<W: Write> {
    target: W,
    with_times: bool,
    is_begun: bool,
}

impl<W: Write> Log<W> {
    /// A log with times.
    pub fn new(target: W) -> Self {
        Self { target, with_times: true, is_begun: false }
    }

    /// A log without times. It is the same in every run.
    pub fn timeless(target: W) -> Self {
        Self { with_times: false, ..Self::new(target) }
    }

    /// Writes lines above the table, for example the problem and the method.
    pub fn begin(&mut self, header: &str) {
        self.write(header);
    }

    /// Writes the closing lines.
    pub fn finish(&mut self, solution: &Solution) {
        let mut lines = format!("{}: value {} after {} steps", solution.status, solution.value, solution.steps);
        if let Some(failure) = &solution.failure {
            lines += &format!("\n  {failure}");
        }
        let gap = |gap: Option<f64>| gap.map_or_else(|| "none".to_string(), |gap| format!("{gap:.1e}"));
        lines += &format!("\n  gap: estimated {}, proved {}", gap(solution.estimate), gap(solution.certificate));
        if self.with_times {
            lines += &format!(
                "\n  time: {:.4} s (oracle {:.4}, master {:.4}, network {:.4})",
                solution.seconds, solution.oracle_seconds, solution.master_seconds, solution.network_seconds
            );
        }
        self.write(&lines);
    }

    fn write(&mut self, line: &str) {
        // A log that cannot be written does not end the run.
        let _ = writeln!(self.target, "{line}");
    }
}

fn is_shown(step: usize) -> bool {
    match step {
        0..=20 => true,
        21..=200 => step.is_multiple_of(10),
        _ => step.is_multiple_of(100),
    }
}

fn column<T>(value: Option<T>, width: usize, format: impl Fn(T) -> String) -> String {
    format!("{:>width$}", value.map_or_else(String::new, format))
}

impl<W: Write> Observer for Log<W> {
    fn observe(&mut self, record: &Record) -> ControlFlow<()> {
        if !self.is_begun {
            self.is_begun = true;
            let time = if self.with_times { format!("{:>9}", "time") } else { String::new() };
            self.write(&format!(
                "{:>6} {:>4} {:>16} {:>16} {:>16} {:>8} {:>8} {:>8} {:>5} {:>6}{time}",
                "iter", "step", "objective", "best", "model", "gap", "|w|", "eta", "cuts", "evals"
            ));
        }
        if is_shown(record.step) {
            let time = if self.with_times { format!("{:>9.3}", record.seconds) } else { String::new() };
            self.write(&format!(
                "{:>6} {} {:>16} {:>16} {} {} {} {} {} {:>6}{time}",
                record.step,
                column(record.is_serious, 4, |is_serious| if is_serious { "S" } else { "N" }.to_string()),
                number(record.value),
                number(record.best),
                column(record.model, 16, number),
                column(record.estimate, 8, |gap| format!("{gap:.1e}")),
                column(record.norm, 8, |norm| format!("{norm:.1e}")),
                column(record.eta, 8, |eta| format!("{eta:.2}")),
                column(record.cuts, 5, |cuts| cuts.to_string()),
                record.oracle_calls,
            ));
        }
        ControlFlow::Continue(())
    }
}

/// The number with ten significant digits.
fn number(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude != 0.0 && !(1e-4..1e10).contains(&magnitude) {
        return format!("{value:.9e}");
    }
    let before = if magnitude < 1.0 { 1 } else { magnitude.log10() as usize + 1 };
    format!("{value:.*}", 10_usize.saturating_sub(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_ten_digits() {
        assert_eq!(number(511_953.987_525_987_3), "511953.9875");
        assert_eq!(number(0.0), "0.000000000");
        assert_eq!(number(-12.5), "-12.50000000");
        assert_eq!(number(1.5e-7), "1.500000000e-7");
        assert_eq!(number(2.5e12), "2.500000000e12");
    }
}
