//! `bundlenet metrics`: the validations of a training as CSV, or as an event file for `TensorBoard`.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use bundlenet::Error;
use bundlenet::train::{Measurement, Stage, TrainSettings};
use clap::Args;

use crate::failure::Failure;
use crate::output;
use crate::seeds::{folder_of, folders_in};

/// Print the validations of a training as CSV, or write them for TensorBoard
#[derive(Args)]
pub(crate) struct Metrics {
    /// Folder of a training, or of a training with several seeds
    #[arg(value_name = "RUN_DIR")]
    folder: PathBuf,
    /// Write an event file into this folder instead, or one for each seed; `tensorboard --logdir DIR` shows them
    #[arg(long, value_name = "DIR")]
    tensorboard: Option<PathBuf>,
}

impl Metrics {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let trainings = trainings(&self.folder)?;
        let Some(target) = &self.tensorboard else {
            let all: String = trainings.iter().enumerate().map(|(index, training)| csv(training, index == 0)).collect();
            return output::line(all.trim_end());
        };
        trainings.iter().try_for_each(|training| training.write_events(target))
    }
}

const FILE: &str = "metrics.jsonl";

/// The validations of a training.
struct Training {
    folder: PathBuf,
    /// Its seed, if it is one of several.
    seed: Option<u64>,
    /// The steps after which gaps are measured.
    columns: Vec<usize>,
    history: Vec<Measurement>,
}

/// The training in a folder, or those of all seeds.
fn trainings(folder: &Path) -> Result<Vec<Training>, Failure> {
    let mut seeds = folders_in(folder);
    seeds.retain(|(_, folder)| folder.join(FILE).exists());
    if seeds.is_empty() || folder.join(FILE).exists() {
        return Ok(vec![Training::read(folder.to_path_buf(), None)?]);
    }
    seeds.into_iter().map(|(seed, folder)| Training::read(folder, Some(seed))).collect()
}

impl Training {
    fn read(folder: PathBuf, seed: Option<u64>) -> Result<Self, Failure> {
        let (columns, history) = read(&folder)?;
        Ok(Self { folder, seed, columns, history })
    }

    /// Writes an event file into a folder, or into one of its own within it if it is one of several.
    fn write_events(&self, target: &Path) -> Result<(), Failure> {
        let target = self.seed.map_or_else(|| target.to_path_buf(), |seed| folder_of(target, seed));
        std::fs::create_dir_all(&target).map_err(|source| Error::Write { path: target.clone(), source })?;
        // Validations have no time of their own: all have that of the file.
        let changed = std::fs::metadata(self.folder.join(FILE))?.modified()?;
        let time = changed.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
        let path = target.join("events.out.tfevents.0.bundlenet");
        let events = events(&self.columns, &self.history, time);
        std::fs::write(&path, events).map_err(|source| Error::Write { path: path.clone(), source })?;
        output::line(&path.display().to_string())
    }
}

/// The steps after which gaps are measured, and all validations.
fn read(folder: &Path) -> Result<(Vec<usize>, Vec<Measurement>), Failure> {
    let text = |name: &str| {
        let path = folder.join(name);
        std::fs::read_to_string(&path).map_err(|source| Error::Read { path, source })
    };
    let wrong = |name: &str, error: &dyn std::fmt::Display| {
        Failure::input(format!("{}: {error}", folder.join(name).display()).trim_end())
    };
    let settings: TrainSettings =
        toml::from_str(&text("config.toml")?).map_err(|error| wrong("config.toml", &error))?;
    let lines = text(FILE)?;
    let history: Result<Vec<Measurement>, _> = lines.lines().map(serde_json::from_str).collect();
    Ok((settings.validation.steps, history.map_err(|error| wrong(FILE, &error))?))
}

