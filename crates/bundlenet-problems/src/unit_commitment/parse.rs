//! The reader of the JSON files of pglib-uc and ConvexHullPricing.jl.

use std::collections::HashSet;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::instance::{
    CostPoint, Formulation, InitialState, RenewableUnit, StartCategory, ThermalUnit, UnitCommitment,
};
use crate::error::{Element, Error, InvalidInstance, ParseError};
use crate::text::{JsonStep, json_error, json_line};

/// The entries of an object in the order of the file.
struct Entries<T>(Vec<(String, T)>);

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Self(vec![])
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Collect<T> {
            type Value = Entries<T>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object of units")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<T>, A::Error> {
                let mut entries = vec![];
                while let Some(name) = map.next_key::<String>()? {
                    let entry = map.next_value().map_err(|error: A::Error| of_unit(&name, &error))?;
                    entries.push((name, entry));
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Collect(PhantomData))
    }
}

/// An error within a unit, with the name of the unit before the place.
fn of_unit<E: serde::de::Error>(name: &str, error: &E) -> E {
    let text = error.to_string();
    let (reason, place) = text.rsplit_once(" at line ").unwrap_or((&text, ""));
    let place = if place.is_empty() { String::new() } else { format!(" at line {place}") };
    E::custom(format!("{reason} of unit {name:?}{place}"))
}

impl<T> Entries<T> {
    /// The first entry that has the name of an earlier one.
    fn repeated(&self) -> Option<(usize, &str)> {
        let mut names = HashSet::new();
        let mut entries = self.0.iter().enumerate();
        entries.find(|(_, (name, _))| !names.insert(name)).map(|(index, (name, _))| (index, name.as_str()))
    }
}

#[derive(Deserialize)]
struct File {
    /// Not in the published files.
    formulation: Option<String>,
    time_periods: f64,
    demand: Vec<f64>,
    #[serde(default)]
    reserves: Vec<f64>,
    thermal_generators: Entries<Thermal>,
    #[serde(default)]
    renewable_generators: Entries<Renewable>,
}

#[derive(Deserialize)]
struct Thermal {
    power_output_minimum: f64,
    power_output_maximum: f64,
    ramp_up_limit: f64,
    ramp_down_limit: f64,
    ramp_startup_limit: Option<f64>,
    ramp_shutdown_limit: Option<f64>,
    time_up_minimum: f64,
    time_down_minimum: f64,
    must_run: Option<f64>,
    no_load_consumption: Option<f64>,
    piecewise_production: Vec<Point>,
    startup: Vec<Category>,
    unit_on_t0: Option<f64>,
    power_output_t0: Option<f64>,
    time_up_t0: Option<f64>,
    time_down_t0: Option<f64>,
}

#[derive(Deserialize)]
struct Point {
    mw: Option<f64>,
    cost: f64,
}

#[derive(Deserialize)]
struct Category {
    lag: Option<f64>,
    cost: f64,
}

#[derive(Deserialize)]
struct Renewable {
    power_output_minimum: Vec<f64>,
    power_output_maximum: Vec<f64>,
}

/// The instance in a text.
pub(crate) fn json(file: &str, text: &str, formulation: Option<Formulation>) -> Result<UnitCommitment, Error> {
    let place = Place { file, text };
    let expected = "a unit commitment file in the layout of pglib-uc";
    let raw: File = serde_json::from_str(text).map_err(|error| json_error((file, text), expected, &error))?;
    place.check_names("thermal_generators", &raw.thermal_generators)?;
    place.check_names("renewable_generators", &raw.renewable_generators)?;
    let periods = place.whole(&[JsonStep::Key("time_periods")], "time_periods", raw.time_periods)?;
    if raw.demand.len() != periods {
        let expected = format!("{periods} entries in \"demand\"");
        return Err(place.error(&[JsonStep::Key("demand")], expected, raw.demand.len().to_string()).into());
    }
    let mut thermal = Vec::with_capacity(raw.thermal_generators.0.len());
    for (index, (name, unit)) in raw.thermal_generators.0.into_iter().enumerate() {
        thermal.push(place.thermal(index, name, unit)?);
    }
    let renewable = raw.renewable_generators.0.into_iter().map(|(name, unit)| RenewableUnit {
        name,
        output_minimum: unit.power_output_minimum,
        output_maximum: unit.power_output_maximum,
    });
    let renewable: Vec<RenewableUnit> = renewable.collect();
    let stated = raw.formulation.map(|name| {
        let wrong = |expected: String| place.error(&[JsonStep::Key("formulation")], expected, format!("{name:?}"));
        name.parse::<Formulation>().map_err(|_| wrong("pglib or chp as formulation".to_string()))
    });
    let formulation = formulation.or(stated.transpose()?);
    let names = Names::of(&thermal, &renewable);
    UnitCommitment::new(formulation, raw.demand, raw.reserves, thermal, renewable)
        .map_err(|invalid| place.invalid(&names, invalid).into())
}

/// Names of the units, for errors.
struct Names {
    thermal: Vec<String>,
    renewable: Vec<String>,
}

impl Names {
    fn of(thermal: &[ThermalUnit], renewable: &[RenewableUnit]) -> Self {
        Self {
            thermal: thermal.iter().map(|unit| unit.name.clone()).collect(),
            renewable: renewable.iter().map(|unit| unit.name.clone()).collect(),
        }
    }
}

/// The file, for errors.
struct Place<'a> {
    file: &'a str,
    text: &'a str,
}

