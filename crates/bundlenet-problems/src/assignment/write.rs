//! Writers: generalised assignment text and the published JSON. Numbers are written so that they read back the same.

use std::fmt::{Display, Write};

use super::Assignment;
use crate::Format;
use crate::error::Error;
use crate::json::write_list;
use bundlenet::Sense;

impl Assignment {
    /// The instance as text in a format. Plain text does not say whether it minimises or maximises.
    ///
    /// # Errors
    /// If the format is for another problem.
    pub fn to_text(&self, format: Format) -> Result<String, Error> {
        match format {
            Format::Json => Ok(self.to_json()),
            Format::Text => Ok(self.to_plain_text()),
            Format::Dat | Format::Dow => Err(Error::Unrepresentable {
                format,
                expected: "a network design instance",
                found: "a generalised assignment instance".to_string(),
            }),
        }
    }

    fn to_json(&self) -> String {
        let mut text = format!("{{\"instance\":{{\"I\":{},\"J\":{}", self.items(), self.bins());
        // The published files maximise without stating it.
        if self.sense() == Sense::Minimize {
            text.push_str(",\"sense\":\"min\"");
        }
        text.push_str(",\"c\":");
        write_list(&mut text, self.capacities().iter().map(|&capacity| f64::from(capacity)));
        let mut matrix = |key: &str, row: &dyn Fn(usize) -> Vec<f64>| {
            let _ = write!(text, ",\"{key}\":[");
            for bin in 0..self.bins() {
                if bin > 0 {
                    text.push(',');
                }
                write_list(&mut text, row(bin));
            }
            text.push(']');
        };
        matrix("p", &|bin| self.profits(bin).to_vec());
        matrix("w", &|bin| self.weights(bin).iter().map(|&weight| f64::from(weight)).collect());
        text.push_str("}}\n");
        text
    }

    fn to_plain_text(&self) -> String {
        let mut text = format!("{} {}\n", self.bins(), self.items());
        for bin in 0..self.bins() {
            write_row(&mut text, self.profits(bin));
        }
        for bin in 0..self.bins() {
            write_row(&mut text, self.weights(bin));
        }
        write_row(&mut text, self.capacities());
        text
    }
}

fn write_row<T: Display>(text: &mut String, row: &[T]) {
    for (index, number) in row.iter().enumerate() {
        let separator = if index > 0 { " " } else { "" };
        let _ = write!(text, "{separator}{number}");
    }
    text.push('\n');
}