/// Names and values of a validation. A name has at most one slash: `TensorBoard` groups by the part before it.
fn scalars(columns: &[usize], line: &Measurement) -> Vec<(String, Option<f64>)> {
    let each = |name: &str, numbers: &[f64]| -> Vec<(String, Option<f64>)> {
        columns.iter().zip(numbers).map(|(steps, number)| (format!("{name}/{steps}"), Some(*number))).collect()
    };
    let single = |name: &str, number: Option<f64>| (name.to_string(), number);
    let mut scalars = vec![
        single("loss", line.loss),
        single("score", Some(line.score)),
        single("rate", Some(line.rate)),
        single("gradient_norm", line.gradient_norm),
        single("entropy", Some(line.entropy)),
    ];
    scalars.extend(each("gap_percent", &line.gaps));
    scalars.extend(line.told_gaps.iter().flat_map(|gaps| each("told_gap_percent", gaps)));
    scalars.extend(each("step_length", &line.step_lengths));
    scalars
}

fn csv(training: &Training, has_titles: bool) -> String {
    let Training { seed, columns, history, .. } = training;
    let mut text = String::new();
    for (index, line) in history.iter().enumerate() {
        let scalars = scalars(columns, line);
        if index == 0 && has_titles {
            let names: Vec<String> = scalars.iter().map(|(name, _)| name.replace('/', "_")).collect();
            let first = if seed.is_some() { "seed," } else { "" };
            text = format!("{first}stage,updates,generations,{}\n", names.join(","));
        }
        let stage = match line.stage {
            Stage::Gradient => "gradient",
            Stage::Evolution => "evolution",
        };
        let cells: Vec<String> =
            scalars.iter().map(|(_, number)| number.map_or_else(String::new, |number| number.to_string())).collect();
        let first = seed.map_or_else(String::new, |seed| format!("{seed},"));
        text += &format!("{first}{stage},{},{},{}\n", line.updates, line.generations, cells.join(","));
    }
    text
}

/// An event file: a record for each protocol buffer `Event`. Its step is the sum of updates and generations.
fn events(columns: &[usize], history: &[Measurement], time: f64) -> Vec<u8> {
    let mut file = record(&event(time, 0, &delimited(3, b"brain.Event:2")));
    for line in history {
        let step = (line.updates + line.generations) as u64;
        let values = scalars(columns, line).into_iter().filter_map(|(name, number)| Some((name, number?)));
        let values: Vec<u8> = values.flat_map(|(name, number)| delimited(1, &value(&name, number))).collect();
        file.extend(record(&event(time, step, &delimited(5, &values))));
    }
    file
}

/// `Event { double wall_time = 1; int64 step = 2; ... }`.
fn event(time: f64, step: u64, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![1 << 3 | 1];
    bytes.extend(time.to_le_bytes());
    bytes.push(2 << 3);
    bytes.extend(varint(step));
    bytes.extend(content);
    bytes
}

/// `Summary.Value { string tag = 1; float simple_value = 2; }`.
fn value(name: &str, number: f64) -> Vec<u8> {
    let mut bytes = delimited(1, name.as_bytes());
    bytes.push(2 << 3 | 5);
    bytes.extend((number as f32).to_le_bytes());
    bytes
}

/// A field of bytes with its length.
fn delimited(field: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![field << 3 | 2];
    bytes.extend(varint(content.len() as u64));
    bytes.extend(content);
    bytes
}

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = vec![];
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// A record: length, its checksum, content, its checksum.
fn record(content: &[u8]) -> Vec<u8> {
    let length = (content.len() as u64).to_le_bytes();
    let parts = [&length[..], &checksum(&length).to_le_bytes(), content, &checksum(content).to_le_bytes()];
    parts.concat()
}

/// The masked CRC-32C of event files.
fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = !0_u32;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0x82f6_3b78 & (crc & 1).wrapping_neg());
        }
    }
    (!crc).rotate_right(15).wrapping_add(0xa282_ead8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_format() {
        // CRC-32C of "123456789" is e3069283; the mask rotates and adds.
        assert_eq!(checksum(b"123456789"), 0xe306_9283_u32.rotate_right(15).wrapping_add(0xa282_ead8));
        assert_eq!((varint(1), varint(300)), (vec![1], vec![0xac, 0x02]));
    }
}
