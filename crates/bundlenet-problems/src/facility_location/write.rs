//! Writers: the text of the OR-Library, and JSON. Numbers are written so that they read back the same.

use std::fmt::Write;

use super::FacilityLocation;
use crate::Format;
use crate::error::Error;
use crate::json::write_list;

impl FacilityLocation {
    /// The instance as text in a format.
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
                found: "a facility location instance".to_string(),
            }),
        }
    }

    fn to_json(&self) -> String {
        let mut text = format!("{{\"instance\":{{\"sites\":{},\"customers\":{}", self.sites().len(), self.customers());
        text.push_str(",\"capacity\":[");
        for (index, site) in self.sites().iter().enumerate() {
            let separator = if index > 0 { "," } else { "" };
            let capacity = if site.capacity.is_finite() { site.capacity.to_string() } else { "null".to_string() };
            let _ = write!(text, "{separator}{capacity}");
        }
        text.push_str("],\"fixed_cost\":");
        write_list(&mut text, self.sites().iter().map(|site| site.fixed_cost));
        text.push_str(",\"demand\":");
        write_list(&mut text, self.demands().iter().copied());
        text.push_str(",\"cost\":[");
        for site in 0..self.sites().len() {
            if site > 0 {
                text.push(',');
            }
            write_list(&mut text, self.costs(site).iter().copied());
        }
        text.push_str("]}}\n");
        text
    }

    fn to_plain_text(&self) -> String {
        let mut text = format!("{} {}\n", self.sites().len(), self.customers());
        for site in self.sites() {
            let _ = writeln!(text, "{} {}", site.capacity, site.fixed_cost);
        }
        for (customer, demand) in self.demands().iter().enumerate() {
            let _ = writeln!(text, "{demand}");
            for site in 0..self.sites().len() {
                let separator = if site > 0 { " " } else { "" };
                let _ = write!(text, "{separator}{}", self.costs(site)[customer]);
            }
            text.push('\n');
        }
        text
    }
}
