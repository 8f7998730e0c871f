//! Writers: `.dat`, `.dow` and the published JSON. Numbers are written so that they read back the same.

use std::fmt::Write;

use super::NetworkDesign;
use crate::Format;
use crate::error::Error;
use crate::json::write_list;

impl NetworkDesign {
    /// The instance as text in a format.
    ///
    /// # Errors
    /// If the format is for another problem, or is `.dow` and routing costs depend on the commodity.
    pub fn to_text(&self, format: Format) -> Result<String, Error> {
        match format {
            Format::Json => Ok(self.to_json()),
            Format::Dat => Ok(self.to_dat()),
            Format::Dow => self.to_dow(),
            Format::Text => Err(Error::Unrepresentable {
                format,
                expected: "a generalised assignment or facility location instance",
                found: "a network design instance".to_string(),
            }),
        }
    }

    fn to_json(&self) -> String {
        let mut text = format!("{{\"instance\":{{\"N\":{}", self.nodes());
        let mut field = |key: &str, numbers: &mut dyn Iterator<Item = f64>| {
            let _ = write!(text, ",\"{key}\":");
            write_list(&mut text, numbers);
        };
        field("tail", &mut self.arcs().iter().map(|arc| arc.tail as f64));
        field("head", &mut self.arcs().iter().map(|arc| arc.head as f64));
        field("f", &mut self.arcs().iter().map(|arc| arc.fixed_cost));
        field("c", &mut self.arcs().iter().map(|arc| arc.capacity));
        field("o", &mut self.commodities().iter().map(|one| one.origin as f64));
        field("d", &mut self.commodities().iter().map(|one| one.destination as f64));
        field("q", &mut self.commodities().iter().map(|one| one.demand));
        text.push_str(",\"r\":[");
        for commodity in 0..self.commodities().len() {
            if commodity > 0 {
                text.push(',');
            }
            let costs = (0..self.arcs().len()).map(|arc| self.routing_costs(arc)[commodity]);
            write_list(&mut text, costs);
        }
        text.push_str("]}}\n");
        text
    }

    fn to_dat(&self) -> String {
        let mut text = format!("{} {} {}\n", self.nodes(), self.arcs().len(), self.commodities().len());
        for (index, arc) in self.arcs().iter().enumerate() {
            let _ = writeln!(
                text,
                "{} {} {} {} {}",
                arc.head + 1,
                arc.tail + 1,
                arc.fixed_cost,
                arc.capacity,
                self.commodities().len()
            );
            for (k, (commodity, cost)) in self.commodities().iter().zip(self.routing_costs(index)).enumerate() {
                let _ = writeln!(text, "{} {cost} {}", k + 1, commodity.demand.min(arc.capacity));
            }
        }
        for (k, commodity) in self.commodities().iter().enumerate() {
            // A demand of zero is written as `-0` at the origin.
            let demand = commodity.demand.abs();
            let _ = writeln!(text, "{} {} {}", k + 1, commodity.origin + 1, -demand);
            let _ = writeln!(text, "{} {} {demand}", k + 1, commodity.destination + 1);
        }
        text
    }

    fn to_dow(&self) -> Result<String, Error> {
        let mut text = format!("MULTIGEN.DAT:\n{} {} {}\n", self.nodes(), self.arcs().len(), self.commodities().len());
        for (index, arc) in self.arcs().iter().enumerate() {
            let costs = self.routing_costs(index);
            if let Some(k) = costs.iter().position(|&cost| cost != costs[0]) {
                return Err(Error::Unrepresentable {
                    format: Format::Dow,
                    expected: "routing costs alike for all commodities",
                    found: format!("{} for commodity 0 and {} for commodity {k} on arc {index}", costs[0], costs[k]),
                });
            }
            let (tail, head) = (arc.tail + 1, arc.head + 1);
            let _ = writeln!(text, "{tail} {head} {} {} {} 1 {}", costs[0], arc.capacity, arc.fixed_cost, index + 1);
        }
        for commodity in self.commodities() {
            let (origin, destination) = (commodity.origin + 1, commodity.destination + 1);
            let _ = writeln!(text, "{origin} {destination} {}", commodity.demand);
        }
        Ok(text)
    }
}
