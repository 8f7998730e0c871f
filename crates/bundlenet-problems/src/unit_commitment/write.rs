//! The writer of JSON files in the layout of pglib-uc. Numbers are written so that they read back the same.

use std::fmt::Write;

use super::instance::{ThermalUnit, UnitCommitment};
use crate::Format;
use crate::error::Error;
use crate::json::write_list;

impl UnitCommitment {
    /// The instance as text in a format. A field states the formulation.
    ///
    /// # Errors
    /// If the format is not JSON.
    pub fn to_text(&self, format: Format) -> Result<String, Error> {
        if format != Format::Json {
            return Err(Error::Unrepresentable {
                format,
                expected: "an instance of another problem",
                found: "a unit commitment instance".to_string(),
            });
        }
        let mut text =
            format!("{{\"formulation\":\"{}\",\n\"time_periods\":{},\n\"demand\":", self.formulation(), self.periods());
        write_list(&mut text, self.demand().iter().copied());
        text.push_str(",\n\"reserves\":");
        write_list(&mut text, self.reserves().iter().copied());
        text.push_str(",\n\"thermal_generators\":{");
        for (index, unit) in self.thermal_units().iter().enumerate() {
            text.push_str(if index > 0 { ",\n" } else { "\n" });
            unit.write(&mut text);
        }
        text.push_str("},\n\"renewable_generators\":{");
        for (index, unit) in self.renewable_units().iter().enumerate() {
            let separator = if index > 0 { ",\n" } else { "\n" };
            let _ = write!(text, "{separator}{}:{{\"power_output_minimum\":", quoted(&unit.name));
            write_list(&mut text, unit.output_minimum.iter().copied());
            text.push_str(",\"power_output_maximum\":");
            write_list(&mut text, unit.output_maximum.iter().copied());
            text.push('}');
        }
        text.push_str("}}\n");
        Ok(text)
    }
}

/// A name as a JSON string.
fn quoted(name: &str) -> String {
    serde_json::Value::from(name).to_string()
}

impl ThermalUnit {
    fn write(&self, text: &mut String) {
        let _ = write!(text, "{}:{{\"must_run\":{}", quoted(&self.name), u8::from(self.must_run));
        let initial = self.initial.as_ref();
        let numbers = [
            ("power_output_minimum", Some(self.output_minimum)),
            ("power_output_maximum", Some(self.output_maximum)),
            ("ramp_up_limit", Some(self.ramp_up)),
            ("ramp_down_limit", Some(self.ramp_down)),
            ("ramp_startup_limit", self.startup_ramp),
            ("ramp_shutdown_limit", self.shutdown_ramp),
            ("time_up_minimum", Some(self.up_minimum as f64)),
            ("time_down_minimum", Some(self.down_minimum as f64)),
            ("no_load_consumption", self.no_load_cost),
            ("unit_on_t0", initial.map(|state| f64::from(u8::from(state.is_on)))),
            ("power_output_t0", initial.map(|state| state.output)),
            ("time_up_t0", initial.map(|state| state.time_up as f64)),
            ("time_down_t0", initial.map(|state| state.time_down as f64)),
        ];
        for (key, number) in numbers.into_iter().filter_map(|(key, number)| Some((key, number?))) {
            let _ = write!(text, ",\"{key}\":{number}");
        }
        let categories = self.startup.iter().map(|category| (category.lag.map(|lag| lag as f64), category.cost));
        write_pairs(text, "startup", "lag", categories);
        write_pairs(text, "piecewise_production", "mw", self.production.iter().map(|point| (point.output, point.cost)));
        text.push('}');
    }
}

/// Appends a list of costs, each with its place if it has one.
fn write_pairs(text: &mut String, list: &str, key: &str, pairs: impl Iterator<Item = (Option<f64>, f64)>) {
    let _ = write!(text, ",\"{list}\":[");
    for (index, (place, cost)) in pairs.enumerate() {
        let separator = if index > 0 { "," } else { "" };
        let place = place.map_or_else(String::new, |place| format!("\"{key}\":{place},"));
        let _ = write!(text, "{separator}{{{place}\"cost\":{cost}}}");
    }
    text.push(']');
}
