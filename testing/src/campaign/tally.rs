//! Counts of a campaign, as tables.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};

use bundlenet::Status;

use super::check::{Fault, Kind};
use super::methods::NAMES;

/// Counts of runs and faults.
#[derive(Default)]
pub struct Tally {
    counts: BTreeMap<(&'static str, &'static str, String), usize>,
    pub faults: Vec<Fault>,
}

impl Tally {
    pub(super) fn count(&mut self, family: &'static str, method: &'static str, status: Status) {
        *self.counts.entry((family, method, status.to_string())).or_default() += 1;
    }

    pub(super) fn fault(&mut self, kind: Kind, method: &'static str, about: String) -> &Fault {
        self.faults.push(Fault { kind, method, about });
        &self.faults[self.faults.len() - 1]
    }

    /// Number of runs.
    pub fn runs(&self) -> usize {
        self.counts.values().sum()
    }

    /// Faults that no run may have.
    pub fn errors(&self) -> impl Iterator<Item = &Fault> {
        self.faults.iter().filter(|fault| fault.kind.is_error())
    }

    /// A table of counts: a row for each name, a column for each status.
    fn statuses(&self, title: &str, name: impl Fn(&(&'static str, &'static str, String)) -> &'static str) -> String {
        let columns: BTreeSet<&String> = self.counts.keys().map(|(_, _, status)| status).collect();
        let rows: BTreeSet<&str> = self.counts.keys().map(&name).collect();
        let mut table = header(title, columns.iter().map(ToString::to_string));
        for row in rows {
            let count = |status: &String| {
                let of = self.counts.iter().filter(|(key, _)| name(key) == row && key.2 == *status);
                of.map(|(_, count)| count).sum::<usize>()
            };
            push_row(&mut table, row, columns.iter().map(|status| count(status)));
        }
        table
    }

    /// A table of faults: a row for each kind, a column for each method.
    fn kinds(&self) -> String {
        let mut table = header("fault", NAMES.iter().map(ToString::to_string));
        let kinds: BTreeSet<Kind> = self.faults.iter().map(|fault| fault.kind).collect();
        for kind in kinds {
            let of =
                |method: &str| self.faults.iter().filter(|fault| fault.kind == kind && fault.method == method).count();
            push_row(&mut table, &kind.to_string(), NAMES.iter().map(|method| of(method)));
        }
        table
    }
}

fn header(title: &str, columns: impl Iterator<Item = String>) -> String {
    let columns: Vec<String> = columns.collect();
    format!("| {title} | {} |\n|---|{}\n", columns.join(" | "), "---:|".repeat(columns.len()))
}

fn push_row(table: &mut String, name: &str, counts: impl Iterator<Item = usize>) {
    let counts: Vec<String> = counts.map(|count| count.to_string()).collect();
    let _ = writeln!(table, "| {name} | {} |", counts.join(" | "));
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{} runs, {} errors\n", self.runs(), self.errors().count())?;
        writeln!(formatter, "{}", self.statuses("family", |key| key.0))?;
        writeln!(formatter, "{}", self.statuses("method", |key| key.1))?;
        formatter.write_str(&self.kinds())
    }
}
