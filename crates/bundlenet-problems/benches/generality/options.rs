//! The options of the bench.

use std::path::PathBuf;

use bundlenet_testing::foreign::{Half, Instance};

use crate::measure::GAPS;

/// The options of the bench.
pub(crate) struct Options {
    /// The half to run; both if `None`.
    half: Option<Half>,
    /// A part of the names to run.
    only: Option<String>,
    /// File for all figures.
    pub(crate) json: Option<PathBuf>,
    /// File of an earlier run, from which the figures of all fixed methods are taken.
    pub(crate) against: Option<PathBuf>,
    /// Instances measured at the same time. More than one makes times unreliable; calls stay the same.
    pub(crate) threads: usize,
    /// Index of the gap of tables and ratios.
    pub(crate) gap: usize,
}

impl Options {
    /// Options of the command line. The error says what was expected.
    pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self { half: None, only: None, json: None, against: None, threads: 1, gap: 1 };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument}: expected a value, found the end"));
            match argument.as_str() {
                "--bench" => {}
                "--half" => options.half = parse_half(&value()?)?,
                "--only" => options.only = Some(value()?),
                "--json" => options.json = Some(value()?.into()),
                "--against" => options.against = Some(value()?.into()),
                "--threads" => options.threads = parse_number(&argument, &value()?)?,
                "--gap" => options.gap = parse_gap(&value()?)?,
                _ => return Err(format!("expected {NAMES}, found {argument}")),
            }
        }
        Ok(options)
    }

    /// Whether an instance is to be measured.
    pub(crate) fn includes(&self, instance: &Instance) -> bool {
        self.half.is_none_or(|half| half == instance.half)
            && self.only.as_ref().is_none_or(|part| instance.name.contains(part))
    }
}

const NAMES: &str = "--half, --only, --json, --against, --threads or --gap";

fn parse_half(value: &str) -> Result<Option<Half>, String> {
    match value {
        "all" => Ok(None),
        "choose" => Ok(Some(Half::Choose)),
        "judge" => Ok(Some(Half::Judge)),
        _ => Err(format!("--half: expected choose, judge or all, found {value}")),
    }
}

fn parse_number(name: &str, value: &str) -> Result<usize, String> {
    value.parse().ok().filter(|&number| number > 0).ok_or(format!("{name}: expected a positive number, found {value}"))
}

fn parse_gap(value: &str) -> Result<usize, String> {
    let gap = value.parse::<f64>().ok().and_then(|number| GAPS.iter().position(|&gap| gap == number));
    gap.ok_or(format!("--gap: expected one of {GAPS:?}, found {value}"))
}