impl Place<'_> {
    fn error(&self, path: &[JsonStep], expected: String, found: String) -> ParseError {
        ParseError { file: self.file.to_string(), line: json_line(self.text, path), expected, found }
    }

    fn check_names<T>(&self, key: &'static str, entries: &Entries<T>) -> Result<(), ParseError> {
        entries.repeated().map_or(Ok(()), |(index, name)| {
            let path = [JsonStep::Key(key), JsonStep::Entry(index)];
            Err(self.error(&path, format!("different names in {key:?}"), format!("a second unit {name:?}")))
        })
    }

    fn whole(&self, path: &[JsonStep], what: &str, number: f64) -> Result<usize, ParseError> {
        if (0.0..=f64::from(u32::MAX)).contains(&number) && number.fract() == 0.0 {
            return Ok(number as usize);
        }
        Err(self.error(path, format!("a whole number {what}"), number.to_string()))
    }

    fn thermal(&self, index: usize, name: String, unit: Thermal) -> Result<ThermalUnit, ParseError> {
        let path =
            |key: &'static str| [JsonStep::Key("thermal_generators"), JsonStep::Entry(index), JsonStep::Key(key)];
        let whole = |key: &'static str, number: f64| self.whole(&path(key), &format!("{key} of unit {name:?}"), number);
        let flag = |key: &'static str, number: f64| match number {
            0.0 => Ok(false),
            1.0 => Ok(true),
            _ => Err(self.error(&path(key), format!("0 or 1 as {key} of unit {name:?}"), number.to_string())),
        };
        let categories = unit.startup.iter().map(|category| {
            let lag = category.lag.map(|lag| whole("startup", lag)).transpose()?;
            Ok(StartCategory { lag, cost: category.cost })
        });
        let startup = categories.collect::<Result<_, ParseError>>()?;
        let points = unit.piecewise_production.iter();
        let initial = match (unit.unit_on_t0, unit.power_output_t0, unit.time_up_t0, unit.time_down_t0) {
            (Some(on), Some(output), Some(up), Some(down)) => Some(InitialState {
                is_on: flag("unit_on_t0", on)?,
                output,
                time_up: whole("time_up_t0", up)?,
                time_down: whole("time_down_t0", down)?,
            }),
            (None, None, None, None) => None,
            _ => {
                let unit = [JsonStep::Key("thermal_generators"), JsonStep::Entry(index)];
                let expected = "unit_on_t0, power_output_t0, time_up_t0 and time_down_t0 of unit";
                return Err(self.error(&unit, format!("{expected} {name:?}, or none of them"), "some".to_string()));
            }
        };
        Ok(ThermalUnit {
            output_minimum: unit.power_output_minimum,
            output_maximum: unit.power_output_maximum,
            ramp_up: unit.ramp_up_limit,
            ramp_down: unit.ramp_down_limit,
            startup_ramp: unit.ramp_startup_limit,
            shutdown_ramp: unit.ramp_shutdown_limit,
            up_minimum: whole("time_up_minimum", unit.time_up_minimum)?,
            down_minimum: whole("time_down_minimum", unit.time_down_minimum)?,
            must_run: unit.must_run.map_or(Ok(false), |must| flag("must_run", must))?,
            no_load_cost: unit.no_load_consumption,
            production: points.map(|point| CostPoint { output: point.mw, cost: point.cost }).collect(),
            startup,
            initial,
            name,
        })
    }

    /// The error for data that can be read but are invalid.
    fn invalid(&self, names: &Names, invalid: InvalidInstance) -> ParseError {
        let InvalidInstance { element, expected, found } = invalid;
        let thermal = |index: usize, key: &'static str| {
            let path = vec![JsonStep::Key("thermal_generators"), JsonStep::Entry(index), JsonStep::Key(key)];
            (path, format!(" ({:?})", names.thermal[index]))
        };
        let (path, name) = match element {
            Element::PeriodDemand(period) => (vec![JsonStep::Key("demand"), JsonStep::Index(period)], String::new()),
            Element::Reserves => (vec![JsonStep::Key("reserves")], String::new()),
            Element::Reserve(period) => (vec![JsonStep::Key("reserves"), JsonStep::Index(period)], String::new()),
            Element::OutputMinimum(index) => thermal(index, "power_output_minimum"),
            Element::OutputMaximum(index) => thermal(index, "power_output_maximum"),
            Element::RampUp(index) => thermal(index, "ramp_up_limit"),
            Element::RampDown(index) => thermal(index, "ramp_down_limit"),
            Element::StartupRamp(index) => thermal(index, "ramp_startup_limit"),
            Element::ShutdownRamp(index) => thermal(index, "ramp_shutdown_limit"),
            Element::DownMinimum(index) => thermal(index, "time_down_minimum"),
            Element::NoLoadCost(index) => thermal(index, "no_load_consumption"),
            Element::Production(index) => thermal(index, "piecewise_production"),
            Element::Startup(index) => thermal(index, "startup"),
            Element::InitialState(index) => thermal(index, "power_output_t0"),
            Element::Unit(index) => {
                let path = vec![JsonStep::Key("thermal_generators"), JsonStep::Entry(index)];
                (path, format!(" ({:?})", names.thermal[index]))
            }
            Element::RenewableUnit(index) => {
                let path = vec![JsonStep::Key("renewable_generators"), JsonStep::Entry(index)];
                (path, format!(" ({:?})", names.renewable[index]))
            }
            _ => (vec![], String::new()),
        };
        self.error(&path, format!("{element}{name} to be {expected}"), found)
    }
}
